"""What the user of networks chose, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from honestbayes.models.networks.priors import check_prior
from honestbayes.models.networks.problem import BDEU, K2, MOST_FEATURES
from honestbayes.models.shared.parameters import (
    SelectionSettings,
    check_checkpoint,
    is_number,
    selection_rule,
    whole_number,
)
from honestbayes.sampling.chains import Schedule
from honestbayes.sampling.runs import Sampling
from honestbayes.types import BoolArray

REVERSAL, EXCHANGE = 0.2, 0.2
"""Shares of proposals that reverse an arc, and that exchange a parent for another."""

LADDER = (1.0, 0.6, 0.36, 0.2)
"""Powers of the likelihood, by which chains cross from one good graph to another."""

SCORES = {"k2": K2, "bdeu": BDEU}

PROPOSALS_PER_FEATURE = 10
"""For each draw, where the user does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSettings(SelectionSettings):
    """Validated choices of the user: selection, graphs, chains."""

    max_features: int
    max_parents: int
    general: bool
    table_prior: str
    equivalent_sample_size: float
    prior: Any
    thin: int | None
    schedule: Schedule
    n_chains: int
    n_doublings: int
    missing: str
    kinds: Any
    n_bins: int

    @property
    def size(self) -> float | None:
        """Equivalent sample size of BDeu; None for K2."""
        return self.equivalent_sample_size if self.table_prior == "bdeu" else None

    def proposals(self, k: int) -> int:
        """Return the proposals for each draw, with k features."""
        return max(50, PROPOSALS_PER_FEATURE * k) if self.thin is None else self.thin


def network_settings(params: Mapping[str, Any], always_keep: BoolArray) -> NetworkSettings:
    """Turn the constructor's parameters into settings, or say what is wrong with them."""
    n_features, threshold = selection_rule(params, int(np.sum(~always_keep)))
    max_features = whole_number(params, "max_features", 1)
    if max_features > MOST_FEATURES:
        msg = (
            f"max_features={max_features} is more than {MOST_FEATURES}, the most that graphs hold."
        )
        raise ValueError(msg)
    if params["table_prior"] not in SCORES:
        msg = f"table_prior={params['table_prior']!r} is not one of 'k2', 'bdeu'."
        raise ValueError(msg)
    if params["space"] not in ("classifiers", "networks"):
        msg = f"space={params['space']!r} is not one of 'classifiers', 'networks'."
        raise ValueError(msg)
    size = params["equivalent_sample_size"]
    if not (is_number(size) and 1e-6 <= size <= 1e9):
        msg = f"equivalent_sample_size={size!r} is not a number above 0."
        raise ValueError(msg)
    check_prior(params["prior"])
    if params["missing"] not in ("refuse", "level"):
        msg = f"missing={params['missing']!r} is not one of 'refuse', 'level'."
        raise ValueError(msg)
    return NetworkSettings(
        n_features=n_features,
        threshold=threshold,
        always_keep=always_keep,
        max_features=max_features,
        max_parents=whole_number(params, "max_parents", 1),
        general=params["space"] == "networks",
        table_prior=params["table_prior"],
        equivalent_sample_size=float(size),
        prior=params["prior"],
        thin=None if params["thin"] is None else whole_number(params, "thin", 1),
        schedule=Schedule(
            whole_number(params, "n_warmup", 0), whole_number(params, "n_samples", 1)
        ),
        n_chains=whole_number(params, "n_chains", 1),
        n_doublings=whole_number(params, "n_doublings", 0),
        missing=params["missing"],
        kinds=params["kinds"],
        n_bins=whole_number(params, "n_bins", 2),
    )


def sampling_of(params: Mapping[str, Any], settings: NetworkSettings) -> Sampling:
    """Return how chains are run, of the constructor's parameters."""
    check_checkpoint(params)
    return Sampling(
        settings.schedule,
        settings.n_chains,
        np.random.SeedSequence(check_random_state(params["random_state"]).randint(2**31)),
        params["n_jobs"],
        params["checkpoint"],
        bool(params["verbose"]),
        settings.n_doublings,
    )
