"""The card of naive Bayes averaged over subsets."""

from __future__ import annotations

from honestbayes.models.shared.card import Card
from honestbayes.models.subsets.estimator import AveragedNB

CARDS = (
    Card(estimator=AveragedNB, title="naive Bayes averaged over subsets of features", sampled=True),
)
