"""From evaluations to the verdict: what was compared, and by how much it differs."""

from __future__ import annotations

from dataclasses import replace

from honestbayes.evaluation import Evaluation, compare
from honestbayes.evaluation.peers import PEERS
from honestbayes.models.cards import table_cards
from honestbayes.report.advice import Other, OtherNumber
from honestbayes.report.contenders import (
    CORRECTED_NAIVE,
    MIXTURE,
    NAIVE_BAYES,
    own_names,
    uncorrected_name,
)
from honestbayes.report.fitting import has_only_measurements, largest_race
from honestbayes.report.options import Options
from honestbayes.report.record import Method
from honestbayes.report.verdict import Judged, Verdict, verdict
from honestbayes.tables import TrainingTable
from honestbayes.tables.checks.classes import NEARLY_A_COPY

DEFAULT_NUMBER = 10
"""Features that are kept, of each kind, where no number is asked for."""


def other_numbers(
    by_number: dict[int, Evaluation], in_use: Evaluation, table: TrainingTable, options: Options
) -> tuple[OtherNumber, ...]:
    """Compare other numbers of features with the one in use, on the first drawing of the folds."""
    if options.threshold is not None or options.n_features == "cv":
        return ()
    racing = largest_race(table, options)
    asked = options.number_to_keep
    number = min(DEFAULT_NUMBER, racing) if asked is None else asked
    number = racing if number == "all" else number
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
    logistic = {peer.name for peer in PEERS if peer.is_logistic}
    card = table_cards()[model]
    plain, recalibrated = own_names(card)
    naive = f"--model {'mixed' if card.coded else 'binary'}"
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
    """Put the comparison into words."""
    judged = {method.name: Judged(method.summary, method.claims) for method in methods}
    others = others_of(methods, options.model)
    plain, recalibrated = own_names(options.card)
    return verdict(
        table.labels,
        judged.get(str(uncorrected_name(options.card))),
        judged[plain],
        judged.get(recalibrated),
        others=others,
        numbers=numbers,
        n_repeats=n_repeats,
        n_features=table.X.shape[1],
        n_kept=n_kept,
        recalibrate=options.uses_slope,
        beyond=options.card.beyond,
        joint=options.card.joint,
        groups=judged[MIXTURE].summary if MIXTURE in judged else None,
        cut=options.coded and "real" in table.kinds,
        compared=options.compares,
        average=options.card.title if options.card.of_models else None,
        measurements=options.coded and has_only_measurements(table),
        doubts=tuple(
            finding.note()
            for finding in table.findings
            if finding.stops or finding.rule == NEARLY_A_COPY
        ),
    )
