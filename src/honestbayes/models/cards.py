"""The cards of all models, found in the folders: a model is added by adding its folder."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import Any

from honestbayes import models
from honestbayes.base.spec import ModelSpec


def specs() -> tuple[ModelSpec, ...]:
    """Return all cards, those of the models that tables can be given to in their order."""
    return _specs_in(tuple(models.__path__))


@cache
def _specs_in(folders: tuple[str, ...]) -> tuple[ModelSpec, ...]:
    """Find the module ``spec`` of each family, and in it a tuple ``SPECS``."""
    families = [f"{models.__name__}.{found.name}" for found in iter_modules(folders) if found.ispkg]
    places = [f"{name}.card" for name in families if name != f"{models.__name__}.shared"]
    found = [spec for name in places if find_spec(name) for spec in import_module(name).SPECS]
    return tuple(sorted(found, key=lambda spec: (spec.place, spec.kind)))


def table_specs() -> dict[str, ModelSpec]:
    """Return the cards of the models that a table can be given to, by the word of ``--model``."""
    return {spec.name: spec for spec in specs() if spec.name is not None}


def spec_of(estimator: Any) -> ModelSpec:
    """Return the card of a fitted or unfitted estimator."""
    return next(spec for spec in specs() if spec.kind == estimator._kind)
