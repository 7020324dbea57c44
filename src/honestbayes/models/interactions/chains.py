"""Chains over the coefficients of groups of patterns and the widths of their priors."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from honestbayes.files.fields import Floats
from honestbayes.models.interactions.donors import learn_mismatch
from honestbayes.models.interactions.fit import (
    LARGEST_IN_FILES,
    SHOWN,
    InteractionFit,
    draw_fields,
    find_groups,
)
from honestbayes.models.interactions.patterns import Groups, TooManyPatternsError, binomials
from honestbayes.models.interactions.settings import InteractionSettings, ModelSettings
from honestbayes.models.shared.parameters import check_checkpoint
from honestbayes.sampling.chains import Info, State
from honestbayes.sampling.draws import Diagnostics
from honestbayes.sampling.form import Form
from honestbayes.sampling.runs import Sampling, sample
from honestbayes.types import AnyArray, FloatArray

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
    from honestbayes.models.interactions.joint import ROWS, SLICES, TREE, agreement, nest
    from honestbayes.models.interactions.likelihood import Problem

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
            msg = "groups overlap, so they are no tree."
            raise ValueError(msg)
    agree = np.zeros((0, 0), dtype=np.uint16)
    if way == ROWS and not settings.is_cauchy:
        agree = agreement(groups.start, groups.cases, groups.counts, n)
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
        way=way,
        down=down,
        parent=parent,
        within=within,
        agree=agree,
        choose=binomials(int(agree.max(initial=0)), groups.order),
    )


def fastest_way(n: int, n_groups: int, *, is_nested: bool) -> int:
    """Return how normal coefficients, or those of a response, are drawn at once, if they are."""
    from honestbayes.models.interactions.joint import GROUPS, ROWS, SLICES, TREE

    if is_nested:
        return TREE
    if min(n, n_groups) > MOST_TOGETHER:
        return SLICES
    return ROWS if n <= n_groups else GROUPS


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
        from honestbayes.models.interactions import kernels, normal
        from honestbayes.models.interactions.joint import SLICES, TREE
        from honestbayes.models.interactions.likelihood import log_likelihood, predictors

        s, log_sigma = state["s"].copy(), state["log_sigma"].copy()
        noise = float(state["noise"])
        problem = self.problem
        for sweep in range(self.n_sweeps):
            # Systems of equations take longer than slices, so the others of a step are slices.
            together = problem.way == TREE or (problem.way != SLICES and sweep == 0)
            if problem.is_cauchy or not together:
                noise = kernels.sweep(rng, s, log_sigma, noise, problem)
            if together:
                noise = normal.sweep_together(rng, s, log_sigma, noise, problem)
        f = predictors(s, problem.start, problem.cases, problem.size.size)
        info = {
            "s": s,
            "log_sigma": log_sigma,
            "log_likelihood": log_likelihood(f, problem, noise),
            **{name: log_sigma[o] for o, name in enumerate(SHOWN[: log_sigma.size - 1], 1)},
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


def sampling_of(params: Mapping[str, Any], settings: InteractionSettings) -> Sampling:
    """Return how chains are run, of the constructor's parameters."""
    check_checkpoint(params)
    return Sampling(
        settings.schedule,
        settings.n_chains,
        np.random.SeedSequence(check_random_state(params["random_state"]).randint(2**31)),
        params["n_jobs"],
        params["checkpoint"],
        bool(params["verbose"]),
        settings.n_doublings,
    )


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
