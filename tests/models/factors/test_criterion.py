"""Factor models by criteria that rank as r squared does, and what is refused."""

import numpy as np
import pytest

import honestbayes
from honestbayes import SelectiveFactorClassifier, SelectiveFactorRegressor

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

FEW = {
    "n_features_to_select": 4,
    "n_factors": 1,
    "n_chains": 1,
    "n_draws": 20,
    "n_warmup": 10,
    "n_doublings": 0,
    "random_state": 0,
}


def table(n_classes=2):
    rng = np.random.default_rng(1)
    y = np.arange(30) % n_classes
    X = rng.normal(size=(30, 40)) + rng.normal(size=(30, 1))
    X[:, :3] += y[:, None]
    return X, y


def classifier(**params):
    return SelectiveFactorClassifier(recalibrate=None, **{**FEW, **params})


def mann_whitney(column, y):
    return abs((column[y == 1][:, None] > column[y == 0]).mean() - 0.5)


@pytest.mark.parametrize("criterion", ["f", "t"])
@pytest.mark.parametrize(
    "make", [classifier, lambda **more: SelectiveFactorRegressor(**FEW, **more)]
)
def test_criteria_that_rank_as_the_correlation_give_the_same_draws(make, criterion, tmp_path):
    X, y = table()
    usual, other = (make(criterion=name).fit(X, y) for name in ("correlation", criterion))
    assert other.selection_ == usual.selection_
    for name in usual.draws_.values:
        np.testing.assert_array_equal(other.draws_[name], usual.draws_[name])
    other.save(tmp_path / "m.honestbayes")
    assert honestbayes.load(tmp_path / "m.honestbayes").criterion == criterion


@pytest.mark.parametrize(
    ("make", "criterion", "error", "message"),
    [
        (classifier, mann_whitney, ValueError, "'mann_whitney' is not available for factor models"),
        (
            lambda **more: SelectiveFactorRegressor(**FEW, **more),
            mann_whitney,
            ValueError,
            "have a formula for 'correlation', 'f' and 't' only; use one of these, or",
        ),
        (classifier, "chi2", ValueError, "'chi2' is not for real features"),
        (classifier, "gini", ValueError, "'gini' is unknown"),
        (classifier, 3, TypeError, "a name or a function"),
    ],
)
def test_other_criteria_are_refused(make, criterion, error, message):
    with pytest.raises(error, match=message):
        make(criterion=criterion).fit(*table())


def test_t_is_for_two_classes():
    with pytest.raises(ValueError, match="two classes, and there are 3"):
        classifier(criterion="t").fit(*table(3))
