"""
Predicted and observed frequencies
==================================

Ten features are kept out of 10,000. Without the correction, the model mistakes chance for
signal: among the cases to which it gives one probability, far fewer (or more) are of class 1.
By default a slope that is learned from held-out cases hides most of that; here it is left out, so
that the correction is seen alone.
"""

import matplotlib.pyplot as plt

from honestbayes import SelectiveBernoulliNB
from honestbayes.datasets import simulate_naive_bayes
from honestbayes.plots import ReliabilityDisplay

data = simulate_naive_bayes(200, 2000, n_features=10_000, alpha=300.0, random_state=1)
words = {"n_features_to_select": 10, "recalibrate": None, "random_state": 1}
models = {
    "uncorrected": SelectiveBernoulliNB(feature_prior="uniform", correction=None, **words),
    "corrected": SelectiveBernoulliNB(**words),
}

for model in models.values():
    model.fit(data.X_train, data.y_train)
ReliabilityDisplay.from_estimator(models, data.X_test, data.y_test)
plt.show()
