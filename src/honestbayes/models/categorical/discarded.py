"""P(the discarded categorical features were discarded), as a function of log(alpha)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from honestbayes.correction.discard import group_probabilities
from honestbayes.correction.engine import SelectionProbability, selection_probability
from honestbayes.correction.event import HyperNodes, event_of
from honestbayes.correction.feature_models import CategoricalFeatures
from honestbayes.likelihood.quadrature import ThetaRule, finite_alpha, theta_rule
from honestbayes.selection import Selection
from honestbayes.selection.association import equivalent_r_squared
from honestbayes.selection.criteria import Criterion
from honestbayes.types import FloatArray, IntArray

N_NODES = 41
"""Values of log(alpha) for which columns are drawn; in between the estimate is as smooth."""

MOST_LEVELS = 10
"""Features of more levels are not simulated: five took 7 s at 300 cases, 20 more than a minute."""

_SMALLEST, _LARGEST = -3.0, 5.0
"""Ends of log10(alpha); beyond them P(S) hardly changes (the second is times the cases)."""


class DiscardedCategories:
    """Log P(S | alpha): exact for two levels and two classes, by the engine otherwise.

    Parameters
    ----------
    selection : Selection
        The event.
    log_density : callable
        Given log(alpha) of shape (A,), the log posterior density without P(S): it says where an
        error matters.
    criterion : Criterion, optional
        What features were ranked by, where it is not the usual association.
    """

    def __init__(
        self,
        selection: Selection,
        log_density: Callable[[FloatArray], FloatArray],
        criterion: Criterion | None = None,
    ) -> None:
        self._selection = selection
        self._engine: SelectionProbability | None = None
        binary = all(len(g.observed) == 2 and g.n_levels == 2 for g in selection.groups)
        if binary and criterion is None:
            return
        levels = max(group.n_levels for group in selection.groups)
        if levels > MOST_LEVELS:
            msg = (
                f"correction='selection' would simulate features of {levels} levels, which takes "
                f"too long above {MOST_LEVELS}; use correction='counts'."
            )
            raise ValueError(msg)
        bound = selection.gamma if criterion is None else selection.strength_bound
        assert bound is not None
        cases = sum(selection.class_counts)
        self._span = _SMALLEST * np.log(10), _LARGEST * np.log(10) + np.log(cases)
        log_alpha = np.linspace(*self._span, N_NODES)
        self._engine = selection_probability(
            CategoricalFeatures(),
            criterion or _EQUIVALENT,
            event_of(selection, bound),
            HyperNodes(np.exp(log_alpha), None, log_density(log_alpha)),
        )

    def log_prob(self, log_alpha: FloatArray) -> FloatArray:
        """Return log P(S | alpha), shape (A,)."""
        if self._engine is not None:
            alpha = np.exp(np.clip(log_alpha, *self._span))
            return self._engine.at(HyperNodes(alpha)).log_prob
        groups = self._selection.groups
        bounds = [self._selection.gamma_squared] * len(groups)
        alphas = finite_alpha(log_alpha).tolist()
        found = np.array([group_probabilities(a, groups, bounds, _theta_rule) for a in alphas])
        event = event_of(self._selection, self._selection.gamma)
        return event.log_prob(found[..., 0], found[..., 1])


def _theta_rule(n_cases: int, alpha: float) -> ThetaRule:
    return theta_rule(n_cases, alpha, (0.0, 1.0))


def _equivalent_correlation(tables: IntArray) -> FloatArray:
    return np.sqrt(equivalent_r_squared(tables))


_EQUIVALENT = Criterion(
    name="correlation", features=("categorical",), from_tables=_equivalent_correlation
)
"""What the race goes by: the absolute correlation that would be as surprising."""
