"""``honestbayes select``: select the columns that give the best probabilities."""

from __future__ import annotations

import csv
import json
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn, Self

import typer

from honestbayes.cli import options as given
from honestbayes.cli.options import check_folds
from honestbayes.cli.output import bad_input, one_line_errors, progress, say, word
from honestbayes.cli.report import describe_cases
from honestbayes.report.options import check_parent, path_name
from honestbayes.tables.errors import InputError, shown

if TYPE_CHECKING:
    from honestbayes.search.boosted import BoostedProbabilitySelector
    from honestbayes.search.forward import ForwardProbabilitySelector
    from honestbayes.search.sampled import SubsetSampler
    from honestbayes.search.selector import ProbabilitySelector, SelectionPath, TableSelector
    from honestbayes.tables import TableFile, TrainingTable
    from honestbayes.types import FloatArray, IntArray


# --------------------------------------------------------------------------------------------------
# Output of ``honestbayes select --method sampled``: the inclusion probability of each column
# --------------------------------------------------------------------------------------------------


INCLUSION = "inclusion.csv"
INCLUSION_PICTURE = "inclusion.png"

_MOST_SHOWN = 20
"""Columns that are printed; the file holds all."""


def _order(sampler: SubsetSampler) -> IntArray:
    """Return the columns, the most probable first."""
    import numpy as np

    probability = sampler.inclusion_probabilities_
    return np.lexsort((np.arange(probability.size), -probability))


def column_names(selector: TableSelector) -> list[Any]:
    """Return the names of the candidates: x0, x1, ... where the table has none."""
    names = getattr(selector, "feature_names_in_", None)
    return [f"x{j}" for j in range(selector.n_features_in_)] if names is None else list(names)


def inclusion_table(sampler: SubsetSampler) -> dict[str, Any]:
    """Return inclusion probabilities as columns, the highest first."""
    import numpy as np

    order = _order(sampler)
    return {
        "column": np.array(column_names(sampler), dtype=object)[order],
        "inclusion_probability": sampler.inclusion_probabilities_[order],
        "standard_error": sampler.inclusion_errors_[order],
        "kept": sampler.get_support()[order],
    }


def inclusion_contents(sampler: SubsetSampler) -> dict[str, Any]:
    """Return the draws as plain data."""
    import numpy as np

    names = column_names(sampler)
    sizes = sampler.draws_.draws.pooled("size")
    return {
        "inclusion": inclusion_table(sampler),
        "n_columns_of_subsets": {
            "mean": float(sizes.mean()),
            "quantiles": np.quantile(sizes, [0.05, 0.5, 0.95]).tolist(),
        },
        "most_frequent_subsets": [
            {"columns": [str(names[j]) for j in columns], "share": share}
            for columns, share in sampler.draws_.most_visited(5)
        ],
        "diagnostics": sampler.diagnostics_.to_dict(),
        "warnings": sampler.diagnostics_.problems(),
    }


def table_of_inclusion(sampler: SubsetSampler) -> str:
    """Return the most probable columns as text, with names that stay on their lines."""
    table = inclusion_table(sampler)
    names = [word(name) for name in table["column"][:_MOST_SHOWN]]
    width = max([len("column"), *(len(name) for name in names)])
    lines = [f"{'column':<{width}}  inclusion  error"]
    for row, name in enumerate(names):
        mark = " *" if table["kept"][row] else ""
        lines.append(
            f"{name:<{width}}  {table['inclusion_probability'][row]:9.3f}  "
            f"{table['standard_error'][row]:5.3f}{mark}"
        )
    more = len(table["column"]) - len(names)
    lines.append("* kept" + (f"; {more:,} more columns in {INCLUSION}" if more > 0 else ""))
    return "\n".join(lines)


def words_of_inclusion(sampler: SubsetSampler) -> str:
    """Explain the inclusion probabilities, with problems of the chains."""
    import numpy as np

    sizes = sampler.draws_.draws.pooled("size")
    low, high = np.quantile(sizes, [0.05, 0.95]).astype(int)
    holds = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    text = (
        f"An inclusion probability is the share of the {sizes.size:,} sampled sets that contain "
        "the column, under naive Bayes with its parameters integrated out; the error is its Monte "
        f"Carlo standard error. 90% of the sets have {holds} columns. Columns that repeat each "
        "other "
        "are counted as independent evidence."
    )
    problems = sampler.diagnostics_.problems()
    if problems:
        text += f" The third digit is uncertain: {'; '.join(problems[:2])}."
    return text


# --------------------------------------------------------------------------------------------------
# The folder that ``honestbayes select`` writes: path, picture, reduced table and selector
# --------------------------------------------------------------------------------------------------


PATH = "path.csv"
PICTURE = "path.png"
REDUCED = "reduced.csv"
SELECTOR = "selector.honestbayes"
FILES = (PATH, PICTURE, REDUCED, SELECTOR)
SAMPLED_FILES = (INCLUSION, INCLUSION_PICTURE, REDUCED, SELECTOR)

_NAMED_STEPS = 30
_WIDTH, _HEIGHT = 7.4, 4.6
_DOTS_PER_INCH = 150


def check_selection_folder(folder: Path, table: Path) -> None:
    """Raise an error if other files, or the table, would be overwritten."""
    check_parent(folder)
    if not folder.exists():
        return
    if not folder.is_dir():
        msg = f"{path_name(folder)} exists and is not a folder; choose another --out."
        raise InputError(msg)
    if table.resolve().parent == folder.resolve():
        msg = f"--out {path_name(folder)} would overwrite the table; choose another name."
        raise InputError(msg)
    entries = sorted(folder.iterdir())
    present = [entry.name for entry in entries]
    strange = [
        entry.name
        for entry in entries
        if entry.name not in {*FILES, *SAMPLED_FILES} or not entry.is_file() or entry.is_symlink()
    ]
    if not strange and not _is_selection(folder / SELECTOR):
        strange = present
    if strange:
        msg = (
            f"the folder {path_name(folder)} holds {strange[0]!r}, which is not part of a "
            "selection and would be lost; choose another --out."
        )
        raise InputError(msg)


def _is_selection(path: Path) -> bool:
    """Whether this is a selector, so that the folder is ours to replace."""
    from honestbayes.files import ModelFileError, read_archive
    from honestbayes.search import SELECTORS

    try:
        return read_archive(path).kind in SELECTORS
    except (OSError, ModelFileError):
        return False


def write_selection(
    selector: TableSelector, file: TableFile, columns: Sequence[str], folder: Path
) -> None:
    """Write all files, together or not at all.

    Parameters
    ----------
    selector : fitted selector
        What chose.
    file : TableFile
        The whole table.
    columns : sequence of str
        Columns of the reduced table, in order.
    folder : Path
        Where; an earlier selection in this place is replaced as a whole.
    """
    from honestbayes.files import atomic_folder
    from honestbayes.plots import InclusionDisplay
    from honestbayes.search.sampled import SubsetSampler
    from honestbayes.search.selector import ProbabilitySelector

    with atomic_folder(folder) as path:
        if isinstance(selector, SubsetSampler):
            write_columns(inclusion_table(selector), path / INCLUSION)
            draw(InclusionDisplay, selector, path / INCLUSION_PICTURE, None)
        else:
            assert isinstance(selector, ProbabilitySelector)
            write_columns(selector.path_.table(), path / PATH)
            draw_path(selector, path / PICTURE)
        write_reduced(file, columns, path / REDUCED)
        selector.save(path / SELECTOR)


def files_of(selector: TableSelector) -> tuple[str, ...]:
    """Return the names of the files that a selection has."""
    from honestbayes.search.sampled import SubsetSampler

    return SAMPLED_FILES if isinstance(selector, SubsetSampler) else FILES


def write_columns(table: Mapping[str, Any], path: Path) -> None:
    """Write columns as CSV, such as a path with one row a step; numbers with all their digits."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(table)
        for row in zip(*(column.tolist() for column in table.values()), strict=True):
            writer.writerow([_cell(value) for value in row])


def _cell(value: Any) -> str:
    """Return a value as text: empty where there is none."""
    from honestbayes.report.render import safe_cell

    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return "" if math.isnan(value) else repr(value)
    return safe_cell(value)


def draw_path(selector: ProbabilitySelector, path: Path) -> None:
    """Draw the path as a picture, wider where more features are named below it."""
    from honestbayes.plots import SelectionPathDisplay

    steps = selector.path_.feature.size
    width = _WIDTH if steps > _NAMED_STEPS else max(2.4 + 0.34 * steps, 5.6)
    draw(SelectionPathDisplay, selector, path, (width, _HEIGHT))


def draw(
    display: Any, selector: TableSelector, path: Path, size: tuple[float, float] | None
) -> None:
    """Draw a display as a picture, as large as it needs where no size is given."""
    if size is None:
        size = 6.4, 1.4 + 0.26 * min(30, selector.n_features_in_)
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    with warnings.catch_warnings():
        # A letter that the font lacks is drawn as a box; the name stands in the CSV file as well.
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)
        display.from_estimator(selector, ax=figure.add_subplot())
        figure.savefig(path, format="png", dpi=_DOTS_PER_INCH, metadata={"Software": None})


def write_reduced(file: TableFile, columns: Sequence[str], path: Path) -> None:
    """Copy some columns of a table, all rows, cell by cell; what is missing becomes empty."""
    from honestbayes.tables.conversion import to_text

    wanted = tuple(columns)
    # Cells such as 1,5 are numbers only where the comma does not separate them.
    delimiter = ";" if file.decimal == "," else ","
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
        writer.writerow(wanted)
        for batch in file.reader.batches(wanted, limit=file.max_bytes, whole=False):
            cells = [batch[name] for name in wanted]
            if file.format != "csv":
                cells = [to_text(cell, name) for cell, name in zip(cells, wanted, strict=True)]
            writer.writerows(zip(*(cell.to_pylist() for cell in cells), strict=True))


# --------------------------------------------------------------------------------------------------
# What ``honestbayes select`` prints
# --------------------------------------------------------------------------------------------------


MOST_LINES = 40
"""Steps that are printed; the file holds all."""

MOST_NAMES = 30


def print_selection(selector: TableSelector, data: TrainingTable, name: str, folder: Path) -> None:
    """Print the selection, its reliability and the names of the files."""
    import numpy as np

    counts = tuple(np.bincount(data.y, minlength=len(data.labels)).tolist())
    candidates, kept = selector.n_features_in_, kept_names(selector)
    say(
        f"{word(name)}: {describe_cases(data.labels, counts)}; {candidates:,} "
        f"column{'' if candidates == 1 else 's'}, {len(kept):,} kept"
    )
    for note in data.notes:
        say(f"Note: {note}")
    say_what_was_chosen(selector, kept)
    say(f"The columns were chosen on this table: evaluate a model of {REDUCED} on other rows.")
    say()
    say(f"Written to {folder}: {', '.join(files_of(selector))}", wrap=False)


def say_what_was_chosen(selector: TableSelector, kept: list[Any]) -> None:
    """Print the steps or inclusion probabilities, the kept columns and their reliability."""
    from honestbayes.search.sampled import SubsetSampler
    from honestbayes.search.selector import ProbabilitySelector

    say()
    if isinstance(selector, SubsetSampler):
        say(table_of_inclusion(selector), wrap=False)
        text = words_of_inclusion(selector)
    else:
        assert isinstance(selector, ProbabilitySelector)
        say(table_of(selector.path_), wrap=False)
        text = honest_words(selector)
    say()
    say(f"Kept: {describe_kept(kept)}.")
    say()
    say(text)


def table_of(path: SelectionPath) -> str:
    """Return the first steps as text, with names that stay on their lines."""
    lines = str(replace(path, name=tuple(word(name) for name in path.name))).splitlines()
    more = len(lines) - MOST_LINES
    if more > 1:
        lines = [*lines[:MOST_LINES], f"({more:,} more steps in {PATH})"]
    return "\n".join(lines)


def kept_names(selector: TableSelector) -> list[Any]:
    """Return the columns that are kept: in the order of a path, or of the table."""
    from honestbayes.search.selector import ProbabilitySelector

    if isinstance(selector, ProbabilitySelector):
        names = column_names(selector)
        return [names[column] for column in selector.path_.kept.tolist()]
    return list(selector.get_feature_names_out())


def describe_kept(kept: list[Any]) -> str:
    """List the columns that are kept, not all where they are many."""
    if not kept:
        return "none"
    names = [word(name) for name in kept[:MOST_NAMES]]
    more = len(kept) - MOST_NAMES
    return ", ".join(names) + (f" and {more:,} more" if more > 0 else "")


def honest_words(selector: ProbabilitySelector) -> str:
    """Explain how far the scores can be trusted."""
    import numpy as np

    from honestbayes.search.selector import loss_label

    path = selector.path_
    if np.isnan(path.held_out_score[0]):
        return (
            "No rows were held out: scores on the training rows are optimistic, even for useless "
            "columns."
        )
    loss = loss_label(getattr(selector, "scoring", "squared_error"))
    before, after = path.held_out_score[0], path.held_out_score[path.n_kept]
    steps = "1 step" if path.n_kept == 1 else f"{path.n_kept:,} steps"
    scores = f"The held-out {loss} is {after:.4f} after {steps} and {before:.4f} before the first."
    if after > before:
        scores += " That is worse than with no columns."
    by_number = getattr(selector, "patience", None) is not None
    if path.n_kept == 0:
        return (
            f"No column improved the held-out {loss} on the {before:.4f} of the class "
            "frequencies alone."
        )
    if getattr(selector, "score_on", "train") == "held_out":
        return f"{scores} The columns were chosen by this score, so it is optimistic."
    if isinstance(selector.held_out, float):
        who = "The held-out rows were used neither to choose columns nor to train"
    else:
        who = "The selection was repeated in each fold, without the rows that score it"
    if by_number:
        return (
            f"{scores} {who}; only the number of steps was chosen by this score, so it is "
            "slightly optimistic."
        )
    return f"{scores} {who}."


# --------------------------------------------------------------------------------------------------
# Input and output of ``honestbayes select``
# --------------------------------------------------------------------------------------------------


def not_candidates(
    file: TableFile, weights: str | None, ignore: list[str], roles: dict[str | None, str]
) -> list[str]:
    """Return the columns to ignore, and that of the weights, which has no other role."""
    if weights is None:
        return ignore
    file.require((weights,))
    taken = roles | dict.fromkeys(ignore, "a column to ignore")
    if weights in taken:
        msg = (
            f"column {shown(weights)} is given both as the weights and as {taken[weights]}; "
            "choose one."
        )
        raise InputError(msg)
    return [*ignore, weights]


def row_weights(file: TableFile, name: str, row_numbers: IntArray) -> FloatArray:
    """Return the weights of the rows that have a class."""
    import numpy as np

    from honestbayes.tables.conversion import to_numbers

    column = file.read([name])[name]
    values = to_numbers(column, name, decimal=file.decimal_of(name), locations=file.locations())
    values = values[row_numbers - 1]
    wrong = np.flatnonzero(~(values >= 0))
    if wrong.size:
        value = float(values[wrong[0]])
        what = "has no value" if np.isnan(value) else f"holds {value:g}"
        place = file.locations(row_numbers).describe(int(wrong[0]))
        msg = (
            f"the weight column {shown(name)} {what} in {place}; give each row a number of 0 or "
            "more."
        )
        raise InputError(msg)
    return values


def contents(
    selector: TableSelector, data: TrainingTable, name: str, command: str
) -> dict[str, Any]:
    """Return a selection as plain data."""
    content = {
        "table": name,
        "command": command,
        "n_cases": data.y.size,
        "class_counts": dict(zip(data.labels, data.class_counts(), strict=True)),
    }
    return content | selector_contents(selector) | {"notes": data.notes}


def selector_contents(selector: TableSelector) -> dict[str, Any]:
    """Return a selector as plain data, without its table."""
    from honestbayes.search.sampled import SubsetSampler
    from honestbayes.search.selector import ProbabilitySelector

    content = {
        "n_columns": selector.n_features_in_,
        "kept": [str(name) for name in kept_names(selector)],
    }
    if isinstance(selector, SubsetSampler):
        return content | inclusion_contents(selector)
    assert isinstance(selector, ProbabilitySelector)
    path = selector.path_
    return content | {
        "without_columns": {
            "train_score": path.train_score[0],
            "held_out_score": path.held_out_score[0],
        },
        "path": path.table(),
    }


# --------------------------------------------------------------------------------------------------
# ``honestbayes select``: which columns make the probabilities of naive Bayes best
# --------------------------------------------------------------------------------------------------


DEFAULT_PATIENCE, DEFAULT_FOLDS = 5, 5


class Method(StrEnum):
    """Methods of selection."""

    forward = "forward"
    boosted = "boosted"
    sampled = "sampled"


class Rows(StrEnum):
    """Rows on which candidates are compared."""

    train = "train"
    held_out = "held-out"


class Loss(StrEnum):
    """Loss to minimise."""

    squared_error = "squared-error"
    log_loss = "log-loss"


@one_line_errors
@given.reads_tables()
def select(
    context: typer.Context,
    table: given.Table,
    target: given.Target = None,
    method: Annotated[
        Method,
        typer.Option(
            help="forward: add the best column at each step. boosted: one column per round, by "
            "boosting. sampled: draw sets of columns from their posterior distribution, and keep "
            "the columns that most sets contain."
        ),
    ] = Method.forward,
    features: Annotated[
        str | None,
        typer.Option(
            "--features",
            "-k",
            metavar="N",
            help="Number of columns to select, or 'all'; boosted: number of rounds (10). By "
            "default "
            "--patience decides; sampled: columns with a probability of at least one half.",
        ),
    ] = None,
    distinct: Annotated[
        bool,
        typer.Option(
            "--distinct",
            help="--method boosted: choose a new column in each round, so that --features counts "
            "columns; by default a column may be chosen again.",
        ),
    ] = False,
    expected: Annotated[
        float | None,
        typer.Option(
            metavar="N",
            help="--method sampled: mean of a Poisson prior on the number of columns; by default "
            "all numbers are equally likely.",
        ),
    ] = None,
    patience: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Stop after this many steps without a better held-out score, and keep the "
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
            help="Loss to minimise: squared-error, summed over the classes (for two, twice the "
            "Brier score), or log-loss, the log score."
        ),
    ] = Loss.squared_error,
    weights: Annotated[str | None, typer.Option(help="Column of row weights.")] = None,
    ignore: given.Ignore = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="Column to use although it looks doubtful; repeatable."),
    ] = None,
    groups: given.Groups = None,
    row_names: Annotated[
        str | None,
        typer.Option("--id", help="Column of row identifiers, kept in the reduced table."),
    ] = None,
    smoothing: Annotated[
        float, typer.Option(help="Pseudocount added to each category in each class.")
    ] = 1.0,
    bins: Annotated[int, typer.Option(min=2, help="Number of bins of a continuous column.")] = 10,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Random seed for the held-out rows.")
    ] = 0,
    jobs: Annotated[int, typer.Option(help="Number of threads; -1 for one per processor.")] = 1,
    out: given.OutFolder = None,
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
    """Select the columns that give naive Bayes the best probabilities."""
    from honestbayes.tables.formats import recognise

    given.check_jobs(jobs, "threads")

    if method == Method.sampled and weights is not None:
        msg = "the sampled method does not take weights; leave out --weights."
        raise InputError(msg)
    if expected is not None and not 0 < expected < math.inf:
        raise typer.BadParameter(f"{expected:g} is not a positive number.", param_hint="--expected")
    chosen = Choices.of(
        method=method.value,
        features=features,
        distinct=distinct,
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
    if table != given.STANDARD_INPUT:
        recognise(table)  # what is wrong with a file is said before what takes long to import
    from honestbayes.report.record import plain_data
    from honestbayes.tables import read_training

    folder = Path(f"{given.stem(table)}-selection") if out is None else out
    check_selection_folder(folder, table)
    command = given.repeating_command(context, "jobs", "quiet", "as_json")
    file = reading.open(table)
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
            kinds=given.kinds_of(categorical, measured, flags),
            keep_duplicates=keep_duplicates,
            merge_labels=merge_labels,
            missing_labels=missing_label or (),
            keep_labels=keep_labels,
            units=False,  # the reduced table has the cells of the file
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
        content = contents(selector, data, file.name, command)
        typer.echo(json.dumps(plain_data(content), allow_nan=False, indent=1))
    elif not quiet:
        print_selection(selector, data, file.name, folder)


DEFAULT_ROUNDS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """How to select.

    Attributes
    ----------
    method : {"forward", "boosted", "sampled"}
        Which selector.
    features : int, "all" or None
        Columns, or rounds of boosting.
    distinct : bool
        Of boosting, whether each round takes another column.
    expected : float or None
        Of the sampled method, the mean of a Poisson prior of the number of columns.
    patience : int or None
        Steps without improvement.
    held_out : int, float or None
        Folds, or a share of the rows.
    score_on : {"train", "held_out"}
        Rows on which candidates are compared.
    loss : {"squared_error", "log_loss"}
        What is made small.
    smoothing : float
        What levels are given more.
    n_bins : int
        Bins of measurements.
    seed : int
        Draws the rows that are held out.
    n_jobs : int
        Threads.
    """

    method: str
    features: int | Literal["all"] | None
    distinct: bool
    expected: float | None
    patience: int | None
    held_out: int | float | None
    score_on: Any
    loss: Any
    smoothing: float
    n_bins: int
    seed: int
    n_jobs: int

    @classmethod
    def of(
        cls,
        *,
        method: str,
        features: str | None,
        distinct: bool,
        expected: float | None,
        patience: int | None,
        held_out: str | None,
        score_on: str,
        loss: str,
        grouped: bool,
        **more: Any,
    ) -> Self:
        """Validate the options."""
        if method == "sampled":
            _refuse_for_sampling(held_out, patience, score_on, loss)
        elif expected is not None:
            _refuse("only --method sampled has a prior on the number of columns.", "--expected")
        rows = None if method == "sampled" else _held_out(held_out or str(DEFAULT_FOLDS))
        number = _features(features, method, distinct)
        if method == "boosted":
            _refuse_for_boosting(patience, score_on, loss)
        elif distinct:
            _refuse("only --method boosted can choose a column again.", "--distinct")
        if not (0 < more["smoothing"] < math.inf):
            _refuse(f"{more['smoothing']:g} is not a positive number.", "--smoothing")
        if rows is None and patience is not None:
            _refuse("--patience needs held-out rows; give a number of folds.", "--held-out")
        if rows is None and score_on == "held_out":
            _refuse(
                "--score-on held-out needs held-out rows; give a number of folds.",
                "--held-out",
            )
        if grouped and method != "sampled" and not isinstance(rows, int):
            _refuse("groups stay together in folds; give a number of folds.", "--held-out")
        if method == "forward" and number is None and patience is None and rows is not None:
            patience = DEFAULT_PATIENCE
        return cls(
            method=method,
            features=number,
            distinct=distinct,
            expected=expected,
            patience=patience,
            held_out=rows,
            score_on=score_on,
            loss=loss,
            **more,
        )

    def check_table(self, data: TrainingTable) -> None:
        """Validate the numbers of columns and folds against the table."""
        columns = len(data.encoding.columns)
        counts_columns = self.method != "boosted" or self.distinct
        if counts_columns and isinstance(self.features, int) and self.features > columns:
            most = f"{columns:,} or fewer" if columns > 1 else "1"
            noun = "column" if columns == 1 else "columns"
            other = ", or 'all'" if self.method != "sampled" else ""
            msg = (
                f"--features {self.features:,} is more than the {columns:,} {noun}; "
                f"give {most}{other}."
            )
            raise InputError(msg)
        if isinstance(self.held_out, int):
            check_folds(self.held_out, data, "--held-out")
        elif self.held_out is not None:
            self._check_share(data.y.size, len(data.labels))

    def _check_share(self, n_rows: int, n_classes: int) -> None:
        assert self.held_out is not None
        held = math.ceil(self.held_out * n_rows)
        if min(held, n_rows - held) < n_classes:
            msg = (
                f"--held-out {self.held_out:g} holds out {held:,} of {n_rows:,} rows, but both "
                f"parts need {n_classes} or more; give another share, or a number of folds."
            )
            raise InputError(msg)


def _refuse(message: str, option: str) -> NoReturn:
    raise typer.BadParameter(message, param_hint=option)


def _refuse_for_boosting(patience: int | None, score_on: str, loss: str) -> None:
    if patience is not None:
        _refuse("boosting runs all its rounds; give --features instead.", "--patience")
    if score_on == "held_out":
        _refuse("boosting always chooses on training rows.", "--score-on")
    if loss == "log_loss":
        _refuse("boosting has its own loss, and is scored by squared error.", "--loss")


def _refuse_for_sampling(
    held_out: str | None, patience: int | None, score_on: str, loss: str
) -> None:
    """Refuse what belongs to selectors that take one column after the other."""
    why = "the sampled method holds no rows out."
    for option, is_given in (
        ("--held-out", held_out is not None),
        ("--patience", patience is not None),
        ("--score-on", score_on == "held_out"),
        ("--loss", loss == "log_loss"),
    ):
        if is_given:
            _refuse(why, option)


def _held_out(word: str) -> int | float | None:
    """Return folds, a share, or None.

    >>> _held_out("5"), _held_out("0.3"), _held_out("none")
    (5, 0.3, None)
    """
    if word == "none":
        return None
    try:
        number = float(word)
    except ValueError:
        number = math.nan
    if 0 < number < 1:
        return number
    if number >= 2 and number == math.floor(number) and word.isdecimal():
        return int(word)
    _refuse(
        f"{word!r} is not a share between 0 and 1, a number of folds of 2 or more, or 'none'.",
        "--held-out",
    )


def _features(word: str | None, method: str, distinct: bool) -> int | Literal["all"] | None:
    if word is None:
        return None
    if word == "all" and (method == "forward" or distinct):
        return "all"
    if not word.isdecimal() or int(word) < 1:
        other = {"forward": ", or 'all'", "boosted": " of rounds"}.get(method, "")
        other = ", or 'all'" if distinct else other
        _refuse(f"{word!r} is not a positive number{other}.", "--features")
    return int(word)


def fitted_selector(
    chosen: Choices, data: TrainingTable, weight: FloatArray | None
) -> TableSelector:
    """Select, by a table whose columns are those of the file."""
    import numpy as np
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    from honestbayes.search import BoostedProbabilitySelector, ForwardProbabilitySelector

    if chosen.method == "sampled":
        return _fitted_sampler(chosen, data)
    held_out: Any = chosen.held_out
    if isinstance(held_out, int):
        kind = StratifiedKFold if data.groups is None else StratifiedGroupKFold
        held_out = kind(held_out, shuffle=True, random_state=chosen.seed)
    params: dict[str, Any] = {
        "held_out": held_out,
        "smoothing": chosen.smoothing,
        "n_bins": chosen.n_bins,
        "n_jobs": chosen.n_jobs,
        "random_state": chosen.seed,
    }
    selector: ForwardProbabilitySelector | BoostedProbabilitySelector
    if chosen.method == "boosted":
        most = len(data.encoding.columns) if chosen.distinct else DEFAULT_ROUNDS
        number: Any = chosen.features or min(DEFAULT_ROUNDS, most)
        counted = "n_features_to_select" if chosen.distinct else "n_rounds"
        selector = BoostedProbabilitySelector(**{counted: number}, **params)
    else:
        selector = ForwardProbabilitySelector(
            n_features_to_select=chosen.features,
            scoring=chosen.loss,
            score_on=chosen.score_on,
            patience=chosen.patience,
            **params,
        )
    y = np.array(data.labels, dtype=np.str_)[data.y]
    selector.fit(candidates(data), y, weight, groups=data.groups)
    # How many threads there were says nothing of the result.
    selector.set_params(n_jobs=None)
    return selector


def _fitted_sampler(chosen: Choices, data: TrainingTable) -> SubsetSampler:
    """Draw subsets of the columns; what chains lack is said with the result."""
    import numpy as np
    from sklearn.exceptions import ConvergenceWarning

    from honestbayes.search.sampled import SubsetSampler

    number: Any = chosen.features
    sampler = SubsetSampler(
        subset_prior="sizes" if chosen.expected is None else ("poisson", chosen.expected),
        n_features_to_select=number,
        smoothing=chosen.smoothing,
        n_bins=chosen.n_bins,
        n_jobs=chosen.n_jobs,
        random_state=chosen.seed,
    )
    y = np.array(data.labels, dtype=np.str_)[data.y]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        sampler.fit(candidates(data), y)
    sampler.set_params(n_jobs=None)
    return sampler


def candidates(data: TrainingTable) -> Any:
    """Return the columns to select from, as they are in the file: numbers, or texts."""
    import numpy as np
    import pandas as pd

    encoding = data.encoding
    if not encoding.levels:
        return data.X
    columns: dict[str, Any] = {}
    for position, feature in enumerate(encoding.features):
        values = data.X.iloc[:, position].to_numpy()
        levels = encoding.levels.get(feature.column)
        if levels is not None:  # the code of a level, also where it is a yes-or-no feature
            places = np.where(np.isnan(values), -1, values).astype(np.int64)
            values = np.array([*levels, None], dtype=object)[places]
        columns[feature.column] = values
    return pd.DataFrame(columns, copy=False)
