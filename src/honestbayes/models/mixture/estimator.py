"""A mixture of binary features, corrected for their selection."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from honestbayes.base.estimator import FromLogProbabilities, TwoClassNaiveBayes
from honestbayes.base.explanation import KeptTable, ReportSection, TableNames, by_design
from honestbayes.base.intervals import ProbabilityDraws
from honestbayes.base.parameters import check_level_and_draws, whole_number
from honestbayes.base.part import FittedPart, TrainingLabels
from honestbayes.base.sampled import SampledClassifier, sampling_of
from honestbayes.data import Binarization, as_source, encode_labels
from honestbayes.data.binarization import BinarizeOption
from honestbayes.data.kinds import Kind
from honestbayes.data.source import Source
from honestbayes.files.fields import Choice, Field, Known, Whole
from honestbayes.models.binary.model import FeatureTable, TrainingRows
from honestbayes.models.mixture import general
from honestbayes.models.mixture.general import (
    MOST_COMPONENTS,
    ClassRows,
    GeneralComponents,
    GeneralPart,
    GeneralTraining,
    component_pseudocounts,
    general_settings,
)
from honestbayes.models.mixture.model import (
    Components,
    MixturePart,
    MixtureTraining,
    components,
    feature_table,
    log_class_prior,
    log_joint_draws,
    mixture_settings,
)
from honestbayes.sampling.draws import Diagnostics
from honestbayes.selection import Selection, parse_always_keep
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

_DRAWN_CELLS = 1 << 21
"""Draws of all rows that are held at a time."""


def _explained(
    part: MixturePart | GeneralPart, names: tuple[str, ...], classes: tuple[str, ...], slope: float
) -> KeptTable:
    """Return the table of kept features, by class."""
    if isinstance(part, MixturePart):
        return feature_table(part, names, classes, slope)
    if len(classes) > 2:
        return general.class_feature_table(part, names, classes)
    mean, sd = general.class_probabilities(part)
    return FeatureTable(
        name=names,
        classes=classes,
        correlation=part.correlation,
        probability=mean,
        sd=sd,
        evidence_if_one=slope * (np.log(mean[1]) - np.log(mean[0])),
        evidence_if_zero=slope * (np.log1p(-mean[1]) - np.log1p(-mean[0])),
        by_design=by_design(part.selection),
        _cuts=part.binarization,
        _additive=False,
    )


class SelectiveMixture(SampledClassifier, TwoClassNaiveBayes):
    """Mixture of binary features, selected by correlation and corrected for it.

    A hidden grouping of the cases, not the class itself, explains the features: in each of the
    components (two by default) every feature, and the class, has a probability of its own, and
    given the component all are independent. Features of one component are correlated, so what they
    share is not counted as evidence many times over. Naive Bayes is the special case whose
    components are the classes.

    Parameters
    ----------
    n_features_to_select : int, "all", "cv" or None, default=None
        How many features to keep. None: 10, or all when there are fewer. "cv": found on held-out
        cases inside `fit`, by running chains for each number in each fold.
    threshold : float, optional
        Instead, keep all features whose absolute correlation is above this bound.
    correction : {"auto", "selection"} or None, default="auto"
        What the model is conditioned on. "selection", which is "auto": condition on the event that
        the others were discarded. None: the uncorrected model.
    always_keep : list of names or indices, or mask, optional
        Features kept by design, without ranking, with an alpha of their own.
    n_components : int, default=2
        Number of components; in one alone features have nothing to do with the class. To average
        over their number, give the largest one and small ``class_pseudocounts``: components that
        the data do not ask for then hold no cases. With more than two components, or more than two
        classes, the probability of the selection is approximated; `fit` warns where errors of
        differences of its logarithm exceed 0.05.
    class_pseudocounts : float or tuple of float, default=(1.0, 1.0)
        Dirichlet prior of the frequencies of the components, in cases of each. Equal numbers are
        for any number of components.
    class_prior : array-like of shape (n_classes,), optional
        Prevalences of the classes where the model is used, in the order of ``classes_``.
    recalibrate : {"bayes", "slope"} or None, default=None
        How probabilities are recalibrated on held-out cases. "bayes": slope and outlier rate,
        averaged over; "slope": one factor on the evidence. Both are learned from held-out
        predictions inside `fit`, for which chains run again many times.
    alpha_prior, response_prior : tuple of float, default=(0.5, 5.0)
        Shape and rate of the inverse gamma priors of alpha, of the features and of the class.
    theta_prior : tuple of float, default=(0.0, 1.0)
        Bounds of theta.
    n_alpha : int, optional
        Number of prior quantiles to which alphas are restricted, as in the thesis; by default any
        value.
    binarize : {"auto", "median"}, float or None, default="auto"
        How values become 0/1, as in `SelectiveBernoulliNB`.
    criterion : {"correlation", "f", "t", "chi2", "mutual_information"} or callable, \
default="correlation"
        What features are ranked by. A function gets a column without its missing cells and the
        classes of its cases, and returns a number, larger for features to keep; it must not depend
        on the order of the cases. With ``correction="selection"`` the probability that features
        were discarded is then a sum over all counts of both classes.
    {chain_parameters}
    thin : int, default=10
        Number of sweeps for each draw.
    random_state : int, RandomState or None, default=None
        Seeds the chains, and breaks ties between features.

    Attributes
    ----------
    selection_ : Selection
        Kept and discarded features.
    diagnostics_ : Diagnostics
        R-hat, effective sample sizes and Monte Carlo errors of what the chains can be compared by.
    draws_ : Draws
        All draws.
    number_choice_ : NumberChoice or None
        The numbers of features that were tried, where the number was to be chosen.
    slope_, outlier_rate_ : float
        Posterior means of the factor on the evidence and of the outlier rate; 1 and 0 without
        recalibration.
    correction_ : {"selection"} or None
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
    Li, L. (2007), Bayesian classification and regression with high dimensional features, PhD
    thesis, University of Toronto; section 2.4.

    Examples
    --------
    >>> from honestbayes import SelectiveMixture
    >>> from honestbayes.datasets import simulate_naive_bayes
    >>> data = simulate_naive_bayes(n_train=40, n_test=4, n_features=200, random_state=0)
    >>> model = SelectiveMixture(n_features_to_select=5, n_draws=300, random_state=0)
    >>> model.fit(data.X_train, data.y_train).predict_proba(data.X_test).shape
    (4, 2)
    """

    _kind: ClassVar[str] = "SelectiveMixture"
    _kind_of_features: ClassVar[Kind] = "binary"
    _explain_part = staticmethod(_explained)
    _part_classes: ClassVar[Mapping[str, type]] = {
        "mixture": MixturePart,
        "general_mixture": GeneralPart,
    }
    _parameter_fields: ClassVar[Mapping[str, Field]] = {
        "n_components": Whole(1, MOST_COMPONENTS, absent=2),
    }
    _fitted_choices: ClassVar[Mapping[str, Field]] = {
        "correction_": Choice("selection", None),
    }

    def __init__(
        self,
        *,
        n_features_to_select: int | Literal["all", "cv"] | None = None,
        threshold: float | None = None,
        correction: Literal["auto", "selection"] | None = "auto",
        always_keep: Any = None,
        n_components: int = 2,
        class_pseudocounts: float | tuple[float, ...] = (1.0, 1.0),
        class_prior: Any = None,
        recalibrate: Literal["bayes", "slope"] | None = None,
        alpha_prior: tuple[float, float] = (0.5, 5.0),
        response_prior: tuple[float, float] = (0.5, 5.0),
        theta_prior: tuple[float, float] = (0.0, 1.0),
        n_alpha: int | None = None,
        binarize: BinarizeOption = "auto",
        criterion: Any = "correlation",
        n_chains: int = 4,
        n_draws: int = 500,
        n_warmup: int = 200,
        n_doublings: int = 4,
        thin: int = 10,
        n_jobs: int | None = None,
        checkpoint: Any = None,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.threshold = threshold
        self.correction = correction
        self.always_keep = always_keep
        self.n_components = n_components
        self.class_pseudocounts = class_pseudocounts
        self.class_prior = class_prior
        self.recalibrate = recalibrate
        self.alpha_prior = alpha_prior
        self.response_prior = response_prior
        self.theta_prior = theta_prior
        self.n_alpha = n_alpha
        self.binarize = binarize
        self.criterion = criterion
        self.n_chains = n_chains
        self.n_draws = n_draws
        self.n_warmup = n_warmup
        self.n_doublings = n_doublings
        self.thin = thin
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.verbose = verbose
        self.random_state = random_state

    # ------------------------------------------------------------------ fitting

    def __sklearn_tags__(self) -> Any:
        """Declare that there may be more than two classes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        # Two components cannot tell three classes apart, as scikit-learn's checks would have it.
        tags.classifier_tags.poor_score = bool(self.n_components <= 2)
        return tags

    def _encode(self, y: Any) -> tuple[AnyArray, IntArray]:
        return encode_labels(y)

    def _class_pseudocounts(self, n_classes: int) -> FloatArray:
        return np.ones(n_classes)  # those of the user are of the components

    def _training_parts(
        self, X: Any, labels: TrainingLabels
    ) -> list[MixtureTraining] | list[GeneralTraining]:
        source = as_source(X)
        mask = parse_always_keep(self.always_keep, source.feature_names, source.shape[1])
        n_components = whole_number(self.get_params(deep=False), "n_components", 1)
        if n_components != 2 or labels.classes.size > 2:
            return [self._general_part(source, mask, labels)]
        chosen = mixture_settings(_as_pair(self.get_params(deep=False)), mask, labels.classes)
        self.correction_ = "selection" if chosen.model.correct else None
        both = (labels.classes, labels.codes == 1)
        rows = TrainingRows.screened(source, both, self.binarize, self.random_state)
        sampling = sampling_of(self.get_params(deep=False))
        return [MixtureTraining(chosen, rows, sampling=sampling)]

    def _general_part(
        self, source: Source, always_keep: BoolArray, labels: TrainingLabels
    ) -> GeneralTraining:
        """Return the training rows of more than two components, or classes."""
        params = self.get_params(deep=False)
        if self.criterion != "correlation":
            msg = (
                f"criterion={self.criterion!r} is for two components and two classes; use "
                "'correlation'."
            )
            raise ValueError(msg)
        chosen = general_settings(params, always_keep)
        counts = tuple(np.bincount(labels.codes, minlength=labels.classes.size).tolist())
        correct = chosen.model.correct
        if correct and not general.is_affordable(counts, chosen.model.n_components):
            warnings.warn(
                f"the probability of the selection would take too long for {sum(counts)} cases, "
                f"{labels.classes.size} classes and {chosen.model.n_components} components, so the "
                "model is not corrected: use fewer components, or recalibrate='bayes'.",
                UserWarning,
                stacklevel=4,
            )
            correct = False
            chosen = replace(chosen, model=replace(chosen.model, correct=False))
        self.correction_ = "selection" if correct else None
        rows = ClassRows(source, labels.codes, labels.classes, self.binarize, self.random_state)
        return GeneralTraining(chosen, rows, sampling=sampling_of(params))

    @classmethod
    def _settings_of(cls, parameters: Mapping[str, Any], always_keep: BoolArray) -> Any:
        if whole_number(parameters, "n_components", 1) != 2:
            return general_settings(parameters, always_keep)
        if parameters["n_alpha"] is None:
            # Two components: more than two classes take all that two classes take but n_alpha.
            general_settings(parameters, always_keep)
        return mixture_settings(_as_pair(parameters), always_keep)

    @classmethod
    def _check_parameters(cls, parameters: Known, fitted: Known) -> None:
        # The pseudocounts of this model are those of components, not of classes.
        component_pseudocounts(parameters)
        (part,) = fitted["parts"]
        n_components = part.draws["psi"].shape[-1]
        alone = n_components == 2 and fitted["classes"].size == 2
        if n_components != parameters["n_components"] or alone != isinstance(part, MixturePart):
            msg = f"the draws are of {n_components} components"
            raise ValueError(msg)
        super()._check_parameters({**parameters, "class_pseudocounts": 1.0}, fitted)

    @property
    def _log_prior(self) -> FloatArray:
        (part,) = self._parts
        assert isinstance(part, MixturePart | GeneralPart)
        return part.log_prior

    def _store(self, parts: Sequence[FittedPart]) -> None:
        (part,) = parts
        assert isinstance(part, MixturePart | GeneralPart)
        self.selection_: Selection = part.selection
        self.draws_ = part.draws
        self.diagnostics_: Diagnostics = part.draws.diagnostics()

    # --------------------------------------------------------------- prediction

    def predict(self, X: Any) -> AnyArray:
        """Return the most probable class of each row, of two equally probable ones the second."""
        check_is_fitted(self)
        if self.classes_.size > 2:
            return FromLogProbabilities.predict(self, X)
        return super().predict(X)

    def predict_proba_interval(
        self, X: Any, level: float = 0.9, *, class_prior: Any = None, n_draws: int = 2000
    ) -> FloatArray:
        """Return intervals for P(class 1 | x), shape (n, 2), or (n, n_classes, 2) for more classes.

        An interval holds ``level`` of the distribution of P(class 1 | x, parameters) given the
        training data and x itself, over the draws of the chains; the mean of that distribution is
        `predict_proba`. With recalibration the evidence of each draw is
        multiplied by ``slope_``, and the mean is `predict_proba` only roughly.

        Parameters
        ----------
        X : table of shape (n, p)
            Rows to predict.
        level : float, default=0.9
            Probability that the interval holds.
        class_prior : array-like of shape (n_classes,), optional
            Prevalences where the model is used.
        n_draws : int, default=2000
            Draws that are used, at most.
        """
        check_level_and_draws(level, n_draws)
        n_rows, values = self._read(X)
        log_prior = self._given_log_prior(class_prior)
        none: list[tuple[Any, Any]] = [(self._parts[0], (np.zeros((n_rows, 0)), None))]
        ((part, zero_one),) = values or none
        if isinstance(part, GeneralPart):
            bounds = general.probability_intervals(
                part, zero_one, level, n_draws, log_prior, self.slope_
            )
            return bounds if self.classes_.size > 2 else bounds[:, 1]
        some = part.draws.spread(n_draws)
        own = log_class_prior(some)
        given = own if log_prior is None else log_prior
        odds = given[1] - given[0]
        result = np.empty((n_rows, 2))
        step = max(1, _DRAWN_CELLS // some.n_pooled)
        for first in range(0, n_rows, step):
            rows = slice(first, min(first + step, n_rows))
            joint = log_joint_draws(some, *part.rows(zero_one, rows)) + given - own
            weight = np.exp(joint - joint.max(axis=(0, 2), keepdims=True)).sum(axis=2)
            value = expit(odds + self.slope_ * (joint[..., 1] - joint[..., 0] - odds))
            draws = ProbabilityDraws(value.T[:, None], (weight / weight.sum(axis=0)).T)
            result[rows] = draws.interval(level)[:, 0]
        return result

    # --------------------------------------------------------------- explanation

    def components(self) -> Components | GeneralComponents:
        """Return a description of the components: features, classes and cases.

        With two components and two classes the second has more of class 1; otherwise the first is
        the largest.
        """
        names, classes = self._names_and_classes()
        if isinstance(self._parts[0], GeneralPart):
            return general.components(self.draws_, names, classes)
        return components(self.draws_, names, classes)

    def _sections(self, names: TableNames) -> tuple[ReportSection, ...]:
        """Return the groups of cases, and the group of each training case."""
        found = self.components()
        features = {
            row["name"]: f"{row['column']} {row['means_one']}"
            for kind, table in self._feature_tables().items()
            for row in table.in_report(kind, names).rows
        }
        record = replace(
            found,
            name=tuple(features[name] for name in found.name),
            classes=names.classes,
        )
        if isinstance(record, GeneralComponents):
            shares = [f"{share:.0%}" for share in record.share]
            listed = f"{', '.join(shares[:-1])} and {shares[-1]}"
            return (
                ReportSection(
                    name="components",
                    title="The groups of cases",
                    record=record,
                    template="honestbayes.models.mixture/groups.jinja",
                    summary=f"{len(shares)} groups with {listed} of the cases",
                    case_columns={
                        f"group_{k + 1}": record.membership[:, k] for k in range(len(shares))
                    },
                ),
            )
        first, second = record.share
        return (
            ReportSection(
                name="components",
                title="The two groups of cases",
                record=record,
                template="honestbayes.models.mixture/section.jinja",
                summary=f"two groups with {first:.0%} and {second:.0%} of the cases",
                case_columns={"second_group": record.in_second},
            ),
        )

    def feature_table(self) -> Any:
        """Return P(x=1) in each class for each kept feature.

        The evidence of a feature alone; those of several do not add up, because features of one
        component share what they say.
        """
        return super().feature_table()

    def kept_binarization(self) -> Binarization:
        """Return the cuts of the kept features, in the order of ``selection_.columns``."""
        check_is_fitted(self)
        (part,) = self._parts
        assert isinstance(part, MixturePart | GeneralPart)
        return part.binarization

    def _arviz_groups(self) -> tuple[Sequence[str], Sequence[str]]:
        alphas = [name for name in self.draws_.values if name.startswith("log_alpha")]
        shares = [name for name in ("psi", "class_share", "phi") if name in self.draws_.values]
        return [*alphas, *shares], ["log_posterior"]


def _as_pair(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return parameters with one pseudocount for both components, where a single one is given."""
    given = params["class_pseudocounts"]
    return {**params, "class_pseudocounts": (given, given)} if np.ndim(given) == 0 else params
