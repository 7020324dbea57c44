"""Error rates and log scores against the number of features kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from honestbayes.plots.drawing import import_pyplot, look, named, plain, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# In each panel: what the model expects, and what happened, where the record holds it.
_PANELS = (
    ("error rate", "expected_error", "actual_error"),
    ("log score", "expected_log_score", "log_score"),
)


class FeaturePathDisplay:
    """What the model expects of each number of features, beside what happens.

    Dashed lines are expected, solid ones actual, as Figures 4 and 5 of Li, Zhang and Neal (2008)
    compare them.

    Parameters
    ----------
    paths : record, or a mapping of name to record
        With arrays of shape (n_points,): ``n_features``, and of ``expected_error``,
        ``expected_log_score`` (what the model claims), ``actual_error`` and ``log_score`` (what
        happened) those that are known, as `SelectiveBernoulliNB.feature_path` returns them.
    name : str, optional
        Name of a single path.

    Attributes
    ----------
    ax_ : ndarray of two matplotlib Axes
        After `plot`: error rates, log scores.
    figure_ : matplotlib Figure
        After `plot`.

    Examples
    --------
    >>> from honestbayes import SelectiveBernoulliNB
    >>> from honestbayes.datasets import simulate_naive_bayes
    >>> from honestbayes.plots import FeaturePathDisplay
    >>> data = simulate_naive_bayes(40, 200, n_features=100, alpha=20.0, random_state=0)
    >>> model = SelectiveBernoulliNB(recalibrate=None)
    >>> path = model.fit(data.X_train, data.y_train).feature_path(data.X_test, data.y_test)
    >>> display = FeaturePathDisplay.from_path(path)
    >>> [ax.get_ylabel() for ax in display.ax_]
    ['error rate', 'log score']
    """

    ax_: Any
    figure_: Figure

    def __init__(self, paths: Any, *, name: str | None = None) -> None:
        self.paths: Mapping[str, Any] = named(paths, name, "model")

    @classmethod
    def from_path(
        cls, paths: Any, *, name: str | None = None, ax: Sequence[Axes] | None = None
    ) -> FeaturePathDisplay:
        """Draw one or more paths.

        Parameters
        ----------
        paths : record, or a mapping of name to record
            As the class takes them.
        name : str, optional
            Name of a single path.
        ax : two matplotlib Axes, optional
            Where to draw; by default on a new figure.
        """
        return cls(paths, name=name).plot(ax)

    def plot(self, ax: Sequence[Axes] | None = None) -> FeaturePathDisplay:
        """Draw both panels and return the display."""
        pyplot = import_pyplot()
        own_figure = ax is None
        if ax is None:
            ax = pyplot.subplots(1, 2, figsize=(9, 3.8), layout="constrained")[1]
        self.ax_ = np.asarray(ax, dtype=object).ravel()
        if self.ax_.size != 2:
            raise ValueError(f"ax holds {self.ax_.size} axes; give two, or None.")
        self.figure_ = self.ax_[0].figure
        for axes, panel in zip(self.ax_, _PANELS, strict=True):
            self._draw_panel(axes, *panel)
        handles, labels = self.ax_[0].get_legend_handles_labels()
        if own_figure:
            # Below both panels, where no curve can run through it.
            self.figure_.legend(
                handles,
                labels,
                loc="outside lower center",
                ncols=min(4, len(labels)),
                frameon=False,
            )
        else:
            self.ax_[0].legend(handles, labels, frameon=False)
        return self

    def _draw_panel(self, axes: Axes, title: str, expected: str, actual: str) -> None:
        for index, (name, path) in enumerate(self.paths.items()):
            for field, linestyle, kind in (
                (expected, (0, (4, 2)), "expected"),
                (actual, "-", "actual"),
            ):
                values = getattr(path, field, None)
                if values is None:
                    continue
                axes.plot(
                    np.asarray(path.n_features),
                    np.asarray(values),
                    color=look(index).color,
                    linestyle=linestyle,
                    linewidth=1.6,
                    label=f"{plain(name)}, {kind}",
                    **_markers(len(values), index, filled=kind == "actual"),
                )
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.set_ylim(bottom=0)
        axes.set_xlabel("number of features kept")
        axes.set_ylabel(title)
        tidy(axes)


def _markers(n_points: int, index: int, *, filled: bool) -> dict[str, Any]:
    """Mark every point where there are few, and some of them where there are many."""
    return {
        "marker": look(index).marker,
        "markersize": 5,
        "markerfacecolor": None if filled else "white",
        "markevery": 0.12 if n_points > 15 else 1,
    }
