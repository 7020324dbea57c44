"""The demonstration: expected and observed error rates of naive Bayes and HonestClassifier.

The first part simulates data, so that the truth is known; the second makes a report on the
leukaemia data that come with the package.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honestbayes.average.estimator import HonestClassifier
from honestbayes.datasets import load_leukemia, simulate_naive_bayes
from honestbayes.metrics import summarise
from honestbayes.models.binary.estimator import SelectiveBernoulliNB
from honestbayes.report.analysis import Progress, analyse, no_progress
from honestbayes.report.methods import UNCORRECTED_NAIVE
from honestbayes.report.options import PAGE, Options, check_folder
from honestbayes.report.record import Method
from honestbayes.report.render import write_folder
from honestbayes.report.wording import percent, percent_with_interval, with_interval
from honestbayes.tables import read_training
from honestbayes.tables.files import frame_table
from honestbayes.tables.model import TableModel

N_KEPT = 10
CONFIDENT = 0.8
SEED = 1
REPEATS = 1
OURS = "HonestClassifier"
TABLE = "leukemia.csv"

FIVE_LINES = """\
from honestbayes import HonestClassifier
from honestbayes.datasets import load_leukemia
data = load_leukemia()
model = HonestClassifier(random_state=0).fit(data.X[::2], data.y[::2])
print(model.predict_proba(data.X[1::2]))"""


def main(folder: Path, progress: Progress = no_progress) -> None:
    """Print both comparisons, write the report, and print code to copy."""
    check_folder(folder, frozenset({TABLE}))
    for section in (simulated_section(), leukemia_section(folder, progress), closing_section()):
        for line in section:
            print(line, flush=True)


def compared_methods() -> dict[str, Any]:
    """Return naive Bayes without the correction, and the average of models on as many columns."""
    uncorrected = SelectiveBernoulliNB(
        n_features_to_select=N_KEPT,
        feature_prior="uniform",
        correction=None,
        recalibrate=None,
        random_state=SEED,
    )
    average = HonestClassifier(n_features_to_select=N_KEPT, effort="quick", random_state=SEED)
    return {"uncorrected": uncorrected, OURS: average}


def simulated_section() -> Iterator[str]:
    """Yield the comparison on data as in Li, Zhang and Neal (2008), section 4."""
    yield "1. Simulated data, where the truth is known"
    yield ""
    yield f"200 training cases, 10,000 binary features; the {N_KEPT} that correlate best with the"
    yield "class are kept. Then 2,000 new cases are predicted."
    yield ""
    yield f"{'':18}{'error rate':>18}   {f'cases predicted at {CONFIDENT:.0%} or more':>30}"
    yield (
        f"{'':18}{'expected':>9}{'observed':>9}   {'cases':>10}{'expected':>10}{'right':>10}"
        f"{'log score':>13}"
    )
    data = simulate_naive_bayes(200, 2000, n_features=10_000, alpha=300.0, random_state=SEED)
    for name, model in compared_methods().items():
        p = model.fit(data.X_train, data.y_train).predict_proba(data.X_test)[:, 1]
        yield f"{name:18}{error_rates(data.y_test, p)}"
    best = data.true_proba(data.X_test, model.get_support())
    yield f"{'the truth':18}{error_rates(data.y_test, best)}"
    yield ""
    yield "Uncorrected: naive Bayes that ignores the selection of features."
    yield f"{OURS}: the average of all models that suit the table, calibrated."
    yield "The truth: probabilities from the true distribution of the kept features."
    yield "Log score: average minus log probability of the observed class; lower is better."
    yield ""
    if model.restriction_cost_ > 0:
        cost = f"{model.restriction_cost_:.2f} of held-out log score"
        yield f"Keeping {N_KEPT} columns costs {cost}: the signal is spread over"
        yield "all of them. Without n_features_to_select, each model chooses its own number."
        yield ""


def error_rates(y: NDArray[np.int64], p: NDArray[np.float64]) -> str:
    """Return one row of the table: expected and actual error rates."""
    summary = summarise(y, p)
    predicted = np.maximum(p, 1 - p)
    confident = predicted >= CONFIDENT
    right = (p >= 0.5) == (y == 1)
    return (
        f"{summary.expected_error:9.1%}{summary.actual_error.value:9.1%}   "
        f"{confident.sum():10,}{share(predicted[confident])}{share(right[confident])}"
        f"{summary.log_score.value:13.3f}"
    )


def share(values: NDArray[np.float64] | NDArray[np.bool_]) -> str:
    """Return the mean as a percentage, or a dash where there are no cases."""
    return f"{values.mean():10.1%}" if values.size else f"{'-':>10}"


def leukemia_section(folder: Path, progress: Progress) -> Iterator[str]:
    """Yield the comparison on real data, with intervals, and write its report."""
    import pandas as pd

    data = load_leukemia()
    n_cases, n_genes = data.X.shape
    yield "2. Real data: leukaemia, ALL or AML (Golub et al., 1999)"
    yield ""
    yield f"{n_cases} patients; {n_genes:,} genes. Naive Bayes keeps {N_KEPT}; the models of"
    yield "the average choose their own numbers. Each of five folds repeats all fits."
    yield ""
    frame = pd.DataFrame(data.X, columns=data.feature_names.tolist())
    frame.insert(0, "leukemia", np.array(data.classes)[data.y])
    table = read_training(frame_table(frame, "leukemia"), target="leukemia")
    options = Options(n_repeats=REPEATS, effort="quick", seed=SEED)
    analysis = analyse(
        table, options, name="leukemia", command="honestbayes demo", progress=progress
    )
    report = analysis.report
    yield f"{'':25}{'error rate, with 95% interval':>30}{'log score':>24}"
    yield f"{'':25}{'expected':>9}{'observed':>21}"
    for name in (UNCORRECTED_NAIVE, report.in_use):
        yield f"{name:25}{_row(report.method(name))}"
    difference = report.method(UNCORRECTED_NAIVE).log_score_difference
    yield ""
    if difference is not None:
        yield f"Difference of the log scores, paired by case: {with_interval(difference)}."
    yield f"With {n_cases} patients intervals are wide; one that includes 0 shows no difference."
    yield ""
    model = TableModel.of_training(analysis.model, table)
    write_folder(report, model, folder, {TABLE: frame.to_csv(index=False)})
    yield f"The full report, to open in a browser: {folder / PAGE}"
    yield ""
    yield "To make a report on this table, or on your own:"
    yield ""
    yield f"    honestbayes report {folder / TABLE} --target leukemia"
    yield ""


def _row(method: Method) -> str:
    summary = method.summary
    return (
        f"{percent(summary.expected_error):>9}{percent_with_interval(summary.actual_error):>21}"
        f"{with_interval(summary.log_score):>24}"
    )


def closing_section() -> Iterator[str]:
    """Yield the lines to copy."""
    yield "In Python:"
    yield ""
    for line in FIVE_LINES.splitlines():
        yield f"    {line}"
