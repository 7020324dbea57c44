"""The spec of network classifiers."""

from __future__ import annotations

from typing import Any

from honestbayes.base.spec import CandidateSpec, ModelSpec

_SHORT_CHAINS = {"n_chains": 2, "n_draws": 300, "n_doublings": 0}


def _load() -> type[Any]:
    from honestbayes.models.networks.estimator import AveragedNetworkClassifier

    return AveragedNetworkClassifier


SPECS = (
    ModelSpec(
        kind="AveragedNetworkClassifier",
        load=_load,
        candidates=(
            CandidateSpec(
                name="networks",
                title="Bayesian networks",
                suits=lambda info: (
                    info.only("binary", "categorical") and info.in_memory and not info.sparse
                ),
                params=lambda info: {
                    "missing": "level" if info.missing else "refuse",
                    "n_warmup": 100,
                    **_SHORT_CHAINS,
                },
                sampled=True,
            ),
        ),
        name="networks",
        title="average over networks",
        place=5,
        summary="columns that depend on each other, averaged over Bayesian networks; measurements "
        "are cut into bins; of more than 30 columns those that tell most of the class; slower",
        page="columns that depend on each other, measurements in bins, averaged over Bayesian "
        "networks",
        cuts=True,
        sampled=True,
        drawn_once=True,
        # A slope would need the chains of twenty more fits inside each.
        has_slope=False,
        beyond="arcs between features",
        uncorrected=None,
        keeps_all=True,
        complete=True,
        words=("missing",),
        # In folds the cases that are held out tell less than chains do; the final chains are those
        # of the estimator's own defaults.
        in_folds={"n_chains": 2, "n_draws": 300, "n_warmup": 100, "n_doublings": 0},
        final={"n_chains": 4, "n_draws": 500, "n_warmup": 200, "n_doublings": 2},
    ),
)
