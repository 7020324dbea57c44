"""The card of naive Bayes averaged over subsets."""

from __future__ import annotations

from honestbayes.base.spec import ModelSpec

SPECS = (
    ModelSpec(
        path="subsets.estimator.AveragedNB",
        title="naive Bayes averaged over subsets of features",
        sampled=True,
    ),
)
