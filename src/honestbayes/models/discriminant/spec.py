"""The spec of the discriminant."""

from __future__ import annotations

from typing import Any

from honestbayes.base.spec import CandidateSpec, ModelSpec


def _load() -> type[Any]:
    from honestbayes.models.discriminant.estimator import SelectiveDiscriminant

    return SelectiveDiscriminant


SPECS = (
    ModelSpec(
        kind="SelectiveDiscriminant",
        load=_load,
        candidates=(
            CandidateSpec(
                name="discriminant",
                title="one covariance for all classes",
                suits=lambda _: True,
                params=lambda info: {"recalibrate": None, "normal_scores": info.has_measurements},
                quick=(50, 200),
                normal=(10, 50, 200, 1000, -1),
                as_numbers=True,
                shared_ranking=True,
            ),
        ),
        name="discriminant",
        title="discriminant",
        place=6,
        summary="numbers and flags that move together, by one covariance of all classes; quick",
        page="numbers and flags that move together, by one covariance of all classes",
        only_numbers=True,
        beyond="a covariance matrix",
        uncorrected={"feature_prior": "flat"},
    ),
)
