"""Shared by the displays: matplotlib, safe text, and styles that work in greyscale."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from honestbayes.text import sanitize_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GREY = "0.45"


class Look(NamedTuple):
    """Colour, line style and marker of one curve: each of them identifies the curve."""

    color: str
    linestyle: Any
    marker: str


# Okabe and Ito's colours, which colour-blind readers can tell apart, from dark to light in grey.
_LOOKS = (
    Look("#0072B2", "-", "o"),
    Look("#D55E00", (0, (5, 2)), "s"),
    Look("#009E73", (0, (1, 1.5)), "^"),
    Look("#CC79A7", (0, (6, 2, 1, 2)), "D"),
    Look("#000000", (0, (3, 1, 1, 1, 1, 1)), "v"),
    Look("#E69F00", (0, (8, 3)), "P"),
)


def look(index: int) -> Look:
    """Return the look of the curve with this number."""
    return _LOOKS[index % len(_LOOKS)]


class Display:
    """Base of the displays; `plot` sets `ax_` and `figure_`."""

    ax_: Axes
    figure_: Figure

    def _draw_on(self, ax: Axes | None, figsize: tuple[float, float]) -> None:
        """Set the axes, by default those of a new figure."""
        pyplot = import_pyplot()
        self.ax_ = pyplot.subplots(figsize=figsize, layout="constrained")[1] if ax is None else ax
        self.figure_ = self.ax_.figure  # type: ignore[assignment]  # a SubFigure is as good


def subplots(*sizes: int, **options: Any) -> tuple[Figure, Any]:
    """Return a new figure without overlaps, and its axes; options are those of pyplot."""
    figure: Figure
    figure, axes = import_pyplot().subplots(*sizes, layout="constrained", **options)
    return figure, axes


def import_pyplot() -> Any:
    """Return matplotlib.pyplot, or explain how to install it."""
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ImportError('Plots need matplotlib: pip install "honestbayes[plots]".') from error
    return plt


def plain(text: object) -> str:
    """Return text from data so that matplotlib prints it as it is.

    A dollar sign would start a formula, a leading underscore hides a legend entry, and a line
    break would move the label. Control characters have no glyph.
    """
    line = " ".join(sanitize_text(str(text)).split())
    return (" " + line if line.startswith("_") else line).replace("$", r"\$")


def named(things: Any, name: str | None, default: str) -> dict[str, Any]:
    """Return a dictionary of things by name, from one thing or from a mapping of several."""
    if isinstance(things, Mapping):
        if not things:
            raise ValueError("the mapping is empty; give at least one entry.")
        if name is not None:
            raise ValueError("name is for a single curve; the keys of the mapping are the names.")
        return {str(key): thing for key, thing in things.items()}
    return {default if name is None else name: things}


def positive_proba(estimator: Any, X: Any) -> Any:
    """Return P(class 1) of a fitted two-class estimator."""
    proba = estimator.predict_proba(X)
    if proba.shape[1] != 2:
        raise ValueError(f"estimator has {proba.shape[1]} classes; give one with two.")
    return proba[:, 1]


def tidy(ax: Axes) -> None:
    """Remove the frame where no scale stands."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(direction="out", length=3)


def unit_square(ax: Axes) -> None:
    """Make both axes run from 0 to 1, at equal scale, with a little room for markers."""
    ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal")
    ticks = [0, 0.2, 0.4, 0.6, 0.8, 1]
    ax.set_xticks(ticks)
    ax.set_yticks(ticks)
    tidy(ax)


LONGEST_NAME = 24


def short(name: str) -> str:
    """Return a shortened name."""
    line = " ".join(name.split())
    return plain(line if len(line) <= LONGEST_NAME else line[: LONGEST_NAME - 1] + "…")
