"""The verdict in plain words, about the model in use: what it claimed, what happened, what remains.

First whether anything can be predicted at all, and the error rates; then what the model in use
claimed with near certainty, and how often it was wrong; whether what remains is consistent with
honest probabilities; what to use; and last what the correction and the slope did.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from honestbayes.evaluation.peers import FREQUENCIES
from honestbayes.metrics import Claims, Summary
from honestbayes.report import advice as words
from honestbayes.report.advice import Other, OtherNumber
from honestbayes.report.contenders import MIXTURE
from honestbayes.report.remaining import (
    Remaining,
    class_counts,
    remaining_of,
    remains_in_words,
    shift_in_words,
)
from honestbayes.report.wording import (
    count,
    count_small,
    interval,
    number,
    percent,
    percent_with_interval,
)

CHANCE = 0.5
"""AUC of a method that knows nothing."""

A_GOOD_AUC = 0.75
"""Where an interval of the AUC holds chance and this, there are too few cases to tell."""


MOST_DOUBTS = 2
"""Doubts about the table that the verdict repeats; the notes have all of them."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One method's results, as far as the verdict looks at them."""

    summary: Summary
    claims: Claims


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the report says first.

    Attributes
    ----------
    headline : str
        The result in one or two sentences.
    claims : str
        What the model in use claimed with near certainty, and what happened.
    remaining : str
        What is left in the model in use: "nothing" (there is no signal of a useful size), "cannot
        tell" (too few cases to tell a signal from chance), "honest", "overconfident",
        "underconfident", "shifted" (the slope is right, but probabilities are too high or too low
        on average) or "too few cases" (a signal, but too few cases to judge the slope).
    remains : str
        The same in words, with the slope.
    advice : str
        What to use, and what to do.
    without : str
        What the correction and the slope did.
    caution : str
        What in the table may make all of this worthless, with the options that decide; mostly
        empty. It comes first.
    """

    headline: str
    claims: str
    remaining: Remaining
    remains: str
    advice: str
    without: str
    caution: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)

    def __str__(self) -> str:
        parts = (
            *(self.caution, self.headline, self.claims),
            *(self.remains, self.advice, self.without),
        )
        return "\n\n".join(part for part in parts if part)


def verdict(
    labels: tuple[str, ...],
    uncorrected: Judged | None,
    corrected: Judged,
    recalibrated: Judged | None,
    *,
    others: tuple[Other, ...] = (),
    numbers: tuple[OtherNumber, ...] = (),
    n_repeats: int,
    n_features: int,
    n_kept: int = 1,
    recalibrate: bool = True,
    beyond: str | None = None,
    joint: bool = True,
    groups: Summary | None = None,
    cut: bool = False,
    measurements: bool = False,
    compared: bool = True,
    average: str | None = None,
    doubts: tuple[str, ...] = (),
) -> Verdict:
    """Put the results of three methods into words.

    Parameters
    ----------
    labels : tuple of str
        The classes.
    uncorrected, corrected, recalibrated : Judged
        Without the correction; with it; with it and the slope. The first is None of a model that
        has no correction, and the second is then that model. Beside an average of models the first
        is naive Bayes.
    others : tuple of Other
        All methods that the model in use was compared with.
    numbers : tuple of OtherNumber
        Other numbers of features, where the path was found.
    n_repeats : int
        Predictions of each case.
    n_features : int
        Features in the table.
    n_kept : int
        Features in the model.
    recalibrate : bool, default=True
        Whether the model in use is the recalibrated one.
    beyond : str, optional
        What explains dependence between features in the model in use, where it is no naive Bayes.
    joint : bool, default=True
        Whether the model in use says how features are distributed in each class.
    groups : Summary, optional
        Of the two-component mixture, where it was compared.
    cut : bool, default=False
        Whether the mixture looked at measurements cut at their median, the model in use at them as
        they are.
    measurements : bool, default=False
        Whether all features are measurements and taken for these, so that the factor model could
        take them too.
    compared : bool, default=True
        Whether methods of others are among the others.
    average : str, optional
        What the model in use is called, where it is an average of models.
    doubts : tuple of str
        What in the table may make the results worthless, one sentence each.
    """
    has_slope = recalibrate and recalibrated is not None
    used = recalibrated if has_slope and recalibrated is not None else corrected
    nothing = not used.summary.auc.interval[0] > CHANCE
    remaining = _without_signal(used.summary) if nothing else remaining_of(used.summary.calibration)
    best = words.best_other(others, used.summary, n_features)
    broken = used.claims.broken or remaining in ("overconfident", "shifted")
    what = _what_to_use(best, others, numbers, used.summary, n_features, cut, broken, nothing)
    if nothing:
        remains, advised = _nothing_remains(used.summary, n_kept), _nothing_advice(what)
        headline = _nothing(used.summary, found_elsewhere=_finds_more(best))
    else:
        remains = (
            f"What remains: {remains_in_words(remaining, used.summary, labels, beyond, joint)}"
        )
        after = None if has_slope or recalibrated is None else recalibrated.summary
        if compared:
            care = words.care_of(remaining, others, used.summary)
            n_offered = len(words.offered(others))
            what = [*what] if what else [words.no_better(n_offered, care)] if n_offered else []
        what += _what_may_help(remaining, after, groups, beyond, measurements)
        advised = f"Advice: {' '.join(what)}" if what else ""
        headline = _headline(used.summary, uncorrected is not None, has_slope, average)
    if not compared:
        advised = f"{advised} {words.NOT_COMPARED}".lstrip()
    if doubts:  # no advice about models is worth following before these are settled
        advised = "Advice: decide first what is doubtful in the table; until then do not use this."
    return Verdict(
        headline=headline,
        claims=_claims_in_words("On held-out cases", used.claims, n_repeats),
        remaining=remaining,
        remains=remains,
        advice=advised,
        without=_without(
            uncorrected, corrected, recalibrated if has_slope else None, nothing, average
        ),
        caution=_caution(doubts),
    )


def _caution(doubts: tuple[str, ...]) -> str:
    """Say first that the results may mean nothing, and why."""
    if not doubts:
        return ""
    more = len(doubts) - MOST_DOUBTS
    rest = f" The notes have {more:,} more of the kind." if more > 0 else ""
    return f"These results may mean nothing. {' '.join(doubts[:MOST_DOUBTS])}{rest}"


def _finds_more(best: Other | None) -> bool:
    return best is not None and best.name != FREQUENCIES and words.is_clear(best.difference)


def _what_to_use(
    best: Other | None,
    others: tuple[Other, ...],
    numbers: tuple[OtherNumber, ...],
    used: Summary,
    n_features: int,
    cut: bool,
    broken: bool,
    nothing: bool,
) -> list[str]:
    """Return the sentences that name another method, or another number of features."""
    found = []
    if best is not None:
        n_offered = len(words.offered(others))
        found.append(words.method_in_words(best, used, n_features, n_offered, broken, nothing))
    found += [
        words.groups_in_words(other, cut, said=other is best)
        for other in others
        if other.name == MIXTURE
    ]
    found.append(words.number_in_words(numbers))
    return [text for text in found if text]


def _what_may_help(
    remaining: Remaining,
    after: Summary | None,
    groups: Summary | None,
    beyond: str | None,
    measurements: bool,
) -> list[str]:
    """Return the sentences about what is left in the model in use."""
    if after is not None and remaining in ("overconfident", "underconfident"):
        return [words.with_recalibration(after)]
    if remaining == "overconfident":
        text = words.too_sure_in_words(groups, beyond, measurements)
        return [f"This model's probabilities are too sure.{' ' if text else ''}{text}"]
    if remaining == "underconfident":
        return ["This model's probabilities are too careful: more is known than they say."]
    return []


def _without(
    uncorrected: Judged | None,
    corrected: Judged,
    recalibrated: Judged | None,
    nothing: bool,
    average: str | None = None,
) -> str:
    """Say in short what the correction and the slope did."""
    if uncorrected is None:
        return "" if nothing or recalibrated is None else _without_slope(corrected, recalibrated)
    before = uncorrected.claims
    who = "Without the correction the model"
    if average is not None:
        who = "Naive Bayes on the features that correlate best, not corrected for their selection,"
    text = (
        f"{who} claimed {percent(before.at_least)} or more for "
        f"{count(before.n_claimed)} cases, which implied that {count_small(before.n_implied)} of "
        f"them would be wrong, and {count_small(before.n_wrong)} "
        f"{'was' if before.n_wrong == 1 else 'were'}"
    )
    if before.n_claimed == 0:
        text = f"{who} claimed {percent(before.at_least)} of no case"
    if nothing:  # a slope of no signal means nothing
        return f"{text}."
    slopes = [number(one.summary.calibration.slope) for one in (uncorrected, corrected)]
    text = f"{text}; its calibration slope was {slopes[0]}"
    if average is not None:
        return f"{text}, that of the {average} is {slopes[1]}."
    if recalibrated is None:
        return f"{text}, and with it, as in use, {slopes[1]}."
    last = number(recalibrated.summary.calibration.slope)
    return f"{text}, with the correction alone {slopes[1]}, with the slope too, as in use, {last}."


def _without_slope(before: Judged, after: Judged) -> str:
    first, last = (number(one.summary.calibration.slope) for one in (before, after))
    return f"Before recalibration the calibration slope was {first}, with it, as in use, {last}."


def external_verdict(
    summary: Summary,
    claims: Claims,
    labels: tuple[str, ...],
    beyond: str | None = None,
    joint: bool = True,
) -> str:
    """Say what a model claimed of cases from elsewhere, and whether that was honest."""
    lines = [_claims_in_words("On this table", claims, 1)]
    if sum(count > 0 for count in class_counts(summary)) > 1:
        remaining = remaining_of(summary.calibration)
        text = remains_in_words(remaining, summary, labels, beyond, joint)
        lines.append(f"{text[0].upper()}{text[1:]}")
        if shift_in_words(summary, labels):
            lines.append(
                "Where that is because the class is more or less frequent here than in training, "
                "--prevalence moves the probabilities."
            )
    return "\n".join(lines)


def _headline(
    summary: Summary, corrected: bool, recalibrate: bool, average: str | None = None
) -> str:
    did = [word for word, done in (("corrected", corrected), ("recalibrated", recalibrate)) if done]
    name = average or (f"{' and '.join(did)} model" if did else "model")
    pairs = " over pairs of classes" if isinstance(summary.n_positive, tuple) else ""
    return (
        f"The {name} claims an error rate of {percent(summary.expected_error)}; "
        f"{percent_with_interval(summary.actual_error)} happened. "
        f"AUC{pairs} {number(summary.auc.value)} ({interval(summary.auc.interval)})."
    )


def _without_signal(summary: Summary) -> Remaining:
    """Return whether there is no signal, or too few cases to find one."""
    # Where all cases have the same probability, more of them would not help.
    constant = summary.auc.value == CHANCE and summary.auc.standard_error == 0
    return "nothing" if constant or summary.auc.interval[1] <= A_GOOD_AUC else "cannot tell"


def _nothing(summary: Summary, *, found_elsewhere: bool) -> str:
    auc = (
        f"the AUC is {number(summary.auc.value)} ({interval(summary.auc.interval)}), and "
        f"{number(CHANCE)} is chance"
    )
    if _without_signal(summary) == "cannot tell":
        rarest = min(class_counts(summary))
        return (
            f"It cannot be told whether this model predicts anything: there are too few cases "
            f"({summary.n_cases:,}, {rarest:,} of the rarest class). {auc[0].upper()}{auc[1:]}; "
            "the interval includes chance and a good model."
        )
    who = (
        "This model can predict nothing from these features"
        if found_elsewhere
        else "Nothing can be predicted from these features"
    )
    return f"{who}, as far as {summary.n_cases:,} cases tell: {auc}."


def _nothing_remains(used: Summary, n_kept: int) -> str:
    if n_kept == 0:
        return (
            "What remains: no feature passed the selection, so the model knows class frequencies."
        )
    return (
        "What remains: no signal was found that one could be honest about. The model in use claims "
        f"an error rate of {percent(used.expected_error)}; "
        f"{percent_with_interval(used.actual_error)} happened."
    )


def _nothing_advice(what: list[str]) -> str:
    if what:
        return f"Advice: {' '.join(what)} Do not act on the probabilities of this model."
    return "Advice: do not act on these probabilities; more cases, or other features, are needed."


def _claims_in_words(who: str, claims: Claims, n_repeats: int) -> str:
    sure = percent(claims.at_least)
    if claims.n_claimed == 0:
        return f"{who}, the model claimed {sure} or more for none of the {claims.n_cases:,} cases."
    average = f" (average of {n_repeats} repeats)" if n_repeats > 1 else ""
    text = (
        f"{who}, the model claimed {sure} or more for {count(claims.n_claimed)} of "
        f"{claims.n_cases:,} cases{average}. Its claims implied that "
        f"{count_small(claims.n_implied)} of them would be wrong ({percent(claims.implied)}); "
        f"{count_small(claims.n_wrong)} {'was' if claims.n_wrong == 1 else 'were'}: "
        f"{percent_with_interval(claims.wrong)}."
    )
    if claims.broken:
        return f"{text} That is more than it claimed."
    if claims.wrong.interval[1] < claims.implied:
        return f"{text} That is less than it claimed."
    return f"{text} The interval includes the claim."
