"""
One estimator to start with
===========================

``HonestClassifier`` tries every model that suits a table on held-out cases, and averages them
with weights learned from these predictions. Here 80 patients have 1,000 measurements in correlated
blocks; naive Bayes after selection is very overconfident.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from honestbayes import HonestClassifier


def patients(n, rng):
    """Return blocks of ten correlated measurements; two blocks differ between classes."""
    ill = rng.permutation(np.arange(n) % 2)
    shared = np.repeat(rng.normal(size=(n, 100)), 10, axis=1)
    X = np.sqrt(0.7) * shared + np.sqrt(0.3) * rng.normal(size=(n, 1000))
    X[:, :20] += 0.7 * ill[:, None]
    return X, ill


rng = np.random.default_rng(0)
X, y = patients(80, rng)
model = HonestClassifier(random_state=0).fit(X, y)

# %%
# What the average is made of. Weights need not sum to 1; slopes far below 1 are of models that
# count what moves together more than once.

print(model.model_table())

# %%
# On new patients: the expected and observed error rates and the log score of each model.

new, actual = patients(4000, rng)
naive = make_pipeline(SelectKBest(f_classif, k=10), GaussianNB()).fit(X, y)
for name, one in {"selected, naive Bayes": naive, "HonestClassifier": model}.items():
    proba = one.predict_proba(new)
    score = -np.log(np.maximum(proba[np.arange(4000), actual], 1e-9)).mean()
    predicted, observed = proba.min(axis=1).mean(), np.mean(proba.argmax(axis=1) != actual)
    print(f"{name}: expected {predicted:.3f}, observed {observed:.3f}, log score {score:.3f}")

# %%
# Among patients with the same predicted probability, how many are ill?

edges = np.linspace(0, 1, 11)
figure, axes = plt.subplots()
axes.plot([0, 1], [0, 1], color="0.7")
for name, one in {"selected, naive Bayes": naive, "HonestClassifier": model}.items():
    predicted = one.predict_proba(new)[:, 1]
    place = np.clip(np.digitize(predicted, edges) - 1, 0, 9)
    there = [b for b in range(10) if np.sum(place == b) >= 20]
    means = [[v[place == b].mean() for b in there] for v in (predicted, actual)]
    axes.plot(*means, marker="o", label=name)
axes.set(xlabel="predicted probability", ylabel="share that is ill")
axes.legend()
plt.show()

# %%
# An interval for each probability carries the disagreement of the models, and what each of them
# does not know.

for proba, (low, high) in zip(
    model.predict_proba(new[:3])[:, 1], model.predict_proba_interval(new[:3]), strict=True
):
    print(f"{proba:.2f} ({low:.2f} to {high:.2f})")
