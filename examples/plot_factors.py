"""
Correlated features
===================

Sixty cases, two thousand measurements, and two causes that nobody measured: each cause moves
hundreds of measurements at once. Naive Bayes counts the shared evidence many times. The
factor classifier models the correlation.
"""

# %%
# The data. Each measurement loads on the causes; ten of them also differ between the classes.

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from honestbayes import SelectiveFactorClassifier, SelectiveGaussianNB
from honestbayes.metrics import summarise
from honestbayes.plots import ReliabilityDisplay, TraceDisplay

rng = np.random.default_rng(0)
n, n_new, p = 60, 4000, 2000
loadings = rng.normal(size=(2, p)) * (rng.random((2, p)) < 0.4)
effect = np.where(np.arange(p) < 10, 0.6, 0.0)


def draw(n_cases):
    """Return measurements and classes."""
    y = np.arange(n_cases) % 2
    causes = rng.normal(size=(n_cases, 2))
    return causes @ loadings + effect * y[:, None] + rng.normal(size=(n_cases, p)), y


X, y = draw(n)
X_new, y_new = draw(n_new)

# %%
# Three models keep the same thirty measurements. None has a slope, so that each says what it
# believes.

words = {"n_features_to_select": 30, "recalibrate": None}
models = {
    "naive Bayes, uncorrected": SelectiveGaussianNB(correction=None, **words),
    "naive Bayes, corrected": SelectiveGaussianNB(**words),
    "factors, corrected": SelectiveFactorClassifier(
        n_factors=2, n_chains=2, random_state=0, n_jobs=2, **words
    ),
}
proba = {}
for name, model in models.items():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # two short chains
        proba[name] = model.fit(X, y).predict_proba(X_new)
    found = summarise(y_new, proba[name][:, 1])
    print(
        f"{name:26s} expects an error rate of {found.expected_error:.3f}, observed "
        f"{found.actual_error.value:.3f}; log score {found.log_score.value:.3f}"
    )

# %%
# Predicted and observed frequencies:

ReliabilityDisplay.from_predictions(y_new, {name: p[:, 1] for name, p in proba.items()})

# %%
# Draws of Markov chains should be looked at. The scores of the causes turn freely, so chains are
# judged by numbers that do not turn:

factors = models["factors, corrected"]
print(factors.diagnostics_)
TraceDisplay.from_estimator(factors)
