"""
Features that depend on each other
==================================

Three tests look at the same sign and agree with each other more than with the class. Naive Bayes
counts them three times. Networks, drawn from their posterior distribution, learn the dependence.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from honestbayes import AveragedNB, AveragedNetworkClassifier
from honestbayes.plots import NetworkDisplay


def patients(n, rng):
    """Return a sign that three tests look at, another test, and an uninformative one."""
    ill = rng.integers(0, 2, n)
    sign = np.where(rng.random(n) < 0.8, ill, 1 - ill)
    seen = {f"test {j}": np.where(rng.random(n) < 0.95, sign, 1 - sign) for j in (1, 2, 3)}
    other = np.where(rng.random(n) < 0.7, ill, 1 - ill)
    return pd.DataFrame(seen | {"other": other, "noise": rng.integers(0, 2, n)}), ill


rng = np.random.default_rng(0)
X, y = patients(300, rng)
model = AveragedNetworkClassifier(random_state=0).fit(X, y)
NetworkDisplay.from_estimator(model)
plt.show()

# %%
# Arcs, and the shares of the graphs that have them:

print(model.edges(0.1))

# %%
# On new patients: the expected and observed error rates and the log score of each model.

new, actual = patients(5000, rng)
naive = AveragedNB(random_state=0).fit(X, y)
for name, one in {"naive Bayes, averaged": naive, "networks, averaged": model}.items():
    proba = one.predict_proba(new)
    score = -np.log(proba[np.arange(5000), actual]).mean()
    predicted, observed = proba.min(axis=1).mean(), np.mean(proba.argmax(axis=1) != actual)
    print(f"{name}: expected {predicted:.3f}, observed {observed:.3f}, log score {score:.3f}")
