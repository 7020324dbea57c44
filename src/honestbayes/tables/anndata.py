"""AnnData: files (.h5ad) and objects, with features in ``X`` or a layer and facts in ``obs``.

The file is read by h5py, because the requirements of anndata hold back other packages. A sparse
matrix stays sparse until columns are asked for, and rows are read in blocks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from honestbayes.tables.csv_reader import checked_names, too_large
from honestbayes.tables.errors import InputError, listed, shown
from honestbayes.tables.files import MatrixReader, Rows, TableFile
from honestbayes.types import AnyArray

INDEX = "sample"
"""Name of the index of ``obs``, where it has none."""


def open_h5ad(path: Path, layer: str | None, words: Mapping[str, Any]) -> TableFile:
    """Open an .h5ad file: features from X or a layer, with the names of var, and columns of obs.

    Parameters
    ----------
    path : Path
        The file.
    layer : str or None
        The layer whose numbers are read instead of X.
    words : mapping
        What else the table has: ``max_bytes``, ``missing``.
    """
    try:
        import h5py
    except ImportError:
        msg = (
            f'{path.name} is an HDF5 file, which needs h5py: pip install "honestbayes[bio]", or '
            "write the table as Parquet or CSV."
        )
        raise InputError(msg) from None
    try:
        file = h5py.File(path, "r")
        if not {"obs", "var"} <= set(file) or ("X" not in file and layer is None):
            msg = f"{path.name} is an HDF5 file without X, obs and var; give an .h5ad file."
            raise InputError(msg)
        if layer is not None and layer not in file.get("layers", {}):
            known = listed(file.get("layers", {})) or "none"
            msg = f"{path.name} has no layer {shown(layer)}; its layers are: {known}."
            raise InputError(msg)
        place = file["X"] if layer is None else file["layers"][layer]
        names = _index(file["var"], path.name)[1]
        rows, dtype, shape = _matrix(place, path.name, words["max_bytes"])
        if shape[1] != len(names):
            msg = f"{path.name} has {shape[1]:,} columns and {len(names):,} names in var."
            raise InputError(msg)
        title, identifiers = _index(file["obs"], path.name)
        facts: dict[str, Any] = {title: pa.array(identifiers, pa.string())}
        for name in file["obs"].attrs.get("column-order", ()):
            cells = _column(file["obs"][str(name)])
            if cells is not None:
                facts[str(name)] = cells
    except InputError:
        raise
    except (OSError, KeyError, ValueError, TypeError, AttributeError) as error:
        detail = " ".join(str(error).split())[:120] or type(error).__name__
        msg = (
            f"{path.name} cannot be read as .h5ad ({detail}); write it again with anndata 0.8 or "
            "later."
        )
        raise InputError(msg) from None
    return _table(path.name, facts, names, (rows, dtype, shape), layer, words)


def anndata_table(data: Any, name: str, layer: str | None = None) -> TableFile:
    """Return an AnnData object as a table that :func:`read_training` takes."""
    if layer is not None and layer not in data.layers:
        msg = f"there is no layer {shown(layer)}; there are {listed(data.layers) or 'none'}."
        raise InputError(msg)
    matrix: Any = data.X if layer is None else data.layers[layer]
    matrix = matrix.tocsr() if hasattr(matrix, "tocsr") else np.asarray(matrix)
    obs = pa.Table.from_pandas(data.obs, preserve_index=False)
    title = str(data.obs.index.name or INDEX)
    facts = {title: pa.array(list(map(str, data.obs_names)), pa.string())}
    facts |= {str(column): obs[str(column)] for column in obs.column_names}
    whole = (lambda start, stop: matrix[start:stop], matrix.dtype, matrix.shape)
    words = {"max_bytes": None, "missing": ()}
    return _table(name, facts, list(map(str, data.var_names)), whole, layer, words)


def _table(
    name: str,
    facts: Mapping[str, Any],
    names: Sequence[str],
    matrix: tuple[Rows, np.dtype[Any], tuple[int, int]],
    layer: str | None,
    words: Mapping[str, Any],
) -> TableFile:
    rows, dtype, shape = matrix
    if dtype.kind not in "buif":
        msg = f"X of {name} has type {dtype}; give numbers."
        raise InputError(msg)
    both = [column for column in facts if column in set(names)]
    if both:
        msg = f"{name} has {listed(both)} in obs and in var; rename one of them."
        raise InputError(msg)
    features = checked_names(list(names), name)
    dtype = np.dtype(np.float32 if dtype.kind in "iub" and dtype.itemsize < 4 else dtype)
    reader = MatrixReader(name, pa.table(dict(facts)), features, shape[0], rows, dtype)
    what = "X" if layer is None else f"layer {layer!r}"
    note = f"Features are the {len(features):,} columns of {what}."
    return TableFile(
        name,
        "parquet",
        reader.columns,
        reader,
        notes=(note,),
        apart=frozenset(facts),
        **words,
    )


def _matrix(
    place: Any, name: str, limit: int | None
) -> tuple[Rows, np.dtype[Any], tuple[int, int]]:
    """Return what reads rows of a matrix in a file, its type and its shape."""
    if not hasattr(place, "keys"):  # a dataset
        if place.ndim != 2:
            msg = f"{name} holds an array of {place.ndim} dimensions; give a table."
            raise InputError(msg)
        return lambda start, stop: place[start:stop], place.dtype, (place.shape[0], place.shape[1])
    kind = place.attrs.get("encoding-type", place.attrs.get("h5sparse_format", ""))
    n_rows, n_columns = (
        place.attrs["shape"] if "shape" in place.attrs else place.attrs["h5sparse_shape"]
    )
    shape = (int(n_rows), int(n_columns))
    dtype = place["data"].dtype
    pointers = place["indptr"][:].astype(np.int64)
    if str(kind).startswith("csc"):
        # Rows of a matrix that is stored by columns: all of it is needed, and stays sparse.
        if limit is not None and place["data"].size * (dtype.itemsize + 8) > limit:
            raise too_large(name, limit)
        matrix = sparse.csc_matrix((place["data"][:], place["indices"][:], pointers), shape).tocsr()
        return lambda start, stop: matrix[start:stop], dtype, shape
    if not str(kind).startswith("csr"):
        msg = f"{name} holds a matrix in the form {shown(str(kind))}; give a dense or sparse one."
        raise InputError(msg)
    _check_pointers(pointers, place["data"].size, shape[0], name)

    def rows(start: int, stop: int) -> Any:
        part = slice(int(pointers[start]), int(pointers[stop]))
        indices = place["indices"][part]
        if indices.size and not 0 <= indices.min() <= indices.max() < shape[1]:
            msg = f"{name} holds a sparse matrix that points outside of it; write it again."
            raise InputError(msg)
        own = pointers[start : stop + 1] - pointers[start]
        return sparse.csr_matrix((place["data"][part], indices, own), (stop - start, shape[1]))

    return rows, dtype, shape


def _check_pointers(pointers: AnyArray, size: int, n_rows: int, name: str) -> None:
    ends = pointers.size == n_rows + 1 and pointers[0] == 0 and pointers[-1] == size
    if not ends or np.any(np.diff(pointers) < 0):
        msg = f"{name} holds a sparse matrix that is not whole; write it again."
        raise InputError(msg)


def _index(group: Any, name: str) -> tuple[str, list[str]]:
    """Return the name and the values of the index of a frame."""
    if not hasattr(group, "attrs") or "_index" not in group.attrs:
        msg = f"{name} was written by an old version of anndata; write it again with 0.8 or later."
        raise InputError(msg)
    title = str(group.attrs["_index"])
    values = [_as_text(value) for value in group[title][:]]
    return INDEX if title in ("_index", "index") else title, values


def _column(place: Any) -> pa.Array | None:
    """Return a column of a frame; None where it is of a kind that is not read."""
    if not hasattr(place, "keys"):
        values = place[:]
        if values.ndim != 1:
            return None
        if values.dtype.kind in "OSU":
            return pa.array([_as_text(value) for value in values], pa.string())
        return pa.array(values) if values.dtype.kind in "buif" else None
    kind = str(place.attrs.get("encoding-type", ""))
    if kind == "categorical":
        levels = [_as_text(value) for value in place["categories"][:]]
        return pa.array([None if k < 0 else levels[k] for k in place["codes"][:]], pa.string())
    if kind.startswith("nullable"):
        return pa.array(place["values"][:], mask=place["mask"][:].astype(bool))
    return None


def _as_text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
