"""What the kept features of a Gaussian model say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from honestbayes.models.gaussian_core import GaussianFit
from honestbayes.types import BoolArray, FloatArray


@dataclass(frozen=True, slots=True)
class GaussianFeatureTable:
    """The kept features, strongest first, then those kept by design.

    Attributes
    ----------
    name : tuple of str
        Names.
    classes : tuple of str
        Class labels.
    r : ndarray of shape (k,)
        Root of the share of the sum of squares between classes; for two classes the absolute
        correlation.
    centre : ndarray of shape (C, k)
        Posterior mean of the feature in each class, shrunk towards a common one.
    spread : ndarray of shape (k,)
        Typical deviation within a class.
    idle : ndarray of shape (k,)
        Posterior probability that the feature tells nothing at all (ratio 0).
    by_design : ndarray of bool of shape (k,)
        Whether the feature was kept by design.
    """

    name: tuple[str, ...]
    classes: tuple[str, ...]
    r: FloatArray
    centre: FloatArray
    spread: FloatArray
    idle: FloatArray
    by_design: BoolArray

    def to_dict(self) -> dict[str, list[Any]]:
        """Return plain columns, for a frame or JSON."""
        centres = {
            f"centre_{label}": self.centre[c].tolist() for c, label in enumerate(self.classes)
        }
        return {
            "name": list(self.name),
            "r": self.r.tolist(),
            **centres,
            "spread": self.spread.tolist(),
            "idle": self.idle.tolist(),
            "by_design": self.by_design.tolist(),
        }

    def __str__(self) -> str:
        """Return an aligned table."""
        width = max([len("feature"), *(len(name) for name in self.name)])
        heads = ["r", *self.classes, "spread", "idle"]
        sizes = [max(9, len(head)) for head in heads]
        lines = [
            f"{'feature':<{width}}  "
            + "  ".join(f"{head:>{size}}" for head, size in zip(heads, sizes, strict=True))
        ]
        for j, name in enumerate(self.name):
            values = [
                f"{self.r[j]:.3f}",
                *(f"{centre:.4g}" for centre in self.centre[:, j]),
                f"{self.spread[j]:.4g}",
                f"{self.idle[j]:.1%}",
            ]
            cells = "  ".join(f"{value:>{size}}" for value, size in zip(values, sizes, strict=True))
            lines.append(f"{name:<{width}}  {cells}" + ("  by design" if self.by_design[j] else ""))
        return "\n".join(lines)


def feature_table(
    fit: GaussianFit, names: tuple[str, ...], classes: tuple[str, ...]
) -> GaussianFeatureTable:
    """Summarise each kept feature."""
    weights = fit.ratio_weights()
    by_design = np.zeros(len(names), dtype=bool)
    by_design[len(fit.selection.kept) :] = True
    observed = np.broadcast_to(fit.moments.observed, fit.moments.mean.shape).sum(axis=0)
    degrees = 2 * fit.variance_prior.shape + np.maximum(observed - len(classes), 0)
    return GaussianFeatureTable(
        names,
        classes,
        np.sqrt(fit.moments.r_squared()),
        np.einsum("ak,ack->ck", weights, fit.location),
        np.sqrt((2 * fit.variance_prior.scale + fit.moments.within) / degrees),
        weights[fit.ratio == 0].sum(axis=0),
        by_design,
    )
