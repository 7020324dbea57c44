"""Bayesian logistic regression on the features that correlate best with the class.

The coefficients of standardised columns are normal with one unknown scale. At each node of a grid
of scales their posterior is approximated by expectation propagation (`propagation.py`), whose
evidence is the weight of the node; predictions average over nodes. With more than two classes, each
class is fitted against the rest and probabilities are normalised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from scipy.linalg import qr
from scipy.linalg.lapack import dpotri, dtrtrs
from scipy.special import log_expit, ndtri
from sklearn.utils.extmath import randomized_svd

from honestbayes.base.estimator import SelectiveClassifier
from honestbayes.base.explanation import (
    KeptTable,
    TableColumn,
    TableNames,
    by_design,
    location_columns,
)
from honestbayes.base.intervals import systematic
from honestbayes.base.numeric import (
    ColumnSummary,
    Covariance,
    NumericSettings,
    NumericTraining,
    Screened,
    ledoit_wolf,
    numeric_choices,
    numeric_values,
    patterns_of,
)
from honestbayes.base.part import Describe, FittedPart, TrainingLabels
from honestbayes.data import as_source
from honestbayes.data.kinds import Kind
from honestbayes.data.normal_scores import NormalScores
from honestbayes.files.fields import (
    CLOSE,
    GIVEN,
    Check,
    Field,
    Flag,
    Floats,
    Known,
    LogProbabilities,
    Maybe,
    Weights,
)
from honestbayes.models.logistic.propagation import (
    SETTLED,
    Approximation,
    log_mean_expit,
    no_sites,
    propagate,
)
from honestbayes.selection import Selection, parse_always_keep
from honestbayes.threads import one_blas_thread
from honestbayes.types import BoolArray, FloatArray, IntArray

# --------------------------------------------------------------------------------------------------
# Columns: standardised, rotated to fewer directions, dense or sparse
# --------------------------------------------------------------------------------------------------


MOST_DIRECTIONS = 1000
"""Number of directions to which coefficients are confined where columns and cases both exceed
``MANY``: the cost of a step must not grow with the cube of the number of cases."""

MANY = 2000
"""Number of columns and cases above which coefficients are confined to leading directions."""

_SPARSE = 0.1
"""Share of nonzero cells up to which products of sparse matrices are faster."""

_LARGE = 200_000
"""Number of cells above which that matters."""

_FARTHEST = 1e100
"""Bound of standardised values; squares of larger ones would overflow."""


_TURN = Floats("n_selected", "n_directions", low=-1.0 - CLOSE, high=1.0 + CLOSE)


@dataclass(frozen=True, slots=True, eq=False)
class Directions:
    """The map from values of the kept columns to the regressors.

    A priori the coefficients of the selected columns are independent with equal variances, and such
    a distribution is the same in any orthonormal basis. Where columns outnumber cases, the basis is
    one of the space that the cases span: the likelihood depends on no other direction, so that
    there the posterior is the prior, and a new case's component there only adds variance to its
    linear predictor.

    Attributes
    ----------
    centre, unit : ndarray of shape (k,)
        Mean and standard deviation of each column.
    varies : ndarray of shape (k,)
        1, or 0 for a constant column.
    turn : ndarray of shape (k_selected, r) or None
        Orthonormal directions of the selected columns; None for the columns themselves.
    whole : bool
        Whether the directions span all cases.
    """

    centre: Annotated[FloatArray, Floats("n_columns")]
    unit: Annotated[FloatArray, Floats("n_columns", low=1e-300)]
    varies: Annotated[FloatArray, Floats("n_columns", low=0.0, high=1.0)]
    turn: Annotated[FloatArray | None, Maybe(array=_TURN)]
    whole: Annotated[bool, Flag()]

    def check(self, check: Check) -> None:
        """Refuse directions that are not orthonormal."""
        if self.turn is not None:
            check(self.turn.shape[0] <= self.centre.size, "turn", "has too many columns")
            product = self.turn.T @ self.turn
            good = np.all(np.abs(product - np.eye(len(product))) < 1e-6)
            check(good, "turn", "is not orthonormal")

    @classmethod
    def learn(
        cls, values: FloatArray, n_selected: int, *, turned: bool | None = None
    ) -> Directions:
        """Learn from training rows, shape (n, k), of which the first columns were selected.

        Missing cells do not count. ``turned``: whether the selected columns are rotated; by
        default where they outnumber the cases, or where both are very many.
        """
        missing = np.isnan(values)
        n = np.maximum((~missing).sum(axis=0), 1)
        # Relative to a value of the column itself, so that a constant column is exactly 0.
        rows = np.argmin(missing, axis=0)
        first = np.nan_to_num(values[rows, np.arange(values.shape[1])])
        apart = np.where(missing, 0.0, values - first)
        rough = np.abs(apart).max(axis=0)
        varies = rough > 0
        rough = np.where(varies, rough, 1.0)
        apart /= rough
        mean = apart.sum(axis=0) / n
        apart -= mean
        apart[missing] = 0.0
        spread = np.sqrt(np.einsum("ij,ij->j", apart, apart) / n)
        unit = np.maximum(np.where(varies, spread * rough, 1.0), 1e-300)
        plain = cls(first + mean * rough, unit, varies.astype(float), None, whole=True)
        if turned is None:
            turned = n_selected > len(values) or min(n_selected, len(values)) > MANY
        return plain._turned(plain.standardised(values)[:, :n_selected]) if turned else plain

    def _turned(self, selected: FloatArray) -> Directions:
        """Return these columns with directions that span the rows of the selected ones."""
        whole = min(selected.shape) <= MANY
        if whole:
            turn = qr(selected.T, mode="economic", check_finite=False)[0]
        else:
            leading = randomized_svd(selected, MOST_DIRECTIONS, n_iter=2, random_state=0)[2]
            turn = leading.T
        # In the order of files, so that a loaded model has the same bits.
        stored: FloatArray = np.ascontiguousarray(turn, dtype=np.float64)
        return Directions(self.centre, self.unit, self.varies, stored, whole)

    def standardised(self, values: FloatArray) -> FloatArray:
        """Return values in standard units, shape (n, k); missing cells are the mean."""
        with np.errstate(over="ignore"):
            z = (values - self.centre) / self.unit
        z *= self.varies
        if np.isnan(z).any():
            np.copyto(z, 0.0, where=np.isnan(z))
        return np.asarray(np.clip(z, -_FARTHEST, _FARTHEST, out=z))

    def coordinates(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the regressors, shape (n, q), and the squared length outside all directions, (n,).

        Outside, coefficients have their prior variance, so that a row's predictor has this variance
        times its squared length there.
        """
        z = self.standardised(values)
        ones = np.ones((len(z), 1))
        if self.turn is None:
            return np.hstack([ones, z]), np.zeros(len(z))
        selected, designed = np.split(z, [len(self.turn)], axis=1)
        turned = selected @ self.turn
        rest = np.zeros(len(z))
        if self.whole:
            rest = np.einsum("ij,ij->i", selected, selected)
            inside = np.einsum("ij,ij->i", turned, turned)
            rest = np.where(rest - inside > 1e-12 * rest, rest - inside, 0.0)
        return np.hstack([ones, turned, designed]), np.asarray(rest)

    def slopes(self, coefficients: FloatArray) -> FloatArray:
        """Return the coefficients of the standardised columns, (..., k), given (..., q)."""
        inside = coefficients[..., 1:]
        if self.turn is None:
            return np.asarray(inside * self.varies)
        turned, designed = np.split(inside, [self.turn.shape[1]], axis=-1)
        return np.asarray(np.concatenate([turned @ self.turn.T, designed], axis=-1) * self.varies)

    @property
    def n_turned(self) -> int | None:
        """Number of directions that replace the selected columns; None where none do."""
        return None if self.turn is None else self.turn.shape[1]


def training_columns(
    directions: Directions, values: FloatArray
) -> DenseRegressors | SparseRegressors:
    """Return the columns of training rows in the form that is faster."""
    if directions.turn is None and values.size > _LARGE and not np.isnan(values).any():
        cells = sparse.csr_array(values)
        if cells.nnz < _SPARSE * values.size:
            return SparseRegressors.of(directions, cells)
    return DenseRegressors(directions.coordinates(values)[0])


@dataclass(frozen=True, slots=True, eq=False)
class DenseRegressors:
    """Regressors as an array of shape (n, q)."""

    values: FloatArray

    def predictor(self, coefficients: FloatArray) -> FloatArray:
        """Return X w."""
        return np.asarray(self.values @ coefficients)

    def gathered(self, shift: FloatArray) -> FloatArray:
        """Return X' s."""
        return np.asarray(shift @ self.values)

    def precision(self, weights: FloatArray) -> FloatArray:
        """Return X' diag(weights) X."""
        scaled = self.values * np.sqrt(weights)[:, None]
        return np.asarray(scaled.T @ scaled)

    def variance(self, triangle: FloatArray) -> FloatArray:
        """Return the variances of X w, where w has precision L L'."""
        half = dtrtrs(triangle, self.values.T, lower=1)[0]
        return np.asarray(np.einsum("ij,ij->j", half, half))


@dataclass(frozen=True, slots=True, eq=False)
class SparseRegressors:
    """Regressors that are mostly 0 before they are centred: X = Y M, Y sparse.

    Centring would make them dense. It is a linear map of the columns and the intercept, so that it
    is applied to the small matrices instead.

    Attributes
    ----------
    cells : csr_array of shape (n, q)
        Y: a column of ones, and the columns in their units.
    dense : ndarray of shape (n, q)
        The same, for sums over rows of a product that is not sparse.
    moved : ndarray of shape (q,)
        Centres in these units, 0 first: M is the identity with the first row 1, -moved.
    """

    cells: Any
    dense: FloatArray
    moved: FloatArray

    @classmethod
    def of(cls, directions: Directions, cells: Any) -> SparseRegressors:
        """Return the columns of training rows."""
        scale = directions.varies / directions.unit
        ones = sparse.csr_array(np.ones((cells.shape[0], 1)))
        scaled = sparse.hstack([ones, cells * scale[None, :]], format="csr")
        return cls(scaled, scaled.toarray(), np.append(0.0, directions.centre * scale))

    def predictor(self, coefficients: FloatArray) -> FloatArray:
        """Return X w."""
        return np.asarray(self.cells @ coefficients - self.moved @ coefficients)

    def gathered(self, shift: FloatArray) -> FloatArray:
        """Return X' s."""
        return np.asarray(self.cells.T @ shift - self.moved * shift.sum())

    def precision(self, weights: FloatArray) -> FloatArray:
        """Return X' diag(weights) X."""
        scaled = self.cells * np.sqrt(weights)[:, None]
        product = (scaled.T @ scaled).toarray()
        # X' W X = M' (Y' W Y) M; the first row of Y' W Y is that of the column of ones, so that M
        # changes the product by a symmetric matrix of rank two.
        cross = np.outer(product[0] - 0.5 * product[0, 0] * self.moved, self.moved)
        product -= cross
        product -= cross.T
        return np.asarray(product)

    def variance(self, triangle: FloatArray) -> FloatArray:
        """Return the variances of X w, where w has precision L L'."""
        # One triangle is enough for squares x' S x: elements beside the diagonal count twice.
        upper = dpotri(triangle, lower=1)[0].T
        diagonal = np.diagonal(upper).copy()
        towards = upper @ self.moved + self.moved @ upper - diagonal * self.moved
        upper[0] -= towards
        upper *= 2
        upper.flat[:: diagonal.size + 1] = diagonal
        upper[0, 0] += self.moved @ towards - 2 * towards[0]
        reached = self.cells @ upper
        return np.asarray(np.einsum("ij,ij->i", self.dense, reached))


# --------------------------------------------------------------------------------------------------
# The posterior: a grid of scales, each with a normal approximation
# --------------------------------------------------------------------------------------------------


SCALES = np.geomspace(0.1, 30.0, 10)
"""Grid of the prior standard deviation of the linear predictor; log-uniform a priori."""

INTERCEPT_SD = 2.0
"""Prior standard deviation of the intercept around the log-odds of the class frequencies."""

DESIGNED_SD = 1.0
"""Prior standard deviation of the coefficient of a column kept by design."""

_NEGLIGIBLE = 8.0
"""Nodes whose log evidence is below the highest by more than this are left out."""

_NEARLY = 1e-2
"""Tolerance of the sites while the scales with weight are searched for."""

_FIRST = 4
"""Index of the node where the search begins: a scale of about 1."""

_LARGEST = 1e30
"""Bound of coefficients in files: regressors are at most 1e100, and squares of sums of products
must be finite."""

_SHAPE = ("n_nodes", "n_fits", "n_coefficients")
_COEFFICIENTS = Floats(*_SHAPE, low=-_LARGEST, high=_LARGEST)
_FACTORS = Floats(*_SHAPE, "n_coefficients", low=-_LARGEST, high=_LARGEST)

Fits = Sequence[Approximation]
"""Fits at one scale: one for two classes, else one of each class against the rest."""


@dataclass(frozen=True, slots=True, eq=False)
class LogisticPosterior:
    """Normal posteriors of the coefficients, a mixture over scales.

    Attributes
    ----------
    scale : ndarray of shape (G,)
        Nodes of the scale with weight.
    weight : ndarray of shape (G,)
        Their posterior probabilities.
    log_evidence : ndarray of shape (G,)
        Log probability of the training classes at each node.
    mean : ndarray of shape (G, F, q)
        Posterior means of the intercept, the directions of the selected columns, and the columns
        kept by design. F is 1 for two classes, else there is one fit for each class.
    factor : ndarray of shape (G, F, q, q)
        Upper triangles U: the covariance is U U'.
    outside : ndarray of shape (G,)
        Prior variance of a coefficient in a direction outside the training cases.
    offset : ndarray of shape (F,)
        Offset of the linear predictor: the log-odds of the class frequencies.
    """

    scale: Annotated[FloatArray, Floats("n_nodes", low=0.0)]
    weight: Annotated[FloatArray, Weights("n_nodes")]
    log_evidence: Annotated[FloatArray, Floats("n_nodes")]
    mean: Annotated[FloatArray, _COEFFICIENTS]
    factor: Annotated[FloatArray, _FACTORS]
    outside: Annotated[FloatArray, Floats("n_nodes", low=0.0, high=_LARGEST**2)]
    offset: Annotated[FloatArray, Floats("n_fits", low=-_LARGEST, high=_LARGEST)]

    def check(self, check: Check) -> None:
        """Refuse what cannot be the result of a fit."""
        check(self.mean.shape[0] >= 1, "mean", "has no node")
        check(not np.tril(self.factor, -1).any(), "factor", "is not an upper triangle")

    def predictor(self, coordinates: FloatArray, rest: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return means and variances of the linear predictor, both of shape (G, F, n)."""
        shape = (*self.mean.shape[:2], len(coordinates))
        mean, variance = np.empty(shape), np.empty(shape)
        for g, f in np.ndindex(shape[:2]):
            mean[g, f] = coordinates @ self.mean[g, f] + self.offset[f]
            spread = coordinates @ self.factor[g, f]
            variance[g, f] = np.einsum("ij,ij->i", spread, spread) + self.outside[g] * rest
        return mean, variance

    def log_proba(self, mean: FloatArray, variance: FloatArray) -> FloatArray:
        """Return log P(class | x), shape (n, C), from the result of `predictor`.

        The logistic function is averaged over the normal posterior of the linear predictor, not
        evaluated at its mean, which would be overconfident.
        """
        if mean.shape[1] == 1:
            log_each = np.stack(
                [
                    log_mean_expit(-mean[:, 0], variance[:, 0]),
                    log_mean_expit(mean[:, 0], variance[:, 0]),
                ]
            )
        else:
            log_each = np.moveaxis(log_mean_expit(mean, variance), 1, 0)
        log_each -= np.logaddexp.reduce(log_each, axis=0)
        weighted = log_each + np.log(self.weight)[:, None]
        return np.asarray(np.logaddexp.reduce(weighted, axis=1).T)


def fit_scales(
    directions: Directions,
    values: FloatArray,
    codes: IntArray,
    log_prior: FloatArray,
    n_selected: int,
    first: float | None = None,
) -> LogisticPosterior:
    """Fit the coefficients at the scales with weight.

    Parameters
    ----------
    directions : Directions
        Regressors of the kept columns.
    values : ndarray of shape (n, k)
        Training rows.
    codes : ndarray of int of shape (n,)
        Their classes.
    log_prior : ndarray of shape (C,)
        Log class frequencies.
    n_selected : int
        Number of selected columns; those after them are kept by design.
    first : float, optional
        A scale near the best one, if it is known.
    """
    columns = training_columns(directions, values)
    n_designed = values.shape[1] - n_selected
    n_directions = n_selected if directions.n_turned is None else directions.n_turned
    classes = [1] if log_prior.size == 2 else range(log_prior.size)
    signs = [np.where(codes == c, 1.0, -1.0) for c in classes]
    offset = np.array([log_prior[c] - np.log(-np.expm1(log_prior[c])) for c in classes])
    fixed = np.full(1 + n_directions + n_designed, 1 / DESIGNED_SD**2)
    fixed[0] = 1 / INTERCEPT_SD**2

    def fitted(scale: float, near: Fits | None, tolerance: float) -> Fits:
        precision = fixed.copy()
        # k standardised columns with coefficients of variance scale^2 / k make a linear predictor
        # of variance scale^2: the meaning of the scale does not depend on the number of columns.
        precision[1 : 1 + n_directions] = n_selected / scale**2
        start = [no_sites(codes.size)] * len(signs) if near is None else [a.sites for a in near]
        each = zip(offset, signs, start, strict=True)
        return [
            propagate(columns, precision, float(o), sign, sites, tolerance)
            for o, sign, sites in each
        ]

    middle = _FIRST if first is None else int(np.abs(np.log(SCALES / first)).argmin())
    # First roughly. The evidence of expectation propagation is stationary in the sites where they
    # have converged, so that a small error in these changes it in second order only: enough to
    # know which scales have weight.
    rough = _walk(fitted, middle) if n_selected else {1.0: fitted(1.0, None, _NEARLY)}
    best = max(map(_log_evidence, rough.values()))
    settled = {
        scale: fitted(scale, rough[scale], SETTLED)
        for scale in sorted(rough)
        if _log_evidence(rough[scale]) > best - _NEGLIGIBLE
    }
    return _posterior(settled, offset, n_selected)


def _walk(fitted: Callable[[float, Fits | None, float], Fits], middle: int) -> dict[float, Fits]:
    """Fit scales upwards and downwards from one, each from its neighbour, until negligible.

    Where the posterior is so narrow that a single node has weight, the grid is too coarse for its
    mode: one more scale is fitted, at the maximum of the parabola through three nodes.
    """
    fits = {middle: fitted(SCALES[middle], None, _NEARLY)}
    log_evidence = {middle: _log_evidence(fits[middle])}
    for step in (1, -1):
        node = middle + step
        while 0 <= node < SCALES.size:
            fits[node] = fitted(SCALES[node], fits[node - step], _NEARLY)
            log_evidence[node] = _log_evidence(fits[node])
            if log_evidence[node] < max(log_evidence.values()) - _NEGLIGIBLE:
                break
            node += step
    result = {float(SCALES[node]): each for node, each in fits.items()}
    best = max(log_evidence, key=lambda node: log_evidence[node])
    below, above = (log_evidence.get(best + step, np.nan) for step in (-1, 1))
    if max(below, above) < log_evidence[best] - _NEGLIGIBLE:
        curve = below - 2 * log_evidence[best] + above
        shift = 0.5 * (below - above) / curve * np.log(SCALES[1] / SCALES[0])
        scale = float(SCALES[best] * np.exp(shift))
        result[scale] = fitted(scale, fits[best], _NEARLY)
    return result


def _log_evidence(fits: Fits) -> float:
    return sum(fit.log_evidence for fit in fits)


def _posterior(
    by_scale: Mapping[float, Fits], offset: FloatArray, n_selected: int
) -> LogisticPosterior:
    """Weight the scales by their evidence; a priori nodes are equally probable."""
    log_evidence = np.array([_log_evidence(fits) for fits in by_scale.values()])
    weight = np.exp(log_evidence - log_evidence.max())
    return LogisticPosterior(
        scale=np.array(list(by_scale)),
        weight=weight / weight.sum(),
        log_evidence=log_evidence,
        mean=np.array([[fit.mean for fit in fits] for fits in by_scale.values()]),
        factor=np.array([[fit.factor for fit in fits] for fits in by_scale.values()]),
        outside=np.square(list(by_scale)) / max(n_selected, 1),
        offset=offset,
    )


# --------------------------------------------------------------------------------------------------
# Fitted columns as a part of an estimator
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LogisticPart:
    """Fitted columns of a logistic regression.

    Attributes
    ----------
    selection : Selection
        What was kept and discarded.
    log_prior : ndarray of shape (C,)
        Log class frequencies, which are no part of the evidence.
    scores : NormalScores or None
        Transforms values to normal scores, if not None.
    directions : Directions
        The map from values to regressors.
    posterior : LogisticPosterior
        Posterior of the coefficients.
    means : ndarray of shape (C, k)
        Shrunken class means of the standardised columns, for missing cells.
    covariance : Covariance
        Covariance of the standardised columns within classes, for missing cells.
    summary : ColumnSummary
        Summaries of single columns.
    """

    selection: Annotated[Selection, GIVEN]
    log_prior: Annotated[FloatArray, LogProbabilities("n_classes")]
    scores: NormalScores | None
    directions: Directions
    posterior: LogisticPosterior
    means: Annotated[FloatArray, Floats("n_classes", "n_columns")]
    covariance: Covariance
    summary: ColumnSummary

    def check_against(self, known: Known, check: Check) -> None:
        """Refuse values that do not fit the selection and the classes."""
        n_selected, n_classes = len(self.selection.kept), known["n_classes"]
        turn = self.directions.turn
        check(turn is None or len(turn) == n_selected, "directions", "are those of other columns")
        n_directions = n_selected if turn is None else turn.shape[1]
        width = 1 + n_directions + len(self.selection.always_kept)
        fits = 1 if n_classes == 2 else n_classes
        good = self.posterior.mean.shape[1:] == (fits, width)
        check(good, "posterior", "has other coefficients")
        check(np.array_equal(self.log_prior, known["log_prior"]), "log_prior", "is another one")
        good = self.covariance.factor.shape[1] == self.directions.centre.size
        check(good, "covariance", "is one of other columns")

    def read(self, X: Any, describe: Describe) -> FloatArray:
        """Return the kept columns as numbers or scores; NaN is missing."""
        return numeric_values(X, self.scores, describe)

    def rows(self, values: FloatArray, rows: slice) -> FloatArray:
        """Return some rows of values that were read."""
        return values[rows]

    def log_likelihood(self, values: FloatArray) -> FloatArray:
        """Return the evidence, shape (n, C): log P(class | x) less the log prior of the class.

        Missing cells are integrated out. Columns are taken as normal within classes, with one
        covariance. Given the observed cells, missing ones are then a mixture over classes of normal
        variables: for each class their mean is filled in, and their variance adds to that of the
        linear predictor. A row without any cell must have no evidence, so its log prior is what the
        model itself predicts for it; in between, the log prior moves from one to the other with the
        share of the predictor's variance that is missing.
        """
        result = np.empty((len(values), self.log_prior.size))
        holes = np.isnan(values).any(axis=1)
        whole = self.posterior.predictor(*self.directions.coordinates(values[~holes]))
        result[~holes] = self.posterior.log_proba(*whole) - self.log_prior
        if holes.any():
            log_share, mean, variance, missing_share = self._given_observed(values[holes])
            nothing = self._given_observed(np.full((1, values.shape[1]), np.nan))
            own = self._mixed_log_proba(nothing[0], nothing[1], nothing[2])
            log_prior = self.log_prior + missing_share * (own - self.log_prior)
            result[holes] = self._mixed_log_proba(log_share, mean, variance) - log_prior
        return result

    def _mixed_log_proba(
        self, log_share: FloatArray, mean: FloatArray, variance: FloatArray
    ) -> FloatArray:
        """Return log P(class | x), (n, C), averaged over the class of the missing cells."""
        each = [self.posterior.log_proba(m, v) for m, v in zip(mean, variance, strict=True)]
        return np.asarray(np.logaddexp.reduce(log_share.T[..., None] + np.stack(each), axis=0))

    def _given_observed(
        self, values: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the linear predictor of rows with missing cells, if these were of each class.

        Returns
        -------
        log_share : ndarray of shape (n, C)
            Log probabilities of the classes, by the normal distribution of the observed cells.
        mean, variance : ndarray of shape (C, G, F, n)
            Mean and variance of the linear predictor.
        missing_share : ndarray of shape (n, F)
            Share of the predictor's variance that is missing.
        """
        missing, n_classes = np.isnan(values), self.log_prior.size
        n_nodes, n_fits = self.posterior.mean.shape[:2]
        slopes = self.directions.slopes(self.posterior.mean)
        log_share = np.repeat(self.log_prior[None], len(values), axis=0)
        filled = np.repeat(self.means[:, None], len(values), axis=1)
        noise = np.empty((n_nodes, n_fits, len(values)))
        everything = np.ones(missing.shape[1], dtype=bool)
        most = self._missing_variance(everything, np.zeros((0, 0)), slopes)[1]
        noise[:] = most[..., None]
        for rows, pattern in patterns_of(missing):
            observed = self.directions.standardised(values[rows])[:, ~pattern]
            apart = observed - self.means[:, None, ~pattern]
            flat = apart.reshape(-1, observed.shape[1])
            mean, added = self._missing_variance(pattern, flat, slopes)
            noise[:, :, rows] = added[..., None]
            filled[:, rows[:, None], pattern] += mean.reshape(n_classes, len(rows), -1)
            filled[:, rows[:, None], ~pattern] = observed
            covariance = self.covariance.without(pattern)
            squares = np.einsum("ij,ji->i", flat, covariance.solve(flat.T))
            log_share[rows] += -0.5 * squares.reshape(n_classes, -1).T
        log_share -= np.logaddexp.reduce(log_share, axis=1, keepdims=True)
        raw = self.directions.centre + self.directions.unit * filled
        by_class = [self.posterior.predictor(*self.directions.coordinates(one)) for one in raw]
        weight = self.posterior.weight
        total = np.maximum(np.einsum("g,gf->f", weight, most), 1e-300)
        return (
            log_share,
            np.stack([mean for mean, _ in by_class]),
            np.stack([variance + noise for _, variance in by_class]),
            np.minimum(np.einsum("g,gfn->nf", weight, noise) / total, 1.0),
        )

    def _missing_variance(
        self, missing: BoolArray, apart: FloatArray, slopes: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return conditional means of missing cells, less the class mean, and their variance.

        The variance is that of the linear predictor's missing part, shape (G, F).
        """
        chosen = slopes[..., missing].reshape(-1, int(missing.sum())).T
        mean, variance = self.covariance.condition(missing, apart, chosen)
        return mean, variance.reshape(slopes.shape[:2])

    def _predictor(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance of the linear predictor, (G, F, n), also with missing cells."""
        holes = np.asarray(np.isnan(values).any(axis=1))
        filled = np.where(holes[:, None], self.directions.centre, values)
        mean, variance = self.posterior.predictor(*self.directions.coordinates(filled))
        if holes.any():
            log_share, by_class, noise, _ = self._given_observed(values[holes])
            share = np.exp(log_share).T[:, None, None]
            mean[:, :, holes] = centre = (share * by_class).sum(axis=0)
            variance[:, :, holes] = (share * (noise + (by_class - centre) ** 2)).sum(axis=0)
        return mean, variance

    def draw_evidence(
        self, values: FloatArray, n_draws: int, generator: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Draw the evidence of each row, for intervals.

        The linear predictor f is drawn from its posterior given the training data. Given y* too,
        its density is proportional to that times P(y* | f): the weights of the draws.
        """
        mean, variance = self._predictor(values)
        node = systematic(generator, self.posterior.weight, n_draws)
        # Quantiles in random order instead of independent draws: less Monte Carlo error.
        levels = (np.arange(n_draws) + 0.5) / n_draws
        normal = np.stack([ndtri(generator.permutation(levels)) for _ in range(mean.shape[1])])
        drawn = mean[node] + np.sqrt(variance[node]) * normal.T[..., None]
        predictor = np.moveaxis(drawn, 2, 0)  # (n, S, F)
        log_proba = log_expit(predictor)
        if mean.shape[1] == 1:
            log_proba = np.concatenate([log_expit(-predictor), log_proba], axis=2)
        log_proba -= np.logaddexp.reduce(log_proba, axis=2, keepdims=True)
        log_ratio = log_proba - self.log_prior
        evidence = log_ratio[..., 1:] - log_ratio[..., :1]
        shape = (self.log_prior.size, *evidence.shape)
        return np.broadcast_to(evidence, shape), np.moveaxis(log_proba, 2, 0)


@dataclass(frozen=True, slots=True)
class LogisticTraining(NumericTraining):
    """Columns of a training table, to be fitted by logistic regression."""

    @one_blas_thread()
    def _fitted(self, statistic: Screened, whole: FittedPart | None) -> LogisticPart:
        selection = self._selected(statistic)
        values, scores = statistic.kept(selection)
        n_selected = len(selection.kept)
        directions = Directions.learn(values, n_selected)
        log_prior = self.labels.log_prior()
        first = None
        if isinstance(whole, LogisticPart):  # a fold's best scale is near that of all rows
            first = float(whole.posterior.scale[whole.posterior.weight.argmax()])
        codes = statistic.codes
        posterior = fit_scales(directions, values, codes, log_prior, n_selected, first)
        summary = statistic.summary(selection, values, scores)
        means, covariance = _within_classes(directions.standardised(values), codes, log_prior.size)
        return LogisticPart(
            selection, log_prior, scores, directions, posterior, means, covariance, summary
        )


def _within_classes(
    standard: FloatArray, codes: IntArray, n_classes: int
) -> tuple[FloatArray, Covariance]:
    """Return class means, shape (C, k), and the covariance within classes, both shrunken.

    A column's means are multiplied by the positive part of 1 - 1 / F, with F its F statistic
    (James and Stein): the columns were selected for large differences between class means, which
    overstates them.
    """
    counts = np.bincount(codes, minlength=n_classes)
    means = np.stack([standard[codes == c].sum(axis=0) for c in range(n_classes)])
    means /= np.maximum(counts, 1)[:, None]
    residual = standard - means[codes]
    within = np.einsum("ij,ij->j", residual, residual) / max(len(standard) - n_classes, 1)
    between = (counts[:, None] * means**2).sum(axis=0) / max(n_classes - 1, 1)
    means *= np.maximum(1 - within / np.maximum(between, 1e-300), 0.0)
    residual /= np.sqrt(max(len(standard) - n_classes, 1))
    return means, Covariance.of(residual, ledoit_wolf(residual))


# --------------------------------------------------------------------------------------------------
# Explanation: the table of kept features
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class LogisticFeatureTable(KeptTable):
    """The kept features, strongest first, then those kept by design, with their coefficients.

    A coefficient is the change of the log-odds by one standard deviation of the column, the others
    held fixed; features that repeat each other share it. There is one fit (F = 1) for two classes,
    whose coefficients are for the second class; else one of each class against the rest.

    Attributes
    ----------
    r : ndarray of shape (k,)
        Correlation with the class; for more than two classes the root of the share of the sum of
        squares between them.
    coefficient, sd : ndarray of shape (F, k)
        Posterior means and standard deviations, per standard deviation of the column.
    per_unit : ndarray of shape (F, k) or None
        Posterior means in the user's units; None where columns became normal scores.
    centre : ndarray of shape (C, k)
        Mean of the column in each class.
    spread : ndarray of shape (k,)
        Standard deviation within a class.
    by_design : ndarray of bool of shape (k,)
        Whether the feature was kept by design.
    """

    r: FloatArray
    coefficient: FloatArray
    sd: FloatArray
    per_unit: FloatArray | None
    centre: FloatArray
    spread: FloatArray
    by_design: BoolArray

    def _rows(self, names: TableNames) -> dict[str, Iterable[Any]]:
        del names
        return {
            "by_design": self.by_design.tolist(),
            "correlation": self.r.tolist(),
            "centre": zip(*self.centre.tolist(), strict=True),
            "spread": self.spread.tolist(),
            "coefficient": zip(*self.coefficient.tolist(), strict=True),
            "coefficient_sd": zip(*self.sd.tolist(), strict=True),
        }

    def _page_columns(self) -> tuple[TableColumn, ...]:
        return (
            *location_columns(self.classes),
            *(
                TableColumn(
                    title=f"for {label}",
                    key="coefficient",
                    style="signed",
                    index=f,
                    error="coefficient_sd",
                )
                for f, label in enumerate(self._classes_of_fits())
            ),
        )

    def _page_note(self) -> str:
        others = "" if len(self.classes) == 2 else ", against all others,"
        return (
            "Centre: the mean of a class. Spread: a typical deviation within a class. “For” a "
            "class: what one standard deviation of the feature adds to its log-odds"
            f"{others} while the other features stay, before recalibration; “±” is a standard "
            "deviation. Features that repeat each other share their effect."
        )

    def _classes_of_fits(self) -> tuple[str, ...]:
        """Return the class whose log-odds each fit models."""
        return self.classes[1:] if len(self.coefficient) == 1 else self.classes

    def to_dict(self) -> dict[str, list[Any]]:
        """Return plain columns, for a frame or JSON."""
        result: dict[str, list[Any]] = {"name": list(self.name), "r": self.r.tolist()}
        for f, label in enumerate(self._classes_of_fits()):
            result[f"coefficient_{label}"] = self.coefficient[f].tolist()
            result[f"sd_{label}"] = self.sd[f].tolist()
            if self.per_unit is not None:
                result[f"per_unit_{label}"] = self.per_unit[f].tolist()
        for c, label in enumerate(self.classes):
            result[f"centre_{label}"] = self.centre[c].tolist()
        return result | {"spread": self.spread.tolist(), "by_design": self.by_design.tolist()}

    def __str__(self) -> str:
        """Return an aligned table."""
        rows = [["feature", "r", *(f"for {label} (sd)" for label in self._classes_of_fits())]]
        for j, name in enumerate(self.name):
            pairs = zip(self.coefficient[:, j], self.sd[:, j], strict=True)
            rows.append([name, f"{self.r[j]:.3f}", *(f"{m:+.2f} ({s:.2f})" for m, s in pairs)])
        first, *sizes = (max(map(len, column)) for column in zip(*rows, strict=True))
        lines = []
        for (name, *cells), designed in zip(rows, (False, *self.by_design), strict=True):
            padded = (f"{cell:>{size}}" for cell, size in zip(cells, sizes, strict=True))
            remark = "  by design" if designed else ""
            lines.append("  ".join((f"{name:<{first}}", *padded)) + remark)
        return "\n".join(lines)


def feature_table(
    part: LogisticPart, names: tuple[str, ...], classes: tuple[str, ...], _slope: float
) -> LogisticFeatureTable:
    """Summarise the posterior of each coefficient over all scales."""
    means, variances = _coefficients(part)
    weight = part.posterior.weight
    mean = np.einsum("g,gfk->fk", weight, means)
    second = np.einsum("g,gfk->fk", weight, variances + (means - mean) ** 2)
    varies, summary = part.directions.varies, part.summary
    return LogisticFeatureTable(
        name=names,
        classes=classes,
        r=summary.r,
        coefficient=mean,
        sd=np.sqrt(second),
        per_unit=None if part.scores is not None else mean * varies / part.directions.unit,
        centre=summary.centre,
        spread=summary.spread,
        by_design=by_design(part.selection),
    )


def _coefficients(part: LogisticPart) -> tuple[FloatArray, FloatArray]:
    """Return means and variances of the columns' coefficients, both of shape (G, F, k)."""
    posterior, turn = part.posterior, part.directions.turn
    means = posterior.mean[..., 1:]
    factor = posterior.factor[..., 1:, :]
    if turn is None:
        return means, np.einsum("gfkq,gfkq->gfk", factor, factor)
    r = turn.shape[1]
    turned = np.einsum("kr,gfrq->gfkq", turn, factor[..., :r, :], optimize=True)
    inside = np.einsum("gfkq,gfkq->gfk", turned, turned)
    # Outside the space of the training cases the posterior is the prior.
    left = np.maximum(1 - np.einsum("kr,kr->k", turn, turn), 0.0)
    inside += posterior.outside[:, None, None] * left
    designed = np.einsum("gfkq,gfkq->gfk", factor[..., r:, :], factor[..., r:, :])
    means = np.concatenate([means[..., :r] @ turn.T, means[..., r:]], axis=2)
    return means, np.concatenate([inside, designed], axis=2)


_KNOWN = 1e12
"""Number of cases that fix the class frequencies in draws for intervals."""


class SelectiveLogistic(SelectiveClassifier):
    """Bayesian logistic regression on the features that correlate best with the class.

    The log-odds of the second of two classes are an intercept plus a sum of the kept columns, each
    in units of its standard deviation, times coefficients. These are normal around 0 with standard
    deviation s / sqrt(k) for k selected columns, and the scale s is integrated over a grid from 0.1
    to 30 by the evidence of each value. At each, the posterior is found by expectation propagation;
    probabilities are averages over coefficients and scales, not those of one best fit. Columns that
    repeat each other share a coefficient, so that their evidence is counted once.

    More than two classes: one regression of each class against the rest, all with the same scale,
    whose probabilities are normalised.

    This is not a joint model of features and classes, so it cannot condition on the discarded
    features. Overconfidence from selection is learned from held-out cases (``recalibrate``).

    In training, missing cells are filled with the column's mean. In prediction they are
    integrated out given the observed cells of the row, the columns taken to be normal within
    classes: a row without any cell gets the class frequencies.

    Parameters
    ----------
    n_features_to_select : int, "all", "cv" or None, default=None
        How many features to keep. None: 10, or all when there are fewer. "cv": the smallest
        number with nearly the best log score on held-out cases, found inside `fit`. More columns
        than cases are no obstacle. Of more than 2,000 columns in more than 2,000 cases, the 1,000
        leading directions have coefficients.
    threshold : float, optional
        Instead, keep all features whose r (root of the share of the sum of squares between
        classes; the absolute correlation for two classes) is above this bound.
    always_keep : list of names or indices, or mask, optional
        Features kept by design, which are not ranked. Their coefficients have standard deviation 1.
    class_pseudocounts : float or array-like of shape (n_classes,), default=1.0
        Cases of each class that are added where class frequencies are estimated; the intercept is
        normal around their log-odds with standard deviation 2.
    class_prior : array-like of shape (n_classes,), optional
        Prevalences where the model is used, in the order of ``classes_``.
    recalibrate : {"bayes", "slope"} or None, default="bayes"
        How probabilities are recalibrated on held-out cases. "bayes": they are averaged over a
        slope on the evidence and an outlier rate (of cases for which the features are
        uninformative), both learned from held-out predictions in `fit`. "slope": one factor on the
        evidence, plugged in. None: the regression's own probabilities.
    normal_scores : bool or "ranking", default=False
        Whether each column becomes the normal quantiles of its ranks among the training rows.
        "ranking": columns are ranked by these, and used as they are.
        Columns of a sparse table stay as they are.
    random_state : int, RandomState or None, default=None
        Breaks ties between features of equal strength.

    Attributes
    ----------
    selection_ : Selection
        What was kept and discarded.
    posterior_ : LogisticPosterior
        Scales with their weights, and the coefficients' posterior at each.
    number_choice_ : NumberChoice or None
        The numbers of features that were tried, with n_features_to_select="cv".
    slope_ : float
        Posterior mean of the slope on the evidence; 1 without recalibration.
    outlier_rate_ : float
        Posterior mean of the outlier rate; 0 without recalibration.
    correction_ : None
        This model does not condition on the discarded features.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_count_ : ndarray of shape (n_classes,)
        Training cases in each class.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features, where X has them.

    References
    ----------
    Rasmussen and Williams (2006), Gaussian Processes for Machine Learning, sections 3.3 and 3.6.

    Examples
    --------
    >>> import numpy as np
    >>> from honestbayes import SelectiveLogistic
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(60) % 2
    >>> X = rng.normal(size=(60, 500))
    >>> X[:, 0] += 2 * y
    >>> model = SelectiveLogistic(n_features_to_select=5).fit(X, y)
    >>> model.predict_proba(X[:2]).shape
    (2, 2)
    """

    _kind: ClassVar[str] = "SelectiveLogistic"
    _kind_of_features: ClassVar[Kind] = "real"
    _explain_part = staticmethod(feature_table)
    _part_classes: ClassVar[Mapping[str, type]] = {"logistic": LogisticPart}
    _fitted_choices: ClassVar[Mapping[str, Field]] = {}

    correction_ = None

    def __init__(
        self,
        *,
        n_features_to_select: int | Literal["all", "cv"] | None = None,
        threshold: float | None = None,
        always_keep: Any = None,
        class_pseudocounts: Any = 1.0,
        class_prior: Any = None,
        recalibrate: Literal["bayes", "slope"] | None = "bayes",
        normal_scores: bool | Literal["ranking"] = False,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.threshold = threshold
        self.always_keep = always_keep
        self.class_pseudocounts = class_pseudocounts
        self.class_prior = class_prior
        self.recalibrate = recalibrate
        self.normal_scores = normal_scores
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Declare what inputs are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def _training_parts(self, X: Any, labels: TrainingLabels) -> list[LogisticTraining]:
        source = as_source(X)
        always = parse_always_keep(self.always_keep, source.feature_names, source.shape[1])
        settings = self._settings_of(self.get_params(deep=False), always)
        return [LogisticTraining(settings, source, labels, self.random_state)]

    @classmethod
    def _settings_of(cls, parameters: Mapping[str, Any], always_keep: BoolArray) -> NumericSettings:
        return NumericSettings(**numeric_choices(parameters, always_keep, may_rank=True))

    def _store(self, parts: Sequence[FittedPart]) -> None:
        (part,) = parts
        assert isinstance(part, LogisticPart)
        self.selection_: Selection = part.selection
        self.posterior_: LogisticPosterior = part.posterior

    def _frequency_weights(self) -> FloatArray:
        """Return weights that fix the class frequencies in draws: the intercept varies instead."""
        return np.asarray(_KNOWN * np.exp(self._log_prior))

    # --------------------------------------------------------------- explanation

    def feature_table(self) -> LogisticFeatureTable:
        """Return the coefficient of each kept feature, and its standard deviation."""
        table: LogisticFeatureTable = super().feature_table()
        return table
