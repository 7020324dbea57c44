"""Models with several numbers of features, fitted together, are those fitted one by one."""

import numpy as np
import pytest

from honestbayes import (
    SelectiveBernoulliNB,
    SelectiveCategoricalNB,
    SelectiveDiscriminant,
    SelectiveGaussianNB,
    SelectiveLogistic,
    SelectiveMixedNB,
)
from honestbayes.evaluation import cross_validate
from honestbayes.evaluation.cross_validation import cross_validate_numbers

NUMBERS = [1, 3, 8]


def table(kind):
    rng = np.random.default_rng(1)
    y = np.arange(60) % 2
    if kind == "real":
        return rng.normal(size=(60, 20)) + np.outer(y, np.arange(20) < 3), y
    if kind == "binary":
        return (rng.random((60, 20)) < 0.3 + 0.4 * np.outer(y, np.arange(20) < 3)).astype(int), y
    return rng.integers(0, 3, (60, 20)), y


CASES = {
    "binary, learned": (SelectiveBernoulliNB(), "binary"),
    "binary, uncorrected": (
        SelectiveBernoulliNB(feature_prior="uniform", correction=None),
        "binary",
    ),
    "binary, selection": (
        SelectiveBernoulliNB(feature_prior="uniform", correction="selection"),
        "binary",
    ),
    "categorical": (SelectiveCategoricalNB(), "codes"),
    "real": (SelectiveGaussianNB(), "real"),
    "real, uncorrected, slope": (SelectiveGaussianNB(correction=None, recalibrate="slope"), "real"),
    "threshold": (SelectiveGaussianNB(threshold=0.3), "real"),
    "mixed": (SelectiveMixedNB(kinds=["real"] * 15 + ["categorical"] * 5), "codes"),
    "no layer": (SelectiveMixedNB(recalibrate=None), "real"),
    "discriminant": (SelectiveDiscriminant(), "real"),
    "logistic": (SelectiveLogistic(), "real"),
}


@pytest.mark.slow_cases("binary, selection", "binary, uncorrected", "logistic", "real", "threshold")
@pytest.mark.parametrize("name", CASES)
def test_numbers_together_are_as_one_by_one(name):
    model, kind = CASES[name]
    X, y = table(kind)
    groups = np.arange(60) // 2 if name == "real" else None
    model.set_params(random_state=0)
    together = cross_validate_numbers(model, X, y, NUMBERS, cv=3, groups=groups, random_state=0)
    for number, found in zip(NUMBERS, together, strict=True):
        alone = type(model)(
            **model.get_params() | {"n_features_to_select": number, "threshold": None}
        )
        expected = cross_validate(alone, X, y, cv=3, groups=groups, random_state=0)
        np.testing.assert_array_equal(found.log_proba, expected.log_proba)
        np.testing.assert_array_equal(found.selected_frequency, expected.selected_frequency)


def test_copies_are_whole_and_the_estimator_is_left_alone():
    X, y = table("real")
    model = SelectiveGaussianNB(threshold=0.3, random_state=0)
    fitted = model._fit_numbers(X, y, NUMBERS)
    assert not hasattr(model, "classes_")
    assert model.threshold == 0.3
    for number, one in zip(NUMBERS, fitted, strict=True):
        assert one.n_features_to_select == number
        assert one.get_support().sum() == number
        assert one.n_features_in_ == 20
