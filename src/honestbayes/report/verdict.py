"""The verdict in plain words, about the model in use: what it claimed, what happened, what remains.

First whether anything can be predicted at all, and the error rates; then what the model in use
claimed with near certainty, and how often it was wrong; whether what remains is consistent with
honest probabilities; what to use; and last what the correction and the slope did.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

from scipy.special import ndtri

from honestbayes.evaluation.peers import FREQUENCIES
from honestbayes.metrics import CalibrationFit, Claims, Summary
from honestbayes.report import advice as words
from honestbayes.report.advice import Other, OtherNumber
from honestbayes.report.contenders import MIXTURE
from honestbayes.report.wording import (
    count,
    count_small,
    interval,
    number,
    percent,
    percent_with_interval,
    slope_in_words,
)

Remaining = Literal[
    "nothing", "honest", "overconfident", "underconfident", "shifted", "too few cases"
]

TWICE_TOO_SURE = 0.5
"""A calibration slope at which the log-odds are twice what they should be.

Where the interval of the slope holds both 1 and this, the cases cannot tell honest from twice too
sure, and the verdict says so.
"""

CHANCE = 0.5
"""AUC of a method that knows nothing."""

A_GOOD_AUC = 0.75
"""Where an interval of the AUC holds chance and this, there are too few cases to tell."""


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
    remaining : {"nothing", "honest", "overconfident", "underconfident", "shifted", "too few cases"}
        What is left in the model in use. "nothing": no signal was found; "shifted": the slope is
        right, but probabilities are too high or too low on average.
    remains : str
        The same in words, with the slope.
    advice : str
        What to use, and what to do.
    without : str
        What the correction and the slope did.
    """

    headline: str
    claims: str
    remaining: Remaining
    remains: str
    advice: str
    without: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)

    def __str__(self) -> str:
        parts = (self.headline, self.claims, self.remains, self.advice, self.without)
        return "\n\n".join(part for part in parts if part)


def verdict(
    labels: tuple[str, ...],
    uncorrected: Judged,
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
    groups: Summary | None = None,
    cut: bool = False,
    measurements: bool = False,
) -> Verdict:
    """Put the results of three methods into words.

    Parameters
    ----------
    labels : tuple of str
        The classes.
    uncorrected, corrected, recalibrated : Judged
        Without the correction; with it; with it and the slope.
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
    groups : Summary, optional
        Of the two-component mixture, where it was compared.
    cut : bool, default=False
        Whether the mixture looked at measurements cut at their median, the model in use at them as
        they are.
    measurements : bool, default=False
        Whether all features are measurements and taken for these, so that the factor model could
        take them too.
    """
    has_slope = recalibrate and recalibrated is not None
    used = recalibrated if has_slope and recalibrated is not None else corrected
    nothing = not used.summary.auc.interval[0] > CHANCE
    remaining = "nothing" if nothing else _remaining(used.summary.calibration)
    best = words.best_other(others, used.summary, n_features)
    broken = used.claims.broken or remaining in ("overconfident", "shifted")
    what = _what_to_use(best, others, numbers, used.summary, n_features, cut, broken)
    if nothing:
        remains, advised = _nothing_remains(used.summary, n_kept), _nothing_advice(what)
        headline = _nothing(used.summary, found_elsewhere=_finds_more(best))
    else:
        remains = f"What remains: {_remains(remaining, used.summary, labels, beyond)}"
        after = None if has_slope or recalibrated is None else recalibrated.summary
        what = [*what] if what else [words.no_better(len(others))] if others else []
        what += _what_may_help(remaining, after, groups, beyond, measurements)
        advised = f"Advice: {' '.join(what)}" if what else ""
        headline = _headline(used.summary, has_slope)
    return Verdict(
        headline=headline,
        claims=_claims_in_words("On held-out cases", used.claims, n_repeats),
        remaining=remaining,
        remains=remains,
        advice=advised,
        without=_without(uncorrected, corrected, recalibrated if has_slope else None, nothing),
    )


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
) -> list[str]:
    """Return the sentences that name another method, or another number of features."""
    found = []
    if best is not None:
        found.append(words.method_in_words(best, used, n_features, len(others), broken))
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
    uncorrected: Judged, corrected: Judged, recalibrated: Judged | None, nothing: bool
) -> str:
    """Say in short what the correction and the slope did."""
    before = uncorrected.claims
    text = (
        f"Without the correction the model claimed {percent(before.at_least)} or more for "
        f"{count(before.n_claimed)} cases, which implied that {count_small(before.n_implied)} of "
        f"them would be wrong, and {count_small(before.n_wrong)} "
        f"{'was' if before.n_wrong == 1 else 'were'}"
    )
    if before.n_claimed == 0:
        text = f"Without the correction the model claimed {percent(before.at_least)} of no case"
    if nothing:  # a slope of no signal means nothing
        return f"{text}."
    slopes = [number(one.summary.calibration.slope) for one in (uncorrected, corrected)]
    text = f"{text}; its calibration slope was {slopes[0]}"
    if recalibrated is None:
        return f"{text}, and with it, as in use, {slopes[1]}."
    last = number(recalibrated.summary.calibration.slope)
    return f"{text}, with the correction alone {slopes[1]}, with the slope too, as in use, {last}."


def external_verdict(
    summary: Summary, claims: Claims, labels: tuple[str, ...], beyond: str | None = None
) -> str:
    """Say what a model claimed of cases from elsewhere, and whether that was honest."""
    words = [_claims_in_words("On this table", claims, 1)]
    if sum(count > 0 for count in class_counts(summary)) > 1:
        remaining = _remaining(summary.calibration)
        text = _remains(remaining, summary, labels, beyond)
        words.append(f"{text[0].upper()}{text[1:]}")
        if _shift(summary, labels):
            words.append(
                "Where that is because the class is more or less frequent here than in training, "
                "--prevalence moves the probabilities."
            )
    return "\n".join(words)


def _headline(summary: Summary, recalibrate: bool) -> str:
    name = "corrected and recalibrated" if recalibrate else "corrected"
    pairs = " over pairs of classes" if isinstance(summary.n_positive, tuple) else ""
    return (
        f"The {name} model claims an error rate of {percent(summary.expected_error)}; "
        f"{percent_with_interval(summary.actual_error)} happened. "
        f"AUC{pairs} {number(summary.auc.value)} ({interval(summary.auc.interval)})."
    )


def _nothing(summary: Summary, *, found_elsewhere: bool) -> str:
    low, high = summary.auc.interval
    who = (
        "This model can predict nothing from these features"
        if found_elsewhere
        else "Nothing can be predicted from these features"
    )
    text = (
        f"{who}, as far as {summary.n_cases:,} cases tell: the AUC is {number(summary.auc.value)} "
        f"({number(low)} to {number(high)}), and {number(CHANCE)} is chance."
    )
    if high > A_GOOD_AUC:
        return f"{text} The interval is wide: there are too few cases to tell chance from a signal."
    return text


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


def _remaining(fit: CalibrationFit) -> Remaining:
    low, high = fit.slope_interval
    if not low <= high:  # a slope that the data do not determine
        return "too few cases"
    if high < 1:
        return "overconfident"
    if low > 1:
        return "underconfident"
    if _is_shifted(fit):
        return "shifted"
    return "honest" if low >= TWICE_TOO_SURE else "too few cases"


def class_counts(summary: Summary) -> tuple[int, ...]:
    """Return the cases of each class."""
    if isinstance(summary.n_positive, tuple):
        return summary.n_positive
    return (summary.n_cases - summary.n_positive, summary.n_positive)


def _is_shifted(fit: CalibrationFit) -> bool:
    """Whether a class is claimed more or less often than it happens, beyond chance.

    With more than two classes there are several intervals, each wider than for one alone (after
    Bonferroni), so that one of them misses 0 by chance no more often.
    """
    if not isinstance(fit.shift, tuple):
        low, high = fit.shift_interval
        return not low <= 0 <= high
    tail = (1 - fit.level) / 2
    wider = float(ndtri(tail / len(fit.shift)) / ndtri(tail))
    return any(
        not wider * (low - shift) <= -shift <= wider * (high - shift)
        for shift, (low, high) in zip(fit.shift, fit.shift_interval, strict=True)
        if math.isfinite(shift)
    )


def _shift(summary: Summary, labels: tuple[str, ...]) -> str:
    """Say that probabilities are too high or too low on average, where they are."""
    if not _is_shifted(summary.calibration):
        return ""
    if isinstance(summary.mean_probability, tuple):
        claimed = summary.mean_probability
        happened = [count / summary.n_cases for count in class_counts(summary)]
        # In units of what chance alone does to a share.
        place = max(
            range(len(claimed)),
            key=lambda c: (
                abs(claimed[c] - happened[c])
                / math.sqrt(max(happened[c] * (1 - happened[c]), 1 / summary.n_cases**2))
            ),
        )
        share, fact, whose = claimed[place], happened[place], f" of {labels[place]}"
    else:
        share, fact, whose = summary.mean_probability, summary.n_positive / summary.n_cases, ""
    return (
        f"probabilities{whose} are too {'high' if share > fact else 'low'} on average, "
        f"{percent(share)} claimed where {percent(fact)} happened"
    )


def _remains(
    remaining: Remaining, summary: Summary, labels: tuple[str, ...], beyond: str | None
) -> str:
    slope = f"{slope_in_words(summary.calibration)}; 1 is honest, less is too sure"
    shift = _shift(summary, labels)
    if remaining == "shifted":
        return f"{shift}; {slope}."
    also = f" Also, {shift}." if shift else ""
    if remaining == "overconfident":
        how = f" beyond what {beyond} explain"
        if beyond is None:
            how = ", and naive Bayes counts shared evidence more than once"
        because = f"most likely because features depend on each other{how}"
        return f"still overconfident, {because}: {slope}.{also}"
    if remaining == "underconfident":
        return f"too careful rather than too sure: {slope}.{also}"
    if remaining == "honest":
        return f"consistent with honest probabilities: {slope}."
    return (
        f"too few cases to tell: {slope}, and the interval leaves room for honest probabilities "
        "as well as for log-odds twice too large."
    )
