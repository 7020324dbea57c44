"""Linear discriminant analysis for correlated continuous features, after selection.

A case of class c is normal with mean m_c and covariance D S D, where D has the standard deviations
within classes and S is the correlation, shrunk to the identity. Up to a term that all classes
share,

    log P(x | c) = m_c' S^-1 x - m_c' S^-1 m_c / 2        (x, m_c in units of D).

The means are those of the naive Bayes model, shrunk by the distribution of signal that was learned
from all columns of the table; this corrects for selection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from honestbayes.base.estimator import SelectiveClassifier
from honestbayes.base.explanation import by_design
from honestbayes.base.numeric import (
    Covariance,
    NumericSettings,
    NumericTraining,
    Screened,
    ledoit_wolf,
    numeric_choices,
    numeric_values,
    patterns_of,
)
from honestbayes.base.parameters import is_number
from honestbayes.base.part import Describe, FittedPart, TrainingLabels
from honestbayes.data import as_source
from honestbayes.data.kinds import Kind
from honestbayes.data.normal_scores import NormalScores
from honestbayes.files.fields import GIVEN, INLINE, Check, Field, Floats
from honestbayes.models.gaussian.estimator import (
    GaussianBlock,
    GaussianFeatureTable,
    GaussianSettings,
    RatioPosterior,
    correlation_with,
    fit_kept,
    in_users_units,
    learned_from_all,
)
from honestbayes.selection import Selection, parse_always_keep
from honestbayes.selection.moments import Moments
from honestbayes.threads import one_blas_thread
from honestbayes.types import BoolArray, FloatArray, IntArray

# --------------------------------------------------------------------------------------------------
# Settings
# --------------------------------------------------------------------------------------------------


MeansPrior = Literal["learned", "flat"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscriminantSettings(NumericSettings):
    """Validated parameters; shrinkage None is that of Ledoit and Wolf."""

    feature_prior: MeansPrior
    shrinkage: float | None

    def gaussian(self) -> GaussianSettings:
        """Return the settings of the naive Bayes model whose class means are used."""
        return GaussianSettings(
            n_features=self.n_features,
            threshold=self.threshold,
            always_keep=self.always_keep,
            feature_prior="learned",
            correction="counts",
        )


def discriminant_settings(
    params: Mapping[str, Any], always_keep: BoolArray
) -> DiscriminantSettings:
    """Turn the constructor's parameters into settings; raise an error where they are wrong."""
    prior, shrinkage = params["feature_prior"], params["shrinkage"]
    if prior not in ("learned", "flat"):
        msg = f"feature_prior={prior!r} is not one of 'learned', 'flat'."
        raise ValueError(msg)
    automatic = isinstance(shrinkage, str) and shrinkage == "auto"
    if not automatic and not (is_number(shrinkage) and 0 <= shrinkage <= 1):
        msg = f"shrinkage={shrinkage!r} is neither 'auto' nor a number between 0 and 1."
        raise ValueError(msg)
    return DiscriminantSettings(
        **numeric_choices(params, always_keep),
        feature_prior=prior,
        shrinkage=None if automatic else float(shrinkage),
    )


# --------------------------------------------------------------------------------------------------
# The fit, and prediction
# --------------------------------------------------------------------------------------------------


_LEAST_WITHIN = 1e-4
"""Smallest share of a column's variance that is taken to be within classes: a column that is
constant in each class would otherwise have infinite evidence."""

_CELLS = 1 << 16
"""Cells that are standardised at a time, so that they stay in the processor's cache."""

_FARTHEST = 1e100
"""Bound of standardised values; squares of larger ones would overflow."""

_LARGEST = 1e300
"""Bound of units and variances in files."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DiscriminantFit:
    """A fitted discriminant.

    Attributes
    ----------
    selection : Selection
        What was kept and discarded.
    scores : NormalScores or None
        Transforms values to normal scores, if not None.
    centre, unit : ndarray of shape (k,)
        Centre of the columns, and their standard deviation within classes.
    mean : ndarray of shape (C, k)
        Centres of the classes, in these units.
    variance_of_mean : ndarray of shape (C,)
        Posterior variance of a centre around ``mean``, averaged over columns, in units of S.
    covariance : Covariance
        S, of the columns within classes.
    r : ndarray of shape (k,)
        Correlation of each column with the class; for more than two classes its size.
    prob_null : ndarray of shape (k,)
        Posterior probability that a column is uninformative.
    """

    selection: Annotated[Selection, GIVEN]
    scores: NormalScores | None
    centre: Annotated[FloatArray, Floats("n_columns")]
    unit: Annotated[FloatArray, Floats("n_columns", low=0.0, high=_LARGEST)]
    mean: Annotated[FloatArray, Floats("n_classes", "n_columns", low=-1e8, high=1e8)]
    variance_of_mean: Annotated[FloatArray, Floats("n_classes", low=0.0, high=_LARGEST)]
    covariance: Covariance
    r: Annotated[FloatArray, Floats("n_columns", low=-1.0 - 1e-9, high=1.0 + 1e-9)]
    prob_null: Annotated[FloatArray, Floats("n_columns", low=0.0, high=1.0 + 1e-9)]

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

        Missing cells are integrated out, exactly: a marginal of a normal distribution is that of
        the observed columns, whose means and covariance are parts of the whole ones.
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
        """Return (x - m_c)' S^-1 (x - m_c), shape (n, C), and the observed columns of each row."""
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
        The kept columns.
    settings : DiscriminantSettings
        Settings.
    learned : RatioPosterior or None
        Distribution of signal over all columns; None for plain class means.
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
    mean, variance_of_mean, prob_null = (
        moments.mean,
        1 / np.maximum(observed, 1),
        np.zeros(columns.size),
    )
    if learned is not None:
        mean, variance_of_mean, prob_null = _shrunken(
            screened.moments, settings, learned, selection
        )
    return DiscriminantFit(
        selection=selection,
        scores=scores,
        centre=centre,
        unit=unit,
        mean=np.where(observed > 0, mean - centre, 0.0) / unit,
        variance_of_mean=variance_of_mean.sum(axis=1) / max(columns.size, 1),
        covariance=Covariance.of(residual, shrinkage),
        r=correlation_with(moments),
        prob_null=prob_null,
    )


def _residuals(
    values: FloatArray, codes: IntArray, mean: FloatArray, unit: FloatArray
) -> FloatArray:
    """Turn values into standardised deviations from their class mean, in place.

    A missing cell is set to the mean of its class, a deviation of 0; ``unit`` contains the root of
    the number of observed cells, so that the sum of squares of each column is still 1.
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
    """Return posterior class means of the kept columns, their variances, and P(uninformative).

    Variances are in units of the column's variance within classes.
    """
    fit = fit_kept(moments, selection, settings.gaussian(), learned)
    centre = np.concatenate([block.centre() for block in fit.blocks], axis=1)
    variance = np.concatenate([_variance_of_centre(block) for block in fit.blocks], axis=1)
    prob_null = np.concatenate([block.prob_null() for block in fit.blocks])
    return fit.standard.centre + fit.standard.unit * centre, variance, prob_null


def _variance_of_centre(block: GaussianBlock) -> FloatArray:
    """Return the variance of class means around the common one, (C, k), in units of s2."""
    observed = np.broadcast_to(block.moments.observed, block.moments.mean.shape)
    w = block.ratio[:, None, None]
    return np.asarray(np.einsum("ak,ack->ck", block.ratio_weights(), w / (1 + w * observed)))


# --------------------------------------------------------------------------------------------------
# The discriminant as a part of an estimator
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DiscriminantPart:
    """Fitted columns; ``posterior`` is the distribution of signal over all columns."""

    fit: Annotated[DiscriminantFit, INLINE]
    posterior: RatioPosterior | None

    @property
    def selection(self) -> Selection:
        """What was kept and discarded."""
        return self.fit.selection

    @property
    def scores(self) -> NormalScores | None:
        """The transformation to normal scores, or None."""
        return self.fit.scores

    def read(self, X: Any, describe: Describe) -> FloatArray:
        """Return the kept columns as numbers or scores; NaN is missing."""
        return numeric_values(X, self.scores, describe)

    def log_likelihood(self, values: FloatArray) -> FloatArray:
        """Return log P(x | class), shape (n, C)."""
        return self.fit.log_likelihood(values)

    def rows(self, values: FloatArray, rows: slice) -> FloatArray:
        """Return some rows of values that were read."""
        return values[rows]

    def draw_evidence(
        self, values: FloatArray, n_draws: int, generator: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Draw the evidence of each row given the data, x and each y*, for intervals.

        The covariance is taken as known, and the error of a class mean as N(0, v S). In coordinates
        in which S is the identity and the first axis points from the posterior mean to x, at
        distance d, the squared distance of x from a drawn mean is (d - sqrt(v) z)^2 + v chi2, with
        z standard normal and k - 1 degrees of freedom. If x is one more case of class y*, the mean
        of that class has variance v / (1 + v) (precisions 1 / v and 1 add up) and moves towards x
        by this share: the distance becomes d / (1 + v).
        """
        squares, width = self.fit.distances(values)
        n_classes = squares.shape[1]
        z = generator.normal(size=(n_classes, n_draws))
        # Wilson and Hilferty's approximation, from common random numbers for rows of any width.
        other = generator.normal(size=(n_classes, n_draws))
        result = np.empty((n_classes, len(squares), n_draws, n_classes - 1))
        degrees = np.maximum(width - 1, 1)[:, None]
        for label in range(n_classes):
            drawn = np.empty((n_classes, len(squares), n_draws))
            for c in range(n_classes):
                v, d = self.fit.variance_of_mean[c], np.sqrt(squares[:, c])[:, None]
                if c == label:
                    v, d = v / (1 + v), d / (1 + v)
                third = 2 / (9 * degrees)
                chi2 = degrees * np.maximum(1 - third + np.sqrt(third) * other[c], 0.0) ** 3
                chi2 = np.where(width[:, None] > 1, chi2, 0.0)
                drawn[c] = -((d - np.sqrt(v) * z[c]) ** 2 + v * chi2) / 2
            result[label] = np.moveaxis(drawn[1:] - drawn[:1], 0, 2)
        return result, np.zeros(result.shape[:3])


@dataclass(frozen=True, slots=True)
class DiscriminantTraining(NumericTraining):
    """Columns of a training table, to be fitted by a discriminant."""

    settings: DiscriminantSettings

    def _fitted(self, statistic: Screened, whole: FittedPart | None) -> DiscriminantPart:
        learned = None
        if isinstance(whole, DiscriminantPart):
            learned = whole.posterior
        elif self.settings.feature_prior == "learned":
            learned = learned_from_all(statistic.moments, self.settings.gaussian())
        selection = self._selected(statistic)
        return DiscriminantPart(
            fit_discriminant(statistic, selection, self.settings, learned), learned
        )


# --------------------------------------------------------------------------------------------------
# Explanation: the table of kept columns
# --------------------------------------------------------------------------------------------------


def feature_table(
    part: DiscriminantPart, names: tuple[str, ...], classes: tuple[str, ...], _slope: float
) -> GaussianFeatureTable:
    """Return the table of the kept columns, in the units of the data."""
    fit = part.fit
    centre, spread = in_users_units(fit.centre + fit.unit * fit.mean, fit.unit, fit.scores)
    return GaussianFeatureTable(
        name=names,
        classes=classes,
        r=np.abs(fit.r),
        centre=centre,
        spread=spread,
        by_design=by_design(fit.selection),
        _correlation=fit.r,
        prob_null=fit.prob_null,
    )


class SelectiveDiscriminant(SelectiveClassifier):
    """Gaussian classes with one shrunken covariance, after selection by correlation.

    Naive Bayes counts what two features share twice; here the covariance within classes accounts
    for it. It is shrunk to its diagonal (Ledoit and Wolf) and computed in the dual, so that any
    number of features may be kept, also all. Class means are those of `SelectiveGaussianNB`: shrunk
    by the distribution of signal learned from all columns, which corrects for selection.

    Parameters
    ----------
    n_features_to_select : int, "all", "cv" or None, default=None
        How many features to keep, those with the largest F. None: 10, or all when there are
        fewer. "cv": the smallest number with nearly the best log score on held-out cases.
    threshold : float, optional
        Instead, keep all features whose r (root of the share of the sum of squares between
        classes; the absolute correlation for two classes) is above this bound.
    feature_prior : {"learned", "flat"}, default="learned"
        How signal is distributed over features. "learned": class means are shrunk by the
        distribution of signal over all columns. "flat": plain class means.
    shrinkage : float or "auto", default="auto"
        Share of the diagonal in the correlation within classes; "auto": Ledoit and Wolf's.
    normal_scores : bool, default=True
        Whether each column becomes the normal quantiles of its ranks among the training rows.
        Sparse tables are taken as they are.
    always_keep : list of names or indices, or mask, optional
        Features kept by design, which are not ranked.
    class_pseudocounts : float or array-like of shape (n_classes,), default=1.0
        Parameter of the Dirichlet prior of the class frequencies, in cases of each class.
    class_prior : array-like of shape (n_classes,), optional
        Prevalences where the model is used.
    recalibrate : {"bayes", "slope"} or None, default="bayes"
        How probabilities are recalibrated on held-out cases, inside `fit`.
    random_state : int, RandomState or None, default=None
        Breaks ties between features of equal strength; an int is also the seed of the folds.

    Attributes
    ----------
    selection_ : Selection
        What was kept and discarded.
    shrinkage_ : float
        Share of the diagonal in the correlation within classes.
    posterior_ : RatioPosterior or None
        Distribution of signal ratios over features; None for plain means.
    number_choice_ : NumberChoice or None
        The numbers of features that were tried, with n_features_to_select="cv".
    slope_, outlier_rate_ : float
        Posterior means of the slope on the evidence, and of the outlier rate.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_count_ : ndarray of shape (n_classes,)
        Training cases in each class.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features, where X has them.

    Notes
    -----
    Missing cells of new cases are integrated out exactly: their columns leave means and
    covariance. In training a missing cell is taken to be the mean of its class.

    References
    ----------
    Ledoit and Wolf (2004), A well-conditioned estimator for large-dimensional covariance matrices,
    Journal of Multivariate Analysis 88, 365-411.

    Examples
    --------
    >>> import numpy as np
    >>> from honestbayes import SelectiveDiscriminant
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(60) % 3
    >>> X = rng.normal(size=(60, 500)) + rng.normal(size=(60, 1))
    >>> X[:, 0] += y
    >>> model = SelectiveDiscriminant(n_features_to_select="all").fit(X, y)
    >>> model.predict_proba(X[:2]).shape
    (2, 3)
    """

    _kind: ClassVar[str] = "SelectiveDiscriminant"
    _kind_of_features: ClassVar[Kind] = "real"
    _explain_part = staticmethod(feature_table)
    _part_classes: ClassVar[Mapping[str, type]] = {"numbers": DiscriminantPart}
    _fitted_choices: ClassVar[Mapping[str, Field]] = {}

    def __init__(
        self,
        *,
        n_features_to_select: Any = None,
        threshold: float | None = None,
        feature_prior: Literal["learned", "flat"] = "learned",
        shrinkage: Any = "auto",
        normal_scores: bool = True,
        always_keep: Any = None,
        class_pseudocounts: Any = 1.0,
        class_prior: Any = None,
        recalibrate: Literal["bayes", "slope"] | None = "bayes",
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.threshold = threshold
        self.feature_prior = feature_prior
        self.shrinkage = shrinkage
        self.normal_scores = normal_scores
        self.always_keep = always_keep
        self.class_pseudocounts = class_pseudocounts
        self.class_prior = class_prior
        self.recalibrate = recalibrate
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Declare what inputs are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def _training_parts(self, X: Any, labels: TrainingLabels) -> list[DiscriminantTraining]:
        source = as_source(X)
        always = parse_always_keep(self.always_keep, source.feature_names, source.shape[1])
        settings = discriminant_settings(self.get_params(deep=False), always)
        return [DiscriminantTraining(settings, source, labels, self.random_state)]

    @classmethod
    def _settings_of(cls, parameters: Mapping[str, Any], always_keep: BoolArray) -> Any:
        return discriminant_settings(parameters, always_keep)

    def _store(self, parts: Sequence[FittedPart]) -> None:
        (part,) = parts
        assert isinstance(part, DiscriminantPart)
        self.selection_: Selection = part.selection
        self.shrinkage_: float = part.fit.covariance.shrinkage
        self.posterior_: RatioPosterior | None = part.posterior

    def feature_table(self) -> GaussianFeatureTable:
        """Return the centre of each kept feature in each class, and P(it is uninformative)."""
        table: GaussianFeatureTable = super().feature_table()
        return table
