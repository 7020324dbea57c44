"""The card of plain naive Bayes."""

from __future__ import annotations

from honestbayes.base.spec import Card

CARDS = (Card(path="plain.estimator.DiscreteNB"),)
