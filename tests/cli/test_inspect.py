"""What `inspect` prints of models of columns with many levels, and codes from CSV to prediction."""

import numpy as np
import pandas as pd
import pytest
from cli_tables import patients, strict_json, write

import honestbayes
from honestbayes import SelectiveBernoulliNB, SelectiveCategoricalNB, SelectiveGaussianNB

TARGET = ("--target", "status", "--model", "mixed")
CODES = [f"{1000 + 7 * place:05}" for place in range(40)]


@pytest.fixture(scope="module")
def place(run, tmp_path_factory):
    """A folder with a table of 40 wards, which tell the class, zip codes, and its model."""
    folder = tmp_path_factory.mktemp("zip")
    frame = patients(400, 3)
    rng = np.random.default_rng(0)
    ward = np.where(frame["status"] == "ill", rng.integers(0, 30, 400), rng.integers(10, 40, 400))
    frame["ward"] = [f"ward{w:02}" for w in ward]
    frame["zip"] = [CODES[w] for w in rng.permutation(ward)]
    write(frame, folder / "table.csv")
    printed = run("fit", "table.csv", *TARGET, "--out", "model", cwd=folder).done()
    (folder / "printed.txt").write_text(printed, encoding="utf-8")
    return folder


def test_of_many_levels_those_are_printed_that_say_most(place, run):
    printed = run("inspect", "model", cwd=place).done()
    found = strict_json(run("inspect", "model", "--json", cwd=place).done())
    features = found["features"]["categorical"]
    first = features["name"].index("ward")
    levels, ill, well = (np.array(features[key][first]) for key in ("levels", "p_0", "p_1"))
    assert levels.tolist() == [f"ward{w:02}" for w in range(40)]
    shown = np.sort(np.argsort(-np.abs(np.log(well / ill)), kind="stable")[:12])
    rest = np.setdiff1d(np.arange(40), shown)
    expected = [
        *([levels[v], f"{ill[v]:.3f}", f"{well[v]:.3f}"] for v in shown),
        ["(28", "more)", f"{ill[rest].sum():.3f}", f"{well[rest].sum():.3f}"],
    ]
    lines = printed.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("ward "))
    rows = [line.split() for line in lines[start : start + 13]]
    assert rows[0][0] == "ward"
    rows[0] = [rows[0][1], *rows[0][3:]]  # its first line holds the name and the correlation
    assert rows == expected


def test_the_correction_is_named(place, run):
    words = "correction          counts of all features\n"
    printed = run("inspect", "model", cwd=place).done()
    assert words in printed
    assert "auto" not in printed
    run("fit", "table.csv", *TARGET, "--model", "binary", "--out", "binary", "-q", cwd=place).done()
    assert words in run("inspect", "binary", cwd=place).done()
    # The estimators of one kind, whose correction a mixed model takes, mean that by "auto".
    X, y = np.random.default_rng(0).integers(0, 2, (20, 5)), np.arange(20) % 2
    for estimator in (SelectiveBernoulliNB(), SelectiveCategoricalNB(), SelectiveGaussianNB()):
        assert estimator.fit(X, y).correction_ == "counts"


def test_codes_stay_codes_in_prediction(place, run):
    table = pd.read_csv(place / "table.csv", dtype={"zip": str})
    printed = (place / "printed.txt").read_text(encoding="utf-8")
    note = f"is used as text: line 2 of the file holds '{table['zip'][0]}', a code with a leading"
    assert note in " ".join(printed.split())
    model = honestbayes.load(place / "model")
    assert model.encoding.levels["zip"] == tuple(CODES)
    new = table.iloc[:30].copy()
    new.loc[0, "zip"] = "1007"  # not the code 01007
    write(new, place / "new.csv")
    ended = run("predict", "model", "new.csv", "--exact", cwd=place)
    assert ended.err == (
        "warning: column 'zip' has categories that were not in training, treated as missing: "
        "'1007'.\n"
    )
    new.loc[0, "zip"] = None
    expected = [f"{p:.12g}" for p in model.predict_proba(new)[:, 1]]
    assert [line.split(",")[2] for line in ended.out.splitlines()[1:]] == expected
