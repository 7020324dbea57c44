"""The spec of the model of real-valued features."""

from __future__ import annotations

from typing import Any

from honestbayes.base.spec import CandidateSpec, ModelSpec


def _load() -> type[Any]:
    from honestbayes.models.gaussian.estimator import SelectiveGaussianNB

    return SelectiveGaussianNB


SPECS = (
    ModelSpec(
        kind="SelectiveGaussianNB",
        load=_load,
        candidates=(
            CandidateSpec(
                name="gaussian",
                title="naive Bayes on normal scores",
                suits=lambda info: info.only("real") and not info.sparse,
                params=lambda _: {
                    "recalibrate": None,
                    "normal_scores": True,
                    "class_variances": True,
                },
                quick=(10,),
                normal=(10, 50),
                shared_ranking=True,
            ),
        ),
    ),
)
