"""PLINK binary files (.bed, .bim, .fam) as a table of genotypes, read without memory.

A ``.bed`` file in the usual order holds one variant after the other, two bits for each sample. The
file is mapped, and classes are counted in its bytes as they are; only the columns that a model
keeps are decoded. The format is that of https://www.cog-genomics.org/plink/1.9/formats#bed.
"""

from __future__ import annotations

import mmap
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from honestbayes.data.frames import as_frame
from honestbayes.data.packed_store import THREADS
from honestbayes.data.source import Block, PackedGenotypes, column_slices
from honestbayes.types import AnyArray, IntArray

_MAGIC, _VARIANT_MAJOR = b"\x6c\x1b", b"\x01"
_HEADER_BYTES = 3
_MISSING_PHENOTYPES = ("0", "-9", "na", "nan", ".")


class PlinkError(ValueError):
    """A set of PLINK files cannot be read; the message names the file."""


@dataclass(frozen=True, eq=False, repr=False)
class PlinkSource:
    """The genotypes of PLINK files; `open_plink` returns one.

    A cell is the number of copies (0, 1 or 2) of the allele A1 of the ``.bim`` file, which PLINK
    makes the rarer one, or missing. Columns are categories unless ``kinds`` calls them real. It is
    a table beyond memory for every method that takes one. The files must stay as they are.

    Attributes
    ----------
    path : Path
        The ``.bed`` file.
    feature_names : tuple of str
        Names of the variants, each different: ``chromosome:position:A1:A2`` where the file has no
        name (``.``), and with ``_2``, ``_3``, ... after a name that occurred before.
    rows : ndarray of int, or None
        Which samples of the file are rows; None: all.
    """

    path: Path
    feature_names: tuple[str, ...]
    rows: IntArray | None
    _ids: AnyArray
    _phenotype: AnyArray | None
    _packed: AnyArray

    beyond_memory = True
    work = THREADS

    def __repr__(self) -> str:
        n, p = self.shape
        return f"PlinkSource({self.path.name!r}, {n} samples, {p} variants)"

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of samples and variants."""
        n = len(self._ids) if self.rows is None else self.rows.size
        return n, len(self._packed)

    @property
    def sample_ids(self) -> AnyArray:
        """Identifier of each sample: IID, or FID and IID with a space where IIDs repeat."""
        return self._ids if self.rows is None else self._ids[self.rows]

    @cached_property
    def phenotype(self) -> AnyArray | None:
        """Phenotype of each sample, NaN where it is missing; None where all are.

        That of the ``.fam`` file is 1 (control) or 2 (case); -9 and 0 are missing. Whole numbers
        where none is missing.
        """
        values = self._phenotype
        if values is None:
            return None
        if values.dtype.kind == "U":
            values = _case_control(values, self.path.with_suffix(".fam").name)
        values = values if self.rows is None else values[self.rows]
        gone = np.array([value is None or value != value for value in values.tolist()], dtype=bool)
        if gone.all():
            return None
        if values.dtype.kind == "f" and not gone.any() and np.all(values == np.rint(values)):
            return values.astype(np.int64)
        return values

    def select_samples(self, which: Any) -> PlinkSource:
        """Return the same variants of some samples.

        Parameters
        ----------
        which : array-like of bool of shape (n,), or of int
            A mask of the samples, or their indices.

        Returns
        -------
        PlinkSource
        """
        chosen = np.asarray(which)
        n = self.shape[0]
        if chosen.dtype.kind == "b" and chosen.shape != (n,):
            msg = f"which has {chosen.size} entries, but there are {n} samples."
            raise ValueError(msg)
        rows = np.arange(len(self._ids)) if self.rows is None else self.rows
        return replace(self, rows=rows[chosen])

    def blocks(self) -> Iterator[Block]:
        """Yield slices of variants; nothing is decoded."""
        n, p = self.shape
        for columns in column_slices(len(self._ids), p):
            part = PackedGenotypes(self._packed[columns], len(self._ids), self.rows)
            yield Block(slice(0, n), columns, part)

    def take(self, columns: IntArray) -> AnyArray:
        """Decode the named variants: bytes, or floats where a cell is missing."""
        columns = np.asarray(columns, dtype=np.int64)
        return PackedGenotypes(self._packed[columns], len(self._ids), self.rows).toarray()

    def take_rows(self, rows: IntArray, columns: IntArray) -> AnyArray:
        """Decode some rows of the named variants."""
        return self.select_samples(np.asarray(rows, dtype=np.int64)).take(columns)


def open_plink(path: str | os.PathLike[str], *, phenotype: Any = None) -> PlinkSource:
    r"""Open PLINK files: ``.bed`` with ``.bim`` and ``.fam`` beside it.

    Nothing of the ``.bed`` file but its size and its first bytes is read. A cell of the table is
    the number of copies of A1, the first allele of the ``.bim`` file: 00 is 2, 10 is 1, 11 is 0,
    and 01 is missing.

    Parameters
    ----------
    path : path-like
        The ``.bed`` file, or its name without ``.bed``.
    phenotype : array-like of shape (n,) or DataFrame, optional
        Phenotype of each sample in the order of the ``.fam`` file; or a frame with a column
        ``IID`` and one other column (``FID`` apart), whose rows may be in any order. By default
        that of the ``.fam`` file.

    Returns
    -------
    PlinkSource
        A table for ``fit``, ``predict_proba`` and ``screen``, with ``sample_ids``, ``phenotype``,
        ``feature_names``, ``shape`` and ``select_samples``.

    Raises
    ------
    ValueError
        If a file is missing, is not what its name says, or does not fit the others.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from honestbayes.data import open_plink
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     stem = Path(folder) / "cohort"
    ...     bits = [0b00, 0b10, 0b11]  # 2, 1 and 0 copies of A1
    ...     byte = sum(pair << 2 * case for case, pair in enumerate(bits))
    ...     _ = stem.with_suffix(".bed").write_bytes(bytes([0x6C, 0x1B, 1, byte]))
    ...     _ = stem.with_suffix(".bim").write_text("1 rs1 0 100 A G\n")
    ...     samples = ["f1 ann 0 0 2 2", "f2 bob 0 0 1 1", "f3 eve 0 0 2 1"]
    ...     _ = stem.with_suffix(".fam").write_text("\n".join(samples))
    ...     genotypes = open_plink(stem)
    ...     print(genotypes, genotypes.feature_names, genotypes.phenotype)
    ...     print(genotypes.take([0]).ravel())
    PlinkSource('cohort.bed', 3 samples, 1 variants) ('rs1',) [2 1 1]
    [2 1 0]
    """
    given = Path(path)
    bed = given if given.suffix == ".bed" else given.with_name(given.name + ".bed")
    bim, fam = bed.with_suffix(".bim"), bed.with_suffix(".fam")
    for file in (bed, bim, fam):
        if not file.is_file():
            msg = f"{file.name} is missing; .bed, .bim and .fam must be in one folder."
            raise PlinkError(msg)
    samples = list(_lines(fam, 6))
    ids = _sample_ids(samples, fam.name)
    if phenotype is None:
        values: AnyArray = np.array([sample[5] for sample in samples])
        known: AnyArray | None = values
        if all(value.lower() in _MISSING_PHENOTYPES for value in values.tolist()):
            known = None
    else:
        known = _given_phenotype(phenotype, [sample[1] for sample in samples])
    names = _different_names([_variant_name(fields) for fields in _lines(bim, 6)])
    packed = _mapped_genotypes(bed, len(samples), len(names))
    return PlinkSource(bed, names, None, ids, known, packed)


def counted_alleles(path: Path) -> list[str]:
    """Return the allele A1 of each variant, whose copies the cells count."""
    return [fields[4] for fields in _lines(path.with_suffix(".bim"), 6)]


def _lines(path: Path, n_fields: int) -> Iterator[list[str]]:
    """Yield the fields of each line; refuse a line that has fewer, and an empty file."""
    number = 0
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            fields = line.split()
            if len(fields) < n_fields:
                msg = (
                    f"{path.name} has {len(fields)} fields instead of {n_fields} in line {number}."
                )
                raise PlinkError(msg)
            yield fields
    if number == 0:
        msg = f"{path.name} is empty."
        raise PlinkError(msg)


def _sample_ids(samples: list[list[str]], name: str) -> AnyArray:
    own = [sample[1] for sample in samples]
    if len(set(own)) < len(own):  # IIDs are unique within families only
        own = [f"{sample[0]} {sample[1]}" for sample in samples]
    (most, times), *_ = Counter(own).most_common(1)
    if times > 1:
        msg = f"{name} names the sample {most!r} {times} times; sample identifiers must differ."
        raise PlinkError(msg)
    return np.array(own)


def _variant_name(fields: list[str]) -> str:
    """Return the name of a variant, or its place and alleles where it has none."""
    if fields[1] != ".":
        return fields[1]
    return ":".join((fields[0], fields[3], fields[4], fields[5]))


def _different_names(own: list[str]) -> tuple[str, ...]:
    """Return a different name for each variant."""
    taken = set(own)
    if len(taken) == len(own):
        return tuple(own)
    used: set[str] = set()
    result = []
    for name in own:
        new, number = name, 2
        # A made-up name must not be that of a variant elsewhere in the file.
        while new in used or (new != name and new in taken):
            new, number = f"{name}_{number}", number + 1
        used.add(new)
        result.append(new)
    return tuple(result)


def _case_control(values: AnyArray, name: str) -> AnyArray:
    """Return the phenotypes of a ``.fam`` file as 1 and 2, NaN where they are missing."""
    missing = np.array([value.lower() in _MISSING_PHENOTYPES for value in values.tolist()])
    numbers = np.full(values.size, np.nan)
    for index in np.flatnonzero(~missing).tolist():
        if values[index] not in ("1", "2"):
            msg = (
                f"the phenotype of {name} is not case-control: line {index + 1} holds "
                f"{str(values[index])!r}, but 1 is a control, 2 is a case, and 0 and -9 are "
                "missing; give the class of each sample as open_plink(..., phenotype=...)."
            )
            raise PlinkError(msg)
        numbers[index] = float(values[index])
    return numbers


def _given_phenotype(given: Any, own: list[str]) -> AnyArray:
    """Return the user's phenotypes in the order of the samples."""
    frame = as_frame(given)
    columns = [str(column) for column in getattr(frame, "columns", ())]
    if "IID" in columns:
        others = [column for column in columns if column not in ("FID", "IID")]
        if len(others) != 1:
            msg = (
                f"phenotype has {len(others)} columns beside IID and FID; give one with the class."
            )
            raise PlinkError(msg)
        keys = [str(key) for key in list(frame["IID"])]
        values = np.asarray(frame[others[0]])
        if len(set(keys)) < len(keys) or len(set(own)) < len(own):
            msg = "IIDs repeat; give phenotype as an array in the order of the .fam file."
            raise PlinkError(msg)
        index = {key: position for position, key in enumerate(keys)}
        absent = [key for key in own if key not in index]
        if absent:
            msg = (
                f"phenotype has no row for the sample {absent[0]!r} ({len(absent)} in all); give "
                "it a missing value, or its class."
            )
            raise PlinkError(msg)
        result: AnyArray = values[[index[key] for key in own]]
    else:
        result = np.asarray(given)
        result = result[:, 0] if result.ndim == 2 and result.shape[1] == 1 else result
    if result.shape != (len(own),):
        msg = f"phenotype has shape {result.shape}, but the .fam file has {len(own)} samples."
        raise PlinkError(msg)
    # Texts of the .fam file are an array of texts; those of the user must not be taken for them.
    return result.astype(object) if result.dtype.kind == "U" else result


def _mapped_genotypes(bed: Path, n_samples: int, n_variants: int) -> AnyArray:
    """Map the bytes of all variants, shape (p, bytes of one); refuse a file that is none."""
    with bed.open("rb") as file:
        head = file.read(_HEADER_BYTES)
        n_bytes = os.fstat(file.fileno()).st_size
        if head[:2] != _MAGIC:
            msg = f"{bed.name} is not a PLINK .bed file: its first bytes are not 6c 1b."
            raise PlinkError(msg)
        if head[2:] != _VARIANT_MAJOR:
            msg = (
                f"{bed.name} holds one sample after the other (individual-major); write it again "
                "with plink --make-bed, which puts one variant after the other."
            )
            raise PlinkError(msg)
        width = -(-n_samples // 4)
        expected = _HEADER_BYTES + width * n_variants
        if n_bytes != expected:
            msg = (
                f"{bed.name} has {n_bytes:,} bytes instead of {expected:,}: it does not fit the "
                f"{n_samples:,} samples of the .fam and the {n_variants:,} variants of the .bim "
                "file."
            )
            raise PlinkError(msg)
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    content = np.frombuffer(mapped, dtype=np.uint8, offset=_HEADER_BYTES)
    return content.reshape(n_variants, width)
