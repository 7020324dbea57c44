"""Profit by the number of cases acted on, expected and actual."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from honestbayes.decisions import ProfitCurve, profit_curve
from honestbayes.plots.drawing import GREY, Display, look, named, plain, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DASHED = (0, (4, 2))

_ROOM = 2.0
"""How far expected profits are drawn beyond the actual ones, in spans of the latter."""


class ProfitDisplay(Display):
    """Profit by the number of cases acted on, the most promising first.

    Solid lines are actual profits, dashed ones those expected from the probabilities. A mark stands
    where one more case has an expected loss, which is where `honestbayes.decisions.decide` stops:
    the legend gives the profit there. A grey line is the profit of acting on all.

    Parameters
    ----------
    curves : ProfitCurve, or a mapping of name to ProfitCurve
        One or more curves, drawn over each other.
    name : str, optional
        Name of a single curve.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`.
    figure_ : matplotlib Figure
        After `plot`.

    Examples
    --------
    >>> from honestbayes.decisions import mailing_benefits
    >>> from honestbayes.plots import ProfitDisplay
    >>> proba = [[0.9, 0.1], [0.99, 0.01], [0.7, 0.3]]
    >>> benefits = mailing_benefits([20.0, 20.0, 20.0], cost=1.0)
    >>> display = ProfitDisplay.from_predictions([0, 0, 1], proba, benefits)
    >>> display.ax_.get_xlabel()
    'cases acted on, the most promising first'
    """

    def __init__(
        self, curves: ProfitCurve | Mapping[str, ProfitCurve], *, name: str | None = None
    ) -> None:
        self.curves: dict[str, ProfitCurve] = named(curves, name, "model")

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        proba: ArrayLike | Mapping[str, ArrayLike],
        expected_benefits: ArrayLike,
        actual_benefits: ArrayLike | None = None,
        *,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        show_expected: bool = True,
        ax: Axes | None = None,
    ) -> ProfitDisplay:
        """Compute and draw the curves of one or more sets of probabilities.

        Parameters
        ----------
        y : array-like of shape (n,)
            Actual classes.
        proba : array-like of shape (n, n_classes), or a mapping of name to such
            P(class | x).
        expected_benefits : array-like of shape (2, n_classes) or (n, 2, n_classes)
            Benefits as they are known beforehand, of leaving a case alone and of acting on it.
        actual_benefits : array-like of the same kind, optional
            Benefits as they turned out; by default the expected ones.
        classes, sample_weight : array-like, optional
            As in `honestbayes.decisions.profit_curve`.
        name : str, optional
            Name of a single curve.
        show_expected : bool, default=True
            Whether to draw expected profits.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        """
        curves = {
            key: profit_curve(
                y,
                values,
                expected_benefits,
                actual_benefits,
                classes=classes,
                sample_weight=sample_weight,
            )
            for key, values in named(proba, name, "model").items()
        }
        return cls(curves).plot(ax, show_expected=show_expected)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        expected_benefits: ArrayLike,
        actual_benefits: ArrayLike | None = None,
        *,
        name: str | None = None,
        **options: Any,
    ) -> ProfitDisplay:
        """Predict with one or more fitted estimators and draw their curves.

        Parameters
        ----------
        estimator : fitted classifier, or a mapping of name to such
            Models with ``predict_proba``, all with the same classes.
        X, y : table and labels, shape (n, n_features) and (n,)
            Cases that no estimator was fitted on.
        expected_benefits, actual_benefits : array-like
            As in `from_predictions`.
        name : str, optional
            Name of a single curve; by default the estimator's class.
        **options
            ``sample_weight``, ``show_expected`` and ``ax`` of `from_predictions`.
        """
        several = named(estimator, name, type(estimator).__name__)
        classes = next(iter(several.values())).classes_
        for key, fitted in several.items():
            if not np.array_equal(fitted.classes_, classes):
                msg = f"{key!r} has the classes {fitted.classes_.tolist()}, not {classes.tolist()}."
                raise ValueError(msg)
        proba = {key: fitted.predict_proba(X) for key, fitted in several.items()}
        return cls.from_predictions(
            y, proba, expected_benefits, actual_benefits, classes=classes, **options
        )

    def plot(self, ax: Axes | None = None, *, show_expected: bool = True) -> ProfitDisplay:
        """Draw all curves and return the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        show_expected : bool, default=True
            Whether to draw expected profits; where these are far too large, actual ones are easier
            to see without them.
        """
        self._draw_on(ax, (6.4, 4.4))
        # Sums in another order differ in their last digits.
        for level in {float(f"{curve.profit[-1]:.9g}") for curve in self.curves.values()}:
            self.ax_.axhline(level, color=GREY, linewidth=1, zorder=1)
        for index, (name, curve) in enumerate(self.curves.items()):
            style = look(index)
            if show_expected:
                self.ax_.plot(
                    curve.acted_on,
                    curve.expected,
                    color=style.color,
                    linestyle=_DASHED,
                    linewidth=1.2,
                    zorder=2,
                )
            self.ax_.plot(
                curve.acted_on,
                curve.profit,
                color=style.color,
                linewidth=1.6,
                marker=style.marker,
                markevery=[curve.chosen],
                markersize=8,
                markeredgecolor="white",
                label=_label(name, curve, show_expected=show_expected),
                zorder=3,
            )
        self.ax_.set_ylim(*self._limits(show_expected=show_expected))
        self.ax_.set_xlabel("cases acted on, the most promising first")
        self.ax_.set_ylabel("profit")
        for axis in (self.ax_.xaxis, self.ax_.yaxis):
            axis.set_major_formatter("{x:,.10g}")
        tidy(self.ax_)
        self._explain(show_expected=show_expected)
        return self

    def _limits(self, *, show_expected: bool) -> tuple[float, float]:
        """Return limits by the actual profits: expected ones may run out of the picture."""
        actual = np.concatenate([curve.profit for curve in self.curves.values()])
        low, high = float(actual.min()), float(actual.max())
        span = high - low or 1.0
        if show_expected:
            every = np.concatenate([curve.expected for curve in self.curves.values()])
            low = min(low, max(float(every.min()), low - _ROOM * span))
            high = max(high, min(float(every.max()), high + _ROOM * span))
        margin = 0.05 * (high - low or 1.0)
        return low - margin, high + margin

    def _explain(self, *, show_expected: bool) -> None:
        """Add a legend of curves, marks and lines."""
        from matplotlib.lines import Line2D

        handles: list[Any] = self.ax_.get_legend_handles_labels()[0]
        mark = Line2D([], [], color="black", linestyle="none", marker="o")
        mark.set_label("one more: expected loss")
        every = Line2D([], [], color=GREY, linewidth=1, label="acting on all")
        handles += [mark, every]
        if show_expected:
            dashed = Line2D([], [], color="black", linestyle=_DASHED, linewidth=1.2)
            dashed.set_label("expected")
            handles.append(dashed)
        longest = max(len(str(handle.get_label())) for handle in handles)
        self.ax_.legend(
            handles=handles,
            frameon=False,
            ncols=2 if longest <= 40 else 1,
            loc="lower left",
            bbox_to_anchor=(0, 1),
        )


def _label(name: str, curve: ProfitCurve, *, show_expected: bool) -> str:
    """Return a curve's name, with its profit where it stops."""
    actual, expected = (_amount(values[curve.chosen]) for values in (curve.profit, curve.expected))
    return f"{plain(name)}: {actual}" + f" of {expected} expected" * show_expected


def _amount(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
