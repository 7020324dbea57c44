"""Results turned into plain arrays with names, and these into one file."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

Figures = dict[str, np.ndarray]

LONGEST = 48
"""Numbers of an array that the stored record holds; of longer ones it holds a summary."""

SUMMARY = "condensed"

NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])")
"""A number in a text."""


def flat(name: str, value: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Yield a result piece by piece, under names such as ``case.selection_.kept``.

    Records are taken apart by their public fields, so that a field that appears, goes or changes
    is seen.
    """
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from flat(f"{name}.{key}", part)
    elif is_dataclass(value):
        for field in fields(value):
            if not field.name.startswith("_"):
                yield from flat(f"{name}.{field.name}", getattr(value, field.name))
    elif isinstance(value, np.ndarray):
        yield name, _plain(value)
    elif value is None or isinstance(value, Fraction):
        yield name, np.array(str(value))
    elif isinstance(value, str | bool | int | float | np.generic):
        yield name, np.array(value)
    elif isinstance(value, Sequence):
        yield from _of_sequence(name, value)
    else:
        msg = f"{name} is a {type(value).__name__}, which the record does not know."
        raise TypeError(msg)


def _of_sequence(name: str, value: Sequence[Any]) -> Iterator[tuple[str, np.ndarray]]:
    if value and all(isinstance(part, float | int | np.generic) for part in value):
        yield name, np.array(value)
    elif all(part is None or isinstance(part, str | float | int) for part in value):
        yield name, np.array([str(part) for part in value], dtype=np.str_)
    else:
        for place, part in enumerate(value):
            yield from flat(f"{name}.{place}", part)


def _plain(array: np.ndarray) -> np.ndarray:
    """Texts in place of objects, which no file should hold."""
    return array.astype(str) if array.dtype == object else array


def condensed(figures: Figures) -> Figures:
    """Long arrays of numbers as means, spreads and bounds: what the stored record holds."""
    result: Figures = {}
    for name, array in figures.items():
        if array.dtype.kind not in "fiu" or array.size <= LONGEST:
            result[name] = array
            continue
        values = array.astype(float)
        words = np.array([values.mean(), values.std(), values.min(), values.max()])
        result[f"{name}.{SUMMARY}"] = np.concatenate([np.array(array.shape, dtype=float), words])
    return result


def save(figures: Figures, path: Path) -> None:
    """Write all figures to one file, at full precision.

    Arrays of a kind stand after each other: an entry of its own for each of some thousand small
    arrays would be mostly headers.
    """
    index, numbers, texts = [], {}, []
    for name, array in figures.items():
        kind = array.dtype.kind
        index.append([name, array.dtype.str if kind != "U" else "U", list(array.shape)])
        if kind == "U":
            texts.extend(array.ravel().tolist())
        else:
            numbers.setdefault(array.dtype.str, []).append(array.ravel())
    names = json.dumps({"index": index, "texts": texts})
    together = {f"of {dtype}": np.concatenate(parts) for dtype, parts in numbers.items()}
    np.savez_compressed(path, names=np.frombuffer(names.encode(), dtype=np.uint8), **together)


def load(path: Path) -> Figures:
    """Read what `save` wrote."""
    with np.load(path) as file:
        contents = json.loads(file["names"].tobytes())
        numbers = {key.removeprefix("of "): file[key] for key in file.files if key != "names"}
    taken = dict.fromkeys(numbers, 0) | {"U": 0}
    result: Figures = {}
    for name, dtype, shape in contents["index"]:
        size, first = int(np.prod(shape)), taken[dtype]
        source = contents["texts"] if dtype == "U" else numbers[dtype]
        piece = np.array(source[first : first + size], dtype=np.str_ if dtype == "U" else dtype)
        result[name] = piece.reshape(shape)
        taken[dtype] = first + size
    return result


def of_case(figures: Figures, case: str) -> Figures:
    """The figures of one case, by quantity."""
    start = f"{case}."
    return {name.removeprefix(start): a for name, a in figures.items() if name.startswith(start)}
