"""Prediction of the next symbol of a sequence, with a check on the last symbols."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from honestbayes.metrics import Estimate
from honestbayes.models.interactions.estimator import SequenceClassifier, windows
from honestbayes.models.interactions.model import Interactions
from honestbayes.tables.errors import InputError, shown
from honestbayes.types import AnyArray, FloatArray

MOST_SYMBOLS = 100
"""Different symbols; each of them is a class, and each class has a coefficient for each context."""

FEWEST_WINDOWS = 10
"""Fewer windows are too few to learn from."""

SHARE_TRAINED = 0.8
"""Of the windows, for the check on those after them."""

FEWEST_CHECKED = 10
"""Windows to be predicted below which there is no check."""

LEVEL = 0.9

FREQUENCIES = "frequencies of symbols"
PREVIOUS = "the preceding symbol alone"


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceOptions:
    """How a sequence is fitted.

    Attributes
    ----------
    order : int
        Largest number of preceding symbols that the model uses.
    n_windows : int
        Windows that are used, at most: the last ones.
    contexts : int
        Contexts that are shown, at most.
    check : bool
        Whether a fit to the first windows is checked on the last ones.
    chains : dict
        Words of the estimator about its chains, and its seed.
    """

    order: int = 10
    n_windows: int = 1000
    contexts: int = 15
    check: bool = True
    chains: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scored:
    """Mean log score and error rate of a method on held-out symbols."""

    name: str
    log_score: float
    error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Scores of predictions of the last symbols.

    Attributes
    ----------
    n_trained, n_checked : int
        Windows that were fitted, and windows after them that were predicted.
    n_new : int
        Windows left out of the check, because the symbol after them had not occurred before.
    methods : tuple of Scored
        The model, and what it is compared with.
    gain : Estimate
        By how much its log score is better than that of the symbol before alone, in the mean.
    """

    n_trained: int
    n_checked: int
    n_new: int
    methods: tuple[Scored, ...]
    gain: Estimate


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SequenceReport:
    """Results of a fit to a sequence.

    Attributes
    ----------
    n_symbols, n_windows : int
        Symbols of the sequence, and windows that were used: the last ones.
    order : int
        Largest number of preceding symbols that the model uses.
    history : tuple of str
        The symbols after which the next one is wanted.
    unknown : tuple of str
        Symbols of the history that the windows do not hold.
    symbols : tuple of str
        What may be next.
    probability, low, high : ndarray
        Of each symbol to be next, with its 90% interval.
    contexts : Interactions
        Those with the largest coefficients.
    check : Check or None
        On the last symbols; None where it was not asked for, or there are too few.
    warnings : tuple of str
        What went less than well.
    """

    n_symbols: int
    n_windows: int
    order: int
    history: tuple[str, ...]
    unknown: tuple[str, ...]
    symbols: tuple[str, ...]
    probability: FloatArray
    low: FloatArray
    high: FloatArray
    contexts: Interactions
    check: Check | None
    warnings: tuple[str, ...]


def fit_sequence(
    symbols: Sequence[str],
    options: SequenceOptions,
    *,
    history: Sequence[str] | None = None,
    step: Callable[[], None] = lambda: None,
) -> tuple[SequenceReport, SequenceClassifier]:
    """Fit the last windows of a sequence, and predict the next symbol.

    Parameters
    ----------
    symbols : sequence of str
        In their order.
    options : SequenceOptions
        How.
    history : sequence of str, optional
        Symbols after which the next one is wanted; by default the last ones. Where it is shorter
        than the order, symbols before it are unknown, and contexts that need them do not count.
    step : callable
        Called after each fit.

    Raises
    ------
    InputError
        Where a sequence cannot be fitted.
    """
    order = options.order
    last = list(symbols[-(options.n_windows + order) :])
    _check_symbols(last, len(symbols), order)
    X, y = windows(last, order)
    check = _checked(X, y, options) if options.check else None
    step()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = _model(order, options).fit(X, y)
    step()
    given = tuple(last if history is None else history)[-order:]
    before = np.array([[*(order - len(given)) * [None], *given]], dtype=object)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # unknown symbols are in the record
        probability = model.predict_proba(before)[0]
        bounds = model.predict_proba_interval(before, LEVEL)[0]
    low, high = _of_each(bounds)
    known = set(last)
    report = SequenceReport(
        n_symbols=len(symbols),
        n_windows=len(y),
        order=order,
        history=given,
        unknown=tuple(dict.fromkeys(symbol for symbol in given if symbol not in known)),
        symbols=tuple(map(str, model.classes_)),
        probability=probability,
        low=low,
        high=high,
        contexts=model.interactions(options.contexts),
        check=check,
        warnings=tuple(dict.fromkeys(str(warning.message) for warning in caught)),
    )
    return report, model


def _of_each(bounds: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper bounds of each class, from those of the second one of two."""
    if bounds.ndim == 2:
        return bounds[:, 0], bounds[:, 1]
    low, high = bounds
    return np.array([1 - high, low]), np.array([1 - low, high])


def _check_symbols(last: list[str], n_symbols: int, order: int) -> None:
    """Refuse a sequence that is too short, or has too few or too many different symbols."""
    different = len(set(last))
    if different == 1:
        msg = f"all symbols are {shown(last[0])}, so nothing can be learned; give another sequence."
        raise InputError(msg)
    if n_symbols < order + FEWEST_WINDOWS:
        most = n_symbols - FEWEST_WINDOWS
        fix = f"give --order {most} or lower" if most > 0 else "give a longer sequence"
        msg = (
            f"a sequence of {n_symbols:,} symbols is too short for --order {order}, which needs "
            f"{order + FEWEST_WINDOWS:,}; {fix}."
        )
        raise InputError(msg)
    if different > MOST_SYMBOLS:
        msg = (
            f"there are {different:,} different symbols, and at most {MOST_SYMBOLS} are "
            "allowed; merge some of them (--collapse vowels does so with letters)."
        )
        raise InputError(msg)
    if len(set(last[order:])) == 1:
        msg = f"every window is followed by {shown(last[-1])}; lower --order, or raise --train."
        raise InputError(msg)


def _model(order: int, options: SequenceOptions) -> SequenceClassifier:
    return SequenceClassifier(order=order, **options.chains)


def _checked(X: AnyArray, y: AnyArray, options: SequenceOptions) -> Check | None:
    """Fit the first windows and predict the symbols after the others."""
    n_trained = int(SHARE_TRAINED * len(y))
    before, after = np.arange(n_trained), np.arange(n_trained, len(y))
    after = after[np.isin(y[after], y[before])]
    if after.size < FEWEST_CHECKED or np.unique(y[before]).size < 2:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the final fit says what concerns the model
        model = _model(options.order, options).fit(X[before], y[before])
        proba = {f"this model, order {options.order}": model.predict_proba(X[after])}
        if options.order > 1:
            single = _model(1, options).fit(X[before, -1:], y[before])
            proba[PREVIOUS] = single.predict_proba(X[after, -1:])
    counts = np.array([np.sum(y[before] == symbol) for symbol in model.classes_])
    shares = (counts + 1) / (counts.sum() + counts.size)
    proba[FREQUENCIES] = np.tile(shares, (after.size, 1))
    actual = np.searchsorted(model.classes_, y[after])
    loss = {name: -np.log(p[np.arange(after.size), actual]) for name, p in proba.items()}
    first, *others = loss.values()
    return Check(
        n_trained=n_trained,
        n_checked=int(after.size),
        n_new=len(y) - n_trained - int(after.size),
        methods=tuple(
            Scored(name, float(loss[name].mean()), float(np.mean(p.argmax(axis=1) != actual)))
            for name, p in proba.items()
        ),
        gain=_mean_of(others[0] - first),
    )


def _mean_of(values: FloatArray) -> Estimate:
    """Return a mean with an interval, as if the values were independent."""
    mean, error = float(values.mean()), float(values.std(ddof=1) / np.sqrt(values.size))
    return Estimate(mean, error, (mean - 1.96 * error, mean + 1.96 * error), 0.95)
