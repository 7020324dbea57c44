"""What the kept features say: against predictions, integration by brute force, and metrics."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import beta, betaln, expit, logit

from honestbayes import SelectiveBernoulliNB
from honestbayes.models.binary.model import draw_alpha_theta

MODELS = {
    "learned": {},
    "learned, none": {"correction": None},
    "uniform, none": {"feature_prior": "uniform", "correction": None},
    "uniform, selection": {"feature_prior": "uniform", "correction": "selection"},
    "uniform, counts": {"feature_prior": "uniform", "correction": "counts"},
}
every_model = pytest.mark.parametrize("how", MODELS.values(), ids=MODELS.keys())


def data(n=40, p=30, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    rate = rng.random(p)
    X = (rng.random((n, p)) < rate + (1 - rate) * 0.6 * y[:, None] * (np.arange(p) < 6)).astype(
        float
    )
    return X, y


X, Y = data()
X_NEW, Y_NEW = data(n=50, seed=0)


def fitted(how, **more):
    return SelectiveBernoulliNB(**{"random_state": 0, "recalibrate": None, **how, **more}).fit(X, Y)


def only(column, value):
    """One case in which a single feature is observed."""
    case = np.full((1, X.shape[1]), np.nan)
    case[0, column] = value
    return case


@every_model
@pytest.mark.parametrize("more", [{}, {"recalibrate": "slope"}, {"always_keep": [2, 20]}], ids=str)
def test_the_table_agrees_with_predictions_of_cases_with_one_observed_feature(how, more):
    model = fitted(how, **more)
    table = model.feature_table()
    prior = logit(model.predict_proba(np.full((1, X.shape[1]), np.nan))[0, 1])
    for j, column in enumerate(model.selection_.columns):
        for value, evidence in ((1, table.evidence_if_one), (0, table.evidence_if_zero)):
            found = logit(model.predict_proba(only(column, value))[0, 1]) - prior
            assert found == pytest.approx(evidence[j], abs=1e-10)
        p0, p1 = table.probability[:, j]
        assert model.slope_ * np.log(p1 / p0) == pytest.approx(table.evidence_if_one[j], abs=1e-10)
        zero = model.slope_ * np.log((1 - p1) / (1 - p0))
        assert zero == pytest.approx(table.evidence_if_zero[j], abs=1e-9)
    assert table.by_design.sum() == len(more.get("always_keep", []))


def test_the_table_agrees_with_predictions_under_the_published_quadrature():
    model = fitted({"quadrature": "paper"})
    table = model.feature_table()
    prior = logit(model.predict_proba(np.full((1, X.shape[1]), np.nan))[0, 1])
    for j, column in enumerate(model.selection_.columns):
        found = logit(model.predict_proba(only(column, 1))[0, 1]) - prior
        assert found == pytest.approx(table.evidence_if_one[j], abs=1e-10)


def brute_force_moments(ones, zeros, shape, rate):
    """Mean and sd of phi in each class, integrating over alpha and theta on a fine grid."""
    log_alpha = np.linspace(-8, 40, 2401)
    theta, weight = np.polynomial.legendre.leggauss(60)
    theta, weight = (theta + 1) / 2, weight / 2
    alpha = np.exp(log_alpha)
    prior = stats.invgamma.pdf(alpha, shape, scale=rate) * alpha
    a, b = alpha[:, None] * theta, alpha[:, None] * (1 - theta)
    joint = prior[:, None] * weight
    for i, o in zip(ones, zeros, strict=True):
        joint = joint * _rising_ratio(a, b, i, o)
    joint /= joint.sum()
    moments = []
    for i, o in zip(ones, zeros, strict=True):
        total = a + b + i + o
        mean = (a + i) / total
        square = mean * (a + i + 1) / (total + 1)
        first, second = np.sum(joint * mean), np.sum(joint * square)
        moments.append((first, np.sqrt(second - first**2)))
    return np.array(moments).T


def _rising_ratio(a, b, i, o):
    """P(a column with i ones and o zeros), as a product of predictive probabilities."""
    result = np.ones_like(a)
    for step in range(i):
        result = result * (a + step) / (a + b + step)
    for step in range(o):
        result = result * (b + step) / (a + b + i + step)
    return result


@pytest.mark.parametrize(("ones", "zeros"), [((1, 3), (3, 1)), ((0, 2), (2, 0)), ((2, 2), (1, 1))])
def test_probabilities_and_their_sd_are_those_of_brute_force_integration(ones, zeros):
    rows = [[1]] * ones[0] + [[0]] * zeros[0] + [[1]] * ones[1] + [[0]] * zeros[1]
    y = [0] * (ones[0] + zeros[0]) + [1] * (ones[1] + zeros[1])
    model = SelectiveBernoulliNB(
        feature_prior="uniform", correction=None, recalibrate=None, n_features_to_select="all"
    ).fit(np.array(rows), y)
    table = model.feature_table()
    mean, sd = brute_force_moments(ones, zeros, 0.5, 5.0)
    np.testing.assert_allclose(table.probability[:, 0], mean, atol=1e-7)
    np.testing.assert_allclose(table.sd[:, 0], sd, atol=1e-7)


def test_the_brute_force_is_right_where_alpha_is_known():
    # With alpha = 2 and theta = 1/2 the prior of phi is uniform: Laplace's rule.
    assert _rising_ratio(np.array(1.0), np.array(1.0), 2, 1) == pytest.approx(beta(3, 2))
    assert np.exp(betaln(3, 2)) == pytest.approx(1 / 12)


@every_model
@pytest.mark.parametrize(
    "more",
    [{}, {"recalibrate": "slope"}, {"recalibrate": "bayes"}, {"always_keep": [2, 20]}],
    ids=str,
)
def test_contributions_add_up_to_the_log_odds_less_the_prior_log_odds(how, more):
    model = fitted(how, **more)
    cases = X_NEW.copy()
    cases[3, model.selection_.columns[0]] = np.nan
    parts = model.contributions(cases).values
    assert parts.shape == (50, len(model.selection_.columns))
    n0, n1 = model.class_count_
    log_odds = logit(model.predict_proba(cases)[:, 1])
    np.testing.assert_allclose(
        parts.sum(axis=1), log_odds - np.log((n1 + 1) / (n0 + 1)), atol=1e-10
    )
    assert parts[3, 0] == 0


def test_contributions_of_the_learned_prior_are_near_the_table_s_evidence():
    # Features inform each other about the shape of their distribution, and about nothing else: the
    # first contribution is the table's evidence, and later ones differ a little.
    model = fitted({})
    table = model.feature_table()
    kept = X_NEW[:, model.selection_.columns]
    expected = np.where(kept == 1, table.evidence_if_one, table.evidence_if_zero)
    found = model.contributions(X_NEW).values
    np.testing.assert_allclose(found[:, 0], expected[:, 0], atol=1e-11)
    np.testing.assert_allclose(found, expected, atol=0.1)
    assert np.abs(found - expected).max() > 1e-3


def test_the_sd_of_the_learned_prior_is_that_of_draws():
    model = fitted({})
    table = model.feature_table()
    ranked, generator = model._fit.ranked, np.random.default_rng(0)
    block = ranked.block
    ones, cases = block.counts.ones[:, block.kept], block.counts.observed[:, block.kept]
    node = generator.choice(ranked.prior.shape_weights.size, 20_000, p=ranked.prior.shape_weights)
    alpha, theta = draw_alpha_theta(generator, ranked, node, slice(None), ones, cases)
    for label in (0, 1):
        i, o = ones[label][:, None], (cases[label] - ones[label])[:, None]
        phi = generator.beta(alpha * theta + i, alpha * (1 - theta) + o)
        np.testing.assert_allclose(phi.mean(axis=1), table.probability[label], atol=0.005)
        np.testing.assert_allclose(phi.std(axis=1), table.sd[label], rtol=0.03)


def metrics(probability, y):
    """Expected error, actual error, log score and expected log score, from their definitions."""
    q = np.stack([1 - probability, probability], axis=1)
    rows = np.arange(len(y))
    return (
        np.mean(q.min(axis=1)),
        np.mean((probability >= 0.5) != (y == 1)),
        np.mean(-np.log(q[rows, y])),
        np.mean(-np.sum(q * np.log(q), axis=1)),
    )


def path_entry(path, position):
    return (
        path.expected_error[position],
        path.actual_error[position],
        path.log_score[position],
        path.expected_log_score[position],
    )


@every_model
@pytest.mark.parametrize("more", [{}, {"always_keep": [2, 20]}], ids=str)
def test_the_last_entry_of_the_path_is_the_whole_model(how, more):
    model = fitted(how, **more)
    path = model.feature_path(X_NEW, Y_NEW)
    assert path.n_features.tolist() == list(range(1, 11))
    expected = metrics(model.predict_proba(X_NEW)[:, 1], Y_NEW)
    np.testing.assert_allclose(path_entry(path, -1), expected, atol=1e-11)


@pytest.mark.parametrize("name", ["learned", "uniform, counts"])
@pytest.mark.parametrize("more", [{}, {"always_keep": [2, 20]}], ids=str)
def test_earlier_entries_are_the_models_with_fewer_features(name, more):
    model = fitted(MODELS[name], **more)
    path = model.feature_path(X_NEW, Y_NEW)
    for k in range(1, 11):
        fewer = fitted(MODELS[name], **more, n_features_to_select=k)
        if fewer.selection_.kept != model.selection_.kept[:k]:
            continue  # a tie was broken in another way
        expected = metrics(fewer.predict_proba(X_NEW)[:, 1], Y_NEW)
        np.testing.assert_allclose(path_entry(path, k - 1), expected, atol=1e-7)


def test_the_path_of_no_features_is_empty():
    path = fitted({}, n_features_to_select=0).feature_path(X_NEW, Y_NEW)
    assert path.n_features.size == path.log_score.size == 0


def test_names_correlations_and_plain_columns_are_in_the_table():
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(X.shape[1])])
    model = SelectiveBernoulliNB(random_state=0, n_features_to_select=3, always_keep=["gene 9"])
    table = model.fit(frame, Y).feature_table()
    assert table.name == tuple(model.get_feature_names_out())
    expected = [np.corrcoef(frame[name], Y)[0, 1] for name in table.name]
    np.testing.assert_allclose(table.correlation, expected, atol=1e-13)
    plain = pd.DataFrame(table.to_dict())
    assert plain.shape == (4, 9)
    assert plain["by_design"].tolist() == [False, False, False, True]
    lines = str(table).splitlines()
    assert len(lines) == 5
    assert lines[-1].endswith("by design")
    assert all(name in line for name, line in zip(table.name, lines[1:], strict=True))


def test_a_probability_is_the_logistic_function_of_what_contributions_say():
    model = fitted({})
    n0, n1 = model.class_count_
    log_odds = np.log((n1 + 1) / (n0 + 1)) + model.contributions(X_NEW).values.sum(axis=1)
    np.testing.assert_allclose(model.predict_proba(X_NEW)[:, 1], expit(log_odds), atol=1e-12)
