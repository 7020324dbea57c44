"""The specs of models with interactions."""

from __future__ import annotations

from typing import Any

from honestbayes.base.spec import CandidateSpec, ChainSpec, InputSpec, ModelSpec

_FEW_COLUMNS = 12
"""Up to so many columns, interactions of three are modelled; beyond, of pairs."""

_MOST_INTERACTING = 60
"""Columns up to which interactions of pairs are modelled."""


def _load_classifier() -> type[Any]:
    from honestbayes.models.interactions.estimator import InteractionClassifier

    return InteractionClassifier


def _load_regressor() -> type[Any]:
    from honestbayes.models.interactions.estimator import InteractionRegressor

    return InteractionRegressor


def _load_sequence_classifier() -> type[Any]:
    from honestbayes.models.interactions.estimator import SequenceClassifier

    return SequenceClassifier


SPECS = (
    ModelSpec(
        kind="InteractionClassifier",
        load=_load_classifier,
        candidates=(
            CandidateSpec(
                name="interactions",
                title="patterns of several columns",
                suits=lambda info: (
                    info.only("binary", "categorical")
                    and info.in_memory
                    and not info.sparse
                    and len(info.kinds) <= _MOST_INTERACTING
                ),
                params=lambda info: {
                    "order": min(3, len(info.kinds)) if len(info.kinds) <= _FEW_COLUMNS else 2,
                    "missing": "level" if info.missing else "refuse",
                    "n_draws": 100,
                    "thin": 2,
                    "n_chains": 2,
                    "n_doublings": 0,
                },
                sampled=True,
            ),
        ),
        name="interactions",
        title="model with interactions",
        order=4,
        summary="interactions of categorical features; continuous columns are binned; all "
        "columns are kept; slower",
        description="interactions of categorical features, with binned continuous columns",
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
        dependence="interactions",
        generative=False,
        report_params=("order", "missing"),
        citation="Li (2007, PhD thesis, University of Toronto, chapter 3)",
    ),
    ModelSpec(
        kind="InteractionRegressor",
        load=_load_regressor,
        title="regression with interactions",
        chains=ChainSpec(),
    ),
    ModelSpec(
        kind="SequenceClassifier",
        load=_load_sequence_classifier,
        title="model of sequences",
        chains=ChainSpec(),
    ),
)
