"""The card of the model of categorical features."""

from __future__ import annotations

from honestbayes.models.shared.card import Card

CARDS = (Card(path="categorical.estimator.SelectiveCategoricalNB"),)
