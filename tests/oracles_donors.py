"""Donors of missing cells by plain loops: slow, and sharing no code with the package."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

GRID = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0)


def agreement_density(row: Any, donor: Any, shares: Any, mismatch: float) -> float:
    """Return the density of the observed cells of a row around a donor; None is missing."""
    density = 1.0
    for cell, other, share in zip(row, donor, shares, strict=True):
        if cell is not None:
            density *= (1 - mismatch) * (cell == other) + mismatch * share[cell]
    return density


def column_shares(rows: Any) -> list[dict[Any, float]]:
    """Return the share of each value in each column."""
    return [
        {value: number / len(rows) for value, number in Counter(column).items()}
        for column in zip(*rows, strict=True)
    ]


def learned_mismatch(rows: Any) -> float:
    """Return the mismatch rate with the highest likelihood of each row given all others."""
    shares = column_shares(rows)

    def score(mismatch: float) -> float:
        total = 0.0
        for i, row in enumerate(rows):
            others = [donor for j, donor in enumerate(rows) if j != i]
            densities = [agreement_density(row, donor, shares, mismatch) for donor in others]
            total += math.log(sum(densities) / len(others))
        return total

    return max(GRID, key=score)


def donor_weights(row: Any, rows: Any, mismatch: float) -> list[float]:
    """Return the weight of every training row as a donor."""
    shares = column_shares(rows)
    densities = [agreement_density(row, donor, shares, mismatch) for donor in rows]
    return [density / sum(densities) for density in densities]


def completed(row: Any, donor: Any) -> list[Any]:
    """Return a row whose missing cells are those of a donor."""
    return [other if cell is None else cell for cell, other in zip(row, donor, strict=True)]
