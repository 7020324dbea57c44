"""The card of plain naive Bayes."""

from __future__ import annotations

from honestbayes.models.plain.estimator import DiscreteNB
from honestbayes.models.shared.card import Card

CARDS = (Card(estimator=DiscreteNB),)
