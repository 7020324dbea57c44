"""The cards of the factor models."""

from __future__ import annotations

from honestbayes.base.spec import ModelSpec

SPECS = (
    ModelSpec(
        path="factors.classifier.SelectiveFactorClassifier",
        name="factors",
        title="factor model",
        place=3,
        summary="numbers that move together, by a few latent factors; slower",
        page="numbers that move together, by a few latent factors",
        only_numbers=True,
        needs_measurement=True,
        sampled=True,
        drawn_once=True,
        beyond="a few factors",
        # In folds the cases that are held out tell less than chains do; the final chains are those
        # of the estimator's own defaults.
        in_folds={"n_chains": 2, "n_samples": 300, "n_warmup": 300, "n_doublings": 0},
        final={"n_chains": 4, "n_samples": 1000, "n_warmup": 300, "n_doublings": 3},
    ),
    ModelSpec(
        path="factors.regressor.SelectiveFactorRegressor", title="factor model of a response"
    ),
)
