"""The card of the binary model."""

from __future__ import annotations

from honestbayes.base.spec import ModelSpec

SPECS = (
    ModelSpec(
        path="binary.estimator.SelectiveBernoulliNB",
        name="binary",
        place=1,
        summary="numbers are cut at the median, and each level of a text column becomes a "
        "yes-or-no feature",
        page="every column becomes yes-or-no features",
        coded=False,
        only_two_classes=True,
        uncorrected={"correction": None, "feature_prior": "uniform"},
    ),
)
