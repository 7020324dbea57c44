"""Comparisons with baselines, on real and on simulated tables."""

from __future__ import annotations

import time
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from honestbayes.average.estimator import HonestClassifier
from honestbayes.data.kinds import Kind
from honestbayes.evaluation.baselines import (
    BASELINES,
    FREQUENCIES,
    FURTHER_BASELINES,
    Task,
    baselines_for,
)
from honestbayes.experiments.comparison_tables import (
    TRUTHS,
    ComparisonTable,
    real_table,
    simulated_table,
)
from honestbayes.experiments.experiment import (
    Cell,
    Experiment,
    ExperimentRun,
    Findings,
    ResultFigure,
    ResultTable,
    Settings,
    Size,
)
from honestbayes.metrics import actual_error, brier_score, expected_error, log_score
from honestbayes.models.binary.estimator import SelectiveBernoulliNB
from honestbayes.models.categorical.estimator import SelectiveCategoricalNB
from honestbayes.models.gaussian.estimator import SelectiveGaussianNB
from honestbayes.plots.drawing import GREY, look, subplots, tidy
from honestbayes.types import AnyArray, FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# --------------------------------------------------------------------------------------------------
# Methods, one run of one method, and its scores
#
# All methods share the folds. Selection, tuning and calibration see only the training cases of each
# fold.
# --------------------------------------------------------------------------------------------------


HONEST = "HonestClassifier"
UNCORRECTED, CORRECTED, CALIBRATED = (
    "naive Bayes, uncorrected",
    "naive Bayes, corrected",
    "naive Bayes, corrected and calibrated",
)
OURS = (HONEST, CALIBRATED, CORRECTED, UNCORRECTED)
METHODS = (*OURS, *(baseline.name for baseline in (*BASELINES, *FURTHER_BASELINES)))
FOLDS, SEED, KEPT = 5, 0, 10
LEAST = 1e-9
"""Lower bound on probabilities of baselines: a zero would be an infinite loss."""

_NAIVE: dict[Kind, Any] = {
    "binary": SelectiveBernoulliNB,
    "categorical": SelectiveCategoricalNB,
    "real": SelectiveGaussianNB,
}


def methods_for(kind: Kind, *, sparse: bool = False) -> tuple[str, ...]:
    """Return the names of the methods that suit a table."""
    task = Task(n_candidates=2, kinds=None if sparse else (kind, kind), sparse=sparse)
    return (*OURS, *baselines_for(task, further=True))


def make_method(name: str, table: ComparisonTable) -> Any:
    """Return an unfitted method; those that select keep ten features."""
    kept = min(KEPT, table.n_features)
    if name == HONEST:
        return HonestClassifier(random_state=SEED)
    if name in OURS:
        params: dict[str, Any] = {"n_features_to_select": kept, "random_state": SEED}
        if name == UNCORRECTED:
            params |= {"correction": None, "recalibrate": None}
        elif name == CORRECTED:
            params |= {"recalibrate": None}
        model = _NAIVE[table.kind]()
        return model.set_params(**{k: v for k, v in params.items() if k in model.get_params()})
    sparse = issparse(table.X)
    task = Task(
        n_features=kept,
        n_candidates=table.n_features,
        seed=SEED,
        kinds=None if sparse else (table.kind,) * table.n_features,
        sparse=sparse,
    )
    return baselines_for(task, further=True)[name]


def evaluate(
    table: ComparisonTable, name: str, repeat: int, n_folds: int = FOLDS
) -> dict[str, Any]:
    """Cross-validate one method on one division into folds."""
    classes, codes = np.unique(table.y, return_inverse=True)
    X = table.X if name in OURS or table.codes is None else table.codes
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=repeat)
    logs = np.empty((codes.size, classes.size))
    seconds, indices = 0.0, np.zeros(codes.size, dtype=np.int64)
    for index, (train, test) in enumerate(folds.split(codes, codes)):
        model = clone(make_method(name, table))
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # of rare categories, and of baselines that do not converge
            model.fit(_rows(X, train), codes[train])
            logs[test] = _log_proba(model, _rows(X, test))
        seconds += time.process_time() - began
        indices[test] = index
    sizes = {"n_cases": codes.size, "n_features": table.n_features, "n_classes": classes.size}
    split = int(np.sum((indices + 1) * np.arange(1, codes.size + 1)))
    return sizes | scores(codes, logs, table.truth) | {"seconds": seconds / n_folds, "split": split}


def _rows(X: Any, rows: IntArray) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _log_proba(model: Any, X: Any) -> FloatArray:
    if hasattr(model, "predict_log_proba"):
        return np.asarray(model.predict_log_proba(X))
    return np.asarray(np.log(np.maximum(model.predict_proba(X), LEAST)))


def scores(codes: IntArray, log_proba: FloatArray, truth: FloatArray | None) -> dict[str, Any]:
    """Return the scores of held-out predictions, and their distance from the truth."""
    proba = np.exp(log_proba)
    classes = np.arange(proba.shape[1])
    result = {
        "log_score": float(log_score(codes, log_proba=log_proba, classes=classes)),
        "brier": float(brier_score(codes, proba, classes=classes)),
        "expected_error": float(expected_error(proba)),
        "actual_error": float(actual_error(codes, proba, classes=classes)),
    }
    sure, right = proba.max(axis=1), proba.argmax(axis=1) == codes
    result["calibration_error"] = calibration_error(sure, right)
    # What a method that knows how sure it may be would have had, by the luck of so few cases.
    rng = np.random.default_rng(0)
    lucky = [calibration_error(sure, rng.random(sure.size) < sure) for _ in range(100)]
    result["calibration_error_by_luck"] = float(np.mean(lucky))
    if truth is not None:
        result["distance"] = float(np.abs(proba[:, 1] - truth[:, 1]).mean())
        result["log_score_of_truth"] = float(-np.log(truth[np.arange(codes.size), codes]).mean())
    return result


def calibration_error(sure: FloatArray, right: AnyArray, n_bins: int = 10) -> float:
    """Return the expected calibration error: ten bins of equal size, sorted by probability."""
    order = np.argsort(sure, kind="stable")
    bins = np.array_split(order, min(n_bins, order.size))
    gaps = [abs(sure[rows].mean() - right[rows].mean()) * rows.size for rows in bins]
    return float(np.sum(gaps) / sure.size)


# --------------------------------------------------------------------------------------------------
# Scores by table and method
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Results:
    """Scores of all runs, by table and method.

    Attributes
    ----------
    runs : mapping of (table, method) to list of dict
        What each repeat found.
    """

    runs: Mapping[tuple[str, str], list[dict[str, Any]]]

    @classmethod
    def of(cls, done: Sequence[ExperimentRun]) -> Results:
        """Sort runs by table and method."""
        by_table: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for run in done:
            by_table.setdefault((run.settings["table"], run.settings["method"]), []).append(
                run.results
            )
        return cls(by_table)

    @property
    def tables(self) -> list[str]:
        """Names of the tables."""
        return list(dict.fromkeys(table for table, _ in self.runs))

    def methods(self, table: str | None = None) -> list[str]:
        """Names of the methods, ours first; of one table, or of all."""
        there = {m for t, m in self.runs if table in (None, t)}
        return [name for name in METHODS if name in there]

    def of_all(self, name: str, table: str, method: str) -> FloatArray:
        """Return one score of each repeat."""
        return np.array([result[name] for result in self.runs[table, method]])

    def mean(self, name: str, table: str, method: str) -> float:
        """Return the average of a score over repeats."""
        return float(self.of_all(name, table, method).mean())

    def difference(self, table: str, one: str, other: str) -> tuple[float, float]:
        """Return how much worse the log score of one is than of another, and its error.

        Repeats are paired: both had the same folds.
        """
        gaps = self.of_all("log_score", table, one) - self.of_all("log_score", table, other)
        error = float(gaps.std(ddof=1) / np.sqrt(gaps.size)) if gaps.size > 1 else float("nan")
        return float(gaps.mean()), error


# --------------------------------------------------------------------------------------------------
# Figures, one for each question
# --------------------------------------------------------------------------------------------------


def _spread(values: FloatArray, new_tables: bool) -> float:
    if values.size < 2:
        return 0.0
    return 2 * float(values.std(ddof=1)) / (np.sqrt(values.size) if new_tables else 1.0)


def draw_scores(results: Results, new_tables: bool, name: str = "log_score") -> Figure:
    """Draw a panel for each table, a row for each method."""
    tables, methods = results.tables, results.methods()
    columns = min(3, len(tables))
    lines = -(-len(tables) // columns)
    figure, axes = subplots(
        lines,
        columns,
        figsize=(11, 0.8 + lines * (0.7 + 0.21 * len(methods))),
        sharey=True,
        squeeze=False,
    )
    for axis in axes.flat[len(tables) :]:
        axis.set_visible(False)
    for axis, table in zip(axes.flat, tables, strict=False):
        for index, method in enumerate(methods):
            if (table, method) not in results.runs:
                continue
            values = results.of_all(name, table, method)
            style = look(0 if method in OURS else 1)
            axis.errorbar(
                values.mean(),
                index,
                xerr=_spread(values, new_tables),
                color=style.color,
                marker=style.marker,
                markerfacecolor=style.color if method in OURS else "white",
                markersize=5,
            )
        if new_tables and name == "log_score":
            truth = results.mean("log_score_of_truth", table, methods[0])
            axis.axvline(truth, color=GREY, linewidth=0.8, label="truth")
        if (table, FREQUENCIES) in results.runs and name == "log_score":
            _cut(axis, results, table, methods)
        axis.set_title(table, fontsize=10)
        axis.set_yticks(range(len(methods)), methods, fontsize=8)
        axis.grid(axis="y", color="0.9", linewidth=0.6)
        axis.tick_params(axis="x", labelsize=8)
        tidy(axis)
    axes[0, 0].invert_yaxis()
    label = "log score" if name == "log_score" else "distance from the true probability"
    figure.supxlabel(label, fontsize=10)
    return figure


def _cut(axis: Any, results: Results, table: str, methods: Sequence[str]) -> None:
    """End the axis beyond chance; values beyond it are written at the edge."""
    end = 1.5 * results.mean("log_score", table, FREQUENCIES)
    if axis.get_xlim()[1] <= end:
        return
    axis.set_xlim(right=end)
    for index, method in enumerate(methods):
        if (table, method) in results.runs:
            value = results.mean("log_score", table, method)
            if value > end:
                axis.text(end, index, f"{value:.2f} >", ha="right", va="center", fontsize=8)


def draw_error_rates(results: Results) -> Figure:
    """Draw expected and actual error rates, a panel for each method."""
    methods = [m for m in results.methods() if m != FREQUENCIES]
    figure, axes = subplots(
        -(-len(methods) // 5),
        5,
        figsize=(11, 2.5 * (-(-len(methods) // 5))),
        sharex=True,
        sharey=True,
    )
    for axis in axes.flat[len(methods) :]:
        axis.set_visible(False)
    for axis, method in zip(axes.flat, methods, strict=False):
        there = [t for t in results.tables if (t, method) in results.runs]
        pairs = [
            [results.mean(name, t, method) for t in there]
            for name in ("expected_error", "actual_error")
        ]
        axis.axline((0, 0), slope=1, color=GREY, linewidth=0.8)
        axis.plot(*pairs, "o", color=look(0 if method in OURS else 1).color, markersize=4)
        axis.set_title(method.replace(", ", ",\n"), fontsize=8)
        axis.set(xlim=(0, 0.6), ylim=(0, 0.6), aspect="equal")
        tidy(axis)
    figure.supxlabel("expected error rate", fontsize=10)
    figure.supylabel("actual error rate", fontsize=10)
    return figure


def draw_correction(results: Results, new_tables: bool) -> Figure:
    """Draw the gain by the correction, by table."""
    tables = results.tables
    figure, axis = subplots(figsize=(7, 1 + 0.3 * len(tables)))
    pairs = {
        "corrected": (UNCORRECTED, CORRECTED),
        "corrected and calibrated": (UNCORRECTED, CALIBRATED),
    }
    for number, (label, (one, other)) in enumerate(pairs.items()):
        gaps = [
            results.of_all("log_score", t, one) - results.of_all("log_score", t, other)
            for t in tables
        ]
        style = look(number)
        axis.errorbar(
            [gap.mean() for gap in gaps],
            np.arange(len(tables)) + 0.2 * number - 0.1,
            xerr=[_spread(gap, new_tables) for gap in gaps],
            color=style.color,
            marker=style.marker,
            linestyle="none",
            markersize=5,
            label=label,
        )
    axis.axvline(0, color=GREY, linewidth=0.8)
    axis.set_xscale("symlog", linthresh=0.1)
    axis.set(xlabel="log score gained over the uncorrected model (logarithmic beyond 0.1)")
    axis.set_yticks(range(len(tables)), tables)
    axis.invert_yaxis()
    axis.legend(frameon=False, fontsize=8)
    tidy(axis)
    return figure


def draw_seconds(results: Results) -> Figure:
    """Draw processor seconds, a point for each table, a row for each method."""
    methods = results.methods()
    figure, axis = subplots(figsize=(7, 1 + 0.28 * len(methods)))
    for index, method in enumerate(methods):
        values = [
            results.mean("seconds", t, method)
            for t in results.tables
            if (t, method) in results.runs
        ]
        style = look(0 if method in OURS else 1)
        axis.plot(values, [index] * len(values), style.marker, color=style.color, markersize=4)
    axis.set(xlabel="processor seconds of a fold", xscale="log")
    axis.set_yticks(range(len(methods)), methods)
    axis.invert_yaxis()
    tidy(axis)
    return figure


SHOWN = {
    "log_score": "log score",
    "brier": "Brier score",
    "calibration_error": "calibration error",
    "calibration_error_by_luck": "of that, by chance",
    "expected_error": "expected error",
    "actual_error": "actual error",
}


def findings(
    done: Sequence[ExperimentRun], *, new_tables: bool, took_part: Collection[str] = ()
) -> Findings:
    """Return tables, figures and a conclusion.

    Parameters
    ----------
    done : sequence of ExperimentRun
        Runs of one method on one table and one division into folds.
    new_tables : bool
        Whether each repeat drew another table, or only other folds of the same cases.
    took_part : collection of str
        Tables on which defaults were settled.
    """
    results = Results.of(done)
    bars = (
        "two standard errors over tables drawn anew"
        if new_tables
        else "two standard deviations over divisions into folds (the cases are the same, so that "
        "other cases would vary more)"
    )
    figures = [
        ResultFigure(
            "log_score",
            f"Whose probabilities are best? Log scores of held-out cases, lower is better. Bars: "
            f"{bars}. Filled: ours; a number at the edge is beyond it.",
            lambda: draw_scores(results, new_tables),
        ),
        ResultFigure(
            "honesty",
            "Who predicts its own error rate? Expected and actual error rates, a point for each "
            "table. Above the line: more errors than expected.",
            lambda: draw_error_rates(results),
        ),
        ResultFigure(
            "correction",
            "Where does the correction pay? Log score of naive Bayes without the correction "
            f"minus with it, by table; right of 0 it pays. Bars: {bars}.",
            lambda: draw_correction(results, new_tables),
        ),
        ResultFigure(
            "seconds",
            "How long does it take? Processor seconds to fit and predict one fold.",
            lambda: draw_seconds(results),
        ),
    ]
    if new_tables:
        figures.append(
            ResultFigure(
                "distance",
                "How far from the truth? Mean distance of P(class 1) from the true probability.",
                lambda: draw_scores(results, new_tables, "distance"),
            )
        )
    return Findings(
        conclusion="\n\n".join(conclusion(results, took_part)),
        tables=(_by_method(results), _by_table(results, new_tables)),
        figures=tuple(figures),
    )


def _by_method(results: Results) -> ResultTable:
    """Average over the tables that a method suits; its score minus HonestClassifier's there."""
    rows: list[Mapping[str, Cell]] = []
    for method in results.methods():
        there = [t for t in results.tables if (t, method) in results.runs]
        means = {
            name: float(np.mean([results.mean(name, t, method) for t in there])) for name in SHOWN
        }
        behind = [results.difference(t, method, HONEST)[0] for t in there]
        seconds = float(np.mean([results.mean("seconds", t, method) for t in there]))
        row: dict[str, Cell] = {"method": method, "tables": len(there)}
        row["log score behind HonestClassifier by"] = float(np.mean(behind))
        row["tables where it is worse"] = sum(gap > 0 for gap in behind)
        rows.append(row | {SHOWN[name]: means[name] for name in SHOWN} | {"seconds": seconds})
    return ResultTable("methods", "Averages over the tables that each method suits", rows)


def _by_table(results: Results, new_tables: bool) -> ResultTable:
    rows: list[Mapping[str, Cell]] = []
    for table in results.tables:
        for method in sorted(
            results.methods(table), key=lambda m: results.mean("log_score", table, m)
        ):
            repeats = results.runs[table, method]
            logs = results.of_all("log_score", table, method)
            row: dict[str, Cell] = {
                "table": table,
                "cases": repeats[0]["n_cases"],
                "columns": repeats[0]["n_features"],
                "classes": repeats[0]["n_classes"],
                "method": method,
            }
            for name, title in SHOWN.items():
                row[title] = results.mean(name, table, method)
                if name == "log_score":
                    row["its sd over repeats"] = float(logs.std(ddof=1)) if logs.size > 1 else None
                if name == "calibration_error":
                    every = results.of_all(name, table, method)
                    row["its range over repeats"] = f"{every.min():.3f} to {every.max():.3f}"
            if new_tables:
                row["log score of the truth"] = results.mean("log_score_of_truth", table, method)
                row["distance from the truth"] = results.mean("distance", table, method)
            rows.append(row | {"seconds": results.mean("seconds", table, method)})
    return ResultTable("scores", "Scores of held-out cases by table; best log score first", rows)


def conclusion(results: Results, took_part: Collection[str] = ()) -> Iterator[str]:
    """Yield who predicts best, who is calibrated, where the correction pays, and its cost."""
    yield from _who_wins(results, took_part)
    yield _who_is_calibrated(results)
    yield from _where_it_pays(results)
    yield _cost(results)


def _who_wins(results: Results, took_part: Collection[str]) -> Iterator[str]:
    won, lost = [], []
    for table in results.tables:
        best, baseline = min(
            (results.mean("log_score", table, m), m) for m in _baselines(results, table)
        )
        behind = results.mean("log_score", table, HONEST) - best
        if behind <= 0:
            won.append(table)
        else:
            lost.append(f"{table} ({baseline}, by {behind:.3f})")
    beaten = (
        f"It is behind the best baseline on {_listed(lost)}."
        if lost
        else "No baseline is ahead of it."
    )
    yield (
        f"HonestClassifier has a better log score than every baseline on {len(won)} of "
        f"{len(results.tables)} tables, though the best baseline is chosen for each table after "
        f"the fact. {beaten}"
    )
    new = [t for t in results.tables if t not in took_part]
    if 0 < len(new) < len(results.tables):
        settled = _listed([t for t in results.tables if t in took_part])
        yield (
            f"Defaults of it were settled on {settled}. Of the {len(new)} tables on which nothing "
            f"was settled it is better than every baseline on {sum(t in won for t in new)}."
        )


def _who_is_calibrated(results: Results) -> str:
    gaps = []
    for method in results.methods():
        actual, expected = (
            np.mean(_by_tables(results, name, method))
            for name in ("actual_error", "expected_error")
        )
        gaps.append(f"{method} {100 * (actual - expected):+.1f}")
    return (
        "Actual minus expected error, in points, averaged over tables (overconfident where "
        f"above 0): {'; '.join(gaps)}."
    )


def _where_it_pays(results: Results) -> Iterator[str]:
    pays: list[str] = []
    costs: list[str] = []
    even: list[str] = []
    for table in results.tables:
        gap, error = results.difference(table, UNCORRECTED, CORRECTED)
        sure = not np.isnan(error) and abs(gap) > 2 * error
        (even if not sure else pays if gap > 0 else costs).append(f"{table} ({gap:+.3f})")
    yield (
        "The correction of naive Bayes after selection pays in log score (by more than two "
        f"standard errors over repeats) on {_listed(pays)}; it costs on {_listed(costs)}; no clear "
        f"difference on {_listed(even)}."
    )
    recalibration = [
        t for t in results.tables if results.difference(t, CORRECTED, CALIBRATED)[0] > 0
    ]
    yield (
        "It does not model dependent columns. The recalibration learned from held-out cases "
        "accounts for them: it is better than the correction alone on "
        f"{len(recalibration)} of {len(results.tables)} tables."
    )


def _cost(results: Results) -> str:
    honest = _by_tables(results, "seconds", HONEST)
    naive = np.median(_by_tables(results, "seconds", CALIBRATED))
    slowest = max(np.median(_by_tables(results, "seconds", m)) for m in _baselines(results))
    return (
        f"Cost: the median table takes HonestClassifier {np.median(honest):.1f} processor "
        f"seconds for one fold (the slowest {max(honest):.0f}), our naive Bayes {naive:.2f}, and "
        f"the slowest baseline {slowest:.2f}."
    )


def _baselines(results: Results, table: str | None = None) -> list[str]:
    return [m for m in results.methods(table) if m not in OURS]


def _by_tables(results: Results, name: str, method: str) -> list[float]:
    """Return a score of each table that a method suits."""
    return [results.mean(name, t, method) for t in results.tables if (t, method) in results.runs]


def _listed(names: Sequence[str]) -> str:
    return "none" if not names else ", ".join(names)


# --------------------------------------------------------------------------------------------------
# The experiment on real tables
# --------------------------------------------------------------------------------------------------


TABLES: dict[str, Kind] = {
    "leukaemia": "real",
    "colon": "real",
    "prostate": "real",
    "lymphoma": "real",
    "srbct": "real",
    "words_1": "binary",
    "words_2": "binary",
    "dorothea_1": "binary",
    "vote": "categorical",
    "promoters": "categorical",
    "mushroom": "categorical",
    "dna_statlog": "categorical",
}
"""Tables and the kind of their columns; binary ones are sparse."""

SETTLED = ("colon", "lymphoma", "words_1", "dorothea_1", "vote")
"""Tables on which defaults of HonestClassifier were settled."""

QUICK = ("leukaemia", "colon", "words_1", "promoters")


def real_runs(size: Size) -> list[Settings]:
    """Return a run for each table, method and division into folds."""
    tables = {"toy": ("leukaemia",), "quick": QUICK, "full": tuple(TABLES)}[size]
    repeats = {"toy": 1, "quick": 1, "full": 3}[size]
    return [
        {"table": table, "method": method, "repeat": repeat}
        | ({"n_folds": 2} if size == "toy" else {})
        for table in tables
        for method in _methods(table, size)
        for repeat in range(repeats)
    ]


def _methods(table: str, size: Size) -> Sequence[str]:
    kind = TABLES[table]
    names = methods_for(kind, sparse=kind == "binary")
    return names if size != "toy" else names[:5]


def run_real(table: str, method: str, repeat: int, n_folds: int = FOLDS) -> dict[str, Any]:
    """Cross-validate one method."""
    return evaluate(real_table(table), method, repeat, n_folds)


def summarize_real(done: Sequence[ExperimentRun]) -> Findings:
    """Compare the methods."""
    return findings(done, new_tables=False, took_part=SETTLED)


REAL_TABLES = Experiment(
    name="real-tables",
    title="Compared with baselines, on real tables",
    source="Our own comparison, on tables of expression, words, molecules and categories",
    question=(
        "Stratified five-fold cross-validation, several times, with the same folds for all "
        "methods. Selection (ten features, where a method selects), tuning and calibration are "
        "repeated inside the training cases of each fold. Whose probabilities are best, who "
        "predicts its own error rate, where does the correction pay, and how long does it take?"
    ),
    runs=real_runs,
    run=run_real,
    summarize=summarize_real,
    needs=(
        "golub_3051.npz",
        "colon_alon.npz",
        "singh_prostate.npz",
        "lymphoma.npz",
        "khan_srbct.npz",
        "sms_spam.tsv.gz",
        "dorothea.npz",
        "discrete/vote.csv.gz",
        "discrete/promoters.csv.gz",
        "discrete/mushroom.csv.gz",
        "discrete/dna_statlog.csv.gz",
    ),
)


# --------------------------------------------------------------------------------------------------
# The experiment on simulated tables
# --------------------------------------------------------------------------------------------------


def simulated_runs(size: Size) -> list[Settings]:
    """Return a run for each truth, method and seed."""
    n, p = {"toy": (40, 40), "quick": (120, 1000), "full": (120, 2000)}[size]
    truths = tuple(TRUTHS)[:1] if size == "toy" else tuple(TRUTHS)
    repeats = {"toy": 1, "quick": 1, "full": 6}[size]
    return [
        {"table": truth, "method": method, "repeat": repeat, "n": n, "p": p}
        | ({"n_folds": 2} if size == "toy" else {})
        for truth in truths
        for method in methods_for(TRUTHS[truth][0])
        for repeat in range(repeats)
    ]


def run_simulated(
    table: str, method: str, repeat: int, n: int, p: int, n_folds: int = FOLDS
) -> dict[str, Any]:
    """Draw a table and cross-validate one method on it."""
    return evaluate(simulated_table(table, repeat, n, p), method, repeat, n_folds)


def summarize_simulated(done: Sequence[ExperimentRun]) -> Findings:
    """Compare the methods."""
    return findings(done, new_tables=True)


SIMULATED_TABLES = Experiment(
    name="simulated-tables",
    title="Compared with baselines, where the truth is known",
    source="Our own comparison, on tables drawn from six models",
    question=(
        "Tables of 120 cases and up to 2,000 columns, drawn anew for each repeat: independent "
        "binary and continuous features, blocks of dependent columns, pure noise, and two binary "
        "features that predict the class only together. Five-fold cross-validation with the same "
        "folds for all methods. How far is each from the true probabilities?"
    ),
    runs=simulated_runs,
    run=run_simulated,
    summarize=summarize_simulated,
)
