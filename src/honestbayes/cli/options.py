"""Arguments and options that several commands share."""

from __future__ import annotations

import atexit
import functools
import math
import shlex
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from honestbayes.catalogue import table_specs
from honestbayes.report.options import (
    Options,
    check_parent,
    path_name,
    refuse_choice_of_number,
    refuse_path,
    refuse_selection,
    refuse_threshold,
)
from honestbayes.tables.errors import InputError, shown

if TYPE_CHECKING:
    from honestbayes.data.kinds import Kind
    from honestbayes.tables import TableFile, TrainingTable


# --------------------------------------------------------------------------------------------------
# Options that say how a table is to be read, and what in it is meant
# --------------------------------------------------------------------------------------------------


GIGABYTE = 1 << 30
DEFAULT_MAX_SIZE = 4.0


class Mark(StrEnum):
    """Decimal marks."""

    point = "."
    comma = ","


Delimiter = Annotated[
    str | None, typer.Option(help="Delimiter of a CSV file; detected by default.")
]
Decimal = Annotated[
    Mark | None,
    typer.Option(help="Decimal mark of a CSV file; detected for each column by default."),
]
FileEncoding = Annotated[
    str | None, typer.Option("--encoding", help="Encoding of a CSV file, such as latin-1.")
]
Missing = Annotated[
    str | None,
    typer.Option(
        metavar="WORDS",
        help='Texts that mark missing cells, such as "-,n.d.,999"; "bmi=0" is for the column bmi '
        "only. Empty cells, NA, NaN, NULL, ? and . always count as missing.",
    ),
]
MissingAsLevel = Annotated[
    bool,
    typer.Option(
        "--missing-as-level",
        help="--model interactions: treat a missing cell as a category; by default it is an error.",
    ),
]
Categorical = Annotated[
    list[str] | None, typer.Option(help="Categorical column, of codes or texts; repeatable.")
]
Measured = Annotated[list[str] | None, typer.Option(help="Continuous column; repeatable.")]
Flags = Annotated[list[str] | None, typer.Option(help="Binary column; repeatable.")]
KeepDuplicates = Annotated[
    bool,
    typer.Option("--keep-duplicates", help="Treat identical rows as different cases."),
]


MergeLabels = Annotated[
    bool,
    typer.Option(
        "--merge-labels", help="Merge labels that differ only in case, blanks or hyphens."
    ),
]
MissingLabel = Annotated[
    list[str] | None,
    typer.Option(metavar="TEXT", help="Label that marks a missing class; repeatable."),
]
KeepLabels = Annotated[
    bool, typer.Option("--keep-labels", help="Treat every label as a class, even a doubtful one.")
]


MaxSize = Annotated[
    float,
    typer.Option(
        min=0, metavar="GB", help="Largest unpacked size of a table in gigabytes; 0 for no limit."
    ),
]
Sheet = Annotated[
    str | None, typer.Option(metavar="NAME", help="Sheet of a spreadsheet, by name or number.")
]
HeaderRow = Annotated[
    int | None,
    typer.Option(
        "--header-row", min=1, metavar="N", help="Line that names the columns; found by default."
    ),
]
Layer = Annotated[
    str | None, typer.Option(metavar="NAME", help="Layer of an .h5ad file to read instead of X.")
]
Transpose = Annotated[
    bool,
    typer.Option(
        "--transpose",
        help="Features are in rows: the first column has their names, the header the samples.",
    ),
]
Phenotype = Annotated[
    Path | None,
    typer.Option(
        help="File with the class of each sample, and covariates; joined by identifier.",
        readable=False,
    ),
]
SampleId = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of --phenotype that identifies samples; by default its first.",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a table is read: the options that all commands with a table share."""

    missing: Missing = None
    delimiter: Delimiter = None
    decimal: Decimal = None
    encoding: FileEncoding = None
    sheet: Sheet = None
    header_row: HeaderRow = None
    layer: Layer = None
    transpose: Transpose = False
    phenotype: Phenotype = None
    sample_id: SampleId = None
    max_size: MaxSize = DEFAULT_MAX_SIZE

    def open(self, path: Path) -> TableFile:
        """Open a table with the limits of the user; ``-`` is the standard input."""
        from honestbayes.tables.formats import recognise

        if path == STANDARD_INPUT:
            path = _standard_input(self.max_bytes)

        recognise(path)  # what is wrong with a file is said before what takes long to import
        from honestbayes.tables import open_table

        return open_table(
            path,
            delimiter=self.delimiter,
            decimal=None if self.decimal is None else self.decimal.value,
            encoding=self.encoding,
            missing=missing_words(self.missing),
            sheet=self.sheet,
            header_row=self.header_row,
            layer=self.layer,
            transpose=self.transpose,
            phenotype=self.phenotype,
            sample_id=self.sample_id,
            max_bytes=self.max_bytes,
        )

    @property
    def max_bytes(self) -> int | None:
        """What --max-size asks for, in bytes; None: no limit."""
        return int(self.max_size * GIGABYTE) if 0 < self.max_size < math.inf else None


STANDARD_INPUT = Path("-")


def _standard_input(limit: int | None) -> Path:
    """Copy the standard input to a file, which is deleted when the program ends."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    path, size = Path(folder.name, "standard input"), 0
    with path.open("wb") as file:
        while part := sys.stdin.buffer.read(1 << 20):
            size += len(part)
            if limit is not None and size > limit:
                msg = "the standard input is larger than --max-size; raise the limit."
                raise InputError(msg)
            file.write(part)
    return path


def reads_tables(*without: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of :class:`Reading`; it gets them as ``reading``.

    Parameters
    ----------
    *without : str
        Options that the command does not have.
    """
    shared = [
        Parameter(
            option.name,
            Parameter.KEYWORD_ONLY,
            default=option.default,
            annotation=get_type_hints(Reading, include_extras=True)[option.name],
        )
        for option in fields(Reading)
        if option.name not in without
    ]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = signature(command, eval_str=True)
        parameters = [one for one in own.parameters.values() if one.name != "reading"]

        @functools.wraps(command)
        def run(**given: Any) -> None:
            options = {one.name: given.pop(one.name) for one in shared}
            command(**given, reading=Reading(**options))

        together = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in (*parameters, *shared)]
        run.__signature__ = own.replace(parameters=together)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in together}
        return run

    return decorate


def missing_words(text: str | None) -> tuple[str, ...]:
    """Return the texts that --missing lists.

    >>> missing_words("-, n.d.,999")
    ('-', 'n.d.', '999')
    """
    names = [] if text is None else [word.strip() for word in text.split(",")]
    return tuple(dict.fromkeys(word for word in names if word))


def kinds_of(
    categorical: Sequence[str] | None, measured: Sequence[str] | None, flags: Sequence[str] | None
) -> dict[str, Kind]:
    """Return the kinds that options name; refuse a column that is given two."""
    kinds: dict[str, Kind] = {}
    named: tuple[tuple[Kind, Sequence[str] | None], ...] = (
        ("categorical", categorical),
        ("real", measured),
        ("binary", flags),
    )
    for kind, names in named:
        for name in names or ():
            if kinds.setdefault(name, kind) != kind:
                msg = (
                    f"column {shown(name)} is given two kinds; choose one of --categorical, "
                    "--measured and --flags."
                )
                raise InputError(msg)
    return kinds


ENOUGH_FOR_AUTO = 20
"""Cases of the larger class from which on the methods that are compared can choose a number of
features: they do so inside folds, inside folds, inside folds."""

# Files are opened by the commands, which say in one line what is wrong: readable=False.
Table = Annotated[
    Path,
    typer.Argument(
        help="CSV, TSV, spreadsheet, Parquet, Feather, JSON lines, GEO series matrix, GCT, .h5ad, "
        "or npz with arrays X and y; - reads the standard input.",
        readable=False,
    ),
]
Model = Annotated[Path, typer.Argument(help="Model file that report or fit wrote.", readable=False)]
Target = Annotated[str | None, typer.Option(help="Column of the class (npz: y).")]
Positive = Annotated[
    str | None,
    typer.Option(
        help="The positive class; by default the label that looks like a case (yes, tumour, "
        "dead), otherwise the rarer one."
    ),
]
Features = Annotated[
    str | None,
    typer.Option(
        "--features",
        "-k",
        metavar="K",
        help="Number of features to keep of each kind of column: a number, 'all', or 'cv' (by "
        "nested cross-validation); 10 by default. --model honest: number of columns, one set "
        "for all models; by default each model chooses its own.",
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option(help="Keep all features with an absolute correlation above this instead."),
]


class ModelWord(StrEnum):
    """Names of the models that can be fitted to a table."""

    _ignore_ = "name"
    for name in table_specs():
        vars()[name] = name


ModelKind = Annotated[
    ModelWord,
    typer.Option(
        "--model",
        help=" ".join(f"{name}: {spec.summary}." for name, spec in table_specs().items()),
    ),
]
DEFAULT_MODEL = next(iter(ModelWord))
Order = Annotated[
    str | None,
    typer.Option(
        metavar="N",
        help="--model interactions: largest number of columns in a pattern, or 'cv' (1, 2 or 3, by "
        "cross-validation); 2 by default.",
    ),
]


class EffortWord(StrEnum):
    """How many candidates the average of models tries."""

    quick = "quick"
    normal = "normal"
    thorough = "thorough"


Effort = Annotated[
    EffortWord | None,
    typer.Option(
        help="--model honest: quick tries fewer numbers of features; thorough adds models fitted "
        "by "
        "Markov chains, which takes minutes, and draws the folds once; normal by default.",
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(help="Column that is always kept, without ranking it; repeatable."),
]
Covariates = Annotated[
    list[str] | None,
    typer.Option(
        "--covariates",
        help="Column such as age or batch that sets the prior probability of each case and is not "
        "modelled; repeatable.",
    ),
]
Ignore = Annotated[list[str] | None, typer.Option(help="Column to leave out; repeatable.")]
Groups = Annotated[
    str | None,
    typer.Option(help="Column of groups, such as patients, that stay together in folds."),
]
RowNames = Annotated[
    str | None, typer.Option("--id", help="Column of row identifiers to show; none by default.")
]
Prevalence = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SHARE or CLASS=SHARE",
        help="Prevalence of the positive class where the model will be used; with more classes, "
        "once for each class.",
    ),
]
Recalibrate = Annotated[
    bool, typer.Option(help="Multiply the evidence by a slope learned from held-out cases.")
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Random seed for folds and ties.")]
OutFolder = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", help="Folder to write; by default named after the table.", readable=False
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def number_of_features(word: str | None) -> int | Literal["all", "cv"] | None:
    """Return the value of --features."""
    if word is None or word == "all":
        return word  # type: ignore[return-value]  # narrowed by the comparison
    if word == "cv":
        return "cv"
    try:
        number = int(word)
    except ValueError:
        number = -1
    if number < 0:
        msg = f"{word!r} is not a number of features, 'all' or 'cv'."
        raise typer.BadParameter(msg, param_hint="--features")
    return number


def effort_of(word: EffortWord | None) -> Literal["quick", "normal", "thorough"] | None:
    """Return the value of --effort."""
    return None if word is None else word.value


def order_of_patterns(word: str | None) -> int | Literal["cv"] | None:
    """Return the value of --order."""
    if word is None:
        return None
    if word == "cv":
        return "cv"
    if not word.isdecimal() or int(word) < 1:
        msg = f"{word!r} is not a positive number of columns or 'cv'."
        raise typer.BadParameter(msg, param_hint="--order")
    return int(word)


def check_selection(features: str | None, threshold: float | None) -> None:
    """Validate --features and --threshold."""
    if features is not None and threshold is not None:
        msg = "give --features or --threshold, not both."
        raise typer.BadParameter(msg, param_hint="--threshold")
    if threshold is not None and not 0 <= threshold <= 1:
        msg = f"{threshold:g} is not a correlation between 0 and 1."
        raise typer.BadParameter(msg, param_hint="--threshold")


def prevalence_of(values: list[str] | None) -> float | dict[str, float] | None:
    """Return the value of --prevalence: a share, or one for each class.

    >>> prevalence_of(["0.3"]), prevalence_of(["a=0.2", "b=0.8"])
    (0.3, {'a': 0.2, 'b': 0.8})
    """
    if not values:
        return None
    if len(values) == 1 and "=" not in values[0]:
        return _share(values[0], values[0])
    pairs = [word.rpartition("=") for word in values]
    shares = {
        label: _share(share, word) for (label, _, share), word in zip(pairs, values, strict=True)
    }
    if "" in shares or len(shares) < len(values):
        msg = "give one share, or CLASS=SHARE once for each class."
        raise typer.BadParameter(msg, param_hint="--prevalence")
    return shares


def _share(text: str, word: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = math.nan
    if not 0 < share < 1:
        msg = f"{word} is not a share between 0 and 1."
        raise typer.BadParameter(msg, param_hint="--prevalence")
    return share


def check_model(
    model: ModelWord,
    features: str | None,
    threshold: float | None = None,
    order: str | None = None,
    missing_as_level: bool = False,
    path: bool | None = None,
    effort: EffortWord | None = None,
    covariates: list[str] | None = None,
) -> None:
    """Validate options against the model."""
    spec, number = table_specs()[model.value], number_of_features(features)
    order_of_patterns(order)
    refusals = (
        ("--features", refuse_choice_of_number, number == "cv"),
        ("--features", refuse_selection, number not in (None, "all")),
        ("--threshold", refuse_threshold, threshold is not None),
        ("--path", refuse_path, bool(path)),
    )
    for option, refuse, asked in refusals:
        try:
            if asked:
                refuse(spec)
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint=option) from None
    own = {"--order": ("order", order is not None)}
    own["--missing-as-level"] = ("missing", missing_as_level)
    own["--effort"] = ("effort", effort is not None)
    own["--covariates"] = ("covariates", bool(covariates))
    for option, (word, asked) in own.items():
        if asked and word not in spec.report_params:
            able = " or ".join(
                name for name, other in table_specs().items() if word in other.report_params
            )
            msg = (
                f"the {model.value} model does not have this option; leave it out, or use "
                f"--model {able}."
            )
            raise typer.BadParameter(msg, param_hint=option)


def check_fits(options: Options, table: TrainingTable) -> None:
    """Validate the numbers of features and folds against the table."""
    from honestbayes.report.methods import max_candidates

    number, n_candidates = options.n_features, max_candidates(table, options)
    if isinstance(number, int) and number > n_candidates:
        several = options.spec.input.by_kind and len(set(table.kinds)) > 1
        noun = "feature" if n_candidates == 1 else "features"
        noun += " of any kind" if several else ""
        most = f"{n_candidates:,} or fewer" if n_candidates > 1 else f"{n_candidates}"
        msg = (
            f"--features {number:,} is more than the {n_candidates:,} candidate {noun}; give "
            f"{most}, or 'all'."
        )
        raise InputError(msg)
    if number == 0 and not table.keep:
        msg = "--features 0 leaves no features; give 1 or more, or name a column with --keep."
        raise InputError(msg)


def check_evaluation(options: Options, table: TrainingTable) -> None:
    """Refuse more folds than a class has cases, or than there are groups."""
    counts = table.class_counts()
    if options.n_features == "cv" and max(counts) < ENOUGH_FOR_AUTO:
        msg = (
            f"--features cv needs a class with {ENOUGH_FOR_AUTO} cases, and the largest has "
            f"{max(counts)}; give a number."
        )
        raise InputError(msg)
    if options.n_folds != "loo":
        check_folds(options.n_folds, table, "--folds")


def check_folds(n_folds: int, table: TrainingTable, option: str) -> None:
    """Refuse more folds than a class has cases, or than there are groups."""
    most, what, unit = table.most_folds()
    if most < 2:
        msg = "all rows belong to one group; name another column with --groups."
        raise InputError(msg)
    if n_folds > most:
        fix = f"{option} 2" if most == 2 else f"{option} from 2 to {most:,}"
        msg = f"{option} {n_folds:,} is too many: {what} {most:,} {unit}; give {fix}."
        raise InputError(msg)


def check_jobs(jobs: int, what: str = "processes") -> None:
    """Validate a number of processes or threads."""
    if jobs == 0 or jobs < -1:
        msg = f"{jobs} is not a number of {what}; give 1 or more, or -1."
        raise typer.BadParameter(msg, param_hint="--jobs")


def check_output_file(path: Path) -> None:
    """Raise an error if no file can be written to a path."""
    check_parent(path)
    if path.is_dir():
        msg = f"{path_name(path)} is a folder; name a file with --out."
        raise InputError(msg)
    if path.exists() and not path.is_file():
        msg = f"{path.name} is not a regular file; choose another --out."
        raise InputError(msg)


def stem(table: Path) -> str:
    """Return the table's name without its suffixes; "table" for the standard input.

    >>> stem(Path("data/expression.csv.gz"))
    'expression'
    """
    if table == STANDARD_INPUT:
        return "table"
    name = table.name
    for packed in (".gz", ".bz2", ".xz", ".zip"):
        name = name.removesuffix(packed)
    return name.rsplit(".", 1)[0] or table.name


def shareable(path: Path) -> str:
    """Return a path that names no folder of this machine: as typed, or the last part."""
    text = path.name if path.is_absolute() or ".." in path.parts else path.as_posix()
    is_option = text.startswith("-") and path != STANDARD_INPUT
    return f"./{text}" if is_option else text


def repeating_command(context: typer.Context, *untold: str) -> str:
    """Return the command that repeats a run: what was given, and the seed.

    Parameters
    ----------
    context : Context
        Of the command that is running.
    *untold : str
        Options that change nothing in what is written.
    """
    arguments = ["honestbayes", str(context.command.name)]
    for parameter in context.command.params:
        name, value = str(parameter.name), context.params[str(parameter.name)]
        if parameter.param_type_name == "argument":
            arguments.append(_word(value))
        elif name not in untold and (_is_given(context, name) or name == "seed"):
            option = next(word for word in parameter.opts if word.startswith("--"))
            if isinstance(value, bool):
                arguments.append(option if value else parameter.secondary_opts[0])
            else:
                items = value if isinstance(value, list | tuple) else [value]
                arguments += [word for item in items for word in (option, _word(item))]
    return shlex.join(arguments)


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _word(value: Any) -> str:
    """Return a value as it would be typed."""
    if isinstance(value, Path):
        return shareable(value)
    return str(value.value if isinstance(value, StrEnum) else value)
