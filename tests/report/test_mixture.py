"""The two-component mixture in reports: compared, recommended, and in use."""

import csv

import numpy as np
import pandas as pd
import pytest

import honestbayes
import honestbayes.metrics
from honestbayes import SelectiveMixture
from honestbayes.datasets import simulate_mixture
from honestbayes.evaluation import cross_validate
from honestbayes.metrics import confident_predictions, summarise
from honestbayes.report.analysis import analyse
from honestbayes.report.methods import (
    CORRECTED,
    MIXTURE,
    NAIVE_BAYES,
    UNCORRECTED,
    LevelsAsFlags,
    estimators_of,
    mixture_of,
)
from honestbayes.report.options import Options
from honestbayes.report.render import render, write_folder
from honestbayes.report.verdict import Judged, Other, judge
from honestbayes.tables import read_training
from honestbayes.tables.files import frame_table
from honestbayes.tables.model import TableModel

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def frame(n=70, p=60):
    data = simulate_mixture(n, 0, p, alpha=5.0, random_state=1)
    table = pd.DataFrame(data.X_train).add_prefix("f")
    table.insert(0, "out", np.where(data.y_train == 1, "<b>ill", "well"))
    return table


def asked(n_features, always_keep=None):
    """The words of an estimator, as a report gives them."""
    words = {"n_features_to_select": n_features, "threshold": None}
    return words | {"always_keep": always_keep, "random_state": 0}


@pytest.fixture(scope="module")
def table():
    return read_training(frame_table(frame(), "t"), target="out", positive="<b>ill")


@pytest.fixture(scope="module")
def analysis(table):
    options = Options(n_features=6, n_folds=3, n_repeats=1, model="mixture")
    return analyse(table, options, name="t")


def test_held_out_results_are_those_of_the_estimator(analysis, table):
    report = analysis.report
    assert report.in_use == CORRECTED
    assert {UNCORRECTED, NAIVE_BAYES} < {method.name for method in report.methods}
    model = mixture_of(asked(6), None)
    direct = cross_validate(model, table.X, table.y, cv=3, random_state=0)
    np.testing.assert_allclose(report.cases.held_out, direct.proba[0])
    assert report.paths == {}
    assert report.posterior is None


def test_the_page_and_the_files_show_the_groups(analysis, table, tmp_path):
    page = render(analysis.report)
    assert 'id="components"' in page
    assert "It does not add up over features" in page
    assert "explained by two hidden groups" in page
    assert "<b>ill" not in page
    model = TableModel.of_training(analysis.model, table)
    write_folder(analysis.report, model, tmp_path / "r")
    lines = (tmp_path / "r" / "predictions.csv").read_text(encoding="utf-8").splitlines()
    rows = list(csv.DictReader(lines))
    found = [float(row["second_group"]) for row in rows]
    least = 1 / (len(table.y) + 2)
    in_second = np.clip(analysis.model.components().in_second, least, 1 - least)
    np.testing.assert_allclose(found, in_second, rtol=1e-9)
    loaded = honestbayes.load(tmp_path / "r" / "model.honestbayes")
    assert isinstance(loaded.estimator, SelectiveMixture)
    np.testing.assert_allclose(
        loaded.predict_proba(frame())[:, 1], analysis.report.cases.fitted, rtol=1e-9
    )


def test_it_is_compared_where_there_are_two_classes_and_not_too_many_cases(table):
    options = Options(n_features=3, n_folds=2, n_repeats=1, path=False, model="binary")
    report = analyse(table, options, name="t").report
    assert report.method(MIXTURE).log_score_difference is not None
    assert report.sections == ()


def test_categories_become_a_flag_for_each_level_and_an_unknown_one_is_missing():
    generator = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    codes = (y + 2 * (generator.random(60) < 0.3)).astype(float)
    X = np.column_stack([codes, generator.normal(size=60)])
    X[0, 0] = np.nan
    model = LevelsAsFlags(mixture_of(asked(3), None), ["categorical", "real"]).fit(X, y)
    flags = model._flags(np.array([[0.0, 1.5], [9.0, 1.5], [np.nan, 1.5]]))
    assert flags[0].tolist() == [1.5, 1.0, 0.0, 0.0, 0.0]
    assert np.isnan(flags[1:, 1:]).all()
    assert model.predict_proba(X).shape == (60, 2)


def judged(y, log_odds):
    p = 1 / (1 + np.exp(-log_odds))
    return Judged(summarise(y, p), confident_predictions(y, p))


def test_the_verdict_points_to_the_mixture_where_its_slope_may_be_honest():
    generator = np.random.default_rng(0)
    z = generator.normal(0, 2, 600)
    y = (generator.random(600) < 1 / (1 + np.exp(-z))).astype(int)
    sure, less, honest = judged(y, 4 * z), judged(y, 2 * z), judged(y, z)
    words = {"n_features": 2000, "n_repeats": 1}
    found = judge(("a", "b"), sure, sure, less, mixture=honest.summary, **words)
    assert "The two-component mixture, which models hidden groups" in found.advice
    without = judge(("a", "b"), sure, sure, less, mixture=less.summary, **words)
    assert "A model of the dependence between features is needed" in without.advice


def test_a_mixture_that_did_better_is_explained():
    generator = np.random.default_rng(0)
    z = generator.normal(0, 2, 300)
    y = (generator.random(300) < 1 / (1 + np.exp(-z))).astype(int)
    gain = honestbayes.metrics.Estimate(-0.2, 0.05, (-0.3, -0.1), 0.95)
    both = [judged(y, z)] * 3
    words = {
        "others": (Other(name=MIXTURE, difference=gain, option="--model mixture"),),
        "n_features": 2000,
        "n_repeats": 1,
    }
    found = judge(("a", "b"), *both, **words)
    assert f"use {MIXTURE} (--model mixture) rather than this model" in found.advice
    assert "Two hidden groups of cases explain these features better" in found.advice
    assert "--model mixture to model them" in found.advice
    cut = judge(("a", "b"), *both, cut=True, **words)
    assert "hidden groups of cases explain" not in cut.advice
    assert "--model binary shows whether the cut or the hidden groups help" in cut.advice


def test_columns_kept_by_design_stay_with_all_their_levels():
    generator = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    table = pd.DataFrame(generator.integers(0, 2, (60, 6)).astype(float)).add_prefix("f")
    table["site"] = generator.integers(0, 3, 60).astype(float)
    kinds = ["binary"] * 6 + ["categorical"]
    model = mixture_of(asked(2, ["site", "f1"]), kinds).fit(table, y)
    assert model.classifier_.selection_.always_kept == (1, 6, 7, 8)


def test_the_mixture_does_not_choose_a_number_of_features():
    with pytest.raises(ValueError, match="does not choose the number of features"):
        Options(model="mixture", n_features="cv")


@pytest.mark.parametrize(("share", "compared"), [(0.05, False), (0.95, False), (0.4, True)])
def test_flags_that_most_cases_share_are_not_given_to_the_mixture(share, compared):
    rng = np.random.default_rng(0)
    words = pd.DataFrame((rng.random((60, 30)) < share).astype(int)).add_prefix("w")
    words.insert(0, "out", np.where(np.arange(60) % 2, "spam", "ham"))
    given = read_training(frame_table(words, "t"), target="out", positive="spam", coded=True)
    assert (MIXTURE in estimators_of(given, Options(n_features=4, model="mixed"), 4)) == compared
