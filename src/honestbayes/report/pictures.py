"""The pictures of the page: drawn once, in a light and a dark version, each with a text instead."""

from __future__ import annotations

import base64
import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

from honestbayes.report.drawings import drawings
from honestbayes.report.record import Report

_INK = "#1d2127"
_DARK = {
    _INK: "#e8eaed",
    "#737373": "#a3abb5",  # GREY
    "#d9d9d9": "#454c55",
    "#ffffff": "#15181c",
    "#0072b2": "#63b7f2",
    "#d55e00": "#ff9a5c",
    "#009e73": "#3fd3a4",
    "#cc79a7": "#ec9fc6",
    "#000000": "#ffffff",
    "#e69f00": "#ffc454",
}
"""Colours of the light pictures, and what they become on a dark page."""

_STYLE: Any = {
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "font.size": 9.5,
    "legend.fontsize": 9,
    "legend.labelcolor": _INK,
    "svg.fonttype": "path",  # letters become shapes: no text from data stays text
    "svg.hashsalt": "honestbayes",
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A picture for the page.

    Attributes
    ----------
    name : str
        Identifies it on the page.
    alt : str
        What it shows, for those who cannot see it.
    light, dark : str
        Both versions, as data addresses.
    width, height : float
        In CSS pixels.
    """

    name: str
    alt: str
    light: str
    dark: str
    width: float
    height: float


def pictures(report: Report) -> dict[str, Picture]:
    """Draw all pictures of a report."""
    result = {}
    with _style():
        for name, draw in drawings(report).items():
            figure, alt = draw(report)
            result[name] = _picture(name, figure, alt)
    return result


@contextmanager
def _style() -> Iterator[None]:
    with warnings.catch_warnings(), rc_context(_STYLE):
        # A letter that the font lacks is drawn as a box; the name stands in the page as well.
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)
        yield


def _picture(name: str, figure: Figure, alt: str) -> Picture:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    width, height = figure.get_size_inches() * 96
    return Picture(
        name=name,
        alt=alt,
        light=_address(svg),
        dark=_address(darkened(svg)),
        width=float(width),
        height=float(height),
    )


def darkened(svg: str) -> str:
    """Replace the colours of a light picture by those of a dark one."""
    return re.sub(r"#[0-9a-fA-F]{6}\b", lambda m: _DARK.get(m[0].lower(), m[0]), svg)


def _address(svg: str) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
