"""Multinomial logistic regressions on all columns, with the penalty tuned by log score."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import sklearn
from scipy.sparse import issparse
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import check_cv
from sklearn.svm import l1_min_c
from sklearn.utils.fixes import parse_version

from honestbayes.data.kinds import KindsInOrder
from honestbayes.evaluation.baselines.task import InnerFolds, Task, standardised
from honestbayes.types import AnyArray, BoolArray, FloatArray

# --------------------------------------------------------------------------------------------------
# Multinomial logistic regression with an L1 penalty, along a path of penalties
#
# Most columns have no coefficient at any useful penalty. So coordinate descent runs on the active
# columns alone; the Karush-Kuhn-Tucker conditions are then checked for all columns, and those that
# violate them most become active, until none does. The solution is exact, at the cost of a few
# columns.
# --------------------------------------------------------------------------------------------------


TOLERANCE = 1e-7
"""Of the gain in mean log loss at which coordinate descent stops."""

MOST_ROUNDS = 500

SLACK = 1e-3
"""Share of the penalty by which a gradient may exceed it before its column becomes active."""

AT_ONCE = 20
"""Columns that become active before the next solution."""


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """Scores of classes that are linear in the columns.

    Attributes
    ----------
    coefficients : ndarray, shape (C, p)
        Of each class and column.
    intercepts : ndarray, shape (C,)
        Of each class.
    """

    coefficients: FloatArray
    intercepts: FloatArray

    def log_proba(self, columns: FloatArray) -> FloatArray:
        """Return log P(class | x), shape (n, C)."""
        scores = columns @ self.coefficients.T + self.intercepts
        return np.asarray(log_softmax(scores, axis=1), dtype=np.float64)


def strongest_penalty(columns: FloatArray, is_class: FloatArray) -> float:
    """Return the least penalty that leaves no column."""
    gaps = is_class - is_class.mean(axis=1, keepdims=True)
    return float(np.max(np.abs(gaps @ columns), initial=0.0) / columns.shape[0])


def indicators(y: AnyArray, classes: AnyArray) -> FloatArray:
    """Return 1 where a case is of a class, shape (C, n)."""
    return np.asarray(classes[:, None] == np.asarray(y), dtype=np.float64)


def l1_path(columns: FloatArray, is_class: FloatArray, penalties: FloatArray) -> Iterator[Linear]:
    """Yield the solution at each penalty, the strongest first, each from the one before.

    Parameters
    ----------
    columns : ndarray, shape (n, p)
        Standardised columns.
    is_class : ndarray, shape (C, n)
        1 where a case is of the class; each class has a case.
    penalties : ndarray
        On the sum of absolute coefficients, with the mean log loss; falling.
    """
    across = np.ascontiguousarray(columns.T)
    shares = is_class.mean(axis=1)
    solution = Linear(np.zeros((shares.size, across.shape[0])), np.log(shares))
    for penalty in penalties.tolist():
        inside = np.any(solution.coefficients != 0, axis=0)
        while True:
            solution = _solved(across, is_class, penalty, solution, inside)
            gradient = np.max(np.abs(_gradient(columns, is_class, solution)), axis=0, initial=0.0)
            broken = np.flatnonzero((gradient > penalty * (1 + SLACK)) & ~inside)
            if not broken.size:
                break
            inside[broken[np.argsort(-gradient[broken], kind="stable")[:AT_ONCE]]] = True
        yield solution


def _gradient(columns: FloatArray, is_class: FloatArray, solution: Linear) -> FloatArray:
    scores = columns @ solution.coefficients.T + solution.intercepts
    proba = np.asarray(softmax(scores, axis=1))
    return np.asarray((proba.T - is_class) @ columns / columns.shape[0])


def _solved(
    across: FloatArray, is_class: FloatArray, penalty: float, start: Linear, inside: BoolArray
) -> Linear:
    """Return the solution over the columns that are inside; the others have none."""
    from honestbayes.evaluation.baselines.kernels import minimise

    within = np.ascontiguousarray(start.coefficients[:, inside])
    intercepts = start.intercepts.copy()
    minimise(across[inside], is_class, penalty, within, intercepts, TOLERANCE, MOST_ROUNDS)
    coefficients = np.zeros_like(start.coefficients)
    coefficients[:, inside] = within
    return Linear(coefficients, intercepts)


WEAKER_PENALTIES = np.logspace(0.1, 3, 10)
"""How much weaker than the one that leaves no feature the L1 penalties are that are tried."""

EVEN_WEAKER = np.logspace(0.1, 4, 13)
"""The same for more than two classes, where it stops once weaker ones are worse."""

PRIOR_VARIANCES = np.logspace(-2, 4, 8)
"""Variances of the score of a case, under the prior that an L2 penalty stands for."""

MANY_CELLS = 1 << 20
"""Cells from which on the L1 path of two classes is found by our own solver too: liblinear goes
through all columns at every step, and takes ten times as long on 640 cases with 100,000."""

MOST_TO_ROTATE = 2000
"""Cases up to which columns that outnumber them are rotated before the L2 penalty is tuned."""

PATIENCE = 2
"""Penalties in a row that are worse on held-out cases, after which weaker ones are not tried."""


def l1_logistic(task: Task) -> InnerFolds:
    """Return the L1 logistic regression for a task."""
    return InnerFolds(L1Logistic(seed=task.seed, kinds=task.kinds), seed=task.seed)


def l2_logistic(task: Task) -> InnerFolds:
    """Return the L2 logistic regression for a task."""
    return InnerFolds(L2Logistic(kinds=task.kinds), seed=task.seed)


class L1Logistic(ClassifierMixin, BaseEstimator):
    """L1 logistic regression on standardised columns, its penalty tuned by log score.

    A categorical column becomes one column for each category. Two classes: liblinear. More classes,
    or more than a million cells: one multinomial model of all classes, by coordinate descent, which
    for two classes is the same problem.
    """

    def __init__(self, *, cv: Any = 5, seed: int = 0, kinds: KindsInOrder | None = None) -> None:
        self.cv = cv
        self.seed = seed
        self.kinds = kinds

    def fit(self, X: Any, y: Any) -> Self:
        """Standardise, and try penalties weaker than the one that leaves no feature."""
        self.classes_ = np.unique(y)
        self.prepare_ = standardised(X, self.kinds)
        columns = self.prepare_.fit_transform(X)
        two = self.classes_.size == 2
        self.linear_ = None
        if two and (issparse(columns) or columns.size < MANY_CELLS):
            self.model_ = self._of_two_classes(columns, y).fit(columns, y)
        else:
            weaker = WEAKER_PENALTIES if two else EVEN_WEAKER
            self.linear_ = _tuned_multinomial(_dense(columns), y, self.cv, weaker)
        return self

    def _of_two_classes(self, columns: Any, y: AnyArray) -> LogisticRegressionCV:
        return LogisticRegressionCV(
            Cs=_least_inverse(columns, y) * WEAKER_PENALTIES,
            cv=self.cv,
            solver="liblinear",
            scoring=log_score,
            # liblinear penalises the intercept too; scaled up, it hardly does.
            intercept_scaling=10.0,
            tol=1e-3,
            max_iter=300,
            random_state=self.seed,
            **_penalty_words(1.0),
        )

    def predict_proba(self, X: Any) -> FloatArray:
        """Return P(class | x), shape (n, C)."""
        columns = self.prepare_.transform(X)
        if self.linear_ is None:
            result: FloatArray = self.model_.predict_proba(columns)
            return result
        return np.asarray(np.exp(self.linear_.log_proba(_dense(columns))))


def log_score(model: Any, X: Any, y: AnyArray) -> float:
    """Return the mean log probability of the actual classes.

    What scikit-learn's "neg_log_loss" returns, without checking the same arrays again at every
    penalty, which took most of the time on small tables.
    """
    scores = np.asarray(model.decision_function(X))
    if scores.ndim == 1:
        scores = np.stack([np.zeros(scores.size), scores], axis=1)
    actual = np.searchsorted(model.classes_, y)
    return float(log_softmax(scores, axis=1)[np.arange(actual.size), actual].mean())


def _dense(columns: Any) -> FloatArray:
    """Return columns as the multinomial solver goes through them."""
    whole: Any = columns
    return np.asarray(whole.toarray() if issparse(columns) else whole, dtype=np.float64)


def _tuned_multinomial(columns: FloatArray, y: AnyArray, cv: Any, weaker: FloatArray) -> Linear:
    """Return the multinomial model whose penalty is best on held-out cases."""
    classes, codes = np.unique(y, return_inverse=True)
    is_class = indicators(y, classes)
    strongest = strongest_penalty(columns, is_class)
    # Columns that do not vary with the class have no coefficient at any penalty.
    penalties = (strongest if strongest > 0 else 1.0) / weaker
    splits = list(check_cv(cv, y, classifier=True).split(columns, y))
    paths = [l1_path(columns[train], is_class[:, train], penalties) for train, _ in splits]
    losses: list[float] = []
    for models in zip(*paths, strict=True):
        lost = [
            -model.log_proba(columns[test])[np.arange(test.size), codes[test]].sum()
            for model, (_, test) in zip(models, splits, strict=True)
        ]
        losses.append(float(np.sum(lost)))
        if len(losses) - 1 - int(np.argmin(losses)) >= PATIENCE:
            break
    chosen = int(np.argmin(losses))
    *_, model = l1_path(columns, is_class, penalties[: chosen + 1])
    return model


def _least_inverse(columns: Any, y: AnyArray) -> float:
    """Return the inverse of the least penalty that leaves no feature."""
    try:
        # Columns that rounding alone keeps from being orthogonal to the class would ask for none.
        return min(1e3, float(l1_min_c(columns, y, loss="log")))
    except ValueError:  # none correlates with the class: any penalty leaves no feature
        return 1.0


def _penalty_words(l1: float) -> dict[str, Any]:
    """Ask for the L1 (1) or L2 (0) penalty in the words of the installed scikit-learn."""
    if parse_version(sklearn.__version__) < parse_version("1.8"):
        return {"penalty": "l1" if l1 else "l2"}
    return {"l1_ratios": (l1,), "use_legacy_attributes": False}


class L2Logistic(ClassifierMixin, BaseEstimator):
    """L2 logistic regression on standardised columns, its penalty tuned by log score.

    Where columns outnumber cases they are first rotated to the cases' principal coordinates, of
    which there are no more than cases. Coefficients orthogonal to all cases would only add to the
    penalty, so the solution is the same, and so it is in every inner fold.
    """

    def __init__(self, *, cv: Any = 5, kinds: KindsInOrder | None = None) -> None:
        self.cv = cv
        self.kinds = kinds

    def fit(self, X: Any, y: Any) -> Self:
        """Standardise, rotate, and try penalties."""
        self.classes_ = np.unique(y)
        self.prepare_ = standardised(X, self.kinds)
        columns = self.prepare_.fit_transform(X)
        n, width = columns.shape
        self.rotation_ = None
        if not issparse(columns) and n < width and n <= MOST_TO_ROTATE:
            self.rotation_ = principal_axes(columns)
        self.model_ = LogisticRegressionCV(
            # The score of a case is a sum over columns of variance 1.
            Cs=PRIOR_VARIANCES / width,
            cv=self.cv,
            scoring=log_score,
            tol=1e-4,
            max_iter=1000,
            **_penalty_words(0.0),
        ).fit(self._rotated(columns), y)
        return self

    def _rotated(self, columns: Any) -> Any:
        return columns if self.rotation_ is None else columns @ self.rotation_

    def predict_proba(self, X: Any) -> FloatArray:
        """Return P(class | x), shape (n, C)."""
        result: FloatArray = self.model_.predict_proba(self._rotated(self.prepare_.transform(X)))
        return result


def principal_axes(columns: FloatArray) -> FloatArray:
    """Return an orthonormal basis of the space of the rows, shape (p, rank).

    From the products of cases, of which there are few, in a fifth of the time of a singular value
    decomposition. Directions in which cases differ by less than 1e-7 of the longest are lost in
    rounding; no penalty that is tried gives them weight.
    """
    squares, cases = np.linalg.eigh(columns @ columns.T)
    kept = squares > squares.max(initial=0.0) * 1e-14
    if not kept.any():
        return np.zeros((columns.shape[1], 1))
    return np.ascontiguousarray(columns.T @ (cases[:, kept] / np.sqrt(squares[kept])))
