"""What users write, as mypy --strict sees it: results have types of their own, not Any."""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import honestbayes as hb
from honestbayes.datasets import load_leukemia
from honestbayes.decisions import expected_benefit, mailing_benefits
from honestbayes.evaluation import Evaluation, cross_validate
from honestbayes.metrics import Summary, brier_score, summarise
from honestbayes.report.record import Report
from honestbayes.search.selector import SelectionPath
from honestbayes.selection import Screening, Selection, screen

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
