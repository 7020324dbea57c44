"""What the factor classifier and the factor regressor share."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from honestbayes.files.fields import Counts, Floats, Known, Whole
from honestbayes.files.records import Check
from honestbayes.models.factors.fit import FactorDraws, FactorSettings
from honestbayes.models.real.settings import RatioPriorName
from honestbayes.models.shared.parameters import (
    Correction,
    check_checkpoint,
    prior_and_correction,
    selection_rule,
    true_or_false,
    whole_number,
)
from honestbayes.sampling.chains import Schedule
from honestbayes.sampling.draws import Diagnostics, Draws
from honestbayes.sampling.runs import Sampling
from honestbayes.types import BoolArray, FloatArray, IntArray

POSTERIOR = ("loadings", "location", "variance", "signal_ratio")
"""Arrays of each draw that ArviZ gets, beside the numbers that chains are judged by."""

MOST_FACTORS = 3
"""Numbers of factors up to this one are tried where the number is to be chosen."""

FOLD_WARMUP, FOLD_SAMPLES = 50, 100
"""Sweeps of the single chain of each fold; a fold's own error is far larger than theirs."""


@dataclass(frozen=True, slots=True, eq=False)
class FactorChoice:
    """Numbers of factors that were tried, and how well each did.

    Attributes
    ----------
    n_factors : ndarray of shape (g,)
        Numbers tried.
    log_score : ndarray of shape (g,)
        Average minus log probability of the actual class of held-out cases, or minus log density
        of their response.
    chosen : int
        The number with the best log score.
    """

    n_factors: Annotated[IntArray, Counts("tried")]
    log_score: Annotated[FloatArray, Floats("tried")]
    chosen: Annotated[int, Whole()]

    def check_against(self, known: Known, check: Check) -> None:
        """Refuse a number that was not tried, or is not the model's."""
        tried = self.chosen == known["n_factors"] and self.chosen in self.n_factors.tolist()
        check(tried, "chosen", "is not the number of factors, or was not tried")


class FactorEstimator(BaseEstimator):
    """Base of estimators whose features move together: their chains and draws."""

    n_chains: Any
    n_samples: Any
    n_warmup: Any
    n_doublings: Any
    n_jobs: Any
    random_state: Any
    checkpoint: Any
    verbose: Any

    def __sklearn_tags__(self) -> Any:
        """Declare what inputs are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # --------------------------------------------------------------- for subclasses

    def _sampling(self) -> Sampling:
        """Check the words about chains."""
        words = self.get_params(deep=False)
        schedule, n_chains = chain_words(words)
        check_checkpoint(words)
        entropy = check_random_state(self.random_state).randint(2**31 - 1, size=4)
        seed = np.random.SeedSequence([int(word) for word in entropy])
        return Sampling(
            schedule,
            n_chains,
            seed,
            self.n_jobs,
            self.checkpoint,
            bool(self.verbose),
            whole_number(words, "n_doublings", 0),
        )

    def _show(self, drawn: FactorDraws | None, n_factors: int, choice: FactorChoice | None) -> None:
        """Store the draws and what is known of them."""
        self.n_factors_ = n_factors
        self.factor_choice_ = choice
        self.draws_: Draws | None = None if drawn is None else drawn.draws
        self.diagnostics_: Diagnostics | None = None if drawn is None else drawn.diagnostics()

    # ---------------------------------------------------------------------- public

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


def warn_of_problems(drawn: FactorDraws, stacklevel: int) -> None:
    """Say where whole chains are not to be trusted."""
    problems = [] if drawn.interrupted else drawn.diagnostics().problems()
    if problems:
        msg = (
            "the chains have not converged: "
            + "; ".join(problems)
            + ". Probabilities may be off: raise n_warmup and n_samples."
        )
        warnings.warn(msg, ConvergenceWarning, stacklevel=stacklevel + 1)


def fold_sampling(sampling: Sampling, fold: int, n_factors: int) -> Sampling:
    """Return how the single chain of a fold runs, with a seed of its own."""
    key = (*sampling.seed.spawn_key, 2, fold, n_factors)
    seed = np.random.SeedSequence(sampling.seed.entropy, spawn_key=key)
    return Sampling(Schedule(FOLD_WARMUP, FOLD_SAMPLES), 1, seed)


def chain_words(params: Mapping[str, Any]) -> tuple[Schedule, int]:
    """Return how long chains run, and how many; refuse an impossible number of factors too."""
    n_factors = params["n_factors"]
    if not isinstance(n_factors, str):
        whole_number(params, "n_factors", 0)
    elif n_factors != "auto":
        msg = f"n_factors={n_factors!r} is neither a number nor 'auto'."
        raise ValueError(msg)
    whole_number(params, "n_doublings", 0)
    schedule = Schedule(whole_number(params, "n_warmup", 0), whole_number(params, "n_samples", 1))
    return schedule, whole_number(params, "n_chains", 1)


def classifier_settings(params: Mapping[str, Any], always_keep: BoolArray) -> FactorSettings:
    """Turn the classifier's parameters into settings, or say what is wrong with them."""
    chain_words(params)
    if not isinstance(params["factor_shifts"], bool | np.bool_):
        msg = f"factor_shifts={params['factor_shifts']!r} is neither True nor False."
        raise ValueError(msg)
    prior, correction = prior_and_correction(
        params, "heavy-tailed", auto="selection", may_learn_with_event=True
    )
    return _settings(
        params,
        always_keep,
        prior,
        correction,
        has_shifts=bool(params["factor_shifts"]),
        normal_scores=true_or_false(params, "normal_scores"),
    )


def regressor_settings(params: Mapping[str, Any], always_keep: BoolArray) -> FactorSettings:
    """Turn the regressor's parameters into settings, or say what is wrong with them."""
    chain_words(params)
    if params["correction"] not in ("auto", "selection", None):
        msg = f"correction={params['correction']!r} is not one of 'auto', 'selection', None."
        raise ValueError(msg)
    correction: Correction = None if params["correction"] is None else "selection"
    return _settings(params, always_keep, "learned", correction)


def _settings(
    params: Mapping[str, Any],
    always_keep: BoolArray,
    prior: RatioPriorName,
    correction: Correction,
    **more: bool,
) -> FactorSettings:
    """Add how many features to keep, or the bound; refuse what other estimators offer."""
    if params["n_features_to_select"] == "cv":
        msg = "n_features_to_select='cv' is not offered here: give a number, 'all' or None."
        raise ValueError(msg)
    n_features, threshold = selection_rule(params, int(np.sum(~always_keep)))
    return FactorSettings(
        n_features=n_features,
        threshold=threshold,
        always_keep=always_keep,
        feature_prior=prior,
        correction=correction,
        **more,
    )
