"""
Few features, for the sake of the probabilities
===============================================

Who should be asked for a gift? Each request costs something, so it takes probabilities that mean
what they say. Naive Bayes counts what features share again and again; here a greedy search takes
the few features with which its probabilities are best.
"""

# %%
# A made-up campaign: what people do depends on three habits that nobody has recorded. Each habit
# shows in ten columns, and 60 more columns say nothing. About one person in seven gives.

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

from honestbayes import DiscreteNB, ForwardProbabilitySelector
from honestbayes.decisions import decide, mailing_benefits, profit
from honestbayes.metrics import brier_score
from honestbayes.plots import ProfitDisplay, ReliabilityDisplay, SelectionPathDisplay

COST = 3.0


def draw(seed, n):
    """Return a table, who gave, the expected gift, and the gift."""
    rng = np.random.default_rng(seed)
    habits = rng.normal(size=(n, 3))
    shown = np.repeat(habits, 10, axis=1) + 0.5 * rng.normal(size=(n, 30))
    X = np.hstack([shown, rng.normal(size=(n, 60))])
    expected = rng.gamma(4.0, 3.0, n)
    log_odds = -2.2 + 0.8 * habits.sum(axis=1)
    y = (rng.random(n) < expit(log_odds)).astype(int)
    gift = np.where(y == 1, expected * rng.gamma(8.0, 1 / 8.0, n), 0.0)
    return X, y, expected, gift


X, y, _, _ = draw(0, 4000)
X_new, y_new, expected, gift = draw(1, 4000)

# %%
# The search stops after five steps without a better held-out score. Each fold is scored by a path
# that was chosen without it, so the score applies to new people.

selector = ForwardProbabilitySelector(held_out=5, patience=5).fit(X, y)
print(selector.path_)
SelectionPathDisplay.from_estimator(selector)

# %%
# With all columns naive Bayes is very overconfident for new people: its squared error (twice the
# Brier score) is worse than that of giving everyone the same probability, the first line above.

few = DiscreteNB().fit(selector.transform(X), y)
every = DiscreteNB().fit(X, y)
proba = {
    "selected": few.predict_proba(selector.transform(X_new)),
    "all columns": every.predict_proba(X_new),
}
for name, p in proba.items():
    print(f"{name:12} squared error {2 * brier_score(y_new, p):.4f}")
ReliabilityDisplay.from_predictions(y_new, proba, n_bins=8)

# %%
# Asking pays where the probability times the gift to expect exceeds the cost. With all columns too
# many people are asked, and the promise is far from what comes. (With a cost of 2 both make the
# same profit: the stop is then near the share of donors, where exaggeration does least harm.)

before, after = mailing_benefits(expected, COST), mailing_benefits(gift, COST)
for name, p in proba.items():
    asked = decide(p, before)
    print(f"{name:12} asks {asked.mean():.0%}, profit {profit(y_new, asked, after):,.0f}")
ProfitDisplay.from_predictions(y_new, proba, before, after)
plt.show()
