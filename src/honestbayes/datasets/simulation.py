"""Data simulated from published models, with the true probabilities.

References
----------
Li, L., Zhang, J. and Neal, R. M. (2008). A method for avoiding bias from feature selection with
application to naive Bayes classification models. Bayesian Analysis 3, 171-196. "The paper" below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from honestbayes.types import FloatArray, IntArray

# Rows of X that are drawn or scored at once are limited so that the float temporaries stay small.
_CELLS_AT_ONCE = 4_000_000
# Every probability can be told from 0 and from 1, so that no log-odds is infinite.
_SMALLEST_PHI = 2.0**-53


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedData:
    """A training set and a test set, with the parameters that generated them.

    Attributes
    ----------
    X_train, X_test : ndarray of int8, shape (n_train, n_features) and (n_test, n_features)
        Binary features.
    y_train, y_test : ndarray of int64, shape (n_train,) and (n_test,)
        Classes 0 and 1.
    alpha, theta : ndarray of float64, shape (n_features,)
        The hyperparameters of each feature (the paper, equations 10 and 11).
    phi : ndarray of float64, shape (2, n_features)
        ``phi[c, j]`` is P(feature j is 1 | class c) (the paper, equation 7).
    prevalence : float
        P(class 1) among future cases; the test set follows it.

    Examples
    --------
    >>> data = simulate_naive_bayes(20, 50, n_features=100, random_state=0)
    >>> data.true_proba(data.X_test[:2]).shape, data.prevalence
    ((2,), 0.5)
    """

    X_train: NDArray[np.int8]
    y_train: NDArray[np.int64]
    X_test: NDArray[np.int8]
    y_test: NDArray[np.int64]
    alpha: FloatArray
    theta: FloatArray
    phi: FloatArray
    prevalence: float

    def true_proba(self, X: ArrayLike, columns: ArrayLike | None = None) -> FloatArray:
        """Return the true P(class 1 | x) of each row, given `phi` and the prevalence.

        Parameters
        ----------
        X : array-like of 0, 1 or NaN, shape (n_cases, n_features) or (n_cases, k)
            NaN is missing: the feature is left out of that row's probability.
        columns : array-like of int or bool, optional
            The features that are looked at. X may hold all features or just these, in this order.

        Returns
        -------
        ndarray, shape (n_cases,)
        """
        phi = self.phi if columns is None else self.phi[:, np.asarray(columns)]
        table = np.asarray(X)
        if table.ndim == 2 and columns is not None and table.shape[1] == self.phi.shape[1]:
            table = table[:, np.asarray(columns)]
        if table.ndim != 2 or table.shape[1] != phi.shape[1]:
            raise ValueError(
                f"X has shape {table.shape}; give two dimensions with {phi.shape[1]} columns."
            )
        prior_log_odds = np.log(self.prevalence) - np.log1p(-self.prevalence)
        return np.asarray(expit(prior_log_odds + _log_likelihood_ratio(table, phi)))


def simulate_naive_bayes(
    n_train: int = 200,
    n_test: int = 2000,
    n_features: int = 10_000,
    alpha: ArrayLike = 300.0,
    theta_range: tuple[float, float] = (0.0, 1.0),
    random_state: Any = None,
    *,
    theta: ArrayLike | None = None,
    n_per_class: Sequence[int] | None = None,
    prevalence: float = 0.5,
    class_balance: Literal["fixed", "random"] = "fixed",
) -> SimulatedData:
    """Draw a training and a test set from the binary naive Bayes model.

    The defaults are the experiment of section 4 of the paper: equal numbers of both classes,
    theta_j uniform (equation 10), phi_0j and phi_1j independent Beta(alpha theta_j,
    alpha (1 - theta_j)) (equation 11), features independent given the class (equation 7).

    Parameters
    ----------
    n_train, n_test, n_features : int
        Sizes. The parameters are drawn first, then the training set, so that `n_test` changes
        neither.
    alpha : float or array-like of shape (n_features,)
        How alike the two classes are; a large value means a feature without use.
    theta_range : (float, float)
        Bounds of the uniform distribution of theta.
    random_state : None, int, SeedSequence, Generator
        Whatever ``numpy.random.default_rng`` takes.
    theta : array-like of shape (n_features,), optional
        Given instead of drawn, to plant a distribution of features.
    n_per_class : (int, int), optional
        Training cases of class 0 and class 1, instead of `n_train`.
    prevalence : float
        P(class 1), between 0 and 1.
    class_balance : {"fixed", "random"}
        "fixed": round(n * prevalence) cases are of class 1, in random order. "random": each class
        is drawn on its own, so that a small set may hold one class only.

    Returns
    -------
    SimulatedData

    Notes
    -----
    phi is kept between 2**-53 and 1 - 2**-53, so that every true probability is defined.

    Examples
    --------
    >>> data = simulate_naive_bayes(20, 50, n_features=100, random_state=0)
    >>> data.X_train.shape, data.y_train.sum()
    ((20, 100), np.int64(10))
    >>> data.true_proba(data.X_test, columns=[3, 7]).shape
    (50,)
    """
    _check_sizes(n_train, n_test, n_features, prevalence, class_balance)
    rng = np.random.default_rng(random_state)
    alphas = _per_feature("alpha", alpha, n_features)
    if not np.all((alphas > 0) & np.isfinite(alphas)):
        raise ValueError("alpha holds a value that is not positive and finite; give alpha > 0.")
    thetas = _thetas(theta, theta_range, n_features, rng)
    phi = np.stack([draw_beta(alphas, thetas, rng) for _ in range(2)])
    if n_per_class is not None:
        y_train = _classes_from_counts(n_per_class, rng)
    else:
        y_train = _draw_classes(n_train, prevalence, class_balance, rng)
    X_train = draw_features(y_train, phi, rng)
    y_test = _draw_classes(n_test, prevalence, class_balance, rng)
    X_test = draw_features(y_test, phi, rng)
    return SimulatedData(X_train, y_train, X_test, y_test, alphas, thetas, phi, float(prevalence))


def _check_sizes(
    n_train: int, n_test: int, n_features: int, prevalence: float, class_balance: str
) -> None:
    sizes = {"n_train": n_train, "n_test": n_test, "n_features": n_features}
    for name, size in sizes.items():
        if size < 0:
            raise ValueError(f"{name} is {size}; give 0 or more.")
    if not 0 < prevalence < 1:
        raise ValueError(f"prevalence is {prevalence}; give a number strictly between 0 and 1.")
    if class_balance not in ("fixed", "random"):
        raise ValueError(f"class_balance is {class_balance!r}; give 'fixed' or 'random'.")


def _per_feature(name: str, value: ArrayLike, n_features: int) -> FloatArray:
    values = np.asarray(value, dtype=np.float64)
    if values.shape not in ((), (n_features,)):
        raise ValueError(
            f"{name} has shape {values.shape}; give one number, or one for each of the "
            f"{n_features} features (see n_features)."
        )
    return np.array(np.broadcast_to(values, n_features))


def _thetas(
    theta: ArrayLike | None,
    theta_range: tuple[float, float],
    n_features: int,
    rng: np.random.Generator,
) -> FloatArray:
    if theta is None:
        low, high = theta_range
        if not 0 <= low <= high <= 1:
            raise ValueError(f"theta_range is {theta_range}; give 0 <= low <= high <= 1.")
        return rng.uniform(low, high, n_features)
    thetas = _per_feature("theta", theta, n_features)
    if not np.all((thetas >= 0) & (thetas <= 1)):
        raise ValueError("theta holds a value outside 0 to 1; give probabilities.")
    return thetas


def draw_beta(alpha: FloatArray, theta: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw Beta(alpha theta, alpha (1 - theta)) as a ratio of gamma variates in log space.

    The logs keep the ratio defined where both gamma variates underflow, which is where a plain
    ratio gives NaN.
    """
    log_first = _draw_log_gamma(alpha * theta, rng)
    log_second = _draw_log_gamma(alpha * (1 - theta), rng)
    coin = rng.random(theta.shape) < theta
    with np.errstate(invalid="ignore"):
        phi = expit(log_first - log_second)
    # Both logs overflow only for alpha so small that the distribution is Bernoulli(theta).
    phi = np.where(np.isnan(phi), coin, phi)
    return np.asarray(np.clip(phi, _SMALLEST_PHI, 1 - _SMALLEST_PHI))


def _draw_log_gamma(shape: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw log G, G ~ Gamma(shape); with U uniform, G(a) is G(a + 1) U^(1/a) in distribution."""
    log_uniform = -rng.standard_exponential(shape.shape)
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(np.log(rng.standard_gamma(shape + 1)) + log_uniform / shape)


def _draw_classes(
    n: int, prevalence: float, class_balance: str, rng: np.random.Generator
) -> NDArray[np.int64]:
    if class_balance == "random":
        return (rng.random(n) < prevalence).astype(np.int64)
    n_ones = int(np.floor(n * prevalence + 0.5))
    return _classes_from_counts((n - n_ones, n_ones), rng)


def _classes_from_counts(counts: Sequence[int], rng: np.random.Generator) -> NDArray[np.int64]:
    if len(counts) != 2 or min(counts) < 0:
        raise ValueError(f"n_per_class is {counts}; give two counts that are 0 or more.")
    return rng.permutation(np.repeat(np.arange(2, dtype=np.int64), counts))


def _row_blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    step = max(1, _CELLS_AT_ONCE // max(1, n_columns))
    return (slice(start, start + step) for start in range(0, n_rows, step))


def draw_features(
    y: NDArray[np.int64], phi: FloatArray, rng: np.random.Generator
) -> NDArray[np.int8]:
    """Draw the features of cases, given the class or component of each."""
    X = np.empty((y.size, phi.shape[1]), dtype=np.int8)
    for rows in _row_blocks(*X.shape):
        X[rows] = rng.random(X[rows].shape) < phi[y[rows]]
    return X


def _log_likelihood_ratio(X: NDArray[Any], phi: FloatArray) -> FloatArray:
    """Return log P(x | class 1) - log P(x | class 0) for each row (the paper, equation 7)."""
    if_one = np.log(phi[1]) - np.log(phi[0])
    if_zero = np.log1p(-phi[1]) - np.log1p(-phi[0])
    ratio = np.empty(X.shape[0])
    for rows in _row_blocks(*X.shape):
        block = X[rows].astype(np.float64)
        is_one, is_zero = block == 1, block == 0
        if not np.all(is_one | is_zero | np.isnan(block)):
            raise ValueError("X holds a value other than 0, 1 and NaN; threshold it first.")
        ratio[rows] = is_one @ if_one + is_zero @ if_zero
    return ratio


# --------------------------------------------------------------------------------------------------
# Two-component mixture of binary features (thesis, section 2.4)
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class MixtureData:
    """A training set and a test set from the mixture, with the truth.

    Attributes
    ----------
    X_train, X_test : ndarray of int8 of shape (n, n_features)
        Binary features.
    y_train, y_test : ndarray of int64 of shape (n,)
        Classes 0 and 1.
    z_train, z_test : ndarray of int64 of shape (n,)
        The component of each case, which nobody observes.
    phi : ndarray of shape (2, n_features)
        P(feature = 1) in each component.
    class_1 : tuple of float
        P(class 1) in each component.

    Examples
    --------
    >>> data = simulate_mixture(20, 50, n_features=100, random_state=0)
    >>> data.X_test.shape, data.phi.shape, data.class_1
    ((50, 100), (2, 100), (0.1, 0.9))
    """

    X_train: NDArray[np.int8]
    y_train: NDArray[np.int64]
    X_test: NDArray[np.int8]
    y_test: NDArray[np.int64]
    z_train: NDArray[np.int64]
    z_test: NDArray[np.int64]
    phi: FloatArray
    class_1: tuple[float, float]


def simulate_mixture(
    n_train: int = 200,
    n_test: int = 2000,
    n_features: int = 10_000,
    alpha: float = 300.0,
    class_1: tuple[float, float] = (0.1, 0.9),
    random_state: Any = None,
) -> MixtureData:
    """Draw a training and a test set from the mixture.

    The defaults are the experiment of section 2.4.4 of the thesis: components of equal size in both
    sets, theta uniform, phi of each component Beta(alpha theta, alpha (1 - theta)).

    Parameters
    ----------
    n_train, n_test, n_features : int
        Sizes. `n_test` changes neither the parameters nor the training set.
    alpha : float
        How alike the components are; a large value means features without use.
    class_1 : (float, float)
        P(class 1) in each component.
    random_state : None, int, SeedSequence, Generator
        Whatever ``numpy.random.default_rng`` takes.

    Examples
    --------
    >>> data = simulate_mixture(20, 50, n_features=100, random_state=0)
    >>> data.X_train.shape, data.z_train.sum()
    ((20, 100), np.int64(10))
    """
    if min(n_train, n_test, n_features) < 0 or not alpha > 0:
        raise ValueError("sizes must be 0 or more, and alpha positive.")
    if not all(0 <= share <= 1 for share in class_1):
        raise ValueError(f"class_1 is {class_1}; give two probabilities.")
    rng = np.random.default_rng(random_state)
    theta = rng.random(n_features)
    alphas = np.full(n_features, float(alpha))
    phi = np.stack([draw_beta(alphas, theta, rng) for _ in range(2)])
    sets = []
    for n in (n_train, n_test):
        z = rng.permutation(np.arange(n, dtype=np.int64) % 2)
        y = (rng.random(n) < np.array(class_1)[z]).astype(np.int64)
        sets.append((draw_features(z, phi, rng), y, z))
    (X, y, z), (X_new, y_new, z_new) = sets
    return MixtureData(X, y, X_new, y_new, z, z_new, phi, class_1)


# --------------------------------------------------------------------------------------------------
# Models with interactions (thesis, chapter 3)
# --------------------------------------------------------------------------------------------------


STEPS = {2: 3, 3: 8, 8: 6, 6: 4, 4: 2, 1: 7, 7: 5, 5: 1}
"""The likely steps of the hidden states. The text names two of them, 2 to 3 and 3 to 8, and says
that the first is the only one from an even to an odd state; the others, which stand in figure 3.6
alone, are chosen so that this holds."""


def simulate_hidden_markov(n: int, length: int = 21, *, random_state: Any = None) -> IntArray:
    """Draw binary sequences from a hidden Markov model with eight states (section 3.4.3).

    A hidden state takes its likely step with probability 0.95, and any step otherwise. An even
    state shows 1 with probability 0.95, an odd one 2.

    Parameters
    ----------
    n : int
        Sequences.
    length : int, default=21
        Of each.
    random_state : int or Generator, optional
        Seed.

    Returns
    -------
    ndarray of int of shape (n, length)
        1 and 2.

    Examples
    --------
    >>> simulate_hidden_markov(2, length=8, random_state=0).shape
    (2, 8)
    """
    rng = np.random.default_rng(random_state)
    likely = np.array([0, *(STEPS[state] for state in range(1, 9))])
    hidden = rng.integers(1, 9, n)
    shown = np.empty((n, length), dtype=np.int64)
    for t in range(-20, length):
        hidden = np.where(rng.random(n) < 0.95, likely[hidden], rng.integers(1, 9, n))
        one = (hidden % 2 == 0) == (rng.random(n) < 0.95)
        if t >= 0:
            shown[:, t] = np.where(one, 1, 2)
    return shown


def simulate_cauchy_model(
    n: int, n_features: int = 7, n_levels: int = 3, order: int = 4, *, random_state: Any = None
) -> tuple[IntArray, IntArray]:
    """Draw cases from a logistic model with Cauchy coefficients of interactions (section 3.5.3).

    Coefficients of order o have width 1 / o; the intercept is 0.

    Parameters
    ----------
    n : int
        Cases.
    n_features, n_levels, order : int, default=7, 3, 4
        Features, their categories, and the highest order of interactions.
    random_state : int or Generator, optional
        Seed.

    Returns
    -------
    X : ndarray of int of shape (n, n_features)
        From 1 on.
    y : ndarray of int of shape (n,)
        0 and 1.

    Examples
    --------
    >>> X, y = simulate_cauchy_model(5, random_state=0)
    >>> X.shape, y.shape
    ((5, 7), (5,))
    """
    rng = np.random.default_rng(random_state)
    X = rng.integers(0, n_levels, (n, n_features))
    f = np.zeros(n)
    for o in range(1, order + 1):
        for columns in combinations(range(n_features), o):
            code = np.ravel_multi_index(tuple(X[:, list(columns)].T), (n_levels,) * o)
            f += (rng.standard_cauchy(n_levels**o) / o)[code]
    return X + 1, (rng.random(n) < expit(f)).astype(np.int64)
