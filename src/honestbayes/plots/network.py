"""The class, the features that matter for it, and how sure each arc between them is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from honestbayes.plots.drawing import GREY, look, new_axes, short
from honestbayes.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEAST = 0.2
"""Arcs of a lower probability are not drawn."""

MOST_NUMBERS = 20
"""Arcs up to which probabilities are written on them."""

MOST_NODES = 20
"""Features that are drawn, at most: those with the most probable arcs."""


class NetworkDisplay:
    """The class in the middle, features around it, and arcs as wide as they are probable.

    Parameters
    ----------
    names : sequence of str
        Of the nodes, that of the class last.
    probability : ndarray of shape (m, m)
        Share of the drawn graphs with an arc from the row's node to the column's.
    least : float, default=0.2
        Arcs of a lower probability are not drawn.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`.
    figure_ : matplotlib Figure
        After `plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from honestbayes.plots import NetworkDisplay
    >>> probability = [[0.0, 0.3, 0.9], [0.0, 0.0, 0.6], [0.0, 0.0, 0.0]]
    >>> display = NetworkDisplay(["age", "stage", "class"], np.array(probability)).plot()
    >>> [text.get_text() for text in display.ax_.texts[:3]]
    ['age', 'stage', 'class']
    """

    ax_: Axes
    figure_: Figure

    def __init__(
        self, names: Sequence[str], probability: FloatArray, *, least: float = LEAST
    ) -> None:
        self.names = names
        self.probability = probability
        self.least = least

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, least: float = LEAST, ax: Axes | None = None
    ) -> NetworkDisplay:
        """Draw the arcs of a fitted `AveragedNetworkClassifier`.

        Parameters
        ----------
        estimator : fitted AveragedNetworkClassifier
            What has ``edge_probabilities_``.
        least : float, default=0.2
            Arcs of a lower probability are not drawn.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        """
        probability = getattr(estimator, "edge_probabilities_", None)
        if probability is None:
            what = type(estimator).__name__
            msg = f"{what} has no edge_probabilities_; give a fitted AveragedNetworkClassifier."
            raise ValueError(msg)
        names = (*map(str, estimator.get_feature_names_out()), "(class)")
        return cls(names, probability, least=least).plot(ax)

    def plot(self, ax: Axes | None = None) -> NetworkDisplay:
        """Draw nodes and arcs, and return the display."""
        self.ax_ = new_axes(ax, (7.0, 6.0))
        self.figure_ = self.ax_.figure  # type: ignore[assignment]  # a SubFigure is as good
        place = self._places()
        last = len(self.names) - 1
        boxes = {}
        for node, (x, y) in place.items():
            style = {"facecolor": look(0).color if node == last else "white", "edgecolor": GREY}
            boxes[node] = self.ax_.text(
                x,
                y,
                short(self.names[node]),
                ha="center",
                va="center",
                color="white" if node == last else "black",
                bbox={"boxstyle": "round,pad=0.35", **style},
                zorder=3,
            ).get_bbox_patch()
        shown = [
            (i, j)
            for i, j in np.argwhere(self.probability >= self.least).tolist()
            if i in place and j in place
        ]
        for i, j in shown:
            ends = {"patchA": boxes[i], "patchB": boxes[j]}
            self._arc(place[i], place[j], float(self.probability[i, j]), ends)
            if len(shown) <= MOST_NUMBERS:
                self._number(place[i], place[j], float(self.probability[i, j]))
        left = len(self.names) - len(place)
        others = "1 other feature has" if left == 1 else f"{left:,} other features have"
        more = f"; {others} none" if left else ""
        self.ax_.set_title(
            f"arcs in {self.least:.0%} of the graphs or more{more}", fontsize="medium", loc="left"
        )
        self.ax_.set_xlim(-1.35, 1.35)
        self.ax_.set_ylim(-1.2, 1.2)
        self.ax_.set_axis_off()
        return self

    def _places(self) -> dict[int, tuple[float, float]]:
        """Return where nodes are drawn: the class in the middle, features on a ring."""
        strongest = np.maximum(self.probability.max(axis=0), self.probability.max(axis=1))[:-1]
        order = np.lexsort((np.arange(strongest.size), -strongest))[:MOST_NODES]
        around = np.sort(order[strongest[order] >= self.least])
        angles = np.pi / 2 - 2 * np.pi * np.arange(around.size) / max(around.size, 1)
        result = {
            int(node): (float(np.cos(angle)), float(np.sin(angle)))
            for node, angle in zip(around, angles, strict=True)
        }
        return result | {len(self.names) - 1: (0.0, 0.0)}

    def _arc(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        probability: float,
        ends: dict[str, Any],
    ) -> None:
        """Draw an arrow, as wide as it is probable."""
        self.ax_.annotate(
            "",
            xy=end,
            xytext=start,
            arrowprops={
                "arrowstyle": "-|>",
                "color": GREY,
                "linewidth": 0.4 + 2.2 * probability,
                "shrinkA": 1,
                "shrinkB": 2,
                "connectionstyle": "arc3,rad=0.08",
                **ends,
            },
            zorder=4,  # after the boxes, whose size is known when they have been drawn
        )

    def _number(
        self, start: tuple[float, float], end: tuple[float, float], probability: float
    ) -> None:
        """Write the probability of an arrow on it."""
        x, y = (0.45 * a + 0.55 * b for a, b in zip(start, end, strict=True))
        self.ax_.text(
            x,
            y,
            f"{probability:.2f}",
            fontsize="x-small",
            ha="center",
            va="center",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6},
            zorder=5,
        )
