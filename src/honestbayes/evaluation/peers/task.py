"""What a peer is told of the table that it is compared on."""

from __future__ import annotations

from dataclasses import dataclass

from honestbayes.data.kinds import KindsInOrder


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a peer is told of the table, and of what the user asked for.

    Attributes
    ----------
    n_features : int, "all", "cv" or None
        How many features are kept, of each kind where there are kinds, by peers that select; None:
        10, or all where there are fewer; "cv": chosen inside the folds.
    threshold : float or None
        Instead, a bound on the absolute correlation.
    n_racing : int
        Features in the largest race, for the numbers that "cv" tries.
    seed : int
        Draws the inner folds, and breaks ties.
    kinds : sequence of {"binary", "categorical", "real"}, optional
        The kind of each column, where columns are features as they are; without it, peers that
        select cut columns at their median.
    sparse : bool, default=False
        Whether the table is a sparse matrix of flags.
    """

    n_features: int | str | None = None
    threshold: float | None = None
    n_racing: int
    seed: int = 0
    kinds: KindsInOrder | None = None
    sparse: bool = False
