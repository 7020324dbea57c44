"""Where reports and models may be written: checked before any work, and before any long import."""

from __future__ import annotations

import json
import os
from pathlib import Path

from honestbayes.tables.errors import InputError

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
        msg = f"{folder.name} exists and is not a folder; choose another --out."
        raise InputError(msg)
    present = {entry.name for entry in folder.iterdir()}
    ours = {entry.name for entry in folder.iterdir() if entry.is_file() and not entry.is_symlink()}
    strange = sorted(present - (ours & (FILES | more)))
    if not strange and present and not _is_report(folder / JSON):
        strange = sorted(present)
    if strange:
        msg = (
            f"the folder {folder.name} holds {strange[0]!r}, which is not part of a report; choose "
            "another --out, so that nothing is lost."
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
        msg = f"the folder for {place.name} does not exist; create it, or choose another --out."
        raise InputError(msg)
    if not os.access(parent, os.W_OK | os.X_OK):
        msg = f"the folder for {place.name} may not be written to; choose another --out."
        raise InputError(msg)
