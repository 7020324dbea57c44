"""Probabilities of two models against each other, case by case."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from honestbayes.metrics.cases import as_predictions
from honestbayes.plots.drawing import GREY, look, new_axes, plain, positive_proba, unit_square

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class ProbabilityScatterDisplay:
    """Corrected against uncorrected probabilities, as Figure 7 of Li, Zhang and Neal (2008).

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

    ax_: Axes
    figure_: Figure

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
            raise ValueError("p has more than two columns; the scatter is of two classes.")
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
        self.ax_ = new_axes(ax, (4.8, 4.8))
        self.figure_ = self.ax_.figure  # type: ignore[assignment]  # a SubFigure is as good
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
