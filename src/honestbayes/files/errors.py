"""The one error of a file that cannot be a model."""

from __future__ import annotations


class ModelFileError(ValueError):
    """A file is not a model file, is damaged, or holds what cannot be a model."""
