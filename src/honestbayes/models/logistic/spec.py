"""The card of the logistic regression."""

from __future__ import annotations

from honestbayes.base.spec import ModelSpec

SPECS = (
    ModelSpec(
        path="logistic.estimator.SelectiveLogistic",
        name="logistic",
        title="logistic regression",
        place=6,
        summary="numbers and flags, by Bayesian logistic regression, which knows that columns "
        "repeat each other",
        page="numbers and flags, by Bayesian logistic regression",
        only_numbers=True,
        beyond="coefficients that share what columns have in common",
        joint=False,
        # It cannot condition on what was discarded: the luck of selection is left to the layer.
        uncorrected=None,
    ),
)
