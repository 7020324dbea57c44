"""Groups of patterns and draws of their coefficients: predictions, and files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from scipy.special import expit, softmax

from honestbayes.files.entries import Entries, Plain
from honestbayes.files.fields import MOST_CASES, Counts, Field, Flag, Floats, Known, Number, Whole
from honestbayes.models.interactions.donors import completions, learn_mismatch
from honestbayes.models.interactions.patterns import (
    Groups,
    SinglePatterns,
    SuffixGroups,
    TableGroups,
    TooManyPatternsError,
    different_rows,
    sorted_suffixes,
)
from honestbayes.sampling.draws import Draws, draws_from_plain
from honestbayes.types import AnyArray, FloatArray, IntArray

_CELLS = 1 << 21
"""Linear predictors that are held at a time."""

_CASES = 500
"""Cases with missing cells that are completed at a time."""

MANY_COMPLETIONS, FEW_DRAWS = 20, 100
"""Probabilities of a case with more completed rows are averaged over so many draws only: what the
draws differ by is small beside what completed rows do, which are many."""

LARGEST_IN_FILES = 1e15
"""Bound of log densities and coefficients in files."""

MOST_ORDER = 10_000

SHOWN = ("log_sigma_1", "log_sigma_2", "log_sigma_3")
"""Widths that chains are judged by."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class InteractionFit:
    """Groups of patterns, and draws of their coefficients.

    Attributes
    ----------
    rows : ndarray of int of shape (m, k)
        The different training rows, as codes.
    row_counts : ndarray of int of shape (m,)
        Training cases with each of these rows.
    mismatch : float
        The mismatch rate of the donors of missing cells, from `learn_mismatch`.
    order : int
        The most cells that a pattern fixes.
    suffixes, is_compressed : bool
        Whether patterns are suffixes of sequences, and share parameters.
    groups : Groups
        Of these rows.
    draws : Draws
        ``s`` of shape (chains, draws, K, G), ``log_sigma``, ``log_density``, and ``noise`` where
        there is a response.
    is_cauchy : bool
        Whether coefficients are Cauchy, else normal.
    seed : int
        Of what prediction draws.
    interrupted : bool
        Whether the user stopped the chains before their end.
    """

    rows: AnyArray
    row_counts: IntArray
    mismatch: float
    order: int
    suffixes: bool
    is_compressed: bool
    groups: Groups
    draws: Draws
    is_cauchy: bool
    seed: int
    interrupted: bool = False

    @property
    def n_groups(self) -> int:
        """Compressed parameters of each class."""
        return int(self.groups.counts.shape[0])

    @property
    def n_patterns(self) -> float:
        """Patterns of the training cases: the parameters without compression."""
        return float(self.groups.counts.sum())

    def used(self, values: AnyArray) -> AnyArray:
        """Return the columns that patterns are of: the last ones of sequences."""
        return values[:, values.shape[1] - self.order :] if self.suffixes else values

    def to_plain(self) -> Plain:
        """Return training rows and draws as plain data; groups are found again."""
        content = {
            "order": self.order,
            "suffixes": self.suffixes,
            "is_compressed": self.is_compressed,
            "is_cauchy": self.is_cauchy,
            "seed": self.seed,
            "mismatch": self.mismatch,
        }
        arrays = {
            "rows": self.rows.astype(np.int64),
            "row_counts": self.row_counts.astype(np.int64),
            **self.draws.values,
        }
        return content, arrays

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> InteractionFit:
        """Return the fit that `to_plain` described, given ``n_levels`` and ``n_predictors``.

        A fit without classes, of 0 predictors, has one of a response.
        """
        most = known["n_levels"]
        flags = ("suffixes", "is_compressed", "is_cauchy")
        said = {name: Flag().read(entries, name, known) for name in flags}
        order = Whole(0, MOST_ORDER).read(entries, "order", known)
        seed = Whole(0, 2**32 - 1).read(entries, "seed", known)
        good = not said["suffixes"] or order <= most.size
        entries.check(good, "order", "is more than there are states")
        width = order if said["suffixes"] else most.size
        rows = Counts("n_rows", width).read(entries, "rows", {})
        good = rows.shape[0] >= 1 and bool(np.all(rows < most[most.size - width :]))
        entries.check(good, "rows", "holds a level that is not there")
        try:
            _, groups, which = find_groups(
                rows, order, suffixes=said["suffixes"], compress=said["is_compressed"]
            )
        except (TooManyPatternsError, MemoryError) as error:
            entries.refuse("order", f"is too high: {error}")
        good = np.array_equal(which, np.arange(rows.shape[0]))
        entries.check(good, "rows", "are not different and in order")
        # Files of version 0.1.0 have no counts of rows, and no mismatch rate.
        counts = np.ones(rows.shape[0], dtype=np.int64)
        if entries.holds("row_counts"):
            counts = entries.counts("row_counts", (rows.shape[0],), MOST_CASES)
            entries.check(np.all(counts >= 1), "row_counts", "holds a row that no case has")
        if entries.has("mismatch"):
            mismatch = Number(1e-6, 1.0).read(entries, "mismatch", known)
        else:
            mismatch = learn_mismatch(rows, counts)
        fields = draw_fields(
            known["n_predictors"] or 1,
            *groups.counts.shape,
            has_noise=known["n_predictors"] == 0,
        )
        draws = draws_from_plain(fields, entries, {})
        return cls(
            rows=rows,
            row_counts=counts,
            mismatch=mismatch,
            order=order,
            groups=groups,
            draws=draws,
            seed=seed,
            **said,
        )

    def predictors(self, cells: AnyArray, draws: Draws) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield linear predictors of some rows at a time, shape (rows, draws, K).

        Each draw of a row with missing cells is one of a completed row, as many of each as its
        probability asks for.

        Parameters
        ----------
        cells : ndarray of int of shape (n, p)
            Codes; -1 is missing.
        draws : Draws
            Of this fit.
        """
        whole, different, members = self._without_holes(cells)
        for rows, value in self._complete_predictors(cells[whole], draws):
            yield whole[rows], value
        points = (np.random.default_rng(self.seed).permutation(draws.n_pooled) + 0.5) / max(
            draws.n_pooled, 1
        )
        for case, filled, share in self._completions(different):
            each = np.empty((len(filled), draws.n_pooled, draws.pooled("s").shape[1]))
            for rows, value in self._complete_predictors(filled, draws):
                each[rows] = value
            donor = np.searchsorted(np.cumsum(share), points).clip(max=len(filled) - 1)
            drawn = each[donor, np.arange(points.size)]
            yield members[case], np.repeat(drawn[None], members[case].size, axis=0)

    def _without_holes(self, cells: AnyArray) -> tuple[IntArray, AnyArray, list[IntArray]]:
        """Return which rows are complete; the different other ones, and which rows these are."""
        holes = np.any(cells < 0, axis=1)
        at = np.flatnonzero(holes)
        if not at.size:
            return np.arange(len(cells)), cells[:0], []
        different, which = different_rows(cells[at])
        members = [at[which == number] for number in range(len(different))]
        return np.flatnonzero(~holes), different, members

    def _completions(self, cells: AnyArray) -> Iterator[tuple[int, AnyArray, FloatArray]]:
        return completions(
            cells, self.rows, self.row_counts, self.mismatch, self._predicted_for_rows
        )

    def _predicted_for_rows(self) -> FloatArray:
        """Return a prediction for each training row, shape (m,): of the class that varies most.

        Of a response it is a number that grows with it.
        """
        draws = self.draws.spread(FEW_DRAWS)
        n_classes = max(2, draws.pooled("s").shape[1])
        result = np.empty((len(self.rows), n_classes))
        for rows, f in self._complete_predictors(self.rows, draws):
            result[rows] = _probabilities(f).mean(axis=1)
        return np.asarray(result[:, int(np.argmax(result.var(axis=0)))])

    def _complete_predictors(
        self, cells: AnyArray, draws: Draws
    ) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield linear predictors of complete rows, some at a time."""
        from honestbayes.models.interactions.splitting import linear_predictors

        s, log_sigma = draws.pooled("s"), draws.pooled("log_sigma")
        n_draws, n_classes, _ = s.shape
        rows, which = different_rows(cells)
        step = max(1, _CELLS // (n_draws * n_classes))
        order = np.argsort(which, kind="stable")
        bounds = np.searchsorted(which[order], np.arange(0, rows.shape[0] + step, step))
        for place, first in enumerate(range(0, rows.shape[0], step)):
            some = rows[first : first + step]
            found = self.groups.expressed(some)
            result = np.empty((some.shape[0], n_draws, n_classes))
            linear_predictors(
                s,
                log_sigma,
                self.groups.counts,
                found.start,
                found.group,
                found.counts,
                found.unseen,
                self.is_cauchy,
                np.uint64(self.seed),
                0,
                result,
            )
            own = order[bounds[place] : bounds[place + 1]]
            yield own, result[which[own] - first]

    def probabilities(self, cells: AnyArray, draws: Draws) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield class probabilities of some rows at a time, shape (rows, draws, C).

        Those of a row with missing cells are means over its completed rows, draw by draw.
        """
        whole, different, members = self._without_holes(cells)
        for rows, f in self._complete_predictors(cells[whole], draws):
            yield whole[rows], _probabilities(f)
        for case, filled, share in self._completions(different):
            mean: FloatArray | float = 0.0
            for rows, f in self._complete_predictors(filled, draws):
                mean = mean + np.tensordot(share[rows], _probabilities(f), 1)
            yield members[case], np.repeat(np.asarray(mean)[None], members[case].size, axis=0)

    def log_proba(self, cells: AnyArray, prior: FloatArray) -> FloatArray:
        """Return log P(class | x), averaged over draws, shape (n, C).

        Where classes can be told apart the draws are surer than so many of them can be: none of a
        thousand draws says that an event has probability 0. So one more draw is counted, which
        knows nothing but the frequencies of the classes.

        Parameters
        ----------
        cells : ndarray of int of shape (n, p)
            Codes.
        prior : ndarray of shape (C,)
            Frequencies of the classes.
        """
        n_draws = self.draws.n_pooled

        def complete(cells: AnyArray, draws: Draws) -> FloatArray:
            result = np.empty((cells.shape[0], prior.size))
            scale = n_draws / draws.n_pooled
            for rows, f in self._complete_predictors(cells, draws):
                result[rows] = (scale * _probabilities(f).sum(axis=1) + prior) / (n_draws + 1)
            return np.asarray(result / result.sum(axis=1, keepdims=True))

        result = np.empty((cells.shape[0], prior.size))
        whole, different, members = self._without_holes(cells)
        result[whole] = complete(cells[whole], self.draws)
        # Cases share completed rows, so these are predicted together, some cases at a time. Which
        # draws a case is given depends on itself alone, and so does its prediction.
        few = self.draws.spread(FEW_DRAWS)
        found = self._completions(different)
        while some := list(islice(found, _CASES)):
            for draws in (self.draws, few):
                own = [one for one in some if (len(one[1]) > MANY_COMPLETIONS) == (draws is few)]
                if not own:
                    continue
                filled, which = different_rows(np.concatenate([rows for _, rows, _ in own]))
                proba, first = complete(filled, draws)[which], 0
                for case, rows, share in own:
                    result[members[case]] = share @ proba[first : first + len(rows)]
                    first += len(rows)
        return np.asarray(np.log(result))


def _probabilities(f: FloatArray) -> FloatArray:
    """Return class probabilities, shape (rows, draws, C), of linear predictors."""
    if f.shape[2] == 1:
        second = expit(f[..., 0])
        return np.stack([1.0 - second, second], axis=2)
    return np.asarray(softmax(f, axis=2))


def find_groups(
    cells: AnyArray, order: int, *, suffixes: bool, compress: bool = True
) -> tuple[AnyArray, Groups, IntArray]:
    """Find different rows and their groups of patterns, and which of the rows each case is."""
    rows, which = (sorted_suffixes if suffixes else different_rows)(cells)
    groups = SuffixGroups.of(rows, order) if suffixes else TableGroups.of(rows, order)
    return rows, (groups if compress else SinglePatterns.of(groups)), which


def draw_fields(
    n_predictors: int,
    n_groups: int,
    n_orders: int,
    *,
    has_noise: bool,
) -> dict[str, Field]:
    """Return how draws stand in files."""
    shape = ("n_chains", "n_draws")
    fields: dict[str, Field] = {
        "s": Floats(*shape, n_predictors, n_groups, low=-LARGEST_IN_FILES, high=LARGEST_IN_FILES),
        "log_sigma": Floats(*shape, n_orders, low=-20.0, high=40.0),
        **{
            name: Floats(*shape, low=-LARGEST_IN_FILES, high=LARGEST_IN_FILES)
            for name in ("log_likelihood", *SHOWN[: n_orders - 1])
        },
    }
    if has_noise:
        fields["noise"] = Floats(*shape, low=1e-300, high=1e300)
    return fields
