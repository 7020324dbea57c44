"""The command that selects columns for probabilities."""

import csv
import shlex

import numpy as np
import pandas as pd
import pytest
from cli_tables import rows_of, strict_json, write
from mixed_table import SPECIES, clinic, species
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

import honestbayes
from honestbayes import BoostedProbabilitySelector, ForwardProbabilitySelector

TARGET = ("--target", "state")
FILES = {"path.csv", "path.png", "reduced.csv", "selector.honestbayes"}
NAMED = ["state", "who", "weight", "patient"]


@pytest.fixture(scope="module")
def frame():
    """A clinic's table with weights, patients of two rows each, and names of rows."""
    table = clinic(120)
    table["weight"] = np.arange(120) % 3 + 0.5
    table["patient"] = [f"p{i // 2:03}" for i in range(120)]
    table.insert(4, "who", [f"Secret{i}" for i in range(120)])
    return table


@pytest.fixture(scope="module")
def place(frame, tmp_path_factory):
    folder = tmp_path_factory.mktemp("clinic")
    write(frame, folder / "clinic.csv")
    return folder


def folds(n=5, kind=StratifiedKFold):
    return kind(n, shuffle=True, random_state=0)


def assert_is_path(file, path):
    """A CSV file holds a path with all its digits."""
    rows = rows_of(file)
    for name, values in path.table().items():
        found = [row[name] for row in rows]
        if name == "kept":
            assert found == ["true" if kept else "false" for kept in values]
        elif name in ("step", "feature", "name"):
            assert found == [str(value) for value in values]
        else:
            numbers = np.array([float(cell) if cell else np.nan for cell in found])
            np.testing.assert_allclose(numbers, values, rtol=1e-12)


@pytest.mark.slow
def test_forward_by_default_stops_by_itself_and_says_what_it_did(frame, place, run):
    more = ("--weights", "weight", "--groups", "patient", "--id", "who")
    printed = run("select", "clinic.csv", *TARGET, *more, cwd=place).done()
    folder = place / "clinic-selection"
    assert {entry.name for entry in folder.iterdir()} == FILES
    X = frame.drop(columns=NAMED)
    selector = ForwardProbabilitySelector(
        held_out=folds(kind=StratifiedGroupKFold), patience=5
    ).fit(X, frame["state"], frame["weight"], groups=frame["patient"])
    assert_is_path(folder / "path.csv", selector.path_)
    assert (folder / "path.png").read_bytes().startswith(b"\x89PNG")
    # The whole table, with the kept columns and those that options named, cell by cell.
    kept = selector.get_feature_names_out().tolist()
    assert 0 < len(kept) < X.shape[1]
    columns = [name for name in frame if name in (*kept, *NAMED)]
    with (place / "clinic.csv").open(newline="") as stream:
        source = list(csv.DictReader(stream))
    expected = [{name: row[name] for name in columns} for row in source]
    assert rows_of(folder / "reduced.csv") == expected
    loaded = honestbayes.load(folder / "selector.honestbayes")
    pd.testing.assert_frame_equal(loaded.set_output(transform="pandas").transform(X), X[kept])
    words = " ".join(printed.split())
    assert "clinic.csv: 120 cases, 60 of them ill; 17 columns" in words
    assert f"Kept: {', '.join(selector.path_.name[: len(kept)])}." in words
    assert "repeated in each fold, without the rows that score it" in words
    assert "left out" in printed
    assert "Written to clinic-selection: path.csv" in words
    assert "Secret" not in printed
    assert "Usage: honestbayes select" in run("select", "--help", cwd=place).done()


def test_boosting_writes_its_rounds_and_replaces_an_earlier_selection(frame, place, run):
    ignore = [word for name in NAMED[1:] for word in ("--ignore", name)]
    words = ("select", "clinic.csv", *TARGET, *ignore, "--out", "boosted")
    run(*words, "-k", 2, "--held-out", "none", "-q", cwd=place).done()
    assert rows_of(place / "boosted" / "path.csv")[0]["held_out_score"] == ""
    more = ("--method", "boosted", "-k", 6, "--held-out", 3, "--smoothing", 0.5, "--bins", 4)
    found = strict_json(run(*words, *more, "--jobs", 2, "--json", cwd=place).done())
    selector = BoostedProbabilitySelector(
        n_rounds=6, held_out=folds(3), smoothing=0.5, n_bins=4
    ).fit(frame.drop(columns=NAMED), frame["state"])
    assert_is_path(place / "boosted" / "path.csv", selector.path_)
    assert found["kept"] == list(dict.fromkeys(selector.path_.name))
    np.testing.assert_allclose(found["path"]["alpha"], selector.path_.alpha, rtol=1e-12)
    assert set(rows_of(place / "boosted" / "reduced.csv")[0]) == {"state", *found["kept"]}
    # The command that it names does the same again.
    before = {file: (place / "boosted" / file).read_bytes() for file in FILES}
    run(*shlex.split(found["command"])[1:], "-q", cwd=place).done()
    after = {file: (place / "boosted" / file).read_bytes() for file in FILES}
    assert after == before


def test_boosting_takes_distinct_columns_where_it_is_asked_to(frame, place, run):
    ignore = [word for name in NAMED[1:] for word in ("--ignore", name)]
    words = ("select", "clinic.csv", *TARGET, *ignore, "--out", "distinct", "--json")
    more = ("--method", "boosted", "--distinct", "--held-out", "none")
    X, y = frame.drop(columns=NAMED), frame["state"]
    for option, number in (((), 10), (("-k", 4), 4), (("-k", "all"), X.shape[1])):
        found = strict_json(run(*words, *more, *option, cwd=place).done())
        selector = BoostedProbabilitySelector(n_features_to_select=number).fit(X, y)
        assert found["kept"] == list(selector.path_.name)
        assert len(set(found["kept"])) == number
    loaded = honestbayes.load(place / "distinct" / "selector.honestbayes")
    assert loaded.n_features_to_select == "all"
    refusal = run(*words, *more, "-k", 90, cwd=place).refused()
    assert "--features 90 is more than the 17 columns" in refusal
    assert "or 'all'" in refusal


def test_several_classes_log_loss_and_a_share_held_out(tmp_path, run):
    table = species()
    write(table.rename(columns={"colour": "=colour()"}), tmp_path / "t.csv")
    words = ("select", "t.csv", "--target", "kind", "--loss", "log-loss", "--features", 3)
    printed = run(*words, "--held-out", 0.3, "--seed", 4, cwd=tmp_path).done()
    selector = ForwardProbabilitySelector(
        n_features_to_select=3, scoring="log_loss", held_out=0.3, random_state=4
    ).fit(table.drop(columns="kind"), table["kind"])
    rows = rows_of(tmp_path / "t-selection" / "path.csv")
    assert [int(row["feature"]) for row in rows] == selector.path_.feature.tolist()
    scores = [float(row["held_out_score"]) for row in rows]
    np.testing.assert_allclose(scores, selector.path_.held_out_score[1:], rtol=1e-12)
    # A spreadsheet runs no name; in the table itself names stay what they are.
    assert "'=colour()" in [row["name"] for row in rows]
    assert "=colour()" in rows_of(tmp_path / "t-selection" / "reduced.csv")[0]
    assert "neither to choose columns nor to train." in " ".join(printed.split())
    loaded = honestbayes.load(tmp_path / "t-selection" / "selector.honestbayes")
    assert loaded.classes_.tolist() == list(SPECIES)
    assert loaded.held_out == 0.3


def test_a_score_that_chose_is_said_to_flatter(place, run):
    words = ("select", "clinic.csv", *TARGET, "--ignore", "who", "--ignore", "patient")
    more = ("--score-on", "held-out", "--held-out", 3, "--patience", 1, "--features", 4)
    printed = " ".join(run(*words, *more, "--out", "chosen", cwd=place).done().split())
    assert "chosen by this score, so it is optimistic" in printed
    printed = run(*words, "--held-out", "none", "--out", "chosen", cwd=place).done()
    assert "No rows were held out" in printed
    assert len(rows_of(place / "chosen" / "path.csv")) == 10
    assert "held out  feature" not in printed


def test_noise_leaves_the_class_alone(tmp_path, run):
    generator = np.random.default_rng(1)
    noise = pd.DataFrame(generator.normal(size=(60, 4)).round(3), columns=list("abcd"))
    noise.insert(2, "y", generator.permutation(np.arange(60) % 2))
    noise.loc[5, "y"] = np.nan
    write(noise, tmp_path / "noise.csv")
    printed = run("select", "noise.csv", "--target", "y", cwd=tmp_path).done()
    assert "1 row has no class in column 'y' and was left out" in printed
    assert "Kept: none." in printed
    assert "No column improved the held-out squared error (summed over classes)" in printed
    reduced = pd.read_csv(tmp_path / "noise-selection" / "reduced.csv", skip_blank_lines=False)
    assert reduced.columns.tolist() == ["y"]
    np.testing.assert_array_equal(reduced["y"], noise["y"])


def test_the_reduced_table_reads_back_whatever_the_format(frame, tmp_path, run):
    table = frame.drop(columns=NAMED[1:])
    table.to_csv(tmp_path / "comma.csv", sep=";", decimal=",", index=False)
    table.to_parquet(tmp_path / "packed.parquet")
    write(table, tmp_path / "plain.csv")
    found = {}
    for name in ("comma.csv", "packed.parquet", "plain.csv"):
        run("select", name, *TARGET, "-k", 4, "--held-out", "none", "-q", cwd=tmp_path).done()
        folder = tmp_path / f"{name.split('.')[0]}-selection"
        found[name] = (folder / "path.csv").read_bytes()
        run("select", folder / "reduced.csv", *TARGET, "-k", 4, "-q", cwd=tmp_path).done()
        again = rows_of(tmp_path / "reduced-selection" / "path.csv")
        first = rows_of(folder / "path.csv")
        assert [row["name"] for row in again] == [row["name"] for row in first]
    assert found["comma.csv"] == found["packed.parquet"] == found["plain.csv"]
    assert ";" in (tmp_path / "comma-selection" / "reduced.csv").read_text()


def test_what_would_be_lost_is_refused(place, run):
    words = ("select", "clinic.csv", *TARGET, "-k", 2, "--held-out", "none", "-q")
    (place / "mine").mkdir()
    (place / "mine" / "thesis.txt").write_text("years")
    refusal = run(*words, "--out", "mine", cwd=place).refused()
    assert "holds 'thesis.txt', which is not part of a selection" in refusal
    (place / "other").mkdir()
    (place / "other" / "path.csv").write_text("mine")
    assert "holds 'path.csv'" in run(*words, "--out", "other", cwd=place).refused()
    assert "is not a folder" in run(*words, "--out", "clinic.csv", cwd=place).refused()
    assert "does not exist" in run(*words, "--out", "no/where", cwd=place).refused()
    (place / "empty").mkdir()
    run(*words, "--out", "empty", cwd=place).done()
    inside = ("select", "empty/reduced.csv", *TARGET, "--held-out", "none", "--out", "empty")
    assert "would overwrite the table" in run(*inside, cwd=place).refused()
    assert (place / "other" / "path.csv").read_text() == "mine"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--weights", "lab"), "has no column 'lab'; did you mean"),
        (("--weights", "stage"), "column 'stage' holds"),
        (
            ("--weights", "lab0"),
            "the weight column 'lab0' has no value in line 5 of the file; give each",
        ),
        (("--weights", "below"), "the weight column 'below' holds -1 in line 3 of the file"),
        (("--weights", "state"), "'state' is given both as the weights and as the target"),
        (("--weights", "flag", "--groups", "flag"), "as the weights and as the groups"),
        (("--weights", "ill"), "class 'healthy' has no row with a positive sample_weight"),
        (("--features", "90"), "--features 90 is more than the 2"),
        (("--held-out", "70"), "--held-out 70 is too many: class 'healthy' has 60 cases"),
        (("--held-out", "0.99"), "--held-out 0.99 holds out 119 of 120 rows"),
        (("--groups", "flag"), "--held-out 5 is too many: there are 2 groups"),
        (("--groups", "stage"), "the group column 'stage' has no value in line 6 of the file"),
        (("--target", "lab1"), "different numbers; give a column of classes"),
    ],
)
def test_what_does_not_fit_the_table_is_refused_in_one_sentence(frame, place, run, more, words):
    if not (place / "odd.csv").exists():
        below = np.arange(120) - 2.0
        below[0] = 0
        ill = (frame["state"] == "ill").astype(int)
        write(frame.assign(below=below, ill=ill), place / "odd.csv")
    target = () if "--target" in more else TARGET
    meant = () if "ill" in more else ("--keep", "ill")  # a copy of the class, which is meant
    assert words in run("select", "odd.csv", *target, *meant, *more, cwd=place).refused()
    assert not (place / "odd-selection").exists()


@pytest.mark.parametrize(
    "more",
    [
        ("--features", "0"),
        ("--features", "many"),
        ("--features", "all", "--method", "boosted"),
        ("--method", "backward"),
        ("--method", "boosted", "--patience", "3"),
        ("--method", "boosted", "--score-on", "held-out"),
        ("--method", "boosted", "--loss", "log-loss"),
        ("--method", "forward", "--distinct"),
        ("--method", "boosted", "--distinct", "--features", "few"),
        ("--held-out", "1"),
        ("--held-out", "5.5"),
        ("--held-out", "nan"),
        ("--held-out", "none", "--patience", "3"),
        ("--held-out", "none", "--score-on", "held-out"),
        ("--held-out", "0.3", "--groups", "patient"),
        ("--patience", "0"),
        ("--smoothing", "0"),
        ("--smoothing", "inf"),
        ("--bins", "1"),
        ("--jobs", "0"),
        ("--loss", "accuracy"),
    ],
)
def test_options_that_mean_nothing_are_refused_before_the_table_is_read(run, tmp_path, more):
    ended = run("select", "nowhere.csv", *TARGET, *more, cwd=tmp_path)
    assert ended.code == 2
    assert ended.out == ""
    assert "Invalid value for" in ended.err
    assert "Traceback" not in ended.err


def test_a_selector_says_what_it_is_and_what_gives_probabilities(tmp_path, run, frame):
    write(frame, tmp_path / "t.csv")
    more = ("--ignore", "patient", "--ignore", "who", "-o", "found", "-q")
    run("select", "t.csv", *TARGET, *more, cwd=tmp_path).done()
    file = "found/selector.honestbayes"
    selector = honestbayes.load(tmp_path / file)
    kept = [selector.feature_names_in_[column] for column in selector.path_.kept]
    shown = " ".join(run("inspect", file, cwd=tmp_path).done().split())
    assert "holds a selector, which chooses columns and predicts nothing." in shown
    assert f"{len(kept)} of {selector.n_features_in_} columns kept" in shown
    assert f"Kept: {', '.join(kept)}." in shown
    assert "The held-out squared error (summed over classes) is" in shown
    assert "honestbayes fit reduced.csv --target CLASS" in shown
    content = strict_json(run("inspect", file, "--json", cwd=tmp_path).done())
    assert content["selector"] == "ForwardProbabilitySelector"
    assert content["gives_probabilities"] is False
    assert content["kept"] == kept
    assert content["path"]["name"] == list(selector.path_.name)
    for words in (("predict", file, "t.csv"), ("evaluate", file, "t.csv")):
        assert run(*words, cwd=tmp_path).refused() == (
            "selector.honestbayes holds a selector, which chooses columns and gives no "
            "probabilities; fit a model on these columns with honestbayes fit reduced.csv --target "
            "CLASS, and give its file instead."
        )


def test_a_selector_of_a_table_without_names_is_shown(tmp_path, run):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = np.column_stack([rng.integers(0, 2, (60, 3)), y])
    honestbayes.BoostedProbabilitySelector(n_rounds=2).fit(X, y).save(tmp_path / "boosted")
    shown = run("inspect", "boosted", cwd=tmp_path).done()
    assert "Kept: x3" in shown
    assert "No rows were held out" in shown
