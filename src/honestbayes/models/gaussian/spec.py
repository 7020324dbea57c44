"""The card of the model of real-valued features."""

from __future__ import annotations

from honestbayes.base.spec import ModelSpec

SPECS = (ModelSpec(path="real.estimator.SelectiveGaussianNB"),)
