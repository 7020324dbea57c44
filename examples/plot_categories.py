"""
Categorical features, and the number of candidates
==================================================

A genotype has three levels: none, one or two copies of a variant. Three populations differ a
little in the frequency of each variant. The ten columns that separate them best are kept, first
out of 200, then out of more and more. The uncorrected model becomes ever more overconfident.
"""

# %%
# Frequencies vary between populations as Balding and Nichols have it (1995): around a common one,
# with the small fixation index 0.01. There are 30 people of each population to learn from.

import matplotlib.pyplot as plt
import numpy as np

from honestbayes import SelectiveCategoricalNB
from honestbayes.metrics import actual_error, expected_error
from honestbayes.plots import ReliabilityDisplay

NUMBERS = [200, 500, 1000, 2000]


def draw(seed):
    """Return genotypes and populations of 90 people, and of 2,000 new ones."""
    rng = np.random.default_rng(seed)
    common, alpha = rng.uniform(0.3, 0.5, NUMBERS[-1]), (1 - 0.01) / 0.01
    frequency = rng.beta(alpha * common, alpha * (1 - common), (3, NUMBERS[-1]))
    y, y_new = np.arange(90) % 3, rng.integers(0, 3, 2000)
    X, X_new = (rng.binomial(2, frequency[k]) for k in (y, y_new))
    return X, y, X_new, y_new


models = {
    "uncorrected": SelectiveCategoricalNB(correction=None, recalibrate=None, random_state=0),
    "corrected": SelectiveCategoricalNB(recalibrate=None, random_state=0),
}

# %%
# The expected and observed error rates of each model for new people, averaged over four data sets.
# With three populations, who guesses is wrong in two cases out of three.

data_sets = [draw(seed) for seed in range(4)]
truth = np.concatenate([y_new for *_, y_new in data_sets])
found = {
    (name, number): np.concatenate(
        [
            model.fit(X[:, :number], y).predict_proba(X_new[:, :number])
            for X, y, X_new, _ in data_sets
        ]
    )
    for name, model in models.items()
    for number in NUMBERS
}

figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained", sharey=True)
for ax, name in zip(axes, models, strict=True):
    predicted = [expected_error(found[name, number]) for number in NUMBERS]
    observed = [actual_error(truth, found[name, number]) for number in NUMBERS]
    ax.axhline(2 / 3, color="0.6", linewidth=0.8)
    ax.fill_between(NUMBERS, predicted, observed, color="0.9")
    ax.plot(NUMBERS, observed, "o-", color="#D55E00", label="what happens")
    ax.plot(NUMBERS, predicted, "s--", color="#0072B2", label="expected by the model")
    ax.set(title=name, xlabel="columns that were screened", xscale="log", ylim=(0, 0.75))
    ax.set_xticks(NUMBERS, [f"{number:,}" for number in NUMBERS])
    ax.minorticks_off()
axes[0].annotate("guessing", (NUMBERS[0], 2 / 3), (0, 3), textcoords="offset points", color="0.4")
axes[0].set_ylabel("error rate")
axes[0].legend(loc="lower left", frameon=False)

# %%
# Among the people to whom a model gives one probability, how many are of the population that it
# names? Ten columns out of 2,000. The corrected model is careful rather than bold.

ReliabilityDisplay.from_predictions(truth, {name: found[name, NUMBERS[-1]] for name in models})
plt.show()
