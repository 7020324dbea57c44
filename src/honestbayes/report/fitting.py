"""Which estimators a table is given to, what is refused, and the final fit on all rows."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from honestbayes.models.binary.estimator import SelectiveBernoulliNB
from honestbayes.models.factors.classifier import SelectiveFactorClassifier
from honestbayes.models.mixture.estimator import SelectiveMixture
from honestbayes.report.contenders import (
    CORRECTED,
    CORRECTED_SLOPE,
    FINAL_FACTOR_CHAINS,
    MOST_FOR_MIXTURE,
    contenders,
)
from honestbayes.report.options import PATH_UP_TO, ModelName, Options
from honestbayes.tables import InputError, TrainingTable
from honestbayes.tables.errors import listed, shown
from honestbayes.tables.model import Estimator
from honestbayes.tables.target import prevalences


def method_in_use(options: Options) -> str:
    """Return the method whose model is saved."""
    return CORRECTED_SLOPE if options.uses_slope else CORRECTED


def estimators_of(
    table: TrainingTable, options: Options, n_features: Any, threshold: float | None = None
) -> dict[str, Any]:
    """Return the methods that are compared on a table, by name.

    Parameters
    ----------
    table : TrainingTable
        The data; refused where the model in use cannot take them.
    options : Options
        What the user asked for.
    n_features : int, "all", "cv" or None
        How many features to keep.
    threshold : float, optional
        Another bound than that of the options.
    """
    _check_classes_and_columns(table, options)
    return contenders(
        n_features=n_features,
        threshold=options.threshold if threshold is None else threshold,
        always_keep=list(table.keep) or None,
        n_racing=largest_race(table, options),
        seed=options.seed,
        kinds=table.kinds if options.coded else None,
        mixture=_mixture(table, options),
        factors=options.model == "factors",
    )


def _check_classes_and_columns(table: TrainingTable, options: Options) -> None:
    """Refuse a table that the model cannot take."""
    if options.model == "factors":
        check_measurements(table)
    if not options.coded and len(table.labels) > 2:
        msg = (
            f"the {options.model} model is for two classes, and column {shown(table.target)} has "
            f"{len(table.labels)}; use the mixed one."
        )
        raise InputError(msg)
    if not options.coded and "categorical" in table.kinds:
        msg = (
            f"the {options.model} model needs a feature for each level; read the table with "
            "coded=False."
        )
        raise ValueError(msg)


def check_measurements(table: TrainingTable) -> None:
    """Refuse text columns, and a table without measurements, for the factor model."""
    texts = list(table.encoding.levels)
    if texts:
        what = "a text column" if len(texts) == 1 else f"{len(texts):,} text columns"
        msg = (
            f"the factor model is for numbers, and the table has {what}: {listed(texts)}; leave "
            f"{'it' if len(texts) == 1 else 'them'} out with --ignore, or use the mixed model."
        )
        raise InputError(msg)
    if "real" not in table.kinds:
        msg = (
            "the factor model is for measurements, and every column of this table has two values "
            "at most; use the mixed model."
        )
        raise InputError(msg)


def has_only_measurements(table: TrainingTable) -> bool:
    """Whether all features are measurements, apart from columns that hold one number only."""
    if "real" not in table.kinds or table.encoding.levels:
        return False
    others = table.X.to_numpy()[:, np.array(table.kinds) != "real"]
    return not np.any(np.fmin.reduce(others, axis=0) < np.fmax.reduce(others, axis=0))


def _mixture(table: TrainingTable, options: Options) -> Literal["compared", "in use"] | None:
    if options.model == "mixture":
        return "in use"
    quick = len(table.y) <= MOST_FOR_MIXTURE and table.X.size <= PATH_UP_TO
    return "compared" if len(table.labels) == 2 and quick else None


def largest_race(table: TrainingTable, options: Options) -> int:
    """Return how many features run in the race, or in the largest one of any kind."""
    if not options.by_kind:
        return table.X.shape[1] - len(table.keep)
    kept = set(table.keep)
    racing = [
        kind for kind, name in zip(table.kinds, table.X.columns, strict=True) if name not in kept
    ]
    return max((racing.count(kind) for kind in set(racing)), default=0)


def final_model(estimator: Estimator, table: TrainingTable, options: Options) -> Estimator:
    """Fit an estimator of the folds to all rows, with all its chains, at the prevalence of use."""
    prior = prevalences(options.prevalence, table.labels)
    if prior is not None:
        estimator = estimator.set_params(class_prior=prior)
    if isinstance(estimator, SelectiveFactorClassifier):
        estimator = estimator.set_params(**FINAL_FACTOR_CHAINS)
    return estimator.fit(table.X, table.y, groups=table.groups)


def fit_model(table: TrainingTable, options: Options) -> Estimator:
    """Fit the model in use on all rows, without an evaluation."""
    estimators = estimators_of(table, options, options.n_features)
    return final_model(estimators[method_in_use(options)], table, options)


def model_name(estimator: Estimator) -> ModelName:
    """Return the word by which an estimator is asked for."""
    if isinstance(estimator, SelectiveFactorClassifier):
        return "factors"
    if isinstance(estimator, SelectiveMixture):
        return "mixture"
    return "binary" if isinstance(estimator, SelectiveBernoulliNB) else "mixed"
