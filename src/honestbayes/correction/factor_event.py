"""The probability that a feature which loads on known factor scores is discarded.

Given the scores Z of all cases a real-valued feature is normal, up to its mean, with covariance

    s2 (I + w E E' + w_lambda Z Z'),

where E holds the classes' 0/1 columns, w is the feature's signal ratio and w_lambda the ratio of
the loadings. With a real response there is no E: features depend on it through Z only. A feature
is kept where r^2 = x' P x / x' C x > gamma^2, with C the centring and P the projection on the
centred class indicators, or on the centred response: where the quadratic form of P - gamma^2 C is
positive. All but a few dimensions are alike: in a basis of the span of C E (or C y) and C Z the
form has as many eigenvalues as that span has dimensions, and -gamma^2 in all others.

References
----------
Li, L., Zhang, J. and Neal, R. M. (2008). A method for avoiding bias from feature selection with
application to naive Bayes classification models. Bayesian Analysis 3, 171-196, section 2, for the
factor that conditions on the selection; the form for factor models is derived in the docs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from honestbayes.compiled import kernel
from honestbayes.correction.quadratic_form import log_prob_positive_of
from honestbayes.types import AnyArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Contrasts:
    """What features are correlated with.

    Attributes
    ----------
    basis : ndarray of shape (n, B)
        Orthonormal basis U of the centred class indicators, or of the centred response.
    signal : ndarray of shape (B,)
        U' E E' U, which is diagonal in this basis; 0 for a response.
    """

    basis: FloatArray
    signal: FloatArray


def class_contrasts(codes: IntArray) -> Contrasts:
    """Return the contrasts of classes.

    Parameters
    ----------
    codes : ndarray of int of shape (n,)
        Class of each case, from 0; no class is empty.
    """
    counts = np.bincount(codes).astype(float)
    root = np.sqrt(counts / counts.sum())
    # An orthonormal basis of what is orthogonal to the root: the rest of a full QR.
    rest = np.linalg.qr(root[:, None], mode="complete")[0][:, 1:]
    signal, turn = np.linalg.eigh(rest.T @ (counts[:, None] * rest))
    by_class = (rest @ turn) / np.sqrt(counts)[:, None]
    return Contrasts(np.ascontiguousarray(by_class[codes]), signal)


def response_contrast(y: AnyArray) -> Contrasts:
    """Return the contrast of a real response that is not constant, shape (n,)."""
    centred = np.asarray(y, dtype=float) - np.mean(y)
    centred = centred / np.max(np.abs(centred))
    return Contrasts((centred / np.linalg.norm(centred))[:, None], np.zeros(1))


def log_prob_discarded(
    contrasts: Contrasts,
    scores: FloatArray,
    ratio: FloatArray,
    loading_ratio: float,
    gamma_squared: float,
) -> FloatArray:
    """Return log P(r^2 <= gamma^2 | Z, y, w, w_lambda) for each signal ratio, shape (A,).

    Parameters
    ----------
    contrasts : Contrasts
        Of the classes or of the response.
    scores : ndarray of shape (n, d)
        Factor scores Z. Neither rotating them nor adding a constant changes anything.
    ratio : ndarray of shape (A,)
        Signal ratios w >= 0. For a response they do not matter.
    loading_ratio : float
        Ratio w_lambda >= 0 of the variance of loadings to s2.
    gamma_squared : float
        Bound on r squared, between 0 and 1.
    """
    along, rest = project(np.ascontiguousarray(scores, dtype=float), contrasts.basis)
    return np.asarray(
        log_discarded(
            along,
            rest,
            contrasts.signal,
            np.ascontiguousarray(ratio, dtype=float),
            float(loading_ratio),
            float(gamma_squared),
            float(contrasts.basis.shape[0]),
        )
    )


@kernel()
def project(scores, basis):  # type: ignore[no-untyped-def]
    """Return U' Z, shape (B, d), and (Z - U U' Z)' C (Z - U U' Z), shape (d, d)."""
    n, d = scores.shape
    n_contrasts = basis.shape[1]
    along = np.zeros((n_contrasts, d))
    mean = np.zeros(d)
    for i in range(n):
        for f in range(d):
            mean[f] += scores[i, f] / n
            for b in range(n_contrasts):
                along[b, f] += basis[i, b] * scores[i, f]
    rest = np.zeros((d, d))
    left = np.empty(d)
    for i in range(n):
        for f in range(d):
            left[f] = scores[i, f] - mean[f]
            for b in range(n_contrasts):
                left[f] -= basis[i, b] * along[b, f]
        for f in range(d):
            for g in range(d):
                rest[f, g] += left[f] * left[g]
    return along, rest


@kernel()
def log_discarded(along, rest, signal, ratio, loading_ratio, gamma_squared, n_cases):  # type: ignore[no-untyped-def]
    """Return log P(discarded) at each ratio, shape (A,), from what `project` returns."""
    scores = _coordinates(along, rest, n_cases)
    dimensions, n_contrasts = scores.shape[0], signal.size
    degrees = np.ones(dimensions + 1)
    degrees[dimensions] = n_cases - 1.0 - dimensions
    eigenvalues = np.empty(dimensions + 1)
    eigenvalues[dimensions] = -gamma_squared
    result = np.empty(ratio.size)
    for a in range(ratio.size):
        covariance = loading_ratio * (scores @ scores.T)
        for b in range(dimensions):
            covariance[b, b] += 1.0
            if b < n_contrasts:
                covariance[b, b] += ratio[a] * signal[b]
        eigenvalues[:dimensions] = _form_eigenvalues(covariance, n_contrasts, gamma_squared)
        mean = 0.0
        for b in range(dimensions + 1):
            mean += degrees[b] * eigenvalues[b]
        if mean < 0:
            result[a] = np.log1p(-np.exp(log_prob_positive_of(eigenvalues, degrees)))
        else:
            result[a] = log_prob_positive_of(-eigenvalues, degrees)
    return result


@kernel()
def _coordinates(along, rest, n_cases):  # type: ignore[no-untyped-def]
    """Return the scores in an orthonormal basis whose first dimensions are the contrasts.

    With fewer cases than factors the scores span no more dimensions than there are cases.
    """
    n_contrasts, d = along.shape
    beyond = min(d, max(int(n_cases) - 1 - n_contrasts, 0))
    scores = np.zeros((n_contrasts + beyond, d))
    scores[:n_contrasts] = along
    if beyond > 0:
        value, vector = np.linalg.eigh(rest)
        for b in range(beyond):
            size = np.sqrt(max(value[d - 1 - b], 0.0))
            for f in range(d):
                scores[n_contrasts + b, f] = size * vector[f, d - 1 - b]
    return scores


@kernel()
def _form_eigenvalues(covariance, n_contrasts, gamma_squared):  # type: ignore[no-untyped-def]
    """Return the eigenvalues of the form P - gamma^2 I under a covariance, shape (r,)."""
    root = np.linalg.cholesky(covariance)
    form = np.zeros(covariance.shape)
    for g in range(covariance.shape[0]):
        factor = (1.0 if g < n_contrasts else 0.0) - gamma_squared
        for b in range(g + 1):
            for c in range(g + 1):
                form[b, c] += factor * root[g, b] * root[g, c]
    return np.linalg.eigvalsh(form)
