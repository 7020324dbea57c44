"""Columns of numbers in a logistic regression as a part of an estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from scipy.special import log_expit, ndtri

from honestbayes.files.fields import CLOSE, Floats, Known, LogProbabilities
from honestbayes.files.records import GIVEN, Check
from honestbayes.models.logistic.columns import Directions
from honestbayes.models.logistic.scales import LogisticPosterior, fit_scales
from honestbayes.models.shared.covariance import Covariance, ledoit_wolf, patterns_of
from honestbayes.models.shared.intervals import systematic
from honestbayes.models.shared.numeric import NumericTraining, Screened, numeric_values
from honestbayes.models.shared.parts import Describe, FittedPart
from honestbayes.screening.moments import Moments
from honestbayes.selection import Selection
from honestbayes.sources.normal_scores import NormalScores
from honestbayes.threads import one_blas_thread
from honestbayes.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Described:
    """What the training rows say of each kept column alone, in the user's units.

    Attributes
    ----------
    centre : ndarray of shape (C, k)
        Mean in each class.
    spread : ndarray of shape (k,)
        Standard deviation within a class.
    r : ndarray of shape (k,)
        Correlation with the class; for more than two classes the root of the share of the sum of
        squares between them.
    """

    centre: Annotated[FloatArray, Floats("n_classes", "n_columns")]
    spread: Annotated[FloatArray, Floats("n_columns", low=0.0)]
    r: Annotated[FloatArray, Floats("n_columns", low=-1.0 - CLOSE, high=1.0 + CLOSE)]

    @classmethod
    def of(cls, moments: Moments, scores: NormalScores | None) -> Described:
        """Describe columns by their moments, which may be those of scores."""
        r = np.sqrt(moments.r_squared())
        if moments.mean.shape[0] == 2:
            r = np.sign(moments.mean[1] - moments.mean[0]) * r
        observed = np.broadcast_to(moments.observed, moments.mean.shape)
        total = observed.sum(axis=0)
        spread = np.sqrt(moments.within / np.maximum(total - len(moments.classes), 1))
        if scores is None:
            return cls(moments.mean, spread, r)
        middle = (observed * moments.mean).sum(axis=0) / np.maximum(total, 1)
        ends = scores.invert(np.stack([middle - spread, middle + spread]))
        return cls(scores.invert(moments.mean), (ends[1] - ends[0]) / 2, r)


@dataclass(frozen=True, slots=True)
class LogisticPart:
    """Fitted columns.

    Attributes
    ----------
    selection : Selection
        What was kept and discarded.
    log_prior : ndarray of shape (C,)
        Log class frequencies, which evidence does not contain.
    scores : NormalScores or None
        What makes normal scores of values, where the model is one of these.
    directions : Directions
        From values to what coefficients are multiplied by.
    posterior : LogisticPosterior
        Of the coefficients.
    means : ndarray of shape (C, k)
        Class means of the standardised columns, shrunk, by which missing cells are integrated out.
    covariance : Covariance
        Of the standardised columns within classes.
    described : Described
        The columns one by one.
    """

    selection: Annotated[Selection, GIVEN]
    log_prior: Annotated[FloatArray, LogProbabilities("n_classes")]
    scores: NormalScores | None
    directions: Directions
    posterior: LogisticPosterior
    means: Annotated[FloatArray, Floats("n_classes", "n_columns")]
    covariance: Covariance
    described: Described

    def check_against(self, known: Known, check: Check) -> None:
        """Refuse what does not fit the selection and the classes."""
        n_selected, n_classes = len(self.selection.kept), known["n_classes"]
        turn = self.directions.turn
        check(turn is None or len(turn) == n_selected, "directions", "are of other columns")
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

        Missing cells are integrated out. Within classes the columns are taken to be normal with
        one covariance, so that given the observed cells a missing one is a mixture over classes
        of normal variables: its mean stands in its place, and what it may differ by is variance of
        the linear predictor. The prior of a row without any cell is what the model itself predicts
        for it, so that such a row has no evidence; in between, the log prior moves with the share
        of the predictor's variance that is missing.
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
        """Return log P(class | x), (n, C), averaged over the classes that missing cells are of."""
        each = [self.posterior.log_proba(m, v) for m, v in zip(mean, variance, strict=True)]
        return np.asarray(np.logaddexp.reduce(log_share.T[..., None] + np.stack(each), axis=0))

    def _given_observed(
        self, values: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the linear predictor of rows with missing cells, were these of each class.

        Returns
        -------
        log_share : ndarray of shape (n, C)
            Log probabilities of these classes, by the normal distribution of the observed cells.
        mean, variance : ndarray of shape (C, G, F, n)
            Of the linear predictor.
        missing_share : ndarray of shape (n, F)
            The share of the predictor's variance that is missing.
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
        found = [self.posterior.predictor(*self.directions.coordinates(one)) for one in raw]
        weight = self.posterior.weight
        total = np.maximum(np.einsum("g,gf->f", weight, most), 1e-300)
        return (
            log_share,
            np.stack([mean for mean, _ in found]),
            np.stack([variance + noise for _, variance in found]),
            np.minimum(np.einsum("g,gfn->nf", weight, noise) / total, 1.0),
        )

    def _missing_variance(
        self, missing: BoolArray, apart: FloatArray, slopes: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return means of missing cells around the class's, and the variance they add, (G, F)."""
        chosen = slopes[..., missing].reshape(-1, int(missing.sum())).T
        mean, variance = self.covariance.condition(missing, apart, chosen)
        return mean, variance.reshape(slopes.shape[:2])

    def _predictor(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance of the linear predictor, (G, F, n), missing cells included."""
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

        The linear predictor is drawn from its posterior; a draw counts for a class y* in proportion
        to the probability that it gives to y*.
        """
        mean, variance = self._predictor(values)
        node = systematic(generator, self.posterior.weight, n_draws)
        places = (np.arange(n_draws) + 0.5) / n_draws
        normal = np.stack([ndtri(generator.permutation(places)) for _ in range(mean.shape[1])])
        drawn = mean[node] + np.sqrt(variance[node]) * normal.T[..., None]
        predictor = np.moveaxis(drawn, 2, 0)  # (n, S, F)
        log_proba = log_expit(predictor)
        if mean.shape[1] == 1:
            log_proba = np.concatenate([log_expit(-predictor), log_proba], axis=2)
        log_proba -= np.logaddexp.reduce(log_proba, axis=2, keepdims=True)
        found = log_proba - self.log_prior
        evidence = found[..., 1:] - found[..., :1]
        shape = (self.log_prior.size, *evidence.shape)
        return np.broadcast_to(evidence, shape), np.moveaxis(log_proba, 2, 0)


@dataclass(frozen=True, slots=True)
class LogisticTraining(NumericTraining):
    """Columns of numbers of a training table."""

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
        columns = np.array(selection.columns, dtype=np.int64)
        described = Described.of(statistic.moments.take(columns), scores)
        means, covariance = _within_classes(directions.standardised(values), codes, log_prior.size)
        return LogisticPart(
            selection, log_prior, scores, directions, posterior, means, covariance, described
        )


def _within_classes(
    standard: FloatArray, codes: IntArray, n_classes: int
) -> tuple[FloatArray, Covariance]:
    """Return class means, shape (C, k), and the covariance within classes, both shrunk.

    A mean is shrunk to 0 by the positive part of 1 - 1 / F (James and Stein), F the column's F
    statistic: the columns were selected for large differences between classes.
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
