"""Which estimators a table is given to, what is refused, and the final fit on all rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from honestbayes.report.contenders import MOST_FOR_MIXTURE, contenders, own_names
from honestbayes.report.options import PATH_UP_TO, Options
from honestbayes.tables import InputError, TrainingTable
from honestbayes.tables.errors import listed, shown
from honestbayes.tables.model import Estimator
from honestbayes.tables.target import prevalences

RARE = 0.1
"""A flag is rare where one of its two values has a smaller share of the cases."""


def with_room(options: Options, table: TrainingTable) -> tuple[Options, TrainingTable]:
    """Return options with no more folds than there is room for, and the table with a note."""
    most, what, unit = table.most_folds()
    if options.n_folds == "loo" or not 2 <= most < options.n_folds:
        return options, table
    note = f"There are {most} folds instead of {options.n_folds}: {what} {most} {unit}."
    return replace(options, n_folds=most), replace(table, notes=(*table.notes, note))


def method_in_use(options: Options) -> str:
    """Return the method whose model is saved."""
    return own_names(options.card)[options.uses_slope]


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
        options.card,
        n_features=n_features,
        threshold=options.threshold if threshold is None else threshold,
        always_keep=list(table.keep) or None,
        n_racing=largest_race(table, options),
        seed=options.seed,
        kinds=np.array(table.kinds) if options.coded else None,
        mixture=options.compares and _suits_the_mixture(table),
        compare=options.compares,
        more=options.own_words,
    )


def _suits_the_mixture(table: TrainingTable) -> bool:
    """Whether the two-component mixture can be run, and soon enough."""
    quick = len(table.y) <= MOST_FOR_MIXTURE and table.X.size <= PATH_UP_TO
    return len(table.labels) == 2 and quick and not flags_are_rare(table)


def flags_are_rare(table: TrainingTable) -> bool:
    """Whether most columns are flags that are nearly always the same, such as words.

    The mixture's prior takes every frequency for equally likely, so the event that thousands of
    rare flags were discarded says to it that features tell next to nothing: on messages it had a
    log score of 0.60 where naive Bayes has 0.37.
    """
    flags = np.flatnonzero(np.array(table.kinds) == "binary")
    if 2 * flags.size <= len(table.kinds):
        return False
    values = table.X.to_numpy(dtype=float)[:, flags]
    observed = ~np.isnan(values)
    larger = values == np.max(values, axis=0, where=observed, initial=-np.inf)
    share = larger.sum(axis=0) / np.maximum(observed.sum(axis=0), 1)
    return bool(2 * np.sum(np.minimum(share, 1 - share) < RARE) > len(table.kinds))


def _check_classes_and_columns(table: TrainingTable, options: Options) -> None:
    """Refuse a table that the model cannot take."""
    card = options.card
    if card.only_numbers:
        _check_numbers(table, card.title)
    if card.needs_measurement:
        _check_measurements(table, card.title)
    if card.only_categories:
        _check_categories(table, card.title)
    if card.complete and not options.missing_as_level:
        _check_complete(table, card.title)
    if card.only_two_classes and len(table.labels) > 2:
        msg = (
            f"the {options.model} model is for two classes, and column {shown(table.target)} has "
            f"{len(table.labels)}; use the mixed one."
        )
        raise InputError(msg)
    if not card.coded and "categorical" in table.kinds:
        msg = (
            f"the {options.model} model needs a feature for each level; read the table with "
            "coded=False."
        )
        raise ValueError(msg)


def _check_numbers(table: TrainingTable, title: str) -> None:
    """Refuse text columns."""
    texts = list(table.encoding.levels)
    if texts:
        what = "a text column" if len(texts) == 1 else f"{len(texts):,} text columns"
        msg = (
            f"the {title} is for numbers, and the table has {what}: {listed(texts)}; leave "
            f"{'it' if len(texts) == 1 else 'them'} out with --ignore, or use the mixed model."
        )
        raise InputError(msg)


def _check_measurements(table: TrainingTable, title: str) -> None:
    """Refuse a table without measurements."""
    if "real" not in table.kinds:
        msg = (
            f"the {title} is for measurements, and every column of this table has two values at "
            "most; use the mixed model."
        )
        raise InputError(msg)


def _check_categories(table: TrainingTable, title: str) -> None:
    """Refuse measurements, and flags of numbers that cannot be codes."""
    names = [feature.column for feature in table.encoding.features]
    real = [name for name, kind in zip(names, table.kinds, strict=True) if kind == "real"]
    if real:
        what, them = _columns_of_numbers(len(real))
        msg = (
            f"the {title} is for categories and flags, and the table has {what}: {listed(real)}; "
            f"leave {them} out with --ignore, name codes with --categorical, or use the mixed "
            "model."
        )
        raise InputError(msg)
    values = table.X.to_numpy(dtype=float)
    known = np.where(np.isnan(values), 0, values)
    odd = np.any((known < 0) | (known != np.rint(known)), axis=0)
    if odd.any():
        first = int(np.argmax(odd))
        msg = (
            f"the {title} takes whole numbers from 0 on for flags, and column "
            f"{shown(names[first])} holds others; name it with --categorical."
        )
        raise InputError(msg)


def _columns_of_numbers(number: int) -> tuple[str, str]:
    if number == 1:
        return "a column of measurements", "it"
    return f"{number:,} columns of measurements", "them"


def _check_complete(table: TrainingTable, title: str) -> None:
    """Refuse missing cells, naming their columns."""
    features = np.array(table.encoding.features, dtype=object)
    holes = np.any(table.X.isna().to_numpy(), axis=0)
    names = list(dict.fromkeys(feature.column for feature in features[holes]))
    if names:
        what = "column" if len(names) == 1 else "columns"
        msg = (
            f"the {title} cannot integrate missing cells out of its training, and there are some "
            f"in {what} {listed(names)}; make missing a level of its own with --missing-as-level, "
            "or leave columns out with --ignore."
        )
        raise InputError(msg)


def has_only_measurements(table: TrainingTable) -> bool:
    """Whether all features are measurements, apart from columns that hold one number only."""
    if "real" not in table.kinds or table.encoding.levels:
        return False
    others = table.X.to_numpy()[:, np.array(table.kinds) != "real"]
    return not np.any(np.fmin.reduce(others, axis=0) < np.fmax.reduce(others, axis=0))


def largest_race(table: TrainingTable, options: Options) -> int:
    """Return how many features run in the race, or in the largest one of any kind."""
    if not options.card.by_kind:
        return table.X.shape[1] - len(table.keep)
    kept = set(table.keep)
    racing = [
        kind for kind, name in zip(table.kinds, table.X.columns, strict=True) if name not in kept
    ]
    return max((racing.count(kind) for kind in set(racing)), default=0)


def final_model(estimator: Estimator, table: TrainingTable, options: Options) -> Estimator:
    """Fit an estimator of the folds to all rows, with all its chains, at the prevalence of use."""
    prior = prevalences(options.prevalence, table.labels)
    words = options.card.final if prior is None else options.card.final | {"class_prior": prior}
    estimator.set_params(**words)
    return estimator.fit(table.X, table.y, groups=table.groups)


def fit_model(table: TrainingTable, options: Options) -> Estimator:
    """Fit the model in use on all rows, without an evaluation."""
    estimators = estimators_of(table, options, options.number_to_keep)
    return final_model(estimators[method_in_use(options)], table, options)
