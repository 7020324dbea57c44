"""Which input features a fitted estimator kept, pipelines and searches included."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OneToOneFeatureMixin
from sklearn.pipeline import Pipeline

from honestbayes.types import FloatArray

IndexArray = NDArray[np.intp]


def kept_features(estimator: Any) -> NDArray[np.bool_] | None:
    """Return which input features a fitted estimator kept, or None where it does not say."""
    if hasattr(estimator, "get_support"):
        return np.asarray(estimator.get_support(), dtype=bool)
    if hasattr(estimator, "best_estimator_"):
        return kept_features(estimator.best_estimator_)
    if isinstance(estimator, Pipeline):
        return _pipeline_support(estimator)
    return None


def _pipeline_support(pipeline: Pipeline) -> NDArray[np.bool_] | None:
    """Follow the features through the steps, as far as each step is known to keep its columns."""
    kept: IndexArray | None = None
    n_features: int | None = None
    for _, step in pipeline.steps:
        if step is None or isinstance(step, str):
            continue
        support = kept_features(step)
        if support is not None:
            n_features = support.size if n_features is None else n_features
            kept = np.flatnonzero(support) if kept is None else kept[support]
        elif step is not pipeline.steps[-1][1] and not isinstance(step, OneToOneFeatureMixin):
            # What follows works on columns that are no longer the input features.
            break
    if kept is None or n_features is None:
        return None
    mask = np.zeros(n_features, dtype=bool)
    mask[kept] = True
    return mask


def selected_frequency(supports: list[NDArray[np.bool_] | None]) -> FloatArray | None:
    """Return the fraction of folds that kept each feature, or None where one does not say."""
    known = [support for support in supports if support is not None]
    if len(known) < len(supports) or len({support.size for support in known}) != 1:
        return None
    return np.asarray(np.mean(known, axis=0), dtype=np.float64)
