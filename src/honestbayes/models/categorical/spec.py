"""The card of the model of categorical features."""

from __future__ import annotations

from honestbayes.base.spec import Card

CARDS = (Card(path="categorical.estimator.SelectiveCategoricalNB"),)
