"""Models with interactions: settings, groups of patterns with drawn coefficients, chains, files.

The kernels are compiled, so they are imported where they run and not with the package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from honestbayes.base.explanation import by_design
from honestbayes.base.parameters import (
    SelectionSettings,
    positive_pair,
    selection_rule,
    whole_number,
)
from honestbayes.base.part import (
    Describe,
    FoldMemo,
    TrainingLabels,
    tie_breaker,
)
from honestbayes.base.persistence import Parameter
from honestbayes.base.sampled import SampledTraining, check_chain_parameters
from honestbayes.data.categories import TAKEN_FOR_MISSING, Codes, Cuts, CutTable
from honestbayes.files.fields import (
    MOST_CASES,
    Counts,
    Entries,
    Field,
    Flag,
    Floats,
    Known,
    Number,
    Plain,
    Section,
    Whole,
    joined,
    plain_scalar,
)
from honestbayes.models.categorical.model import CategoricalFeatureTable, level_word
from honestbayes.models.interactions.missing_cells import completions, learn_mismatch
from honestbayes.models.interactions.patterns import (
    Groups,
    SinglePatterns,
    SuffixGroups,
    TableGroups,
    TooManyPatternsError,
    binomials,
    different_rows,
    sorted_suffixes,
)
from honestbayes.sampling.chains import Form, Info, State
from honestbayes.sampling.draws import Draws, draws_from_plain
from honestbayes.sampling.runs import Sampling, sample
from honestbayes.selection import Selection
from honestbayes.selection.categories import CategoryCounts, count_categories
from honestbayes.selection.correlation import equivalent_r_squared, rank_features, strength_of
from honestbayes.tabular import Tabular
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

# --------------------------------------------------------------------------------------------------
# Settings
# --------------------------------------------------------------------------------------------------


INTERCEPT_WIDTHS = {"cauchy": 5.0, "gaussian": 10.0}
"""Widths of the prior of the intercept, which are fixed (thesis, section 3.4.4)."""

WIDTH_PRIOR = (0.25, 0.1)
"""Shape of the prior of widths, and mode of that of order 1, by default."""

ORDERS = (1, 2, 3)
"""Orders that are tried where held-out cases choose."""

WHY_COMPLETE = "This model conditions on the features, so training rows must be complete"

NOISE_PRIOR = (1.0, 0.25)
"""Shape and rate of the inverse gamma prior of the variance of noise, in units of the response's
own variance. With a coefficient for every case a response could be met exactly, so the prior must
keep noise away from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """Priors and patterns (thesis, equations 3.3 and 3.38).

    Attributes
    ----------
    order : int
        Largest number of cells that a pattern fixes.
    coefficient_prior : {"cauchy", "gaussian"}
        Distribution of the coefficients before the data are seen.
    width_prior : tuple of float
        Shape alpha and mode w of the prior of sigma_1; the mode of sigma_o is w / o (3.38).
    own_widths : tuple of (int, float, float)
        Orders whose width has a prior of its own: shape and mode, or 0 and a fixed width.
    compress : bool
        Whether patterns that the same cases have share a parameter.
    thin : int
        Number of sweeps for each draw.
    n_width_updates : int
        Updates of each sigma in a sweep.
    noise_prior : tuple of float
        Of a response; (0, 0) for classes.
    spread : float
        Of a response, the sum of squares within different rows.
    """

    order: int
    coefficient_prior: str
    width_prior: tuple[float, float] = WIDTH_PRIOR
    own_widths: tuple[tuple[int, float, float], ...] = ()
    compress: bool = True
    thin: int = 1
    n_width_updates: int = 5
    noise_prior: tuple[float, float] = (0.0, 0.0)
    spread: float = 0.0

    @property
    def is_cauchy(self) -> bool:
        """Whether coefficients are Cauchy, else normal."""
        return self.coefficient_prior == "cauchy"

    def width_priors(self, order: int) -> FloatArray:
        """Return shape and rate of the prior of each sigma; for a fixed sigma, 0 and its value."""
        shape, mode = self.width_prior
        # An inverse gamma density has its mode at rate / (shape + 1).
        rows = [(shape, (shape + 1) * mode / o) for o in range(1, order + 1)]
        result = np.array([(0.0, INTERCEPT_WIDTHS[self.coefficient_prior]), *rows])
        for o, own_shape, value in self.own_widths:
            if o <= order:
                result[o] = own_shape, (own_shape + 1) * value
        return result

    def of_response(self, spread: float) -> ModelSettings:
        """Return the settings of a response with noise."""
        return replace(self, noise_prior=NOISE_PRIOR, spread=spread)


@dataclass(frozen=True, slots=True, kw_only=True)
class InteractionSettings(SelectionSettings):
    """Validated choices of the user: selection and model."""

    model: ModelSettings
    missing: str


def interaction_settings(params: Mapping[str, Any], always_keep: BoolArray) -> InteractionSettings:
    """Validate the constructor's parameters, and return them as settings."""
    given = {"n_features_to_select": "all", "threshold": None, **params}
    n_features, threshold = selection_rule(given, int(np.sum(~always_keep)))
    if params["coefficient_prior"] not in INTERCEPT_WIDTHS:
        given_prior = params["coefficient_prior"]
        msg = f"coefficient_prior={given_prior!r} is not one of 'cauchy', 'gaussian'."
        raise ValueError(msg)
    missing = params.get("missing", "refuse")
    if missing not in ("refuse", "level"):
        msg = f"missing={missing!r} is not one of 'refuse', 'level'."
        raise ValueError(msg)
    if not isinstance(params["compress"], bool | np.bool_):
        msg = f"compress={params['compress']!r} is not True or False."
        raise ValueError(msg)
    check_chain_parameters(params)
    order = params["order"]
    most = 1 if order == "cv" else whole_number(params, "order", 0)
    width_prior = WIDTH_PRIOR
    own_widths: tuple[tuple[int, float, float], ...] = ()
    if isinstance(params["width_prior"], Mapping):
        own_widths = _own_widths(params["width_prior"], max(ORDERS) if order == "cv" else most)
    else:
        width_prior = positive_pair(params, "width_prior")
    model = ModelSettings(
        order=most,
        coefficient_prior=params["coefficient_prior"],
        width_prior=width_prior,
        own_widths=own_widths,
        compress=bool(params["compress"]),
        thin=whole_number(params, "thin", 1),
    )
    return InteractionSettings(
        n_features=n_features,
        threshold=threshold,
        always_keep=always_keep,
        model=model,
        missing=missing,
    )


def _own_widths(given: Mapping[Any, Any], order: int) -> tuple[tuple[int, float, float], ...]:
    """Return order, shape and mode (or 0 and the fixed width) for each order of a mapping."""
    result = []
    for key, value in given.items():
        if isinstance(key, bool) or not isinstance(key, int | np.integer) or not 0 <= key <= order:
            msg = f"width_prior has the key {key!r}, which is not an order from 0 to {order}."
            raise ValueError(msg)
        is_fixed = isinstance(value, Real) and not isinstance(value, bool)
        one = {"width_prior": (1.0, value) if is_fixed else value}
        try:
            shape, mode = positive_pair(one, "width_prior")
        except (TypeError, ValueError):
            msg = (
                f"width_prior has {value!r} for order {key}; give a shape and a mode, or one "
                "number, which fixes the width; all are above 0."
            )
            raise ValueError(msg) from None
        result.append((int(key), 0.0 if is_fixed else shape, mode))
    return tuple(sorted(result))


@dataclass(frozen=True, slots=True)
class WidthPriorField(Parameter):
    """Priors of widths in files: a pair, or a list of orders, each with a number or a pair."""

    def write(self, name: str, value: Any) -> Plain:
        """Return the pair, or the list."""

        def plain(prior: Any) -> Any:
            return [plain_scalar(x) for x in prior] if np.ndim(prior) else plain_scalar(prior)

        if not isinstance(value, Mapping):
            return {name: plain(value)}, {}
        return {name: [[plain_scalar(o), plain(prior)] for o, prior in value.items()]}, {}

    def read(self, entries: Entries, name: str, known: Known) -> Any:
        """Return the pair or the mapping; the estimator checks its values."""
        del known
        value = entries.value(name)
        entries.check(isinstance(value, list), name, "is not a list")
        if value and not isinstance(value[0], list):
            return tuple(value)
        good = all(
            isinstance(entry, list) and len(entry) == 2 and type(entry[0]) is int for entry in value
        )
        entries.check(good, name, "has an entry that is not an order with its prior")
        return {o: tuple(prior) if isinstance(prior, list) else prior for o, prior in value}


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

INTERCEPT_WIDTH = "log_sigma_0"
"""The same, where the width of the intercept is learned."""


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
        Largest number of cells that a pattern fixes.
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
            "learns_intercept_width": INTERCEPT_WIDTH in self.draws.values,
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
        options = {name: Flag().read(entries, name, known) for name in flags}
        order = Whole(0, MOST_ORDER).read(entries, "order", known)
        seed = Whole(0, 2**32 - 1).read(entries, "seed", known)
        good = not options["suffixes"] or order <= most.size
        entries.check(good, "order", "is more than there are states")
        width = order if options["suffixes"] else most.size
        rows = Counts("n_rows", width).read(entries, "rows", {})
        good = rows.shape[0] >= 1 and bool(np.all(rows < most[most.size - width :]))
        entries.check(good, "rows", "holds a level that is not there")
        try:
            _, groups, which = find_groups(
                rows, order, suffixes=options["suffixes"], compress=options["is_compressed"]
            )
        except (TooManyPatternsError, MemoryError) as error:
            entries.refuse("order", f"is too high: {error}")
        good = np.array_equal(which, np.arange(rows.shape[0]))
        entries.check(good, "rows", "are not different and in order")
        counts = entries.counts("row_counts", (rows.shape[0],), MOST_CASES)
        entries.check(np.all(counts >= 1), "row_counts", "holds a row that no case has")
        mismatch = Number(1e-6, 1.0).read(entries, "mismatch", known)
        learns = "learns_intercept_width"  # older files lack it
        fields = draw_fields(
            known["n_predictors"] or 1,
            *groups.counts.shape,
            has_noise=known["n_predictors"] == 0,
            learns_intercept_width=entries.has(learns) and Flag().read(entries, learns, known),
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
            **options,
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
        from honestbayes.models.interactions.prediction import linear_predictors

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
    learns_intercept_width: bool,
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
    if learns_intercept_width:
        fields[INTERCEPT_WIDTH] = fields["log_likelihood"]
    if has_noise:
        fields["noise"] = Floats(*shape, low=1e-300, high=1e300)
    return fields


# --------------------------------------------------------------------------------------------------
# Chains over the coefficients of groups of patterns and the widths of their priors
# --------------------------------------------------------------------------------------------------


MOST_TOGETHER = 400
"""Equations by which all coefficients are drawn at once: with 500 slices have as many independent
draws of widths per second, and with 800 several times as many."""

MOST_DRAWN = 1 << 27
"""Coefficients of all draws together: one gigabyte."""


def make_problem(
    groups: Groups, target: FloatArray, size: FloatArray, settings: Any, way: int | None = None
) -> Any:
    """Return data and priors as kernels take them.

    Parameters
    ----------
    groups : Groups
        Of n different rows.
    target : ndarray of shape (K, n)
        Cases of each class in each row, without the first of two; or sums of the response.
    size : ndarray of shape (n,)
        Cases of each row.
    settings : ModelSettings
        Priors, and how often widths are updated.
    way : int, optional
        How all coefficients are drawn at once, of `joint`; by default what is fastest.
    """
    from honestbayes.models.interactions.sampler import (
        ROWS,
        SLICES,
        TREE,
        InteractionProblem,
        agreement,
        cut_groups,
        nest,
    )

    n, n_groups = np.asarray(size).size, groups.counts.shape[0]
    down = np.argsort(-np.diff(groups.start), kind="stable")
    parent, within = np.full(n_groups, -1), np.full(n, -1)
    if way is None or way == TREE:
        is_nested = nest(down, groups.start, groups.cases, parent, within)
        if way is None:
            # Of tables, Cauchy coefficients of classes were drawn faster by slices alone.
            by_slices = settings.is_cauchy and not settings.noise_prior[0] and not is_nested
            way = SLICES if by_slices else fastest_way(n, n_groups, is_nested=is_nested)
        elif not is_nested:
            msg = "groups overlap, so they do not form a tree."
            raise ValueError(msg)
    agree = np.zeros((0, 0), dtype=np.uint16)
    if way == ROWS and not settings.is_cauchy:
        agree = agreement(groups.start, groups.cases, groups.counts, n)
    part_start, parts = np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64)
    if way == SLICES and isinstance(groups, TableGroups):
        part_start, parts = cut_groups(
            groups.start,
            groups.cases,
            groups.counts[:, :-1].any(axis=1),
            groups.rows.astype(np.int64),
            int(groups.rows.max(initial=0)) + 1,
            np.random.default_rng(0).integers(0, 2**64, n, dtype=np.uint64),
        )
    orders = [np.flatnonzero(column) for column in groups.counts.T]
    return InteractionProblem(
        start=groups.start,
        cases=groups.cases,
        counts=np.ascontiguousarray(groups.counts),
        order_start=np.cumsum([0, *(members.size for members in orders)]),
        order_groups=np.concatenate(orders),
        target=np.ascontiguousarray(target, dtype=float),
        size=np.asarray(size, dtype=float),
        spread=settings.spread,
        priors=settings.width_priors(groups.order),
        noise=np.asarray(settings.noise_prior, dtype=float),
        is_cauchy=settings.is_cauchy,
        n_width_updates=settings.n_width_updates,
        way=way,
        down=down,
        parent=parent,
        within=within,
        agree=agree,
        choose=binomials(int(agree.max(initial=0)), groups.order),
        part_start=part_start,
        parts=parts,
    )


def fastest_way(n: int, n_groups: int, *, is_nested: bool) -> int:
    """Return how normal coefficients, or those of a response, are drawn at once, if they are."""
    from honestbayes.models.interactions.sampler import GROUPS, ROWS, SLICES, TREE

    if is_nested:
        return TREE
    if min(n, n_groups) > MOST_TOGETHER:
        return SLICES
    return ROWS if n <= n_groups else GROUPS


class InteractionKernel:
    """Some sweeps over coefficients and widths.

    Parameters
    ----------
    problem : InteractionProblem
        From `make_problem`.
    n_sweeps : int, default=1
        Sweeps of each step.
    """

    def __init__(self, problem: Any, n_sweeps: int = 1) -> None:
        self.problem = problem
        self.n_sweeps = n_sweeps

    def step(self, rng: np.random.Generator, state: State) -> tuple[State, Info]:
        """Return the state after a step, and what predictions and summaries need of it."""
        from honestbayes.models.interactions import sampler
        from honestbayes.models.interactions.sampler import SLICES, TREE, log_likelihood, predictors

        s, log_sigma = state["s"].copy(), state["log_sigma"].copy()
        noise = float(state["noise"])
        problem = self.problem
        for sweep in range(self.n_sweeps):
            # Systems of equations take longer than slices, so the others of a step are slices.
            together = problem.way == TREE or (problem.way != SLICES and sweep == 0)
            if problem.is_cauchy or not together:
                noise = sampler.sweep(rng, s, log_sigma, noise, problem)
            if together:
                noise = sampler.sweep_together(rng, s, log_sigma, noise, problem)
        f = predictors(s, problem.start, problem.cases, problem.size.size)
        info = {
            "s": s,
            "log_sigma": log_sigma,
            "log_likelihood": log_likelihood(f, problem, noise),
            **{name: log_sigma[o] for o, name in enumerate(SHOWN[: log_sigma.size - 1], 1)},
        }
        if self.learns_intercept_width:
            info[INTERCEPT_WIDTH] = log_sigma[0]
        if self.has_noise:
            info["noise"] = noise
        return {"s": s, "log_sigma": log_sigma, "noise": np.array(noise)}, info

    @property
    def has_noise(self) -> bool:
        """Whether there is a response with noise."""
        return bool(self.problem.noise[0] > 0)

    @property
    def learns_intercept_width(self) -> bool:
        """Whether the width of the intercept is sampled."""
        return bool(self.problem.priors[0, 0] > 0)

    def form(self) -> Form:
        """Return what states and draws can be."""
        from honestbayes.models.interactions.sampler import HIGHEST, LOWEST

        problem = self.problem
        n_classes, n_groups = problem.target.shape[0], problem.start.size - 1
        n_orders = problem.counts.shape[1]
        return Form(
            state={
                "s": Floats(
                    "n_chains", n_classes, n_groups, low=-LARGEST_IN_FILES, high=LARGEST_IN_FILES
                ),
                "log_sigma": Floats("n_chains", n_orders, low=LOWEST, high=HIGHEST),
                "noise": Floats("n_chains", low=1e-300, high=1e300),
            },
            drawn=draw_fields(
                n_classes,
                n_groups,
                n_orders,
                has_noise=self.has_noise,
                learns_intercept_width=self.learns_intercept_width,
            ),
            sizes={},
        )


def starting_states(
    problem: Any, n_chains: int, rng: np.random.Generator
) -> list[dict[str, AnyArray]]:
    """Return states far from each other: all coefficients 0, and different widths."""
    n_classes, n_groups = problem.target.shape[0], problem.start.size - 1
    fixed = problem.priors[:, 0] == 0
    states = []
    for _ in range(n_chains):
        log_sigma = np.asarray(rng.uniform(-3.0, 1.0, problem.priors.shape[0]))
        log_sigma[fixed] = np.log(problem.priors[fixed, 1])
        states.append(
            {
                "s": np.zeros((n_classes, n_groups)),
                "log_sigma": log_sigma,
                "noise": np.array(rng.uniform(0.3, 1.0)),
            }
        )
    return states


def run_chains(
    cells: AnyArray,
    codes: Any,
    n_classes: int,
    settings: ModelSettings,
    sampling: Sampling,
    *,
    suffixes: bool,
) -> InteractionFit:
    """Group patterns and run chains.

    Parameters
    ----------
    cells : ndarray of int of shape (n, p)
        Codes of the training rows, none of them missing.
    codes : ndarray of shape (n,)
        Classes, or the response in standard units.
    n_classes : int
        How many classes there are; 0 for a response.
    settings : ModelSettings
        Priors, order and sweeps.
    sampling : Sampling
        How chains are run.
    suffixes : bool
        Whether patterns are suffixes of sequences.
    """
    rows, groups, which = find_groups(
        cells, settings.order, suffixes=suffixes, compress=settings.compress
    )
    n = int(which.max()) + 1
    size = np.bincount(which, minlength=n).astype(float)
    if n_classes:
        counts = np.zeros((n_classes, n))
        np.add.at(counts, (codes, which), 1.0)
        target = counts[1:] if n_classes == 2 else counts
    else:
        target = np.asarray(np.bincount(which, codes, minlength=n), dtype=float)[None]
        spread = float(((codes - (target[0] / size)[which]) ** 2).sum())
        settings = settings.of_response(spread)
    drawn = sampling.n_chains * sampling.schedule.n_draws * target.shape[0] * groups.counts.shape[0]
    if drawn > MOST_DRAWN:
        msg = (
            f"draws of {groups.counts.shape[0]:,} coefficients of {target.shape[0]} classes would "
            f"be {drawn:,} numbers; lower order, n_draws or n_chains."
        )
        raise TooManyPatternsError(msg)
    problem = make_problem(groups, target, size, settings)
    draws, interrupted = sample(
        InteractionKernel(problem, settings.thin),
        lambda seed: starting_states(problem, sampling.n_chains, np.random.default_rng(seed)),
        sampling,
        cells,
        np.asarray(codes),
        settings,
        suffixes,
        agree=lambda draws: draws.diagnostics().agree(),
    )
    seed = int(np.random.SeedSequence(sampling.seed.entropy, spawn_key=(7,)).generate_state(1)[0])
    row_counts = size.astype(np.int64)
    return InteractionFit(
        rows=rows,
        row_counts=row_counts,
        mismatch=learn_mismatch(rows, row_counts),
        groups=groups,
        draws=draws,
        order=settings.order,
        suffixes=suffixes,
        is_compressed=settings.compress,
        is_cauchy=settings.is_cauchy,
        seed=seed,
        interrupted=interrupted,
    )


# --------------------------------------------------------------------------------------------------
# Categorical features with their interactions as a part of an estimator
# --------------------------------------------------------------------------------------------------


_Statistic = tuple[IntArray, CategoryCounts, CutTable]
"""Rows, and their counts."""


@dataclass(frozen=True, slots=True, eq=False)
class InteractionPart:
    """Fitted categorical features with interactions.

    Attributes
    ----------
    selection : Selection
        What was kept; usually every column.
    codes : Codes
        How the kept columns become codes.
    fit : InteractionFit
        The model.
    counts : ndarray of shape (C, V)
        Training cases by class, of the levels of all kept columns one after the other.
    log_prior : ndarray of shape (C,)
        Log class probabilities before features are seen.
    cuts : Cuts
        How measurements are cut into bins.
    """

    selection: Selection
    codes: Codes
    fit: InteractionFit
    counts: FloatArray
    log_prior: FloatArray
    cuts: Cuts

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped the chains."""
        return self.fit.interrupted

    def to_plain(self) -> Plain:
        """Return codes, model and counts as plain data."""
        arrays = {"counts": self.counts, "prior": self.log_prior}
        return joined(
            ({}, arrays),
            codes=self.codes.to_plain(),
            fit=self.fit.to_plain(),
            cuts=self.cuts.to_plain(),
        )

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> InteractionPart:
        """Return the part that `to_plain` described; refuse what cannot be one."""
        codes = Section(kind=Codes).read(entries, "codes", known)
        n_classes, n_levels = known["n_classes"], codes.n_levels
        of_fit = {"n_levels": n_levels, "n_predictors": 1 if n_classes == 2 else n_classes}
        fit = Section(kind=InteractionFit).read(entries, "fit", of_fit)
        counts = Floats(n_classes, int(n_levels.sum()), low=0.0).read(entries, "counts", known)
        prior = Floats(n_classes, low=-1e6, high=1e-9).read(entries, "prior", known)
        cuts = Cuts((None,) * n_levels.size)
        if entries.has("cuts"):  # older files have no bins
            cuts = Section(kind=Cuts).read(entries, "cuts", known)
        return cls(known["selection"], codes, fit, counts, prior, cuts)

    def level_names(self, index: int) -> list[str]:
        """Return what the levels or bins of a column are called; the last stands for missing."""
        levels = level_names(self.codes)[index]
        bins = self.cuts.labels(index) or ()
        return [*bins, *levels[len(bins) :]]

    def read(self, X: Any, describe: Describe) -> IntArray:
        """Return codes of the kept columns; unknown levels are missing, with a warning."""
        return self.codes.read(self.cuts.of(X), describe, TAKEN_FOR_MISSING)

    def cells(self, values: IntArray) -> AnyArray:
        """Return the codes that the model takes, of values that were read; -1 is missing."""
        return self.fit.used(self.codes.without_new_missing(values, self.counts.sum(axis=0) > 0))

    def log_likelihood(self, values: IntArray) -> FloatArray:
        """Return log P(class | x) - log P(class), which is log P(x | class) up to a constant."""
        cells = self.cells(values)
        return self.fit.log_proba(cells, np.exp(self.log_prior)) - self.baseline(cells)

    def baseline(self, cells: AnyArray) -> FloatArray:
        """Return the log class probabilities that evidence is relative to, shape (n, C).

        They are the class frequencies with pseudocounts for a complete row. For a row without any
        cell they are what the model predicts for it, the mean over the training cases, so that
        such a row has no evidence: the two differ a little by their priors. In between the
        logarithms move with the share of missing cells.
        """
        result = np.repeat(self.log_prior[None], len(cells), axis=0)
        missing = cells < 0
        if missing.any():
            nothing = np.full((1, cells.shape[1]), -1)
            own = self.fit.log_proba(nothing, np.exp(self.log_prior))[0]
            result += missing.mean(axis=1)[:, None] * (own - self.log_prior)
        return np.asarray(result)

    def rows(self, values: IntArray, rows: slice) -> IntArray:
        """Return some rows of values that were read."""
        return values[rows]


@dataclass(frozen=True, slots=True)
class InteractionTraining(SampledTraining):
    """Categorical features of a training table, for a model with interactions.

    Attributes
    ----------
    settings : InteractionSettings
        Selection and model.
    cut : CutTable
        Codes of the cells, measurements in bins; missing ones are levels of their own, where that
        is asked for.
    labels : TrainingLabels
        Classes of the rows.
    random_state : object
        Breaks ties.
    suffixes : bool
        Whether patterns are suffixes of sequences.
    """

    settings: InteractionSettings
    cut: CutTable
    labels: TrainingLabels
    random_state: Any
    suffixes: bool

    def _whole(self, _memo: FoldMemo | None) -> _Statistic:
        counts = count_categories(self.cut.table, self.labels.codes, self.labels.classes)
        return np.arange(self.labels.codes.size), counts, self.cut

    def _without(
        self, folds: Sequence[IntArray], _memo: FoldMemo | None
    ) -> Iterator[tuple[IntArray, _Statistic]]:
        for rows, others in self.labels.without(folds):
            cut, labels = self.cut.given(others), self.labels
            counts = count_categories(cut.table, labels.codes, labels.classes, others)
            yield rows, (others, counts, cut)

    def _values(self, part: InteractionPart, rows: IntArray) -> IntArray:
        columns = np.array(part.selection.columns, dtype=np.int64)
        return part.codes.of_training(self.cut.codes(rows, columns, part.cuts))

    def _run(self, statistic: _Statistic, sampling: Sampling) -> InteractionPart:
        """Select, and run chains, given some rows."""
        settings, labels = self.settings, self.labels
        rows, counts, cut = statistic
        outcome = rank_features(
            *strength_of(counts),
            n_features=settings.n_features,
            threshold=settings.threshold,
            always_keep=settings.always_keep,
            random_state=tie_breaker(self.random_state),
        )
        selection = outcome.selection(
            counts.class_counts, counts.observed(), counts.feature_names, counts.n_levels()
        )
        columns = np.array(selection.columns, dtype=np.int64)
        kept = Codes(cut.table.levels.take(columns), settings.missing == "level")
        cells = kept.of_training(cut.table.codes[np.ix_(rows, columns)])
        codes, n_classes = labels.codes[rows], labels.classes.size
        order = settings.model.order
        used = cells[:, cells.shape[1] - order :] if self.suffixes else cells
        fit = run_chains(used, codes, n_classes, settings.model, sampling, suffixes=self.suffixes)
        by_level = np.zeros((n_classes, int(kept.n_levels.sum())))
        first = np.cumsum(kept.n_levels) - kept.n_levels
        np.add.at(by_level, (codes[:, None], cells + first), 1.0)
        cuts = cut.cuts.take(columns)
        return InteractionPart(selection, kept, fit, by_level, labels.log_prior(rows), cuts)


# --------------------------------------------------------------------------------------------------
# Explanation: each column alone, and the largest interactions
# --------------------------------------------------------------------------------------------------


_MISSING = "(missing)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interactions(Tabular):
    """The largest coefficients, the largest median first.

    Attributes
    ----------
    pattern : tuple of str
        What a case must have, such as "outlook=sunny & humidity=high"; of several patterns that the
        same training cases have, the shortest.
    cells : tuple of tuple of (str, str)
        The same in parts: the name of each column, and its level.
    n_alike : ndarray of shape (m,)
        How many patterns the same training cases have: it is the sum of their coefficients that is
        known.
    n_cases : ndarray of int of shape (m,)
        Different training rows that have it.
    towards : tuple of str
        The class whose log odds it raises (or lowers, where the median is negative).
    median, low, high : ndarray of shape (m,)
        Of the coefficient: the posterior median, and the interval that holds 90%.
    n_groups, n_patterns : int, float
        Parameters of each class with and without compression.
    sigma : ndarray of shape (order + 1,)
        Posterior medians of the widths of each order.
    """

    pattern: tuple[str, ...]
    cells: tuple[tuple[tuple[str, str], ...], ...]
    n_alike: FloatArray
    n_cases: FloatArray
    towards: tuple[str, ...]
    median: FloatArray
    low: FloatArray
    high: FloatArray
    n_groups: int
    n_patterns: float
    sigma: FloatArray

    @property
    def order(self) -> int:
        """The most cells that a pattern fixes."""
        return self.sigma.size - 1

    def in_words(self) -> str:
        """Return the numbers of patterns and parameters, as part of a sentence."""
        cells = "one cell" if self.order == 1 else f"up to {self.order} cells"
        return (
            f"{self.n_patterns:,.0f} patterns of {cells} (the empty one included), "
            f"{self.n_groups:,} of them distinguished by the training cases"
        )

    def with_cells(self, rename: Callable[[str, str], tuple[str, str]]) -> Interactions:
        """Return the record with other names of columns and levels, of a table's patterns."""
        cells = tuple(tuple(rename(*cell) for cell in pattern) for pattern in self.cells)
        return replace(self, cells=cells, pattern=tuple(map(_joined, cells)))

    def renamed(self, word: Callable[[str], str], classes: dict[str, str]) -> Interactions:
        """Return the record with other names of patterns and classes."""
        return replace(
            self,
            pattern=tuple(map(word, self.pattern)),
            towards=tuple(classes.get(name, name) for name in self.towards),
        )

    def to_dict(self) -> dict[str, list[Any]]:
        """Return plain columns, for a frame or JSON; one entry of each is a coefficient."""
        numbers = ("n_alike", "n_cases", "median", "low", "high")
        return {
            "pattern": list(self.pattern),
            "class": list(self.towards),
            **{name: getattr(self, name).tolist() for name in numbers},
        }

    def __str__(self) -> str:
        """Return an aligned table."""
        width = max([len("pattern"), *(len(text) for text in self.pattern)])
        across = max([len("class"), *(len(text) for text in self.towards)])
        lines = [
            f"{self.n_groups:,} parameters instead of {self.n_patterns:,.0f}",
            f"{'pattern':<{width}}  {'class':<{across}}  median          90%  rows  patterns",
        ]
        for j, text in enumerate(self.pattern):
            lines.append(
                f"{text:<{width}}  {self.towards[j]:<{across}}  {self.median[j]:6.2f}  "
                f"{self.low[j]:5.1f} {self.high[j]:5.1f}  {self.n_cases[j]:4.0f}  "
                f"{self.n_alike[j]:8,.0f}"
            )
        return "\n".join(lines)


def level_names(codes: Codes) -> list[list[str]]:
    """Return what the levels of each column are called; the last stands for missing."""
    return [
        [*(level_word(value) for value in values.tolist()), _MISSING]
        for values in codes.levels.values
    ]


def described(
    part: InteractionPart, names: tuple[str, ...], classes: tuple[str, ...]
) -> tuple[list[list[str]], tuple[str, ...], tuple[int, ...], tuple[str, ...]]:
    """Return levels, names and indices of a part's columns, and what its predictors are of.

    Of two classes, coefficients are those of the second.
    """
    levels = [part.level_names(index) for index in range(len(names))]
    towards = classes[1:] if len(classes) == 2 else classes
    return levels, names, part.selection.columns, towards


def coefficients(
    fit: InteractionFit,
    levels: Sequence[list[str]],
    names: tuple[str, ...],
    columns: tuple[int, ...],
    towards: tuple[str, ...],
    most: int,
    *,
    unit: float = 1.0,
) -> Interactions:
    """Find the largest coefficients, by posterior median; the intercept is not one of them.

    Parameters
    ----------
    fit : InteractionFit
        The model.
    levels : sequence of list of str
        What the levels of each column are called.
    names, columns : tuple
        What each column is called, and where it stands in the table.
    towards : tuple of str
        What each linear predictor is of.
    most : int
        How many.
    unit : float, default=1.0
        Of coefficients.
    """
    of, group, median = _largest(fit, most)
    s = fit.draws.spread(_SPREAD).pooled("s")
    low, high = unit * np.quantile(s[:, of, group], [0.05, 0.95], axis=0)
    labels = _labels(fit, levels, names, columns)
    cells = [_cells(next(fit.groups.patterns(int(g))), labels) for g in group]
    text = _states if fit.suffixes else _joined
    return Interactions(
        pattern=tuple(map(text, cells)),
        cells=tuple(cells),
        n_alike=fit.groups.counts[group].sum(axis=1),
        n_cases=np.diff(fit.groups.start)[group].astype(float),
        towards=tuple(towards[int(k)] for k in of),
        median=unit * median,
        low=low,
        high=high,
        n_groups=fit.n_groups,
        n_patterns=fit.n_patterns,
        sigma=unit * np.exp(np.median(fit.draws.pooled("log_sigma"), axis=0)),
    )


_SPREAD = 2000
"""Draws by which coefficients are judged, at most."""


def _largest(fit: InteractionFit, most: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Return class, group and posterior median of the largest coefficients."""
    groups = fit.groups
    median = np.median(fit.draws.spread(_SPREAD).pooled("s"), axis=0)
    # The group of all cases is the intercept, with all that every case has.
    size = np.where(groups.counts[:, 0] > 0, -1.0, np.abs(median))
    best = np.argsort(-size, axis=None, kind="stable")[:most]
    of, group = np.unravel_index(best, median.shape)
    there = size[of, group] >= 0
    of, group = of[there], group[there]
    return of, group, median[of, group]


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitInteraction(Tabular):
    """The coefficients of all patterns that the same training cases have.

    Attributes
    ----------
    pattern : tuple of str
        The patterns, the shortest first.
    cells : tuple of tuple of (str, str)
        The same in parts: the name of each column, and its level.
    order : ndarray of int of shape (m,)
        Cells that each fixes.
    median, low, high : ndarray of shape (m,)
        Of each coefficient: the posterior median, and the interval that holds 90%. Patterns of one
        order have the same ones, because the training cases cannot tell them apart.
    towards : str
        The class whose log odds they raise.
    total : tuple of float
        Median and interval of the sum of all coefficients.
    """

    pattern: tuple[str, ...]
    cells: tuple[tuple[tuple[str, str], ...], ...]
    order: IntArray
    median: FloatArray
    low: FloatArray
    high: FloatArray
    towards: str
    total: tuple[float, float, float]

    def to_dict(self) -> dict[str, list[Any]]:
        """Return plain columns, for a frame or JSON; one entry of each is a pattern."""
        numbers = ("order", "median", "low", "high")
        return {
            "pattern": list(self.pattern),
            **{name: getattr(self, name).tolist() for name in numbers},
        }

    def __str__(self) -> str:
        """Return an aligned table."""
        width = max(map(len, (*self.pattern, "sum")))
        rows = [
            *zip(self.pattern, self.median, self.low, self.high, strict=True),
            ("sum", *self.total),
        ]
        return "\n".join(
            [
                f"{'pattern':<{width}}  median          90%  (towards {self.towards})",
                *(
                    f"{text:<{width}}  {m:6.2f}  {low:5.1f} {high:5.1f}"
                    for text, m, low, high in rows
                ),
            ]
        )


MOST_SPLIT = 10_000
"""Patterns that a sum is split into, at most."""


def split_coefficients(
    fit: InteractionFit,
    levels: Sequence[list[str]],
    names: tuple[str, ...],
    columns: tuple[int, ...],
    towards: tuple[str, ...],
    rank: int,
    *,
    unit: float = 1.0,
) -> SplitInteraction:
    """Split the sum of a group into the coefficients of its patterns (thesis, end of 3.3.4).

    Parameters are those of `coefficients`; ``rank`` is a row of its table, from 0 on.

    Notes
    -----
    Given the sum and the widths, the coefficient of one pattern does not depend on the data. Each
    draw of the chains is split once for each order: into one pattern of the order and all others
    (equations 3.25 to 3.27). Patterns of one order are exchangeable, so they share the result.
    """
    from honestbayes.models.interactions.prediction import split_sums

    of, group, median = _largest(fit, rank + 1)
    if not 0 <= rank < group.size:
        msg = f"rank={rank} is not a row of interactions(), counted from 0."
        raise ValueError(msg)
    k, g = int(of[rank]), int(group[rank])
    counts = fit.groups.counts[g]
    if counts.sum() > MOST_SPLIT:
        msg = (
            f"the same training cases have {counts.sum():,.0f} patterns, but at most "
            f"{MOST_SPLIT:,} "
            "coefficients are listed. A lower order gives fewer."
        )
        raise TooManyPatternsError(msg)
    some = fit.draws.spread(_SPREAD)
    total = some.pooled("s")[:, k, g].astype(float)
    # Widths add up for Cauchy coefficients, their squares for normal ones.
    units = np.exp((1.0 if fit.is_cauchy else 2.0) * some.pooled("log_sigma"))
    quantiles = np.full((counts.size, 3), np.nan)
    for o in np.flatnonzero(counts):
        others = units @ (counts - (np.arange(counts.size) == o))
        drawn = split_sums(total, units[:, o], others, fit.is_cauchy, np.uint64(fit.seed + o))
        quantiles[o] = np.quantile(drawn, [0.5, 0.05, 0.95])
    labels = _labels(fit, levels, names, columns)
    cells = [_cells(pattern, labels) for pattern in fit.groups.patterns(g)]
    order = np.array([len(pattern) for pattern in cells])
    median, low, high = unit * quantiles[order].T
    low_of_all, high_of_all = np.quantile(total, [0.05, 0.95])
    return SplitInteraction(
        pattern=tuple(map(_states if fit.suffixes else _joined, cells)),
        cells=tuple(cells),
        order=order,
        median=median,
        low=low,
        high=high,
        towards=towards[k],
        total=(unit * float(np.median(total)), unit * low_of_all, unit * high_of_all),
    )


_Labels = list[tuple[str, list[str], int]]
"""The name of each column of patterns, the texts of its levels, and its place in the table."""

_Cells = tuple[tuple[str, str], ...]


def _labels(
    fit: InteractionFit,
    levels: Sequence[list[str]],
    names: tuple[str, ...],
    columns: tuple[int, ...],
) -> _Labels:
    """Return the labels of the columns that patterns are of: the last ones of sequences."""
    first = len(names) - fit.order if fit.suffixes else 0
    return list(zip(names, levels, columns, strict=True))[first:]


def _cells(pattern: Any, labels: _Labels) -> _Cells:
    """Return the names of columns and levels of one pattern, in the order of the table."""
    named = sorted((labels[column][2], column, code) for column, code in pattern)
    return tuple((labels[column][0], labels[column][1][code]) for _, column, code in named)


def _joined(cells: _Cells) -> str:
    """Return "outlook=sunny & humidity=high"."""
    return " & ".join(f"{name}={level}" for name, level in cells)


def _states(cells: _Cells) -> str:
    """Return the last states, "ab" or "up down"."""
    states = [state for _, state in cells]
    return ("" if all(len(state) == 1 for state in states) else " ").join(states)


def feature_table(
    part: InteractionPart, names: tuple[str, ...], classes: tuple[str, ...], slope: float
) -> CategoricalFeatureTable:
    """Summarise each column alone: the frequency of each category in each class."""
    most = part.codes.n_levels
    ends = np.cumsum(most)
    tables = [part.counts[:, end - size : end] for size, end in zip(most, ends, strict=True)]
    if part.codes.missing_is_level:  # it is shown where it occurs
        tables = [table if table[:, -1].any() else table[:, :-1] for table in tables]
    levels = [
        tuple(part.level_names(index)[: table.shape[1]]) for index, table in enumerate(tables)
    ]
    return CategoricalFeatureTable(
        name=names,
        classes=classes,
        r=np.array(
            [np.sqrt(equivalent_r_squared(table[None].astype(np.int64))[0]) for table in tables]
        ),
        levels=tuple(levels),
        probability=tuple(
            (table + 1.0 / table.shape[1]) / (table.sum(axis=1, keepdims=True) + 1.0)
            for table in tables
        ),
        by_design=by_design(part.selection),
        _slope=slope,
        _effects="it adds the coefficients of the patterns below",
    )
