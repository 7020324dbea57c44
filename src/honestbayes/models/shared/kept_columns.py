"""Which columns of a table a fitted estimator kept, and what they are called."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from honestbayes.types import AnyArray, BoolArray, IntArray


class KeptColumns(BaseEstimator):
    """Base of estimators that keep some columns of a table.

    A subclass says which (`_kept_columns`).
    """

    def _kept_columns(self) -> list[IntArray]:
        """Return the table's columns that each part kept."""
        raise NotImplementedError

    def kept_columns(self) -> IntArray:
        """Return the table's columns that were kept, in the order of `get_feature_names_out`."""
        check_is_fitted(self)
        return np.concatenate(self._kept_columns())

    def _columns_in(self, X: Any) -> list[IntArray]:
        """Return where a table has the columns that each part kept; refuse another table."""
        if hasattr(X, "blocks"):  # a source, whose names scikit-learn does not find
            check_same_names(X.feature_names, getattr(self, "feature_names_in_", None))
        else:
            validate_data(self, X, reset=False, skip_check_array=True)
        if X.shape[1] != self.n_features_in_:
            msg = (
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
            raise ValueError(msg)
        return self._kept_columns()

    def _name_columns(self, names: tuple[str, ...] | None) -> None:
        """Remember the names of columns; forget those of an earlier fit."""
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def get_support(self, indices: bool = False) -> BoolArray | IntArray:
        """Return the mask of the kept features, or their indices."""
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.kept_columns()] = True
        return np.flatnonzero(mask) if indices else mask

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Return the names of the kept features, strongest first, then those kept by design."""
        columns = self.kept_columns()
        names = getattr(self, "feature_names_in_", input_features)
        if names is None:
            return np.array([f"x{column}" for column in columns], dtype=object)
        chosen: AnyArray = np.asarray(names, dtype=object)[columns]
        return chosen


def check_same_names(names: tuple[str, ...] | None, fitted: AnyArray | None) -> None:
    """Refuse a table whose columns are called otherwise than those of the training table."""
    if names is None or fitted is None or names == tuple(fitted):
        return
    unlike = next((pair for pair in zip(names, fitted, strict=False) if pair[0] != pair[1]), None)
    if unlike is not None:
        msg = (
            f"X has column {unlike[0]!r} where the training table had {unlike[1]!r}: The feature "
            "names should match those that were passed during fit, in the same order."
        )
        raise ValueError(msg)


class Described:
    """How messages call columns."""

    def __init__(self, names: AnyArray) -> None:
        self._names = names

    def __call__(self, position: int) -> str:
        """Return what messages call the column at a position."""
        return f"column {self._names[position]!r}"
