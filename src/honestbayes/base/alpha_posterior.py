"""The posterior of alpha on the nodes of a quadrature rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy.integrate import cumulative_trapezoid
from scipy.interpolate import CubicSpline

from honestbayes.files.fields import Check, Floats, Logs, Maybe, Number, NumberOrNaN, Weights
from honestbayes.likelihood.learned_alpha import LARGEST_ALPHA, check_alpha
from honestbayes.types import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class AlphaPosterior:
    """The posterior of alpha as nodes and weights.

    With the learned prior: for the distribution of alpha over features, on its atoms.

    Attributes
    ----------
    alpha : ndarray of shape (A,)
        Nodes, increasing.
    weights : ndarray of shape (A,)
        Posterior weights, summing to 1.
    log_prob_selection : ndarray of shape (A,)
        log P(S | alpha): of the event that the others were discarded, or (conditioning on all
        counts) of the discarded features' columns, or 0 without correction.
    log_density : ndarray of shape (A,)
        Log posterior density of log(alpha) at the nodes.
    error : float
        Estimated error of the log evidence and of the log-odds of cases like the training cases
        (relative where these exceed 1). With the learned prior: the gain in log likelihood of the
        last step of EM.
    tolerance : float
        The error that was asked for.
    edges : ndarray of shape (A + 1,) or None
        With the learned prior: the cells of log(alpha) that the atoms stand for.
    """

    alpha: Annotated[FloatArray, Floats("nodes", low=0.0, high=LARGEST_ALPHA)]
    weights: Annotated[FloatArray, Weights("nodes")]
    log_prob_selection: Annotated[FloatArray, Logs("nodes")]
    log_density: Annotated[FloatArray, Logs("nodes")]
    error: Annotated[float, NumberOrNaN()]
    tolerance: Annotated[float, Number(low=0.0)]
    edges: Annotated[FloatArray | None, Maybe(array=Floats("nodes+1"))] = None

    def check(self, check: Check) -> None:
        """Refuse nodes that are not positive, or not in order; a heavy tail may repeat its end."""
        check_alpha(self.alpha, check, strictly=self.edges is not None)
        check(self.edges is None or np.all(np.diff(self.edges) > 0), "edges", "is not increasing")

    @property
    def converged(self) -> bool:
        """Whether the estimated error is within the tolerance."""
        return self.error <= self.tolerance

    def density(self, log_alpha: FloatArray) -> FloatArray:
        """Posterior density of log(alpha) at any points; 0 outside the nodes."""
        points = np.asarray(log_alpha, dtype=float)
        if self.edges is not None:
            cell = np.clip(np.searchsorted(self.edges, points, side="right") - 1, 0, None)
            inside = (points >= self.edges[0]) & (points < self.edges[-1])
            cell = np.minimum(cell, self.alpha.size - 1)
            return np.asarray(np.where(inside, np.exp(self.log_density[cell]), 0.0))
        nodes, first = np.unique(np.log(self.alpha), return_index=True)
        log_density = self.log_density[first]
        if nodes.size < 4:
            flat = np.interp(points, nodes, np.exp(log_density), left=0.0, right=0.0)
            return np.asarray(flat)
        inside = (points >= nodes[0]) & (points <= nodes[-1])
        # Far outside the nodes the curve may be anything: no number is made of it there.
        log_curve = np.where(inside, CubicSpline(nodes, log_density)(points), -np.inf)
        return np.asarray(np.exp(log_curve))

    def mean(self) -> float:
        """Posterior mean of log(alpha)."""
        return float(self.weights @ np.log(self.alpha))

    def sd(self) -> float:
        """Posterior standard deviation of log(alpha)."""
        return float(np.sqrt(self.weights @ (np.log(self.alpha) - self.mean()) ** 2))

    def quantile(self, probability: FloatArray | float) -> FloatArray:
        """Posterior quantiles of log(alpha)."""
        if self.edges is not None:
            below = np.concatenate([[0.0], np.cumsum(self.weights)])
            return np.asarray(np.interp(probability, below / below[-1], self.edges))
        nodes = np.log(self.alpha)
        if nodes.size == 1:
            return np.full(np.shape(probability), nodes[0])
        grid = np.linspace(nodes[0], nodes[-1], 4001)
        cumulative = cumulative_trapezoid(self.density(grid), grid, initial=0)
        return np.asarray(np.interp(probability, cumulative / cumulative[-1], grid))
