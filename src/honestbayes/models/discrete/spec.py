"""The card of plain naive Bayes."""

from __future__ import annotations

from honestbayes.base.spec import ModelSpec

SPECS = (ModelSpec(path="plain.estimator.DiscreteNB"),)
