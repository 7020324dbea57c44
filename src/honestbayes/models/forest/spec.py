"""The spec of the forest."""

from __future__ import annotations

from typing import Any

from honestbayes.base.spec import CandidateSpec, InputSpec, ModelSpec


def _load() -> type[Any]:
    from honestbayes.models.forest.estimator import ForestClassifier

    return ForestClassifier


SPECS = (
    ModelSpec(
        kind="ForestClassifier",
        load=_load,
        candidates=(
            CandidateSpec(
                name="forest",
                title="trees, which see what is not linear",
                suits=lambda info: info.in_memory,
                params=lambda _: {"recalibrate": None},
                quick=(-1,),
                normal=(-1,),
                as_numbers=True,
                by_name=True,
                held_out_once=True,
            ),
        ),
        title="forest",
        input=InputSpec(kinds=("binary", "real")),
        dependence="trees, which compare several columns",
        generative=False,
        # It cannot condition on what was discarded: recalibration sees to the luck of selection.
        uncorrected_params=None,
        citation="Geurts, Ernst and Wehenkel (Machine Learning 63, 2006, 3–42)",
    ),
)
