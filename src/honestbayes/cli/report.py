"""``honestbayes report``: evaluate a model on a table, and write a report."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table as Grid
from rich.text import Text

from honestbayes.catalogue import table_specs
from honestbayes.cli import options as given
from honestbayes.cli.output import bad_input, console, one_line_errors, progress, say, word
from honestbayes.report.options import DEFAULT_FOLDS, PAGE, QUICK_ROWS, Options, check_folder

if TYPE_CHECKING:
    from honestbayes.report.analysis import Analysis
    from honestbayes.report.record import Report


# --------------------------------------------------------------------------------------------------
# What ``honestbayes report`` prints
# --------------------------------------------------------------------------------------------------


def print_report(analysis: Analysis, folder: Path) -> None:
    """Print the verdict, the comparison and the names of the files."""
    from honestbayes.report.analysis import describe_rankings

    record = analysis.report
    data = record.data
    spec = table_specs()[record.settings["model"]]
    made_of = [f"{data.n_features:,} feature{'' if data.n_features == 1 else 's'}"]
    if spec.selects and not spec.is_average:
        by_kind = f" ({describe_rankings(record.rankings)})" if record.rankings else ""
        made_of.append(f"{record.ranking.n_kept + record.ranking.n_by_design:,} kept{by_kind}")
    made_of += [section.summary for section in record.sections if section.summary]
    say(
        f"{word(data.name)}: {describe_cases(data.labels, data.class_counts)}; {', '.join(made_of)}"
    )
    for note in (*data.notes, *record.warnings):
        if note not in record.verdict.caution:
            say(f"Note: {note}")
    say()
    say(" ".join(record.verdict.in_short))
    say()
    say(record.verdict.figures())  # the caution has just been printed
    say()
    console().print(comparison(record))
    say()
    say(f"Report: {folder / PAGE}", wrap=False)


def describe_cases(labels: tuple[str, ...], counts: tuple[int, ...]) -> str:
    """Describe the cases and the classes.

    >>> describe_cases(("ALL", "AML"), (27, 11))
    '38 cases, 11 of them AML (the positive class; --positive ALL changes that)'
    >>> describe_cases(("a", "b", "c"), (3, 4, 5))
    '12 cases (3 a, 4 b, 5 c)'
    """
    total = f"{sum(counts):,} cases"
    if len(labels) == 2:
        other = word(shlex.quote(labels[0]))
        return (
            f"{total}, {counts[1]:,} of them {word(labels[1])} (the positive class; --positive "
            f"{other} changes that)"
        )
    each = (f"{count:,} {word(label)}" for label, count in zip(labels, counts, strict=True))
    return f"{total} ({', '.join(each)})"


def comparison(record: Report) -> Grid:
    """Return the comparison as a grid for the terminal."""
    from honestbayes.evaluation.baselines import FREQUENCIES
    from honestbayes.report.wording import number, percent

    grid = Grid(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    grid.add_column("on the same folds", no_wrap=True)
    for title in ("log score", "Brier", "expected", "observed", "AUC", "slope"):
        grid.add_column(title, justify="right")
    for method in record.methods:
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
        mark = " *" if method.name == record.in_use else ""
        grid.add_row(Text(method.name + mark), *(Text(cell) for cell in cells))
    of = "of one class" if len(record.data.labels) == 2 else "summed over classes"
    grid.caption = (
        "* the model in use; expected and observed are error rates\n"
        f"Brier: the mean of (y - p)^2 {of}, y being 1 or 0"
    )
    grid.caption_justify = "left"
    return grid


@one_line_errors
@given.reads_tables()
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
    covariates: given.Covariates = None,
    ignore: given.Ignore = None,
    groups: given.Groups = None,
    row_names: given.RowNames = None,
    folds: Annotated[
        int | None,
        typer.Option(
            min=2,
            help=f"Number of cross-validation folds; {DEFAULT_FOLDS}, or fewer if the smallest "
            "class has fewer cases.",
        ),
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of repeats of the folds; by default set by the table's size."
        ),
    ] = None,
    leave_one_out: Annotated[
        bool, typer.Option("--leave-one-out", help="Hold out one case, or one group, at a time.")
    ] = False,
    prevalence: given.Prevalence = None,
    recalibrate: given.Recalibrate = True,
    path: Annotated[
        bool | None,
        typer.Option(
            help="Also try other numbers of features; by default set by the table's size."
        ),
    ] = None,
    compare: Annotated[
        bool,
        typer.Option(
            help="Run baselines on the same folds; without them, a report takes half the time."
        ),
    ] = True,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="A first answer in seconds: one repeat of the folds, fewer numbers of features, "
            "no "
            "baselines.",
        ),
    ] = False,
    rows: Annotated[
        int | None,
        typer.Option(
            min=20,
            help=f"Use this many rows, drawn at random; by default all, or {QUICK_ROWS:,} with "
            "--quick.",
        ),
    ] = None,
    seed: given.Seed = 0,
    jobs: Annotated[int, typer.Option(help="Number of processes; -1 for one per processor.")] = 1,
    out: given.OutFolder = None,
    missing_as_level: given.MissingAsLevel = False,
    categorical: given.Categorical = None,
    measured: given.Measured = None,
    flags: given.Flags = None,
    keep_duplicates: given.KeepDuplicates = False,
    merge_labels: given.MergeLabels = False,
    missing_label: given.MissingLabel = None,
    keep_labels: given.KeepLabels = False,
    quiet: given.Quiet = False,
    as_json: given.AsJson = False,
    *,
    reading: given.Reading,
) -> None:
    """Cross-validate, fit, and write a report, predictions and the model."""
    given.check_selection(features, threshold)
    given.check_model(model, features, threshold, order, missing_as_level, path, effort, covariates)
    shares = given.prevalence_of(prevalence)
    given.check_jobs(jobs)
    kinds = given.kinds_of(categorical, measured, flags)
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
        quick=quick,
    )
    folder = Path(f"{given.stem(table)}-report") if out is None else out
    check_folder(folder)
    command = given.repeating_command(context, "jobs", "quiet", "as_json")
    file = reading.open(table)
    from honestbayes.report.analysis import analyse
    from honestbayes.report.methods import with_room
    from honestbayes.report.render import write_folder
    from honestbayes.tables import read_training
    from honestbayes.tables.files import sampled
    from honestbayes.tables.model import TableModel
    from honestbayes.tables.training import target_name

    with progress(quiet=quiet) as bars:
        bars("Reading", 0)
        target = target_name(file, target)  # before any row is read
        most = QUICK_ROWS if rows is None and quick else rows
        if most is not None:
            file = sampled(file, most, seed)
        data = read_training(
            file,
            target=target,
            positive=positive,
            ignore=ignore or (),
            keep=keep or (),
            covariates=covariates or (),
            groups=groups,
            ids=row_names,
            coded=chosen.coded,
            kinds=kinds,
            keep_duplicates=keep_duplicates,
            merge_labels=merge_labels,
            missing_labels=missing_label or (),
            keep_labels=keep_labels,
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
