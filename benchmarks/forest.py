"""HonestClassifier with a forest among its candidates, and without, on the same folds.

    HONESTBAYES_DATA=... python benchmarks/forest.py [--part settled] [--effort quick]

Stratified 5-fold cross-validation, once; of tables with more than 2,000 cases 1,000 are drawn
first. Differences are paired by case: negative is better with the forest. The tables of `SETTLED`
chose the kind of forest among `FORESTS`; those of `CONFIRMED` had no say. Both lists were written
before the first run. Writes forest_<part>_<effort>.md into benchmarks/results.
"""

import argparse
import os
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

from honestbayes import HonestClassifier, models
from honestbayes.experiments.comparison_tables import real_table
from honestbayes.models.forest.spec import SPECS as OWN

HERE = Path(__file__).parent / "results"
SETTLED = (
    "glass",
    "pima",
    "breast-cancer",
    "vote",
    "tic_tac_toe",
    "monks1",
    "spect",
    "colon",
    "lymphoma",
    "words_1",
)
CONFIRMED = (
    "sonar",
    "german",
    "haberman",
    "promoters",
    "zoo",
    "monks2",
    "monks3",
    "car",
    "leukaemia",
    "srbct",
    "prostate",
    "words_2",
)
ORDINARY = ("glass", "pima", "breast-cancer", "sonar", "german", "haberman")

FORESTS = {
    "extra trees": ({}, (-1,)),
    "random forest": ({"splits": "best"}, (-1,)),
    "extra trees on scores": ({"normal_scores": True}, (-1,)),
    "extra trees, 1 in a leaf": ({"min_samples_leaf": 1}, (-1,)),
    "extra trees, 5 in a leaf": ({"min_samples_leaf": 5}, (-1,)),
    "extra trees, 100 of them": ({"n_trees": 100}, (-1,)),
    "extra trees on 200 columns": ({}, (200,)),
}
WITHOUT = "without"
DEFAULT = "as it is"


def specs(variant):
    """Return all specs, with a forest of some kind among the candidates or with none."""
    others = tuple(spec for spec in models.SPECS if spec.kind != OWN[0].kind)
    if variant == WITHOUT:
        return others
    (candidate,) = OWN[0].candidates
    candidate = replace(candidate, by_name=False)
    if variant != DEFAULT:
        params, numbers = FORESTS[variant]
        changed = {"recalibrate": None, "n_trees": 200, **params}
        candidate = replace(candidate, params=lambda _: changed, quick=numbers, normal=numbers)
    return (*others, replace(OWN[0], candidates=(candidate,)))


def table_of(name):
    """Return columns and classes."""
    if name not in ORDINARY:
        table = real_table(name)
        return table.X, np.asarray(table.y)
    file = Path(os.environ["HONESTBAYES_DATA"]) / "ordinary" / f"{name}.csv.gz"
    table = pd.read_csv(file, keep_default_na=False, na_values=["?", ""])
    y = table.pop(table.columns[-1]).astype(str).to_numpy()
    return table, y


def losses(name, variant, effort):
    """Return the log loss of each case, and seconds of a fit."""
    before, models.SPECS = models.SPECS, specs(variant)
    X, y = table_of(name)
    codes = np.unique(y, return_inverse=True)[1]
    loss, seconds = np.empty(codes.size), []
    folds = StratifiedKFold(5, shuffle=True, random_state=0).split(codes, codes)
    for train, test in folds:
        rows = (X.iloc[train], X.iloc[test]) if hasattr(X, "iloc") else (X[train], X[test])
        model, begin = HonestClassifier(effort=effort, random_state=0), time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(rows[0], codes[train])
            seconds.append(time.process_time() - begin)
            log_proba = model.predict_log_proba(rows[1])
        loss[test] = -log_proba[np.arange(test.size), codes[test]]
    models.SPECS = before
    return loss, float(np.mean(seconds))


def main():
    """Run, and write the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", choices=("settled", "confirmed"), default="settled")
    parser.add_argument("--effort", choices=("quick", "normal"), default="quick")
    parser.add_argument("--data", help="some tables, separated by commas")
    parser.add_argument("--forests", help="some kinds, separated by semicolons")
    parser.add_argument("--out", type=Path, default=HERE)
    arguments = parser.parse_args()
    tables = SETTLED if arguments.part == "settled" else CONFIRMED
    tables = tables if arguments.data is None else arguments.data.split(",")
    forests = [*FORESTS] if arguments.part == "settled" else [DEFAULT]
    forests = forests if arguments.forests is None else arguments.forests.split(";")
    lines = [f"# HonestClassifier with a forest: {arguments.part} tables, {arguments.effort}", ""]
    lines += ["| table | forest | log score | difference (error) | CPU s |", "|---" * 5 + "|"]
    mean = {}
    for name in tables:
        reference, seconds = losses(name, WITHOUT, arguments.effort)
        lines.append(f"| {name} | {WITHOUT} | {reference.mean():.4f} | | {seconds:.1f} |")
        print(lines[-1], flush=True)
        for forest in forests:
            loss, seconds = losses(name, forest, arguments.effort)
            apart = loss - reference
            error = apart.std(ddof=1) / np.sqrt(apart.size)
            mean.setdefault(forest, []).append(apart.mean())
            lines.append(
                f"| {name} | {forest} | {loss.mean():.4f} | {apart.mean():+.4f} ({error:.4f}) "
                f"| {seconds:.1f} |"
            )
            print(lines[-1], flush=True)
    lines += ["", "| forest | mean difference over tables |", "|---|---|"]
    lines += [f"| {forest} | {np.mean(apart):+.4f} |" for forest, apart in mean.items()]
    print("\n".join(lines[-len(mean) :]))
    (arguments.out / f"forest_{arguments.part}_{arguments.effort}.md").write_text(
        "\n".join(lines) + "\n"
    )


if __name__ == "__main__":
    main()
