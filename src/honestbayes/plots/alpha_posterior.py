"""The posterior distribution of log(alpha), with and without correction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from honestbayes.plots.drawing import GREY, look, named, new_axes, plain, tidy
from honestbayes.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_POINTS = 400
# The range shown leaves out this much of each posterior on either side.
_TAIL = 5e-4


class AlphaPosteriorDisplay:
    """Posterior densities of log(alpha), as Figure 6 of Li, Zhang and Neal (2008).

    Parameters
    ----------
    log_alpha : array-like, shape (n_points,)
        Where the densities are given.
    densities : mapping of name to array-like of shape (n_points,)
        One or more densities of log(alpha).
    truth : float, optional
        The true alpha, drawn as a vertical line at its logarithm.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`.
    figure_ : matplotlib Figure
        After `plot`.

    Examples
    --------
    >>> from honestbayes import SelectiveBernoulliNB
    >>> from honestbayes.datasets import simulate_naive_bayes
    >>> from honestbayes.plots import AlphaPosteriorDisplay
    >>> data = simulate_naive_bayes(40, 200, n_features=100, alpha=20.0, random_state=0)
    >>> model = SelectiveBernoulliNB(feature_prior="uniform", recalibrate=None)
    >>> model = model.fit(data.X_train, data.y_train)
    >>> display = AlphaPosteriorDisplay.from_estimator(model, truth=20.0)
    >>> display.ax_.get_xlabel()
    'log(α)'
    """

    ax_: Axes
    figure_: Figure

    def __init__(
        self,
        log_alpha: ArrayLike,
        densities: Mapping[str, ArrayLike],
        *,
        truth: float | None = None,
    ) -> None:
        self.log_alpha = np.asarray(log_alpha, dtype=np.float64)
        self.densities = {name: np.asarray(values) for name, values in densities.items()}
        self.truth = truth

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        name: str | None = None,
        truth: float | None = None,
        log_alpha: ArrayLike | None = None,
        ax: Axes | None = None,
    ) -> AlphaPosteriorDisplay:
        """Draw the posteriors of one or more fitted estimators.

        Parameters
        ----------
        estimator : fitted estimator, or a mapping of name to such
            With ``posterior_``: arrays ``alpha`` and ``weights``, and ``density(log_alpha)``.
        name : str, optional
            Name of a single curve; by default the estimator's class.
        truth : float, optional
            The true alpha, for simulated data.
        log_alpha : array-like, optional
            Where to evaluate; by default where the posteriors have their weight.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        """
        several = named(estimator, name, type(estimator).__name__)
        posteriors = {key: _posterior(key, fitted) for key, fitted in several.items()}
        if log_alpha is None:
            grid = _grid(list(posteriors.values()), truth)
        else:
            grid = np.asarray(log_alpha, dtype=np.float64)
        densities = {key: posterior.density(grid) for key, posterior in posteriors.items()}
        return cls(grid, densities, truth=truth).plot(ax)

    def plot(self, ax: Axes | None = None) -> AlphaPosteriorDisplay:
        """Draw all densities and return the display."""
        self.ax_ = new_axes(ax, (5.6, 3.6))
        self.figure_ = self.ax_.figure  # type: ignore[assignment]  # a SubFigure is as good
        for index, (name, density) in enumerate(self.densities.items()):
            style = look(index)
            self.ax_.fill_between(
                self.log_alpha, density, color=style.color, alpha=0.1, linewidth=0
            )
            self.ax_.plot(
                self.log_alpha,
                density,
                color=style.color,
                linestyle=style.linestyle,
                linewidth=1.8,
                label=plain(name),
            )
        if self.truth is not None:
            self.ax_.axvline(float(np.log(self.truth)), color=GREY, linewidth=1.2, label="truth")
        tidy(self.ax_)
        self.ax_.set(xlim=(self.log_alpha[0], self.log_alpha[-1]))
        self.ax_.set_ylim(bottom=0)
        self.ax_.set_xlabel("log(α)")
        self.ax_.set_ylabel("posterior density")
        self.ax_.legend(frameon=False)
        return self


def _posterior(name: str, estimator: Any) -> Any:
    posterior = getattr(estimator, "posterior_", None)
    if not all(hasattr(posterior, part) for part in ("alpha", "weights", "density")):
        raise ValueError(
            f"estimator {name!r} has no posterior_ of alpha; fit a model with a common alpha first."
        )
    return posterior


def _grid(posteriors: list[Any], truth: float | None) -> FloatArray:
    """Return points that cover the weight of every posterior, and the truth."""
    ends = [] if truth is None else [float(np.log(truth))]
    for posterior in posteriors:
        order = np.argsort(posterior.alpha)
        below = np.cumsum(np.asarray(posterior.weights)[order])
        first = int(np.searchsorted(below, _TAIL))
        last = min(int(np.searchsorted(below, 1 - _TAIL)), below.size - 1)
        ends += np.log(np.asarray(posterior.alpha)[order][[first, last]]).tolist()
    room = max(0.08 * (max(ends) - min(ends)), 0.05)
    return np.linspace(min(ends) - room, max(ends) + room, _POINTS)
