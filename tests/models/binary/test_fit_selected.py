"""Features that were screened elsewhere: the record stands for the discarded ones."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from honestbayes import SelectiveBernoulliNB
from honestbayes.selection import Selection, screen, select

EVENT = {"feature_prior": "uniform", "correction": "selection", "recalibrate": None}


def data(n=40, p=60, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    rate = rng.random(p)
    X = (rng.random((n, p)) < rate + (1 - rate) * 0.5 * y[:, None] * (np.arange(p) < 5)).astype(int)
    return X, y


X, Y = data()


def fitted(**how):
    return SelectiveBernoulliNB(**{**EVENT, "random_state": 0, **how}).fit(X, Y)


def from_record(selection, X=X, y=Y, **how):
    columns = list(selection.columns)
    model = SelectiveBernoulliNB(**{"recalibrate": None, **how})
    return model.fit_selected(X[:, columns], y, selection)


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"n_features_to_select": 3},
        {"n_features_to_select": None, "threshold": 0.2},
        {"always_keep": [4, 50]},
        {"n_features_to_select": "all"},
        {"quadrature": "paper"},
        {"alpha_prior": (1.0, 3.0), "theta_prior": (0.05, 0.95), "class_pseudocounts": (2.0, 1.0)},
        {"correction": None},
    ],
    ids=str,
)
def test_the_record_gives_the_probabilities_of_the_whole_table(how):
    whole = fitted(**how)
    text = json.dumps(whole.selection_.to_dict())
    rest = {
        name: value
        for name, value in how.items()
        if name not in ("n_features_to_select", "threshold", "always_keep")
    }
    for selection in (whole.selection_, Selection.from_dict(json.loads(text))):
        model = from_record(selection, **rest)
        kept = X[:, list(selection.columns)]
        np.testing.assert_allclose(model.predict_proba(kept), whole.predict_proba(X), atol=1e-12)
        np.testing.assert_allclose(
            model.posterior_.log_prob_selection, whole.posterior_.log_prob_selection, atol=1e-9
        )
        assert model.selection_ == whole.selection_
        assert (model.feature_prior_, model.slope_) == ("uniform", 1.0)


def test_missing_cells_and_sparse_columns_pass_on():
    holes = X.astype(float)
    holes[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    whole = SelectiveBernoulliNB(**EVENT, random_state=0).fit(holes, Y)
    columns = list(whole.selection_.columns)
    for kept in (holes[:, columns], sparse.csc_array(holes[:, columns])):
        model = SelectiveBernoulliNB(recalibrate=None).fit_selected(kept, Y, whole.selection_)
        for table in (kept, holes):  # the kept columns, or the whole table
            np.testing.assert_allclose(
                model.predict_proba(table), whole.predict_proba(holes), atol=1e-12
            )


def test_unknown_ties_give_probabilities_near_those_with_known_ties():
    selection = fitted().selection_
    known = from_record(selection).predict_proba(X)
    unknown = from_record(replace(selection, ties_known=False)).predict_proba(X)
    assert np.all(np.isfinite(unknown))
    assert 0 < np.max(np.abs(unknown - known)) < 0.1


def test_names_come_from_the_record_and_not_from_an_earlier_fit():
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(X.shape[1])])
    selection = select(screen(frame, Y), n_features=3, random_state=np.random.RandomState(0))
    other = pd.DataFrame(X, columns=[f"other {j}" for j in range(X.shape[1])])
    model = SelectiveBernoulliNB(recalibrate=None, random_state=0).fit(other, Y)
    model.fit_selected(frame.to_numpy()[:, list(selection.columns)], Y, selection)
    assert tuple(model.get_feature_names_out()) == selection.kept_names
    assert model.n_features_in_ == 3
    assert model.get_support().sum() == 3


def test_other_class_counts_are_refused():
    selection = fitted().selection_
    y = Y.copy()
    y[np.flatnonzero(y == 0)[0]] = 1
    n0, n1 = selection.class_counts
    message = rf"made on \({n0}, {n1}\) cases per class, but y has \({n0 - 1}, {n1 + 1}\)"
    with pytest.raises(ValueError, match=message):
        from_record(selection, y=y)


@pytest.mark.parametrize("rule", ["top", "threshold"])
def test_a_column_below_the_bound_is_named(rule):
    how = {} if rule == "top" else {"n_features_to_select": None, "threshold": 0.25}
    selection = fitted(**how).selection_
    weak = int(np.argmin(np.abs(screen(X, Y).correlation())))
    columns = list(selection.columns)
    columns[2] = weak
    with pytest.raises(
        ValueError, match=r"column 2 of X has absolute correlation 0\.0\d+ with y, below"
    ):
        SelectiveBernoulliNB(recalibrate=None).fit_selected(X[:, columns], Y, selection)


def test_a_column_at_the_threshold_was_not_kept_by_it():
    table = np.array([[0], [0], [1], [1], [1], [0]])
    y = [0, 0, 1, 1, 0, 1]
    record = select(screen(table, y), n_features=1)
    assert record.rule == "all"
    bound = Fraction(1, 9)
    tied = replace(record, rule="threshold", gamma_squared=bound)
    with pytest.raises(ValueError, match="it cannot have been kept"):
        SelectiveBernoulliNB(recalibrate=None).fit_selected(table, y, tied)
    below = replace(record, rule="threshold", gamma_squared=bound - Fraction(1, 10**30))
    SelectiveBernoulliNB(recalibrate=None).fit_selected(table, y, below)


@pytest.mark.parametrize("change", [-1, 1])
def test_another_number_of_columns_is_refused(change):
    selection = fitted().selection_
    columns = [*selection.columns, 0][: 10 + change]
    message = f"X has {10 + change} columns, but the selection kept 10"
    with pytest.raises(ValueError, match=message):
        SelectiveBernoulliNB(recalibrate=None).fit_selected(X[:, columns], Y, selection)


def test_a_slope_that_cannot_be_learnt_is_warned_about():
    selection = fitted().selection_
    with pytest.warns(UserWarning, match=r"not recalibrated.*recalibrate=None"):
        model = from_record(selection, recalibrate="slope")
    assert model.slope_ == 1.0


@pytest.mark.parametrize(
    "how",
    [{"feature_prior": "learned"}, {"correction": "counts", "feature_prior": "uniform"}],
    ids=str,
)
def test_what_needs_the_counts_of_all_features_is_refused(how):
    with pytest.raises(ValueError, match="has no counts of the discarded features"):
        from_record(fitted().selection_, **how)


def test_columns_in_another_order_are_refused_by_name():
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(X.shape[1])])
    selection = select(screen(frame, Y), n_features=3, random_state=np.random.RandomState(0))
    names = list(selection.kept_names)
    model = SelectiveBernoulliNB(recalibrate=None)
    with pytest.raises(ValueError, match="in the order of the selection"):
        model.fit_selected(frame[names[::-1]], Y, selection)
    model.fit_selected(frame[names], Y, selection)
    other = frame.rename(columns={names[0]: "other"})
    with pytest.raises(ValueError, match="'other'"):
        model.predict_proba(other)


def test_something_else_than_a_selection_is_refused():
    with pytest.raises(TypeError, match="give a Selection"):
        SelectiveBernoulliNB(recalibrate=None).fit_selected(X, Y, fitted().selection_.to_dict())


def test_counts_of_parts_fit_as_the_whole_table_does():
    parts = [screen(X[rows], Y[rows], classes=[0, 1]) for rows in (slice(0, 30), slice(30, None))]
    model = SelectiveBernoulliNB(recalibrate=None, random_state=0)
    whole = model.fit(X, Y).predict_proba(X)
    merged = parts[0].merge_rows(parts[1])
    np.testing.assert_array_equal(model.fit_screening(merged).predict_proba(X), whole)
