"""Regression on features that move together, honest after selection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self, overload

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from honestbayes.files.entries import Entries, Plain, joined
from honestbayes.files.fields import Known, Texts, check_column_names
from honestbayes.files.records import record_from_plain, record_to_plain
from honestbayes.likelihood.normal import VariancePrior
from honestbayes.models.factors.estimator import (
    MOST_FACTORS,
    FactorEstimator,
    regressor_settings,
    warn_of_problems,
)
from honestbayes.models.factors.response import (
    N_FOLDS,
    Predictive,
    ResponseFit,
    ResponseTraining,
)
from honestbayes.models.real.part import real_source, real_values
from honestbayes.models.shared.kept_columns import Described, KeptColumns
from honestbayes.models.shared.parameters import (
    check_quantiles,
    check_response,
    refuse_arguments,
)
from honestbayes.models.shared.saving import SavedEstimator, check_number
from honestbayes.selection import parse_always_keep
from honestbayes.selection.response import ResponseSelection
from honestbayes.sources import check_as_many
from honestbayes.sources.columns import as_table
from honestbayes.sources.kinds import columns_of
from honestbayes.types import AnyArray, FloatArray, IntArray


class SelectiveFactorRegressor(RegressorMixin, FactorEstimator, KeptColumns, SavedEstimator):
    """Regression on real-valued features that move together, selected by correlation.

    Features and the response y load on a few latent factors that all cases have:

        x_ij = nu_j + lambda_j' z_i + e_ij,    y_i = nu_0 + lambda_0' z_i + e_i0,

    with z_i standard normal, e_ij ~ N(0, s2_j) and loadings N(0, w_lambda s2_j). The response has a
    loading ratio of its own; square roots of both are half Cauchy with scale 1. s2_j is inverse
    gamma with shape 2 and scale 2 in units of the column's own variance, times the share of noise,
    which all share and which is exponential with mean 1: units do not matter.

    Features with the largest absolute correlation with y are kept. Among thousands some are
    correlated by luck, and a model that knows only these takes the luck for a factor. The posterior
    is sampled by Markov chains, conditioned on the event that the other features were discarded:
    its probability given the factors' scores and y is one of a quadratic form.

    Parameters
    ----------
    n_features_to_select : int, "all" or None, default=None
        How many features to keep. None: 10, or all when there are fewer.
    threshold : float, optional
        Instead, keep all features whose absolute correlation with y is above this bound.
    n_factors : int or "auto", default="auto"
        How many factors. "auto": of 0 to 3 the number with the best log score in five folds of
        the training cases, found inside `fit`.
    correction : {"auto", "selection"} or None, default="auto"
        "selection": condition on the event that the other features were discarded. None: do not.
        "auto": selection.
    always_keep : list of names or indices, or mask, optional
        Features kept by design, outside the race.
    n_chains : int, default=4
        Markov chains.
    n_samples : int, default=1000
        Draws to keep of each.
    n_warmup : int, default=300
        Sweeps before these.
    n_doublings : int, default=3
        How often, at most, chains go on to twice their length because R-hat of any quantity is
        above 1.01. As many draws are kept, from longer chains.
    n_jobs : int, optional
        Chains, or folds, at work at once. It does not change the result.
    random_state : int, RandomState or None, default=None
        Seed of the chains.
    checkpoint : path-like, optional
        A file to which chains are written now and then, and from which an equal fit goes on.
    verbose : bool, default=False
        Whether to show how far the chains are.

    Attributes
    ----------
    selection_ : ResponseSelection
        What was kept and what was thrown away.
    n_factors_ : int
        Number of factors.
    factor_choice_ : FactorChoice or None
        The numbers that were tried, where the number was to be chosen.
    draws_ : Draws
        What the chains have drawn; the response is the first column.
    diagnostics_ : Diagnostics
        Whether to trust it.
    variance_prior_ : VariancePrior
        The prior of the features' variances.
    correction_ : str or None
        What "auto" became.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features, where X has them.

    Notes
    -----
    A discarded feature with missing cells is taken to have seen a fair sample of the cases.

    An interrupt (Ctrl-C) while chains run leaves a model of the draws so far, and is raised again.

    Examples
    --------
    >>> import numpy as np
    >>> from honestbayes.models.factors.regressor import SelectiveFactorRegressor
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(40, 1))
    >>> X = rng.normal(size=(40, 100))
    >>> X[:, :10] += z
    >>> y = z[:, 0] + 0.5 * rng.normal(size=40)
    >>> model = SelectiveFactorRegressor(
    ...     n_features_to_select=5, n_factors=1, n_warmup=100, n_samples=200, random_state=0
    ... )
    >>> mean, std = model.fit(X, y).predict(X[:2], return_std=True)
    >>> mean.shape, std.shape
    ((2,), (2,))
    """

    _kind: ClassVar[str] = "SelectiveFactorRegressor"
    _absent_parameters: ClassVar[Mapping[str, Any]] = {"n_doublings": 0}

    def __init__(
        self,
        *,
        n_features_to_select: int | Literal["all"] | None = None,
        threshold: float | None = None,
        n_factors: int | Literal["auto"] = "auto",
        correction: Literal["auto", "selection"] | None = "auto",
        always_keep: Any = None,
        n_chains: int = 4,
        n_samples: int = 1000,
        n_warmup: int = 300,
        n_doublings: int = 3,
        n_jobs: int | None = None,
        random_state: Any = None,
        checkpoint: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.threshold = threshold
        self.n_factors = n_factors
        self.correction = correction
        self.always_keep = always_keep
        self.n_chains = n_chains
        self.n_samples = n_samples
        self.n_warmup = n_warmup
        self.n_doublings = n_doublings
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.checkpoint = checkpoint
        self.verbose = verbose

    # ------------------------------------------------------------------ fitting

    def fit(self, X: Any, y: Any, **refused: Any) -> Self:
        """Select features and run the chains.

        Parameters
        ----------
        X : table of shape (n, p)
            Training rows; NaN and None are missing.
        y : array-like of shape (n,)
            The response.
        **refused
            ``sample_weight`` is refused: the correction needs whole cases.
        """
        refuse_arguments(refused)
        X = as_table(X)
        response = check_response(y)
        check_as_many(X.shape[0], response.size)
        sampling = self._sampling()
        validate_data(self, X, skip_check_array=True)
        source = real_source(X, type(self).__name__)
        always = parse_always_keep(self.always_keep, source.feature_names, source.shape[1])
        settings = regressor_settings(self.get_params(deep=False), always)
        fit = self._fit_response(ResponseTraining(source, response, settings, sampling))
        self._hold(fit)
        warn_of_problems(fit.drawn, stacklevel=2)
        if fit.drawn.interrupted:
            raise KeyboardInterrupt
        return self

    def _fit_response(self, training: ResponseTraining) -> ResponseFit:
        """Fit, with a number of factors that held-out cases choose where asked."""
        if self.n_factors != "auto":
            return training.fit(int(self.n_factors))
        if training.y.size < 2 * N_FOLDS:
            return training.fit(1)
        choice = training.choose_factors(range(MOST_FACTORS + 1))
        return replace(training.fit(choice.chosen), choice=choice)

    def _hold(self, fit: ResponseFit) -> Self:
        """Hold what was fitted, and show it."""
        self._fit = fit
        self.selection_: ResponseSelection = fit.selection
        self.variance_prior_: VariancePrior = fit.variance_prior
        self.correction_ = fit.correction
        self._show(fit.drawn, fit.n_factors, fit.choice)
        return self

    # --------------------------------------------------------------- prediction

    @overload
    def predict(self, X: Any, return_std: Literal[False] = False) -> FloatArray: ...
    @overload
    def predict(self, X: Any, return_std: Literal[True]) -> tuple[FloatArray, FloatArray]: ...
    def predict(
        self, X: Any, return_std: bool = False
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Return the mean of each row's response, and its standard deviation where asked.

        Parameters
        ----------
        X : table of shape (n, p)
            Rows to predict; missing cells are integrated out.
        return_std : bool, default=False
            Whether to return standard deviations too.
        """
        check_is_fitted(self)
        parts = [part.moments() for part in self._predictive(X)]
        mean = np.concatenate([part[0] for part in parts])
        return (mean, np.concatenate([part[1] for part in parts])) if return_std else mean

    def predict_quantiles(self, X: Any, q: Any) -> FloatArray:
        """Return quantiles of each row's response.

        Parameters
        ----------
        X : table of shape (n, p)
            Rows to predict.
        q : float or array-like of shape (m,)
            Probabilities, between 0 and 1.

        Returns
        -------
        ndarray of shape (n,) or (n, m)
        """
        check_is_fitted(self)
        levels = check_quantiles(q)
        parts = [
            np.stack([part.quantile(float(level)) for level in levels], axis=1)
            for part in self._predictive(X)
        ]
        result = np.concatenate(parts)
        return np.asarray(result[:, 0] if np.ndim(q) == 0 else result)

    def _predictive(self, X: Any) -> Iterator[Predictive]:
        """Yield the distributions of some rows at a time."""
        return self._fit.predictive(self._read(X))

    def _read(self, X: Any) -> AnyArray:
        """Return the kept columns of a table, NaN missing; refuse another table."""
        check_is_fitted(self)
        X = as_table(X)
        (columns,) = self._columns_in(X)
        if columns.size == 0:
            return np.zeros((X.shape[0], 0))
        return real_values(columns_of(X, columns), Described(self.get_feature_names_out()))

    def _kept_columns(self) -> list[IntArray]:
        return [np.array(self.selection_.columns, dtype=np.int64)]

    # -------------------------------------------------------------------- files

    def _fitted_to_plain(self) -> Plain:
        names = Texts().write("feature_names", getattr(self, "feature_names_in_", None))
        return joined(names, record_to_plain(self._fit))

    @classmethod
    def _fitted_from_plain(cls, entries: Entries) -> Known:
        fit = record_from_plain(ResponseFit, entries, {})
        width = fit.selection.n_features_in
        names = Texts().read(entries, "feature_names", {})
        check_column_names(entries, names, width)
        return {"fit": fit, "feature_names": names, "width": width}

    @classmethod
    def _check_parameters(cls, parameters: Known, fitted: Known) -> None:
        check_number(parameters, fitted["width"])
        plain = parameters["n_features_to_select"]
        plain = None if type(plain) in (int, float) else plain
        regressor_settings({**parameters, "n_features_to_select": plain}, np.zeros(0, dtype=bool))

    def _load_fitted(self, fitted: Known) -> Self:
        self.n_features_in_ = fitted["width"]
        self._name_columns(fitted["feature_names"])
        return self._hold(fitted["fit"])
