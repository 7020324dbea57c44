"""The specs of the factor models."""

from __future__ import annotations

from typing import Any

from honestbayes.base.spec import CandidateSpec, ChainSpec, InputSpec, ModelSpec

_SHORT_CHAINS = {"n_chains": 2, "n_draws": 300, "n_doublings": 0}


def _load_factor_classifier() -> type[Any]:
    from honestbayes.models.factors.estimator import SelectiveFactorClassifier

    return SelectiveFactorClassifier


def _load_factor_regressor() -> type[Any]:
    from honestbayes.models.factors.estimator import SelectiveFactorRegressor

    return SelectiveFactorRegressor


SPECS = (
    ModelSpec(
        kind="SelectiveFactorClassifier",
        load=_load_factor_classifier,
        candidates=(
            CandidateSpec(
                name="factors",
                title="latent factors",
                suits=lambda info: info.only("real") and info.in_memory and not info.sparse,
                params=lambda _: {"recalibrate": None, "n_warmup": 300, **_SHORT_CHAINS},
                sampled=True,
            ),
        ),
        name="factors",
        title="factor model",
        order=3,
        summary="correlated continuous features, with a few latent factors; slower",
        description="correlated continuous features, with a few latent factors",
        input=InputSpec(kinds=("binary", "real"), needs_real=True),
        # In folds, sampling error of the held-out cases exceeds that of short chains; the final
        # chains have the estimator's defaults.
        chains=ChainSpec(
            fold_params={"n_chains": 2, "n_draws": 300, "n_warmup": 300, "n_doublings": 0},
        ),
        dependence="a few factors",
    ),
    ModelSpec(
        kind="SelectiveFactorRegressor",
        load=_load_factor_regressor,
        title="factor model of a response",
    ),
)
