"""The spec of the average."""

from __future__ import annotations

from typing import Any

from honestbayes.base.spec import ModelSpec


def _load() -> type[Any]:
    from honestbayes.average.estimator import HonestClassifier

    return HonestClassifier


SPECS = (
    ModelSpec(
        kind="HonestClassifier",
        load=_load,
        name="honest",
        title="average of models",
        order=-1,
        summary="the average of all models that suit the columns, weighted and calibrated on "
        "held-out cases",
        description="the average of all models that suit the columns, weighted and calibrated on "
        "held-out cases",
        # Each of its models has a slope already.
        recalibrates=False,
        dependence="its models",
        generative=False,
        uncorrected_params=None,
        is_average=True,
        report_params=("effort", "covariates"),
    ),
)
