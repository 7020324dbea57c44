"""Data simulated from the two-component mixture of binary features (thesis, section 2.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honestbayes.datasets.simulation import draw_beta, draw_features
from honestbayes.types import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class MixtureData:
    """A training set, a test set, and the truth behind both.

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
