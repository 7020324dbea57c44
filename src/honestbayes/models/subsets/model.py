"""Subsets of features: priors, scores, chains in blocks of draws, and settings."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
from scipy.special import gammaln

from honestbayes.base.parameters import positive_number, whole_number
from honestbayes.base.sampled import sampling_of
from honestbayes.data.categories import Coded
from honestbayes.files.fields import Check, Counts, Entries, Field, Floats, Known, Packed, Plain
from honestbayes.models.discrete.estimator import LevelCounts
from honestbayes.models.subsets.problem import (
    ACCURACY,
    BRIER,
    DISTANCE,
    LIKELIHOOD,
    LOG,
    SHARE,
    TWO_STEP,
    UNIFORM,
    Moves,
    ScoredRows,
)
from honestbayes.sampling.chains import Form, Info, State
from honestbayes.sampling.draws import Diagnostics, Draws, diagnose, draws_from_plain
from honestbayes.sampling.runs import Sampling, sample_in_blocks
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

# --------------------------------------------------------------------------------------------------
# Prior distributions of subsets of features, by their size
#
# All subsets of one size are equally likely. What differs is how likely the sizes are; the log
# probability of one subset of k features is that of the size less log C(p, k).
# --------------------------------------------------------------------------------------------------


SizePrior = str | tuple[str, float] | Callable[[int], float]
"""How likely sizes are, as the user says it."""


def log_prior_of_subsets(prior: Any, p: int, most: int) -> FloatArray:
    """Return the log prior of one subset of each size from 0 to ``most``, up to a constant.

    Parameters
    ----------
    prior : {"sizes", "subsets"}, ("poisson", mean) or callable
        "sizes": every size is as likely as any other. "subsets": every subset is. A Poisson
        distribution of the size, or any function of it that is not negative.
    p : int
        Features.
    most : int
        The largest subset.
    """
    sizes = np.arange(most + 1)
    log_number = gammaln(p + 1) - gammaln(sizes + 1) - gammaln(p - sizes + 1)
    if isinstance(prior, str):
        if prior == "subsets":
            return np.zeros(most + 1)
        if prior == "sizes":
            return np.asarray(-log_number)
    elif isinstance(prior, tuple | list) and len(prior) == 2 and prior[0] == "poisson":
        mean = prior[1]
        if isinstance(mean, float | int | np.number) and 0 < mean < math.inf:
            return np.asarray(sizes * np.log(mean) - gammaln(sizes + 1) - log_number)
    elif callable(prior):
        return _by_function(prior, sizes) - log_number
    msg = (
        f"subset_prior={prior!r} is not 'sizes', 'subsets', ('poisson', mean) with a mean above "
        "0, or a function of the size."
    )
    raise ValueError(msg)


def _by_function(prior: Callable[[int], float], sizes: Any) -> FloatArray:
    values = np.array([float(prior(int(k))) for k in sizes])
    if not (np.all(np.isfinite(values)) and np.all(values >= 0) and np.any(values > 0)):
        msg = "a prior function must return finite numbers of 0 or more, not all of them 0."
        raise ValueError(msg)
    possible = np.flatnonzero(values)
    if np.any(np.diff(possible) > 1):
        msg = (
            "the prior is 0 for sizes between possible ones, which a chain that adds and deletes "
            "one feature at a time cannot cross."
        )
        raise ValueError(msg)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values))


# --------------------------------------------------------------------------------------------------
# Scores of subsets: what naive Bayes on some of the features is worth
#
# Sums over features, so that a step costs an addition:
#
# * ``"marginal_likelihood"``: log Bayes factor of the subset, parameters integrated out. A feature
#   inside has a distribution of its own in each class, one outside the same in all: the sum is of
#   log P(column | class by class) - log P(column | classes together), so that subsets of all sizes
#   speak of the same data.
# * ``"bhattacharyya"``: the distance between two classes, which is a sum where features are
#   independent in each; with more classes the mean over pairs.
#
# Scores that look at all cases, so that a step costs a pass over one column or two:
#
# * ``"conditional_likelihood"``: sum of log P(class | features in the subset);
# * ``"accuracy"``: 1 - error rate, the paper's; ``"brier"``: 1 - half the mean squared error,
#   summed over classes; of two classes 1 - the Brier score.
# --------------------------------------------------------------------------------------------------


Score = Literal[
    "marginal_likelihood", "conditional_likelihood", "accuracy", "brier", "bhattacharyya"
]

SUMS = ("marginal_likelihood", "bhattacharyya")
OF_ROWS = {"conditional_likelihood": LIKELIHOOD, "accuracy": ACCURACY, "brier": BRIER}
KINDS = {
    "marginal_likelihood": LOG,
    "conditional_likelihood": LOG,
    "accuracy": SHARE,
    "brier": SHARE,
    "bhattacharyya": DISTANCE,
}

_LARGEST = 75.0
"""What a level may add to log-odds for factors to be multiplied, two at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class SubsetScore:
    """How subsets are scored.

    Attributes
    ----------
    name : str
        Which score it is.
    kind : int
        What kind of number (`problem.LOG`, ...).
    values : ndarray of shape (p,), optional
        Of each feature, where the score is a sum.
    rows : ScoredRows, optional
        Cases, where the score looks at them.
    function : callable, optional
        Of the user: given the columns of a subset, its score.
    base : float
        Score of the empty subset, where the score is a sum.
    """

    name: str
    kind: int
    values: FloatArray | None = None
    rows: ScoredRows | None = None
    function: Any = None
    base: float = 0.0

    def of(self, columns: IntArray) -> float:
        """Return the score of one subset, directly."""
        from honestbayes.models.subsets.kernels import _change, score_of_rows

        if self.function is not None:
            return float(self.function(columns))
        if self.values is not None:
            return self.base + float(np.sum(self.values[columns]))
        assert self.rows is not None
        margin = self.rows.margin.copy()
        for j in columns:
            _change(self.rows, margin, int(j), 1.0, margin)
        return float(score_of_rows(margin, self.rows.score))


def log_bayes_factors(counts: LevelCounts, smoothing: float) -> FloatArray:
    """Return how much likelier each column is with a distribution for each class, in logs.

    Each level has a Dirichlet parameter of ``smoothing``; of a column of texts the levels are those
    that training has seen. Missing cells are left out.
    """
    observed = counts.slots.copy()
    observed[counts.first] = 0.0
    seen = np.add.reduceat(observed.any(axis=1).astype(np.int64), counts.first)
    n_levels = np.where(counts.is_open, np.maximum(seen, 2), counts.n_levels)

    def log_marginal(table: FloatArray) -> FloatArray:
        """Sum over classes of the Dirichlet-multinomial log probability of each column."""
        cells = np.add.reduceat(gammaln(table + smoothing) - gammaln(smoothing), counts.first)
        whole = smoothing * n_levels
        sums = np.add.reduceat(table, counts.first)
        return np.asarray((cells + gammaln(whole)[:, None] - gammaln(sums + whole[:, None])).sum(1))

    return log_marginal(observed) - log_marginal(observed.sum(axis=1, keepdims=True))


def bhattacharyya(counts: LevelCounts, smoothing: float) -> FloatArray:
    """Return the distance between classes that each column adds, the mean over pairs of classes."""
    log_p = counts.log_likelihood(smoothing)
    is_level = np.ones(log_p.shape[0], dtype=bool)
    is_level[counts.first] = False
    total = np.zeros(counts.first.size)
    pairs = list(combinations(range(log_p.shape[1]), 2))
    for a, b in pairs:
        overlap = np.where(is_level, np.exp(0.5 * (log_p[:, a] + log_p[:, b])), 0.0)
        total -= np.log(np.minimum(np.add.reduceat(overlap, counts.first), 1.0))
    return total / len(pairs)


def rows_of(
    coded: Coded,
    labels: AnyArray,
    fold: IntArray,
    counts: list[LevelCounts],
    smoothing: float,
    score: int,
) -> ScoredRows:
    """Return cases as the conditional scores look at them.

    Parameters
    ----------
    coded : Coded
        Cells of the rows that are judged.
    labels : ndarray of int of shape (n,)
        Their classes.
    fold : ndarray of int of shape (n,)
        Which of the counts are the row's: those that have not seen it, where folds are held out.
    counts : list of LevelCounts
        What parameters are learned from.
    smoothing : float
        What each level is given more.
    score : int
        Which score.
    """
    n_classes = counts[0].classes.size
    by_class = np.stack([one.log_likelihood(smoothing) for one in counts])
    priors = np.stack([one.log_prior() for one in counts])
    others = [[c for c in range(n_classes) if c != own] for own in range(n_classes)]
    gains = [
        [by_class[:, :, c] - by_class[:, :, own] for c in others[own]] for own in range(n_classes)
    ]
    log_table = np.ascontiguousarray(np.moveaxis(np.array(gains), 2, 0))
    prior = np.array(
        [[priors[:, c] - priors[:, own] for c in others[own]] for own in range(n_classes)]
    )
    margin = np.ascontiguousarray(np.moveaxis(prior, 2, 0)[fold, labels])
    near = n_classes == 2 and float(np.max(np.abs(log_table), initial=0.0)) <= _LARGEST
    nothing = np.empty((0, 0, 0, 0))
    return ScoredRows(
        cells=np.asfortranarray(coded.cells),
        first=counts[0].first,
        log_table=log_table,
        table=np.exp(log_table) if near else nothing,
        inverse=np.exp(-log_table) if near else nothing,
        fold=np.asarray(fold, dtype=np.int64),
        labels=np.asarray(labels, dtype=np.int64),
        margin=margin,
        score=score,
    )


BLOCK = 100
"""Draws of one step of a chain: so many are made without a look at anything else."""

N_BATCHES = 50
"""Of each chain, from whose means the errors of inclusion probabilities are found."""

MOST_JUDGED = 20
"""Features whose inclusion is among the diagnostics: those that are known least well."""


class SubsetKernel:
    """A block of draws.

    Parameters
    ----------
    score : SubsetScore
        Of subsets.
    moves : Moves
        Proposals and prior.
    p : int
        Features.
    block : int
        Draws of each step.
    thin : int
        Proposals for each draw.
    """

    def __init__(self, score: SubsetScore, moves: Any, p: int, block: int, thin: int) -> None:
        self.score, self.moves, self.p, self.block, self.thin = score, moves, p, block, thin

    def step(self, rng: np.random.Generator, state: State) -> tuple[State, Info]:
        """Return the state after a block of draws, and the draws."""
        from honestbayes.models.subsets import kernels

        order, size = state["order"].copy(), int(state["size"])
        bits = np.zeros((self.block, -(-self.p // 8)), dtype=np.uint8)
        sizes, scores = np.zeros(self.block, dtype=np.int64), np.zeros(self.block)
        score = self.score
        given = rng, order, size, self.moves
        out = self.thin, bits, sizes, scores
        if score.function is not None:
            size = _walk_function(*given, score, *out)
        elif score.values is not None:
            size = kernels.walk_sums(*given, score.values, *out)
        else:
            size = kernels.walk_rows(*given, score.rows, *out)
        info = {"bits": bits, "size": sizes, "score": scores}
        return {"order": order, "size": np.array(size)}, info

    def form(self) -> Form:
        """Return what states and draws can be."""
        most = self.moves.log_prior.size - 1
        shape = ("n_chains", "n_draws", self.block)

        def check(state: Known, _drawn: Known, check: Check) -> None:
            whole = np.all(np.sort(state["order"], axis=1) == np.arange(self.p))
            check(bool(whole), "order", "is not a permutation of the features")

        return Form(
            state={
                "order": Counts("n_chains", self.p, high=self.p - 1),
                "size": Counts("n_chains", high=most),
            },
            drawn={
                "bits": Packed(*shape, -(-self.p // 8)),
                "size": Counts(*shape, high=most),
                "score": Floats(*shape, low=-LARGEST_SCORE, high=LARGEST_SCORE),
            },
            check=check,
        )


def _walk_function(
    rng: np.random.Generator,
    order: AnyArray,
    size: int,
    moves: Any,
    score: SubsetScore,
    thin: int,
    bits: AnyArray,
    sizes: AnyArray,
    scores: AnyArray,
) -> int:
    """Walk by a function of the user's; no subset of a block is scored twice."""
    from honestbayes.models.subsets import kernels

    p = order.size
    known: dict[bytes, float] = {}

    def value(columns: AnyArray) -> float:
        inside = np.sort(columns)
        key = inside.tobytes()
        if key not in known:
            known[key] = score.of(inside)
            _check_value(known[key], moves.kind)
        return known[key]

    current = value(order[:size])
    now = moves.log_prior[size] + kernels.log_weight(current, moves)
    for draw in range(sizes.size):
        for _ in range(thin):
            enters, leaves, log_ratio = kernels.propose(rng, size, p, moves)
            if enters < 0 and leaves < 0:
                continue
            prior = moves.log_prior[kernels.size_after(size, enters, leaves)]
            if prior == -np.inf:
                continue
            changed = order.copy()
            after = kernels.exchange(changed, size, enters, leaves)
            new = value(changed[:after])
            then = prior + kernels.log_weight(new, moves)
            if kernels.accepts(rng, now, then, log_ratio):
                order[:], size, current, now = changed, after, new, then
        kernels.note(order, size, bits[draw])
        sizes[draw], scores[draw] = size, current
    return size


def _check_value(value: float, kind: int) -> None:
    if not np.isfinite(value) or (kind != LOG and value < 0):
        what = "a finite number" if kind == LOG else "a finite number of 0 or more"
        msg = f"the score of a subset is {value}, and not {what}."
        raise ValueError(msg)


def starting_states(
    p: int, log_prior: FloatArray, n_chains: int, seed: np.random.SeedSequence
) -> list[State]:
    """Return subsets far from each other: the smallest, the largest, then others at random."""
    rng = np.random.default_rng(seed)
    possible = np.flatnonzero(log_prior > -np.inf)
    sizes = [possible[0], possible[-1], *rng.integers(possible[0], possible[-1] + 1, n_chains)]
    return [
        {"order": rng.permutation(p).astype(np.int64), "size": np.array(int(size))}
        for size in sizes[:n_chains]
    ]


LARGEST_SCORE = 1e100
"""Bound of scores in files: their variance has to be a number."""


@dataclass(frozen=True, slots=True, eq=False)
class SubsetDraws:
    """Subsets that were drawn.

    Attributes
    ----------
    draws : Draws
        ``bits`` of shape (chains, draws, bytes), ``size`` and ``score``.
    p : int
        Features.
    interrupted : bool
        Whether the user stopped the chains before their end.
    """

    draws: Draws
    p: int
    interrupted: bool = False

    def to_plain(self) -> Plain:
        """Return all draws as plain data."""
        return {}, dict(self.draws.values)

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> SubsetDraws:
        """Return the draws in a file, of subsets of ``n_features_in`` features."""
        p = known["n_features_in"]
        shape = ("n_chains", "n_draws")
        fields: dict[str, Field] = {
            "bits": Packed(*shape, -(-p // 8)),
            "size": Counts(*shape, high=p),
            "score": Floats(*shape, low=-LARGEST_SCORE, high=LARGEST_SCORE),
        }
        draws = draws_from_plain(fields, entries, {})
        sizes = np.unpackbits(draws["bits"], axis=2, count=p).sum(axis=2)
        entries.check(np.array_equal(sizes, draws["size"]), "size", "is not that of the subsets")
        return cls(draws, p)

    def masks(self, draws: Draws | None = None) -> BoolArray:
        """Return which features each draw holds, shape (all draws, p)."""
        bits = (self.draws if draws is None else draws).pooled("bits")
        return np.unpackbits(bits, axis=1, count=self.p).astype(bool)

    def inclusion(self) -> tuple[FloatArray, FloatArray]:
        """Return the share of draws with each feature, and its Monte Carlo standard error.

        The error is that of means of batches, of all chains together, so that chains which
        disagree show.
        """
        n_chains, n_draws, _ = self.draws["bits"].shape
        n_batches = min(N_BATCHES, n_draws)
        length = n_draws // n_batches
        means = np.empty((n_chains * n_batches, self.p))
        for c in range(n_chains):
            for b in range(n_batches):
                stop = n_draws if b == n_batches - 1 else (b + 1) * length
                bits = self.draws["bits"][c, b * length : stop]
                means[c * n_batches + b] = np.unpackbits(bits, axis=1, count=self.p).mean(axis=0)
        each = means.reshape(n_chains, n_batches, self.p)
        within = each.var(axis=(0, 1), ddof=1) if means.shape[0] > 1 else np.full(self.p, np.nan)
        error = np.sqrt(within / means.shape[0])
        if n_chains > 1:
            error = np.maximum(error, each.mean(axis=1).std(axis=0, ddof=1) / np.sqrt(n_chains))
        return means.mean(axis=0), error

    def most_visited(self, number: int) -> list[tuple[tuple[int, ...], float]]:
        """Return the subsets that were drawn most often, and their shares of all draws."""
        bits = self.draws.pooled("bits")
        distinct, count = np.unique(bits, axis=0, return_counts=True)
        best = np.lexsort((np.arange(count.size), -count))[:number]
        masks = np.unpackbits(distinct[best], axis=1, count=self.p)
        return [
            (tuple(np.flatnonzero(mask).tolist()), float(n / len(bits)))
            for mask, n in zip(masks, count[best], strict=True)
        ]

    def diagnostics(self, names: Sequence[object]) -> Diagnostics:
        """Judge sizes, scores, and whether the features that are known least well are inside."""
        values = {name: np.asarray(self.draws[name], dtype=float) for name in ("size", "score")}
        _, error = self.inclusion()
        for j in np.argsort(-np.nan_to_num(error), kind="stable")[:MOST_JUDGED]:
            if error[j] > 0:
                byte, bit = divmod(int(j), 8)
                inside = (self.draws["bits"][:, :, byte] >> (7 - bit)) & 1
                values[f"inclusion of {names[j]}"] = inside.astype(float)
        return diagnose(values)


def run_subsets(
    score: SubsetScore,
    p: int,
    log_prior: FloatArray,
    *,
    scheme: int,
    swap: float,
    temperature: float,
    thin: int,
    sampling: Sampling,
    depends_on: tuple[Any, ...] = (),
) -> SubsetDraws:
    """Run chains over subsets.

    Parameters
    ----------
    score : SubsetScore
        Of subsets.
    p : int
        Features.
    log_prior : ndarray of shape (most + 1,)
        Of one subset of each size.
    scheme, swap, temperature : int, float, float
        As in `problem.Moves`.
    thin : int
        Proposals for each draw.
    sampling : Sampling
        How chains are run; its schedule counts draws.
    depends_on : tuple
        What else the draws depend on, for checkpoints.
    """
    moves = Moves(log_prior, scheme, float(swap), score.kind, float(temperature), score.base)
    block = min(BLOCK, sampling.schedule.n_draws)
    draws, interrupted = sample_in_blocks(
        SubsetKernel(score, moves, p, block, thin),
        lambda seed: starting_states(p, log_prior, sampling.n_chains, seed),
        sampling,
        block,
        *depends_on,
        score.name,
        *moves,
        thin,
        block,
        agree=lambda draws: SubsetDraws(draws, p, False).diagnostics(range(p)).agree(),
    )
    return SubsetDraws(draws, p, interrupted)


# --------------------------------------------------------------------------------------------------
# Settings
# --------------------------------------------------------------------------------------------------


PROPOSALS = {"uniform": UNIFORM, "two_step": TWO_STEP}


@dataclass(frozen=True, slots=True, kw_only=True)
class SubsetSettings:
    """Validated choices: score, prior, proposals and chains."""

    objective: Any
    log_score: bool
    log_prior: FloatArray
    scheme: int
    swap: float
    temperature: float
    smoothing: float
    thin: int
    sampling: Sampling

    def run(
        self,
        coded: Coded,
        labels: AnyArray,
        fold: IntArray,
        counts: list[LevelCounts],
    ) -> SubsetDraws:
        """Score subsets and run the chains.

        Parameters
        ----------
        coded, labels, fold : Coded, ndarray, ndarray
            Rows that are judged, where the score looks at rows.
        counts : list of LevelCounts
            Of all training rows first; where folds are held out, of each fold's others after it.
        """
        p = coded.n_levels.size
        score = self._score(coded, labels, fold, counts)
        return run_subsets(
            score,
            p,
            self.log_prior,
            scheme=self.scheme,
            swap=self.swap,
            temperature=self.temperature,
            thin=self.thin,
            sampling=self.sampling,
            depends_on=(coded.cells, np.asarray(labels), np.asarray(fold), self.smoothing),
        )

    def _score(
        self, coded: Coded, labels: AnyArray, fold: IntArray, counts: list[LevelCounts]
    ) -> SubsetScore:
        """Return the score of subsets of these rows."""
        if callable(self.objective):
            kind = LOG if self.log_score else SHARE
            return SubsetScore("a function", kind, function=self.objective)
        kind = KINDS[self.objective]
        if self.objective in OF_ROWS:
            learned, judged = (counts[:1], fold * 0) if len(counts) == 1 else (counts[1:], fold)
            rows = rows_of(coded, labels, judged, learned, self.smoothing, OF_ROWS[self.objective])
            return SubsetScore(self.objective, kind, rows=rows)
        make = log_bayes_factors if self.objective == "marginal_likelihood" else bhattacharyya
        return SubsetScore(self.objective, kind, values=make(counts[0], self.smoothing))


def subset_settings(params: Mapping[str, Any], p: int) -> SubsetSettings:
    """Validate the constructor's parameters, and return them as settings."""
    objective = params["objective"]
    if not callable(objective) and (not isinstance(objective, str) or objective not in KINDS):
        *first, last = map(repr, KINDS)
        msg = f"objective={objective!r} is not {', '.join(first)}, {last} or a function of columns."
        raise ValueError(msg)
    if params["proposal"] not in PROPOSALS:
        msg = f"proposal={params['proposal']!r} is not one of 'two_step', 'uniform'."
        raise ValueError(msg)
    swap = params["swap"]
    if not (isinstance(swap, float | int | np.number) and 0 <= swap < 1):
        msg = f"swap={swap!r} is not a share of at least 0 and below 1."
        raise ValueError(msg)
    most = p
    if params["max_features"] is not None:
        most = min(p, whole_number(params, "max_features", 1))
    given = params["thin"]
    if given is None:
        # A sum is so quick that each feature may have a turn between draws.
        given = max(1, p if objective in SUMS else p // 10)
    else:
        given = whole_number(params, "thin", 1)
    return SubsetSettings(
        objective=objective,
        log_score=bool(params.get("log_score", False)),
        log_prior=log_prior_of_subsets(params["subset_prior"], p, most),
        scheme=PROPOSALS[params["proposal"]],
        swap=float(swap),
        temperature=positive_number(params, "temperature"),
        smoothing=positive_number(params, "smoothing"),
        thin=given,
        sampling=sampling_of(params),
    )
