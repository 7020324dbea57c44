"""
Interactions: the lines of tic-tac-toe, and what follows in a text
==================================================================

Some classes depend on no feature alone. Whether "x" has won a game of tic-tac-toe depends on three
squares at a time; which letter follows depends on the letters before it. A Bayesian logistic model
with a coefficient for every pattern finds both. Patterns that the same training cases have share a
parameter, so that long patterns cost little.
"""

# %%
# All 958 boards on which a game can end; a third of them is held out. The model is not told the
# rules.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from honestbayes import InteractionClassifier, SequenceClassifier
from honestbayes.datasets import load_genesis, tic_tac_toe, vowels_and_consonants
from honestbayes.metrics import summarise
from honestbayes.models.interactions.estimator import windows

X, y = tic_tac_toe()
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=1 / 3, random_state=0)

chains = {"n_chains": 2, "n_draws": 150, "n_warmup": 100, "n_doublings": 0, "random_state": 0}
for order in (1, 2, 3):
    model = InteractionClassifier(order=order, **chains).fit(X_train, y_train)
    found = summarise(y_test == "x won", model.predict_proba(X_test)[:, 1])
    print(
        f"order {order}: {model.n_groups_:,} parameters, error "
        f"{found.actual_error.value:.3f}, log score {found.log_score.value:.3f}"
    )
forest = make_pipeline(OneHotEncoder(), RandomForestClassifier(500, random_state=0))
p = forest.fit(X_train, y_train).predict_proba(X_test)[:, 1]
found = summarise(y_test == "x won", p)
print(f"random forest: error {found.actual_error.value:.3f}, log score {found.log_score.value:.3f}")

# %%
# The largest coefficients are those of three squares in a line.

largest = model.interactions(12)
print(largest)

boards = np.full((8, 9), " ")
for place, pattern in enumerate(largest.pattern[:8]):
    for cell in pattern.split(" & "):
        square, mark = cell.split("=")
        boards[place, int(square[1:])] = mark
figure, axes = plt.subplots(2, 4, figsize=(7.2, 3.9), layout="constrained")
for ax, board, median in zip(axes.flat, boards, largest.median[:8], strict=True):
    ax.set(xlim=(0, 3), ylim=(3, 0), xticks=[1, 2], yticks=[1, 2], aspect="equal")
    ax.set(xticklabels=[], yticklabels=[], title=f"{median:+.1f}")
    ax.grid(color="0.6")
    for square, mark in enumerate(board):
        ax.text(square % 3 + 0.5, square // 3 + 0.5, mark, ha="center", va="center", size=18)
figure.suptitle('Largest coefficients for "x won"')

# %%
# A text, each letter as a vowel (V) or a consonant (C), all else as "_". The model looks back ten
# letters; a short look back is not enough.

letters = vowels_and_consonants(load_genesis())[:3000]
scores = []
orders = (1, 2, 3, 5, 10)
for order in orders:
    history, following = windows(letters, 10)
    text = SequenceClassifier(order=order, **chains).fit(history[:1000], following[:1000])
    found = summarise(following[1000:], text.predict_proba(history[1000:]), classes=text.classes_)
    scores.append(found.log_score.value)
    print(
        f"order {order}: {text.n_groups_:,} parameters instead of {text.n_patterns_:,.0f}, log "
        f"score {scores[-1]:.3f}"
    )
figure, ax = plt.subplots(figsize=(4.8, 3.2), layout="constrained")
ax.plot(orders, scores, "o-")
ax.set(xlabel="letters that the model looks back", ylabel="log score, new letters")

# %%
# Which contexts matter most, and what follows "the f".

print(text.interactions(10))
begin = list("_CCVC_CCV_C")[-10:]
low, high = np.moveaxis(text.predict_proba_interval([begin]), 2, 0)[:, 0]
for k, symbol in enumerate(text.classes_):
    share = text.predict_proba([begin])[0, k]
    print(f"after {''.join(begin)}: {symbol} {share:.2f} ({low[k]:.2f} to {high[k]:.2f})")
plt.show()
