"""How sure it is that each feature matters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from honestbayes.plots.drawing import GREY, look, new_axes, plain, tidy
from honestbayes.search.selector import feature_names
from honestbayes.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST = 30
"""Features that are shown, at most: those with the highest probabilities."""


class InclusionDisplay:
    """Inclusion probabilities with the uncertainty of having been drawn, the highest first.

    Parameters
    ----------
    names : sequence of str
        Of the features.
    probability, error : ndarray of shape (n_features,)
        Share of the drawn subsets with each feature, and its Monte Carlo standard error.
    threshold : float, optional
        From which probability on features are kept.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`.
    figure_ : matplotlib Figure
        After `plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from honestbayes.plots import InclusionDisplay
    >>> probability, error = np.array([0.97, 0.31]), np.array([0.01, 0.02])
    >>> display = InclusionDisplay(["age", "stage"], probability, error)
    >>> [label.get_text() for label in display.plot().ax_.get_yticklabels()]
    ['age', 'stage']
    """

    ax_: Axes
    figure_: Figure

    def __init__(
        self,
        names: Sequence[str],
        probability: FloatArray,
        error: FloatArray,
        *,
        threshold: float | None = None,
    ) -> None:
        self.names = names
        self.probability = probability
        self.error = error
        self.threshold = threshold

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> InclusionDisplay:
        """Draw the inclusion probabilities of a fitted estimator.

        Parameters
        ----------
        estimator : fitted SubsetSampler or AveragedNB
            What has ``inclusion_probabilities_``.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        """
        probability = getattr(estimator, "inclusion_probabilities_", None)
        if probability is None:
            what = type(estimator).__name__
            msg = f"{what} has no inclusion_probabilities_; give a fitted SubsetSampler."
            raise ValueError(msg)
        known = getattr(estimator, "feature_names_in_", None)
        names = feature_names(known, list(range(probability.size)))
        by_number = getattr(estimator, "n_features_to_select", None) is not None
        threshold = None if by_number else getattr(estimator, "threshold", None)
        return cls(names, probability, estimator.inclusion_errors_, threshold=threshold).plot(ax)

    def plot(self, ax: Axes | None = None) -> InclusionDisplay:
        """Draw a bar for each of the features that matter most, and return the display."""
        order = np.lexsort((np.arange(self.probability.size), -self.probability))[:_MOST]
        self.ax_ = new_axes(ax, (6.0, 1.2 + 0.26 * order.size))
        self.figure_ = self.ax_.figure  # type: ignore[assignment]  # a SubFigure is as good
        place = np.arange(order.size)
        self.ax_.barh(
            place,
            self.probability[order],
            xerr=2 * self.error[order],
            color=look(0).color,
            ecolor=GREY,
            height=0.7,
        )
        self.ax_.set_ylim(order.size - 0.4, -0.6)
        self.ax_.set_yticks(place, [plain(self.names[j]) for j in order])
        self.ax_.set_xlim(0, 1)
        if self.threshold is not None:
            self.ax_.axvline(self.threshold, color=GREY, linewidth=1)
            self.ax_.set_title(f"kept from {self.threshold:g} on", loc="left", fontsize="medium")
        left = self.probability.size - order.size
        more = f"; {left:,} lower ones are not shown" if left else ""
        self.ax_.set_xlabel(f"inclusion probability, and twice its standard error{more}")
        tidy(self.ax_)
        return self
