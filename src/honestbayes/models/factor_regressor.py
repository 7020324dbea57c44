"""Regression on features that move together, honest after selection."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from scipy.special import logsumexp, ndtr
from sklearn.base import RegressorMixin
from sklearn.model_selection import KFold
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from honestbayes.correction.gaussian import VariancePrior
from honestbayes.models.factor_core import FactorDraws, FactorSettings, run_chains
from honestbayes.models.factor_estimator import (
    MOST_FACTORS,
    FactorChoice,
    FactorEstimator,
    check_words,
    fold_sampling,
)
from honestbayes.models.factor_response import (
    ResponseSelection,
    response_kernel,
    screen_response,
    select_by_response,
    variance_prior_of,
)
from honestbayes.models.gaussian_part import real_source
from honestbayes.models.parameters import refuse_arguments, selection_rule
from honestbayes.sampling.runs import Sampling
from honestbayes.screening import Source, check_as_many
from honestbayes.screening.levels import as_table
from honestbayes.screening.sources import RowsOf
from honestbayes.selection import parse_always_keep
from honestbayes.types import AnyArray, FloatArray, IntArray

_CHUNK_CELLS = 1 << 20
_BISECTIONS = 60
_FOLDS = 5


@dataclass(frozen=True, slots=True, eq=False)
class Predictive:
    """Normal distributions of a response, one for each draw, and their weights.

    Attributes
    ----------
    mean, variance, weight : ndarray of shape (n, S)
        Weights of each case sum to 1.
    """

    mean: FloatArray
    variance: FloatArray
    weight: FloatArray

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Return the mean and the standard deviation of each case, shape (n,)."""
        mean = np.sum(self.weight * self.mean, axis=1)
        apart = self.variance + (self.mean - mean[:, None]) ** 2
        return mean, np.sqrt(np.sum(self.weight * apart, axis=1))

    def quantile(self, probability: float) -> FloatArray:
        """Return the value below which a case's response is with this probability, shape (n,)."""
        spread = np.sqrt(self.variance)
        low = (self.mean - 40.0 * spread).min(axis=1)
        high = (self.mean + 40.0 * spread).max(axis=1)
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            below = np.sum(self.weight * ndtr((middle[:, None] - self.mean) / spread), axis=1)
            low = np.where(below < probability, middle, low)
            high = np.where(below < probability, high, middle)
        return np.asarray(0.5 * (low + high))

    def log_density(self, y: FloatArray) -> FloatArray:
        """Return the log density of each case's response, shape (n,)."""
        z = (y[:, None] - self.mean) ** 2 / self.variance
        terms = -0.5 * (z + np.log(2 * np.pi * self.variance))
        return np.asarray(logsumexp(terms, axis=1, b=self.weight))


class SelectiveFactorRegressor(RegressorMixin, FactorEstimator):
    """Regression on real-valued features that move together, selected by correlation.

    Features and the response y load on a few latent factors that all cases have:

        x_ij = nu_j + lambda_j' z_i + e_ij,    y_i = nu_0 + lambda_0' z_i + e_i0,

    with z_i standard normal, e_ij ~ N(0, s2_j) and loadings N(0, w_lambda s2_j). The response has a
    loading ratio of its own; square roots of both are half Cauchy with scale 1. s2_j is inverse
    gamma with a shape that is learnt from all features, and a scale that is that of the whole
    variance times the share of noise, which is exponential with mean 1.

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
    n_samples : int, default=500
        Draws to keep of each.
    n_warmup : int, default=500
        Sweeps before these.
    n_jobs : int, optional
        Chains, or folds, at work at once. It does not change the result.
    random_state : int, RandomState or None, default=None
        Seed of the chains.
    checkpoint : path-like, optional
        A file to which chains are written now and then, and from which an equal fit goes on.

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
    >>> from honestbayes.models.factor_regressor import SelectiveFactorRegressor
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(40, 1))
    >>> X = rng.normal(size=(40, 300))
    >>> X[:, :30] += z
    >>> y = z[:, 0] + 0.5 * rng.normal(size=40)
    >>> model = SelectiveFactorRegressor(n_factors=1, n_warmup=300, n_samples=300, random_state=0)
    >>> mean, std = model.fit(X, y).predict(X[:2], return_std=True)
    >>> mean.shape, std.shape
    ((2,), (2,))
    """

    def __init__(
        self,
        *,
        n_features_to_select: int | Literal["all"] | None = None,
        threshold: float | None = None,
        n_factors: int | Literal["auto"] = "auto",
        correction: Literal["auto", "selection"] | None = "auto",
        always_keep: Any = None,
        n_chains: int = 4,
        n_samples: int = 500,
        n_warmup: int = 500,
        n_jobs: int | None = None,
        random_state: Any = None,
        checkpoint: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.threshold = threshold
        self.n_factors = n_factors
        self.correction = correction
        self.always_keep = always_keep
        self.n_chains = n_chains
        self.n_samples = n_samples
        self.n_warmup = n_warmup
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.checkpoint = checkpoint

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
        response = _checked_response(y)
        check_as_many(X.shape[0], response.size)
        sampling = self._sampling()
        validate_data(self, X, skip_check_array=True)
        source = real_source(X, type(self).__name__)
        settings = self._settings(source)
        training = _Training(source, response, settings)
        n_factors = self._number(training, sampling)
        selection, prior, drawn = training.draw(n_factors, sampling)
        self.selection_: ResponseSelection = selection
        self.variance_prior_: VariancePrior = prior
        self.correction_ = settings.correction
        self._show(drawn, n_factors)
        if drawn.interrupted:
            raise KeyboardInterrupt
        return self

    def _settings(self, source: Source) -> FactorSettings:
        """Check the words about selection and the model."""
        if self.correction not in ("auto", "selection", None):
            msg = f"correction={self.correction!r} is not one of 'auto', 'selection', None."
            raise ValueError(msg)
        params = self.get_params(deep=False)
        check_words(params)
        always = parse_always_keep(self.always_keep, source.feature_names, source.shape[1])
        rule = selection_rule(params, int(np.sum(~always)))
        correction: Literal["selection"] | None = None if self.correction is None else "selection"
        return FactorSettings(*rule, always, "learned", correction)

    def _number(self, training: _Training, sampling: Sampling) -> int:
        """Choose the number of factors from held-out cases, where asked."""
        self.factor_choice_: FactorChoice | None = None
        if self.n_factors != "auto":
            return int(self.n_factors)
        numbers = range(MOST_FACTORS + 1)
        if training.y.size < 2 * _FOLDS:
            return 1
        loss = -training.held_out(numbers, sampling).mean(axis=1)
        chosen = int(np.argmin(loss))
        self.factor_choice_ = FactorChoice(np.array(numbers), loss, chosen)
        return chosen

    # --------------------------------------------------------------- prediction

    def predict(self, X: Any, return_std: bool = False) -> Any:
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
        levels = np.atleast_1d(np.asarray(q, dtype=float))
        if levels.ndim != 1 or not np.all((levels > 0) & (levels < 1)):
            msg = f"q={q} must be probabilities between 0 and 1."
            raise ValueError(msg)
        parts = [
            np.stack([part.quantile(float(level)) for level in levels], axis=1)
            for part in self._predictive(X)
        ]
        result = np.concatenate(parts)
        return np.asarray(result[:, 0] if np.ndim(q) == 0 else result)

    def _predictive(self, X: Any) -> Iterator[Predictive]:
        """Yield the distributions of some rows at a time."""
        values = self._read(X)
        assert self._drawn is not None
        return predictive(self._drawn, values)


def predictive(drawn: FactorDraws, values: AnyArray) -> Iterator[Predictive]:
    """Yield the distributions of the response given kept columns of shape (n, k)."""
    from honestbayes.models.factor_predict import response_given_columns

    location, spread, loadings = drawn.pooled("location", "spread", "loadings")
    location, spread = (np.ascontiguousarray(x[:, 0]) for x in (location, spread))
    columns = np.arange(1, location.shape[1])
    step = max(1, _CHUNK_CELLS // location.shape[0])
    centre, unit = drawn.standard.centre[0], drawn.standard.unit[0]
    for first in range(0, values.shape[0], step):
        part = values[first : first + step]
        # The response comes first; what stands there does not matter.
        x = drawn.standard.apply(np.column_stack([np.full(len(part), centre), part]))[:, 1:]
        mean, variance, log_weight = response_given_columns(
            np.ascontiguousarray(x), location, spread, loadings, columns, 0
        )
        weight = np.exp(log_weight - logsumexp(log_weight, axis=1, keepdims=True))
        yield Predictive(centre + unit * mean, unit**2 * variance, weight)


def _checked_response(y: Any) -> FloatArray:
    """Return the response as numbers, none of them missing."""
    if y is None:
        msg = "requires y to be passed, but the target y is None."
        raise ValueError(msg)
    values = column_or_1d(y, warn=True)
    checked: FloatArray = check_array(
        values, ensure_2d=False, dtype=np.float64, input_name="y", ensure_min_samples=1
    )
    if checked.size < 2:
        msg = f"n_samples={checked.size} is too few: a correlation needs two cases or more."
        raise ValueError(msg)
    return checked


@dataclass(frozen=True, slots=True)
class _Training:
    """A training table: fitted as a whole, or without some rows."""

    source: Source
    y: FloatArray
    settings: FactorSettings

    def draw(
        self, n_factors: int, sampling: Sampling
    ) -> tuple[ResponseSelection, VariancePrior, FactorDraws]:
        """Select and run the chains."""
        centred = self.y / np.max(np.abs(self.y), initial=1e-300)
        centred = centred - centred.mean()
        centred = centred / max(float(np.sqrt(np.mean(centred**2))), 1e-300)
        screening = screen_response(self.source, centred)
        selection = select_by_response(screening, self.settings, self.y.size)
        prior = variance_prior_of(screening)
        values = self.source.take(np.array(selection.columns, dtype=np.int64))
        kernel, standard = response_kernel(
            np.asarray(values, dtype=float), self.y, selection, prior, self.settings
        )
        return selection, prior, run_chains(kernel, standard, n_factors, 2, sampling)

    def held_out(self, numbers: Sequence[int], sampling: Sampling) -> FloatArray:
        """Return log densities of held-out responses for each number of factors, shape (g, n)."""
        folds = [test for _, test in KFold(_FOLDS, shuffle=True, random_state=0).split(self.y)]
        found = Parallel(n_jobs=sampling.n_jobs, prefer="threads")(
            delayed(self._fold)(rows, f, numbers, sampling) for f, rows in enumerate(folds)
        )
        return np.concatenate(found, axis=1)

    def _fold(
        self, rows: IntArray, f: int, numbers: Sequence[int], sampling: Sampling
    ) -> FloatArray:
        others = np.setdiff1d(np.arange(self.y.size), rows)
        training = _Training(RowsOf(self.source, others), self.y[others], self.settings)
        result = np.empty((len(numbers), rows.size))
        for position, n_factors in enumerate(numbers):
            short = fold_sampling(sampling, f, n_factors)
            selection, _, drawn = training.draw(n_factors, short)
            if drawn.interrupted:
                raise KeyboardInterrupt
            held_out = RowsOf(self.source, rows).take(np.array(selection.columns, dtype=np.int64))
            parts = list(predictive(drawn, np.asarray(held_out, dtype=float)))
            ends = np.cumsum([len(part.mean) for part in parts])[:-1]
            pieces = np.split(self.y[rows], ends)
            result[position] = np.concatenate(
                [part.log_density(y) for part, y in zip(parts, pieces, strict=True)]
            )
        return result
