"""What single cells add to the log-odds of a row, for any model that can do without a cell."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from honestbayes.types import FloatArray


def contributions(model: Any, X: Any, columns: Iterable[int]) -> FloatArray:
    """Return how log-odds with each cell differ from those without it.

    Parameters
    ----------
    model : fitted classifier
        It integrates over missing cells, or fills them.
    X : table of shape (n, p)
        Rows.
    columns : iterable of int
        Columns of the table.

    Returns
    -------
    ndarray of shape (n, k), or (n, k, C) for more than two classes
        Log-odds of the second class; for more classes log probabilities of each.
    """
    whole = model.predict_log_proba(X)
    apart = [whole - model.predict_log_proba(without(X, int(column))) for column in columns]
    n, n_classes = whole.shape
    result = np.stack(apart, axis=1) if apart else np.zeros((n, 0, n_classes))
    return np.asarray(result[..., 1] - result[..., 0] if n_classes == 2 else result)


def without(X: Any, column: int) -> Any:
    """Return a table with a column missing."""
    if hasattr(X, "iloc"):
        changed = X.copy()
        gone = np.full(len(X), np.nan if changed.dtypes.iloc[column].kind in "biuf" else None)
        changed.isetitem(column, gone)
        return changed
    if type(X).__module__.startswith("polars"):
        import polars as pl

        name = X.columns[column]
        return X.with_columns(pl.lit(None, dtype=X.dtypes[column]).alias(name))
    if hasattr(X, "tolil"):
        changed = X.astype(float).tolil()
        changed[:, [column]] = np.full((X.shape[0], 1), np.nan)
        return changed.tocsr()
    values = np.asarray(X)
    kind = object if values.dtype.kind in "OUS" else float
    changed = values.astype(kind)
    changed[:, column] = None if changed.dtype.kind == "O" else np.nan
    return changed
