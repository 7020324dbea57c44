"""What would lead to a wrong conclusion is found before anything is fitted."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from doubtful_tables import QUIET, REMARKED, STOPPED, plain, visits
from grids import slow
from sklearn import datasets

from honestbayes.datasets import load_leukemia
from honestbayes.tables import DoubtfulTable, TrainingTable, checks, open_table, read_training
from honestbayes.tables.errors import InputError
from honestbayes.tables.files import frame_table


def train(frame: pd.DataFrame, **options: Any) -> TrainingTable:
    words = {"target": "status", "coded": True} | options
    return read_training(frame_table(frame, "t"), **words)


@pytest.mark.parametrize("case", STOPPED)
def test_a_doubtful_table_is_stopped_by_its_rule_and_by_no_other(case: str) -> None:
    make, rule, column = STOPPED[case]
    data = train(make())
    stopping = [finding for finding in data.findings if finding.stops]
    assert [(finding.rule, finding.column) for finding in stopping] == [(rule, column)]
    with pytest.raises(DoubtfulTable) as caught:
        data.refuse_doubts("t.csv")
    assert len(caught.value.lines) == 2
    assert data.notes[0] == stopping[0].note()


@pytest.mark.parametrize("case", [case for case in STOPPED if STOPPED[case][2]])
def test_the_options_that_a_finding_names_silence_it(case: str) -> None:
    make, rule, column = STOPPED[case]
    frame = make()
    assert not any(f.stops for f in train(frame, ignore=[column]).findings)
    if rule not in checks.OF_CELLS:
        assert not any(f.stops for f in train(frame, keep=[column]).findings)


def test_groups_that_are_named_are_no_longer_doubtful() -> None:
    assert train(visits(), groups="patient").findings == ()


def test_rows_that_are_meant_to_repeat_are_no_longer_doubtful() -> None:
    frame = STOPPED["rows that are there twice"][0]()
    assert train(frame, keep_duplicates=True).findings == ()
    assert not train(frame.assign(case=range(132)), groups="case").findings


def test_a_finding_says_what_it_found_and_how_to_decide() -> None:
    (finding,) = train(visits()).findings
    assert finding.in_command() == (
        "'patient' has 25 values, and the class never varies within one: --groups patient if its "
        "rows belong together, --ignore patient, or --keep patient if it is a measured quantity"
    )
    assert "groups='patient' if" in finding.in_python()
    assert "ignore=['patient'], or keep=['patient'] if" in finding.in_python()


def test_a_column_of_numbers_with_units_stops_and_names_the_option_that_drops_it() -> None:
    (finding,) = train(STOPPED["numbers such as 28.1 mg"][0]()).findings
    assert finding.in_command().startswith("'dose' holds numbers with a unit, such as '")
    assert finding.in_command().endswith(
        " mg' in row 2, which are not read as numbers; write the numbers without the unit, or "
        "use: --ignore dose"
    )
    years = train(STOPPED["numbers such as 45 years"][0]().iloc[:80]).findings[0]
    assert years.in_command().endswith("or --categorical dose if these are categories")
    pairs = train(STOPPED["numbers such as 120/80"][0]()).findings[0].sentence
    assert "several numbers in a cell" in pairs
    assert "give each number a column of its own" in pairs


def test_numbers_with_units_stop_where_they_are_the_only_predictor() -> None:
    frame = STOPPED["numbers such as 28.1 mg"][0]()[["status", "dose"]]
    with pytest.raises(DoubtfulTable, match="'dose' holds numbers with a unit"):
        train(frame)
    frame["dose"] = [f"case {i}" for i in range(len(frame))]
    with pytest.raises(InputError, match="has no columns that can be features"):
        train(frame)


def test_some_words_among_numbers_with_units_hide_nothing() -> None:
    frame = STOPPED["numbers such as 28.1 mg"][0]()
    frame.loc[::4, "dose"] = "n.d."
    frame.loc[::11, "dose"] = "trace"
    assert [f.rule for f in train(frame).findings] == ["numbers with units"]


def test_stray_cells_are_named_with_their_rows() -> None:
    (finding,) = train(STOPPED["one stray cell"][0]()).findings
    assert "'g0' holds numbers, but also '-' (rows 8, 31)" in finding.sentence
    assert "--missing - if they are missing values, --categorical g0, or --ignore g0" in (
        finding.in_command()
    )


def test_cells_that_are_called_missing_are_missing_and_the_column_is_of_numbers() -> None:
    frame = STOPPED["two words for missing"][0]()
    file = frame_table(frame, "t").with_missing(["-", "n.d."])
    data = read_training(file, target="status", coded=True)
    assert data.findings == ()
    assert data.kinds[list(data.X.columns).index("g0")] == "real"
    assert data.X["g0"].isna().sum() == frame["g0"].isin(["-", "n.d."]).sum()


def test_zeros_may_be_missing_in_one_column_only() -> None:
    frame = REMARKED["0 for missing"][0]()
    frame["visits"] = np.random.default_rng(0).poisson(4, len(frame))
    (finding,) = train(frame).findings
    assert finding.in_command().endswith("if 0 marks missing values, use: --missing bmi=0")
    data = read_training(
        frame_table(frame, "t").with_missing(["bmi=0"]), target="status", coded=True
    )
    assert data.findings == ()
    assert data.X["bmi"].isna().sum() == np.sum(frame["bmi"] == 0)
    assert not data.X["visits"].isna().any()
    typo = frame_table(frame, "t").with_missing(["bmii=0"])
    with pytest.raises(InputError, match=r"no column 'bmii'.*'bmi'"):
        read_training(typo, target="status", coded=True)


@pytest.mark.parametrize("case", REMARKED)
def test_what_may_be_meant_is_remarked_first_and_does_not_stop(case: str) -> None:
    make, rule, column = REMARKED[case]
    data = train(make())
    assert [(finding.rule, finding.column) for finding in data.findings] == [(rule, column)]
    assert not data.findings[0].stops
    data.refuse_doubts("t.csv")
    assert data.notes[0] == data.findings[0].note()


@pytest.mark.parametrize("case", QUIET)
def test_an_ordinary_table_is_not_remarked_on(case: str) -> None:
    assert train(QUIET[case]()).findings == ()


def test_a_gene_that_separates_the_classes_does_not_stop() -> None:
    frame = plain(40)
    frame["g3"] = np.where(frame["status"] == "well", 9.0, 0) + frame["g3"]
    data = train(frame)
    assert [(f.rule, f.stops) for f in data.findings] == [("nearly a copy", False)]


def test_a_near_copy_of_the_class_stops_and_names_the_cells_that_differ() -> None:
    (finding,) = train(STOPPED["a text with 2% noise"][0]()).findings
    assert finding.in_command() == (
        "'code' is a copy of the class in all but 2 of 120 rows: --ignore code, or --keep code "
        "if it is known before the class"
    )


@pytest.mark.parametrize("role", ["keep", "covariates"])
def test_a_copy_of_the_class_that_is_kept_is_reported_as_a_condition(role: str) -> None:
    frame = plain()
    frame["code"] = np.where(frame["status"] == "well", 9, np.arange(len(frame)) % 4)
    (finding,) = train(frame, **{role: ["code"]}).findings
    assert (finding.rule, finding.stops) == ("copy of the class, kept", False)
    assert "the results hold only if it is known before the class is" in finding.note()
    assert train(frame, **{role: ["g1"]}, ignore=["code"]).findings == ()


@pytest.mark.parametrize(("wrong", "stops"), [(2, True), (5, False), (12, False)])
def test_a_strong_flag_stops_only_where_hardly_a_row_differs(wrong: int, stops: bool) -> None:
    frame = plain()
    y = (frame["status"] == "well").to_numpy().astype(int)
    frame["flag"] = y ^ (np.random.default_rng(0).permutation(y.size) < wrong)
    assert any(f.stops for f in train(frame).findings) == stops


def test_a_near_copy_of_three_classes_stops_by_its_clusters() -> None:
    frame = plain()
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(120) % 3)
    frame["status"] = np.array(["a", "b", "c"])[y]
    wrong = np.where(rng.permutation(120) < 2, (y + 1) % 3, y)
    for code in (np.array(["x", "y", "z"])[wrong], (wrong + rng.normal(0, 0.01, 120)).round(4)):
        (finding,) = train(frame.assign(code=code)).findings
        assert (finding.rule, finding.stops) == ("copy of the class", True)
    # A column with a third of its cells missing is as much of a copy.
    code = pd.Series(np.array(["x", "y", "z"])[wrong]).where(rng.random(120) < 0.67)
    assert any(f.stops for f in train(frame.assign(code=code)).findings)


def test_luck_in_a_small_table_is_not_taken_for_a_copy() -> None:
    frame = plain(8, 3)
    frame["flag"] = (frame["status"] == "well").astype(int)
    assert train(frame).findings == ()


def test_rows_of_named_groups_count_as_one_where_luck_is_judged() -> None:
    frame = visits(n_patients=8, n_visits=10)
    frame["ward"] = np.where(frame["status"] == "well", "north", "south")
    assert [f.rule for f in train(frame, ignore=["patient"]).findings] == ["copy of the class"]
    assert train(frame, groups="patient").findings == ()


def test_answers_repeat_by_nature() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, (200, 5))).add_prefix("q")
    frame.insert(0, "status", rng.permutation(np.arange(200) % 2))
    assert train(frame).findings == ()


@pytest.mark.parametrize("strength", [0.0, 0.7, 0.9, 0.97, 1.0])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_flags_looked_at_together_give_the_findings_of_each_alone(
    strength: float, n_classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(int(100 * strength) + n_classes)
    y = rng.integers(n_classes, size=300)
    frame = pd.DataFrame(rng.integers(2, size=(300, 70)), columns=[f"f{j}" for j in range(70)])
    for name, more in (("f3", 0.0), ("f40", -0.2), ("f41", -0.22)):
        knows = rng.random(300) < strength + more
        frame[name] = np.where(knows, (y == 1).astype(int), frame[name])
    frame["real"] = rng.normal(size=300)
    frame["patient id"] = rng.integers(40, size=300)
    frame["status"] = y
    together = train(frame).findings
    skipped: list[int] = []

    def none(values: Any, *_: Any) -> Any:
        skipped.append(values.shape[1])
        return np.zeros(values.shape[1], dtype=bool)

    monkeypatch.setattr("honestbayes.tables.training.ordinary_binary_columns", none)
    assert train(frame).findings == together
    assert skipped == [72]


def test_only_the_best_two_of_weak_flags_are_looked_at_alone() -> None:
    y = np.arange(100) % 2
    flags = np.zeros((100, 5))
    flags[:, 0] = y  # a copy
    flags[:, 1] = y * (np.arange(100) < 80)  # the best two of the others
    flags[:, 2] = y * (np.arange(100) < 60)
    flags[:40, 3] = 1
    among = np.array([True, True, True, True, False])
    found = checks.ordinary_binary_columns(flags, y, 2, among)
    np.testing.assert_array_equal(found, [False, False, False, True, False])
    flags[0, 3] = np.nan
    assert not checks.ordinary_binary_columns(flags, y, 2, np.ones(5, dtype=bool))[3]


def test_many_remarks_of_one_kind_are_counted() -> None:
    frame = plain()
    for j in range(8):
        frame[f"age{j}"] = np.where(np.arange(120) % 10 == j, 999, np.arange(120) % 47)
    notes = [f for f in train(frame).findings if f.rule == "sentinels"]
    assert len(notes) == 6
    assert "3 more columns" in notes[-1].sentence


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits"])
def test_no_bundled_table_is_stopped(name: str) -> None:
    frame = getattr(datasets, f"load_{name}")(as_frame=True).frame
    data = train(frame, target="target")
    # The standard error of a shape is 0 where the shape is, so that its zeros stand apart.
    expected = ["zeros"] if name == "breast_cancer" else []
    assert [f.rule for f in data.findings if f.rule != "codes"] == expected


def test_the_leukaemia_table_is_quiet() -> None:
    data = load_leukemia()
    frame = pd.DataFrame(data.X).add_prefix("gene ").assign(status=data.y)
    assert train(frame).findings == ()


def test_every_rule_has_its_line_on_the_page_of_rules() -> None:
    page = " ".join(Path(__file__, "../../../docs/checks.rst").resolve().read_text("utf-8").split())
    rules = {rule for _, rule, _ in (*STOPPED.values(), *REMARKED.values())}
    assert all(f"* - {rule} - " in page for rule in rules)
    numbers = (checks.MIXED, checks.REPEATED, checks.NEARLY, checks.OTHERS, checks.NUMBERS)
    numbers += (checks.COPY, checks.APART)
    assert all(f"{number:g}" in page or f"{100 * number:g}%" in page for number in numbers)


OUTCOMES = {
    "donor_19372x50": ("Donate", ["Donation.Amount"]),
    "lrn_categorical_95412x22": ("TARGET_B", ["TARGET_D"]),
    "spect": ("class", ["split"]),
}
"""Tables with another column that is no feature: what was given, and a split."""


SMALL = 30_000
"""Bytes of a file that is read quickly."""


@pytest.mark.parametrize("which", ["small", slow("large")])
def test_no_real_table_is_stopped(data_folder: Path, which: str) -> None:
    files = [
        *sorted(data_folder.glob("discrete/*.csv.gz")),
        *sorted(data_folder.glob("kdd98/*x*.csv.gz")),
        *(p for p in sorted(data_folder.glob("*.npz")) if p.stem != "dorothea"),
    ]
    assert len(files) > 20
    files = [path for path in files if (path.stat().st_size < SMALL) == (which == "small")]
    assert len(files) > 5
    remarked = {}
    for path in files:
        name = path.name.partition(".")[0]
        target, ignore = OUTCOMES.get(name, (None if path.suffix == ".npz" else "class", []))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            data = read_training(open_table(path), target=target, ignore=ignore, coded=True)
        assert not [finding for finding in data.findings if finding.stops], name
        remarked[name] = {f.column for f in data.findings if f.rule == "nearly a copy"}
    found = {name: columns for name, columns in remarked.items() if columns}
    assert found == ({"mushroom": {"odor"}} if which == "small" else {})


def test_what_was_given_is_remarked_where_it_is_not_left_out(data_folder: Path) -> None:
    for name, column in (("donor_19372x50", "Donation.Amount"),):
        path = data_folder / "kdd98" / f"{name}.csv.gz"
        data = read_training(open_table(path), target=OUTCOMES[name][0], coded=True)
        assert (data.findings[0].rule, data.findings[0].column) == ("missing by class", column)


def test_a_class_in_several_columns_stops_and_names_each_of_them() -> None:
    frame = plain()
    frame["status"] = np.array(["a", "b", "c"])[np.random.default_rng(0).integers(0, 3, 120)]
    for label in "abc":
        frame[f"is_{label}"] = (frame["status"] == label).astype(int)
    findings = train(frame).findings
    assert [(f.rule, f.column, f.stops) for f in findings] == [
        ("copy of the class", f"is_{label}", True) for label in "abc"
    ]
    assert "'is_a' is one of 3 columns that are a copy of the class together" in findings[0].note()
    two = [f.column for f in train(frame.drop(columns="is_b")).findings]
    assert two == ["is_a", "is_c"]
    assert train(frame, keep=["is_a", "is_b"], ignore=["is_c"]).findings == ()


def test_a_last_row_with_the_totals_stops() -> None:
    frame = plain(40)
    frame.insert(1, "region", [f"R{i}" for i in range(40)])
    total = frame.iloc[[-1]].assign(region="Total", g0=frame["g0"].sum())
    frame = pd.concat([frame, total], ignore_index=True)
    (finding,) = train(frame).findings
    assert (finding.rule, finding.stops) == ("summary row", True)
    assert finding.in_command() == (
        "row 41, the last one, holds 'Total' in 'region', as a row does that sums up the others; "
        "delete it, or use: --ignore region if it is a case like the others"
    )
    frame["region"] = np.where(np.arange(41) % 2, "part", "Total")
    assert train(frame).findings == ()


def test_a_limit_of_detection_is_not_advised_to_be_missing_first() -> None:
    (finding,) = train(_limits()).findings
    assert "; write the limit of detection as a number in these cells, or use" in finding.sentence


def _limits() -> pd.DataFrame:
    frame = plain()
    return frame.assign(g0=["<-1" if x < -1 else str(x) for x in frame["g0"]])


@pytest.mark.parametrize("form", ["\u2212{}", "({})"])
def test_negative_numbers_in_another_form_stop_and_are_not_read_as_positive(form: str) -> None:
    frame = plain()
    frame["g0"] = [form.format(-x) if x < 0 else str(x) for x in frame["g0"]]
    (finding,) = train(frame).findings
    assert "'g0' holds negative numbers in another form" in finding.sentence
    assert "write them with a hyphen as minus sign" in finding.sentence


def test_a_class_that_is_yes_y_and_1_stops_even_if_cases_are_merged() -> None:
    frame = plain()
    words = [["Yes", "yes", "Y", "1"], ["No", "no", "N", "0"]]
    frame["status"] = [words[c == "ill"][i % 4] for i, c in enumerate(frame["status"])]
    (finding,) = [f for f in train(frame, merge_labels=True).findings if f.stops]
    assert "means yes by '1', 'Y', 'Yes' and no by '0', 'N', 'No'" in finding.sentence.replace(
        "'yes'", "'Yes'"
    ).replace("'no'", "'No'")
    assert not any(f.stops for f in train(frame, keep_labels=True).findings)
