"""The cards of all models, found in the folders: a model is added by adding its folder."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import Any

from honestbayes import models
from honestbayes.base.spec import Card


def cards() -> tuple[Card, ...]:
    """Return all cards, those of the models that tables can be given to in their order."""
    return _cards_in(tuple(models.__path__))


@cache
def _cards_in(folders: tuple[str, ...]) -> tuple[Card, ...]:
    """Find the module ``card`` of each family, and in it a tuple ``CARDS``."""
    families = [f"{models.__name__}.{found.name}" for found in iter_modules(folders) if found.ispkg]
    places = [f"{name}.card" for name in families if name != f"{models.__name__}.shared"]
    found = [card for name in places if find_spec(name) for card in import_module(name).CARDS]
    return tuple(sorted(found, key=lambda card: (card.place, card.kind)))


def table_cards() -> dict[str, Card]:
    """Return the cards of the models that a table can be given to, by the word of ``--model``."""
    return {card.name: card for card in cards() if card.name is not None}


def card_of(estimator: Any) -> Card:
    """Return the card of a fitted or unfitted estimator."""
    return next(card for card in cards() if card.kind == estimator._kind)
