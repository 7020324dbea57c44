"""One thing that is doubtful in a table, and the options that decide it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from honestbayes.tables.errors import MAX_SHOWN, shown


@dataclass(frozen=True, slots=True)
class Way:
    """An option that decides.

    Attributes
    ----------
    option : str
        Its name, as in Python; with dashes on the command line.
    value : str
        What it is given; empty for a switch.
    when : str
        In which case it is the right one; empty where that is plain.
    """

    option: str
    value: str
    when: str = ""

    def in_command(self) -> str:
        """Return it as it is typed."""
        words = f"--{self.option.replace('_', '-')}"
        if self.value:
            words += f" {_typed(self.value)}"
        return f"{words} {self.when}" if self.when else words

    def in_python(self) -> str:
        """Return it as an argument."""
        value = shown(self.value)
        if self.option in _KINDS:
            words = f"kinds={{{value}: {_KINDS[self.option]!r}}}"
        elif self.option in ("keep", "ignore"):
            words = f"{self.option}=[{value}]"
        elif self.option == "missing_label":
            words = f"missing_labels=[{value}]"
        elif self.option == "missing":
            words = f"missing={self.value.split(',')!r}"
        else:
            words = f"{self.option}={value if self.value else True}"
        return f"{words} {self.when}" if self.when else words


_KINDS = {"categorical": "categorical", "measured": "real", "flags": "binary"}


@dataclass(frozen=True, slots=True)
class Finding:
    """Something doubtful.

    Attributes
    ----------
    column : str
        Where; empty for the table as a whole.
    rule : str
        Its name on the page of rules.
    sentence : str
        What was found, without a full stop.
    ways : tuple of Way
        What decides.
    stops : bool
        Whether no report is made before the user has decided.
    """

    column: str
    rule: str
    sentence: str
    ways: tuple[Way, ...]
    stops: bool

    def in_command(self) -> str:
        """Return the finding for the command line."""
        return f"{self.sentence}: {_either([way.in_command() for way in self.ways])}"

    def in_python(self) -> str:
        """Return the finding for Python."""
        return f"{self.sentence}: {_either([way.in_python() for way in self.ways])}"

    def note(self) -> str:
        """Return the finding for the notes of a report."""
        text = self.in_command()
        return f"{text[0].upper()}{text[1:]}."


def _either(ways: list[str]) -> str:
    return ways[0] if len(ways) == 1 else f"{', '.join(ways[:-1])}, or {ways[-1]}"


def _typed(value: str) -> str:
    return shlex.quote(value) if len(value) <= MAX_SHOWN and value.isprintable() else shown(value)
