"""Cross-validate all methods on the same folds, fit on all rows, and put it into one record."""

from __future__ import annotations

import platform
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from honestbayes.base.recalibration import number_grid
from honestbayes.evaluation import Evaluation, compare, cross_validate
from honestbayes.evaluation.cross_validation import cross_validate_numbers
from honestbayes.metrics import (
    Estimate,
    ThresholdTable,
    calibration_table,
    claims,
    reliability,
    threshold_table,
)
from honestbayes.metrics.cases import top_class
from honestbayes.models.binary.estimator import SelectiveBernoulliNB
from honestbayes.models.cards import card_of
from honestbayes.report.contenders import CORRECTED, UNCORRECTED, own_names, uncorrected_name
from honestbayes.report.described import all_races, data_summary, races
from honestbayes.report.fitting import (
    estimators_of,
    final_model,
    largest_race,
    method_in_use,
)
from honestbayes.report.judging import other_numbers, verdict_of
from honestbayes.report.kept import (
    average_in_words,
    edges_in_words,
    interactions_in_words,
    kept_features,
)
from honestbayes.report.options import Options
from honestbayes.report.record import Cases, Densities, Method, NumberPath, Report
from honestbayes.tables import TrainingTable
from honestbayes.tables.model import Estimator
from honestbayes.tables.target import prevalences
from honestbayes.types import FloatArray

SURE = 0.95
"""Probability from which a claim counts as nearly certain."""

INTERVAL_LEVEL = 0.9
"""Coverage of the intervals of single probabilities."""

INTERVAL_DRAWS = 4_000_000
FEWEST_AND_MOST_DRAWS = (200, 2000)
"""Draws for the intervals of all cases together, and within which bounds for each."""

MANY_CASES = 200
"""From so many cases on, reliability has ten bins, else five."""

LONGEST_PATH = 200
"""Largest number of features of the path."""

_POINTS = 200
_PACKAGES = ("honestbayes", "numpy", "scipy", "scikit-learn", "numba", "pyarrow", "pandas")

Progress = Callable[[str, int], Callable[[], None]]
"""Given a description and a number of steps, returns what is called after each step."""


def no_progress(description: str, total: int) -> Callable[[], None]:
    """Show nothing."""
    del description, total
    return lambda: None


@dataclass(frozen=True, slots=True)
class Analysis:
    """A report and the model that it speaks of."""

    report: Report
    model: Estimator


def analyse(
    table: TrainingTable,
    options: Options,
    *,
    name: str,
    command: str = "",
    progress: Progress = no_progress,
) -> Analysis:
    """Evaluate all methods on held-out cases, fit the model in use on all rows, and judge.

    Parameters
    ----------
    table : TrainingTable
        The data.
    options : Options
        What the user asked for.
    name : str
        Name of the file, for the report.
    command : str
        Repeats the report.
    progress : callable
        Told how far the work is.
    """
    prevalences(options.prevalence, table.labels)  # refused before any work
    size = (table.X.shape[0], table.X.shape[0] * table.X.shape[1])
    n_repeats = options.repeats(*size)
    in_use = method_in_use(options)
    estimators = estimators_of(table, options, options.number_to_keep)
    evaluations = {}
    n_folds = len(table.y) if options.n_folds == "loo" else options.n_folds * n_repeats
    if options.n_folds == "loo" and table.groups is not None:
        n_folds = np.unique(table.groups).size
    step = progress("Cross-validating", n_folds * len(estimators))
    for method, estimator in estimators.items():
        evaluations[method] = _evaluate(estimator, table, options, n_repeats, step)
    paths, by_number = _paths(table, options, in_use, progress)
    progress("Fitting all rows", 0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = final_model(estimators[in_use], table, options)
        posterior = _posterior(model, table)
    frequency, columns = evaluations[in_use].selected_frequency, model.kept_columns()
    by_kind, sections = races(table, model), model._sections()
    methods = _methods(evaluations, in_use)
    uncorrected = uncorrected_name(options.card)
    first = () if uncorrected is None else (uncorrected,)
    report = Report(
        data=data_summary(table, name, options.left_out()),
        verdict=verdict_of(
            table,
            methods,
            other_numbers(by_number, evaluations[in_use], table, options),
            n_repeats,
            columns.size,
            options,
        ),
        in_use=in_use,
        methods=methods,
        reliability={
            method: reliability(
                table.y,
                evaluations[method].proba,
                n_bins=10 if table.y.size >= MANY_CASES else 5,
            )
            for method in dict.fromkeys((*first, own_names(options.card)[0], in_use))
        },
        calibration={
            method: calibration_table(table.y, evaluations[method].proba)
            for method in (*first, in_use)
        },
        race=all_races(model, by_kind),
        races=by_kind if options.coded else (),
        features=kept_features(table, model, frequency),
        posterior=posterior,
        paths=paths,
        groups=sections.get("groups"),
        factors=sections.get("factors"),
        interactions=interactions_in_words(sections.get("interactions"), table),
        edges=edges_in_words(sections.get("edges"), table),
        average=average_in_words(sections.get("average"), table, columns, frequency),
        thresholds=_thresholds(table, options, evaluations[in_use]),
        confusion=_confusion(evaluations[in_use]),
        cases=_cases(table, model, evaluations.get(str(uncorrected)), evaluations[in_use]),
        settings=options.to_dict() | {"n_repeats": n_repeats},
        versions=_versions(),
        command=command,
        warnings=tuple(
            dict.fromkeys(
                str(warning.message)
                for warning in caught
                if issubclass(warning.category, UserWarning)
            )
        ),
    )
    return Analysis(report, model)


def _evaluate(
    estimator: Any,
    table: TrainingTable,
    options: Options,
    n_repeats: int,
    step: Callable[[], None],
) -> Evaluation:
    with warnings.catch_warnings():
        # The final fit repeats what concerns the model; peers may warn as they like.
        warnings.simplefilter("ignore")
        return cross_validate(
            estimator,
            table.X,
            table.y,
            cv=options.n_folds,
            n_repeats=n_repeats,
            groups=table.groups,
            random_state=options.seed,
            n_jobs=options.n_jobs,
            on_fold=step,
        )


def _methods(evaluations: dict[str, Evaluation], in_use: str) -> tuple[Method, ...]:
    differences = {}
    for pair in compare(evaluations):
        if pair.second == in_use:
            differences[pair.first] = (pair.log_score, pair.squared_error)
        elif pair.first == in_use:
            differences[pair.second] = (_negative(pair.log_score), _negative(pair.squared_error))
    methods = []
    for name, evaluation in evaluations.items():
        log_score, squared_error = differences.get(name, (None, None))
        methods.append(
            Method(
                name=name,
                summary=evaluation.summary(),
                claims=claims(
                    evaluation.y, evaluation.proba, at_least=SURE, groups=evaluation.groups
                ),
                log_score_difference=log_score,
                squared_error_difference=squared_error,
            )
        )
    return tuple(methods)


def _negative(estimate: Estimate) -> Estimate:
    low, high = estimate.interval
    return Estimate(-estimate.value, estimate.standard_error, (-high, -low), estimate.level)


def _paths(
    table: TrainingTable, options: Options, in_use: str, progress: Progress
) -> tuple[dict[str, NumberPath], dict[int, Evaluation]]:
    """Evaluate numbers of features on one drawing of the folds.

    Returns the paths by method, and the evaluations of the model in use by number.
    """
    grid = number_grid(largest_race(table, options))
    grid = grid[grid <= LONGEST_PATH]
    n_folds = 0 if options.n_folds == "loo" else options.n_folds
    wanted = options.wants_path(table.X.shape[0], table.X.shape[0] * table.X.shape[1])
    if grid.size < 2 or not n_folds or not wanted:
        return {}, {}
    names = (UNCORRECTED, in_use) if options.card.corrects else (in_use,)
    step = progress("Trying numbers of features", len(names) * n_folds)
    estimators = estimators_of(table, options, int(grid[0]), None)
    paths, by_number = {}, {}
    for name in names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            evaluations = cross_validate_numbers(
                estimators[name],
                table.X,
                table.y,
                grid.tolist(),
                cv=options.n_folds,
                groups=table.groups,
                random_state=options.seed,
                n_jobs=options.n_jobs,
                on_fold=step,
            )
        summaries = [evaluation.summary() for evaluation in evaluations]
        paths[name] = NumberPath(
            grid,
            np.array([summary.expected_error for summary in summaries]),
            np.array([summary.actual_error.value for summary in summaries]),
            np.array([summary.log_score.value for summary in summaries]),
        )
        if name == in_use:
            by_number = dict(zip(grid.tolist(), evaluations, strict=True))
    return paths, by_number


def _posterior(model: Estimator, table: TrainingTable) -> Densities | None:
    """Posterior densities of an alpha that all features share, from the kept and from all.

    None where not all features are binary, or there are more than two classes, and where the model
    is no naive Bayes.
    """
    selections = model._selections()
    if card_of(model).beyond is not None or set(selections) != {"binary"} or len(table.labels) > 2:
        return None
    n_kept = len(selections["binary"].kept)
    words: dict[str, Any] = {
        "n_features_to_select": n_kept if model.threshold is None else None,
        "threshold": model.threshold,
        "always_keep": model.always_keep,
        "random_state": model.random_state,
        "feature_prior": "uniform",
        "recalibrate": None,
    }
    models = {
        UNCORRECTED: SelectiveBernoulliNB(correction=None, **words),
        CORRECTED: SelectiveBernoulliNB(correction="counts", **words),
    }
    posteriors = {name: m.fit(table.X, table.y).posterior_ for name, m in models.items()}
    ends = [posterior.quantile(np.array([5e-4, 1 - 5e-4])) for posterior in posteriors.values()]
    grid = np.linspace(np.min(ends), np.max(ends), _POINTS)
    return Densities(grid, {name: p.density(grid) for name, p in posteriors.items()})


def _thresholds(
    table: TrainingTable, options: Options, evaluation: Evaluation
) -> ThresholdTable | None:
    if len(table.labels) > 2:
        return None
    prior = prevalences(options.prevalence, table.labels)
    share = None if prior is None else prior[1]
    return threshold_table(table.y, evaluation.proba, prevalence=share)


def _confusion(evaluation: Evaluation) -> FloatArray | None:
    """Count held-out cases by actual and most probable class, per repeat."""
    n_classes = evaluation.classes.size
    if n_classes == 2:
        return None
    chosen = top_class(evaluation.proba)
    pairs = (evaluation.y * n_classes + chosen).ravel()
    counts = np.bincount(pairs, minlength=n_classes**2).reshape(n_classes, n_classes)
    return np.asarray(counts / chosen.shape[0])


def _cases(
    table: TrainingTable, model: Estimator, uncorrected: Evaluation | None, in_use: Evaluation
) -> Cases:
    held_out = in_use.proba
    # Each draw is one of all classes, for each class; two classes are the usual.
    size = table.y.size * len(table.labels) ** 2 // 4
    draws = int(np.clip(INTERVAL_DRAWS // size, *FEWEST_AND_MOST_DRAWS))
    fitted = model.predict_proba(table.X)
    interval: FloatArray = model.predict_proba_interval(table.X, INTERVAL_LEVEL, n_draws=draws)
    return Cases(
        row=table.row_numbers,
        identifier=None if table.ids is None else tuple(str(name) for name in table.ids),
        actual=table.y,
        held_out=held_out.mean(axis=0),
        held_out_low=held_out.min(axis=0),
        held_out_high=held_out.max(axis=0),
        held_out_uncorrected=None if uncorrected is None else uncorrected.proba.mean(axis=0),
        fitted=fitted[:, 1] if len(table.labels) == 2 else fitted,
        fitted_low=interval[..., 0],
        fitted_high=interval[..., 1],
    )


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
