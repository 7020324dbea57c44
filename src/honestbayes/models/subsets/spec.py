"""The spec of naive Bayes averaged over subsets."""

from __future__ import annotations

from typing import Any

from honestbayes.base.spec import ChainSpec, ModelSpec


def _load() -> type[Any]:
    from honestbayes.models.subsets.estimator import AveragedNB

    return AveragedNB


SPECS = (
    ModelSpec(
        kind="AveragedNB",
        load=_load,
        title="naive Bayes averaged over subsets of features",
        chains=ChainSpec(),
    ),
)
