"""Tables of any kind into packed stores: in chunks, and from where it stopped when it is killed.

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
from pathlib import Path
from typing import Any

import numpy as np

from honestbayes.files.whole import move_folder, whole_file
from honestbayes.sources.binarization import Binarization, BinarizeOption, learn_binarization
from honestbayes.sources.frames import check_names
from honestbayes.sources.labels import check_as_many, encode_labels
from honestbayes.sources.packed_store import PackedStore, open_store
from honestbayes.sources.part_filling import filled_parts
from honestbayes.sources.source import DescribeColumns, Source, as_source
from honestbayes.sources.store_header import (
    CUTS,
    HEADER,
    LABELS,
    NAMES,
    Header,
    StoreError,
    checksum,
    columns_per_part,
    most_name_bytes,
    part_name,
    wrong_classes,
)

PLAN = "plan.json"
DONE = "done.txt"
STORE = "store"

_SAMPLE_ROWS, _SAMPLE_COLUMNS = 1000, 50
"""Cells by which a table is known again: the first rows of columns all over it."""

_FULL = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}


class _OtherTableError(StoreError):
    """What is unfinished is of another table."""

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
    """Pack a table into a store: a folder of bits, column after column, with checksums.

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
        How measurements become 0/1, as in `screen`; the cuts are kept in the store, whose
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
    >>> from honestbayes import SelectiveBernoulliNB, pack_store
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
    """Refuse, before anything is read, a place where something else stands."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.with_name(f"{target.name}.partial").exists():
        raise _taken(target)


def _taken(target: Path) -> StoreError:
    return StoreError(f"{target.name} exists; choose another name, or remove it.")


def _description(
    source: Source, names: tuple[str, ...] | None, labels: Any, width: int | None
) -> tuple[Header, dict[str, bytes]]:
    """Return the header without checksums, and what is written beside the parts."""
    n, p = source.shape
    beside, classes = {}, None
    if names is not None:
        beside[NAMES] = json.dumps(names, indent=0).encode()
        if len(beside[NAMES]) > most_name_bytes(p):
            msg = f"the names of the columns take {len(beside[NAMES]):,} bytes; give shorter ones."
            raise ValueError(msg)
    if labels is not None:
        found, codes = encode_labels(labels)
        check_as_many(n, codes.size)
        classes = tuple(found.tolist())
        if not all(isinstance(label, str | int | float) for label in classes):
            msg = f"labels are of type {type(classes[0]).__name__}; give texts or numbers."
            raise ValueError(msg)
        wrong = wrong_classes(classes)
        if wrong is not None:
            msg = f"labels hold {wrong}; give texts or numbers of one kind."
            raise ValueError(msg)
        beside[LABELS] = codes.astype("<i4").tobytes()
    if width is not None and width < 1:
        msg = f"columns_per_file={width} is no number of columns; give 1 or more."
        raise ValueError(msg)
    per_part = columns_per_part(n, p) if width is None else min(width, p)
    return Header(n, p, per_part, classes, {}, ()), beside


def _plan(
    source: Source, header: Header, beside: dict[str, bytes], binarize: BinarizeOption
) -> dict[str, Any]:
    """Return by what an unfinished store is known to be of the same table."""
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
    """Say what to do when the disk is full."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        what = "the disk is full; make room and pack the same table again, which goes on from here"
        raise OSError(error.errno, what, str(target)) from error


def _is_finished(target: Path, partial: Path, plan: dict[str, Any]) -> bool:
    """Whether all was done when the process was killed; refuse a place that is taken."""
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
    """Make the folders of what is unfinished, where they are not there."""
    partial.mkdir(exist_ok=True)
    if not _is_planned(partial, plan):
        with whole_file(partial / PLAN) as temporary:
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
    header: Header,
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
            with whole_file(partial / STORE / part_name(part)) as temporary:
                temporary.write_bytes(bits.data)  # NumPy's own way does not say why it fails
            journal.write(f"\n{part} {checksum(bits)} .")
            journal.flush()
            os.fsync(journal.fileno())
            told += 1
            if progress is not None:
                progress(told, n_parts)


def _done(header: Header, partial: Path) -> dict[int, int]:
    """Return the checksums of the parts that are whole; a line that is not whole is left out."""
    file = partial / DONE
    done = {}
    for line in file.read_text("ascii").split("\n") if file.is_file() else ():
        words = line.split(" ")
        if len(words) == 3 and words[2] == ".":
            part = int(words[0])
            path = partial / STORE / part_name(part)
            if path.is_file() and path.stat().st_size == header.part_size(part):
                done[part] = int(words[1])
    return done


def _finish(header: Header, beside: dict[str, bytes], partial: Path, target: Path) -> None:
    """Write what stands beside the parts, then the header, and give the store its name."""
    folder, done = partial / STORE, _done(header, partial)
    whole = replace(
        header,
        files={name: (len(content), checksum(content)) for name, content in beside.items()},
        parts=tuple(done[part] for part in range(len(done))),
    )
    for name, content in [*sorted(beside.items()), (HEADER, whole.to_bytes())]:
        with whole_file(folder / name) as temporary:
            temporary.write_bytes(content)
    for left in folder.glob(".*"):  # by a process that was killed while it wrote
        left.unlink()
    move_folder(folder, target)
    shutil.rmtree(partial)
