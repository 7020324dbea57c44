"""The spec of the model of categorical features."""

from __future__ import annotations

from typing import Any

from honestbayes.base.spec import CandidateSpec, ModelSpec


def _load() -> type[Any]:
    from honestbayes.models.categorical.estimator import SelectiveCategoricalNB

    return SelectiveCategoricalNB


SPECS = (
    ModelSpec(
        kind="SelectiveCategoricalNB",
        load=_load,
        candidates=(
            CandidateSpec(
                name="categorical",
                title="naive Bayes on categories",
                suits=lambda info: (
                    info.only("binary", "categorical")
                    and not info.sparse
                    and not (info.only("binary") and info.n_classes == 2)
                ),
                params=lambda _: {"recalibrate": None},
                quick=(50,),
                normal=(10, 50, 200),
            ),
        ),
    ),
)
