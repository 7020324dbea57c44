"""A mixture of three components and three classes small enough for enumeration: six cases."""

import itertools
from fractions import Fraction

import numpy as np
from oracles_components import log_classes, log_column, log_labels, log_selection
from scipy.special import logsumexp, poch

from honestbayes.likelihood.quadrature import AlphaPrior
from honestbayes.models.mixture.general import GeneralSettings, make_problem, make_surface
from honestbayes.selection import Selection
from honestbayes.selection.record import DiscardedGroup

Y = np.array([0, 0, 1, 1, 2, 2])
X = np.array([[0], [1], [1], [1], [0], [1]])
COUNTS = (2, 2, 2)
N_COMPONENTS = 3
PSEUDOCOUNTS = (0.5, 2.0, 1.0)
BOUND = Fraction(1, 5)
N_DISCARDED = 60
PRIOR = AlphaPrior(2.0, 10.0)
GRID = np.linspace(-1.0, 9.0, 121)
"""Of log(alpha): states drawn from cells of this grid are draws from the posterior, nearly."""


def selection_of(n_discarded):
    return Selection(
        "threshold" if n_discarded else "all",
        BOUND,
        (0,),
        (),
        1 + n_discarded,
        COUNTS,
        (DiscardedGroup(COUNTS, n_discarded),) if n_discarded else (),
        0,
    )


def settings(correct, pseudocounts=PSEUDOCOUNTS):
    return GeneralSettings(
        correct=correct,
        pseudocounts=pseudocounts,
        alpha_prior=PRIOR,
        response_prior=PRIOR,
        theta_range=(0.0, 1.0),
    )


def small_problem(correct):
    chosen = selection_of(N_DISCARDED if correct else 0)
    surface = make_surface(Y, X.astype(np.int8), chosen, settings(correct))
    return make_problem(Y, X, chosen, settings(correct), surface.arrays), surface


def table_of(z):
    return tuple(
        tuple(int(np.sum((z == k) & (c == Y))) for c in range(3)) for k in range(N_COMPONENTS)
    )


def log_prior(log_alpha):
    return -PRIOR.shape * log_alpha - PRIOR.rate * np.exp(-log_alpha)


class ExactPosterior:
    """The posterior of labels and both alphas, by enumeration of the labels.

    Parameters
    ----------
    correct : bool
        Whether the selection is conditioned on.
    log_prob : callable, optional
        log P(S) of a table at all alphas of the grid; by default from all columns.
    """

    def __init__(self, correct, log_prob=None):
        self.states = np.array(list(itertools.product(range(N_COMPONENTS), repeat=Y.size)))
        of_table, of_columns = {}, {}
        alphas = np.exp(GRID)
        logs = []
        for z in self.states:
            table = table_of(z)
            alike = tuple(sorted(table))
            if alike not in of_table:
                chosen = np.zeros(GRID.size)
                if correct and log_prob is None:
                    chosen = log_selection(alike, COUNTS, alphas, BOUND, N_DISCARDED)
                elif correct:
                    chosen = log_prob(alike)
                of_table[alike] = log_classes(alike, alphas) + log_prior(GRID), chosen
            ones = [int(X[z == k].sum()) for k in range(N_COMPONENTS)]
            zeros = [int((1 - X[z == k]).sum()) for k in range(N_COMPONENTS)]
            key = tuple(sorted(zip(ones, zeros, strict=True)))
            if key not in of_columns:
                of_columns[key] = log_column(ones, zeros, alphas)
            response, chosen = of_table[alike]
            feature = of_columns[key] + chosen + log_prior(GRID)
            logs.append((log_labels(z, PSEUDOCOUNTS), response, feature))
        self.parts = logs
        total = np.array([a + logsumexp(b) + logsumexp(c) for a, b, c in logs])
        self.weights = np.exp(total - logsumexp(total))

    def draw(self, rng):
        """Draw a state of the sampler."""
        index = rng.choice(len(self.states), p=self.weights)
        z = self.states[index]
        _, response, feature = self.parts[index]
        step = GRID[1] - GRID[0]
        log_alpha = []
        for logs in (response, feature):
            at = rng.choice(GRID.size, p=np.exp(logs - logsumexp(logs)))
            log_alpha.append(GRID[at] + step * (rng.random() - 0.5))
        log_alpha_0, log_alpha = log_alpha
        return {
            "z": z.astype(np.int64),
            "log_alpha": np.array([log_alpha_0, log_alpha]),
            "theta": np.array([self._theta(rng, z, np.exp(log_alpha))]),
            "theta_class": self._theta_class(rng, z, np.exp(log_alpha_0)),
        }

    def _theta(self, rng, z, alpha):
        grid = (np.arange(2000) + rng.random()) / 2000
        density = np.ones(grid.size)
        for k in range(N_COMPONENTS):
            ones, zeros = int(X[z == k].sum()), int((1 - X[z == k]).sum())
            density *= poch(alpha * grid, ones) * poch(alpha * (1 - grid), zeros)
        return rng.choice(grid, p=density / density.sum())

    def _theta_class(self, rng, z, alpha_0):
        table = np.array(table_of(z))
        # By rejection from the uniform distribution: densities are largest at the best of many.
        tried = rng.dirichlet(np.ones(3), size=4000)
        density = np.prod([poch(alpha_0 * tried, row).prod(axis=1) for row in table], axis=0)
        return tried[rng.choice(len(tried), p=density / density.sum())]
