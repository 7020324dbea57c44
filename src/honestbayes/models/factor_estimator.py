"""What the factor classifier and the factor regressor share."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from honestbayes.models.factor_core import FactorDraws
from honestbayes.models.gaussian_part import real_source
from honestbayes.models.parameters import whole_number
from honestbayes.sampling.chains import Schedule
from honestbayes.sampling.draws import Diagnostics, Draws
from honestbayes.sampling.runs import Sampling
from honestbayes.screening.binarization import check_finite
from honestbayes.screening.kinds import columns_of
from honestbayes.screening.levels import as_table
from honestbayes.screening.sources import dense_values
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

POSTERIOR = ("loadings", "location", "variance", "signal_ratio")
"""Arrays of each draw that ArviZ gets, beside the numbers that chains are judged by."""


MOST_FACTORS = 3
"""Numbers of factors up to this one are tried where the number is to be chosen."""

FOLD_WARMUP, FOLD_SAMPLES = 100, 200
"""Sweeps of the single chain of each fold; a fold's own error is far larger than theirs."""


@dataclass(frozen=True, slots=True, eq=False)
class FactorChoice:
    """Numbers of factors that were tried, and how well each did.

    Attributes
    ----------
    n_factors : ndarray of shape (g,)
        Numbers tried.
    log_score : ndarray of shape (g,)
        Average minus log probability of the actual class of held-out cases.
    chosen : int
        The number with the best log score.
    """

    n_factors: IntArray
    log_score: FloatArray
    chosen: int


class FactorEstimator(BaseEstimator):
    """Base of estimators whose features move together.

    A subclass sets ``selection_``, ``n_factors_`` and the draws (`_show`).
    """

    n_factors: Any
    n_chains: Any
    n_samples: Any
    n_warmup: Any
    n_jobs: Any
    random_state: Any
    checkpoint: Any
    selection_: Any

    def __sklearn_tags__(self) -> Any:
        """Declare what inputs are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # --------------------------------------------------------------- for subclasses

    def _sampling(self) -> Sampling:
        """Check the words about chains."""
        params = self.get_params(deep=False)
        n_chains = whole_number(params, "n_chains", 1)
        schedule = Schedule(
            whole_number(params, "n_warmup", 0), whole_number(params, "n_samples", 1)
        )
        check_number_of_factors(params)
        if self.checkpoint is not None and not isinstance(self.random_state, Integral):
            msg = (
                "a checkpoint needs random_state, a whole number: else no fit could go on from it."
            )
            raise ValueError(msg)
        entropy = check_random_state(self.random_state).randint(2**31 - 1, size=4)
        seed = np.random.SeedSequence([int(word) for word in entropy])
        return Sampling(schedule, n_chains, seed, self.n_jobs, self.checkpoint)

    def _show(self, drawn: FactorDraws | None, n_factors: int) -> None:
        """Store draws, and say where they are not to be trusted."""
        self._drawn = drawn
        self.n_factors_ = n_factors
        self.draws_: Draws | None = None if drawn is None else drawn.draws
        self.diagnostics_: Diagnostics | None = None if drawn is None else drawn.diagnostics()
        if drawn is None or drawn.interrupted or self.diagnostics_ is None:
            return
        if problems := self.diagnostics_.problems():
            msg = (
                "the chains have not converged: "
                + "; ".join(problems)
                + ". Probabilities may be off: raise n_warmup and n_samples."
            )
            warnings.warn(msg, ConvergenceWarning, stacklevel=4)

    def _read(self, X: Any) -> FloatArray:
        """Return the kept columns of a table, NaN missing; refuse another table."""
        check_is_fitted(self)
        X = as_table(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        if X.shape[1] != self.n_features_in_:
            msg = (
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
            raise ValueError(msg)
        columns = self._columns()
        if columns.size == 0:
            return np.zeros((X.shape[0], 0))
        names = self.get_feature_names_out()
        values = dense_values(real_source(columns_of(X, columns), type(self).__name__))
        if values.dtype.kind == "f":
            check_finite(values, lambda j: f"column {names[j]!r}")
        return np.asarray(values, dtype=float)

    def _columns(self) -> IntArray:
        return np.array(self.selection_.columns, dtype=np.int64)

    # ---------------------------------------------------------------------- public

    def get_support(self, indices: bool = False) -> BoolArray | IntArray:
        """Return the mask of the kept features, or their indices."""
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self._columns()] = True
        return np.flatnonzero(mask) if indices else mask

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Return the names of the kept features, strongest first, then those kept by design."""
        check_is_fitted(self)
        columns = self._columns()
        names = getattr(self, "feature_names_in_", input_features)
        if names is None:
            return np.array([f"x{column}" for column in columns], dtype=object)
        chosen: AnyArray = np.asarray(names, dtype=object)[columns]
        return chosen

    def to_arviz(self) -> Any:
        """Return the draws for ArviZ: InferenceData (0.23), or a DataTree (1.x).

        Features are in units of their own standard deviation, around their mean.
        """
        check_is_fitted(self)
        if self.draws_ is None or self.diagnostics_ is None:
            msg = "no feature was kept, so nothing was drawn."
            raise ValueError(msg)
        numbers = [name for name in self.diagnostics_.name if name != "log_density"]
        return self.draws_.to_arviz([*POSTERIOR, *numbers], ["log_density", "accepted"])


def fold_sampling(sampling: Sampling, fold: int, n_factors: int) -> Sampling:
    """Return how the single chain of a fold runs, with a seed of its own."""
    key = (*sampling.seed.spawn_key, 2, fold, n_factors)
    seed = np.random.SeedSequence(sampling.seed.entropy, spawn_key=key)
    return Sampling(Schedule(FOLD_WARMUP, FOLD_SAMPLES), 1, seed)


def check_number_of_factors(params: Mapping[str, Any]) -> None:
    """Refuse what is neither "auto" nor a number of factors."""
    value = params["n_factors"]
    if not isinstance(value, str):
        whole_number(params, "n_factors", 0)
    elif value != "auto":
        msg = f"n_factors={value!r} is neither a number nor 'auto'."
        raise ValueError(msg)


def check_words(params: Mapping[str, Any]) -> None:
    """Refuse what other estimators offer, and switches that are neither on nor off."""
    if params["n_features_to_select"] == "cv":
        msg = "n_features_to_select='cv' is not offered here: give a number, 'all' or None."
        raise ValueError(msg)
    shifts = params.get("factor_shifts", True)
    if not isinstance(shifts, bool | np.bool_):
        msg = f"factor_shifts={shifts!r} is neither True nor False."
        raise ValueError(msg)


def prior_and_correction(params: Mapping[str, Any]) -> tuple[Any, Any]:
    """Resolve "auto", or say what is wrong with the words."""
    correction, prior = params["correction"], params["feature_prior"]
    if correction not in ("auto", "counts", "selection", None):
        msg = f"correction={correction!r} is not one of 'auto', 'counts', 'selection', None."
        raise ValueError(msg)
    if prior not in ("auto", "learned", "heavy-tailed"):
        msg = f"feature_prior={prior!r} is not one of 'auto', 'learned', 'heavy-tailed'."
        raise ValueError(msg)
    if correction == "auto":
        correction = "selection"
    if prior == "auto":
        prior = "heavy-tailed" if correction == "selection" else "learned"
    return prior, correction
