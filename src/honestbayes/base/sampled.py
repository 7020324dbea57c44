"""Estimators fitted by Markov chains: parameters, interrupts, warnings, draws and intervals."""

from __future__ import annotations

import inspect
import textwrap
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from honestbayes.base.estimator import SelectiveClassifier
from honestbayes.base.parameters import check_checkpoint, whole_number
from honestbayes.base.part import FittedPart, TrainingPart
from honestbayes.base.recalibration import Recalibration
from honestbayes.sampling.chains import Schedule
from honestbayes.sampling.draws import Diagnostics, Draws
from honestbayes.sampling.runs import Sampling
from honestbayes.types import FloatArray, IntArray

_PLACEHOLDER = "{chain_parameters}"

_CHAIN_PARAMETERS = {
    "n_chains": "int, default={}\n    Number of Markov chains.",
    "n_draws": "int, default={}\n    Draws to keep of each chain.",
    "n_warmup": "int, default={}\n    Warm-up draws before these, which are discarded.",
    "n_doublings": (
        "int, default={}\n    Largest number of times that chains are doubled because R-hat "
        "of any quantity is\n    above 1.01. The number of draws that are kept stays the same."
    ),
    "n_jobs": (
        "int, optional\n    Chains, or folds, that run in parallel. It does not change the result."
    ),
    "checkpoint": (
        "path-like, optional\n    File to which the chains are written regularly, and from "
        "which an equal `fit`\n    resumes, with the same draws as without the interruption."
    ),
    "verbose": "bool, default={}\n    Whether to show the progress of the chains.",
}
"""Documentation of the parameters that sampled estimators share."""

_MOST_PROBLEMS = 3
"""Problems that a warning of convergence spells out."""

_SMALLEST = 1e-300
"""Probabilities below this are this, before their logarithm is taken."""


def check_chain_parameters(params: Mapping[str, Any]) -> tuple[Schedule, int, int]:
    """Validate the chain parameters; return the schedule, the number of chains and doublings."""
    schedule = Schedule(whole_number(params, "n_warmup", 0), whole_number(params, "n_draws", 1))
    n_chains = whole_number(params, "n_chains", 1)
    n_doublings = whole_number(params, "n_doublings", 0) if "n_doublings" in params else 0
    return schedule, n_chains, n_doublings


def sampling_of(params: Mapping[str, Any], seed: np.random.SeedSequence | None = None) -> Sampling:
    """Return how chains are run, given the constructor's parameters.

    Parameters
    ----------
    params : mapping
        The constructor's parameters.
    seed : SeedSequence, optional
        Seed of the chains; by default one number drawn from ``random_state``.
    """
    schedule, n_chains, n_doublings = check_chain_parameters(params)
    check_checkpoint(params)
    if seed is None:
        seed = np.random.SeedSequence(check_random_state(params["random_state"]).randint(2**31))
    return Sampling(
        schedule,
        n_chains,
        seed,
        params["n_jobs"],
        params["checkpoint"],
        bool(params["verbose"]),
        n_doublings,
    )


class SampledEstimator(BaseEstimator):
    """Base of all estimators that run Markov chains.

    A subclass names the quantities that ArviZ gets (`_arviz_groups`). The line
    ``{chain_parameters}`` of its docstring becomes the documentation of the chain parameters, with
    the defaults of its own constructor.
    """

    n_chains: Any
    n_draws: Any
    n_warmup: Any
    n_jobs: Any
    checkpoint: Any
    verbose: Any
    random_state: Any
    draws_: Any
    diagnostics_: Diagnostics | None

    _remedy: ClassVar[str] = "raise n_warmup or n_draws"

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__doc__ and _PLACEHOLDER in cls.__doc__:
            defaults = inspect.signature(cls).parameters
            entries = "\n".join(
                f"{name} : {text.format(defaults[name].default)}"
                for name, text in _CHAIN_PARAMETERS.items()
                if name in defaults
            )
            # Docstrings are indented by four spaces, up to Python 3.12.
            indent = "    " if f"    {_PLACEHOLDER}" in cls.__doc__ else ""
            cls.__doc__ = cls.__doc__.replace(
                f"{indent}{_PLACEHOLDER}", textwrap.indent(entries, indent)
            )

    def _arviz_groups(self) -> tuple[Sequence[str], Sequence[str]]:
        """Return the names of the sampled quantities, and of the statistics of each sweep."""
        raise NotImplementedError

    def _chain_draws(self) -> Draws | None:
        """Return the draws; None if there was nothing to sample."""
        draws: Draws | None = self.draws_
        return draws

    def to_arviz(self) -> Any:
        """Return the draws for ArviZ: InferenceData (0.23), or a DataTree (1.x)."""
        check_is_fitted(self)
        draws = self._chain_draws()
        if draws is None:
            msg = "no features were kept, so there are no draws."
            raise ValueError(msg)
        return draws.to_arviz(*self._arviz_groups())

    def _conclude(self, *, interrupted: bool) -> None:
        """Raise the user's interrupt again, or warn if the chains have not converged.

        Called at the end of `fit`, when the draws are stored: an interrupt leaves a fitted model.
        """
        if interrupted:
            raise KeyboardInterrupt
        problems = [] if self.diagnostics_ is None else self.diagnostics_.problems()
        if problems:
            n_more = len(problems) - _MOST_PROBLEMS
            more = f" (and {n_more} more)" if n_more > 0 else ""
            warnings.warn(
                f"the chains have not converged: {'; '.join(problems[:_MOST_PROBLEMS])}{more}. "
                f"Probabilities may be off: {self._remedy}.",
                ConvergenceWarning,
                stacklevel=3,
            )


class SampledPart(FittedPart, Protocol):
    """Fitted features of one kind, from draws of chains."""

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped the chains before their end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledTraining(TrainingPart):
    """Features of one kind in a training table, for a model that is sampled.

    Attributes
    ----------
    sampling : Sampling
        How chains are run.
    """

    sampling: Sampling

    def fit(self) -> SampledPart:
        """Run chains for all rows."""
        return self._run(self._whole(None), self.sampling)

    def _fitted(self, statistic: Any, whole: FittedPart | None) -> SampledPart:
        """Run chains for some rows, unless the user has interrupted those of all."""
        if whole is not None and getattr(whole, "interrupted", False):
            raise KeyboardInterrupt
        part = self._run(statistic, replace(self.sampling, checkpoint=None, verbose=False))
        if part.interrupted:
            raise KeyboardInterrupt
        return part

    def _run(self, statistic: Any, sampling: Sampling) -> SampledPart:
        """Select features and run chains, given what is known of some rows."""
        raise NotImplementedError


class SampledClassifier(SampledEstimator, SelectiveClassifier):
    """Base of classifiers after selection that are fitted by Markov chains."""

    def fit(self, X: Any, y: Any, *, groups: Any = None, **refused: Any) -> Self:
        """Select features and run the chains.

        Parameters
        ----------
        X : table of shape (n, p)
            Training rows.
        y : array-like of shape (n,)
            Class labels.
        groups : array-like of shape (n,), optional
            Cases of one group (one patient, say) are held out together wherever anything is
            learned from held-out cases.
        **refused
            ``sample_weight`` is refused: cases are counted whole. For a different prevalence use
            ``class_prior``.

        Notes
        -----
        If the user interrupts it, `fit` keeps the draws so far before it raises
        ``KeyboardInterrupt``: the model can predict, and with a ``checkpoint`` another `fit`
        resumes from there.
        """
        super().fit(X, y, groups=groups, **refused)
        (part,) = self._parts
        self._conclude(interrupted=getattr(part, "interrupted", False))
        return self

    def _interval_of_draws(
        self,
        drawn: Iterable[tuple[slice | IntArray, FloatArray]],
        baseline: FloatArray,
        class_prior: Any,
        level: float,
    ) -> FloatArray:
        """Return intervals of drawn class probabilities.

        Parameters
        ----------
        drawn : iterable of (slice or ndarray of int, ndarray of shape (rows, draws, C))
            Some rows at a time, and their drawn probabilities.
        baseline : ndarray of shape (n, 1, C)
            Log class probabilities that the evidence of each row is relative to.
        class_prior : array-like of shape (C,) or None
            Prevalences where the model is used.
        level : float
            Probability that the interval holds.

        Returns
        -------
        ndarray of shape (n, 2), or (n, C, 2) for more than two classes
        """
        given = self._given_log_prior(class_prior)
        log_prior = self._log_prior if given is None else given
        recalibration = Recalibration.plugged_in(self.slope_)
        tails = [(1 - level) / 2, (1 + level) / 2]
        result = np.empty((len(baseline), self.classes_.size, 2))
        for rows, proba in drawn:
            evidence = np.log(np.maximum(proba, _SMALLEST)) - baseline[rows]
            flat = recalibration.log_proba(evidence.reshape(-1, proba.shape[2]), log_prior)
            values = np.exp(flat).reshape(proba.shape)
            result[rows] = np.moveaxis(np.quantile(values, tails, axis=1), 0, 2)
        return result if self.classes_.size > 2 else result[:, 1]
