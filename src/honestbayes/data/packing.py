"""Packing of tables into stores, in chunks, resumed after an interruption.

What is unfinished stands beside the store, in a folder with ``.partial`` after its name: the plan,
which says of which table; the parts that are whole, in the folder that becomes the store; and a
list of them with their checksums. The header is written last, then the folder gets its name.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from honestbayes.data.binarization import (
    Binarization,
    BinarizeOption,
    above,
    check_finite,
    is_zero_one,
    learn_binarization,
)
from honestbayes.data.frames import check_names
from honestbayes.data.labels import check_as_many, encode_labels
from honestbayes.data.packed_store import (
    CUTS,
    HEADER,
    LABELS,
    NAMES,
    PackedStore,
    StoreError,
    StoreHeader,
    checksum,
    columns_per_part,
    most_name_bytes,
    open_store,
    part_name,
    wrong_classes,
)
from honestbayes.data.source import (
    BLOCK_CELLS,
    Block,
    DescribeColumns,
    Source,
    as_source,
    column_slices,
    dense,
    work_of,
)
from honestbayes.files.atomic import atomic_write, move_folder
from honestbayes.types import AnyArray, FloatArray

# --------------------------------------------------------------------------------------------------
# Filling the parts of a store from blocks of any shape, in as few passes as fit in memory
#
# A part is begun when its first block arrives, if there is room for its bits, and handed over when
# all its cells were seen. Parts without room wait for the next pass: none where blocks hold whole
# columns, one for each 256 MiB of bits where they hold rows.
# --------------------------------------------------------------------------------------------------


ROOM = 256 << 20
"""Bytes of unfinished parts that are held at a time."""

_BLOCKS_AT_A_TIME = 8
"""Blocks that others may read together."""


class CellError(StoreError):
    """A cell that a store cannot hold.

    Attributes
    ----------
    row : int
        Where it is, counted from 0.
    what, fix : str
        What is wrong with it, and what to do.
    """

    def __init__(self, what: str, row: int, fix: str) -> None:
        self.what, self.row, self.fix = what, row, fix
        super().__init__(what, row, fix)  # from which a copy can be made in another process

    def __str__(self) -> str:
        return f"{self.what} in row {self.row}; {self.fix}."


def filled_parts(
    source: Source,
    header: StoreHeader,
    rule: Binarization | None,
    describe: DescribeColumns,
    done: set[int],
) -> Iterator[tuple[int, AnyArray]]:
    """Yield each part that is not done, with its words of shape (columns, words).

    Parameters
    ----------
    source : Source of shape (n, p)
        The table.
    header : StoreHeader
        The shape of the store and its parts.
    rule : Binarization or None
        How values become 0/1; None: they must be.
    describe : DescribeColumns
        Names columns in error messages.
    done : set of int
        Parts to leave out; those that are yielded join them.
    """
    n_parts = -(-header.n_columns // header.columns_per_part)
    while len(done) < n_parts:
        before = len(done)
        for part, bits in _one_pass(source, header, rule, describe, done):
            yield part, bits
            done.add(part)
        if len(done) == before:
            msg = f"the blocks of {type(source).__name__} do not hold every cell once."
            raise ValueError(msg)


class _Open:
    """A part that is being filled."""

    def __init__(self, header: StoreHeader, part: int) -> None:
        columns = header.columns_of(part)
        shape = columns.stop - columns.start, header.n_words
        self.columns = columns
        self.bits = np.zeros(shape, dtype="<u8")
        self.left = header.n_rows * shape[0]

    def add(self, rows: slice, columns: slice, packed: AnyArray) -> None:
        """Add bytes of bits that begin at the byte of the first row, zeros before it."""
        first, end = (
            max(columns.start, self.columns.start),
            min(columns.stop, self.columns.stop),
        )
        inside = slice(first - self.columns.start, end - self.columns.start)
        start = rows.start // 8
        target = self.bits.view(np.uint8)[inside, start : start + packed.shape[1]]
        target |= packed[first - columns.start : end - columns.start]
        self.left -= (rows.stop - rows.start) * (end - first)


def _one_pass(
    source: Source,
    header: StoreHeader,
    rule: Binarization | None,
    describe: DescribeColumns,
    done: set[int],
) -> Iterator[tuple[int, AnyArray]]:
    """Yield the parts for which there is room, in one pass over the table."""
    work = work_of(source)
    waiting: list[tuple[slice, slice, Any]] = []
    parts: dict[int, _Open] = {}
    missed: set[int] = set()
    held = 0

    def finished() -> Iterator[tuple[int, AnyArray]]:
        packed = work.results([call for _, _, call in waiting])
        for (rows, columns, _), some in zip(waiting, packed, strict=True):
            for part in _parts_of(header, columns):
                if part in parts:
                    parts[part].add(rows, columns, some)
                    if parts[part].left == 0:
                        yield part, parts.pop(part).bits
        waiting.clear()

    for block in _narrow_blocks(source):
        if len(waiting) == _BLOCKS_AT_A_TIME:
            yield from finished()
            held = sum(part.bits.nbytes for part in parts.values())
        wanted = []
        for part in _parts_of(header, block.columns):
            if part in done or part in missed:
                continue
            if part not in parts:
                if parts and held + header.part_size(part) > ROOM:
                    missed.add(part)
                    continue
                parts[part] = _Open(header, part)
                held += header.part_size(part)
            wanted.append(part)
        if not wanted:
            continue
        first = max(block.columns.start, header.columns_of(wanted[0]).start)
        end = min(block.columns.stop, header.columns_of(wanted[-1]).stop)
        columns = slice(first, end)
        function = partial(
            packed_bytes,
            columns=slice(first - block.columns.start, end - block.columns.start),
            cut=None if rule is None else rule.cut[columns],
            first_row=block.rows.start,
            describe=describe.at(columns),
        )
        waiting.append((block.rows, columns, work.call(function, block.values)))
    yield from finished()


def _parts_of(header: StoreHeader, columns: slice) -> range:
    width = header.columns_per_part
    return range(columns.start // width, -(-columns.stop // width))


def _narrow_blocks(source: Source) -> Iterator[Block]:
    """Yield blocks; those that are sparse and at hand, some columns at a time."""
    for block in source.blocks():
        if not sparse.issparse(block.values):
            yield block
            continue
        matrix: Any = block.values
        matrix = matrix.tocsc()
        for some in column_slices(*matrix.shape):
            first = block.columns.start
            columns = slice(first + some.start, first + some.stop)
            yield Block(block.rows, columns, matrix[:, some])


def packed_bytes(
    values: Any,
    *,
    columns: slice,
    cut: FloatArray | None,
    first_row: int,
    describe: DescribeColumns,
) -> AnyArray:
    """Return the bits of some columns of a block, as bytes of shape (columns, bytes).

    The first byte is that which holds the block's first row in the table; bits before it are 0.

    Parameters
    ----------
    values : ndarray, sparse matrix or PackedColumns, of shape (m, c)
        The cells of the block.
    columns : slice
        Which columns of it.
    cut : ndarray of shape (columns,) or None
        Values above it are ones; None: values must be 0 or 1.
    first_row : int
        Where the block begins in the table.
    describe : DescribeColumns
        Names the columns in error messages, from the first of them on.
    """
    before = first_row % 8
    cells: Any = values if sparse.issparse(values) else dense(values)
    cells = cells[:, columns]
    n, c = cells.shape
    packed = np.zeros((c, -(-(before + n) // 8)), dtype=np.uint8)
    width = max(1, BLOCK_CELLS // max(n, 1))
    for start in range(0, c, width):
        some = slice(start, min(start + width, c))
        part = dense(cells[:, some])
        ones = _ones(part, None if cut is None else cut[some], first_row, describe, some.start)
        by_column = abs(ones.strides[0]) < abs(ones.strides[1])
        packed[some] = (_bits_by_column if by_column else _bits_by_row)(ones, before)
    return packed


def _bits_by_column(ones: AnyArray, before: int) -> AnyArray:
    """Return the bytes of columns whose cells stand together."""
    n, c = ones.shape
    cells = np.zeros((c, before + n), dtype=np.uint8)
    cells[:, before:] = ones.T
    return np.packbits(cells, axis=1, bitorder="little")


def _bits_by_row(ones: AnyArray, before: int) -> AnyArray:
    """Return the bytes of rows whose cells stand together: every eighth row is the same bit.

    To turn bytes takes an eighth of the time that turning cells would take.
    """
    n, c = ones.shape
    packed = np.zeros((-(-(before + n) // 8), c), dtype=np.uint8)
    for bit in range(8):
        first = (bit - before) % 8
        rows = ones[first::8].astype(np.uint8, copy=False)
        start = (before + first) // 8
        packed[start : start + len(rows)] |= rows << np.uint8(bit)
    return packed.T


def _ones(
    values: AnyArray,
    cut: FloatArray | None,
    first_row: int,
    describe: DescribeColumns,
    offset: int,
) -> AnyArray:
    """Return 0 and 1; refuse other cells, naming column and row."""
    if is_zero_one(values) and (cut is None or not cut.any()):
        return values
    first = describe.first + offset
    missing = values != values
    if missing.any():
        row, column = np.argwhere(missing)[0].tolist()
        fix = (
            "a packed store cannot hold missing cells; fill them in, or leave out the column or row"
        )
        what = f"{describe(first + column)} is missing"
        raise CellError(what, first_row + row, fix)
    if cut is not None:
        if values.dtype.kind == "f":
            check_finite(values, describe, first_row, first)
        return above(values, cut)
    row, column = np.argwhere((values != 0) & (values != 1))[0].tolist()
    fix = (
        "a packed store holds only 0 and 1; cut continuous features (binarize='auto', or --cut "
        "auto)"
    )
    what = f"{describe(first + column)} holds {values[row, column]}"
    raise CellError(what, first_row + row, fix)


PLAN = "plan.json"
DONE = "done.txt"
STORE = "store"

_SAMPLE_ROWS, _SAMPLE_COLUMNS = 1000, 50
"""Cells by which a table is known again: the first rows of columns all over it."""

_FULL = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}


class _OtherTableError(StoreError):
    """An unfinished store belongs to another table."""

    def __init__(self, partial: Path) -> None:
        super().__init__(
            f"{partial.name} is an unfinished store of another table, or of other options; remove "
            "that folder, or choose another name."
        )


def pack_store(
    X: Any,
    path: str | os.PathLike[str],
    *,
    labels: Any = None,
    names: Sequence[str] | None = None,
    binarize: BinarizeOption = None,
    columns_per_file: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> PackedStore:
    """Pack a table of 0s and 1s into a store: a folder of bits with checksums.

    Memory is bounded, whatever the table, by what its own blocks take and 256 MiB. A call that was
    killed, or that found the disk full, has left a folder with ``.partial`` after its name: the
    same call again goes on after the last whole file, and the store is the same, byte for byte.

    Parameters
    ----------
    X : table of shape (n, p)
        0 and 1, none missing: array, SciPy sparse, frame of pandas, polars or Dask, or a source.
    path : path-like
        The folder to write; it must not exist.
    labels : array-like of shape (n,), optional
        Class of each row, kept in the store.
    names : sequence of str, optional
        Names of the columns, where the table has none.
    binarize : {"auto", "median"}, float or None, default=None
        How continuous features become 0/1, as in `screen`; the cuts are kept in the store, whose
        ``zero_one`` cuts other rows alike. None: the table must be 0/1.
    columns_per_file : int, optional
        Columns in one file; by default as many as 16 MiB hold.
    progress : callable, optional
        Is called with the number of files that are written, and that of all.

    Returns
    -------
    PackedStore

    Raises
    ------
    ValueError
        If a cell is neither 0 nor 1 (the message names column and row), if the folder exists, or
        if an unfinished one is of another table.
    OSError
        If the disk is full.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from honestbayes import SelectiveBernoulliNB
    >>> from honestbayes.data import pack_store
    >>> from honestbayes.datasets import simulate_naive_bayes
    >>> data = simulate_naive_bayes(100, 10, n_features=500, alpha=50.0, random_state=0)
    >>> model = SelectiveBernoulliNB(n_features_to_select=5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = pack_store(data.X_train, Path(folder) / "flags", labels=data.y_train)
    ...     print(store)
    ...     from_store = model.fit(store, store.labels).predict_proba(data.X_test)
    PackedStore('flags', 100 rows, 500 columns)
    >>> from_array = model.fit(data.X_train, data.y_train).predict_proba(data.X_test)
    >>> bool((from_store == from_array).all())
    True
    """
    check_place(path)
    source, target = as_source(X), Path(os.path.realpath(path))
    own = source.feature_names if names is None else check_names(names)
    if own is not None and len(own) != source.shape[1]:
        msg = f"names holds {len(own)} names, but X has {source.shape[1]} columns."
        raise ValueError(msg)
    header, beside = _description(source, own, labels, columns_per_file)
    partial = target.with_name(f"{target.name}.partial")
    with _room(target):
        plan = _plan(source, header, beside, binarize)
        if not _is_finished(target, partial, plan):
            rule = None
            if binarize is not None:
                rule = learn_binarization(source, binarize, DescribeColumns(own))
                beside[CUTS] = np.stack([rule.cut, rule.high]).astype("<f8").tobytes()
            _make_folders(partial, plan)
            try:
                _write_parts(source, rule, own, header, partial, progress)
            except _OtherTableError:
                raise
            except ValueError:  # the table is to be corrected: nothing of it is kept
                shutil.rmtree(partial)
                raise
            _finish(header, beside, partial, target)
    return open_store(target)


def check_place(path: str | os.PathLike[str]) -> None:
    """Refuse, before anything is read, a path that holds something else."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.with_name(f"{target.name}.partial").exists():
        raise _taken(target)


def _taken(target: Path) -> StoreError:
    return StoreError(f"{target.name} exists; choose another name, or remove it.")


def _description(
    source: Source, names: tuple[str, ...] | None, labels: Any, width: int | None
) -> tuple[StoreHeader, dict[str, bytes]]:
    """Return the header without checksums, and the files beside the parts."""
    n, p = source.shape
    beside, classes = {}, None
    if names is not None:
        beside[NAMES] = json.dumps(names, indent=0).encode()
        if len(beside[NAMES]) > most_name_bytes(p):
            msg = f"the names of the columns take {len(beside[NAMES]):,} bytes; give shorter ones."
            raise ValueError(msg)
    if labels is not None:
        different, codes = encode_labels(labels)
        check_as_many(n, codes.size)
        classes = tuple(different.tolist())
        if not all(isinstance(label, str | int | float) for label in classes):
            msg = f"labels are of type {type(classes[0]).__name__}; give texts or numbers."
            raise ValueError(msg)
        wrong = wrong_classes(classes)
        if wrong is not None:
            msg = f"labels hold {wrong}; give texts or numbers of one kind."
            raise ValueError(msg)
        beside[LABELS] = codes.astype("<i4").tobytes()
    if width is not None and width < 1:
        msg = f"columns_per_file={width} is not a number of columns; give 1 or more."
        raise ValueError(msg)
    per_part = columns_per_part(n, p) if width is None else min(width, p)
    return StoreHeader(n, p, per_part, classes, {}, ()), beside


def _plan(
    source: Source, header: StoreHeader, beside: dict[str, bytes], binarize: BinarizeOption
) -> dict[str, Any]:
    """Return a fingerprint of the table of an unfinished store."""
    n, p = source.shape
    columns = np.unique(np.linspace(0, p - 1, _SAMPLE_COLUMNS).astype(np.int64))
    rows = np.arange(min(n, _SAMPLE_ROWS))
    take_rows = getattr(source, "take_rows", None)
    sample = source.take(columns)[rows] if take_rows is None else take_rows(rows, columns)
    return {
        "rows": n,
        "columns": p,
        "columns_per_part": header.columns_per_part,
        "classes": None if header.classes is None else list(header.classes),
        "binarize": binarize if binarize is None else str(binarize),
        "beside": {name: checksum(content) for name, content in sorted(beside.items())},
        "sample": checksum(np.ascontiguousarray(sample, dtype="<f8")),
    }


@contextmanager
def _room(target: Path) -> Iterator[None]:
    """Explain what to do when the disk is full."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        what = "the disk is full; make room, and pack the same table again to resume"
        raise OSError(error.errno, what, str(target)) from error


def _is_finished(target: Path, partial: Path, plan: dict[str, Any]) -> bool:
    """Whether all was done when the process was killed; refuse a path that is taken."""
    same = _is_planned(partial, plan)
    if target.exists():
        if not same or (partial / STORE).exists():
            raise _taken(target)
        shutil.rmtree(partial)
        return True
    if not same and partial.exists() and any(partial.iterdir()):
        raise _OtherTableError(partial)
    return False


def _make_folders(partial: Path, plan: dict[str, Any]) -> None:
    """Make the folders of an unfinished store, where they do not exist."""
    partial.mkdir(exist_ok=True)
    if not _is_planned(partial, plan):
        with atomic_write(partial / PLAN) as temporary:
            temporary.write_bytes(_as_json(plan))
    (partial / STORE).mkdir(exist_ok=True)


def _is_planned(partial: Path, plan: dict[str, Any]) -> bool:
    file = partial / PLAN
    return file.is_file() and file.read_bytes() == _as_json(plan)


def _as_json(plan: dict[str, Any]) -> bytes:
    return json.dumps(plan, indent=1).encode()


def _write_parts(
    source: Source,
    rule: Binarization | None,
    names: tuple[str, ...] | None,
    header: StoreHeader,
    partial: Path,
    progress: Callable[[int, int], None] | None,
) -> None:
    """Write the parts that are not there yet, and list each when it is.

    The last one that is there is made again first: a table that was changed gives another.
    """
    n_parts = -(-header.n_columns // header.columns_per_part)
    done = _done(header, partial)
    told = len(done)
    if progress is not None:
        progress(told, n_parts)
    last = max(done, default=-1)
    left_out = set(done) - {last}
    with (partial / DONE).open("a", encoding="ascii") as journal:
        for part, bits in filled_parts(source, header, rule, DescribeColumns(names), left_out):
            if part == last:
                if checksum(bits) != done[part]:
                    raise _OtherTableError(partial)
                continue
            with atomic_write(partial / STORE / part_name(part)) as temporary:
                temporary.write_bytes(bits.data)  # NumPy's own way does not say why it fails
            journal.write(f"\n{part} {checksum(bits)} .")
            journal.flush()
            os.fsync(journal.fileno())
            told += 1
            if progress is not None:
                progress(told, n_parts)


def _done(header: StoreHeader, partial: Path) -> dict[int, int]:
    """Return the checksums of the parts that are whole; a line that is not whole is left out."""
    file = partial / DONE
    done = {}
    for line in file.read_text("ascii").split("\n") if file.is_file() else ():
        fields = line.split(" ")
        if len(fields) == 3 and fields[2] == ".":
            part = int(fields[0])
            path = partial / STORE / part_name(part)
            if path.is_file() and path.stat().st_size == header.part_size(part):
                done[part] = int(fields[1])
    return done


def _finish(header: StoreHeader, beside: dict[str, bytes], partial: Path, target: Path) -> None:
    """Write the files beside the parts, then the header, and rename the folder."""
    folder, done = partial / STORE, _done(header, partial)
    whole = replace(
        header,
        files={name: (len(content), checksum(content)) for name, content in beside.items()},
        parts=tuple(done[part] for part in range(len(done))),
    )
    for name, content in [*sorted(beside.items()), (HEADER, whole.to_bytes())]:
        with atomic_write(folder / name) as temporary:
            temporary.write_bytes(content)
    for left in folder.glob(".*"):  # by a process that was killed while it wrote
        left.unlink()
    move_folder(folder, target)
    shutil.rmtree(partial)
