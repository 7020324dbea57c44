"""The command line: arguments in, messages and exit codes out.

A command's module is imported when the command is called, so that ``--help``, ``--version`` and a
mistyped word are answered at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from honestbayes.cli.headings import GroupedCommand

COMMANDS = {
    "report": ("report", "Evaluate honestly, fit, and write a report with the model."),
    "fit": ("models", "Fit a model on all rows and save it, without an evaluation."),
    "predict": ("predictions", "Predict a table of any length; the result is CSV."),
    "evaluate": ("predictions", "Judge a model on a table that it has not seen."),
    "inspect": ("inspection", "Show what a model file or a packed store holds."),
    "select": ("select", "Select columns for the sake of probabilities."),
    "pack": ("packing", "Pack a table of zeros and ones into a store on disk."),
    "sequence": ("sequence", "Learn what follows what in a sequence."),
    "reproduce": ("reproduce", "Repeat published tables and figures, with ours beside them."),
    "demo": ("demo", "Compare claims with what happens, on data of the package."),
}
"""The module of each command, and its line in the list of all."""

_SETTINGS: dict[str, Any] = {
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
}


class Commands(TyperGroup):
    """The commands, each imported when it is called."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        # For who suggests the right word for a wrong one.
        self.commands = dict.fromkeys(COMMANDS, typer.core.TyperCommand(None))

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names, in the order of the help."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; None where there is none of this name."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"honestbayes.cli.{COMMANDS[cmd_name][0]}")
        single = typer.Typer(**_SETTINGS)
        single.command(cmd_name, cls=GroupedCommand)(getattr(module, cmd_name))
        return typer.main.get_command(single)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of all commands, without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


app = typer.Typer(
    cls=Commands,
    name="honestbayes",
    help="Probabilities that stay honest after feature selection.",
    no_args_is_help=True,
    **_SETTINGS,
)


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
