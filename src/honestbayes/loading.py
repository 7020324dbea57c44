"""Load a model of any kind from its file."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any

from honestbayes.files import ModelFileError, read_archive


def load(path: str | os.PathLike[str]) -> Any:
    """Load a fitted model or selector that ``save`` wrote.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    estimator
        A fitted model or selector whose results are those of the one that was saved.

    Raises
    ------
    ModelFileError
        If the file is not a model file, is damaged, holds what cannot be a model, or needs a
        newer honestbayes.
    FileNotFoundError, IsADirectoryError, PermissionError
        As from ``open``.

    Notes
    -----
    Nothing in the file is run. What is read is checked for its meaning, but checksums do not show
    who wrote it: a stranger's file may hold a model that is valid and wrong.
    """
    archive = read_archive(path)
    name = Path(path).name
    if archive.kind not in _PLACES:
        msg = f"{name!r} holds a model of an unknown kind, {archive.kind[:60]!r}."
        raise ModelFileError(msg)
    try:
        return _class_of(archive.kind)._from_plain(archive.content, archive.arrays)
    except OverflowError:  # JSON has whole numbers that are longer than any float
        msg = f"{name!r} is not a valid model file: a number is too large."
        raise ModelFileError(msg) from None
    except ModelFileError as error:
        msg = f"{name!r} is not a valid model file: {error}."
        raise ModelFileError(msg) from None


_PLACES = {
    "BoostedProbabilitySelector": "honestbayes.search.boosted",
    "DiscreteNB": "honestbayes.models.plain.estimator",
    "ForwardProbabilitySelector": "honestbayes.search.forward",
    "SelectiveBernoulliNB": "honestbayes.models.binary.estimator",
    "SelectiveCategoricalNB": "honestbayes.models.categorical.estimator",
    "SelectiveFactorClassifier": "honestbayes.models.factors.classifier",
    "SelectiveFactorRegressor": "honestbayes.models.factors.regressor",
    "SelectiveGaussianNB": "honestbayes.models.real.estimator",
    "SelectiveMixedNB": "honestbayes.models.mixed.estimator",
    "SelectiveMixture": "honestbayes.models.mixture.estimator",
    "table model": "honestbayes.tables.model",
}
"""Where the class of each kind is; imported when a file needs it, so that loading stays light."""


def _class_of(kind: str) -> Any:
    """Return the class that reads files of a kind."""
    if kind != "table model":
        return getattr(import_module(_PLACES[kind]), kind)
    try:
        return import_module(_PLACES[kind]).TableModel
    except ImportError as error:
        msg = 'a model of tables needs pyarrow: pip install "honestbayes[cli]"'
        raise ModelFileError(msg) from error
