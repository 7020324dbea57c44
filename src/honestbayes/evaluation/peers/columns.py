"""Columns as peers take them: filled, categories spread over flags, standardised."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from honestbayes.data.kinds import KindsInOrder


def standardised(X: Any, kinds: KindsInOrder | None) -> Any:
    """Return a transformer, not fitted, of a table's columns to standardised numbers.

    A sparse matrix of flags stays as it is: standardised it would be dense, and its rarest flags
    would count most.
    """
    if issparse(X):
        return FunctionTransformer()
    return make_pipeline(_as_numbers(kinds, whole=_is_whole(X)), StandardScaler())


def _is_whole(X: Any) -> bool:
    """Whether an array holds whole numbers, so that no cell is missing."""
    kind = getattr(getattr(X, "dtype", None), "kind", "O")
    return str(kind) in "biu"


def _as_numbers(kinds: KindsInOrder | None, *, whole: bool) -> Any:
    """Return what fills missing cells, and spreads categories over columns.

    Columns that cannot have missing cells are left as they are: medians of 100,000 flags take
    longer than all else.
    """
    numbers: Any = FunctionTransformer()
    if not whole:
        numbers = SimpleImputer(strategy="median", keep_empty_features=True)
    is_code = np.array(kinds if kinds is not None else ()) == "categorical"
    if not is_code.any():
        return numbers
    spread = make_pipeline(
        SimpleImputer(strategy="most_frequent", keep_empty_features=True),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    )
    return make_column_transformer(
        (numbers, np.flatnonzero(~is_code)), (spread, np.flatnonzero(is_code))
    )
