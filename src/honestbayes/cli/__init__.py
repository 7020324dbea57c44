"""The command line: arguments in, messages and exit codes out."""

from __future__ import annotations

import typer

from honestbayes.cli.demo import demo
from honestbayes.cli.inspection import inspect
from honestbayes.cli.models import fit
from honestbayes.cli.predictions import evaluate, predict
from honestbayes.cli.report import report
from honestbayes.cli.select import select
from honestbayes.cli.sequence import sequence

app = typer.Typer(
    name="honestbayes",
    help="Probabilities that stay honest after feature selection.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (report, fit, predict, evaluate, inspect, select, sequence, demo):
    app.command()(command)


def _version(wanted: bool) -> None:
    if wanted:
        from honestbayes import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def main(
    version: bool = typer.Option(
        False, "--version", help="Print the version.", callback=_version, is_eager=True
    ),
) -> None:
    """Probabilities that stay honest after feature selection."""
    del version
