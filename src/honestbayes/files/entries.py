"""Plain data taken apart piece by piece, each checked as it is taken."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf
from sys import float_info
from typing import Any, NoReturn

import numpy as np

from honestbayes.files.errors import ModelFileError
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

Plain = tuple[dict[str, Any], dict[str, AnyArray]]
"""Content for JSON, and named arrays."""

_LONGEST_QUOTE = 60
_LARGEST = float_info.max


class Entries:
    """The content and the arrays of a container, or of a section of it.

    Every piece is taken once; `finish` refuses what nobody has taken. All errors are
    `ModelFileError` without the name of the file.
    """

    def __init__(
        self, content: Mapping[str, Any], arrays: Mapping[str, AnyArray], place: str = ""
    ) -> None:
        self._content = dict(content)
        self._arrays = dict(arrays)
        self._place = place

    def section(self, name: str) -> Entries:
        """Return the section of this name: an object of the content, and ``name.*`` arrays."""
        content = self.value(name)
        if not isinstance(content, dict):
            self.refuse(name, "is not an object")
        start = f"{name}."
        inside = [array for array in self._arrays if array.startswith(start)]
        arrays = {array.removeprefix(start): self._arrays.pop(array) for array in inside}
        return Entries(content, arrays, f"{self._place}{name}.")

    def plain(self) -> Plain:
        """Return what nobody has taken, to be taken apart elsewhere."""
        return self._content, self._arrays

    def finish(self) -> None:
        """Refuse what is left."""
        for name in [*self._content, *self._arrays]:
            self.refuse(name[:_LONGEST_QUOTE], "is unknown")

    def refuse(self, name: str, what: str) -> NoReturn:
        """Raise an error about a piece."""
        msg = f"{self._place}{name} {what}"
        raise ModelFileError(msg)

    def check(self, condition: Any, name: str, what: str) -> None:
        """Refuse a piece unless a condition holds."""
        if not condition:
            self.refuse(name, what)

    # --------------------------------------------------------------- content

    def value(self, name: str) -> Any:
        """Return a piece of the content as it is."""
        if name not in self._content:
            self.refuse(name, "is missing")
        return self._content.pop(name)

    def has(self, name: str) -> bool:
        """Whether the content holds a piece that need not be there."""
        return name in self._content

    def number(self, name: str, low: float = -inf, high: float = inf) -> float:
        """Return a finite number within bounds."""
        value = self.value(name)
        good = isinstance(value, int | float) and not isinstance(value, bool)
        # A whole number in JSON may be longer than any float.
        if not good or not low <= value <= high or not -_LARGEST <= value <= _LARGEST:
            self.refuse(name, f"is {quoted(value)}, not a number from {low:g} to {high:g}")
        return float(value)

    def optional_number(self, name: str) -> float | None:
        """Return a finite number, or None where there is none."""
        if self._content.get(name, 0) is None:
            return self._content.pop(name)  # type: ignore[no-any-return]
        return self.number(name)

    def flag(self, name: str) -> bool:
        """Return true or false."""
        value = self.value(name)
        if not isinstance(value, bool):
            self.refuse(name, "is not true or false")
        return value

    def one_of(self, name: str, choices: Iterable[str | None]) -> Any:
        """Return one of a few words, or None where that is one of them."""
        value = self.value(name)
        known = list(choices)
        if not (value is None or isinstance(value, str)) or value not in known:
            self.refuse(name, f"is {quoted(value)}, not one of {known}")
        return value

    # ---------------------------------------------------------------- arrays

    def holds(self, name: str) -> bool:
        """Whether there is an array of this name."""
        return name in self._arrays

    def floats(self, name: str, shape: tuple[int | None, ...]) -> FloatArray:
        """Return an array of floats, not all of which need be finite; None is any length."""
        array: FloatArray = self._array(name, "f", shape)
        return array

    def finite(
        self,
        name: str,
        shape: tuple[int | None, ...],
        low: float = -inf,
        high: float = inf,
    ) -> FloatArray:
        """Return an array of finite floats within bounds."""
        array = self.floats(name, shape)
        self.check(np.all(np.isfinite(array)), name, "holds a number that is not finite")
        self.check(
            np.all((array >= low) & (array <= high)), name, f"is not from {low:g} to {high:g}"
        )
        return array

    def logs(self, name: str, shape: tuple[int | None, ...]) -> FloatArray:
        """Return an array of logarithms: finite, or minus infinity for 0."""
        array = self.floats(name, shape)
        self.check(np.all(array < inf), name, "holds a number that is not a logarithm")
        return array

    def weights(self, name: str, shape: tuple[int | None]) -> FloatArray:
        """Return weights: nonnegative, with sum 1."""
        array = self.finite(name, shape, 0.0, 1.0 + 1e-9)
        self.check(abs(float(array.sum()) - 1.0) <= 1e-9, name, "does not sum to 1")
        return array

    def counts(
        self, name: str, shape: tuple[int | None, ...], high: int | IntArray = 2**53
    ) -> IntArray:
        """Return whole numbers from 0 to a bound."""
        array: IntArray = self._array(name, "i", shape)
        self.check(np.all((array >= 0) & (array <= high)), name, "holds an impossible number")
        return array

    def integers(self, name: str, shape: tuple[int | None, ...]) -> IntArray:
        """Return whole numbers of either sign."""
        array: IntArray = self._array(name, "i", shape)
        return array

    def mask(self, name: str, shape: tuple[int | None, ...]) -> BoolArray:
        """Return truth values."""
        array: BoolArray = self._array(name, "b", shape)
        return array

    def bits(self, name: str, shape: tuple[int | None, ...]) -> AnyArray:
        """Return an array of the bytes 0 and 1."""
        array: AnyArray = self._array(name, "u", shape)
        self.check(array.size == 0 or array.max() <= 1, name, "holds something else than 0 and 1")
        return array

    def packed(self, name: str, shape: tuple[int | None, ...]) -> AnyArray:
        """Return an array of bytes, each of eight truth values."""
        array: AnyArray = self._array(name, "u", shape)
        return array

    def texts(self, name: str) -> tuple[str, ...]:
        """Return the texts that `texts_as_arrays` stored."""
        data: AnyArray = self._array(f"{name}.text", "u", (None,))
        ends = self.counts(f"{name}.ends", (None,), data.size)
        good = np.all(ends[1:] >= ends[:-1]) and (ends[-1:].sum() == data.size)
        self.check(good, name, "is not cut into texts")
        whole = data.tobytes()
        stops = ends.tolist()
        try:
            return tuple(
                whole[start:stop].decode("utf-8", "surrogatepass")
                for start, stop in zip([0, *stops], stops, strict=False)
            )
        except UnicodeDecodeError:
            self.refuse(name, "is not text")

    def _array(self, name: str, kind: str, shape: tuple[int | None, ...]) -> Any:
        if name not in self._arrays:
            self.refuse(name, "is missing")
        array = self._arrays.pop(name)
        fits = len(array.shape) == len(shape) and all(
            wanted is None or wanted == found
            for wanted, found in zip(shape, array.shape, strict=True)
        )
        if array.dtype.kind != kind or not fits:
            self.refuse(name, f"is an array of {array.dtype} of shape {array.shape}")
        return array


def texts_as_arrays(name: str, texts: Iterable[str]) -> dict[str, AnyArray]:
    """Return texts as two arrays: their bytes in UTF-8, one after the other, and where each ends.

    Any text survives, also one that JSON or a line-based file would change.
    """
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    return {
        f"{name}.text": np.frombuffer(b"".join(encoded), dtype=np.uint8),
        f"{name}.ends": np.cumsum([len(part) for part in encoded], dtype=np.int64),
    }


def nested(name: str, plain: Plain) -> Plain:
    """Return plain data as the section ``name`` of something larger."""
    content, arrays = plain
    return {name: content}, {f"{name}.{array}": values for array, values in arrays.items()}


def joined(*plains: Plain, **sections: Plain) -> Plain:
    """Return several plain data as one; those given by name become its sections."""
    content: dict[str, Any] = {}
    arrays: dict[str, AnyArray] = {}
    for more_content, more_arrays in [*plains, *(nested(*item) for item in sections.items())]:
        content |= more_content
        arrays |= more_arrays
    return content, arrays


def quoted(value: Any) -> str:
    """Return a short quotation of anything, for a message."""
    text = repr(value)
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}..."
