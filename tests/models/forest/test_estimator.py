"""The forest: scikit-learn's shares to the last bit, missing cells, files, intervals."""

import numpy as np
import pytest
from model_files import changed
from scipy import sparse
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

import honestbayes
from honestbayes.files import ModelFileError
from honestbayes.models.forest import estimator as forest
from honestbayes.models.forest.estimator import ForestClassifier

PEERS = {"random": ExtraTreesClassifier, "best": RandomForestClassifier}


def table(n=80, p=6, n_classes=3, seed=0):
    """Columns of which the second matters only together with the first."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, p))
    X[:, 0] += y
    X[:, 1] *= np.sign(X[:, 0])
    return X, y


def model(**params):
    return ForestClassifier(**{"n_trees": 30, "recalibrate": None, "random_state": 0, **params})


def in_order(fitted, X):
    """The kept columns, as the trees see them."""
    return X[:, list(fitted.selection_.columns)]


def with_holes(X, share=0.3, seed=1):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(X.shape) < share, np.nan, X)


def recursive_share(tree, row, node=0):
    """A tree's shares for a row, from scikit-learn's tree, by the definition."""
    left, right = tree.children_left[node], tree.children_right[node]
    if left < 0:
        return tree.value[node, 0]
    cell = np.float32(row[tree.feature[node]])
    if not np.isnan(cell):
        return recursive_share(tree, row, left if cell <= tree.threshold[node] else right)
    cases = tree.weighted_n_node_samples
    return (
        cases[left] * recursive_share(tree, row, left)
        + cases[right] * recursive_share(tree, row, right)
    ) / cases[node]


# ------------------------------------------------------------------------- scikit-learn's forest


@pytest.mark.parametrize("splits", PEERS)
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_shares_of_complete_rows_are_those_of_scikit_learn_to_the_last_bit(splits, n_classes):
    X, y = table(n_classes=n_classes)
    fitted = model(splits=splits).fit(X, y)
    peer = PEERS[splits](30, min_samples_leaf=2, random_state=0)
    peer.fit(in_order(fitted, X).astype(np.float32), y)
    new = np.random.default_rng(2).normal(scale=3, size=(200, X.shape[1]))
    expected = peer.predict_proba(in_order(fitted, new).astype(np.float32))
    assert np.array_equal(fitted.trees_.shares(in_order(fitted, new)), expected)


def test_cells_on_a_threshold_go_where_scikit_learn_sends_them():
    X = np.repeat([[0.1], [0.2], [0.3]], 10, axis=0)
    y = np.repeat([0, 1, 0], 10)
    fitted = model(splits="best").fit(X, y)
    peer = RandomForestClassifier(30, min_samples_leaf=2, random_state=0).fit(X, y)
    new = np.unique(fitted.trees_.threshold)[:, None]
    new = np.concatenate([new, np.nextafter(new, 1), np.nextafter(new, -1)])
    assert np.array_equal(fitted.trees_.shares(new), peer.predict_proba(new))


def test_evidence_and_prior_make_smoothed_shares():
    X, y = table(n=81)
    fitted = model(class_pseudocounts=1e-6).fit(X, y)
    shares = fitted.trees_.shares(in_order(fitted, X))
    expected = (len(y) * shares + 1 / 3) / (len(y) + 1)  # classes are balanced
    np.testing.assert_allclose(fitted.predict_proba(X), expected, atol=1e-6)
    assert fitted.predict_proba(X).min() > 0


# --------------------------------------------------------------------------------- missing cells


@pytest.mark.parametrize("splits", PEERS)
def test_missing_cells_go_both_ways_by_the_training_shares(splits):
    X, y = table()
    fitted = model(splits=splits).fit(X, y)
    peer = PEERS[splits](30, min_samples_leaf=2, random_state=0)
    peer.fit(in_order(fitted, X).astype(np.float32), y)
    new = in_order(fitted, with_holes(X))
    expected = [
        np.mean([recursive_share(each.tree_, row) for each in peer.estimators_], axis=0)
        for row in new
    ]
    np.testing.assert_allclose(fitted.trees_.shares(new), expected, atol=1e-14)


@pytest.mark.parametrize("params", [{}, {"splits": "best"}, {"normal_scores": True}])
def test_a_row_without_cells_gets_the_class_shares(params):
    X, y = table()
    y = np.where(np.arange(len(y)) % 5 == 0, 0, y)
    fitted = model(**params).fit(X, y)
    share = (np.bincount(y) + 1) / (len(y) + 3)
    found = fitted.predict_proba(np.full((1, X.shape[1]), np.nan))[0]
    np.testing.assert_allclose(found, share, atol=1e-13)


def test_missing_training_cells_become_observed_ones_of_their_column():
    X = with_holes(table()[0])
    X[:, 5] = np.nan
    filled = forest.completed(X, 0)
    observed = ~np.isnan(X)
    assert np.array_equal(filled[observed], X[observed])
    for j in range(5):
        assert set(filled[:, j]) == set(X[observed[:, j], j])
    assert np.all(filled[:, 5] == 0)


def test_a_column_that_is_mostly_missing_says_nothing_of_the_class():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = rng.normal(size=(200, 5))
    X[10:, 0] = np.nan
    new = rng.normal(size=(400, 5))
    proba = ForestClassifier(n_trees=50, random_state=0).fit(X, y).predict_proba(new)[:, 1]
    assert np.abs(proba - 0.5).mean() < 0.1


# ------------------------------------------------------------------------------- odd tables


def test_constant_columns_change_nothing():
    X, y = table()
    more = np.insert(X, [0, 3, 6], [5.0, np.nan, 0.0], axis=1)
    apart = model().fit(X, y).predict_proba(X)
    assert np.array_equal(model().fit(more, y).predict_proba(more), apart)


def test_without_any_column_that_varies_all_rows_get_the_class_shares():
    y = np.array([0, 0, 0, 1, 1])
    fitted = model().fit(np.ones((5, 2)), y)
    np.testing.assert_allclose(fitted.predict_proba(np.ones((2, 2))), [[4 / 7, 3 / 7]] * 2)


def test_huge_values_are_no_error():
    X, y = table(n_classes=2)
    X[:5, 0] = 1e100
    X[5:9, 1] = -1e100
    assert np.all(np.isfinite(model().fit(X, y).predict_proba(X)))


def test_sparse_and_dense_tables_have_the_same_forest():
    X, y = table()
    X = np.where(X > 0.5, 1.0, 0.0)
    dense = model().fit(X, y).predict_proba(X)
    cells = sparse.csr_array(X)
    assert np.array_equal(model().fit(cells, y).predict_proba(cells), dense)


def test_of_many_cases_each_tree_sees_some(monkeypatch):
    X, y = table(n=300)
    monkeypatch.setattr(forest, "_MOST_CASES", 50)
    fitted = model(min_samples_leaf=1).fit(X, y)
    assert fitted.trees_.right.size < 30 * 2 * 50
    assert fitted.score(X, y) > 0.6


@pytest.mark.parametrize("seed", [0, np.random.RandomState(0), None])
def test_fits_are_deterministic(seed):
    X, y = table()
    first = model(random_state=seed).fit(X, y).predict_proba(X)
    assert np.array_equal(model(random_state=seed).fit(X, y).predict_proba(X), first)


def test_another_seed_grows_other_trees():
    X, y = table()
    first = model().fit(X, y).predict_proba(X)
    assert not np.array_equal(model(random_state=1).fit(X, y).predict_proba(X), first)


def test_rows_do_not_depend_on_each_other():
    X, y = table()
    fitted, X = model().fit(X, y), with_holes(X)
    proba, order = fitted.predict_proba(X), np.random.default_rng(0).permutation(len(X))
    assert np.array_equal(fitted.predict_proba(X[order]), proba[order])
    assert np.array_equal(fitted.predict_proba(X[:1]), proba[:1])
    bounds = fitted.predict_proba_interval(X[:20], n_draws=200)
    assert np.array_equal(fitted.predict_proba_interval(X[3:5], n_draws=200), bounds[3:5])


@pytest.mark.parametrize(
    "wrong", [{"splits": "other"}, {"n_trees": 0}, {"min_samples_leaf": 0}, {"n_trees": 2.5}]
)
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        model(**wrong).fit(*table())


# ------------------------------------------------------------------------------ what it learns


def test_it_sees_what_only_two_columns_together_show():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    fitted = model(n_trees=100).fit(X[:200], y[:200])
    assert fitted.score(X[200:], y[200:]) > 0.8
    table = fitted.feature_table()
    used = dict(zip(table.name, table.importance, strict=True))
    assert min(used["x0"], used["x1"]) > max(used["x2"], used["x3"])


def test_importance_is_that_of_scikit_learn():
    X, y = table()
    fitted = model().fit(X, y)
    peer = ExtraTreesClassifier(30, min_samples_leaf=2, random_state=0)
    peer.fit(in_order(fitted, X).astype(np.float32), y)
    by_tree = [each.tree_.compute_feature_importances(normalize=False) for each in peer.estimators_]
    expected = np.sum(by_tree, axis=0) / np.sum(by_tree)
    np.testing.assert_allclose(fitted.feature_table().importance, expected, atol=1e-12)


def test_intervals_hold_the_probability_and_vary():
    X, y = table()
    fitted = model(n_trees=100).fit(X, y)
    bounds, proba = fitted.predict_proba_interval(X, n_draws=400), fitted.predict_proba(X)
    assert np.all(bounds[..., 0] <= proba + 1e-9)
    assert np.all(bounds[..., 1] >= proba - 1e-9)
    assert np.median(bounds[..., 1] - bounds[..., 0]) > 0.02


# --------------------------------------------------------------------------------------- files


def cycle(arrays, prefix):
    inner = np.flatnonzero(arrays[f"{prefix}right"])
    arrays[f"{prefix}right"][inner[-1]] = inner[0]


def shared_child(arrays, prefix):
    right = arrays[f"{prefix}right"]
    inner = np.flatnonzero(right)
    right[inner[0]] = right[inner[0]] - 1 if right[inner[0]] > 2 else right[inner[0]] + 1


def out_of_the_tree(arrays, prefix):
    right = arrays[f"{prefix}right"]
    right[np.flatnonzero(right)[0]] = right.size - 1


def beyond_all_nodes(arrays, prefix):
    right = arrays[f"{prefix}right"]
    right[np.flatnonzero(right)[-1]] = right.size


def inner_node_at_the_end(arrays, prefix):
    arrays[f"{prefix}right"][-1] = 1


def unknown_column(arrays, prefix):
    arrays[f"{prefix}feature"][0] = 6


def shares_that_do_not_sum_to_one(arrays, prefix):
    arrays[f"{prefix}value"][-1, 0] += 0.1


def infinite_threshold(arrays, prefix):
    arrays[f"{prefix}threshold"][0] = np.inf


def share_above_one(arrays, prefix):
    arrays[f"{prefix}share_left"][0] = 1.5


def no_first_root(arrays, prefix):
    arrays[f"{prefix}first"][0] = 1


def roots_in_disorder(arrays, prefix):
    arrays[f"{prefix}first"][1:3] = arrays[f"{prefix}first"][2:0:-1].copy()


def no_trees(arrays, prefix):
    arrays[f"{prefix}first"] = np.zeros(0, dtype=np.int64)


@pytest.mark.parametrize(
    "harm",
    [
        cycle,
        shared_child,
        out_of_the_tree,
        beyond_all_nodes,
        inner_node_at_the_end,
        unknown_column,
        shares_that_do_not_sum_to_one,
        infinite_threshold,
        share_above_one,
        no_first_root,
        roots_in_disorder,
        no_trees,
    ],
)
def test_hostile_trees_are_refused(harm, tmp_path):
    model().fit(*table()).save(tmp_path / "good")
    changed(tmp_path / "good", tmp_path / "bad", lambda _, arrays: harm(arrays, "part0.trees."))
    with pytest.raises(ModelFileError, match=r"trees\."):
        honestbayes.load(tmp_path / "bad")


def test_a_file_holds_arrays_and_gives_the_same_model(tmp_path):
    X, y = table()
    fitted = ForestClassifier(n_trees=20, random_state=0).fit(X, y)
    fitted.save(tmp_path / "forest")
    again = honestbayes.load(tmp_path / "forest")
    new = with_holes(X)
    assert np.array_equal(again.predict_proba(new), fitted.predict_proba(new))
    assert np.array_equal(
        again.predict_proba_interval(new[:5], n_draws=100),
        fitted.predict_proba_interval(new[:5], n_draws=100),
    )
