"""The mixture of features that were ranked by another criterion than the correlation."""

from fractions import Fraction

import numpy as np
import oracles_mixture
import pytest

import honestbayes
from honestbayes import SelectiveBernoulliNB, SelectiveMixture
from honestbayes.datasets import simulate_mixture
from honestbayes.models.mixture.model import event_table, mixture_settings
from honestbayes.selection import Selection

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

QUICK = {"n_chains": 2, "n_draws": 40, "n_warmup": 10, "n_doublings": 0, "thin": 2}


@pytest.fixture(scope="module")
def data():
    return simulate_mixture(50, 40, 300, alpha=20.0, random_state=3)


def difference(column, y):
    return column[y == 1].mean() - column[y == 0].mean()


def mixture(criterion, **params):
    params = {"n_features_to_select": 6, "random_state": 0, **QUICK, **params}
    return SelectiveMixture(criterion=criterion, **params)


@pytest.mark.parametrize("criterion", ["f", "t", "chi2"])
def test_criteria_that_rank_as_the_correlation_give_the_same_draws(criterion, data):
    usual = mixture("correlation").fit(data.X_train, data.y_train)
    other = mixture(criterion).fit(data.X_train, data.y_train)
    assert other.selection_.criterion == criterion
    assert other.selection_.kept == usual.selection_.kept
    for name in usual.draws_.values:
        np.testing.assert_array_equal(other.draws_[name], usual.draws_[name])


@pytest.mark.parametrize(
    ("criterion", "oracle"),
    [
        ("mutual_information", oracles_mixture.information_of_column),
        ("chi2", oracles_mixture.squared_correlation_of_column),
        (difference, oracles_mixture.difference_of_column),
    ],
)
def test_the_correction_is_the_sum_over_all_columns(criterion, oracle):
    y = (0, 0, 0, 0, 1, 1, 1, 1, 1)
    X = np.random.default_rng(3).integers(0, 2, (9, 60))
    model = mixture(criterion).fit(X, y)
    strength = [oracle(tuple(column), y) for column in X.T.tolist()]
    kept = list(model.selection_.kept)
    discarded = sorted(set(range(60)) - set(kept))
    bound = min(strength[j] for j in kept)
    assert max(strength[j] for j in discarded) <= bound
    n_tied = sum(strength[j] == bound for j in discarded)
    settings = mixture_settings(model.get_params(), np.zeros(60, dtype=bool), np.array([0, 1]))
    table = event_table(model.selection_, settings.model)
    for z in (y, (0, 0, 1, 0, 0, 1, 0, 1, 1)):
        state = np.array([[sum(z[:4]), sum(z[4:])]])
        for alpha in (0.5, 20.0):
            below, equal, _ = oracles_mixture.exact_probabilities(
                z, y, Fraction(alpha), Fraction(0), Fraction(1), bound, oracle
            )
            exact = oracles_mixture.exact_log_prob(below, equal, len(discarded), n_tied, "known", 1)
            found = table.factor.log_prob(table.event, state, np.array([alpha]))[0, 0]
            assert found == pytest.approx(exact, rel=1e-9)
            assert table.log_prob(state, np.array([alpha]))[0, 0] == pytest.approx(exact, abs=1e-3)


def test_features_are_ranked_by_a_users_function_of_the_labels(data):
    def difference_of_names(column, names):
        return column[names == "ill"].mean() - column[names == "well"].mean()

    y = np.array(["well", "ill"])[data.y_train]
    model = mixture(difference_of_names).fit(data.X_train, y)
    strength = np.array([difference_of_names(column, y) for column in data.X_train.T])
    kept = model.selection_.support()
    assert strength[kept].min() >= strength[~kept].max()
    assert model.selection_.criterion == "difference_of_names"


def test_files_hold_a_criterion_by_name_and_refuse_a_function(data, tmp_path):
    model = mixture("mutual_information").fit(data.X_train, data.y_train)
    model.save(tmp_path / "m.honestbayes")
    again = honestbayes.load(tmp_path / "m.honestbayes")
    assert again.criterion == "mutual_information"
    assert again.selection_ == model.selection_
    expected = model.predict_proba(data.X_test)
    np.testing.assert_array_equal(again.predict_proba(data.X_test), expected)
    with pytest.raises(ValueError, match="criterion is a function, which cannot be saved"):
        mixture(difference).fit(data.X_train, data.y_train).save(tmp_path / "n.honestbayes")


def test_naive_bayes_refuses_the_record_of_another_criterion(data):
    model = mixture("mutual_information").fit(data.X_train, data.y_train)
    record = Selection.from_dict(model.selection_.to_dict())
    kept = data.X_train[:, list(record.columns)]
    with pytest.raises(ValueError, match="was made by 'mutual_information'"):
        SelectiveBernoulliNB(recalibrate=None).fit_selected(kept, data.y_train, record)
    SelectiveBernoulliNB(recalibrate=None, criterion="mutual_information").fit_selected(
        kept, data.y_train, record
    )


@pytest.mark.parametrize("criterion", ["f", "mutual_information", difference])
def test_discarded_features_with_missing_cells_count_as_complete(criterion, data):
    X = data.X_train.astype(float)
    X[np.random.default_rng(1).random(X.shape) < 0.02] = np.nan
    X[:, 7] = np.nan
    model = mixture(criterion).fit(X, data.y_train)
    assert 7 not in model.selection_.kept
    settings = mixture_settings(model.get_params(), np.zeros(300, dtype=bool), np.array([0, 1]))
    table = event_table(model.selection_, settings.model)
    (group,) = table.event.groups
    assert group.observed == model.selection_.class_counts
    assert group.n_discarded == model.selection_.n_discarded - 1  # one has no cells
    assert np.isfinite(model.predict_log_proba(data.X_test)).all()


def test_a_bound_that_all_complete_features_attain_makes_the_event_certain(data):
    def nothing(column, y):
        del column, y
        return 0.0

    model = mixture(nothing, correction="selection").fit(data.X_train, data.y_train)
    settings = mixture_settings(model.get_params(), np.zeros(300, dtype=bool), np.array([0, 1]))
    table = event_table(model.selection_, settings.model)
    np.testing.assert_array_equal(table.log_prob(np.array([[3, 4]]), np.array([1.0])), 0.0)


def test_selection_is_repeated_by_the_criterion_where_a_slope_is_learned(data):
    params = {"recalibrate": "bayes", "n_draws": 20, "n_warmup": 5, "n_jobs": 2}
    model = mixture(difference, **params).fit(data.X_train, data.y_train)
    assert model.slope_ > 0
    assert np.isfinite(model.predict_proba(data.X_test)).all()


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"criterion": "gini"}, ValueError, "'gini' is unknown. Use one of"),
        ({"criterion": 3}, TypeError, "a name or a function"),
        ({"criterion": lambda *_: np.nan}, ValueError, "returned NaN"),
        (
            {"criterion": "chi2", "threshold": 0.3, "n_features_to_select": None},
            ValueError,
            "threshold is a bound on the correlation",
        ),
    ],
)
def test_bad_criteria_are_refused(params, error, message, data):
    with pytest.raises(error, match=message):
        mixture("chi2").set_params(**params).fit(data.X_train, data.y_train)


def test_large_classes_need_a_criterion_with_a_formula():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (1200, 10)), np.arange(1200) % 2
    model = mixture("mutual_information", n_features_to_select=3)
    with pytest.raises(ValueError, match="of up to 500 cases each; use criterion='chi2'"):
        model.fit(X, y)
    model.set_params(correction=None).fit(X, y)
