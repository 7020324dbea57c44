"""A table with three classes, through all commands."""

import numpy as np
import pytest
from cli_tables import SHORT, report_json, rows_of, strict_json, write
from mixed_table import SPECIES, species

import honestbayes

pytestmark = pytest.mark.slow

TARGET = ("--target", "kind", "--model", "mixed")
MODEL = "report/model.honestbayes"


@pytest.fixture(scope="module")
def place(run, tmp_path_factory):
    """A folder with the table, its report, and new rows."""
    folder = tmp_path_factory.mktemp("species")
    write(species(), folder / "species.csv")
    write(species(40, seed=1), folder / "new.csv")
    more = (*SHORT, "--features", 3, "--out", "report")
    printed = run("report", "species.csv", *TARGET, *more, cwd=folder).done()
    (folder / "printed.txt").write_text(printed, encoding="utf-8")
    return folder


def test_the_report_names_the_classes_and_their_cases(place):
    printed = " ".join((place / "printed.txt").read_text(encoding="utf-8").split())
    assert "90 cases (30 <b>ant</b>, 30 =bee(), 30 cat, big)" in printed
    assert "Brier: the mean of (y - p)^2 summed over classes" in printed
    assert report_json(place / "report")["data"]["labels"] == list(SPECIES)


def test_predictions_are_those_of_the_model_with_intervals_that_hold_them(place, run):
    rows = rows_of(run("predict", MODEL, "new.csv", "--interval", 0.9, "--exact", cwd=place).done())
    proba = honestbayes.load(place / MODEL).predict_proba(species(40, seed=1))
    for c, label in enumerate(SPECIES):
        found, low, high = (
            np.array([float(row[f"{title}: {label}"]) for row in rows])
            for title in ("probability", "low", "high")
        )
        np.testing.assert_allclose(found, proba[:, c], rtol=1e-9)
        assert np.all(low <= high)
        assert np.mean((low <= found) & (found <= high)) > 0.9
    # An apostrophe keeps a spreadsheet from taking the name for a formula.
    names = ["'" + label if label.startswith("=") else label for label in SPECIES]
    assert [row["predicted"] for row in rows] == [names[c] for c in proba.argmax(axis=1)]


def test_new_cases_are_judged_class_by_class(place, run):
    printed = run("evaluate", MODEL, "new.csv", cwd=place).done()
    assert "classes are '<b>ant</b>', '=bee()', 'cat, big'" in printed
    assert "of the classes (intervals: 95%)" in printed
    content = strict_json(run("evaluate", MODEL, "new.csv", "--json", cwd=place).out)
    assert len(content["summary"]["mean_probability"]) == 3
    two = species(40, seed=1)
    write(two[two["kind"] != SPECIES[2]], place / "two.csv")
    ended = run("evaluate", MODEL, "two.csv", cwd=place)
    assert ended.code == 0
    assert "no case is of class 'cat, big'; AUC and calibration need all classes" in ended.err
    assert "AUC" not in ended.out
    assert "nan" not in ended.out


def test_inspect_shows_each_class(place, run):
    printed = run("inspect", MODEL, cwd=place).done()
    assert "P(kind), 3 classes" in printed
    assert "yes" in printed
    assert strict_json(run("inspect", MODEL, "--json", cwd=place).out)["labels"] == list(SPECIES)


def test_prevalences_are_given_class_by_class(place, run):
    given = [f"{label}={share}" for label, share in zip(SPECIES, (0.2, 0.3, 0.5), strict=True)]
    words = [word for pair in given for word in ("--prevalence", pair)]
    run("fit", "species.csv", *TARGET, "-k", 3, *words, "--out", "moved", "-q", cwd=place).done()
    at_fit = run("predict", "moved", "new.csv", cwd=place).done()
    assert run("predict", MODEL, "new.csv", *words, cwd=place).done() == at_fit
    assert at_fit != run("predict", MODEL, "new.csv", cwd=place).done()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("report", "species.csv", *TARGET, "--positive", "=bee()"), "has 3 classes, and the prob"),
        (
            ("report", "species.csv", *TARGET, "--model", "binary"),
            "binary model is for two classes",
        ),
        (("report", "species.csv", *TARGET, "--prevalence", "0.2"), "give the prevalence of each"),
        (("predict", MODEL, "new.csv", "--prevalence", "x=0.2"), "of 'x', which is no class"),
        (("report", "species.csv", *TARGET, "--folds", "31"), "class '<b>ant</b>' has 30 cases"),
    ],
)
def test_what_does_not_fit_three_classes_is_refused_in_one_sentence(place, run, command, words):
    assert words in run(*command, cwd=place).refused()


def test_a_share_that_is_none_is_refused_as_an_option(place, run):
    ended = run("predict", MODEL, "new.csv", "--prevalence", "x=a", cwd=place)
    assert ended.code == 2
    assert "x=a is not a share between 0 and 1" in ended.err
