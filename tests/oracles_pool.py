"""The log-linear pool and its weights, written out slowly; shares no code with the package."""

import numpy as np
from scipy.optimize import minimize


def pooled(probabilities, weights, prior):
    """P(class | x) from those of several models, case by case."""
    result = []
    for case in range(probabilities.shape[1]):
        total = np.log(prior)
        for model, weight in enumerate(weights):
            total = total + weight * (np.log(probabilities[model, case]) - np.log(prior))
        result.append(np.exp(total) / np.exp(total).sum())
    return np.array(result)


def weights(probabilities, labels, prior, shares, worth, spread):
    """The weights of the highest posterior density, by a general optimiser."""

    def loss(logs):
        w = np.exp(logs)
        said = pooled(probabilities, w, prior)[np.arange(len(labels)), labels]
        return -worth * np.log(said).sum() + ((w - shares) ** 2).sum() / (2 * spread**2)

    start = np.log(shares)
    found = minimize(
        loss, start, method="Nelder-Mead", options={"maxiter": 20000, "fatol": 1e-13, "xatol": 1e-8}
    )
    return np.exp(found.x)
