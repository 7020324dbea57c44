"""The error of invalid model files."""

from __future__ import annotations


class ModelFileError(ValueError):
    """A file is not a model file, or is damaged or invalid.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import honestbayes
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "notes.txt"
    ...     _ = path.write_text("not a model")
    ...     try:
    ...         honestbayes.load(path)
    ...     except honestbayes.files.ModelFileError as error:
    ...         print(error)
    'notes.txt' is not a model file.
    """
