"""``honestbayes report``: from a table to a folder with an honest report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from honestbayes.cli import options as given
from honestbayes.cli import reading
from honestbayes.cli.messages import bad_input, one_line_errors, progress
from honestbayes.report.options import DEFAULT_FOLDS, QUICK_ROWS, Options
from honestbayes.report.places import check_folder


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
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="A first answer in seconds: folds drawn once, few numbers of features tried, no "
            "methods of others.",
        ),
    ] = False,
    rows: Annotated[
        int | None,
        typer.Option(
            min=20,
            help=f"Take so many rows, drawn at random; all, or {QUICK_ROWS:,} with --quick.",
        ),
    ] = None,
    seed: given.Seed = 0,
    jobs: Annotated[int, typer.Option(help="Processes at work; -1 for one on each processor.")] = 1,
    out: given.OutFolder = None,
    missing: reading.Missing = None,
    missing_as_level: reading.MissingAsLevel = False,
    categorical: reading.Categorical = None,
    measured: reading.Measured = None,
    flags: reading.Flags = None,
    keep_duplicates: reading.KeepDuplicates = False,
    merge_labels: reading.MergeLabels = False,
    missing_label: reading.MissingLabel = None,
    keep_labels: reading.KeepLabels = False,
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
        quick=quick,
    )
    folder = Path(f"{given.stem(table)}-report") if out is None else out
    check_folder(folder)
    command = given.repeating_command(context, "jobs", "quiet", "as_json")
    file = reading.opened(table, delimiter, max_size, decimal, encoding, missing)
    from honestbayes.cli.report_words import print_report
    from honestbayes.report.analysis import analyse
    from honestbayes.report.fitting import with_room
    from honestbayes.report.folder import write_folder
    from honestbayes.tables import read_training
    from honestbayes.tables.model import TableModel
    from honestbayes.tables.sampling import sampled
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
