"""What experiments share: claims of a model beside what happened, published and ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from honestbayes.experiments.experiment import Cell
from honestbayes.metrics import calibration_table, summarise
from honestbayes.types import FloatArray

Decimals = Sequence[tuple[int, float, float]]
"""Cases, mean probability and share of class 1 by the first decimal of the probability."""

NOBODY = (0, 0.0, 0.0)
"""Of a decimal without cases."""


def judged(y: ArrayLike, proba: FloatArray) -> dict[str, Any]:
    """Return errors, scores and the table by the first decimal, of P(class 1)."""
    scores, table = summarise(y, proba), calibration_table(y, proba)
    return {
        "expected_error": float(scores.expected_error),
        "actual_error": float(scores.actual_error),
        "log_score": float(scores.log_score),
        "squared_error": float(scores.squared_error),
        "count": table.n,
        "predicted": np.round(np.nan_to_num(table.predicted), 4),
        "actual": np.round(np.nan_to_num(table.actual), 4),
    }


def errors_of(decimals: Decimals) -> dict[str, float]:
    """Return the expected and the actual error rate of a printed table by the first decimal."""
    count, predicted, actual = np.array(decimals).T
    upper = np.arange(10) >= 5
    return {
        name: float(count @ np.where(upper, 1 - share, share) / count.sum())
        for name, share in (("expected", predicted), ("actual", actual))
    }


def decimal_rows(fit: dict[str, Any], **words: Cell) -> Iterator[dict[str, Cell]]:
    """Yield the rows of a table by the first decimal, of what :func:`judged` returned."""
    for decimal in range(10):
        if fit["count"][decimal]:
            yield words | {
                "probability from": decimal / 10,
                "cases": fit["count"][decimal],
                "mean probability": fit["predicted"][decimal],
                "share of class 1": fit["actual"][decimal],
            }


def of(fits: Sequence[dict[str, Any]], name: str, **words: Any) -> FloatArray:
    """Return one figure of each fit with these words."""
    return np.array([f[name] for f in fits if all(f[key] == word for key, word in words.items())])
