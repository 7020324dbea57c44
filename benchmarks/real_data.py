"""How good and how honest each method is on real tables: a stored table of results.

    HONESTBAYES_DATA=... python benchmarks/real_data.py [--data prostate,lymphoma] [--repeats 2]

Two designs. "cv": repeated stratified 5-fold cross-validation of the whole table. "small": train on
50 cases, drawn anew 20 times with the shares of the classes, and predict all others. Selection and
tuning are repeated inside the training cases, and all methods have the same splits. Writes
real_data.json and real_data.md; tables that a run leaves out stay as they were. With --cache, what
has been computed is kept and a stopped run goes on; remove that folder when the code changes.
"""

import argparse
import json
import os
import re
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from real_data_methods import ESTIMATORS, REFERENCE, SEE_ALL, SEED, methods
from scipy.stats import t
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils.parallel import Parallel, delayed

import honestbayes
from honestbayes.evaluation import Evaluation, compare, cross_validate
from honestbayes.experiments.comparison_tables import TABLES
from honestbayes.metrics import summarise

FOLDS = 5
NUMBERS = (10, 50)
MANY_FEATURES = 200
"""Above so many features, more than one number of kept features is tried."""

SMALL_TABLES = ("mushroom", "dna_statlog", "sms_spam")
SMALL_TRAINING, SMALL_REPEATS = 50, 20
SCORES = ("log_score", "brier", "expected_error", "actual_error")


# ----------------------------------------------------------------------- running


def evaluate(name, model, table, k, arguments):
    """Cross-validate one method, or take its predictions from the cache."""

    def run():
        result = cross_validate(
            model,
            features(name, table),
            table.y,
            cv=FOLDS,
            n_repeats=arguments.repeats,
            random_state=SEED,
            n_jobs=arguments.jobs,
        )
        names = ("y", "classes", "proba", "log_proba", "folds")
        return {field: getattr(result, field) for field in names}

    key = (table.name, "cv", name, kept_by(name, k), arguments.repeats)
    kept, seconds = cached(run, arguments.cache, *key)
    return Evaluation(**kept, selected_frequency=None, feature_names=None, groups=None), seconds


def evaluate_small(name, model, table, k, arguments):
    """Train on small samples and predict the rest; return the scores of each repeat."""
    splitter = StratifiedShuffleSplit(
        SMALL_REPEATS, train_size=SMALL_TRAINING, random_state=SEED
    ).split(np.zeros(table.y.size), table.y)

    def run():
        X = features(name, table)
        scores = Parallel(n_jobs=arguments.jobs)(
            delayed(score_split)(clone(model), X, table.y, *split) for split in splitter
        )
        return {"scores": np.array(scores)}

    key = (table.name, "small", name, kept_by(name, k), SMALL_REPEATS)
    kept, seconds = cached(run, arguments.cache, *key)
    return kept["scores"], seconds


def score_split(model, X, y, train, test):
    """Return log score, Brier score, expected and actual error, and slope on the test cases."""
    rows = (X.iloc[train], X.iloc[test]) if hasattr(X, "iloc") else (X[train], X[test])
    model.fit(rows[0], y[train])
    logs = model.predict_log_proba(rows[1]) if hasattr(model, "predict_log_proba") else None
    proba = model.predict_proba(rows[1])
    summary = summarise(y[test], proba, log_proba=logs, classes=model.classes_)
    scores = (summary.log_score, summary.squared_error, summary.expected_error)
    return [float(x) for x in (*scores, summary.actual_error, summary.calibration.slope)]


def features(name, table):
    """Return the table as the method takes it."""
    return table.X if table.codes is None or name.startswith("ours") else table.codes


def kept_by(name, k):
    """Return how many features the method keeps, as part of its key."""
    return "all" if name in SEE_ALL else k


def cached(run, folder, *key):
    """Return the arrays that `run` computes and its seconds, from the cache where they are."""
    stem = "-".join(re.sub(r"\W+", "_", str(word)) for word in key)
    path = None if folder is None else folder / f"{stem}.npz"
    if path is not None and path.exists():
        with np.load(path, allow_pickle=False) as file:
            kept = dict(file)
        return kept, float(kept.pop("seconds"))
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("once", ConvergenceWarning)
        warnings.filterwarnings("ignore", message=".*not seen in fit")  # the notes say so
        kept = run()
    seconds = time.perf_counter() - start
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial.npz")
        np.savez_compressed(partial, seconds=seconds, **kept)
        partial.replace(path)
    print(f"{stem}: {seconds:.1f} s", flush=True)
    return kept, seconds


# ----------------------------------------------------------------------- results


def rows_of_cv(table, k, arguments):
    """Return one row for each method, with paired differences from ours."""
    found = {n: evaluate(n, m, table, k, arguments) for n, m in methods(table, k).items()}
    reference = found[REFERENCE][0]
    rows = []
    for name, (evaluation, seconds) in found.items():
        summary = evaluation.summary()
        row = {
            "method": name,
            "log_score": summary.log_score.value,
            "brier": summary.squared_error.value,
            "expected_error": summary.expected_error,
            "actual_error": summary.actual_error.value,
            "slope": summary.calibration.slope,
            "slope_interval": summary.calibration.slope_interval,
            "seconds": seconds,
        }
        if name != REFERENCE:
            (difference,) = compare({name: evaluation, REFERENCE: reference})
            row["log_score_difference"] = interval_of(difference.log_score)
            row["brier_difference"] = interval_of(difference.squared_error)
        rows.append(row)
    return rows


def interval_of(estimate):
    """Return value, lower and upper bound."""
    return [estimate.value, *estimate.interval]


def rows_of_small(table, k, arguments):
    """Return one row for each method; intervals are over the training sets that were drawn."""
    found = {n: evaluate_small(n, m, table, k, arguments) for n, m in methods(table, k).items()}
    reference = found[REFERENCE][0]
    rows = []
    for name, (scores, seconds) in found.items():
        means = scores[:, :4].mean(axis=0).tolist()
        row = {"method": name, "seconds": seconds} | dict(zip(SCORES, means, strict=True))
        slopes = scores[~np.isnan(scores[:, 4]), 4]
        row["n_without_slope"] = len(scores) - slopes.size
        tenths = np.quantile(slopes, (0.1, 0.5, 0.9), method="nearest").tolist()
        row["slope"], row["slope_interval"] = tenths[1], (tenths[0], tenths[2])
        if name != REFERENCE:
            apart = scores[:, :2] - reference[:, :2]
            half = t(SMALL_REPEATS - 1).ppf(0.975) * apart.std(axis=0, ddof=1)
            ends = apart.mean(axis=0) + np.outer((0, -1, 1), half / np.sqrt(SMALL_REPEATS))
            row["log_score_difference"], row["brier_difference"] = ends.T.tolist()
        rows.append(row)
    return rows


def blocks_of(table, arguments):
    """Return a block of rows for each design and number of kept features."""
    numbers = NUMBERS if table.n_features > MANY_FEATURES else NUMBERS[:1]
    common = {
        "n": int(table.y.size),
        "p": table.n_features,
        "classes": np.unique(table.y, return_counts=True)[1].tolist(),
        "kind": table.kind,
        "note": table.note,
    }
    designs = [("cv", rows_of_cv, arguments.repeats)]
    if table.name in SMALL_TABLES:
        designs.append(("small", rows_of_small, SMALL_REPEATS))
    return [
        {**common, "design": design, "repeats": repeats, "k": k, "rows": rows(table, k, arguments)}
        for design, rows, repeats in designs
        for k in numbers
    ]


NOTES = """# Real tables: scores, claims and facts of each method

Made by `benchmarks/real_data.py`. Lower log and Brier scores are better; a calibration slope of 1
is honest, less is too sure. Differences are a method's score minus that of "ours: corrected,
recalibrated" with the same number of kept features: above 0, ours is better.

* Cross-validation: stratified 5 folds; everything, selection and tuning too, is learnt inside the
  folds, which are the same for all methods. Intervals (95%) are over cases.
* Small training sets: 50 cases, drawn 20 times with the shares of the classes; all other cases are
  predicted. Intervals of differences (95%) are over the 20 draws; beside the median slope stand its
  first and last tenths, over draws whose predictions are not all the same.
* Brier score: for two classes the mean of (y - p)^2, for more the sum over classes.
* GaussianNB, BernoulliNB and CategoricalNB are scikit-learn's, after selection by the same
  criterion (F value; for categorical features the p-value of chi-square).
* The others are the peers of reports (docs/report.rst), from the one list in
  `honestbayes.evaluation.baselines`. A sparse table of flags is not standardised.
* A missing cell is integrated out by ours, and so is a level that the training cases do not have;
  for the others missing is a level of its own, and they know the levels of the whole table.
"""

COLUMNS = (
    "method | log score | Brier | expected error | actual error | slope | log score, minus ours | "
    "Brier, minus ours | seconds"
)


def markdown(results):
    """Return the results as a page."""
    lines = [NOTES]
    for name in (name for name in TABLES if name in results):
        for block in results[name]:
            small = f"training sets of {SMALL_TRAINING}, {block['repeats']} draws"
            times = "once" if block["repeats"] == 1 else f"{block['repeats']} times"
            design = small if block["design"] == "small" else f"{FOLDS} folds, {times}"
            sizes = " + ".join(str(size) for size in block["classes"])
            shape = f"{block['n']:,} cases ({sizes}), {block['p']:,} {block['kind']} features"
            lines += [
                f"## {name}, {block['k']} features kept: {design}",
                "",
                f"{shape}; {block['note']}.",
                "",
                f"| {COLUMNS} |",
                "|---" + "|---:" * COLUMNS.count("|") + "|",
                *(f"| {' | '.join(cells(row))} |" for row in block["rows"]),
                "",
            ]
    return "\n".join(lines)


def cells(row):
    """Return one row of the table as text."""
    low, high = (float(bound) for bound in row["slope_interval"])
    yield row["method"]
    for name in SCORES:
        yield f"{row[name]:.3f}"
    yield f"{float(row['slope']):.2f} ({low:.2f} to {high:.2f})"
    for name in ("log_score_difference", "brier_difference"):
        ends = row.get(name)
        yield "" if ends is None else f"{ends[0]:+.3f} ({ends[1]:+.3f} to {ends[2]:+.3f})"
    yield f"{row['seconds']:.0f}"


def strict(value):
    """Return what JSON can hold: infinities and NaN as text, which float() reads."""
    if isinstance(value, dict):
        return {key: strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [strict(item) for item in value]
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value


def main():
    """Compute what is asked for and write the results."""
    here = Path(__file__).resolve().parent / "results"
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--data", default=",".join(TABLES), help="names, with commas")
    parser.add_argument("--repeats", type=int, default=2, help="of the five folds")
    parser.add_argument("--jobs", type=int, default=1, help="folds at work at once")
    parser.add_argument("--cache", type=Path, help="folder for what has been computed")
    parser.add_argument("--results", type=Path, default=here, help="where to write")
    arguments = parser.parse_args()
    if "HONESTBAYES_DATA" not in os.environ:
        sys.exit("HONESTBAYES_DATA is not set; it names the folder with the data.")
    names = arguments.data.split(",")
    if unknown := sorted(set(names) - set(TABLES)):
        sys.exit(f"--data: {unknown[0]!r} is not one of {', '.join(TABLES)}.")
    stored = arguments.results / "real_data.json"
    results = json.loads(stored.read_text(encoding="utf-8")) if stored.exists() else {}
    for name in names:
        table = TABLES[name](Path(os.environ["HONESTBAYES_DATA"]))
        if not hasattr(honestbayes, ESTIMATORS[table.kind]):
            print(f"{name} is skipped: there is no {ESTIMATORS[table.kind]} yet.", flush=True)
            continue
        results[name] = strict(blocks_of(table, arguments))
        arguments.results.mkdir(parents=True, exist_ok=True)
        stored.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        stored.with_suffix(".md").write_text(markdown(results), encoding="utf-8")
    print(markdown({name: results[name] for name in names if name in results}))


if __name__ == "__main__":
    main()
