"""What users write, as mypy --strict sees it: results have types of their own, not Any."""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import honestbayes as hb
from honestbayes import data, datasets, decisions, evaluation, metrics, plots, tables
from honestbayes.data.packed_store import PackedStore
from honestbayes.data.plink import PlinkSource
from honestbayes.datasets import load_leukemia
from honestbayes.decisions import expected_benefit, mailing_benefits
from honestbayes.evaluation import Evaluation, cross_validate
from honestbayes.files import ModelFileError
from honestbayes.metrics import Summary, brier_score, summarise
from honestbayes.models.interactions.estimator import windows
from honestbayes.models.mixture.naive_bayes import sample_naive_bayes
from honestbayes.report.options import Options
from honestbayes.report.record import Report
from honestbayes.report.verdict import Verdict
from honestbayes.search.selector import SelectionPath
from honestbayes.selection import Screening, Selection, screen
from honestbayes.tables.errors import InputError
from honestbayes.tables.files import frame_table
from honestbayes.tables.model import TableModel

Floats = NDArray[np.float64]


def classifiers(X: NDArray[Any], y: NDArray[Any]) -> None:
    average = hb.HonestClassifier(random_state=0).fit(X, y)
    assert_type(average, hb.HonestClassifier)
    assert_type(average.predict_proba(X), Floats)
    average.save("model.honestbayes")
    assert_type(hb.load("model.honestbayes", hb.HonestClassifier), hb.HonestClassifier)
    binary = hb.SelectiveBernoulliNB(n_features_to_select=5).fit(X, y)
    assert_type(binary, hb.SelectiveBernoulliNB)
    assert_type(binary.selection_, Selection)
    assert_type(binary.slope_, float)
    for model in (
        hb.AveragedNB(),
        hb.AveragedNetworkClassifier(),
        hb.DiscreteNB(),
        hb.InteractionClassifier(),
        hb.SelectiveCategoricalNB(),
        hb.SelectiveDiscriminant(),
        hb.SelectiveFactorClassifier(),
        hb.SelectiveGaussianNB(),
        hb.SelectiveLogistic(),
        hb.SelectiveMixedNB(),
        hb.SelectiveMixture(),
        hb.SequenceClassifier(),
    ):
        assert_type(model.fit(X, y).predict_proba(X), Floats)


def others(X: NDArray[Any], y: NDArray[Any]) -> None:
    assert_type(hb.InteractionRegressor().fit(X, y).predict(X), Floats)
    regressor = hb.SelectiveFactorRegressor().fit(X, y)
    assert_type(regressor.predict(X), Floats)
    assert_type(regressor.predict(X, return_std=True), tuple[Floats, Floats])
    assert_type(hb.ForwardProbabilitySelector().fit(X, y).path_, SelectionPath)
    assert_type(hb.BoostedProbabilitySelector().fit(X, y).path_, SelectionPath)
    assert_type(hb.SubsetSampler().fit(X, y).inclusion_probabilities_, Floats)
    assert_type(screen(X, y), Screening)


def results(frame: Any) -> None:
    data = load_leukemia()
    found = cross_validate(hb.SelectiveGaussianNB(), data.X, data.y)
    assert_type(found, Evaluation)
    assert_type(summarise(data.y, found.proba), Summary)
    assert_type(brier_score(data.y, found.proba[0]), float)
    assert_type(hb.make_report(frame, target="sick"), Report)
    assert_type(expected_benefit([[0.2, 0.8]], mailing_benefits([20.0], cost=1.0)), Floats)
    assert_type(hb.__version__, str)


def beyond_memory(X: NDArray[Any], y: NDArray[Any]) -> None:
    store = data.pack_store(X, "store", labels=y)
    assert_type(store, PackedStore)
    assert_type(data.open_store("store"), PackedStore)
    assert_type(data.open_plink("cohort"), PlinkSource)
    joined = data.join_rows([store, data.join_columns([X])])
    assert_type(joined.shape, tuple[int, int])


def data_sets() -> None:
    for table in (load_leukemia(), datasets.load_colon()):
        assert_type(table, datasets.Dataset)
    for donations in (datasets.load_kdd98_sample(), datasets.load_kdd98_categorical()):
        assert_type(donations, datasets.Donations)
    assert_type(datasets.load_kdd98("kdd98")[0], datasets.Donations)
    assert_type(datasets.simulate_naive_bayes(), datasets.SimulatedData)
    assert_type(datasets.simulate_mixture(), datasets.MixtureData)
    X, _ = datasets.simulate_cauchy_model(10)
    assert_type(X.shape, tuple[Any, ...])
    windows(datasets.simulate_hidden_markov(5)[0], 2)
    windows(datasets.vowels_and_consonants(datasets.load_genesis()), 3)
    datasets.tic_tac_toe()


def actions(y: NDArray[Any], proba: Floats, benefits: Floats) -> None:
    chosen = decisions.decide(proba, benefits)
    assert_type(decisions.case_benefits(y, chosen, benefits), Floats)
    assert_type(decisions.profit(y, chosen, benefits), float)
    assert_type(decisions.profit_curve(y, proba, benefits), decisions.ProfitCurve)


def scores(y: NDArray[Any], p: Floats, folds: dict[str, Evaluation]) -> None:
    for number in (
        metrics.actual_error(y, p),
        metrics.auc(y, p),
        metrics.expected_error(p),
        metrics.log_score(y, p),
    ):
        assert_type(number, float)
    assert_type(metrics.brier_decomposition(y, p), metrics.BrierDecomposition)
    assert_type(metrics.calibration_slope(y, p), metrics.CalibrationFit)
    assert_type(metrics.calibration_table(y, p), metrics.CalibrationTable)
    assert_type(metrics.confident_predictions(y, p), metrics.ConfidentPredictions)
    assert_type(metrics.optimism(y, p), metrics.Estimate)
    assert_type(metrics.reliability(y, p), metrics.ReliabilityCurve)
    assert_type(metrics.smooth_calibration(y, p), metrics.SmoothCalibration)
    assert_type(metrics.threshold_table(y, p), metrics.ThresholdTable)
    assert_type(evaluation.compare(folds), tuple[evaluation.PairedDifference, ...])


def pictures(model: Any, X: NDArray[Any], y: NDArray[Any], p: Floats) -> None:
    shown = plots.ReliabilityDisplay.from_predictions(y, p, smooth=True)
    assert_type(shown, plots.ReliabilityDisplay)
    for display in (
        plots.AlphaPosteriorDisplay,
        plots.ImportanceDisplay,
        plots.InclusionDisplay,
        plots.NetworkDisplay,
        plots.SelectionPathDisplay,
        plots.SignalDisplay,
        plots.TraceDisplay,
    ):
        display.from_estimator(model)
    plots.ContributionDisplay.from_contributions(model.contributions(X))
    plots.FeaturePathDisplay.from_path(model)
    plots.ProbabilityScatterDisplay.from_predictions(y, p, p)
    plots.ProfitDisplay.from_predictions(y, p, p)


def spreadsheets(frame: Any, report: Report) -> Verdict | None:
    try:
        file = tables.open_table("t.xlsx", missing=["bmi=0"])
    except InputError:
        file = frame_table(frame, "t")
    assert_type(file, tables.TableFile)
    assert_type(tables.read_training(file, target="ill"), tables.TrainingTable)
    assert_type(report.verdict, Verdict)
    try:
        model = hb.load("model.honestbayes", TableModel)
    except ModelFileError:
        return None
    assert_type(model.predict_proba(frame), Floats)
    repr((Options(), sample_naive_bayes(frame, frame).draws))
    return report.verdict
