"""The spec of the binary model."""

from __future__ import annotations

from typing import Any

from honestbayes.base.spec import CandidateSpec, InputSpec, ModelSpec

_LARGE = 2000
"""Samples beyond which columns are not cut at their medians."""


def _load() -> type[Any]:
    from honestbayes.models.binary.estimator import SelectiveBernoulliNB

    return SelectiveBernoulliNB


SPECS = (
    ModelSpec(
        kind="SelectiveBernoulliNB",
        load=_load,
        candidates=(
            CandidateSpec(
                name="binary",
                title="naive Bayes on binary features",
                suits=lambda info: info.only("binary") and info.n_classes == 2,
                params=lambda _: {"recalibrate": None},
                quick=(50,),
                normal=(10, 50, 200),
                shared_ranking=True,
            ),
            CandidateSpec(
                name="cut",
                title="naive Bayes on features cut at the median",
                # With many samples the margins of cut columns take long, and little is gained.
                suits=lambda info: (
                    info.only("real")
                    and info.n_classes == 2
                    and not info.sparse
                    and info.n_cases <= _LARGE
                ),
                params=lambda _: {"recalibrate": None, "binarize": "median"},
                quick=(50,),
                normal=(10, 50, 200),
                by_name=True,  # beside the others it had no weight on any table
            ),
        ),
        name="binary",
        order=1,
        summary="numbers are cut at the median, and each category of a text column becomes a "
        "binary feature",
        description="every column becomes binary features",
        input=InputSpec(coded=False, two_classes=True),
        uncorrected_params={"correction": None, "feature_prior": "uniform"},
    ),
)
