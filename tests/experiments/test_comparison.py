"""Comparisons: the same folds for all, nothing from outside them, and truths that are true."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.naive_bayes import GaussianNB

from honestbayes.experiments import comparison
from honestbayes.experiments.comparison import (
    HONEST,
    OURS,
    TRUTHS,
    calibration_error,
    evaluate,
    findings,
    methods_for,
    scores,
    simulated_table,
)
from honestbayes.experiments.experiment import ExperimentRun


def of_noise(method: str, n_tables: int = 3) -> tuple[float, float]:
    """Return error and log score of a method on tables whose columns know nothing."""
    n, p = (40, 40) if method == HONEST else (60, 300)
    found = [evaluate(simulated_table("noise", s, n, p), method, s) for s in range(n_tables)]
    return tuple(float(np.mean([f[name] for f in found])) for name in ("actual_error", "log_score"))


@pytest.mark.parametrize("method", methods_for("real"))
def test_every_method_is_at_chance_where_the_class_is_random(method: str) -> None:
    error, loss = of_noise(method, 1 if method == HONEST else 3)
    assert 0.36 < error < 0.64
    assert loss > 0.66


def test_a_method_that_selects_outside_the_folds_would_be_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = simulated_table("noise", 0, 60, 300)
    gaps = table.X[table.y == 1].mean(axis=0) - table.X[table.y == 0].mean(axis=0)
    best = np.argsort(-np.abs(gaps))[:10]

    class Best(BaseEstimator):
        def fit(self, X, y):
            self.model_ = GaussianNB().fit(X[:, best], y)
            return self

        def predict_proba(self, X):
            return self.model_.predict_proba(X[:, best])

    monkeypatch.setattr(comparison, "make_method", lambda *_: Best())
    assert evaluate(table, "leaking", 0)["actual_error"] < 0.3


def test_all_methods_of_a_repeat_have_the_same_folds_and_repeats_have_others() -> None:
    table = simulated_table("flags", 0, 40, 30)
    splits = {(m, r): evaluate(table, m, r)["split"] for m in OURS[1:] for r in (0, 1)}
    assert len({splits[m, 0] for m in OURS[1:]}) == 1
    assert splits[OURS[1], 0] != splits[OURS[1], 1]


@pytest.mark.parametrize("name", TRUTHS)
def test_the_truth_of_a_simulated_table_is_true(name: str) -> None:
    table = simulated_table(name, 1, 20_000, 100)
    p = table.truth[:, 1]
    if name == "noise":
        np.testing.assert_array_equal(p, 0.5)
        return
    # Among cases with about the same probability, as many are of class 1.
    for rows in np.array_split(np.argsort(p), 10):
        error = np.sqrt(np.mean(p[rows] * (1 - p[rows])) / rows.size)
        assert abs(p[rows].mean() - table.y[rows].mean()) < 4 * error + 1e-3
    # And no column tells more: what is left after the truth is not correlated with any.
    left = table.y - p
    bound = 4.5 * np.sqrt(np.mean(left**2) / 20_000)
    columns = (table.X - table.X.mean(axis=0)) / table.X.std(axis=0)
    assert np.abs(left @ columns / 20_000).max() < bound


def test_scores_are_those_of_their_definitions() -> None:
    truth = np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]])
    found = scores(np.array([0, 1, 0]), np.log(truth), truth)
    assert found["distance"] < 1e-12
    assert found["log_score"] == pytest.approx(-np.log([0.9, 0.6, 0.2]).mean())
    assert found["log_score"] == pytest.approx(found["log_score_of_truth"])
    assert found["brier"] == pytest.approx(np.mean([0.01, 0.16, 0.64]))
    assert found["expected_error"] == pytest.approx(0.7 / 3)
    assert found["actual_error"] == pytest.approx(1 / 3)
    sure, right = np.array([0.6, 0.7, 0.8, 0.9]), np.array([True, False, True, True])
    assert calibration_error(sure, right, 2) == pytest.approx((0.15 + 0.15) / 2)


def test_the_account_says_where_the_correction_costs() -> None:
    losses = dict.fromkeys(methods_for("real"), 0.5)
    runs = []
    for table, uncorrected, honest in (("pays", 0.9, 0.4), ("costs", 0.3, 0.6)):
        for repeat in range(3):
            for method, loss in losses.items():
                own = {OURS[3]: uncorrected, HONEST: honest}.get(method, loss)
                names = ("brier", "calibration_error", "calibration_error_by_luck")
                words = dict.fromkeys((*names, "expected_error", "actual_error", "seconds"), 0.1)
                words |= {"n_cases": 9, "n_features": 8, "n_classes": 2}
                words["log_score"] = own + 0.001 * repeat * (method == OURS[3])
                settings = {"table": table, "method": method, "repeat": repeat}
                runs.append(ExperimentRun(settings, words, 1.0))
    text = findings(runs, new_tables=False).conclusion
    assert "pays in log score (by more than two standard errors over repeats) on pays (+0.4" in text
    assert "it costs on costs (-0.1" in text
    assert "than every baseline on 1 of 2 tables" in text
    assert "costs (L1 logistic regression, by 0.100)" in text
