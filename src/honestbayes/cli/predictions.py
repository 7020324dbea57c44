"""``honestbayes predict`` and ``evaluate``: a model meets another table."""

from __future__ import annotations

import csv
import json
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from honestbayes.cli import options as given
from honestbayes.cli import reading
from honestbayes.cli.messages import one_line_errors, progress, say, tell
from honestbayes.cli.models import loaded
from honestbayes.tables.errors import InputError, shown

if TYPE_CHECKING:
    from honestbayes.types import FloatArray


@one_line_errors
def predict(
    model: given.Model,
    table: given.Table,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="CSV file to write; by default the standard output.", readable=False
        ),
    ] = None,
    row_names: given.RowNames = None,
    interval: Annotated[
        float | None,
        typer.Option(min=0.01, max=0.999, help="Add an interval of this level, such as 0.9."),
    ] = None,
    exact: Annotated[
        bool,
        typer.Option(
            "--exact",
            help="Write probabilities as computed; otherwise none is nearer to 0 or 1 than the "
            "n training cases can tell, 1/(n + 2).",
        ),
    ] = False,
    prevalence: given.Prevalence = None,
    delimiter: reading.Delimiter = None,
    decimal: reading.Decimal = None,
    encoding: reading.FileEncoding = None,
    max_size: given.MaxSize = given.DEFAULT_MAX_SIZE,
    quiet: given.Quiet = False,
) -> None:
    """Predict a table of any length, part by part; the result is CSV."""
    shares = given.prevalence_of(prevalence)
    fitted = loaded(model)
    from honestbayes.cli.prediction_steps import (
        add_unknown,
        csv_output,
        holds_predictions,
        limited,
        lines_of,
        predictions_of,
        tell_unknown,
        titles_of,
    )
    from honestbayes.tables.target import prevalences

    prior = prevalences(shares, fitted.labels)
    file = reading.opened(table, delimiter, max_size, decimal, encoding)
    fitted.check_columns(file)
    more = () if row_names is None else (row_names,)
    file.require(more)
    if out is not None:
        given.check_file_place(out)
        if out.resolve() in (table.resolve(), model.resolve()):
            msg = f"--out {out.name} would replace what is read; choose another name."
            raise InputError(msg)
        if out.exists() and not holds_predictions(out):
            msg = f"{out.name} exists and holds no predictions; choose another --out."
            raise InputError(msg)
    unknown: dict[str, set[str]] = {}
    with (
        progress(quiet=quiet or out is None) as bars,
        csv_output(out) as stream,
        closing(fitted.batches(file, more)) as parts,
    ):
        step = bars("Predicting", 0)
        writer = csv.writer(stream, lineterminator="\n")
        names = [] if row_names is None else ["identifier"]
        writer.writerow(["row", *names, "predicted", *titles_of(fitted.labels, interval)])
        row = 1
        for features, rows, strange in parts:
            proba, bounds = predictions_of(fitted, features, prior, interval)
            if not exact:
                proba, bounds = limited(fitted, proba, bounds, prior)
            identifiers = None if row_names is None else rows[row_names].to_pylist()
            writer.writerows(lines_of(fitted.labels, proba, bounds, identifiers, row))
            row += len(proba)
            add_unknown(unknown, strange)
            step()
    if not quiet:
        tell_unknown(unknown)
        if out is not None:
            tell(f"{row - 1:,} rows.")


@one_line_errors
def evaluate(
    model: given.Model,
    table: given.Table,
    target: given.Target = None,
    groups: given.Groups = None,
    prevalence: given.Prevalence = None,
    merge_labels: reading.MergeLabels = False,
    missing_label: reading.MissingLabel = None,
    keep_labels: reading.KeepLabels = False,
    delimiter: reading.Delimiter = None,
    decimal: reading.Decimal = None,
    encoding: reading.FileEncoding = None,
    max_size: given.MaxSize = given.DEFAULT_MAX_SIZE,
    as_json: given.AsJson = False,
) -> None:
    """Judge a model on a table that it was not trained on (external validation)."""
    shares = given.prevalence_of(prevalence)
    fitted = loaded(model)
    import numpy as np

    from honestbayes.cli.prediction_steps import (
        TRAINING_ROWS,
        add_unknown,
        column_of,
        groups_of,
        predictions_of,
        print_summary,
        tell_lost,
        tell_unknown,
    )
    from honestbayes.metrics import claims, summarise
    from honestbayes.models.cards import card_of
    from honestbayes.report.analysis import SURE
    from honestbayes.report.record import plain_data
    from honestbayes.report.remaining import class_counts
    from honestbayes.report.verdict import external_verdict
    from honestbayes.tables.checks.groups import row_digests
    from honestbayes.tables.target import known_classes, prevalences

    prior = prevalences(shares, fitted.labels)
    file = reading.opened(table, delimiter, max_size, decimal, encoding)
    fitted.check_columns(file)
    file = file.with_missing(fitted.missing)
    name = fitted.target if target is None else target
    has_class, y = known_classes(
        column_of(file, name),
        name,
        fitted.labels,
        merge=merge_labels,
        missing=missing_label or (),
        keep=keep_labels,
        table=file.name,
    )
    if y.size == 0:
        msg = f"{file.name} has no row with a class in column {shown(name)}."
        raise InputError(msg)
    unknown: dict[str, set[str]] = {}
    found: list[FloatArray] = []
    digests: list[bytes] = []
    with progress(quiet=as_json) as bars, closing(fitted.batches(file)) as parts:
        step = bars("Predicting", 0)
        start = done = 0
        for features, _, strange in parts:
            here = has_class[start : start + len(features)]
            start += len(features)
            y_here = y[done : done + int(here.sum())]
            done += y_here.size
            found.append(predictions_of(fitted, features, prior, None)[0][here])
            digests += row_digests(features.to_numpy()[here], y_here)
            add_unknown(unknown, strange)
            step()
    together = None if groups is None else groups_of(file, groups, has_class)
    known = fitted.was_trained_on(digests)
    claimed, classes = np.concatenate(found), np.arange(len(fitted.labels))
    summary = summarise(y, claimed, classes=classes, groups=together)
    counted = claims(y, claimed, at_least=SURE, classes=classes, groups=together)
    tell_unknown(unknown)
    absent = [label for label, n in zip(fitted.labels, class_counts(summary), strict=True) if not n]
    tell_lost(int(np.sum(~has_class)), absent, fitted.labels)
    if as_json:
        result = {
            "training_rows": known,
            "summary": summary,
            "claims": counted,
            "labels": fitted.labels,
        }
        typer.echo(json.dumps(plain_data(result), allow_nan=False, indent=1))
        return
    if known:
        say(f"{TRAINING_ROWS}\n")
    print_summary(summary, file.name, fitted.labels, absent)
    if not known:
        say()
        card = card_of(fitted.estimator)
        say(external_verdict(summary, counted, fitted.labels, card.beyond, card.joint))
