"""Factor models on expression data, beside naive Bayes and logistic regression: a stored table.

    HONESTBAYES_DATA=... python benchmarks/factor.py [--data colon] [--numbers 10] [--repeats 1]

Repeated stratified 5-fold cross-validation. Selection, the number of factors and all tuning are
repeated inside the training cases, and all methods have the same folds. Patients of the colon data
that gave a pair stay together. Writes factor.json and factor.md; tables and numbers of features
that a run leaves out stay as they were. With --cache a stopped run goes on.
"""

import argparse
import json
import os
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from real_data import COLUMNS, FOLDS, cached, cells, interval_of, strict
from real_data_methods import REFERENCE, SEE_ALL, SEED, baselines, methods
from sklearn.exceptions import ConvergenceWarning

from honestbayes.datasets import load_colon, load_leukemia
from honestbayes.evaluation import Evaluation, compare, cross_validate
from honestbayes.experiments.comparison_tables import ComparisonTable, prostate
from honestbayes.models.factors.estimator import SelectiveFactorClassifier

NUMBERS = (10, 50)

FOLD_SEED = 53
"""Of folds that nobody looked at while the models were built."""

FACTORS_NAME = "factors: corrected, recalibrated"

FACTORS: dict[str, dict[str, Any]] = {
    "corrected, recalibrated": {"recalibrate": "slope"},
    "uncorrected": {"correction": None, "recalibrate": None},
}


def colon(folder):
    """Read Alon et al. (1999): log10 of intensities, each array standardised."""
    data = load_colon(folder)
    return ComparisonTable(
        "colon", "real", np.asarray(data.X, dtype=float), data.y, "log10, standardised"
    )


def leukaemia(_folder):
    """Read Golub et al. (1999), 38 training samples."""
    data = load_leukemia()
    return ComparisonTable(
        "leukaemia", "real", np.asarray(data.X, dtype=float), data.y, "training samples"
    )


TABLES = {reader.__name__: reader for reader in (colon, prostate, leukaemia)}


def compared_methods(table, k, *, quick):
    """Return the methods by name."""
    chains = {"n_chains": 2 if quick else 4, "n_warmup": 300 if quick else 500, "n_draws": 500}
    common = {"n_features_to_select": k, "random_state": SEED, **chains}
    found = {
        f"factors: {name}": SelectiveFactorClassifier(**words, **common)
        for name, words in FACTORS.items()
    }
    every = methods(table, k)
    found |= {name: every[name] for name in (REFERENCE, "ours: corrected", "GaussianNB")}
    return found | baselines(table, k)


def evaluate(name, model, table, k, arguments):
    """Cross-validate one method, or take its predictions from the cache."""
    groups = load_colon(os.environ["HONESTBAYES_DATA"]).groups if table.name == "colon" else None

    def run():
        result = cross_validate(
            model,
            table.X,
            table.y,
            cv=FOLDS,
            n_repeats=arguments.repeats,
            groups=groups,
            random_state=FOLD_SEED,
            n_jobs=arguments.jobs,
        )
        names = ("y", "classes", "proba", "log_proba", "folds")
        return {field: getattr(result, field) for field in names}

    kept = "all" if name in SEE_ALL else k
    key = ("factor", table.name, name, kept, arguments.repeats)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found, seconds = cached(run, arguments.cache, *key)
    return Evaluation(**found, selected_frequency=None, feature_names=None, groups=groups), seconds


def rows_of(table, k, arguments):
    """Return one row for each method, with paired differences from the factor classifier."""
    chosen = compared_methods(table, k, quick=arguments.quick)
    if arguments.only:
        chosen = {n: m for n, m in chosen.items() if n == FACTORS_NAME or arguments.only in n}
    found = {n: evaluate(n, m, table, k, arguments) for n, m in chosen.items()}
    reference = found[FACTORS_NAME][0]
    rows = []
    for name, (evaluation, seconds) in found.items():
        summary = evaluation.summary()
        row = {
            "method": name.replace("ours:", "naive Bayes:"),
            "log_score": summary.log_score.value,
            "brier": summary.squared_error.value,
            "expected_error": summary.expected_error,
            "actual_error": summary.actual_error.value,
            "slope": summary.calibration.slope,
            "slope_interval": summary.calibration.slope_interval,
            "seconds": seconds,
        }
        if name != FACTORS_NAME:
            (difference,) = compare({name: evaluation, FACTORS_NAME: reference})
            row["log_score_difference"] = interval_of(difference.log_score)
            row["brier_difference"] = interval_of(difference.squared_error)
        rows.append(row)
    return rows


NOTES = """# Factor models on expression data

Made by `benchmarks/factor.py`. Lower log and Brier scores are better; a calibration slope of 1 is
honest, less is too sure. Differences are a method's score minus that of the default,
"factors: corrected, recalibrated", with the same number of kept features: above 0, the factor
classifier is better. Stratified 5 folds, the same for all; intervals (95%) are over cases.

* "factors": `SelectiveFactorClassifier`, the number of factors chosen inside the training cases.
  "corrected": conditioned on the event that the other features were discarded. "uncorrected": not,
  and ratios are learnt from the kept features only. "recalibrated": one factor on the evidence,
  from the inner folds by which the number of factors is chosen.
  Four chains of 500 and 500 sweeps.
* Brier score: for two classes the mean of (y - p)^2, for more the sum over classes.
* "naive Bayes": `SelectiveGaussianNB`.
* GaussianNB is scikit-learn's after the same selection; "calibrated" by a sigmoid in five folds.
* Logistic regressions see all features; penalties are chosen by log score in five folds.
"""


def markdown(results):
    """Return the results as a page."""
    lines = [NOTES]
    for key, block in results.items():
        lines += [
            f"## {key}: {FOLDS} folds, {block['repeats']} times",
            "",
            f"{block['n']} cases, {block['p']:,} features; {block['note']}.",
            "",
            f"| {COLUMNS.replace('ours', 'factors')} |",
            "|---" + "|---:" * COLUMNS.count("|") + "|",
            *(f"| {' | '.join(cells(row))} |" for row in block["rows"]),
            "",
        ]
    return "\n".join(lines)


def main():
    """Compute what is asked for and write the results."""
    here = Path(__file__).resolve().parent / "results"
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--data", default=",".join(TABLES), help="names, with commas")
    parser.add_argument("--numbers", default=",".join(map(str, NUMBERS)), help="of features")
    parser.add_argument("--repeats", type=int, default=2, help="of the five folds")
    parser.add_argument("--jobs", type=int, default=1, help="folds at work at once")
    parser.add_argument("--quick", action="store_true", help="two short chains")
    parser.add_argument("--only", help="methods whose name holds this, and the reference")
    parser.add_argument("--cache", type=Path, help="folder for what has been computed")
    parser.add_argument("--results", type=Path, default=here, help="where to write")
    arguments: SimpleNamespace = parser.parse_args()
    if "HONESTBAYES_DATA" not in os.environ:
        sys.exit("HONESTBAYES_DATA is not set; it names the folder with the data.")
    stored = arguments.results / "factor.json"
    results = json.loads(stored.read_text(encoding="utf-8")) if stored.exists() else {}
    folder = Path(os.environ["HONESTBAYES_DATA"])
    for name in arguments.data.split(","):
        table = TABLES[name](folder)
        for k in map(int, arguments.numbers.split(",")):
            block = {
                "n": int(table.y.size),
                "p": table.n_features,
                "note": table.note,
                "repeats": arguments.repeats,
                "rows": rows_of(table, k, arguments),
            }
            results[f"{name}, {k} features kept"] = strict(block)
            arguments.results.mkdir(parents=True, exist_ok=True)
            stored.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
            stored.with_suffix(".md").write_text(markdown(results), encoding="utf-8")
    print(markdown(results))


if __name__ == "__main__":
    main()
