"""How much signal real-valued features have: the distribution that a Gaussian model learned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from honestbayes.plots.drawing import look, named, new_axes, plain, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class SignalDisplay:
    """Share of features whose class means are at least so far apart.

    Parameters
    ----------
    spread : mapping of name to array-like of shape (A,)
        Standard deviation of the class means, in standard deviations within classes: the root of
        the signal ratio w. Increasing.
    share : mapping of name to array-like of shape (A,)
        Share of features with this spread or more.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`.
    figure_ : matplotlib Figure
        After `plot`.

    Examples
    --------
    >>> from honestbayes import SelectiveGaussianNB
    >>> from honestbayes.datasets import load_leukemia
    >>> from honestbayes.plots import SignalDisplay
    >>> data = load_leukemia()
    >>> model = SelectiveGaussianNB(recalibrate=None).fit(data.X, data.y)
    >>> display = SignalDisplay.from_estimator(model)
    >>> display.ax_.get_ylabel()
    'share of features with at least this'
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, spread: Mapping[str, ArrayLike], share: Mapping[str, ArrayLike]) -> None:
        self.spread = {name: np.asarray(values, dtype=float) for name, values in spread.items()}
        self.share = {name: np.asarray(values, dtype=float) for name, values in share.items()}

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, name: str | None = None, ax: Axes | None = None
    ) -> SignalDisplay:
        """Draw what one or more fitted models have learned.

        Parameters
        ----------
        estimator : fitted SelectiveGaussianNB, or a mapping of name to such
            With ``posterior_``: arrays ``ratio``, ``scale_weights`` and ``weights``.
        name : str, optional
            Name of a single curve; by default the estimator's class.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        """
        spread, share = {}, {}
        for key, fitted in named(estimator, name, type(estimator).__name__).items():
            posterior: Any = getattr(fitted, "posterior_", None)
            if not all(hasattr(posterior, part) for part in ("ratio", "scale_weights", "weights")):
                msg = f"estimator {key!r} has no posterior_ of signal ratios; fit a Gaussian model."
                raise ValueError(msg)
            weights = posterior.scale_weights @ posterior.weights
            # The first ratio is 0: an idle feature, which a logarithmic axis cannot show.
            spread[key] = np.sqrt(posterior.ratio[1:])
            share[key] = np.cumsum(weights[:0:-1])[::-1]
        return cls(spread, share).plot(ax)

    def plot(self, ax: Axes | None = None) -> SignalDisplay:
        """Draw all curves and return the display."""
        self.ax_ = new_axes(ax, (5.6, 3.6))
        self.figure_ = self.ax_.figure  # type: ignore[assignment]  # a SubFigure is as good
        for index, (name, spread) in enumerate(self.spread.items()):
            style = look(index)
            self.ax_.step(
                spread,
                np.maximum(self.share[name], 1e-300),
                where="post",
                color=style.color,
                linestyle=style.linestyle,
                linewidth=1.8,
                label=plain(name),
            )
        tidy(self.ax_)
        lowest = min(float(share[share > 1e-6].min(initial=1.0)) for share in self.share.values())
        self.ax_.set(xscale="log", yscale="log", ylim=(max(lowest / 2, 1e-6), 1.3))
        self.ax_.set_xlabel("spread of the class means (standard deviations within classes)")
        self.ax_.set_ylabel("share of features with at least this")
        self.ax_.legend(frameon=False)
        return self
