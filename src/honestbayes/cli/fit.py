"""``honestbayes fit``: fit a model and save it; loading of model files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from honestbayes.cli import options as given
from honestbayes.cli.output import bad_input, one_line_errors, progress, say
from honestbayes.files.errors import ModelFileError
from honestbayes.report.options import Options
from honestbayes.tables.errors import InputError

if TYPE_CHECKING:
    from honestbayes.tables.model import TableModel


@one_line_errors
@given.reads_tables()
def fit(
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
    prevalence: given.Prevalence = None,
    recalibrate: given.Recalibrate = True,
    seed: given.Seed = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Model file to write; by default named after the table.",
            readable=False,
        ),
    ] = None,
    missing_as_level: given.MissingAsLevel = False,
    categorical: given.Categorical = None,
    measured: given.Measured = None,
    flags: given.Flags = None,
    keep_duplicates: given.KeepDuplicates = False,
    merge_labels: given.MergeLabels = False,
    missing_label: given.MissingLabel = None,
    keep_labels: given.KeepLabels = False,
    quiet: given.Quiet = False,
    *,
    reading: given.Reading,
) -> None:
    """Fit a model to all rows of a table and save it, without evaluating it."""
    given.check_selection(features, threshold)
    given.check_model(model, features, threshold, order, missing_as_level, None, effort, covariates)
    shares = given.prevalence_of(prevalence)
    kinds = given.kinds_of(categorical, measured, flags)
    path = Path(f"{given.stem(table)}.honestbayes") if out is None else out
    check_replaceable(path)
    file = reading.open(table)
    from honestbayes.cli.report import describe_cases
    from honestbayes.report.methods import fit_model
    from honestbayes.tables import read_training
    from honestbayes.tables.model import TableModel

    chosen = Options(
        n_features=given.number_of_features(features),
        threshold=threshold,
        prevalence=shares,
        recalibrate=recalibrate,
        seed=seed,
        model=model.value,
        order=given.order_of_patterns(order),
        missing_as_level=missing_as_level,
        effort=given.effort_of(effort),
    )
    with progress(quiet=quiet) as bars:
        bars("Reading", 0)
        data = read_training(
            file,
            target=target,
            positive=positive,
            ignore=ignore or (),
            keep=keep or (),
            covariates=covariates or (),
            groups=groups,
            coded=chosen.coded,
            kinds=kinds,
            keep_duplicates=keep_duplicates,
            merge_labels=merge_labels,
            missing_labels=missing_label or (),
            keep_labels=keep_labels,
        )
        data.refuse_doubts(file.name)
        given.check_fits(chosen, data)
        bars("Fitting", 0)
        with bad_input():
            fitted = TableModel.of_training(fit_model(data, chosen), data)
            fitted.save(path)
    if not quiet:
        for note in data.notes:
            say(f"Note: {note}")
        counts = tuple(data.class_counts())
        say(f"{describe_cases(data.labels, counts)}; {_describe_fitted(fitted, data.X.shape[1])}")
        say(f"Model: {path}", wrap=False)


def _describe_fitted(fitted: TableModel, n_features: int) -> str:
    """Return what the model is made of, as part of a sentence."""
    from honestbayes.catalogue import spec_of
    from honestbayes.report.record import table_names

    estimator, spec = fitted.estimator, spec_of(fitted.estimator)
    made_of = [f"{n_features:,} columns"]
    if spec.selects and not spec.is_average:
        made_of = [f"{len(fitted.encoding.features):,} of {n_features:,} features kept"]
    if spec.recalibrates:
        made_of.append(f"slope {estimator.slope_:.2f}")
    sections = estimator._sections(table_names(fitted))
    return "; ".join([*made_of, *(section.summary for section in sections if section.summary)])


def check_replaceable(path: Path) -> None:
    """Raise an error if the path holds anything but a model file."""
    given.check_output_file(path)
    if not path.exists():
        return
    from honestbayes.files import read_archive

    try:
        read_archive(path)
    except ModelFileError:
        msg = f"{path.name} exists and is not a model file; choose another --out."
        raise InputError(msg) from None


def loaded(path: Path) -> TableModel:
    """Load a model that takes tables."""
    return of_tables(loaded_file(path), path)


def loaded_file(path: Path) -> Any:
    """Load whatever a model file holds."""
    if not path.exists():  # said before what takes long to import
        msg = f"there is no file {path.name}; check its name and folder."
        raise InputError(msg)
    from honestbayes.loading import load

    try:
        return load(path)
    except IsADirectoryError:
        msg = f"{path.name} is a folder; give a model file."
        raise InputError(msg) from None


def of_tables(model: Any, path: Path) -> TableModel:
    """Raise an error if the file holds a selector or an estimator without its table."""
    from honestbayes.search.selector import TableSelector
    from honestbayes.tables.model import TableModel

    if isinstance(model, TableSelector):
        msg = (
            f"{path.name} holds a selector, which chooses columns and gives no probabilities; fit "
            "a model on these columns with honestbayes fit reduced.csv --target CLASS, and give "
            "its file instead."
        )
        raise InputError(msg)
    if not isinstance(model, TableModel):
        msg = (
            f"{path.name} holds an estimator without its table; models for this command are "
            "written by honestbayes report and honestbayes fit."
        )
        raise InputError(msg)
    return model
