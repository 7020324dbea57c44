"""``honestbayes`` and ``python -m honestbayes``: the command line, where it is installed."""

from __future__ import annotations

import io
import logging
import sys
from importlib.util import find_spec

_NEEDED = ("typer", "rich", "jinja2", "matplotlib", "pandas", "pyarrow")


def main() -> None:
    """Run the command line, or say in one line what it needs."""
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


if __name__ == "__main__":
    main()
