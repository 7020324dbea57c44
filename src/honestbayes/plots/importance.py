"""Feature importance, and contributions to one prediction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from honestbayes.plots.drawing import GREY, Display, look, plain, short, tidy
from honestbayes.types import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST = 20
"""Rows that are drawn, at most."""


class ImportanceDisplay(Display):
    """Feature importance, with 95% intervals.

    Columns that repeat each other were permuted together and share one row.

    Parameters
    ----------
    names : sequence of str
        Of the columns, the most important first.
    importance, lower, upper : ndarray of shape (k,)
        Loss of the held-out log score when the column is permuted, and its interval. Columns that
        were not measured (NaN) are left out.
    group : ndarray of int of shape (k,), optional
        Columns with the same number share one row; by default each has its own.
    most : int, default=20
        Rows that are drawn, at most.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`.
    figure_ : matplotlib Figure
        After `plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from honestbayes import HonestClassifier
    >>> from honestbayes.plots import ImportanceDisplay
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(60) % 2
    >>> X = rng.normal(size=(60, 5))
    >>> X[:, 0] += 2 * y
    >>> model = HonestClassifier(effort="quick", random_state=0).fit(X, y)
    >>> display = ImportanceDisplay.from_estimator(model)
    >>> display.ax_.get_yticklabels()[0].get_text()
    'x0'
    """

    def __init__(
        self,
        names: Sequence[str],
        importance: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        group: IntArray | None = None,
        *,
        most: int = _MOST,
    ) -> None:
        self.names = names
        self.importance = importance
        self.lower = lower
        self.upper = upper
        self.group = np.arange(len(names)) if group is None else group
        self.most = most

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, most: int = _MOST, ax: Axes | None = None
    ) -> ImportanceDisplay:
        """Draw the feature importance of a fitted average.

        Parameters
        ----------
        estimator : fitted HonestClassifier
            What has a `feature_table` with importances.
        most : int, default=20
            Rows that are drawn, at most.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        """
        table = estimator.feature_table()
        if not hasattr(table, "importance"):
            msg = f"{type(estimator).__name__} has no feature importance; give an HonestClassifier."
            raise ValueError(msg)
        figures = (table.importance, table.lower, table.upper, table.group)
        return cls(table.name, *figures, most=most).plot(ax)

    def rows(self) -> list[tuple[list[str], float, float, float]]:
        """Return the names, the importance and the interval of each row."""
        shown: dict[int, tuple[list[str], float, float, float]] = {}
        for j in np.flatnonzero(np.isfinite(self.importance)).tolist():
            figures = (float(self.importance[j]), float(self.lower[j]), float(self.upper[j]))
            shown.setdefault(int(self.group[j]), ([], *figures))[0].append(str(self.names[j]))
        return sorted(shown.values(), key=lambda row: -row[1])[: self.most]

    def plot(self, ax: Axes | None = None) -> ImportanceDisplay:
        """Draw a bar for each of the most important columns, and return the display."""
        rows = self.rows()
        self._draw_on(ax, (6.0, 1.2 + 0.28 * len(rows)))
        places = np.arange(len(rows))
        value, lower, upper = (np.array([row[i] for row in rows]) for i in (1, 2, 3))
        self.ax_.barh(places, value, color=look(0).color, height=0.6, zorder=2)
        self.ax_.hlines(places, lower, upper, color="#000000", linewidth=1.4, zorder=3)
        self.ax_.axvline(0, color=GREY, linewidth=1, zorder=1)
        self.ax_.set_ylim(len(rows) - 0.4, -0.6)
        labels = [
            short(names[0]) + (f" and {len(names) - 1} alike" if len(names) > 1 else "")
            for names, *_ in rows
        ]
        self.ax_.set_yticks(places, labels)
        self.ax_.set_xlabel("loss of log score without the column, 95% interval")
        self.ax_.locator_params(axis="x", nbins=5)
        tidy(self.ax_)
        return self


class ContributionDisplay(Display):
    """Contribution of each cell of one row to its log-odds.

    Parameters
    ----------
    names : sequence of str
        Of the columns.
    values : ndarray of shape (k,)
        What each cell adds: log-odds with it, less without it.
    towards : str, default=""
        The class that positive values make more probable.
    most : int, default=20
        Rows that are drawn, at most: those with the largest contributions.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`.
    figure_ : matplotlib Figure
        After `plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from honestbayes.plots import ContributionDisplay
    >>> display = ContributionDisplay(["age", "stage"], np.array([0.2, -1.5]), "ill").plot()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['stage', 'age']
    """

    def __init__(
        self, names: Sequence[str], values: FloatArray, towards: str = "", *, most: int = _MOST
    ) -> None:
        self.names = names
        self.values = np.asarray(values, dtype=float)
        self.towards = towards
        self.most = most

    @classmethod
    def from_contributions(
        cls, contributions: Any, row: int = 0, *, target: Any = None, ax: Axes | None = None
    ) -> ContributionDisplay:
        """Draw one row of the contributions of a fitted model.

        Parameters
        ----------
        contributions : Contributions
            Of some rows.
        row : int, default=0
            Which of them.
        target : class label, optional
            With more than two classes, the class whose log probability is explained.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        """
        values, classes = contributions.values[row], contributions.classes
        index = 1
        if target is not None and str(target) not in classes:
            raise ValueError(f"target={target!r} is not one of the classes {list(classes)}.")
        if values.ndim == 2:
            if target is None:
                msg = f"there are {len(classes)} classes; name one of {list(classes)} as target."
                raise ValueError(msg)
            index = classes.index(str(target))
            values = values[:, index]
        elif target is not None and str(target) == classes[0]:
            index, values = 0, -values
        return cls(contributions.name, values, classes[index]).plot(ax)

    def plot(self, ax: Axes | None = None) -> ContributionDisplay:
        """Draw a bar for each of the largest contributions, and return the display."""
        order = np.argsort(-np.abs(self.values), kind="stable")[: self.most]
        self._draw_on(ax, (6.0, 1.2 + 0.28 * order.size))
        places, values = np.arange(order.size), self.values[order]
        colors = [look(0).color if value >= 0 else look(1).color for value in values]
        self.ax_.barh(places, values, color=colors, height=0.6, zorder=2)
        self.ax_.axvline(0, color=GREY, linewidth=1, zorder=1)
        self.ax_.set_ylim(order.size - 0.4, -0.6)
        self.ax_.set_yticks(places, [short(str(self.names[j])) for j in order])
        towards = f" of {plain(self.towards)}" if self.towards else ""
        self.ax_.set_xlabel(f"added to the log-odds{towards}")
        tidy(self.ax_)
        return self
