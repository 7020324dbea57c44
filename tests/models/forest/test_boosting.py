"""Boosted trees: scikit-learn's scores, missing cells, files."""

import numpy as np
import pytest
from model_files import changed
from scipy.special import softmax
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import honestbayes
from honestbayes.files import ModelFileError
from honestbayes.models.forest.estimator import BoostedTreesClassifier, depth_first


def table(n=150, p=5, n_classes=2, seed=0):
    """Columns whose product gives the class, one of them with few values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X[:, 2] = np.round(X[:, 2])
    score = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n)
    return X, np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)


def model(**params):
    return BoostedTreesClassifier(**{"n_iterations": 20, "recalibrate": None, **params})


def of_scikit_learn(fitted, X, y):
    columns = list(fitted.selection_.columns)
    peer = HistGradientBoostingClassifier(max_iter=20, early_stopping=False)
    return peer.fit(X[:, columns].astype(np.float32), y), columns


def recursive_score(nodes, row, node=0):
    """What a tree of scikit-learn adds for a row, by the definition of a missing cell here."""
    here = nodes[node]
    if here["is_leaf"]:
        return here["value"]
    left, right = here["left"], here["right"]
    cell = np.float32(row[here["feature_idx"]])
    if not np.isnan(cell):
        return recursive_score(nodes, row, left if cell <= here["num_threshold"] else right)
    cases = nodes["count"]
    return (
        cases[left] * recursive_score(nodes, row, left)
        + cases[right] * recursive_score(nodes, row, right)
    ) / here["count"]


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_evidence_is_what_the_trees_of_scikit_learn_add_to_class_frequencies(n_classes):
    X, y = table(n_classes=n_classes)
    y = np.where(np.arange(len(y)) % 4 == 0, 0, y)  # classes of different sizes
    fitted = model().fit(X, y)
    peer, columns = of_scikit_learn(fitted, X, y)
    new = np.random.default_rng(1).normal(scale=2, size=(100, X.shape[1]))
    new[::3, 0] = np.nan
    new[::5, 3] = np.nan
    rows = np.concatenate([new, np.full((1, X.shape[1]), np.nan)])[:, columns]
    scores = np.zeros((len(rows), n_classes))
    for iteration in peer._predictors:
        for label, predictor in enumerate(iteration):
            own = 1 if n_classes == 2 else label
            scores[:, own] += [recursive_score(predictor.nodes, row) for row in rows]
    found = fitted._log_likelihood(new)
    missing = np.isnan(new[:, columns]).mean(axis=1)[:, None]
    expected = scores[:-1] - missing * scores[-1]
    np.testing.assert_allclose(
        found - found.mean(axis=1, keepdims=True),
        expected - expected.mean(axis=1, keepdims=True),
        atol=1e-12,
    )
    complete = np.random.default_rng(2).normal(size=(50, X.shape[1]))
    joint = np.log(np.bincount(y) / len(y)) + fitted._log_likelihood(complete)
    np.testing.assert_allclose(
        softmax(joint, axis=1), peer.predict_proba(complete[:, columns]), atol=1e-12
    )


def test_nodes_are_put_in_depth_first_order():
    left, right = np.array([3, 0, 0, 1, 0]), np.array([2, 0, 0, 4, 0])
    inner = np.array([True, False, False, True, False])
    assert depth_first(left, right, inner).tolist() == [0, 3, 1, 4, 2]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_row_without_cells_gets_the_class_shares(n_classes):
    X, y = table(n_classes=n_classes)
    y = np.where(np.arange(len(y)) % 4 == 0, 0, y)
    share = (np.bincount(y) + 1) / (len(y) + n_classes)
    found = model().fit(X, y).predict_proba(np.full((1, X.shape[1]), np.nan))[0]
    np.testing.assert_allclose(found, share, atol=1e-12)


def test_it_sees_a_product_and_says_which_columns_matter():
    X, y = table(n=400)
    fitted = model(n_iterations=50).fit(X[:200], y[:200])
    assert fitted.score(X[200:], y[200:]) > 0.75
    of = fitted.feature_table()
    used = dict(zip(of.name, of.importance, strict=True))
    assert min(used["x0"], used["x1"]) > max(used[f"x{j}"] for j in (2, 3, 4))
    assert sum(used.values()) == pytest.approx(1)


def test_without_recalibration_intervals_show_class_frequencies_only():
    X, y = table()
    bounds = model().fit(X, y).predict_proba_interval(X[:5], n_draws=400)
    width = np.diff(np.log(bounds / (1 - bounds)), axis=1)
    # Alike up to what keeps the mean of the draws at the probability.
    np.testing.assert_allclose(width / width[0], 1, atol=0.03)
    learned = model(recalibrate="bayes").fit(X, y).predict_proba_interval(X[:5], n_draws=400)
    assert np.all(np.diff(np.log(learned / (1 - learned)), axis=1) > width[0])


def test_without_a_column_that_varies_all_rows_get_the_class_shares():
    y = np.array([0] * 60 + [1] * 40)
    fitted = model().fit(np.ones((100, 2)), y)
    np.testing.assert_allclose(fitted.predict_proba(np.ones((2, 2))), [[61 / 102, 41 / 102]] * 2)


@pytest.mark.parametrize(
    "wrong",
    [{"learning_rate": 0.0}, {"learning_rate": "x"}, {"n_iterations": 0}, {"max_leaf_nodes": 1}],
)
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        model(**wrong).fit(*table())


def infinite_leaf(arrays):
    arrays["part0.trees.value"][-1, 0] = np.inf


def cycle(arrays):
    right = arrays["part0.trees.right"]
    inner = np.flatnonzero(right)
    right[inner[-1]] = inner[0]


@pytest.mark.parametrize("harm", [infinite_leaf, cycle])
def test_hostile_trees_are_refused(harm, tmp_path):
    model().fit(*table()).save(tmp_path / "good")
    changed(tmp_path / "good", tmp_path / "bad", lambda _, arrays: harm(arrays))
    with pytest.raises(ModelFileError, match=r"trees\."):
        honestbayes.load(tmp_path / "bad")


@parametrize_with_checks([model(min_samples_leaf=2)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
