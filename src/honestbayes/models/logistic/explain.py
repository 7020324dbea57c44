"""What the kept features of a logistic regression say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from honestbayes.models.logistic.part import LogisticPart
from honestbayes.models.shared.explanation import KeptTable, by_design
from honestbayes.sources.kinds import Kind
from honestbayes.types import BoolArray, FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class LogisticFeatureTable(KeptTable):
    """The kept features, strongest first, then those kept by design, with their coefficients.

    A coefficient is what one standard deviation of the column adds to the log-odds while the other
    columns stay: features that say the same share it. There is one fit (F = 1) for two classes,
    whose coefficients speak for the second class; else one of each class against the rest.

    Attributes
    ----------
    r : ndarray of shape (k,)
        Correlation with the class; for more than two classes the root of the share of the sum of
        squares between them.
    coefficient, sd : ndarray of shape (F, k)
        Posterior means and standard deviations, per standard deviation of the column.
    per_unit : ndarray of shape (F, k) or None
        Posterior means in the user's units; None where columns became normal scores.
    centre : ndarray of shape (C, k)
        Mean of the column in each class.
    spread : ndarray of shape (k,)
        Standard deviation within a class.
    by_design : ndarray of bool of shape (k,)
        Whether the feature was kept by design.
    """

    r: FloatArray
    coefficient: FloatArray
    sd: FloatArray
    per_unit: FloatArray | None
    centre: FloatArray
    spread: FloatArray
    by_design: BoolArray

    kind: ClassVar[Kind] = "real"

    def _columns(self) -> dict[str, Iterable[Any]]:
        nothing = [None] * len(self.name)
        return {
            "by_design": self.by_design.tolist(),
            "correlation": self.r.tolist(),
            "centre": zip(*self.centre.tolist(), strict=True),
            "spread": self.spread.tolist(),
            "idle": nothing,
            "shared": nothing,
            "coefficient": zip(*self.coefficient.tolist(), strict=True),
            "coefficient_sd": zip(*self.sd.tolist(), strict=True),
        }

    def _spoken_for(self) -> tuple[str, ...]:
        """Return the class that each fit speaks for."""
        return self.classes[1:] if len(self.coefficient) == 1 else self.classes

    def to_dict(self) -> dict[str, list[Any]]:
        """Return plain columns, for a frame or JSON."""
        result: dict[str, list[Any]] = {"name": list(self.name), "r": self.r.tolist()}
        for f, label in enumerate(self._spoken_for()):
            result[f"coefficient_{label}"] = self.coefficient[f].tolist()
            result[f"sd_{label}"] = self.sd[f].tolist()
            if self.per_unit is not None:
                result[f"per_unit_{label}"] = self.per_unit[f].tolist()
        for c, label in enumerate(self.classes):
            result[f"centre_{label}"] = self.centre[c].tolist()
        return result | {"spread": self.spread.tolist(), "by_design": self.by_design.tolist()}

    def __str__(self) -> str:
        """Return an aligned table."""
        rows = [["feature", "r", *(f"for {label} (sd)" for label in self._spoken_for())]]
        for j, name in enumerate(self.name):
            found = zip(self.coefficient[:, j], self.sd[:, j], strict=True)
            rows.append([name, f"{self.r[j]:.3f}", *(f"{m:+.2f} ({s:.2f})" for m, s in found)])
        first, *sizes = (max(map(len, column)) for column in zip(*rows, strict=True))
        lines = []
        for (name, *cells), designed in zip(rows, (False, *self.by_design), strict=True):
            padded = (f"{cell:>{size}}" for cell, size in zip(cells, sizes, strict=True))
            remark = "  by design" if designed else ""
            lines.append("  ".join((f"{name:<{first}}", *padded)) + remark)
        return "\n".join(lines)


def feature_table(
    part: LogisticPart, names: tuple[str, ...], classes: tuple[str, ...], _slope: float
) -> LogisticFeatureTable:
    """Summarise the posterior of each coefficient over all scales."""
    means, variances = _coefficients(part)
    weight = part.posterior.weight
    mean = np.einsum("g,gfk->fk", weight, means)
    second = np.einsum("g,gfk->fk", weight, variances + (means - mean) ** 2)
    varies, described = part.directions.varies, part.described
    return LogisticFeatureTable(
        name=names,
        classes=classes,
        r=described.r,
        coefficient=mean,
        sd=np.sqrt(second),
        per_unit=None if part.scores is not None else mean * varies / part.directions.unit,
        centre=described.centre,
        spread=described.spread,
        by_design=by_design(part.selection),
    )


def _coefficients(part: LogisticPart) -> tuple[FloatArray, FloatArray]:
    """Return means and variances of the columns' coefficients, both of shape (G, F, k)."""
    posterior, turn = part.posterior, part.directions.turn
    means = posterior.mean[..., 1:]
    factor = posterior.factor[..., 1:, :]
    if turn is None:
        return means, np.einsum("gfkq,gfkq->gfk", factor, factor)
    r = turn.shape[1]
    turned = np.einsum("kr,gfrq->gfkq", turn, factor[..., :r, :], optimize=True)
    inside = np.einsum("gfkq,gfkq->gfk", turned, turned)
    # What no training case has a share in is as it was before.
    left = np.maximum(1 - np.einsum("kr,kr->k", turn, turn), 0.0)
    inside += posterior.outside[:, None, None] * left
    designed = np.einsum("gfkq,gfkq->gfk", factor[..., r:, :], factor[..., r:, :])
    means = np.concatenate([means[..., :r] @ turn.T, means[..., r:]], axis=2)
    return means, np.concatenate([inside, designed], axis=2)
