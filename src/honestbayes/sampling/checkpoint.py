"""Checkpoints of chains, to resume an interrupted run.

The file is the package's own container of plain data; long draws stand in chunks beside it. It also
holds a fingerprint of all that the draws depend on; another run does not go on from it. What it
holds is handed to compiled code, so it is checked as strictly as a model file is: lengths, ranges,
and the states of the generators.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from honestbayes.files import Archive, ModelFileError, read_archive, write_archive
from honestbayes.files.fields import Entries, Whole
from honestbayes.sampling.chains import Chain, ChainRun, Form, Schedule
from honestbayes.sampling.draws import Draws
from honestbayes.types import AnyArray

# --------------------------------------------------------------------------------------------------
# Chunks of draws: files beside the checkpoint that are written once
#
# What chains have drawn only grows, and may be long. So a checkpoint holds the latest draws itself,
# and those before them stand in files of about 16 megabytes each, ``NAME.draws-G-K``: chunk K of
# generation G. Chunks are written before the checkpoint that names them, and another generation
# begins where earlier draws are thinned out; whenever a process is killed, the checkpoint that is
# there names chunks that are there, by their digests.
# --------------------------------------------------------------------------------------------------


CHUNK_BYTES = 1 << 24
"""Bytes of draws in one chunk, at most, unless a single draw is larger."""

CHUNK_KIND = "draws"
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

    def path_of(self, path: str | os.PathLike[str], number: int) -> Path:
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
        chunk = chunks.path_of(path, len(chunks.n_draws))
        write_archive(chunk, CHUNK_KIND, {"fingerprint": of}, some)
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
    earlier = []
    for number, digest in enumerate(chunks.digest):
        chunk = chunks.path_of(path, number)
        if not chunk.exists():
            msg = f"it continues {chunk.name!r}, which is not in its folder: move both together"
            raise ModelFileError(msg)
        archive = read_archive(chunk)
        known = archive.kind == CHUNK_KIND and archive.content.get("fingerprint") == of
        if not known or digest_of(archive.arrays) != digest:
            msg = f"{chunk.name!r} does not hold the draws that it continues"
            raise ModelFileError(msg)
        earlier.append(archive.arrays)
    parts = [*earlier, last]
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
    kept = {chunks.path_of(path, number).name for number in range(len(chunks.n_draws))}
    with suppress(OSError), os.scandir(Path(path).absolute().parent) as entries:
        for entry in entries:
            if pattern.fullmatch(entry.name) and entry.name not in kept:
                with suppress(OSError):
                    Path(entry.path).unlink()


# --------------------------------------------------------------------------------------------------
# The checkpoint itself
# --------------------------------------------------------------------------------------------------


KIND = "chains"
_MOST_CHAINS = 1000
_MOST_SWEEPS = 2**53
_NUMBER = re.compile("[0-9]{1,39}")


def fingerprint(*parts: Any) -> str:
    """Return a digest of arrays and plain values: all that draws depend on, the version too."""
    digest = hashlib.sha256(_version().encode())
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(np.ascontiguousarray(part).tobytes())
        else:
            digest.update(repr(part).encode())
        digest.update(b"\0")
    return digest.hexdigest()


def _version() -> str:
    try:
        return version("honestbayes")
    except PackageNotFoundError:  # a source tree that was not installed
        return "0+unknown"


def check_place(path: str | os.PathLike[str]) -> None:
    """Refuse, before any work, a place where no checkpoint can be written."""
    target = Path(path)
    if target.is_dir() or not target.absolute().parent.is_dir():
        what = "is a folder" if target.is_dir() else "is in a folder that does not exist"
        msg = f"checkpoint {target.name!r} {what}; name a file in an existing folder."
        raise ValueError(msg)
    if not os.access(target.absolute().parent, os.W_OK | os.X_OK):
        msg = f"checkpoint {target.name!r} is in a folder that is not writable."
        raise ValueError(msg)


def write_checkpoint(
    path: str | os.PathLike[str], run: ChainRun, of: str, chunks: Chunks | None = None
) -> Chunks:
    """Write chains and those of their draws that no chunk holds, whole or not at all.

    Parameters
    ----------
    path : path-like
        Where.
    run : ChainRun
        The chains.
    of : str
        Fingerprint of what they depend on.
    chunks : Chunks, optional
        Those with the first of the draws, from the write before.

    Returns
    -------
    Chunks
        With what was written now.
    """
    chunks, last = write_chunks(path, of, chunks or Chunks(), run.draws)
    content = {
        "fingerprint": of,
        "chunks": chunks.to_plain(),
        "n_chains": len(run.chains),
        "n_sweeps": run.chains[0].n_sweeps,
        "streams": [_stream_to_plain(chain.stream) for chain in run.chains],
        "state": {},
        "drawn": {},
    }
    arrays: dict[str, AnyArray] = {
        f"state.{name}": np.stack([chain.state[name] for chain in run.chains])
        for name in run.chains[0].state
    }
    arrays |= {f"drawn.{name}": value for name, value in last.items()}
    write_archive(path, KIND, content, arrays)
    remove_others(path, chunks)
    return chunks


def read_checkpoint(
    path: str | os.PathLike[str], of: str, form: Form, schedules: Sequence[Schedule]
) -> tuple[ChainRun, Chunks] | None:
    """Return the run that a file holds, and the chunks beside it; None where there is no file.

    Parameters
    ----------
    path : path-like
        Where.
    of : str
        Fingerprint of what the chains depend on.
    form : Form
        What they look like, with all lengths (`Form.like`).
    schedules : sequence of Schedule
        Which of their sweeps may be kept: one for each stage that they may be in.

    Raises
    ------
    ModelFileError
        Where the file is damaged, no checkpoint, or holds what no chain can have come to.
    ValueError
        Where it is that of another run.
    """
    if not Path(path).exists():
        return None
    name = Path(path).name
    try:
        archive = read_archive(path)
    except ModelFileError as error:
        msg = f"the checkpoint cannot be read: {error}"
        raise ModelFileError(msg) from None
    if archive.kind != KIND:
        msg = f"{name!r} holds {archive.kind[:60]!r}, and is not a checkpoint."
        raise ModelFileError(msg)
    if archive.content.get("fingerprint") != of:
        msg = (
            f"{name} is the checkpoint of a run with other data, settings or "
            "version. Name another file, or remove it to start again."
        )
        raise ValueError(msg)
    try:
        content, arrays, chunks = _with_chunks(path, of, archive)
        *others, last = schedules
        for schedule in others:
            with suppress(ModelFileError):  # chains of this stage have other numbers of draws
                return _run_from_plain(Entries(content, arrays), form, schedule), chunks
        return _run_from_plain(Entries(content, arrays), form, last), chunks
    except ModelFileError as error:
        why = str(error).rstrip(".")
        msg = f"{name!r} is not a valid checkpoint: {why}. Remove it to start again."
        raise ModelFileError(msg) from None


def _with_chunks(
    path: str | os.PathLike[str], of: str, archive: Archive
) -> tuple[dict[str, Any], dict[str, AnyArray], Chunks]:
    """Return what a file holds, with the draws of its chunks; older ones have none."""
    content = dict(archive.content)
    chunks = Chunks.from_plain(content.pop("chunks")) if "chunks" in content else Chunks()
    start = "drawn."
    others = {n: value for n, value in archive.arrays.items() if not n.startswith(start)}
    last = {n[len(start) :]: archive.arrays[n] for n in archive.arrays if n not in others}
    drawn = read_chunks(path, of, chunks, last)
    return content, {**others, **{start + n: value for n, value in drawn.items()}}, chunks


def _run_from_plain(entries: Entries, form: Form, schedule: Schedule) -> ChainRun:
    """Return the run that plain data describe; refuse one that the kernel could not go on from."""
    entries.value("fingerprint")
    n_chains = Whole(1, _MOST_CHAINS).read(entries, "n_chains", {})
    fits = n_chains == form.sizes["n_chains"]
    entries.check(fits, "n_chains", "is another number of chains")
    n_sweeps = Whole(0, _MOST_SWEEPS).read(entries, "n_sweeps", {})
    streams = entries.value("streams")
    whole = isinstance(streams, list) and len(streams) == n_chains
    entries.check(whole, "streams", "are not whole")
    entries.check(all(map(_is_stream, streams)), "streams", "are damaged")
    state, drawn = form.read(entries, schedule.n_kept(n_sweeps))
    entries.finish()
    chains = tuple(
        Chain(
            {name: value[c] for name, value in state.items()},
            _stream_from_plain(stream),
            n_sweeps,
        )
        for c, stream in enumerate(streams)
    )
    return ChainRun(chains, Draws(drawn, n_chains))


def _stream_to_plain(stream: Mapping[str, Any]) -> list[str | int]:
    """Write the state of a generator; its numbers have 128 bits, and become texts."""
    inner = stream["state"]
    return [
        str(inner["state"]),
        str(inner["inc"]),
        int(stream["has_uint32"]),
        int(stream["uinteger"]),
    ]


def _is_stream(plain: Any) -> bool:
    """Whether this is the state of a PCG64: two numbers of 128 bits, and 32 bits left over."""
    if not isinstance(plain, list) or len(plain) != 4:
        return False
    *texts, has_uint32, uinteger = plain
    if not all(isinstance(text, str) and _NUMBER.fullmatch(text) for text in texts):
        return False
    state, increment = map(int, texts)
    return (
        max(state, increment) < 2**128
        and increment % 2 == 1  # an even one has a shorter period
        and type(has_uint32) is type(uinteger) is int
        and has_uint32 in (0, 1)
        and 0 <= uinteger < 2**32
    )


def _stream_from_plain(plain: Sequence[Any]) -> dict[str, Any]:
    state, increment, has_uint32, uinteger = plain
    return {
        "bit_generator": "PCG64",
        "state": {"state": int(state), "inc": int(increment)},
        "has_uint32": has_uint32,
        "uinteger": uinteger,
    }
