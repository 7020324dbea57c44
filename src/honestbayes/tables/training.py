"""Training data from a user's table."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from honestbayes.data.kinds import Kind
from honestbayes.tables.checks import (
    OF_CELLS,
    Finding,
    find_in_columns,
    find_in_rows,
    gathered,
    kept_copies,
    ordinary_binary_columns,
    summary_row,
)
from honestbayes.tables.columns import (
    DATE,
    Column,
    check_kinds,
    classify_columns,
    decided_column,
    decided_table,
)
from honestbayes.tables.conversion import infer, is_number, is_text, split_mark, without
from honestbayes.tables.encoding import Encoding, encoding_of
from honestbayes.tables.errors import DoubtfulTable, InputError, RowLocations, listed, shown
from honestbayes.tables.expression import SAMPLE, transposition_hint
from honestbayes.tables.files import TableFile
from honestbayes.tables.target import read_target
from honestbayes.tables.units import CellForm, find_forms, with_numbers
from honestbayes.types import AnyArray, IntArray

if TYPE_CHECKING:
    import pandas as pd

_MAX_CHOICES = 20  # columns that are shown to a user who has named none
_MAX_NAMED = 8  # notes that name one column each; more are gathered


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingTable:
    """Training data, and where they came from.

    Attributes
    ----------
    X : DataFrame of shape (n, p)
        Encoded features, one NumPy block; int8 where all are 0/1 and complete, else float64 with
        NaN where missing.
    kinds : tuple of {"binary", "categorical", "real"}
        What each feature holds: at most two different numbers, codes of categories, other numbers.
    y : ndarray of shape (n,)
        The index of each row's class among the labels.
    labels : tuple of str
        The classes as text; of two, the negative and the positive one.
    target : str
        Column of the class.
    groups : ndarray of str of shape (n,), or None
        Cases that belong together.
    ids : ndarray of str of shape (n,), or None
        Identifiers of the rows; empty where missing.
    row_numbers : ndarray of shape (n,)
        Numbers of the data rows that are used, counted from 1.
    columns : tuple of Column
        What each column is that could be a feature.
    encoding : Encoding
        How the columns became features.
    keep : tuple of str
        Features that come from columns kept by design.
    covariates : tuple of str
        Features that are conditioned on and not modelled.
    forms : tuple of CellForm
        Columns whose cells hold a number and more, such as a unit.
    ignored : tuple of str
        Columns that the user left out.
    notes : tuple of str
        What a reader should know, one plain sentence each; first what is doubtful.
    findings : tuple of Finding
        What is doubtful in the table, those that stop a report first.
    missing : tuple of str
        The user's texts for missing cells.
    decided : tuple of str
        Columns whose kind the user has named.
    """

    X: pd.DataFrame
    kinds: tuple[Kind, ...]
    y: IntArray
    labels: tuple[str, ...]
    target: str
    groups: AnyArray | None
    ids: AnyArray | None
    row_numbers: IntArray
    columns: tuple[Column, ...]
    encoding: Encoding
    keep: tuple[str, ...]
    ignored: tuple[str, ...]
    notes: tuple[str, ...]
    findings: tuple[Finding, ...] = ()
    missing: tuple[str, ...] = ()
    decided: tuple[str, ...] = ()
    covariates: tuple[str, ...] = ()
    forms: tuple[CellForm, ...] = ()

    def class_counts(self) -> list[int]:
        """Return how many cases each class has."""
        counts: list[int] = np.bincount(self.y, minlength=len(self.labels)).tolist()
        return counts

    def most_folds(self) -> tuple[int, str, str]:
        """Return the largest number of folds and its reason: "class 'a' has", "cases"."""
        counts = self.class_counts()
        smaller = counts.index(min(counts))
        n_groups = None if self.groups is None else len(set(self.groups.tolist()))
        if n_groups is not None and n_groups < counts[smaller]:
            return n_groups, "there are", "groups"
        return counts[smaller], f"class {shown(self.labels[smaller])} has", "cases"

    def refuse_doubts(self, name: str) -> None:
        """Raise DoubtfulTable if something may lead to a wrong conclusion."""
        doubts = [finding.in_command() for finding in self.findings if finding.stops]
        if doubts:
            raise DoubtfulTable(name, doubts)


def read_training(
    file: TableFile,
    *,
    target: str | None,
    positive: str | None = None,
    ignore: Collection[str] = (),
    keep: Collection[str] = (),
    covariates: Collection[str] = (),
    groups: str | None = None,
    ids: str | None = None,
    coded: bool = False,
    kinds: Mapping[str, Kind] | None = None,
    keep_duplicates: bool = False,
    merge_labels: bool = False,
    missing_labels: Collection[str] = (),
    keep_labels: bool = False,
    units: bool = True,
) -> TrainingTable:
    """Read a table and encode it for training.

    Parameters
    ----------
    file : TableFile
        From :func:`open_table`.
    target : str or None
        Column of the class; may be None for a NumPy archive, whose class is ``y``.
    positive : str, optional
        Of two classes the positive one; when not given, the one whose label names a case, or the
        rarer one.
    ignore : collection of str
        Columns to leave out.
    keep : collection of str
        Columns that stay in the model by design, even those that look like identifiers.
    covariates : collection of str
        Columns that are conditioned on and not modelled.
    groups : str, optional
        Column of groups of cases.
    ids : str, optional
        Column that names the rows.
    coded : bool, default=False
        Whether a text column with more than two categories is one feature, the code of its
        category, or a 0/1 feature for each category.
    kinds : mapping of str to {"binary", "categorical", "real"}, optional
        What columns are, where the user knows better.
    keep_duplicates : bool, default=False
        Whether rows that repeat another one are meant.
    merge_labels : bool, default=False
        Whether labels that differ in case, blanks or hyphens only are one class.
    missing_labels : collection of str
        Labels of the target, in any spelling, that mean that the class is missing.
    keep_labels : bool, default=False
        Whether all labels of the target are classes as they are.
    units : bool, default=True
        Whether cells with a unit, thousands separators or two numbers are read as numbers, where a
        whole column is written so.

    Raises
    ------
    InputError
        Where the table cannot be used, in one sentence that names the place and the fix.
    """
    import pandas as pd

    target = target_name(file, target)
    _check_roles(file, target, ignore, keep, covariates, groups, ids)
    apart, keep = tuple(dict.fromkeys(covariates)), (*keep, *covariates)
    given = dict(kinds or {})
    roles = {target, groups, ids, *ignore}
    check_kinds(given, file.columns, {name for name in roles if name is not None})
    named = {*keep, *given}
    unused = [name for name in file.columns if name in file.apart - roles - named]
    wanted = [name for name in file.columns if name not in roles and name not in unused]
    read = [name for name in (target, groups, ids) if name is not None]
    file.require([column for column, _ in map(split_mark, file.missing) if column])
    table = file.read([*read, *wanted], text={name for name in (groups, ids) if name})
    _refuse_repeated_header(file, table, target)
    classes = read_target(
        table[target],
        target,
        positive,
        merge=merge_labels,
        missing=missing_labels,
        keep=keep_labels,
        table=file.name,
        locations=file.locations(file.row_numbers),
    )
    used = np.flatnonzero(classes.has_class)
    row_numbers = used + 1 if file.row_numbers is None else file.row_numbers[used]
    locations = file.locations(row_numbers)
    cleared: list[str] = []
    if used.size < table.num_rows:
        table, cleared = _without_rows(file, table, used, wanted)
    raw = table.select(wanted)
    commas = file.decimal == "," or "," in file.marks.values()
    forms = find_forms(raw, without=given, commas=commas) if units else ()
    candidates = decided_table(
        with_numbers(raw, forms, locations=locations), given, file.decimal_of, locations
    )
    columns = _columns(file, candidates, given, keep, locations)
    encoding = encoding_of(columns, coded=coded)
    look = partial(
        find_in_columns,
        candidates,
        columns,
        classes.codes,
        classes.labels,
        keep=keep,
        decided={*given, *file.counts},
        decimal_of=file.decimal_of,
        locations=locations,
    )
    if not encoding.features:
        raise _nothing_left(file, columns, look())
    values, _ = encoding.apply(candidates, locations=locations)
    lost = classes.has_class.size - row_numbers.size
    together = _group_names(table, groups, locations)
    numbers = [f.level is None and not f.coded and f.column not in keep for f in encoding.features]
    ordinary = ordinary_binary_columns(
        values, classes.codes, len(classes.labels), np.array(numbers)
    )
    doubts = look(
        groups=together,
        ordinary=[encoding.features[j].column for j in np.flatnonzero(ordinary)],
    )
    if together is None:
        real = {column.name for column in columns if column.kind == "real"}
        measured = np.array([feature.column in real for feature in encoding.features])
        doubts = find_in_rows(
            doubts,
            values,
            classes.codes,
            measured,
            real,
            names=encoding.names,
            keep_duplicates=keep_duplicates,
            locations=locations,
        )
    copies = kept_copies(candidates, columns, classes.codes, len(classes.labels), keep)
    doubts = gathered((*classes.findings, *summary_row(raw, locations), *doubts, *copies))
    return TrainingTable(
        X=pd.DataFrame(values, columns=pd.Index(encoding.names, dtype=object), copy=False),
        kinds=_kinds(encoding, columns, values),
        y=classes.codes,
        labels=classes.labels,
        target=target,
        groups=together,
        ids=None if ids is None else _texts(table[ids]),
        row_numbers=row_numbers,
        columns=columns,
        encoding=encoding,
        keep=tuple(f.name for f in encoding.features if f.column in keep and f.column not in apart),
        ignored=tuple(name for name in file.columns if name in ignore),
        notes=(
            *(finding.note() for finding in doubts),
            *file.notes,
            *_apart_notes(unused),
            *classes.notes,
            *_row_notes(lost, target, cleared),
            *_mark_notes(file, columns),
            *(form.describe() for form in forms),
            *_column_notes(columns),
            *_covariate_notes(apart),
        ),
        findings=doubts,
        missing=file.missing,
        decided=tuple(given),
        covariates=tuple(f.name for f in encoding.features if f.column in apart),
        forms=forms,
    )


def _apart_notes(names: Sequence[str]) -> Iterator[str]:
    """Yield a note on columns of the phenotype that are no features."""
    names = [name for name in names if name != SAMPLE]
    if names:
        yield (
            f"{listed(names)}: columns of the phenotype are features only where --covariates or "
            "--keep names them."
        )


def _covariate_notes(names: Sequence[str]) -> Iterator[str]:
    """Yield a note on columns that are conditioned on."""
    if names:
        is_one = "is a covariate: it sets" if len(names) == 1 else "are covariates: they set"
        yield f"{listed(names)} {is_one} the prior probability of each case, outside the ranking."


def _columns(
    file: TableFile,
    table: pa.Table,
    kinds: Mapping[str, Kind],
    keep: Collection[str],
    locations: RowLocations,
) -> tuple[Column, ...]:
    """Return what each column is; kinds that the user has named come first."""
    open_ones = [name for name in table.column_names if name not in kinds]
    by_name = {
        column.name: column
        for column in classify_columns(
            table.select(open_ones), keep=keep, decimal=file.decimal_of, locations=locations
        )
    }
    for name, kind in kinds.items():
        by_name[name] = decided_column(table[name], name, kind)
    _refuse_dates([column.name for column in by_name.values() if column.reason == DATE])
    return tuple(by_name[name] for name in table.column_names)


def _refuse_dates(names: Sequence[str]) -> None:
    """Refuse columns of dates or times, as estimators do: when something was is often telling."""
    if names:
        msg = (
            f"{listed(names)}: dates and times cannot be used as they are; turn each column into a "
            "number, such as days since a date, or leave it out with --ignore."
        )
        raise InputError(msg)


def _kinds(encoding: Encoding, columns: tuple[Column, ...], values: AnyArray) -> tuple[Kind, ...]:
    """Return the kind of each feature; one number only is binary, as two are."""
    real = {column.name for column in columns if column.kind == "real"}
    varies = np.fmin.reduce(values, axis=0) < np.fmax.reduce(values, axis=0)
    return tuple(
        "categorical" if feature.coded else "real" if feature.column in real and more else "binary"
        for feature, more in zip(encoding.features, varies.tolist(), strict=True)
    )


def target_name(file: TableFile, target: str | None) -> str:
    """Return the target column; raise an error if it is not given."""
    if file.format == "npz" and target in (None, "y") and "phenotype" not in file.columns:
        if "y" not in file.columns:
            msg = (
                f"{file.name} has no classes; give them with --phenotype, pack the table again "
                "with --target, or save y beside X."
            )
            raise InputError(msg)
        target = "y"
    if target is None:
        msg = (
            f"name the column of {file.name} that holds the class, with --target; its columns are "
            f"{listed(file.columns, _MAX_CHOICES)}."
        )
        raise InputError(msg)
    if target not in file.columns:
        hint = transposition_hint(file, target)
        if hint:
            msg = f"{file.name} has no column {shown(target)}. {hint}"
            raise InputError(msg)
    return target


def _check_roles(
    file: TableFile,
    target: str,
    ignore: Collection[str],
    keep: Collection[str],
    covariates: Collection[str],
    groups: str | None,
    ids: str | None,
) -> None:
    """Refuse columns that do not exist, or that are given two roles."""
    given = [
        ("the target", (target,)),
        ("a column to ignore", ignore),
        ("a column to keep", keep),
        ("a covariate", covariates),
        ("the groups", () if groups is None else (groups,)),
        ("the identifiers", () if ids is None else (ids,)),
    ]
    roles: dict[str, str] = {}
    for role, names in given:
        file.require(tuple(names))
        for name in names:
            if roles.setdefault(name, role) != role:
                msg = f"column {shown(name)} is given as {roles[name]} and as {role}; choose one."
                raise InputError(msg)


def _nothing_left(
    file: TableFile, columns: tuple[Column, ...], doubts: tuple[Finding, ...]
) -> InputError:
    lost = [finding.in_command() for finding in doubts if finding.rule in OF_CELLS]
    if lost:  # numbers that are not read as such may be all that there is
        return DoubtfulTable(file.name, lost)
    if not columns:
        return InputError(
            f"{file.name} has no columns left as features; add some, or ignore fewer of them."
        )
    reasons = ", ".join(f"{shown(c.name)} ({c.reason})" for c in columns[:3])
    more = f" and {len(columns) - 3:,} more" if len(columns) > 3 else ""
    return InputError(
        f"{file.name} has no columns that can be features: {reasons}{more}; add columns of "
        "numbers, or of text with few categories."
    )


def _texts(column: pa.ChunkedArray) -> AnyArray:
    return np.array([text or "" for text in column.to_pylist()], dtype=np.str_)


def _group_names(table: pa.Table, groups: str | None, locations: RowLocations) -> AnyArray | None:
    if groups is None:
        return None
    names = _texts(table[groups])
    empty = np.flatnonzero(names == "")
    if empty.size:
        where = locations.describe(int(empty[0]))
        msg = f"the group column {shown(groups)} has no value in {where}; give each row its group."
        raise InputError(msg)
    return names


def _refuse_repeated_header(file: TableFile, table: pa.Table, target: str) -> None:
    """Refuse a table in which the header stands again among the rows, as in pasted exports."""
    if not is_text(table[target].type):
        return
    rows = np.flatnonzero(np.asarray(pc.equal(table[target], target).fill_null(False)))
    others = [name for name in table.column_names if name != target]
    rows = rows[[any(table[name][row].as_py() == name for name in others) for row in rows.tolist()]]
    if rows.size:
        where = file.locations(file.row_numbers).describe(*rows[:5].tolist())
        more = f" and {rows.size - 5:,} more" if rows.size > 5 else ""
        msg = f"the header of {file.name} stands again in {where}{more}; delete it there."
        raise InputError(msg)


def _without_rows(
    file: TableFile, table: pa.Table, used: IntArray, columns: Sequence[str]
) -> tuple[pa.Table, list[str]]:
    """Return some rows of a table, and the columns that are numbers there and were text before.

    A row of units or of totals, or a remark below the table, has no class, and makes text of
    every column that it touches.
    """
    table = table.take(pa.array(used))
    cleared = []
    for name in columns:
        if file.format == "csv" and is_text(table[name].type):
            column = infer(table[name], file.decimal_of(name))
            if is_number(column.type) and column.null_count < len(column):
                index = table.column_names.index(name)
                table = table.set_column(index, name, without(column, name, file.missing))
                cleared.append(name)
    return table, cleared


def _row_notes(lost: int, target: str, cleared: Sequence[str]) -> list[str]:
    if lost == 0:
        return []
    rows = "1 row has" if lost == 1 else f"{lost:,} rows have"
    were = "was" if lost == 1 else "were"
    text = f"{rows} no class in column {shown(target)} and {were} left out"
    if cleared:
        text += f"; without their texts, {listed(cleared)} "
        text += "holds numbers" if len(cleared) == 1 else "hold numbers"
    return [f"{text}."]


def _mark_notes(file: TableFile, columns: tuple[Column, ...]) -> list[str]:
    """Note which columns have decimal commas while others have points."""
    if set(file.marks.values()) != {",", "."}:
        return []
    real = {column.name for column in columns if column.kind == "real"}
    commas = [name for name, mark in file.marks.items() if mark == "," and name in real]
    points = [name for name, mark in file.marks.items() if mark == "." and name in real]
    if not commas or not points:
        return []
    note = (
        f"Decimal commas are read in {listed(commas)}, decimal points in {listed(points)}; "
        "--decimal sets one for all columns."
    )
    return [note]


def _column_notes(columns: tuple[Column, ...]) -> list[str]:
    left = [column for column in columns if column.kind == "left out"]
    notes = [f"Column {shown(c.name)} is left out: {c.reason}." for c in left[:_MAX_NAMED]]
    rest = left[_MAX_NAMED:]
    if rest:
        which = "column is" if len(rest) == 1 else "columns are"
        notes.append(f"{len(rest):,} more {which} left out: {listed(c.name for c in rest)}.")
    remarks = [column for column in columns if column.kind != "left out" and column.reason]
    notes += [f"Column {shown(c.name)} is used as text: {c.reason}." for c in remarks[:_MAX_NAMED]]
    return notes
