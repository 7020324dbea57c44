"""Data sets drawn from the prior of three components and three classes, fitted twice each."""

import warnings

import numpy as np

from honestbayes import SelectiveMixture

N, N_TEST, P, K_KEPT = 60, 300, 1000, 10
N_COMPONENTS = N_CLASSES = 3
ALPHA_PRIOR = (2.0, 300.0)
RESPONSE_PRIOR = (2.0, 1.0)
PSEUDOCOUNT = 10.0
"""Weak signals, components of about the same size that have to do with the class; the models are
given the same priors."""

CHAINS = {"n_chains": 2, "n_draws": 150, "n_warmup": 30, "n_doublings": 0, "thin": 5}


def draw_all(seed, fewest=5):
    """Training and test cases from the prior; drawn again where a class has too few cases."""
    rng = np.random.default_rng([2054, seed])
    while True:
        psi = rng.dirichlet(np.full(N_COMPONENTS, PSEUDOCOUNT))
        alpha = ALPHA_PRIOR[1] / rng.gamma(ALPHA_PRIOR[0])
        alpha_0 = RESPONSE_PRIOR[1] / rng.gamma(RESPONSE_PRIOR[0])
        theta, theta_0 = rng.random(P), rng.dirichlet(np.ones(N_CLASSES))
        phi = rng.beta(alpha * theta, alpha * (1 - theta), size=(N_COMPONENTS, P))
        phi = np.clip(phi, 1e-12, 1 - 1e-12)  # logarithms are taken
        of_class = rng.dirichlet(np.maximum(alpha_0 * theta_0, 1e-6), size=N_COMPONENTS)
        z = rng.choice(N_COMPONENTS, N + N_TEST, p=psi)
        X = (rng.random((N + N_TEST, P)) < phi[z]).astype(np.int8)
        y = (rng.random(N + N_TEST)[:, None] > np.cumsum(of_class[z], axis=1)[:, :-1]).sum(axis=1)
        if np.bincount(y[:N], minlength=N_CLASSES).min() >= fewest:
            return X, y, {"psi": psi, "phi": phi, "of_class": of_class}


def true_probabilities(X, columns, truth):
    """P(class | the kept features) with all parameters known."""
    phi, ones = truth["phi"][:, columns], X[:, columns]
    log_z = np.log(truth["psi"]) + ones @ np.log(phi).T + (1 - ones) @ np.log1p(-phi).T
    weight = np.exp(log_z - log_z.max(axis=1, keepdims=True))
    return weight @ truth["of_class"] / weight.sum(axis=1, keepdims=True)


def optimism(seeds):
    """Actual minus expected error of both models, one entry for each seed."""
    found = {"corrected": [], "uncorrected": []}
    for seed in seeds:
        X, y, truth = draw_all(seed)
        for name, correction in {"corrected": "selection", "uncorrected": None}.items():
            model = SelectiveMixture(
                n_features_to_select=K_KEPT,
                n_components=N_COMPONENTS,
                correction=correction,
                class_pseudocounts=PSEUDOCOUNT,
                alpha_prior=ALPHA_PRIOR,
                response_prior=RESPONSE_PRIOR,
                random_state=seed,
                **CHAINS,
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # short chains: their noise averages out
                model.fit(X[:N], y[:N])
            predicted = model.predict_proba(X[N:])
            actual = true_probabilities(X[N:], list(model.selection_.columns), truth)
            chosen = predicted.argmax(axis=1)[:, None]
            right = np.take_along_axis(actual, chosen, axis=1)
            found[name].append(float(np.mean(predicted.max(axis=1) - right[:, 0])))
    return {name: np.array(values) for name, values in found.items()}
