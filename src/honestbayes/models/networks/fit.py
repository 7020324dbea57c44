"""Drawn graphs and training cases: predictions, and files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from honestbayes.files.entries import Entries, Plain
from honestbayes.files.fields import (
    LARGEST_SEED,
    Array,
    Counts,
    Flag,
    Floats,
    Known,
    Number,
    Packed,
    Texts,
    Weights,
    Whole,
)
from honestbayes.models.networks.chains import NUMBERS
from honestbayes.models.networks.graphs import BYTES, are_valid, as_bytes, from_bytes
from honestbayes.models.networks.priors import most_arcs
from honestbayes.models.networks.problem import MOST_FEATURES
from honestbayes.sampling.draws import Diagnostics, Draws, draws_from_plain
from honestbayes.types import AnyArray, FloatArray, IntArray

MOST_AVERAGED = 1000
"""Draws over which predictions are averaged, evenly spread over all."""

_JUDGED = ("mean", "sd", "mcse", "rhat", "ess_bulk", "ess_tail")
_CELLS = 1 << 21
"""Probabilities that are held at a time."""


@dataclass(frozen=True, eq=False, kw_only=True)
class NetworkFit:
    """Graphs that were drawn, and the cases that their tables are counted from.

    Attributes
    ----------
    cells : ndarray of int32 of shape (k + 1, n)
        Training cases: codes of each feature, and in the last row the class.
    n_levels : ndarray of int of shape (k + 1,)
        Levels of each feature, and classes.
    graphs : ndarray of int of shape (S, k + 1)
        Different graphs, as parents of each node.
    weight : ndarray of shape (S,)
        Their shares of the draws.
    max_parents : int
        The most parents of a node.
    general : bool
        Whether the space of graphs is that of all without cycles.
    size : float or None
        Equivalent sample size of BDeu; None for K2.
    inclusion, inclusion_error : ndarray of shape (k,)
        Share of all draws with each feature in the class's Markov blanket, and its error.
    edges : ndarray of shape (k + 1, k + 1)
        Share of all draws with each arc, from and to.
    diagnostics : Diagnostics
        Of the chains.
    draws : Draws
        Number of arcs, features in the blanket and log score of all draws.
    seed : int
        Of what intervals draw.
    interrupted : bool
        Whether the user stopped the chains before their end.
    """

    cells: AnyArray
    n_levels: IntArray
    graphs: IntArray
    weight: FloatArray
    max_parents: int
    general: bool
    size: float | None
    inclusion: FloatArray
    inclusion_error: FloatArray
    edges: FloatArray
    diagnostics: Diagnostics
    draws: Draws
    seed: int
    interrupted: bool = False

    # --------------------------------------------------------------- prediction

    @cached_property
    def _tables(self) -> Any:
        """Graphs with their tables."""
        from honestbayes.models.networks.tables import Graphs, make_families

        k = self.graphs.shape[1] - 1
        nodes = np.broadcast_to(np.arange(k + 1), self.graphs.shape)
        pairs = np.stack([nodes.ravel(), self.graphs.ravel()], axis=1)
        single = np.stack([np.arange(k), np.zeros(k, dtype=np.int64)], axis=1)
        found, which = np.unique(np.concatenate([single, pairs]), axis=0, return_inverse=True)
        which = which.ravel().astype(np.int64)
        families = make_families(self.cells, self.n_levels, found[:, 0], found[:, 1], self.size)
        table_of = which[k:].reshape(self.graphs.shape)
        return Graphs(self.graphs, table_of, which[:k].copy(), self.n_levels, families)

    def log_proba(self, cells: AnyArray) -> FloatArray:
        """Return log P(class | x), averaged over graphs, shape (n, C).

        Parameters
        ----------
        cells : ndarray of int of shape (n, k)
            Codes; -1 for missing cells.
        """
        from honestbayes.models.networks.average import add_averages

        result = np.zeros((cells.shape[0], int(self.n_levels[-1])))
        rows = np.ascontiguousarray(cells, dtype=np.int64)
        add_averages(self._tables, self.weight, rows, result)
        return np.asarray(np.log(result / result.sum(axis=1, keepdims=True)))

    def probabilities(self, cells: AnyArray, n_draws: int) -> Iterator[tuple[slice, FloatArray]]:
        """Yield drawn class probabilities of some rows at a time, shape (rows, draws, C).

        Draws are of graphs, evenly spread by their shares, and of the parameters of their tables.
        """
        from honestbayes.models.networks.average import draw_probabilities

        shares = (np.arange(n_draws) + 0.5) / n_draws
        chosen = np.minimum(np.searchsorted(np.cumsum(self.weight), shares), len(self.graphs) - 1)
        n_classes = int(self.n_levels[-1])
        rows = np.ascontiguousarray(cells, dtype=np.int64)
        step = max(1, _CELLS // (n_draws * n_classes))
        for first in range(0, rows.shape[0], step):
            some = slice(first, first + step)
            out = np.zeros((len(rows[some]), n_draws, n_classes))
            draw_probabilities(self._tables, chosen, rows[some], self.seed, out)
            yield some, out

    # --------------------------------------------------------------------- files

    def to_plain(self) -> Plain:
        """Return cases, graphs and what is known of the chains as plain data."""
        content = {
            "max_parents": int(min(self.max_parents, MOST_FEATURES + 1)),
            "general": self.general,
            "is_bdeu": self.size is not None,
            "size": 1.0 if self.size is None else float(self.size),
            "seed": int(self.seed),
        }
        arrays = {
            "cells": self.cells.astype(np.int64),
            "graphs": as_bytes(self.graphs),
            "weight": self.weight,
            "inclusion": self.inclusion,
            "inclusion_error": self.inclusion_error,
            "edges": self.edges,
            **{name: getattr(self.diagnostics, name) for name in _JUDGED},
            **{f"drawn_{name}": self.draws[name] for name in NUMBERS},
        }
        names, texts = Texts().write("judged", self.diagnostics.name)
        return content | names, arrays | texts

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> NetworkFit:
        """Return the fit that `to_plain` described, given ``n_levels`` of features and classes.

        Everything that reaches compiled code is checked: levels, and that graphs are of the space.
        """
        n_levels: IntArray = known["n_levels"]
        k = n_levels.size - 1
        entries.check(k <= MOST_FEATURES, "cells", "has too many columns")
        most = Whole(1, MOST_FEATURES + 1).read(entries, "max_parents", {})
        general = Flag().read(entries, "general", {})
        is_bdeu = Flag().read(entries, "is_bdeu", {})
        size = Number(1e-6, 1e9).read(entries, "size", {})
        seed = Whole(0, LARGEST_SEED).read(entries, "seed", {})
        cells = Counts(k + 1, "n_cases", high=2**31 - 1).read(entries, "cells", {})
        good = cells.shape[1] >= 1 and bool(np.all(cells < n_levels[:, None]))
        entries.check(good, "cells", "holds a level that is not there")
        counts = np.bincount(cells[k], minlength=int(n_levels[k]))
        good = tuple(counts.tolist()) == known["class_counts"]
        entries.check(good, "cells", "are of other numbers of classes")
        graphs = from_bytes(Packed("n_graphs", BYTES * (k + 1)).read(entries, "graphs", {}))
        entries.check(0 < len(graphs) <= MOST_AVERAGED, "graphs", "are none, or too many")
        good = are_valid(graphs, most, general=general)
        entries.check(good, "graphs", "holds a graph that is not of the space")
        largest = (n_levels * 1.0 + 1.0) * np.prod(_sizes_of_parents(graphs, n_levels), axis=-1)
        entries.check(np.all(largest < 2.0**62), "graphs", "holds too large a table")
        weight = Weights(len(graphs)).read(entries, "weight", {})
        inclusion = Floats(k, low=0.0, high=1.0).read(entries, "inclusion", {})
        error = Array(k).read(entries, "inclusion_error", {})
        edges = Floats(k + 1, k + 1, low=0.0, high=1.0).read(entries, "edges", {})
        names = Texts().read(entries, "judged", {}) or ()
        judged = {name: Array(len(names)).read(entries, name, {}) for name in _JUDGED}
        shape = ("n_chains", "n_draws")
        fields = {
            "drawn_arcs": Counts(*shape, high=most_arcs(k)),
            "drawn_size": Counts(*shape, high=k),
            "drawn_score": Floats(*shape, low=-1e100, high=1e-6),
        }
        draws = draws_from_plain(fields, entries, {})
        return cls(
            cells=cells.astype(np.int32),
            n_levels=n_levels,
            graphs=graphs,
            weight=weight,
            max_parents=most,
            general=general,
            size=size if is_bdeu else None,
            inclusion=inclusion,
            inclusion_error=error,
            edges=edges,
            diagnostics=Diagnostics(name=names, **judged),
            draws=Draws({name: draws[f"drawn_{name}"] for name in NUMBERS}, draws.n_chains),
            seed=seed,
        )


def _sizes_of_parents(graphs: IntArray, n_levels: IntArray) -> FloatArray:
    """Return levels of each possible parent, 1 where it is none, shape (S, k + 1, k + 1)."""
    bits = (graphs[:, :, None] >> np.arange(n_levels.size)) & 1
    return np.asarray(np.where(bits == 1, n_levels.astype(float), 1.0))
