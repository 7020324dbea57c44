"""The card of the model of real-valued features."""

from __future__ import annotations

from honestbayes.models.real.estimator import SelectiveGaussianNB
from honestbayes.models.shared.card import Card

CARDS = (Card(estimator=SelectiveGaussianNB),)
