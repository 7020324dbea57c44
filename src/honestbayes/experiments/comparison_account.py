"""What the comparisons say: tables, figures, and for whom the correction pays."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from honestbayes.experiments.comparison import (
    CALIBRATED,
    CORRECTED,
    HONEST,
    OURS,
    UNCORRECTED,
)
from honestbayes.experiments.comparison_figures import (
    draw_correction,
    draw_honesty,
    draw_scores,
    draw_seconds,
)
from honestbayes.experiments.comparison_results import Results
from honestbayes.experiments.experiment import Account, Cell, Picture, Run, Table

SHOWN = {
    "log_score": "log score",
    "brier": "Brier score",
    "calibration_error": "calibration error",
    "calibration_error_by_luck": "of that, luck",
    "expected_error": "expected error",
    "actual_error": "actual error",
}


def account(done: Sequence[Run], *, new_tables: bool, took_part: Collection[str] = ()) -> Account:
    """Return tables, figures and a conclusion.

    Parameters
    ----------
    done : sequence of Run
        Runs of one method on one table and one division into folds.
    new_tables : bool
        Whether each repeat drew another table, or only other folds of the same cases.
    took_part : collection of str
        Tables that had a say in what is default.
    """
    results = Results.of(done)
    bars = (
        "two standard errors over tables drawn anew"
        if new_tables
        else "two standard deviations over divisions into folds (the cases are the same, so that "
        "other cases would vary more)"
    )
    pictures = [
        Picture(
            "log_score",
            f"Whose probabilities are best? Log scores of held-out cases, lower is better. Bars: "
            f"{bars}. Filled: ours; a number at the edge is beyond it.",
            lambda: draw_scores(results, new_tables),
        ),
        Picture(
            "honesty",
            "Who knows how often it is wrong? Expected and actual error rates, a point for each "
            "table. Above the line: more errors than were claimed.",
            lambda: draw_honesty(results),
        ),
        Picture(
            "correction",
            "For whom does the correction pay? Log score of naive Bayes without the correction "
            f"minus with it, by table; right of 0 it pays. Bars: {bars}.",
            lambda: draw_correction(results, new_tables),
        ),
        Picture(
            "seconds",
            "What does it cost? Processor seconds to fit and predict one fold.",
            lambda: draw_seconds(results),
        ),
    ]
    if new_tables:
        pictures.append(
            Picture(
                "distance",
                "How far from the truth? Mean distance of P(class 1) from the true probability.",
                lambda: draw_scores(results, new_tables, "distance"),
            )
        )
    return Account(
        conclusion="\n\n".join(conclusion(results, took_part)),
        tables=(_by_method(results), _by_table(results, new_tables)),
        pictures=tuple(pictures),
    )


def _by_method(results: Results) -> Table:
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
        row["tables where it is behind"] = sum(gap > 0 for gap in behind)
        rows.append(row | {SHOWN[name]: means[name] for name in SHOWN} | {"seconds": seconds})
    return Table("methods", "Averages over the tables that each method suits", rows)


def _by_table(results: Results, new_tables: bool) -> Table:
    rows: list[Mapping[str, Cell]] = []
    for table in results.tables:
        for method in sorted(
            results.methods(table), key=lambda m: results.mean("log_score", table, m)
        ):
            found = results.runs[table, method]
            logs = results.of_all("log_score", table, method)
            row: dict[str, Cell] = {
                "table": table,
                "cases": found[0]["n_cases"],
                "columns": found[0]["n_features"],
                "classes": found[0]["n_classes"],
                "method": method,
            }
            for name, word in SHOWN.items():
                row[word] = results.mean(name, table, method)
                if name == "log_score":
                    row["its sd over repeats"] = float(logs.std(ddof=1)) if logs.size > 1 else None
                if name == "calibration_error":
                    every = results.of_all(name, table, method)
                    row["its range over repeats"] = f"{every.min():.3f} to {every.max():.3f}"
            if new_tables:
                row["log score of the truth"] = results.mean("log_score_of_truth", table, method)
                row["distance from the truth"] = results.mean("distance", table, method)
            rows.append(row | {"seconds": results.mean("seconds", table, method)})
    return Table("scores", "Scores of held-out cases by table; best log score first", rows)


def conclusion(results: Results, took_part: Collection[str] = ()) -> Iterator[str]:
    """Say who wins, who is honest, for whom the correction pays, and what it costs."""
    yield from _who_wins(results, took_part)
    yield _who_is_honest(results)
    yield from _for_whom_it_pays(results)
    yield _what_it_costs(results)


def _who_wins(results: Results, took_part: Collection[str]) -> Iterator[str]:
    won, lost = [], []
    for table in results.tables:
        best, peer = min((results.mean("log_score", table, m), m) for m in _peers(results, table))
        behind = results.mean("log_score", table, HONEST) - best
        if behind <= 0:
            won.append(table)
        else:
            lost.append(f"{table} ({peer}, by {behind:.3f})")
    beaten = (
        f"It is behind the best peer on {_listed(lost)}." if lost else "No peer is ahead of it."
    )
    yield (
        f"HonestClassifier has a better log score than every peer on {len(won)} of "
        f"{len(results.tables)} tables, though the best peer is chosen for each table after the "
        f"fact. {beaten}"
    )
    new = [t for t in results.tables if t not in took_part]
    if 0 < len(new) < len(results.tables):
        settled = _listed([t for t in results.tables if t in took_part])
        yield (
            f"Defaults of it were settled on {settled}. Of the {len(new)} tables on which nothing "
            f"was settled it is better than every peer on {sum(t in won for t in new)}."
        )


def _who_is_honest(results: Results) -> str:
    told = []
    for method in results.methods():
        actual, expected = (
            np.mean(_by_tables(results, name, method))
            for name in ("actual_error", "expected_error")
        )
        told.append(f"{method} {100 * (actual - expected):+.1f}")
    return (
        "Actual minus expected error, in points, averaged over tables (claims too good where "
        f"above 0): {'; '.join(told)}."
    )


def _for_whom_it_pays(results: Results) -> Iterator[str]:
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
    layer = [t for t in results.tables if results.difference(t, CORRECTED, CALIBRATED)[0] > 0]
    yield (
        "It knows nothing of columns that depend on each other. The layer that is learned from "
        f"held-out cases is for them: it is better than the correction alone on {len(layer)} of "
        f"{len(results.tables)} tables."
    )


def _what_it_costs(results: Results) -> str:
    honest = _by_tables(results, "seconds", HONEST)
    naive = np.median(_by_tables(results, "seconds", CALIBRATED))
    slowest = max(np.median(_by_tables(results, "seconds", m)) for m in _peers(results))
    return (
        f"What it costs: the median table takes HonestClassifier {np.median(honest):.1f} processor "
        f"seconds for one fold (the dearest {max(honest):.0f}), our naive Bayes {naive:.2f}, and "
        f"the slowest peer {slowest:.2f}."
    )


def _peers(results: Results, table: str | None = None) -> list[str]:
    return [m for m in results.methods(table) if m not in OURS]


def _by_tables(results: Results, name: str, method: str) -> list[float]:
    """Return a score of each table that a method suits."""
    return [results.mean(name, t, method) for t in results.tables if (t, method) in results.runs]


def _listed(names: Sequence[str]) -> str:
    return "none" if not names else ", ".join(names)
