"""Markov chains and quadrature agree on binary naive Bayes."""

import numpy as np
import pytest
from scipy.special import softmax

from honestbayes import SelectiveBernoulliNB
from honestbayes.datasets import simulate_naive_bayes
from honestbayes.models.mixture.naive_bayes import sample_naive_bayes

CASES = {
    "corrected": (True, {"correction": "selection"}),
    "uncorrected": (False, {"correction": None}),
    "asymmetric theta": (True, {"correction": "selection", "theta_prior": (0.1, 1.0)}),
}


@pytest.mark.slow_cases("asymmetric theta", "corrected", "uncorrected")
@pytest.mark.parametrize("name", CASES)
def test_chains_and_quadrature_agree(name):
    correct, words = CASES[name]
    data = simulate_naive_bayes(80, 200, 1500, alpha=60.0, random_state=3)
    model = SelectiveBernoulliNB(
        n_features_to_select=6, feature_prior="uniform", recalibrate=None, **words
    ).fit(data.X_train, data.y_train)
    part = sample_naive_bayes(
        data.X_train,
        data.y_train,
        n_features_to_select=6,
        correct=correct,
        theta_prior=words.get("theta_prior", (0.0, 1.0)),
        n_draws=1500,
        thin=4,
    )
    assert part.selection.columns == model.selection_.columns
    found = part.draws.diagnostics(["log_alpha"])
    assert not found.problems()
    assert abs(found.mean[0] - model.posterior_.mean()) < 5 * found.mcse[0]
    quantiles = model.posterior_.quantile(np.array([0.1, 0.5, 0.9]))
    below = [np.mean(part.draws["log_alpha"] < q) for q in quantiles]
    np.testing.assert_allclose(below, [0.1, 0.5, 0.9], atol=0.04)
    values = part.read(data.X_test[:, list(part.selection.columns)], str)
    proba = softmax(part.log_prior + part.log_likelihood(values), axis=1)
    np.testing.assert_allclose(proba, model.predict_proba(data.X_test), atol=0.02)


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        ("n_features_to_select", 90, "is more than the 50 features to choose from"),
        ("n_features_to_select", 0, "is not a whole number of 1 or more"),
        ("n_features_to_select", "cv", "is not a whole number of 1 or more"),
        ("correct", "yes", "is not True or False"),
        ("class_pseudocounts", (1.0, 0.0), "class_pseudocounts"),
        ("alpha_prior", (0.0, 1.0), "alpha_prior"),
        ("theta_prior", (1.0, 0.0), "theta_prior"),
        ("n_alpha", 0, "is not a whole number of 1 or more"),
        ("n_chains", 0, "is not a whole number of 1 or more"),
        ("n_draws", 0, "is not a whole number of 1 or more"),
        ("n_warmup", -1, "is not a whole number of 0 or more"),
        ("thin", 0, "is not a whole number of 1 or more"),
    ],
)
def test_parameters_are_validated_before_chains_run(parameter, value, message):
    data = simulate_naive_bayes(20, 0, 50, random_state=0)
    with pytest.raises(ValueError, match=message):
        sample_naive_bayes(data.X_train, data.y_train, **{parameter: value})
