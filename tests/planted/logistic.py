"""Expectation propagation with some of its text changed, and checks that notice it."""

import types
from pathlib import Path

import numpy as np
from oracles_logistic import log_evidence_by_quadrature

from honestbayes.models.logistic import propagation
from honestbayes.models.logistic.estimator import DenseRegressors, Directions

MOST = {"evidence": 0.04, "probability": 0.02}
"""How far expectation propagation itself is off at a scale of 2 and six cases, at most."""


def changed(changes=()):
    """The module with some of its text changed."""
    text = Path(propagation.__file__).read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    module = types.ModuleType("changed_propagation")
    exec(compile(text, "changed_propagation.py", "exec"), module.__dict__)
    return module


def gaps(module):
    """How far evidence, and the mean of the predictor's sign, are from those of quadrature."""
    rng = np.random.default_rng(0)
    found = {"evidence": 0.0, "probability": 0.0}
    for y in (np.array([0, 1, 1, 0, 1, 1]), np.array([0, 0, 0, 1, 1, 1])):
        X, new = rng.normal(size=(6, 2)), rng.normal(size=(5, 2))
        directions = Directions.learn(X, 2)
        columns = DenseRegressors(directions.coordinates(X)[0])
        prior, sign = np.array([0.25, 0.5, 0.5]), np.where(y == 1, 1.0, -1.0)
        fit = module.propagate(columns, prior, 0.0, sign, module.no_sites(6))
        rows = directions.coordinates(new)[0]
        draws = rng.normal(size=(40_000, 3)) @ fit.factor.T + fit.mean
        proba = (1 / (1 + np.exp(-draws @ rows.T))).mean(axis=0)
        log_evidence, expected = log_evidence_by_quadrature(X, y, 2.0, 0.5, new)
        gap = abs(fit.log_evidence - log_evidence)
        found["evidence"] = max(found["evidence"], gap)
        found["probability"] = max(found["probability"], np.abs(proba - expected).max())
    return found
