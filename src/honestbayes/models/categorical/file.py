"""Fitted categorical features as plain data, and back; what cannot be a fit is refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from honestbayes.files.entries import Entries, Plain, joined, texts_as_arrays
from honestbayes.likelihood.learned_alpha import LearntAlpha, LearntDistribution
from honestbayes.likelihood.learned_categories import LearnedCategories
from honestbayes.models.binary.block_file import (
    increasing_alpha,
    posterior_from_plain,
    posterior_to_plain,
    prior_from_plain,
    prior_to_plain,
)
from honestbayes.models.categorical.fit import CategoricalBlock, CategoricalFit
from honestbayes.selection import Selection
from honestbayes.sources.levels import Levels
from honestbayes.types import AnyArray, IntArray

_LOWEST_LOG = -1e6
_CLOSE = 1e-9


def fit_to_plain(fit: CategoricalFit, levels: Levels) -> Plain:
    """Return the fitted model and its levels, without its selection."""
    sections = {"levels": _levels_to_plain(levels), "race": _block_to_plain(fit.race)}
    if fit.by_design is not None:
        sections["by_design"] = _block_to_plain(fit.by_design)
    return joined(({"has_by_design": fit.by_design is not None}, {}), **sections)


def fit_from_plain(entries: Entries, selection: Selection) -> tuple[CategoricalFit, Levels]:
    """Return the fitted model and the levels that `fit_to_plain` described."""
    k, by_design = len(selection.kept), len(selection.always_kept)
    levels = _levels_from_plain(entries.section("levels"), k + by_design)
    widths = levels.n_levels
    race = _block_from_plain(entries.section("race"), selection, widths[:k])
    always = None
    if entries.flag("has_by_design"):
        always = _block_from_plain(entries.section("by_design"), selection, widths[k:])
        entries.check(always.prior is None, "by_design", "has a learned prior")
    entries.check((always is None) == (by_design == 0), "by_design", "does not fit the selection")
    return CategoricalFit(selection, race, always), levels


# ----------------------------------------------------------------------------------- levels


def _levels_to_plain(levels: Levels) -> Plain:
    """Write levels column after column: numbers, or texts; one that was never seen has neither."""
    values = [value for column in levels.values for value in column.tolist()]
    text = [column.dtype.kind == "O" for column in levels.values]
    arrays: dict[str, AnyArray] = {
        "n_levels": levels.n_levels,
        "text": np.array(text, dtype=bool),
        "seen": np.array([value is not None and value == value for value in values], dtype=bool),
        "number": np.array([np.nan if _no_number(value) else value for value in values]),
    }
    texts = [value if isinstance(value, str) else "" for value in values]
    return {}, arrays | texts_as_arrays("word", texts)


def _no_number(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _levels_from_plain(entries: Entries, n_columns: int) -> Levels:
    n_levels = entries.counts("n_levels", (n_columns,))
    entries.check(np.all(n_levels >= 2), "n_levels", "is less than two")
    total = sum(n_levels.tolist())
    entries.check(total <= 10**9, "n_levels", "is too large")
    text = entries.mask("text", (n_columns,))
    seen = entries.mask("seen", (total,))
    number = entries.floats("number", (total,))
    words = entries.texts("word")
    entries.check(len(words) == total, "word", "does not name every level")
    entries.finish()
    values = []
    for column, stop in enumerate(np.cumsum(n_levels).tolist()):
        part = range(stop - int(n_levels[column]), stop)
        if text[column]:
            known: list[Any] = [words[i] if seen[i] else None for i in part]
            values.append(np.array(known, dtype=object))
            present = [word for word in known if word is not None]
        else:
            numbers = np.where(seen[part.start : part.stop], number[part.start : part.stop], np.nan)
            values.append(numbers)
            present = numbers[seen[part.start : part.stop]].tolist()
            entries.check(np.all(np.isfinite(present)), "number", "is not finite")
        entries.check(len(set(present)) == len(present), "word", "or number names a level twice")
    return Levels(tuple(values))


# ----------------------------------------------------------------------------------- blocks


def _block_to_plain(block: CategoricalBlock) -> Plain:
    arrays: dict[str, AnyArray] = {"log_weight": block.log_weight}
    if block.tables:
        arrays["counts"] = np.concatenate(block.tables, axis=1)
        arrays["log_prob"] = np.concatenate(block.log_prob, axis=2)
    sections = {"posterior": posterior_to_plain(block.posterior)}
    if block.prior is not None:
        sections["prior"] = _prior_to_plain(block.prior)
    return joined(({"has_prior": block.prior is not None}, arrays), **sections)


def _block_from_plain(entries: Entries, selection: Selection, widths: IntArray) -> CategoricalBlock:
    learned = entries.flag("has_prior")
    posterior = posterior_from_plain(entries.section("posterior"), learned=learned)
    prior = _prior_from_plain(entries.section("prior")) if learned else None
    n_nodes = 1 if learned else posterior.alpha.size
    log_weight = entries.logs("log_weight", (n_nodes,))
    entries.check(
        abs(float(np.exp(np.minimum(log_weight, 1.0)).sum()) - 1) <= _CLOSE,
        "log_weight",
        "holds weights that do not sum to 1",
    )
    tables, log_prob = [], []
    if widths.size:
        n_classes, total = len(selection.class_counts), int(widths.sum())
        counts = entries.counts("counts", (n_classes, total))
        logs = entries.finite("log_prob", (n_nodes, n_classes, total), _LOWEST_LOG, _CLOSE)
        cuts = np.cumsum(widths)[:-1]
        tables = [np.ascontiguousarray(table) for table in np.split(counts, cuts, axis=1)]
        log_prob = [np.ascontiguousarray(part) for part in np.split(logs, cuts, axis=2)]
        for table, part in zip(tables, log_prob, strict=True):
            most = np.array(selection.class_counts)
            entries.check(np.all(table.sum(axis=1) <= most), "counts", "are more than the cases")
            sums = np.exp(part).sum(axis=2)
            entries.check(np.all(np.abs(sums - 1) <= 1e-6), "log_prob", "is no probability")
    entries.finish()
    return CategoricalBlock(posterior, tuple(tables), log_weight, tuple(log_prob), prior)


def _prior_to_plain(prior: LearnedCategories) -> Plain:
    shape = prior.learnt.shape
    content = {
        "base": float(prior.base),
        "free": float(shape.free),
        "converged": bool(shape.converged),
        "has_binary": prior.binary is not None,
    }
    arrays: dict[str, AnyArray] = {
        "alpha": prior.learnt.alpha,
        "log_likelihood": prior.learnt.log_likelihood,
        "weights": shape.weights,
        "family": shape.family,
        "path": shape.path,
    }
    sections = {} if prior.binary is None else {"binary": prior_to_plain(prior.binary)}
    return joined((content, arrays), **sections)


def _prior_from_plain(entries: Entries) -> LearnedCategories:
    alpha = increasing_alpha(entries, strictly=True)
    entries.check(alpha.size >= 2, "alpha", "has fewer than two atoms")
    shape = LearntDistribution(
        entries.weights("weights", (alpha.size,)),
        entries.weights("family", (alpha.size,)),
        entries.number("free", 0.0, 1.0),
        entries.finite("path", (None,)),
        entries.flag("converged"),
    )
    learnt = LearntAlpha(alpha, entries.logs("log_likelihood", (alpha.size,)), shape)
    binary = prior_from_plain(entries.section("binary")) if entries.flag("has_binary") else None
    base = entries.number("base", 1e-3, 1e3)
    entries.finish()
    return LearnedCategories(learnt, base, binary)
