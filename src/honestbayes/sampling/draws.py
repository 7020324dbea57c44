"""Draws of Markov chains, and their diagnostics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from honestbayes.files.fields import Entries, Field, Known, values_from_plain
from honestbayes.types import AnyArray, FloatArray

RHAT_LIMIT = 1.05
"""Chains that agree have an R-hat below this."""

AGREED = 1.01
"""Chains that may go on do so while the R-hat of any quantity is above this."""

ESS_LIMIT = 100.0
"""Independent draws of all chains together that a tail quantile asks for at least."""

TAILS = (0.05, 0.95)


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """Draws of several chains.

    Attributes
    ----------
    values : dict of str to ndarray of shape (n_chains, n_draws, ...)
        By name.
    n_chains : int
        Chains.
    """

    values: Mapping[str, AnyArray]
    n_chains: int

    @property
    def n_draws(self) -> int:
        """Draws of each chain."""
        return next((value.shape[1] for value in self.values.values()), 0)

    def __getitem__(self, name: str) -> AnyArray:
        """Return the draws of one quantity, shape (n_chains, n_draws, ...)."""
        return self.values[name]

    def pooled(self, name: str) -> AnyArray:
        """Return the draws of one quantity, those of all chains after each other."""
        value = self.values[name]
        return value.reshape(-1, *value.shape[2:])

    @property
    def n_pooled(self) -> int:
        """Draws of all chains."""
        return self.n_chains * self.n_draws

    def spread(self, number: int) -> Draws:
        """Return so many draws at most, evenly spread over all chains, as one chain."""
        some = np.linspace(0, self.n_pooled - 1, min(number, self.n_pooled)).astype(int)
        return Draws({name: self.pooled(name)[None, some] for name in self.values}, 1)

    def first(self, number: int) -> Draws:
        """Return the first draws of each chain, so many at most."""
        return Draws(
            {name: value[:, :number] for name, value in self.values.items()}, self.n_chains
        )

    def followed_by(self, kept: Sequence[Sequence[Mapping[str, Any]]]) -> Draws:
        """Return these draws and more: for each chain a sequence of records."""
        if not kept[0]:
            return self
        new = {
            name: np.stack([np.stack([np.asarray(info[name]) for info in one]) for one in kept])
            for name in kept[0][0]
        }
        return Draws.joined([self, Draws(new, self.n_chains)])

    @classmethod
    def joined(cls, parts: Sequence[Draws]) -> Draws:
        """Return draws of the same chains one after the other; there is one part at least."""
        some = [part for part in parts if part.values] or [parts[0]]
        if len(some) == 1:
            return some[0]
        values = {
            name: np.concatenate([part.values[name] for part in some], axis=1)
            for name in some[0].values
        }
        return cls(values, some[0].n_chains)

    def diagnostics(self, names: Sequence[str] | None = None) -> Diagnostics:
        """Judge the draws of numbers.

        Parameters
        ----------
        names : sequence of str, optional
            Which; by default all that are single numbers.
        """
        if names is None:
            names = [name for name, value in self.values.items() if value.ndim == 2]
        return diagnose({name: np.asarray(self.values[name], dtype=float) for name in names})

    def to_arviz(self, names: Sequence[str], statistics: Sequence[str] = ()) -> Any:
        """Return the draws for ArviZ: InferenceData (0.23), or a DataTree (1.x).

        Parameters
        ----------
        names : sequence of str
            Quantities of the posterior.
        statistics : sequence of str
            What else was recorded in each sweep.
        """
        try:
            import arviz
        except ImportError:
            msg = 'to_arviz needs ArviZ; install it by pip install "honestbayes[arviz]".'
            raise ImportError(msg) from None
        except OSError as error:  # it writes to a cache folder when it is imported
            msg = (
                "ArviZ cannot be imported where it cannot write: let XDG_CACHE_HOME name a folder "
                f"that can be written ({error.strerror or error})."
            )
            raise ImportError(msg) from error
        groups = {
            "posterior": {name: np.asarray(self.values[name]) for name in names},
            "sample_stats": {name: np.asarray(self.values[name]) for name in statistics},
        }
        groups = {name: group for name, group in groups.items() if group}
        if int(arviz.__version__.split(".")[0]) < 1:
            return arviz.from_dict(**groups)
        return arviz.from_dict(groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostics:
    """Diagnostics of the draws, one entry for each quantity.

    Attributes
    ----------
    name : tuple of str
        What was drawn.
    mean, sd : ndarray
        Of all draws.
    mcse : ndarray
        Monte Carlo standard error of the mean.
    rhat : ndarray
        Rank-normalised R-hat: near 1 where chains agree.
    ess_bulk, ess_tail : ndarray
        Independent draws that the chains are worth, for the middle and for the tails.
    """

    name: tuple[str, ...]
    mean: FloatArray
    sd: FloatArray
    mcse: FloatArray
    rhat: FloatArray
    ess_bulk: FloatArray
    ess_tail: FloatArray

    def agree(self) -> bool:
        """Whether chains need not go on; a single one has nothing to be compared with."""
        return bool(np.all((self.rhat <= AGREED) | np.isnan(self.rhat)))

    def problems(self) -> list[str]:
        """Return the problems of the draws as sentences, if any."""
        result = []
        for j, name in enumerate(self.name):
            if np.isnan(self.rhat[j]):
                result.append(f"one chain of {name} cannot be compared with others; run more")
            elif self.rhat[j] > RHAT_LIMIT:
                result.append(
                    f"chains disagree about {name} (R-hat {self.rhat[j]:.2f}, where 1 is "
                    f"agreement and {RHAT_LIMIT} the limit)"
                )
            elif min(self.ess_bulk[j], self.ess_tail[j]) < ESS_LIMIT:
                worth = min(self.ess_bulk[j], self.ess_tail[j])
                result.append(
                    f"the effective sample size of {name} is only {worth:.0f}, and "
                    f"{ESS_LIMIT:.0f} is needed"
                )
        return result

    def to_dict(self) -> dict[str, list[Any]]:
        """Return plain columns, for a frame or JSON."""
        columns = ("mean", "sd", "mcse", "rhat", "ess_bulk", "ess_tail")
        return {"name": list(self.name), **{c: getattr(self, c).tolist() for c in columns}}

    def __str__(self) -> str:
        """Return an aligned table."""
        width = max([len("quantity"), *(len(name) for name in self.name)])
        lines = [f"{'quantity':<{width}}      mean        sd      mcse  R-hat  ESS bulk  ESS tail"]
        for j, name in enumerate(self.name):
            lines.append(
                f"{name:<{width}}  {self.mean[j]:8.3g}  {self.sd[j]:8.3g}  {self.mcse[j]:8.2g}  "
                f"{self.rhat[j]:5.2f}  {self.ess_bulk[j]:8.0f}  {self.ess_tail[j]:8.0f}"
            )
        return "\n".join(lines)


_SAME_OF_SPREAD, _SAME_OF_SIZE = 1e-9, 1e-12
"""Draws that differ by less, relative to the range of all draws or to the largest of them, are the
same: sums of a million terms are wrong by less than the second."""


def diagnose(values: Mapping[str, FloatArray]) -> Diagnostics:
    """Judge draws of shape (n_chains, n_draws).

    A quantity that never moved has R-hat 1 where all chains agree on it, and infinity where they
    do not.
    """
    from arviz_stats.base import array_stats

    rows = []
    for raw in values.values():
        mean, sd = float(raw.mean()), float(raw.std(ddof=1)) if raw.size > 1 else 0.0
        draws = _without_rounding(raw)
        if draws.shape[1] < 4:
            rows.append((mean, sd, np.inf, np.inf, 0.0, 0.0))
        elif np.all(np.ptp(draws, axis=1) == 0):
            agree = np.ptp(draws) == 0
            worth = float(draws.size) if agree else 0.0
            rows.append(
                (mean, sd, 0.0 if agree else np.inf, 1.0 if agree else np.inf, worth, worth)
            )
        else:
            rows.append(
                (
                    mean,
                    sd,
                    float(array_stats.mcse(draws)),
                    _rhat(draws),
                    float(array_stats.ess(draws, method="bulk")),
                    float(array_stats.ess(draws, method="tail", prob=TAILS)),
                )
            )
    names = ("mean", "sd", "mcse", "rhat", "ess_bulk", "ess_tail")
    columns = np.array(rows, dtype=float).reshape(-1, len(names)).T
    return Diagnostics(name=tuple(values), **dict(zip(names, columns, strict=True)))


def _without_rounding(draws: FloatArray) -> FloatArray:
    """Return draws in which values that differ by rounding alone are the same value.

    R-hat and the effective sample size compare ranks. Chains that reach one value by sums in
    another order differ in its last digits, and ranks would take that for a difference of chains.
    Values are joined, not rounded to a grid, because a value near a step of the grid would fall on
    both sides of it.
    """
    if draws.size == 0 or not np.all(np.isfinite(draws)):
        return draws
    ordered = np.unique(draws)
    step = max(
        _SAME_OF_SPREAD * float(np.ptp(ordered)), _SAME_OF_SIZE * float(np.abs(ordered).max())
    )
    first = ordered[np.diff(ordered, prepend=-np.inf) > step]
    return np.asarray(first[np.searchsorted(first, draws, side="right") - 1])


def _rhat(draws: FloatArray) -> float:
    """Return the rank-normalised R-hat.

    Distances from the median are all the same where a quantity has two values, each in half of the
    draws; then they tell nothing, and the draws themselves decide.
    """
    from arviz_stats.base import array_stats

    with np.errstate(divide="ignore", invalid="ignore"):
        return float(array_stats.rhat(draws))


def draws_from_plain(fields: Mapping[str, Field], entries: Entries, known: Known) -> Draws:
    """Return draws in a file, each by its field, of shape ("n_chains", "n_draws", ...)."""
    first, *others = fields
    values = values_from_plain({first: fields[first]}, entries, known)
    entries.check(min(values[first].shape[:2]) >= 1, first, "holds no draws")
    values |= values_from_plain({name: fields[name] for name in others}, entries, known)
    return Draws(values, known["n_chains"])
