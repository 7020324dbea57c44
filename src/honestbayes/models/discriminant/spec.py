"""The spec of the discriminant."""

from __future__ import annotations

from typing import Any

from honestbayes.base.spec import CandidateSpec, InputSpec, ModelSpec


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
                normal=(10, 50, 200, -1),
                as_numbers=True,
                shared_ranking=True,
            ),
            CandidateSpec(
                name="raw discriminant",
                family="discriminant",
                title="linear discriminant analysis, on columns as they are",
                suits=lambda info: info.has_measurements and info.has_few_columns,
                # Hardly shrunken, so that it sees what only the difference of two nearly equal
                # columns shows, which the other linear candidates take for noise.
                params=lambda _: {
                    "recalibrate": None,
                    "normal_scores": False,
                    "feature_prior": "flat",
                    "shrinkage": 0.001,
                },
                quick=(50,),
                normal=(50,),
                as_numbers=True,
            ),
        ),
        name="discriminant",
        title="discriminant",
        order=6,
        summary="correlated continuous and binary features, with one covariance for all classes; "
        "fast",
        description="correlated continuous and binary features, with one covariance for all "
        "classes",
        input=InputSpec(kinds=("binary", "real")),
        dependence="a covariance matrix",
        uncorrected_params={"feature_prior": "flat"},
    ),
)
