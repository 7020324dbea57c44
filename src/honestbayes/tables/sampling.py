"""Some rows of a large table, drawn at random in one pass, in memory for no more than these."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from honestbayes.tables.files import TableFile
from honestbayes.tables.memory import MemoryReader
from honestbayes.types import FloatArray, IntArray


def sampled(file: TableFile, n_rows: int, seed: int) -> TableFile:
    """Return a table of rows drawn at random, each set of so many rows as probable as any other.

    Every row is given a random number, and those with the smallest are kept, in the order of the
    file. A table with no more rows is returned whole.

    Parameters
    ----------
    file : TableFile
        The table.
    n_rows : int
        How many rows are kept.
    seed : int
        Draws them.
    """
    known = getattr(file.reader, "n_rows", None)
    if known is not None and known <= n_rows:
        return file
    generator = np.random.default_rng(seed)
    parts: list[pa.Table] = []
    numbers: list[IntArray] = []
    lots: list[FloatArray] = []
    bound, total, waiting = np.inf, 0, 0
    for batch in file.reader.batches(file.columns, limit=file.max_bytes, whole=False):
        lot = generator.random(batch.num_rows)
        chosen = np.flatnonzero(lot < bound)
        # A batch may hold on to the memory of all its rows; what is taken does not.
        parts.append(batch.take(pa.array(chosen)))
        numbers.append(total + chosen + 1)
        lots.append(lot[chosen])
        total += batch.num_rows
        waiting += chosen.size
        if waiting > 2 * n_rows:
            parts, numbers, lots = _smallest(parts, numbers, lots, n_rows)
            bound, waiting = float(lots[0].max()), n_rows
    if total <= n_rows:
        table = pa.concat_tables(parts, promote_options="permissive") if parts else None
        return file if table is None else replace(file, reader=_in_memory(file, table))
    parts, numbers, lots = _smallest(parts, numbers, lots, n_rows)
    note = (
        f"Of {total:,} rows {n_rows:,} were drawn at random (seed {seed}), and the report is about "
        "these alone; --rows asks for more."
    )
    return replace(
        file,
        reader=_in_memory(file, parts[0]),
        notes=(*file.notes, note),
        row_numbers=numbers[0],
    )


def _smallest(
    parts: list[pa.Table], numbers: list[IntArray], lots: list[FloatArray], n_rows: int
) -> tuple[list[pa.Table], list[IntArray], list[FloatArray]]:
    """Keep the rows with the smallest random numbers, in their order."""
    lot = np.concatenate(lots)
    kept = np.sort(np.argpartition(lot, n_rows - 1)[:n_rows])
    table = pa.concat_tables(parts, promote_options="permissive").take(pa.array(kept))
    return [table.combine_chunks()], [np.concatenate(numbers)[kept]], [lot[kept]]


def _in_memory(file: TableFile, table: pa.Table) -> MemoryReader:
    return MemoryReader(table, file.decimal)
