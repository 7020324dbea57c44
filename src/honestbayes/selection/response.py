"""Selection by correlation with a real response: what was kept, what was thrown away."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import get_args

import numpy as np

from honestbayes.files.entries import Entries, Plain
from honestbayes.files.fields import MOST_CASES, MOST_FEATURES, Known, Whole
from honestbayes.screening.response import ResponseMoments
from honestbayes.selection.correlation import race
from honestbayes.selection.record import Rule
from honestbayes.types import BoolArray


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseSelection:
    """What a selection by absolute correlation with a response kept and what it discarded.

    Attributes
    ----------
    rule : {"top", "threshold", "all"}
        The features with the largest absolute correlation; all above a threshold; all.
    gamma_squared : Fraction
        The squared bound: of the weakest kept feature, or of the threshold.
    kept : tuple of int
        Columns that won the race, strongest first.
    always_kept : tuple of int
        Columns kept by design, outside the race.
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
        """Return plain data, with what grows with the number of features in arrays."""
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
        """All columns that the model uses: the winners, then those kept by design."""
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
    outcome = race(
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
