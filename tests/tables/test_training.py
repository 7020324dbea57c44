"""Training data are what the file holds, and a table that cannot be used is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from honestbayes import SelectiveBernoulliNB
from honestbayes.tables import DoubtfulTable, TrainingTable, open_table, read_training
from honestbayes.tables.errors import InputError


def text_of(n: int = 40, **columns: Any) -> str:
    """Return a CSV text with a class, features, and other columns that a test gives."""
    every = {
        "id": [f"p{i}" for i in range(n)],
        "tumor": [i % 2 for i in range(n)],
        "x": [round(0.37 * ((i * 7) % 13), 2) for i in range(n)],
        "sex": ["fm"[i % 3 == 0] for i in range(n)],
        "stage": ["ABC"[i % 3] for i in range(n)],
        **columns,
    }
    rows = zip(*every.values(), strict=True)
    return "\n".join([",".join(every), *(",".join(str(cell) for cell in row) for row in rows)])


@pytest.fixture
def train(write: Any) -> Any:
    def from_text(text: str, target: str | None = "tumor", **options: Any) -> TrainingTable:
        return read_training(open_table(write(text)), target=target, **options)

    return from_text


def test_features_and_classes_come_from_the_file(train: Any) -> None:
    data = train(text_of())
    assert list(data.X.columns) == ["x", "sex=m", "stage=A", "stage=B", "stage=C"]
    assert data.X["sex=m"].tolist() == [float(i % 3 == 0) for i in range(40)]
    assert data.y.tolist() == [i % 2 for i in range(40)]
    assert data.y.dtype == np.int64
    assert data.labels == ("0", "1")
    assert data.target == "tumor"
    assert data.row_numbers.tolist() == list(range(1, 41))
    assert data.groups is None
    assert data.ids is None
    assert data.keep == ()
    assert data.encoding.names == tuple(data.X.columns)
    assert [column.name for column in data.columns] == ["id", "x", "sex", "stage"]
    assert data.notes == (
        "Column 'id' is left out: identifier-like: 40 different values in 40 rows.",
    )


def test_the_frame_is_one_block_that_an_estimator_takes(train: Any) -> None:
    data = train(text_of())
    assert isinstance(data.X, pd.DataFrame)
    assert np.shares_memory(data.X.to_numpy(), data.X.to_numpy())
    model = SelectiveBernoulliNB(n_features_to_select=2).fit(data.X, data.y)
    assert model.predict_proba(data.X).shape == (40, 2)
    small = train(text_of(), ignore=["x"])
    assert small.X.to_numpy().dtype == np.int8
    assert small.ignored == ("x",)


def test_rows_without_a_class_take_no_part(train: Any) -> None:
    classes = ["" if i in (3, 10) else i % 2 for i in range(40)]
    data = train(text_of(tumor=classes))
    assert data.X.shape[0] == data.y.size == 38
    assert data.row_numbers.tolist() == [i + 1 for i in range(40) if i not in (3, 10)]
    assert data.notes[0] == "2 rows have no class in column 'tumor' and were left out."


def test_errors_name_the_lines_of_the_file(train: Any) -> None:
    x = [str(i * i) for i in range(40)]
    x[20] = "inf"
    classes = ["" if i < 5 else i % 2 for i in range(40)]
    with pytest.raises(InputError, match="'x' holds an infinite value in line 22 of the file;"):
        train(text_of(tumor=classes, x=x))
    x[20] = "low"
    data = train(text_of(tumor=classes, x=x))
    assert any(
        "line 22 of the file holds 'low', which is not a number" in note for note in data.notes
    )


@pytest.mark.parametrize(
    ("classes", "positive", "labels", "ones"),
    [
        (["no", "yes"], None, ("no", "yes"), 1),
        (["no", "yes"], "no", ("yes", "no"), 0),
        ([2, 10], None, ("2", "10"), 1),
        ([1.0, 0.0], None, ("0", "1"), 0),
        ([1.0, 0.0], "1.0", ("0", "1"), 0),
        ([-0.5, 0.5], None, ("-0.5", "0.5"), 1),
        (["TRUE", "FALSE"], None, ("false", "true"), 0),
        (["True", "False"], "False", ("true", "false"), 1),
        (["b", "B"], None, ("B", "b"), 0),
    ],
)
def test_labels_and_the_positive_class(
    train: Any, classes: list[Any], positive: str | None, labels: tuple[str, str], ones: int
) -> None:
    data = train(text_of(tumor=[classes[i % 2] for i in range(40)]), positive=positive)
    assert data.labels == labels
    assert data.y.tolist() == [int(i % 2 == ones) for i in range(40)]


@pytest.mark.parametrize(
    ("labels", "positive"),
    [
        (("case", "ctrl"), "case"),
        (("control", "tumour"), "tumour"),
        (("Tumor", "normal tissue"), "Tumor"),
        (("alive", "dead"), "dead"),
        (("dead", "living"), "dead"),
        (("disease", "no disease"), "disease"),
        (("event", "non-event"), "event"),
        (("disease-free", "relapsed"), "relapsed"),
        (("ill", "well"), "ill"),
        (("0", "1"), "1"),
        (("-1", "1"), "1"),
        (("Y", "n"), "Y"),
        (("TRUE", "FALSE"), "true"),
    ],
)
@pytest.mark.parametrize("rarer", [0, 1])
def test_the_class_that_is_named_like_a_case_is_the_positive_one(
    train: Any, labels: tuple[str, str], positive: str, rarer: int
) -> None:
    column = [labels[rarer]] * 15 + [labels[1 - rarer]] * 25
    assert train(text_of(tumor=column)).labels[1] == positive


@pytest.mark.parametrize("labels", [("ALL", "AML"), ("2", "1"), ("F", "M"), ("case 1", "case 2")])
@pytest.mark.parametrize("rarer", [0, 1])
def test_where_labels_do_not_show_it_the_rarer_class_is_the_positive_one(
    train: Any, labels: tuple[str, str], rarer: int
) -> None:
    column = [labels[rarer]] * 15 + [labels[1 - rarer]] * 25
    assert train(text_of(tumor=column)).labels[1] == labels[rarer]
    assert train(text_of(tumor=labels * 20)).labels[1] == max(labels)


SPELLED = ["yes", "no", "Yes ", "NO"] * 8 + ["yes", "no"] * 4


def test_one_label_in_several_spellings_stops_and_merging_makes_it_one_class(train: Any) -> None:
    data = train(text_of(tumor=SPELLED))
    (finding,) = [f for f in data.findings if f.stops]
    assert finding.in_command() == (
        "the target column 'tumor' spells one class in several ways ('NO', 'no'; 'Yes', 'yes'): "
        "--merge-labels to merge them, or --keep-labels if they are different classes"
    )
    assert "merge_labels=True to merge them" in finding.in_python()
    merged = train(text_of(tumor=SPELLED), merge_labels=True)
    assert merged.labels == ("no", "yes")
    assert merged.y.tolist() == [1, 0] * 20
    assert not any(f.stops for f in merged.findings)
    assert "The labels 'NO', 'no' of column 'tumor' are one class." in merged.notes
    assert train(text_of(tumor=SPELLED), merge_labels=True, positive="NO").labels[1] == "no"
    kept = train(text_of(tumor=SPELLED), keep_labels=True)
    assert kept.labels == ("NO", "Yes", "no", "yes")
    assert not any(f.stops for f in kept.findings)


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("word", ["unknown", "Not done", "none", "tbd"])
def test_a_label_that_means_missing_stops_and_can_be_declared(
    train: Any, word: str, rows: int
) -> None:
    column = [word] * rows + ["yes", "no"] * 20
    text = text_of(40 + rows, tumor=column)
    if rows == 1:  # too few cases of a class, for a reason that is named
        with pytest.raises(DoubtfulTable, match="--missing-label"):
            train(text)
    else:
        (finding,) = [f for f in train(text).findings if f.stops]
        assert (finding.rule, finding.remedies[0].value) == ("labels that mean missing", word)
        assert f"missing_labels=['{word}']" in finding.in_python()
    data = train(text, missing_labels=[word.upper()])
    assert data.labels == ("no", "yes")
    assert data.row_numbers.tolist() == list(range(rows + 1, rows + 41))
    with pytest.raises(InputError, match="has no label 'absent' to be treated as missing"):
        train(text, missing_labels=["absent"])


def test_a_spelling_of_one_case_or_beside_a_positive_class_is_a_doubt_too(train: Any) -> None:
    column = ["yes", "no"] * 20
    for changed, options in (([0], {}), ([0, 2, 4], {"positive": "yes"})):
        for row in changed:
            column[row] = "YES"
        with pytest.raises(DoubtfulTable, match="--merge-labels"):
            train(text_of(tumor=column), **options)


def test_rows_without_a_class_stay_out_whichever_class_is_positive(train: Any) -> None:
    data = train(text_of(tumor=["", "a", "b", "b"] * 10), positive="a")
    assert data.labels == ("b", "a")
    assert data.y.tolist() == [1, 0, 0] * 10
    assert data.row_numbers[0] == 2


def test_booleans_of_parquet_are_labels(tmp_path: Path) -> None:
    table = pa.table({"y": [True, False] * 10, "x": np.arange(20) % 3})
    pq.write_table(table, tmp_path / "t.parquet")
    data = read_training(open_table(tmp_path / "t.parquet"), target="y", positive="False")
    assert data.labels == ("true", "false")


def test_groups_and_identifiers_are_text_and_no_features(train: Any) -> None:
    data = train(text_of(ward=[f"0{i % 4}" for i in range(40)]), groups="ward", ids="id")
    assert data.groups.tolist() == [f"0{i % 4}" for i in range(40)]
    assert data.ids.tolist() == [f"p{i}" for i in range(40)]
    assert not {"ward", "id"} & set(data.encoding.columns)
    assert data.notes == ()


def test_each_feature_has_a_kind(train: Any) -> None:
    more = {"two": [1 + i % 2 for i in range(40)], "same": [3.5] * 40}
    data = train(text_of(**more), coded=True)
    assert dict(zip(data.X.columns, data.kinds, strict=True)) == {
        "x": "real",
        "sex=m": "binary",
        "stage": "categorical",
        "two": "binary",
        "same": "binary",
    }
    assert data.X["stage"].tolist() == [float(i % 3) for i in range(40)]
    assert train(text_of(), coded=True, keep=["stage"]).keep == ("stage",)
    assert "categorical" not in train(text_of(**more)).kinds


def test_kept_columns_name_their_features(train: Any) -> None:
    data = train(text_of(number=list(range(40))), keep=["stage", "number"])
    assert data.keep == ("stage=A", "stage=B", "stage=C", "number")


def test_the_class_of_a_numpy_archive_is_y(tmp_path: Path) -> None:
    X = np.random.default_rng(0).integers(0, 2, size=(20, 3))
    np.savez(tmp_path / "t.npz", X=X, y=np.arange(20) % 2)
    data = read_training(open_table(tmp_path / "t.npz"), target=None)
    assert data.target == "y"
    assert np.array_equal(data.X.to_numpy(), X)


@pytest.mark.parametrize(
    ("columns", "options", "words"),
    [
        ({}, {"target": None}, "name the column of table.csv that holds the class, with --target"),
        ({}, {"target": "tumour"}, "has no column 'tumour'; did you mean 'tumor'?"),
        ({}, {"ignore": ["agee"]}, "has no column 'agee'"),
        ({}, {"keep": ["stag"]}, "did you mean 'stage'?"),
        ({}, {"groups": "wrad"}, "has no column 'wrad'"),
        ({}, {"ids": "idd"}, "did you mean 'id'?"),
        ({}, {"ids": "tumor"}, "column 'tumor' is given as the target and as the identifiers"),
        (
            {},
            {"keep": ["x"], "ignore": ["x"]},
            "given as a column to ignore and as a column to keep",
        ),
        ({}, {"positive": "yes"}, "column 'tumor' has no class 'yes'; its classes are '0', '1'."),
        ({}, {"target": "x"}, "has 13 different numbers; give a column of classes"),
        (
            {},
            {"target": "stage", "positive": "B"},
            "has 3 classes, and the probability of each is given; a positive class is for two",
        ),
        (
            {"tumor": [f"t{i % 21}" for i in range(40)]},
            {},
            "has 21 classes ('t0', 't1', 't10', 't11', 't12' and 16 more), and at most 20 are",
        ),
        ({}, {"target": "id"}, "has 40 classes ('p0', 'p1', 'p10', 'p11', 'p12' and 35 more)"),
        ({"tumor": ["a"] * 40}, {}, "holds one class only, 'a'; two or more are needed"),
        ({"tumor": [""] * 40}, {}, "'tumor' has no values"),
        ({"tumor": [0] * 39 + [1]}, {}, "class '1' of column 'tumor' has 1 case; at least 2 cases"),
        (
            {"ward": ["a"] * 39 + [""]},
            {"groups": "ward"},
            "'ward' has no value in line 41 of the file",
        ),
        (
            {},
            {"ignore": ["x", "sex", "stage"]},
            "no columns that can be features: 'id' (identifier",
        ),
        ({}, {"ignore": ["id", "x", "sex", "stage"]}, "has no columns left as features"),
        ({"sex=m": list(range(5)) * 8}, {}, "both give a feature 'sex=m'"),
        ({"words": [f"w{i}" for i in range(40)]}, {"keep": ["x", "zz"]}, "has no column 'zz'"),
    ],
)
def test_tables_that_cannot_be_used_are_refused(
    train: Any, columns: dict[str, Any], options: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError) as caught:
        train(text_of(**columns), **options)
    assert words in str(caught.value)
    assert str(caught.value).isprintable()


def test_a_table_without_rows_is_refused(train: Any) -> None:
    with pytest.raises(InputError, match="'tumor' has no rows; give a table with rows"):
        train("tumor,x\n")


def test_labels_with_control_characters_stay_out_of_messages(train: Any) -> None:
    classes = [f"\x1b[3{i % 21}m<b>" for i in range(40)]
    with pytest.raises(InputError) as caught:
        train(text_of(tumor=classes))
    assert "\x1b" not in str(caught.value)
    name = "a\x1b\u202e" * 50
    with pytest.raises(InputError) as caught:
        train(text_of(**{name: [1] * 40}), target="b")
    assert str(caught.value).isprintable()


def test_many_columns_that_are_left_out_are_gathered_in_one_note(train: Any) -> None:
    data = train(text_of(**{f"e{j}": [""] * 40 for j in range(30)}))
    assert len(data.notes) == 9
    assert data.notes[-1].startswith("23 more columns are left out: 'e7', 'e8'")
    assert all("\n" not in note for note in data.notes)


DAYS = [f"2020-01-{1 + i % 28:02}" for i in range(40)]


@pytest.mark.parametrize("columns", [{"seen": DAYS}, {"seen": DAYS, "left": DAYS[::-1]}])
def test_columns_of_dates_stop_as_they_do_in_python(train: Any, columns: Any) -> None:
    names = ", ".join(map(repr, columns))
    with pytest.raises(InputError, match="dates and times") as error:
        train(text_of(**columns))
    assert str(error.value) == (
        f"{names}: dates and times cannot be used as they are; turn each column into a number, "
        "such as days since a date, or leave it out with --ignore."
    )
    assert "x" in train(text_of(**columns), ignore=list(columns)).X.columns


def test_a_column_of_timestamps_in_parquet_stops(tmp_path: Path) -> None:
    table = pa.table(
        {
            "when": pa.array(pd.date_range("2020", periods=40)),
            "x": np.arange(40) % 7 * 1.0,
            "y": np.arange(40) % 2,
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"^'when': dates and times cannot be used"):
        read_training(open_table(tmp_path / "t.parquet"), target="y")


def test_rows_without_a_class_leave_no_texts_in_columns_of_numbers(write: Any) -> None:
    rows = "".join(f"{i / 7:.3f},{'ab'[i % 2]}\n" for i in range(40))
    data = read_training(open_table(write(f"x,y\nmg/l,\n{rows}Total,\n")), target="y")
    assert data.kinds == ("real",)
    assert data.row_numbers.tolist() == list(range(2, 42))
    assert (
        "2 rows have no class in column 'y' and were left out; without their texts, 'x' holds "
        "numbers." in data.notes
    )


def test_a_header_among_the_rows_and_a_total_in_the_class_are_refused_with_their_lines(
    write: Any,
) -> None:
    rows = "".join(f"{i / 7:.3f},{'ab'[i % 2]}\n" for i in range(20))
    with pytest.raises(InputError, match=r"stands again in line 22 of the file; delete it there"):
        read_training(open_table(write(f"x,y\n{rows}x,y\n{rows}")), target="y")
    with pytest.raises(InputError, match=r"correct the cell in line 22 .* --missing-label 40 if"):
        read_training(open_table(write(f"x,y\n{rows}3,40\n")), target="y")
