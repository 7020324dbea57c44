"""What the kept features of a Gaussian model say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from honestbayes.models.real.part import GaussianPart
from honestbayes.models.shared.explanation import KeptTable, by_design
from honestbayes.screening.moments import Moments
from honestbayes.sources.kinds import Kind
from honestbayes.sources.normal_scores import NormalScores
from honestbayes.types import BoolArray, FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurementTable(KeptTable):
    """What tables of kept real-valued features have in common.

    Attributes
    ----------
    r : ndarray of shape (k,)
        Root of the share of the sum of squares between classes; for two classes the absolute
        correlation.
    centre : ndarray of shape (C, k)
        Posterior mean of the feature in each class, in the units of the data.
    spread : ndarray of shape (k,)
        Typical deviation within a class, in the same units.
    by_design : ndarray of bool of shape (k,)
        Whether the feature was kept by design.
    """

    r: FloatArray
    centre: FloatArray
    spread: FloatArray
    by_design: BoolArray
    _correlation: FloatArray = field(repr=False)
    """The same as r, with its sign where there are two classes."""

    kind: ClassVar[Kind] = "real"
    _share: ClassVar[str]
    """The attribute of a subclass that is a share."""

    def _columns(self) -> dict[str, Iterable[Any]]:
        """Return what is known of the features; the share that another model has is None."""
        nothing = [None] * len(self.name)
        return {
            "by_design": self.by_design.tolist(),
            "correlation": self._correlation.tolist(),
            "centre": zip(*self.centre.tolist(), strict=True),
            "spread": self.spread.tolist(),
            "idle": nothing,
            "shared": nothing,
            self._share: getattr(self, self._share).tolist(),
        }

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
            self._share: getattr(self, self._share).tolist(),
            "by_design": self.by_design.tolist(),
        }

    def __str__(self) -> str:
        """Return an aligned table."""
        rows = [["feature", "r", *self.classes, "spread", self._share]]
        shares = getattr(self, self._share)
        for j, name in enumerate(self.name):
            centres = (f"{centre:.4g}" for centre in self.centre[:, j])
            ends = (f"{self.spread[j]:.4g}", f"{shares[j]:.1%}")
            rows.append([name, f"{self.r[j]:.3f}", *centres, *ends])
        first, *sizes = (max(map(len, column)) for column in zip(*rows, strict=True))
        lines = []
        for (name, *cells), designed in zip(rows, (False, *self.by_design), strict=True):
            padded = (f"{cell:>{max(9, size)}}" for cell, size in zip(cells, sizes, strict=True))
            remark = "  by design" if designed else ""
            lines.append("  ".join((f"{name:<{first}}", *padded)) + remark)
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianFeatureTable(MeasurementTable):
    """The kept features, strongest first, then those kept by design; centres are shrunk.

    Attributes
    ----------
    idle : ndarray of shape (k,)
        Posterior probability that the feature tells nothing at all (ratio 0).
    """

    idle: FloatArray
    _share: ClassVar[str] = "idle"


def correlation_with(moments: Moments) -> FloatArray:
    """Return the correlation of real-valued features with the class; its sign, of two classes."""
    size = np.sqrt(moments.r_squared())
    if moments.mean.shape[0] > 2:
        return np.asarray(size)
    return np.asarray(np.sign(moments.mean[1] - moments.mean[0]) * size)


def in_users_units(
    centre: FloatArray, spread: FloatArray, scores: NormalScores | None
) -> tuple[FloatArray, FloatArray]:
    """Return centres, shape (C, k), and spreads, shape (k,), as the user measured them.

    Where they are of normal scores: the values with these scores, and half of the distance between
    those one spread below and above the middle.
    """
    if scores is None:
        return centre, spread
    middle = centre.mean(axis=0)
    low, high = scores.invert(middle - spread), scores.invert(middle + spread)
    return scores.invert(centre), (high - low) / 2


def feature_table(
    part: GaussianPart, names: tuple[str, ...], classes: tuple[str, ...], _slope: float
) -> GaussianFeatureTable:
    """Summarise each kept feature."""
    fit = part.fit
    moments = fit.moments
    observed = np.broadcast_to(moments.observed, moments.mean.shape).sum(axis=0)
    degrees = 2 * fit.variance_prior.shape + np.maximum(observed - len(classes), 0)
    variance = (2 * fit.variance_prior.scale + moments.within) / degrees
    centre = np.concatenate([block.centre() for block in fit.blocks], axis=1)
    centre, spread = in_users_units(
        fit.standard.centre + fit.standard.unit * centre,
        fit.standard.unit * np.sqrt(variance),
        part.scores,
    )
    return GaussianFeatureTable(
        name=names,
        classes=classes,
        r=np.sqrt(moments.r_squared()),
        centre=centre,
        spread=spread,
        by_design=by_design(fit.selection),
        _correlation=correlation_with(moments),
        idle=np.concatenate([block.idle() for block in fit.blocks]),
    )
