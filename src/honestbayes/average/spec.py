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
        place=-1,
        summary="the average of all models that suit the columns, weighed and calibrated on "
        "held-out cases",
        page="the average of all models that suit the columns, weighed and calibrated on held-out "
        "cases",
        # Each of its models has a slope already.
        has_slope=False,
        beyond="its models",
        joint=False,
        uncorrected=None,
        of_models=True,
        words=("effort",),
    ),
)
