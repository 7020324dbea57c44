"""Select by absolute correlation with the class, with ties decided in exact integers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from honestbayes.screening import Screening
from honestbayes.selection.record import DiscardedGroup, Rule, Selection
from honestbayes.types import BoolArray, FloatArray, IntArray

_DOUBT = 1e-9
"""Squared correlations this close (relative) are compared in exact integers."""


@lru_cache(maxsize=1 << 16)
def squared_correlation(i0: int, i1: int, n0: int, n1: int) -> Fraction:
    """Return COR^2 = (n0 I1 - n1 I0)^2 / (n0 n1 s (n - s)), s = I0 + I1 (equation 30, squared).

    0 for a constant column.
    """
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
    ones, observed = screening.ones, screening.observed_full()

    def exact(column: int) -> Fraction:
        i0, i1 = ones[:, column].tolist()
        n0, n1 = observed[:, column].tolist()
        return squared_correlation(i0, i1, n0, n1)

    result = race(
        np.square(screening.correlation()),
        exact,
        n_features=n_features,
        threshold=threshold,
        always_keep=always_keep,
        random_state=random_state,
    )
    return result.selection(
        screening.class_counts, screening.observed, screening.feature_names, n_levels=2
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a race ended.

    Attributes
    ----------
    rule : {"top", "threshold", "all"}
        What it went by.
    gamma_squared : Fraction
        The squared bound.
    kept, discarded, always_kept : ndarray of int
        Columns: the winners, strongest first; the losers; those kept by design.
    tied_kept, tied_discarded : ndarray of bool
        Whether a winner's or a loser's squared correlation is exactly the bound.
    n_constant : int
        Constant columns, which were left out.
    criterion, strength_bound
        As in `Selection`.
    """

    rule: Rule
    gamma_squared: Fraction
    kept: IntArray
    discarded: IntArray
    always_kept: IntArray
    tied_kept: BoolArray
    tied_discarded: BoolArray
    n_constant: int = 0
    criterion: str = "correlation"
    strength_bound: float | None = None

    def selection(
        self,
        class_counts: tuple[int, ...],
        observed: IntArray,
        names: tuple[str, ...] | None,
        n_levels: int | IntArray,
    ) -> Selection:
        """Return the record, with the discarded ones grouped by observed cases and levels.

        Parameters
        ----------
        class_counts : tuple of int
            Training cases in each class.
        observed : ndarray of shape (C, p) or (C, 1)
            Observed cases of each feature.
        names : tuple of str or None
            Names of all columns.
        n_levels : int or ndarray of shape (p,)
            Levels of each feature; 0 for real-valued ones.
        """
        top = self.rule == "top"
        return Selection(
            rule=self.rule,
            gamma_squared=self.gamma_squared,
            kept=tuple(self.kept.tolist()),
            always_kept=tuple(self.always_kept.tolist()),
            n_features_in=self.kept.size
            + self.discarded.size
            + self.always_kept.size
            + self.n_constant,
            class_counts=class_counts,
            groups=self._groups(observed, n_levels),
            n_tied_kept=int(np.sum(self.tied_kept)) if top else 0,
            kept_names=None if names is None else tuple(names[j] for j in self.kept),
            always_kept_names=None if names is None else tuple(names[j] for j in self.always_kept),
            criterion=self.criterion,
            strength_bound=self.strength_bound,
            n_constant=self.n_constant,
        )

    def _groups(self, observed: IntArray, n_levels: int | IntArray) -> tuple[DiscardedGroup, ...]:
        lost, tied = self.discarded, self.tied_discarded
        if lost.size == 0:
            return ()
        cases = observed if observed.shape[1] == 1 else observed[:, lost]
        levels = np.atleast_1d(n_levels if isinstance(n_levels, int) else n_levels[lost])
        if np.all(cases == cases[:, :1]) and np.all(levels == levels[0]):
            sizes = tuple(cases[:, 0].tolist())
            return (DiscardedGroup(sizes, int(lost.size), int(tied.sum()), int(levels[0])),)
        cases = np.broadcast_to(cases, (cases.shape[0], lost.size))
        levels = np.broadcast_to(levels, lost.shape)
        kinds, inverse = np.unique(
            np.concatenate([cases, levels[None]]), axis=1, return_inverse=True
        )
        number = np.bincount(inverse.ravel())
        ties = np.bincount(inverse.ravel(), weights=tied).astype(int)
        return tuple(
            DiscardedGroup(tuple(kind[:-1]), int(size), int(tie), kind[-1])
            for kind, size, tie in zip(kinds.T.tolist(), number, ties, strict=True)
        )


def race(
    strength: FloatArray,
    exact: Callable[[int], Fraction],
    *,
    n_features: int | None = None,
    threshold: float | None = None,
    always_keep: BoolArray | None = None,
    varies: BoolArray | None = None,
    random_state: np.random.RandomState | None = None,
) -> Outcome:
    """Keep the strongest features, or all above a bound.

    Parameters
    ----------
    strength : ndarray of shape (p,)
        Squared correlation of every feature, good to a few units in the last place.
    exact : callable
        Given a column, the same exactly; asked only where features are close to the bound.
    n_features, threshold, always_keep, random_state
        As in `select`.
    varies : ndarray of bool of shape (p,), optional
        Features that are not constant; the others are left out, neither kept nor discarded.
    """
    by_design = np.zeros(strength.size, dtype=bool) if always_keep is None else always_keep
    racing = np.flatnonzero(~by_design if varies is None else ~by_design & varies)
    runners = _Race(strength[racing], racing, exact)
    if threshold is not None:
        rule: Rule = "threshold"
        gamma_squared = Fraction(repr(float(threshold))) ** 2  # 0.3 means 3/10
        kept_mask = runners.compare(gamma_squared) > 0
    elif n_features is None or n_features >= racing.size:
        rule, gamma_squared = "all", Fraction(0)
        kept_mask = np.ones(racing.size, dtype=bool)
    else:
        rule = "top"
        gamma_squared, kept_mask = runners.strongest(n_features, random_state)
    tied = runners.compare(gamma_squared) == 0
    winners = np.flatnonzero(kept_mask)
    winners = winners[np.argsort(-strength[racing][winners], kind="stable")]
    return Outcome(
        rule=rule,
        gamma_squared=gamma_squared,
        kept=racing[winners],
        discarded=racing[~kept_mask],
        always_kept=np.flatnonzero(by_design),
        tied_kept=tied[winners],
        tied_discarded=tied[~kept_mask],
        n_constant=int(strength.size - racing.size - by_design.sum()),
    )


def race_by_rank(
    strength: FloatArray,
    criterion: str,
    *,
    n_features: int | None = None,
    always_keep: BoolArray | None = None,
    varies: BoolArray | None = None,
    random_state: np.random.RandomState | None = None,
) -> Outcome:
    """Keep the strongest features by any criterion; strengths that differ by rounding are equal.

    Parameters
    ----------
    strength : ndarray of shape (p,)
        Larger is better; may be infinite.
    criterion : str
        Its name.
    n_features, always_keep, varies, random_state
        As in `race`.
    """
    order = np.argsort(strength, kind="stable")
    low, high = strength[order][:-1], strength[order][1:]
    with np.errstate(invalid="ignore"):
        apart = (low != high) & ~(high - low <= _DOUBT * np.maximum(np.abs(low), np.abs(high)))
    rank = np.empty(strength.size, dtype=np.int64)
    rank[order] = np.concatenate([[1], 1 + np.cumsum(apart)])[: strength.size]
    most = int(rank.max(initial=1))
    outcome = race(
        rank / most,
        lambda column: Fraction(int(rank[column]), most),
        n_features=n_features,
        always_keep=always_keep,
        varies=varies,
        random_state=random_state,
    )
    weakest = -np.inf
    if outcome.rule == "top":
        at = round(float(outcome.gamma_squared) * most)
        weakest = float(strength[rank == at].min())
    return replace(outcome, gamma_squared=Fraction(0), criterion=criterion, strength_bound=weakest)


class _Race:
    """Features in competition: floating point where it is safe, exact integers at the bound."""

    def __init__(
        self, strength: FloatArray, racing: IntArray, exact: Callable[[int], Fraction]
    ) -> None:
        self._strength = strength
        self._racing = racing
        self._exact = exact

    def exact(self, position: int) -> Fraction:
        """Squared correlation of the feature at this position of the race."""
        return self._exact(int(self._racing[position]))

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
