"""A model's evidence and its prior make its probabilities, whatever lies between them."""

import numpy as np
import pytest
from scipy.special import softmax

from honestbayes import SelectiveBernoulliNB, SelectiveGaussianNB

Y = np.arange(40) % 2
X = np.random.default_rng(0).normal(size=(40, 12)) + 0.8 * Y[:, None] * (np.arange(12) < 3)


@pytest.mark.parametrize("kind", [SelectiveBernoulliNB, SelectiveGaussianNB])
@pytest.mark.parametrize(
    "params",
    [
        {"recalibrate": None},
        {"recalibrate": "slope"},
        {"recalibrate": "bayes"},
        {"recalibrate": None, "class_prior": [0.8, 0.2]},
    ],
    ids=str,
)
def test_prior_and_evidence_make_the_probabilities(kind, params):
    model = kind(n_features_to_select=3, random_state=0, **params).fit(X, Y)
    proba = softmax(model._log_prior + model._log_evidence(X), axis=1)
    np.testing.assert_allclose(proba, model.predict_proba(X), rtol=0, atol=1e-13)


def test_evidence_without_recalibration_is_the_log_likelihood_itself():
    model = SelectiveGaussianNB(n_features_to_select=3, recalibrate=None).fit(X, Y)
    np.testing.assert_array_equal(model._log_evidence(X), model._log_likelihood(X))


def test_a_row_without_cells_has_no_evidence():
    model = SelectiveGaussianNB(n_features_to_select=3, recalibrate=None).fit(X, Y)
    evidence = model._log_evidence(np.full((1, 12), np.nan))
    assert np.ptp(evidence) == 0
