"""The factor model in reports: in use, recommended, and refused where columns are no numbers."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from factor_tables import FINAL, FOLDS, LONG, genes, short_chains
from scipy.special import expit

import honestbayes
from honestbayes import SelectiveFactorClassifier
from honestbayes.evaluation import cross_validate
from honestbayes.metrics import confident_predictions, summarise
from honestbayes.report.analysis import analyse
from honestbayes.report.methods import (
    CORRECTED,
    CORRECTED_SLOPE,
    NAIVE_BAYES,
    UNCORRECTED,
    fit_model,
    has_only_measurements,
)
from honestbayes.report.options import Options
from honestbayes.report.render import limits, render, write_folder
from honestbayes.report.verdict import Judged, describe_external, judge
from honestbayes.tables import read_training
from honestbayes.tables.errors import InputError
from honestbayes.tables.files import frame_table
from honestbayes.tables.model import TableModel

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

OPTIONS = Options(n_features=4, n_folds=2, compare=False, model="factors")
THREE = ("<i>ant", "bee", "cat")


def read(frame, **words):
    return read_training(frame_table(frame, "t"), target="state", coded=True, **words)


@pytest.fixture(scope="module", autouse=True)
def _short_chains():
    with short_chains():
        yield


@pytest.fixture(scope="module")
def table():
    return read(genes())


@pytest.fixture(scope="module")
def analysis(table):
    return analyse(table, OPTIONS, name="t")


@pytest.fixture(scope="module")
def of_three():
    frame = genes(30, 4, labels=THREE, seed=1).assign(flag=np.arange(30) % 2)
    options = replace(OPTIONS, n_features="all", recalibrate=False)
    return analyse(read(frame, keep=["flag"]), options, name="t")


def test_held_out_results_are_those_of_short_chains_and_the_final_model_has_long_ones(
    analysis, table
):
    report = analysis.report
    assert report.in_use == CORRECTED_SLOPE
    ours = (UNCORRECTED, CORRECTED, CORRECTED_SLOPE, NAIVE_BAYES)
    assert tuple(method.name for method in report.methods)[:4] == ours
    assert (report.settings["n_repeats"], report.paths, report.posterior) == (1, {}, None)
    words = {"n_features_to_select": 4, "random_state": 0}
    direct = cross_validate(
        SelectiveFactorClassifier(**words, **FOLDS), table.X, table.y, cv=2, random_state=0
    )
    np.testing.assert_allclose(report.cases.held_out, direct.proba[0])
    final = SelectiveFactorClassifier(**words, **FINAL).fit(table.X, table.y)
    np.testing.assert_allclose(report.cases.fitted, final.predict_proba(table.X)[:, 1])


def test_the_final_chains_are_the_defaults_of_the_estimator():
    defaults = SelectiveFactorClassifier().get_params()
    assert {name: defaults[name] for name in LONG} == LONG


def test_features_say_where_classes_lie_in_units_of_the_data_and_how_much_is_shared(
    analysis, table
):
    model, kept = analysis.model, analysis.report.feature_rows()
    assert {"gene0 <b>", "gene1 <b>", "gene2 <b>"} < {feature["column"] for feature in kept}
    for place, feature in enumerate(kept):
        values = table.X[feature["name"]]
        means = np.array([values[table.y == c].mean() for c in (0, 1)])
        draws = model.draws_
        within = (draws["loadings"] ** 2).sum(axis=-1) + draws["variance"]
        unit = values.std(ddof=0)
        expected = unit * np.sqrt(within[..., place].mean())
        assert feature["spread"] == pytest.approx(expected, rel=1e-9)
        centre = values.mean() + unit * draws["location"][..., place].mean(axis=(0, 1))
        assert feature["centre"] == pytest.approx(centre, rel=1e-9)
        # Shrunk, so between the means of the classes, give or take the error of short chains.
        assert np.abs(centre - means).max() < 0.6 * feature["spread"]
        assert np.sign(feature["correlation"]) == np.sign(means[1] - means[0])
        assert 0 < feature["shared"] < 1
        assert "prob_null" not in feature


def test_the_page_says_how_many_factors_and_which_numbers_were_tried(analysis):
    page = render(analysis.report)
    found = analysis.report.section("factors").record
    assert found.n_factors == analysis.model.n_factors_
    assert f"<dt>factors</dt><dd>{found.n_factors}</dd>" in page
    assert f"The model has {found}." in page
    assert f"{found.n_factors}, chosen from 0 to 3 on held-out training cases" in page
    assert found.log_score[found.tried.index(found.n_factors)] == min(found.log_score)
    assert '<th scope="col">shared</th>' in page
    assert "do not add up" in page
    assert "gene0 <b>" not in page
    assert "None" not in re.sub(r"data:image/[^\"]*", "", page)


def test_a_model_that_kept_no_feature_says_so(table):
    report = analyse(table, replace(OPTIONS, n_features=None, threshold=0.99), name="t").report
    assert report.features == ()
    assert "no features were selected" in report.verdict.calibration_text
    assert 'id="factors"' in render(report)


def test_problems_of_the_chains_are_among_the_warnings(analysis):
    (problem,) = analysis.report.warnings
    assert problem.startswith("the chains have not converged")
    assert problem in render(analysis.report).replace("&#39;", "'")


def test_the_folder_holds_the_model_and_the_number_of_factors(analysis, table, tmp_path):
    write_folder(analysis.report, TableModel.of_training(analysis.model, table), tmp_path / "r")
    content = json.loads((tmp_path / "r" / "report.json").read_text(encoding="utf-8"))
    assert content["sections"]["factors"]["record"]["n_factors"] == analysis.model.n_factors_
    assert content["settings"]["model"] == "factors"
    loaded = honestbayes.load(tmp_path / "r" / "model.honestbayes")
    assert isinstance(loaded.estimator, SelectiveFactorClassifier)
    np.testing.assert_allclose(
        loaded.predict_proba(genes())[:, 1], analysis.report.cases.fitted, rtol=1e-9
    )


def test_three_classes_and_a_flag_that_is_taken_for_a_number(of_three):
    report = of_three.report
    assert report.data.labels == THREE
    assert report.in_use == CORRECTED
    assert report.cases.held_out.shape == (30, 3)
    assert {len(feature["centre"]) for feature in report.feature_rows()} == {3}
    assert [row["name"] for row in report.feature_rows() if row["by_design"]] == ["flag"]
    assert any("1 yes-or-no column was taken for numbers" in words for words in limits(report))
    page = render(report)
    assert page.count("centre, ") == 3
    assert "<i>ant" not in page


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"sex": ["m", "f", "f"]}, "the table has a text column: 'sex'; leave it out"),
        (
            {"sex": ["m", "f", "f"], "ward": ["a", "b", "c"]},
            "the table has 2 text columns: 'sex', 'ward'; leave them out with --ignore",
        ),
    ],
)
def test_text_columns_are_refused_before_any_work(more, words):
    frame = genes().assign(**{name: 15 * levels for name, levels in more.items()})
    for work in (lambda t: analyse(t, OPTIONS, name="t"), lambda t: fit_model(t, OPTIONS)):
        with pytest.raises(InputError, match=re.escape(words)):
            work(read(frame))


def test_a_table_of_flags_is_refused():
    frame = genes()
    frame.iloc[:, 1:] = (frame.iloc[:, 1:] > 1000).astype(int)
    with pytest.raises(InputError, match="every column of this table is binary"):
        fit_model(read(frame), OPTIONS)


def test_the_factor_model_does_not_choose_a_number_of_features():
    with pytest.raises(ValueError, match="the factor model does not choose the number"):
        Options(model="factors", n_features="cv")


def test_tables_of_measurements_are_known(table):
    assert has_only_measurements(table)
    assert has_only_measurements(read(genes().assign(empty=7)))
    flags = np.tile([0.0, 1.0, np.nan], 15)
    assert not has_only_measurements(read(genes().assign(flag=flags)))
    assert not has_only_measurements(read(genes().assign(sex=15 * ["m", "f", "f"])))


def judged(y, log_odds):
    return Judged(summarise(y, expit(log_odds)), confident_predictions(y, expit(log_odds)))


def test_the_verdict_points_to_factors_where_dependence_is_most_likely_what_remains():
    rng = np.random.default_rng(0)
    z = rng.normal(0, 2, 600)
    y = (rng.random(600) < expit(z)).astype(int)
    sure, less, honest = judged(y, 4 * z), judged(y, 2 * z), judged(y, z)
    words = {"n_features": 2000, "n_repeats": 1, "measurements": True}
    found = judge(("a", "b"), sure, sure, less, **words)
    assert "most likely because features depend on each other" in found.calibration_text
    assert "--model factors" in found.advice
    assert "--model factors" not in judge(("a", "b"), sure, honest, honest, **words).advice
    other = words | {"measurements": False}
    assert "--model factors" not in judge(("a", "b"), sure, sure, less, **other).advice
    in_use = judge(("a", "b"), sure, sure, less, dependence="a few factors", **words)
    assert "beyond what is explained by a few factors" in in_use.calibration_text
    assert "naive Bayes" not in f"{in_use}"
    assert "--model factors" not in in_use.advice
    assert "This model's probabilities are overconfident." in in_use.advice
    elsewhere = describe_external(sure.summary, sure.confident, ("a", "b"), "a few factors")
    assert "beyond what is explained by a few factors" in elsewhere
