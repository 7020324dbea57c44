"""The spec of network classifiers."""

from __future__ import annotations

from typing import Any

from honestbayes.base.spec import CandidateSpec, ChainSpec, InputSpec, ModelSpec

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
        order=5,
        summary="dependent categorical features, averaged over Bayesian networks; continuous "
        ""
        "columns are binned; uses the 30 columns most associated with the class; slower",
        description="dependent categorical features, with binned continuous columns, averaged over "
        "Bayesian networks",
        input=InputSpec(bins_real=True, complete=True),
        # In folds, sampling error of the held-out cases exceeds that of short chains; the final
        # chains have the estimator's defaults.
        chains=ChainSpec(
            fold_params={"n_chains": 2, "n_draws": 300, "n_warmup": 100, "n_doublings": 0},
        ),
        selects=False,
        uncorrected_params=None,
        # A slope would need the chains of twenty more fits inside each.
        recalibrates=False,
        dependence="arcs between features",
        report_params=("missing",),
        citation="Egmont-Petersen (feature selection by Markov chain Monte Carlo sampling)",
    ),
)
