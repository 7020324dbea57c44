"""P(the discarded categorical features were discarded), as a function of log(alpha)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from honestbayes.correction.discard import Ties, log_prob_selection, probabilities
from honestbayes.quadrature import finite_alpha, theta_rule
from honestbayes.selection import Selection
from honestbayes.types import FloatArray


class DiscardedCategories:
    """Log P(S | alpha), exactly for two levels and classes, by simulation otherwise."""

    def __init__(
        self,
        selection: Selection,
        log_density: Callable[[FloatArray], FloatArray],
        span: tuple[float, float],
    ) -> None:
        self._selection = selection

    def log_prob(self, log_alpha: FloatArray) -> FloatArray:
        """Return log P(S | alpha), shape (A,)."""
        selection = self._selection
        regions = np.array(
            [
                [
                    probabilities(
                        alpha,
                        group.observed,
                        selection.gamma_squared,
                        theta_rule(sum(group.observed), alpha, (0.0, 1.0)),
                    )
                    for group in selection.groups
                ]
                for alpha in finite_alpha(log_alpha).tolist()
            ]
        )
        ties: Ties = "at_most" if selection.rule == "threshold" else "known"
        return log_prob_selection(
            regions[..., 0],
            regions[..., 1],
            selection.groups,
            ties=ties,
            n_tied_kept=selection.n_tied_kept,
        )
