"""Against what people use, on simulated tables whose true probabilities are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from honestbayes.experiments.comparison import FOLDS, evaluate, methods_for
from honestbayes.experiments.comparison_account import account
from honestbayes.experiments.experiment import Account, Experiment, Run, Settings, Size
from honestbayes.experiments.simulated_tables import TRUTHS, simulated_table


def runs(size: Size) -> list[Settings]:
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


def run(
    table: str, method: str, repeat: int, n: int, p: int, n_folds: int = FOLDS
) -> dict[str, Any]:
    """Draw a table and cross-validate one method on it."""
    return evaluate(simulated_table(table, repeat, n, p), method, repeat, n_folds)


def tell(done: Sequence[Run]) -> Account:
    """Compare the methods."""
    return account(done, new_tables=True)


EXPERIMENT = Experiment(
    name="simulated-tables",
    title="Against what people use, where the truth is known",
    source="Our own comparison, on tables drawn from six models",
    question=(
        "Tables of 120 cases and up to 2,000 columns, drawn anew for each repeat: independent "
        "flags and measurements, blocks of columns that depend on each other, pure noise, and two "
        "flags that tell the class only together. Five-fold cross-validation with the same folds "
        "for all methods. How far is each from the true probabilities?"
    ),
    runs=runs,
    run=run,
    tell=tell,
)
