"""Estimators of a report: which ones suit a table, and the final fit on all rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from honestbayes.base.spec import ModelSpec
from honestbayes.catalogue import table_specs
from honestbayes.data.kinds import KindsInOrder
from honestbayes.evaluation.baselines import FREQUENCIES, Task, baselines_for
from honestbayes.report.options import PATH_UP_TO, Options
from honestbayes.tables import TrainingTable
from honestbayes.tables.errors import InputError, listed, shown
from honestbayes.tables.model import Estimator
from honestbayes.tables.target import prevalences
from honestbayes.types import AnyArray, FloatArray

# --------------------------------------------------------------------------------------------------
# A flag for each level of a categorical column, for models that know yes-or-no features only
# --------------------------------------------------------------------------------------------------


class LevelsAsFlags(ClassifierMixin, BaseEstimator):
    """A classifier of binary features, with each categorical column one-hot encoded.

    Parameters
    ----------
    classifier : estimator
        Fitted to the flags and to all other columns as they are.
    kinds : sequence of {"binary", "categorical", "real"}
        The kind of each column.
    always_keep : list of str, optional
        Columns kept by design, with all their flags; the table must then be a frame.
    """

    def __init__(
        self, classifier: Any, kinds: KindsInOrder, always_keep: list[str] | None = None
    ) -> None:
        self.classifier = classifier
        self.kinds = kinds
        self.always_keep = always_keep

    def fit(self, X: Any, y: Any) -> Self:
        """Find the categories, and fit."""
        table = np.asarray(X, dtype=float)
        self.levels_ = {
            column: np.unique(table[~np.isnan(table[:, column]), column])
            for column in np.flatnonzero(np.array(self.kinds) == "categorical").tolist()
        }
        classifier = clone(self.classifier)
        if self.always_keep is not None:
            kept = np.isin(np.asarray(X.columns, dtype=object), self.always_keep)
            parts = [np.delete(kept, list(self.levels_))]
            parts += [np.full(len(levels), kept[c]) for c, levels in self.levels_.items()]
            classifier.set_params(always_keep=np.concatenate(parts))
        self.classifier_ = classifier.fit(self._flags(table), y)
        self.classes_ = self.classifier_.classes_
        return self

    def _flags(self, table: AnyArray) -> AnyArray:
        parts = [np.delete(table, list(self.levels_), axis=1)]
        for column, levels in self.levels_.items():
            known = np.isin(table[:, column], levels)[:, None]
            parts.append(np.where(known, table[:, [column]] == levels, np.nan))
        return np.concatenate(parts, axis=1)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return P(class | x)."""
        check_is_fitted(self)
        result: FloatArray = self.classifier_.predict_proba(self._flags(np.asarray(X, dtype=float)))
        return result


# --------------------------------------------------------------------------------------------------
# The methods that a report compares on the same folds
#
# Four are honestbayes itself, with and without the correction and the slope; where there are not
# too many cases, so is a mixture that knows of hidden groups. Where the model in use is that
# mixture, or one with latent factors, naive Bayes is compared with it. A model that has no
# correction stands there under its own title; the average of models does too, and naive Bayes
# stands beside it without the correction and with it. The others are the baselines of
# ``evaluation/baselines``: what a good practitioner would run instead, each tuned inside the folds,
# and the class frequencies, which any method must beat.
# --------------------------------------------------------------------------------------------------


UNCORRECTED = "uncorrected"
UNCORRECTED_SLOPE = "uncorrected, recalibrated"
CORRECTED = "corrected"
CORRECTED_SLOPE = "corrected, recalibrated"
MIXTURE = "two-component mixture"
NAIVE_BAYES = "naive Bayes, recalibrated"
UNCORRECTED_NAIVE = "naive Bayes, uncorrected"
CORRECTED_NAIVE = "naive Bayes, corrected"
"""The two beside an average of models; the second is recalibrated too."""

MOST_FOR_MIXTURE = 400
"""Cases up to which the mixture's correction is quick to prepare, so that it is always compared."""


def own_names(spec: ModelSpec) -> tuple[str, str]:
    """Return the names of the model in the comparison, without and with recalibration."""
    if spec.corrects:
        return CORRECTED, CORRECTED_SLOPE
    return spec.title, f"{spec.title}, recalibrated"


def uncorrected_name(spec: ModelSpec) -> str | None:
    """Return the name of the uncorrected model in the comparison, if there is one."""
    if spec.is_average:
        return UNCORRECTED_NAIVE
    return UNCORRECTED if spec.corrects else None


def compared_methods(
    spec: ModelSpec,
    *,
    n_features: int | str | None,
    threshold: float | None,
    always_keep: list[str] | None,
    n_candidates: int,
    seed: int,
    covariates: list[str] | None = None,
    kinds: KindsInOrder | None = None,
    mixture: bool = False,
    compare: bool = True,
    more: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the estimators by name, in the order of the report.

    Parameters
    ----------
    spec : ModelSpec
        The model that the report is about.
    n_features : int, "all", "cv" or None
        How many features to keep, of each kind where there are kinds; "cv": chosen inside the
        folds.
    threshold : float or None
        Instead, a bound on the absolute correlation.
    always_keep : list of str or None
        Features kept by design.
    n_candidates : int
        Candidates of the largest ranking, for the numbers that "cv" tries.
    seed : int
        Breaks ties, and draws the inner folds.
    covariates : list of str, optional
        Columns that are conditioned on; baselines and the mixture take them as features.
    kinds : sequence of {"binary", "categorical", "real"}, optional
        The kind of each column, where columns are features as they are; without it all are turned
        into 0/1.
    mixture : bool, default=False
        Whether the two-component mixture is compared with a naive Bayes.
    compare : bool, default=True
        Whether baselines are there too; class frequencies alone always are.
    more : mapping, optional
        Parameters that only the model in use has.
    """
    params = {
        "n_features_to_select": n_features,
        "threshold": threshold,
        "always_keep": always_keep,
        "random_state": seed,
    }
    apart = {} if covariates is None else {"covariates": covariates}
    own = params | apart | dict(more or {})
    plain, recalibrated = own_names(spec)
    naive = spec.dependence is None
    ours: dict[str, Any] = {}
    if spec.is_average:
        ours |= _naive_beside_average(params | apart, kinds)
    if spec.uncorrected_params is not None:
        ours[UNCORRECTED] = spec.make_estimator(
            own, kinds, recalibrate=None, **spec.uncorrected_params
        )
    ours[plain] = spec.make_estimator(own, kinds, recalibrate=None)
    if spec.recalibrates:
        ours[recalibrated] = spec.make_estimator(own, kinds, recalibrate="bayes")
    if spec.recalibrates and naive and spec.uncorrected_params is not None:
        ours[UNCORRECTED_SLOPE] = spec.make_estimator(
            own, kinds, recalibrate="bayes", **spec.uncorrected_params
        )
    if not naive and not spec.is_average:
        ours[NAIVE_BAYES] = naive_bayes(kinds).make_estimator(params, kinds)
    elif naive and mixture:
        by_design = [*(always_keep or ()), *(covariates or ())] or None
        ours[MIXTURE] = mixture_of(params | {"always_keep": by_design}, kinds)
    task = Task(
        n_features=n_features,
        threshold=threshold,
        n_candidates=n_candidates,
        seed=seed,
        kinds=kinds,
    )
    baselines = baselines_for(task)
    return ours | (baselines if compare else {FREQUENCIES: baselines[FREQUENCIES]})


def _naive_beside_average(params: Mapping[str, Any], kinds: KindsInOrder | None) -> dict[str, Any]:
    """Return naive Bayes without the correction, and as it is by default."""
    naive = naive_bayes(kinds)
    without = naive.uncorrected_params or {}
    return {
        UNCORRECTED_NAIVE: naive.make_estimator(params, kinds, recalibrate=None, **without),
        CORRECTED_NAIVE: naive.make_estimator(params, kinds),
    }


def naive_bayes(kinds: KindsInOrder | None) -> ModelSpec:
    """Return the spec of the naive Bayes of columns as they are, or of yes-or-no features."""
    return table_specs()["binary" if kinds is None else "mixed"]


def mixture_of(params: dict[str, Any], kinds: KindsInOrder | None) -> Any:
    """Return the two-component mixture, with each categorical column one-hot encoded.

    Where the number of features is to be chosen it keeps ten: chains for each number in each fold
    would take too long.
    """
    if params["n_features_to_select"] == "cv":
        params = params | {"n_features_to_select": None}
    model = table_specs()["mixture"].make_estimator(params, kinds)
    if kinds is None or "categorical" not in kinds:
        return model
    return LevelsAsFlags(model.set_params(always_keep=None), kinds, params["always_keep"])


RARE = 0.1
"""A flag is rare where one of its two values has a smaller share of the cases."""


def with_room(options: Options, table: TrainingTable) -> tuple[Options, TrainingTable]:
    """Return options with as many folds as the table allows, and the table with a note."""
    most, what, unit = table.most_folds()
    if options.n_folds == "loo" or not 2 <= most < options.n_folds:
        return options, table
    note = f"There are {most} folds instead of {options.n_folds}: {what} {most} {unit}."
    return replace(options, n_folds=most), replace(table, notes=(*table.notes, note))


def method_in_use(options: Options) -> str:
    """Return the method whose model is saved."""
    return own_names(options.spec)[options.uses_slope]


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
    return compared_methods(
        options.spec,
        n_features=n_features,
        threshold=options.threshold if threshold is None else threshold,
        always_keep=list(table.keep) or None,
        covariates=list(table.covariates) or None,
        n_candidates=max_candidates(table, options),
        seed=options.seed,
        kinds=np.array(table.kinds) if options.coded else None,
        mixture=options.compares and _suits_the_mixture(table),
        compare=options.compares,
        more=options.own_params,
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
    spec = options.spec
    if "categorical" not in spec.input.kinds:
        _check_numbers(table, spec.title)
    if spec.input.needs_real:
        _check_measurements(table, spec.title)
    if "real" not in spec.input.kinds:
        _check_categories(table, spec.title)
    if spec.input.complete and not options.missing_as_level:
        _check_complete(table, spec.title)
    if spec.input.two_classes and len(table.labels) > 2:
        msg = (
            f"the {options.model} model is for two classes, and column {shown(table.target)} has "
            f"{len(table.labels)}; use the mixed model."
        )
        raise InputError(msg)
    if table.covariates and "covariates" not in spec.report_params:
        msg = (
            f"the {options.model} model does not take covariates; use the honest or the mixed "
            "model."
        )
        raise InputError(msg)
    if not spec.input.coded and "categorical" in table.kinds:
        msg = (
            f"the {options.model} model needs a binary feature for each category; read the table "
            "with "
            "coded=False."
        )
        raise ValueError(msg)


def _check_numbers(table: TrainingTable, title: str) -> None:
    """Refuse text columns."""
    texts = list(table.encoding.levels)
    if texts:
        what = "a text column" if len(texts) == 1 else f"{len(texts):,} text columns"
        msg = (
            f"the {title} is for numbers, but the table has {what}: {listed(texts)}; leave "
            f"{'it' if len(texts) == 1 else 'them'} out with --ignore, or use the mixed model."
        )
        raise InputError(msg)


def _check_measurements(table: TrainingTable, title: str) -> None:
    """Refuse a table without measurements."""
    if "real" not in table.kinds:
        msg = (
            f"the {title} is for continuous features, and every column of this table is binary; "
            "use the mixed model."
        )
        raise InputError(msg)


def _check_categories(table: TrainingTable, title: str) -> None:
    """Refuse measurements, and flags of numbers that cannot be codes."""
    names = [feature.column for feature in table.encoding.features]
    real = [name for name, kind in zip(names, table.kinds, strict=True) if kind == "real"]
    if real:
        what, them = _columns_of_numbers(len(real))
        msg = (
            f"the {title} is for categorical and binary features, but the table has {what}: "
            f"{listed(real)}; "
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
            f"the {title} needs binary columns of whole numbers from 0, and column "
            f"{shown(names[first])} holds other values; name it with --categorical."
        )
        raise InputError(msg)


def _columns_of_numbers(number: int) -> tuple[str, str]:
    if number == 1:
        return "a continuous column", "it"
    return f"{number:,} continuous columns", "them"


def _check_complete(table: TrainingTable, title: str) -> None:
    """Refuse missing cells, naming their columns."""
    features = np.array(table.encoding.features, dtype=object)
    holes = np.any(table.X.isna().to_numpy(), axis=0)
    names = list(dict.fromkeys(feature.column for feature in features[holes]))
    if names:
        what = "column" if len(names) == 1 else "columns"
        msg = (
            f"the {title} needs complete training rows, and cells are missing "
            f"in {what} {listed(names)}; treat missing cells as a category with "
            "--missing-as-level, "
            "or leave columns out with --ignore."
        )
        raise InputError(msg)


def has_only_measurements(table: TrainingTable) -> bool:
    """Whether all features are measurements, apart from columns that hold one number only."""
    if "real" not in table.kinds or table.encoding.levels:
        return False
    others = table.X.to_numpy()[:, np.array(table.kinds) != "real"]
    return not np.any(np.fmin.reduce(others, axis=0) < np.fmax.reduce(others, axis=0))


def max_candidates(table: TrainingTable, options: Options) -> int:
    """Return the number of candidates, or of those of the most frequent kind."""
    if not options.spec.input.by_kind:
        return table.X.shape[1] - len(table.keep) - len(table.covariates)
    kept = {*table.keep, *table.covariates}
    candidates = [
        kind for kind, name in zip(table.kinds, table.X.columns, strict=True) if name not in kept
    ]
    return max((candidates.count(kind) for kind in set(candidates)), default=0)


def final_model(estimator: Estimator, table: TrainingTable, options: Options) -> Estimator:
    """Fit an estimator of the folds to all rows, with all its chains, at the prevalence of use."""
    prior = prevalences(options.prevalence, table.labels)
    params: dict[str, Any] = {} if prior is None else {"class_prior": prior}
    if options.spec.chains is not None:
        params |= options.spec.chains.final_params
    estimator.set_params(**params)
    return estimator.fit(table.X, table.y, groups=table.groups)


def fit_model(table: TrainingTable, options: Options) -> Estimator:
    """Fit the model in use on all rows, without an evaluation."""
    estimators = estimators_of(table, options, options.number_to_keep)
    return final_model(estimators[method_in_use(options)], table, options)
