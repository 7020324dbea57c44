"""What does not matter in a table: constant columns, orders, names of classes, units."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honestbayes import (
    HonestClassifier,
    SelectiveDiscriminant,
    SelectiveGaussianNB,
    SelectiveLogistic,
    SelectiveMixedNB,
)

CONTINUOUS = [
    SelectiveGaussianNB(),
    SelectiveGaussianNB(normal_scores=True),
    SelectiveGaussianNB(feature_prior="heavy-tailed", recalibrate=None),
    SelectiveDiscriminant(),
    SelectiveLogistic(),
]
AVERAGE = HonestClassifier(effort="quick", random_state=0)
EACH = [
    *((model, "real") for model in CONTINUOUS),
    (SelectiveMixedNB(), "mixed"),
    pytest.param(AVERAGE, "mixed", marks=pytest.mark.slow),
]
FEW = settings(max_examples=3, deadline=None, derandomize=True)
"""Each example fits two models."""

seeds = st.integers(0, 10_000)
classes = st.sampled_from([2, 3])


def table(seed, n_classes, kind):
    """Columns that differ in strength, so that none are tied: real, or of every kind."""
    rng = np.random.default_rng(seed)
    n = 36
    y = rng.permutation(np.arange(n) % n_classes)
    frame = {f"r{j}": rng.normal(size=n) + (0.8 * y if j < 2 else 0) for j in range(4)}
    if kind == "mixed":
        frame["flag"] = np.where(rng.random(n) < 0.3 + 0.2 * y, 1.0, 0.0)
        frame["sign"] = np.where(rng.random(n) < 0.5, -1.0, 1.0)
        frame["text"] = rng.choice(["a", "b", "c"], n)
    return pd.DataFrame(frame), y


def probabilities(model, X, y, new=None):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "every column of X is constant")
        return model.fit(X, y).predict_proba(X if new is None else new)


@pytest.mark.parametrize(("model", "kind"), EACH)
@FEW
@given(seed=seeds, n_classes=classes, value=st.floats(-1e6, 1e6), place=st.integers(0, 4))
def test_a_constant_column_anywhere_changes_no_bit(model, kind, seed, n_classes, value, place):
    X, y = table(seed, n_classes, kind)
    wide = X.copy()
    wide.insert(place, "constant", value)
    np.testing.assert_array_equal(probabilities(model, wide, y), probabilities(model, X, y))


@pytest.mark.parametrize(("model", "kind"), EACH)
@FEW
@given(seed=seeds, n_classes=classes)
def test_the_order_of_columns_does_not_matter(model, kind, seed, n_classes):
    X, y = table(seed, n_classes, kind)
    order = np.random.default_rng(seed).permutation(X.shape[1])
    np.testing.assert_allclose(
        probabilities(model, X.iloc[:, order], y), probabilities(model, X, y), atol=1e-6
    )


@pytest.mark.parametrize(("model", "kind"), EACH)
@FEW
@given(
    seed=seeds,
    n_classes=classes,
    names=st.permutations([-3, 0, 10]) | st.permutations(["no", "yes", "ä"]),
)
def test_the_names_of_classes_do_not_matter(model, kind, seed, n_classes, names):
    X, y = table(seed, n_classes, kind)
    names = np.array(names)[:n_classes]
    found = probabilities(model, X, names[y])
    expected = probabilities(model, X, y)
    # Columns of probabilities are in the order of the labels.
    np.testing.assert_allclose(found[:, np.argsort(np.argsort(names))], expected, atol=1e-6)


@pytest.mark.parametrize(("model", "kind"), EACH)
@FEW
@given(
    seed=seeds,
    n_classes=classes,
    unit=st.floats(-6, 6).map(lambda power: 10**power),
    shift=st.floats(-100, 100),
)
def test_the_units_of_columns_do_not_matter(model, kind, seed, n_classes, unit, shift):
    X, y = table(seed, n_classes, kind)
    other = X.copy()
    for name in X.columns.difference(["text"]):
        other[name] = unit * (X[name] + shift)
    np.testing.assert_allclose(
        probabilities(model, other, y), probabilities(model, X, y), atol=1e-6
    )


@pytest.mark.parametrize("model", [SelectiveMixedNB(), AVERAGE])
@FEW
@given(
    seed=seeds,
    n_classes=classes,
    values=st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=2, unique=True),
    row=st.integers(0, 35),
)
def test_any_two_values_are_a_binary_column_in_one_row_as_in_all(
    model, seed, n_classes, values, row
):
    X, y = table(seed, n_classes, "mixed")
    expected = probabilities(model, X, y)
    low, high = sorted(values)
    other = X.assign(flag=np.where(X["flag"] == 1, high, low))
    np.testing.assert_allclose(probabilities(model, other, y), expected, atol=1e-12)
    alone = model.predict_proba(other.iloc[[row]])
    np.testing.assert_allclose(alone, expected[[row]], rtol=1e-9)
