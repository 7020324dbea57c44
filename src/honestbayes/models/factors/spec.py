"""The specs of the factor models."""

from __future__ import annotations

from typing import Any

from honestbayes.base.spec import CandidateSpec, ModelSpec

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
        place=3,
        summary="numbers that move together, by a few latent factors; slower",
        page="numbers that move together, by a few latent factors",
        only_numbers=True,
        needs_measurement=True,
        sampled=True,
        drawn_once=True,
        beyond="a few factors",
        # In folds the cases that are held out tell less than chains do; the final chains are those
        # of the estimator's own defaults.
        in_folds={"n_chains": 2, "n_draws": 300, "n_warmup": 300, "n_doublings": 0},
        final={"n_chains": 4, "n_draws": 1000, "n_warmup": 300, "n_doublings": 3},
    ),
    ModelSpec(
        kind="SelectiveFactorRegressor",
        load=_load_factor_regressor,
        title="factor model of a response",
    ),
)
