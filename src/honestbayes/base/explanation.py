"""Explanations of fitted models: selections, tables of kept features, report sections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

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
        """Return the names of the kept features.

        The strongest first, then those kept by design, then covariates.
        """
        columns = self.kept_columns()
        names = getattr(self, "feature_names_in_", input_features)
        if names is None:
            return np.array([f"x{column}" for column in columns], dtype=object)
        chosen: AnyArray = np.asarray(names, dtype=object)[columns]
        return chosen


def check_same_names(names: tuple[str, ...] | None, fitted: AnyArray | None) -> None:
    """Raise an error if column names differ from those of the training table."""
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
    """Names of columns in messages."""

    def __init__(self, names: AnyArray) -> None:
        self._names = names

    def __call__(self, position: int) -> str:
        """Return what messages call the column at a position."""
        return f"column {self._names[position]!r}"


# --------------------------------------------------------------------------------------------------
# What a model adds to a report: sections with templates of their own, in the names of the table
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class TableNames:
    """The names that a table gives to the features, levels and classes of a model.

    Estimators see encoded tables: a feature may be one level of a text column, and levels are
    codes. Reports speak of the columns and texts of the user's table.

    Attributes
    ----------
    target : str
        Column of the class.
    classes : tuple of str
        Class labels, in the order of ``classes_``.
    columns : mapping of str to str
        The column that each feature comes from, by the name of the feature.
    levels : mapping of str to tuple of str
        The texts of a column's codes, by the name of the column.
    indicators : mapping of str to str
        The level that a feature indicates, for features that stand for one level of a column.
    by_design : frozenset of str
        Features that the user keeps.
    selected : mapping of str to float
        Share of the folds that kept each feature; empty where nothing was cross-validated.
    """

    target: str
    classes: tuple[str, ...]
    columns: Mapping[str, str]
    levels: Mapping[str, tuple[str, ...]]
    indicators: Mapping[str, str]
    by_design: frozenset[str] = frozenset()
    selected: Mapping[str, float] = field(default_factory=dict)

    def column(self, name: str) -> str:
        """Return the column of a feature; the target for the name of the class."""
        return self.columns.get(name, self.target)

    def level_texts(self, name: str, codes: tuple[str, ...]) -> tuple[str, ...]:
        """Return the texts that codes of a feature's levels stand for."""
        known = self.levels.get(self.columns[name], ())
        return tuple(
            known[int(code)] if code.isdecimal() and int(code) < len(known) else code
            for code in codes
        )

    def describe_one(self, name: str, cut: float, high: float) -> str:
        """Return which values of the column count as a one."""
        if name in self.indicators:
            return f"is {self.indicators[name]}"
        return f"is {high:g}" if np.isfinite(high) else f"above {cut:.4g}"

    def share_selected(self, name: str) -> float:
        """Return the share of the folds that kept a feature; NaN where that is not known."""
        return float(self.selected.get(name, np.nan))

    def printable(self, clean: Callable[[str], str]) -> Self:
        """Return the names with every text from data cleaned, for a terminal."""
        return replace(
            self,
            target=clean(self.target),
            classes=tuple(map(clean, self.classes)),
            columns={name: clean(column) for name, column in self.columns.items()},
            # Levels are looked up by the cleaned name of the column.
            levels={clean(c): tuple(map(clean, texts)) for c, texts in self.levels.items()},
            indicators={name: clean(level) for name, level in self.indicators.items()},
        )


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """A directed graph to be drawn in a section, the class being the last node.

    Attributes
    ----------
    names : tuple of str
        The nodes.
    probability : ndarray of shape (m, m)
        Of an arc from the row's node to the column's.
    text : str
        What the picture shows, for readers who cannot see it.
    """

    names: tuple[str, ...]
    probability: FloatArray
    text: str


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ImportanceChart:
    """A bar for each column to be drawn in a section; `plots.ImportanceDisplay` draws it.

    Attributes
    ----------
    names : tuple of str
        The columns.
    importance, lower, upper : ndarray of shape (k,)
        Loss of the held-out log score without the column, and its interval.
    group : ndarray of int of shape (k,)
        Columns with the same number share a bar.
    text : str
        What the picture shows, for readers who cannot see it.
    """

    names: tuple[str, ...]
    importance: FloatArray
    lower: FloatArray
    upper: FloatArray
    group: AnyArray
    text: str


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ReportSection:
    """A section of a report that a model provides.

    Attributes
    ----------
    name : str
        Its key in JSON, and its anchor on the page.
    title : str
        Heading.
    record : dataclass
        The content; it goes to JSON as it is, and `inspect` prints ``str(record)``.
    template : str
        The Jinja file, as ``"package/file"``; it sees this section as ``section``, the report as
        ``report`` and the macros of ``pieces.jinja``.
    summary : str
        One line for the terminal, as part of a sentence; may be empty.
    facts : tuple of (str, str)
        Labels and values for the top of the page and for `inspect`.
    settings : tuple of (str, str)
        Labels and values for the table of settings.
    limits : tuple of str
        What this model cannot see, one sentence each.
    case_columns : mapping of str to ndarray of shape (n,)
        Probabilities of the training cases that predictions.csv has beside the others.
    picture : Graph, ImportanceChart or None
        A picture, which the template shows by the section's name.
    """

    name: str
    title: str
    record: Any
    template: str
    summary: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    limits: tuple[str, ...] = ()
    case_columns: Mapping[str, FloatArray] = field(default_factory=dict)
    picture: Graph | ImportanceChart | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON holds."""
        return {"title": self.title, "summary": self.summary, "record": self.record}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumn:
    """A column of a table of features on the page.

    Attributes
    ----------
    title : str
        Heading.
    key : str
        The entry of each row that the column shows.
    style : {"signed", "number", "percent", "short", "text"}
        How its values are written.
    index : int or None
        Which value of the entry, where it has one for each class.
    error : str
        The entry that follows the value after a plus-minus sign; empty for none.
    by_level : bool
        Whether the entry has a value for each level of the feature.
    """

    title: str
    key: str
    style: Literal["signed", "number", "percent", "short", "text"] = "number"
    index: int | None = None
    error: str = ""
    by_level: bool = False


def location_columns(classes: tuple[str, ...]) -> tuple[TableColumn, ...]:
    """Return the page's columns of correlations, centres and spreads."""
    return (
        TableColumn(
            title="correlation",
            key="correlation",
            style="signed" if len(classes) == 2 else "number",
        ),
        *(
            TableColumn(title=f"centre, {label}", key="centre", style="short", index=c)
            for c, label in enumerate(classes)
        ),
        TableColumn(title="spread", key="spread", style="short"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureRows:
    """The kept features of one kind, as a report shows them.

    Attributes
    ----------
    kind : {"binary", "categorical", "real"}
        What the table's columns are.
    note : str
        What the columns of the table mean.
    columns : tuple of TableColumn
        Which entries the page shows, and under which titles.
    rows : tuple of dict
        One for each feature: "name", "column", "by_design", "selected", and what the model says.
    """

    kind: Kind
    note: str
    columns: tuple[TableColumn, ...]
    rows: tuple[dict[str, Any], ...]


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

    def _rows(self, names: TableNames) -> dict[str, Iterable[Any]]:
        """Return what is known of the features as plain data, by key, an entry for each."""
        raise NotImplementedError

    def _page_columns(self) -> tuple[TableColumn, ...]:
        """Return the columns of the page's table, ``classes`` being the labels of the table."""
        raise NotImplementedError

    def _page_note(self) -> str:
        """Return what the columns of the page's table mean."""
        raise NotImplementedError

    def in_report(self, kind: Kind, names: TableNames) -> FeatureRows:
        """Return the table as a report shows it, in the names of the user's table."""
        entries = self._rows(names)
        rows = (dict(zip(entries, row, strict=True)) for row in zip(*entries.values(), strict=True))
        labelled = replace(self, classes=names.classes)
        return FeatureRows(
            kind=kind,
            note=labelled._page_note(),
            columns=labelled._page_columns(),
            rows=tuple(
                {
                    "name": name,
                    "column": names.column(name),
                    "kind": kind,
                    **row,
                    "selected": names.share_selected(name),
                }
                for name, row in zip(self.name, rows, strict=True)
            ),
        )

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
    """Base of estimators that explain which features they kept, and their effects.

    A subclass defines the kind of its features (`_kind_of_features`, or `_kinds_of_parts`), and the
    table of a part (`_explain_part`); a model with more to show overrides `_sections`. Reports and
    ``inspect`` use `_selections`, `_feature_tables` and `_sections` of every model alike.
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
        """Return the record of selection for each kind of feature."""
        check_is_fitted(self)
        parts = zip(self._kinds_of_parts(), self._parts, strict=True)
        return {kind: part.selection for kind, part in parts}

    def _feature_tables(self) -> dict[Kind, Any]:
        """Return the table of kept features of each kind that kept any."""
        names, classes = self._names_and_classes()
        tables, first = {}, 0
        for kind, part in zip(self._kinds_of_parts(), self._parts, strict=True):
            last = first + len(part.selection.columns)
            if last > first:
                tables[kind] = self._explain_part(part, names[first:last], classes, self.slope_)
            first = last
        return tables

    def _sections(self, names: TableNames) -> tuple[ReportSection, ...]:
        """Return the sections that the model adds to a report; by default none."""
        del names
        return ()

    def feature_table(self) -> Any:
        """Return the table of kept features."""
        names, classes = self._names_and_classes()
        (part,) = self._parts
        return self._explain_part(part, names, classes, self.slope_)

    def _names_and_classes(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the names of the kept features, without covariates, and of the classes."""
        kept = self.get_feature_names_out()
        k = sum(len(part.selection.columns) for part in self._parts)
        names = tuple(str(name) for name in kept[:k])
        return names, tuple(str(label) for label in self.classes_)


# --------------------------------------------------------------------------------------------------
# What single cells add to the log-odds of a row, for any model that can do without a cell
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Contributions(Tabular):
    """Contributions of cells to the log-odds of their rows; see `plots.ContributionDisplay`.

    Attributes
    ----------
    name : tuple of str
        Names of the k columns.
    values : ndarray of shape (n, k), or (n, k, C) for more than two classes
        Contributions to the log-odds of ``classes[1]``; for more classes to the log probability of
        each.
    classes : tuple of str
        Class labels.
    """

    name: tuple[str, ...]
    values: FloatArray
    classes: tuple[str, ...]

    def to_dict(self) -> dict[str, list[Any]]:
        """Return a column of each feature; for more than two classes of each feature and class."""
        if self.values.ndim == 2:
            return dict(zip(self.name, self.values.T.tolist(), strict=True))
        return {
            f"{name}: {label}": self.values[:, j, c].tolist()
            for j, name in enumerate(self.name)
            for c, label in enumerate(self.classes)
        }


def contributions(
    model: Any, X: Any, columns: Iterable[int], names: Iterable[Any]
) -> Contributions:
    """Return the log-odds with each cell minus those without it.

    Parameters
    ----------
    model : fitted classifier
        It integrates over missing cells, or fills them.
    X : table of shape (n, p)
        Rows.
    columns : iterable of int
        Columns of the table.
    names : iterable
        Their names.
    """
    whole = model.predict_log_proba(X)
    apart = [whole - model.predict_log_proba(without(X, int(column))) for column in columns]
    n, n_classes = whole.shape
    values = np.stack(apart, axis=1) if apart else np.zeros((n, 0, n_classes))
    return Contributions(
        tuple(map(str, names)),
        np.asarray(values[..., 1] - values[..., 0] if n_classes == 2 else values),
        tuple(map(str, model.classes_.tolist())),
    )


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
