"""Chains on disk, so that a run that was stopped or killed goes on where it was.

The file is the package's own container of plain data. It also holds a fingerprint of all that the
draws depend on; another run does not go on from it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from honestbayes.files import ModelFileError, read_archive, write_archive
from honestbayes.files.entries import Entries
from honestbayes.sampling.chains import Chain, Run
from honestbayes.sampling.draws import Draws
from honestbayes.types import AnyArray

KIND = "chains"
_MOST_CHAINS = 1000
_MOST_SWEEPS = 2**53


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
    place = Path(path)
    if place.is_dir() or not place.absolute().parent.is_dir():
        what = "is a folder" if place.is_dir() else "is in a folder that does not exist"
        msg = f"checkpoint {place.name!r} {what}; name a file in a folder that is there."
        raise ValueError(msg)
    if not os.access(place.absolute().parent, os.W_OK | os.X_OK):
        msg = f"checkpoint {place.name!r} is in a folder that may not be written to."
        raise ValueError(msg)


def write_checkpoint(path: str | os.PathLike[str], run: Run, of: str) -> None:
    """Write chains and their draws, whole or not at all.

    Parameters
    ----------
    path : path-like
        Where.
    run : Run
        The chains.
    of : str
        Fingerprint of what they depend on.
    """
    content = {
        "fingerprint": of,
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
    arrays |= {f"drawn.{name}": np.asarray(value) for name, value in run.draws.values.items()}
    write_archive(path, KIND, content, arrays)


def read_checkpoint(path: str | os.PathLike[str], of: str) -> Run | None:
    """Return the run that a file holds; None where there is no file.

    Raises
    ------
    ModelFileError
        Where the file is damaged, or no checkpoint.
    ValueError
        Where it is that of another run.
    """
    if not Path(path).exists():
        return None
    try:
        archive = read_archive(path)
    except ModelFileError as error:
        msg = f"no checkpoint can be read: {error}"
        raise ModelFileError(msg) from None
    if archive.kind != KIND:
        msg = f"{Path(path).name!r} holds {archive.kind!r}, and is not a checkpoint."
        raise ModelFileError(msg)
    entries = Entries(archive.content, archive.arrays)
    if entries.value("fingerprint") != of:
        msg = (
            f"{Path(path).name} is the checkpoint of another run: the data, the settings or the "
            "version differ. Name another file, or remove it to start anew."
        )
        raise ValueError(msg)
    n_chains = int(entries.number("n_chains", 1, _MOST_CHAINS))
    n_sweeps = int(entries.number("n_sweeps", 0, _MOST_SWEEPS))
    streams = entries.value("streams")
    entries.check(
        isinstance(streams, list) and len(streams) == n_chains, "streams", "are not whole"
    )
    _, state = entries.section("state").plain()
    _, drawn = entries.section("drawn").plain()
    for name, value in {**state, **drawn}.items():
        entries.check(value.shape[:1] == (n_chains,), name, "has another number of chains")
    entries.finish()
    chains = tuple(
        Chain(
            {name: value[c] for name, value in state.items()},
            _stream_from_plain(stream),
            n_sweeps,
        )
        for c, stream in enumerate(streams)
    )
    return Run(chains, Draws(drawn, n_chains))


def _stream_to_plain(stream: Mapping[str, Any]) -> list[str | int]:
    """Write the state of a generator; its numbers have 128 bits, and become texts."""
    inner = stream["state"]
    return [
        str(inner["state"]),
        str(inner["inc"]),
        int(stream["has_uint32"]),
        int(stream["uinteger"]),
    ]


def _stream_from_plain(plain: Any) -> dict[str, Any]:
    try:
        state, inc, has_uint32, uinteger = plain
        return {
            "bit_generator": "PCG64",
            "state": {"state": int(state), "inc": int(inc)},
            "has_uint32": int(has_uint32),
            "uinteger": int(uinteger),
        }
    except (TypeError, ValueError):
        msg = "streams are damaged"
        raise ModelFileError(msg) from None
