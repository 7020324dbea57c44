"""Against what people use, on real tables: the same folds for all, nothing tuned outside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from honestbayes.data.kinds import Kind
from honestbayes.experiments.comparison import FOLDS, evaluate, findings, methods_for
from honestbayes.experiments.experiment import Experiment, Findings, Run, Settings, Size
from honestbayes.experiments.real_tables import real_table

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
"""Tables and the kind of their columns; flags are sparse."""

SETTLED = ("colon", "lymphoma", "words_1", "dorothea_1", "vote")
"""Tables on which defaults of HonestClassifier were settled."""

QUICK = ("leukaemia", "colon", "words_1", "promoters")


def runs(size: Size) -> list[Settings]:
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
    found = methods_for(kind, sparse=kind == "binary")
    return found if size != "toy" else found[:5]


def run(table: str, method: str, repeat: int, n_folds: int = FOLDS) -> dict[str, Any]:
    """Cross-validate one method."""
    return evaluate(real_table(table), method, repeat, n_folds)


def tell(done: Sequence[Run]) -> Findings:
    """Compare the methods."""
    return findings(done, new_tables=False, took_part=SETTLED)


EXPERIMENT = Experiment(
    name="real-tables",
    title="Against what people use, on real tables",
    source="Our own comparison, on tables of expression, words, molecules and categories",
    question=(
        "Stratified five-fold cross-validation, several times, with the same folds for all "
        "methods. Selection (ten features, where a method selects), tuning and calibration are "
        "repeated inside the training cases of each fold. Whose probabilities are best, who knows "
        "how often it is wrong, for whom does the correction pay, and what does it cost?"
    ),
    runs=runs,
    run=run,
    tell=tell,
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
