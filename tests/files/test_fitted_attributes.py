"""Docstrings of estimators name all words of the constructor, and all that a fitted one has."""

import inspect
import re
from typing import Any

import pytest
from fits import FITS, fitted

import honestbayes

ESTIMATORS = [
    name
    for name in honestbayes.__all__
    if inspect.isclass(kind := getattr(honestbayes, name)) and hasattr(kind, "fit")
]


def documented(kind: type, section: str) -> set[str]:
    """Return the names that a section of a class's docstring lists."""
    text = inspect.getdoc(kind) or ""
    _, _, rest = text.partition(f"\n{section}\n{'-' * len(section)}\n")
    lines = re.split(r"\n\n[A-Z][\w ]+\n-{3,}\n", rest)[0].splitlines()
    heads = [line.partition(" : ")[0] for line in lines if line and not line.startswith(" ")]
    return {name.strip() for head in heads for name in head.split(",")}


def fitted_names(kind: type) -> set[str]:
    """Return what the fitted models of a class have in public, in any of the fits."""
    models: list[Any] = [fitted(name) for name, fit in FITS.items() if fit.kind is kind]
    assert models, f"no fit of {kind.__name__} in tests/fits.py"
    names = {name for model in models for name in dir(model) if hasattr(model, name)}
    return {name for name in names if name.endswith("_") and not name.startswith("_")}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_fitted_attribute_is_in_the_docstring_and_no_other(name: str) -> None:
    kind = getattr(honestbayes, name)
    has = fitted_names(kind) | {"feature_names_in_"}  # where X has names
    assert documented(kind, "Attributes") == has


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_word_of_the_constructor_is_in_the_docstring(name: str) -> None:
    kind = getattr(honestbayes, name)
    words = set(inspect.signature(kind).parameters)
    assert documented(kind, "Parameters") == words
