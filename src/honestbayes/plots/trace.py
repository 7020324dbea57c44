"""What chains drew, one after the other: the first thing to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from honestbayes.plots.drawing import look, new_axes, plain, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class TraceDisplay:
    """Draws of one quantity, a line for each chain. Chains that agree cannot be told apart.

    Parameters
    ----------
    draws : array-like of shape (n_chains, n_draws)
        The draws.
    name : str, default="value"
        What was drawn.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`.
    figure_ : matplotlib Figure
        After `plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from honestbayes.plots import TraceDisplay
    >>> draws = np.random.default_rng(0).normal(size=(4, 50))
    >>> display = TraceDisplay(draws, "log alpha").plot()
    >>> len(display.ax_.get_lines())
    4
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, draws: ArrayLike, name: str = "value") -> None:
        self.draws = np.asarray(draws, dtype=float)
        if self.draws.ndim != 2:
            msg = f"draws have shape {self.draws.shape}; give (n_chains, n_draws) of one number."
            raise ValueError(msg)
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator: Any, name: str | None = None, *, ax: Axes | None = None
    ) -> TraceDisplay:
        """Draw a quantity of a fitted model.

        Parameters
        ----------
        estimator : fitted model with ``draws_``
            Such as `SelectiveMixture` or `SelectiveFactorClassifier`.
        name : str, optional
            Which of its draws; by default the first of those that chains are judged by.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        """
        draws = getattr(estimator, "draws_", None)
        if draws is None:
            msg = "estimator has no draws; fit a model that runs chains."
            raise ValueError(msg)
        if name is None:
            name = str(estimator.diagnostics_.name[0])
        if name not in draws.values:
            msg = f"estimator has no draws of {name!r}; it has {sorted(draws.values)}."
            raise ValueError(msg)
        return cls(draws[name], name).plot(ax)

    def plot(self, ax: Axes | None = None) -> TraceDisplay:
        """Draw the chains and return the display."""
        self.ax_ = new_axes(ax, (6.4, 3.0))
        self.figure_ = self.ax_.figure  # type: ignore[assignment]  # a SubFigure is as good
        for chain, values in enumerate(self.draws):
            style = look(chain)
            self.ax_.plot(
                np.arange(1, values.size + 1),
                values,
                color=style.color,
                linewidth=0.8,
                alpha=0.8,
                label=f"chain {chain + 1}",
            )
        tidy(self.ax_)
        self.ax_.set_xlabel("draw")
        self.ax_.set_ylabel(plain(self.name))
        self.ax_.legend(
            frameon=False, ncols=min(len(self.draws), 4), loc="lower left", bbox_to_anchor=(0, 1)
        )
        return self
