"""What the commands print, and how they end: 0 done, 2 bad input, 1 anything else."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from honestbayes.report.analysis import Progress as ProgressLike
from honestbayes.report.analysis import no_progress
from honestbayes.storage import ModelFileError
from honestbayes.tables import InputError

BAD_INPUT = 2

Words = ParamSpec("Words")
Result = TypeVar("Result")


def printable(text: object) -> str:
    """Return text that cannot move the cursor or change colours: it may come from data."""
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in str(text))


def say(text: object = "") -> None:
    """Print text, wrapped to the terminal."""
    Console(highlight=False, markup=False, emoji=False, soft_wrap=False).print(printable(text))


def tell(text: object) -> None:
    """Print a remark that is not the result."""
    typer.echo(printable(text).replace("\n", " "), err=True)


def one_line_errors(command: Callable[Words, Result]) -> Callable[Words, Result]:
    """Turn bad input into one line and exit code 2; anything else keeps its traceback and 1."""

    @functools.wraps(command)
    def run(*args: Words.args, **words: Words.kwargs) -> Result:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                return command(*args, **words)
        except (InputError, ModelFileError, FileNotFoundError, IsADirectoryError) as error:
            tell(f"honestbayes: {_sentence(error)}")
            raise typer.Exit(BAD_INPUT) from None
        except PermissionError as error:
            tell(f"honestbayes: no permission to open {_file_name(error)}.")
            raise typer.Exit(BAD_INPUT) from None

    return run


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError):
        kind = "is a folder" if isinstance(error, IsADirectoryError) else "does not exist"
        return f"{_file_name(error)} {kind}; give a file."
    return str(error)


def _file_name(error: OSError) -> str:
    from pathlib import PurePath

    return PurePath(str(error.filename or "the file")).name


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    tell(f"warning: {message}")


@contextmanager
def bad_input() -> Iterator[None]:
    """Take the estimators' complaints about the data for bad input, which they are."""
    try:
        yield
    except InputError:
        raise
    except ValueError as error:
        raise InputError(" ".join(str(error).split())) from error


@contextmanager
def progress(*, quiet: bool) -> Iterator[ProgressLike]:
    """Show bars on a terminal, and nothing elsewhere."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield no_progress
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bars:

        def start(description: str, total: int) -> Callable[[], None]:
            task = bars.add_task(description, total=total or None)
            return lambda: bars.advance(task)

        yield start
