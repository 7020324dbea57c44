"""Files of plain data: validated when read, and written atomically."""

from __future__ import annotations

from honestbayes.files.archive import Archive, read_archive, write_archive
from honestbayes.files.atomic import atomic_folder, atomic_write
from honestbayes.files.errors import ModelFileError

__all__ = [
    "Archive",
    "ModelFileError",
    "atomic_folder",
    "atomic_write",
    "read_archive",
    "write_archive",
]
