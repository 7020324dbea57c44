"""The report of a table with more than two classes."""

import csv
import json
import re

import numpy as np
import pytest
from mixed_table import SPECIES, species

import honestbayes
from honestbayes import SelectiveMixedNB
from honestbayes.evaluation import cross_validate
from honestbayes.evaluation.baselines import BASELINES, FREQUENCIES
from honestbayes.evaluation.baselines.logistic import L1Logistic
from honestbayes.metrics import confident_predictions, summarise
from honestbayes.report.analysis import analyse
from honestbayes.report.methods import CORRECTED_SLOPE, UNCORRECTED, fit_model
from honestbayes.report.options import Options
from honestbayes.report.render import render, write_folder
from honestbayes.report.verdict import Judged, describe_external, judge
from honestbayes.tables import read_training
from honestbayes.tables.errors import InputError
from honestbayes.tables.files import frame_table
from honestbayes.tables.model import TableModel
from honestbayes.tables.target import prevalences

OPTIONS = Options(n_features=3, n_folds=2, n_repeats=2, path=False, model="mixed")


@pytest.fixture(scope="module")
def table():
    return read_training(frame_table(species(), "t"), target="kind", coded=True)


@pytest.fixture(scope="module")
def analysis(table):
    return analyse(table, OPTIONS, name="species")


def test_held_out_results_are_those_of_the_estimator(analysis, table):
    model = SelectiveMixedNB(kinds=table.kinds, n_features_to_select=3, random_state=0)
    direct = cross_validate(model, table.X, table.y, cv=2, n_repeats=2, random_state=0)
    report = analysis.report
    assert report.data.labels == tuple(sorted(SPECIES))
    assert report.data.class_counts == tuple(np.bincount(table.y).tolist())
    np.testing.assert_allclose(report.cases.held_out, direct.proba.mean(axis=0))
    assert report.method(CORRECTED_SLOPE).summary.log_score == direct.summary().log_score
    assert report.thresholds is None
    # By hand: how often each class came out on top, of the cases of each class.
    for actual in range(3):
        chosen = direct.proba[:, table.y == actual].argmax(axis=2)
        expected = np.bincount(chosen.ravel(), minlength=3) / 2
        np.testing.assert_allclose(report.confusion[actual], expected)


def test_every_method_predicts_all_classes_and_knows_more_than_their_frequencies(analysis):
    frequencies = analysis.report.method(FREQUENCIES).summary.log_score.value
    baselines = {baseline.name for baseline in BASELINES} - {FREQUENCIES}
    for name in (UNCORRECTED, CORRECTED_SLOPE, *baselines):
        summary = analysis.report.method(name).summary
        assert len(summary.mean_probability) == 3
        assert sum(summary.mean_probability) == pytest.approx(1)
        assert summary.log_score.value < 0.8 * frequencies, name


def test_features_say_what_they_are_in_each_class(analysis, table):
    by_column = {row["column"]: row for row in analysis.report.feature_rows()}
    size = by_column["size0"]
    assert size["kind"] == "real"
    means = [table.X["size0"][table.y == c].mean() for c in range(3)]
    assert np.argsort(size["centre"]).tolist() == np.argsort(means).tolist()
    assert 0 < size["correlation"] <= 1
    kinds = {"colour": "categorical", "spots": "binary"}
    for name, levels in {"colour": ("blue", "grey", "red"), "spots": ("no", "yes")}.items():
        feature = by_column[name]
        assert (feature["kind"], feature["levels"]) == (kinds[name], levels)
        probability = np.array(feature["probability"])
        np.testing.assert_allclose(probability.sum(axis=1), 1)
        logs = np.log(probability)
        between = analysis.model.slope_ * (logs.max(axis=0) - logs.min(axis=0))
        np.testing.assert_allclose(feature["evidence"], between)


def test_the_page_shows_all_classes_and_runs_none_of_their_names(analysis):
    page = render(analysis.report)
    assert 'id="confusion"' in page
    assert 'id="thresholds"' not in page
    assert "None" not in re.sub(r"data:image/[^\"]*", "", page)
    for label in SPECIES:
        if "<" in label:
            assert label not in page
    assert page.count("centre, ") == 3
    assert "<h3>Binary</h3>" in page


def test_files_hold_a_probability_for_each_class(analysis, table, tmp_path):
    write_folder(analysis.report, TableModel.of_training(analysis.model, table), tmp_path / "r")
    text = (tmp_path / "r" / "predictions.csv").read_text(encoding="utf-8")
    rows = list(csv.reader(text.splitlines()))
    held_out = [rows[0].index(f"held_out: {label}") for label in analysis.report.data.labels]
    found = np.array([[float(row[place]) for place in held_out] for row in rows[1:]])
    least = 1 / (len(table.y) + 2)
    expected = np.clip(analysis.report.cases.held_out, least, 1 - least)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    content = json.loads((tmp_path / "r" / "report.json").read_text(encoding="utf-8"))
    assert np.shape(content["cases"]["fitted_low"]) == (len(table.y), 3)
    assert np.shape(content["confusion"]) == (3, 3)
    loaded = honestbayes.load(tmp_path / "r" / "model.honestbayes")
    proba = loaded.predict_proba(species())
    np.testing.assert_allclose(proba, analysis.report.cases.fitted, atol=1e-12)
    chosen = np.array(loaded.labels, dtype=object)[proba.argmax(axis=1)]
    assert loaded.predict(species()).tolist() == chosen.tolist()
    assert loaded.predict_proba_interval(species().iloc[:4]).shape == (4, 3, 2)


def test_prevalences_move_the_probabilities_by_their_ratio(table):
    shares = dict(zip(table.labels, (0.2, 0.3, 0.5), strict=True))
    plain = fit_model(table, OPTIONS).predict_log_proba(table.X)
    words = Options(n_features=3, prevalence=shares, model="mixed")
    moved = fit_model(table, words).predict_log_proba(table.X)
    counts = np.bincount(table.y)
    ratio = np.log([0.2, 0.3, 0.5]) - np.log((counts + 1) / (counts + 1).sum())
    difference = moved - plain - ratio
    np.testing.assert_allclose(difference - difference[:, :1], 0, atol=1e-9)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (0.3, "there are 3 classes; give the prevalence of each: 'a', 'b', 'c'."),
        ({"a": 0.5, "b": 0.5}, "given of all classes but 'c'"),
        ({"a": 0.5, "b": 0.25, "d": 0.25}, "given of 'd', which is not a class"),
        ({"a": 0.5, "b": 0.25, "c": 0.5}, "sum to 1.25; give shares above 0 that sum to 1"),
        ({"a": 1.5, "b": -0.25, "c": -0.25}, "give shares above 0"),
    ],
)
def test_prevalences_that_do_not_fit_the_classes_are_refused(given, words):
    with pytest.raises(InputError, match=re.escape(words)):
        prevalences(given, ("a", "b", "c"))


def test_prevalences_that_were_rounded_are_made_to_sum_to_one():
    assert sum(prevalences({"a": 0.333, "b": 0.333, "c": 0.333}, ("a", "b", "c"))) == 1
    assert prevalences(0.2, ("no", "yes")) == (0.8, 0.2)


def test_the_binary_model_is_refused_before_any_work(table):
    with pytest.raises(InputError, match="the binary model is for two classes"):
        analyse(table, Options(model="binary"), name="t")
    with pytest.raises(InputError, match="give the prevalence of each"):
        analyse(table, Options(prevalence=0.2), name="t")


def drawn(n, spread, seed=0):
    """Honest log probabilities of three classes, and classes drawn from them."""
    generator = np.random.default_rng(seed)
    z = generator.normal(0, spread, (n, 3))
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    y = (generator.random((n, 1)) > p.cumsum(axis=1)).sum(axis=1)
    return y, z


def judged(y, z):
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    return Judged(summarise(y, p), confident_predictions(y, p))


def test_the_verdict_tells_honest_from_too_sure():
    y, z = drawn(900, 2.0)
    labels = ("a", "b", "c")
    words = {"n_features": 2000, "n_repeats": 1}
    assert judge(labels, *[judged(y, z)] * 3, **words).calibration == "calibrated"
    sure = judge(labels, *[judged(y, 3 * z)] * 3, **words)
    assert sure.calibration == "overconfident"
    assert "AUC over pairs of classes" in sure.headline


def test_another_prevalence_is_said_of_the_class_whose_share_is_furthest_off():
    y, z = drawn(2000, 1.5)
    found = judged(y, z + np.array([0.0, 1.5, 0.0]))
    text = describe_external(found.summary, found.confident, ("a", "b", "c"))
    assert "robabilities of b are too high on average" in text
    assert "--prevalence adjusts the probabilities" in text


def test_a_rare_class_that_is_off_is_named_before_a_common_one_that_is_hardly():
    """Class c happens a third as often as claimed, the others by chance a little off."""
    y = np.repeat([0, 1, 2], [1040, 950, 10])
    p = np.tile([0.5, 0.485, 0.015], (2000, 1))
    rng = np.random.default_rng(0)
    z = np.log(p) + 0.2 * rng.normal(size=p.shape)
    found = judged(y, z)
    text = describe_external(found.summary, found.confident, ("a", "b", "c"))
    assert "robabilities of c are too high on average" in text


@pytest.mark.slow
def test_honest_probabilities_of_many_classes_are_seldom_called_shifted():
    calls = 0
    for seed in range(20):
        generator = np.random.default_rng(seed)
        z = generator.normal(0, 1, (150, 6))
        p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
        y = (generator.random((150, 1)) > p.cumsum(axis=1)).sum(axis=1)
        summary = summarise(y, p, classes=np.arange(6))
        text = describe_external(
            summary, confident_predictions(y, p, classes=np.arange(6)), tuple("abcdef")
        )
        calls += "on average" in text
    # 5% are expected; more than four of twenty would happen once in four hundred times.
    assert calls <= 4


def test_logistic_regression_of_several_classes_is_one_of_each_against_the_others():
    generator = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 30)
    X = generator.normal(size=(90, 8)) + 3 * (np.arange(8) == y[:, None])
    model = L1Logistic().fit(X, y)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert np.mean(proba.argmax(axis=1) == y) > 0.9
