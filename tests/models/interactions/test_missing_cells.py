"""Missing cells at prediction are averaged over the training rows that resemble the case."""

import numpy as np
import pandas as pd
import pytest
from oracles_donors import completed, donor_weights, learned_mismatch

import honestbayes
from honestbayes import (
    HonestClassifier,
    InteractionClassifier,
    InteractionRegressor,
    SequenceClassifier,
)
from honestbayes.files import ModelFileError
from honestbayes.files.fields import Entries
from honestbayes.models.interactions import missing_cells
from honestbayes.models.interactions import model as interaction_model
from honestbayes.models.interactions.estimator import windows
from honestbayes.models.interactions.model import InteractionFit

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SHORT = {"n_chains": 2, "n_draws": 60, "n_warmup": 40, "n_doublings": 0, "thin": 2}


def table(n=120, n_classes=2, seed=0):
    """Return a table in which the second column mostly repeats the first."""
    rng = np.random.default_rng(seed)
    first = rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])
    second = np.where(rng.random(n) < 0.85, first, rng.choice(["a", "b", "c"], n))
    X = pd.DataFrame({"first": first, "second": second, "third": rng.choice(["u", "v"], n)})
    y = ((first == "a") & (rng.random(n) < 0.9)).astype(int)
    if n_classes == 3:
        y[rng.random(n) < 0.3] = 2
    return X, y


@pytest.fixture(scope="module", params=[2, 3])
def fitted(request):
    X, y = table(n_classes=request.param)
    return InteractionClassifier(random_state=0, **SHORT).fit(X, y), X, y


def shares_of(y):
    return (np.bincount(y) + 1) / (len(y) + y.max() + 1)


def hidden(X, *columns):
    return X.assign(**dict.fromkeys(columns)).astype(object)


def expected(model, X, y, row):
    """Average the probabilities of completed rows, relative to those of a row without cells."""
    rows = X.to_numpy().tolist()
    mismatch = learned_mismatch(rows)

    def averaged(row):
        cells = pd.DataFrame([completed(row, donor) for donor in rows], columns=X.columns)
        return np.array(donor_weights(row, rows, mismatch)) @ model.predict_proba(cells)

    share = shares_of(y)
    nothing = averaged([None] * X.shape[1])
    missing = np.mean([cell is None for cell in row])
    total = averaged(row) * (share / nothing) ** missing
    return total / total.sum()


@pytest.mark.parametrize(
    "row",
    [
        ["a", None, "u"],
        [None, "b", "v"],
        [None, None, "u"],
        ["c", "a", None],
        [None, None, None],
    ],
)
def test_missing_cells_are_averaged_over_donors(fitted, row):
    model, X, y = fitted
    found = model.predict_proba(pd.DataFrame([row], columns=X.columns))[0]
    np.testing.assert_allclose(found, expected(model, X, y, row), rtol=1e-9)


def test_a_row_without_any_cell_gets_the_class_shares(fitted):
    model, X, y = fitted
    empty = hidden(X[:2], *X.columns)
    np.testing.assert_allclose(model.predict_proba(empty), [shares_of(y)] * 2, atol=1e-12)


def test_the_mean_prediction_is_close_to_the_class_shares(fitted):
    model, X, y = fitted
    for columns in (["first"], ["second", "third"], ["first", "second"]):
        found = model.predict_proba(hidden(X, *columns)).mean(axis=0)
        np.testing.assert_allclose(found, shares_of(y), atol=0.015)


def test_a_missing_cell_that_another_repeats_is_filled_in_by_it():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"one": rng.choice(["a", "b"], 200)})
    X["two"], X["three"] = X["one"], rng.choice(["u", "v"], 200)
    y = ((X["one"] == "a") ^ (rng.random(200) < 0.1)).astype(int)
    model = InteractionClassifier(random_state=0, **SHORT).fit(X, y)
    whole = model.predict_proba(X)
    assert np.abs(model.predict_proba(hidden(X, "two")) - whole).max() < 0.01
    assert np.abs(model.predict_proba(hidden(X, "one")) - whole).max() < 0.01


def test_complete_rows_do_not_depend_on_missing_cells_beside_them(fitted):
    model, X, _ = fitted
    holes = X.astype(object).copy()
    holes.iloc[::2, 1] = None
    both = model.predict_proba(holes)
    np.testing.assert_array_equal(both[1::2], model.predict_proba(X)[1::2])
    np.testing.assert_array_equal(both[:1], model.predict_proba(holes[:1]))


def test_intervals_hold_the_probabilities_of_rows_with_missing_cells(fitted):
    model, X, _ = fitted
    holes = pd.concat([hidden(X[:5], "first"), hidden(X[:1], *X.columns)])
    proba, bounds = model.predict_proba(holes), model.predict_proba_interval(holes)
    proba = proba if model.classes_.size > 2 else proba[:, 1]
    assert ((bounds[..., 0] < proba) & (proba < bounds[..., 1])).all()


def test_unknown_levels_are_taken_for_missing(fitted):
    model, X, _ = fitted
    with pytest.warns(UserWarning, match=r"3 cells are treated as missing.*'x' in .*'first'"):
        unknown = model.predict_proba(X[:3].assign(first="x"))
    np.testing.assert_array_equal(unknown, model.predict_proba(hidden(X[:3], "first")))


def test_missing_as_a_level_stays_a_level_where_training_had_it():
    X, y = table()
    X = X.astype(object).mask(X == "c")
    X["third"] = X["third"].fillna("u")
    model = InteractionClassifier(missing="level", random_state=0, **SHORT).fit(X, y)
    (part,) = model._parts
    cells = part.read(hidden(X[:1], *X.columns), str)
    # The code after all others is the level of missing cells; "third" had none in training.
    assert cells.tolist() == [[2, 2, 2]]
    assert part.cells(cells).tolist() == [[2, 2, -1]]
    found = model.predict_proba(hidden(X[:1], "first", "second"))
    each = [X[:1].assign(first=None, second=None, third=value) for value in ("u", "v")]
    low, high = sorted(model.predict_proba(one)[0, 1] for one in each)
    assert low - 0.02 < model.predict_proba(hidden(X[:1], *X.columns))[0, 1] < high + 0.02
    assert found.shape == (1, 2)


def test_many_donors_are_sampled_evenly(fitted, monkeypatch):
    model, X, y = fitted
    holes = hidden(X, "first", "second")
    whole = model.predict_proba(holes)
    monkeypatch.setattr(missing_cells, "MOST_COMPLETIONS", 8)
    assert np.abs(model.predict_proba(holes) - whole).max() < 0.1
    empty = hidden(X[:1], *X.columns)
    np.testing.assert_allclose(model.predict_proba(empty)[0], shares_of(y), atol=1e-12)


def test_fewer_draws_are_enough_for_many_completions(fitted, monkeypatch):
    model, X, y = fitted
    holes = pd.concat([hidden(X, "first", "second"), hidden(X[:1], *X.columns)])
    whole = model.predict_proba(holes)
    monkeypatch.setattr(interaction_model, "MANY_COMPLETIONS", 2)
    found = model.predict_proba(holes)
    assert 0 < np.abs(found - whole).max() < 0.02
    np.testing.assert_array_equal(found[:1], model.predict_proba(holes[:1]))
    np.testing.assert_allclose(found[-1], shares_of(y), atol=1e-12)


def test_a_window_without_any_state_gets_the_shares_of_states():
    X, y = windows("abcabdacb" * 12, 4)
    model = SequenceClassifier(order=3, random_state=0, **SHORT).fit(X, y)
    empty = np.full((1, 4), None, dtype=object)
    counts = np.unique(y, return_counts=True)[1]
    expected = (counts + 1) / (counts + 1).sum()
    np.testing.assert_allclose(model.predict_proba(empty)[0], expected, atol=1e-12)
    # A state further back than the order is not looked at.
    back = X.astype(object)
    back[:, 0] = None
    np.testing.assert_array_equal(model.predict_proba(back), model.predict_proba(X))


def test_a_response_is_averaged_over_donors():
    X, _ = table(200)
    rng = np.random.default_rng(1)
    y = 3.0 * (X["first"] == "a") + rng.normal(scale=0.3, size=200)
    model = InteractionRegressor(random_state=0, **SHORT).fit(X, y)
    empty = hidden(X[:1], *X.columns)
    found = model.predict_quantiles(empty, [0.1, 0.9])[0]
    np.testing.assert_allclose(found, np.quantile(y, [0.1, 0.9]), atol=0.25)
    found = model.predict_quantiles(hidden(X, "first"), [0.05, 0.95])
    inside = (found[:, 0] < y) & (y < found[:, 1])
    assert 0.8 < inside.mean() < 0.99
    # The second column tells the first, mostly.
    guess = model.predict(hidden(X, "first"))
    assert np.median(np.abs(guess - y)) < 0.5
    assert np.array_equal(guess[:3], model.predict(hidden(X[:3], "first")))


def test_files_keep_the_donors(fitted, tmp_path):
    model, X, _ = fitted
    model.save(tmp_path / "model.honestbayes")
    loaded = honestbayes.load(tmp_path / "model.honestbayes")
    holes = pd.concat([hidden(X[:5], "first"), hidden(X[:1], *X.columns)])
    np.testing.assert_array_equal(loaded.predict_proba(holes), model.predict_proba(holes))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("row_counts", lambda counts: counts[:-1]),
        ("row_counts", lambda counts: counts * 0),
        ("row_counts", lambda counts: -counts),
        ("row_counts", lambda counts: counts * 1.0),
        ("row_counts", lambda counts: counts + 2**60),
        ("mismatch", lambda _: 0.0),
        ("mismatch", lambda _: 1.5),
        ("mismatch", lambda _: float("nan")),
        ("mismatch", lambda _: "0.1"),
    ],
)
def test_impossible_donors_in_a_file_are_refused(fitted, name, value):
    (part,) = fitted[0]._parts
    content, arrays = part.fit.to_plain()
    place = content if name in content else arrays
    place[name] = value(place[name])
    n_classes = fitted[0].classes_.size
    known = {"n_levels": part.codes.n_levels, "n_predictors": 1 if n_classes == 2 else n_classes}
    with pytest.raises(ModelFileError, match=name):
        InteractionFit.from_plain(Entries(content, arrays), known)


@pytest.mark.slow_cases("2")
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_thorough_average_gives_an_empty_row_the_class_shares(n_classes):
    X, y = table(80, n_classes)
    model = HonestClassifier(effort="thorough", random_state=0).fit(X, y)
    assert "interactions" in set(model.model_table_.name)
    empty = hidden(X[:1], *X.columns)
    # Networks have a prior of the class of their own, so that theirs are a little different.
    np.testing.assert_allclose(model.predict_proba(empty)[0], shares_of(y), atol=0.005)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_an_average_without_networks_gives_an_empty_row_the_class_shares_exactly(n_classes):
    X, y = table(80, n_classes)
    empty = hidden(X[:1], *X.columns)
    candidates = ["interactions", "categorical"]
    model = HonestClassifier(effort="thorough", candidates=candidates, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(empty)[0], shares_of(y), atol=1e-9)
