"""NumPy archives with X, y and names, read as a table."""

from __future__ import annotations

import ast
import re
import zipfile
import zlib
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from honestbayes.data.source import check_structure
from honestbayes.tables.csv_reader import checked_names, too_large
from honestbayes.tables.errors import InputError
from honestbayes.types import AnyArray

_BATCH_CELLS = 1 << 22
_SPARSE = ("data", "indices", "indptr", "shape", "format")
_MAX_HEADER = 10_000  # NumPy's own bound on the text that describes an array
_KIND = re.compile(r"[<>|=]?[biufcUS]\d{1,7}")

_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    OSError,
    ValueError,
    OverflowError,
    MemoryError,
    LookupError,
    EOFError,
    NotImplementedError,
    RuntimeError,  # what zipfile raises for an encrypted member
    TypeError,
    SyntaxError,
    RecursionError,
)


@dataclass(frozen=True, slots=True)
class NpzReader:
    """Arrays of an archive; they are read when they are asked for, and never unpickled."""

    path: Path
    columns: tuple[str, ...]
    n_features: int
    n_rows: int
    unused: tuple[str, ...] = ()
    decimal: str = "."

    def arrays(self, limit: int | None) -> tuple[AnyArray, AnyArray | None]:
        """Return X and, where there is one, y."""
        arrays = _contents(self.path, limit)
        return arrays["X"], arrays.get("y")

    def batches(
        self, columns: Sequence[str], *, limit: int | None, whole: bool
    ) -> Generator[pa.Table, None, None]:
        """Yield the rows in order. The arrays are read as a whole: the format knows no parts."""
        arrays = _contents(self.path, limit)
        X = arrays["X"]
        positions = {name: j for j, name in enumerate(self.columns[: self.n_features])}
        n = X.shape[0]
        step = n if whole else max(1, _BATCH_CELLS // max(1, len(columns)))
        for start in range(0, n, max(1, step)):
            part = slice(start, start + step)
            cells = {
                name: X[part, positions[name]] if name in positions else arrays["y"][part]
                for name in columns
            }
            yield pa.table({name: _arrow(values) for name, values in cells.items()})


def open_npz(path: Path, limit: int | None) -> NpzReader:
    """Read the names and the shapes of an archive."""
    arrays = _contents(path, limit)
    if "X" not in arrays:
        msg = f"{path.name} holds no array X; save it with numpy.savez(file, X=X, y=y)."
        raise InputError(msg)
    X = arrays["X"]
    if X.ndim != 2 or X.size == 0 or X.dtype.kind not in "biuf":
        msg = (
            f"X in {path.name} has shape {X.shape} and type {X.dtype}; give numbers with one row "
            "per case and one column per feature."
        )
        raise InputError(msg)
    names = [f"x{j}" for j in range(X.shape[1])]
    if "names" in arrays:
        given = arrays["names"]
        if given.shape != (X.shape[1],) or given.dtype.kind not in "US":
            msg = (
                f"names in {path.name} has shape {given.shape} and type {given.dtype}; give one "
                f"text for each of the {X.shape[1]:,} columns of X."
            )
            raise InputError(msg)
        names = [str(name) for name in _text(given, path.name)]
    if "y" in arrays:
        y = arrays["y"]
        if y.shape != (X.shape[0],) or y.dtype.kind not in "biufUS":
            msg = (
                f"y in {path.name} has shape {y.shape} and type {y.dtype}; give one class for "
                f"each of the {X.shape[0]:,} rows of X."
            )
            raise InputError(msg)
        if y.dtype.kind in "US":
            _text(y, path.name)
        names.append("y")
    with zipfile.ZipFile(path) as archive:
        entries = [name.removesuffix(".npy") for name in archive.namelist()]
    used = ("X", "y", "names") if "X" in entries else ("y", "names", *_SPARSE)
    unused = tuple(name for name in entries if name not in used)
    return NpzReader(path, checked_names(names, path.name), X.shape[1], X.shape[0], unused)


def _contents(path: Path, limit: int | None) -> dict[str, AnyArray]:
    """Return the arrays X, y and names; X from its parts, where it is a sparse matrix."""
    arrays = _load(path, ("X", "y", "names", *_SPARSE), limit)
    if "X" not in arrays and {"indices", "indptr", "shape"} <= set(arrays):
        arrays["X"] = _dense(arrays, path, limit)
    return arrays


def _dense(arrays: dict[str, AnyArray], path: Path, limit: int | None) -> AnyArray:
    """Return a sparse matrix, as SciPy saves it or without ``data`` where all are ones, as X."""
    indices, indptr, shape = (arrays[name] for name in ("indices", "indptr", "shape"))
    data = arrays.get("data", np.ones(indices.shape, dtype=np.int8))
    whole = all(array.ndim == 1 and array.dtype.kind in "iu" for array in (indices, indptr, shape))
    kind = str(arrays["format"].astype(str)) if "format" in arrays else "csr"
    if not whole or shape.size != 2 or kind not in ("csr", "csc") or data.dtype.kind not in "biuf":
        msg = f"the sparse matrix in {path.name} is not valid; save it with scipy.sparse.save_npz."
        raise InputError(msg)
    n, p = (int(size) for size in shape)
    if limit is not None and n * p * data.dtype.itemsize > limit:
        raise too_large(path.name, limit)
    try:
        made = getattr(sparse, f"{kind}_array")((data, indices, indptr), shape=(n, p))
        check_structure(made)
    except (ValueError, IndexError) as error:
        detail = " ".join(str(error).split())[:120].rstrip(".")
        msg = f"the sparse matrix in {path.name} is not whole ({detail}); write it again."
        raise InputError(msg) from None
    dense: AnyArray = made.toarray()
    return dense


def _load(path: Path, names: Sequence[str], limit: int | None) -> dict[str, AnyArray]:
    try:
        with zipfile.ZipFile(path) as archive:
            wanted = {f"{name}.npy": name for name in names}
            infos = [info for info in archive.infolist() if info.filename in wanted]
            if limit is not None and sum(info.file_size for info in infos) > limit:
                raise too_large(path.name, limit)
            return {wanted[info.filename]: _array(archive, info) for info in infos}
    except InputError:
        raise
    except _BROKEN as error:
        detail = " ".join(str(error).split())[:120] or type(error).__name__
        msg = f"{path.name} cannot be read as a NumPy archive ({detail}); write it again."
        raise InputError(msg) from None


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> AnyArray:
    """Read one array; as many bytes as its header gives must be there."""
    with archive.open(info) as member:
        shape, fortran, dtype = _description(member)
        data = member.read()
    count = 1
    for length in shape:
        count *= length
    if count * dtype.itemsize != len(data):
        msg = "an array whose size differs from its header"
        raise ValueError(msg)
    values: AnyArray = np.frombuffer(data, dtype=dtype, count=count)
    return values.reshape(shape, order="F" if fortran else "C")


def _description(member: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read shape, order and type of an array.

    NumPy's own function accepts more: types with objects, and text that Python 2 wrote, which it
    hands to a parser with errors and warnings of its own.
    """
    start = member.read(8)
    if start[:6] != b"\x93NUMPY" or start[6] not in (1, 2, 3):
        msg = "an array in an unknown format"
        raise ValueError(msg)
    length = int.from_bytes(member.read(2 if start[6] == 1 else 4), "little")
    if length > _MAX_HEADER:
        msg = "an array with a long description"
        raise ValueError(msg)
    told = ast.literal_eval(member.read(length).decode("utf-8").strip())
    shape, fortran, kind = told["shape"], told["fortran_order"], told["descr"]
    if kind == "|O":
        msg = "an array of Python objects; save numbers and text only"
        raise ValueError(msg)
    if not isinstance(kind, str) or not _KIND.fullmatch(kind) or not isinstance(fortran, bool):
        msg = "an array of an unknown type"
        raise ValueError(msg)
    if not isinstance(shape, tuple) or not all(type(size) is int and size >= 0 for size in shape):
        msg = "an array of an unknown shape"
        raise ValueError(msg)
    return shape, fortran, np.dtype(kind)


def _text(values: AnyArray, name: str) -> AnyArray:
    """Return an array of text, checked to be text."""
    try:
        texts = np.char.decode(values, "utf-8") if values.dtype.kind == "S" else values
        for text in texts.tolist():
            text.encode()
    except (UnicodeError, ValueError):
        msg = f"{name} holds text that is not Unicode; write it again."
        raise InputError(msg) from None
    result: AnyArray = texts
    return result


def _arrow(values: AnyArray) -> Any:
    if values.dtype.kind in "US":
        return pa.array(_text(values, "y").tolist(), pa.string())
    kind = values.dtype.kind
    if kind == "f":
        return pa.array(values.astype(np.float64))
    return pa.array(np.ascontiguousarray(values.astype(values.dtype.newbyteorder("="))))
