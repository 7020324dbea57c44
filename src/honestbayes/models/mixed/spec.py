"""The card of the mixed model."""

from __future__ import annotations

from honestbayes.base.spec import ModelSpec

SPECS = (
    ModelSpec(
        path="mixed.estimator.SelectiveMixedNB",
        name="mixed",
        place=0,
        summary="numbers stay numbers, text columns are categories",
        page="binary, categorical and real-valued columns, each as it is",
        by_kind=True,
    ),
)
