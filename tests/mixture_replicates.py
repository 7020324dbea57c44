"""Data sets drawn from the mixture's prior, fitted with and without the correction."""

import warnings

import numpy as np

from honestbayes import SelectiveMixture

N, N_TEST, P, K = 60, 300, 2000, 10
ALPHA_PRIOR = (2.0, 300.0)
RESPONSE_PRIOR = (2.0, 1.0)
PSEUDOCOUNTS = (10.0, 10.0)
"""Weak signals, components of about the same size that have to do with the class; the models are
given the same priors."""

CHAINS = {"n_chains": 2, "n_draws": 150, "n_warmup": 30, "n_doublings": 0, "thin": 5}


def draw_all(seed, fewest=1):
    """Training and test cases from the prior; drawn again where a class has too few cases."""
    rng = np.random.default_rng([2007, seed])
    while True:
        psi = rng.beta(PSEUDOCOUNTS[1], PSEUDOCOUNTS[0])
        alpha = ALPHA_PRIOR[1] / rng.gamma(ALPHA_PRIOR[0])
        alpha_0 = RESPONSE_PRIOR[1] / rng.gamma(RESPONSE_PRIOR[0])
        theta = rng.random(P + 1)
        mass = np.concatenate([[alpha_0], np.full(P, alpha)])
        phi = rng.beta(mass * theta, mass * (1 - theta), size=(2, P + 1))
        z = (rng.random(N + N_TEST) < psi).astype(int)
        cells = (rng.random((N + N_TEST, P + 1)) < phi[z]).astype(np.int8)
        y = cells[:N, 0]
        if fewest <= y.sum() <= N - fewest:
            truth = {"psi": psi, "phi": phi, "alpha": alpha, "alpha_0": alpha_0}
            truth["class_1"] = (1 - psi) * phi[0, 0] + psi * phi[1, 0]
            return cells[:, 1:], cells[:, 0].astype(int), truth


def true_class_1(X, columns, psi, phi):
    """P(class 1 | the kept features) with all parameters known."""
    kept = phi[:, 1:][:, columns]
    ones = X[:, columns]
    log_z = np.log([1 - psi, psi]) + ones @ np.log(kept).T + (1 - ones) @ np.log1p(-kept).T
    weight = np.exp(log_z - log_z.max(axis=1, keepdims=True))
    return (weight @ phi[:, 0]) / weight.sum(axis=1)


CORRECTIONS = {"corrected": "selection", "uncorrected": None}


def optimism(seeds, names=tuple(CORRECTIONS), **params):
    """Actual minus expected error of both models, or of one, an entry for each seed."""
    found = {name: [] for name in names}
    for seed in seeds:
        X, y, truth = draw_all(seed, fewest=5)
        for name in names:
            model = SelectiveMixture(
                n_features_to_select=K,
                correction=CORRECTIONS[name],
                class_pseudocounts=PSEUDOCOUNTS,
                alpha_prior=ALPHA_PRIOR,
                response_prior=RESPONSE_PRIOR,
                random_state=seed,
                **CHAINS,
                **params,
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # short chains: their noise averages out
                model.fit(X[:N], y[:N])
            predicted = model.predict_proba(X[N:])[:, 1]
            columns = list(model.selection_.columns)
            actual = true_class_1(X[N:], columns, truth["psi"], truth["phi"])
            wrong = np.where(predicted >= 0.5, 1 - actual, actual)
            found[name].append(float(np.mean(wrong - np.minimum(predicted, 1 - predicted))))
    return {name: np.array(values) for name, values in found.items()}
