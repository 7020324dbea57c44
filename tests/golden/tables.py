"""Small made-up tables of the golden record: the same on every machine, with gaps."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

NEW = 8
"""Rows at the end of each table that no model is fitted on."""


@dataclass(frozen=True)
class Table:
    """Rows to fit on with their classes or responses, and new rows."""

    X: Any
    y: np.ndarray
    new: Any
    new_y: np.ndarray


def _parted(X: Any, y: np.ndarray) -> Table:
    old, new = slice(None, -NEW), slice(-NEW, None)
    if isinstance(X, pd.DataFrame):
        return Table(X.iloc[old], y[old], X.iloc[new].reset_index(drop=True), y[new])
    return Table(X[old], y[old], X[new], y[new])


def _labels(rng: np.random.Generator, n: int, n_classes: int) -> np.ndarray:
    """Classes of about the same size, also among the new rows."""
    old = rng.permutation(np.arange(n) % n_classes)
    return np.concatenate([old, np.arange(NEW) % n_classes])


def _with_gaps(rng: np.random.Generator, X: np.ndarray, share: float) -> np.ndarray:
    return np.where(rng.random(X.shape) < share, np.nan, X)


@cache
def measurements(n: int = 32, p: int = 30, n_classes: int = 2, gaps: float = 0.04) -> Table:
    """Real numbers; the first columns tell the class, and all share one hidden cause."""
    rng = np.random.default_rng([1, n, p, n_classes])
    y = _labels(rng, n, n_classes)
    hidden = rng.normal(size=(y.size, 1))
    X = rng.normal(size=(y.size, p)) + 0.6 * hidden * rng.normal(size=p)
    X[:, :4] += 1.1 * y[:, None]
    return _parted(_with_gaps(rng, X.round(4), gaps), y)


@cache
def flags(n: int = 32, p: int = 30, gaps: float = 0.04) -> Table:
    """Zeros and ones in a frame with names; the first columns tell the class."""
    rng = np.random.default_rng([2, n, p])
    y = _labels(rng, n, 2)
    X = rng.integers(0, 2, (y.size, p)).astype(float)
    X[:, :4] = np.where(rng.random((y.size, 4)) < 0.6, y[:, None], X[:, :4])
    frame = pd.DataFrame(_with_gaps(rng, X, gaps)).add_prefix("flag ")
    return _parted(frame, np.array(["ill", "well"])[y])


@cache
def levels(n: int = 36, p: int = 18, n_classes: int = 2) -> Table:
    """Texts with two to four levels, and gaps."""
    rng = np.random.default_rng([3, n, p, n_classes])
    y = _labels(rng, n, n_classes)
    words = np.array(["low", "middle", "high", "extreme"])
    columns = {}
    for j in range(p):
        codes = rng.integers(0, 2 + j % 3, y.size)
        if j < 3:
            codes = np.where(rng.random(y.size) < 0.6, y % (2 + j % 3), codes)
        cells = words[codes].astype(object)
        cells[rng.random(y.size) < 0.04] = None
        columns[f"grade {j}"] = cells
    return _parted(pd.DataFrame(columns), np.array(["a", "b", "c"])[y])


@cache
def mixed(n: int = 36, n_classes: int = 2) -> Table:
    """Flags, texts and measurements side by side."""
    rng = np.random.default_rng([4, n, n_classes])
    y = _labels(rng, n, n_classes)
    flag = rng.integers(0, 2, (y.size, 6)).astype(float)
    flag[:, 0] = np.where(rng.random(y.size) < 0.6, y > 0, flag[:, 0])
    site = rng.choice(["colon", "liver", "lung"], (y.size, 4)).astype(object)
    site[:, 1] = np.where(
        rng.random(y.size) < 0.5, np.array(["colon", "liver", "lung"])[y], site[:, 1]
    )
    site[rng.random(site.shape) < 0.03] = None
    lab = rng.normal(size=(y.size, 14)).round(4)
    lab[:, :2] += y[:, None]
    parts = [
        pd.DataFrame(_with_gaps(rng, flag, 0.03)).add_prefix("finding "),
        pd.DataFrame(site).add_prefix("site "),
        pd.DataFrame(_with_gaps(rng, lab, 0.03)).add_prefix("lab "),
    ]
    return _parted(pd.concat(parts, axis=1), y)


@cache
def responses(n: int = 30, p: int = 24) -> Table:
    """Measurements that share a hidden cause with a real response."""
    rng = np.random.default_rng([5, n, p])
    hidden = rng.normal(size=n + NEW)
    X = rng.normal(size=(n + NEW, p))
    X[:, :6] += hidden[:, None]
    y = (hidden + 0.5 * rng.normal(size=n + NEW)).round(4)
    return _parted(_with_gaps(rng, X.round(4), 0.02), y)


@cache
def groups(n: int) -> np.ndarray:
    """Pairs of rows that belong together."""
    return np.arange(n) // 2


# ------------------------------------------------------------------- tables in files


def messy() -> pd.DataFrame:
    """A binary class, and columns as people have them: categories, numbers, gaps."""
    rng = np.random.default_rng(6)
    n = 40
    y = rng.permutation(np.arange(n) % 2)
    frame = pd.DataFrame(
        {
            "outcome": np.array(["healthy", "relapse"])[y],
            "age": rng.integers(30, 80, n).astype(float),
            "marker": (rng.normal(size=n) + 1.2 * y).round(3),
            "dose": rng.choice([0.5, 1.0, 2.5], n),
            "smoker": rng.choice(["yes", "no"], n),
            "site": rng.choice(["colon", "liver", "lung"], n),
            "grade": np.where(rng.random(n) < 0.5, np.array(["I", "III"])[y], "II"),
            "ward": "north",
        }
    )
    for name in ("age", "marker", "smoker", "site"):
        frame.loc[rng.random(n) < 0.08, name] = None
    return frame


def wide() -> pd.DataFrame:
    """Two classes, and more measurements than cases."""
    rng = np.random.default_rng(7)
    n, p = 36, 60
    y = rng.permutation(np.arange(n) % 2)
    X = rng.normal(size=(n, p))
    X[:, :5] += 1.2 * y[:, None]
    frame = pd.DataFrame(X.round(4)).add_prefix("g")
    frame.insert(0, "status", np.array(["ill", "well"])[y])
    return frame


def three() -> pd.DataFrame:
    """The mixed table of three classes, as a file has it."""
    table = mixed(n_classes=3)
    frame = table.X.reset_index(drop=True).copy()
    frame.insert(0, "kind", np.array(["benign", "grade 1", "grade 2"])[table.y])
    return frame
