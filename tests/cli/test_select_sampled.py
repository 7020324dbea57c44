"""``honestbayes select --method sampled``: inclusion probabilities, a picture, a smaller table."""

import numpy as np
import pandas as pd
import pytest
from cli_tables import rows_of, strict_json, write

import honestbayes

TARGET = ("--target", "state")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("sampled")
    rng = np.random.default_rng(0)
    state = rng.integers(0, 2, 600)
    frame = pd.DataFrame(rng.integers(0, 2, (600, 12)), columns=[f"g{j}" for j in range(12)])
    frame["=sign"] = np.where(rng.random(600) < 0.85, np.array(["low", "high"])[state], "low")
    frame["size"] = rng.normal(size=600).round(3) + state
    frame["state"] = np.array(["ill", "well"])[state]
    write(frame, place / "t.csv")
    return place


def test_probabilities_are_printed_written_and_drawn(run, folder):
    words = ("select", "t.csv", *TARGET, "--method", "sampled")
    printed = run(*words, cwd=folder).done()
    assert "14 columns, 2 kept" in printed
    assert "Kept: =sign, size." in printed
    place = folder / "t-selection"
    names = sorted(path.name for path in place.iterdir())
    assert names == ["inclusion.csv", "inclusion.png", "reduced.csv", "selector.honestbayes"]
    rows = rows_of(place / "inclusion.csv")
    assert {row["column"] for row in rows[:2]} == {"'=sign", "size"}
    assert float(rows[0]["inclusion_probability"]) > 0.99
    assert [row["kept"] for row in rows].count("true") == 2
    assert list(rows_of(place / "reduced.csv")[0]) == ["=sign", "size", "state"]
    assert (place / "inclusion.png").read_bytes().startswith(b"\x89PNG")
    shown = run("inspect", place / "selector.honestbayes", cwd=folder).done()
    assert "SubsetSampler: 2 of 14 columns kept" in shown
    assert "An inclusion probability is the share" in shown
    selector = honestbayes.load(place / "selector.honestbayes")
    assert list(selector.get_feature_names_out()) == ["=sign", "size"]
    # Another method replaces the folder as a whole.
    run(*words[:4], "-k", 1, "--held-out", "none", "-q", cwd=folder).done()
    assert not (place / "inclusion.csv").exists()


def test_a_number_and_a_prior_of_the_number(run, folder):
    words = (*TARGET, "--method", "sampled", "-k", 3, "--expected", 0.01, "--out", "o", "--json")
    found = strict_json(run("select", "t.csv", *words, cwd=folder).done())
    assert len(found["kept"]) == 3
    assert found["n_columns_of_subsets"]["mean"] < 4
    assert found["most_frequent_subsets"][0]["share"] > 0.1
    assert [row["kept"] for row in rows_of(folder / "o" / "inclusion.csv")].count("true") == 3


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--held-out", 3), "holds no rows out"),
        (("--patience", 2), "holds no rows out"),
        (("--loss", "log-loss"), "holds no rows out"),
        (("--score-on", "held-out"), "holds no rows out"),
        (("--weights", "size"), "leave out --weights"),
        (("--expected", "-1"), "is not a positive number"),
        (("-k", 15), "--features 15 is more than the 14 columns"),
        (("-k", "all"), "'all' is not a positive number"),
    ],
)
def test_options_that_mean_nothing_are_refused(run, folder, words, complaint):
    said = run("select", "t.csv", *TARGET, "--method", "sampled", *words, cwd=folder)
    assert said.code == 2
    assert complaint in " ".join(said.err.split())


def test_only_the_sampled_method_has_a_prior(run, folder):
    said = run("select", "t.csv", *TARGET, "--expected", 3, cwd=folder)
    assert "only --method sampled has a prior" in " ".join(said.err.split())
