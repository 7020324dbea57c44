"""The folder with data that do not come with the package."""

from __future__ import annotations

import os
from pathlib import Path

DATA_VARIABLE = "HONESTBAYES_DATA"


def data_folder(folder: str | os.PathLike[str] | None, file: str) -> Path:
    """Return the folder that is given, or the one that the environment names.

    Parameters
    ----------
    folder : path or None
        What the user gave.
    file : str
        What is looked for, for the message.
    """
    if folder is not None:
        return Path(folder)
    named = os.environ.get(DATA_VARIABLE)
    if not named:
        msg = (
            f"the folder that holds {file} is not known: give folder=..., or set the environment "
            f"variable {DATA_VARIABLE}."
        )
        raise FileNotFoundError(msg)
    return Path(named)
