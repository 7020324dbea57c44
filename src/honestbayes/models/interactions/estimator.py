"""Bayesian logistic models with interactions of any order, for tables of categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from honestbayes.files.fields import Field, Known, Whole
from honestbayes.models.interactions.chains import sampling_of
from honestbayes.models.interactions.explain import Interactions, feature_table, interactions_of
from honestbayes.models.interactions.fit import MOST_ORDER
from honestbayes.models.interactions.part import InteractionPart, InteractionTraining
from honestbayes.models.interactions.settings import (
    WHY_COMPLETE,
    InteractionSettings,
    interaction_settings,
)
from honestbayes.models.shared.codes import check_missing
from honestbayes.models.shared.estimator import SelectiveClassifier
from honestbayes.models.shared.held_out import held_out_folds
from honestbayes.models.shared.layer import Layer
from honestbayes.models.shared.number import NumberChoice
from honestbayes.models.shared.parameters import check_level_and_draws
from honestbayes.models.shared.parts import FittedPart, TrainingLabels, TrainingPart
from honestbayes.sampling.draws import Diagnostics
from honestbayes.selection import Selection, parse_always_keep
from honestbayes.sources.kinds import Kind
from honestbayes.sources.levels import category_table
from honestbayes.types import BoolArray, FloatArray

ORDERS = (1, 2, 3)
"""Orders that are tried where held-out cases shall choose."""


class InteractionClassifier(SelectiveClassifier):
    """Bayesian logistic model of categorical features with their interactions.

    Every pattern of up to ``order`` cells that a case can have ("outlook=sunny & humidity=high")
    has a coefficient. Patterns that the same training cases have cannot be told apart by them, so
    the sum of their coefficients is sampled as one parameter, without any approximation; for a case
    that has some of these patterns and not others the sum is split again.

    Parameters
    ----------
    order : int or "cv", default=2
        The most cells that a pattern fixes: 1 is a model without interactions. "cv": 1, 2 or 3, by
        the log score of held-out cases inside `fit`.
    prior : {"cauchy", "gaussian"}, default="cauchy"
        Of coefficients. Cauchy priors let a few of them be large among many that are nearly 0.
    width_prior : tuple of float, default=(0.25, 0.1)
        Shape of the inverse gamma prior of the width of order o, and its mode times o.
    compress : bool, default=True
        Whether patterns that the same cases have share a parameter. False is slower and gives the
        same probabilities.
    missing : {"refuse", "level"}, default="refuse"
        Whether a missing training cell is an error, or a level of its own. At prediction a missing
        cell that is no level of its column is integrated out.
    n_features_to_select : int or "all", default="all"
        How many columns to keep. This model does not condition on a selection: with fewer than all
        use ``recalibrate="layer"``, which repeats the selection on held-out cases.
    threshold : float, optional
        Instead, keep all columns whose absolute correlation is above this bound.
    always_keep : list of names or indices, or mask, optional
        Columns kept by design, outside the race.
    class_pseudocounts : float or array-like, default=1.0
        Dirichlet prior of the class frequencies, from which another prevalence is reckoned.
    class_prior : array-like of shape (n_classes,), optional
        Prevalences where the model is used, in the order of ``classes_``.
    recalibrate : {"layer", "slope"} or None, default=None
        "layer": slope and lapses, averaged over; "slope": one factor on the evidence. Both are
        learned from held-out predictions inside `fit`, for which chains run again many times.
    n_chains, n_samples, n_warmup : int, default=4, 250, 100
        Chains; draws that are kept of each, and draws before these.
    n_doublings : int, default=2
        How often chains may go on to twice their length where they do not agree.
    thin : int, default=4
        Sweeps for each draw.
    n_jobs : int, optional
        Chains at work at once.
    checkpoint : path-like, optional
        Where chains are written now and then, and from where `fit` goes on when it finds them.
    verbose : bool, default=False
        Whether to show how far the chains are.
    random_state : int, RandomState or None, default=None
        Seeds the chains, and what prediction draws.

    Attributes
    ----------
    order_ : int
        The order in use.
    n_groups_ : int
        Parameters of each class after compression.
    n_patterns_ : float
        Patterns of the training cases: parameters of each class without compression.
    diagnostics_ : Diagnostics
        R-hat, effective sample sizes and Monte Carlo errors of what the chains can be compared by.
    draws_ : Draws
        All draws.
    order_losses_ : dict or None
        Log score of held-out cases for each order, where it was chosen.
    selection_ : Selection
        What was kept.
    number_choice_ : None
        The number of features is not chosen by held-out cases here.
    slope_, lapse_ : float
        Posterior means of the factor on the evidence, and of the rate of lapses; 1 and 0 without
        recalibration.
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
    The model says how the class depends on the features, not how features are distributed. So the
    values of missing cells at prediction come from training rows: P(class | x) is averaged over
    them, weighted by how well they agree with the observed cells. A row without any cell gets the
    class frequencies. Levels that `fit` has not seen are taken for missing, with a warning.

    References
    ----------
    Li, L. (2007), Bayesian classification and regression with high dimensional features, PhD
    thesis, University of Toronto; chapter 3.

    Examples
    --------
    >>> import numpy as np
    >>> from honestbayes import InteractionClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice(["a", "b"], size=(100, 3))
    >>> y = np.where(X[:, 0] == X[:, 1], "same", "other")
    >>> model = InteractionClassifier(order=2, random_state=0).fit(X, y)
    >>> model.n_groups_, model.predict(X[:3]).tolist() == y[:3].tolist()
    (19, True)
    """

    _kind: ClassVar[str] = "InteractionClassifier"
    _kind_of_features: ClassVar[Kind] = "categorical"
    _explain_part = staticmethod(feature_table)
    _part_classes: ClassVar[Mapping[str, type]] = {"interactions": InteractionPart}
    _fitted_choices: ClassVar[Mapping[str, Field]] = {"order_": Whole(0, MOST_ORDER)}
    _suffixes: ClassVar[bool] = False

    def __init__(
        self,
        *,
        order: int | Literal["cv"] = 2,
        prior: Literal["cauchy", "gaussian"] = "cauchy",
        width_prior: tuple[float, float] = (0.25, 0.1),
        compress: bool = True,
        missing: Literal["refuse", "level"] = "refuse",
        n_features_to_select: int | Literal["all"] | None = "all",
        threshold: float | None = None,
        always_keep: Any = None,
        class_pseudocounts: Any = 1.0,
        class_prior: Any = None,
        recalibrate: Literal["layer", "slope"] | None = None,
        n_chains: int = 4,
        n_samples: int = 250,
        n_warmup: int = 100,
        n_doublings: int = 2,
        thin: int = 4,
        n_jobs: int | None = None,
        checkpoint: Any = None,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.order = order
        self.prior = prior
        self.width_prior = width_prior
        self.compress = compress
        self.missing = missing
        self.n_features_to_select = n_features_to_select
        self.threshold = threshold
        self.always_keep = always_keep
        self.class_pseudocounts = class_pseudocounts
        self.class_prior = class_prior
        self.recalibrate = recalibrate
        self.n_chains = n_chains
        self.n_samples = n_samples
        self.n_warmup = n_warmup
        self.n_doublings = n_doublings
        self.thin = thin
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.verbose = verbose
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Declare what inputs are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.positive_only = True
        tags.input_tags.allow_nan = self.missing == "level"
        tags.input_tags.sparse = True
        return tags

    # ------------------------------------------------------------------ fitting

    def fit(self, X: Any, y: Any, *, groups: Any = None, **refused: Any) -> Self:
        """Group patterns and run chains.

        Parameters
        ----------
        X : table of shape (n, p)
            Training rows. A cell is a text or a whole number from 0 on, or any number in a column
            that a frame calls a category.
        y : array-like of shape (n,)
            Class labels of two or more kinds.
        groups : array-like of shape (n,), optional
            Cases of one group are held out together where anything is learned from held-out cases.
        **refused
            ``sample_weight`` is refused: cases are counted whole.

        Notes
        -----
        Interrupted by the user, `fit` keeps what was drawn so far: the model can predict, and with
        a ``checkpoint`` another `fit` goes on from there.
        """
        super().fit(X, y, groups=groups, **refused)
        (part,) = self._parts
        if isinstance(part, InteractionPart) and part.interrupted:
            raise KeyboardInterrupt
        return self

    def _training_parts(self, X: Any, labels: TrainingLabels) -> list[InteractionTraining]:
        settings = self._settings(np.zeros(X.shape[1], dtype=bool))
        table = category_table(X)
        always = parse_always_keep(self.always_keep, table.feature_names, table.codes.shape[1])
        settings = self._settings(always)
        check_missing(table, WHY_COMPLETE, missing_is_level=settings.missing == "level")
        sampling = sampling_of(self.get_params(deep=False), settings)
        return [
            InteractionTraining(
                settings, table, labels, self.random_state, sampling, self._suffixes
            )
        ]

    def _settings(self, always_keep: BoolArray) -> InteractionSettings:
        return interaction_settings(self.get_params(deep=False), always_keep)

    def _choose(
        self, training: Sequence[TrainingPart], labels: TrainingLabels
    ) -> tuple[Sequence[TrainingPart], NumberChoice | None, Layer | None]:
        """Choose the order on held-out cases, where it is to be chosen."""
        self.order_losses_: dict[int, float] | None = None
        (part,) = training
        assert isinstance(part, InteractionTraining)
        width = part.table.codes.shape[1]
        if not isinstance(self.order, str):
            self.order_ = min(part.settings.model.order, width)
            return [_of_order(part, self.order_)], None, None
        folds = held_out_folds(labels.codes, labels.groups, repeats=1, seed=labels.seed)
        losses = {}
        for order in [order for order in ORDERS if order <= width] if folds else []:
            found = [values[0] for values in _of_order(part, order).held_out(folds)]
            loss = 0.0
            for rows, evidence in zip(folds, found, strict=True):
                log_proba = Layer.plugged_in(1.0).log_proba(evidence, labels.log_prior())
                loss -= float(log_proba[np.arange(rows.size), labels.codes[rows]].sum())
            losses[order] = loss / sum(rows.size for rows in folds)
        self.order_losses_ = losses or None
        self.order_ = min(losses, key=losses.__getitem__) if losses else min(1, width)
        return [_of_order(part, self.order_)], None, None

    @classmethod
    def _settings_of(cls, parameters: Mapping[str, Any], always_keep: BoolArray) -> Any:
        return interaction_settings(parameters, always_keep)

    @classmethod
    def _check_parameters(cls, parameters: Known, fitted: Known) -> None:
        given = {"n_features_to_select": "all", "threshold": None, **parameters}
        super()._check_parameters(given, fitted)

    def _parameters_on_kept_columns(self) -> dict[str, Any]:
        return {} if self._suffixes else super()._parameters_on_kept_columns()

    def _store(self, parts: Sequence[FittedPart]) -> None:
        (part,) = parts
        assert isinstance(part, InteractionPart)
        if part.fit.draws.n_draws == 0:  # interrupted before anything was kept
            raise KeyboardInterrupt
        self._log_prior = part.log_prior
        self.selection_: Selection = part.selection
        self.draws_ = part.fit.draws
        self.diagnostics_: Diagnostics = part.fit.draws.diagnostics()
        self.n_groups_ = part.fit.n_groups
        self.n_patterns_ = part.fit.n_patterns
        if not hasattr(self, "order_losses_"):
            self.order_losses_ = None

    # --------------------------------------------------------------- prediction

    def predict_proba_interval(
        self, X: Any, level: float = 0.9, *, class_prior: Any = None, n_draws: int = 2000
    ) -> FloatArray:
        """Return intervals for P(class | x).

        An interval holds ``level`` of the distribution of P(class | x, coefficients) over the draws
        of the chains; the mean of that distribution is `predict_proba`, but for the one draw that
        is counted there in addition. With a slope or a layer the evidence of each draw is
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

        Returns
        -------
        ndarray of shape (n, 2), or (n, n_classes, 2) for more than two classes
            Lower and upper bounds, for two classes those of ``classes_[1]``.
        """
        check_level_and_draws(level, n_draws)
        n_rows, values = self._read(X)
        given = self._given_log_prior(class_prior)
        log_prior = self._log_prior if given is None else given
        (part,) = self._parts
        assert isinstance(part, InteractionPart)
        read = values[0][1] if values else np.zeros((n_rows, 0), dtype=np.int64)
        cells = part.cells(read)
        baseline = part.baseline(cells)[:, None]
        some = part.fit.draws.spread(n_draws)
        layer = Layer.plugged_in(self.slope_)
        tails = [(1 - level) / 2, (1 + level) / 2]
        result = np.empty((n_rows, self.classes_.size, 2))
        for rows, proba in part.fit.probabilities(cells, some):
            evidence = np.log(np.maximum(proba, 1e-300)) - baseline[rows]
            flat = layer.log_proba(evidence.reshape(-1, proba.shape[2]), log_prior)
            drawn = np.exp(flat).reshape(proba.shape)
            result[rows] = np.moveaxis(np.quantile(drawn, tails, axis=1), 0, 2)
        return result if self.classes_.size > 2 else result[:, 1]

    # --------------------------------------------------------------- explanation

    def interactions(self, most: int = 20) -> Interactions:
        """Return the patterns whose coefficients are the largest, by posterior median.

        Parameters
        ----------
        most : int, default=20
            How many.
        """
        check_is_fitted(self)
        names, classes = self._names_and_classes()
        (part,) = self._parts
        assert isinstance(part, InteractionPart)
        return interactions_of(part, names, classes, most)

    def _sections(self) -> dict[str, Any]:
        """Return the largest interactions."""
        return {"interactions": self.interactions()}

    def to_arviz(self) -> Any:
        """Return the draws for ArviZ: InferenceData (0.23), or a DataTree (1.x)."""
        check_is_fitted(self)
        return self.draws_.to_arviz(["log_sigma", "s"], ["log_likelihood"])


def _of_order(part: InteractionTraining, order: int) -> InteractionTraining:
    """Return the same part with patterns up to an order."""
    model = replace(part.settings.model, order=order)
    return replace(part, settings=replace(part.settings, model=model))
