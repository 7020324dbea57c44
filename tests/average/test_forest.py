"""Trees as candidates of the average."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import honestbayes
from honestbayes import HonestClassifier
from honestbayes.average.candidates import candidates_for
from honestbayes.base.spec import TableInfo
from honestbayes.models.forest import estimator as forest

LINEAR = ["gaussian", "discriminant", "logistic"]
FIRST = {"random_state": 0, "candidates": [*LINEAR, "forest"]}


def product(n=150, p=5, seed=0):
    """Columns whose product tells the class."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def test_it_sees_what_the_others_do_not():
    X, y = product()
    new, truth = product(n=500, seed=1)
    scores = []
    for candidates in (LINEAR, FIRST["candidates"]):
        model = HonestClassifier(candidates=candidates, random_state=0).fit(X, y)
        scores.append(-model.predict_log_proba(new)[np.arange(500), truth].mean())
    assert scores[1] < scores[0] - 0.1
    assert dict(zip(model.model_table().name, model.model_table().weight, strict=True))[
        "forest"
    ] == max(model.model_table().weight)


def test_each_case_is_held_out_once(monkeypatch):
    calls, grow = [], forest.grow
    monkeypatch.setattr(forest, "grow", lambda *given: calls.append(given[1].size) or grow(*given))
    X, y = product()
    HonestClassifier(**FIRST).fit(X, y)
    assert calls == [120] * 5 + [150]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_same_seed_gives_the_same_bits(n_jobs):
    X, y = product()
    expected = HonestClassifier(**FIRST).fit(X, y).predict_proba(X)
    again = HonestClassifier(**FIRST, n_jobs=n_jobs).fit(X, y).predict_proba(X)
    assert np.array_equal(again, expected)


def test_an_average_with_a_forest_is_saved_and_explained(tmp_path):
    X, y = product()
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["f"] = np.array(["red", "green", "blue"], dtype=object)[np.arange(len(y)) % 3]
    frame.iloc[::7, 0] = np.nan
    frame.iloc[::11, 5] = None
    model = HonestClassifier(candidates=["forest", "discriminant"], random_state=0).fit(frame, y)
    model.save(tmp_path / "model")
    again = honestbayes.load(tmp_path / "model")
    assert np.array_equal(again.predict_proba(frame), model.predict_proba(frame))
    few = frame.iloc[:5]
    bounds = model.predict_proba_interval(few, n_draws=200)
    assert np.array_equal(again.predict_proba_interval(few, n_draws=200), bounds)
    # The forest sees all columns.
    assert set(model.columns_needed_) == set(frame.columns)
    kept = model.on_kept_columns()
    in_order = frame[list(model.get_feature_names_out())]
    assert np.array_equal(kept.predict_proba(in_order), model.predict_proba(frame))
    added = model.contributions(few, columns=[0, 1, 2]).values
    assert np.all(np.isfinite(added))


def test_a_row_without_cells_gets_the_class_shares():
    X, y = product()
    model = HonestClassifier(**FIRST).fit(X, y)
    share = (np.bincount(y) + 1) / (len(y) + 2)
    found = model.predict_proba(np.full((1, X.shape[1]), np.nan))[0]
    np.testing.assert_allclose(found, share, atol=1e-9)


def test_sparse_and_dense_flags_have_the_same_average():
    rng = np.random.default_rng(0)
    X = (rng.random((80, 30)) < 0.3).astype(float)
    y = (X[:, 0] != X[:, 1]).astype(int)
    how = {"candidates": ["binary", "forest"], "random_state": 0}
    dense = HonestClassifier(**how).fit(X, y).predict_proba(X)
    cells = sparse.csr_array(X)
    assert np.array_equal(HonestClassifier(**how).fit(cells, y).predict_proba(cells), dense)


def test_one_set_of_columns_serves_it_too():
    X, y = product(p=30)
    model = HonestClassifier(n_features_to_select=5, random_state=0, effort="quick").fit(X, y)
    assert len(model.columns_needed_) == 5
    assert "forest" in model.model_table().name


def table_info(n_cases, n_columns, quick=False):
    return TableInfo(
        kinds=("real",) * n_columns,
        n_cases=n_cases,
        n_classes=2,
        n_candidates=n_columns,
        n_numeric_candidates=n_columns,
        max_candidates=n_columns,
        sparse=False,
        missing=False,
        quick=quick,
    )


@pytest.mark.parametrize(
    ("n_cases", "n_columns", "n_trees"),
    [(1000, 100, 200), (1000, 101, 100), (500, 2500, 200), (200_000, 20, 50)],
)
def test_larger_tables_have_fewer_trees(n_cases, n_columns, n_trees):
    tried = candidates_for(table_info(n_cases, n_columns), "normal", named=True)
    (candidate,) = (each for each in tried if each.name == "forest")
    assert candidate.estimator.n_trees == n_trees
    assert candidate.numbers == (min(n_columns, 200),)


@pytest.mark.parametrize("effort", ["quick", "normal", "thorough"])
def test_no_two_candidates_are_the_same_model(effort):
    for kinds in (("real",) * 20, ("binary",) * 20, ("real", "binary", "categorical") * 5):
        info = replace(table_info(200, len(kinds), effort == "quick"), kinds=kinds)
        tried = [each.estimator for each in candidates_for(info, effort)]
        models = [(type(one), str(one.get_params())) for one in tried]
        assert len({*models}) == len(models) >= 3


def test_a_first_answer_has_fewer_trees():
    (candidate,) = (
        each
        for each in candidates_for(table_info(200, 100, quick=True), "quick")
        if each.name == "forest"
    )
    assert candidate.estimator.n_trees == 50


def test_tables_that_are_too_large_have_none():
    tried = candidates_for(table_info(200_000, 400), "normal")
    assert "forest" not in [each.name for each in tried]


@pytest.mark.parametrize(
    ("info", "suits"),
    [
        (("real", 200, 20), True),
        (("real", 99, 20), False),
        (("real", 200, 201), False),
        (("real", 100_000, 20), False),
        (("binary", 200, 20), True),
    ],
)
def test_boosting_is_for_few_columns_and_enough_cases(info, suits):
    kind, n_cases, n_columns = info
    of = replace(table_info(n_cases, n_columns), kinds=(kind,) * n_columns)
    assert ("boosting" in [each.name for each in candidates_for(of, "normal")]) == suits
    # For a first answer only where there are no measurements.
    quick = candidates_for(replace(of, quick=True), "quick")
    assert ("boosting" in [each.name for each in quick]) == (suits and kind == "binary")
