"""Selection by absolute correlation with the class, with ties decided in exact integers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, get_args

import numpy as np

from honestbayes.files.fields import MOST_CASES, MOST_FEATURES, Entries, Known, Plain, Whole
from honestbayes.selection.categories import CategoryCounts
from honestbayes.selection.counts import Screening
from honestbayes.selection.moments import ResponseMoments
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
        Features kept by design, outside the ranking.
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

    result = rank_features(
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
class RankingOutcome:
    """Outcome of a feature ranking.

    Attributes
    ----------
    rule : {"top", "threshold", "all"}
        Rule of the selection.
    gamma_squared : Fraction
        The squared bound.
    kept, discarded, always_kept : ndarray of int
        Columns: selected, strongest first; discarded; kept by design.
    tied_kept, tied_discarded : ndarray of bool
        Whether the squared correlation of a selected or discarded feature is exactly the bound.
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
        """Return the record, with the discarded ones grouped by observed cases and categories.

        Parameters
        ----------
        class_counts : tuple of int
            Training cases in each class.
        observed : ndarray of shape (C, p) or (C, 1)
            Observed cases of each feature.
        names : tuple of str or None
            Names of all columns.
        n_levels : int or ndarray of shape (p,)
            Categories of each feature; 0 for real-valued ones.
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
        discarded, tied = self.discarded, self.tied_discarded
        if discarded.size == 0:
            return ()
        cases = observed if observed.shape[1] == 1 else observed[:, discarded]
        levels = np.atleast_1d(n_levels if isinstance(n_levels, int) else n_levels[discarded])
        if np.all(cases == cases[:, :1]) and np.all(levels == levels[0]):
            sizes = tuple(cases[:, 0].tolist())
            return (DiscardedGroup(sizes, int(discarded.size), int(tied.sum()), int(levels[0])),)
        cases = np.broadcast_to(cases, (cases.shape[0], discarded.size))
        parts = np.concatenate([cases, np.broadcast_to(levels, (1, discarded.size))])
        kinds, number, ties = _distinct_columns(parts, tied)
        return tuple(
            DiscardedGroup(tuple(kind[:-1]), int(size), int(tie), kind[-1])
            for kind, size, tie in zip(kinds.T.tolist(), number, ties, strict=True)
        )


def _distinct_columns(values: IntArray, marked: BoolArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return the different columns in order, how often each occurs, and how often it is marked."""
    sizes = values.max(axis=1).astype(object) + 1
    if np.prod(sizes) < 2**62:  # whole numbers of Python, which do not overflow
        # One number for each column: sorting these takes a tenth of the time of sorting columns.
        key = np.zeros(values.shape[1], dtype=np.int64)
        for row, size in zip(values, sizes.tolist(), strict=True):
            key = key * size + row
        keys, number = np.unique(key, return_counts=True)
        at = np.searchsorted(keys, key[marked])
        kinds = np.empty((len(values), keys.size), dtype=np.int64)
        for index in range(len(values) - 1, -1, -1):
            keys, kinds[index] = np.divmod(keys, sizes[index])
    else:
        kinds, inverse, number = np.unique(values, axis=1, return_inverse=True, return_counts=True)
        at = inverse.ravel()[marked]
    return kinds, number, np.bincount(at, minlength=number.size)


def rank_features(
    strength: FloatArray,
    exact: Callable[[int], Fraction],
    *,
    n_features: int | None = None,
    threshold: float | None = None,
    always_keep: BoolArray | None = None,
    varies: BoolArray | None = None,
    random_state: np.random.RandomState | None = None,
) -> RankingOutcome:
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
    candidates = np.flatnonzero(~by_design if varies is None else ~by_design & varies)
    ranking = _Ranking(strength[candidates], candidates, exact)
    if threshold is not None:
        rule: Rule = "threshold"
        gamma_squared = Fraction(repr(float(threshold))) ** 2  # 0.3 means 3/10
        kept_mask = ranking.compare(gamma_squared) > 0
    elif n_features is None or n_features >= candidates.size:
        rule, gamma_squared = "all", Fraction(0)
        kept_mask = np.ones(candidates.size, dtype=bool)
    else:
        rule = "top"
        gamma_squared, kept_mask = ranking.strongest(n_features, random_state)
    tied = ranking.compare(gamma_squared) == 0
    kept = np.flatnonzero(kept_mask)
    kept = kept[np.argsort(-strength[candidates][kept], kind="stable")]
    return RankingOutcome(
        rule=rule,
        gamma_squared=gamma_squared,
        kept=candidates[kept],
        discarded=candidates[~kept_mask],
        always_kept=np.flatnonzero(by_design),
        tied_kept=tied[kept],
        tied_discarded=tied[~kept_mask],
        n_constant=int(strength.size - candidates.size - by_design.sum()),
    )


def rank_by_criterion(
    strength: FloatArray,
    criterion: str,
    *,
    n_features: int | None = None,
    always_keep: BoolArray | None = None,
    varies: BoolArray | None = None,
    random_state: np.random.RandomState | None = None,
) -> RankingOutcome:
    """Keep the strongest features by any criterion; strengths that differ by rounding are equal.

    Parameters
    ----------
    strength : ndarray of shape (p,)
        Larger is better; may be infinite.
    criterion : str
        Its name.
    n_features, always_keep, varies, random_state
        As in `rank_features`.
    """
    order = np.argsort(strength, kind="stable")
    low, high = strength[order][:-1], strength[order][1:]
    with np.errstate(invalid="ignore"):
        apart = (low != high) & ~(high - low <= _DOUBT * np.maximum(np.abs(low), np.abs(high)))
    rank = np.empty(strength.size, dtype=np.int64)
    rank[order] = np.concatenate([[1], 1 + np.cumsum(apart)])[: strength.size]
    most = int(rank.max(initial=1))
    outcome = rank_features(
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


class _Ranking:
    """Candidates: floating point where it is safe, exact integers at the bound."""

    def __init__(
        self, strength: FloatArray, candidates: IntArray, exact: Callable[[int], Fraction]
    ) -> None:
        self._strength = strength
        self._candidate_columns = candidates
        self._exact = exact

    def exact(self, position: int) -> Fraction:
        """Squared correlation of the feature at this position of the ranking."""
        return self._exact(int(self._candidate_columns[position]))

    def compare(self, gamma_squared: Fraction) -> IntArray:
        """Sign of COR^2 - gamma^2 for each candidate."""
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
            return bound, np.zeros(self._candidate_columns.size, dtype=bool)
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


def parse_always_keep(
    always_keep: Any, names: tuple[str, ...] | None, p: int, what: str = "always_keep"
) -> BoolArray:
    """Turn names, indices or a mask into a mask of shape (p,); ``what`` is named in messages."""
    mask = np.zeros(p, dtype=bool)
    if always_keep is None:
        return mask
    given = np.asarray(always_keep)
    if given.size == 0:
        return mask
    if given.ndim != 1:
        msg = f"{what} must be a list of names or indices, or a mask of all features."
        raise ValueError(msg)
    if given.dtype.kind == "b":
        if given.size != p:
            msg = f"{what} is a mask of {given.size} features, but X has {p}."
            raise ValueError(msg)
        return given.copy()
    if given.dtype.kind in "iu":
        outside = given[(given < -p) | (given >= p)]
        if outside.size:
            msg = f"{what} names column {outside[0]}, but X has {p} columns."
            raise ValueError(msg)
        mask[given] = True
        return mask
    position = {name: index for index, name in enumerate(names or ())}
    for name in given.tolist():
        if name not in position:
            msg = f"{what} names {name!r}, which is not a column of X."
            raise ValueError(msg)
        mask[position[name]] = True
    return mask


# --------------------------------------------------------------------------------------------------
# Association between a categorical feature and the class
#
# Features with different numbers of categories are ranked together, so their statistics must be
# comparable: chi-square of a feature with many categories is large by chance alone. Each is turned
# into the squared correlation of a binary feature with the same p-value in two classes with as many
# observed cases. With two categories and two classes that is the squared correlation itself.
# --------------------------------------------------------------------------------------------------


_DIGITS = 12
"""Equivalents that agree to so many decimals are equal."""


def phi_squared(tables: IntArray) -> FloatArray:
    """Return chi-square over the number of observed cases, shape (m,), of (m, C, V) tables.

    Classes and categories without cases do not count; a table with one class or category has 0.
    """
    rows, columns = tables.sum(axis=2), tables.sum(axis=1)
    total = np.maximum(rows.sum(axis=1), 1)
    expected = rows[:, :, None] * columns[:, None, :]
    # Differences of whole numbers, so that independence is exactly 0.
    apart = (total[:, None, None] * tables - expected).astype(float)
    share = np.divide(apart**2, expected, out=np.zeros_like(apart), where=expected > 0)
    return np.asarray(share.sum(axis=(1, 2)) / np.square(total.astype(float)))


def equivalent_r_squared(tables: IntArray) -> FloatArray:
    """Return the squared correlation that would be as surprising, shape (m,).

    Wilson and Hilferty's cube root makes chi-square with d degrees of freedom normal; the same for
    one degree leads back. Degrees are those of the classes and categories that occur.
    """
    observed = tables.sum(axis=(1, 2))
    levels = (tables.sum(axis=1) > 0).sum(axis=1)
    classes = (tables.sum(axis=2) > 0).sum(axis=1)
    degrees = np.maximum((levels - 1) * (classes - 1), 0)
    square = phi_squared(tables)
    more = degrees > 1
    if more.any():
        d, n = degrees[more], observed[more]
        z = (np.cbrt(square[more] * n / d) - (1 - 2 / (9 * d))) / np.sqrt(2 / (9 * d))
        root = np.maximum(1 - 2 / 9 + z * np.sqrt(2 / 9), 0.0)
        square[more] = np.minimum(root**3 / n, 1.0)
    square[degrees == 0] = 0.0
    return np.minimum(square, 1.0)


def strength_of(counts: CategoryCounts) -> tuple[FloatArray, Callable[[int], Fraction]]:
    """Return the equivalent squared correlation of every feature, and its exact function."""
    strength = np.zeros(counts.n_features)
    for group in counts.groups:
        strength[group.columns] = equivalent_r_squared(group.tables)

    def exact(column: int) -> Fraction:
        # The columns of a group ascend.
        at = ((group, int(np.searchsorted(group.columns, column))) for group in counts.groups)
        table = next(
            group.tables[i]
            for group, i in at
            if i < group.columns.size and group.columns[i] == column
        )
        if table.shape == (2, 2):
            (_, i0), (_, i1) = table.tolist()
            n0, n1 = table.sum(axis=1).tolist()
            return squared_correlation(i0, i1, n0, n1)
        return Fraction(round(float(strength[column]), _DIGITS))

    return strength, exact


# --------------------------------------------------------------------------------------------------
# Selection by correlation with a real response
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseSelection:
    """Kept and discarded features of a selection by absolute correlation with a response.

    Attributes
    ----------
    rule : {"top", "threshold", "all"}
        The features with the largest absolute correlation; all above a threshold; all.
    gamma_squared : Fraction
        The squared bound: of the weakest kept feature, or of the threshold.
    kept : tuple of int
        Selected columns, strongest first.
    always_kept : tuple of int
        Columns kept by design, outside the ranking.
    n_features_in : int
        Columns of the screened table.
    n_cases : int
        Training cases.
    groups : tuple of (int, int)
        Observed cases of discarded features, and how many of these there are.
    """

    rule: Rule
    gamma_squared: Fraction
    kept: tuple[int, ...]
    always_kept: tuple[int, ...]
    n_features_in: int
    n_cases: int
    groups: tuple[tuple[int, int], ...]

    def to_plain(self) -> Plain:
        """Return plain data; what grows with the number of features is in arrays."""
        bound = self.gamma_squared
        content = {
            "rule": self.rule,
            "gamma_squared": [int(bound.numerator), int(bound.denominator)],
            "n_features_in": int(self.n_features_in),
            "n_cases": int(self.n_cases),
        }
        arrays = {
            "kept": np.array(self.kept, dtype=np.int64),
            "always_kept": np.array(self.always_kept, dtype=np.int64),
            "groups": np.array(self.groups, dtype=np.int64).reshape(-1, 2),
        }
        return content, arrays

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> ResponseSelection:
        """Return the record that `to_plain` described; refuse anything else."""
        n_cases = Whole(0, MOST_CASES, "is not a possible number").read(entries, "n_cases", known)
        n_features = Whole(0, MOST_FEATURES).read(entries, "n_features_in", known)
        kept, always = (entries.counts(name, (None,)) for name in ("kept", "always_kept"))
        columns = np.concatenate([kept, always])
        good = np.unique(columns).size == columns.size and columns.max(initial=-1) < n_features
        entries.check(good, "kept", "are not columns of the table, each once")
        groups = entries.counts("groups", (None, 2), np.array([n_cases, n_features]))
        entries.check(np.all(np.diff(groups[:, 0]) > 0), "groups", "are not in order")
        good = int(groups[:, 1].sum()) <= n_features - columns.size
        entries.check(good, "groups", "hold more features than the table has")
        pair = entries.value("gamma_squared")
        good = isinstance(pair, list) and len(pair) == 2 and all(type(x) is int for x in pair)
        entries.check(good and 0 <= pair[0] <= pair[1] > 0, "gamma_squared", "is not a share")
        return cls(
            rule=entries.one_of("rule", get_args(Rule)),
            gamma_squared=Fraction(*pair),
            kept=tuple(kept.tolist()),
            always_kept=tuple(always.tolist()),
            n_features_in=n_features,
            n_cases=n_cases,
            groups=tuple((size, number) for size, number in groups.tolist()),
        )

    @property
    def gamma(self) -> float:
        """The bound on the absolute correlation of a discarded feature."""
        return float(np.sqrt(float(self.gamma_squared)))

    @property
    def columns(self) -> tuple[int, ...]:
        """All columns that the model uses: selected ones, then those kept by design."""
        return self.kept + self.always_kept

    @property
    def n_discarded(self) -> int:
        """How many features were discarded."""
        return sum(number for _, number in self.groups)

    @property
    def n_constant(self) -> int:
        """How many constant columns were left out, neither kept nor discarded."""
        return self.n_features_in - len(self.columns) - self.n_discarded


def select_by_response(
    screening: ResponseMoments,
    *,
    n_features: int | None,
    threshold: float | None,
    always_keep: BoolArray,
    n_cases: int,
) -> ResponseSelection:
    """Keep the features with the largest absolute correlation."""
    strength = screening.r_squared()
    outcome = rank_features(
        strength,
        lambda column: Fraction(float(strength[column])),
        n_features=n_features,
        threshold=threshold,
        always_keep=always_keep,
        varies=screening.varies(),
    )
    sizes, number = np.unique(screening.n_observed[outcome.discarded], return_counts=True)
    return ResponseSelection(
        rule=outcome.rule,
        gamma_squared=outcome.gamma_squared,
        kept=tuple(outcome.kept.tolist()),
        always_kept=tuple(outcome.always_kept.tolist()),
        n_features_in=int(strength.size),
        n_cases=n_cases,
        groups=tuple(zip(sizes.tolist(), number.tolist(), strict=True)),
    )
