"""
Inclusion probabilities of features
===================================

Three of a hundred features are informative, one of them only weakly. Subsets are sampled from
their posterior distribution; a feature's inclusion probability is the share of them that contain
it.
"""

import matplotlib.pyplot as plt
import numpy as np

from honestbayes import AveragedNB, SubsetSampler
from honestbayes.plots import InclusionDisplay

rng = np.random.default_rng(0)
n = 300
y = rng.integers(0, 2, n)
X = rng.integers(0, 2, (n, 100))
X[:, 0] = np.where(rng.random(n) < 0.75, y, 1 - y)
X[:, 1] = np.where(rng.random(n) < 0.65, y, 1 - y)
X[:, 2] = np.where(rng.random(n) < 0.58, y, 1 - y)

sampler = SubsetSampler(random_state=0).fit(X, y)
InclusionDisplay.from_estimator(sampler)
plt.show()

# %%
# The third feature is weak, and its probability shows the uncertainty; feature 90 is noise and has
# a higher one by chance. The most frequent subsets:

for columns, share in sampler.draws_.most_visited(5):
    print(f"{share:.3f}  {columns}")

# %%
# Predictions are averages over the subsets. On new cases they are calibrated:

model = AveragedNB(random_state=0).fit(X, y)
actual = rng.integers(0, 2, 5000)
new = rng.integers(0, 2, (5000, 100))
for j, right in enumerate((0.75, 0.65, 0.58)):
    new[:, j] = np.where(rng.random(5000) < right, actual, 1 - actual)
proba = model.predict_proba(new)
predicted, observed = proba.min(axis=1).mean(), np.mean(proba.argmax(axis=1) != actual)
print(f"expected error {predicted:.3f}, observed error {observed:.3f}")

# %%
# Chains started with no feature, with all, and with random ones, and agree:

print("\n".join(str(sampler.diagnostics_).splitlines()[:6]))
