"""``honestbayes predict`` and ``evaluate``: apply a model to another table."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from honestbayes.cli import options as given
from honestbayes.cli.fit import loaded
from honestbayes.cli.output import bad_input, one_line_errors, print_remark, progress, say, word
from honestbayes.tables.errors import InputError, listed, shown

if TYPE_CHECKING:
    from honestbayes.metrics import Summary
    from honestbayes.tables import TableFile
    from honestbayes.tables.model import TableModel
    from honestbayes.types import BoolArray, FloatArray


# --------------------------------------------------------------------------------------------------
# What ``honestbayes predict`` and ``evaluate`` do with the parts of a table
# --------------------------------------------------------------------------------------------------


_HEADER = re.compile(rb"row,(identifier,)?predicted,\"?probability(: [^\n]*)?\n(1,|$)")
"""How files begin that this command wrote; older ones have no class in the header."""

_FIRST_BYTES = 1 << 16

TRAINING_ROWS = (
    "These are the rows that the model was trained on, so the figures do not apply to new cases. "
    "Give a table of new cases, or read the report's held-out figures."
)


def holds_predictions(path: Path) -> bool:
    """Whether a file begins as those that this command writes; an empty one may go too."""
    with path.open("rb") as stream:
        start = stream.read(_FIRST_BYTES)
    return not start or _HEADER.match(start) is not None


def predictions_of(
    fitted: TableModel, features: Any, prior: tuple[float, ...] | None, interval: float | None
) -> tuple[FloatArray, FloatArray | None]:
    """Return the probability of each class, and the bounds of intervals where asked for."""
    with bad_input():
        proba = fitted.estimator.predict_proba(features, class_prior=prior)
        if interval is None:
            return proba, None
        bounds = fitted.estimator.predict_proba_interval(features, interval, class_prior=prior)
        return proba, bounds


def limited(
    fitted: TableModel,
    proba: FloatArray,
    bounds: FloatArray | None,
    prior: tuple[float, ...] | None,
) -> tuple[FloatArray, FloatArray | None]:
    """Keep printed probabilities and interval bounds within sensible limits."""
    import numpy as np

    from honestbayes.report.render import as_shown, shown_bounds

    estimator = fitted.estimator
    limits = shown_bounds(estimator.class_count_, estimator.class_prior if prior is None else prior)
    if bounds is not None:
        two = bounds.ndim == 2  # (n, 2), of the positive class; of several (n, C, 2)
        low, high = np.moveaxis(limits[1] if two else limits[:, None], -1, 0)
        bounds = np.clip(bounds, low, high)
    return as_shown(proba, limits), bounds


def titles_of(labels: tuple[str, ...], interval: float | None) -> list[str]:
    """Name the columns of probabilities: of the positive class, or of each of several."""
    from honestbayes.report.render import safe_cell

    titles = ["probability"] if interval is None else ["probability", "low", "high"]
    classes = labels[1:] if len(labels) == 2 else labels
    return [safe_cell(f"{title}: {label}") for label in classes for title in titles]


def lines_of(
    labels: tuple[str, ...],
    proba: FloatArray,
    bounds: FloatArray | None,
    identifiers: list[str | None] | None,
    first: int,
) -> Iterator[list[Any]]:
    """Yield the cells of each row, in the order of `titles_of`."""
    import numpy as np

    from honestbayes.metrics.cases import top_class
    from honestbayes.report.render import safe_cell

    shown_labels = [safe_cell(label) for label in labels]
    chosen = top_class(proba).tolist()
    columns = proba[:, 1:] if len(labels) == 2 else proba
    if bounds is not None:
        by_class = bounds[:, None] if len(labels) == 2 else bounds
        columns = np.concatenate([columns[:, :, None], by_class], axis=2).reshape(len(proba), -1)
    for position, numbers in enumerate(columns.tolist()):
        names = [] if identifiers is None else [safe_cell(identifiers[position] or "")]
        cells = (f"{number:.12g}" for number in numbers)
        yield [first + position, *names, shown_labels[chosen[position]], *cells]


@contextmanager
def csv_output(out: Path | None) -> Iterator[TextIO]:
    """Write to a file atomically, or to standard output."""
    from honestbayes.files import atomic_write

    if out is None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            # As in a file, whatever the terminal's own encoding and line ends are.
            sys.stdout.reconfigure(encoding="utf-8", newline="")
        yield sys.stdout
        return
    with (
        atomic_write(out) as temporary,
        temporary.open("w", encoding="utf-8", newline="") as stream,
    ):
        yield stream


def add_unknown(unknown: dict[str, set[str]], more: dict[str, tuple[str, ...]]) -> None:
    """Add unknown categories to those of earlier parts."""
    for column, levels in more.items():
        unknown.setdefault(column, set()).update(levels)


def print_unknown_levels(unknown: dict[str, set[str]]) -> None:
    """Warn of categories that were not in training."""
    for column, levels in unknown.items():
        print_remark(
            f"warning: column {shown(column)} has categories that were not in training, treated "
            f"as missing: {listed(sorted(levels))}."
        )


def print_lost_rows(n_lost: int, absent: list[str], labels: tuple[str, ...]) -> None:
    """Warn of rows without a class and of absent classes."""
    if n_lost:
        rows = "1 row has" if n_lost == 1 else f"{n_lost:,} rows have"
        print_remark(f"warning: {rows} no class and {'was' if n_lost == 1 else 'were'} ignored.")
    if absent:
        who = f"there is no case of class {listed(absent)}"
        if len(absent) == len(labels) - 1:
            (only,) = set(labels) - set(absent)
            who = f"all cases belong to class {shown(only)}"
        print_remark(f"warning: {who}; AUC and calibration need cases of every class.")


def print_summary(summary: Summary, name: str, labels: tuple[str, ...], absent: list[str]) -> None:
    """Print the scores that the classes present allow."""
    of_labels = f"class 1 is {shown(labels[1])}"
    if len(labels) > 2:
        of_labels = f"classes are {', '.join(shown(label) for label in labels)}"
    say(f"{word(name)}; {of_labels}")
    lines = str(summary).splitlines()
    needs_all = ("AUC", "calibration") if absent else ()
    say("\n".join(line for line in lines if not line.startswith(needs_all)), wrap=False)


def column_of(file: TableFile, name: str) -> Any:
    """Return a column of a file."""
    file.require((name,))
    return file.read([name])[name]


def groups_of(file: TableFile, name: str, has_class: BoolArray) -> Any:
    """Return the groups of the rows that have a class."""
    import numpy as np

    file.require((name,))
    texts = file.read([name], text={name})[name].to_pylist()
    for row in np.flatnonzero(has_class).tolist():
        if texts[row] is None:
            msg = (
                f"the group column {shown(name)} has no value in {file.locations().describe(row)}; "
                "give each row its group."
            )
            raise InputError(msg)
    return np.array(texts, dtype=object)[has_class].astype(np.str_)


@one_line_errors
@given.reads_tables("missing")
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
            help="Write probabilities as computed; by default they are limited to 1/(n + 2) from "
            "0 and "
            "1, for n training cases.",
        ),
    ] = False,
    prevalence: given.Prevalence = None,
    quiet: given.Quiet = False,
    *,
    reading: given.Reading,
) -> None:
    """Predict a table of any length, a part at a time, and write CSV."""
    shares = given.prevalence_of(prevalence)
    fitted = loaded(model)
    from honestbayes.tables.target import prevalences

    prior = prevalences(shares, fitted.labels)
    file = reading.open(table)
    fitted.check_columns(file)
    more = () if row_names is None else (row_names,)
    file.require(more)
    if out is not None:
        given.check_output_file(out)
        if out.resolve() in (table.resolve(), model.resolve()):
            msg = f"--out {out.name} would overwrite an input file; choose another name."
            raise InputError(msg)
        if out.exists() and not holds_predictions(out):
            msg = f"{out.name} exists and does not hold predictions; choose another --out."
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
        print_unknown_levels(unknown)
        if out is not None:
            print_remark(f"{row - 1:,} rows.")


@one_line_errors
@given.reads_tables("missing")
def evaluate(
    model: given.Model,
    table: given.Table,
    target: given.Target = None,
    groups: given.Groups = None,
    prevalence: given.Prevalence = None,
    merge_labels: given.MergeLabels = False,
    missing_label: given.MissingLabel = None,
    keep_labels: given.KeepLabels = False,
    as_json: given.AsJson = False,
    *,
    reading: given.Reading,
) -> None:
    """Evaluate a model on a table that it was not trained on (external validation)."""
    import numpy as np

    shares = given.prevalence_of(prevalence)
    fitted = loaded(model)

    from honestbayes.catalogue import spec_of
    from honestbayes.metrics import confident_predictions, summarise
    from honestbayes.report.analysis import SURE
    from honestbayes.report.record import plain_data
    from honestbayes.report.verdict import class_counts, describe_external
    from honestbayes.tables.checks import row_digests
    from honestbayes.tables.target import known_classes, prevalences

    prior = prevalences(shares, fitted.labels)
    file = reading.open(table)
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
    predictions: list[FloatArray] = []
    digests: list[bytes] = []
    with progress(quiet=as_json) as bars, closing(fitted.batches(file)) as parts:
        step = bars("Predicting", 0)
        start = done = 0
        for features, _, strange in parts:
            here = has_class[start : start + len(features)]
            start += len(features)
            y_here = y[done : done + int(here.sum())]
            done += y_here.size
            predictions.append(predictions_of(fitted, features, prior, None)[0][here])
            digests += row_digests(features.to_numpy()[here], y_here)
            add_unknown(unknown, strange)
            step()
    together = None if groups is None else groups_of(file, groups, has_class)
    known = fitted.was_trained_on(digests)
    predicted, classes = np.concatenate(predictions), np.arange(len(fitted.labels))
    summary = summarise(y, predicted, classes=classes, groups=together)
    counted = confident_predictions(y, predicted, at_least=SURE, classes=classes, groups=together)
    print_unknown_levels(unknown)
    absent = [label for label, n in zip(fitted.labels, class_counts(summary), strict=True) if not n]
    print_lost_rows(int(np.sum(~has_class)), absent, fitted.labels)
    if as_json:
        result = {
            "training_rows": known,
            "summary": summary,
            "confident": counted,
            "labels": fitted.labels,
        }
        typer.echo(json.dumps(plain_data(result), allow_nan=False, indent=1))
        return
    if known:
        say(f"{TRAINING_ROWS}\n")
    print_summary(summary, file.name, fitted.labels, absent)
    if not known:
        say()
        spec = spec_of(fitted.estimator)
        say(describe_external(summary, counted, fitted.labels, spec.dependence, spec.generative))
