"""The command line: arguments in, messages and exit codes out.

A command's module is imported when the command is called, so that ``--help``, ``--version`` and a
mistyped word are answered at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

# --------------------------------------------------------------------------------------------------
# Under which headings ``--help`` shows the options of a command
# --------------------------------------------------------------------------------------------------


FEW = 6
"""Options that need no headings."""

HEADINGS = {
    "Data": (
        *("target", "positive", "merge_labels", "missing_label", "keep_labels", "ignore"),
        *("groups", "row_names", "weights", "rows"),
        *("column", "lines", "collapse", "cut"),
    ),
    "Model": (
        *("model", "effort", "order", "missing_as_level", "smoothing", "bins"),
        *("train", "chains", "draws"),
    ),
    "Selection": (
        *("features", "threshold", "keep", "covariates", "method", "distinct", "expected"),
        *("patience", "held_out", "score_on", "loss"),
    ),
    "Probabilities": ("prevalence", "recalibrate", "interval", "exact", "history"),
    "Evaluation": ("folds", "repeats", "leave_one_out", "path", "compare", "quick", "check"),
    "Reading the file": (
        *("missing", "categorical", "measured", "flags", "keep_duplicates"),
        *("delimiter", "decimal", "encoding", "sheet", "header_row", "layer"),
        *("transpose", "phenotype", "sample_id", "max_size"),
    ),
    "Output": ("out", "contexts", "quiet", "as_json"),
}
"""The headings in their order, and the parameters of commands that stand under each."""

REST = "Other"
"""The heading of all that stand under none of these."""


class GroupedCommand(TyperCommand):
    """A command with its options grouped under headings in the help."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options under each heading in the order of the command."""
        records = [(item, item.get_help_record(ctx)) for item in self.get_params(ctx)]
        options = {
            str(item.name): record
            for item, record in records
            if record is not None and item.param_type_name == "option"
        }
        if len(options) <= FEW + 1:  # --help is one of them
            super().format_options(ctx, formatter)
            return
        with formatter.section("Arguments"):
            formatter.write_dl(
                [record for item, record in records if record and str(item.name) not in options]
            )
        heading_of = {name: heading for heading, names in HEADINGS.items() for name in names}
        for heading in (*HEADINGS, REST):
            here = [row for name, row in options.items() if heading_of.get(name, REST) == heading]
            if here:
                with formatter.section(heading):
                    formatter.write_dl(here)


COMMANDS = {
    "report": ("report", "Cross-validate, fit, and write a report with the model."),
    "fit": ("fit", "Fit a model to all rows and save it, without evaluating it."),
    "predict": ("predict", "Predict a table of any length, as CSV."),
    "evaluate": ("predict", "Evaluate a model on new cases."),
    "inspect": ("inspect", "Show the contents of a model file or a packed store."),
    "select": ("select", "Select columns that give the best probabilities."),
    "pack": ("pack", "Pack a table of 0s and 1s into a store on disk."),
    "sequence": ("sequence", "Predict the next symbol of a sequence."),
    "reproduce": ("reproduce", "Reproduce published tables and figures."),
    "demo": ("demo", "Compare expected and observed error rates on bundled data."),
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
    help="Calibrated class probabilities after feature selection.",
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
    """Calibrated class probabilities after feature selection."""
    del version
