"""Entry point of ``honestbayes`` and ``python -m honestbayes``."""

from __future__ import annotations

import atexit
import io
import logging
import os
import sys
from contextlib import suppress
from importlib.util import find_spec

_NEEDED = ("typer", "rich", "jinja2", "matplotlib", "pandas", "pyarrow")


def program() -> None:
    """Run the command line as a separate process."""
    code: int | None = 1

    def leave() -> None:
        # pyarrow reads files ahead in threads of its own, which call Python; it offers no way to
        # wait for them. One that does so while the interpreter is taken apart aborts the process.
        if "pyarrow" in sys.modules and code is not None:
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError, ValueError):
                    stream.flush()
            os._exit(code)

    atexit.register(leave)  # the first to be registered is the last to be called
    try:
        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        raise
    except KeyboardInterrupt:  # the interpreter ends by the signal
        code = None
        raise


def main() -> None:
    """Run the command line, or print which package is missing."""
    _open_closed_streams()
    missing = [package for package in _NEEDED if find_spec(package) is None]
    if missing:
        sys.stderr.write(
            f"honestbayes: the command line needs {', '.join(missing)}; install it with: "
            'pip install "honestbayes[cli]"\n'
        )
        sys.exit(1)
    # Without a home it draws all the same; what it remarks on that is not about the user's table.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    try:
        from honestbayes.cli import app
    except KeyboardInterrupt:  # importing takes seconds; afterwards the commands see to it
        sys.exit(1)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that lacks a letter of a name shows "?", and the command goes on.
            stream.reconfigure(errors="replace")
    app(prog_name="honestbayes")


def _open_closed_streams() -> None:
    """Give closed standard streams (``>&-``) a place that takes everything.

    Their numbers would else be given to the next files that are opened.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the smallest number that is free
    for name, number in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w", encoding="utf-8", closefd=False))  # noqa: SIM115


if __name__ == "__main__":
    program()
