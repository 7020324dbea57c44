"""The cards of models with interactions."""

from __future__ import annotations

from honestbayes.models.interactions.estimator import InteractionClassifier
from honestbayes.models.interactions.regressor import InteractionRegressor
from honestbayes.models.interactions.sequence import SequenceClassifier
from honestbayes.models.shared.card import Card

CARDS = (
    Card(estimator=InteractionClassifier, title="model with interactions", sampled=True),
    Card(estimator=InteractionRegressor, title="regression with interactions", sampled=True),
    Card(estimator=SequenceClassifier, title="model of sequences", sampled=True),
)
