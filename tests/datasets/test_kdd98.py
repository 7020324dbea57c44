"""The loader of the KDD-98 files, on small files of the same format, and the experiment."""

import csv
import gzip
from pathlib import Path

import numpy as np
import pytest

from honestbayes.datasets import (
    load_kdd98,
    load_kdd98_categorical,
    load_kdd98_sample,
)
from honestbayes.datasets.real import MAIL_COST, Donations
from honestbayes.experiments import kdd98 as experiment
from honestbayes.experiments.experiment import ExperimentRun

COLUMNS = ["ODATEDW", "STATE", "MAILCODE", "PEPSTRFL", "INCOME", "FISTDATE", "LASTDATE", "CARDGIFT"]
COLUMNS += ["RFA_2F", "RFA_2A", "LASTGIFT", "AVGGIFT", "TARGET_B", "TARGET_D", "CONTROLN"]


def official_rows(n, seed):
    """Rows of the contest's format: blanks for missing, numbers and texts."""
    rng = np.random.default_rng(seed)
    gave = np.concatenate([[0, 1, 1, 1, 0], (rng.random(n - 5) < 0.2).astype(int)])
    rows = []
    for i in range(n):
        last = int(rng.integers(3, 30))
        gift = f"{last + 1}.00" if gave[i] else ".00"
        cells = [
            "9501",
            rng.choice(["IL", "CA", "TX"]),
            rng.choice([" ", "B"]),
            rng.choice(["X", " "], p=[0.7, 0.3] if gave[i] else [0.4, 0.6]),
            rng.choice(["", "2", "7"]),
            "8901",
            str(9500 + int(rng.integers(1, 13))),
            str(int(rng.integers(0, 9))),
            str(int(rng.integers(1, 5))),
            rng.choice(["D", "E", "F"]),
            str(last),
            f"{last - 0.5:.2f}",
            str(gave[i]),
            gift,
            str(1000 + i),
        ]
        rows.append(cells)
    return rows


@pytest.fixture
def folder(tmp_path):
    learning, validation = official_rows(400, 0), official_rows(300, 1)
    lines = [",".join(COLUMNS), *(",".join(map(str, row)) for row in learning)]
    (tmp_path / "cup98LRN.txt").write_text("\n".join(lines), encoding="latin-1")
    keep = [i for i, name in enumerate(COLUMNS) if not name.startswith("TARGET")]
    lines = [",".join(COLUMNS[i] for i in keep)]
    lines += [",".join(str(row[i]) for i in keep) for row in validation]
    (tmp_path / "cup98VAL.txt").write_text("\n".join(lines), encoding="latin-1")
    # The targets of the validation set come in another order.
    targets = [f"{row[14]},{row[12]},{row[13]}" for row in validation[::-1]]
    (tmp_path / "valtargt.txt").write_text(
        "\n".join(["CONTROLN,TARGET_B,TARGET_D", *targets]), encoding="latin-1"
    )
    return tmp_path


def test_official_files_are_read_and_targets_joined_by_number(folder):
    learning, validation = load_kdd98(folder)
    assert learning.X.columns.tolist() == COLUMNS[:-3] == validation.X.columns.tolist()
    expected = official_rows(300, 1)
    assert validation.y.tolist() == [int(row[12]) for row in expected]
    assert validation.gift.tolist() == [float(row[13]) for row in expected]
    assert np.all((learning.gift > 0) == (learning.y == 1))
    assert learning.X["MAILCODE"].isna().any()
    assert learning.X["INCOME"].dtype.kind == "f"


def test_the_experiment_runs_on_official_files(folder, tmp_path, monkeypatch):
    learning, validation = load_kdd98(folder)
    found = experiment.compare(experiment.STUDIES["official"], learning, validation, 20)
    assert list(found["rows"]) == [
        "7 hand-selected",
        "5 forward",
        "10 forward",
        "5 boosted rounds",
        "5 boosted features",
        "5 rounds by 0-1 loss",
        "5 features by 0-1 loss",
        "all features",
    ]
    assert found["rows"]["5 forward"] == found["forward"][5]
    assert found["rows"]["5 boosted rounds"] == found["boosted"][5]
    assert found["rows"]["5 boosted features"] == found["distinct"][5]
    assert found["columns"][5] <= 5
    for row in found["rows"].values():
        # Calibration and refinement are what the squared error of test people consists of, but for
        # differences within bins.
        assert row[4] + row[5] == pytest.approx(row[1], rel=0.05)
    share = learning.y.mean()
    constant = 2 * np.mean((validation.y - share) ** 2)
    assert found["forward"][0][1] == pytest.approx(constant) == found["boosted"][0][1]
    errors = np.array(found["forward"])[:, 0]
    assert errors[1] < errors[0]
    monkeypatch.setenv("HONESTBAYES_DATA", str(tmp_path))
    (tmp_path / "kdd98").mkdir()
    for file in folder.glob("*.txt"):
        (tmp_path / "kdd98" / file.name).write_bytes(file.read_bytes())
    settings = experiment.runs("quick")[-1]
    assert settings["study"] == "official"
    again = experiment.run(**settings)
    assert again["rows"] == found["rows"]
    findings = experiment.summarize([ExperimentRun(settings, again, 1.0)])
    assert "not comparable" not in findings.conclusion
    assert [check.published for check in findings.checks][:2] == [0.10089, 0.10111]
    assert not any("0-1 loss" in check.what for check in findings.checks)
    (table,) = findings.tables
    by_name = {row["features"]: row for row in table.rows}
    assert by_name["5 boosted rounds"]["published training profit (other people)"] == 7365
    assert by_name["5 forward"]["training profit"] == round(again["rows"]["5 forward"][2])
    assert by_name["5 features by 0-1 loss"]["published test error"] == ""


def test_halves_are_of_different_people_with_as_many_donors(data_folder):
    people = load_kdd98_sample(data_folder)
    train, test = experiment.halves(people, 0)
    assert train.y.size == test.y.size == 9686
    assert abs(int(train.y.sum()) - int(test.y.sum())) <= 1
    assert not set(train.X.index) & set(test.X.index)
    assert not train.X.index.equals(experiment.halves(people, 1)[0].X.index)


def test_files_that_do_not_fit_are_refused(folder):
    with pytest.raises(FileNotFoundError, match=r"cup98LRN\.txt is not in the folder"):
        load_kdd98(folder / "elsewhere")
    whole = (folder / "valtargt.txt").read_text(encoding="latin-1")
    (folder / "valtargt.txt").write_text(whole.rsplit("\n", 1)[0], encoding="latin-1")
    with pytest.raises(ValueError, match=r"valtargt\.txt has no target for CONTROLN 1000"):
        load_kdd98(folder)
    (folder / "valtargt.txt").write_text(whole.replace("TARGET_D", "D"), encoding="latin-1")
    with pytest.raises(ValueError, match=r"valtargt\.txt has no column 'TARGET_D'"):
        load_kdd98(folder)
    (folder / "valtargt.txt").write_text(whole, encoding="latin-1")
    text = (folder / "cup98VAL.txt").read_text(encoding="latin-1").replace("STATE", "COUNTY")
    (folder / "cup98VAL.txt").write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match="have different columns, such as 'COUNTY'"):
        load_kdd98(folder)


def test_a_column_of_texts_stays_one_where_the_other_file_has_only_numbers(folder):
    for name, word in (("cup98LRN.txt", "NA"), ("cup98VAL.txt", "7")):
        lines = (folder / name).read_text(encoding="latin-1").split("\n")
        cells = [line.split(",") for line in lines]
        for row in cells[1:]:
            row[1] = "3" if int(row[-1]) % 2 else word
        (folder / name).write_text("\n".join(map(",".join, cells)), encoding="latin-1")
    learning, validation = load_kdd98(folder)
    assert set(learning.X["STATE"]) == {"3", "NA"}
    assert set(validation.X["STATE"]) == {"3", "7"}


def test_without_a_folder_the_parts_are_not_found(monkeypatch):
    monkeypatch.delenv("HONESTBAYES_DATA", raising=False)
    for load in (load_kdd98_sample, load_kdd98_categorical):
        with pytest.raises(FileNotFoundError, match="set the environment variable"):
            load()


def test_the_sample_has_the_learning_set_s_share_of_donors(data_folder):
    people = load_kdd98_sample(data_folder)
    assert people.X.shape == (19372, 47)
    assert people.y.sum() == 4843
    assert np.average(people.y, weights=people.sample_weight) == pytest.approx(0.0508, abs=1e-4)
    assert not {"Donate", "Donation.Amount", "ID"} & set(people.X.columns)


def test_votes_of_unweighted_people_cannot_tell_columns_apart():
    # Fewer than half give in every category, so that nobody is predicted to give: each column
    # makes the same errors, and the first one is taken. Half of the weight in each class tells
    # them apart.
    rng = np.random.default_rng(0)
    y = (np.arange(4000) % 20 == 0).astype(int)
    X = rng.integers(0, 3, (4000, 4))
    X[:, 2] = np.where(rng.random(4000) < 0.3, y, X[:, 2])
    path = experiment.VotingSelector(n_rounds=1).fit(X, y).path_
    assert (path.feature[0], path.r[0]) == (0, pytest.approx(0.9))
    half = np.where(y == 1, 10.0, 10 / 19)
    assert experiment.VotingSelector(n_rounds=1).fit(X, y, half).path_.feature[0] == 2


def test_mailing_to_everyone_of_the_official_test_set_earns_what_was_published(data_folder):
    # Section 2 of the paper: "The profit obtained by soliciting every individual in the test set is
    # $10560". The targets alone tell it.
    with gzip.open(Path(data_folder) / "kdd98" / "valtargt.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    gifts = [float(row["TARGET_D"]) for row in rows]
    assert len(rows) == 96_367
    assert sum(gifts) - 0.68 * len(rows) == pytest.approx(10_560.08, abs=0.005)
    people = Donations(
        None,
        np.array([int(row["TARGET_B"]) for row in rows]),
        np.array(gifts),
        np.ones(len(rows)),
        "",
    )
    assert round(experiment.mail_everyone(people), 1) == 10_560.1
    assert people.y.sum() == 4873
    # Deciding by probabilities comes to the same where these are high enough to mail to anybody.
    everyone = experiment.evaluate(np.full((len(rows), 2), 0.5), people, np.full(len(rows), 2.0))
    assert everyone[1] == pytest.approx(10_560.08, abs=0.005)


def test_mailing_to_everyone_pays_what_gifts_exceed_the_cost():
    import pandas as pd

    people = Donations(
        pd.DataFrame({"a": [1, 2, 3]}),
        np.array([0, 1, 1]),
        np.array([0.0, 10.0, 5.0]),
        np.array([2.0, 1.0, 1.0]),
        "",
    )
    assert experiment.mail_everyone(people) == pytest.approx(15 - 4 * MAIL_COST)
    gift = experiment.estimate_gift(people, people, ["a"])
    assert gift[1:].tolist() == pytest.approx([10.0, 5.0])
    proba, gift = np.array([[0.8, 0.2]] * 3), np.array([1.0, 10.0, 9.0])
    error, gained = experiment.evaluate(proba, people, gift)
    assert error == pytest.approx(2 * (2 * 0.04 + 2 * 0.64) / 4)
    assert gained == pytest.approx(15 - 2 * MAIL_COST)
