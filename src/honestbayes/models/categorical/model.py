"""The model of `SelectiveCategoricalNB`: categorical features of two or more classes.

The binary model (`models.binary.model`) with Dirichlet distributions: the probabilities phi_c of a
feature's V categories in class c are Dirichlet(alpha theta), theta is Dirichlet, and a large alpha
makes a feature nearly alike in all classes. As there, one alpha is common to all features (the
uniform prior), or each feature has its own from a learned distribution. Features of two categories
in two classes are fitted by the binary model itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

from honestbayes.base.alpha_posterior import AlphaPosterior
from honestbayes.base.explanation import KeptTable, TableColumn, TableNames, by_design
from honestbayes.base.intervals import systematic
from honestbayes.base.parameters import (
    Correction,
    SelectionSettings,
    criterion_of,
    positive_pair,
    prior_and_correction,
    selection_rule,
    tolerance_of,
)
from honestbayes.base.part import (
    Describe,
    FittedPart,
    FoldMemo,
    TrainingLabels,
    TrainingPart,
    tie_breaker,
)
from honestbayes.correction.discard import group_probabilities
from honestbayes.correction.engine import SelectionProbability, selection_probability
from honestbayes.correction.event import HyperNodes, event_of
from honestbayes.correction.feature_models import CategoricalFeatures
from honestbayes.data import Source
from honestbayes.data.categories import Categories, CategoryTable, category_table, encode_columns
from honestbayes.data.kinds import number_text
from honestbayes.data.level_blocks import LevelTable, learn_levels
from honestbayes.data.source import ReadAhead, Remembered, RowsOf, is_beyond_memory
from honestbayes.files.fields import (
    CLOSE,
    GIVEN,
    Check,
    Counts,
    Entries,
    Known,
    LogProbabilities,
    LogWeights,
    MaybeSection,
    Plain,
    Section,
    joined,
    record_from_plain,
    record_to_plain,
)
from honestbayes.likelihood.dirichlet import TableLikelihood, draw_theta, log_marginal
from honestbayes.likelihood.learned_prior import (
    LearnedCategories,
    distinct_tables,
    is_binary,
    learn_categories,
)
from honestbayes.likelihood.quadrature import (
    AlphaPrior,
    LineRule,
    Nodes,
    ThetaRule,
    finite_alpha,
    integrate_log_alpha,
    theta_rule,
)
from honestbayes.models.binary.model import (
    as_posterior,
    draw_alpha_theta,
    feature_block,
    fit_learned,
    scan_range,
)
from honestbayes.selection import Selection
from honestbayes.selection.categories import (
    CategoryCounts,
    LevelsByFold,
    count_categories,
    count_source_categories,
    counts_of_cells,
)
from honestbayes.selection.correlation import (
    RankingOutcome,
    equivalent_r_squared,
    rank_by_criterion,
    rank_features,
    strength_of,
)
from honestbayes.selection.criteria import Criterion
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

# --------------------------------------------------------------------------------------------------
# Settings
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoricalSettings(SelectionSettings):
    """Validated parameters; without a criterion features are ranked by association."""

    feature_prior: Literal["learned", "uniform"]
    correction: Correction
    alpha_prior: AlphaPrior
    tolerance: float
    criterion: Criterion | None = None


def categorical_settings(
    params: Mapping[str, Any], always_keep: BoolArray, classes: AnyArray | None = None
) -> CategoricalSettings:
    """Turn the constructor's parameters into settings; raise an error where they are wrong."""
    n_features, threshold = selection_rule(params, int(np.sum(~always_keep)))
    prior, correction = prior_and_correction(params, "uniform")
    return CategoricalSettings(
        n_features=n_features,
        threshold=threshold,
        always_keep=always_keep,
        feature_prior=prior,
        correction=correction,
        alpha_prior=AlphaPrior(*positive_pair(params, "alpha_prior")),
        tolerance=tolerance_of(params),
        criterion=criterion_of(params, "categorical", ("correlation",), classes),
    )


# --------------------------------------------------------------------------------------------------
# Fitted features, and prediction
# --------------------------------------------------------------------------------------------------


_CHUNK_CELLS = 1 << 20
"""Rows are predicted in chunks of so many cells."""

_SUMS_TO_1 = 1e-6
"""How far the sum of many stored probabilities may be from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoricalBlock:
    """Fitted features that share a distribution of alpha.

    Attributes
    ----------
    posterior : AlphaPosterior
        Posterior of the common alpha; with the learned prior, its distribution over features.
    tables : tuple of ndarray of shape (C, V)
        Counts of each feature by class and category.
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
        """Return plain data, with the tables and probabilities of all features side by side."""
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
        entries.check(
            learned == (posterior.edges is not None), "prior", "does not fit the posterior"
        )
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
            entries.check(even, "log_prob", "holds numbers that are not probabilities")
        return cls(
            posterior=posterior,
            tables=tuple(tables),
            log_weight=log_weight,
            log_prob=tuple(log_prob),
            prior=prior,
        )


def _widths_of_ranked(known: Known) -> Known:
    """Return the numbers of categories of the selected features."""
    return {"widths": known["n_levels"][: len(known["selection"].kept)]}


def _widths_by_design(known: Known) -> Known:
    """Return the numbers of categories of the features kept by design."""
    return {"widths": known["n_levels"][len(known["selection"].kept) :]}


@dataclass(frozen=True, slots=True)
class CategoricalFit:
    """A fitted model: a block of selected features, and one of features kept by design.

    Attributes
    ----------
    selection : Selection
        What was kept and discarded.
    ranked : CategoricalBlock
        The selected features.
    by_design : CategoricalBlock or None
        Features kept by design.
    """

    selection: Annotated[Selection, GIVEN]
    ranked: Annotated[
        CategoricalBlock,
        Section(kind=CategoricalBlock, sizes=_widths_of_ranked),
    ]
    by_design: Annotated[
        CategoricalBlock | None,
        MaybeSection(kind=CategoricalBlock, sizes=_widths_by_design),
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
        return [self.ranked] if self.by_design is None else [self.ranked, self.by_design]

    def log_likelihood(self, codes: AnyArray) -> FloatArray:
        """Return log P(x | class), shape (n, C), of the kept columns' codes; -1 is missing.

        In each block the product over features is inside the sum over nodes (equations 19 to 22 of
        the 2008 paper).
        """
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
    """Return log P(x | class, node), shape (T, C, n), of codes of shape (n, k); -1 is missing.

    As one matrix product with indicators of categories; a missing cell has none, and adds 0.
    """
    widths = [part.shape[2] for part in log_prob]
    start = np.concatenate([[0], np.cumsum(widths)])
    one_hot = np.zeros((codes.shape[0], int(start[-1])))
    rows, features = np.nonzero(codes >= 0)
    one_hot[rows, start[features] + codes[rows, features]] = 1.0
    return np.asarray(np.tensordot(np.concatenate(log_prob, axis=2), one_hot, axes=(2, 1)))


# --------------------------------------------------------------------------------------------------
# P(S): the probability that the discarded features were discarded, given alpha
# --------------------------------------------------------------------------------------------------


N_NODES = 41
"""Number of values of log(alpha) for which columns are simulated."""

MOST_LEVELS = 10
"""Largest number of categories that is simulated: 5 took 7 s at 300 cases, 20 over a minute."""

_SMALLEST, _LARGEST = -3.0, 5.0
"""Range of log10(alpha), the end relative to the number of cases; P(S) hardly changes beyond."""


class DiscardedCategories:
    """log P(S | alpha): exact for two categories and two classes, simulated otherwise.

    Parameters
    ----------
    selection : Selection
        The event.
    log_density : callable
        Given log(alpha) of shape (A,), the log posterior density without P(S), which shows where
        an error matters.
    criterion : Criterion, optional
        The ranking criterion, where it is not the usual association.
    """

    def __init__(
        self,
        selection: Selection,
        log_density: Callable[[FloatArray], FloatArray],
        criterion: Criterion | None = None,
    ) -> None:
        self._selection = selection
        self._engine: SelectionProbability | None = None
        binary = all(len(g.observed) == 2 and g.n_levels == 2 for g in selection.groups)
        if binary and criterion is None:
            return
        levels = max(group.n_levels for group in selection.groups)
        if levels > MOST_LEVELS:
            msg = (
                f"correction='selection' would simulate features of {levels} categories, which "
                f"takes too long above {MOST_LEVELS}; use correction='counts'."
            )
            raise ValueError(msg)
        bound = selection.gamma if criterion is None else selection.strength_bound
        assert bound is not None
        cases = sum(selection.class_counts)
        self._span = _SMALLEST * np.log(10), _LARGEST * np.log(10) + np.log(cases)
        log_alpha = np.linspace(*self._span, N_NODES)
        self._engine = selection_probability(
            CategoricalFeatures(),
            criterion or _EQUIVALENT,
            event_of(selection, bound),
            HyperNodes(np.exp(log_alpha), None, log_density(log_alpha)),
        )

    def log_prob(self, log_alpha: FloatArray) -> FloatArray:
        """Return log P(S | alpha), shape (A,)."""
        if self._engine is not None:
            alpha = np.exp(np.clip(log_alpha, *self._span))
            return self._engine.at(HyperNodes(alpha)).log_prob
        groups = self._selection.groups
        bounds = [self._selection.gamma_squared] * len(groups)
        alphas = finite_alpha(log_alpha).tolist()
        regions = np.array([group_probabilities(a, groups, bounds, _theta_rule) for a in alphas])
        event = event_of(self._selection, self._selection.gamma)
        return event.log_prob(regions[..., 0], regions[..., 1])


def _theta_rule(n_cases: int, alpha: float) -> ThetaRule:
    return theta_rule(n_cases, alpha, (0.0, 1.0))


def _equivalent_correlation(tables: IntArray) -> FloatArray:
    return np.sqrt(equivalent_r_squared(tables))


_EQUIVALENT = Criterion(
    name="correlation", features=("categorical",), from_tables=_equivalent_correlation
)
"""The usual criterion: the absolute correlation that would be as surprising."""


# --------------------------------------------------------------------------------------------------
# The fit, from counts
# --------------------------------------------------------------------------------------------------


_Kept = list[tuple[IntArray, IntArray, TableLikelihood]]
"""Indices of features with the same number of categories, their tables, and their likelihood."""

_N_PROBES = 16
"""Number of made-up cases whose log-odds control the quadrature."""

_NEGLIGIBLE = 1e-10
"""Share of an atom of alpha below which it is left out of sums."""


def fit_categories(
    counts: CategoryCounts,
    settings: CategoricalSettings,
    random_state: np.random.RandomState | None,
    learned: LearnedCategories | None = None,
    strength: FloatArray | None = None,
) -> CategoricalFit:
    """Select, correct and fit from counts.

    Parameters
    ----------
    counts : CategoryCounts
        Counts of all features.
    settings : CategoricalSettings
        Settings.
    random_state : RandomState or None
        Breaks ties.
    learned : LearnedCategories, optional
        A prior that is not to be learned again.
    strength : ndarray of shape (p,), optional
        Strengths of all features by a user's function, which needs more than counts.
    """
    outcome = _rank(counts, settings, random_state, strength)
    selection = outcome.selection(
        counts.class_counts, counts.observed(), counts.feature_names, counts.n_levels()
    )
    kept, always = outcome.kept, outcome.always_kept
    if settings.feature_prior == "learned":
        if learned is None:
            basis = kept if settings.correction is None else np.flatnonzero(~settings.always_keep)
            no_tables = np.zeros((0, counts.classes.size, 2), dtype=np.int64)
            learned = learn_categories(
                [tables for _, tables in counts.tables_of(basis)] or [no_tables],
                settings.alpha_prior,
            )
        ranked = _fit_learned(counts, kept, learned)
    else:
        event = selection if settings.correction == "selection" else None
        others = outcome.discarded if settings.correction == "counts" else None
        ranked = _fit_common(counts, kept, others, event, settings)
    by_design = _fit_common(counts, always, None, None, settings) if always.size else None
    return CategoricalFit(selection, ranked, by_design)


def _rank(
    counts: CategoryCounts,
    settings: CategoricalSettings,
    random_state: np.random.RandomState | None,
    strength: FloatArray | None,
) -> RankingOutcome:
    params: dict[str, Any] = {
        "n_features": settings.n_features,
        "always_keep": settings.always_keep,
        "random_state": random_state,
    }
    criterion = settings.criterion
    if criterion is None:
        return rank_features(*strength_of(counts), threshold=settings.threshold, **params)
    if strength is None:
        assert criterion.from_tables is not None
        strength = np.empty(counts.n_features)
        for group in counts.groups:
            criterion.check("categorical", *group.tables.shape[1:])
            strength[group.columns] = criterion.from_tables(group.tables)
    return rank_by_criterion(strength, criterion.name, **params)


def _fit_learned(
    counts: CategoryCounts, columns: IntArray, prior: LearnedCategories
) -> CategoricalBlock:
    """Fit each kept feature by its own posterior over alpha, given the learned prior.

    The nodes are the shapes of the distribution of alpha, as in the binary model (`fit_learned`).
    """
    log_prob: dict[int, FloatArray] = {}
    by_feature: dict[int, IntArray] = {}
    alpha, shape = prior.learned.alpha, prior.learned.shape
    kept_log_likelihood = np.zeros(alpha.size)
    for positions, tables in counts.tables_of(columns):
        if is_binary(tables) and prior.binary is not None:
            ones, observed = tables[:, :, 1].T, tables.sum(axis=2).T
            block = feature_block(ones, observed, np.arange(positions.size))
            fit = fit_learned(block, prior.binary)
            kept_log_likelihood += prior.learned.log_likelihood - fit.posterior.log_prob_selection
            predictive = np.stack([fit.table.log_zero, fit.table.log_one], axis=-1)
            by_position = np.moveaxis(predictive, 2, 0).transpose(0, 2, 1, 3)
        else:
            likelihood = TableLikelihood(tables, prior.base)
            log_marginal = likelihood.log_marginal(alpha)
            kept_log_likelihood += log_marginal.sum(axis=1)
            atoms = np.flatnonzero(shape.weights > _NEGLIGIBLE)
            mean = likelihood.mean_theta(alpha[atoms])
            each = np.exp(_log_predictive(alpha[atoms], mean, tables))
            by_shape = []
            for share in shape.shapes[:, atoms]:
                own = np.flatnonzero(share > _NEGLIGIBLE)
                log_weight = log_marginal[atoms[own]] + np.log(share[own])[:, None]
                weight = np.exp(log_weight - logsumexp(log_weight, axis=0))
                by_shape.append(np.log(np.einsum("ad,adcv->dcv", weight, each[own])))
            by_position = np.stack(by_shape, axis=1)
        for index, position in enumerate(positions.tolist()):
            log_prob[position], by_feature[position] = by_position[index], tables[index]
    if not shape.converged and prior.binary is None:
        warnings.warn(
            "EM for the learned prior reached its limit of steps before it converged; the learned "
            "distribution of features may fit less well than it could.",
            ConvergenceWarning,
            stacklevel=3,
        )
    order = range(columns.size)
    return CategoricalBlock(
        posterior=as_posterior(alpha, shape, prior.learned.log_likelihood, kept_log_likelihood),
        tables=tuple(by_feature[position] for position in order),
        log_weight=np.log(shape.shape_weights),
        log_prob=tuple(log_prob[position] for position in order),
        prior=prior,
    )


def _log_predictive(alpha: FloatArray, mean: FloatArray, tables: IntArray) -> FloatArray:
    """Return log((alpha E[theta_v] + n_cv) / (alpha + n_c)), shape (A, D, C, V)."""
    a = alpha[:, None, None, None]
    total = tables.sum(axis=2)[:, :, None]
    return np.asarray(np.log(a * mean[:, :, None, :] + tables) - np.log(a + total))


def _fit_common(
    counts: CategoryCounts,
    columns: IntArray,
    others: IntArray | None,
    event: Selection | None,
    settings: CategoricalSettings,
) -> CategoricalBlock:
    """Fit features that share one alpha, theta uniform on the simplex.

    Parameters
    ----------
    counts : CategoryCounts
        Counts of all features.
    columns, others : ndarray of int
        The block's features, and discarded ones whose counts are conditioned on.
    event : Selection or None
        The event that the others were discarded, where it is conditioned on.
    settings : CategoricalSettings
        Priors and tolerance.
    """
    kept = [
        (positions, tables, TableLikelihood(tables))
        for positions, tables in counts.tables_of(columns)
    ]
    known = []
    if others is not None:
        for _, tables in counts.tables_of(others):
            distinct, times = distinct_tables(tables)
            known.append((TableLikelihood(distinct), times))
    probes = _probes(kept, columns.size)

    def log_kept(alpha: FloatArray) -> FloatArray:
        total = np.zeros(alpha.size)
        for _, _, likelihood in kept:
            total += likelihood.log_marginal(alpha).sum(axis=1)
        return total

    discarded = None
    if event is not None and event.n_discarded:
        discarded = DiscardedCategories(
            event,
            lambda t: settings.alpha_prior.log_density_of_log(t) + log_kept(finite_alpha(t)),
            settings.criterion,
        )

    def evaluate(log_alpha: FloatArray) -> Nodes:
        # Equation 26 of the 2008 paper, as in the binary model.
        alpha = finite_alpha(log_alpha)
        log_event = np.zeros(alpha.size)
        for likelihood, times in known:
            log_event += likelihood.log_marginal(alpha) @ times
        if discarded is not None:
            log_event += discarded.log_prob(log_alpha)
        density = settings.alpha_prior.log_density_of_log(log_alpha) + log_kept(alpha) + log_event
        tilt = np.zeros((alpha.size, counts.classes.size, _N_PROBES))
        if columns.size:
            tilt = node_log_likelihood(_predictive_at(alpha, kept, columns.size)[1], probes)
        return Nodes(density, [(np.asarray(value),) for value in log_event], tilt)

    rule = integrate_log_alpha(
        evaluate, scan_range(settings.alpha_prior), tolerance=settings.tolerance
    )
    posterior = _posterior(rule, settings.tolerance)
    by_feature, log_prob = _predictive_at(posterior.alpha, kept, columns.size)
    return CategoricalBlock(
        posterior=posterior,
        tables=by_feature,
        log_weight=rule.log_weight,
        log_prob=log_prob,
        prior=None,
    )


def _posterior(rule: LineRule, tolerance: float) -> AlphaPosterior:
    """Return the posterior of alpha on the nodes of a rule; warn where it is not accurate."""
    if rule.error > tolerance:
        warnings.warn(
            f"the integral over alpha has an estimated error of {rule.error:.1e}, above the "
            f"tolerance {tolerance:.1e}; log-odds may be off by that much.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return AlphaPosterior(
        alpha=finite_alpha(rule.log_alpha),
        weights=rule.weight,
        log_prob_selection=np.array([value[0] for value in rule.values]),
        log_density=rule.log_density,
        error=rule.error,
        tolerance=tolerance,
    )


def _predictive_at(
    alpha: FloatArray, kept: _Kept, n_columns: int
) -> tuple[tuple[IntArray, ...], tuple[FloatArray, ...]]:
    """Return the tables of each feature, and log P(category | class, alpha), in column order."""
    log_prob: dict[int, FloatArray] = {}
    by_feature: dict[int, IntArray] = {}
    for positions, tables, likelihood in kept:
        predictive = _log_predictive(alpha, likelihood.mean_theta(alpha), tables)
        for index, position in enumerate(positions.tolist()):
            log_prob[position], by_feature[position] = predictive[:, index], tables[index]
    order = range(n_columns)
    return tuple(by_feature[j] for j in order), tuple(log_prob[j] for j in order)


def _probes(kept: _Kept, n_columns: int) -> IntArray:
    """Simulate cases from counts, whose log-odds decide when quadrature is fine enough."""
    generator = np.random.default_rng(0)
    probes = np.zeros((_N_PROBES, n_columns), dtype=np.int64)
    for positions, tables, _ in kept:
        n_classes = tables.shape[1]
        share = (tables + 0.5) / (tables + 0.5).sum(axis=2, keepdims=True)
        below = np.cumsum(share, axis=2)[:, np.arange(_N_PROBES) % n_classes, :-1]
        uniform = generator.random((positions.size, _N_PROBES, 1))
        probes[:, positions] = (uniform > below).sum(axis=2).T
    return probes


# --------------------------------------------------------------------------------------------------
# Draws of the evidence, for intervals
# --------------------------------------------------------------------------------------------------


def draw_categorical_evidence(
    fit: CategoricalFit, codes: AnyArray, n_draws: int, generator: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Draw log P(x | class, parameters) given the training data, x, and each y*.

    With x_j as one more case of class y*, the table of a feature has one of C V forms; draws for
    each are made once and serve every row. Each form has its own generator: only forms that occur
    are drawn, and draws of a row must not depend on the other rows.

    Returns
    -------
    evidence : ndarray of shape (C, n, S, C - 1)
    log_weight : ndarray of shape (C, n, S)
    """
    n_classes = len(fit.selection.class_counts)
    evidence = np.zeros((n_classes, codes.shape[0], n_draws, n_classes - 1))
    log_weight = np.zeros((n_classes, codes.shape[0], n_draws))
    seed = int(generator.integers(1 << 32))
    first = 0
    for block in fit.blocks:
        if not block.tables:
            continue
        columns = codes[:, first : first + len(block.tables)]
        # The node (the common alpha, or the shape of its distribution) is shared by all features;
        # each row weights the draws by its own probability given the node, as in the binary model.
        node = np.zeros(n_draws, dtype=np.int64)
        if block.prior is None or block.log_weight.size > 1:
            node = systematic(generator, np.exp(block.log_weight), n_draws)
            by_node = node_log_likelihood(block.log_prob, columns)
            log_weight += np.moveaxis(by_node[node], 0, 2)
        for j, table in enumerate(block.tables):
            for level in np.unique(columns[columns[:, j] >= 0, j]).tolist():
                rows = np.flatnonzero(columns[:, j] == level)
                for label in range(n_classes):
                    more = table.copy()
                    more[label, level] += 1
                    own = np.random.default_rng((seed, first + j, level, label))
                    drawn = _draw_log_phi(block, table, more, level, node, own)
                    evidence[label, rows] += drawn[:, 1:] - drawn[:, :1]
        first += len(block.tables)
    return evidence, log_weight


def _draw_log_phi(
    block: CategoricalBlock,
    table: IntArray,
    more: IntArray,
    level: int,
    node: IntArray,
    generator: np.random.Generator,
) -> FloatArray:
    """Draw the log probability of a category in each class, shape (S, C), given counts ``more``.

    ``node``, of shape (S,), is the common alpha of each draw, or the shape of its distribution. A
    single category of a Dirichlet variable is beta distributed, so that only its own theta and
    count are needed.
    """
    prior = block.prior
    if prior is not None and prior.binary is not None and is_binary(table[None]):
        alpha, theta = _draw_binary(prior, table, more, node, generator)
        theta = theta if level == 1 else 1 - theta
    else:
        base = 1.0 if prior is None else prior.base
        if prior is None:
            alpha = block.posterior.alpha[node]
        else:
            alpha = np.empty(node.size)
            log_likelihood = log_marginal(more[None], prior.learned.alpha, base)[:, 0]
            for index in np.unique(node).tolist():
                draws = np.flatnonzero(node == index)
                shape = prior.learned.shape.shapes[index]
                own = log_likelihood - log_likelihood[shape > 0].max()
                share = np.where(shape > 0, np.exp(np.minimum(own, 0.0)), 0.0) * shape
                chosen = systematic(generator, share / share.sum(), draws.size)
                alpha[draws] = prior.learned.alpha[chosen]
        theta = draw_theta(more, level, alpha, base, generator)
    a = alpha[:, None] * theta[:, None] + more[:, level]
    b = alpha[:, None] * (1 - theta[:, None]) + more.sum(axis=1) - more[:, level]
    phi = generator.beta(np.maximum(a, 1e-300), np.maximum(b, 1e-300))
    return np.asarray(np.log(np.maximum(phi, 1e-300)))


def _draw_binary(
    prior: LearnedCategories,
    table: IntArray,
    more: IntArray,
    node: IntArray,
    generator: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Draw alpha and theta of a feature of two categories in two classes, by the binary model."""
    assert prior.binary is not None
    ones, cases = table[:, 1][:, None], table.sum(axis=1)[:, None]
    fit = fit_learned(feature_block(ones, cases, np.arange(1)), prior.binary)
    counts = more[:, 1][:, None], more.sum(axis=1)[:, None]
    alpha, theta = draw_alpha_theta(generator, fit, node, slice(0, 1), *counts)
    return alpha[0], theta[0]


# --------------------------------------------------------------------------------------------------
# Categorical features as a part of an estimator
# --------------------------------------------------------------------------------------------------


_Statistic = tuple[CategoryCounts, FloatArray | None]
"""Counts, and strengths by a user's function, where there is one."""

_MANY = 10
"""Number of rows below which values may well all differ by chance."""


@dataclass(frozen=True, slots=True)
class CategoricalPart:
    """Fitted categorical features.

    Attributes
    ----------
    fit : CategoricalFit
        The model.
    levels : Categories
        Levels of the kept columns, in the order of ``selection.columns``.
    """

    fit: CategoricalFit
    levels: Categories

    def to_plain(self) -> Plain:
        """Return the fit and the levels as plain data."""
        return joined(record_to_plain(self.fit), levels=self.levels.to_plain())

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> CategoricalPart:
        """Return the part that `to_plain` described."""
        levels = Section(kind=Categories).read(entries, "levels", known)
        known = {**known, "n_levels": levels.n_levels}
        return cls(record_from_plain(CategoricalFit, entries, known), levels)

    @property
    def selection(self) -> Selection:
        """What was kept and discarded."""
        return self.fit.selection

    def read(self, X: Any, describe: Describe) -> IntArray:
        """Return codes of the kept columns; unknown categories are missing, with a warning.

        No warning for a column whose training values all differ: `fit` has given one.
        """
        codes, unknown = encode_columns(X, self.levels, describe)
        tables = [table for block in self.fit.blocks for table in block.tables]
        unknown = [cells for cells in unknown if not _all_different(tables[cells[0]])]
        if unknown:
            position, value, _ = unknown[0]
            total = sum(number for _, _, number in unknown)
            cells = "1 cell is" if total == 1 else f"{total} cells are"
            shown = repr(value) if isinstance(value, str) else number_text(value)
            warnings.warn(
                f"{cells} treated as missing: categories not seen in fit, such as {shown} in "
                f"{describe(position)}.",
                UserWarning,
                stacklevel=5,
            )
        return codes

    def log_likelihood(self, values: IntArray) -> FloatArray:
        """Return log P(x | class), shape (n, C)."""
        return self.fit.log_likelihood(values)

    def rows(self, values: IntArray, rows: slice) -> IntArray:
        """Return some rows of values that were read."""
        return values[rows]

    def draw_evidence(
        self, values: IntArray, n_draws: int, generator: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Draw the evidence of each row, for intervals."""
        return draw_categorical_evidence(self.fit, values, n_draws, generator)


def _all_different(tables: IntArray) -> BoolArray:
    """Return whether no value occurs twice in many rows, from counts of shape (..., C, V)."""
    by_level = tables.sum(axis=-2)
    return np.asarray((by_level.sum(axis=-1) >= _MANY) & (by_level.max(axis=-1) == 1))


@dataclass(frozen=True, slots=True)
class CategoricalTraining(TrainingPart):
    """Categorical features of a training table; categories are those of all its rows."""

    settings: CategoricalSettings
    table: CategoryTable
    labels: TrainingLabels
    random_state: Any

    @property
    def n_levels(self) -> IntArray:
        """Number of categories of each column."""
        return self.table.levels.n_levels

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns, where the table has them."""
        return self.table.feature_names

    def _whole(self, _memo: FoldMemo | None) -> _Statistic:
        counts = count_categories(self.table, self.labels.codes, self.labels.classes)
        _warn_of_identifiers(counts)
        return counts, self._strength(np.arange(self.labels.codes.size))

    def _without(
        self, folds: Sequence[IntArray], _memo: FoldMemo | None
    ) -> Iterator[tuple[IntArray, _Statistic]]:
        for rows, others in self.labels.without(folds):
            counts = count_categories(self.table, self.labels.codes, self.labels.classes, others)
            yield rows, (counts, self._strength(others))

    def _fitted(self, statistic: _Statistic, whole: FittedPart | None) -> CategoricalPart:
        random_state = tie_breaker(self.random_state)
        fit = _fit_statistic(statistic, self.settings, random_state, whole)
        columns = np.array(fit.selection.columns, dtype=np.int64)
        return CategoricalPart(fit, self.table.levels.take(columns))

    def _values(self, part: CategoricalPart, rows: IntArray) -> IntArray:
        columns = np.array(part.selection.columns, dtype=np.int64)
        return self.table.codes[np.ix_(rows, columns)]

    def _strength(self, rows: IntArray) -> FloatArray | None:
        """Return the strengths of all features by a user's function, where there is one."""
        criterion = self.settings.criterion
        if criterion is None or criterion.one_column is None:
            return None
        columns = np.asarray(self.table.codes[rows].T, dtype=np.int64)
        return criterion.strengths(columns, self.labels.codes[rows])


def _fit_statistic(
    statistic: _Statistic,
    settings: CategoricalSettings,
    random_state: np.random.RandomState | None,
    whole: FittedPart | None,
) -> CategoricalFit:
    """Fit counts, with the distribution of features that the fit to all rows has learned."""
    counts, strength = statistic
    learned = whole.fit.ranked.prior if isinstance(whole, CategoricalPart) else None
    return fit_categories(counts, settings, random_state, learned, strength)


@dataclass(frozen=True, slots=True)
class CategoricalSourceTraining(TrainingPart):
    """Categorical features of a table beyond memory.

    Counts are made in one pass over the table, those without each of several folds too; only kept
    columns are read.
    """

    settings: CategoricalSettings
    source: Source
    levels: LevelTable
    labels: TrainingLabels
    random_state: Any

    @property
    def n_levels(self) -> IntArray:
        """Number of categories of each column."""
        return self.levels.n_levels

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns, where the table has them."""
        return self.source.feature_names

    def _whole(self, memo: FoldMemo | None) -> _Statistic:
        labels = self.labels

        def make() -> CategoryCounts:
            return count_source_categories(self.source, self.levels, labels.codes, labels.classes)

        rows, key = np.arange(labels.codes.size), ("categories", self.source.shape[1])
        counts: CategoryCounts = make() if memo is None else memo.get(rows, key, make)
        _warn_of_identifiers(counts)
        return counts, None

    def _without(
        self, folds: Sequence[IntArray], memo: FoldMemo | None
    ) -> Iterator[tuple[IntArray, _Statistic]]:
        for rows, counts in zip(folds, self._counts_without(folds, memo), strict=True):
            yield rows, (counts, None)

    def _counts_without(
        self, folds: Sequence[IntArray], memo: FoldMemo | None
    ) -> Iterator[CategoryCounts]:
        """Yield the counts of all rows but those of each fold."""
        classes, codes = self.labels.classes, self.labels.codes

        def make() -> LevelsByFold:
            return LevelsByFold.count(self.source, self.levels, codes, classes.size, folds)

        key = ("cells by fold", self.levels.value.size)
        by_fold: LevelsByFold = (
            make() if memo is None else memo.get(np.concatenate(folds), key, make)
        )
        names = self.source.feature_names
        for cases, cells in by_fold.without():
            yield counts_of_cells(cases, cells, self.levels, classes, names)

    def read_ahead(self, folds: Sequence[IntArray], number: int, memo: FoldMemo | None) -> None:
        """Read in one pass the columns that fits of so many features will keep."""
        if not isinstance(self.source, ReadAhead):
            return
        settings = self.keeping(number).settings
        each = self._counts_without(folds, memo) if folds else iter([self._whole(memo)[0]])
        kept = []
        for counts in each:
            outcome = _rank(counts, settings, tie_breaker(self.random_state), None)
            kept += [outcome.kept, outcome.always_kept]
        self.source.read_ahead(np.unique(np.concatenate(kept).astype(np.int64)))

    @property
    def _source(self) -> Source:
        return self.source

    def _reading_from(self, source: Remembered) -> Self:
        return replace(self, source=source)

    def _fitted(self, statistic: _Statistic, whole: FittedPart | None) -> CategoricalPart:
        random_state = tie_breaker(self.random_state)
        fit = _fit_statistic(statistic, self.settings, random_state, whole)
        columns = np.array(fit.selection.columns, dtype=np.int64)
        return CategoricalPart(fit, self.levels.take(columns).categories())

    def _values(self, part: CategoricalPart, rows: IntArray) -> IntArray:
        columns = np.array(part.selection.columns, dtype=np.int64)
        cells = RowsOf(self.source, rows).take(columns)
        return self.levels.take(columns).codes(cells)


def categorical_training(
    X: Any, params: Mapping[str, Any], always: Any, labels: TrainingLabels, random_state: Any
) -> CategoricalTraining | CategoricalSourceTraining:
    """Return the training part of a table of categorical features, in memory or beyond.

    Parameters
    ----------
    X : table of shape (n, p)
        Categorical features.
    params : mapping
        Parameters of the estimator.
    always : callable
        Given the names of the columns and their number, returns which are kept by design.
    labels : TrainingLabels
        Classes of the rows.
    random_state : int, RandomState or None
        Breaks ties.
    """
    if hasattr(X, "blocks") and is_beyond_memory(X):
        kept = always(X.feature_names, X.shape[1])
        settings = categorical_settings(params, kept, labels.classes)
        if settings.criterion is not None and settings.criterion.one_column is not None:
            msg = (
                "criterion is a function of one column, which needs the table in memory, but X is "
                "beyond memory; give a criterion of counts."
            )
            raise ValueError(msg)
        return CategoricalSourceTraining(settings, X, learn_levels(X), labels, random_state)
    table = category_table(X)
    kept = always(table.feature_names, table.codes.shape[1])
    settings = categorical_settings(params, kept, labels.classes)
    return CategoricalTraining(settings, table, labels, random_state)


def _warn_of_identifiers(counts: CategoryCounts) -> None:
    """Warn of columns whose values all differ."""
    different = [group.columns[_all_different(group.tables)] for group in counts.groups]
    columns = np.sort(np.concatenate(different)).tolist()
    if columns:
        first, names = columns[0], counts.feature_names
        more = f" (and {len(columns) - 1} more)" if len(columns) > 1 else ""
        warnings.warn(
            f"column {first if names is None else repr(names[first])}{more} has a different value "
            "in each row, like an identifier, so it predicts nothing; leave it out.",
            UserWarning,
            stacklevel=6,
        )


# --------------------------------------------------------------------------------------------------
# Explanation: the table of kept features
# --------------------------------------------------------------------------------------------------


UNSEEN = "(never seen)"
"""The second level of a column that had one only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoricalFeatureTable(KeptTable):
    """The kept features, strongest first, then those kept by design.

    Attributes
    ----------
    r : ndarray of shape (k,)
        The correlation of a two-level feature that would be as surprising.
    levels : tuple of tuple of str
        The levels of each feature.
    probability : tuple of ndarray of shape (C, V)
        P(level) in each class, as prediction has it.
    by_design : ndarray of bool of shape (k,)
        Whether the feature was kept by design.
    """

    r: FloatArray
    levels: tuple[tuple[str, ...], ...]
    probability: tuple[FloatArray, ...]
    by_design: BoolArray
    _slope: float = field(repr=False)
    """The factor on the evidence."""

    _effects: str = field(default="", repr=False)
    """What predictions rest on instead, where the evidence of features does not add up."""

    def _rows(self, names: TableNames) -> dict[str, Iterable[Any]]:
        """Return what is known of the features; of two classes, evidence is for the second."""
        return {
            "by_design": self.by_design.tolist(),
            "correlation": self.r.tolist(),
            "levels": map(names.level_texts, self.name, self.levels),
            "probability": [tuple(map(tuple, p.tolist())) for p in self.probability],
            "evidence": [tuple((self._slope * _evidence(p)).tolist()) for p in self.probability],
        }

    def _page_columns(self) -> tuple[TableColumn, ...]:
        return (
            TableColumn(title="level", key="levels", style="text", by_level=True),
            TableColumn(title="correlation", key="correlation"),
            *(
                TableColumn(title=f"P(level), {label}", key="probability", index=c, by_level=True)
                for c, label in enumerate(self.classes)
            ),
            TableColumn(title="evidence", key="evidence", style="signed", by_level=True),
        )

    def _page_note(self) -> str:
        whose = (
            self.classes[1]
            if len(self.classes) == 2
            else "the class that it favours most against the one that it favours least"
        )
        surprising = "The correlation is that of a binary feature with the same p-value."
        if self._effects:
            return (
                "How frequent each category is in each class of the training cases, and the "
                "effect of "
                f"that alone on the log-odds of {whose}. It does not add up over columns, and is "
                f"not what the model adds: {self._effects}. {surprising}"
            )
        return (
            "How frequent each category is in each class, according to the model, and what it "
            "adds to "
            f"the log-odds of {whose}, the slope included. {surprising}"
        )

    def with_levels(self, texts: Callable[[str, tuple[str, ...]], tuple[str, ...]]) -> Self:
        """Return the table with other names of levels, given the feature's name and its levels."""
        return replace(self, levels=tuple(map(texts, self.name, self.levels)))

    def shortened(self, most: int) -> Self:
        """Return the table with the most informative categories, the others merged."""
        pairs = [
            _strongest(*pair, most) for pair in zip(self.levels, self.probability, strict=True)
        ]
        return replace(
            self,
            levels=tuple(levels for levels, _ in pairs),
            probability=tuple(probability for _, probability in pairs),
        )

    def to_dict(self) -> dict[str, list[Any]]:
        """Return plain columns, for a frame or JSON; one entry of each is a feature."""
        return {
            "name": list(self.name),
            "r": self.r.tolist(),
            "levels": [list(levels) for levels in self.levels],
            **{
                f"p_{label}": [probability[c].tolist() for probability in self.probability]
                for c, label in enumerate(self.classes)
            },
            "by_design": self.by_design.tolist(),
        }

    def __str__(self) -> str:
        """Return an aligned table, a line for each level."""
        rows = [
            (name, level, j, v)
            for j, name in enumerate(self.name)
            for v, level in enumerate(self.levels[j])
        ]
        width = max([len("feature"), *(len(name) for name in self.name)])
        across = max([len("level"), *(len(level) for _, level, _, _ in rows)])
        heads = [f"P({label})" for label in self.classes]
        sizes = [max(8, len(head)) for head in heads]
        titles = "  ".join(f"{head:>{size}}" for head, size in zip(heads, sizes, strict=True))
        lines = [f"{'feature':<{width}}  {'level':<{across}}  {'r':>5}  {titles}"]
        for name, level, j, v in rows:
            cells = "  ".join(
                f"{p:>{size}.3f}" for p, size in zip(self.probability[j][:, v], sizes, strict=True)
            )
            start = f"{name if v == 0 else '':<{width}}  {level:<{across}}"
            strength = f"{self.r[j]:5.3f}" if v == 0 else " " * 5
            end = "  by design" if v == 0 and self.by_design[j] else ""
            lines.append(f"{start}  {strength}  {cells}{end}")
        return "\n".join(lines)


def _evidence(probability: FloatArray) -> FloatArray:
    """Return the evidence of each category: for the second of two classes, else the range."""
    logs = np.log(probability)
    return np.asarray(logs[1] - logs[0] if len(logs) == 2 else np.ptp(logs, axis=0))


def _strongest(
    levels: tuple[str, ...], probability: FloatArray, most: int
) -> tuple[tuple[str, ...], FloatArray]:
    """Return the most informative categories, and the sum of the others as one category."""
    if len(levels) <= most:
        return levels, probability
    evidence = np.ptp(np.log(probability), axis=0)
    shown = np.sort(np.argsort(-evidence, kind="stable")[:most])
    rest = np.delete(probability, shown, axis=1).sum(axis=1, keepdims=True)
    others = f"({len(levels) - most:,} more)"
    return (*(levels[v] for v in shown), others), np.hstack([probability[:, shown], rest])


def feature_table(
    part: CategoricalPart, names: tuple[str, ...], classes: tuple[str, ...], slope: float
) -> CategoricalFeatureTable:
    """Return the table of the kept features."""
    blocks = part.fit.blocks
    tables = [table for block in blocks for table in block.tables]
    return CategoricalFeatureTable(
        name=names,
        classes=classes,
        r=np.array([np.sqrt(equivalent_r_squared(table[None])[0]) for table in tables]),
        levels=tuple(
            tuple(level_word(value) for value in values.tolist()) for values in part.levels.values
        ),
        probability=tuple(
            np.exp(logsumexp(block.log_weight[:, None, None] + log_prob, axis=0))
            for block in blocks
            for log_prob in block.log_prob
        ),
        by_design=by_design(part.selection),
        _slope=slope,
    )


def level_word(value: Any) -> str:
    """Return a level as text: a text, a number, or one that was never seen."""
    if isinstance(value, str):
        return value
    return UNSEEN if value is None or value != value else number_text(value)
