"""``honestbayes inspect``: the contents of a model file, a selector or a packed store."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from honestbayes.base.spec import ModelSpec
from honestbayes.catalogue import spec_of
from honestbayes.cli import options as given
from honestbayes.cli.fit import loaded_file, of_tables
from honestbayes.cli.output import bad_input, one_line_errors, say, word

if TYPE_CHECKING:
    from honestbayes.base.explanation import KeptTable, ReportSection, TableNames
    from honestbayes.data.packed_store import PackedStore
    from honestbayes.search.selector import TableSelector
    from honestbayes.tables.model import TableModel


# --------------------------------------------------------------------------------------------------
# ``honestbayes inspect``: what a model file or a packed store holds
# --------------------------------------------------------------------------------------------------


@one_line_errors
def inspect(
    model: Annotated[
        Path,
        typer.Argument(
            help="Model file that report or fit wrote, or store that pack wrote.", readable=False
        ),
    ],
    as_json: given.AsJson = False,
) -> None:
    """Show the contents of a model file or a packed store, whose checksums are verified."""
    from honestbayes.search.selector import TableSelector

    unfinished = not model.exists() and model.with_name(f"{model.name}.partial").is_dir()
    if unfinished or (model / "store.json").is_file():
        show_store(model, as_json=as_json)
        return
    fitted = loaded_file(model)

    if isinstance(fitted, TableSelector):
        show_selector(fitted, model.name, as_json=as_json)
        return

    show(of_tables(fitted, model), as_json=as_json)


# --------------------------------------------------------------------------------------------------
# What ``honestbayes inspect`` prints of a selector
# --------------------------------------------------------------------------------------------------


def show_selector(selector: TableSelector, name: str, *, as_json: bool) -> None:
    """Print the columns that a selector chose, and the next step."""
    from honestbayes.cli.select import REDUCED, kept_names, say_what_was_chosen, selector_contents
    from honestbayes.report.record import plain_data

    if as_json:
        header = {"selector": type(selector).__name__, "gives_probabilities": False}
        content = plain_data(header | selector_contents(selector))
        typer.echo(json.dumps(content, allow_nan=False, indent=1))
        return
    kept, candidates = kept_names(selector), selector.n_features_in_
    say(f"{word(name)} holds a selector, which chooses columns and predicts nothing.")
    columns = "column" if candidates == 1 else "columns"
    say(f"{type(selector).__name__}: {len(kept):,} of {candidates:,} {columns} kept")
    say_what_was_chosen(selector, kept)
    say()
    say(
        f"For probabilities, fit a model to the kept columns: honestbayes fit {REDUCED} "
        f"--target CLASS, where {REDUCED} is the table that honestbayes select wrote with it."
    )
    say("In Python, honestbayes.load(FILE).transform(frame) returns the kept columns of a table.")


# --------------------------------------------------------------------------------------------------
# What ``honestbayes inspect`` prints of a packed store
# --------------------------------------------------------------------------------------------------


def show_store(path: Path, *, as_json: bool) -> None:
    """Verify the checksums of a store, and print its contents and the next step."""
    from honestbayes.data.packed_store import open_store

    with bad_input():
        store = open_store(path)
        store.verify()
    n, p = store.shape
    header = store.header
    if as_json:
        content = {
            "store": path.name,
            "rows": n,
            "columns": p,
            "bytes": store.n_bytes,
            "files": len(header.parts),
            "named": store.feature_names is not None,
            "classes": None if header.classes is None else list(header.classes),
            "cut": store.binarization is not None,
            "verified": True,
        }
        typer.echo(json.dumps(content, allow_nan=False, indent=1))
        return
    say(f"{word(path.name)} is a packed store: {lines_of(store)}.")
    n_files = len(header.parts)
    say(f"All checksums match ({n_files:,} {'file' if n_files == 1 else 'files'} of bits).")
    if store.binarization is not None:
        say("Continuous columns were cut to 0/1; store.zero_one(X) cuts new rows in the same way.")
    say()
    for line in next_lines(store, given.shareable(path)):
        say(line, wrap=False)


def lines_of(store: PackedStore) -> str:
    """Describe a store."""
    n, p = store.shape
    rows, columns = "row" if n == 1 else "rows", "column" if p == 1 else "columns"
    named = "" if store.feature_names is None else "named "
    size = f"{n:,} {rows} x {p:,} {named}{columns} in {store.n_bytes:,} bytes"
    if store.header.classes is None:
        return f"{size}, without classes"
    classes = ", ".join(word(label) for label in store.header.classes)
    return f"{size}, classes {classes}"


def next_lines(store: PackedStore, path: str) -> list[str]:
    """Return the lines of Python that fit a model to a store."""
    labels = "y" if store.header.classes is None else "store.labels"
    return [
        "In Python:",
        "  from honestbayes import SelectiveBernoulliNB",
        "  from honestbayes.data import open_store",
        f"  store = open_store({path!r})",
        f"  model = SelectiveBernoulliNB().fit(store, {labels})",
    ]


MOST_LEVELS = 12
"""Levels of a feature that are printed, as on the page of a report; JSON holds all."""

_CORRECTIONS = {
    "counts": "counts of all features",
    "selection": "event of the selection",
    None: "none",
}


def show(fitted: TableModel, *, as_json: bool) -> None:
    """Print the contents of a model file."""
    from honestbayes.report.record import plain_data, table_names

    if as_json:
        typer.echo(json.dumps(plain_data(_contents(fitted)), allow_nan=False, indent=1))
        return
    names = table_names(fitted).printable(word)
    sections = fitted.estimator._sections(names)
    ones = [
        f"a one: {row['column']} {row['means_one']}"
        for kind, table in fitted.estimator._feature_tables().items()
        for row in table.in_report(kind, names).rows
        if "means_one" in row
    ]
    for line in (*_summary(fitted, names, sections), "", *ones, *([""] if ones else [])):
        say(line, wrap=False)
    say(_printable_table(fitted, names.classes), wrap=False)
    for section in sections:
        text = str(section.record)
        if text and text != section.summary:
            say(f"\n{section.title}")
            say(text, wrap=False)


def _contents(fitted: TableModel) -> dict[str, Any]:
    """Return all that is shown, and more, as plain data."""
    from honestbayes.report.record import table_names

    estimator = fitted.estimator
    chosen = {kind: selection.to_dict() for kind, selection in estimator._selections().items()}
    by_kind = spec_of(estimator).input.by_kind
    sections = estimator._sections(table_names(fitted))
    two = len(fitted.labels) == 2
    return {
        "target": fitted.target,
        "labels": fitted.labels,
        **(dict(zip(("negative", "positive"), fitted.labels, strict=True)) if two else {}),
        "columns": fitted.columns,
        "features": _feature_table(fitted).to_dict(),
        "selection": chosen if by_kind or not chosen else next(iter(chosen.values())),
        "sections": {section.name: section.to_dict() for section in sections},
        "slope": getattr(estimator, "slope_", None),
        "parameters": estimator.get_params(),
    }


def _summary(
    fitted: TableModel, names: TableNames, sections: tuple[ReportSection, ...]
) -> list[str]:
    from honestbayes.report.analysis import KIND_WORDS

    estimator, labels = fitted.estimator, names.classes
    selections, spec = estimator._selections(), spec_of(estimator)
    counts = estimator.class_count_.tolist()
    target = names.target
    if len(labels) == 2:
        title, cases = f"P({target} = {labels[1]})", f", {counts[1]:,} of them {labels[1]}"
    else:
        title, cases = f"P({target}), {len(labels):,} classes", f": {_by_class(labels, counts)}"
    lines = [
        f"{title}, {spec.title}{_after_selection(spec)}",
        f"trained on          {sum(counts):,} cases{cases}",
    ]
    for kind, selection in selections.items():
        of_kind = f" {KIND_WORDS[kind]}" if spec.input.by_kind else ""
        n_kept = len(selection.columns)
        lines.append(f"features            {n_kept:,} of {selection.n_features_in:,}{of_kind}")
    if spec.corrects:
        lines.append(f"correction          {_CORRECTIONS[estimator.correction_]}")
    feature_prior = getattr(estimator, "feature_prior_", None)
    if feature_prior is not None:
        lines.append(f"feature prior       {feature_prior}")
    facts = dict(fact for section in sections for fact in (*section.facts, *section.settings))
    lines += [f"{label:<19} {value}" for label, value in facts.items()]
    if not spec.is_average:
        lines.append(f"slope               {estimator.slope_:.3f}")
    prior = estimator.class_prior
    if prior is not None:
        shares = f"{prior[1]:g}" if len(labels) == 2 else _by_class(labels, prior)
        lines.append(f"prevalence          {shares}")
    return lines


def _after_selection(spec: ModelSpec) -> str:
    return " after selection" if spec.selects and not spec.is_average else ""


def _by_class(labels: tuple[str, ...], values: Iterable[float]) -> str:
    return ", ".join(f"{label} {value:,.10g}" for label, value in zip(labels, values, strict=True))


def _feature_table(fitted: TableModel) -> Any:
    """Return the table of the kept features, with the texts of levels."""
    from honestbayes.report.record import table_names

    texts = table_names(fitted).level_texts
    return fitted.estimator.feature_table().changed(lambda table: table.with_levels(texts))


def _printable_table(fitted: TableModel, labels: tuple[str, ...]) -> Any:
    """Return the same without anything that a terminal might obey, and not too long."""

    def printable(table: KeptTable) -> KeptTable:
        shown = table.with_levels(lambda _, levels: tuple(map(word, levels)))
        return shown.shortened(MOST_LEVELS).renamed(word, labels)

    return _feature_table(fitted).changed(printable)
