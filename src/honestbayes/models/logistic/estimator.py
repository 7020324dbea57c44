"""Bayesian logistic regression on the features that correlate best with the class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from honestbayes.base.estimator import SelectiveClassifier
from honestbayes.base.numeric import NumericSettings, numeric_choices
from honestbayes.base.part import FittedPart, TrainingLabels
from honestbayes.data import as_source
from honestbayes.data.kinds import Kind
from honestbayes.files.fields import Field
from honestbayes.models.logistic.model import (
    LogisticFeatureTable,
    LogisticPart,
    LogisticPosterior,
    LogisticTraining,
    feature_table,
)
from honestbayes.selection import Selection, parse_always_keep
from honestbayes.types import BoolArray, FloatArray

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
        "bayes": probabilities are averaged over a slope on the evidence and an outlier rate (of
        cases that the features say nothing about), both learned from held-out predictions inside
        `fit`. "slope": one factor on the evidence, plugged in. None: the regression's own
        probabilities.
    normal_scores : bool, default=False
        Whether each column becomes the normal quantiles of its ranks among the training rows.
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
        normal_scores: bool = False,
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
        return NumericSettings(**numeric_choices(parameters, always_keep))

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
