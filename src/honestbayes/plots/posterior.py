"""Posterior distributions: alpha, signal, chains, inclusion and network arcs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from honestbayes.plots.drawing import GREY, Display, look, named, plain, short, tidy
from honestbayes.search.selector import feature_names
from honestbayes.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS = 400
# The range shown leaves out this much of each posterior on either side.
_TAIL = 5e-4


class AlphaPosteriorDisplay(Display):
    """Posterior densities of log(alpha), as in Figure 6 of Li, Zhang and Neal (2008).

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
        self._draw_on(ax, (5.6, 3.6))
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


# --------------------------------------------------------------------------------------------------
# Signal of real-valued features, as a Gaussian model learned it
# --------------------------------------------------------------------------------------------------


class SignalDisplay(Display):
    """Share of features whose class means differ by at least a given distance.

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
    'share of features with at least this spread'
    """

    def __init__(self, spread: Mapping[str, ArrayLike], share: Mapping[str, ArrayLike]) -> None:
        self.spread = {name: np.asarray(values, dtype=float) for name, values in spread.items()}
        self.share = {name: np.asarray(values, dtype=float) for name, values in share.items()}

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, name: str | None = None, ax: Axes | None = None
    ) -> SignalDisplay:
        """Draw the learned signal of one or more fitted models.

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
            # The first ratio is 0: a null feature, which a logarithmic axis cannot show.
            spread[key] = np.sqrt(posterior.ratio[1:])
            share[key] = np.cumsum(weights[:0:-1])[::-1]
        return cls(spread, share).plot(ax)

    def plot(self, ax: Axes | None = None) -> SignalDisplay:
        """Draw all curves and return the display."""
        self._draw_on(ax, (5.6, 3.6))
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
        self.ax_.set_ylabel("share of features with at least this spread")
        self.ax_.legend(frameon=False)
        return self


# --------------------------------------------------------------------------------------------------
# Traces of chains
# --------------------------------------------------------------------------------------------------


class TraceDisplay(Display):
    """Draws of one quantity, a line for each chain. Chains that mix well look alike.

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
            Which of its draws; by default the first in the diagnostics.
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
        self._draw_on(ax, (6.4, 3.0))
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


# --------------------------------------------------------------------------------------------------
# Inclusion probabilities of features
# --------------------------------------------------------------------------------------------------


_MOST = 30
"""Features that are shown, at most: those with the highest probabilities."""


class InclusionDisplay(Display):
    """Inclusion probabilities with Monte Carlo errors, the highest first.

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
            name = type(estimator).__name__
            msg = f"{name} has no inclusion_probabilities_; give a fitted SubsetSampler."
            raise ValueError(msg)
        known = getattr(estimator, "feature_names_in_", None)
        names = feature_names(known, list(range(probability.size)))
        by_number = getattr(estimator, "n_features_to_select", None) is not None
        threshold = None if by_number else getattr(estimator, "threshold", None)
        return cls(names, probability, estimator.inclusion_errors_, threshold=threshold).plot(ax)

    def plot(self, ax: Axes | None = None) -> InclusionDisplay:
        """Draw a bar for each of the features that matter most, and return the display."""
        order = np.lexsort((np.arange(self.probability.size), -self.probability))[:_MOST]
        self._draw_on(ax, (6.0, 1.2 + 0.26 * order.size))
        rows = np.arange(order.size)
        self.ax_.barh(
            rows,
            self.probability[order],
            xerr=2 * self.error[order],
            color=look(0).color,
            ecolor=GREY,
            height=0.7,
        )
        self.ax_.set_ylim(order.size - 0.4, -0.6)
        self.ax_.set_yticks(rows, [plain(self.names[j]) for j in order])
        self.ax_.set_xlim(0, 1)
        if self.threshold is not None:
            self.ax_.axvline(self.threshold, color=GREY, linewidth=1)
            self.ax_.set_title(f"kept from {self.threshold:g} on", loc="left", fontsize="medium")
        left = self.probability.size - order.size
        more = f"; {left:,} lower ones are not shown" if left else ""
        self.ax_.set_xlabel(f"inclusion probability, and twice its standard error{more}")
        tidy(self.ax_)
        return self


# --------------------------------------------------------------------------------------------------
# Arc probabilities of a network around the class
# --------------------------------------------------------------------------------------------------


LEAST = 0.2
"""Arcs of a lower probability are not drawn."""

MOST_NUMBERS = 20
"""Arcs up to which probabilities are written on them."""

MOST_NODES = 20
"""Features that are drawn, at most: those with the most probable arcs."""


class NetworkDisplay(Display):
    """Arcs between the class and its features, with widths by probability.

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
            name = type(estimator).__name__
            msg = f"{name} has no edge_probabilities_; give a fitted AveragedNetworkClassifier."
            raise ValueError(msg)
        names = (*map(str, estimator.get_feature_names_out()), "(class)")
        return cls(names, probability, least=least).plot(ax)

    def plot(self, ax: Axes | None = None) -> NetworkDisplay:
        """Draw nodes and arcs, and return the display."""
        self._draw_on(ax, (7.0, 6.0))
        position = self._positions()
        last = len(self.names) - 1
        boxes = {}
        for node, (x, y) in position.items():
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
            if i in position and j in position
        ]
        for i, j in shown:
            ends = {"patchA": boxes[i], "patchB": boxes[j]}
            self._arc(position[i], position[j], float(self.probability[i, j]), ends)
            if len(shown) <= MOST_NUMBERS:
                self._number(position[i], position[j], float(self.probability[i, j]))
        left = len(self.names) - len(position)
        others = "1 other feature has" if left == 1 else f"{left:,} other features have"
        more = f"; {others} none" if left else ""
        self.ax_.set_title(
            f"arcs in {self.least:.0%} of the graphs or more{more}", fontsize="medium", loc="left"
        )
        self.ax_.set_xlim(-1.35, 1.35)
        self.ax_.set_ylim(-1.2, 1.2)
        self.ax_.set_axis_off()
        return self

    def _positions(self) -> dict[int, tuple[float, float]]:
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
