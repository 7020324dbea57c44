"""Arguments and options that several commands share."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from honestbayes.tables import TableFile, open_table

GIGABYTE = 1 << 30

Table = Annotated[
    Path, typer.Argument(help="CSV, TSV (also gzipped), Parquet, or npz with arrays X and y.")
]
Model = Annotated[Path, typer.Argument(help="Model file that report or fit wrote.")]
Target = Annotated[str | None, typer.Option(help="Column of the class (npz: y).")]
Positive = Annotated[
    str | None,
    typer.Option(help="Class whose probability is wanted; by default the second in order."),
]
Features = Annotated[
    str | None,
    typer.Option(
        "--features",
        "-k",
        metavar="K",
        help="How many features to keep: a number, 'all', or 'auto' (by nested cross-validation). "
        "By default 10.",
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option(help="Keep all features whose absolute correlation is above this instead."),
]
Keep = Annotated[
    list[str] | None, typer.Option(help="Column kept by design, outside the race; repeatable.")
]
Ignore = Annotated[list[str] | None, typer.Option(help="Column to leave out; repeatable.")]
Groups = Annotated[
    str | None, typer.Option(help="Column of groups (patients) that stay together in folds.")
]
RowNames = Annotated[
    str | None, typer.Option("--id", help="Column of row identifiers to show; none by default.")
]
Prevalence = Annotated[
    float | None, typer.Option(help="Share of the positive class where the model is used.")
]
Recalibrate = Annotated[
    bool, typer.Option(help="Multiply the evidence by a slope learnt from held-out cases.")
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Draws folds and breaks ties.")]
Delimiter = Annotated[
    str | None, typer.Option(help="What separates cells of a CSV file; found by itself.")
]
MaxSize = Annotated[
    float,
    typer.Option(
        min=0, metavar="GB", help="Largest unpacked size of a table in gigabytes; 0 for no limit."
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def number_of_features(word: str | None) -> int | Literal["all", "cv"] | None:
    """Return what --features asks for."""
    if word is None or word == "all":
        return word  # type: ignore[return-value]  # narrowed by the comparison
    if word in ("auto", "cv"):
        return "cv"
    try:
        number = int(word)
    except ValueError:
        number = -1
    if number < 0:
        msg = f"{word!r} is not a number of features, 'all' or 'auto'."
        raise typer.BadParameter(msg, param_hint="--features")
    return number


def check_selection(features: str | None, threshold: float | None) -> None:
    """Refuse options that contradict each other, or mean nothing."""
    if features is not None and threshold is not None:
        msg = "give --features or --threshold, not both."
        raise typer.BadParameter(msg, param_hint="--threshold")
    if threshold is not None and not 0 <= threshold <= 1:
        msg = f"{threshold:g} is not a correlation between 0 and 1."
        raise typer.BadParameter(msg, param_hint="--threshold")


def check_prevalence(prevalence: float | None) -> None:
    """Refuse a prevalence that is none."""
    if prevalence is not None and not 0 < prevalence < 1:
        msg = f"{prevalence:g} is not a share between 0 and 1."
        raise typer.BadParameter(msg, param_hint="--prevalence")


def opened(path: Path, delimiter: str | None, max_size: float) -> TableFile:
    """Open a table with the limits of the user."""
    limit = int(max_size * GIGABYTE) if max_size > 0 else None
    return open_table(path, delimiter=delimiter, max_bytes=limit)


def shareable(path: Path) -> str:
    """Return a path that names no folder of this machine: as typed, or the last part."""
    return path.name if path.is_absolute() or ".." in path.parts else path.as_posix()


def command_line(command: str, arguments: list[str], options: dict[str, Any]) -> str:
    """Return the command that repeats a run; options that are None or False are left out.

    >>> command_line("report", ["my data.csv"], {"--keep": ["a", "b"], "--quiet": False})
    "honestbayes report 'my data.csv' --keep a --keep b"
    """
    words = ["honestbayes", command, *arguments]
    for name, value in options.items():
        if value is None or value is False:
            continue
        if value is True:
            words.append(name)
        else:
            for item in value if isinstance(value, list) else [value]:
                words += [name, str(item)]
    return shlex.join(words)
