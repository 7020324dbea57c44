"""The cards of models with interactions."""

from __future__ import annotations

from honestbayes.base.spec import ModelSpec

SPECS = (
    ModelSpec(
        path="interactions.estimator.InteractionClassifier",
        name="interactions",
        title="model with interactions",
        place=4,
        summary="categories and flags, and what only several of them together tell; all columns "
        "are kept; slower",
        page="categories and flags, and what several of them together tell",
        only_categories=True,
        sampled=True,
        drawn_once=True,
        # A slope would need the chains of twenty more fits inside each.
        has_slope=False,
        beyond="interactions",
        joint=False,
        complete=True,
        uncorrected=None,
        keeps_all=True,
        words=("order", "missing"),
        # In folds the cases that are held out tell less than chains do; the final chains are those
        # of the estimator's own defaults.
        in_folds={"n_chains": 2, "n_samples": 150, "n_warmup": 50, "n_doublings": 0},
        final={"n_chains": 4, "n_samples": 250, "n_warmup": 100, "n_doublings": 2},
    ),
    ModelSpec(
        path="interactions.regressor.InteractionRegressor",
        title="regression with interactions",
        sampled=True,
    ),
    ModelSpec(
        path="interactions.sequence.SequenceClassifier", title="model of sequences", sampled=True
    ),
)
