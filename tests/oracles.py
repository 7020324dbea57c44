"""Slow and obviously right versions of what the package computes. Nothing is imported from it.

Notation of Li, Zhang and Neal (2008): a feature has I0 ones among the n0 cases of class 0 and I1
among the n1 of class 1. Given theta and alpha, a particular column has probability
U(alpha theta, alpha (1 - theta), I, O) in each class (equation 18).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.polynomial.legendre import leggauss
from scipy import special

# --------------------------------------------------------------- correlation and all the columns


def squared_correlation_of_column(x, y):
    """Return COR(x, y)^2 from the definition (equation 29), exactly; 0 for a constant column."""
    n = len(x)
    covariance = n * sum(a * b for a, b in zip(x, y, strict=True)) - sum(x) * sum(y)
    spread = (n * sum(a * a for a in x) - sum(x) ** 2) * (n * sum(b * b for b in y) - sum(y) ** 2)
    return Fraction(covariance**2, spread) if spread else Fraction(0)


@cache
def squared_correlation_of_counts(i0, i1, n0, n1):
    """Return the same of one column with these counts."""
    x = [1] * i0 + [0] * (n0 - i0) + [1] * i1 + [0] * (n1 - i1)
    return squared_correlation_of_column(x, [0] * n0 + [1] * n1)


@cache
def enumerated_columns(n0, n1):
    """Go through all 2^n columns: how many have each (I0, I1, COR^2)."""
    y = [0] * n0 + [1] * n1
    found = Counter()
    for x in itertools.product((0, 1), repeat=n0 + n1):
        found[sum(x[:n0]), sum(x[n0:]), squared_correlation_of_column(x, y)] += 1
    return found


# ----------------------------------------------------------- theta integrated by exact polynomials


def multiply(p, q):
    """Multiply two polynomials, lowest coefficient first."""
    result = [Fraction(0)] * (len(p) + len(q) - 1)
    for i, a in enumerate(p):
        for j, b in enumerate(q):
            result[i + j] += a * b
    return result


def integrate_polynomial(p, low, high):
    """Average of a polynomial over (low, high)."""
    total = sum(c * (high ** (i + 1) - low ** (i + 1)) / (i + 1) for i, c in enumerate(p))
    return total / (high - low)


def column_polynomial(alpha, counts):
    """Return the polynomial in theta of equation 18; counts = ((I0, n0), (I1, n1), ...)."""
    p = [Fraction(1)]
    for ones, cases in counts:
        for l in range(ones):
            p = multiply(p, [Fraction(l), alpha])
        for l in range(cases - ones):
            p = multiply(p, [alpha + l, -alpha])
        for l in range(cases):
            p = [c / (alpha + l) for c in p]
    return p


@cache
def exact_column_probability(alpha, low, high, i0, i1, n0, n1):
    """P(one particular column | alpha) in rational arithmetic; arguments are Fractions and ints."""
    return integrate_polynomial(column_polynomial(alpha, ((i0, n0), (i1, n1))), low, high)


def exact_mean_theta(alpha, low, high, i0, i1, n0, n1):
    """E[theta | column, alpha] in rational arithmetic."""
    p = column_polynomial(alpha, ((i0, n0), (i1, n1)))
    return integrate_polynomial([Fraction(0), *p], low, high) / integrate_polynomial(p, low, high)


def exact_discard_probabilities(alpha, low, high, n0, n1, gamma_squared):
    """P(|COR| < gamma), P(|COR| = gamma), P(|COR| > gamma) by enumeration of all columns."""
    sums = {-1: Fraction(0), 0: Fraction(0), 1: Fraction(0)}
    for (i0, i1, value), number in enumerated_columns(n0, n1).items():
        sign = (value > gamma_squared) - (value < gamma_squared)
        sums[sign] += number * exact_column_probability(alpha, low, high, i0, i1, n0, n1)
    return sums[-1], sums[0], sums[1]


def exact_log(q):
    """Log of a Fraction, also where it is too small or too close to 1 for a float."""
    if q == 0:
        return -math.inf
    if q > Fraction(1, 2):
        return math.log1p(float(q - 1))
    return math.log(q.numerator) - math.log(q.denominator)


def exact_unknown_ties(parts, m):
    """Integrate m (1-v)^(m-1) prod_g (lt_g + v eq_g)^N_g over v in (0, 1), as a polynomial in v."""
    p = [Fraction(m)]
    for _ in range(m - 1):
        p = multiply(p, [Fraction(1), Fraction(-1)])
    for below, tied, number in parts:
        for _ in range(number):
            p = multiply(p, [below, tied])
    return integrate_polynomial(p, Fraction(0), Fraction(1))


def selection_by_enumeration(probability, sizes, values, kept, k):
    """P(these columns are kept with these counts) and the same with T, by going through all.

    ``probability[j]`` maps the pair of feature j to its probability, ``sizes[j]`` are its class
    sizes, ``values[j]`` its counts if j is in ``kept``. All assignments of counts to features are
    listed, the k strongest are kept, and among those tied at the bound a random subset.

    Returns a dict from T, the number of discarded features tied at the bound, to P(kept set and
    their counts and T).
    """
    p = len(sizes)
    pairs = [[(i0, i1) for i0 in range(n0 + 1) for i1 in range(n1 + 1)] for n0, n1 in sizes]
    choices = [[values[j]] if j in kept else pairs[j] for j in range(p)]
    result = {}
    for assignment in itertools.product(*choices):
        strength = [
            squared_correlation_of_counts(*pair, *size)
            for pair, size in zip(assignment, sizes, strict=True)
        ]
        bound = sorted(strength)[-k]
        sure = {j for j in range(p) if strength[j] > bound}
        tied = {j for j in range(p) if strength[j] == bound}
        if not sure <= kept <= sure | tied:
            continue
        chance = Fraction(1, math.comb(len(tied), k - len(sure)))
        for j in range(p):
            chance *= probability[j][assignment[j]]
        lost = len(tied - kept)
        result[lost] = result.get(lost, Fraction(0)) + chance
    return result


# --------------------------------------------------------- floating point, vectorised over alpha


def column_probability(alpha, low, high, counts, n_nodes=None):
    """P(column | alpha) for an array of alpha; counts = ((I0, n0), (I1, n1)).

    A plain product over cases, averaged over theta by Gauss-Legendre with plenty of nodes.
    """
    degree = sum(cases for _, cases in counts)
    x, w = leggauss(n_nodes or degree + 8)
    theta = low + (high - low) * (x + 1) / 2
    a = np.asarray(alpha, dtype=float)[:, None]
    product = np.ones((a.shape[0], theta.size))
    for ones, cases in counts:
        for l in range(ones):
            product *= (a * theta + l) / (a + l)
        for l in range(cases - ones):
            product *= (a * (1 - theta) + l) / (a + ones + l)
    return product @ (w / 2)


def discard_probabilities(alpha, low, high, n0, n1, gamma_squared):
    """P(|COR| < gamma), P(= gamma), P(> gamma) for an array of alpha: a sum over all pairs."""
    sums = {-1: 0.0, 0: 0.0, 1: 0.0}
    for i0 in range(n0 + 1):
        for i1 in range(n1 + 1):
            value = squared_correlation_of_counts(i0, i1, n0, n1)
            sign = (value > gamma_squared) - (value < gamma_squared)
            ways = math.comb(n0, i0) * math.comb(n1, i1)
            sums[sign] = sums[sign] + ways * column_probability(
                alpha, low, high, ((i0, n0), (i1, n1))
            )
    zero = np.zeros(np.shape(alpha))
    return sums[-1] + zero, sums[0] + zero, sums[1] + zero


class Table:
    """Counts of a small table of 0, 1 and NaN, by plain loops."""

    def __init__(self, X, y):
        X, y = np.asarray(X, dtype=float), np.asarray(y)
        self.class_counts = (int(np.sum(y == 0)), int(np.sum(y == 1)))
        self.counts = []
        for column in X.T:
            self.counts.append(
                tuple(
                    (int(np.sum(column[y == c] == 1)), int(np.sum(~np.isnan(column[y == c]))))
                    for c in (0, 1)
                )
            )

    def strength(self, j):
        (i0, n0), (i1, n1) = self.counts[j]
        return squared_correlation_of_counts(i0, i1, n0, n1)


class TwoDimensionalIntegral:
    """Predictive probabilities by brute force over log(alpha) x theta.

    Parameters
    ----------
    X, y : training table (0, 1, NaN) and classes 0/1
    kept : columns that won the race (their number is given, so only the choice among ties is)
    always : columns kept by design
    correction : None, "selection", "counts"
    threshold : the fixed bound, or None where the number of features was fixed
    ties_known : whether it is known which discarded features are tied at the bound
    """

    def __init__(
        self,
        X,
        y,
        kept,
        *,
        always=(),
        correction=None,
        threshold=None,
        ties_known=True,
        alpha_prior=(0.5, 5.0),
        theta_prior=(0.0, 1.0),
        pseudocounts=(1.0, 1.0),
        class_prior=None,
        step=0.05,
        log_alpha_range=(-8.0, 72.0),
    ):
        self.table = Table(X, y)
        self.kept, self.always = list(kept), list(always)
        self.low, self.high = theta_prior
        self.pseudocounts, self.class_prior = pseudocounts, class_prior
        shape, rate = alpha_prior
        self.log_alpha = np.arange(log_alpha_range[0], log_alpha_range[1] + step / 2, step)
        self.step = step
        self.alpha = np.exp(self.log_alpha)
        # density of log(alpha) where alpha has density prop. to alpha^-(1+shape) exp(-rate/alpha)
        constant = shape * math.log(rate) - math.lgamma(shape)
        self.log_prior = constant - shape * self.log_alpha - rate / self.alpha
        candidates = [j for j in range(np.shape(X)[1]) if j not in self.always]
        self.discarded = [j for j in candidates if j not in self.kept]
        if threshold is None:
            self.gamma_squared = min((self.table.strength(j) for j in kept), default=Fraction(0))
            assert all(self.table.strength(j) <= self.gamma_squared for j in self.discarded)
        else:
            self.gamma_squared = Fraction(threshold) ** 2
            assert all(self.table.strength(j) > self.gamma_squared for j in kept)
            assert all(self.table.strength(j) <= self.gamma_squared for j in self.discarded)
        self._by_sizes = {}
        self.log_event = np.zeros_like(self.alpha)
        if correction == "counts":
            self.log_event = self._log_discarded_columns()
        elif correction == "selection" and (ties_known or threshold is not None):
            self.log_event = self._log_selection(fixed=threshold is not None)
        elif correction == "selection":
            self.log_event = self._log_selection_with_unknown_ties()

    def _below_and_tied(self, j):
        (_, n0), (_, n1) = self.table.counts[j]
        if (n0, n1) not in self._by_sizes:
            self._by_sizes[n0, n1] = discard_probabilities(
                self.alpha, self.low, self.high, n0, n1, self.gamma_squared
            )
        return self._by_sizes[n0, n1][:2]

    def _log_selection_with_unknown_ties(self):
        m = sum(self.table.strength(j) == self.gamma_squared for j in self.kept)
        x, w = leggauss(len(self.discarded) + m)
        v = (x + 1) / 2
        integrand = np.ones((self.alpha.size, 1)) * m * (1 - v) ** (m - 1)
        for j in self.discarded:
            below, tied = self._below_and_tied(j)
            integrand *= below[:, None] + v * tied[:, None]
        return np.log(integrand @ (w / 2))

    def _log_selection(self, *, fixed):
        total = np.zeros_like(self.alpha)
        for j in self.discarded:
            below, tied = self._below_and_tied(j)
            if fixed:
                q = below + tied
            else:
                q = tied if self.table.strength(j) == self.gamma_squared else below
            with np.errstate(divide="ignore"):
                total += np.log(q)
        return total

    def _log_discarded_columns(self):
        total = np.zeros_like(self.alpha)
        for j in self.discarded:
            total += np.log(
                column_probability(self.alpha, self.low, self.high, self.table.counts[j])
            )
        return total

    def _joint(self, columns, extra, x, label):
        """Sum over alpha of P(alpha) P(training columns, x in class ``label`` | alpha) P(S)."""
        log_joint = self.log_prior.copy()
        if extra:
            log_joint += self.log_event
        for j in columns:
            counts = self.table.counts[j]
            if not np.isnan(x[j]):
                counts = tuple(
                    (ones + int(c == label) * int(x[j]), cases + int(c == label))
                    for c, (ones, cases) in enumerate(counts)
                )
            log_joint += np.log(column_probability(self.alpha, self.low, self.high, counts))
        return log_joint

    def probability(self, x):
        """P(class 1 | x, training data)."""
        psi = self.class_prior
        if psi is None:
            n0, n1 = self.table.class_counts
            psi = (n0 + self.pseudocounts[0], n1 + self.pseudocounts[1])
        joint = []
        for label in (0, 1):
            log_p = special.logsumexp(self._joint(self.kept, True, x, label))
            if self.always:
                log_p += special.logsumexp(self._joint(self.always, False, x, label))
            joint.append(math.log(psi[label]) + log_p)
        return float(special.expit(joint[1] - joint[0]))

    def averaged_probability(self, x):
        """Average P(class 1 | x, alpha) over the posterior of alpha: what not to do."""
        posterior = self.log_posterior_density()
        psi = self.class_prior or tuple(
            n + f for n, f in zip(self.table.class_counts, self.pseudocounts, strict=True)
        )
        by_class = [math.log(psi[c]) + self._joint(self.kept, True, x, c) for c in (0, 1)]
        return float(
            np.sum(np.exp(posterior) * self.step * special.expit(by_class[1] - by_class[0]))
        )

    def log_posterior_density(self):
        """Log density of log(alpha) given the training data, on ``self.log_alpha``."""
        nothing = [math.nan] * len(self.table.counts)
        log_joint = self._joint(self.kept, True, nothing, 0)
        return log_joint - special.logsumexp(log_joint) - math.log(self.step)


# ------------------------------------------------------------------------- the rule as published


def published_probability(counts, class_counts, n_discarded, gamma, x, *, prior=(0.5, 5.0)):
    """Transcribe sections 3.3 and 3.4: 30 prior quantiles, 21 Simpson points, "at most gamma".

    ``counts`` lists (I0, I1) of the kept features; ``n_discarded`` 0 leaves the factor out.
    """
    n0, n1 = class_counts
    n = n0 + n1
    ybar = Fraction(n1, n)
    shape, rate = prior
    thetas = [i / 20 for i in range(21)]
    simpson = [(1 if i in (0, 20) else 4 if i % 2 else 2) / 60 for i in range(21)]

    def column(f1, f0, m1, m0):  # U of equation 15
        product = 1.0
        for l in range(1, m0 + 1):
            product *= (f0 + l - 1) / (f1 + f0 + l - 1)
        for l in range(1, m1 + 1):
            product *= (f1 + l - 1) / (f1 + f0 + m0 + l - 1)
        return product

    def exceeds(i0, i1):  # equation 30 against gamma, squared and exact where gamma is a Fraction
        s = i0 + i1
        if s in (0, n):
            return False
        top = -ybar * i0 + (1 - ybar) * i1
        bottom_squared = n * ybar * (1 - ybar) * (s - Fraction(s * s, n))
        return top > 0 and top * top > gamma * bottom_squared

    region = [(i0, i1) for i1 in range(n1 + 1) for i0 in range(n0 + 1) if exceeds(i0, i1)]
    smallest = min((i1 for _, i1 in region), default=n1 + 1)  # b0
    reach = {i1: max(i0 for i0, j1 in region if j1 == i1) for i1 in range(smallest, n1 + 1)}  # r

    joint = [0.0, 0.0]
    for node in range(30):
        u = (node + 0.5) / 30
        alpha = rate / special.gammainccinv(shape, u)
        factor = 1.0
        if n_discarded:
            h_plus = 0.0  # equations 39 and 41 to 43
            for theta, weight in zip(thetas, simpson, strict=True):
                a, b = alpha * theta, alpha * (1 - theta)
                inner, done, total = 0.0, 0, 0.0
                for i1 in range(smallest, n1 + 1):
                    while done <= reach[i1]:
                        inner += math.comb(n0, done) * column(a, b, done, n0 - done)
                        done += 1
                    total += math.comb(n1, i1) * column(a, b, i1, n1 - i1) * inner
                h_plus += weight * total
            factor = (1 - 2 * h_plus) ** n_discarded  # equations 28 and 38
        for label in (0, 1):
            likelihood = 1.0
            for (i0, i1), value in zip(counts, x, strict=True):
                ones, cases = ((i0, n0), (i1, n1))[label]
                integral = 0.0
                for theta, weight in zip(thetas, simpson, strict=True):
                    a, b = alpha * theta, alpha * (1 - theta)
                    phi = (a + ones) / (alpha + cases)
                    term = phi if value else 1 - phi
                    term *= column(a, b, i0, n0 - i0) * column(a, b, i1, n1 - i1)  # equation 24
                    integral += weight * term
                likelihood *= integral
            joint[label] += factor * likelihood / 30  # equation 26
    psi = (1 + n1) / (2 + n)  # equation 17
    return psi * joint[1] / (psi * joint[1] + (1 - psi) * joint[0])


# ------------------------------------------------------------------------------------ large classes


def betabinom_region(alpha, theta, weight, n0, n1, gamma_squared):
    """P(|COR| > gamma) and P(= gamma) from SciPy's beta-binomial, one row of pairs at a time."""
    from scipy.stats import betabinom

    i0 = np.arange(n0 + 1)
    g2 = float(gamma_squared)
    a, b = alpha * theta[:, None], alpha * (1 - theta[:, None])
    pmf0 = betabinom.pmf(i0[None, :], n0, a, b)
    pmf1 = betabinom.pmf(np.arange(n1 + 1)[None, :], n1, a, b)
    beyond = np.zeros(theta.size)
    tied = np.zeros(theta.size)
    for i1 in range(n1 + 1):
        s = i0 + i1
        spread = n0 * n1 * s.astype(float) * (n0 + n1 - s)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.where(spread > 0, (n0 * float(i1) - n1 * i0.astype(float)) ** 2 / spread, 0)
        sign = np.sign(value - g2)
        for position in np.flatnonzero(np.abs(value - g2) <= 1e-11 * g2):
            exact = Fraction(
                (n0 * i1 - n1 * int(position)) ** 2,
                n0 * n1 * int(s[position]) * (n0 + n1 - int(s[position])),
            )
            sign[position] = (exact > gamma_squared) - (exact < gamma_squared)
        beyond += pmf1[:, i1] * (pmf0 @ (sign > 0))
        tied += pmf1[:, i1] * (pmf0 @ (sign == 0))
    return float(weight @ beyond), float(weight @ tied)


def log_rising_sum(a, i):
    """Sum of log1p(l / a) for l < i, term by term without loss."""
    return math.fsum(np.log1p(np.arange(i) / a))
