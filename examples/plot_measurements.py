"""
Continuous features
===================

Real-valued features, three classes, and a correction for having kept the ten best of 2,000. The
expected and observed error rates for new cases are compared over ten data sets.
"""

# %%
# Three classes, 60 cases, 2,000 measurements, 20 of which differ between the classes.

import matplotlib.pyplot as plt
import numpy as np

from honestbayes import SelectiveGaussianNB


def draw(seed):
    """Return training and new cases."""
    rng = np.random.default_rng(seed)
    y, y_new = np.arange(60) % 3, rng.integers(0, 3, 1000)
    means = np.zeros((3, 2000))
    means[:, :20] = 0.5 * rng.normal(size=(3, 20))
    X, X_new = (means[k] + rng.normal(size=(k.size, 2000)) for k in (y, y_new))
    return X, y, X_new, y_new


models = {
    "uncorrected": SelectiveGaussianNB(
        feature_prior="heavy-tailed", correction=None, recalibrate=None
    ),
    "corrected": SelectiveGaussianNB(recalibrate=None),
}
for name, model in models.items():
    predicted, right = [], []
    for seed in range(10):
        X, y, X_new, y_new = draw(seed)
        p = model.fit(X, y).predict_proba(X_new)
        predicted.append(p.max(axis=1).mean())
        right.append(np.mean(p.argmax(axis=1) == y_new))
    print(f"{name:12} expected accuracy {np.mean(predicted):.0%}, observed {np.mean(right):.0%}")

# %%
# How much signal to expect is learned from all 2,000 measurements. Here is what the last data set
# taught: most of them are uninformative.

posterior = models["corrected"].posterior_
figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.bar(range(posterior.ratio.size), posterior.weights[0], color="#0072B2")
ticks = range(0, posterior.ratio.size, 5)
ax.set_xticks(ticks, [f"{posterior.ratio[t]:.2g}" for t in ticks])
ax.set_xlabel("signal ratio w")
ax.set_ylabel("share of the features")
