"""The spec of the model with a Gaussian kernel."""

from __future__ import annotations

from typing import Any

from honestbayes.base.spec import CandidateSpec, InputSpec, ModelSpec

_MOST_CASES = 2000
"""Number of cases above which it is not tried: time grows with their cube."""


def _load() -> type[Any]:
    from honestbayes.models.kernel.estimator import KernelClassifier

    return KernelClassifier


SPECS = (
    ModelSpec(
        kind="KernelClassifier",
        load=_load,
        candidates=(
            CandidateSpec(
                name="kernel",
                title="a Gaussian kernel, for smooth functions of the columns",
                suits=lambda info: info.n_cases <= _MOST_CASES,
                params=lambda info: {
                    "recalibrate": None,
                    "normal_scores": "ranking" if info.has_measurements else False,
                },
                quick=(100,),
                normal=(10, 100),
                as_numbers=True,
                shared_ranking=True,
            ),
        ),
        title="Gaussian kernel",
        input=InputSpec(kinds=("binary", "real")),
        dependence="distances between cases",
        generative=False,
        # It cannot condition on what was discarded: recalibration sees to the luck of selection.
        uncorrected_params=None,
        citation="Rasmussen and Williams (Gaussian Processes for Machine Learning, 2006, 6.5)",
    ),
)
