"""Tables with a feature in each row, and files that hold the classes of their samples.

Expression data often stand the other way round: a row for each gene, a column for each sample, and
the classes in a phenotype file beside them. A table is turned around here, and joined with its
phenotype file by the identifiers of the samples. GEO series matrix files and GCT files hold both.

Columns of a phenotype are not features unless the user names them: survival, stage or treatment may
follow from the class, or the class from them.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from honestbayes.tables.conversion import (
    clean_text,
    floats,
    is_number,
    is_text,
    number_cells,
    plain,
    to_text,
)
from honestbayes.tables.errors import InputError, listed, shown, suggestion
from honestbayes.tables.files import MemoryReader, TableFile
from honestbayes.types import AnyArray, FloatArray

SAMPLE = "sample"
"""Name of the column that identifies the samples of a table that was turned around."""

# --------------------------------------------------------------------------------------------------
# Features in rows
# --------------------------------------------------------------------------------------------------


def transposed(file: TableFile) -> TableFile:
    """Return a table with the rows of a file as columns.

    The first column holds the names of the features, the header the identifiers of the samples.
    A row whose cells are not all numbers, such as one with the class, becomes a column of text. A
    column without any number, such as a description of each gene, is not a sample and is left out.
    """
    if len(file.columns) < 3:
        msg = (
            f"{file.name} has {len(file.columns)} columns; --transpose needs one with the names of "
            "the features and one for each sample."
        )
        raise InputError(msg)
    table = whole_table(file)
    first, *others = file.columns
    names = to_text(table[first], first).to_pylist()
    cells = {name: _cells(table[name], name, file.decimal_of(name)) for name in others}
    about = [name for name in others if not cells[name][1].any() and len(names) > 1]
    if len(about) == len(others):
        about = []  # texts everywhere: all of them may be categories
    samples = [name for name in others if name not in about]
    notes = [f"Rows of {file.name} are features: {len(names):,} for {len(samples):,} samples."]
    if about:
        which = "is not a sample" if len(about) == 1 else "are not samples"
        notes.append(f"{listed(about)} {which} (no numbers), and left out.")
    return _turned(file, names, samples, [cells[name] for name in samples], notes)


def whole_table(file: TableFile) -> pa.Table:
    """Return all cells of a file as its reader has them."""
    parts = list(file.reader.batches(file.columns, limit=file.max_bytes, whole=True))
    if not parts:
        msg = f"{file.name} has no rows; give a table with a header and rows."
        raise InputError(msg)
    return pa.concat_tables(parts, promote_options="permissive")


Cells = tuple[FloatArray, AnyArray, Any]
"""Of a column: its numbers, NaN elsewhere; which cells are numbers; its texts, None where there is
none."""


def _cells(column: pa.ChunkedArray, name: str, decimal: str) -> Cells:
    """Tell numbers from texts in a column; a missing cell counts as a number where others are."""
    if is_number(column.type) and not pa.types.is_boolean(plain(column).type):
        return floats(column), np.ones(len(column), dtype=bool), None
    text = clean_text(plain(column)) if is_text(column.type) else to_text(column, name)
    good = np.asarray(number_cells(text, decimal).fill_null(True))
    numbers = pc.if_else(pa.chunked_array([pa.array(good)]), text, pa.scalar(None, pa.string()))
    if decimal == ",":
        numbers = pc.replace_substring(numbers, ",", ".")
    observed = good & np.asarray(text.is_valid())
    return floats(numbers.cast(pa.float64())), good if observed.any() else observed, text


def _turned(
    file: TableFile,
    names: Sequence[str | None],
    samples: Sequence[str],
    cells: Sequence[Cells],
    notes: Sequence[str],
) -> TableFile:
    """Return a table with a row for each sample, from the cells of each sample."""
    nameless = next((i for i, name in enumerate(names) if not name), None)
    if nameless is not None:
        msg = f"{file.locations().describe(nameless)} of {file.name} has no name; name it."
        raise InputError(msg)
    unique, repeated = _distinct([str(name) for name in names])
    notes = list(notes)
    if repeated:
        notes.append(
            f"{listed(repeated)}: names of several rows; the second is called "
            f"{shown(repeated[0] + '.2')}, and so on."
        )
    values = np.array([numbers for numbers, _, _ in cells])
    are_numbers = np.logical_and.reduce([good for _, good, _ in cells])
    columns: dict[str, pa.Array] = {SAMPLE: pa.array(samples, pa.string())}
    for j, name in enumerate(unique):
        if are_numbers[j]:
            columns[name] = pa.array(values[:, j], from_pandas=True)
        else:
            texts = [
                _number_as_text(numbers[j]) if text is None else text[j].as_py()
                for numbers, _, text in cells
            ]
            columns[name] = pa.array(texts, pa.string())
    if SAMPLE in unique:
        msg = f"a row of {file.name} is called {shown(SAMPLE)}; rename it."
        raise InputError(msg)
    return replace(
        file,
        format="parquet",  # cells have their types
        columns=tuple(columns),
        reader=MemoryReader(pa.table(columns)),
        notes=(*file.notes, *notes),
        marks={},
        line_of=None,
        apart=frozenset({SAMPLE}),
    )


def _number_as_text(value: float) -> str | None:
    return None if value != value else f"{value:g}"


def _distinct(names: list[str]) -> tuple[list[str], list[str]]:
    """Return different names, and those that occur more than once.

    >>> _distinct(["a", "b", "a"])
    (['a', 'b', 'a.2'], ['a'])
    """
    seen: Counter[str] = Counter()
    taken, result = set(names), []
    for name in names:
        seen[name] += 1
        new = name
        if seen[name] > 1:
            number = seen[name]
            while (new := f"{name}.{number}") in taken:
                number += 1
            taken.add(new)
        result.append(new)
    return result, [name for name, count in seen.items() if count > 1]


def transposition_hint(file: TableFile, target: str) -> str:
    """Return the option that a table without a column of the class may need; mostly nothing.

    Parameters
    ----------
    file : TableFile
        A table without the column ``target``.
    target : str
        The class.
    """
    first = file.columns[0]
    if SAMPLE in file.apart:
        near = "did you mean" in suggestion(target, file.columns)
        hint = "Add the file that holds the classes with --phenotype, if they are not in this one."
        return "" if near or len(file.apart) > 1 else hint
    if len(file.columns) < 3:
        return ""
    names = to_text(file.read([first], text={first})[first], first).to_pylist()
    if target in names:
        return f"{target!r} is a row of {file.name}: features are in rows. Add --transpose."
    near = "did you mean" in suggestion(target, file.columns)
    many = len(names) > 2 * len(file.columns) and not near
    numbers = number_cells(pa.chunked_array([pa.array(names, pa.string())]))
    if many and len(set(names)) == len(names) and not pc.any(numbers).as_py():
        return (
            f"{file.name} has {len(names):,} rows with different names in its first column: if "
            "these are features, add --transpose, and the file that holds the classes with "
            "--phenotype."
        )
    return ""


# --------------------------------------------------------------------------------------------------
# Phenotype files
# --------------------------------------------------------------------------------------------------


def joined(file: TableFile, phenotype: TableFile, sample_id: str | None = None) -> TableFile:
    """Return a table with the columns of a phenotype file, joined by the samples' identifiers.

    Parameters
    ----------
    file : TableFile
        The table of features, a row for each sample. Its identifiers are in the column
        ``sample_id`` if it has one, else in the column that names samples, else in the first.
    phenotype : TableFile
        A row for each sample; in its columns the class, and what else is known of the sample.
    sample_id : str, optional
        Column of the phenotype file that identifies samples; by default its first.

    Raises
    ------
    InputError
        Where no sample is in both, or an identifier stands twice in the phenotype file.
    """
    key = phenotype.columns[0] if sample_id is None else sample_id
    phenotype.require([key])
    own = next((name for name in (key, SAMPLE) if name in file.columns), file.columns[0])
    facts = phenotype.read(text={key})
    known = to_text(facts[key], key).to_pylist()
    table = whole_table(file)
    ids = to_text(table[own], own).to_pylist()
    spelled = _spelled_otherwise(ids, known)
    row_of = {name: row for row, name in enumerate(known) if name}
    rows = [row_of.get(spelled.get(name, name) if name else name, -1) for name in ids]
    found = np.flatnonzero(np.array(rows) >= 0)
    if not found.size:
        raise _no_match(file, phenotype, own, key, ids, known)
    twice = [name for name, count in Counter(known).items() if name and count > 1]
    if twice:
        msg = (
            f"column {shown(key)} of {phenotype.name} holds {listed(twice)} more than once; give "
            "one row for each sample."
        )
        raise InputError(msg)
    both = [name for name in phenotype.columns if name in file.columns and name not in (key, own)]
    if both:
        msg = f"{file.name} and {phenotype.name} both have a column {listed(both)}; rename it."
        raise InputError(msg)
    kept = table.take(pa.array(found))
    columns = {name: kept[name] for name in file.columns}
    order = pa.array([rows[i] for i in found])
    apart = [name for name in phenotype.columns if name not in columns]
    columns |= {name: facts[name].take(order) for name in apart}
    in_both = {ids[i] for i in found}
    in_both |= {spelled[name] for name in in_both if name in spelled}
    notes = [_matched(file.name, phenotype.name, found.size, len(ids))]
    if spelled:
        own_name, other_name = next(iter(spelled.items()))
        are = "1 sample was" if len(spelled) == 1 else f"{len(spelled):,} samples were"
        notes.append(
            f"{are} matched although the identifiers differ in case, in punctuation, or in the "
            f"'X' that R writes before a number: {shown(own_name)} is {shown(other_name)}."
        )
    for name, missing in (
        (file.name, [i for i in ids if i not in in_both]),
        (phenotype.name, [k for k in known if k and k not in in_both]),
    ):
        if missing:
            which = "1 sample is" if len(missing) == 1 else f"{len(missing):,} samples are"
            notes.append(f"{which} in {name} only, and not used: {listed(map(str, missing))}.")
    return replace(
        file,
        columns=tuple(columns),
        reader=MemoryReader(pa.table(columns), file.decimal),
        notes=(*file.notes, *phenotype.notes, *notes),
        row_numbers=found + 1 if file.row_numbers is None else file.row_numbers[found],
        apart=file.apart | frozenset((own, *apart)),
    )


def _spelled_otherwise(ids: Sequence[str | None], known: Sequence[str | None]) -> dict[str, str]:
    """Return identifiers that only another program spells otherwise, and what each of them is.

    R's make.names turns "1-a b" into "X1.a.b". Where two identifiers of a file would be one, none
    of them is matched.

    >>> _spelled_otherwise(["X12.a", "B", "c_1"], ["12-A", "B", "C-1", "c 1"])
    {'X12.a': '12-A'}
    """
    own, others = {i for i in ids if i}, {k for k in known if k}
    left = {_key(name): name for name in own - others}
    right = {_key(name): name for name in others - own}
    keys = Counter(map(_key, own)), Counter(map(_key, others))
    return {
        name: right[key]
        for key, name in sorted(left.items())
        if key and key in right and keys[0][key] == keys[1][key] == 1
    }


def _key(name: str) -> str:
    """Return what R, and people, leave of an identifier.

    Punctuation separates all the same: "1-11" and "11-1" are two samples.
    """
    return re.sub(r"[\W_]+", ".", re.sub(r"^[Xx](?=[\d.])", "", name)).casefold()


def _matched(file: str, phenotype: str, found: int, total: int) -> str:
    if found == total:
        return f"All {total:,} samples of {file} are in {phenotype}."
    return f"{found:,} of the {total:,} samples of {file} are in {phenotype}."


def _no_match(
    file: TableFile,
    phenotype: TableFile,
    own: str,
    key: str,
    ids: Sequence[str | None],
    known: Sequence[str | None],
) -> InputError:
    """Return the error of two files without a common sample, with the option that may mend it."""
    names = {name for name in known if name}
    if len(names & set(file.columns)) > 1:
        return InputError(
            f"the samples of {phenotype.name} are columns of {file.name}, which has a feature in "
            "each row; add --transpose."
        )
    other = next(
        (
            name
            for name in phenotype.columns
            if name != key
            and set(to_text(phenotype.read([name])[name], name).to_pylist()) & set(ids)
        ),
        None,
    )
    if other is not None:
        return InputError(
            f"column {shown(key)} of {phenotype.name} holds none of the samples of {file.name}, "
            f"but column {shown(other)} does; give --sample-id {other!r}."
        )
    start = next(
        (
            (longer, shorter)
            for shorts, longs in ((known, ids), (ids, known))
            for longer in longs[:100]
            for shorter in shorts
            if longer and shorter and len(shorter) > 2 and longer.startswith(shorter)
        ),
        None,
    )
    if start is not None:
        return InputError(
            f"no sample is in both files, but {shown(start[0])} begins with {shown(start[1])}: "
            "write the identifiers in one way, and give each sample one row."
        )
    return InputError(
        f"no sample is in both files: column {shown(own)} of {file.name} holds "
        f"{listed([str(i) for i in ids], 2)}, column {shown(key)} of {phenotype.name} holds "
        f"{listed([str(k) for k in known], 2)}; name the column of identifiers with --sample-id."
    )


# --------------------------------------------------------------------------------------------------
# Files with expression and phenotype together: GEO series matrix, GCT
# --------------------------------------------------------------------------------------------------


_KEY_AND_VALUE = re.compile(r"([^:]{1,60}): (.*)", re.DOTALL)


def open_series_matrix(name: str, lines: Iterable[str], words: dict[str, Any]) -> TableFile:
    """Read a series matrix file of GEO: samples in rows, phenotype from its ``!Sample_`` lines.

    A line ``!Sample_characteristics_ch1`` with cells such as "tissue: liver" becomes the column
    ``tissue``. Columns that hold one value only are left out.
    """
    facts: dict[str, list[str]] = {}
    rows: list[list[str]] = []
    header: list[str] = []
    inside = False
    for record in csv.reader(lines, delimiter="\t"):
        if not record:
            continue
        word = record[0].strip()
        if word == "!series_matrix_table_begin":
            inside = True
        elif word == "!series_matrix_table_end":
            inside = False
        elif inside and not header:
            header = record[1:]
        elif inside:
            rows.append(record)
        elif word.startswith("!Sample_"):
            _add_facts(facts, word.removeprefix("!Sample_"), record[1:])
    if not header or not rows:
        msg = (
            f"{name} holds no table of values, as series matrix files of sequencing data do "
            "not; download the supplementary table of counts, and give this file with --phenotype."
        )
        raise InputError(msg)
    return _of_matrix(name, header, rows, facts, words)


def _add_facts(facts: dict[str, list[str]], name: str, values: list[str]) -> None:
    """Add a line about all samples; one of characteristics under the key of each sample's cell."""
    n = len(values)
    if not name.startswith("characteristics"):
        key = name if name not in facts else f"{name}.{sum(k.startswith(name) for k in facts) + 1}"
        facts[key] = values
        return
    for i, value in enumerate(values):
        match = _KEY_AND_VALUE.fullmatch(value)
        key, cell = (match[1].strip(), match[2].strip()) if match else (name, value)
        if cell:
            cells = facts.setdefault(key, [])
            cells += [""] * (n - len(cells))  # lines may differ in length where a file is cut
            cells[i] = cell


def open_gct(name: str, lines: Iterable[str], words: dict[str, Any]) -> TableFile:
    """Read a GCT file (version 1.2 or 1.3): samples in rows, phenotype from 1.3's extra rows."""
    records = csv.reader(lines, delimiter="\t")
    version = next(records)[0].strip()
    try:
        sizes = [int(cell) for cell in next(records) if cell.strip()]
        header = next(records)
        n_about, n_facts = (1, 0) if version == "#1.2" else (sizes[2], sizes[3])
    except (ValueError, IndexError, StopIteration):
        msg = f"{name} is a GCT file whose second line does not hold its sizes; write it again."
        raise InputError(msg) from None
    rows = [record for record in records if record]
    facts = {record[0]: record[1 + n_about :] for record in rows[:n_facts]}
    matrix = [[record[0], *record[1 + n_about :]] for record in rows[n_facts:]]
    return _of_matrix(name, header[1 + n_about :], matrix, facts, words)


def _of_matrix(
    name: str,
    samples: list[str],
    rows: list[list[str]],
    facts: dict[str, list[str]],
    words: dict[str, Any],
) -> TableFile:
    """Return the table of a matrix of texts with a row for each feature, and of facts by sample."""
    n = len(samples)
    wrong = next((row for row in rows if len(row) != n + 1), None)
    if wrong is not None:
        msg = (
            f"the row {shown(wrong[0])} of {name} has {len(wrong) - 1:,} cells for {n:,} "
            "samples; write the file again."
        )
        raise InputError(msg)
    lines = [pa.chunked_array([pa.array([row[i] for row in rows])]) for i in range(1, n + 1)]
    base = TableFile(name, "parquet", tuple(samples), MemoryReader(pa.table({})), **words)
    cells = [_cells(line, sample, ".") for line, sample in zip(lines, samples, strict=True)]
    note = f"Rows of {name} are features: {len(rows):,} for {n:,} samples."
    file = _turned(base, [row[0].strip() for row in rows], samples, cells, [note])
    columns = {
        fact: values
        for fact, values in facts.items()
        if len(values) == n and len(set(values)) > 1 and fact not in file.columns
    }
    assert isinstance(file.reader, MemoryReader)
    table = file.reader.table
    for fact, values in columns.items():
        table = table.append_column(fact, clean_text(pa.chunked_array([pa.array(values)])))
    return replace(
        file,
        format="csv",
        columns=tuple(table.column_names),
        reader=MemoryReader(table),
        apart=file.apart | frozenset(columns),
    )
