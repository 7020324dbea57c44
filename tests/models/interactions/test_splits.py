"""The sum of a group split into the coefficients of its patterns, and priors of single widths."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import honestbayes
from honestbayes import InteractionClassifier, InteractionRegressor, SequenceClassifier
from honestbayes.models.interactions.estimator import windows

SHORT = {"n_chains": 2, "n_draws": 500, "n_warmup": 40, "n_doublings": 0, "thin": 1}

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def repeated(n=80, seed=0):
    """Return a table in which two columns say the same, and the class depends on them."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"sky": rng.choice(["grey", "blue"], n), "wind": rng.choice(["n", "s"], n)})
    X["cloud"] = np.where(X["sky"] == "grey", "yes", "no")
    y = (X["sky"] == "grey") ^ (rng.random(n) < 0.15)
    return X, y.astype(int).to_numpy()


def alike(X, pattern, order):
    """List the patterns that the same rows have as a given one, by comparing all of them."""
    rows = X.to_numpy()
    having = np.all([X[name] == level for name, level in pattern], axis=0)
    first = rows[np.flatnonzero(having)[0]]
    found = set()
    for size in range(1, order + 1):
        for columns in combinations(range(X.shape[1]), size):
            same = np.all(rows[:, columns] == first[list(columns)], axis=1)
            if np.array_equal(same, having):
                found.add(tuple((X.columns[c], first[c]) for c in columns))
    return found


def shares_below(values, totals, own, other, *, is_cauchy):
    """Return P(coefficient <= value), averaged over draws of the sum and of the widths."""
    if not is_cauchy:
        share = own / (own + other)
        normal = stats.norm(share * totals, np.sqrt(other * share))
        return [normal.cdf(value).mean() for value in values]
    angle = np.pi * ((np.arange(20_000) + 0.5) / 20_000 - 0.5)
    result = np.zeros(len(values))
    for total, a, b in zip(totals, own, other, strict=True):
        x = a * np.tan(angle)  # with equal weights these points have the prior of the coefficient
        weight = stats.cauchy.pdf(total - x, 0, b)
        result += [weight[x <= value].sum() / weight.sum() for value in values]
    return result / totals.size


@pytest.mark.parametrize("prior", ["cauchy", "gaussian"])
def test_a_sum_is_split_into_all_its_coefficients(prior):
    X, y = repeated()
    model = InteractionClassifier(order=3, coefficient_prior=prior, random_state=0, **SHORT).fit(
        X, y
    )
    shown = model.interactions()
    rank = next(r for r, cells in enumerate(shown.cells) if dict(cells).keys() & {"sky", "cloud"})
    found = model.split_interaction(rank)
    assert set(found.cells) == alike(X, shown.cells[rank], 3)
    assert len(found.pattern) == shown.n_alike[rank] > 1
    assert found.total[0] == pytest.approx(shown.median[rank])
    assert found.order.tolist() == [len(cells) for cells in found.cells]
    # The group and the draws, found again from the shape of the record.
    (part,) = model._parts
    s, log_sigma = part.fit.draws.pooled("s")[:, 0], part.fit.draws.pooled("log_sigma")
    g = int(np.argmin(np.abs(np.median(s, axis=0) - found.total[0])))
    units = np.exp(log_sigma if prior == "cauchy" else 2 * log_sigma)
    whole = sum(units[:, order] for order in found.order)
    for order in np.unique(found.order):
        own = units[:, order]
        (k,) = np.flatnonzero(found.order == order)[:1]
        values = (found.low[k], found.median[k], found.high[k])
        below = shares_below(values, s[:, g], own, whole - own, is_cauchy=prior == "cauchy")
        # 1,000 draws: standard errors of 0.007 and 0.016.
        assert np.abs(np.subtract(below, (0.05, 0.5, 0.95))).max() < 0.06


def test_one_pattern_is_its_own_sum():
    X, y = repeated()
    model = InteractionClassifier(order=1, random_state=0, **SHORT).fit(X[["sky", "wind"]], y)
    found = model.split_interaction()
    assert len(found.pattern) == 1
    assert (found.median[0], found.low[0], found.high[0]) == pytest.approx(found.total)


def test_sequences_and_responses_are_split_too():
    S, following = windows("abcabcabd" * 8, order=6)
    model = SequenceClassifier(order=6, random_state=0, **SHORT).fit(S, following)
    shown = model.interactions(30)
    rank = int(np.argmax(shown.n_alike))
    found = model.split_interaction(rank)
    assert len(found.pattern) == shown.n_alike[rank] > 1
    assert all(
        longer.endswith(shorter)
        for shorter, longer in zip(found.pattern, found.pattern[1:], strict=False)
    )
    X, y = repeated()
    regression = InteractionRegressor(order=1, random_state=0, **SHORT).fit(X, 10.0 * y)
    found = regression.split_interaction()
    assert {cells[0][0] for cells in found.cells} == {"sky", "cloud"}
    # Sums of several units of the response, in its own units.
    assert abs(found.total[0]) > 1
    assert "response" in str(found)
    assert found.to_dict()["order"] == [1, 1]


@pytest.mark.parametrize("rank", [-1, 10_000])
def test_a_row_that_is_not_there_is_refused(rank):
    X, y = repeated(30)
    model = InteractionClassifier(order=1, random_state=0, **SHORT).fit(X, y)
    with pytest.raises(ValueError, match="is not a row of interactions"):
        model.split_interaction(rank)


# Priors of single widths


def test_a_number_fixes_the_width_and_order_0_is_the_intercept():
    X, y = repeated()
    widths = {0: (2.0, 0.5), 2: 0.25}
    model = InteractionClassifier(order=2, width_prior=widths, random_state=0, **SHORT).fit(X, y)
    log_sigma = model.draws_.pooled("log_sigma")
    assert np.ptp(log_sigma[:, 0]) > 0.1
    assert np.ptp(log_sigma[:, 1]) > 0.1
    assert np.allclose(log_sigma[:, 2], np.log(0.25))
    assert "log_sigma_0" in model.diagnostics_.name


def test_a_mapping_of_the_defaults_changes_nothing():
    X, y = repeated()
    plain = InteractionClassifier(order=2, random_state=0, **SHORT).fit(X, y)
    own = {1: (0.25, 0.1), 2: (0.25, 0.05), 0: 5.0}
    other = InteractionClassifier(order=2, width_prior=own, random_state=0, **SHORT).fit(X, y)
    assert np.array_equal(plain.predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize("widths", [{0: (2.0, 0.5), 1: 0.3}, (0.5, 0.2), {}])
def test_files_keep_priors_of_widths(widths, tmp_path):
    X, y = repeated()
    model = InteractionClassifier(order=2, width_prior=widths, random_state=0, **SHORT).fit(X, y)
    model.save(tmp_path / "m")
    loaded = honestbayes.load(tmp_path / "m")
    assert loaded.width_prior == widths
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("widths", "complaint"),
    [
        ({3: 1.0}, "the key 3, which is not an order from 0 to 2"),
        ({"1": 1.0}, "the key '1', which is not an order"),
        ({1: -1.0}, "-1.0 for order 1; give a shape and a mode"),
        ({1: (0.5, 0.0)}, "for order 1; give a shape and a mode"),
        ({1: (1.0, 2.0, 3.0)}, "for order 1; give a shape and a mode"),
        ({1: "wide"}, "'wide' for order 1"),
        ({1: True}, "True for order 1"),
        ((0.5, -1.0), "width_prior"),
        ("narrow", "width_prior"),
    ],
)
def test_bad_priors_of_widths_are_refused(widths, complaint):
    X, y = repeated(20)
    with pytest.raises(ValueError, match="width_prior") as error:
        InteractionClassifier(order=2, width_prior=widths, **SHORT).fit(X, y)
    assert complaint in str(error.value)
