"""Claimed probabilities against what happened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from honestbayes.metrics import ReliabilityCurve, reliability
from honestbayes.plots.drawing import (
    GREY,
    Look,
    look,
    named,
    new_axes,
    plain,
    unit_square,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class ReliabilityDisplay:
    """Fraction of class 1 against the claimed probability, with binomial intervals.

    With more than two classes, how often the most probable class was right against its probability.

    Parameters
    ----------
    curves : mapping of name to ReliabilityCurve
        One or more curves, drawn over each other.
    event : str
        What the probabilities claim, for the labels of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`.
    figure_ : matplotlib Figure
        After `plot`.
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, curves: Mapping[str, ReliabilityCurve], *, event: str = "class 1") -> None:
        self.curves = dict(curves)
        self.event = event

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
        **options
            `n_bins`, `strategy`, `interval` and `level` of `honestbayes.metrics.reliability`.
        """
        several = named(p, name, "model")
        curves = {
            key: reliability(y_true, values, pos_label=pos_label, classes=classes, **options)
            for key, values in several.items()
        }
        n_classes = np.unique(y_true).size if classes is None else np.size(classes)
        event = "class 1" if n_classes <= 2 else "the most probable class"
        return cls(curves, event=event).plot(ax)

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

    def plot(self, ax: Axes | None = None, *, first_look: int = 0) -> ReliabilityDisplay:
        """Draw all curves and return the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        first_look : int, default=0
            Number of the first curve's colour, where several displays share a scheme.
        """
        self.ax_ = new_axes(ax, (4.8, 4.8))
        self.figure_ = self.ax_.figure  # type: ignore[assignment]  # a SubFigure is as good
        self.ax_.plot([0, 1], [0, 1], color=GREY, linewidth=1, zorder=1)
        for index, (name, curve) in enumerate(self.curves.items()):
            self._draw(name, curve, look(first_look + index))
        unit_square(self.ax_)
        self.ax_.set_xlabel(f"claimed probability of {self.event}")
        levels = " and ".join(sorted({f"{100 * c.level:g}%" for c in self.curves.values()}))
        self.ax_.set_ylabel(f"fraction of cases in {self.event} ({levels} intervals)")
        self.ax_.legend(loc="upper left", frameon=False)
        return self

    def _draw(self, name: str, curve: ReliabilityCurve, style: Look) -> None:
        bars = np.clip([curve.actual - curve.lower, curve.upper - curve.actual], 0, None)
        self.ax_.errorbar(
            curve.predicted,
            curve.actual,
            yerr=bars,
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
