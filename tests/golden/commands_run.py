"""Run the command line in this process, in a folder that holds the tables of the record."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from golden import tables

PLAIN = {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}
"""A terminal that is the same everywhere."""


@contextmanager
def folder_of_files() -> Iterator[Path]:
    """A folder with the tables as files, for as long as it is needed."""
    with TemporaryDirectory() as place:
        for make in (tables.messy, tables.wide, tables.three):
            make().to_csv(Path(place, f"{make.__name__}.csv"), index=False)
        yield Path(place)


def run(*words: str, folder: Path) -> str:
    """Return what a command printed; refuse one that failed."""
    from honestbayes.__main__ import main

    printed, told = io.StringIO(), io.StringIO()
    with (
        chdir(folder),
        mock.patch.dict(os.environ, PLAIN),
        mock.patch.object(sys, "argv", ["honestbayes", *words]),
        redirect_stdout(printed),
        redirect_stderr(told),
    ):
        try:
            main()
        except SystemExit as end:
            if end.code:
                msg = f"honestbayes {' '.join(words)}: {told.getvalue()}"
                raise RuntimeError(msg) from None
    return printed.getvalue() + told.getvalue()
