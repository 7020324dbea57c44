"""Words of subset sampling in files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from honestbayes.files.entries import Entries, Plain
from honestbayes.files.fields import Known, plain_scalar
from honestbayes.models.shared.parameter_fields import Parameter


@dataclass(frozen=True, slots=True)
class NoFunction(Parameter):
    """A word, or a pair of a word and a number; a function cannot be stored."""

    def write(self, name: str, value: Any) -> Plain:
        """Return the word or the pair; refuse a function."""
        if callable(value):
            msg = f"{name} is a function, which a file of plain data cannot hold."
            raise ValueError(msg)
        pair = isinstance(value, tuple | list)
        return {name: [plain_scalar(part) for part in value] if pair else value}, {}

    def read(self, entries: Entries, name: str, known: Known) -> Any:
        """Return the word or the pair; what it may be is checked with the other parameters."""
        value = entries.value(name)
        good = isinstance(value, str) or (isinstance(value, list) and len(value) == 2)
        entries.check(good, name, "is neither a word nor a pair")
        return tuple(value) if isinstance(value, list) else value
