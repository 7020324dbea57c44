"""Chains over the coefficients of groups of patterns, and predictions from their draws."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.exceptions import ConvergenceWarning

from honestbayes.files.fields import Field, Floats
from honestbayes.models.interactions.patterns import (
    Groups,
    SinglePatterns,
    SuffixGroups,
    TableGroups,
    TooManyPatternsError,
    different_rows,
    sorted_suffixes,
)
from honestbayes.models.interactions.settings import ModelSettings
from honestbayes.sampling.chains import Info, State
from honestbayes.sampling.draws import Diagnostics, Draws
from honestbayes.sampling.form import Form
from honestbayes.sampling.runs import Sampling, sample
from honestbayes.types import AnyArray, FloatArray, IntArray

MOST_DRAWN = 1 << 27
"""Coefficients of all draws together: one gigabyte."""

_CELLS = 1 << 21
"""Linear predictors that are held at a time."""

_LARGEST = 1e15
"""Bound of log densities and coefficients in files."""


@dataclass(frozen=True, slots=True, eq=False)
class InteractionFit:
    """Groups of patterns, and draws of their coefficients.

    Attributes
    ----------
    rows : ndarray of int of shape (m, k)
        The different training rows, as codes.
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

    def predictors(self, cells: AnyArray, draws: Draws) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield linear predictors of some rows at a time, shape (rows, draws, K).

        Parameters
        ----------
        cells : ndarray of int of shape (n, p)
            Codes; -1 for missing cells and for levels that training has not seen.
        draws : Draws
            Of this fit.
        """
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
        """Yield class probabilities of some rows at a time, shape (rows, draws, C)."""
        for rows, f in self.predictors(cells, draws):
            if f.shape[2] == 1:
                second = expit(f[..., 0])
                yield rows, np.stack([1.0 - second, second], axis=2)
            else:
                yield rows, softmax(f, axis=2)

    def log_proba(self, cells: AnyArray) -> FloatArray:
        """Return log P(class | x), averaged over draws, shape (n, C)."""
        n_classes = self.draws["s"].shape[2]
        result = np.empty((cells.shape[0], max(n_classes, 2)))
        for rows, value in self.probabilities(cells, self.draws):
            result[rows] = value.mean(axis=1)
        # Draws may be surer than floating point is; no class is impossible.
        result = np.maximum(result, 1e-300)
        return np.asarray(np.log(result / result.sum(axis=1, keepdims=True)))


def find_groups(
    cells: AnyArray, order: int, *, suffixes: bool, compress: bool = True
) -> tuple[AnyArray, Groups, IntArray]:
    """Find different rows and their groups of patterns, and which of the rows each case is."""
    rows, which = (sorted_suffixes if suffixes else different_rows)(cells)
    groups = SuffixGroups.of(rows, order) if suffixes else TableGroups.of(rows, order)
    return rows, (groups if compress else SinglePatterns.of(groups)), which


def make_problem(groups: Groups, target: FloatArray, size: FloatArray, settings: Any) -> Any:
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
    """
    from honestbayes.models.interactions.likelihood import Problem

    orders = [np.flatnonzero(column) for column in groups.counts.T]
    return Problem(
        start=groups.start,
        cases=groups.cases,
        counts=np.ascontiguousarray(groups.counts),
        order_start=np.cumsum([0, *(found.size for found in orders)]),
        order_groups=np.concatenate(orders),
        target=np.ascontiguousarray(target, dtype=float),
        size=np.asarray(size, dtype=float),
        spread=settings.spread,
        priors=settings.width_priors(groups.order),
        noise=np.asarray(settings.noise_prior, dtype=float),
        is_cauchy=settings.is_cauchy,
        n_width_updates=settings.n_width_updates,
    )


class InteractionKernel:
    """Some sweeps over coefficients and widths.

    Parameters
    ----------
    problem : Problem
        From `make_problem`.
    n_sweeps : int, default=1
        Sweeps of each step.
    """

    def __init__(self, problem: Any, n_sweeps: int = 1) -> None:
        self.problem = problem
        self.n_sweeps = n_sweeps

    def step(self, rng: np.random.Generator, state: State) -> tuple[State, Info]:
        """Return the state after a step, and what predictions and summaries need of it."""
        from honestbayes.models.interactions import kernels
        from honestbayes.models.interactions.likelihood import log_likelihood, predictors

        s, log_sigma = state["s"].copy(), state["log_sigma"].copy()
        noise = float(state["noise"])
        for _ in range(self.n_sweeps):
            noise = kernels.sweep(rng, s, log_sigma, noise, self.problem)
        problem = self.problem
        f = predictors(s, problem.start, problem.cases, problem.size.size)
        info = {
            "s": s,
            "log_sigma": log_sigma,
            "log_likelihood": log_likelihood(f, problem, noise),
            **{f"log_sigma_{o}": log_sigma[o] for o in np.flatnonzero(problem.priors[:, 0])[:3]},
        }
        if self.has_noise:
            info["noise"] = noise
        return {"s": s, "log_sigma": log_sigma, "noise": np.array(noise)}, info

    @property
    def has_noise(self) -> bool:
        """Whether there is a response with noise."""
        return bool(self.problem.noise[0] > 0)

    def form(self) -> Form:
        """Return what states and draws can be."""
        from honestbayes.models.interactions.likelihood import HIGHEST, LOWEST

        problem = self.problem
        n_classes, n_groups = problem.target.shape[0], problem.start.size - 1
        n_orders = problem.counts.shape[1]
        return Form(
            state={
                "s": Floats("n_chains", n_classes, n_groups, low=-_LARGEST, high=_LARGEST),
                "log_sigma": Floats("n_chains", n_orders, low=LOWEST, high=HIGHEST),
                "noise": Floats("n_chains", low=1e-300, high=1e300),
            },
            drawn=draw_fields(
                n_classes,
                n_groups,
                n_orders,
                names=tuple(f"log_sigma_{o}" for o in np.flatnonzero(problem.priors[:, 0])[:3]),
                has_noise=self.has_noise,
            ),
            sizes={},
        )


def draw_fields(
    n_classes: int | str,
    n_groups: int | str,
    n_orders: int | str,
    *,
    names: tuple[str, ...],
    has_noise: bool,
) -> dict[str, Field]:
    """Return how draws stand in files."""
    shape = ("n_chains", "n_draws")
    fields: dict[str, Field] = {
        "s": Floats(*shape, n_classes, n_groups, low=-_LARGEST, high=_LARGEST),
        "log_sigma": Floats(*shape, n_orders, low=-20.0, high=40.0),
        **{
            name: Floats(*shape, low=-_LARGEST, high=_LARGEST)
            for name in ("log_likelihood", *names)
        },
    }
    if has_noise:
        fields["noise"] = Floats(*shape, low=1e-300, high=1e300)
    return fields


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
    drawn = (
        sampling.n_chains * sampling.schedule.n_samples * target.shape[0] * groups.counts.shape[0]
    )
    if drawn > MOST_DRAWN:
        msg = (
            f"draws of {groups.counts.shape[0]:,} coefficients of {target.shape[0]} classes would "
            f"be {drawn:,} numbers; lower order, n_samples or n_chains."
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
    return InteractionFit(rows, groups, draws, settings.is_cauchy, seed, interrupted)


def warn_of_problems(fit: InteractionFit, stacklevel: int) -> Diagnostics:
    """Warn where chains are not to be trusted, and return what is known of them."""
    diagnostics = fit.draws.diagnostics()
    problems = diagnostics.problems()
    if problems and not fit.interrupted:
        warnings.warn(
            f"{'; '.join(problems)}. Probabilities may be off: raise n_warmup or n_samples.",
            ConvergenceWarning,
            stacklevel=stacklevel + 1,
        )
    return diagnostics
