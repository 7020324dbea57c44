"""log P(S | labels, alpha) in a mixture with any number of components and classes.

P(S) depends on the labels only through the table of counts by component and class. It is exact at
any one table, but takes milliseconds, and there are too many tables to hold them all. So
log(-log P(S) / N) is approximated by a polynomial that is the same for all names of the components,
fitted to exact values: at tables from the prior, and then at tables that short chains visit, until
it agrees with the exact values at further ones. Where there are few tables all are held.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from honestbayes.correction.event import Event
from honestbayes.selection.correlation import equivalent_r_squared, squared_correlation
from honestbayes.threads import one_blas_thread
from honestbayes.types import FloatArray, IntArray

if TYPE_CHECKING:
    from honestbayes.correction.components_kernels import SurfaceArrays

# --------------------------------------------------------------------------------------------------
# P(strength > bound) and P(strength = bound) of one feature, exactly
#
# Given phi, the probabilities of a one in the K components, the ones in each class are sums of
# binomials, independent of the other classes. So B(phi) = P(strength > bound | phi) takes
# one-dimensional convolutions, and it is a polynomial in each phi_k of degree n_k. Interpolated
# between nodes of Chebyshev it is a sum of Lagrange polynomials l_q, and
#
#     P(strength > bound | alpha) = sum over q1, ..., qK of B(phi_q1, ..., phi_qK)
#                                   E[ product of E[l_qk(phi_k) | theta, alpha] ],
#
# where the table matters to B only and alpha to the expectations only. With n_k + 1 nodes this is
# exact. Fewer are enough for many cases: as a function of the angle arcsin(sqrt(phi)), in which
# these nodes are equidistant, B changes over 1 / sqrt(n_k).
# --------------------------------------------------------------------------------------------------

_DOUBT = 1e-9
_ROUNDED, _DIGITS = 1e-13, 12
"""Strengths of several classes are rounded to so many decimals, as in the ranking."""

_ROUNDING = 1e-15
"""Probabilities smaller than this are not told from 0."""

_NODES_MORE = 6
_FINEST = 2.5
"""Nodes of a component of n_k cases: this times sqrt(n_k), and some more."""


@dataclass(frozen=True)
class ComponentsFactor:
    """What decides the probability that one complete feature is beyond the bound.

    Attributes
    ----------
    class_counts : tuple of int
        Training cases in each class.
    gamma_squared : Fraction
        The squared bound: of the correlation for two classes, of its equivalent for more.
    interval : tuple of float
        Bounds of the uniform prior of theta.
    nodes : float
        Nodes of phi of a component of n_k cases are this times sqrt(n_k), and some more.
    """

    class_counts: tuple[int, ...]
    gamma_squared: Fraction
    interval: tuple[float, float] = (0.0, 1.0)
    nodes: float = _FINEST
    _bases: dict[tuple[int, bytes], Any] = field(default_factory=dict, repr=False)

    @cached_property
    def signs(self) -> IntArray:
        """Signs of strength - bound for all ones by class, the last class running fastest."""
        counts = np.array(self.class_counts)
        ones = np.indices(tuple(counts + 1)).reshape(counts.size, -1).T
        strength = equivalent_r_squared(np.stack([counts - ones, ones], axis=2))
        bound = float(self.gamma_squared)
        signs = np.sign(strength - bound).astype(np.int64)
        if bound == 0:
            return signs
        doubtful = np.flatnonzero(np.abs(strength - bound) <= _DOUBT * bound)
        if counts.size == 2:
            for t in doubtful.tolist():
                exact = squared_correlation(*ones[t].tolist(), *counts.tolist())
                signs[t] = (exact > self.gamma_squared) - (exact < self.gamma_squared)
        else:
            gap = np.round(strength[doubtful], _DIGITS) - bound
            signs[doubtful] = np.where(np.abs(gap) < _ROUNDED, 0, np.sign(gap))
        return signs

    @cached_property
    def ranges(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """First and last ones of the last class at most at the bound, then below it.

        Strength is a convex function of the ones over a concave one, so that whatever is at most a
        bound is convex: one range, given the ones of all other classes.
        """
        width = self.class_counts[-1] + 1
        signs = self.signs.reshape(-1, width)
        ends = []
        for inside in (signs <= 0, signs < 0):
            none = ~inside.any(axis=1)
            ends.append(np.where(none, 0, np.argmax(inside, axis=1)))
            ends.append(np.where(none, -1, width - 1 - np.argmax(inside[:, ::-1], axis=1)))
        first, last, first_below, last_below = ends
        # Where none is below the bound, all of the first range are tied with it.
        none = last_below < first_below
        return (
            first,
            last,
            np.where(none, last + 1, first_below),
            np.where(none, last, last_below),
        )

    def n_nodes(self, size: int) -> int:
        """Return the number of nodes of phi for a component of a size: one of few numbers."""
        wanted = _NODES_MORE + self.nodes * np.sqrt(size)
        rounded = int(np.ceil(1.08 ** np.ceil(np.log(wanted) / np.log(1.08))))
        return min(size + 1, rounded)

    def probabilities(self, table: IntArray, alphas: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return P(strength > bound) and P(strength = bound) of one feature, each of shape (A,).

        Parameters
        ----------
        table : ndarray of int of shape (K, C)
            Cases by component and class.
        alphas : ndarray of shape (A,)
            Values of alpha.
        """
        from honestbayes.correction.components_kernels import beyond_given_phi

        size = table.sum(axis=1)
        # The innermost convolution is that of the last component: let it be the smallest one.
        order = np.argsort(-size, kind="stable")
        table = np.ascontiguousarray(table[order][size[order] > 0], dtype=np.int64)
        sizes = np.array([self.n_nodes(n) for n in table.sum(axis=1).tolist()])
        phi = np.full((sizes.size, sizes.max()), 0.5)
        for k, q in enumerate(sizes.tolist()):
            phi[k, :q] = _chebyshev(q)
        given_phi = np.empty((2, int(np.prod(sizes))))
        beyond_given_phi(table, sizes, phi, *self.ranges, given_phi)
        theta, weight = self._theta_rule(table.shape[0])
        each = [self._expectations(q, theta, alphas) for q in sizes.tolist()]
        value = given_phi.reshape(-1, sizes[-1]) @ each[-1].T
        value = np.moveaxis(value.reshape(2, -1, each[-1].shape[0]), 2, 1)
        for k in range(sizes.size - 2, -1, -1):
            value = value.reshape(2, value.shape[1], -1, sizes[k])
            value = np.einsum("bxij,xj->bxi", value, each[k])
        beyond, tied = value.reshape(2, alphas.size, theta.size) @ weight
        return beyond, tied

    def log_prob(self, event: Event, table: IntArray, alphas: FloatArray) -> FloatArray:
        """Return log P(S) of the event, shape (A,)."""
        beyond, tied = self.probabilities(table, alphas)
        if self.gamma_squared == 0:
            beyond = np.clip(beyond, 0.0, 1.0)
            tied = 1.0 - beyond
        else:
            # Sums of rounded terms can be below 0, or above 1, by rounding, where exact
            # values are not. Ties are impossible only where no table has the strength.
            possible = bool(np.any(self.signs == 0))
            tied = np.clip(tied, _ROUNDING if possible else 0.0, 1.0)
            beyond = np.clip(beyond, 0.0, 1.0 - tied - _ROUNDING)
        return event.log_prob(beyond[:, None], tied[:, None])

    def _theta_rule(self, n_components: int) -> tuple[FloatArray, FloatArray]:
        """Return a rule over theta that is exact for the interpolated polynomial.

        E[l_q(phi) | theta] is a polynomial in theta of the degree of l_q. B is the same when zeros
        and ones swap, so that half of a symmetric interval is enough.
        """
        n = sum(self.class_counts)
        alike = n_components * (self.n_nodes(-(-n // n_components)) - 1)
        number = max(alike, self.n_nodes(n)) // 2 + 1
        nodes, weight = np.polynomial.legendre.leggauss(number)
        low, high = self.interval
        theta, weight = low + (high - low) * (nodes + 1.0) / 2.0, weight / 2.0
        if low + high == 1.0:
            half = (number + 1) // 2
            theta, weight = theta[:half], 2.0 * weight[:half]
            if number % 2:
                weight[-1] /= 2.0
        return theta, weight

    def _expectations(self, q: int, theta: FloatArray, alphas: FloatArray) -> FloatArray:
        """Return E[l_j(phi) | theta, alpha] for the q polynomials, shape (A M, q)."""
        key = (q, theta.tobytes() + alphas.tobytes())
        if key not in self._bases:
            if len(self._bases) > _MOST_BASES:
                self._bases.clear()
            largest = self.n_nodes(sum(self.class_counts))
            rule = (-largest, key[1])
            if rule not in self._bases:
                mass = np.multiply.outer(alphas, theta).ravel()
                rest = np.multiply.outer(alphas, 1.0 - theta).ravel()
                self._bases[rule] = _beta_rules(largest // 2 + 1, mass, rest)
            x, weight = self._bases[rule]
            self._bases[key] = np.einsum("xj,xjq->xq", weight, _lagrange(q, x))
        return np.asarray(self._bases[key])


_MOST_BASES = 400


def _chebyshev(q: int) -> FloatArray:
    """Return q nodes of Chebyshev in (0, 1), symmetric around 1/2."""
    return np.asarray((1.0 - np.cos(np.pi * (2 * np.arange(q) + 1) / (2 * q))) / 2.0)


def _lagrange(q: int, x: FloatArray) -> FloatArray:
    """Return the q Lagrange polynomials of Chebyshev's nodes at x, a last axis more."""
    angle = np.pi * (2 * np.arange(q) + 1) / (2 * q)
    gap = x[..., None] - _chebyshev(q)
    gap = np.where(np.abs(gap) < 1e-15, 1e-15, gap)
    terms = (-1.0) ** np.arange(q) * np.sin(angle) / gap
    return np.asarray(terms / terms.sum(axis=-1, keepdims=True))


def _beta_rules(n_nodes: int, mass: FloatArray, rest: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return Gauss's rules for Beta(mass, rest) distributions, each of shape (X, n_nodes).

    From the recurrence of Jacobi's polynomials (Golub and Welsch 1969), which needs no gamma
    functions, so that any positive parameters will do.
    """
    a, b = mass[:, None], rest[:, None]
    s, n = a + b, np.arange(n_nodes)
    with np.errstate(divide="ignore", invalid="ignore"):
        middle = 0.5 * (1.0 + (a - b) * (s - 2.0) / ((2 * n + s - 2.0) * (2 * n + s)))
        m = n[1:]
        first, second = 2 * m + s - 2.0, (2 * m + s - 1.0) * (2 * m + s - 3.0)
        square = m * (m + a - 1.0) * (m + b - 1.0) * (m + s - 2.0) / (first**2 * second)
    # The general terms are 0 / 0 at the start.
    middle[:, 0] = (a / s)[:, 0]
    square[:, :1] = a * b / (s**2 * (s + 1.0))
    matrix = np.zeros((mass.size, n_nodes, n_nodes))
    matrix[:, n, n] = middle
    matrix[:, n[1:], n[:-1]] = np.sqrt(square)
    x, vectors = np.linalg.eigh(matrix)
    return np.asarray(x), np.asarray(vectors[:, 0, :] ** 2)


# --------------------------------------------------------------------------------------------------
# The approximation
# --------------------------------------------------------------------------------------------------

TOLERANCE = 0.05
"""Root mean square error of differences of log P(S) between tables that chains visit, at most."""

_ENOUGH = 0.5
"""Share of the tolerance at which no more exact values are computed."""

MATTERS = 50.0
"""A table from the prior matters if its log P(S) is below the best one by about this much."""

_FIRST_ALPHA, _STEP = 0.1, 0.25
_CEILING = 4.0  # times the number of cases
_INFINITE = 1e15
_SMALLEST_COST = 1e-13
"""Added to -log P(S) / N, so that it has a logarithm."""

_MOST_EXACT = 20_000
"""Tables, with impossible ones, up to which all values are held."""

_DESIGN = 1.2
"""Tables from the prior for each coefficient."""

_FEWEST = 150
_MOST_ROUNDS = 10
_SECONDS = 10.0
"""About what exact values at the tables from the prior may take; fewer nodes otherwise."""

_UNAFFORDABLE = 30.0
_MOST_CELLS = 2_000_000
"""Combinations of ones by class that are held."""

_TYPICAL_ALPHA = 10.0
"""At which y, a function of the table alone, is even in the variance of class differences."""

_RIDGE = 0.005
_NEAR = 0.7
"""Width, in x, of the alphas at which a visited table counts in full."""


@dataclass(frozen=True, kw_only=True)
class Surface:
    """Approximate log P(S), shared by all chains.

    Attributes
    ----------
    factor : ComponentsFactor
        What the exact values are made by.
    event : Event
        What is known of the discarded features.
    arrays : SurfaceArrays
        What kernels take.
    n_exact : int
        Tables whose exact values it was fitted to.
    """

    factor: ComponentsFactor
    event: Event
    arrays: SurfaceArrays
    n_exact: int

    @property
    def certain(self) -> bool:
        """Whether nothing is conditioned on: nothing was discarded, or must have been."""
        return self.arrays.n_discarded == 0

    def log_prob(self, tables: IntArray, alphas: FloatArray) -> FloatArray:
        """Return log P(S) of tables of shape (S, K, C), each at its alpha: shape (S,)."""
        from honestbayes.correction.components_kernels import log_selections

        result = np.zeros(len(tables))
        if self.certain:
            return result
        log_selections(self.arrays, np.ascontiguousarray(tables), np.log(alphas), result)
        return result

    def error(self, tables: IntArray, alphas: FloatArray) -> float:
        """Return the root mean square error of differences of log P(S) between these tables."""
        if self.certain or len(tables) == 0:
            return 0.0
        pairs = zip(tables, alphas, strict=True)
        with one_blas_thread():
            exact = [self.factor.log_prob(self.event, t, np.array([a]))[0] for t, a in pairs]
        return float(np.sqrt(2.0) * np.std(self.log_prob(tables, alphas) - np.array(exact)))

    def warn_if_wrong(self, tables: IntArray, alphas: FloatArray) -> None:
        """Warn if the error is larger than the tolerance at tables that chains visited."""
        error = self.error(tables, alphas)
        if error > TOLERANCE:
            warnings.warn(
                f"log P(S) is approximated with a root mean square error of {error:.2g} in its "
                f"differences between {len(tables)} draws of the chains; {TOLERANCE:g} was aimed "
                "at.",
                stacklevel=2,
            )


Pilot = Callable[["SurfaceArrays"], tuple[IntArray, FloatArray]]
"""Runs short chains with an approximation, and returns tables and alphas that they visited."""


def build_surface(
    factor: ComponentsFactor,
    event: Event,
    n_components: int,
    pseudocounts: FloatArray,
    pilot: Pilot | None = None,
) -> Surface:
    """Fit the approximation, and improve it where chains go.

    Parameters
    ----------
    factor : ComponentsFactor
        Computes exact values; fewer nodes are used where many cases need it.
    event : Event
        What is known of the discarded features.
    n_components : int
        Components, K.
    pseudocounts : ndarray of shape (K,)
        Dirichlet prior of the components' frequencies.
    pilot : callable, optional
        Short chains; None: fit tables from the prior only.
    """
    n_discarded = sum(group.n_discarded for group in event.groups)
    builder = _Builder(factor, event, n_components)
    if n_discarded == 0:
        return builder.certain()
    factor = _affordable(factor, n_components, builder.n_coefficients)
    with one_blas_thread():
        builder = _Builder(factor, event, n_components)
        if builder.n_tables <= _MOST_EXACT:
            return builder.all_tables()
        design = _tables_from_prior(
            factor.class_counts, pseudocounts, _n_design(builder.n_coefficients)
        )
        builder.add(design, np.full(len(design), np.nan))
        if np.all(builder.log_prob == 0.0):
            return builder.certain()
        surface, n_good = builder.fit(), 0
        for number in range(1, _MOST_ROUNDS + 1 if pilot else 1):
            assert pilot is not None
            tables, alphas = pilot(surface.arrays)
            # The error is that at new tables, before they are among those fitted.
            n_good = n_good + 1 if surface.error(tables, alphas) <= _ENOUGH * TOLERANCE else 0
            builder.add(tables, alphas)
            # Where chains stay among a few tables those from the prior are in the way.
            surface = builder.fit(1.0 / (1.0 + number))
            if n_good == 2:
                break
        return surface


class _Builder:
    """Exact values that were computed so far, and the polynomial fitted to them."""

    def __init__(self, factor: ComponentsFactor, event: Event, n_components: int) -> None:
        self.factor, self.event, self.n_components = factor, event, n_components
        counts = np.array(factor.class_counts)
        n = int(counts.sum())
        span = np.log(_CEILING * max(n, 10) / _FIRST_ALPHA)
        self.x = np.log(_FIRST_ALPHA) + _STEP * np.arange(int(np.ceil(span / _STEP)) + 1)
        self.floor = float(np.exp(-self.x[-1]))
        self.alphas = 1.0 / np.maximum(np.exp(-self.x) - self.floor, 1.0 / _INFINITE)
        self.lengths = _lengths(counts.size)
        self.n_tables = int(np.prod((counts + 1.0) ** (n_components - 1)))
        self.tables = np.zeros((0, n_components, counts.size), dtype=np.int64)
        self.visited = np.zeros(0)
        self.log_prob = np.zeros((0, self.x.size))

    @property
    def n_coefficients(self) -> int:
        return int(self.lengths.sum())

    def _arrays(
        self, *, coefficients: FloatArray | None, exact: FloatArray | None
    ) -> SurfaceArrays:
        from honestbayes.correction.components_kernels import SurfaceArrays

        counts = np.array(self.factor.class_counts, dtype=float)
        n, n_classes = counts.sum(), counts.size
        root = np.sqrt(counts / n)
        # Contrasts of the classes, orthogonal to the roots of their shares, so that only shares of
        # classes that differ from the component's own matter.
        contrasts = np.linalg.qr(np.column_stack([root, np.eye(n_classes)]))[0][:, 1:n_classes]
        linear = np.empty((n_classes, n_classes))
        linear[:, 0] = 1.0 / n
        linear[:, 1:] = contrasts * (root / counts)[:, None]
        # Relative to that of a feature without signal, the variance of class differences is about
        # 1 + h t at this alpha.
        h = n / ((n_classes - 1.0) * (_TYPICAL_ALPHA + 1.0))
        certain = coefficients is None and exact is None
        return SurfaceArrays(
            0.0 if certain else float(sum(group.n_discarded for group in self.event.groups)),
            np.array([self.x[0], _STEP, self.floor]),
            linear,
            1.0 / self.n_components,
            np.array([h, 2.0 / np.log1p(h)]),
            self.lengths,
            np.zeros((self.x.size, 1)) if coefficients is None else coefficients,
            np.zeros((0, self.x.size)) if exact is None else exact,
        )

    def certain(self) -> Surface:
        """Return the surface of an event that is certain: log P(S) = 0."""
        arrays = self._arrays(coefficients=None, exact=None)
        return Surface(factor=self.factor, event=self.event, arrays=arrays, n_exact=0)

    def all_tables(self) -> Surface:
        """Return the exact values for all tables."""
        from honestbayes.correction.components_kernels import table_index

        counts = np.array(self.factor.class_counts)
        by_class = [_divisions(int(cases), self.n_components) for cases in counts]
        values = np.zeros((self.n_tables, self.x.size))
        known: dict[bytes, FloatArray] = {}
        for columns in itertools.product(*by_class):
            table = np.array(columns).T
            alike = np.array(sorted(table.tolist()), dtype=np.int64)
            key = alike.tobytes()
            if key not in known:
                known[key] = self._log_cost(self._exact(alike))
            values[table_index(np.ascontiguousarray(table))] = known[key]
        if all(np.all(value <= np.log(_SMALLEST_COST)) for value in known.values()):
            return self.certain()
        arrays = self._arrays(coefficients=None, exact=values)
        return Surface(factor=self.factor, event=self.event, arrays=arrays, n_exact=len(known))

    def _exact(self, table: IntArray) -> FloatArray:
        log_prob = self.factor.log_prob(self.event, table, self.alphas)
        if not np.all(np.isfinite(log_prob)):
            msg = "the selection has probability 0, so no feature can be discarded by it."
            raise ValueError(msg)
        return log_prob

    def _log_cost(self, log_prob: FloatArray) -> FloatArray:
        n_discarded = sum(group.n_discarded for group in self.event.groups)
        return np.asarray(np.log(_SMALLEST_COST - np.minimum(log_prob, 0.0) / n_discarded))

    def add(self, tables: IntArray, alphas: FloatArray) -> None:
        """Compute exact values at tables; alphas are those at which chains visited them, or NaN."""
        values = np.array([self._exact(table) for table in tables]).reshape(-1, self.x.size)
        self.tables = np.concatenate([self.tables, tables])
        self.visited = np.concatenate([self.visited, -np.log(1.0 / alphas + self.floor)])
        self.log_prob = np.concatenate([self.log_prob, values])

    def fit(self, prior_weight: float = 1.0) -> Surface:
        """Fit the coefficients at each node of alpha by weighted least squares.

        An error of the logarithm of -log P(S) counts as much as that of log P(S) which it is, at
        tables that were visited near this alpha; at others that matter, by ``prior_weight``.
        """
        from honestbayes.correction.components_kernels import all_monomials

        counts = np.array(self.factor.class_counts)
        # Classes of the same size may swap names: more tables for nothing.
        swaps = [
            list(order)
            for order in itertools.permutations(range(counts.size))
            if np.array_equal(counts[list(order)], counts)
        ]
        tables = np.concatenate([self.tables[:, :, order] for order in swaps])
        visited, log_prob = (
            np.tile(self.visited, len(swaps)),
            np.tile(self.log_prob, (len(swaps), 1)),
        )
        blank = self._arrays(coefficients=None, exact=None)
        products, y = np.empty((len(tables), self.lengths[0])), np.empty(len(tables))
        all_monomials(blank, np.ascontiguousarray(tables), products, y)
        features = np.concatenate(
            [products[:, :m] * (y**i)[:, None] for i, m in enumerate(self.lengths.tolist())], axis=1
        )
        coefficients = np.empty((self.x.size, self.n_coefficients))
        for t, x in enumerate(self.x.tolist()):
            at = log_prob[:, t]
            beyond = np.maximum(at.max() - at - MATTERS, 0.0)
            near = np.exp(-0.5 * ((np.where(np.isnan(visited), np.inf, visited) - x) / _NEAR) ** 2)
            matters = prior_weight / (1.0 + (2 * beyond / MATTERS) ** 2)
            weight = np.maximum(-at, 1e-3) * np.maximum(matters, near)
            coefficients[t] = _ridge(features, self._log_cost(at), weight)
        arrays = self._arrays(coefficients=coefficients, exact=None)
        return Surface(
            factor=self.factor, event=self.event, arrays=arrays, n_exact=len(self.tables)
        )


def _ridge(features: FloatArray, target: FloatArray, weight: FloatArray) -> FloatArray:
    """Return coefficients by least squares, shrunk a little; the first, of the mean, is not."""
    size = features.std(axis=0) + 1e-9
    size[0] = 1.0
    scaled = features / size * weight[:, None]
    product = scaled.T @ scaled
    penalty = np.full(size.size, _RIDGE**2)
    penalty[0] = 0.0
    product[np.diag_indices_from(product)] += penalty + 1e-13 * np.trace(product) / size.size
    return np.asarray(cho_solve(cho_factor(product), scaled.T @ (target * weight)) / size)


def _lengths(n_classes: int) -> IntArray:
    """Return how many monomials are multiplied by each power of y.

    They are 1, sums over components of products of two and of three coordinates, and products of
    these sums. With more classes there are more of them, and the less important ones are left out.
    """
    two = n_classes * (n_classes + 1) // 2
    three = two * (n_classes + 2) // 3
    singles = 1 + two + three
    squares = singles + two * (two + 1) // 2
    mixed = squares + two * three
    cubes = mixed + two * (two + 1) * (two + 2) // 6
    if n_classes <= 3:
        return np.array([cubes, mixed, squares, singles, 1 + two, 1, 1, 1])
    return np.array([squares, singles, 1 + two, 1, 1, 1])


def _n_design(n_coefficients: int) -> int:
    """Return how many tables are drawn from the prior."""
    return max(_FEWEST, int(_DESIGN * n_coefficients))


def _seconds(factor: ComponentsFactor, n_components: int) -> float:
    """Return about how long one exact value takes, at most.

    Fitted to times on one core. A formula, not a clock, so that results do not depend on machines.
    """
    counts = np.array(factor.class_counts, dtype=float)
    points = factor.n_nodes(int(counts.sum()) // n_components) ** n_components / 2
    convolutions = 0.25e-9 * 2 * np.sum(counts**2) * (n_components - 1) / n_components**2
    return float(points * (convolutions + 1.3e-9 * np.prod(counts[:-1] + 1)) + 1e-3)


def _affordable(
    factor: ComponentsFactor, n_components: int, n_coefficients: int
) -> ComponentsFactor:
    """Return the factor with as many nodes as exact values can be had with in good time."""
    if not can_be_built(factor, n_components):
        msg = "P(S) would take too long."
        raise ValueError(msg)
    for nodes in (_FINEST, 2.0, 1.6):
        coarser = ComponentsFactor(
            factor.class_counts, factor.gamma_squared, factor.interval, nodes
        )
        if _seconds(coarser, n_components) * _n_design(n_coefficients) <= _SECONDS:
            break
    return coarser


def can_be_built(factor: ComponentsFactor, n_components: int) -> bool:
    """Whether exact values can be had in good time."""
    if np.prod(np.array(factor.class_counts) + 1.0) > _MOST_CELLS:
        return False
    number = _n_design(int(_lengths(len(factor.class_counts)).sum()))
    coarsest = ComponentsFactor(factor.class_counts, factor.gamma_squared, factor.interval, 1.6)
    return _seconds(coarsest, n_components) * number <= _UNAFFORDABLE


def _divisions(cases: int, n_components: int) -> list[tuple[int, ...]]:
    """Return all ways to divide cases between components."""
    if n_components == 1:
        return [(cases,)]
    return [
        (first, *rest)
        for first in range(cases + 1)
        for rest in _divisions(cases - first, n_components - 1)
    ]


def _tables_from_prior(
    class_counts: tuple[int, ...], pseudocounts: FloatArray, number: int
) -> IntArray:
    """Draw tables of cases from priors of labels that are more, and less, varied than the model's.

    How much components go with the class is drawn on a wide scale, so that weak and strong
    association both occur.
    """
    rng = np.random.default_rng(0)
    n_components, n_classes = pseudocounts.size, len(class_counts)
    tables = np.empty((number, n_components, n_classes), dtype=np.int64)
    for table in tables:
        share = rng.dirichlet(pseudocounts * rng.choice([0.5, 1.0, 3.0]))
        association = np.exp(rng.uniform(-1.5, 6.0))
        mean = rng.dirichlet(np.ones(n_classes))
        of_class = rng.dirichlet(np.maximum(association * mean, 0.05), size=n_components)
        joint = share[:, None] * of_class + 1e-12
        for c, cases in enumerate(class_counts):
            table[:, c] = rng.multinomial(cases, joint[:, c] / joint[:, c].sum())
    return tables
