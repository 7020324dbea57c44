"""Loading of model files."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar, overload

from honestbayes.catalogue import all_specs
from honestbayes.files import ModelFileError, read_archive
from honestbayes.search import SELECTORS

Loaded = TypeVar("Loaded")


@overload
def load(path: str | os.PathLike[str]) -> Any: ...
@overload
def load(path: str | os.PathLike[str], kind: type[Loaded]) -> Loaded: ...
def load(path: str | os.PathLike[str], kind: type[Any] | None = None) -> Any:
    """Load a fitted model or selector that ``save`` wrote.

    Parameters
    ----------
    path : path-like
        The file.
    kind : class, optional
        What the file must hold, such as ``HonestClassifier``. Type checkers then know the type of
        the result.

    Returns
    -------
    estimator
        The fitted model or selector, with the same results as the one that was saved.

    Raises
    ------
    ModelFileError
        If the file is not a model file, is damaged, holds what cannot be a model or is not of the
        given kind, or needs a newer honestbayes.
    FileNotFoundError, IsADirectoryError, PermissionError
        As from ``open``.

    Notes
    -----
    No code in the file is run, and every value is checked. But checksums do not show who wrote a
    file: a stranger's file may hold a model that is valid and wrong.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import honestbayes
    >>> from honestbayes.datasets import load_leukemia
    >>> data = load_leukemia()
    >>> model = honestbayes.SelectiveGaussianNB(recalibrate=None).fit(data.X, data.y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(Path(folder) / "leukemia.honestbayes")
    ...     path = Path(folder) / "leukemia.honestbayes"
    ...     same = honestbayes.load(path, honestbayes.SelectiveGaussianNB)
    >>> bool((same.predict_proba(data.X) == model.predict_proba(data.X)).all())
    True
    """
    archive = read_archive(path)
    name = Path(path).name
    try:
        known = _class_of(archive.kind)
        if known is not None:
            if kind is not None and not issubclass(known, kind):
                msg = f"it holds a {known.__name__}, not a {kind.__name__}"
                raise ModelFileError(msg)
            return known._from_plain(archive.content, archive.arrays)
    except OverflowError:  # JSON has whole numbers that are longer than any float
        msg = f"{name!r} is not a valid model file: a number is too large."
        raise ModelFileError(msg) from None
    except ModelFileError as error:
        msg = f"{name!r} is not a valid model file: {error}."
        raise ModelFileError(msg) from None
    msg = f"{name!r} holds a model of an unknown kind, {archive.kind[:60]!r}."
    raise ModelFileError(msg)


_TABLE_MODEL = "table model"
"""Name in files of models of tables, whose module needs pyarrow."""


def loadable_kinds() -> tuple[str, ...]:
    """Return the names of the kinds of models that can be loaded."""
    return (*_estimators(), _TABLE_MODEL)


def _estimators() -> dict[str, Any]:
    return {spec.kind: spec.estimator for spec in all_specs()} | SELECTORS


def _class_of(kind: str) -> Any:
    """Return the class that reads files of a kind, or None."""
    if kind != _TABLE_MODEL:
        return _estimators().get(kind)
    try:
        return import_module("honestbayes.tables.model").TableModel
    except ImportError as error:
        msg = 'this model needs pyarrow: pip install "honestbayes[cli]"'
        raise ModelFileError(msg) from error
