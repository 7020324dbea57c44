"""What to use, whoever made it: advice by the size of a difference, not by its significance alone.

A method is named where its log score on the same held-out cases is better by a size that matters
and the interval of the difference excludes 0; where it does not, only if the size is larger, as one
that may be better. The best of several is favoured by luck, and the advice says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from honestbayes.evaluation.peers import FREQUENCIES
from honestbayes.metrics import Estimate, Summary
from honestbayes.report.contenders import UNCORRECTED, UNCORRECTED_NAIVE, UNCORRECTED_SLOPE
from honestbayes.report.remaining import Remaining
from honestbayes.report.wording import interval, number, percent, slope_in_words

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
