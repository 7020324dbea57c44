"""What the pictures of the page show, each with words for those who cannot see it.

They are as wide as a telephone (about 400 CSS pixels), so that letters stay legible there.
"""

from __future__ import annotations

import base64
import io
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from honestbayes.base.explanation import Graph, ImportanceChart
from honestbayes.evaluation.baselines import FREQUENCIES
from honestbayes.metrics.cases import top_class
from honestbayes.plots import (
    AlphaPosteriorDisplay,
    FeaturePathDisplay,
    ImportanceDisplay,
    NetworkDisplay,
    ProbabilityScatterDisplay,
    ReliabilityDisplay,
)
from honestbayes.plots.drawing import GREY, look, plain, tidy
from honestbayes.report.record import Method, Report
from honestbayes.report.wording import count, number, percent, percent_with_interval
from honestbayes.types import FloatArray, IntArray

MOST_DOTS = 2000
"""Cases that a picture shows; more would only hide each other."""

MOST_TICKS = 9
"""Numbers of features that stand below the path."""

MOST_BARS = 12
"""Columns, or groups of columns that repeat each other, whose importance is drawn."""

SHORT_LEGEND = 40
"""Letters of a legend that fit on one line."""

Drawing = Callable[[Report], tuple[Figure, str]]
"""Draws a report's picture, and says in words what it shows."""


def drawings(report: Report) -> dict[str, Drawing]:
    """Return what draws each picture of a report, by the picture's name."""
    result: dict[str, Drawing] = {}
    if report.cases.held_out_uncorrected is not None:
        result |= {"reliability-uncorrected": _reliability_uncorrected, "scatter": _scatter}
    result |= {
        "reliability-in-use": _reliability_in_use,
        "errors": _errors,
        "histogram": _histogram,
    }
    if report.thresholds is not None:
        result["benefit"] = _benefit
    if report.posterior is not None:
        result["posterior"] = _posterior
    if report.paths:
        result |= {"path": _path_of_errors, "path-scores": _path_of_scores}
    result |= {
        section.name: partial(_draw_section, section.picture)
        for section in report.sections
        if section.picture is not None
    }
    return result


def _axes(width: float, height: float) -> tuple[Figure, Any]:
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def _reliability(report: Report, name: str, proba: FloatArray, position: int) -> tuple[Figure, str]:
    """Draw a calibration curve with its band, the bins as points, and a mark for each case.

    ``proba`` are the probabilities of the cases, averages over repeats: of the positive class of
    two, or of each class.
    """
    figure, ax = _axes(3.9, 4.1)
    curve, label = report.reliability[name], report.data.positive
    ReliabilityDisplay({name: curve}, smooth={name: report.smooth[name]}).plot(
        ax, first_look=position
    )
    ax.get_legend().remove()
    ax.set_title(name, fontsize=10.5)
    what = "the most probable class" if label is None else _short(label)
    ax.set_xlabel(f"predicted probability of {what}")
    ax.set_ylabel("observed share that was right" if label is None else f"observed share of {what}")
    event, p = report.cases.actual == 1, proba
    if label is None:
        event, p = top_class(proba) == report.cases.actual, proba.max(axis=1)
    chosen = _some(p.size)
    for outcome, height in ((True, 1.05), (False, -0.05)):
        of_class = p[chosen][event[chosen] == outcome]
        strength = min(0.6, max(0.08, 60 / p.size))  # many marks cover each other
        ax.plot(
            of_class, np.full(of_class.size, height), "|", c=_INK, ms=7, mew=0.7, alpha=strength
        )
    ax.set_ylim(-0.08, 1.08)
    bins = zip(curve.predicted, curve.actual, curve.n.tolist(), curve.is_drawn, strict=True)
    points = ", ".join(
        f"{percent(p)} predicted and {percent(a)} observed in {_cases(n)}"
        for p, a, n, drawn in bins
        if drawn
    )
    left = float(curve.n[~curve.is_drawn].sum())
    if left:
        points += f"{'; ' if points else ''}{_cases(left)} in bins of fewer than three, not drawn"
    alt = (
        f"Calibration, {name}: fraction of cases in "
        f"{'the most probable' if label is None else 'the positive'} class against the predicted "
        f"probability, a smooth curve with a 95% band; calibrated probabilities lie on the "
        f"diagonal. {points}."
    )
    return figure, alt


def _some(n: int) -> IntArray:
    """Return the cases that a picture shows, a random sample of many."""
    if n <= MOST_DOTS:
        return np.arange(n)
    return np.random.default_rng(0).choice(n, MOST_DOTS, replace=False)


def _cases(n: float) -> str:
    return "1 case" if n == 1 else f"{count(round(n, 1))} cases"


def _reliability_uncorrected(report: Report) -> tuple[Figure, str]:
    name, proba = report.uncorrected, report.cases.held_out_uncorrected
    assert name is not None and proba is not None  # noqa: PT018  # else it is not drawn
    return _reliability(report, name, proba, 0)


def _reliability_in_use(report: Report) -> tuple[Figure, str]:
    return _reliability(report, report.in_use, report.cases.held_out, 1)


def _short(text: str, limit: int = 24) -> str:
    """Return text from data as a label: without characters that act, and not too long."""
    return plain(text if len(text) <= limit else text[: limit - 1] + "…")


def _errors(report: Report) -> tuple[Figure, str]:
    methods = [method for method in report.methods if method.name != FREQUENCIES]
    figure, ax = _axes(4.2, 0.44 * len(methods) + 1.2)
    for row, method in enumerate(reversed(methods)):
        _error_of(ax, row, method)
    ax.set_yticks([])
    ax.set_ylim(-0.6, len(methods) - 0.2)
    ax.set_xlim(left=0)
    ax.margins(x=0.05)
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    ax.set_xlabel("error rate on held-out cases")
    ax.grid(axis="x", color="#d9d9d9", linewidth=0.6, zorder=0)
    figure.legend(loc="outside upper left", ncols=2, frameon=False, handletextpad=0.3)
    tidy(ax)
    ax.spines["left"].set_visible(False)
    texts = [
        f"{method.name}: expected {percent(method.summary.expected_error)}, observed "
        f"{percent_with_interval(method.summary.actual_error)}"
        for method in methods
    ]
    return figure, f"Expected against observed error rate. {'; '.join(texts)}."


def _error_of(ax: Any, row: int, method: Method) -> None:
    """Draw the error rates of one method below its name."""
    summary, first = method.summary, row == 0
    low, high = summary.actual_error.interval
    ax.plot([low, high], [row, row], color=look(0).color, linewidth=1.6, zorder=2)
    ax.plot(
        summary.actual_error.value,
        row,
        "o",
        color=look(0).color,
        markersize=6,
        label="observed, 95% interval" if first else None,
        zorder=3,
    )
    ax.plot(
        summary.expected_error,
        row,
        "D",
        markerfacecolor="#ffffff",
        markeredgecolor=look(1).color,
        markeredgewidth=1.6,
        markersize=6,
        label="expected" if first else None,
        zorder=4,
    )
    ax.text(0.005, row + 0.22, plain(method.name), transform=ax.get_yaxis_transform(), va="bottom")


def _scatter(report: Report) -> tuple[Figure, str]:
    """Draw the probabilities of each case with and without the correction.

    Those of the positive class; with more than two classes, of the class that the case is of.
    """
    figure, ax = _axes(4.3, 4.5)
    cases, labels = report.cases, report.data.labels
    uncorrected, in_use = cases.held_out_uncorrected, cases.held_out
    name = report.uncorrected
    assert uncorrected is not None  # else it is not drawn
    assert name is not None
    if len(labels) > 2:
        right = top_class(in_use) == cases.actual
        rows = np.arange(cases.row.size)
        uncorrected, in_use = uncorrected[rows, cases.actual], in_use[rows, cases.actual]
    chosen = _some(cases.row.size)
    ProbabilityScatterDisplay(
        (cases.actual if len(labels) == 2 else right)[chosen].astype(int),
        uncorrected[chosen],
        in_use[chosen],
        classes=(_plain_label(labels[0]), _plain_label(labels[1])),
        names=(name, report.in_use),
    ).plot(ax)
    texts = None
    if len(labels) > 2:
        ax.set_xlabel(f"probability of the observed class, {plain(name)}")
        ax.set_ylabel(f"probability of the observed class, {plain(report.in_use)}")
        texts = ["another class was more probable", "most probable in use"]
    handles, names = ax.get_legend_handles_labels()
    # Above the square: inside it the legend would hide cases in the corner.
    ax.legend(
        handles,
        texts or names,
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=2 if len("".join(texts or names)) <= SHORT_LEGEND else 1,
        frameon=False,
        handletextpad=0.3,
    )
    if len(labels) > 2:
        lower = percent(float((in_use < uncorrected).mean()))
        return figure, (
            f"Probability of the observed class of {cases.row.size:,} held-out cases, {name} "
            f"across and {report.in_use} upwards. The second is lower for {lower} of the cases."
        )
    distance = np.abs(in_use - 0.5) < np.abs(uncorrected - 0.5)
    alt = (
        f"Probabilities of {cases.row.size:,} held-out cases, {name} across and "
        f"{report.in_use} upwards. The second is closer to one half for "
        f"{percent(float(distance.mean()))} of the cases."
    )
    return figure, alt


def _histogram(report: Report) -> tuple[Figure, str]:
    """Draw how many held-out cases of each class have which probability.

    That of the positive class; with more than two classes, that of the class of the case.
    """
    figure, ax = _axes(4.2, 3.0)
    cases, labels = report.cases, report.data.labels
    bounds = np.linspace(0, 1, 21)
    if len(labels) == 2:
        bottom, texts = np.zeros(20), []
        for label in range(2):
            own = cases.held_out[cases.actual == label]
            n = np.histogram(own, bounds)[0]
            name = f"{_plain_label(plain(labels[label]))} ({own.size:,})"
            # Stacked: no bar can hide another.
            ax.bar(bounds[:-1], n, 0.046, bottom, align="edge", color=look(label).color, label=name)
            bottom += n
            texts.append(f"{labels[label]}: median {number(float(np.median(own)))}")
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False)
        ax.set_xlabel(f"predicted probability of {_short(labels[1])}")
        alt = f"Held-out cases by predicted probability of {labels[1]}. {'; '.join(texts)}."
    else:
        own = cases.held_out[np.arange(cases.actual.size), cases.actual]
        n = np.histogram(own, bounds)[0]
        ax.bar(bounds[:-1], n, 0.046, align="edge", color=look(0).color)
        ax.set_xlabel("predicted probability of the observed class")
        median = number(float(np.median(own)))
        alt = f"Held-out cases by predicted probability of the observed class: median {median}."
    ax.set_xlim(0, 1)
    ax.yaxis.get_major_locator().set_params(integer=True)
    ax.set_ylabel("cases")
    tidy(ax)
    return figure, alt


def _plain_label(text: str) -> str:
    return text if len(text) <= 24 else text[:23] + "…"


def _posterior(report: Report) -> tuple[Figure, str]:
    figure, ax = _axes(4.4, 3.4)
    posterior = report.posterior
    assert posterior is not None  # else it is not drawn
    AlphaPosteriorDisplay(posterior.log_alpha, posterior.by_method).plot(ax)
    peaks = {
        name: float(posterior.log_alpha[np.argmax(density)])
        for name, density in posterior.by_method.items()
    }
    where = "; ".join(f"{name} highest at {number(peak, 1)}" for name, peak in peaks.items())
    return figure, f"Posterior density of log(alpha): {where}."


def _benefit(report: Report) -> tuple[Figure, str]:
    figure, ax = _axes(4.4, 3.4)
    table = report.thresholds
    assert table is not None  # else it is not drawn
    first, second = look(0), look(1)
    ax.plot(
        table.threshold,
        table.net_benefit,
        color=first.color,
        marker=first.marker,
        markersize=4.5,
        label=plain(report.in_use),
    )
    ax.plot(
        table.threshold,
        table.net_benefit_all,
        color=second.color,
        linestyle=second.linestyle,
        label="act on every case",
    )
    ax.axhline(0, color=GREY, linewidth=1, label="act on none")
    top = max(float(table.net_benefit.max()), float(table.net_benefit_all.max()), 0.01)
    ax.set_ylim(-0.25 * top, 1.15 * top)
    ax.set_xlim(0, 1)
    ax.set_xlabel("threshold: act where the probability is at least this")
    ax.set_ylabel("net benefit per case")
    ax.legend(frameon=False)
    tidy(ax)
    best = int(np.sum(table.net_benefit > np.maximum(table.net_benefit_all, 0)))
    alt = (
        f"Net benefit by decision threshold. The model is better than acting on every case and "
        f"than acting on none at {best} of {table.threshold.size} thresholds."
    )
    return figure, alt


def _draw_section(what: Graph | ImportanceChart, report: Report) -> tuple[Figure, str]:
    """Draw the picture of a section that the model provides."""
    del report
    if isinstance(what, Graph):
        figure, ax = _axes(5.6, 5.2)
        NetworkDisplay(what.names, what.probability).plot(ax)
    else:
        figures = (what.importance, what.lower, what.upper, what.group)
        display = ImportanceDisplay(what.names, *figures, most=MOST_BARS)
        figure, ax = _axes(5.2, 0.9 + 0.28 * len(display.rows()))
        display.plot(ax)
    return figure, what.text


def _path_of_errors(report: Report) -> tuple[Figure, str]:
    return _path(report, 0), f"Error rates by number of features{_describe_path(report)}"


def _path_of_scores(report: Report) -> tuple[Figure, str]:
    return _path(report, 1), f"Log scores by number of features{_describe_path(report)}"


def _path(report: Report, panel: int) -> Figure:
    """Draw both panels, each on a figure of its own, and return one of them."""
    panels = [_axes(4.2, 3.7) for _ in range(2)]
    FeaturePathDisplay(report.paths).plot([ax for _, ax in panels])
    figure, ax = panels[panel]
    numbers = np.unique(np.concatenate([path.n_features for path in report.paths.values()]))
    if numbers.size <= MOST_TICKS:  # between few numbers there are no others to name
        ax.set_xticks(numbers)
    ax.minorticks_off()
    panels[0][1].get_legend().remove()
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", frameon=False)
    return figure


def _describe_path(report: Report) -> str:
    texts = []
    for name, path in report.paths.items():
        best = int(np.argmin(path.log_score))
        texts.append(
            f"{name} is best by log score with {path.n_features[best]:,} features "
            f"({number(float(path.log_score[best]), 3)})"
        )
    of_each = " of each kind" if len(report.rankings) > 1 else ""
    return f"{of_each}: {'; '.join(texts)}."


# --------------------------------------------------------------------------------------------------
# The pictures of the page: drawn once, in a light and a dark version, each with a text instead
# --------------------------------------------------------------------------------------------------


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
