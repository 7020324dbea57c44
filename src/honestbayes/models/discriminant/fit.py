"""Gaussian classes with one shrunken covariance: fitted, and what they predict.

A case of class c is normal with mean m_c and covariance D S D: D holds the standard deviations
within classes, S is the correlation shrunk to the identity. Up to a term that all classes share,

    log P(x | c) = m_c' S^-1 x - m_c' S^-1 m_c / 2        (x, m_c in units of D).

The means are those of the naive Bayes model, shrunk by the distribution of signal that was learned
from all columns of the table, so that the luck of selection is in the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from honestbayes.files.fields import Floats
from honestbayes.files.records import GIVEN, Check
from honestbayes.models.discriminant.settings import DiscriminantSettings
from honestbayes.models.real.blocks import GaussianBlock, RatioPosterior
from honestbayes.models.real.explain import correlation_with
from honestbayes.models.real.fit import fit_kept
from honestbayes.models.shared.covariance import Covariance, ledoit_wolf, patterns_of
from honestbayes.models.shared.numeric import Screened
from honestbayes.screening.moments import Moments
from honestbayes.selection import Selection
from honestbayes.sources.normal_scores import NormalScores
from honestbayes.threads import one_blas_thread
from honestbayes.types import BoolArray, FloatArray, IntArray

_LEAST_WITHIN = 1e-4
"""Smallest share of a column's variance that is taken to be within classes: a column that is
constant in each class would otherwise say everything."""

_CELLS = 1 << 16
"""Cells that are standardised at a time, so that they stay in the processor's cache."""

_FARTHEST = 1e100
_LARGEST = 1e300


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DiscriminantFit:
    """A fitted discriminant.

    Attributes
    ----------
    selection : Selection
        What was kept.
    scores : NormalScores or None
        What makes scores of the columns, where they are taken as such.
    centre, unit : ndarray of shape (k,)
        What columns are measured from and in: the standard deviation within classes.
    mean : ndarray of shape (C, k)
        Centres of the classes, in these units.
    variance_of_mean : ndarray of shape (C,)
        Posterior variance of a centre around ``mean``, averaged over columns, in units of S.
    covariance : Covariance
        S, of the columns within classes.
    r : ndarray of shape (k,)
        Correlation of each column with the class; for more than two classes its size.
    idle : ndarray of shape (k,)
        Posterior probability that a column tells nothing.
    """

    selection: Annotated[Selection, GIVEN]
    scores: NormalScores | None
    centre: Annotated[FloatArray, Floats("n_columns")]
    unit: Annotated[FloatArray, Floats("n_columns", low=0.0, high=_LARGEST)]
    mean: Annotated[FloatArray, Floats("n_classes", "n_columns", low=-1e8, high=1e8)]
    variance_of_mean: Annotated[FloatArray, Floats("n_classes", low=0.0, high=_LARGEST)]
    covariance: Covariance
    r: Annotated[FloatArray, Floats("n_columns", low=-1.0 - 1e-9, high=1.0 + 1e-9)]
    idle: Annotated[FloatArray, Floats("n_columns", low=0.0, high=1.0 + 1e-9)]

    def check(self, check: Check) -> None:
        """Refuse units that are not positive."""
        check(np.all(self.unit > 0), "unit", "is not positive")

    def standardised(self, values: FloatArray) -> FloatArray:
        """Return kept columns in units of their own; NaN stays."""
        with np.errstate(over="ignore"):
            x = (values - self.centre) / self.unit
        return np.asarray(np.clip(x, -_FARTHEST, _FARTHEST))

    def log_likelihood(self, values: FloatArray) -> FloatArray:
        """Return log P(x | class), shape (n, C), up to a term that all classes share.

        Missing cells are integrated out: their columns leave means and covariance.
        """
        x = self.standardised(values)
        result = np.zeros((len(x), len(self.mean)))
        for rows, missing in patterns_of(np.isnan(x)):
            mean, covariance = self._without(missing)
            direction = covariance.solve(mean.T)
            offset = -np.einsum("ck,kc->c", mean, direction) / 2
            result[rows] = x[np.ix_(rows, ~missing)] @ direction + offset
        return result

    def distances(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (x - m_c)' S^-1 (x - m_c), shape (n, C), and how many columns each row has."""
        x = self.standardised(values)
        result = np.zeros((len(x), len(self.mean)))
        for rows, missing in patterns_of(np.isnan(x)):
            mean, covariance = self._without(missing)
            apart = x[np.ix_(rows, ~missing)][:, None] - mean
            flat = apart.reshape(-1, mean.shape[1])
            squares = np.einsum("ij,ji->i", flat, covariance.solve(flat.T))
            result[rows] = np.maximum(squares, 0.0).reshape(len(rows), -1)
        return result, np.sum(~np.isnan(x), axis=1)

    def _without(self, missing: BoolArray) -> tuple[FloatArray, Covariance]:
        if not missing.any():
            return self.mean, self.covariance
        return self.mean[:, ~missing], self.covariance.without(missing)


@one_blas_thread()
def fit_discriminant(
    screened: Screened,
    selection: Selection,
    settings: DiscriminantSettings,
    learned: RatioPosterior | None,
) -> DiscriminantFit:
    """Fit the kept columns of screened rows.

    Parameters
    ----------
    screened : Screened
        Training rows, and the moments of all columns.
    selection : Selection
        Which are kept.
    settings : DiscriminantSettings
        Choices of the user.
    learned : RatioPosterior or None
        How signal is distributed over all columns; None where class means are plain.
    """
    columns = np.array(selection.columns, dtype=np.int64)
    values, scores = screened.kept(selection)
    moments = screened.moments.take(columns)
    observed = np.broadcast_to(moments.observed, moments.mean.shape)
    cases = np.maximum(observed.sum(axis=0), 1)
    centre = (observed * moments.mean).sum(axis=0) / cases
    between = (observed * (moments.mean - centre) ** 2).sum(axis=0)
    variance = np.maximum(moments.within, _LEAST_WITHIN * (between + moments.within)) / cases
    unit = np.where(variance > 0, np.sqrt(variance), 1.0)
    residual = _residuals(values, screened.codes, moments.mean, unit * np.sqrt(cases))
    shrinkage = settings.shrinkage
    if shrinkage is None:
        shrinkage = ledoit_wolf(residual)
    mean, variance_of_mean, idle = moments.mean, 1 / np.maximum(observed, 1), np.zeros(columns.size)
    if learned is not None:
        mean, variance_of_mean, idle = _shrunken(screened.moments, settings, learned, selection)
    return DiscriminantFit(
        selection=selection,
        scores=scores,
        centre=centre,
        unit=unit,
        mean=np.where(observed > 0, mean - centre, 0.0) / unit,
        variance_of_mean=variance_of_mean.sum(axis=1) / max(columns.size, 1),
        covariance=Covariance.of(residual, shrinkage),
        r=correlation_with(moments),
        idle=idle,
    )


def _residuals(
    values: FloatArray, codes: IntArray, mean: FloatArray, unit: FloatArray
) -> FloatArray:
    """Turn values into deviations from their class's mean, in place.

    A missing cell is the mean of its class; units that know how many cells are observed let what
    is left have the variance of these.
    """
    factor = 1 / unit
    step = max(1, _CELLS // max(unit.size, 1))
    for first in range(0, len(values), step):
        block = values[first : first + step]
        block -= mean[codes[first : first + step]]
        block *= factor
    values[np.isnan(values)] = 0.0
    return values


def _shrunken(
    moments: Moments,
    settings: DiscriminantSettings,
    learned: RatioPosterior,
    selection: Selection,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return posterior means of the kept columns in each class, their variances, and who is idle.

    Variances are in units of the column's own variance within classes.
    """
    fit = fit_kept(moments, selection, settings.gaussian(), learned)
    centre = np.concatenate([block.centre() for block in fit.blocks], axis=1)
    variance = np.concatenate([_variance_of_centre(block) for block in fit.blocks], axis=1)
    idle = np.concatenate([block.idle() for block in fit.blocks])
    return fit.standard.centre + fit.standard.unit * centre, variance, idle


def _variance_of_centre(block: GaussianBlock) -> FloatArray:
    """Return the variance of class means around the common one, (C, k), in units of s2."""
    observed = np.broadcast_to(block.moments.observed, block.moments.mean.shape)
    w = block.ratio[:, None, None]
    return np.asarray(np.einsum("ak,ack->ck", block.ratio_weights(), w / (1 + w * observed)))
