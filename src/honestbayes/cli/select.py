"""``honestbayes select``: which columns make the probabilities of naive Bayes best."""

from __future__ import annotations

import json
import math
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from honestbayes.cli import options as given
from honestbayes.cli import reading
from honestbayes.cli.messages import bad_input, one_line_errors, progress
from honestbayes.tables.errors import InputError
from honestbayes.tables.formats import recognise

DEFAULT_PATIENCE, DEFAULT_FOLDS = 5, 5


class Method(StrEnum):
    """Ways to select."""

    forward = "forward"
    boosted = "boosted"
    sampled = "sampled"


class Rows(StrEnum):
    """Rows on which candidates are compared."""

    train = "train"
    held_out = "held-out"


class Loss(StrEnum):
    """What is made small."""

    squared_error = "squared-error"
    log_loss = "log-loss"


@one_line_errors
def select(
    context: typer.Context,
    table: given.Table,
    target: given.Target = None,
    method: Annotated[
        Method,
        typer.Option(
            help="forward: add the best column at each step. boosted: one column a round, by "
            "boosting. sampled: draw sets of columns, each as often as it is likely, and keep "
            "those that most of them hold."
        ),
    ] = Method.forward,
    features: Annotated[
        str | None,
        typer.Option(
            "--features",
            "-k",
            metavar="N",
            help="How many columns to take, or 'all'; rounds of boosting (10). By default as "
            "many as --patience lets; sampled: those with a probability of one half or more.",
        ),
    ] = None,
    expected: Annotated[
        float | None,
        typer.Option(
            metavar="N",
            help="--method sampled: a Poisson prior of the number of columns, with this mean; by "
            "default every number is as likely as any other.",
        ),
    ] = None,
    patience: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Stop when the held-out score has not improved for so many steps, and keep the "
            f"columns of the best step; {DEFAULT_PATIENCE}, unless --features is given.",
        ),
    ] = None,
    held_out: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDS or SHARE",
            help=f"Folds ({DEFAULT_FOLDS} by default), a share of the rows (0.3), or 'none'.",
        ),
    ] = None,
    score_on: Annotated[
        Rows, typer.Option(help="Rows on which candidates are compared.")
    ] = Rows.train,
    loss: Annotated[
        Loss,
        typer.Option(
            help="What is made small: squared-error, summed over the classes (of two, twice the "
            "Brier score), or log-loss, the log score."
        ),
    ] = Loss.squared_error,
    weights: Annotated[str | None, typer.Option(help="Column of what each row counts.")] = None,
    ignore: given.Ignore = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="Column that is meant, though it looks doubtful; repeatable."),
    ] = None,
    groups: given.Groups = None,
    row_names: Annotated[
        str | None,
        typer.Option("--id", help="Column of row identifiers, kept in the reduced table."),
    ] = None,
    smoothing: Annotated[
        float, typer.Option(help="What each level of a column is given more in each class.")
    ] = 1.0,
    bins: Annotated[int, typer.Option(min=2, help="Bins of a column of measurements.")] = 10,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Draws the rows that are held out.")
    ] = 0,
    jobs: Annotated[int, typer.Option(help="Threads; -1 for one on each processor.")] = 1,
    out: given.OutFolder = None,
    missing: reading.Missing = None,
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
    """Select the columns with which the probabilities of naive Bayes are best."""
    given.check_jobs(jobs, "threads")
    from honestbayes.cli.selection_choices import Choices, fitted_selector

    if method == Method.sampled and weights is not None:
        msg = "the sampled method counts rows whole; leave out --weights."
        raise InputError(msg)
    if expected is not None and not 0 < expected < math.inf:
        raise typer.BadParameter(f"{expected:g} is not a number above 0.", param_hint="--expected")
    chosen = Choices.of(
        method=method.value,
        features=features,
        expected=expected,
        patience=patience,
        held_out=held_out,
        score_on=score_on.name,
        loss=loss.name,
        grouped=groups is not None,
        smoothing=smoothing,
        n_bins=bins,
        seed=seed,
        n_jobs=jobs,
    )
    recognise(table)  # what is wrong with a file is said before what takes long to import
    from honestbayes.cli.selection_folder import check_selection_folder, write_selection
    from honestbayes.cli.selection_steps import contents, not_candidates, row_weights
    from honestbayes.cli.selection_words import print_selection
    from honestbayes.report.record import plain_data
    from honestbayes.tables import read_training

    folder = Path(f"{given.stem(table)}-selection") if out is None else out
    check_selection_folder(folder, table)
    command = given.repeating_command(context, "jobs", "quiet", "as_json")
    file = reading.opened(table, delimiter, max_size, decimal, encoding, missing)
    with progress(quiet=quiet) as bars:
        bars("Reading", 0)
        left_out = not_candidates(
            file,
            weights,
            ignore or [],
            {target: "the target", groups: "the groups", row_names: "the identifiers"},
        )
        data = read_training(
            file,
            target=target,
            ignore=left_out,
            keep=keep or (),
            groups=groups,
            ids=row_names,
            coded=True,
            kinds=reading.kinds_of(categorical, measured, flags),
            keep_duplicates=keep_duplicates,
            merge_labels=merge_labels,
            missing_labels=missing_label or (),
            keep_labels=keep_labels,
        )
        data.refuse_doubts(file.name)
        weight = None if weights is None else row_weights(file, weights, data.row_numbers)
        chosen.check_table(data)
        bars("Selecting", 0)
        with bad_input():
            selector = fitted_selector(chosen, data, weight)
        bars("Writing", 0)
        roles = {data.target, weights, groups, row_names}
        kept = set(selector.get_feature_names_out()) | roles
        columns = [name for name in file.columns if name in kept]
        check_selection_folder(folder, table)
        write_selection(selector, file, columns, folder)
    if as_json:
        found = contents(selector, data, file.name, command)
        typer.echo(json.dumps(plain_data(found), allow_nan=False, indent=1))
    elif not quiet:
        print_selection(selector, data, file.name, folder)
