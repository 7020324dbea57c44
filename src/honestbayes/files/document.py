"""The description in a container: strict JSON in a fixed frame."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from math import isfinite
from typing import Any, NoReturn

from honestbayes.files.errors import ModelFileError
from honestbayes.files.npy import array_name_is_good

FORMAT = "honestbayes"
SCHEMA = 1
"""Number of the layout. A reader takes its own and older ones."""

LARGEST_JSON = 16 * 2**20
"""Bytes of ``model.json``. What grows with the number of features is in arrays."""

DEEPEST_JSON = 16
LONGEST_NUMBER = 1000
"""Digits of a number in JSON; the exact bound of a selection may have a few hundred."""


def write_document(kind: str, content: Mapping[str, Any], names: list[str]) -> bytes:
    """Return the description of a container as JSON, in ASCII.

    Parameters
    ----------
    kind : str
        What the content describes.
    content : mapping
        Plain data that JSON can hold, without NaN and infinity.
    names : list of str
        Names of the arrays beside it.
    """
    document = {
        "format": FORMAT,
        "schema": SCHEMA,
        "kind": kind,
        "written_by": f"honestbayes {_package_version()}",
        "arrays": names,
        "content": content,
    }
    try:
        text = json.dumps(document, allow_nan=False, indent=1).encode("ascii")
    except (TypeError, ValueError) as error:
        msg = f"the model cannot be stored as plain data: {error}."
        raise ValueError(msg) from None
    if len(text) > LARGEST_JSON:
        msg = (
            f"the model's description has {len(text)} bytes, more than the {LARGEST_JSON} allowed."
        )
        raise ValueError(msg)
    return text


def _package_version() -> str:
    try:
        return version("honestbayes")
    except PackageNotFoundError:  # a source tree that was not installed
        return "0+unknown"


def read_document(text: bytes) -> dict[str, Any]:
    """Parse the description, and refuse what `write_document` would not have written.

    Raises
    ------
    ModelFileError
        Without the name of the file.
    """
    try:
        document: Any = json.loads(
            text.decode("utf-8"),
            parse_constant=_refuse_number,
            parse_float=_float,
            parse_int=_int,
            object_pairs_hook=_object,
        )
    except ModelFileError:
        raise
    except (ValueError, RecursionError):
        _refuse("is damaged: its description is not JSON, or too deep")
    _check_depth(document)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        _refuse("is not a model file of honestbayes")
    schema = document.get("schema")
    if type(schema) is not int or schema < 1:
        _refuse("is damaged: it names no schema")
    if schema > SCHEMA:
        _refuse(
            f"has schema {str(schema)[:20]}, but this honestbayes knows only up to {SCHEMA}: "
            "a newer honestbayes is needed to read it"
        )
    if set(document) != {"format", "schema", "kind", "written_by", "arrays", "content"}:
        _refuse("is damaged: its description has missing or unknown entries")
    names = document["arrays"]
    good = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not good or len(set(names)) != len(names) or not all(map(array_name_is_good, names)):
        _refuse("is damaged: the names of its arrays are not names")
    if not isinstance(document["kind"], str) or not isinstance(document["content"], dict):
        _refuse("is damaged: it does not say what it holds")
    if not isinstance(document["written_by"], str):
        _refuse("is damaged: it does not say what wrote it")
    result: dict[str, Any] = document
    return result


def _check_depth(document: Any) -> None:
    level = [document]
    for _ in range(DEEPEST_JSON):
        inner: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                inner.extend(value.values())
            elif isinstance(value, list):
                inner.extend(value)
        if not inner:
            return
        level = inner
    _refuse("is damaged: its description is too deep")


def _float(text: str) -> float:
    value = float(text) if len(text) <= LONGEST_NUMBER else float("inf")
    if not isfinite(value):
        _refuse_number(text)
    return value


def _int(text: str) -> int:
    if len(text) > LONGEST_NUMBER:
        _refuse_number(text)
    return int(text)


def _refuse_number(text: str) -> NoReturn:
    _refuse(f"is damaged: its description holds the number {text[:20]}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        _refuse("is damaged: its description names something twice")
    return result


def _refuse(what: str) -> NoReturn:
    raise ModelFileError(what)
