"""The card of the mixture."""

from __future__ import annotations

from honestbayes.base.spec import ModelSpec

SPECS = (
    ModelSpec(
        path="mixture.estimator.SelectiveMixture",
        name="mixture",
        title="mixture",
        place=2,
        summary="such features, explained by two hidden groups of cases",
        page="yes-or-no features, explained by two hidden groups of cases",
        coded=False,
        only_two_classes=True,
        sampled=True,
        has_slope=False,
        beyond="two groups of cases",
        # One chain from each kind of start.
        in_folds={"n_chains": 3, "n_samples": 200, "n_warmup": 100, "thin": 5},
    ),
)
