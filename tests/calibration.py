"""Replicates of selection and fitting, from counts, for tests of calibration.

Only what matters is drawn: binomial counts of every feature, and test cases on the kept ones.
"""

import numpy as np
from scipy.special import expit

from honestbayes import SelectiveBernoulliNB
from honestbayes.base.recalibration import fit_slope
from honestbayes.data import Binarization
from honestbayes.models.binary.model import bernoulli_settings, fit_screening
from honestbayes.selection.counts import Screening


def draw_features(generator, p, alpha, theta=None):
    """Draw phi of shape (2, p) from the model given alpha (scalar or per feature)."""
    theta = generator.random(p) if theta is None else theta
    a = np.maximum(alpha * theta, 1e-300)
    b = np.maximum(alpha * (1 - theta), 1e-300)
    return np.clip(generator.beta(a, b, size=(2, p)), 1e-12, 1 - 1e-12)


def draw_screening(generator, phi, n0, n1):
    """Draw the counts of n0 + n1 training cases."""
    p = phi.shape[1]
    return Screening(
        np.array([0, 1]),
        (n0, n1),
        np.stack([generator.binomial(n0, phi[0]), generator.binomial(n1, phi[1])]),
        np.array([[n0], [n1]]),
        Binarization(np.zeros(p), np.ones(p)),
    )


def fit_counts(screening, seed=0, **parameters):
    """Fit as the estimator does, from counts, without recalibration."""
    model = SelectiveBernoulliNB(recalibrate=None, **parameters)
    settings = bernoulli_settings(model.get_params(), np.zeros(screening.n_features, dtype=bool))
    return fit_screening(screening, settings, np.random.RandomState(seed))


def expected_and_actual_error(generator, fit, phi, n_test):
    """Return the error that the model claims and the one that happens, on balanced test cases.

    The actual error uses the true probability of each drawn case's class, which has the same mean
    as the drawn class and a smaller variance.
    """
    columns = np.array(fit.selection.columns)
    labels = np.repeat([0, 1], n_test // 2)
    ones = (generator.random((labels.size, columns.size)) < phi[labels][:, columns]).astype(
        np.uint8
    )
    log_odds = fit.log_prior_odds + fit.evidence(ones, None)
    predicted = expit(-np.abs(log_odds))
    kept = phi[:, columns]
    log_likelihood = ones @ np.log(kept).T + (1 - ones) @ np.log1p(-kept).T
    true_1 = expit(log_likelihood[:, 1] - log_likelihood[:, 0])
    wrong = np.where(log_odds >= 0, 1 - true_1, true_1)
    return float(predicted.mean()), float(wrong.mean())


def slope_of(evidence, is_class_1, log_prior_odds, share=1.0):
    """The slope of two classes, from log likelihood ratios."""
    log_likelihood = np.stack([np.zeros(evidence.size), evidence], axis=1)
    log_prior = np.array([0.0, log_prior_odds])
    return fit_slope(log_likelihood, np.asarray(is_class_1, dtype=int), log_prior, share)
