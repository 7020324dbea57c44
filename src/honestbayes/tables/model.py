"""A fitted model with the encoding of its table."""

from __future__ import annotations

import hashlib
import os
import re
import warnings
from collections.abc import Generator, Iterable
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa

from honestbayes.average.estimator import HonestClassifier
from honestbayes.base.estimator import SelectiveClassifier
from honestbayes.catalogue import spec_of, table_specs
from honestbayes.files import ModelFileError, write_archive
from honestbayes.files.fields import Entries, Plain, nested
from honestbayes.tables.checks import row_digests
from honestbayes.tables.conversion import without
from honestbayes.tables.encoding import Encoding
from honestbayes.tables.errors import InputError, RowLocations, listed, shown
from honestbayes.tables.expression import SAMPLE, transposition_hint
from honestbayes.tables.files import TableFile
from honestbayes.tables.training import TrainingTable
from honestbayes.tables.units import CellForm, forms_from_plain, forms_to_plain, with_numbers
from honestbayes.types import AnyArray, FloatArray

KIND = "table model"

_HASH = re.compile(r"[0-9a-f]{64}")

Estimator = SelectiveClassifier | HonestClassifier
"""Estimators that a table model may hold: those with a name in their spec."""


@dataclass(frozen=True, slots=True, eq=False)
class TableModel:
    """A fitted model that takes tables with the original columns, categories and labels.

    Attributes
    ----------
    estimator : Estimator
        Fitted, on the kept features alone; its classes are the indices of the labels.
    encoding : Encoding
        How columns become the kept features, in their order.
    target : str
        Column of the class.
    labels : tuple of str
        The classes; of two, the negative and the positive one.
    missing : tuple of str
        Cells that are missing, beside those that always are.
    trained_on : str or None
        A hash of the rows that the model was trained on, all in one; None: not known.
    forms : tuple of CellForm
        Columns whose cells hold a number and more, such as a unit.
    """

    estimator: Estimator
    encoding: Encoding
    target: str
    labels: tuple[str, ...]
    missing: tuple[str, ...] = ()
    trained_on: str | None = None
    forms: tuple[CellForm, ...] = ()

    @classmethod
    def of_training(cls, estimator: Estimator, table: TrainingTable) -> Self:
        """Combine a model fitted to ``table.X`` and ``table.y`` with the table's encoding."""
        kept = tuple(estimator.kept_columns().tolist())
        encoding = table.encoding.take(kept)
        return cls(
            estimator.on_kept_columns(),
            encoding,
            table.target,
            table.labels,
            table.missing,
            content_hash(row_digests(table.X.iloc[:, list(kept)].to_numpy(), table.y)),
            tuple(form for form in table.forms if set(form.names) & set(encoding.columns)),
        )

    def was_trained_on(self, digests: Iterable[bytes]) -> bool:
        """Whether these are the rows of the training, in any order.

        Parameters
        ----------
        digests : iterable of bytes
            From `row_digests`, of features as :meth:`encode` returns them and the indices of
            classes among the labels.
        """
        return self.trained_on is not None and self.trained_on == content_hash(digests)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that a table must have."""
        source = {name: form.column for form in self.forms for name in form.names}
        return tuple(dict.fromkeys(source.get(name, name) for name in self.encoding.columns))

    def encode(
        self, table: Any, *, first_row: int = 1, decimal: str = "."
    ) -> tuple[AnyArray, dict[str, tuple[str, ...]]]:
        """Return the kept features of a table, and categories that training did not know.

        Parameters
        ----------
        table : pyarrow.Table, pandas or polars frame
            With the model's columns; others are not looked at.
        first_row : int, default=1
            Number of the first row, for messages.
        decimal : {".", ","}
            Decimal mark of numbers that are text.
        """
        rows = as_arrow(table, self.columns)
        if self.missing:
            cells = {name: without(rows[name], name, self.missing) for name in self.columns}
            rows = pa.table(cells)
        locations = RowLocations(first=first_row)
        rows = with_numbers(rows, self.forms, locations=locations)
        return self.encoding.apply(rows, locations=locations, decimal=decimal)

    def predict_proba(self, table: Any, *, class_prior: Any = None) -> FloatArray:
        """Return the probability of each class, in the order of the labels, shape (n, C).

        Parameters
        ----------
        table : pyarrow.Table, pandas or polars frame
            With the model's columns. A category that training did not know is missing.
        class_prior : array-like of shape (C,), optional
            Prevalences where the model is used.
        """
        return self.estimator.predict_proba(self._features(table), class_prior=class_prior)

    def predict_proba_interval(
        self, table: Any, level: float = 0.9, *, class_prior: Any = None
    ) -> FloatArray:
        """Return an interval for the probability of the positive class, shape (n, 2).

        With more than two classes, for that of each, shape (n, C, 2).

        Parameters
        ----------
        table : pyarrow.Table, pandas or polars frame
            With the model's columns.
        level : float, default=0.9
            Probability that the interval holds.
        class_prior : array-like of shape (C,), optional
            Prevalences where the model is used.
        """
        features = self._features(table)
        return self.estimator.predict_proba_interval(features, level, class_prior=class_prior)

    def _features(self, table: Any) -> Any:
        """Return the kept features of a table; warn of unknown categories."""
        values, unknown = self.encode(table)
        for column, levels in unknown.items():
            warnings.warn(
                f"column {shown(column)} has categories that were not in training, treated for "
                f"missing: {listed(levels)}.",
                UserWarning,
                stacklevel=3,
            )
        return self.frame(values)

    def predict(self, table: Any) -> AnyArray:
        """Return the most probable label of each row."""
        # The last of equal ones: a probability of 1/2 predicts the positive class.
        from_the_end = self.predict_proba(table)[:, ::-1].argmax(axis=1)
        result: AnyArray = np.array(self.labels, dtype=object)[::-1][from_the_end]
        return result

    def frame(self, features: AnyArray) -> Any:
        """Name the columns of encoded features, as the estimator knows them."""
        import pandas as pd

        return pd.DataFrame(
            features, columns=pd.Index(self.encoding.names, dtype=object), copy=False
        )

    def batches(
        self, file: TableFile, more: tuple[str, ...] = ()
    ) -> Generator[tuple[Any, pa.Table, dict[str, tuple[str, ...]]], None, None]:
        """Encode a file part by part.

        Parameters
        ----------
        file : TableFile
            Refused where a column of the model is not there.
        more : tuple of str
            Other columns to hand over, as text.

        Yields
        ------
        features : DataFrame
            The kept features.
        rows : pyarrow.Table
            The columns that were read.
        unknown : dict
            Categories that training did not know, by column.
        """
        self.check_columns(file)
        file = file.with_missing(self.missing)
        wanted = tuple(dict.fromkeys((*self.columns, *more)))
        first_row = 1
        names = set(more) - set(self.columns)
        text = {*self.encoding.text_columns, *(form.column for form in self.forms), *more}
        with closing(file.batches(wanted, text=text, names=names)) as parts:
            for rows in parts:
                features, unknown = self.encode(rows, first_row=first_row, decimal=file.decimal)
                yield self.frame(features), rows, unknown
                first_row += rows.num_rows

    def check_columns(self, file: TableFile) -> None:
        """Raise an error that names the model's columns that a file lacks."""
        known = set(file.columns)
        missing = [name for name in self.columns if name not in known]
        if missing:
            number = "a column" if len(missing) == 1 else f"{len(missing):,} columns"
            msg = f"{file.name} lacks {number} that the model needs: {listed(missing)}."
            hint = "" if SAMPLE in file.apart else transposition_hint(file, missing[0])
            raise InputError(f"{msg} {hint}" if hint else msg)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file of plain data, atomically."""
        content, arrays = self._to_plain()
        try:  # what could not be read again is not written
            self._from_plain(content, arrays)
        except ModelFileError as error:
            msg = f"the model cannot be saved: {error}."
            raise ValueError(msg) from None
        write_archive(path, KIND, content, arrays)

    def _to_plain(self) -> Plain:
        content, arrays = nested("estimator", self.estimator._to_plain())
        content |= {
            "estimator_kind": spec_of(self.estimator).kind,
            "encoding": self.encoding.to_dict(),
            "target": self.target,
            "labels": list(self.labels),
            "missing": list(self.missing),
            "trained_on": self.trained_on or None,
            **({"forms": forms_to_plain(self.forms)} if self.forms else {}),
        }
        return content, arrays

    @classmethod
    def _from_plain(cls, content: dict[str, Any], arrays: dict[str, AnyArray]) -> Self:
        """Return the model that a file describes; refuse anything else."""
        entries = Entries(content, arrays)
        try:
            encoding = Encoding.from_dict(entries.value("encoding"))
        except ValueError as error:
            entries.refuse("encoding", f"is refused: {error}")
        target, labels = entries.value("target"), entries.value("labels")
        entries.check(isinstance(target, str), "target", "is not a text")
        entries.check(
            isinstance(labels, list)
            and len(labels) >= 2
            and all(isinstance(label, str) for label in labels)
            and len(set(labels)) == len(labels),
            "labels",
            "are not two or more different texts",
        )
        missing = entries.value("missing")
        good = isinstance(missing, list) and all(isinstance(text, str) and text for text in missing)
        entries.check(good, "missing", "is not a list of texts")
        trained_on = entries.value("trained_on")
        entries.check(
            trained_on is None or (isinstance(trained_on, str) and _HASH.fullmatch(trained_on)),
            "trained_on",
            "is not a hash",
        )
        forms: tuple[CellForm, ...] = ()
        if entries.has("forms"):
            try:
                forms = tuple(forms_from_plain(entries.value("forms")))
            except ValueError as error:
                entries.refuse("forms", str(error))
        kind = entries.value("estimator_kind")
        known = {spec.kind: spec.estimator for spec in table_specs().values()}
        entries.check(isinstance(kind, str) and kind in known, "estimator_kind", "is unknown")
        estimator: Estimator = known[kind]._from_plain(*entries.section("estimator").plain())
        entries.finish()
        names = tuple(str(name) for name in estimator.get_feature_names_out())
        in_order = estimator.kept_columns().tolist() == list(range(estimator.n_features_in_))
        if not in_order or names != encoding.names:
            msg = "the encoding and the model do not fit together"
            raise ModelFileError(msg)
        if estimator.classes_.tolist() != list(range(len(labels))):
            msg = "the model's classes are not the indices of its labels"
            raise ModelFileError(msg)
        return cls(estimator, encoding, target, tuple(labels), tuple(missing), trained_on, forms)


def content_hash(digests: Iterable[bytes]) -> str:
    """Return one hash of all rows, from the digest of each, in any order."""
    return hashlib.sha256(b"".join(sorted(digests))).hexdigest()


def as_arrow(table: Any, columns: tuple[str, ...]) -> pa.Table:
    """Return the named columns of an Arrow table, a pandas or a polars frame."""
    if isinstance(table, pa.Table):
        return table
    if not hasattr(table, "columns"):
        msg = (
            f"the table is a {type(table).__name__}, whose columns have no names; give a pandas or "
            "polars frame with the model's columns."
        )
        raise InputError(msg)
    missing = [name for name in columns if name not in table.columns]
    if missing:
        msg = f"the table has no column {listed(missing)}, which the model needs; add it."
        raise InputError(msg)
    part = table[list(columns)]
    if type(part).__module__.split(".")[0] == "polars":
        arrow: pa.Table = part.to_arrow()
        return arrow
    try:
        return pa.Table.from_pandas(part, preserve_index=False)
    except pa.ArrowException as error:  # a column of numbers and text
        raise InputError(" ".join(str(error).split())) from None
