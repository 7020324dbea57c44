"""The spec of the mixture."""

from __future__ import annotations

from typing import Any

from honestbayes.base.spec import CandidateSpec, ChainSpec, InputSpec, ModelSpec


def _load() -> type[Any]:
    from honestbayes.models.mixture.estimator import SelectiveMixture

    return SelectiveMixture


_SHORT_CHAINS = {"n_chains": 3, "n_draws": 200, "n_warmup": 100, "n_doublings": 0, "thin": 5}
"""One chain from each kind of start."""


SPECS = (
    ModelSpec(
        kind="SelectiveMixture",
        load=_load,
        candidates=(
            CandidateSpec(
                name="mixture",
                title="two hidden groups of cases",
                suits=lambda info: info.only("binary") and info.n_classes == 2,
                params=lambda _: _SHORT_CHAINS,
                sampled=True,
            ),
        ),
        name="mixture",
        title="mixture",
        order=2,
        summary="binary features, explained by two hidden groups of cases",
        description="binary features, explained by two hidden groups of cases",
        input=InputSpec(coded=False, two_classes=True),
        chains=ChainSpec(
            fold_params={**_SHORT_CHAINS},
            repeat_folds=True,
        ),
        recalibrates=False,
        dependence="two groups of cases",
    ),
)
