"""The spec of the mixture."""

from __future__ import annotations

from typing import Any

from honestbayes.base.spec import CandidateSpec, ModelSpec


def _load() -> type[Any]:
    from honestbayes.models.mixture.estimator import SelectiveMixture

    return SelectiveMixture


SPECS = (
    ModelSpec(
        kind="SelectiveMixture",
        load=_load,
        candidates=(
            CandidateSpec(
                name="mixture",
                title="two hidden groups of cases",
                suits=lambda info: info.only("binary") and info.n_classes == 2,
                params=lambda _: {"n_chains": 3, "n_draws": 200, "n_warmup": 100, "thin": 5},
                sampled=True,
            ),
        ),
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
        in_folds={"n_chains": 3, "n_draws": 200, "n_warmup": 100, "thin": 5},
    ),
)
