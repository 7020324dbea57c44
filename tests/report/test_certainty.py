"""No probability is shown nearer to 0 or 1 than the training cases can tell."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import honestbayes
from honestbayes.report.render import format_bounds, shown_bounds

pytestmark = pytest.mark.slow

N = 40


@pytest.fixture(scope="module")
def place(run, tmp_path_factory):
    """A folder with a table that is easy, its report, and new cases that are easier still."""
    folder = tmp_path_factory.mktemp("easy")
    rng = np.random.default_rng(0)
    y = np.arange(N) % 2
    X = rng.normal(size=(N, 6)) + 5 * y[:, None]
    table = pd.DataFrame(X, columns=list("abcdef")).round(4)
    table.insert(0, "state", np.array(["ill", "well"])[y])
    table.to_csv(folder / "t.csv", index=False)
    table.assign(**{name: 3 * table[name] for name in "abcdef"}).to_csv(folder / "n.csv")
    words = (
        "--target",
        "state",
        "--folds",
        "2",
        "--repeats",
        "1",
        "--no-path",
        "--no-compare",
        "--no-recalibrate",
        "--model",
        "mixed",
    )
    run("report", "t.csv", *words, "--out", "r", cwd=folder).done()
    return folder


def predicted(run, place, *words):
    """The table that predict prints."""
    model = "r/model.honestbayes"
    printed = run("predict", model, "n.csv", "--interval", "0.9", *words, cwd=place).done()
    (place / "p.csv").write_text(printed, encoding="utf-8")
    return pd.read_csv(place / "p.csv")


def test_predictions_for_people_stop_where_the_cases_end(run, place):
    shown, exact = predicted(run, place), predicted(run, place, "--exact")
    columns = ["probability: well", "low: well", "high: well"]
    assert list(shown.columns) == ["row", "predicted", *columns]
    assert exact[columns].to_numpy().min() < 1e-6  # the model itself goes much further
    expected = np.clip(exact[columns].to_numpy(), 1 / (N + 2), 1 - 1 / (N + 2))
    np.testing.assert_allclose(shown[columns].to_numpy(), expected, rtol=1e-9)
    assert np.array_equal(shown["predicted"], exact["predicted"])


def test_a_rare_class_may_be_rarer_than_the_table_is_long(run, place):
    share = 0.001
    shown = predicted(run, place, "--prevalence", str(share))["probability: well"]
    # The same limits on the odds, moved by Bayes' rule; half of the table is well.
    odds = share / (1 - share) / (N + 1)
    assert shown.min() == pytest.approx(odds / (1 + odds))
    assert shown.max() < 1 - 1 / (N + 2)


def test_the_page_and_the_folder_stop_there_and_the_json_does_not(place):
    least = 1 / (N + 2)
    table = pd.read_csv(place / "r" / "predictions.csv")
    found = table.filter(regex="held_out|fitted").to_numpy()
    assert found.min() == pytest.approx(least)
    assert found.max() == pytest.approx(1 - least)
    cases = json.loads((place / "r" / "report.json").read_text(encoding="utf-8"))["cases"]
    model = honestbayes.load(place / "r" / "model.honestbayes")
    exact = model.predict_proba(pd.read_csv(place / "t.csv"))[:, 1]
    assert np.array_equal(cases["fitted"], exact)
    assert min(exact) < least
    page = (place / "r" / "report.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="case-data">(.*?)</script>', page, re.DOTALL)[1])
    numbers = [value for row in data["rows"] for value in row if isinstance(value, float)]
    assert min(numbers) == pytest.approx(least, abs=1e-6)
    assert "&lt; 0.024" in page
    assert "&gt; 0.976" in page


def test_bounds_of_all_classes_hold_at_the_prevalences_of_training_and_move_with_others():
    assert shown_bounds([10, 20, 30]) == pytest.approx(np.tile([1 / 62, 61 / 62], (3, 1)))
    same = shown_bounds([10, 20, 30], [1 / 6, 2 / 6, 3 / 6])
    assert same == pytest.approx(shown_bounds([10, 20, 30]))
    moved = shown_bounds([10, 20, 30], [0.5, 0.3, 0.2])
    assert moved[0, 0] > 1 / 62 > moved[2, 0]


def test_words_for_what_is_beyond_the_bounds_are_true():
    assert format_bounds(np.array([1 / 62, 61 / 62]), 3) == ("< 0.017", "> 0.983")
    below, above = format_bounds(np.array([2e-7, 0.5]), 3)
    assert 2e-7 <= float(below.removeprefix("< ")) <= 1e-6
    assert above == "> 0.5000000"
