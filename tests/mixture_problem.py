"""A mixture small enough for enumeration: six cases, three values of alpha."""

from fractions import Fraction
from functools import cache

import numpy as np
from oracles_mixture_posterior import posterior
from scipy.special import poch

from honestbayes.likelihood.quadrature import AlphaPrior
from honestbayes.models.mixture.model import MixtureSettings, make_problem
from honestbayes.selection import Selection
from honestbayes.selection.record import DiscardedGroup

Y = (0, 0, 0, 1, 1, 1)
X = np.array([[0, 1], [0, 0], [1, 0], [1, 1], [1, 0], [1, 1]])
BOUND = Fraction(1, 2)
N_DISCARDED = 80
PRIOR = AlphaPrior(0.5, 5.0)
N_ALPHA = 3


def selection_of(n_discarded, kept=2):
    return Selection(
        "top" if n_discarded else "all",
        BOUND,
        tuple(range(kept)),
        (),
        kept + n_discarded,
        (3, 3),
        (DiscardedGroup((3, 3), n_discarded),) if n_discarded else (),
        1,
    )


def settings(correct, n_alpha=N_ALPHA, pseudocounts=(1.0, 1.0)):
    return MixtureSettings(
        correct=correct,
        pseudocounts=pseudocounts,
        alpha_prior=PRIOR,
        response_prior=PRIOR,
        theta_range=(0.0, 1.0),
        n_alpha=n_alpha,
    )


def small_problem(correct, n_alpha=N_ALPHA, pseudocounts=(1.0, 1.0), cells=None):
    cells = np.column_stack([Y, X]) if cells is None else cells
    chosen = settings(correct, n_alpha, pseudocounts)
    return make_problem(cells, selection_of(N_DISCARDED), chosen)


def exact_posterior(correct, problem, pseudocounts=(1.0, 1.0), table=X):
    alphas = np.exp(problem.grid[1]).tolist()
    more = {"bound": BOUND, "n_discarded": N_DISCARDED} if correct else {}
    return posterior(table, Y, alphas, alphas, pseudocounts=pseudocounts, **more)


GRID = np.linspace(0, 1, 4001)


@cache
def theta_distribution(column, z, alpha):
    """The distribution function of theta given a column, on a fine grid, not normalised."""
    density = np.ones(GRID.size)
    for c in (0, 1):
        cells = [x for x, label in zip(column, z, strict=True) if label == c]
        density *= poch(alpha * GRID, sum(cells)) * poch(alpha * (1 - GRID), cells.count(0))
    return np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2)])


def theta_given(rng, column, z, alpha):
    """A draw of theta given a column."""
    below = theta_distribution(tuple(column), z, alpha)
    return np.interp(rng.random() * below[-1], below, GRID)
