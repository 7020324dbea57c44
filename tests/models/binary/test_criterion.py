"""Binary features selected by another criterion than the correlation, corrected exactly."""

import itertools

import numpy as np
import pytest
from scipy.special import betaln

import honestbayes
from honestbayes import SelectiveBernoulliNB, SelectiveCategoricalNB
from honestbayes.datasets import simulate_naive_bayes
from honestbayes.selection import Selection

N0, N1 = 4, 5
Y = np.repeat([0, 1], [N0, N1])
THETA, WEIGHT = (part / 2 for part in np.polynomial.legendre.leggauss(200))
THETA = THETA + 0.5


def difference(column, y):
    """Difference of the shares of ones, of class 1 from class 0, with its sign."""
    return column[y == 1].mean() - column[y == 0].mean()


def chi_square(column):
    observed = np.array([[np.sum(column[c == Y] == v) for v in (0, 1)] for c in (0, 1)], float)
    expected = observed.sum(axis=1, keepdims=True) * observed.sum(axis=0) / observed.sum()
    used = expected > 0
    return float(np.sum((observed - expected)[used] ** 2 / expected[used]))


def information(column):
    share = np.array([[np.mean((c == Y) & (column == v)) for v in (0, 1)] for c in (0, 1)])
    both = share.sum(axis=1, keepdims=True) * share.sum(axis=0)
    used = share > 0
    return float(np.sum(share[used] * np.log(share[used] / both[used])))


ORACLES = {
    "chi2": chi_square,
    "mutual_information": information,
    "function": lambda column: difference(column, Y),
}
CRITERIA = {"function": difference}


def log_prob_column(column, alpha):
    """log P(column | alpha), theta uniform, by one sum."""
    log = np.zeros(THETA.size)
    for c, n in ((0, N0), (1, N1)):
        ones = column[c == Y].sum()
        a, b = alpha * THETA, alpha * (1 - THETA)
        log += betaln(a + ones, b + n - ones) - betaln(a, b)
    return float(np.log(np.sum(WEIGHT * np.exp(log))))


def table(p=60, seed=3):
    """A table in which the strength of the weakest kept feature is attained by others too."""
    return np.random.default_rng(seed).integers(0, 2, (N0 + N1, p))


@pytest.mark.parametrize("name", ORACLES)
def test_the_probability_of_selection_is_a_sum_over_all_columns(name):
    X = table()
    model = SelectiveBernoulliNB(
        n_features_to_select=7,
        criterion=CRITERIA.get(name, name),
        correction="selection",
        feature_prior="uniform",
        recalibrate=None,
        random_state=0,
    ).fit(X, Y)
    strength = np.array([ORACLES[name](column) for column in X.T])
    kept = model.get_support()
    bound = strength[kept].min()
    assert strength[~kept].max() <= bound + 1e-12
    n_tied = int(np.sum(np.abs(strength[~kept] - bound) < 1e-9))
    n_below = int(np.sum(~kept)) - n_tied
    columns = [np.array(bits) for bits in itertools.product([0, 1], repeat=N0 + N1)]
    of_all = np.array([ORACLES[name](column) for column in columns])
    tied, below = np.abs(of_all - bound) < 1e-9, of_all < bound - 1e-9
    posterior = model.posterior_
    for node in np.argsort(-posterior.weights)[:5]:
        prob = np.exp([log_prob_column(column, posterior.alpha[node]) for column in columns])
        assert prob.sum() == pytest.approx(1, abs=1e-8)
        expected = n_below * np.log(prob[below].sum())
        if n_tied:
            expected += n_tied * np.log(prob[tied].sum())
        assert posterior.log_prob_selection[node] == pytest.approx(expected, abs=1e-6)


def test_features_are_ranked_by_a_users_function_and_files_refuse_it(tmp_path):
    X = table()
    model = SelectiveBernoulliNB(n_features_to_select=5, criterion=difference, recalibrate=None)
    model.fit(X, Y)
    strength = X[Y == 1].mean(axis=0) - X[Y == 0].mean(axis=0)
    assert strength[model.get_support()].min() >= strength[~model.get_support()].max()
    with pytest.raises(ValueError, match="criterion is a function, which cannot be saved"):
        model.save(tmp_path / "m.honestbayes")


@pytest.mark.parametrize("correction", ["counts", "selection"])
def test_the_categorical_model_agrees(correction):
    data = simulate_naive_bayes(60, 40, n_features=300, alpha=20.0, random_state=1)
    params = {
        "n_features_to_select": 8,
        "criterion": "mutual_information",
        "correction": correction,
        "feature_prior": "uniform",
        "recalibrate": None,
        "random_state": 0,
    }
    binary = SelectiveBernoulliNB(**params).fit(data.X_train, data.y_train)
    other = SelectiveCategoricalNB(**params).fit(data.X_train, data.y_train)
    assert set(binary.selection_.kept) == set(other.selection_.kept)
    # Their priors of theta are the same; that model simulates P(S), so that it is off a little.
    close = 1e-6 if correction == "counts" else 5e-3
    np.testing.assert_allclose(
        binary.predict_proba(data.X_test), other.predict_proba(data.X_test), atol=close
    )


def test_a_model_by_another_criterion_is_saved_and_its_record_is_fitted_elsewhere(tmp_path):
    data = simulate_naive_bayes(60, 10, n_features=200, alpha=20.0, random_state=2)
    params = {"n_features_to_select": 6, "criterion": "chi2", "recalibrate": None}
    model = SelectiveBernoulliNB(**params, correction="selection", feature_prior="uniform")
    model.fit(data.X_train, data.y_train).save(tmp_path / "m.honestbayes")
    again = honestbayes.load(tmp_path / "m.honestbayes")
    expected = model.predict_proba(data.X_test)
    np.testing.assert_array_equal(again.predict_proba(data.X_test), expected)
    record = Selection.from_dict(model.selection_.to_dict())
    kept = data.X_train[:, list(record.columns)]
    elsewhere = SelectiveBernoulliNB(**params).fit_selected(kept, data.y_train, record)
    found = elsewhere.predict_proba(data.X_test[:, list(record.columns)])
    np.testing.assert_allclose(found, expected, atol=1e-12)
    with pytest.raises(ValueError, match="was made by 'chi2', and criterion='correlation'"):
        SelectiveBernoulliNB(recalibrate=None).fit_selected(kept, data.y_train, record)
    weak = np.roll(kept, 1, axis=0)
    with pytest.raises(ValueError, match="below the selection's bound"):
        SelectiveBernoulliNB(**params).fit_selected(weak, data.y_train, record)


@pytest.mark.parametrize("name", ["correlation", "f", "t", "chi2"])
def test_criteria_that_rank_alike_give_the_same_model(name):
    data = simulate_naive_bayes(50, 20, n_features=150, alpha=20.0, random_state=4)
    params = {"n_features_to_select": 6, "correction": "selection", "feature_prior": "uniform"}
    usual, other = (
        SelectiveBernoulliNB(**params, criterion=criterion, recalibrate=None, random_state=0)
        .fit(data.X_train, data.y_train)
        .predict_proba(data.X_test)
        for criterion in ("correlation", name)
    )
    np.testing.assert_allclose(usual, other, atol=1e-7)


def test_recalibration_repeats_the_selection_by_the_criterion():
    data = simulate_naive_bayes(60, 200, n_features=500, alpha=30.0, random_state=5)
    model = SelectiveBernoulliNB(criterion="mutual_information", random_state=0)
    proba = model.fit(data.X_train, data.y_train).predict_proba(data.X_test)
    assert np.isfinite(proba).all()
    assert model.slope_ > 0


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"criterion": "gini"}, "criterion"),
        ({"criterion": "chi2", "threshold": 0.3}, "threshold is a bound on the correlation"),
        (
            {"criterion": "chi2", "quadrature": "paper"},
            "quadrature='paper' is for criterion='correlation'",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(params, message):
    with pytest.raises(ValueError, match=message):
        SelectiveBernoulliNB(**params).fit(table(), Y)


def test_criteria_of_large_classes_need_the_counts():
    generator = np.random.default_rng(0)
    X, y = generator.integers(0, 2, (1200, 30)), np.arange(1200) % 2
    model = SelectiveBernoulliNB(
        n_features_to_select=5, criterion="chi2", recalibrate=None, feature_prior="uniform"
    )
    with pytest.raises(ValueError, match="of up to 500 cases each; use correction='counts'"):
        model.set_params(correction="selection").fit(X, y)
    model.set_params(correction="counts").fit(X, y)
