"""What the numbers of a report do not tell, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from honestbayes.base.spec import Card
from honestbayes.models.cards import table_cards
from honestbayes.report import wording
from honestbayes.report.record import DataSummary, Report


def limits(report: Report) -> list[str]:
    """Say what the numbers of this report do not tell."""
    data = report.data
    result = []
    result.append(_limit_of_model(report))
    if report.average is None:
        result += _limits_of_mixed(report) if report.races else _limits_of_binary(data)
    if data.n_missing:
        result.append(_missing_in_words(report))
    result.append(
        "Intervals of scores are for the average over the models of the folds, on new cases; the "
        "final model has seen more cases, and may be better or worse than that."
        + (
            " The intervals of slopes, and of sensitivity and specificity, do not know of groups."
            if data.n_groups is not None
            else ""
        )
    )
    prevalence = report.settings["prevalence"]
    shares = [count / data.n_cases for count in data.class_counts]
    here = wording.percent(shares[1]) if len(shares) == 2 else _shares(data.labels, shares)
    result.append(
        f"Held-out probabilities and scores are at the prevalence of this table ({here}). "
        + (
            f"Fitted probabilities and the saved model are at {prevalence_in_words(prevalence)}."
            if prevalence is not None
            else "Where the model will be used at another prevalence, say so with --prevalence."
        )
    )
    result.append(
        f"{data.n_cases:,} cases cannot tell a probability below {1 / (data.n_cases + 2):.2g} from "
        "0: none is shown nearer to 0 or 1 than that. report.json holds them as computed."
    )
    result.append(
        "All of this holds for cases that come from where these came from, measured the same way."
    )
    return result


def _card(report: Report) -> Card:
    return table_cards()[report.settings["model"]]


def _limit_of_model(report: Report) -> str:
    if report.interactions is not None:
        most = report.interactions.order
        cells = "one column" if most == 1 else f"up to {most} columns"
        return (
            f"The model looks at patterns of {cells}: what only more columns together would tell "
            "is not seen."
        )
    if report.edges is not None:
        return (
            "The graphs hold a few parents of each column only; what many columns together would "
            "tell is not seen."
        )
    if report.average is not None:
        return (
            "The average is as good as its models. Most of them add up over columns: signal that "
            "only combinations of columns show may not be seen; --effort thorough tries models "
            "that look for it."
        )
    if not _card(report).corrects:
        return (
            "The log-odds are a sum over columns. Signal that only combinations of features show "
            "is not seen, nor is what is neither more nor less along a column."
        )
    beyond = " beyond what a few factors explain" if report.factors is not None else ""
    return (
        "The correction removes the luck of selection. It does not cure features that depend on "
        f"each other{beyond}, or signal that only combinations of features show."
    )


def _missing_in_words(report: Report) -> str:
    number = report.data.n_missing
    if report.average is not None:
        return (
            f"{number:,} missing cells were integrated out by models of how features are "
            "distributed in each class, and filled with the mean of their column by the others."
        )
    if not _card(report).joint and not report.settings.get("missing_as_level"):
        return (
            f"{number:,} missing cells were filled with the mean of their column over the training "
            "rows."
        )
    if report.settings.get("missing_as_level"):
        cells = "1 missing cell is" if number == 1 else f"{number:,} missing cells are"
        return f"{cells} taken for a level: that a cell is missing may tell of the class."
    return (
        f"{number:,} missing cells were integrated out, as if missing for reasons that have "
        "nothing to do with their values."
    )


def _limits_of_binary(data: DataSummary) -> list[str]:
    cut = []
    if data.n_real:
        cut.append(f"{_columns(data.n_real, 'real-valued')} cut at the median")
    if data.n_categorical:
        cut.append(
            f"{_columns(data.n_categorical, 'categorical')} turned into a yes-or-no feature for "
            "each level"
        )
    if not cut:
        return []
    lost = "this model knows only yes-or-no features, and some information is lost."
    return [f"{' and '.join(cut)}: {lost}"]


def _limits_of_mixed(report: Report) -> list[str]:
    result = []
    if _card(report).joint and any(race.kind == "real" for race in report.races):
        result.append(
            "In each class the values of a real-valued feature are taken for normally distributed "
            "around a centre of that class, with one spread for all. A class that differs in its "
            "spread alone is not seen; measurements with a long tail may do better as logarithms."
        )
    if report.factors is not None and report.data.n_binary:
        result.append(
            f"{_columns(report.data.n_binary, 'yes-or-no')} taken for numbers, as if measured; the "
            "mixed model knows such columns."
        )
    if len(report.races) > 1:
        result.append(
            "Features of each kind are ranked among themselves: a number of features to keep is "
            "one for each kind."
        )
    return result


def prevalence_in_words(prevalence: float | Mapping[str, float]) -> str:
    """Return the shares of classes where the model will be used."""
    if isinstance(prevalence, Mapping):
        return _shares(prevalence.keys(), prevalence.values())
    return wording.percent(prevalence)


def _shares(labels: Iterable[str], shares: Iterable[float]) -> str:
    pairs = zip(labels, shares, strict=True)
    return ", ".join(f"{label} {wording.percent(share)}" for label, share in pairs)


def _columns(number: int, kind: str) -> str:
    return f"1 {kind} column was" if number == 1 else f"{number:,} {kind} columns were"
