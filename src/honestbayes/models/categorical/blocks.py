"""Fitted categorical features: their predictive probabilities, and how they stand in files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy.special import logsumexp

from honestbayes.files.entries import Entries, Plain, joined
from honestbayes.files.fields import CLOSE, Counts, Known, LogProbabilities, LogWeights
from honestbayes.files.records import GIVEN, Check, MaybeSection, Section, record_to_plain
from honestbayes.likelihood.learned_categories import LearnedCategories
from honestbayes.models.shared.alpha_posterior import AlphaPosterior
from honestbayes.selection import Selection
from honestbayes.types import AnyArray, FloatArray, IntArray

_CHUNK_CELLS = 1 << 20
_SUMS_TO_1 = 1e-6
"""How far sums of many stored probabilities may be from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoricalBlock:
    """Fitted features that share a distribution of alpha.

    Attributes
    ----------
    posterior : AlphaPosterior
        Of the common alpha; with the learned prior, its distribution over features.
    tables : tuple of ndarray of shape (C, V)
        Counts of each feature.
    log_weight : ndarray of shape (T,)
        Log posterior weights of the nodes: values of the common alpha, or the shapes of its
        learned distribution.
    log_prob : tuple of ndarray of shape (T, C, V)
        Log P(level | class, node) of each feature.
    prior : LearnedCategories or None
        The learned distribution of features.
    """

    posterior: AlphaPosterior
    tables: tuple[IntArray, ...]
    log_weight: FloatArray
    log_prob: tuple[FloatArray, ...]
    prior: LearnedCategories | None

    def to_plain(self) -> Plain:
        """Return plain data: tables and probabilities of all features side by side."""
        arrays: dict[str, AnyArray] = {"log_weight": self.log_weight}
        if self.tables:
            arrays["counts"] = np.concatenate(self.tables, axis=1)
            arrays["log_prob"] = np.concatenate(self.log_prob, axis=2)
        prior = MaybeSection().write("prior", self.prior)
        return joined(({}, arrays), prior, posterior=record_to_plain(self.posterior))

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> CategoricalBlock:
        """Return the block that `to_plain` described, of features with ``known["widths"]``."""
        posterior = Section(kind=AlphaPosterior).read(entries, "posterior", {})
        prior = MaybeSection(kind=LearnedCategories).read(entries, "prior", {})
        learned = prior is not None
        entries.check(learned == (posterior.edges is not None), "prior", "is of another posterior")
        n_nodes = posterior.alpha.size
        if prior is not None:
            shape_weights = prior.learned.shape.shape_weights
            n_nodes = shape_weights.size
        log_weight = LogWeights(n_nodes).read(entries, "log_weight", {})
        if prior is not None:
            same = np.allclose(np.exp(log_weight), shape_weights, rtol=0, atol=CLOSE)
            entries.check(same, "log_weight", "differs from the weights of the shapes")
        tables, log_prob = [], []
        widths, class_counts = known["widths"], known["selection"].class_counts
        if widths.size:
            shape = (len(class_counts), int(widths.sum()))
            counts = Counts(*shape).read(entries, "counts", {})
            logs = LogProbabilities(n_nodes, *shape).read(entries, "log_prob", {})
            cuts = np.cumsum(widths)[:-1]
            tables = [np.ascontiguousarray(table) for table in np.split(counts, cuts, axis=1)]
            log_prob = [np.ascontiguousarray(part) for part in np.split(logs, cuts, axis=2)]
        for table, part in zip(tables, log_prob, strict=True):
            fits = np.all(table.sum(axis=1) <= np.array(class_counts))
            entries.check(fits, "counts", "are more than the cases")
            even = np.all(np.abs(np.exp(part).sum(axis=2) - 1) <= _SUMS_TO_1)
            entries.check(even, "log_prob", "is no probability")
        return cls(
            posterior=posterior,
            tables=tuple(tables),
            log_weight=log_weight,
            log_prob=tuple(log_prob),
            prior=prior,
        )


def _of_race(known: Known) -> Known:
    """Return the numbers of levels of the features that won the race."""
    return {"widths": known["n_levels"][: len(known["selection"].kept)]}


def _by_design(known: Known) -> Known:
    """Return the numbers of levels of the features kept by design."""
    return {"widths": known["n_levels"][len(known["selection"].kept) :]}


@dataclass(frozen=True, slots=True)
class CategoricalFit:
    """A fitted model: the race's block and the block of features kept by design.

    Attributes
    ----------
    selection : Selection
        What was kept and discarded.
    race : CategoricalBlock
        The winners.
    by_design : CategoricalBlock or None
        Features kept by design.
    """

    selection: Annotated[Selection, GIVEN]
    race: Annotated[
        CategoricalBlock,
        Section(kind=CategoricalBlock, sizes=_of_race),
    ]
    by_design: Annotated[
        CategoricalBlock | None,
        MaybeSection(kind=CategoricalBlock, sizes=_by_design),
    ]

    def check(self, check: Check) -> None:
        """Refuse blocks that do not fit the selection."""
        always = self.by_design
        check(always is None or always.prior is None, "by_design", "has a learned prior")
        fits = (always is None) == (not self.selection.always_kept)
        check(fits, "by_design", "does not fit the selection")

    @property
    def blocks(self) -> list[CategoricalBlock]:
        """The fitted blocks, in the order of ``selection.columns``."""
        return [self.race] if self.by_design is None else [self.race, self.by_design]

    def log_likelihood(self, codes: AnyArray) -> FloatArray:
        """Return log P(x | class), shape (n, C), of the kept columns' codes; -1: missing."""
        n, k = codes.shape
        n_classes = len(self.selection.class_counts)
        result = np.zeros((n, n_classes))
        nodes = max(block.log_weight.size for block in self.blocks)
        step = max(1, _CHUNK_CELLS // max(1, k + nodes * n_classes))
        for begin in range(0, n, step):
            part = slice(begin, begin + step)
            first = 0
            for block in self.blocks:
                if block.tables:
                    columns = slice(first, first + len(block.tables))
                    terms = node_log_likelihood(block.log_prob, codes[part, columns])
                    terms += block.log_weight[:, None, None]
                    result[part] += logsumexp(terms, axis=0).T
                first += len(block.tables)
        return result


def node_log_likelihood(log_prob: tuple[FloatArray, ...], codes: AnyArray) -> FloatArray:
    """Return log P(x | class, node), shape (T, C, n), of codes of shape (n, k); -1: missing."""
    widths = [part.shape[2] for part in log_prob]
    start = np.concatenate([[0], np.cumsum(widths)])
    one_hot = np.zeros((codes.shape[0], int(start[-1])))
    rows, features = np.nonzero(codes >= 0)
    one_hot[rows, start[features] + codes[rows, features]] = 1.0
    return np.asarray(np.tensordot(np.concatenate(log_prob, axis=2), one_hot, axes=(2, 1)))
