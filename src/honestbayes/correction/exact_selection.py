"""P(S) without simulation: by formula, or by enumeration of all tables.

Formulas exist where a criterion orders columns as r squared does: for binary features in two
classes (`honestbayes.correction.discard`) and for real-valued features
(`honestbayes.correction.f_statistic`). Discrete features of few cases have few tables of counts,
which serve any criterion.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from scipy.special import gammaln

from honestbayes.correction.discard import group_probabilities
from honestbayes.correction.event import Event, HyperNodes
from honestbayes.correction.f_statistic import log_prob_all_discarded
from honestbayes.correction.feature_models import (
    BinaryFeatures,
    CategoricalFeatures,
    DiscreteFeatures,
    FeatureModel,
    RealFeatures,
)
from honestbayes.likelihood.quadrature import ThetaRule, theta_rule
from honestbayes.selection import DiscardedGroup
from honestbayes.selection.criteria import SAME, Criterion, compare, table_strengths
from honestbayes.types import FloatArray, IntArray

ENUMERATED_UP_TO = 50_000
"""Tables of all groups together that are gone through rather than drawn."""

ExactLogProb = Callable[[HyperNodes], FloatArray]
"""log P(S) at each node."""


def formula(model: FeatureModel, criterion: Criterion, event: Event) -> ExactLogProb | None:
    """Return log P(S) by a formula, or None where there is none."""
    to_r_squared = criterion.r_squared
    if to_r_squared is None:
        return None
    if isinstance(model, RealFeatures):
        return lambda nodes: _log_prob_real(nodes, event, criterion)
    binary = _as_binary(model)
    if binary is None or any(
        len(group.observed) != 2 or group.n_levels != 2 for group in event.groups
    ):
        return None
    bounds = [
        attained(to_r_squared(event.bound, sum(group.observed), 2), *group.observed)
        for group in event.groups
    ]

    def by_counts(nodes: HyperNodes) -> FloatArray:
        def rule(n_cases: int, alpha: float) -> ThetaRule:
            return theta_rule(n_cases, alpha, binary.interval)

        probability = np.array(
            [group_probabilities(float(a), event.groups, bounds, rule) for a in nodes.atoms]
        )
        return event.log_prob(nodes.mix(probability[:, :, 0]), nodes.mix(probability[:, :, 1]))

    return by_counts


def _as_binary(model: FeatureModel) -> BinaryFeatures | None:
    if isinstance(model, BinaryFeatures):
        return model
    if isinstance(model, CategoricalFeatures) and model.base == 1.0:
        return BinaryFeatures()
    return None


def _log_prob_real(nodes: HyperNodes, event: Event, criterion: Criterion) -> FloatArray:
    """Sum log P(discarded) over features; real values are never tied."""
    assert criterion.r_squared is not None
    to_r_squared = criterion.r_squared

    def bound(present: IntArray) -> float:
        return float(to_r_squared(event.bound, int(present.sum()), present.size))

    return log_prob_all_discarded(event.groups, bound, nodes.atoms, nodes.mixing)


def attained(r_squared: float, n0: int, n1: int) -> Fraction:
    """Return the squared correlation that a bound in floating point stands for, exactly.

    One that some counts attain, if there is such a one within rounding: with s ones in all, of
    which i are in class 1, it is (n i - n1 s)^2 / (n0 n1 s (n - s)).
    """
    if not math.isfinite(r_squared):
        return Fraction(2 if r_squared > 0 else -1)
    n = n0 + n1
    s = np.arange(1, n)
    if r_squared <= 0 or n0 == 0 or n1 == 0:
        return Fraction(r_squared)
    spread = float(n0) * float(n1) * (s * (n - s).astype(float))
    distance = np.sqrt(r_squared * spread)
    whole = np.rint(distance)
    near = np.abs(distance - whole) <= SAME * distance
    for ones, d in zip(s[near].tolist(), whole[near].astype(int).tolist(), strict=True):
        for signed in (d, -d):
            i, rest = divmod(signed + n1 * ones, n)
            if rest == 0 and 0 <= i <= n1 and 0 <= ones - i <= n0:
                return Fraction(d * d, n0 * n1 * ones * (n - ones))
    return Fraction(r_squared)


def number_of_tables(group: DiscardedGroup) -> int:
    """How many tables of counts a discrete feature of this group can have."""
    extra = group.n_levels - 1
    return math.prod(math.comb(size + extra, extra) for size in group.observed)


def enumeration(model: FeatureModel, criterion: Criterion, event: Event) -> ExactLogProb | None:
    """Return log P(S) by going through all tables, or None where they are too many."""
    if not isinstance(model, DiscreteFeatures):
        return None
    if sum(number_of_tables(group) for group in event.groups) > ENUMERATED_UP_TO:
        return None
    enumerated = [_Enumerated(model, criterion, event.bound, group) for group in event.groups]

    def by_tables(nodes: HyperNodes) -> FloatArray:
        beyond, tied = np.moveaxis(np.array([one(nodes.atoms) for one in enumerated]), 1, 0)
        return event.log_prob(nodes.mix(beyond.T), nodes.mix(tied.T))

    return by_tables


class _Enumerated:
    """All tables of one group that are beyond the bound or at it."""

    def __init__(
        self, model: DiscreteFeatures, criterion: Criterion, bound: float, group: DiscardedGroup
    ) -> None:
        sizes = np.array(group.observed, dtype=np.int64)
        tables = all_tables(sizes, group.n_levels)
        sign = compare(table_strengths(criterion, tables), bound)
        tables = tables[sign >= 0]
        self._beyond = sign[sign >= 0] > 0
        self._log_ways = gammaln(sizes + 1).sum() - gammaln(tables + 1).sum(axis=(1, 2))
        self._likelihood = model.table_likelihood(tables, sizes) if len(tables) else None

    def __call__(self, atoms: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self._likelihood is None:
            return np.zeros(atoms.size), np.zeros(atoms.size)
        mass = np.exp(self._likelihood(atoms) + self._log_ways)
        return mass[:, self._beyond].sum(axis=1), mass[:, ~self._beyond].sum(axis=1)


def all_tables(class_sizes: IntArray, n_levels: int) -> IntArray:
    """Return every table with these class sizes, shape (m, C, V)."""
    rows = [_compositions(int(size), n_levels) for size in class_sizes]
    places = np.indices([len(row) for row in rows]).reshape(len(rows), -1)
    return np.stack([row[index] for row, index in zip(rows, places, strict=True)], axis=1)


def _compositions(total: int, parts: int) -> IntArray:
    """Return all ways to write a number as an ordered sum, shape (m, parts)."""
    if parts == 1:
        return np.array([[total]])
    blocks = []
    for first in range(total + 1):
        rest = _compositions(total - first, parts - 1)
        blocks.append(np.concatenate([np.full((len(rest), 1), first), rest], axis=1))
    return np.concatenate(blocks)
