"""Atomic writing of files and folders.

What is new is written beside the target, under a hidden name, and takes the target's place in one
step. A process that is killed leaves the old or the new one there, and at worst the hidden one
beside it, which the next write of the same target removes once it is a day old.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import secrets
import shutil
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LEFT_OVER_AFTER = 24 * 3600.0
"""A hidden sibling older than this many seconds was left by a process that is gone: nobody writes
one file or folder for a day, and a younger one may belong to a process that is still at work."""

_MARK = "honestbayes"
_LONGEST_NAME = 255
"""Bytes that a name may have on common file systems."""

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_RENAME_SWAP = 2
_NO_EXCHANGE = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Write a file atomically.

    Parameters
    ----------
    path : path-like
        The target. A symbolic link stays, and what it points to is replaced.

    Yields
    ------
    Path
        An empty file beside the target, to be written and closed. It takes the target's place
        when the block ends, and is removed when the block raises.

    Raises
    ------
    IsADirectoryError
        If the target is a folder.
    OSError
        If it is anything else than a regular file: a device is not to be replaced.
    PermissionError
        If it may only be read.

    Notes
    -----
    The mode of a file that is replaced stays.
    """
    target = _resolved(path)
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "Is a directory", str(target))
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "Not a regular file", str(target))
    temporary = _hidden_sibling(target)
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    if mode is not None and not mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(errno.EACCES, "Permission denied", str(target))
    # Created here, so that no other process can own the name, with the mode that umask leaves.
    first = 0o666 if mode is None else 0o600
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, first))
    try:
        yield temporary
        if mode is not None:
            temporary.chmod(mode)
        _to_disk(temporary)
        temporary.replace(target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    _folder_to_disk(target.parent)
    _remove_left_overs(target)


@contextmanager
def atomic_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Write a folder atomically.

    Parameters
    ----------
    path : path-like
        The target. An existing folder is replaced with all that it holds.

    Yields
    ------
    Path
        An empty folder beside the target. It takes the target's place when the block ends, and
        is removed when the block raises.

    Raises
    ------
    NotADirectoryError
        If the target exists and is no folder.

    Notes
    -----
    An existing folder and the new one change places in one system call (``renameat2`` on Linux,
    ``renamex_np`` on macOS). Where there is none (Windows, some network file systems) the old one
    is renamed, then the new one, and the old one comes back if that fails; a process killed
    between the two leaves no target, but the old one whole under its hidden name.
    """
    target = _resolved(path)
    if target.exists() and not target.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "Not a directory", str(target))
    temporary = _hidden_sibling(target)
    temporary.mkdir()
    try:
        yield temporary
        _tree_to_disk(temporary)
        _swap_in(temporary, target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    _folder_to_disk(target.parent)
    # After an exchange this is the old one. The new one is in place, so no failure matters.
    shutil.rmtree(temporary, ignore_errors=True)
    _remove_left_overs(target)


def move_folder(finished: Path, target: Path) -> None:
    """Give a finished folder its name, in one step; its files are on the disk before.

    Raises
    ------
    OSError
        If there is a file, or a folder that is not empty, of this name.
    """
    _tree_to_disk(finished)
    finished.rename(target)
    _folder_to_disk(target.parent)


def _resolved(path: str | os.PathLike[str]) -> Path:
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "No such folder", str(target.parent))
    return target


def _prefix(target: Path) -> str:
    """Start of the hidden names of a target, short enough for every file system."""
    ending = f".{_MARK}-"
    room = _LONGEST_NAME - len(ending) - 1 - 16
    name = os.fsencode(target.name)[:room]
    return "." + name.decode("utf-8", "ignore") + ending


def _hidden_sibling(target: Path) -> Path:
    return target.parent / f"{_prefix(target)}{secrets.token_hex(8)}"


def _remove_left_overs(target: Path) -> None:
    """Remove what killed processes left beside the target, once the target is in place."""
    pattern = re.compile(re.escape(_prefix(target)) + "[0-9a-f]{16}")
    before = time.time() - LEFT_OVER_AFTER
    with suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            if not pattern.fullmatch(entry.name):
                continue
            with suppress(OSError):
                state = entry.stat(follow_symlinks=False)
                if state.st_mtime >= before:
                    continue
                if stat.S_ISDIR(state.st_mode):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    Path(entry.path).unlink()


def _swap_in(temporary: Path, target: Path) -> None:
    """Put the new folder in the target's place; an old one is then at the hidden name."""
    try:
        temporary.rename(target)  # where there is none yet, or an empty one
    except OSError:
        if not target.is_dir():
            raise
    else:
        return
    if _exchange(temporary, target):
        return
    aside = _hidden_sibling(target)
    target.rename(aside)
    try:
        temporary.rename(target)
    except BaseException:
        aside.rename(target)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _exchange(first: Path, second: Path) -> bool:
    """Let two names change places in one system call; False where there is no such call."""
    if sys.platform == "win32":
        return False
    library = ctypes.CDLL(None, use_errno=True)
    a, b = os.fsencode(first), os.fsencode(second)
    if sys.platform == "darwin":
        call, arguments = getattr(library, "renamex_np", None), (a, b, _RENAME_SWAP)
    else:
        call = getattr(library, "renameat2", None)
        arguments = (_AT_FDCWD, a, _AT_FDCWD, b, _RENAME_EXCHANGE)
    if call is None:
        return False
    if call(*arguments) == 0:
        return True
    code = ctypes.get_errno()
    if code in _NO_EXCHANGE:
        return False
    raise OSError(code, os.strerror(code), str(second))


def _to_disk(file: Path) -> None:
    """Wait until the file's content is on the disk, before its name is."""
    # Windows wants a handle that may write; elsewhere a file may be meant to be read-only.
    handle = os.open(file, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _folder_to_disk(folder: Path) -> None:
    """Do the same for the names in a folder, where the system can."""
    if sys.platform == "win32":
        return
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _tree_to_disk(folder: Path) -> None:
    for place, _, files in os.walk(folder):
        for name in files:
            file = Path(place, name)
            if file.is_file() and not file.is_symlink():
                _to_disk(file)
        _folder_to_disk(Path(place))
