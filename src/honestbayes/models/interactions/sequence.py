"""The next state of a discrete sequence, from states before it as far back as wanted."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from honestbayes.models.interactions.estimator import InteractionClassifier
from honestbayes.models.interactions.settings import InteractionSettings
from honestbayes.models.shared.parameters import whole_number
from honestbayes.types import AnyArray, BoolArray


def windows(sequence: Any, order: int) -> tuple[AnyArray, AnyArray]:
    """Cut a sequence into windows: so many states, and the one that follows.

    Parameters
    ----------
    sequence : str or sequence
        A text, whose characters are the states, or states of any kind: texts or whole numbers.
    order : int
        States of each window.

    Returns
    -------
    X : ndarray of shape (n - order, order)
        Windows, that of the earliest states first.
    y : ndarray of shape (n - order,)
        The state after each.

    Examples
    --------
    >>> from honestbayes import windows
    >>> X, y = windows("banana", order=2)
    >>> ["".join(row) for row in X], "".join(y)
    (['ba', 'an', 'na', 'an'], 'nana')
    """
    states = _states(list(sequence) if isinstance(sequence, str) else sequence)
    order = whole_number({"order": order}, "order", 0)
    if states.size <= order:
        msg = (
            f"a sequence of {states.size} states is too short for windows of {order} and the state "
            "that follows."
        )
        raise ValueError(msg)
    view = np.lib.stride_tricks.sliding_window_view(states, order + 1)
    return np.array(view[:, :order]), np.array(view[:, order])


def _states(sequence: Any) -> AnyArray:
    """Return states as an array of one dimension."""
    states = np.asarray(sequence)
    if states.ndim != 1:
        msg = f"a sequence has one dimension, not {states.ndim}."
        raise ValueError(msg)
    return states


class SequenceClassifier(InteractionClassifier):
    """The next state of a discrete sequence: a Bayesian logistic model of the states before.

    Every suffix of up to ``order`` states has a coefficient for each next state: the last state,
    the last two, and so on. Suffixes that the same training windows have share a parameter, so that
    long windows cost hardly more than short ones (thesis, section 3.4).

    Parameters
    ----------
    order : int, default=10
        How many states back the model looks, at most. Windows may be longer: their last states
        count.
    prior : {"cauchy", "gaussian"}, default="cauchy"
        Of coefficients.
    width_prior : tuple of float, default=(0.25, 0.1)
        Shape of the inverse gamma prior of the width of order o, and its mode times o.
    compress : bool, default=True
        Whether suffixes that the same windows have share a parameter.
    class_pseudocounts : float or array-like, default=1.0
        Dirichlet prior of the frequencies of next states, for another prevalence at prediction.
    class_prior : array-like of shape (n_classes,), optional
        Prevalences where the model is used, in the order of ``classes_``.
    recalibrate : {"layer", "slope"} or None, default=None
        Whether a slope and lapses are learned from held-out windows.
    n_chains, n_samples, n_warmup : int, default=4, 250, 100
        Chains; draws that are kept of each, and draws before these.
    n_doublings : int, default=2
        How often chains may go on to twice their length where they do not agree.
    thin : int, default=4
        Sweeps for each draw.
    n_jobs : int, optional
        Chains at work at once.
    checkpoint : path-like, optional
        Where chains are written now and then, and from where `fit` goes on when it finds them.
    verbose : bool, default=False
        Whether to show how far the chains are.
    random_state : int, RandomState or None, default=None
        Seeds the chains, and what prediction draws.

    Attributes
    ----------
    order_ : int
        The order in use.
    order_losses_ : None
        The order is not chosen by held-out windows here.
    n_groups_ : int
        Parameters of each next state after compression.
    n_patterns_ : float
        Suffixes of the training windows: parameters of each next state without compression.
    diagnostics_ : Diagnostics
        R-hat, effective sample sizes and Monte Carlo errors of what the chains can be compared by.
    draws_ : Draws
        All draws.
    selection_ : Selection
        The states of a window, all of which are kept.
    number_choice_ : None
        The number of states is not chosen by held-out cases here.
    slope_, lapse_ : float
        Posterior means of the factor on the evidence, and of the rate of lapses; 1 and 0 without
        recalibration.
    classes_ : ndarray of shape (n_classes,)
        States that follow.
    class_count_ : ndarray of shape (n_classes,)
        Training windows with each.
    n_features_in_ : int
        Length of the windows seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of their places, where X has them.

    References
    ----------
    Li, L. (2007), Bayesian classification and regression with high dimensional features, PhD
    thesis, University of Toronto; section 3.4.

    Examples
    --------
    >>> from honestbayes import SequenceClassifier, windows
    >>> X, y = windows("abcabd" * 10, order=3)
    >>> model = SequenceClassifier(order=3, random_state=0).fit(X, y)
    >>> model.predict([list("cab"), list("dab")]).tolist()
    ['d', 'c']
    """

    _kind: ClassVar[str] = "SequenceClassifier"
    _suffixes: ClassVar[bool] = True

    # Words of `InteractionClassifier` that sequences do without.
    missing = "refuse"
    n_features_to_select = "all"
    threshold = None
    always_keep = None

    def __init__(
        self,
        *,
        order: int = 10,
        prior: Literal["cauchy", "gaussian"] = "cauchy",
        width_prior: tuple[float, float] = (0.25, 0.1),
        compress: bool = True,
        class_pseudocounts: Any = 1.0,
        class_prior: Any = None,
        recalibrate: Literal["layer", "slope"] | None = None,
        n_chains: int = 4,
        n_samples: int = 250,
        n_warmup: int = 100,
        n_doublings: int = 2,
        thin: int = 4,
        n_jobs: int | None = None,
        checkpoint: Any = None,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.order = order
        self.prior = prior
        self.width_prior = width_prior
        self.compress = compress
        self.class_pseudocounts = class_pseudocounts
        self.class_prior = class_prior
        self.recalibrate = recalibrate
        self.n_chains = n_chains
        self.n_samples = n_samples
        self.n_warmup = n_warmup
        self.n_doublings = n_doublings
        self.thin = thin
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.verbose = verbose
        self.random_state = random_state

    def _settings(self, always_keep: BoolArray) -> InteractionSettings:
        """Keep every state, in its place."""
        settings = super()._settings(np.ones(always_keep.size, dtype=bool))
        if settings.model.order > always_keep.size:
            msg = (
                f"order={settings.model.order} is longer than the sequences, which have "
                f"{always_keep.size} states; lower it, or give longer ones."
            )
            raise ValueError(msg)
        return settings
