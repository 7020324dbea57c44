"""Under which headings ``--help`` shows the options of a command."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

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
        *("features", "threshold", "keep", "method", "expected", "patience"),
        *("held_out", "score_on", "loss"),
    ),
    "Probabilities": ("prevalence", "recalibrate", "interval", "exact", "history"),
    "Checking": ("folds", "repeats", "leave_one_out", "path", "compare", "quick", "check"),
    "Reading the file": (
        *("missing", "categorical", "measured", "flags", "keep_duplicates"),
        *("delimiter", "decimal", "encoding", "max_size"),
    ),
    "Output": ("out", "contexts", "quiet", "as_json"),
}
"""The headings in their order, and the parameters of commands that stand under each."""

REST = "Other"
"""The heading of all that stand under none of these."""


class GroupedCommand(TyperCommand):
    """A command whose help shows its options under headings, where there are many."""

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
