"""The verdict in plain words, about the model in use: what it claimed, what happened, what remains.

First whether anything can be predicted at all, and the error rates; then what the model in use
claimed with near certainty, and how often it was wrong; whether what remains is consistent with
honest probabilities; what to use; and last what the correction and the slope did.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from scipy.special import ndtri

from honestbayes.evaluation.baselines import FREQUENCIES
from honestbayes.metrics import CalibrationFit, ConfidentPredictions, Estimate, Summary
from honestbayes.report.methods import MIXTURE, UNCORRECTED, UNCORRECTED_NAIVE, UNCORRECTED_SLOPE
from honestbayes.report.wording import (
    count,
    count_small,
    interval,
    number,
    percent,
    percent_with_interval,
    slope_in_words,
)

# --------------------------------------------------------------------------------------------------
# What remains in a model: too sure, too careful, shifted, or honest as far as the cases tell
# --------------------------------------------------------------------------------------------------


Remaining = Literal[
    "nothing",
    "cannot tell",
    "honest",
    "overconfident",
    "underconfident",
    "shifted",
    "too few cases",
]

NO_SIGNAL: tuple[Remaining, ...] = ("nothing", "cannot tell")
"""What is said of a model whose AUC may be that of chance."""

TWICE_TOO_SURE = 0.5
"""A calibration slope at which the log-odds are twice what they should be.

Where the interval of the slope holds both 1 and this, the cases cannot tell honest from twice too
sure, and the verdict says so.
"""


def remaining_of(fit: CalibrationFit) -> Remaining:
    """Judge a model by its calibration."""
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


def shift_in_words(summary: Summary, labels: tuple[str, ...]) -> str:
    """Say that probabilities are too high or too low on average, where they are."""
    if not _is_shifted(summary.calibration):
        return ""
    if isinstance(summary.mean_probability, tuple):
        predicted = summary.mean_probability
        observed = [count / summary.n_cases for count in class_counts(summary)]
        # In units of what chance alone does to a share.
        place = max(
            range(len(predicted)),
            key=lambda c: (
                abs(predicted[c] - observed[c])
                / math.sqrt(max(observed[c] * (1 - observed[c]), 1 / summary.n_cases**2))
            ),
        )
        share, fact, whose = predicted[place], observed[place], f" of {labels[place]}"
    else:
        share, fact, whose = summary.mean_probability, summary.n_positive / summary.n_cases, ""
    return (
        f"probabilities{whose} are too {'high' if share > fact else 'low'} on average, "
        f"{percent(share)} claimed where {percent(fact)} happened"
    )


def remains_in_words(
    remaining: Remaining,
    summary: Summary,
    labels: tuple[str, ...],
    beyond: str | None,
    joint: bool = True,
) -> str:
    """Say what remains, with the slope.

    Parameters
    ----------
    remaining : str
        From :func:`remaining_of`.
    summary : Summary
        Of the model.
    labels : tuple of str
        The classes.
    beyond : str or None
        What explains dependence between features in the model, where it is no naive Bayes.
    joint : bool, default=True
        Whether the model says how features are distributed in each class.
    """
    slope = f"{slope_in_words(summary.calibration)}; 1 is honest, less is too sure"
    shift = shift_in_words(summary, labels)
    if remaining == "shifted":
        return f"{shift}; {slope}."
    also = f" Also, {shift}." if shift else ""
    if remaining == "overconfident":
        still = "still overconfident" if joint else "overconfident"
        return f"{still}, most likely because {_because(beyond, joint)}: {slope}.{also}"
    if remaining == "underconfident":
        return f"too careful rather than too sure: {slope}.{also}"
    if remaining == "honest":
        return f"consistent with honest probabilities: {slope}."
    return (
        f"too few cases to tell: {slope}, and the interval leaves room for honest probabilities "
        "as well as for log-odds twice too large."
    )


def _because(beyond: str | None, joint: bool) -> str:
    if not joint:
        return "the class depends on the columns in other ways than the model supposes"
    how = f" beyond what {beyond} explain"
    if beyond is None:
        how = ", and naive Bayes counts shared evidence more than once"
    return f"features depend on each other{how}"


# --------------------------------------------------------------------------------------------------
# What to use, whoever made it: advice by the size of a difference, not by its significance alone
#
# A method is named where its log score on the same held-out cases is better by a size that matters
# and the interval of the difference excludes 0; where it does not, only if the size is larger, as
# one that may be better. The best of several is favoured by luck, and the advice says so.
# --------------------------------------------------------------------------------------------------


Care = Literal["may be a guess", "single probabilities", "few cases", ""]
"""What to beware of in a model: nothing that was compared is better, and yet."""

MATTERS = 0.02
"""Difference in log score that matters: what it costs to claim 60% of what is one half."""

LARGE = 0.03
"""Difference that is named though the cases cannot settle it: 85% claimed of what is 75%."""

FEWER_ERRORS = 0.01
"""Difference in error rate that matters: one case in a hundred."""

NOT_OFFERED = frozenset({UNCORRECTED, UNCORRECTED_SLOPE, UNCORRECTED_NAIVE})
"""Methods that show what the correction does: no option makes a model of them."""

NOT_COMPARED = (
    "Methods of others were not run on these folds, so it is not known whether one "
    "of them is better."
)

_TRY_FACTORS = (
    "For measurements that move together there is --model factors: it is slower, and on expression "
    "data its calibration slopes were nearer 1 before recalibration, not always after it."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Other:
    """A method that was compared with the model in use.

    Attributes
    ----------
    name : str
        What it is called.
    difference : Estimate
        Its log score minus that of the model in use; below 0, it is better.
    actual_error : float
        Its error rate.
    is_logistic : bool
        Whether it is a logistic regression on all features.
    option : str
        What makes a report of it instead; empty for methods of other libraries.
    """

    name: str
    difference: Estimate
    actual_error: float = math.nan
    is_logistic: bool = False
    option: str = ""

    @property
    def title(self) -> str:
        """Its name, with the option that makes it where there is one."""
        return f"{self.name} ({self.option})" if self.option else self.name

    @property
    def gain(self) -> float:
        """By how much its log score is better."""
        return -self.difference.value


@dataclass(frozen=True, slots=True)
class OtherNumber:
    """Another number of features, of the path.

    Attributes
    ----------
    n_features : int
        The number.
    difference : Estimate
        The log score with it, minus that of the number in use.
    """

    n_features: int
    difference: Estimate


def is_clear(difference: Estimate) -> bool:
    """Whether a log score is better by a size that matters, beyond the interval."""
    return -difference.value >= MATTERS and difference.interval[1] < 0


def is_large(difference: Estimate) -> bool:
    """Whether a log score is better by so much that it is named though the cases cannot tell."""
    return -difference.value >= LARGE


def best_other(others: Sequence[Other], used: Summary, n_features: int) -> Other | None:
    """Return the method to name: a clear one before one that may be better, then by size.

    Where cases outnumber features, a logistic regression that is clearly better, in log score or
    in errors, is preferred to what is better than it by less than matters. A method that nobody
    could use after reading its name is not named.
    """
    others = offered(others)
    clear = [other for other in others if is_clear(other.difference)]
    plain = [
        other
        for other in others
        if used.n_cases > n_features and other.is_logistic and _is_plainly_better(other, used)
    ]
    found = clear or plain
    if not found:
        found = [o for o in others if is_large(o.difference) and o.name != FREQUENCIES]
    best = max(found, key=lambda other: other.gain, default=None)
    simple = max(plain, key=lambda other: other.gain, default=None)
    if best is not None and simple is not None and best.gain - simple.gain < MATTERS:
        return simple
    return best


def offered(others: Sequence[Other]) -> list[Other]:
    """Return the methods that can be used instead: by an option, or from another library."""
    return [other for other in others if other.name not in NOT_OFFERED]


def _is_plainly_better(other: Other, used: Summary) -> bool:
    """Whether a logistic regression has the better log score, or clearly fewer errors."""
    fewer = used.actual_error.value - other.actual_error
    return is_clear(other.difference) or (
        other.gain > 0
        and fewer >= FEWER_ERRORS
        and other.actual_error < used.actual_error.interval[0]
    )


def is_preferred(other: Other, used: Summary, n_features: int) -> bool:
    """Whether a method is to be used rather than the model in use, beyond what chance explains."""
    many = used.n_cases > n_features and other.is_logistic
    return is_clear(other.difference) or (many and _is_plainly_better(other, used))


def method_in_words(
    other: Other,
    used: Summary,
    n_features: int,
    n_others: int,
    broken: bool = False,
    nothing: bool = False,
) -> str:
    """Say which other method to use, or which may be better, by how much and how surely.

    Where the cases cannot settle it, what the model in use claimed decides: with claims that are
    `broken` the other one is preferred, and with `nothing` found neither.
    """
    low, high = other.difference.interval
    by = f"{number(other.gain, 3)} ({interval((-high, -low), 3)})"
    luck = f"it is the best of {n_others} others, which luck favours" if n_others > 1 else ""
    many = used.n_cases > n_features and other.is_logistic
    if not is_preferred(other, used, n_features):
        but = f", and {luck}" if luck else ""
        return (
            f"{other.title} may be better: its log score is better by "
            f"{by}. These cases cannot settle that{but}; {_in_doubt(broken, nothing)}."
        )
    errors = ""
    if used.actual_error.value - other.actual_error >= FEWER_ERRORS:
        errors = (
            f", with {percent(other.actual_error)} errors where this model had "
            f"{percent(used.actual_error.value)}"
        )
    tail = f" {luck[0].upper()}{luck[1:]}: expect somewhat less." if luck else ""
    scores = f"log score is better by {by}{errors}.{tail}"
    if many:
        return (
            f"use a logistic regression: there are more cases ({used.n_cases:,}) than features "
            f"({n_features:,}), and on the same folds the {other.name}'s {scores}"
        )
    return f"use {other.title} rather than this model: on the same folds its {scores}"


def _in_doubt(broken: bool, nothing: bool) -> str:
    if nothing:
        return "use neither until more cases tell"
    if broken:
        return "but what this model claimed did not hold, so prefer the other"
    return "until more cases tell, either can be used"


def number_in_words(numbers: Sequence[OtherNumber]) -> str:
    """Say which other number of features does better, or may, with its option."""
    clear = [one for one in numbers if is_clear(one.difference)]
    found = clear or [one for one in numbers if is_large(one.difference)]
    if not found:
        return ""
    best = min(found, key=lambda one: one.difference.value)
    low, high = best.difference.interval
    text = (
        f"{best.n_features:,} feature{'' if best.n_features == 1 else 's'} "
        f"{'do' if clear else 'may do'} better with this model than the number in use, by "
        f"{number(-best.difference.value, 3)} ({interval((-high, -low), 3)}) in log score: "
        f"--features {best.n_features}."
    )
    if len(numbers) > 1:
        text = f"{text} That is the best of {len(numbers)} numbers on one drawing of the folds."
    return text if clear else f"{text} These cases cannot settle it."


def groups_in_words(other: Other, cut: bool, said: bool) -> str:
    """Say that hidden groups of cases explain the features better than the class does."""
    if not is_clear(other.difference):
        return ""
    by = "" if said else f" (log score better by {number(other.gain, 3)})"
    if cut:
        return (
            f"The mixture{by} looks at measurements cut at their median: --model binary tells "
            "whether the cut or hidden groups of cases are why, and --model mixture uses both."
        )
    return (
        f"Two hidden groups of cases explain these features better than the class alone does{by}: "
        "features of a group move together. --model mixture uses them."
    )


def too_sure_in_words(groups: Summary | None, beyond: str | None, measurements: bool) -> str:
    """Say what may help where the model in use is too sure."""
    low, high = (math.inf, 0.0) if groups is None else groups.calibration.slope_interval
    if groups is not None and low <= 1 <= high:
        text = (
            "The two-component mixture, which knows of hidden groups of cases, has a slope of "
            f"{number(groups.calibration.slope)} ({interval((low, high))}) and a log score of "
            f"{number(groups.log_score.value, 3)}: see --model mixture."
        )
    else:
        text = "" if beyond is not None else "A model that knows about dependence is needed."
    if measurements and beyond is None:
        text = f"{text} {_TRY_FACTORS}"
    return text.strip()


def with_recalibration(after: Summary) -> str:
    """Say what the slope would do, where the user left it out."""
    return (
        f"With recalibration {slope_in_words(after.calibration)}: leave out --no-recalibrate to "
        "use it."
    )


def care_of(remaining: Remaining, others: Sequence[Other], used: Summary) -> Care:
    """Return what to beware of where the model in use is the one to use."""
    guess = next((other for other in others if other.name == FREQUENCIES), None)
    if guess is not None and (
        guess.difference.interval[0] <= 0 and guess.actual_error <= used.actual_error.interval[1]
    ):
        return "may be a guess"
    if remaining in ("overconfident", "shifted"):
        return "single probabilities"
    return "few cases" if remaining == "too few cases" else ""


_WITH_CARE: dict[Care, str] = {
    "may be a guess": ", with care: it is not certain that it does better than guessing",
    "single probabilities": " to rank cases, and do not take a single probability as it stands",
    "few cases": ", with care, and judge it again when there are more cases",
    "": "",
}


def no_better(n_others: int, care: Care = "") -> str:
    """Say that nothing that could be used is better, and what to beware of all the same."""
    none = f"none of the {n_others} others that could be used" if n_others > 1 else "no other"
    return (
        f"use this model{_WITH_CARE[care]}; {none} has a "
        f"log score that is better by a size that matters ({MATTERS}), as far as these cases tell."
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
    confident: ConfidentPredictions


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
    confident: str
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
            *(self.caution, self.headline, self.confident),
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
    best = best_other(others, used.summary, n_features)
    broken = used.confident.broken or remaining in ("overconfident", "shifted")
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
            care = care_of(remaining, others, used.summary)
            n_offered = len(offered(others))
            what = [*what] if what else [no_better(n_offered, care)] if n_offered else []
        what += _what_may_help(remaining, after, groups, beyond, measurements)
        advised = f"Advice: {' '.join(what)}" if what else ""
        headline = _headline(used.summary, uncorrected is not None, has_slope, average)
    if not compared:
        advised = f"{advised} {NOT_COMPARED}".lstrip()
    if doubts:  # no advice about models is worth following before these are settled
        advised = "Advice: decide first what is doubtful in the table; until then do not use this."
    return Verdict(
        headline=headline,
        confident=_claims_in_words("On held-out cases", used.confident, n_repeats),
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
    return best is not None and best.name != FREQUENCIES and is_clear(best.difference)


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
        n_offered = len(offered(others))
        found.append(method_in_words(best, used, n_features, n_offered, broken, nothing))
    found += [
        groups_in_words(other, cut, said=other is best) for other in others if other.name == MIXTURE
    ]
    found.append(number_in_words(numbers))
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
        return [with_recalibration(after)]
    if remaining == "overconfident":
        text = too_sure_in_words(groups, beyond, measurements)
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
    before = uncorrected.confident
    who = "Without the correction the model"
    if average is not None:
        who = "Naive Bayes on the features that correlate best, not corrected for their selection,"
    text = (
        f"{who} claimed {percent(before.at_least)} or more for "
        f"{count(before.n_confident)} cases, which implied that {count_small(before.n_implied)} of "
        f"them would be wrong, and {count_small(before.n_wrong)} "
        f"{'was' if before.n_wrong == 1 else 'were'}"
    )
    if before.n_confident == 0:
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
    confident: ConfidentPredictions,
    labels: tuple[str, ...],
    beyond: str | None = None,
    joint: bool = True,
) -> str:
    """Say what a model claimed of cases from elsewhere, and whether that was honest."""
    lines = [_claims_in_words("On this table", confident, 1)]
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


def _claims_in_words(who: str, confident: ConfidentPredictions, n_repeats: int) -> str:
    sure = percent(confident.at_least)
    if confident.n_confident == 0:
        return (
            f"{who}, the model claimed {sure} or more for none of the {confident.n_cases:,} cases."
        )
    average = f" (average of {n_repeats} repeats)" if n_repeats > 1 else ""
    text = (
        f"{who}, the model claimed {sure} or more for {count(confident.n_confident)} of "
        f"{confident.n_cases:,} cases{average}. Its claims implied that "
        f"{count_small(confident.n_implied)} of them would be wrong "
        f"({percent(confident.implied)}); "
        f"{count_small(confident.n_wrong)} {'was' if confident.n_wrong == 1 else 'were'}: "
        f"{percent_with_interval(confident.wrong)}."
    )
    if confident.broken:
        return f"{text} That is more than it claimed."
    if confident.wrong.interval[1] < confident.implied:
        return f"{text} That is less than it claimed."
    return f"{text} The interval includes the claim."
