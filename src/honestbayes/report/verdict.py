"""The verdict in plain words: what was claimed, what happened, and what remains.

Three parts. What the uncorrected model claimed with near certainty, and how often it was wrong; the
same for the corrected one; and whether what remains is consistent with honest probabilities. Before
these stands whether anything can be predicted at all.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

from scipy.special import ndtri

from honestbayes.metrics import CalibrationFit, Claims, Estimate, Summary
from honestbayes.report.contenders import MIXTURE
from honestbayes.report.wording import (
    count,
    count_small,
    interval,
    number,
    percent,
    percent_with_interval,
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

_TRY_FACTORS = (
    "For measurements that move together there is --model factors: it is slower, and on expression "
    "data its calibration slopes were nearer 1 before recalibration, not always after it."
)


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
    uncorrected, corrected : str
        What each claimed with near certainty, and what happened.
    remaining : {"nothing", "honest", "overconfident", "underconfident", "shifted", "too few cases"}
        What is left after the correction. "nothing": no signal was found; "shifted": the slope is
        right, but probabilities are too high or too low on average.
    remains : str
        The same in words, with the slope.
    advice : str
        What to do.
    """

    headline: str
    uncorrected: str
    corrected: str
    remaining: Remaining
    remains: str
    advice: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)

    def __str__(self) -> str:
        parts = (self.headline, self.uncorrected, self.corrected, self.remains, self.advice)
        return "\n\n".join(part for part in parts if part)


def verdict(
    labels: tuple[str, ...],
    uncorrected: Judged,
    corrected: Judged,
    recalibrated: Judged | None,
    *,
    better: dict[str, Estimate],
    n_repeats: int,
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
    better : dict of name to Estimate
        Methods whose log score is better than that of the model in use, by more than the interval
        of the difference allows for; and the difference, below 0.
    n_repeats : int
        Predictions of each case.
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
    used = recalibrated if recalibrate and recalibrated is not None else corrected
    nothing = not used.summary.auc.interval[0] > CHANCE
    remaining = "nothing" if nothing else _remaining(corrected.summary.calibration)
    best = min(better, key=lambda name: better[name].value) if better else None
    other = "" if best is None else _did_better(best, better[best])
    if MIXTURE in better:
        other = f"{other} {_groups(better[MIXTURE], best == MIXTURE, cut)}".strip()
    if nothing:
        remains, advice = _nothing_remains(used.summary, n_kept), _nothing_advice(other)
        headline = _nothing(used.summary, found_elsewhere=best is not None)
    else:
        remains = f"What remains: {_remains(remaining, corrected.summary, labels, beyond)}"
        if remaining == "overconfident" and measurements and beyond is None:
            other = f"{other} {_TRY_FACTORS}".strip()
        after = None if recalibrated is None else recalibrated.summary
        advice = _advice(remaining, after, other, recalibrate, groups, beyond)
        headline = _headline(used.summary, recalibrate)
    return Verdict(
        headline=headline,
        uncorrected=_claims_in_words("Without the correction", uncorrected.claims, n_repeats),
        corrected=_claims_in_words("With the correction", corrected.claims, n_repeats),
        remaining=remaining,
        remains=remains,
        advice=advice,
    )


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


def _nothing_advice(other: str) -> str:
    if other:
        return f"Advice: {other} Do not act on the probabilities of this model."
    return "Advice: do not act on these probabilities; more cases, or other features, are needed."


def _did_better(name: str, gain: Estimate) -> str:
    return (
        f"{name[0].upper()}{name[1:]} had the better log score, by {number(-gain.value, 3)} "
        f"({interval((-gain.interval[1], -gain.interval[0]), 3)}; one of several comparisons)."
    )


def _still_too_sure(groups: Summary | None, beyond: str | None) -> str:
    """Point to the mixture, where its probabilities may be honest."""
    needed = "" if beyond is not None else "; a model that knows about dependence is needed"
    low, high = (math.inf, 0.0) if groups is None else groups.calibration.slope_interval
    if groups is None or not low <= 1 <= high:
        return f"Even so it is too sure{needed}."
    return (
        "Even so it is too sure. The two-component mixture, which knows of hidden groups of cases, "
        f"has a slope of {number(groups.calibration.slope)} ({interval((low, high))}) and a log "
        f"score of {number(groups.log_score.value, 3)}: see --model mixture."
    )


def _groups(gain: Estimate, said: bool, cut: bool) -> str:
    """Say that hidden groups of cases explain the features better than the class does."""
    by = "" if said else f" (log score better by {number(-gain.value, 3)})"
    if cut:
        return (
            f"The mixture{by} looks at measurements cut at their median: --model binary tells "
            "whether the cut or hidden groups of cases are why, and --model mixture uses both."
        )
    return (
        f"Two hidden groups of cases explain these features better than the class alone does{by}: "
        "features of a group move together. --model mixture uses them."
    )


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


def _slope_in_words(fit: CalibrationFit) -> str:
    low, high = fit.slope_interval
    # Two decimals could show an interval beside 1 as one that ends there.
    digits = 3 if "1.00" in (number(low), number(high)) else 2
    return f"the calibration slope is {number(fit.slope)} ({interval((low, high), digits)})"


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
    slope = f"{_slope_in_words(summary.calibration)}; 1 is honest, less is too sure"
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


def _advice(
    remaining: Remaining,
    after: Summary | None,
    other: str,
    recalibrate: bool,
    groups: Summary | None,
    beyond: str | None,
) -> str:
    if after is None:
        return f"Advice: {other}" if other else ""
    fit = after.calibration
    sentences = []
    if remaining in ("overconfident", "underconfident"):
        state = f"With recalibration {_slope_in_words(fit)}."
        if recalibrate:
            sentences.append(f"{state} The model and the predictions use it.")
        else:
            sentences.append(f"{state} Leave out --no-recalibrate to use it.")
        if fit.slope_interval[1] < 1:
            sentences.append(_still_too_sure(groups, beyond))
        elif fit.slope_interval[0] > 1:
            sentences.append("Even so it is too careful: more is known than the probabilities say.")
    elif recalibrate:
        sentences.append(f"With recalibration, which the model uses, {_slope_in_words(fit)}.")
    if other:
        sentences.append(other)
    return "Advice: " + " ".join(sentences) if sentences else ""
