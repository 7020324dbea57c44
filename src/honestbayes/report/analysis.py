"""Cross-validate all methods on the same folds, fit on all rows, and put it into one record."""

from __future__ import annotations

import platform
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import clone

from honestbayes.base.recalibration import number_grid
from honestbayes.base.spec import ModelSpec
from honestbayes.catalogue import spec_of, table_specs
from honestbayes.data import as_source
from honestbayes.data.categories import category_table, learn_cuts, measured_columns
from honestbayes.data.kinds import Kind, as_columns
from honestbayes.evaluation import Evaluation, compare, cross_validate
from honestbayes.evaluation.baselines import BASELINES
from honestbayes.evaluation.cross_validation import cross_validate_numbers
from honestbayes.metrics import (
    Estimate,
    ThresholdTable,
    calibration_table,
    confident_predictions,
    reliability,
    smooth_calibration,
    threshold_table,
)
from honestbayes.metrics.cases import top_class
from honestbayes.models.binary.estimator import SelectiveBernoulliNB
from honestbayes.models.gaussian.estimator import correlation_with
from honestbayes.report.methods import (
    CORRECTED,
    CORRECTED_NAIVE,
    MIXTURE,
    NAIVE_BAYES,
    UNCORRECTED,
    estimators_of,
    final_model,
    has_only_measurements,
    max_candidates,
    method_in_use,
    own_names,
    uncorrected_name,
)
from honestbayes.report.options import Options
from honestbayes.report.record import (
    Cases,
    DataSummary,
    Densities,
    LeftOut,
    Method,
    NumberPath,
    RankingResult,
    ReadColumn,
    Report,
    table_names,
)
from honestbayes.report.verdict import Judged, Other, OtherNumber, Verdict, judge
from honestbayes.report.wording import percent
from honestbayes.selection.categories import count_categories
from honestbayes.selection.correlation import strength_of
from honestbayes.selection.counts import screen
from honestbayes.selection.moments import screen_moments
from honestbayes.tables import TrainingTable
from honestbayes.tables.checks import CONDITIONS, NEARLY_A_COPY
from honestbayes.tables.columns import ColumnKind
from honestbayes.tables.model import Estimator
from honestbayes.tables.target import prevalences
from honestbayes.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd


# --------------------------------------------------------------------------------------------------
# The table and the rankings of its features, as the report has them
# --------------------------------------------------------------------------------------------------


N_JUST_MISSED = 10

N_BINS = 10
"""Bins of a measurement, where a model has categories only."""

MOST_NAMES = 12
"""Columns of each kind that are named on one line."""

MOST_COLUMNS = 100
"""Columns of a table up to which the report says how each one was read."""

MOST_SHARES = 3
"""Categories whose shares stand in the overview of a column."""

HISTOGRAM_BINS = 12
"""Bins of the small histogram of a column."""

READ_AS: dict[ColumnKind, Literal["binary", "continuous", "categorical", "left out"]] = {
    "binary": "binary",
    "real": "continuous",
    "categorical": "categorical",
    "left out": "left out",
}
"""What columns of each kind are called."""

KIND_WORDS = {"binary": "binary", "categorical": "categorical", "real": "continuous"}
"""What features of each kind are called."""


def data_summary(table: TrainingTable, name: str, more: tuple[str, ...] = ()) -> DataSummary:
    """Put the table into numbers; ``more`` are further notes."""

    def kinds(kind: Literal["binary", "real", "categorical"]) -> int:
        return sum(column.kind == kind for column in table.columns)

    return DataSummary(
        name=name,
        target=table.target,
        labels=table.labels,
        n_cases=int(table.y.size),
        class_counts=tuple(table.class_counts()),
        n_groups=None if table.groups is None else int(np.unique(table.groups).size),
        n_binary=kinds("binary"),
        n_real=kinds("real"),
        n_categorical=kinds("categorical"),
        n_features=int(table.X.shape[1]),
        n_missing=int(table.X.isna().to_numpy().sum()),
        kept_by_design=tuple(
            dict.fromkeys(
                feature.column for feature in table.encoding.features if feature.name in table.keep
            )
        ),
        ignored=table.ignored,
        left_out=tuple(
            LeftOut(column.name, column.reason)
            for column in table.columns
            if column.kind == "left out"
        ),
        n_columns=len(table.columns),
        columns=_columns_read(table),
        notes=(*table.notes, *more),
    )


def _columns_read(table: TrainingTable) -> tuple[ReadColumn, ...]:
    """Describe how columns were read; in wide tables, only columns with a remark."""
    decided = dict.fromkeys(table.decided, "as was asked for")
    doubtful = {finding.column: finding.rule for finding in reversed(table.findings)}
    described = [
        (
            column,
            column.reason or decided.get(column.name) or doubtful.get(column.name, ""),
        )
        for column in table.columns
    ]
    if len(described) > MOST_COLUMNS:
        described = [(column, remark) for column, remark in described if remark]
    features: dict[str, list[int]] = {}
    for j, feature in enumerate(table.encoding.features):
        features.setdefault(feature.column, []).append(j)
    return tuple(
        ReadColumn(
            column.name,
            READ_AS[column.kind],
            remark,
            *_overview(table, features.get(column.name, [])),
        )
        for column, remark in described
    )


def _overview(table: TrainingTable, features: list[int]) -> tuple[Any, ...]:
    """Return missing cells, distinct values, a summary and a histogram of a column.

    Parameters
    ----------
    table : TrainingTable
        The table.
    features : list of int
        The features that the column became: one, or one for each category.
    """
    if not features:
        return (None, None, "", ())
    values = table.X.iloc[:, features].to_numpy(dtype=np.float64)
    observed = values[~np.isnan(values[:, 0])]
    n_missing = values.shape[0] - observed.shape[0]
    first = table.encoding.features[features[0]]
    if first.level is None and not first.coded:
        numbers = observed[:, 0]
        n_distinct = int(np.unique(numbers).size)
        if n_distinct < 3:
            shares = Counter(f"{value:g}" for value in numbers.tolist())
            return (n_missing, n_distinct, _shares_of(shares, numbers.size), ())
        least, middle, largest = (float(np.quantile(numbers, q)) for q in (0, 0.5, 1))
        histogram = np.histogram(numbers, HISTOGRAM_BINS)[0]
        text = f"{least:.4g} to {largest:.4g}, median {middle:.4g}"
        return (n_missing, n_distinct, text, tuple(histogram.tolist()))
    levels = table.encoding.levels[first.column]
    if first.coded:
        counts = np.bincount(observed[:, 0].astype(int), minlength=len(levels)).tolist()
    elif len(features) == 1:  # a column of two texts is a feature for the second
        ones = int(observed.sum())
        counts = [observed.shape[0] - ones, ones]
    else:
        named = {table.encoding.features[j].level: k for k, j in enumerate(features)}
        counts = [int(observed[:, named[level]].sum()) if level in named else 0 for level in levels]
    shares = Counter(dict(zip(levels, counts, strict=True)))
    return (n_missing, sum(n > 0 for n in counts), _shares_of(shares, observed.shape[0]), ())


def _shares_of(counts: Counter[str], n: int) -> str:
    """Return the shares of the most frequent values.

    >>> _shares_of(Counter(a=1, b=3), 4)
    'b 75%, a 25%'
    """
    common = [(name, count) for name, count in counts.most_common(MOST_SHARES) if count]
    return ", ".join(f"{name} {percent(count / n)}" for name, count in common)


@dataclass(frozen=True, slots=True)
class ColumnsOfKind:
    """The columns that were read as one kind.

    Attributes
    ----------
    name : str
        What they were read as.
    number : int
        How many they are.
    names : tuple of str
        The first of them, where they are known.
    meaning : str
        What the model does with them.
    """

    name: str
    number: int
    names: tuple[str, ...]
    meaning: str

    @property
    def unnamed(self) -> int:
        """How many more there are."""
        return self.number - len(self.names)


def columns_by_kind(data: DataSummary, spec: ModelSpec) -> list[ColumnsOfKind]:
    """Return what the columns were read as, kinds that the table has."""
    measured = "numbers, taken as they are"
    if spec.input.bins_real or not spec.input.coded:
        measured = f"numbers, cut {'into bins' if spec.input.bins_real else 'at their median'}"
    levels = "texts or codes, categories without an order"
    kinds = {
        "continuous": (data.n_real, measured),
        "binary": (data.n_binary, "yes or no: 0 and 1, or two texts"),
        "categorical": (
            data.n_categorical,
            levels if spec.input.coded else f"{levels}: a binary feature for each",
        ),
        "left out": (len(data.left_out), "not used, for the reasons below"),
    }
    return [
        ColumnsOfKind(name, number, _names_read_as(name, data), meaning)
        for name, (number, meaning) in kinds.items()
        if number
    ]


def _names_read_as(kind: str, data: DataSummary) -> tuple[str, ...]:
    """Return the first columns of a kind; of wide tables the record does not hold all of them."""
    if kind == "left out":
        return tuple(column.name for column in data.left_out[:MOST_NAMES])
    if len(data.columns) < data.n_columns:
        return ()
    return tuple(c.name for c in data.columns if c.read_as == kind)[:MOST_NAMES]


def rankings(table: TrainingTable, model: Estimator) -> tuple[RankingResult, ...]:
    """Return the outcome of the ranking of each kind of feature."""
    result = []
    for kind, selection in model._selections().items():
        columns = np.flatnonzero(np.array(table.kinds) == kind)
        part = table.X.iloc[:, columns] if spec_of(model).input.by_kind else table.X
        cut = _cut(part, table.kinds) if spec_of(model).input.bins_real else part
        strength, constant = _screened(part, table.y, len(table.labels), kind, cut)
        order = np.argsort(-np.abs(strength), kind="stable")
        discarded = order[~selection.support()[order]][:N_JUST_MISSED]
        kept = len(selection.kept)
        result.append(
            RankingResult(
                rule=f"{kept:,} of {kept + selection.n_discarded:,} {KIND_WORDS[kind]}",
                bound=selection.gamma,
                n_kept=kept,
                n_by_design=len(selection.always_kept),
                n_discarded=selection.n_discarded,
                n_constant=int(np.sum(constant & ~selection.support())),
                n_tied_kept=selection.n_tied_kept,
                n_tied_discarded=selection.n_tied_discarded or 0,
                just_missed=tuple((str(part.columns[j]), float(strength[j])) for j in discarded),
                slope=float(model.slope_),
                kind=kind,
            )
        )
    return tuple(result)


def _cut(part: pd.DataFrame, kinds: Sequence[Kind]) -> Any:
    """Return a table with its measurements in bins."""
    columns = as_columns(part)
    measured = measured_columns(columns, list(kinds))
    return learn_cuts(columns, measured, np.arange(columns.n_rows), N_BINS).of(columns)


def _screened(
    part: pd.DataFrame, y: IntArray, n_classes: int, kind: Kind, cut: Any
) -> tuple[FloatArray, BoolArray]:
    """Return the correlation of each feature with the class, and whether the feature is constant.

    The correlation has no sign for categories, and where there are more than two classes. That of
    categories is of the table ``cut``, in which measurements are bins where a model has them so.
    """
    if kind == "binary" and n_classes == 2:
        counts = screen(part, y)
        ones, observed = counts.ones.sum(axis=0), counts.observed_full().sum(axis=0)
        return counts.correlation(), (ones == 0) | (ones == observed)
    values = part.to_numpy()
    constant = ~(np.fmin.reduce(values, axis=0) < np.fmax.reduce(values, axis=0))
    if kind == "real":
        moments = screen_moments(as_source(part), y, np.arange(n_classes))
        return correlation_with(moments), constant
    categories = count_categories(category_table(cut), y, np.arange(n_classes))
    return np.asarray(np.sqrt(strength_of(categories)[0])), constant


def all_rankings(model: Estimator, by_kind: tuple[RankingResult, ...]) -> RankingResult:
    """Add up the rankings of all kinds."""
    if not by_kind:
        return _looked_at(model)
    rule = _describe_kinds if spec_of(model).input.coded else _describe_rule
    several = {} if len(by_kind) == 1 else _added_up(by_kind)
    return replace(by_kind[0], rule=rule(model, by_kind), **several)


def _looked_at(model: Estimator) -> RankingResult:
    """Say which columns a model looks at that has no ranking of its own."""
    kept, total = model.kept_columns().size, int(model.n_features_in_)
    by_design = 0 if model.always_keep is None else len(model.always_keep)
    by_design += 0 if model.covariates is None else len(model.covariates)
    one_set = model.get_params(deep=False)["n_features_to_select"] is not None
    rule = f"{kept:,} of {total:,} columns are used"
    if kept == total:
        rule = "the one column is used" if total == 1 else f"all {total:,} columns are used"
    return RankingResult(
        rule=f"{rule}, the same by all models" if one_set else rule,
        bound=float("nan"),
        n_kept=kept - by_design,
        n_by_design=by_design,
        n_discarded=total - kept,
        n_constant=0,
        n_tied_kept=0,
        n_tied_discarded=0,
        just_missed=(),
        slope=float("nan"),
        kind="all",
    )


def _added_up(by_kind: tuple[RankingResult, ...]) -> dict[str, Any]:
    counts = [field.name for field in fields(RankingResult) if field.name.startswith("n_")]
    sums = {name: sum(getattr(ranking, name) for ranking in by_kind) for name in counts}
    return {**sums, "bound": float("nan"), "just_missed": (), "kind": "all"}


def describe_rankings(by_kind: tuple[RankingResult, ...]) -> str:
    """Say how many features of each kind were kept, and how many by design."""
    parts = [ranking.rule for ranking in by_kind if ranking.n_kept + ranking.n_discarded]
    by_design = sum(ranking.n_by_design for ranking in by_kind)
    if by_design:
        parts.append(f"{by_design:,} by design")
    return ", ".join(parts)


def _describe_rule(model: Estimator, by_kind: tuple[RankingResult, ...]) -> str:
    """Say by which rule features were kept, where all are of one kind."""
    (ranking,), (selection,) = by_kind, model._selections().values()
    if selection.rule == "all":
        return "all features are kept"
    if selection.rule == "threshold":
        return f"features with an absolute correlation above {ranking.bound:g} are kept"
    chosen = ", a number chosen by cross-validation," if model.number_choice_ else ""
    return f"the {ranking.n_kept:,} features{chosen} that correlate best are kept"


def _describe_kinds(model: Estimator, by_kind: tuple[RankingResult, ...]) -> str:
    """Say the same where there may be several kinds, and how many of each were kept."""
    if not spec_of(model).selects:
        number = sum(ranking.n_kept + ranking.n_by_design for ranking in by_kind)
        return "the one column is kept" if number == 1 else f"all {number:,} columns are kept"
    counts = describe_rankings(by_kind)
    if model.threshold is not None:
        return (
            "features with an absolute correlation, or what is as surprising for categories, above "
            f"{model.threshold:g} are kept: {counts}"
        )
    if not any(ranking.n_discarded for ranking in by_kind):
        return f"all features are kept: {counts}"
    chosen = ""
    if model.number_choice_ is not None:
        chosen = f", {model.number_choice_.chosen:,} (a number chosen by cross-validation),"
    if len(by_kind) == 1:
        return f"the features{chosen} that correlate best are kept: {counts}"
    return f"of each kind the features{chosen} that correlate best are kept: {counts}"


# --------------------------------------------------------------------------------------------------
# From evaluations to the verdict: what was compared, and by how much it differs
# --------------------------------------------------------------------------------------------------


DEFAULT_NUMBER = 10
"""Features that are kept, of each kind, where no number is asked for."""


def other_numbers(
    by_number: dict[int, Evaluation], in_use: Evaluation, table: TrainingTable, options: Options
) -> tuple[OtherNumber, ...]:
    """Compare other numbers of features with the one in use, on the first drawing of the folds."""
    if options.threshold is not None or options.n_features == "cv":
        return ()
    n_candidates = max_candidates(table, options)
    asked = options.number_to_keep
    number = min(DEFAULT_NUMBER, n_candidates) if asked is None else asked
    number = n_candidates if number == "all" else number
    first = replace(
        in_use,
        proba=in_use.proba[:1],
        log_proba=in_use.log_proba[:1],
        folds=in_use.folds[:1],
    )
    return tuple(
        OtherNumber(other, compare({"other": evaluation, "in use": first})[0].log_score)
        for other, evaluation in by_number.items()
        if other != number
    )


def others_of(methods: tuple[Method, ...], model: str) -> tuple[Other, ...]:
    """Return all methods that the model in use was compared with.

    Parameters
    ----------
    methods : tuple of Method
        Those of the report.
    model : str
        The word of ``--model`` for the report.
    """
    logistic = {baseline.name for baseline in BASELINES if baseline.is_logistic}
    spec = table_specs()[model]
    plain, recalibrated = own_names(spec)
    naive = f"--model {'mixed' if spec.input.coded else 'binary'}"
    options = {
        plain: "--no-recalibrate",
        recalibrated: "leave out --no-recalibrate",
        MIXTURE: "--model mixture",
        NAIVE_BAYES: naive,
        CORRECTED_NAIVE: naive,
    }
    return tuple(
        Other(
            name=method.name,
            difference=method.log_score_difference,
            actual_error=method.summary.actual_error.value,
            is_logistic=method.name in logistic,
            option=options.get(method.name, ""),
        )
        for method in methods
        if method.log_score_difference is not None
    )


def verdict_of(
    table: TrainingTable,
    methods: tuple[Method, ...],
    numbers: tuple[OtherNumber, ...],
    n_repeats: int,
    n_kept: int,
    options: Options,
) -> Verdict:
    """Decide about the model in use."""
    judged = {method.name: Judged(method.summary, method.confident) for method in methods}
    others = others_of(methods, options.model)
    plain, recalibrated = own_names(options.spec)
    return judge(
        table.labels,
        judged.get(str(uncorrected_name(options.spec))),
        judged[plain],
        judged.get(recalibrated),
        others=others,
        numbers=numbers,
        n_repeats=n_repeats,
        n_features=table.X.shape[1],
        n_kept=n_kept,
        recalibrate=options.uses_slope,
        dependence=options.spec.dependence,
        generative=options.spec.generative,
        mixture=judged[MIXTURE].summary if MIXTURE in judged else None,
        cut=options.coded and "real" in table.kinds,
        compared=options.compares,
        average=options.spec.title if options.spec.is_average else None,
        measurements=options.coded and has_only_measurements(table),
        doubts=tuple(
            finding.note()
            for finding in table.findings
            if finding.stops or finding.rule == NEARLY_A_COPY
        ),
        conditions=tuple(
            finding.sentence for finding in table.findings if finding.rule in CONDITIONS
        ),
    )


SURE = 0.95
"""Probability from which a prediction counts as confident."""

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
    """A report and its model."""

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
    by_kind, names = rankings(table, model), table_names(table, frequency)
    methods = _methods(evaluations, in_use)
    uncorrected = uncorrected_name(options.spec)
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
            for method in dict.fromkeys((*first, own_names(options.spec)[0], in_use))
        },
        calibration={
            method: calibration_table(table.y, evaluations[method].proba)
            for method in (*first, in_use)
        },
        smooth={
            method: smooth_calibration(table.y, evaluations[method].proba)
            for method in (*first, in_use)
        },
        ranking=all_rankings(model, by_kind),
        rankings=by_kind if options.coded else (),
        features=tuple(
            features.in_report(kind, names) for kind, features in model._feature_tables().items()
        ),
        posterior=posterior,
        paths=paths,
        sections=model._sections(names),
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
    if "importance" in estimator.get_params(deep=False):  # that of the final model is shown
        estimator = clone(estimator).set_params(importance=False)
    with warnings.catch_warnings():
        # The final fit repeats what concerns the model; baselines may warn as they like.
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
                confident=confident_predictions(
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
    grid = number_grid(max_candidates(table, options))
    grid = grid[grid <= LONGEST_PATH]
    n_folds = 0 if options.n_folds == "loo" else options.n_folds
    wanted = options.wants_path(table.X.shape[0], table.X.shape[0] * table.X.shape[1])
    if grid.size < 2 or not n_folds or not wanted:
        return {}, {}
    names = (UNCORRECTED, in_use) if options.spec.corrects else (in_use,)
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
    if (
        spec_of(model).dependence is not None
        or set(selections) != {"binary"}
        or len(table.labels) > 2
    ):
        return None
    n_kept = len(selections["binary"].kept)
    params: dict[str, Any] = {
        "n_features_to_select": n_kept if model.threshold is None else None,
        "threshold": model.threshold,
        "always_keep": model.always_keep,
        "random_state": model.random_state,
        "feature_prior": "uniform",
        "recalibrate": None,
    }
    models = {
        UNCORRECTED: SelectiveBernoulliNB(correction=None, **params),
        CORRECTED: SelectiveBernoulliNB(correction="counts", **params),
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
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions
