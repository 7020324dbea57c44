"""The card of the model of real-valued features."""

from __future__ import annotations

from honestbayes.base.spec import Card

CARDS = (Card(path="real.estimator.SelectiveGaussianNB"),)
