"""Draws of a checkpoint in chunks: files beside it that are written once, and not again.

What chains have drawn only grows, and may be long. So a checkpoint holds the latest draws itself,
and those before them stand in files of about 16 megabytes each, ``NAME.draws-G-K``: chunk K of
generation G. Chunks are written before the checkpoint that names them, and another generation
begins where earlier draws are thinned out; whenever a process is killed, the checkpoint that is
there names chunks that are there, by their digests.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from honestbayes.files import ModelFileError, read_archive, write_archive
from honestbayes.sampling.draws import Draws
from honestbayes.types import AnyArray

CHUNK_BYTES = 1 << 24
"""Bytes of draws in one chunk, at most, unless a single draw is larger."""

KIND = "draws"
_MOST_CHUNKS = 100_000
_MOST_DRAWS = 2**53


@dataclass(frozen=True, slots=True)
class Chunks:
    """The chunks of a checkpoint.

    Attributes
    ----------
    generation : int
        How often earlier draws were thinned out, so that chunks were written anew.
    n_draws : tuple of int
        Draws of each chain in each chunk.
    digest : tuple of str
        Of the draws in each chunk.
    """

    generation: int = 0
    n_draws: tuple[int, ...] = ()
    digest: tuple[str, ...] = ()

    def place(self, path: str | os.PathLike[str], number: int) -> Path:
        """Return where a chunk stands, counted from 0."""
        return Path(path).with_name(f"{Path(path).name}.draws-{self.generation}-{number + 1}")

    def thinned_out(self) -> Chunks:
        """Return the chunks of the next generation: none so far."""
        return Chunks(self.generation + 1)

    def to_plain(self) -> dict[str, Any]:
        """Return plain data for the checkpoint."""
        return {
            "generation": self.generation,
            "n_draws": list(self.n_draws),
            "digest": list(self.digest),
        }

    @classmethod
    def from_plain(cls, plain: Any) -> Chunks:
        """Return the chunks that a checkpoint names; refuse what cannot be chunks."""
        good = isinstance(plain, dict) and plain.keys() == {"generation", "n_draws", "digest"}
        if good:
            generation, n_draws, digest = plain["generation"], plain["n_draws"], plain["digest"]
            good = _is_whole(generation, 0) and isinstance(n_draws, list)
            good = good and isinstance(digest, list) and len(digest) == len(n_draws)
            good = good and len(digest) <= _MOST_CHUNKS
            good = good and all(_is_whole(number, 1) for number in n_draws)
            good = good and all(isinstance(text, str) for text in digest)
        if not good:
            msg = "chunks are not those of a checkpoint"
            raise ModelFileError(msg)
        return cls(generation, tuple(n_draws), tuple(digest))


def _is_whole(value: Any, least: int) -> bool:
    return type(value) is int and least <= value <= _MOST_DRAWS


def write_chunks(
    path: str | os.PathLike[str], of: str, chunks: Chunks, draws: Draws
) -> tuple[Chunks, dict[str, AnyArray]]:
    """Write draws into as many more chunks as they fill.

    Parameters
    ----------
    path : path-like
        The checkpoint.
    of : str
        Fingerprint of what the draws depend on.
    chunks : Chunks
        Those that are there, with the first of the draws.
    draws : Draws
        All draws so far.

    Returns
    -------
    chunks : Chunks
        With the new ones.
    left : dict of str to ndarray
        Draws that are in none of them, too few for another.
    """
    values = {name: np.asarray(value) for name, value in draws.values.items()}
    size = sum(value[:, :1].nbytes for value in values.values())
    each, first = max(1, CHUNK_BYTES // max(size, 1)), sum(chunks.n_draws)
    while draws.n_draws - first >= each:
        some = {name: value[:, first : first + each] for name, value in values.items()}
        place = chunks.place(path, len(chunks.n_draws))
        write_archive(place, KIND, {"fingerprint": of}, some)
        chunks = Chunks(
            chunks.generation, (*chunks.n_draws, each), (*chunks.digest, digest_of(some))
        )
        first += each
    return chunks, {name: value[:, first:] for name, value in values.items()}


def read_chunks(
    path: str | os.PathLike[str], of: str, chunks: Chunks, last: Mapping[str, AnyArray]
) -> dict[str, AnyArray]:
    """Return the draws of all chunks, and the last ones that the checkpoint holds itself.

    Raises
    ------
    ModelFileError
        Where a chunk is missing, damaged, or another one.
    """
    if not chunks.n_draws:
        return dict(last)
    found = []
    for number, digest in enumerate(chunks.digest):
        place = chunks.place(path, number)
        if not place.exists():
            msg = f"it goes on from {place.name!r}, which is not beside it: move both together"
            raise ModelFileError(msg)
        archive = read_archive(place)
        known = archive.kind == KIND and archive.content.get("fingerprint") == of
        if not known or digest_of(archive.arrays) != digest:
            msg = f"{place.name!r} does not hold the draws that it goes on from"
            raise ModelFileError(msg)
        found.append(archive.arrays)
    parts = [*found, last]
    if any(part.keys() != last.keys() for part in parts):
        msg = "the draws of its chunks are of another kind"
        raise ModelFileError(msg)
    try:
        return {name: np.concatenate([part[name] for part in parts], axis=1) for name in last}
    except ValueError:
        msg = "drawn arrays and those of its chunks have other lengths"
        raise ModelFileError(msg) from None


def digest_of(arrays: Mapping[str, AnyArray]) -> str:
    """Return a digest of named arrays."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        value = arrays[name]
        digest.update(f"{name}{value.dtype.str}{value.shape}\0".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    return digest.hexdigest()


def remove_others(path: str | os.PathLike[str], chunks: Chunks) -> None:
    """Remove chunks that the checkpoint, now in place, does not name."""
    name = Path(path).name
    pattern = re.compile(re.escape(name) + r"\.draws-[0-9]+-[0-9]+")
    kept = {chunks.place(path, number).name for number in range(len(chunks.n_draws))}
    with suppress(OSError), os.scandir(Path(path).absolute().parent) as entries:
        for entry in entries:
            if pattern.fullmatch(entry.name) and entry.name not in kept:
                with suppress(OSError):
                    Path(entry.path).unlink()
