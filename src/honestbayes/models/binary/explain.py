"""What the kept features say: their table, their contributions to a case, the path over k."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, log_expit, logsumexp

from honestbayes.likelihood.counts import CountLikelihood
from honestbayes.models.binary.common_alpha import CommonAlphaFit
from honestbayes.models.binary.fit import BernoulliFit
from honestbayes.models.binary.learned import LearnedFit
from honestbayes.models.binary.part import BernoulliPart
from honestbayes.models.shared.explanation import KeptTable, by_design
from honestbayes.sources import Binarization
from honestbayes.sources.kinds import Kind
from honestbayes.tabular import Tabular
from honestbayes.types import AnyArray, BoolArray, FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureTable(KeptTable):
    """The kept features, strongest first, then those kept by design.

    Attributes
    ----------
    correlation : ndarray of shape (k,)
        Training correlation with the class.
    probability : ndarray of shape (2, k)
        P(x = 1) in each class.
    sd : ndarray of shape (2, k)
        Posterior standard deviation of that probability.
    evidence_if_one, evidence_if_zero : ndarray of shape (k,)
        Weight of evidence: what a one, or a zero, adds to the log-odds of class 1.
    by_design : ndarray of bool of shape (k,)
        Whether the feature was kept by design.
    """

    correlation: FloatArray
    probability: FloatArray
    sd: FloatArray
    evidence_if_one: FloatArray
    evidence_if_zero: FloatArray
    by_design: BoolArray
    _cuts: Binarization = field(repr=False)
    """How values become 0/1."""

    kind: ClassVar[Kind] = "binary"

    def _columns(self) -> dict[str, Iterable[Any]]:
        """Return what is known of the features: of two classes the second is the positive one."""
        arrays = {
            "by_design": self.by_design,
            "correlation": self.correlation,
            "p_negative": self.probability[0],
            "p_positive": self.probability[1],
            "sd_negative": self.sd[0],
            "sd_positive": self.sd[1],
            "evidence_if_one": self.evidence_if_one,
            "evidence_if_zero": self.evidence_if_zero,
            "cut": self._cuts.cut,
            "high": self._cuts.high,
        }
        return {name: values.tolist() for name, values in arrays.items()}

    def to_dict(self) -> dict[str, list[Any]]:
        """Return plain columns, for a frame or JSON."""
        return {
            "name": list(self.name),
            "correlation": self.correlation.tolist(),
            "p_class_0": self.probability[0].tolist(),
            "sd_class_0": self.sd[0].tolist(),
            "p_class_1": self.probability[1].tolist(),
            "sd_class_1": self.sd[1].tolist(),
            "evidence_if_one": self.evidence_if_one.tolist(),
            "evidence_if_zero": self.evidence_if_zero.tolist(),
            "by_design": self.by_design.tolist(),
        }

    def __str__(self) -> str:
        """Return an aligned table."""
        width = max([len("feature"), *(len(name) for name in self.name)])
        head = ("r", f"P(1|{self.classes[0]})", f"P(1|{self.classes[1]})", "if 1", "if 0")
        widths = (6, 14, 14, 6, 6)
        cells = "  ".join(f"{text:>{size}}" for text, size in zip(head, widths, strict=True))
        lines = [f"{'feature':<{width}}  {cells}"]
        for j, name in enumerate(self.name):
            p, sd = self.probability[:, j], self.sd[:, j]
            lines.append(
                f"{name:<{width}}  {self.correlation[j]:+6.3f}  {p[0]:.3f} +- {sd[0]:.3f}  "
                f"{p[1]:.3f} +- {sd[1]:.3f}  {self.evidence_if_one[j]:+6.2f}  "
                f"{self.evidence_if_zero[j]:+6.2f}" + ("  by design" if self.by_design[j] else "")
            )
        return "\n".join(lines)


def feature_table(
    part: BernoulliPart, names: tuple[str, ...], classes: tuple[str, ...], slope: float
) -> FeatureTable:
    """Summarise each kept feature."""
    fit = part.fit
    mean = np.concatenate([_predictive(block, ones=True) for block in fit.blocks], axis=1)
    complement = np.concatenate([_predictive(block, ones=False) for block in fit.blocks], axis=1)
    sd = np.concatenate([_sd(block) for block in fit.blocks], axis=1)
    return FeatureTable(
        name=names,
        classes=classes,
        correlation=fit.correlation,
        probability=mean,
        sd=sd,
        evidence_if_one=slope * (np.log(mean[1]) - np.log(mean[0])),
        evidence_if_zero=slope * (np.log(complement[1]) - np.log(complement[0])),
        by_design=by_design(fit.selection),
        _cuts=fit.binarization,
    )


def _predictive(block: CommonAlphaFit | LearnedFit, *, ones: bool) -> FloatArray:
    """P(x = 1 | class), or of 0, as prediction has it, per class and kept feature."""
    table = block.table
    log_probability = table.log_one if ones else table.log_zero
    result: FloatArray = np.exp(logsumexp(table.log_weight[:, None] + log_probability, axis=1))
    return result


def _sd(block: CommonAlphaFit | LearnedFit) -> FloatArray:
    """Posterior standard deviation of phi per class and kept feature."""
    return np.asarray(np.sqrt(np.maximum(_moment(block, 2) - _moment(block, 1) ** 2, 0.0)))


def _moment(block: CommonAlphaFit | LearnedFit, order: int) -> FloatArray:
    """E[phi^order | data] per class and kept feature.

    It is the probability that the next ``order`` cases of the class hold a one: a ratio of
    marginal likelihoods, averaged over alpha, or over shapes of its distribution.
    """
    counts = block.block.counts
    if isinstance(block, LearnedFit):
        alpha, rule, interval = block.prior.alpha, block.prior.rule, (0.0, 1.0)
        weights = block.prior.alpha_weights
    else:
        alpha, rule, interval = block.posterior.alpha, None, block.interval
        weights = block.posterior.weights
    used = np.flatnonzero(weights > 0)
    before = CountLikelihood(counts, interval, rule)
    log_before = np.stack([before(float(a))[0] for a in alpha[used]])
    result = np.empty((2, counts.multiplicity.size))
    for label in (0, 1):
        more = np.zeros((2, 1), dtype=np.int64)
        more[label] = order
        after = CountLikelihood(
            replace(counts, ones=counts.ones + more, observed=counts.observed + more),
            interval,
            rule,
        )
        log_after = np.stack([after(float(a))[0] for a in alpha[used]])
        if isinstance(block, LearnedFit):
            # Given the shape, alpha is the feature's own: its posterior counts. The shape's
            # probability given all counts is known already, and is not multiplied by a feature's.
            by_shape = []
            for shape, log_probability in enumerate(block.table.log_weight):
                own = block.prior.shapes[shape, used] > 0
                log_weight = block.log_atom_weight_given(shape, used[own])
                log_moment = logsumexp(log_weight + log_after[own], axis=0)
                log_moment -= logsumexp(log_weight + log_before[own], axis=0)
                by_shape.append(log_probability + log_moment)
            result[label] = np.exp(logsumexp(by_shape, axis=0))
        else:
            log_weight = block.table.log_weight[:, None][used]
            result[label] = np.exp(logsumexp(log_weight + log_after - log_before, axis=0))
    return result[:, block.block.kept]


def contributions(fit: BernoulliFit, ones: AnyArray, missing: BoolArray | None) -> FloatArray:
    """Evidence that each feature adds after those before it, shape (n, k)."""
    parts = []
    for block, columns in zip(fit.blocks, fit.column_slices(), strict=True):
        absent = None if missing is None else missing[:, columns]
        parts.append(np.diff(block.table.cumulative_log_odds(ones[:, columns], absent), axis=1))
    return np.concatenate(parts, axis=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeaturePath(Tabular):
    """Performance on given cases for each number of features.

    Attributes
    ----------
    n_features : ndarray of shape (k,)
        1, 2, ..., k: the strongest features of the race (those kept by design always count).
    expected_error, actual_error : ndarray of shape (k,)
        What the probabilities claim, and what happened.
    log_score, expected_log_score : ndarray of shape (k,)
        Average minus log probability of the actual class, and what the probabilities claim.
    """

    n_features: AnyArray
    expected_error: FloatArray
    actual_error: FloatArray
    log_score: FloatArray
    expected_log_score: FloatArray

    def to_dict(self) -> dict[str, list[Any]]:
        """Return plain columns."""
        return {field.name: getattr(self, field.name).tolist() for field in fields(self)}


def feature_path(
    fit: BernoulliFit,
    ones: AnyArray,
    missing: BoolArray | None,
    is_class_1: BoolArray,
    log_prior_odds: float | None = None,
) -> FeaturePath:
    """Cumulate log-odds along the ranking, so that one pass gives every number of features."""
    k = len(fit.selection.kept)
    race, *rest = zip(fit.blocks, fit.column_slices(), strict=True)
    prior = fit.log_prior_odds if log_prior_odds is None else log_prior_odds
    start = np.full(ones.shape[0], prior)
    for block, columns in rest:
        absent = None if missing is None else missing[:, columns]
        log_likelihood = block.table.log_likelihood(ones[:, columns], absent)
        start += log_likelihood[:, 1] - log_likelihood[:, 0]
    absent = None if missing is None else missing[:, race[1]]
    evidence = race[0].table.cumulative_log_odds(ones[:, race[1]], absent)[:, 1:]
    log_odds = start[:, None] + evidence
    p, q = expit(log_odds), expit(-log_odds)
    sign = np.where(is_class_1, 1.0, -1.0)[:, None]
    return FeaturePath(
        n_features=np.arange(1, k + 1),
        expected_error=np.minimum(p, q).mean(axis=0),
        actual_error=np.mean((log_odds >= 0) != is_class_1[:, None], axis=0),
        log_score=-log_expit(sign * log_odds).mean(axis=0),
        expected_log_score=-(p * log_expit(log_odds) + q * log_expit(-log_odds)).mean(axis=0),
    )
