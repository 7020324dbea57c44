"""Design covariates: columns that the model conditions on.

Age, sex or batch may be set by how cases were sampled, so that a model of their distribution means
nothing. Li, Zhang and Neal (2008, section 2) condition on such columns z. If the features x are
independent of z given the class y,

    P(y, x | z) = P(y | z) P(x | y),

so that the covariates set the prior log-odds of each case and nothing else: P(x | y) is the same,
and so is the probability that the other features were discarded, which conditions on y.

P(y | z) is a Bayesian logistic regression. With a the centred covariates and a constant 1, the log
probability of class c is a' w_c up to a constant of the row. Coefficients are normal around 0 with
variance s^2 / 2, so that the difference of two classes has variance s^2; constants are normal
around the log class frequencies with variance 2. The scale s is averaged over a grid. The posterior
is held as weighted points: draws from its normal approximation, with importance weights.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.special import ndtri, softmax
from scipy.stats import f as f_distribution

from honestbayes.data.column_coding import ColumnCoding
from honestbayes.data.kinds import as_columns, as_table, columns_of, kinds_and_missing, named_kinds
from honestbayes.data.source import as_source, dense_values
from honestbayes.files.fields import (
    MOST_FEATURES,
    Array,
    Check,
    Counts,
    Floats,
    Section,
    Weights,
)
from honestbayes.threads import one_blas_thread
from honestbayes.types import FloatArray, IntArray

SCALES = np.array([0.1, 0.3, 1.0, 3.0])
"""Grid of the coefficients' scale s, for covariates in units of their standard deviation."""

_CONSTANT_VARIANCE = 2.0
"""Prior variance of a class's constant: log-odds of two classes have standard deviation 2."""

_MOST_STEPS = 100
_CLOSE = 1e-10
"""Newton's method stops where a step promises to change the log posterior by less than this."""

_POINTS, _FEW_POINTS = 512, 64
"""Points of the posterior at each scale, and those with more than `_MANY_CASES` cases, where it is
narrow."""

_MANY_CASES = 2000

_FEW_DIMENSIONS = 12
"""Number of coefficients up to which points are quasi-random."""

_NEGLIGIBLE = 1e-3
"""Points of less than this share of the average weight are dropped."""

_CELLS = 1 << 22
"""Cells that the average over the posterior holds at a time."""

DOUBTFUL = 0.01
"""Probability, for all kept columns together, below which they are said to depend on covariates."""


# --------------------------------------------------------------------------------------------------
# P(class | covariates)
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class CovariateRegression:
    """The posterior of a logistic regression of the class on d columns, as weighted points.

    Attributes
    ----------
    weight : ndarray of shape (P,)
        Posterior probabilities of the points, over all scales.
    coefficients : ndarray of shape (P, d, C)
        The points.
    """

    weight: Annotated[FloatArray, Weights("points")]
    coefficients: Annotated[FloatArray, Floats("points", "design", "n_classes")]

    @classmethod
    @one_blas_thread()
    def fit(cls, design: FloatArray, codes: IntArray, log_share: FloatArray) -> Self:
        """Fit to rows of a design matrix whose first column is 1.

        Parameters
        ----------
        design : ndarray of shape (n, d)
            Covariates, centred.
        codes : ndarray of int of shape (n,)
            Classes.
        log_share : ndarray of shape (C,)
            Log class frequencies: prior means of the constants.
        """
        fits = [_points_at(design, codes, log_share, scale) for scale in SCALES]
        log_weight = np.concatenate([each for _, each in fits])
        weight = softmax(log_weight)
        used = weight > _NEGLIGIBLE / weight.size
        points = np.concatenate([each for each, _ in fits])[used]
        return cls(weight[used] / weight[used].sum(), points)

    @one_blas_thread()
    def log_proba(self, design: FloatArray) -> FloatArray:
        """Return log P(class | covariates), shape (n, C), averaged over the posterior."""
        n_points, d, n_classes = self.coefficients.shape
        flat = np.moveaxis(self.coefficients, 0, 1).reshape(d, n_points * n_classes)
        step = max(1, _CELLS // (n_points * n_classes))
        result = [np.zeros((0, n_classes))]
        for first in range(0, len(design), step):
            scores = (design[first : first + step] @ flat).reshape(-1, n_points, n_classes)
            proba = np.einsum("p,npc->nc", self.weight, softmax(scores, axis=2))
            result.append(np.log(np.maximum(proba, 1e-300)))
        return np.concatenate(result)

    def draw_log_odds(
        self, design: FloatArray, n_draws: int, generator: np.random.Generator
    ) -> FloatArray:
        """Draw log-odds against the first class, shape (n, n_draws, C - 1).

        Random numbers are common to all rows, so that no row depends on the others.
        """
        chosen = generator.choice(self.weight.size, n_draws, p=self.weight)
        scores = np.einsum("nd,sdc->nsc", design, self.coefficients[chosen])
        return np.asarray(scores[..., 1:] - scores[..., :1])


def _normal_points(number: int, n_dimensions: int) -> FloatArray:
    """Return points whose averages are close to those of independent standard normal variables.

    In few dimensions quasi-random ones: multiples of the powers of 1 / x, modulo 1, where x is the
    root of x^(D + 1) = x + 1, as with the golden ratio in one dimension. In more dimensions random
    ones from a fixed seed, in pairs that are mirror images.
    """
    if n_dimensions > _FEW_DIMENSIONS:
        half = np.random.default_rng(0).normal(size=(number // 2, n_dimensions))
        return np.concatenate([half, -half])
    root = 2.0
    for _ in range(50):
        root = (1 + root) ** (1 / (n_dimensions + 1))
    steps = root ** -np.arange(1.0, n_dimensions + 1)
    return np.asarray(ndtri((0.5 + np.outer(np.arange(1, number + 1), steps)) % 1))


def _points_at(
    design: FloatArray, codes: IntArray, log_share: FloatArray, scale: float
) -> tuple[FloatArray, FloatArray]:
    """Return points of the posterior at one scale, and their log weights.

    Points are those of a normal distribution around the mode (Laplace's method). Weights are the
    ratios of posterior and normal density, so that they correct the approximation; their mean is
    the evidence of the scale.
    """
    d, n_classes = design.shape[1], log_share.size
    mean = np.zeros((d, n_classes))
    mean[0] = log_share
    variance = np.full((d, n_classes), scale**2 / 2)
    variance[0] = _CONSTANT_VARIANCE
    observed = np.eye(n_classes)[codes]

    def log_posterior(points: FloatArray) -> FloatArray:
        """Return the log posterior of points of shape (P, d, C), up to a constant."""
        log_prior = -np.sum((points - mean) ** 2 / variance + np.log(variance), axis=(1, 2)) / 2
        scores = np.einsum("nd,pdc->cpn", design, points, optimize=True)
        top = scores.max(axis=0)
        log_sum = top + np.log(np.exp(scores - top).sum(axis=0))
        own = np.einsum("dc,pdc->p", design.T @ observed, points)
        return np.asarray(log_prior + own - log_sum.sum(axis=1))

    w = mean.copy()
    value = log_posterior(w[None])[0]
    for _ in range(_MOST_STEPS):
        proba = softmax(design @ w, axis=1)
        gradient = design.T @ (observed - proba) - (w - mean) / variance
        # Minus the Hessian: a sum over cases of a a' (x) (diag(p) - p p'), and the prior's part,
        # which makes it regular although scores have a constant too many.
        hessian = np.zeros((d, n_classes, d, n_classes))
        for c in range(n_classes):
            for k in range(n_classes):
                weight = proba[:, c] * ((c == k) - proba[:, k])
                hessian[:, c, :, k] = design.T @ (weight[:, None] * design)
        hessian = hessian.reshape(d * n_classes, -1) + np.diag(1 / variance.ravel())
        lower = np.linalg.cholesky(hessian)
        step = cho_solve((lower, True), gradient.ravel()).reshape(d, n_classes)
        if float(np.sum(step * gradient)) < _CLOSE:
            break
        # The log posterior is concave: some part of the step goes up.
        for length in 0.5 ** np.arange(40):
            new = w + length * step
            there = log_posterior(new[None])[0]
            if there >= value:
                w, value = new, there
                break
        else:
            break
    normal = _normal_points(_POINTS if codes.size <= _MANY_CASES else _FEW_POINTS, d * n_classes)
    # With H = L L', the vector solve(L', z) has covariance inverse(H).
    moved = solve_triangular(lower.T, normal.T, lower=False).T.reshape(-1, d, n_classes)
    points = w + moved
    log_density = np.log(np.diag(lower)).sum() - np.sum(normal**2, axis=1) / 2
    several = max(1, _CELLS // (codes.size * n_classes))
    parts = [points[first : first + several] for first in range(0, len(points), several)]
    log_weight = np.concatenate([log_posterior(part) for part in parts]) - log_density
    log_weight -= np.log(points.shape[0])
    if 1 / np.sum(softmax(log_weight) ** 2) < points.shape[0] / 4:
        # In many dimensions a few weights would decide: the normal approximation is better.
        at_mode = value - np.log(np.diag(lower)).sum() - np.log(points.shape[0])
        log_weight = np.full(points.shape[0], at_mode)
    return points, log_weight


# --------------------------------------------------------------------------------------------------
# Covariates of a table
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class CovariateCoding:
    """The covariates of a table as centred numbers.

    Attributes
    ----------
    columns : ndarray of int of shape (q,)
        Where the table has them.
    coding : ColumnCoding
        How they become numbers, with a 0/1 column for each category.
    centre, scale : ndarray of shape (d - 1,)
        Mean of each number, and its standard deviation; 1 for 0/1 columns of categories.
    """

    columns: Annotated[IntArray, Counts("n_covariates", high=MOST_FEATURES)]
    coding: Annotated[
        ColumnCoding,
        Section(kind=ColumnCoding, sizes=lambda known: {"n_features_in": known["columns"].size}),
    ]
    centre: Annotated[FloatArray, Floats("numbers")]
    scale: Annotated[FloatArray, Floats("numbers", low=0.0)]

    def check(self, check: Check) -> None:
        """Refuse numbers that are not those of the columns."""
        good = self.centre.size == self.coding.sources().size and bool(np.all(self.scale > 0))
        check(good, "centre", "is not that of the covariates")

    @classmethod
    def learn(cls, X: Any, columns: IntArray, kinds: Any = None) -> Self:
        """Learn the coding of some columns of a training table, whose kinds may be given."""
        names = as_columns(X).feature_names if hasattr(X, "columns") else None
        given = named_kinds(kinds, names, X.shape[1])
        table = columns_of(X, columns)
        own = {j: given[c] for j, c in enumerate(columns.tolist()) if c in given}
        coding = ColumnCoding.learn(table, kinds_and_missing(table, own)[0])
        draft = cls(columns, coding, np.zeros(0), np.ones(0))
        numbers = draft._numbers(table)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a column without any cell
            centre, scale = np.nanmean(numbers, axis=0), np.nanstd(numbers, axis=0)
        coded = np.array(coding.varying_kinds(), dtype=object)[coding.sources()] == "categorical"
        scale = np.where(coded | ~(scale > 0), 1.0, scale)
        return cls(columns, coding, np.nan_to_num(centre), scale)

    def _numbers(self, table: Any) -> FloatArray:
        """Return the columns as numbers, NaN where a cell is missing or of an unknown category."""

        def describe(index: int) -> str:
            return f"covariate in column {int(self.columns[index])}"

        if not self.coding.varying().size:
            return np.zeros((table.shape[0], 0))
        numbers = self.coding.as_numbers(self.coding.plain(table, describe), describe)
        return np.asarray(dense_values(as_source(numbers)), dtype=float)

    def design(self, X: Any) -> FloatArray:
        """Return a constant and the centred covariates of a table, shape (n, d).

        A missing cell is at the mean. In a row without any covariate the constant is 0 too:
        `log_prior` takes the class frequencies there.
        """
        numbers = (self._numbers(columns_of(X, self.columns)) - self.centre) / self.scale
        missing = np.isnan(numbers)
        constant = np.ones(len(numbers)) if not missing.size else 1.0 - missing.all(axis=1)
        return np.column_stack([constant, np.where(missing, 0.0, numbers)])


@dataclass(frozen=True, slots=True)
class PriorDraws:
    """The prior of each row, where cases have covariates.

    Attributes
    ----------
    log_prior : ndarray of shape (n, C)
        Log P(class | covariates).
    log_odds : ndarray of shape (n, S, C - 1)
        Draws of its log-odds against the first class.
    """

    log_prior: FloatArray
    log_odds: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class CovariateModel:
    """Prior log probabilities of each case, from its covariates.

    Attributes
    ----------
    coding : CovariateCoding
        The covariates of a table as numbers.
    regression : CovariateRegression
        P(class | covariates).
    log_share : ndarray of shape (C,)
        Log class frequencies.
    """

    coding: Annotated[CovariateCoding, Section(kind=CovariateCoding)]
    regression: Annotated[CovariateRegression, Section(kind=CovariateRegression)]
    log_share: Annotated[FloatArray, Array("n_classes", high=1e-9)]

    def check(self, check: Check) -> None:
        """Refuse coefficients of other covariates."""
        good = self.regression.coefficients.shape[1] == self.coding.centre.size + 1
        check(good, "regression", "is not one on these covariates")

    def log_prior(self, X: Any) -> FloatArray:
        """Return log P(class | covariates) of each row of a table, shape (n, C)."""
        return log_prior_of(self.regression, self.coding.design(X), self.log_share)

    def draws(self, design: FloatArray, n_draws: int, generator: np.random.Generator) -> PriorDraws:
        """Draw the prior log-odds of rows of a design."""
        odds = self.regression.draw_log_odds(design, n_draws, generator)
        odds[design[:, 0] == 0] = self.log_share[1:] - self.log_share[0]
        return PriorDraws(log_prior_of(self.regression, design, self.log_share), odds)


def log_prior_of(
    regression: CovariateRegression, design: FloatArray, log_share: FloatArray
) -> FloatArray:
    """Return log P(class | covariates), or the class frequencies of rows without covariates."""
    return np.where(design[:, :1] == 0, log_share, regression.log_proba(design))


# --------------------------------------------------------------------------------------------------
# What the factorisation needs: features independent of covariates, given the class
# --------------------------------------------------------------------------------------------------


def dependent_columns(X: Any, columns: IntArray, design: FloatArray, codes: IntArray) -> list[int]:
    """Return the columns of a table that depend on the covariates given the class.

    An F test for each column: whether covariates explain more of it than the class alone does.
    Columns were selected by their relation to the class, which the test conditions on, so that
    selection does not make it too strict or too lenient. Bonferroni's bound over all columns
    and categories is `DOUBTFUL`.
    """
    if not columns.size or design.shape[1] < 2:
        return []
    table = columns_of(as_table(X), columns)
    coding = ColumnCoding.learn(table, kinds_and_missing(table)[0])
    if not coding.varying().size:
        return []
    plain = coding.plain(table, str)
    numbers = np.asarray(dense_values(as_source(coding.as_numbers(plain, str))), dtype=float)
    sources = columns[coding.varying()[coding.sources()]]
    classes = np.eye(int(codes.max()) + 1)[codes]
    result = []
    for values, column in zip(numbers.T, sources.tolist(), strict=True):
        seen = ~np.isnan(values) & (design[:, 0] == 1)
        y, small = values[seen], classes[seen]
        large = np.column_stack([small, design[seen, 1:]])
        left_small, rank_small = _residual(small, y)
        left_large, rank_large = _residual(large, y)
        more, rest = rank_large - rank_small, y.size - rank_large
        if more < 1 or rest < 1 or left_small <= 0:
            continue
        ratio = ((left_small - left_large) / more) / max(left_large / rest, 1e-300)
        if f_distribution.sf(ratio, more, rest) * numbers.shape[1] < DOUBTFUL:
            result.append(column)
    return list(dict.fromkeys(result))


def _residual(regressors: FloatArray, y: FloatArray) -> tuple[float, int]:
    """Return the residual sum of squares of a regression, and the rank of its columns."""
    solution, _, rank, _ = np.linalg.lstsq(regressors, y, rcond=None)
    return float(np.sum((y - regressors @ solution) ** 2)), int(rank)


def warn_of_dependence(
    X: Any, columns: IntArray, design: FloatArray, codes: IntArray, names: Any, stacklevel: int
) -> None:
    """Warn of kept columns that depend on the covariates given the class."""
    found = dependent_columns(X, columns, design, codes)
    if not found:
        return
    named = [f"column {j}" if names is None else repr(str(names[j])) for j in found[:5]]
    listed = ", ".join(named) + (", ..." if found[5:] else "")
    number = "1 kept feature depends" if len(found) == 1 else f"{len(found)} kept features depend"
    warnings.warn(
        f"{number} on the covariates within the classes ({listed}), so their evidence partly "
        "repeats "
        "that of the covariates or reflects a batch effect. Adjust these features for the "
        "covariates, "
        "or make the covariates ordinary features with always_keep.",
        UserWarning,
        stacklevel=stacklevel + 1,
    )
