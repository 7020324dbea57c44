"""The scale of the coefficients, integrated over a grid by the evidence of each node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from honestbayes.files.fields import Floats, Weights
from honestbayes.files.records import Check
from honestbayes.models.logistic.columns import Directions, training_columns
from honestbayes.models.logistic.logistic_normal import log_mean_expit
from honestbayes.models.logistic.propagation import SETTLED, Approximation, no_sites, propagate
from honestbayes.types import FloatArray, IntArray

SCALES = np.geomspace(0.1, 30.0, 10)
"""Standard deviations of the linear predictor, before the data are seen, that are possible; even
in the logarithm."""

INTERCEPT_SD = 2.0
"""Standard deviation of the intercept around the log-odds of the class frequencies."""

DESIGNED_SD = 1.0
"""Standard deviation of the coefficient of a column that was kept by design."""

_NEGLIGIBLE = 8.0
"""Nodes whose log evidence is lower than the highest by more are left out, and those beyond."""

_NEARLY = 1e-2
"""How far sites are let settle until it is known which scales count."""

_FIRST = 4
"""Where the search for the best node begins: a scale of about 1."""

_LARGEST = 1e30
"""Bound of coefficients in files: columns are in standard units, of at most 1e100, and the square
of their sum of products has to be a number."""

_SHAPE = ("n_nodes", "n_fits", "n_coefficients")
_COEFFICIENTS = Floats(*_SHAPE, low=-_LARGEST, high=_LARGEST)
_FACTORS = Floats(*_SHAPE, "n_coefficients", low=-_LARGEST, high=_LARGEST)

Fits = Sequence[Approximation]
"""At one scale: one fit for two classes, else one of each class against the rest."""


@dataclass(frozen=True, slots=True, eq=False)
class LogisticPosterior:
    """Normal posteriors of the coefficients, a mixture over scales.

    Attributes
    ----------
    scale : ndarray of shape (G,)
        Nodes of the scale that count.
    weight : ndarray of shape (G,)
        Their posterior probabilities.
    log_evidence : ndarray of shape (G,)
        Log probability of the training classes at each.
    mean : ndarray of shape (G, F, q)
        Posterior means: of an intercept, of the directions of the columns that were selected, and
        of the columns kept by design. F is 1 for two classes, else there is one fit for each.
    factor : ndarray of shape (G, F, q, q)
        Upper triangles U: the covariance is U U'.
    outside : ndarray of shape (G,)
        Prior variance of a coefficient in a direction that no training case has.
    offset : ndarray of shape (F,)
        What is added to the linear predictor: log-odds of the class frequencies.
    """

    scale: Annotated[FloatArray, Floats("n_nodes", low=0.0)]
    weight: Annotated[FloatArray, Weights("n_nodes")]
    log_evidence: Annotated[FloatArray, Floats("n_nodes")]
    mean: Annotated[FloatArray, _COEFFICIENTS]
    factor: Annotated[FloatArray, _FACTORS]
    outside: Annotated[FloatArray, Floats("n_nodes", low=0.0, high=_LARGEST**2)]
    offset: Annotated[FloatArray, Floats("n_fits", low=-_LARGEST, high=_LARGEST)]

    def check(self, check: Check) -> None:
        """Refuse what no fit can have left."""
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
        """Return log P(class | x), shape (n, C), from the linear predictor of `predictor`."""
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
    """Fit the coefficients at the scales that count.

    Parameters
    ----------
    directions : Directions
        Of the kept columns.
    values : ndarray of shape (n, k)
        Training rows.
    codes : ndarray of int of shape (n,)
        Their classes.
    log_prior : ndarray of shape (C,)
        Log class frequencies.
    n_selected : int
        How many of the columns were selected; those after them are kept by design.
    first : float, optional
        A scale near the best one, where it is known.
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
        precision[1 : 1 + n_directions] = n_selected / scale**2
        start = [no_sites(codes.size)] * len(signs) if near is None else [a.sites for a in near]
        each = zip(offset, signs, start, strict=True)
        return [
            propagate(columns, precision, float(o), sign, sites, tolerance)
            for o, sign, sites in each
        ]

    middle = _FIRST if first is None else int(np.abs(np.log(SCALES / first)).argmin())
    found = _walk(fitted, middle) if n_selected else {1.0: fitted(1.0, None, _NEARLY)}
    best = max(map(_log_evidence, found.values()))
    settled = {
        scale: fitted(scale, found[scale], SETTLED)
        for scale in sorted(found)
        if _log_evidence(found[scale]) > best - _NEGLIGIBLE
    }
    return _posterior(settled, offset, n_selected)


def _walk(fitted: Callable[[float, Fits | None, float], Fits], middle: int) -> dict[float, Fits]:
    """Fit scales up and down from one, each from its neighbour, until they are negligible.

    Where one scale alone is left, its neighbours are too far apart to say where between them the
    best one is: one more is fitted at the top of the parabola through all three.
    """
    found = {middle: fitted(SCALES[middle], None, _NEARLY)}
    log_evidence = {middle: _log_evidence(found[middle])}
    for way in (1, -1):
        node = middle + way
        while 0 <= node < SCALES.size:
            found[node] = fitted(SCALES[node], found[node - way], _NEARLY)
            log_evidence[node] = _log_evidence(found[node])
            if log_evidence[node] < max(log_evidence.values()) - _NEGLIGIBLE:
                break
            node += way
    result = {float(SCALES[node]): fits for node, fits in found.items()}
    best = max(log_evidence, key=lambda node: log_evidence[node])
    below, above = (log_evidence.get(best + way, np.nan) for way in (-1, 1))
    if max(below, above) < log_evidence[best] - _NEGLIGIBLE:
        curve = below - 2 * log_evidence[best] + above
        step = 0.5 * (below - above) / curve * np.log(SCALES[1] / SCALES[0])
        scale = float(SCALES[best] * np.exp(step))
        result[scale] = fitted(scale, found[best], _NEARLY)
    return result


def _log_evidence(fits: Fits) -> float:
    return sum(fit.log_evidence for fit in fits)


def _posterior(
    found: Mapping[float, Fits], offset: FloatArray, n_selected: int
) -> LogisticPosterior:
    """Weigh the scales by their evidence."""
    log_evidence = np.array([_log_evidence(fits) for fits in found.values()])
    weight = np.exp(log_evidence - log_evidence.max())
    return LogisticPosterior(
        scale=np.array(list(found)),
        weight=weight / weight.sum(),
        log_evidence=log_evidence,
        mean=np.array([[fit.mean for fit in fits] for fits in found.values()]),
        factor=np.array([[fit.factor for fit in fits] for fits in found.values()]),
        outside=np.square(list(found)) / max(n_selected, 1),
        offset=offset,
    )
