"""A two-component mixture of binary features after selection: chains and predictions.

Equations 2.56 to 2.76 of the thesis: the response is one more binary column, each component has its
own probabilities of a one, and the event that other features were discarded multiplies the
conditionals of the labels and of alpha.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logsumexp

from honestbayes.correction.mixture_table import MixtureTable, mixture_table
from honestbayes.files.fields import Bits, Counts, Field, Floats, Known, Weights
from honestbayes.files.records import Check
from honestbayes.likelihood.quadrature import paper_alpha_nodes
from honestbayes.models.binary.selected import renumbered
from honestbayes.models.mixture.settings import MixtureSettings
from honestbayes.sampling.chains import Info, State
from honestbayes.sampling.draws import Draws
from honestbayes.sampling.form import Form
from honestbayes.selection import DiscardedGroup, Selection
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from honestbayes.models.mixture.kernels import Problem

NUMBERS = ("log_alpha", "log_alpha_0", "log_posterior")
"""Numbers that tell whether chains agree; swapping the components' names leaves them alone."""

BY_DESIGN = "log_alpha_by_design"
"""One more, where features are kept by design."""

_CHUNK_CELLS = 1 << 22

_THETAS = (1e-30, 1 - 1e-16)
"""Thetas in checkpoints: products of several times alpha must not vanish, and no chain is nearer to
0 or 1."""

_LARGEST = 1e12
"""Of logarithms in files: far beyond any that chains draw."""


def make_problem(
    cells: AnyArray,
    selection: Selection,
    settings: MixtureSettings,
    table: MixtureTable | None = None,
    *,
    labels_are_fixed: bool = False,
) -> Problem:
    """Put data and priors into the form that kernels take.

    Parameters
    ----------
    cells : ndarray of int8 of shape (n, 1 + k)
        Response and kept features, in the order of ``selection.columns``; 2 is missing.
    selection : Selection
        What was kept and discarded.
    settings : MixtureSettings
        Choices of the user.
    table : MixtureTable, optional
        From `event_table`, where it is there already.
    labels_are_fixed : bool, default=False
        Whether labels stay what they are at the start.
    """
    from honestbayes.models.mixture import kernels

    table = event_table(selection, settings) if table is None else table
    n_race = len(selection.kept)
    blocks = np.full(cells.shape[1], kernels.BY_DESIGN, dtype=np.int64)
    blocks[0], blocks[1 : 1 + n_race] = kernels.RESPONSE, kernels.RACE
    priors = [settings.response_prior, settings.alpha_prior]
    if selection.always_kept:
        priors.append(settings.alpha_prior)
    quantiles = [paper_alpha_nodes(prior, settings.n_alpha or 0) for prior in priors]
    return kernels.Problem(
        np.ascontiguousarray(cells, dtype=np.int8),
        blocks,
        np.array(settings.pseudocounts),
        np.array([(prior.shape, prior.rate) for prior in priors]),
        np.log(np.stack(quantiles)),
        np.array(settings.theta_range),
        labels_are_fixed,
        table.arrays,
    )


def event_table(selection: Selection, settings: MixtureSettings) -> MixtureTable:
    """Return the table of log P(S); of nothing, where nothing is conditioned on.

    A discarded feature with missing cells is taken for a complete one: which of its cells are
    missing, and so the labels behind the others, would matter. One without any cell of a class
    says nothing, and does not count.
    """
    selection = renumbered(selection)
    groups = [group for group in selection.groups if min(group.observed) > 0]
    n_discarded = sum(group.n_discarded for group in groups)
    merged: tuple[DiscardedGroup, ...] = ()
    if settings.correct and n_discarded:
        # A complete feature cannot be tied where those with missing cells are; at 0 all are tied.
        complete = [group for group in groups if group.observed == selection.class_counts]
        n_tied = sum(group.n_tied for group in complete)
        if selection.gamma_squared == 0:
            n_tied = n_discarded
        merged = (DiscardedGroup(selection.class_counts, n_discarded, n_tied),)
    width = len(selection.columns) + sum(group.n_discarded for group in merged)
    return mixture_table(
        replace(selection, groups=merged, n_features_in=width), settings.theta_range
    )


def missing_share(selection: Selection) -> float:
    """Return the share of missing cells among the discarded features that say something."""
    groups = [group for group in selection.groups if min(group.observed) > 0]
    cells = sum(group.n_discarded for group in groups) * sum(selection.class_counts)
    there = sum(group.n_discarded * sum(group.observed) for group in groups)
    return 1 - there / cells if cells else 0.0


class MixtureKernel:
    """Some sweeps over labels, thetas and alphas.

    Parameters
    ----------
    problem : Problem
        From `make_problem`.
    n_sweeps : int, default=1
        Sweeps of each step.
    """

    def __init__(self, problem: Problem, n_sweeps: int = 1) -> None:
        self.problem = problem
        self.n_sweeps = n_sweeps

    def step(self, rng: np.random.Generator, state: State) -> tuple[State, Info]:
        """Return the state after a step, and all that predictions and summaries need of it."""
        from honestbayes.correction.mixture_kernels import chain_work
        from honestbayes.models.mixture import kernels

        labels, log_alpha, theta = (state[name].copy() for name in ("z", "log_alpha", "theta"))
        work = chain_work(self.problem.table)
        for _ in range(self.n_sweeps):
            log_posterior = kernels.sweep(rng, labels, log_alpha, theta, self.problem, work)
        psi, phi = np.empty(2), np.empty((2, theta.size))
        kernels.predictive(labels, log_alpha, theta, self.problem, psi, phi)
        info = {
            "log_alpha": log_alpha[kernels.RACE],
            "log_alpha_0": log_alpha[kernels.RESPONSE],
            "log_posterior": log_posterior,
            "psi": psi,
            "phi": phi,
            "z": labels.astype(np.uint8),
        }
        if log_alpha.size > kernels.BY_DESIGN:
            info[BY_DESIGN] = log_alpha[kernels.BY_DESIGN]
        return {"z": labels, "log_alpha": log_alpha, "theta": theta}, info

    def form(self) -> Form:
        """Return what states and draws can be."""
        from honestbayes.models.mixture import kernels

        problem = self.problem
        n_cases, width = problem.cells.shape
        n_blocks = problem.priors.shape[0]
        low, high = kernels.LOG_ALPHAS
        if problem.grid.size:
            low, high = float(problem.grid.min()), float(problem.grid.max())
        lowest, highest = np.clip(problem.theta_range, *_THETAS).tolist()
        return Form(
            state={
                "z": Counts("n_chains", n_cases, high=1),
                "log_alpha": Floats("n_chains", n_blocks, low=low, high=high),
                "theta": Floats("n_chains", width, low=lowest, high=highest),
            },
            drawn=draw_fields(by_design=n_blocks > kernels.BY_DESIGN),
            sizes={"n_cases": n_cases, "n_columns": width - 1},
            check=self._check,
        )

    def _check(self, state: Known, drawn: Known, check: Check) -> None:
        """Refuse labels that are not the classes where they have to be, and draws of a file."""
        if self.problem.labels_are_fixed:
            check(np.all(state["z"] == self.problem.cells[:, 0]), "z", "is not the classes")
        if drawn:
            check_draws(drawn, check)


def draw_fields(*, by_design: bool) -> dict[str, Field]:
    """Return how draws stand in files; what features kept by design add is there with them."""
    numbers = (*NUMBERS, BY_DESIGN) if by_design else NUMBERS
    shape = ("n_chains", "n_draws")
    return {
        "psi": Weights(*shape, 2),
        "phi": Floats(*shape, 2, "n_columns+1", low=0.0, high=1.0),
        "z": Bits(*shape, "n_cases"),
        **{name: Floats(*shape, low=-_LARGEST, high=_LARGEST) for name in numbers},
    }


def check_draws(drawn: Mapping[str, AnyArray], check: Check) -> None:
    """Refuse probabilities of 0 and 1, whose logarithms predictions take."""
    phi = drawn["phi"]
    check(np.all(drawn["psi"] > 0), "psi", "holds a component without cases")
    check(np.all((phi > 0) & (phi < 1)), "phi", "is not strictly between 0 and 1")


def starting_states(
    problem: Problem, n_chains: int, rng: np.random.Generator
) -> list[dict[str, AnyArray]]:
    """Return states far from each other: labels that are the classes, random, or all the same."""
    n, width = problem.cells.shape
    states = []
    for c in range(n_chains):
        labels = (
            problem.cells[:, 0].astype(np.int64),
            rng.integers(0, 2, n),
            np.zeros(n, dtype=np.int64),
        )[0 if problem.labels_are_fixed else c % 3]
        n_blocks = problem.priors.shape[0]
        log_alpha = np.asarray(rng.uniform(1.0, 6.0, n_blocks))
        if problem.grid.size:
            log_alpha = problem.grid[
                np.arange(n_blocks), rng.integers(0, problem.grid.shape[1], n_blocks)
            ]
        low, high = problem.theta_range.tolist()
        theta = rng.uniform(low, high, width)
        states.append({"z": labels, "log_alpha": log_alpha, "theta": theta})
    return states


def log_joint(draws: Draws, ones: AnyArray, missing: BoolArray | None) -> FloatArray:
    """Return log P(x, class | training data), shape (n, 2): equation 2.68, averaged over draws.

    Parameters are those of `log_joint_draws`.
    """
    n_draws = draws.n_pooled
    step = max(1, _CHUNK_CELLS // (4 * n_draws))
    result = np.empty((ones.shape[0], 2))
    for first in range(0, ones.shape[0], step):
        rows = slice(first, first + step)
        hidden = None if missing is None else missing[rows]
        result[rows] = logsumexp(log_joint_draws(draws, ones[rows], hidden), axis=0)
    return np.asarray(result - np.log(n_draws))


def log_joint_draws(draws: Draws, ones: AnyArray, missing: BoolArray | None) -> FloatArray:
    """Return log P(x, class | draw), shape (D, n, 2).

    Parameters
    ----------
    draws : Draws
        With psi, shape (chains, draws, 2), and phi, shape (chains, draws, 2, 1 + k).
    ones : ndarray of shape (n, k)
        Kept features as 0/1.
    missing : ndarray of bool of shape (n, k), or None
        Cells that are not there.
    """
    psi, phi = draws.pooled("psi"), draws.pooled("phi")
    there = np.ones(ones.shape) if missing is None else (~missing).astype(float)
    x = ones * there
    log_one, log_zero = np.log(phi[..., 1:]), np.log1p(-phi[..., 1:])
    given_z = np.stack([log_one[:, z] @ x.T + log_zero[:, z] @ (there - x).T for z in (0, 1)])
    given_z += np.log(psi).T[:, :, None]  # component, draw, case
    log_class = np.log([1 - phi[..., 0], phi[..., 0]])  # class, draw, component
    joint = [
        np.logaddexp(given_z[0] + log_class[c, :, :1], given_z[1] + log_class[c, :, 1:])
        for c in (0, 1)
    ]
    return np.stack(joint, axis=2)


def log_class_prior(draws: Draws) -> FloatArray:
    """Return log P(class | training data) of a case of which nothing is known, shape (2,)."""
    psi, phi = draws.pooled("psi"), draws.pooled("phi")
    positive = float((psi * phi[:, :, 0]).sum(axis=1).mean())
    return np.asarray(np.log([1.0 - positive, positive]))


def orientation(draws: Draws) -> IntArray:
    """Return, for each draw, the component in which class 1 is the more frequent."""
    of_class = draws.pooled("phi")[:, :, 0]
    return np.asarray((of_class[:, 1] >= of_class[:, 0]).astype(np.int64))


def component_draws(draws: Draws, names: Sequence[str] = ("psi", "phi")) -> dict[str, Any]:
    """Return draws with components named alike in all of them: the second has more of class 1."""
    second = orientation(draws)
    rows = np.arange(second.size)
    result: dict[str, Any] = {}
    for name in names:
        value = draws.pooled(name)
        result[name] = np.stack([value[rows, 1 - second], value[rows, second]], axis=1)
    labels = draws.pooled("z")
    result["z"] = np.where(second[:, None] == 1, labels, 1 - labels)
    return result
