"""The specs of all models, including the average of models."""

from __future__ import annotations

from typing import Any

from honestbayes import models
from honestbayes.average.spec import SPECS as AVERAGE
from honestbayes.base.spec import ModelSpec


def all_specs() -> tuple[ModelSpec, ...]:
    """Return the specs of all models, in the order in which help texts list them."""
    return tuple(sorted((*AVERAGE, *models.SPECS), key=lambda spec: (spec.order, spec.kind)))


def table_specs() -> dict[str, ModelSpec]:
    """Return the specs of the models that commands can fit to a table, by ``--model``'s value."""
    return {spec.name: spec for spec in all_specs() if spec.name is not None}


def spec_of(estimator: Any) -> ModelSpec:
    """Return the spec of a fitted or unfitted estimator."""
    return next(spec for spec in all_specs() if spec.kind == estimator._kind)
