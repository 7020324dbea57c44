"""Grids of settings, of which the ordinary run takes some cells and the slow run the others."""

import itertools
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import pytest


def few(name: str, values: Iterable[Any], chosen: Collection[Any]) -> pytest.MarkDecorator:
    """Parametrise by values, of which those that are not chosen are for the slow run."""
    values = list(values)
    assert set(chosen) <= set(values)
    marked = [value if value in chosen else slow(value) for value in values]
    return pytest.mark.parametrize(name, marked)


def slow(*values: Any, **words: Any) -> Any:
    """A cell of a grid that the ordinary run leaves out."""
    return pytest.param(*values, marks=pytest.mark.slow, **words)


def each_once(names: str, *axes: Iterable[Any] | Mapping[str, Any]) -> pytest.MarkDecorator:
    """Parametrise by all combinations; the ordinary run takes a diagonal of them.

    On it each value of each axis occurs, and short axes go in different steps, so that their
    values meet. Values of a mapping go by their names.
    """
    pairs = [_named(axis) for axis in axes]
    diagonal = _diagonal([len(axis) for axis in pairs])
    cells = []
    for places in itertools.product(*(range(len(axis)) for axis in pairs)):
        found = [axis[place] for axis, place in zip(pairs, places, strict=True)]
        values, name = [value for _, value in found], "-".join(name for name, _ in found)
        cell = pytest.param if places in diagonal else slow
        cells.append(cell(*values, id=name))
    return pytest.mark.parametrize(names, cells)


def _diagonal(lengths: list[int]) -> set[tuple[int, ...]]:
    longest, step, steps = max(lengths), 1, []
    for length in lengths:
        turns = length < longest and step * length <= longest
        steps.append(step if turns else 1)
        step *= length if turns else 1
    return {
        tuple(place // step % length for step, length in zip(steps, lengths, strict=True))
        for place in range(longest)
    }


def _named(axis: Iterable[Any] | Mapping[str, Any]) -> list[tuple[str, Any]]:
    if isinstance(axis, Mapping):
        return list(axis.items())
    # Other things may not have the same name in every process.
    plain = (str, int, float, dict, list, type(None))
    return [
        (str(value) if isinstance(value, plain) else f"case {place}", value)
        for place, value in enumerate(axis)
    ]
