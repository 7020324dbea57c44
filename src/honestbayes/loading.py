"""Load a model of any kind from its file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from honestbayes.storage import Archive, ModelFileError, read_archive


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
    if archive.kind not in _READERS:
        msg = f"{name!r} holds a model of an unknown kind, {archive.kind[:60]!r}."
        raise ModelFileError(msg)
    try:
        return _READERS[archive.kind](archive)
    except OverflowError:  # JSON has whole numbers that are longer than any float
        msg = f"{name!r} is not a valid model file: a number is too large."
        raise ModelFileError(msg) from None
    except ModelFileError as error:
        msg = f"{name!r} is not a valid model file: {error}."
        raise ModelFileError(msg) from None


def _bernoulli_nb(archive: Archive) -> Any:
    from honestbayes.models.bernoulli_nb import SelectiveBernoulliNB

    return SelectiveBernoulliNB._from_plain(archive.content, archive.arrays)


def _gaussian_nb(archive: Archive) -> Any:
    from honestbayes.models.gaussian_nb import SelectiveGaussianNB

    return SelectiveGaussianNB._from_plain(archive.content, archive.arrays)


def _categorical_nb(archive: Archive) -> Any:
    from honestbayes.models.categorical_nb import SelectiveCategoricalNB

    return SelectiveCategoricalNB._from_plain(archive.content, archive.arrays)


def _mixed_nb(archive: Archive) -> Any:
    from honestbayes.models.mixed_nb import SelectiveMixedNB

    return SelectiveMixedNB._from_plain(archive.content, archive.arrays)


def _mixture(archive: Archive) -> Any:
    from honestbayes.models.mixture import SelectiveMixture

    return SelectiveMixture._from_plain(archive.content, archive.arrays)


def _factor_classifier(archive: Archive) -> Any:
    from honestbayes.models.factor_classifier import SelectiveFactorClassifier

    return SelectiveFactorClassifier._from_plain(archive.content, archive.arrays)


def _factor_regressor(archive: Archive) -> Any:
    from honestbayes.models.factor_regressor import SelectiveFactorRegressor

    return SelectiveFactorRegressor._from_plain(archive.content, archive.arrays)


def _discrete_nb(archive: Archive) -> Any:
    from honestbayes.models.discrete_nb import DiscreteNB

    return DiscreteNB._from_plain(archive.content, archive.arrays)


def _forward_selector(archive: Archive) -> Any:
    from honestbayes.search.forward import ForwardProbabilitySelector

    return ForwardProbabilitySelector._from_plain(archive.content, archive.arrays)


def _boosted_selector(archive: Archive) -> Any:
    from honestbayes.search.boosted import BoostedProbabilitySelector

    return BoostedProbabilitySelector._from_plain(archive.content, archive.arrays)


def _table_model(archive: Archive) -> Any:
    try:
        from honestbayes.tables.model import TableModel
    except ImportError as error:
        msg = 'a model of tables needs pyarrow: pip install "honestbayes[cli]"'
        raise ModelFileError(msg) from error
    return TableModel._from_plain(archive.content, archive.arrays)


_READERS: dict[str, Callable[[Archive], Any]] = {
    "BoostedProbabilitySelector": _boosted_selector,
    "DiscreteNB": _discrete_nb,
    "ForwardProbabilitySelector": _forward_selector,
    "SelectiveBernoulliNB": _bernoulli_nb,
    "SelectiveCategoricalNB": _categorical_nb,
    "SelectiveFactorClassifier": _factor_classifier,
    "SelectiveFactorRegressor": _factor_regressor,
    "SelectiveGaussianNB": _gaussian_nb,
    "SelectiveMixedNB": _mixed_nb,
    "SelectiveMixture": _mixture,
    "table model": _table_model,
}
"""Each imports what it needs when it is called, so that loading stays light."""
