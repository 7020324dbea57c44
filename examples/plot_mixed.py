"""
Flags, sites and measurements in one table
==========================================

A clinical table has columns of every kind: findings that are there or not, sites as texts,
laboratory values. The model finds out which is which, keeps the best of each kind, and says how
sure its probabilities are.
"""

# %%
# A made-up table: 150 patients who were followed for a year, and 40 new ones. Of 60 findings, 12
# sites and 300 laboratory values, a few go with relapse. One cell in twenty was not recorded.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from honestbayes import SelectiveMixedNB
from honestbayes.metrics import actual_error, expected_error

SITES = np.array(["colon", "liver", "lung", "skin"], dtype=object)


def draw(n, seed):
    """Return a table of n patients, and what became of them."""
    rng = np.random.default_rng(seed)
    relapse = rng.random(n) < 0.4
    findings = rng.random((n, 60)) < np.where(np.arange(60) < 4, 0.3 + 0.25 * relapse[:, None], 0.3)
    sites = rng.choice(SITES, (n, 12))
    sites[:, 0] = np.where(relapse, rng.choice(SITES, n, p=[0.1, 0.4, 0.4, 0.1]), sites[:, 0])
    values = rng.normal(size=(n, 300))
    values[:, :5] += 0.6 * relapse[:, None]
    table = pd.concat(
        [
            pd.DataFrame(findings).add_prefix("finding ").astype(float),
            pd.DataFrame(sites).add_prefix("site "),
            pd.DataFrame(values).add_prefix("lab "),
            pd.DataFrame({"age": rng.normal(58 + 5 * relapse, 10).round()}),
        ],
        axis=1,
    )
    hidden = rng.random(table.shape) < 0.05
    return table.mask(hidden), np.where(relapse, "relapse", "no relapse")


table, outcome = draw(150, seed=1)
new_table, new_outcome = draw(40, seed=2)
print(table[["finding 0", "finding 1", "site 0", "site 1", "lab 0", "lab 1", "age"]].head(4))

# %%
# Each kind has its own race: five findings, two sites and eight laboratory values are kept. Age is
# kept by design, outside the races.

settings = {
    "n_features_to_select": {"binary": 5, "categorical": 2, "real": 8},
    "always_keep": ["age"],
    "random_state": 0,
}
model = SelectiveMixedNB(**settings).fit(table, outcome)

for kind, selection in model.selections_.items():
    print(f"{kind}: {len(selection.kept)} of {selection.n_features_in} columns")
    print("   ", ", ".join(selection.kept_names + selection.always_kept_names))

# %%
# Only findings 0 to 3, site 0, laboratory values 0 to 4 and age are associated with relapse; null
# columns were selected by chance. The corrected model allows for that, the uncorrected one does
# not. On 5,000 further patients:

uncorrected = SelectiveMixedNB(correction=None, recalibrate=None, **settings).fit(table, outcome)
many, truth = draw(5000, seed=3)
for name, fitted in {"uncorrected": uncorrected, "corrected": model}.items():
    p = fitted.predict_proba(many)
    print(
        f"{name:12} expected error {expected_error(p):.0%}, observed {actual_error(truth, p):.0%}"
    )

# %%
# For the 40 new patients, the probability of relapse with its 90% interval. An interval says how
# much the probability could still move with more patients to learn from.

p = model.predict_proba(new_table)[:, 1]
low, high = model.predict_proba_interval(new_table, level=0.9).T
order = np.argsort(p)
relapsed = new_outcome[order] == "relapse"

figure, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
place = np.arange(p.size)
for group, color, marker, label in (
    (relapsed, "#D55E00", "o", "relapsed"),
    (~relapsed, "#0072B2", "s", "did not"),
):
    who = order[group]
    ax.vlines(place[group], low[who], high[who], color=color, alpha=0.5)
    ax.plot(place[group], p[who], marker, color=color, markersize=5, label=label)
share = np.mean(outcome == "relapse")
ax.axhline(share, color="0.5", linewidth=0.8, linestyle=":", label="share in training")
ax.set(xlabel="new patients, by probability", ylabel="probability of relapse", ylim=(0, 1))
ax.set_xticks([])
ax.legend(loc="upper left", frameon=False)
plt.show()
