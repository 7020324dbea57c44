"""The spec of plain naive Bayes."""

from __future__ import annotations

from typing import Any

from honestbayes.base.spec import ModelSpec


def _load() -> type[Any]:
    from honestbayes.models.discrete.estimator import DiscreteNB

    return DiscreteNB


SPECS = (
    ModelSpec(
        kind="DiscreteNB",
        load=_load,
    ),
)
