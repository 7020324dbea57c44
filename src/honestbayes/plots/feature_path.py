"""Scores along a path of features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from honestbayes.plots.drawing import GREY, Display, import_pyplot, look, named, plain, short, tidy
from honestbayes.search.selector import SQUARED_ERROR, SelectionPath, loss_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# --------------------------------------------------------------------------------------------------
# Error rates and log scores against the number of features kept
# --------------------------------------------------------------------------------------------------


# In each panel: the expected and the actual score, where the record holds them.
_PANELS = (
    ("error rate", "expected_error", "actual_error"),
    ("log score", "expected_log_score", "log_score"),
)


class FeaturePathDisplay:
    """Expected and actual scores by the number of features.

    Dashed lines are expected, solid ones actual, as Figures 4 and 5 of Li, Zhang and Neal (2008)
    compare them.

    Parameters
    ----------
    paths : record, or a mapping of name to record
        With arrays of shape (n_points,): ``n_features``, and of ``expected_error``,
        ``expected_log_score`` (predicted by the model), ``actual_error`` and ``log_score``
        (observed) those that are known, as `SelectiveBernoulliNB.feature_path` returns them.
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


_MOST_NAMES = 30
"""Steps whose features are named on the axis, at most."""


class SelectionPathDisplay(Display):
    """Loss on training rows and on held-out rows, step by step; lower is better.

    Parameters
    ----------
    path : SelectionPath
        Such as ``path_`` of `ForwardProbabilitySelector`.
    score : str, default="squared error (summed over classes)"
        What the loss is, for the label of the axis.
    chosen_on_held_out : bool, default=False
        Whether the rows held out took part in the choice, which makes their loss too low.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`.
    figure_ : matplotlib Figure
        After `plot`.

    Examples
    --------
    >>> from honestbayes import ForwardProbabilitySelector
    >>> from honestbayes.datasets import simulate_naive_bayes
    >>> from honestbayes.plots import SelectionPathDisplay
    >>> data = simulate_naive_bayes(40, 200, n_features=100, alpha=20.0, random_state=0)
    >>> selector = ForwardProbabilitySelector(n_features_to_select=3, held_out=0.3, random_state=0)
    >>> selector = selector.fit(data.X_train, data.y_train)
    >>> display = SelectionPathDisplay.from_estimator(selector)
    >>> display.ax_.get_ylabel()
    'squared error (summed over classes)'
    """

    def __init__(
        self,
        path: SelectionPath,
        *,
        score: str = SQUARED_ERROR,
        chosen_on_held_out: bool = False,
    ) -> None:
        self.path = path
        self.score = score
        self.chosen_on_held_out = chosen_on_held_out

    @classmethod
    def from_path(
        cls, path: SelectionPath, *, score: str = SQUARED_ERROR, ax: Axes | None = None
    ) -> SelectionPathDisplay:
        """Draw a path.

        Parameters
        ----------
        path : SelectionPath
            The steps.
        score : str, default="squared error (summed over classes)"
            What the loss is.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        """
        return cls(path, score=score).plot(ax)

    @classmethod
    def from_estimator(cls, selector: Any, *, ax: Axes | None = None) -> SelectionPathDisplay:
        """Draw the path of a fitted selector.

        Parameters
        ----------
        selector : fitted ForwardProbabilitySelector or BoostedProbabilitySelector
            What has a ``path_``.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        """
        path = getattr(selector, "path_", None)
        if not isinstance(path, SelectionPath):
            msg = f"{type(selector).__name__} has no selection path_; give a fitted selector."
            raise ValueError(msg)
        scoring = getattr(selector, "scoring", "squared_error")
        chosen_on_held_out = getattr(selector, "score_on", "train") == "held_out"
        display = cls(path, score=loss_label(scoring), chosen_on_held_out=chosen_on_held_out)
        return display.plot(ax)

    def plot(self, ax: Axes | None = None) -> SelectionPathDisplay:
        """Draw both losses and return the display."""
        path = self.path
        n_steps = path.feature.size
        is_named = n_steps <= _MOST_NAMES
        names = ["(none)", *(short(name) for name in path.name)] if is_named else []
        longest = max([len(name) for name in names], default=0)
        size = max(2.0 + 0.34 * len(names), 5.6), 3.6 + 0.06 * longest
        self._draw_on(ax, size)
        steps = np.arange(n_steps + 1)
        held_out = "held-out rows" + ", used to choose columns" * self.chosen_on_held_out
        for index, (label, score) in enumerate(
            (("training rows", path.train_score), (held_out, path.held_out_score))
        ):
            if not np.all(np.isnan(score)):
                self._draw(steps, score, label, index)
        kept = f"kept: {path.kept.size} feature{'s' * (path.kept.size != 1)}"
        self.ax_.axvline(path.n_kept, color=GREY, linewidth=1, label=kept, zorder=1)
        if is_named:
            self.ax_.set_xticks(steps, names, rotation=45, ha="right", rotation_mode="anchor")
        self.ax_.set_xlabel("feature added" if is_named else "steps")
        self.ax_.set_ylabel(plain(self.score))
        self.ax_.ticklabel_format(axis="y", style="plain", useOffset=False)
        tidy(self.ax_)
        self.ax_.legend(frameon=False)
        return self

    def _draw(self, steps: Any, score: Any, label: str, index: int) -> None:
        style = look(index)
        self.ax_.plot(
            steps,
            score,
            color=style.color,
            linestyle=style.linestyle,
            linewidth=1.6,
            marker=style.marker if steps.size <= _MOST_NAMES + 1 else None,
            markersize=5,
            label=label,
            zorder=2,
        )
