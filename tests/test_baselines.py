"""Peers are what they say: exact solutions, tuned by log score, the same from the same seed."""

import importlib.util
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import NearestCentroid
from sklearn.preprocessing import StandardScaler

from honestbayes.evaluation import cross_validate
from honestbayes.evaluation.baselines import BASELINES, FREQUENCIES, Task, baselines_for, logistic
from honestbayes.evaluation.baselines.centroids import shrunken_scores
from honestbayes.evaluation.baselines.logistic import (
    L1Logistic,
    L2Logistic,
    Linear,
    indicators,
    l1_path,
    principal_axes,
    strongest_penalty,
)
from honestbayes.evaluation.baselines.naive_bayes import Tempered, best_temperature

ROOT = Path(__file__).resolve().parents[1]
L1, L2, _, TEMPERATURE, CENTROIDS, _ = (baseline.name for baseline in BASELINES)


def iris():
    X, y = load_iris(return_X_y=True)
    return X, y, Task(n_candidates=4, kinds=("real",) * 4)


def wide(n=60, p=200, n_classes=3, seed=0):
    generator = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = generator.normal(size=(n, p))
    X[:, :n_classes] += 0.8 * np.eye(n_classes)[y]
    return StandardScaler().fit_transform(X), y


def penalised_loss(X, y, penalty, coefficients, intercepts):
    logs = log_softmax(X @ coefficients.T + intercepts, axis=1)
    return -logs[np.arange(y.size), y].mean() + penalty * np.abs(coefficients).sum()


# ------------------------------------------------------------------------- the multinomial path


@pytest.mark.slow
def test_the_path_ends_where_a_solver_of_all_columns_with_bounds_ends():
    X, y = wide(p=4)
    is_class = indicators(y, np.arange(3))
    penalties = strongest_penalty(X, is_class) / np.array([2.0, 10.0, 100.0])
    for penalty, found in zip(penalties, l1_path(X, is_class, penalties), strict=True):

        def loss(z, penalty=penalty):
            # Coefficients as differences of parts that are 0 or more: smooth, with bounds.
            up, down, intercepts = z[:12].reshape(3, 4), z[12:24].reshape(3, 4), z[24:]
            logs = log_softmax(X @ (up - down).T + intercepts, axis=1)
            return -logs[np.arange(y.size), y].mean() + penalty * z[:24].sum()

        bounds = [(0, None)] * 24 + [(None, None)] * 3
        best = minimize(
            loss, np.zeros(27), bounds=bounds, options={"maxiter": 500, "maxfun": 10**6}
        )
        ours = penalised_loss(X, y, penalty, found.coefficients, found.intercepts)
        assert ours == pytest.approx(best.fun, abs=2e-5)


def test_no_column_breaks_the_conditions_of_a_solution():
    X, y = wide()
    is_class = indicators(y, np.arange(3))
    penalties = strongest_penalty(X, is_class) / np.array([1.5, 5.0, 50.0])
    for penalty, found in zip(penalties, l1_path(X, is_class, penalties), strict=True):
        proba = np.exp(found.log_proba(X))
        gradient = (proba.T - is_class) @ X / y.size
        inside = found.coefficients != 0
        assert np.abs(gradient[~inside]).max() <= 1.002 * penalty
        slack = 0.03 * penalty  # where descent stops
        np.testing.assert_allclose(
            gradient[inside], -penalty * np.sign(found.coefficients[inside]), atol=slack
        )


def test_the_strongest_penalty_leaves_no_column_and_a_weaker_one_does():
    X, y = wide()
    is_class = indicators(y, np.arange(3))
    strongest = strongest_penalty(X, is_class)
    none, some = l1_path(X, is_class, strongest * np.array([1.0001, 0.99]))
    assert not none.coefficients.any()
    assert some.coefficients.any()
    assert none.log_proba(X) == pytest.approx(np.full((60, 3), -np.log(3)))


def test_probabilities_of_a_linear_model_are_softmax():
    model = Linear(np.array([[1.0], [0.0]]), np.array([0.5, 0.0]))
    assert np.exp(model.log_proba(np.array([[2.0]])))[0, 0] == pytest.approx(1 / (1 + np.exp(-2.5)))


# ----------------------------------------------------------------------------- the other baselines


@pytest.mark.slow
def test_on_iris_the_l1_logistic_is_multinomial_and_not_one_against_the_rest():
    X, y, task = iris()
    score = {}
    for name in (L1, L2):
        result = cross_validate(baselines_for(task)[name], X, y, cv=5, random_state=0)
        score[name] = result.summary().log_score.value
    # One class against the rest has 0.22.
    assert max(score.values()) < 0.15


@pytest.mark.parametrize("weaker", [2.0, 10.0])
def test_many_cells_of_two_classes_have_the_solution_of_liblinear(weaker, monkeypatch):
    X, y = wide(n=80, p=300, n_classes=2)
    flags = (X > 0).astype(np.int8)
    monkeypatch.setattr(logistic, "WEAKER_PENALTIES", np.array([weaker]))
    monkeypatch.setattr(logistic, "EVEN_WEAKER", np.array([]))  # of more classes
    few = L1Logistic().fit(flags, y)
    monkeypatch.setattr(logistic, "MANY_CELLS", 0)
    many = L1Logistic().fit(flags, y)
    assert few.linear_ is None
    assert many.linear_ is not None
    # liblinear stops early, and penalises the intercept a little.
    np.testing.assert_allclose(many.predict_proba(flags), few.predict_proba(flags), atol=0.02)
    filled = L1Logistic().fit(flags.astype(float), y)  # medians are looked for, none is needed
    np.testing.assert_array_equal(filled.predict_proba(flags), many.predict_proba(flags))


@pytest.mark.parametrize("widest", [1.0, 1e4])
def test_rotated_columns_have_the_same_l2_solution(widest):
    X, y = wide(n=30, p=100)
    X = X * np.geomspace(1, widest, 100)[::-1] / widest  # directions of very different lengths
    axes = principal_axes(X)
    assert axes.shape[1] < 30
    words = {"C": 0.05, "tol": 1e-8, "max_iter": 5000}
    direct = LogisticRegression(**words).fit(X, y).predict_proba(X)
    rotated = LogisticRegression(**words).fit(X @ axes, y).predict_proba(X @ axes)
    np.testing.assert_allclose(rotated, direct, atol=1e-5)
    model = L2Logistic().fit(X, y)
    assert model.rotation_.shape == axes.shape


def test_a_temperature_is_the_one_that_scikit_learn_finds_where_classes_overlap():
    generator = np.random.default_rng(0)
    y = np.arange(400) % 3
    X = np.eye(3)[y] + generator.normal(size=(400, 3))
    X = np.repeat(X, 3, axis=1)  # three times too sure
    ours = Tempered(GaussianNB()).fit(X, y)
    assert 2 < ours.temperature_ < 4
    try:
        theirs = CalibratedClassifierCV(GaussianNB(), method="temperature", ensemble=False).fit(
            X, y
        )
    except ValueError:
        pytest.skip("this scikit-learn has no temperature")
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=0.02)


def test_a_temperature_of_cases_that_are_all_right_leaves_room_for_doubt():
    scores = np.array([[50.0, 0.0]] * 20 + [[0.0, 50.0]] * 20)
    temperature, _ = best_temperature(scores, np.arange(40) // 20)
    # One case in 41 may be wrong: log(40) = 50 / T.
    assert temperature == pytest.approx(50 / np.log(40), rel=1e-3)


def test_centroids_are_those_of_scikit_learn_with_scores_that_were_tempered():
    X, y, task = iris()
    fitted = baselines_for(task)[CENTROIDS].fit(X, y).estimator_
    scaled = StandardScaler().fit_transform(X)
    threshold = fitted.model_.shrink_threshold
    model = NearestCentroid(shrink_threshold=threshold, priors="empirical").fit(scaled, y)
    scores = model.decision_function(scaled) / 2 / fitted.temperature_
    np.testing.assert_allclose(fitted.predict_proba(X), np.exp(log_softmax(scores, axis=1)))


@pytest.mark.parametrize("name", [L1, L2, TEMPERATURE, CENTROIDS])
def test_a_baseline_is_the_same_bit_for_bit_from_the_same_seed(name):
    X, y = wide(n_classes=2)
    task = Task(n_candidates=200, kinds=("real",) * 200)
    one, two = (clone(baselines_for(task)[name]).fit(X, y).predict_proba(X) for _ in range(2))
    assert np.array_equal(one, two)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_table_of_constants_has_the_frequencies_from_every_baseline(n_classes):
    y = np.arange(30) % n_classes
    expected = np.full((1, n_classes), 1 / n_classes)
    for name, baseline in baselines_for(Task(n_candidates=2, n_features=1)).items():
        p = baseline.fit(np.ones((30, 2)), y).predict_proba(np.ones((1, 2)))
        np.testing.assert_allclose(p, expected, atol=0.02, err_msg=name)


def test_five_cases_are_no_reason_for_a_baseline_to_fail():
    X, y = np.random.default_rng(0).normal(size=(5, 4)), np.array([0, 1, 0, 1, 0])
    for name, baseline in baselines_for(Task(n_candidates=4, n_features=2)).items():
        p = baseline.fit(X, y).predict_proba(X)
        assert np.isfinite(p).all(), name


# ---------------------------------------------------------------------------------- one list


def test_reports_and_docs_share_the_list_of_baselines():
    from honestbayes.report.methods import compared_methods, naive_bayes

    words = {"n_features": 2, "threshold": None, "always_keep": None, "n_candidates": 3, "seed": 0}
    found = compared_methods(naive_bayes(("real",) * 3), kinds=("real",) * 3, **words)
    assert [baseline.name for baseline in BASELINES] == list(found)[-len(BASELINES) :]
    spec = importlib.util.spec_from_file_location("baselines", ROOT / "tools" / "baselines.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    page = tool.PAGE.read_text(encoding="utf-8")
    assert tool.with_baselines(page) == page, "run python tools/baselines.py"
    assert all(f"- *{baseline.name}*: " in page for baseline in BASELINES)


def test_benchmarks_take_their_baselines_from_the_list(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    from real_data_methods import methods

    table = SimpleNamespace(kind="real", X=np.zeros((9, 3)), y=np.arange(9) % 2, n_features=3)
    found = methods(table, 2)
    expected = [baseline.name for baseline in BASELINES if baseline.name != FREQUENCIES]
    assert list(found)[-len(expected) :] == expected
    # Indicators of levels and their products, on discrete tables, an elastic net, pipelines of
    # categories and numbers, pipelines that are to be averaged, and what times are compared with
    # are no baselines of reports.
    others = ("interactions.py", "networks.py", "honest.py", "honest_pipelines.py")
    others += ("ordinary.py", "honest_growth.py")
    apart = {ROOT / "benchmarks" / name for name in others}
    for path in set((ROOT / "benchmarks").glob("*.py")) - apart:
        assert "LogisticRegression" not in path.read_text(encoding="utf-8"), path.name


def test_centroids_are_for_measurements_and_not_for_sparse_flags():
    assert CENTROIDS not in baselines_for(Task(n_candidates=2, kinds=("binary", "categorical")))
    assert CENTROIDS not in baselines_for(Task(n_candidates=2, sparse=True))
    assert FREQUENCIES in baselines_for(Task(n_candidates=2, sparse=True))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_of_all_thresholds_are_those_of_scikit_learn(n_classes):
    rng = np.random.default_rng(0)
    y = np.arange(40) % n_classes
    X = rng.normal(size=(40, 30)) + np.outer(y, np.arange(30) < 5)
    X[:, 3] = y  # no spread within the classes
    new, thresholds = rng.normal(size=(7, 30)), np.array([0.0, 0.3, 2.0])
    for threshold, scores in zip(thresholds, shrunken_scores(X, y, new, thresholds), strict=True):
        baseline = NearestCentroid(shrink_threshold=threshold or None, priors="empirical")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = baseline.fit(X, y).decision_function(new) / 2
        found = scores[:, 1] - scores[:, 0] if n_classes == 2 else scores - scores[:, [0]]
        expected = expected if n_classes == 2 else expected - expected[:, [0]]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_scores_without_any_spread_are_none():
    columns = np.ones((6, 2))
    assert list(shrunken_scores(columns, np.arange(6) % 2, columns, np.zeros(2))) == [None, None]
