"""Where reports and models may be written: checked before any work, and before any long import."""

from __future__ import annotations

import json
import os
from pathlib import Path

from honestbayes.tables.errors import InputError, shown

PAGE = "report.html"
JSON = "report.json"
PREDICTIONS = "predictions.csv"
MODEL = "model.honestbayes"
FILES = frozenset({PAGE, JSON, PREDICTIONS, MODEL})


def check_folder(folder: Path, more: frozenset[str] = frozenset()) -> None:
    """Refuse a place where something else would be lost; files named ``more`` may be there."""
    check_parent(folder)
    if not folder.exists():
        return
    if not folder.is_dir():
        msg = f"{place_name(folder)} exists and is not a folder; choose another --out."
        raise InputError(msg)
    present = {entry.name for entry in folder.iterdir()}
    ours = {entry.name for entry in folder.iterdir() if entry.is_file() and not entry.is_symlink()}
    strange = sorted(present - (ours & (FILES | more)))
    if not strange and present and not _is_report(folder / JSON):
        strange = sorted(present)
    if strange:
        msg = (
            f"the folder {place_name(folder)} holds {strange[0]!r}, which is not part of a report; "
            "choose another --out, so that nothing is lost."
        )
        raise InputError(msg)


def _is_report(path: Path) -> bool:
    """Whether this is the JSON of a report, so that the folder is ours to replace."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(data, dict) and {"verdict", "in_use", "methods", "versions"} <= set(data)


def check_parent(place: Path) -> None:
    """Refuse, before any work, a place that is nowhere, or where nothing may be written."""
    parent = place.absolute().parent
    if not parent.is_dir():
        name = place_name(place)
        msg = f"the folder for {name} does not exist; create it, or choose another --out."
        raise InputError(msg)
    if not os.access(parent, os.W_OK | os.X_OK):
        msg = f"the folder for {place_name(place)} may not be written to; choose another --out."
        raise InputError(msg)
    most, size = _longest_name(parent), len(os.fsencode(place.name))
    if size > most:
        msg = (
            f"the name {shown(place.name)} is too long to be written ({size} bytes, and {most} are "
            "the most); give a shorter one with --out."
        )
        raise InputError(msg)


def place_name(place: Path) -> str:
    """Return the last part of a path, or what was typed where there is none, as for "."."""
    return place.name or str(place)


def _longest_name(folder: Path) -> int:
    """Return how many bytes a name in a folder may have."""
    if not hasattr(os, "pathconf"):
        return 255
    try:
        return os.pathconf(folder, "PC_NAME_MAX")
    except (OSError, ValueError):  # the file system does not say
        return 255
