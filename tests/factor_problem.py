"""Small factor models: draws of everything from the prior, and the kernel of given columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
import oracles_factor as oracle

from honestbayes.correction.factor_event import class_contrasts, response_contrast
from honestbayes.likelihood.normal import heavy_tailed, ratio_grid
from honestbayes.models.factors.sampler import Design, FactorEvent, FactorKernel

LIMIT = 4.5
SHAPE, SCALE = 3.0, 2.0


@cache
def classes_of(sizes):
    """Classes of the cases, in order."""
    return np.repeat(np.arange(len(sizes)), sizes)


@cache
def contrasts_of(sizes):
    return class_contrasts(classes_of(sizes))


@dataclass(frozen=True)
class Problem:
    """How many cases of each class, columns, winners and factors; the bound on r squared."""

    classes: tuple[int, ...]
    p: int
    k: int
    d: int
    gamma_squared: float
    event: bool = True
    nodes: int = 3
    missing: float = 0.0
    response: bool = False
    shifts: bool = False
    every: int = 2

    @property
    def codes(self):
        return classes_of(self.classes)

    @property
    def n_discarded(self):
        return self.p - self.k if self.event else 0

    def grid(self):
        """Ratios, every so many of the usual ones, and their distribution at each node."""
        return grid_of(self)

    def strength(self, values, y):
        """Squared correlation of each column with what features are selected by."""
        if self.response:
            return oracle.r_squared_of_response(values, y)
        return oracle.r_squared_of_classes(values, self.codes)

    def draw_state(self, rng):
        """Draw from the prior all that a chain remembers, hidden cells apart."""
        _, weights = self.grid()
        node = rng.integers(weights.shape[0])
        log_loading = oracle.draw_log_loading(rng, 2 if self.response else 1)
        log_noise = oracle.draw_log_noise(rng) if self.d else 0.0
        log_shift = oracle.draw_log_loading(rng) if self.shifts else 0.0
        scores = oracle.draw_scores(rng, self.codes, self.d, log_shift if self.shifts else None)
        return {
            "scores": scores,
            "log_loading": log_loading,
            "log_noise": np.array(log_noise),
            "log_shift": np.array(log_shift),
            "node": np.array(node),
        }

    def draw_features(self, rng, state, k):
        """Draw the parameters of k features given the state."""
        ratio, weights = self.grid()
        given = (state["log_loading"][0], float(state["log_noise"]), weights[int(state["node"])])
        return oracle.draw_parameters(rng, self.codes, self.d, *given, ratio, SHAPE, SCALE, k)

    def draw_response(self, rng, state):
        """Draw the parameters of the response given the state."""
        given = (state["log_loading"][1], 0.0, np.ones(1), np.zeros(1))
        return oracle.draw_parameters(rng, self.codes, self.d, *given, SHAPE, SCALE, 1)

    def contrasts(self, values):
        """What features are selected by, given columns the first of which may be the response."""
        return response_contrast(values[:, 0]) if self.response else contrasts_of(self.classes)

    def kernel(self, values, hidden):
        """Return the kernel of columns, the first of which is the response if there is one."""
        ratio, weights = self.grid()
        group = np.zeros(values.shape[1], dtype=np.int64)
        if self.response:
            group[0] = 1
        contrasts = self.contrasts(values)
        design = Design(
            np.where(hidden, 0.0, values),
            hidden,
            self.codes,
            np.bincount(self.codes).astype(float),
            ratio,
            weights[:, None],
            np.zeros_like(group),
            group,
            np.full(group.size, SHAPE),
            np.full(group.size, SCALE),
        )
        event = FactorEvent(
            contrasts.basis,
            contrasts.signal,
            self.gamma_squared,
            np.full(int(self.event), float(self.codes.size)),
            np.full(int(self.event), float(self.n_discarded)),
            np.ones(weights.shape, dtype=bool),
            np.array([0.0, 0.7]),
            self.shifts,
        )
        return FactorKernel(design, event, np.zeros(weights.shape[0]))


@cache
def grid_of(problem):
    if problem.response:
        return np.zeros(1), np.ones((1, 1))
    # As the estimators have it: for other strides the sweep would be compiled anew.
    ratio = np.ascontiguousarray(ratio_grid(sum(problem.classes))[:: problem.every])
    scales = np.array([0.3]) if problem.nodes == 1 else np.geomspace(0.02, 5.0, problem.nodes)
    return ratio, np.stack([heavy_tailed(ratio, scale) for scale in scales])


class Everything(NamedTuple):
    """A draw: the state of a chain, the parameters of all columns, and their cells."""

    state: dict[str, np.ndarray]
    parameters: oracle.Parameters
    values: np.ndarray


def draw_columns(problem, rng, state, k):
    """Draw k features, after the response if there is one, given the state."""
    parameters = problem.draw_features(rng, state, k)
    if problem.response:
        own = problem.draw_response(rng, state)
        parameters = oracle.Parameters(
            *(np.concatenate(parts, axis=-1) for parts in zip(own, parameters, strict=True))
        )
    values = oracle.draw_cells(rng, state["scores"], problem.codes, parameters)
    return Everything(state, parameters, values)


def ranked(problem, rng):
    """Draw everything until exactly k of p features win, and return these."""
    first = int(problem.response)
    while True:
        drawn = draw_columns(problem, rng, problem.draw_state(rng), problem.p)
        won = problem.strength(drawn.values[:, first:], drawn.values[:, 0]) > problem.gamma_squared
        if won.sum() == problem.k or not problem.event:
            break
    kept = np.append(np.ones(first, dtype=bool), won if problem.event else np.ones(problem.p) > 0)
    parameters = oracle.Parameters(*(part[..., kept] for part in drawn.parameters))
    return Everything(drawn.state, parameters, np.ascontiguousarray(drawn.values[:, kept]))
