"""Select by absolute correlation with the class, with ties decided in exact integers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from honestbayes.screening import Screening
from honestbayes.selection.record import DiscardedGroup, Rule, Selection
from honestbayes.types import BoolArray, FloatArray, IntArray

_DOUBT = 1e-9
"""Squared correlations this close (relative) are compared in exact integers."""


def squared_correlation(i0: int, i1: int, n0: int, n1: int) -> Fraction:
    """COR^2 = (n0 I1 - n1 I0)^2 / (n0 n1 s (n - s)) with s = I0 + I1; 0 for a constant column."""
    s = i0 + i1
    spread = n0 * n1 * s * (n0 + n1 - s)
    return Fraction((n0 * i1 - n1 * i0) ** 2, spread) if spread else Fraction(0)


def select(
    screening: Screening,
    *,
    n_features: int | None = None,
    threshold: float | None = None,
    always_keep: BoolArray | None = None,
    random_state: np.random.RandomState | None = None,
) -> Selection:
    """Select features by absolute correlation with the class.

    Parameters
    ----------
    screening : Screening
        Counts of every feature.
    n_features : int, optional
        Keep this many, the strongest; ties at the bound are broken at random.
    threshold : float, optional
        Instead, keep all whose absolute correlation is above this bound.
    always_keep : ndarray of bool of shape (p,), optional
        Features kept by design, outside the race.
    random_state : RandomState, optional
        Breaks ties.

    Returns
    -------
    Selection
    """
    p = screening.n_features
    by_design = np.zeros(p, dtype=bool) if always_keep is None else always_keep
    racing = np.flatnonzero(~by_design)
    strength = _strength(screening, racing)
    race = _Race(screening, racing, strength)
    if threshold is not None:
        rule: Rule = "threshold"
        gamma_squared = Fraction(repr(float(threshold))) ** 2  # 0.3 means 3/10
        kept_mask = race.compare(gamma_squared) > 0
    elif n_features is None or n_features >= racing.size:
        rule, gamma_squared = "all", Fraction(0)
        kept_mask = np.ones(racing.size, dtype=bool)
    else:
        rule = "top"
        gamma_squared, kept_mask = race.strongest(n_features, random_state)
    tied = race.compare(gamma_squared) == 0
    order = np.argsort(-strength[kept_mask], kind="stable")
    kept = racing[kept_mask][order]
    always = np.flatnonzero(by_design)
    names = screening.feature_names
    return Selection(
        rule=rule,
        gamma_squared=gamma_squared,
        kept=tuple(kept.tolist()),
        always_kept=tuple(always.tolist()),
        n_features_in=p,
        class_counts=screening.class_counts,
        groups=_groups(screening, racing, ~kept_mask, tied),
        n_tied_kept=int(np.sum(tied & kept_mask)) if rule == "top" else 0,
        kept_names=None if names is None else tuple(names[j] for j in kept),
        always_kept_names=None if names is None else tuple(names[j] for j in always),
    )


def _strength(screening: Screening, racing: IntArray) -> FloatArray:
    """Squared correlation in floating point, good to a few units in the last place."""
    r = screening.correlation() if racing.size else np.zeros(screening.n_features)
    result: FloatArray = np.square(r)[racing]
    return result


class _Race:
    """Features in competition: floating point where it is safe, exact integers at the bound."""

    def __init__(self, screening: Screening, racing: IntArray, strength: FloatArray) -> None:
        self._ones = screening.ones
        self._observed = screening.observed_full()
        self._racing = racing
        self._strength = strength
        self._known: dict[tuple[int, int, int, int], Fraction] = {}

    def exact(self, position: int) -> Fraction:
        """Squared correlation of the feature at this position of the race."""
        column = self._racing[position]
        i0, i1 = self._ones[:, column].tolist()
        n0, n1 = self._observed[:, column].tolist()
        key = (i0, i1, n0, n1)
        if key not in self._known:
            self._known[key] = squared_correlation(*key)
        return self._known[key]

    def compare(self, gamma_squared: Fraction) -> IntArray:
        """Sign of COR^2 - gamma^2 for each feature in the race."""
        bound = float(gamma_squared)
        signs: IntArray = np.sign(self._strength - bound).astype(np.int64)
        if gamma_squared == 0:  # a squared correlation of exactly 0 is exactly 0.0 in floats too
            return signs
        for position in np.flatnonzero(np.abs(self._strength - bound) <= _DOUBT * bound):
            value = self.exact(int(position))
            signs[position] = (value > gamma_squared) - (value < gamma_squared)
        return signs

    def strongest(
        self, k: int, random_state: np.random.RandomState | None
    ) -> tuple[Fraction, BoolArray]:
        """Return the squared bound and the mask of the k strongest, ties broken at random."""
        if k == 0:
            top = int(np.argmax(self._strength))
            doubtful = np.flatnonzero(self._strength >= self._strength[top] * (1 - _DOUBT))
            bound = max(self.exact(int(position)) for position in doubtful)
            return bound, np.zeros(self._racing.size, dtype=bool)
        weakest = np.partition(self._strength, -k)[-k]
        close = np.abs(self._strength - weakest) <= _DOUBT * weakest
        kept: BoolArray = (self._strength > weakest) & ~close
        remaining = k - int(kept.sum())
        classes: dict[Fraction, list[int]] = {}
        for position in np.flatnonzero(close):
            classes.setdefault(self.exact(int(position)), []).append(int(position))
        for value in sorted(classes, reverse=True):
            members = np.array(classes[value])
            if members.size >= remaining:
                chosen = members
                if members.size > remaining:
                    generator = random_state or np.random.RandomState(0)
                    chosen = generator.permutation(members)[:remaining]
                kept[chosen] = True
                return value, kept
            kept[members] = True
            remaining -= members.size
        msg = "unreachable: fewer features than asked for."
        raise AssertionError(msg)


def _groups(
    screening: Screening, racing: IntArray, discarded: BoolArray, tied: BoolArray
) -> tuple[DiscardedGroup, ...]:
    """Count the discarded and the tied ones among them by numbers of observed cases."""
    lost, lost_tied = racing[discarded], tied[discarded]
    if lost.size == 0:
        return ()
    if screening.observed.shape[1] == 1:
        n0, n1 = screening.observed[:, 0].tolist()
        return (DiscardedGroup((n0, n1), int(lost.size), int(lost_tied.sum())),)
    observed = screening.observed[:, lost]
    pairs, inverse = np.unique(observed, axis=1, return_inverse=True)
    sizes = np.bincount(inverse.ravel())
    ties = np.bincount(inverse.ravel(), weights=lost_tied).astype(int)
    return tuple(
        DiscardedGroup((int(a), int(b)), int(size), int(tie))
        for a, b, size, tie in zip(*pairs, sizes, ties, strict=True)
    )


def parse_always_keep(always_keep: Any, names: tuple[str, ...] | None, p: int) -> BoolArray:
    """Turn names, indices or a mask into a mask of shape (p,)."""
    mask = np.zeros(p, dtype=bool)
    if always_keep is None:
        return mask
    given = np.asarray(always_keep)
    if given.size == 0:
        return mask
    if given.ndim != 1:
        msg = "always_keep must be a list of names or indices, or a mask of all features."
        raise ValueError(msg)
    if given.dtype.kind == "b":
        if given.size != p:
            msg = f"always_keep is a mask of {given.size} features, but X has {p}."
            raise ValueError(msg)
        return given.copy()
    if given.dtype.kind in "iu":
        outside = given[(given < -p) | (given >= p)]
        if outside.size:
            msg = f"always_keep names column {outside[0]}, but X has {p} columns."
            raise ValueError(msg)
        mask[given] = True
        return mask
    position = {name: index for index, name in enumerate(names or ())}
    for name in given.tolist():
        if name not in position:
            msg = f"always_keep names {name!r}, which is not a column of X."
            raise ValueError(msg)
        mask[position[name]] = True
    return mask
