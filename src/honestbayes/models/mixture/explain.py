"""What the two components of a fitted mixture are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from honestbayes.models.binary.explain import FeatureTable
from honestbayes.models.mixture.fit import component_draws
from honestbayes.models.mixture.part import MixturePart
from honestbayes.models.shared.explanation import by_design
from honestbayes.sampling.draws import Draws
from honestbayes.tabular import Tabular
from honestbayes.types import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Components(Tabular):
    """The components, named alike in all draws: class 1 is more frequent in the second.

    Attributes
    ----------
    name : tuple of str
        The kept features, strongest first.
    classes : tuple of str
        Class labels.
    share : ndarray of shape (2,)
        Share of cases in each component.
    class_1 : ndarray of shape (2,)
        P(class 1) in each component.
    probability, sd : ndarray of shape (2, k)
        P(feature = 1) in each component, and how much it differs between draws.
    separates : ndarray of shape (k,)
        Mean absolute difference of the log-odds of the feature between the components: how much
        one cell tells of the component.
    in_second : ndarray of shape (n,)
        Posterior probability that a training case is of the second component.
    """

    name: tuple[str, ...]
    classes: tuple[str, ...]
    share: FloatArray
    class_1: FloatArray
    probability: FloatArray
    sd: FloatArray
    separates: FloatArray
    in_second: FloatArray

    def to_dict(self) -> dict[str, list[Any]]:
        """Return plain columns of the features, for a frame or JSON."""
        return {
            "name": list(self.name),
            "p_first": self.probability[0].tolist(),
            "p_second": self.probability[1].tolist(),
            "sd_first": self.sd[0].tolist(),
            "sd_second": self.sd[1].tolist(),
            "separates": self.separates.tolist(),
        }

    def __str__(self) -> str:
        """Return an aligned table, a line for each feature."""
        width = max([len("feature"), *(len(name) for name in self.name)])
        label = self.classes[1]
        of_each = [
            f"{self.share[c]:.0%} of cases, P({label}) {self.class_1[c]:.2f}" for c in (0, 1)
        ]
        lines = [f"first component: {of_each[0]}", f"second component: {of_each[1]}"]
        lines.append(f"{'feature':<{width}}  P(1) first     P(1) second    separates")
        for j, name in enumerate(self.name):
            cells = (f"{self.probability[c, j]:.3f} ± {self.sd[c, j]:.3f}" for c in (0, 1))
            lines.append(f"{name:<{width}}  {'  '.join(cells)}  {self.separates[j]:9.2f}")
        return "\n".join(lines)


def components(draws: Draws, names: tuple[str, ...], classes: tuple[str, ...]) -> Components:
    """Summarise the components over all draws."""
    named = component_draws(draws)
    phi = named["phi"]
    log_odds = np.log(phi[:, :, 1:]) - np.log1p(-phi[:, :, 1:])
    return Components(
        name=names,
        classes=classes,
        share=named["psi"].mean(axis=0),
        class_1=phi[:, :, 0].mean(axis=0),
        probability=phi[:, :, 1:].mean(axis=0),
        sd=phi[:, :, 1:].std(axis=0),
        separates=np.abs(log_odds[:, 1] - log_odds[:, 0]).mean(axis=0),
        in_second=named["z"].mean(axis=0),
    )


def feature_table(
    part: MixturePart, names: tuple[str, ...], classes: tuple[str, ...], slope: float
) -> FeatureTable:
    """Summarise each kept feature by class: over the components, as often as a class has them."""
    psi, phi = part.draws.pooled("psi"), part.draws.pooled("phi")
    of_class = np.stack([psi * (1 - phi[..., 0]), psi * phi[..., 0]])  # class, draw, component
    of_class /= of_class.sum(axis=2, keepdims=True)
    share = np.einsum("cdz,dzk->cdk", of_class, phi[..., 1:])
    mean = share.mean(axis=1)
    return FeatureTable(
        name=names,
        classes=classes,
        correlation=part.correlation,
        probability=mean,
        sd=share.std(axis=1),
        evidence_if_one=slope * (np.log(mean[1]) - np.log(mean[0])),
        evidence_if_zero=slope * (np.log1p(-mean[1]) - np.log1p(-mean[0])),
        by_design=by_design(part.selection),
        _cuts=part.binarization,
    )
