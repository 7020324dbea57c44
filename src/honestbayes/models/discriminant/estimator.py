"""Linear discriminant analysis for correlated continuous features, after selection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from honestbayes.base.estimator import SelectiveClassifier
from honestbayes.base.part import FittedPart, TrainingLabels
from honestbayes.data import as_source
from honestbayes.data.kinds import Kind
from honestbayes.files.fields import Field
from honestbayes.models.discriminant.model import (
    DiscriminantPart,
    DiscriminantTraining,
    discriminant_settings,
    feature_table,
)
from honestbayes.models.gaussian.model import GaussianFeatureTable, RatioPosterior
from honestbayes.selection import Selection, parse_always_keep
from honestbayes.types import BoolArray


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
        "learned": class means are shrunk by the distribution of signal over all columns. "flat":
        plain class means.
    shrinkage : float or "auto", default="auto"
        Share of the diagonal in the correlation within classes; "auto": Ledoit and Wolf's.
    normal_scores : bool, default=True
        Whether each column becomes the normal quantile of its ranks among the training rows.
        Sparse tables are taken as they are.
    always_keep : list of names or indices, or mask, optional
        Features kept by design, which are not ranked.
    class_pseudocounts : float or array-like of shape (n_classes,), default=1.0
        Parameter of the Dirichlet prior of the class frequencies, in cases of each class.
    class_prior : array-like of shape (n_classes,), optional
        Prevalences where the model is used.
    recalibrate : {"bayes", "slope"} or None, default="bayes"
        How evidence becomes a probability; learned from held-out cases inside `fit`.
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
