"""A small table for selectors, and its rows as plain lists."""

import numpy as np


def problem(seed, n=60, p=7, n_classes=2, missing=0.15):
    """Codes of two to four levels, some missing, weights; the first columns say something."""
    rng = np.random.default_rng(seed)
    n_levels = rng.integers(2, 5, p)
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)])
    X = np.column_stack([rng.integers(0, size, n) for size in n_levels])
    for j in range(3):
        told = rng.random(n) < 0.5 - 0.1 * j
        X[told, j] = np.minimum(y, n_levels[j] - 1)[told]
    for j, size in enumerate(n_levels):
        X[:size, j] = np.arange(size)  # every level occurs
    hidden = rng.random((n, p)) < missing
    hidden[:5] = False
    # Texts: numbers with more values than 20 rows each allow would be put into bins.
    X = np.where(hidden, None, np.char.mod("%d", X))
    return X, y, rng.integers(1, 5, n).astype(float) / 2, n_levels


def part(X, y, w, rows):
    codes = np.where(X == None, -1, X).astype(int)[rows]  # noqa: E711
    return codes.tolist(), y[rows].tolist(), w[rows].tolist()
