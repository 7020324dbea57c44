"""Calibration and refinement against loops over bins, and against all outcomes of a few cases."""

import itertools
import types
from pathlib import Path

import numpy as np
import pytest

from honestbayes.metrics import brier_decomposition, brier_score, reliability, summarise


def problem(seed, n=60, n_classes=2, n_repeats=1, n_values=None):
    """Labels and probabilities that have to do with them; of a few different values if asked."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)])
    log_odds = rng.normal(size=(n_repeats, n, n_classes)) + 1.5 * (
        np.arange(n_classes) == y[:, None]
    )
    proba = np.exp(log_odds)
    proba /= proba.sum(axis=-1, keepdims=True)
    if n_values is not None:
        proba = np.ceil(proba * n_values) / n_values
        proba = np.stack([1 - proba[..., 1], proba[..., 1]], axis=-1)
    return y, proba, rng.integers(1, 5, n) / 2


def bounds(p, n_bins, strategy):
    """Upper bounds of the bins but the last, by their definition."""
    if strategy == "uniform":
        return [k / n_bins for k in range(1, n_bins)]
    ordered = sorted(p)
    found = []
    for k in range(n_bins + 1):
        place = k / n_bins * (len(p) - 1)
        low = int(place)
        high = min(low + 1, len(p) - 1)
        found.append(ordered[low] + (place - low) * (ordered[high] - ordered[low]))
    return sorted(set(found))[1:-1]


def plain(observed, p, w, cuts):
    """The parts of one class, case by case; each case is (repeat, case) with its weight."""
    bins = {}
    for y, q, one in zip(observed, p, w, strict=True):
        index = sum(q >= cut for cut in cuts) if cuts is not None else q
        bins.setdefault(index, []).append((y, q, one))
    total = sum(w)
    calibration = refinement = within = 0.0
    for rows in bins.values():
        size = sum(one for *_, one in rows)
        s = sum(q * one for _, q, one in rows) / size
        f = sum(y * one for y, _, one in rows) / size
        calibration += size / total * (s - f) ** 2
        refinement += size / total * f * (1 - f)
        variance = sum(one * (q - s) ** 2 for _, q, one in rows) / size
        covariance = sum(one * (q - s) * (y - f) for y, q, one in rows) / size
        within += size / total * (variance - 2 * covariance)
    return np.array([calibration, refinement, within])


@pytest.mark.parametrize("strategy", ["quantile", "uniform"])
@pytest.mark.parametrize(("n_classes", "n_repeats"), [(2, 1), (2, 3), (3, 1), (4, 2)])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_parts_are_those_of_loops_over_bins(strategy, n_classes, n_repeats, weighted):
    y, proba, w = problem(n_classes + n_repeats, n_classes=n_classes, n_repeats=n_repeats)
    w = w if weighted else np.ones(y.size)
    expected = np.zeros(3)
    for c in [1] if n_classes == 2 else range(n_classes):
        p = proba[..., c].ravel().tolist()
        observed = np.tile(y == c, n_repeats).astype(float).tolist()
        cuts = bounds(p, 7, strategy)
        expected += plain(observed, p, np.tile(w, n_repeats).tolist(), cuts)
    given = proba if n_repeats > 1 else proba[0]
    found = brier_decomposition(
        y, given, n_bins=7, strategy=strategy, sample_weight=w if weighted else None,
        classes=range(n_classes),
    )  # fmt: skip
    parts = [found.calibration, found.refinement, found.within_bins]
    np.testing.assert_allclose(parts, expected, rtol=0, atol=1e-12)
    assert found.squared_error == pytest.approx(expected.sum(), abs=1e-12)


def test_the_parts_sum_to_the_brier_score_and_to_that_of_the_summary():
    for n_classes in (2, 3):
        y, proba, _ = problem(4, n_classes=n_classes)
        found = brier_decomposition(y, proba[0])
        assert found.squared_error == pytest.approx(brier_score(y, proba[0]), abs=1e-12)
        summary = summarise(y, proba[0])
        assert summary.squared_error_parts == found
        assert summary.to_dict()["squared_error_parts"]["refinement"] == found.refinement
    y, proba, _ = problem(5, n_repeats=4)
    summary = summarise(y, proba)
    parts = summary.squared_error_parts
    assert parts.squared_error == pytest.approx(summary.squared_error.value, abs=1e-12)


def test_one_bin_for_each_probability_is_the_definition_of_degroot_and_fienberg():
    y, proba, w = problem(7, n_values=5)
    p = proba[0, :, 1]
    found = brier_decomposition(y, p, n_bins=None, sample_weight=w)
    calibration = refinement = 0.0
    for value in set(p.tolist()):
        rows = p == value
        share, f = w[rows].sum() / w.sum(), np.average(y[rows], weights=w[rows])
        calibration += share * (value - f) ** 2
        refinement += share * f * (1 - f)
    assert found.calibration == pytest.approx(calibration, abs=1e-12)
    assert found.refinement == pytest.approx(refinement, abs=1e-12)
    assert found.within_bins == pytest.approx(0, abs=1e-15)
    # Bins that are calibrated have no calibration error; those of one class nothing to refine.
    f = np.array([np.average(y[p == value], weights=w[p == value]) for value in p])
    right = brier_decomposition(y, f, n_bins=None, sample_weight=w)
    assert right.calibration == pytest.approx(0, abs=1e-15)
    # Two values of p that have the same frequency are one value of f.
    assert right.refinement == pytest.approx(refinement, abs=1e-12)
    sure = brier_decomposition(y, y.astype(float), n_bins=None)
    assert (sure.calibration, sure.refinement) == (0, 0)
    assert right.resolution == pytest.approx(right.uncertainty - refinement, abs=1e-12)


def test_weights_are_numbers_of_cases():
    y, proba, w = problem(8, n_values=4)
    times = (2 * w).astype(int)
    weighted = brier_decomposition(y, proba[0, :, 1], n_bins=None, sample_weight=times)
    repeated = brier_decomposition(
        np.repeat(y, times), np.repeat(proba[0, :, 1], times), n_bins=None
    )
    for name in ("calibration", "refinement", "within_bins", "uncertainty"):
        assert getattr(weighted, name) == pytest.approx(getattr(repeated, name), abs=1e-12)


def expected_by_enumeration(p, w, decompose):
    """Average calibration over all outcomes of calibrated cases, each as probable as they say."""
    total = 0.0
    for y in itertools.product([0, 1], repeat=p.shape[-1]):
        y = np.array(y)
        # Repeats of a case agree here, or no outcome would be calibrated for both.
        chance = np.prod(np.where(y == 1, p, 1 - p))
        total += chance * decompose(y, p, w).calibration
    return total


@pytest.mark.parametrize("weighted", [False, True])
def test_the_calibration_expected_by_chance_is_its_average_over_all_outcomes(weighted):
    p = np.array([0.1, 0.1, 0.3, 0.3, 0.3, 0.6, 0.6, 0.85, 0.9])
    w = np.array([1, 3, 1, 2, 2, 1, 5, 1, 4.0]) if weighted else np.ones(9)

    def decompose(y, p, w):
        return brier_decomposition(y, p, n_bins=4, sample_weight=w, pos_label=1)

    found = decompose(np.arange(9) % 2, p, w).expected_calibration
    assert found == pytest.approx(expected_by_enumeration(p, w, decompose), abs=1e-12)


def test_repeats_do_not_make_frequencies_more_certain():
    y, proba, _ = problem(9)
    once = brier_decomposition(y, proba[0, :, 1])
    thrice = brier_decomposition(y, np.stack([proba[0, :, 1]] * 3))
    assert thrice.expected_calibration == pytest.approx(once.expected_calibration, abs=1e-12)
    assert thrice.calibration == pytest.approx(once.calibration, abs=1e-12)


def test_bins_are_those_of_the_reliability_curve():
    y, proba, _ = problem(10, n=200)
    p = proba[0, :, 1]
    for strategy in ("uniform", "quantile"):
        curve = reliability(y, p, n_bins=8, strategy=strategy)
        parts = brier_decomposition(y, p, n_bins=8, strategy=strategy)
        share = curve.n / y.size
        by_curve = share @ (curve.predicted - curve.actual) ** 2
        assert parts.calibration == pytest.approx(by_curve, abs=1e-12)


BUGS = {
    "bins count alike, whatever their cases": (
        "size @ (predicted - actual) ** 2",
        "size.mean() * ((predicted - actual) ** 2).sum()",
    ),
    "the largest probability has a bin of its own": (
        '[1:-1], p, side="right"',
        '[1:], p, side="right"',
    ),
    "the covariance counts once": ("away - 2 * (", "away - ("),
    "repeats are independent": ("chance = n_repeats * ", "chance = "),
    "of several classes the first is forgotten": (
        "else range(n_classes)",
        "else range(1, n_classes)",
    ),
    "weights are forgotten": ("share * observed", "observed * share.mean()"),
}


def agrees(module):
    """Whether the parts of a module are those of loops, with weights, repeats and three classes."""
    y, proba, w = problem(11, n_classes=3, n_repeats=2)
    found = module.brier_decomposition(y, proba, n_bins=5, sample_weight=w)
    expected, chance = np.zeros(3), 0.0
    for c in range(3):
        p, observed = proba[..., c].ravel(), np.tile(y == c, 2).astype(float)
        cuts, pooled = bounds(p.tolist(), 5, "quantile"), np.tile(w, 2)
        expected += plain(observed.tolist(), p.tolist(), pooled.tolist(), cuts)
        index = np.array([sum(q >= cut for cut in cuts) for q in p])
        for k in set(index.tolist()):
            rows = index == k
            mass = pooled[rows].sum() / 2
            chance += (pooled[rows] ** 2 * p[rows] * (1 - p[rows])).sum() / 2 / mass / w.sum()
    parts = [found.calibration, found.refinement, found.within_bins]
    return np.allclose(parts, expected, rtol=0, atol=1e-12) and np.isclose(
        found.expected_calibration, chance, rtol=0, atol=1e-12
    )


def changed_module(old="", new=""):
    """The module of the decomposition, with a part of its text changed."""
    from honestbayes.metrics import reliability as function

    name = function.__module__
    text = Path(function.__globals__["__file__"]).read_text(encoding="utf-8")
    assert old in text, old
    module = types.ModuleType(name)
    exec(compile(text.replace(old, new), "reliability.py", "exec"), module.__dict__)
    return module


def test_the_decomposition_as_it_is_agrees_with_the_loops():
    assert agrees(changed_module())


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_mistake_is_noticed(bug):
    assert not agrees(changed_module(*BUGS[bug]))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_bins": 0}, "n_bins is 0; give 1 or more"),
        ({"strategy": "even"}, "strategy is 'even'; give 'uniform' or 'quantile'"),
        ({"sample_weight": [1, 2]}, "give one number for each of the 4 cases"),
        ({"sample_weight": [1, 2, -1, 1]}, "must be finite numbers of 0 or more"),
        ({"sample_weight": [0, 0, 0, 0]}, "not all of them 0"),
        ({"sample_weight": [1, np.inf, 1, 1]}, "must be finite numbers"),
    ],
)
def test_what_cannot_be_decomposed_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        brier_decomposition([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.9], **settings)
