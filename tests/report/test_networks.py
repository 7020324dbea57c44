"""Networks in reports and on the command line: arcs in words, a drawing, missing cells."""

import re

import numpy as np
import pandas as pd
import pytest

import honestbayes
from honestbayes.models.networks.spec import SPECS
from honestbayes.report.analysis import analyse
from honestbayes.report.methods import fit_model
from honestbayes.report.options import Options
from honestbayes.report.render import limits, render
from honestbayes.tables import read_training
from honestbayes.tables.errors import InputError
from honestbayes.tables.files import frame_table
from honestbayes.tables.model import TableModel

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

OPTIONS = Options(n_folds=2, compare=False, model="networks")
SHORT = {"n_chains": 2, "n_draws": 30, "n_warmup": 10, "n_doublings": 0}
NAME = "<b>out</b>look"


def copies(n=120, seed=0):
    """A column that tells of the class, a copy of it with few errors, and noise."""
    rng = np.random.default_rng(seed)
    state = rng.integers(0, 2, n)
    first = np.where(rng.random(n) < 0.8, state, 1 - state)
    second = np.where(rng.random(n) < 0.95, first, 1 - first)
    words = np.array(["rain", "sun"], dtype=object)
    return pd.DataFrame(
        {
            NAME: words[first],
            "copy": second,
            "noise": rng.choice(["a", "b", "c"], n),
            "play": np.array(["no", "yes"], dtype=object)[state],
        }
    )


def read(frame, **words):
    table = frame_table(frame, "t")
    return read_training(table, target="play", coded=True, keep_duplicates=True, **words)


@pytest.fixture(scope="module", autouse=True)
def _short_chains():
    with pytest.MonkeyPatch.context() as patch:
        for words in (SPECS[0].chains.fold_params, SPECS[0].chains.final_params):
            for word, value in SHORT.items():
                patch.setitem(words, word, value)
        yield


@pytest.fixture(scope="module")
def analysis():
    return analyse(read(copies()), OPTIONS, name="t")


def test_arcs_have_the_names_of_the_table_and_the_page_draws_them(analysis):
    edges = analysis.report.section("network").record
    names = {*edges.source, *edges.target}
    assert {NAME, "copy", "play"} <= names
    between = [
        p
        for a, b, p in zip(edges.source, edges.target, edges.probability, strict=True)
        if {a, b} == {NAME, "copy"}
    ]
    assert sum(between) > 0.5  # the copy depends on the first given the class
    page = render(analysis.report)
    text = " ".join(re.sub(r"<[^>]*>", " ", page).split())
    assert "Dependencies between columns" in text
    assert "implies no cause" in text
    assert "&lt;b&gt;out&lt;/b&gt;look" in page
    assert NAME not in re.sub(r'alt="[^"]*"', "", page)
    assert any("few parents" in sentence for sentence in limits(analysis.report))


def test_the_model_of_a_report_is_saved_and_predicts(analysis, tmp_path):
    table = read(copies())
    model = TableModel.of_training(analysis.model, table)
    model.save(tmp_path / "m")
    again = honestbayes.load(tmp_path / "m")
    proba = again.predict_proba(copies())
    assert np.array_equal(proba[:, 1], analysis.report.cases.fitted)


def test_missing_cells_are_refused_in_training_unless_they_are_a_level():
    frame = copies()
    frame.loc[3, NAME] = None
    with pytest.raises(InputError, match="--missing-as-level"):
        fit_model(read(frame), OPTIONS)
    words = {"n_folds": 2, "compare": False, "model": "networks", "missing_as_level": True}
    assert fit_model(read(frame), Options(**words)).missing == "level"


def test_measurements_are_cut_in_folds_and_in_the_saved_model(tmp_path):
    frame = copies()
    rng = np.random.default_rng(1)
    frame["height"] = rng.normal(size=len(frame)) + 2.0 * (frame["play"] == "yes")
    frame["side"] = np.where(rng.random(len(frame)) < 0.5, -1, 1)
    table = read(frame)
    assert set(table.kinds) == {"binary", "categorical", "real"}
    found = analyse(table, OPTIONS, name="t")
    kept = {row["name"]: row for row in found.report.feature_rows()}
    assert kept["height"]["levels"][0].startswith("up to ")
    assert "up to " in render(found.report)
    TableModel.of_training(found.model, table).save(tmp_path / "m")
    proba = honestbayes.load(tmp_path / "m").predict_proba(frame)
    assert np.array_equal(proba[:, 1], found.report.cases.fitted)
    assert np.mean((proba[:, 1] > 0.5) == (frame["play"] == "yes")) > 0.8
