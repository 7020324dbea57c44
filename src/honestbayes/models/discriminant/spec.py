"""The card of the discriminant."""

from __future__ import annotations

from honestbayes.base.spec import ModelSpec

SPECS = (
    ModelSpec(
        path="discriminant.estimator.SelectiveDiscriminant",
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
