"""Decisions: the action with the largest expected benefit for each case.

B(a, c, x) is what action a is worth on case x if its class is c. The best action maximises the sum
of P(c | x) B(a, c, x) over classes (Gidofalvi and Zadrozny, equation 1). Benefits may be the same
for all cases, or differ from case to case: a gift, a price, a dose.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from honestbayes.types import AnyArray, FloatArray, IntArray

_SUM_TOLERANCE = 1e-5


def expected_benefit(proba: ArrayLike, benefits: ArrayLike) -> FloatArray:
    """Return the expected benefit of each action, shape (n, n_actions).

    Parameters
    ----------
    proba : array-like of shape (n, n_classes)
        P(class | x), a column for each class.
    benefits : array-like of shape (n_actions, n_classes) or (n, n_actions, n_classes)
        What an action is worth on a case of a class; the same for all cases, or not.

    Examples
    --------
    >>> from honestbayes.decisions import expected_benefit
    >>> leave, treat = [0, 0], [-1, 9]  # on a case of class 0, and of class 1
    >>> expected_benefit([[0.95, 0.05], [0.5, 0.5]], [leave, treat])
    array([[ 0. , -0.5],
           [ 0. ,  4. ]])
    """
    return _expected(_checked_proba(proba), benefits, "benefits")


def decide(proba: ArrayLike, benefits: ArrayLike) -> IntArray:
    """Return the action with the largest expected benefit, shape (n,).

    Ties go to the first action, so put the default action first.

    Parameters
    ----------
    proba : array-like of shape (n, n_classes)
        P(class | x), a column for each class.
    benefits : array-like of shape (n_actions, n_classes) or (n, n_actions, n_classes)
        What an action is worth on a case of a class.

    Examples
    --------
    Mail a request that costs 0.68 to whom it is worth it, expecting 20 from who gives.

    >>> from honestbayes.decisions import decide, mailing_benefits
    >>> decide([[0.97, 0.03], [0.90, 0.10]], mailing_benefits([20.0, 20.0], cost=0.68))
    array([0, 1])
    """
    return np.asarray(np.argmax(expected_benefit(proba, benefits), axis=1))


def profit(
    y: ArrayLike,
    actions: ArrayLike,
    benefits: ArrayLike,
    *,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the total benefit of actions, given the actual classes.

    Parameters
    ----------
    y : array-like of shape (n,)
        Actual classes.
    actions : array-like of int of shape (n,)
        What was done.
    benefits : array-like of shape (n_actions, n_classes) or (n, n_actions, n_classes)
        What an action is worth on a case of a class, as it turned out.
    classes : array-like of shape (n_classes,), optional
        The labels in the order of the columns. By default 0, 1, ... where y holds a 0 and nothing
        but whole numbers below the number of classes, and otherwise the sorted labels of y.
    sample_weight : array-like of shape (n,), optional
        How many cases each one stands for.

    Examples
    --------
    >>> from honestbayes.decisions import decide, mailing_benefits, profit
    >>> benefits = mailing_benefits([20.0, 15.0, 10.0], cost=1.0)
    >>> actions = decide([[0.9, 0.1], [0.95, 0.05], [0.7, 0.3]], benefits)
    >>> profit([1, 0, 0], actions, benefits)
    18.0
    """
    gained = case_benefits(y, actions, benefits, classes=classes)
    return float(_weights(sample_weight, gained.size) @ gained)


def case_benefits(
    y: ArrayLike, actions: ArrayLike, benefits: ArrayLike, *, classes: ArrayLike | None = None
) -> FloatArray:
    """Return the benefit of the action on each case, shape (n,); parameters as in `profit`."""
    taken = np.asarray(actions)
    if taken.ndim != 1 or (taken.size and taken.dtype.kind not in "iub"):
        msg = "actions must be one whole number for each case: the index of its action."
        raise ValueError(msg)
    worth = _checked_benefits(benefits, taken.size, None, "benefits")
    wrong = (taken < 0) | (taken >= worth.shape[-2])
    if np.any(wrong):
        msg = (
            f"actions holds {taken[wrong][0]}, but benefits has actions 0 to {worth.shape[-2] - 1}."
        )
        raise ValueError(msg)
    codes = _codes(y, classes, worth.shape[-1])
    if codes.size != taken.size:
        msg = f"y has {codes.size} cases, but actions has {taken.size}."
        raise ValueError(msg)
    return _gained(worth, taken.astype(np.int64), codes)


def mailing_benefits(gift: ArrayLike, cost: float) -> FloatArray:
    """Return the benefits of not mailing (0) and mailing (1), shape (n, 2, 2).

    `decide` then mails to those for whom P(donor) times the gift exceeds the cost.

    Parameters
    ----------
    gift : array-like of shape (n,)
        What each person gives, or is expected to give, if asked and a donor (class 1).
    cost : float
        Of asking one person.

    Examples
    --------
    >>> from honestbayes.decisions import mailing_benefits
    >>> mailing_benefits([20.0], cost=0.5)[0]
    array([[ 0. ,  0. ],
           [-0.5, 19.5]])
    """
    given = np.asarray(gift, dtype=float)
    if given.ndim != 1 or not np.isfinite(given).all():
        msg = "gift must be one finite number for each case."
        raise ValueError(msg)
    if np.ndim(cost) or not np.isfinite(cost):
        msg = f"cost={cost!r} is not a finite number."
        raise ValueError(msg)
    result = np.zeros((given.size, 2, 2))
    result[:, 1, 0] = -cost
    result[:, 1, 1] = given - cost
    return result


@dataclass(frozen=True, slots=True, eq=False)
class ProfitCurve:
    """Profit by the number of cases acted on, the most promising first.

    Attributes
    ----------
    acted_on : ndarray of shape (1 + n,)
        Cases that are acted on, from none to all; by weight.
    profit : ndarray of shape (1 + n,)
        Actual profit.
    expected : ndarray of shape (1 + n,)
        Expected profit, by the probabilities.
    chosen : int
        Index from which one more case has an expected loss: what `decide` does.
    """

    acted_on: FloatArray
    profit: FloatArray
    expected: FloatArray
    chosen: int

    @property
    def best(self) -> int:
        """Index of the largest profit, which is known only in hindsight."""
        return int(np.argmax(self.profit))

    def at(self, budget: float) -> float:
        """Return the profit when at most ``budget`` cases can be acted on."""
        if not budget >= 0:
            msg = f"budget={budget!r} is not a number of 0 or more."
            raise ValueError(msg)
        # Sums of weights are not exact: 0.1 + 0.1 + 0.1 is more than 0.3.
        index = int(np.searchsorted(self.acted_on, budget * (1 + 1e-12), side="right")) - 1
        return float(self.profit[min(index, self.chosen)])


def profit_curve(
    y: ArrayLike,
    proba: ArrayLike,
    expected_benefits: ArrayLike,
    actual_benefits: ArrayLike | None = None,
    *,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> ProfitCurve:
    """Return the profit by budget, for two actions: 0 leaves a case alone, 1 acts on it.

    Parameters
    ----------
    y : array-like of shape (n,)
        Actual classes.
    proba : array-like of shape (n, n_classes)
        P(class | x).
    expected_benefits : array-like of shape (2, n_classes) or (n, 2, n_classes)
        Benefits as they are known beforehand; they decide the order.
    actual_benefits : array-like of the same kind, optional
        Benefits as they turned out; by default the expected ones.
    classes : array-like of shape (n_classes,), optional
        The labels in the order of the columns, as in `profit`.
    sample_weight : array-like of shape (n,), optional
        How many cases each one stands for.

    Notes
    -----
    Cases with equal expected benefits are taken in the order of the rows.

    Examples
    --------
    >>> from honestbayes.decisions import mailing_benefits, profit_curve
    >>> proba = [[0.9, 0.1], [0.99, 0.01], [0.7, 0.3]]
    >>> curve = profit_curve([0, 0, 1], proba, mailing_benefits([20.0, 20.0, 20.0], cost=1.0))
    >>> curve.chosen, curve.profit.tolist()
    (2, [0.0, 19.0, 18.0, 17.0])
    """
    p = _checked_proba(proba)
    n, n_classes = p.shape
    expected = _expected(p, expected_benefits, "expected_benefits")
    if actual_benefits is None:
        actual = np.asarray(expected_benefits, dtype=float)
    else:
        actual = _checked_benefits(actual_benefits, n, n_classes, "actual_benefits")
    for name, size in (("expected", expected.shape[1]), ("actual", actual.shape[-2])):
        if size != 2:
            msg = f"a profit curve needs two actions, but {name}_benefits has {size}."
            raise ValueError(msg)
    codes = _codes(y, classes, n_classes)
    if codes.size != n:
        msg = f"y has {codes.size} cases, but proba has {n} rows."
        raise ValueError(msg)
    alone, acted = (_gained(actual, np.full(n, action), codes) for action in (0, 1))
    gain = expected[:, 1] - expected[:, 0]
    weight = _weights(sample_weight, n)
    order = np.argsort(-gain, kind="stable")

    def running(values: FloatArray, start: float) -> FloatArray:
        return start + np.concatenate([[0.0], np.cumsum((weight * values)[order])])

    return ProfitCurve(
        running(np.ones(n), 0.0),
        running(acted - alone, float(weight @ alone)),
        running(gain, float(weight @ expected[:, 0])),
        int(np.count_nonzero(gain > 0)),
    )


def _expected(p: FloatArray, benefits: ArrayLike, name: str) -> FloatArray:
    """Return the expected benefits; equal benefits give results that are equal to the last bit."""
    worth = _checked_benefits(benefits, p.shape[0], p.shape[1], name)
    return np.asarray((p[:, None, :] * worth).sum(axis=-1))


def _gained(worth: FloatArray, taken: IntArray, codes: IntArray) -> FloatArray:
    """Return the benefit of each case's action, its class being known."""
    if worth.ndim == 2:
        return np.asarray(worth[taken, codes])
    return np.asarray(worth[np.arange(codes.size), taken, codes])


def _weights(sample_weight: ArrayLike | None, n: int) -> FloatArray:
    if sample_weight is None:
        return np.ones(n)
    weight = np.asarray(sample_weight, dtype=float)
    if weight.shape != (n,) or not np.all((weight >= 0) & (weight < np.inf)):
        msg = f"sample_weight must be {n} finite numbers of 0 or more."
        raise ValueError(msg)
    return weight


def _checked_proba(proba: ArrayLike) -> FloatArray:
    p = np.asarray(proba, dtype=float)
    if p.ndim != 2 or p.shape[1] < 2:
        msg = f"proba has shape {p.shape}; give one row for each case and a column for each class."
        raise ValueError(msg)
    # Written so that NaN fails too.
    if not (np.all(p >= 0) and np.all(np.abs(p.sum(axis=1) - 1) < _SUM_TOLERANCE)):
        msg = "proba must hold probabilities that sum to 1 in each row."
        raise ValueError(msg)
    return p


def _checked_benefits(benefits: ArrayLike, n: int, n_classes: int | None, name: str) -> FloatArray:
    """Return benefits of the right shape; without a number of classes any will do."""
    worth = np.asarray(benefits, dtype=float)
    fits = worth.ndim == 2 or (worth.ndim == 3 and worth.shape[0] == n)
    if not fits or worth.shape[-2] < 1 or worth.shape[-1] != (n_classes or worth.shape[-1]):
        last = "n_classes" if n_classes is None else n_classes
        msg = (
            f"{name} has shape {worth.shape}; give (n_actions, {last}), or, if they differ from "
            f"case to case, ({n}, n_actions, {last})."
        )
        raise ValueError(msg)
    if not np.isfinite(worth).all():
        msg = f"{name} must be finite numbers."
        raise ValueError(msg)
    return worth


def _codes(y: ArrayLike, classes: ArrayLike | None, n_classes: int) -> IntArray:
    """Return the column of each case's class."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        msg = f"y has shape {labels.shape}; give one label for each case."
        raise ValueError(msg)
    known = _labels(labels, n_classes) if classes is None else np.atleast_1d(classes)
    names = known.tolist()
    column = {} if known.ndim != 1 else {label: index for index, label in enumerate(names)}
    if not len(names) == len(column) == n_classes:
        msg = (
            f"there are {n_classes} classes, but the labels are {names}; give classes: a label for "
            "each, in the order of the columns."
        )
        raise ValueError(msg)
    # NaN differs from itself.
    strange = [label for label in labels.tolist() if label not in column or label != label]
    if strange:
        msg = f"y holds {strange[0]!r}, which is not among the classes {names}."
        raise ValueError(msg)
    return np.array([column[label] for label in labels.tolist()], dtype=np.int64)


def _labels(labels: AnyArray, n_classes: int) -> AnyArray:
    """Return the labels in the order of the columns, where they are not given."""
    if not labels.size or labels.dtype.kind == "b":
        return np.arange(n_classes)
    try:
        present = np.unique(labels)
    except TypeError:
        msg = "y holds labels that cannot be sorted: give classes, in the order of the columns."
        raise ValueError(msg) from None
    is_whole = labels.dtype.kind in "iu" and present[-1] < n_classes
    if is_whole and present[0] == 0:
        return np.arange(n_classes)
    if is_whole and present[0] > 0 and present.size < n_classes:
        msg = (
            f"y holds {present.tolist()}, which may be columns or labels: give classes, in the "
            "order of the columns."
        )
        raise ValueError(msg)
    return present
