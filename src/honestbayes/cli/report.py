"""``honestbayes report``: from a table to a folder with an honest report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from honestbayes.cli import options as given
from honestbayes.cli import reading
from honestbayes.cli.messages import bad_input, one_line_errors, progress, say, word
from honestbayes.evaluation.peers import FREQUENCIES
from honestbayes.report.analysis import Analysis, analyse
from honestbayes.report.described import races_in_words
from honestbayes.report.fitting import with_room
from honestbayes.report.folder import PAGE, check_folder, write_folder
from honestbayes.report.kept import Average
from honestbayes.report.options import DEFAULT_FOLDS, Options
from honestbayes.report.record import Report
from honestbayes.report.wording import number, percent
from honestbayes.tables import read_training
from honestbayes.tables.model import TableModel


@one_line_errors
def report(
    context: typer.Context,
    table: given.Table,
    target: given.Target = None,
    features: given.Features = None,
    threshold: given.Threshold = None,
    model: given.ModelKind = given.DEFAULT_MODEL,
    effort: given.Effort = None,
    order: given.Order = None,
    positive: given.Positive = None,
    keep: given.Keep = None,
    ignore: given.Ignore = None,
    groups: given.Groups = None,
    row_names: given.RowNames = None,
    folds: Annotated[
        int | None,
        typer.Option(
            min=2,
            help=f"Folds of the cross-validation; {DEFAULT_FOLDS}, or as many as the smallest "
            "class has cases.",
        ),
    ] = None,
    repeats: Annotated[
        int | None, typer.Option(min=1, help="How often folds are drawn; by the table's size.")
    ] = None,
    leave_one_out: Annotated[
        bool, typer.Option("--leave-one-out", help="One case, or group, at a time.")
    ] = False,
    prevalence: given.Prevalence = None,
    recalibrate: given.Recalibrate = True,
    path: Annotated[
        bool | None,
        typer.Option(help="Try other numbers of features too; by the table's size."),
    ] = None,
    compare: Annotated[
        bool,
        typer.Option(
            help="Run methods of others on the same folds; without, a report takes half the time."
        ),
    ] = True,
    seed: given.Seed = 0,
    jobs: Annotated[int, typer.Option(help="Processes at work; -1 for one on each processor.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder to write; by default named after the table.", readable=False),
    ] = None,
    missing: reading.Missing = None,
    missing_as_level: reading.MissingAsLevel = False,
    categorical: reading.Categorical = None,
    measured: reading.Measured = None,
    flags: reading.Flags = None,
    keep_duplicates: reading.KeepDuplicates = False,
    delimiter: reading.Delimiter = None,
    decimal: reading.Decimal = None,
    encoding: reading.FileEncoding = None,
    max_size: given.MaxSize = given.DEFAULT_MAX_SIZE,
    quiet: given.Quiet = False,
    as_json: given.AsJson = False,
) -> None:
    """Evaluate honestly, fit, and write a folder with the report, predictions and the model."""
    given.check_selection(features, threshold)
    given.check_model(model, features, threshold, order, missing_as_level, path, effort)
    shares = given.prevalence_of(prevalence)
    given.check_jobs(jobs)
    kinds = reading.kinds_of(categorical, measured, flags)
    chosen = Options(
        n_features=given.number_of_features(features),
        threshold=threshold,
        n_folds="loo" if leave_one_out else folds or DEFAULT_FOLDS,
        n_repeats=repeats,
        prevalence=shares,
        recalibrate=recalibrate,
        path=path,
        compare=compare,
        seed=seed,
        n_jobs=jobs,
        model=model.value,
        order=given.order_of_patterns(order),
        missing_as_level=missing_as_level,
        effort=given.effort_of(effort),
    )
    folder = Path(f"{stem(table)}-report") if out is None else out
    check_folder(folder)
    command = given.repeating_command(context, "jobs", "quiet", "as_json")
    file = reading.opened(table, delimiter, max_size, decimal, encoding, missing)
    with progress(quiet=quiet) as bars:
        bars("Reading", 0)
        data = read_training(
            file,
            target=target,
            positive=positive,
            ignore=ignore or (),
            keep=keep or (),
            groups=groups,
            ids=row_names,
            coded=chosen.coded,
            kinds=kinds,
            keep_duplicates=keep_duplicates,
        )
        data.refuse_doubts(file.name)
        if folds is None:
            chosen, data = with_room(chosen, data)
        given.check_fits(chosen, data)
        given.check_evaluation(chosen, data)
        with bad_input():
            analysis = analyse(data, chosen, name=file.name, command=command, progress=bars)
        bars("Writing", 0)
        write_folder(analysis.report, TableModel.of_training(analysis.model, data), folder)
    if as_json:
        typer.echo(json.dumps(analysis.report.to_dict(cases=False), allow_nan=False, indent=1))
    elif not quiet:
        print_report(analysis, folder)


def stem(table: Path) -> str:
    """Return the table's name without its suffixes.

    >>> stem(Path("data/expression.csv.gz"))
    'expression'
    """
    return table.name.removesuffix(".gz").rsplit(".", 1)[0] or table.name


def print_report(analysis: Analysis, folder: Path) -> None:
    """Print the verdict, the comparison and where the files are."""
    found = analysis.report
    data = found.data
    kept = found.race.n_kept + found.race.n_by_design
    by_kind = f" ({races_in_words(found.races)})" if found.races else ""
    factors = f", {found.factors}" if found.factors else ""
    features = f"{data.n_features:,} feature{'' if data.n_features == 1 else 's'}"
    if found.interactions is not None:
        made_of = f"{features}, {found.interactions.in_words()}"
    elif found.average is not None:
        made_of = f"{features}, {average_in_words(found.average)}"
    else:
        made_of = f"{features}, {kept:,} kept{by_kind}{factors}"
    say(f"{word(data.name)}: {cases_in_words(data.labels, data.class_counts)}; {made_of}")
    for note in (*data.notes, *found.warnings):
        say(f"Note: {note}")
    say()
    say(found.verdict)
    say()
    Console(highlight=False).print(comparison(found))
    say()
    say(f"Report: {folder / PAGE}", wrap=False)


def average_in_words(average: Average) -> str:
    """Say how many models an average has, how many columns they need, and what fewer cost."""
    models, columns = average.n_models, len(average.columns)
    who = "1 model that needs" if models == 1 else f"{models:,} models that need"
    text = f"average of {who} {columns:,} column{'' if columns == 1 else 's'}"
    cost = average.restriction_cost
    if cost is None:
        return text
    return f"{text}; keeping to these costs {number(max(cost, 0.0), 3)} in held-out log score"


def cases_in_words(labels: tuple[str, ...], counts: tuple[int, ...]) -> str:
    """Say how many cases there are, and of which classes.

    >>> cases_in_words(("ALL", "AML"), (27, 11))
    '38 cases, 11 of them AML'
    >>> cases_in_words(("a", "b", "c"), (3, 4, 5))
    '12 cases (3 a, 4 b, 5 c)'
    """
    total = f"{sum(counts):,} cases"
    if len(labels) == 2:
        return f"{total}, {counts[1]:,} of them {word(labels[1])}"
    each = (f"{count:,} {word(label)}" for label, count in zip(labels, counts, strict=True))
    return f"{total} ({', '.join(each)})"


def comparison(found: Report) -> Grid:
    """Return the comparison as a grid for the terminal."""
    grid = Grid(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    grid.add_column("on the same folds", no_wrap=True)
    for title in ("log score", "Brier", "expected", "actual", "AUC", "slope"):
        grid.add_column(title, justify="right")
    for method in found.methods:
        summary = method.summary
        alone = method.name == FREQUENCIES
        cells = (
            number(summary.log_score.value, 3),
            number(summary.squared_error.value, 3),
            percent(summary.expected_error),
            percent(summary.actual_error.value),
            "–" if alone else number(summary.auc.value),
            "–" if alone else number(summary.calibration.slope),
        )
        mark = " *" if method.name == found.in_use else ""
        grid.add_row(Text(method.name + mark), *(Text(cell) for cell in cells))
    grid.caption = "* the model in use; expected and actual are error rates"
    grid.caption_justify = "left"
    return grid
