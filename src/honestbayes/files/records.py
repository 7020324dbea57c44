"""Frozen records to and from plain data, by the fields that annotate their attributes.

An attribute that is itself a record is a section of the file; one that may be None has ``has_*``
beside it. A record's method ``check`` refuses values that do not fit together, ``check_against``
those that do not fit what is known of the file. A record whose form in files is its own has
``to_plain`` and ``from_plain`` instead.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from honestbayes.files.archive import write_archive
from honestbayes.files.entries import Entries, Plain, joined, nested
from honestbayes.files.errors import ModelFileError
from honestbayes.files.fields import REQUIRED, Field, Flag, Known

_Record = TypeVar("_Record")

Check = Callable[[Any, str, str], None]
"""Takes a condition, the name of a field, and what to say of it where the condition fails."""


@dataclass(frozen=True, slots=True)
class Section(Field):
    """A record in a section of its own; ``sizes`` says what its lengths are, from what is known."""

    kind: Any = None
    sizes: Callable[[Known], Known] | None = None

    def write(self, name: str, value: Any) -> Plain:
        """Return the record's fields under its name."""
        return nested(name, record_to_plain(value))

    def read(self, entries: Entries, name: str, known: Known) -> Any:
        """Return the record; refuse what else is in the section."""
        section = entries.section(name)
        known = known if self.sizes is None else {**known, **self.sizes(known)}
        record = record_from_plain(self.kind, section, known)
        section.finish()
        return record


@dataclass(frozen=True, slots=True)
class MaybeSection(Section):
    """A record, or None, as ``has_*`` says."""

    def is_in(self, entries: Entries, name: str) -> bool:
        """Whether a file says that there is such a record or that there is none."""
        return entries.has(f"has_{name}")

    def write(self, name: str, value: Any) -> Plain:
        """Return the record's fields under its name, if there is one."""
        sections = {} if value is None else {name: record_to_plain(value)}
        return joined(({f"has_{name}": value is not None}, {}), **sections)

    def read(self, entries: Entries, name: str, known: Known) -> Any:
        """Return the record, or None."""
        if not entries.flag(f"has_{name}"):
            return None
        return Section.read(self, entries, name, known)


@dataclass(frozen=True, slots=True)
class Inline(Field):
    """A record whose fields stand among those of the one that holds it."""

    kind: Any = None

    def is_in(self, entries: Entries, name: str) -> bool:
        """Whether a file holds it: its own fields know."""
        return True

    def write(self, name: str, value: Any) -> Plain:
        """Return the record's fields."""
        return record_to_plain(value)

    def read(self, entries: Entries, name: str, known: Known) -> Any:
        """Return the record."""
        return record_from_plain(self.kind, entries, known)


@dataclass(frozen=True, slots=True)
class OneOf(Section):
    """A record of one of several kinds, chosen by what is known under the name ``by``."""

    by: str = ""
    kinds: Mapping[Any, Any] | None = None

    def read(self, entries: Entries, name: str, known: Known) -> Any:
        """Return a record of the kind that is known."""
        assert self.kinds is not None
        kind = self.kinds[known[self.by]]
        return Section(kind=kind, sizes=self.sizes).read(entries, name, known)


@dataclass(frozen=True, slots=True)
class Given(Field):
    """Something that whoever reads the record knows already, under the attribute's name."""

    def is_in(self, entries: Entries, name: str) -> bool:
        """Whether it is there: it always is."""
        return True

    def write(self, name: str, value: Any) -> Plain:
        """Return nothing."""
        return {}, {}

    def read(self, entries: Entries, name: str, known: Known) -> Any:
        """Return what is known."""
        return known[name]


INLINE = Inline()
GIVEN = Given()


_FIELDS: dict[type, dict[str, Field]] = {}
"""Of kinds of records that were looked at before."""


def fields_of(kind: type) -> dict[str, Field]:
    """Return the fields of a record, from the annotations of its attributes."""
    if kind not in _FIELDS:
        hints = typing.get_type_hints(kind, include_extras=True)
        names = [field.name for field in dataclasses.fields(kind)]
        _FIELDS[kind] = {name: _field(hints[name], f"{kind.__name__}.{name}") for name in names}
    return _FIELDS[kind]


def _field(hint: Any, name: str) -> Field:
    """Return the field that an annotation asks for."""
    if typing.get_origin(hint) is Annotated:
        base, *notes = typing.get_args(hint)
        field = next(note for note in notes if isinstance(note, Field))
        return Inline(kind=base) if isinstance(field, Inline) else field
    if hint is bool:
        return Flag()
    if dataclasses.is_dataclass(hint):
        return Section(kind=hint)
    if isinstance(hint, types.UnionType):
        (kind,) = (one for one in typing.get_args(hint) if one is not types.NoneType)
        return MaybeSection(kind=kind)
    msg = f"{name} does not say how it stands in a file."
    raise TypeError(msg)


# ---------------------------------------------------------------------------- whole records


def record_to_plain(record: Any) -> Plain:
    """Return a record as plain data."""
    if hasattr(record, "to_plain"):
        plain: Plain = record.to_plain()
        return plain
    return values_to_plain(fields_of(type(record)), lambda name: getattr(record, name))


def record_from_plain(kind: type[_Record], entries: Entries, known: Known) -> _Record:
    """Return the record that `record_to_plain` described; what else is there stays."""
    own = getattr(kind, "from_plain", None)
    if own is not None:
        custom: _Record = own(entries, known)
        return custom
    record = kind(**values_from_plain(fields_of(kind), entries, dict(known)))
    if hasattr(record, "check"):
        record.check(entries.check)
    if hasattr(record, "check_against"):
        record.check_against(known, entries.check)
    return record


def values_to_plain(fields: Mapping[str, Field], value_of: Callable[[str], Any]) -> Plain:
    """Return values, each by its field, as plain data."""
    return joined(
        *(field.write(field.stored_as or name, value_of(name)) for name, field in fields.items())
    )


def values_from_plain(fields: Mapping[str, Field], entries: Entries, known: Known) -> Known:
    """Read values, each by its field, in this order; each is known to those after it."""
    values: Known = {}
    for name, field in fields.items():
        stored = field.stored_as or name
        if field.absent is not REQUIRED and not field.is_in(entries, stored):
            values[name] = field.absent
        else:
            values[name] = field.read(entries, stored, known)
        known[name] = values[name]
    return values


def write_readable(path: Any, kind: str, plain: Plain, read: Callable[..., Any]) -> None:
    """Write a model of some kind to a file, unless ``read`` could not read it again."""
    try:
        read(*plain)
    except ModelFileError as error:
        msg = f"the model cannot be saved: {error}."
        raise ValueError(msg) from None
    write_archive(path, kind, *plain)
