"""``honestbayes demo``: a comparison on bundled data, in seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from honestbayes.cli.output import one_line_errors, progress


@one_line_errors
def demo(
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="Folder of the report that is written.", readable=False),
    ] = Path("honestbayes-demo"),
) -> None:
    """Compare expected and observed error rates on simulated and real data; write a report."""
    from honestbayes.demo import main

    with progress(quiet=False) as bars:
        main(out, bars)
