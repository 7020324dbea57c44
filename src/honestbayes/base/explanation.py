"""What a fitted model hands to those who explain it: selections, and tables of kept features."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from honestbayes.base.part import FittedPart
from honestbayes.data.kinds import Kind
from honestbayes.selection import Selection
from honestbayes.tabular import Tabular
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

# --------------------------------------------------------------------------------------------------
# Which columns of a table a fitted estimator kept, and what they are called
# --------------------------------------------------------------------------------------------------


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


@dataclass(frozen=True, slots=True)
class KeptTable(Tabular):
    """What tables of kept features have in common: strongest first, then those kept by design.

    Attributes
    ----------
    name : tuple of str
        Names.
    classes : tuple of str
        Class labels.
    """

    name: tuple[str, ...]
    classes: tuple[str, ...]

    kind: ClassVar[Kind]
    """What kind of features the model takes them for."""

    def _columns(self) -> dict[str, Iterable[Any]]:
        """Return what is known of the features as plain data, by name, an entry for each."""
        raise NotImplementedError

    def rows(self) -> list[dict[str, Any]]:
        """Return what is known of each feature as plain data, by name."""
        columns = self._columns()
        rows = zip(*columns.values(), strict=True)
        return [dict(zip(columns, row, strict=True)) for row in rows]

    def changed(self, change: Callable[[Any], Any]) -> Any:
        """Return the table as a function changes it; tables of several kinds change each."""
        return change(self)

    def renamed(self, word: Callable[[str], str], classes: tuple[str, ...]) -> Self:
        """Return the table with other names of features and classes."""
        return replace(self, name=tuple(map(word, self.name)), classes=classes)

    def with_levels(self, texts: Callable[[str, tuple[str, ...]], tuple[str, ...]]) -> Self:
        """Return the table with other names of levels, given the feature's name and its levels."""
        del texts
        return self

    def shortened(self, most: int) -> Self:
        """Return the table with so many levels of each feature at most."""
        del most
        return self


def by_design(selection: Selection) -> BoolArray:
    """Return which of the kept features were kept by design: they come last."""
    return np.asarray(np.arange(len(selection.columns)) >= len(selection.kept))


class Explained(KeptColumns):
    """Base of estimators that can say what they kept, and what that tells.

    A subclass says of which kind its features are (`_kind_of_features`, or `_kinds_of_parts`), and
    how the table of a part is made (`_explain_part`). Reports and ``inspect`` ask all models alike,
    by `_selections`, `_feature_tables` and `_sections`.
    """

    _kind_of_features: ClassVar[Kind]
    _parts: tuple[FittedPart, ...]
    classes_: Any
    slope_: float

    @staticmethod
    def _explain_part(
        part: Any, names: tuple[str, ...], classes: tuple[str, ...], slope: float, /
    ) -> KeptTable:
        """Return the table of the kept features of a part."""
        raise NotImplementedError

    def _kinds_of_parts(self) -> tuple[Kind, ...]:
        """Return the kind of the features of each part; by default there is one."""
        return (self._kind_of_features,)

    def _selections(self) -> dict[Kind, Selection]:
        """Return what was kept and thrown away, for each kind of feature."""
        check_is_fitted(self)
        parts = zip(self._kinds_of_parts(), self._parts, strict=True)
        return {kind: part.selection for kind, part in parts}

    def _feature_tables(self) -> dict[Kind, Any]:
        """Return what each kept feature says, for each kind of which any was kept."""
        names, classes = self._names_and_classes()
        tables, first = {}, 0
        for kind, part in zip(self._kinds_of_parts(), self._parts, strict=True):
            last = first + len(part.selection.columns)
            if last > first:
                tables[kind] = self._explain_part(part, names[first:last], classes, self.slope_)
            first = last
        return tables

    def _sections(self) -> dict[str, Any]:
        """Return records of what else the model is made of, by name; by default of nothing."""
        return {}

    def feature_table(self) -> Any:
        """Return what each kept feature says."""
        names, classes = self._names_and_classes()
        (part,) = self._parts
        return self._explain_part(part, names, classes, self.slope_)

    def _names_and_classes(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        names = tuple(str(name) for name in self.get_feature_names_out())
        return names, tuple(str(label) for label in self.classes_)


# --------------------------------------------------------------------------------------------------
# What single cells add to the log-odds of a row, for any model that can do without a cell
# --------------------------------------------------------------------------------------------------


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
