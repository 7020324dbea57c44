"""Plain data on disk: read with distrust, written whole or not at all."""

from __future__ import annotations

from honestbayes.files.archive import Archive, read_archive, write_archive
from honestbayes.files.atomic import whole_file, whole_folder
from honestbayes.files.errors import ModelFileError

__all__ = [
    "Archive",
    "ModelFileError",
    "read_archive",
    "whole_file",
    "whole_folder",
    "write_archive",
]
