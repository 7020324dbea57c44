"""Reliability curves, and scatter plots of two models' probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from honestbayes.metrics import (
    ReliabilityCurve,
    SmoothCalibration,
    reliability,
    smooth_calibration,
)
from honestbayes.metrics.cases import as_predictions
from honestbayes.plots.drawing import (
    GREY,
    Display,
    Look,
    look,
    named,
    plain,
    positive_proba,
    unit_square,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_RULE, _FIRST_ROW, _ROW = -0.05, -0.1, 0.08
"""Where the rows of counts stand below the diagonal's square, and how high they are."""

_LIGHT = "#d9d9d9"


class ReliabilityDisplay(Display):
    """Fraction of class 1 against the predicted probability, with binomial intervals.

    With more than two classes, how often the most probable class was right against its probability.
    A bin of fewer than three cases has no point. Lines join neighbouring points only: where a bin
    has none, there is a gap.

    Parameters
    ----------
    curves : mapping of name to ReliabilityCurve
        One or more curves, drawn over each other.
    event : str
        The predicted event, for the labels of the axes.
    smooth : mapping of name to SmoothCalibration, optional
        Smooth curves of the same predictions. They and their bands are then drawn, and bins are
        points without intervals.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`.
    figure_ : matplotlib Figure
        After `plot`.

    Examples
    --------
    >>> from honestbayes.plots import ReliabilityDisplay
    >>> y, p = [0, 0, 1, 0, 1, 1], [0.01, 0.1, 0.2, 0.8, 0.9, 0.99]
    >>> display = ReliabilityDisplay.from_predictions(y, p, n_bins=3)
    >>> display.ax_.get_xlabel()
    'predicted probability of class 1'
    """

    def __init__(
        self,
        curves: Mapping[str, ReliabilityCurve],
        *,
        event: str = "class 1",
        smooth: Mapping[str, SmoothCalibration] | None = None,
    ) -> None:
        self.curves = dict(curves)
        self.event = event
        self.smooth = dict(smooth or {})

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        p: ArrayLike | Mapping[str, ArrayLike],
        *,
        name: str | None = None,
        pos_label: Any = None,
        classes: ArrayLike | None = None,
        ax: Axes | None = None,
        smooth: bool = False,
        **options: Any,
    ) -> ReliabilityDisplay:
        """Compute and draw the curves of one or more sets of probabilities.

        Parameters
        ----------
        y_true : array-like, shape (n_cases,)
            Labels.
        p : array-like of shape (n_cases,) or (n_cases, n_classes), or a mapping of name to such
            P(class 1), or a column for each class.
        name : str, optional
            Name of a single curve.
        pos_label : label, optional
            With two classes, the label of class 1.
        classes : array-like, shape (n_classes,), optional
            The labels in the order of the columns.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        smooth : bool, default=False
            Whether smooth curves with bands are drawn, and bins as points.
        **options
            `n_bins`, `strategy`, `interval` and `level` of `honestbayes.metrics.reliability`.
        """
        several = named(p, name, "model")
        labels = {"pos_label": pos_label, "classes": classes}
        curves = {
            key: reliability(y_true, values, **labels, **options) for key, values in several.items()
        }
        smoothed = {
            key: smooth_calibration(y_true, values, level=curves[key].level, **labels)
            for key, values in several.items()
            if smooth
        }
        n_classes = np.unique(y_true).size if classes is None else np.size(classes)
        event = "class 1" if n_classes <= 2 else "the most probable class"
        return cls(curves, event=event, smooth=smoothed).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        name: str | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> ReliabilityDisplay:
        """Predict with one or more fitted estimators and draw their curves.

        Parameters
        ----------
        estimator : fitted classifier, or a mapping of name to such
            Models with ``predict_proba``, all with the same classes.
        X, y : table and labels, shape (n_cases, n_features) and (n_cases,)
            Cases that no estimator was fitted on.
        name : str, optional
            Name of a single curve; by default the estimator's class.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        **options
            `n_bins`, `strategy`, `interval` and `level` of `honestbayes.metrics.reliability`.
        """
        several = named(estimator, name, type(estimator).__name__)
        classes = next(iter(several.values())).classes_
        p = {key: fitted.predict_proba(X) for key, fitted in several.items()}
        return cls.from_predictions(y, p, classes=classes, ax=ax, **options)

    def plot(
        self, ax: Axes | None = None, *, first_look: int = 0, counts: bool = False
    ) -> ReliabilityDisplay:
        """Draw all curves and return the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        first_look : int, default=0
            Number of the first curve's colour, where several displays share a scheme.
        counts : bool, default=False
            Whether the number of cases in each bin is written below it, a row for each curve.
        """
        self._draw_on(ax, (4.8, 4.8))
        self.ax_.plot([0, 1], [0, 1], color=GREY, linewidth=1, zorder=1)
        for index, (name, curve) in enumerate(self.curves.items()):
            self._draw(name, curve, look(first_look + index))
        unit_square(self.ax_)
        if counts:
            self._write_counts(first_look)
        self.ax_.set_xlabel(f"predicted probability of {self.event}")
        levels = " and ".join(sorted({f"{100 * c.level:g}%" for c in self.curves.values()}))
        self.ax_.set_ylabel(f"fraction of cases in {self.event} ({levels} intervals)")
        self.ax_.legend(loc="upper left", frameon=False)
        return self

    def _draw(self, name: str, curve: ReliabilityCurve, style: Look) -> None:
        drawn = curve.is_drawn
        if name in self.smooth:
            smooth = self.smooth[name]
            self.ax_.fill_between(
                smooth.predicted, smooth.lower, smooth.upper, color=style.color, alpha=0.15, lw=0
            )
            self.ax_.plot(
                smooth.predicted,
                smooth.observed,
                color=style.color,
                linestyle=style.linestyle,
                linewidth=1.8,
                label=plain(name),
            )
            self.ax_.plot(
                curve.predicted[drawn],
                curve.actual[drawn],
                style.marker,
                markerfacecolor="#ffffff",
                markeredgecolor=style.color,
                markersize=5,
                zorder=3,
            )
            return
        starts, ends = curve.lower_edge[drawn], curve.upper_edge[drawn]
        gaps = np.flatnonzero(~np.isclose(starts[1:], ends[:-1])) + 1
        # A point that is no number ends one line and begins another.
        predicted, actual, lower, upper = (
            np.insert(values[drawn], gaps, np.nan)
            for values in (curve.predicted, curve.actual, curve.lower, curve.upper)
        )
        self.ax_.errorbar(
            predicted,
            actual,
            yerr=np.clip([actual - lower, upper - actual], 0, None),
            color=style.color,
            linestyle=style.linestyle,
            marker=style.marker,
            markersize=5,
            linewidth=1.4,
            elinewidth=0.9,
            capsize=2.5,
            label=plain(name),
            zorder=2,
        )

    def _write_counts(self, first_look: int) -> None:
        """Write the cases of each bin below it, in the middle of the bin."""
        rows = [_FIRST_ROW - _ROW * index for index in range(len(self.curves))]
        end = rows[-1] - _ROW / 2
        for index, (y, curve) in enumerate(zip(rows, self.curves.values(), strict=True)):
            color = look(first_look + index).color if len(rows) > 1 else None
            for low, high, n in zip(curve.lower_edge, curve.upper_edge, curve.n, strict=True):
                self.ax_.text(
                    (low + high) / 2,
                    y,
                    _count(float(n)),
                    ha="center",
                    va="center",
                    fontsize="small",
                    color=color,
                )
        edges = [edge for c in self.curves.values() for edge in (*c.lower_edge, *c.upper_edge)]
        self.ax_.vlines(np.unique(edges), end, _RULE, color=_LIGHT, linewidth=0.8, zorder=0)
        self.ax_.axhline(_RULE, color=_LIGHT, linewidth=0.8, zorder=0)
        self.ax_.set_ylim(bottom=end)
        ticks = [0, 0.2, 0.4, 0.6, 0.8, 1]
        names = [f"{tick:.1f}" for tick in ticks] + ["cases"] * len(rows)
        self.ax_.set_yticks([*ticks, *rows], names)


def _count(n: float) -> str:
    """Return a number of cases, or an average of such, so that it fits below a bin.

    >>> _count(3.0), _count(3.4), _count(29.8), _count(1234.0), _count(56789.0)
    ('3', '3.4', '30', '1,234', '57k')
    """
    if n >= 10_000:
        return f"{n / 1000:.0f}k"
    return f"{n:,.0f}" if n >= 10 or n == round(n) else f"{n:.1f}"


# --------------------------------------------------------------------------------------------------
# Probabilities of two models, case by case
# --------------------------------------------------------------------------------------------------


class ProbabilityScatterDisplay(Display):
    """Corrected against uncorrected probabilities, as in Figure 7 of Li, Zhang and Neal (2008).

    Filled circles are cases of class 1, hollow ones of class 0.

    Parameters
    ----------
    y : array-like of 0 and 1, shape (n_cases,)
        Actual classes.
    uncorrected, corrected : array-like, shape (n_cases,)
        P(class 1) by either model.
    classes : (label, label)
        Labels of class 0 and class 1, for the legend.
    names : (str, str)
        What the two models are called.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`.
    figure_ : matplotlib Figure
        After `plot`.

    Examples
    --------
    >>> from honestbayes.plots import ProbabilityScatterDisplay
    >>> y, uncorrected, corrected = [0, 1, 1], [0.01, 0.2, 0.99], [0.1, 0.4, 0.9]
    >>> display = ProbabilityScatterDisplay.from_predictions(y, uncorrected, corrected)
    >>> display.ax_.get_xlabel()
    'probability of class 1, uncorrected'
    """

    def __init__(
        self,
        y: ArrayLike,
        uncorrected: ArrayLike,
        corrected: ArrayLike,
        *,
        classes: tuple[Any, Any] = (0, 1),
        names: tuple[str, str] = ("uncorrected", "corrected"),
    ) -> None:
        self.y = np.asarray(y)
        self.uncorrected = np.asarray(uncorrected, dtype=np.float64)
        self.corrected = np.asarray(corrected, dtype=np.float64)
        self.classes = classes
        self.names = names

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        uncorrected: ArrayLike,
        corrected: ArrayLike,
        *,
        names: tuple[str, str] = ("uncorrected", "corrected"),
        pos_label: Any = None,
        ax: Axes | None = None,
    ) -> ProbabilityScatterDisplay:
        """Draw two sets of probabilities of the same cases.

        Parameters
        ----------
        y_true : array-like, shape (n_cases,)
            Two labels.
        uncorrected, corrected : array-like, shape (n_cases,) or (n_cases, 2)
            P(class 1) by either model.
        names : (str, str)
            What the two models are called.
        pos_label : label, optional
            The label of class 1.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        """
        labels = np.asarray(y_true)
        given = [as_predictions(labels, p, pos_label=pos_label) for p in (uncorrected, corrected)]
        if given[0].n_classes > 2:
            raise ValueError("p has more than two columns, but the scatter plot needs two classes.")
        y, probabilities = given[0].y, [predictions.proba[0, :, 1] for predictions in given]
        classes = tuple(labels[y == c].tolist()[0] if np.any(y == c) else c for c in (0, 1))
        display = cls(y, *probabilities, classes=(classes[0], classes[1]), names=names)
        return display.plot(ax)

    @classmethod
    def from_estimator(
        cls,
        uncorrected: Any,
        corrected: Any,
        X: Any,
        y: ArrayLike,
        *,
        names: tuple[str, str] = ("uncorrected", "corrected"),
        ax: Axes | None = None,
    ) -> ProbabilityScatterDisplay:
        """Predict with two fitted estimators and draw their probabilities.

        Parameters
        ----------
        uncorrected, corrected : fitted two-class classifiers
            Models with ``predict_proba``.
        X, y : table and labels, shape (n_cases, n_features) and (n_cases,)
            Cases that neither was fitted on.
        names : (str, str)
            What the two models are called.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        """
        return cls.from_predictions(
            y,
            positive_proba(uncorrected, X),
            positive_proba(corrected, X),
            names=names,
            pos_label=corrected.classes_[1],
            ax=ax,
        )

    def plot(self, ax: Axes | None = None) -> ProbabilityScatterDisplay:
        """Draw the cases and return the display."""
        self._draw_on(ax, (4.8, 4.8))
        self.ax_.plot([0, 1], [0, 1], color=GREY, linewidth=1, zorder=1)
        self.ax_.axhline(0.5, color="0.85", linewidth=0.8, zorder=0)
        self.ax_.axvline(0.5, color="0.85", linewidth=0.8, zorder=0)
        # Smaller circles where there are many, so that they do not hide each other.
        area = float(np.clip(4000 / max(self.y.size, 1), 8, 30))
        for c in (0, 1):
            chosen, color = self.y == c, look(c).color
            self.ax_.scatter(
                self.uncorrected[chosen],
                self.corrected[chosen],
                s=area,
                facecolors=color if c == 1 else "none",
                edgecolors=color,
                linewidths=0.9,
                alpha=0.75,
                label=plain(f"class {self.classes[c]}"),
                zorder=2 + c,
            )
        unit_square(self.ax_)
        target = f"probability of class {plain(self.classes[1])}"
        self.ax_.set_xlabel(f"{target}, {plain(self.names[0])}")
        self.ax_.set_ylabel(f"{target}, {plain(self.names[1])}")
        self.ax_.legend(loc="upper left", frameon=False, handletextpad=0.3)
        return self
