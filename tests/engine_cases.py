"""Cases of P(S) with a posterior, and comparisons of simulation with exact results."""

from dataclasses import replace

import numpy as np

from honestbayes.correction.engine import log_prob_selection
from honestbayes.correction.event import HyperNodes
from honestbayes.correction.f_statistic import log_prob_kept
from honestbayes.selection import DiscardedGroup
from honestbayes.selection.criteria import as_criterion

CORRELATION, F, CHI2, INFORMATION = (
    as_criterion(name) for name in ("correlation", "f", "chi2", "mutual_information")
)
ALPHA = np.geomspace(1.0, 1e4, 33)
RATIO = np.concatenate([[0.0], np.geomspace(1e-4, 10.0, 40)])


def real_group(sizes, n_discarded):
    return DiscardedGroup(sizes, n_discarded, n_levels=0)


def f_bound(sizes, probability, ratio=0.02):
    """The F statistic that a feature with this signal exceeds with this probability."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        kept = log_prob_kept(np.array([ratio]), np.array(sizes), middle)[0]
        low, high = (middle, high) if kept > np.log(probability) else (low, middle)
    return low / (1 - low) * (sum(sizes) - len(sizes)) / (len(sizes) - 1)


def kept_weight(model, criterion, event, nodes, k):
    """Log likelihood of k features that were kept, as far as being kept tells."""
    one = replace(
        event, groups=(replace(event.groups[0], n_discarded=1, n_tied=0),), ties="at_most"
    )
    discarded = log_prob_selection(model, criterion, one, nodes, method="exact").log_prob
    return k * np.log(np.maximum(-np.expm1(discarded), 1e-300))


def with_posterior(model, criterion, event, atoms, k):
    nodes = HyperNodes(atoms)
    return replace(nodes, log_weight=kept_weight(model, criterion, event, nodes, k))


def both_ways(model, criterion, event, nodes, **options):
    exact = log_prob_selection(model, criterion, event, nodes, method="exact")
    drawn = log_prob_selection(model, criterion, event, nodes, method="simulation", **options)
    if drawn.ties != event.ties:  # too rare to be known by simulation
        event = replace(event, ties=drawn.ties)
        exact = log_prob_selection(model, criterion, event, nodes, method="exact")
    assert exact.exact
    assert not drawn.exact
    return exact, drawn


def z_scores(exact, drawn, nodes):
    """Errors of differences over their standard errors, at nodes that matter."""
    weight = nodes.log_posterior(exact.log_prob)
    used = (weight > weight.max() - 7.0) & (drawn.error > 0)
    r = drawn.reference
    difference = (drawn.log_prob - drawn.log_prob[r]) - (exact.log_prob - exact.log_prob[r])
    return difference[used] / drawn.error[used]


def assert_agree(exact, drawn, nodes, tolerance):
    z = z_scores(exact, drawn, nodes)
    assert z.size
    assert drawn.max_error <= tolerance
    assert np.max(np.abs(z)) < 4.0


def repeated_z(model, criterion, event, atoms, k, repetitions=100):
    """z scores at the two ends of the nodes that matter, shape (repetitions, 2)."""
    nodes = with_posterior(model, criterion, event, atoms, k)
    exact = log_prob_selection(model, criterion, event, nodes, method="exact")
    weight = nodes.log_posterior(exact.log_prob)
    used = np.flatnonzero(weight > weight.max() - 7.0)
    few = HyperNodes(atoms[used[[0, np.argmax(weight[used]), -1]]])
    few = replace(few, log_weight=nodes.log_weight[used[[0, np.argmax(weight[used]), -1]]])
    exact = log_prob_selection(model, criterion, event, few, method="exact")
    found = []
    for seed in range(repetitions):
        drawn = log_prob_selection(
            model, criterion, event, few, method="simulation", tolerance=5.0, random_state=seed
        )
        difference = (drawn.log_prob - drawn.log_prob[1]) - (exact.log_prob - exact.log_prob[1])
        z = difference / np.where(drawn.error > 0, drawn.error, 1.0)
        assert drawn.ties == event.ties
        found.append(z[[0, 2]] if drawn.reference == 1 else [np.nan, np.nan])
    return np.array(found)
