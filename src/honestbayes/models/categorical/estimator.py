"""Naive Bayes for categorical features with calibrated probabilities after selection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from honestbayes.base.alpha_posterior import AlphaPosterior
from honestbayes.base.estimator import SelectiveClassifier
from honestbayes.base.part import FittedPart, TrainingLabels, TrainingPart
from honestbayes.data.kinds import Kind
from honestbayes.files.fields import Choice, Field
from honestbayes.models.categorical.model import (
    CategoricalFeatureTable,
    CategoricalPart,
    categorical_settings,
    categorical_training,
    feature_table,
)
from honestbayes.selection import Selection
from honestbayes.types import BoolArray


class SelectiveCategoricalNB(SelectiveClassifier):
    """Naive Bayes for categorical features, selected by association and corrected for it.

    Selects the features most associated with the class, models features and classes jointly, and
    conditions on the discarded features. In class c the categories of a feature have probabilities
    from a Dirichlet distribution with parameter alpha theta; theta, the same in all classes, is
    uniform on the simplex or learned, and a large alpha makes the classes alike. With two
    categories and two classes this is `SelectiveBernoulliNB`.

    Parameters
    ----------
    n_features_to_select : int, "all", "cv" or None, default=None
        How many features to keep. None: 10, or all when there are fewer. "cv": the smallest
        number with nearly the best log score on held-out cases, found inside `fit`.
    threshold : float, optional
        Instead, keep all features whose association is above this bound: the absolute correlation
        for two levels and two classes; for more, the one that would be as surprising.
    feature_prior : {"auto", "learned", "uniform"}, default="auto"
        How signal is distributed over features. "learned": the distribution of features is
        estimated from all that were screened. "uniform": one alpha for all features and theta
        uniform. "auto": learned, except where only the selection event is conditioned on.
    correction : {"auto", "counts", "selection"} or None, default="auto"
        What the model is conditioned on. "counts": the counts of every screened feature.
        "selection": the event that the others were discarded, whose probability is exact for two
        categories and two classes and simulated otherwise. None: neither. "auto": counts.
    always_keep : list of names or indices, or mask, optional
        Features kept by design, which are not ranked and have an alpha of their own.
    covariates : list of names or indices, or mask, optional
        Columns such as age, sex or batch that are conditioned on and not modelled: they set the
        prior log-odds of each case. Features must not depend on them within the classes; `fit`
        warns where kept ones do. Numbers or categories.
    class_pseudocounts : float or array-like of shape (n_classes,), default=1.0
        Parameter of the Dirichlet prior of the class frequencies, in cases of each class.
    class_prior : array-like of shape (n_classes,), optional
        Prevalences where the model is used, in the order of ``classes_``.
    recalibrate : {"bayes", "slope"} or None, default="bayes"
        How probabilities are recalibrated on held-out cases. "bayes": they are averaged over a
        slope on the evidence and an outlier rate (of cases for which the features are
        uninformative), both learned from held-out predictions in `fit`. "slope": one factor on the
        evidence, plugged in.
    alpha_prior : tuple of float, default=(0.5, 5.0)
        Shape and rate of the inverse gamma prior of a common alpha.
    tol : float, default=1e-9
        Bound on the estimated error of the log-odds from quadrature over alpha.
    criterion : {"correlation", "chi2", "mutual_information"} or callable, default="correlation"
        What features are ranked by. "correlation": the absolute correlation, for more levels or
        classes the one that would be as surprising, so that features of different numbers of
        levels are comparable. A function gets one column of level codes 0, 1, ... without its
        missing cells and the classes of its cases, and returns a number, larger for features to
        keep; it must not depend on the order of cases. A model with a function cannot be saved.
    random_state : int, RandomState or None, default=None
        Breaks ties between features of equal strength.

    Attributes
    ----------
    selection_ : Selection
        What was kept and discarded.
    posterior_ : AlphaPosterior
        The posterior of alpha (or, with the learned prior, its distribution over features).
    always_posterior_ : AlphaPosterior or None
        The same for the features kept by design.
    levels_ : dict of str to list
        The levels of each kept feature: those seen in `fit`, or declared by a frame.
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

    Notes
    -----
    A level is a text or a whole number from 0, or any number in a column that a frame calls a
    category. At prediction a level not seen in `fit` is treated as missing, with a warning.
    A column in which no value occurs twice is named in a warning of `fit` instead.

    Examples
    --------
    >>> import numpy as np
    >>> from honestbayes import SelectiveCategoricalNB
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["a", "b", "c"], 20)
    >>> X = rng.choice(["low", "middle", "high"], size=(60, 200))
    >>> model = SelectiveCategoricalNB(n_features_to_select=5, random_state=0).fit(X, y)
    >>> model.predict_proba(X[:2]).shape
    (2, 3)
    """

    _kind: ClassVar[str] = "SelectiveCategoricalNB"
    _kind_of_features: ClassVar[Kind] = "categorical"
    _explain_part = staticmethod(feature_table)
    _part_classes: ClassVar[Mapping[str, type]] = {"categorical": CategoricalPart}
    _fitted_choices: ClassVar[Mapping[str, Field]] = {
        "feature_prior_": Choice("learned", "uniform"),
        "correction_": Choice("counts", "selection", None),
    }

    def __init__(
        self,
        *,
        n_features_to_select: int | Literal["all", "cv"] | None = None,
        threshold: float | None = None,
        feature_prior: Literal["auto", "learned", "uniform"] = "auto",
        correction: Literal["auto", "counts", "selection"] | None = "auto",
        always_keep: Any = None,
        covariates: Any = None,
        class_pseudocounts: Any = 1.0,
        class_prior: Any = None,
        recalibrate: Literal["bayes", "slope"] | None = "bayes",
        alpha_prior: tuple[float, float] = (0.5, 5.0),
        tol: float = 1e-9,
        criterion: Any = "correlation",
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.threshold = threshold
        self.feature_prior = feature_prior
        self.correction = correction
        self.always_keep = always_keep
        self.covariates = covariates
        self.class_pseudocounts = class_pseudocounts
        self.class_prior = class_prior
        self.recalibrate = recalibrate
        self.alpha_prior = alpha_prior
        self.tol = tol
        self.criterion = criterion
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Declare what inputs are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.positive_only = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def _training_parts(self, X: Any, labels: TrainingLabels) -> list[TrainingPart]:
        params = self.get_params(deep=False)
        part = categorical_training(X, params, self._always_kept, labels, self.random_state)
        settings = part.settings
        self.feature_prior_, self.correction_ = settings.feature_prior, settings.correction
        return [part]

    @classmethod
    def _settings_of(cls, parameters: Mapping[str, Any], always_keep: BoolArray) -> Any:
        return categorical_settings(parameters, always_keep)

    def _store(self, parts: Sequence[FittedPart]) -> None:
        (part,) = parts
        assert isinstance(part, CategoricalPart)
        self._fit = part.fit
        self.selection_: Selection = part.selection
        self.posterior_: AlphaPosterior = part.fit.ranked.posterior
        by_design = part.fit.by_design
        self.always_posterior_ = None if by_design is None else by_design.posterior
        names, _ = self._names_and_classes()
        self.levels_ = dict(zip(names, part.levels.seen(), strict=True))

    def feature_table(self) -> CategoricalFeatureTable:
        """Return the probability of each category of each kept feature in each class."""
        table: CategoricalFeatureTable = super().feature_table()
        return table
