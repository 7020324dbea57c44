"""
Groups that nobody recorded
===========================

Patients are of two subtypes that nobody has recorded. Most findings depend on the subtype, and so
does the outcome, but not perfectly. Naive Bayes takes every finding for new evidence of the
outcome; the mixture knows that they all say the same thing.
"""

# %%
# A made-up study: 100 patients, 1,000 findings of which the best ten are kept; 2,000 new patients.

import matplotlib.pyplot as plt

from honestbayes import SelectiveBernoulliNB, SelectiveMixture
from honestbayes.datasets import simulate_mixture
from honestbayes.metrics import summarise
from honestbayes.plots import ReliabilityDisplay, TraceDisplay

data = simulate_mixture(100, 2000, 1000, alpha=6.0, class_1=(0.15, 0.85), random_state=2)
naive = SelectiveBernoulliNB(n_features_to_select=10, recalibrate=None, random_state=0)
naive = naive.fit(data.X_train, data.y_train)
mixture = SelectiveMixture(n_features_to_select=10, random_state=0)
mixture = mixture.fit(data.X_train, data.y_train)

# %%
# Expected and observed error rates. Both models err about as often; only one is calibrated.

expected = {
    "naive Bayes, corrected": naive.predict_proba(data.X_test)[:, 1],
    "mixture, corrected": mixture.predict_proba(data.X_test)[:, 1],
}
for name, p in expected.items():
    found = summarise(data.y_test, p)
    print(
        f"{name:<24} expected error rate {found.expected_error:.1%}, observed "
        f"{found.actual_error.value:.1%}; log score {found.log_score.value:.3f}; "
        f"slope {found.calibration.slope:.2f}"
    )

figure, ax = plt.subplots(figsize=(4.6, 4.6), layout="constrained")
ReliabilityDisplay.from_predictions(data.y_test, expected, n_bins=8, ax=ax)

# %%
# The groups that it found, and whether the chains agree: they start from labels equal to the
# outcome, from random labels, and from a single group.

print(mixture.components())
print(mixture.diagnostics_)
TraceDisplay.from_estimator(mixture, "log_alpha")
plt.show()
