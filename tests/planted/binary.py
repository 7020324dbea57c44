"""Comparisons with the oracles as checks: right on the package as it is, wrong with a mistake."""

from fractions import Fraction

import numpy as np
from comparisons import (
    ENUMERATED,
    discard_distance,
    enumerated_posterior_distance,
    fitted,
    interval_mean_distance,
    kept_patterns,
    prediction_distance,
    published_distance,
    small_table,
)
from oracles_learned import joint_probabilities
from planted_features import distance_to_common_alpha, draw_features, learn

from honestbayes import SelectiveBernoulliNB
from honestbayes.selection import screen


def discard_check():
    """All columns at n = 9, at a correlation that is attained and at one that is not."""
    for gamma_squared in (Fraction(1, 10), Fraction(0.3) ** 2):
        for interval in ((0.0, 1.0), (0.2, 1.0)):
            absolute, kept, tied = discard_distance(20.0, interval, (5, 4), gamma_squared)
            if not (absolute < 1e-12 and kept < 1e-9 and tied < 1e-9):
                return False
    return True


def enumeration_check():
    return all(
        enumerated_posterior_distance(*case, ties) < 1e-12
        for case in (ENUMERATED[0], ENUMERATED[3])
        for ties in ("known", "unknown")
    )


def prediction_check(name, correction, **changes):
    def check():
        return prediction_distance(name, correction, tol=1e-11, **changes) < 1e-9

    return check


def published_check():
    return published_distance(8, 7, 30, 2) < 1e-9


def interval_check():
    model, X, _, _ = fitted("k=3, ties", "selection")
    z, _ = interval_mean_distance(model, kept_patterns(model, X.shape[1]), 20_000)
    return np.max(np.abs(z)) < 4.5


def one_alpha_check():
    return distance_to_common_alpha(300.0, 0).mean() < 0.01


def shapes_check():
    """Probabilities of a tiny table against sums over shapes and atoms."""
    X, y = small_table(seed=5, n=10, p=12)
    screening = screen(X, y)
    prior = learn(screening.ones, screening.class_counts)
    model = SelectiveBernoulliNB(n_features_to_select=2, recalibrate=None, random_state=0)
    model.fit(X, y)
    rows = kept_patterns(model, 12)
    columns = list(model.selection_.columns)
    expected = [joint_probabilities(X[:, columns], y, prior, row[columns]) for row in rows]
    return np.abs(model.predict_proba(rows) - expected).max() < 1e-9


def planted_check():
    """Moments of theta, and of log(alpha) as far as 200 cases can tell them."""
    _, ones, log_alpha, theta = draw_features(
        0, 10_000, (100, 100), lambda r, p: r.normal(4, 1, p), lambda r, p: r.beta(2, 5, p)
    )
    prior = learn(ones, (100, 100))
    mean, sd = prior.theta_moments()
    bound = np.log(500.0)
    t, w = np.minimum(np.log(prior.alpha), bound), prior.alpha_weights
    spread = np.sqrt(w @ (t - w @ t) ** 2)
    truth = np.minimum(log_alpha, bound)
    return (
        abs(mean - theta.mean()) < 0.01
        and abs(sd - theta.std()) < 0.01
        and abs(w @ t - truth.mean()) < 0.2
        and abs(spread - truth.std()) < 0.45
    )


TIES = prediction_check("k=3, ties", "selection")
PLAIN = prediction_check("k=2", None)
COUNTS = prediction_check("k=2", "counts")
MISSING = prediction_check("missing cells", "selection")
BY_DESIGN = prediction_check("always_keep", "selection")
UNKNOWN = prediction_check("k=3, ties", "selection", ties_known=False)
ASYMMETRIC = prediction_check("threshold that is attained, theta in (0.2, 1), missing", "selection")

CHECKS = {
    "discard": discard_check,
    "enumeration": enumeration_check,
    "ties": TIES,
    "plain": PLAIN,
    "counts": COUNTS,
    "missing": MISSING,
    "by design": BY_DESIGN,
    "unknown ties": UNKNOWN,
    "asymmetric": ASYMMETRIC,
    "published": published_check,
    "intervals": interval_check,
    "one alpha for all": one_alpha_check,
    "planted distribution": planted_check,
    "shapes": shapes_check,
}
