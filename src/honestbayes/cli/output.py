"""Output and exit codes of the commands: 0 done, 2 bad input, 3 doubtful table, 1 other errors."""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import typer
from rich.console import Console

from honestbayes.files.errors import ModelFileError
from honestbayes.tables.errors import DoubtfulTable, InputError

if TYPE_CHECKING:
    from honestbayes.report.analysis import Progress as ProgressLike


BAD_INPUT = 2

DOUBTFUL = 3
"""The table can be read, and would give a wrong conclusion; options decide."""

MAX_WORD = 60
"""Characters of a name from data that are printed; more would bury the rest of the line."""

NARROWEST, USUAL_WIDTH = 20, 80
"""Characters of a line below which a width is not believed, and the width that is taken instead."""

_HIDDEN = re.compile(r"\.(.+)\.honestbayes-[0-9a-f]{16}")
"""Names under which files are written before they take their place."""

Params = ParamSpec("Params")
Result = TypeVar("Result")


def printable(text: object) -> str:
    """Return text without control characters, which data may contain."""
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in str(text))


def word(text: object) -> str:
    r"""Return a name from data, printable and shortened.

    >>> word("a\nb"), len(word("x" * 100))
    ('a?b', 60)
    """
    name = printable(text).replace("\n", "?")
    return name if len(name) <= MAX_WORD else f"{name[: MAX_WORD - 3]}..."


def console(*, stderr: bool = False) -> Console:
    """Return where text is printed; widths below that of a word are not believed."""
    result = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if result.width < NARROWEST:  # COLUMNS=0, as some programs set it
        result.width = USUAL_WIDTH
    return result


def say(text: object = "", *, wrap: bool = True) -> None:
    """Print text, wrapped to the terminal unless it is a table or something to copy."""
    console().print(printable(text), soft_wrap=not wrap)


def print_remark(text: object) -> None:
    """Print a remark that is not the result."""
    typer.echo(printable(text).replace("\n", " "), err=True)


def one_line_errors(command: Callable[Params, Result]) -> Callable[Params, Result]:
    """Report bad input in one line with exit code 2; any other error ends with 1.

    A table that is doubtful ends with 3, and a line for each doubt.

    What the system refuses, such as a full disk, is told in one line too; what is a mistake of
    ours keeps its traceback.
    """

    @functools.wraps(command)
    def run(*args: Params.args, **params: Params.kwargs) -> Result:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                return command(*args, **params)
        except DoubtfulTable as doubts:
            print_remark(f"honestbayes: {doubts.lines[0]}")
            for line in doubts.lines[1:]:
                print_remark(f"- {line}")
            raise typer.Exit(DOUBTFUL) from None
        except (InputError, ModelFileError) as error:
            print_remark(f"honestbayes: {error}")
            raise typer.Exit(BAD_INPUT) from None
        except PermissionError as error:
            print_remark(f"honestbayes: no permission to open {_file_name(error)}; ask its owner.")
            raise typer.Exit(BAD_INPUT) from None
        except BrokenPipeError:  # the reader of our output has seen enough
            raise
        except OSError as error:
            reason = error.strerror or type(error).__name__
            print_remark(f"honestbayes: {_file_name(error)} cannot be used: {reason.lower()}.")
            raise typer.Exit(1) from None
        except KeyboardInterrupt:  # here, as versions of typer differ in what they make of it
            print_remark("honestbayes: stopped.")
            raise typer.Exit(1) from None

    return run


def _file_name(error: OSError) -> str:
    name = PurePath(str(error.filename or "a file")).name
    hidden = _HIDDEN.fullmatch(name)
    return hidden[1] if hidden else name


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    print_remark(f"warning: {message}")


@contextmanager
def bad_input() -> Iterator[None]:
    """Report ValueErrors of estimators about the data as bad input."""
    try:
        yield
    except InputError:
        raise
    except ValueError as error:
        raise InputError(" ".join(str(error).split())) from error


@contextmanager
def progress(*, quiet: bool) -> Iterator[ProgressLike]:
    """Show progress bars, on a terminal only."""
    screen = console(stderr=True)
    if quiet or not screen.is_terminal:
        yield lambda _description, _total: lambda: None
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=screen, transient=True) as bars:

        def start(description: str, total: int) -> Callable[[], None]:
            for earlier in bars.task_ids:  # one thing at a time: what came before is done
                bars.update(earlier, visible=False)
            task = bars.add_task(description, total=total or None)
            return lambda: bars.advance(task)

        yield start
