"""Naive Bayes for continuous features with calibrated probabilities after selection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from honestbayes.base.estimator import SelectiveClassifier
from honestbayes.base.part import FittedPart, TrainingLabels
from honestbayes.data.kinds import Kind
from honestbayes.files.fields import Choice, Field
from honestbayes.likelihood.normal import VariancePrior
from honestbayes.models.gaussian.model import (
    GaussianFeatureTable,
    GaussianPart,
    GaussianTraining,
    RatioPosterior,
    feature_table,
    gaussian_settings,
    real_source,
)
from honestbayes.selection import Selection, parse_always_keep
from honestbayes.types import BoolArray


class SelectiveGaussianNB(SelectiveClassifier):
    """Naive Bayes for continuous features, selected by correlation and corrected for it.

    Selects the features whose class means differ most (by the F statistic; for two classes that is
    the absolute correlation), models features and classes jointly, and conditions on the discarded
    features. A feature in class c is normal with mean mu_c and variance s2; mu_c is normal around a
    common mean with variance w s2. Each feature has its own signal ratio w, whose distribution over
    features is learned from all screened features.

    Parameters
    ----------
    n_features_to_select : int, "all", "cv" or None, default=None
        How many features to keep. None: 10, or all when there are fewer. "cv": the smallest
        number with nearly the best log score on held-out cases, found inside `fit`.
    threshold : float, optional
        Instead, keep all features whose r (root of the share of the sum of squares between
        classes; the absolute correlation for two classes) is above this bound.
    feature_prior : {"auto", "learned", "heavy-tailed"}, default="auto"
        "learned": the distribution of signal ratios is estimated from all screened features.
        "heavy-tailed": w is a scale times the square of a half Cauchy variable, and the scale is
        integrated out. "auto": learned, except where only the selection event is conditioned on.
    correction : {"auto", "counts", "selection"} or None, default="auto"
        What the model is conditioned on. "counts": the means and sums of squares of every
        screened feature. "selection": the event that the others were discarded. None: neither.
        "auto": counts.
    always_keep : list of names or indices, or mask, optional
        Features kept by design, which are not ranked.
    class_pseudocounts : float or array-like of shape (n_classes,), default=1.0
        Parameter of the Dirichlet prior of the class frequencies, in cases of each class.
    class_prior : array-like of shape (n_classes,), optional
        Prevalences where the model is used, in the order of ``classes_``.
    recalibrate : {"bayes", "slope"} or None, default="bayes"
        "bayes": probabilities are averaged over a slope on the evidence and an outlier rate (of
        cases that the features say nothing about), both learned from held-out predictions inside
        `fit`. "slope": one factor on the evidence, plugged in.
    criterion : {"correlation", "f", "t"} or callable, default="correlation"
        What features are ranked by. The three names give the same ranking. A function gets a column
        without its missing cells and the classes of its cases, and returns a number, larger for
        features to keep; it must depend neither on the order of cases nor on the column's origin
        and unit. With correction="selection" its probability of discarding is simulated. A model
        with a function cannot be saved.
    normal_scores : bool, default=False
        Whether each column becomes the normal quantile of its ranks among the training rows, so
        that neither its unit nor single far-out values matter.
    random_state : int, RandomState or None, default=None
        Breaks ties between features of equal strength.

    Attributes
    ----------
    selection_ : Selection
        What was kept and discarded.
    posterior_ : RatioPosterior
        Distribution of signal ratios over features.
    variance_prior_ : VariancePrior
        The prior of the features' variances, in units of each one's own variance.
    number_choice_ : NumberChoice or None
        The numbers of features that were tried, with n_features_to_select="cv".
    slope_ : float
        Posterior mean of the slope on the evidence; 1 without recalibration.
    outlier_rate_ : float
        Posterior mean of the outlier rate; 0 without recalibration.
    feature_prior_, correction_ : str or None
        What "auto" became.
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
    Li, Zhang and Neal (2008), A method for avoiding bias from feature selection with application
    to naive Bayes classification models, Bayesian Analysis 3(1), 171-196, section 6.

    Examples
    --------
    >>> import numpy as np
    >>> from honestbayes import SelectiveGaussianNB
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(60) % 3
    >>> X = rng.normal(size=(60, 500))
    >>> X[:, 0] += y
    >>> model = SelectiveGaussianNB(n_features_to_select=5).fit(X, y)
    >>> model.predict_proba(X[:2]).shape
    (2, 3)
    """

    _kind: ClassVar[str] = "SelectiveGaussianNB"
    _kind_of_features: ClassVar[Kind] = "real"
    _explain_part = staticmethod(feature_table)
    _part_classes: ClassVar[Mapping[str, type]] = {"real": GaussianPart}
    _fitted_choices: ClassVar[Mapping[str, Field]] = {
        "feature_prior_": Choice("learned", "heavy-tailed"),
        "correction_": Choice("counts", "selection", None),
    }

    def __init__(
        self,
        *,
        n_features_to_select: int | Literal["all", "cv"] | None = None,
        threshold: float | None = None,
        feature_prior: Literal["auto", "learned", "heavy-tailed"] = "auto",
        correction: Literal["auto", "counts", "selection"] | None = "auto",
        always_keep: Any = None,
        class_pseudocounts: Any = 1.0,
        class_prior: Any = None,
        recalibrate: Literal["bayes", "slope"] | None = "bayes",
        criterion: Any = "correlation",
        normal_scores: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.threshold = threshold
        self.feature_prior = feature_prior
        self.correction = correction
        self.always_keep = always_keep
        self.class_pseudocounts = class_pseudocounts
        self.class_prior = class_prior
        self.recalibrate = recalibrate
        self.criterion = criterion
        self.normal_scores = normal_scores
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Declare what inputs are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _training_parts(self, X: Any, labels: TrainingLabels) -> list[GaussianTraining]:
        source = real_source(X, type(self).__name__)
        always = parse_always_keep(self.always_keep, source.feature_names, source.shape[1])
        settings = gaussian_settings(self.get_params(deep=False), always, labels.classes)
        self.feature_prior_, self.correction_ = settings.feature_prior, settings.correction
        return [GaussianTraining(settings, source, labels, self.random_state)]

    @classmethod
    def _settings_of(cls, parameters: Mapping[str, Any], always_keep: BoolArray) -> Any:
        return gaussian_settings(parameters, always_keep)

    def _store(self, parts: Sequence[FittedPart]) -> None:
        (part,) = parts
        assert isinstance(part, GaussianPart)
        self._fit = part.fit
        self.selection_: Selection = part.fit.selection
        self.posterior_: RatioPosterior = part.fit.posterior
        self.variance_prior_: VariancePrior = part.fit.variance_prior

    # --------------------------------------------------------------- explanation

    def feature_table(self) -> GaussianFeatureTable:
        """Return the centre of each kept feature in each class, and P(it is uninformative)."""
        table: GaussianFeatureTable = super().feature_table()
        return table
