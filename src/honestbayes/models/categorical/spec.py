"""The card of the model of categorical features."""

from __future__ import annotations

from honestbayes.base.spec import ModelSpec

SPECS = (ModelSpec(path="categorical.estimator.SelectiveCategoricalNB"),)
