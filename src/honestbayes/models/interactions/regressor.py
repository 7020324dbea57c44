"""Bayesian regression of a real-valued response on categories with interactions of any order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.special import ndtri
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from honestbayes.files.entries import Entries, Plain, joined
from honestbayes.files.fields import (
    MOST_FEATURES,
    Known,
    Number,
    Texts,
    Whole,
    check_column_names,
)
from honestbayes.files.records import Section
from honestbayes.models.interactions.chains import run_chains, sampling_of, warn_of_problems
from honestbayes.models.interactions.explain import Interactions, coefficients
from honestbayes.models.interactions.fit import InteractionFit
from honestbayes.models.interactions.settings import WHY_COMPLETE, interaction_settings
from honestbayes.models.shared.codes import TAKEN_FOR_MISSING, Codes, check_missing
from honestbayes.models.shared.kept_columns import Described
from honestbayes.models.shared.parameters import (
    check_quantiles,
    check_response,
    refuse_arguments,
)
from honestbayes.models.shared.saving import SavedEstimator
from honestbayes.sampling.draws import Diagnostics
from honestbayes.sources import check_as_many
from honestbayes.sources.columns import as_table
from honestbayes.sources.levels import category_table
from honestbayes.types import FloatArray, IntArray

_NOISE_NODES = ndtri((np.arange(15) + 0.5) / 15)
"""Quantiles of a standard normal, by which each draw's noise is spread."""


@dataclass(frozen=True, slots=True, eq=False)
class ResponseModel:
    """A fitted response.

    Attributes
    ----------
    codes : Codes
        How columns become codes.
    fit : InteractionFit
        Of the response in standard units.
    centre, scale : float
        What the response's units are.
    """

    codes: Codes
    fit: InteractionFit
    centre: float
    scale: float


class InteractionRegressor(RegressorMixin, SavedEstimator):
    """Bayesian regression on categorical features with their interactions, with normal noise.

    The model of `InteractionClassifier` for a real-valued response (thesis, section 3.6): every
    pattern of up to ``order`` cells has a coefficient, and patterns that the same training cases
    have share a parameter.

    Parameters
    ----------
    order : int, default=2
        The most cells that a pattern fixes.
    prior : {"cauchy", "gaussian"}, default="cauchy"
        Of coefficients.
    width_prior : tuple of float, default=(0.25, 0.1)
        Shape of the inverse gamma prior of the width of order o, and its mode times o, in units of
        the response's standard deviation.
    compress : bool, default=True
        Whether patterns that the same cases have share a parameter.
    missing : {"refuse", "level"}, default="refuse"
        Whether a missing training cell is an error, or a level of its own. At prediction a missing
        cell that is no level is averaged over training rows, as in `InteractionClassifier`.
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
    n_groups_, n_patterns_ : int, float
        Parameters with and without compression.
    diagnostics_ : Diagnostics
        R-hat, effective sample sizes and Monte Carlo errors.
    draws_ : Draws
        All draws, in units of the response's standard deviation.
    n_features_in_, feature_names_in_ : int, ndarray
        Columns seen in `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from honestbayes import InteractionRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice(["a", "b"], size=(40, 2))
    >>> y = 2.0 * (X[:, 0] == "a") + rng.normal(size=40) / 5
    >>> model = InteractionRegressor(order=1, thin=10, random_state=0).fit(X, y)
    >>> bool(np.abs(model.predict([["a", "b"]])[0] - 2) < 0.2)
    True
    """

    _kind: ClassVar[str] = "InteractionRegressor"

    def __init__(
        self,
        *,
        order: int = 2,
        prior: Literal["cauchy", "gaussian"] = "cauchy",
        width_prior: tuple[float, float] = (0.25, 0.1),
        compress: bool = True,
        missing: Literal["refuse", "level"] = "refuse",
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

    def fit(self, X: Any, y: Any, **refused: Any) -> Self:
        """Group patterns and run chains.

        Parameters
        ----------
        X : table of shape (n, p)
            Training rows of texts or whole numbers from 0 on.
        y : array-like of shape (n,)
            The response.
        **refused
            ``sample_weight`` is refused: cases are counted whole.
        """
        refuse_arguments(refused)
        X = as_table(X)
        response = check_response(y)
        check_as_many(X.shape[0], response.size)
        settings = interaction_settings(self.get_params(deep=False), np.zeros(0, dtype=bool))
        validate_data(self, X, skip_check_array=True)
        table = category_table(X)
        check_missing(table, WHY_COMPLETE, missing_is_level=settings.missing == "level")
        codes = Codes(table.levels, settings.missing == "level")
        centre, scale = float(response.mean()), float(response.std()) or 1.0
        sampling = sampling_of(self.get_params(deep=False), settings)
        standard = (response - centre) / scale
        fit = run_chains(
            codes.of_training(table.codes), standard, 0, settings.model, sampling, suffixes=False
        )
        if fit.draws.n_draws == 0:  # interrupted before anything was kept
            raise KeyboardInterrupt
        self._hold(ResponseModel(codes, fit, centre, scale))
        warn_of_problems(fit, stacklevel=2)
        if fit.interrupted:
            raise KeyboardInterrupt
        return self

    def _hold(self, model: ResponseModel) -> Self:
        """Hold what was fitted, and show it."""
        self._model = model
        self.draws_ = model.fit.draws
        self.diagnostics_: Diagnostics = model.fit.draws.diagnostics()
        self.n_groups_, self.n_patterns_ = model.fit.n_groups, model.fit.n_patterns
        return self

    # --------------------------------------------------------------- prediction

    def predict(self, X: Any) -> FloatArray:
        """Return the median of each row's response.

        Not the mean: with Cauchy coefficients a pattern that no training case had has none.

        Parameters
        ----------
        X : table of shape (n, p)
            Rows to predict.
        """
        cells = self._read(X)
        result = np.empty(cells.shape[0])
        for rows, f in self._model.fit.predictors(cells, self.draws_):
            result[rows] = np.median(f[..., 0], axis=1)
        return self._model.centre + self._model.scale * result

    def predict_quantiles(self, X: Any, q: Any) -> FloatArray:
        """Return quantiles of each row's response, its noise included.

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
        levels = check_quantiles(q)
        cells = self._read(X)
        some = self.draws_.spread(1000)
        noise = np.sqrt(some.pooled("noise"))[:, None] * _NOISE_NODES
        result = np.empty((cells.shape[0], levels.size))
        for rows, f in self._model.fit.predictors(cells, some):
            values = (f[..., 0][:, :, None] + noise).reshape(f.shape[0], -1)
            result[rows] = np.quantile(values, levels, axis=1).T
        result = self._model.centre + self._model.scale * result
        return np.asarray(result[:, 0] if np.ndim(q) == 0 else result)

    def _read(self, X: Any) -> IntArray:
        """Return the codes of a table; refuse another table."""
        check_is_fitted(self)
        X = as_table(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        codes, rows = self._model.codes, self._model.fit.rows
        cells = codes.read(X, Described(self._names()), TAKEN_FOR_MISSING)
        seen = [np.isin(np.arange(size), rows[:, j]) for j, size in enumerate(codes.n_levels)]
        return codes.without_new_missing(cells, np.concatenate(seen))

    def _names(self) -> Any:
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if names is None else names

    def interactions(self, most: int = 20) -> Interactions:
        """Return the patterns whose coefficients are the largest, by posterior median.

        Parameters
        ----------
        most : int, default=20
            How many.
        """
        check_is_fitted(self)
        names = tuple(map(str, self._names()))
        model = self._model
        places = tuple(range(self.n_features_in_))
        return coefficients(
            model.fit, model.codes, names, places, ("response",), most, unit=model.scale
        )

    def to_arviz(self) -> Any:
        """Return the draws for ArviZ: InferenceData (0.23), or a DataTree (1.x)."""
        check_is_fitted(self)
        return self.draws_.to_arviz(["log_sigma", "noise", "s"], ["log_likelihood"])

    # -------------------------------------------------------------------- files

    def _fitted_to_plain(self) -> Plain:
        model = self._model
        content = {
            "n_features_in": int(self.n_features_in_),
            "centre": model.centre,
            "scale": model.scale,
        }
        names = Texts().write("feature_names", getattr(self, "feature_names_in_", None))
        return joined((content, {}), names, codes=model.codes.to_plain(), fit=model.fit.to_plain())

    @classmethod
    def _fitted_from_plain(cls, entries: Entries) -> Known:
        width = Whole(1, MOST_FEATURES).read(entries, "n_features_in", {})
        names = Texts().read(entries, "feature_names", {})
        check_column_names(entries, names, width)
        codes = Section(kind=Codes).read(entries, "codes", {"n_columns": width})
        of_fit = {"n_levels": codes.n_levels, "n_predictors": 0}
        fit = Section(kind=InteractionFit).read(entries, "fit", of_fit)
        centre = Number(-1e300, 1e300).read(entries, "centre", {})
        scale = Number(1e-300, 1e300).read(entries, "scale", {})
        model = ResponseModel(codes, fit, centre, scale)
        return {"model": model, "feature_names": names, "n_features_in": width}

    @classmethod
    def _check_parameters(cls, parameters: Known, fitted: Known) -> None:
        del fitted
        interaction_settings(parameters, np.zeros(0, dtype=bool))

    def _load_fitted(self, fitted: Known) -> Self:
        self.n_features_in_ = fitted["n_features_in"]
        if fitted["feature_names"] is not None:
            self.feature_names_in_ = np.array(fitted["feature_names"], dtype=object)
        return self._hold(fitted["model"])
