"""Chains over subsets of features, in blocks of draws, and what they say of each feature."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from honestbayes.files.entries import Entries, Plain
from honestbayes.files.fields import Counts, Field, Floats, Known, Packed
from honestbayes.files.records import Check
from honestbayes.models.subsets.problem import LOG, Moves
from honestbayes.models.subsets.scores import SubsetScore
from honestbayes.sampling.chains import Info, Schedule, State
from honestbayes.sampling.draws import Diagnostics, Draws, diagnose, draws_from_plain
from honestbayes.sampling.form import Form
from honestbayes.sampling.runs import Sampling, sample
from honestbayes.types import AnyArray, BoolArray, FloatArray

BLOCK = 1000
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
            check(bool(whole), "order", "is no permutation of the features")

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
        what = "a finite number" if kind == LOG else "a finite number from 0 on"
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
        found, count = np.unique(bits, axis=0, return_counts=True)
        best = np.lexsort((np.arange(count.size), -count))[:number]
        masks = np.unpackbits(found[best], axis=1, count=self.p)
        return [
            (tuple(np.flatnonzero(mask).tolist()), float(n / len(bits)))
            for mask, n in zip(masks, count[best], strict=True)
        ]

    def diagnostics(self, names: tuple[str, ...]) -> Diagnostics:
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
    wanted = sampling.schedule
    block = min(BLOCK, wanted.n_samples)
    blocks = Schedule(-(-wanted.n_warmup // block), -(-wanted.n_samples // block))
    in_blocks = Sampling(
        blocks,
        sampling.n_chains,
        sampling.seed,
        sampling.n_jobs,
        sampling.checkpoint,
        sampling.verbose,
    )
    drawn, interrupted = sample(
        SubsetKernel(score, moves, p, block, thin),
        lambda seed: starting_states(p, log_prior, sampling.n_chains, seed),
        in_blocks,
        *depends_on,
        score.name,
        *(getattr(moves, word) for word in moves._fields),
        thin,
        block,
    )
    flat = {
        name: value.reshape(value.shape[0], -1, *value.shape[3:])[:, : wanted.n_samples]
        for name, value in drawn.values.items()
    }
    return SubsetDraws(Draws(flat, drawn.n_chains), p, interrupted)


def warn_of_problems(diagnostics: Diagnostics, stacklevel: int) -> None:
    """Warn where chains are not to be trusted."""
    problems = diagnostics.problems()
    if problems:
        more = f" (and {len(problems) - 3} more)" if len(problems) > 3 else ""
        warnings.warn(
            f"{'; '.join(problems[:3])}{more}. Inclusion probabilities may be off: raise n_samples "
            "or thin.",
            ConvergenceWarning,
            stacklevel=stacklevel + 1,
        )
