"""The verdict on the model in use: one decision, and its wording for page, terminal and JSON.

`judge` decides once: whether the model can be used, why, how well its probabilities are calibrated,
and what to use or to try instead. Everything that a reader sees is a wording of that record, and
decides nothing again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from scipy.special import expit, logit, ndtri

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
)

# --------------------------------------------------------------------------------------------------
# The record
# --------------------------------------------------------------------------------------------------

Status = Literal["usable", "with care", "not usable", "cannot tell"]

Reason = Literal[
    "",
    "doubtful table",
    "holds under a condition",
    "no signal",
    "too few cases for a signal",
    "class frequencies are better",
    "another method is better",
    "another method may be better",
    "may be no better than guessing",
    "single probabilities are off",
    "too few cases for calibration",
]

Calibration = Literal[
    "no signal",
    "cannot tell",
    "calibrated",
    "overconfident",
    "underconfident",
    "shifted",
    "too few cases",
]

ConfidentErrors = Literal["none confident", "as expected", "more than expected", "fewer"]

NO_SIGNAL: tuple[Calibration, ...] = ("no signal", "cannot tell")
"""Judgements of a model whose AUC may be that of chance."""

TWICE_TOO_LARGE = 0.5
"""A calibration slope at which the log-odds are twice what they should be.

Where the interval of the slope holds both 1 and this, the cases are too few to distinguish the two,
and the verdict says so.
"""

CHANCE = 0.5
"""AUC of an uninformative method."""

A_GOOD_AUC = 0.75
"""Where an interval of the AUC holds chance and this, there are too few cases to tell."""

MATTERS = 0.02
"""Difference in log score that matters: the cost of predicting 60% where 50% is right."""

LARGE = 0.03
"""Difference that is named though the cases cannot settle it: 85% predicted where 75% is right."""

FEWER_ERRORS = 0.01
"""Difference in error rate that matters: one case in a hundred."""

MOST_CAUTIONS = 2
"""Doubts about the table that the verdict repeats; the notes have all of them."""

NOT_OFFERED = frozenset({UNCORRECTED, UNCORRECTED_SLOPE, UNCORRECTED_NAIVE})
"""Methods that show what the correction does: no option makes a model of them."""


@dataclass(frozen=True, slots=True)
class Judged:
    """Results of one method that the verdict depends on."""

    summary: Summary
    confident: ConfidentPredictions


@dataclass(frozen=True, slots=True, kw_only=True)
class Other:
    """A method that was compared with the model in use.

    Attributes
    ----------
    name : str
        Its name.
    difference : Estimate
        Its log score minus that of the model in use; below 0, it is better.
    actual_error : float
        Its error rate.
    is_logistic : bool
        Whether it is a logistic regression on all features.
    option : str
        The option that makes a report of it; empty for baselines.
    """

    name: str
    difference: Estimate
    actual_error: float = math.nan
    is_logistic: bool = False
    option: str = ""

    @property
    def title(self) -> str:
        """Its name, with the option that selects it, if any."""
        return f"{self.name} ({self.option})" if self.option else self.name

    @property
    def gain(self) -> float:
        """Improvement in log score."""
        return -self.difference.value


@dataclass(frozen=True, slots=True)
class OtherNumber:
    """Another number of features: the difference is its log score minus that in use."""

    n_features: int
    difference: Estimate


@dataclass(frozen=True, slots=True)
class Shift:
    """A class whose mean probability differs from its frequency; no label with two classes."""

    label: str
    predicted: float
    observed: float


@dataclass(frozen=True, slots=True)
class Better:
    """The other method that the advice names.

    Attributes
    ----------
    method : Other
        The method.
    is_clear : bool
        Whether it is better beyond chance.
    is_simpler : bool
        Whether it is a logistic regression, with more cases than features.
    has_fewer_errors : bool
        Whether it has fewer errors by a number that matters.
    """

    method: Other
    is_clear: bool
    is_simpler: bool
    has_fewer_errors: bool


@dataclass(frozen=True, slots=True)
class BetterNumber:
    """Another number of features that the advice names, and whether it is clearly better."""

    number: OtherNumber
    is_clear: bool
    n_compared: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """Something to try.

    Attributes
    ----------
    what : str
        "hidden groups", "cut or groups" (the mixture is better, where the model in use sees
        measurements uncut), "recalibration" (was switched off), "mixture" (whose slope may be 1),
        "dependence" (a model of it), "factors".
    gain : float or None
        Improvement in log score, where it is not named yet.
    summary : Summary or None
        Scores of what is suggested.
    """

    what: Literal[
        "hidden groups", "cut or groups", "recalibration", "mixture", "dependence", "factors"
    ]
    gain: float | None = None
    summary: Summary | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The numbers on which a verdict is based.

    Attributes
    ----------
    labels : tuple of str
        The classes.
    used, uncorrected, corrected, recalibrated : Judged or None
        Results of the model in use; without the correction; with it; with it and the slope, where
        that is in use.
    guess_error : float or None
        Error rate of the class frequencies alone.
    n_repeats, n_features, n_kept, n_others : int
        Predictions of each case; features of the table and of the model; other methods that could
        be used.
    compared : bool
        Whether baselines were run on the same folds.
    average : str or None
        Title of the model in use, where it is an average of models.
    dependence : str or None
        The part of the model in use that explains dependence between features.
    generative : bool
        Whether the model in use describes how features are distributed in each class.
    """

    labels: tuple[str, ...]
    used: Judged
    uncorrected: Judged | None
    corrected: Judged
    recalibrated: Judged | None
    guess_error: float | None
    n_repeats: int
    n_features: int
    n_kept: int
    n_others: int
    compared: bool
    average: str | None
    dependence: str | None
    generative: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The decision about the model in use.

    Attributes
    ----------
    status : {"usable", "with care", "not usable", "cannot tell"}
        Whether to use it.
    reason : str
        Why not, or why with care; empty if it can be used.
    calibration : str
        "no signal" (of a useful size), "cannot tell" (too few cases to show a signal),
        "calibrated", "overconfident", "underconfident", "shifted" (the slope is right, but
        probabilities are too high or too low on average) or "too few cases" (a signal, but too few
        cases to judge the slope).
    shift : Shift or None
        The class whose probabilities are too high or too low on average.
    confident_errors : str
        Errors among confident predictions: "none confident", "as expected", "more than expected"
        or "fewer".
    better : Better or None
        The other method to name.
    better_number : BetterNumber or None
        The other number of features to name.
    suggestions : tuple of Suggestion
        What may help.
    cautions : tuple of str
        What in the table may make the results worthless, one sentence each.
    conditions : tuple of str
        On what the results depend, such as a copy of the class that the user keeps.
    evidence : Evidence
        The numbers.
    """

    status: Status
    reason: Reason
    calibration: Calibration
    shift: Shift | None
    confident_errors: ConfidentErrors
    better: Better | None
    better_number: BetterNumber | None
    suggestions: tuple[Suggestion, ...]
    cautions: tuple[str, ...]
    conditions: tuple[str, ...]
    evidence: Evidence

    @property
    def has_signal(self) -> bool:
        """Whether the model predicts better than chance."""
        return self.calibration not in NO_SIGNAL

    @property
    def in_short(self) -> list[str]:
        """The verdict in two or three sentences, for readers without statistics."""
        return describe_in_short(self)

    @property
    def caution(self) -> str:
        """Properties of the table that may invalidate the results, shown first."""
        if not self.cautions:
            return ""
        more = len(self.cautions) - MOST_CAUTIONS
        rest = f" The notes have {more:,} more of the kind." if more > 0 else ""
        first = " ".join(self.cautions[:MOST_CAUTIONS])
        return f"These results may mean nothing. {first}{rest}"

    @property
    def headline(self) -> str:
        """The result in one or two sentences."""
        return describe_headline(self)

    @property
    def confident_text(self) -> str:
        """Confident predictions, and how many were wrong."""
        evidence = self.evidence
        return describe_confident(
            "On held-out cases",
            evidence.used.confident,
            self.confident_errors,
            evidence.n_repeats,
        )

    @property
    def calibration_text(self) -> str:
        """The calibration, with its slope."""
        return describe_calibration(self)

    @property
    def advice(self) -> str:
        """Advice about what to use."""
        return describe_advice(self)

    @property
    def correction_text(self) -> str:
        """Effect of the correction and the slope."""
        return describe_correction(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the decision and its wording as plain data; the evidence is in the methods."""
        better, number_ = self.better, self.better_number
        return {
            "status": self.status,
            "reason": self.reason,
            "calibration": self.calibration,
            "shift": None if self.shift is None else asdict(self.shift),
            "confident_errors": self.confident_errors,
            "better_method": None if better is None else better.method.name,
            "better_n_features": None if number_ is None else number_.number.n_features,
            "suggestions": [suggestion.what for suggestion in self.suggestions],
            "caution": self.caution,
            "headline": self.headline,
            "confident_text": self.confident_text,
            "calibration_text": self.calibration_text,
            "advice": self.advice,
            "correction_text": self.correction_text,
        }

    def __str__(self) -> str:
        return "\n\n".join(part for part in (self.caution, self.figures()) if part)

    def figures(self) -> str:
        """Return the verdict in figures, without the caution."""
        parts = (
            *(self.headline, self.confident_text, self.calibration_text),
            *(self.advice, self.correction_text),
        )
        return "\n\n".join(part for part in parts if part)


# --------------------------------------------------------------------------------------------------
# The decision
#
# A method is named where its log score on the same held-out cases is better by a size that matters
# and the interval of the difference excludes 0; where it does not, only if the size is larger, as
# one that may be better. The lead of the best of several is overstated, and the advice says so.
# --------------------------------------------------------------------------------------------------


def judge(
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
    dependence: str | None = None,
    generative: bool = True,
    mixture: Summary | None = None,
    cut: bool = False,
    measurements: bool = False,
    compared: bool = True,
    average: str | None = None,
    doubts: tuple[str, ...] = (),
    conditions: tuple[str, ...] = (),
) -> Verdict:
    """Decide about the model in use.

    Parameters
    ----------
    labels : tuple of str
        The classes.
    uncorrected, corrected, recalibrated : Judged
        Without the correction; with it; with it and the slope. The first is None for a model
        without a correction, and the second is then that model. Beside an average of models the
        first is naive Bayes.
    others : tuple of Other
        All methods that the model in use was compared with.
    numbers : tuple of OtherNumber
        Other numbers of features, where they were tried.
    n_repeats, n_features, n_kept : int
        Predictions of each case; features of the table, and of the model.
    recalibrate : bool, default=True
        Whether the model in use is the recalibrated one.
    dependence : str, optional
        The part of the model that explains dependence between features; None for naive Bayes.
    generative : bool, default=True
        Whether the model describes how features are distributed in each class.
    mixture : Summary, optional
        Of the two-component mixture, where it was compared.
    cut : bool, default=False
        Whether the mixture had measurements cut at their median, the model in use uncut ones.
    measurements : bool, default=False
        Whether all features are measurements, so that the factor model could take them too.
    compared : bool, default=True
        Whether baselines are among the others.
    average : str, optional
        Title of the model in use, where it is an average of models.
    doubts : tuple of str
        What in the table may make the results worthless, one sentence each.
    conditions : tuple of str
        On what the results depend, such as a copy of the class that the user keeps.
    """
    has_slope = recalibrate and recalibrated is not None
    used = recalibrated if has_slope and recalibrated is not None else corrected
    summary = used.summary
    offered = [other for other in others if other.name not in NOT_OFFERED]
    guess = next((other for other in others if other.name == FREQUENCIES), None)
    calibration = judge_calibration(summary)
    better = _better_method(offered, summary, n_features)
    suggestions = _better_mixture(others, better, cut)
    if calibration not in NO_SIGNAL:
        without_slope = None if has_slope or recalibrated is None else recalibrated.summary
        suggestions += _remedies(calibration, without_slope, mixture, dependence, measurements)
    status, reason = _status(calibration, better, guess, summary, bool(doubts), bool(conditions))
    return Verdict(
        status=status,
        reason=reason,
        calibration=calibration,
        shift=find_shift(summary, labels),
        confident_errors=judge_confident(used.confident),
        better=better,
        better_number=_better_number(numbers),
        suggestions=tuple(suggestions),
        cautions=doubts,
        conditions=conditions,
        evidence=Evidence(
            labels=labels,
            used=used,
            uncorrected=uncorrected,
            corrected=corrected,
            recalibrated=recalibrated if has_slope else None,
            guess_error=None if guess is None else guess.actual_error,
            n_repeats=n_repeats,
            n_features=n_features,
            n_kept=n_kept,
            n_others=len(offered),
            compared=compared,
            average=average,
            dependence=dependence,
            generative=generative,
        ),
    )


def judge_calibration(summary: Summary) -> Calibration:
    """Judge the probabilities of a model by its AUC and its calibration slope."""
    if not summary.auc.interval[0] > CHANCE:
        # Where all cases have the same probability, more of them would not help.
        constant = summary.auc.value == CHANCE and summary.auc.standard_error == 0
        return "no signal" if constant or summary.auc.interval[1] <= A_GOOD_AUC else "cannot tell"
    return judge_slope(summary.calibration)


def judge_slope(fit: CalibrationFit) -> Calibration:
    """Judge the probabilities of a model that has a signal."""
    low, high = fit.slope_interval
    if not low <= high:  # a slope that the data do not determine
        return "too few cases"
    if high < 1:
        return "overconfident"
    if low > 1:
        return "underconfident"
    if _is_shifted(fit):
        return "shifted"
    return "calibrated" if low >= TWICE_TOO_LARGE else "too few cases"


def _is_shifted(fit: CalibrationFit) -> bool:
    """Whether a class is predicted more or less often than it is observed, beyond chance.

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


def find_shift(summary: Summary, labels: tuple[str, ...]) -> Shift | None:
    """Return the class whose probabilities are too high or too low on average, where one is."""
    if not _is_shifted(summary.calibration):
        return None
    if not isinstance(summary.mean_probability, tuple):
        counts = class_counts(summary)
        return Shift("", summary.mean_probability, counts[1] / summary.n_cases)
    predicted = summary.mean_probability
    observed = [size / summary.n_cases for size in class_counts(summary)]
    # In units of what chance alone does to a share.
    index = max(
        range(len(predicted)),
        key=lambda c: (
            abs(predicted[c] - observed[c])
            / math.sqrt(max(observed[c] * (1 - observed[c]), 1 / summary.n_cases**2))
        ),
    )
    return Shift(labels[index], predicted[index], observed[index])


def judge_confident(confident: ConfidentPredictions) -> ConfidentErrors:
    """Compare the errors among confident predictions with those expected."""
    if confident.n_confident == 0:
        return "none confident"
    if confident.broken:
        return "more than expected"
    return "fewer" if confident.wrong.interval[1] < confident.implied else "as expected"


def class_counts(summary: Summary) -> tuple[int, ...]:
    """Return the cases of each class."""
    if isinstance(summary.n_positive, tuple):
        return summary.n_positive
    return (summary.n_cases - summary.n_positive, summary.n_positive)


def _is_clear(difference: Estimate) -> bool:
    """Whether a log score is better by a size that matters, beyond the interval."""
    return -difference.value >= MATTERS and difference.interval[1] < 0


def _is_large(difference: Estimate) -> bool:
    """Whether a log score is better by so much that it is named though the cases cannot tell."""
    return -difference.value >= LARGE


def _better_method(offered: Sequence[Other], used: Summary, n_features: int) -> Better | None:
    """Return the method to name: a clear one before one that may be better, then by size.

    Where cases outnumber features, a logistic regression that is clearly better, in log score or
    in errors, is preferred to a method that is better than it by less than matters.
    """
    many = used.n_cases > n_features
    clear = [other for other in offered if _is_clear(other.difference)]
    plain = [o for o in offered if many and o.is_logistic and _is_plainly_better(o, used)]
    named = clear or plain
    if not named:
        named = [o for o in offered if _is_large(o.difference) and o.name != FREQUENCIES]
    best = max(named, key=lambda other: other.gain, default=None)
    simple = max(plain, key=lambda other: other.gain, default=None)
    if best is not None and simple is not None and best.gain - simple.gain < MATTERS:
        best = simple
    if best is None:
        return None
    return Better(
        method=best,
        is_clear=best in clear or best in plain,
        is_simpler=many and best.is_logistic,
        has_fewer_errors=used.actual_error.value - best.actual_error >= FEWER_ERRORS,
    )


def _is_plainly_better(other: Other, used: Summary) -> bool:
    """Whether a logistic regression has the better log score, or clearly fewer errors."""
    fewer = used.actual_error.value - other.actual_error
    return _is_clear(other.difference) or (
        other.gain > 0
        and fewer >= FEWER_ERRORS
        and other.actual_error < used.actual_error.interval[0]
    )


def _better_number(numbers: Sequence[OtherNumber]) -> BetterNumber | None:
    clear = [one for one in numbers if _is_clear(one.difference)]
    named = clear or [one for one in numbers if _is_large(one.difference)]
    if not named:
        return None
    best = min(named, key=lambda one: one.difference.value)
    return BetterNumber(best, bool(clear), len(numbers))


def _better_mixture(others: Sequence[Other], better: Better | None, cut: bool) -> list[Suggestion]:
    """Suggest the mixture where hidden groups of cases explain features better than the class."""
    return [
        Suggestion(
            what="cut or groups" if cut else "hidden groups",
            gain=None if better is not None and better.method is other else other.gain,
        )
        for other in others
        if other.name == MIXTURE and _is_clear(other.difference)
    ]


def _remedies(
    calibration: Calibration,
    with_slope: Summary | None,
    mixture: Summary | None,
    dependence: str | None,
    measurements: bool,
) -> list[Suggestion]:
    """Suggest what may help against miscalibration."""
    if with_slope is not None and calibration in ("overconfident", "underconfident"):
        return [Suggestion(what="recalibration", summary=with_slope)]
    if calibration != "overconfident":
        return []
    result = []
    low, high = (math.inf, 0.0) if mixture is None else mixture.calibration.slope_interval
    if low <= 1 <= high:
        result.append(Suggestion(what="mixture", summary=mixture))
    elif dependence is None:
        result.append(Suggestion(what="dependence"))
    if measurements and dependence is None:
        result.append(Suggestion(what="factors"))
    return result


def _status(
    calibration: Calibration,
    better: Better | None,
    guess: Other | None,
    used: Summary,
    doubtful: bool,
    conditional: bool,
) -> tuple[Status, Reason]:
    """Decide whether the model can be used, by the first objection."""
    if doubtful:
        return "cannot tell", "doubtful table"
    if calibration == "no signal":
        return "not usable", "no signal"
    if calibration == "cannot tell":
        return "cannot tell", "too few cases for a signal"
    if better is not None and better.method.name == FREQUENCIES:
        return "not usable", "class frequencies are better"
    if conditional:
        return "with care", "holds under a condition"
    if better is not None:
        # The model still predicts: the advice names the method to prefer.
        clear = better.is_clear
        return "with care", "another method is better" if clear else "another method may be better"
    if guess is not None and (
        guess.difference.interval[0] <= 0 and guess.actual_error <= used.actual_error.interval[1]
    ):
        return "with care", "may be no better than guessing"
    if calibration in ("overconfident", "shifted"):
        return "with care", "single probabilities are off"
    if calibration == "too few cases":
        return "with care", "too few cases for calibration"
    return "usable", ""


# --------------------------------------------------------------------------------------------------
# In short: two or three sentences for a reader without statistics
# --------------------------------------------------------------------------------------------------


def describe_in_short(verdict: Verdict) -> list[str]:
    """Return the errors, the calibration and the advice, a sentence each."""
    if verdict.caution:
        return [
            verdict.caution,
            _short_errors(verdict.evidence),
            "Do not use it until this is resolved.",
        ]
    if not verdict.has_signal:
        return [_short_errors(verdict.evidence), _short_no_signal(verdict)]
    return [
        *(f"{text[0].upper()}{text[1:]}." for text in verdict.conditions[:MOST_CAUTIONS]),
        _short_errors(verdict.evidence) + _short_ranking(verdict.evidence),
        _short_calibration(verdict),
        _short_advice(verdict),
    ]


def of_100(share: float) -> str:
    """Return a share as a number of cases, of a hundred.

    >>> of_100(0.292), of_100(0.001), of_100(0.0), of_100(1.0)
    ('about 29', 'fewer than 1', 'none', 'all')
    """
    if share in (0, 1):
        return "all" if share else "none"
    if share < 0.005:
        return "fewer than 1"
    return "more than 99" if share > 0.995 else f"about {100 * share:.0f}"


def _short_errors(evidence: Evidence) -> str:
    summary = evidence.used.summary
    text = (
        f"Of 100 held-out cases, this model expected to misclassify "
        f"{of_100(summary.expected_error)} and misclassified {of_100(summary.actual_error.value)}"
    )
    if evidence.guess_error is None:
        return f"{text}."
    most = "more" if len(evidence.labels) == 2 else "most"
    rate = of_100(evidence.guess_error)
    return f"{text}. Always predicting the {most} frequent class would misclassify {rate}."


def _short_ranking(evidence: Evidence) -> str:
    """Return that labels are no better than a guess although probabilities separate the classes.

    Where a class is rare, hardly any case has it as its most probable class. The model may still
    rank cases well.
    """
    summary, guess = evidence.used.summary, evidence.guess_error
    gains = guess is None or summary.actual_error.value < guess - max(FEWER_ERRORS, guess / 10)
    if gains or summary.auc.interval[0] <= CHANCE:
        return ""
    return (
        f" So its most probable class is of little use, but its probabilities separate the classes "
        f"(AUC {number(summary.auc.value)}): act on a threshold that suits the costs."
    )


def _short_no_signal(verdict: Verdict) -> str:
    evidence = verdict.evidence
    n, labels = evidence.used.summary.n_cases, evidence.labels
    which = " and ".join(labels) if len(labels) == 2 else "the classes"
    what = "more cases or other columns are needed"
    if verdict.better is not None and verdict.better.method.name != FREQUENCIES:
        did = "did better" if verdict.better.is_clear else "may have done better"
        what = f"{verdict.better.method.name} {did} on the same cases"
    if verdict.calibration == "cannot tell":
        return (
            f"{n:,} cases are too few to show whether it separates {which}. Do not use it: {what}."
        )
    return f"It does not separate {which} on these {n:,} cases. Do not use it: {what}."


def _short_calibration(verdict: Verdict) -> str:
    summary = verdict.evidence.used.summary
    n = summary.n_cases
    match verdict.calibration:
        case "overconfident":
            return f"Its probabilities are overconfident{_example(summary.calibration)}."
        case "underconfident":
            return f"Its probabilities are underconfident{_example(summary.calibration)}."
        case "shifted":
            return f"Its {describe_shift(verdict.shift)}."
        case "calibrated":
            text = f"Its probabilities agree with what was observed, as far as {n:,} cases can show"
        case _:
            text = f"{n:,} cases are too few to show whether its probabilities are calibrated"
    if verdict.confident_errors == "more than expected":
        return f"{text}; but where it was almost certain, it was wrong more often than expected."
    return f"{text}."


def _example(fit: CalibrationFit, proba: float = 0.9) -> str:
    """Give the recalibrated value of a probability, where there is one line for it."""
    if isinstance(fit.intercept, tuple) or not math.isfinite(fit.slope + fit.intercept):
        return ""
    recalibrated = float(expit(fit.intercept + fit.slope * logit(proba)))
    return f": where it predicts {proba:.0%}, about {recalibrated:.0%} would agree with the data"


def _short_advice(verdict: Verdict) -> str:
    better = verdict.better
    if better is not None:
        if verdict.reason == "class frequencies are better":
            return "Do not use it: the class frequencies alone have the better log score."
        if better.is_clear:
            return f"Use {better.method.title} instead, which did better on the same cases."
        what = (
            "prefer that method"
            if _is_broken(verdict)
            else "until there are more cases, either can be used"
        )
        return (
            f"On the same cases {better.method.title} did better, but that may be chance: {what}."
        )
    match verdict.reason:
        case "holds under a condition":
            text = "If that holds, it can be used for new cases from the same population"
        case "may be no better than guessing":
            text = "Use it with care: it is not certain that it does better than guessing"
        case "single probabilities are off":
            text = "Use it to rank cases, but do not rely on single probabilities"
        case "too few cases for calibration":
            text = "Use it with care, and evaluate it again when there are more cases"
        case _:
            text = "It can be used for new cases from the same population"
    tried = "" if verdict.evidence.compared else "; baselines were not run"
    return f"{text}{tried}."


def _is_broken(verdict: Verdict) -> bool:
    """Whether the probabilities did not hold, by any of the judgements."""
    return verdict.confident_errors == "more than expected" or verdict.calibration in (
        "overconfident",
        "shifted",
    )


# --------------------------------------------------------------------------------------------------
# In figures
# --------------------------------------------------------------------------------------------------


NOT_COMPARED = (
    "Baselines were not run on these folds, so it is not known whether one of them is better."
)

_TRY_FACTORS = (
    "For correlated continuous features, try --model factors: it is slower, and on expression "
    "data its calibration slopes were nearer 1 before recalibration, but not always after it."
)

_WITH_CARE: dict[Reason, str] = {
    "may be no better than guessing": ", with care: it is not certain that it does better than "
    "guessing",
    "single probabilities are off": " to rank cases, and do not rely on single probabilities",
    "too few cases for calibration": ", with care, and evaluate it again when there are more cases",
}


def describe_headline(verdict: Verdict) -> str:
    """Return the error rates and the AUC, or that nothing can be predicted."""
    evidence, summary = verdict.evidence, verdict.evidence.used.summary
    auc = f"{number(summary.auc.value)} ({interval(summary.auc.interval)})"
    if verdict.calibration == "cannot tell":
        rarest = min(class_counts(summary))
        return (
            "There are too few cases to show whether this model predicts anything "
            f"({summary.n_cases:,}, {rarest:,} of the rarest class). The AUC is {auc}; the "
            f"interval includes chance ({number(CHANCE)}) and a good model."
        )
    if verdict.calibration == "no signal":
        better = verdict.better
        elsewhere = better is not None and better.is_clear and better.method.name != FREQUENCIES
        which = (
            "This model can predict nothing from these features"
            if elsewhere
            else "Nothing can be predicted from these features"
        )
        return (
            f"{which}, as far as {summary.n_cases:,} cases can show: the AUC is {auc}, and "
            f"{number(CHANCE)} is chance."
        )
    steps = {
        "corrected": evidence.uncorrected is not None,
        "recalibrated": evidence.recalibrated is not None,
    }
    done = " and ".join(step for step, is_done in steps.items() if is_done)
    name = evidence.average or (f"{done} model" if done else "model")
    pairs = " over pairs of classes" if isinstance(summary.n_positive, tuple) else ""
    return (
        f"The {name} expected an error rate of {percent(summary.expected_error)}; the observed "
        f"error rate was {percent_with_interval(summary.actual_error)}. AUC{pairs}: {auc}."
    )


def describe_confident(
    where: str, confident: ConfidentPredictions, errors: ConfidentErrors, n_repeats: int
) -> str:
    """Return how many predictions were confident, and how many of them were wrong."""
    sure = percent(confident.at_least)
    if errors == "none confident":
        return (
            f"{where}, the model predicted a class with {sure} or more for none of the "
            f"{confident.n_cases:,} cases."
        )
    average = f" (average of {n_repeats} repeats)" if n_repeats > 1 else ""
    end = {
        "more than expected": "That is more than expected.",
        "fewer": "That is less than expected.",
        "as expected": "The interval includes the expected rate.",
    }
    return (
        f"{where}, the model predicted a class with {sure} or more for "
        f"{count(confident.n_confident)} of {confident.n_cases:,} cases{average}. It expected "
        f"{count_small(confident.n_implied)} of them to be wrong ({percent(confident.implied)}); "
        f"{count_small(confident.n_wrong)} {'was' if confident.n_wrong == 1 else 'were'}: "
        f"{percent_with_interval(confident.wrong)}. {end[errors]}"
    )


def describe_shift(shift: Shift | None) -> str:
    """Return that probabilities are too high or too low on average, as part of a sentence."""
    if shift is None:
        return ""
    whose = f" of {shift.label}" if shift.label else ""
    return (
        f"probabilities{whose} are too {'high' if shift.predicted > shift.observed else 'low'} on "
        f"average, {percent(shift.predicted)} predicted where {percent(shift.observed)} was "
        "observed"
    )


def describe_slope(fit: CalibrationFit) -> str:
    """Return a calibration slope with its interval, as part of a sentence."""
    low, high = fit.slope_interval
    # Two decimals could show an interval beside 1 as one that ends there.
    digits = 3 if "1.00" in (number(low), number(high)) else 2
    return f"calibration slope {number(fit.slope)} ({interval((low, high), digits)})"


def describe_calibration(verdict: Verdict) -> str:
    """Return the calibration verdict, with the slope."""
    evidence = verdict.evidence
    if verdict.has_signal:
        text = _judgement_text(
            verdict.calibration,
            verdict.shift,
            evidence.used.summary.calibration,
            evidence.dependence,
            evidence.generative,
        )
        return f"Calibration: {text}"
    if evidence.n_kept == 0:
        return (
            "Calibration: no features were selected, so the model predicts the class frequencies."
        )
    summary = evidence.used.summary
    return (
        "Calibration: without a signal there is nothing to judge. The model in use expected an "
        f"error rate of {percent(summary.expected_error)}; the observed error rate was "
        f"{percent_with_interval(summary.actual_error)}."
    )


def _judgement_text(
    calibration: Calibration,
    shift: Shift | None,
    fit: CalibrationFit,
    dependence: str | None,
    generative: bool,
) -> str:
    slope = f"{describe_slope(fit)}; 1 is well calibrated, below 1 is overconfident"
    also = f" Also, {describe_shift(shift)}." if shift is not None else ""
    match calibration:
        case "shifted":
            return f"{describe_shift(shift)}; {slope}."
        case "overconfident":
            still = "still overconfident" if generative else "overconfident"
            cause = "the class depends on the columns in other ways than the model assumes"
            if generative:
                how = ", and naive Bayes counts shared evidence more than once"
                if dependence is not None:
                    how = f" beyond what is explained by {dependence}"
                cause = f"features depend on each other{how}"
            return f"{still}, most likely because {cause}: {slope}.{also}"
        case "underconfident":
            return f"underconfident: {slope}.{also}"
        case "calibrated":
            return f"no sign of overconfidence ({slope})."
        case _:
            return (
                f"too few cases to judge ({slope}): the interval includes both 1 and log-odds "
                "twice "
                "as large as they should be."
            )


def describe_advice(verdict: Verdict) -> str:
    """Return the advice."""
    if verdict.cautions:  # no advice about models is worth following before these are settled
        return "Advice: resolve the doubts about the table first; do not use this model until then."
    evidence = verdict.evidence
    what = [text for text in (_method_text(verdict), *_mixture_texts(verdict)) if text]
    if verdict.better_number is not None:
        what.append(_number_text(verdict.better_number))
    not_compared = [] if evidence.compared else [NOT_COMPARED]
    if not verdict.has_signal:
        end = "do not act on these probabilities; more cases or other features are needed."
        if what:
            end = " ".join([*what, "Do not act on the probabilities of this model."])
        return " ".join([f"Advice: {end}", *not_compared])
    if not what and evidence.compared and evidence.n_others:
        what = [_no_better_text(evidence.n_others, verdict.reason)]
    what += _calibration_advice(verdict)
    return " ".join([*([f"Advice: {' '.join(what)}"] if what else []), *not_compared])


def _method_text(verdict: Verdict) -> str:
    """Return which other method to use, or which may be better, and by how much."""
    better, evidence = verdict.better, verdict.evidence
    if better is None:
        return ""
    other, used, n_others = better.method, evidence.used.summary, evidence.n_others
    low, high = other.difference.interval
    by = f"{number(other.gain, 3)} ({interval((-high, -low), 3)})"
    luck = (
        f"it was the best of {n_others}, so its lead is probably overstated" if n_others > 1 else ""
    )
    if not better.is_clear:
        doubt = "until there are more cases, either can be used"
        if not verdict.has_signal:
            doubt = "use neither until there are more cases"
        elif _is_broken(verdict):
            doubt = "but this model was not calibrated, so prefer the other"
        return (
            f"{other.title} may be better: its log score is better by {by}. These cases cannot "
            f"settle that{f', and {luck}' if luck else ''}; {doubt}."
        )
    errors = ""
    if better.has_fewer_errors:
        errors = (
            f", with {percent(other.actual_error)} errors where this model had "
            f"{percent(used.actual_error.value)}"
        )
    tail = f" {luck[0].upper()}{luck[1:]}." if luck else ""
    scores = f"log score is better by {by}{errors}.{tail}"
    if better.is_simpler:
        return (
            f"use a logistic regression: there are more cases ({used.n_cases:,}) than features "
            f"({evidence.n_features:,}), and on the same folds the {other.name}'s {scores}"
        )
    return f"use {other.title} rather than this model: on the same folds its {scores}"


def _mixture_texts(verdict: Verdict) -> list[str]:
    texts = []
    for suggestion in verdict.suggestions:
        by = "" if suggestion.gain is None else f"log score better by {number(suggestion.gain, 3)}"
        by = f" ({by})" if by else ""
        if suggestion.what == "cut or groups":
            texts.append(
                f"The mixture{by} cuts continuous features at their median: --model binary shows "
                "whether the cut or the hidden groups help, and --model mixture uses both."
            )
        elif suggestion.what == "hidden groups":
            texts.append(
                "Two hidden groups of cases explain these features better than the class "
                f"alone{by}. Use --model mixture to model them."
            )
    return texts


def _number_text(better: BetterNumber) -> str:
    best = better.number
    low, high = best.difference.interval
    text = (
        f"{best.n_features:,} feature{'' if best.n_features == 1 else 's'} "
        f"{'do' if better.is_clear else 'may do'} better with this model than the number in use, "
        f"by {number(-best.difference.value, 3)} ({interval((-high, -low), 3)}) in log score: "
        f"--features {best.n_features}."
    )
    if better.n_compared > 1:
        text = (
            f"{text} It was the best of {better.n_compared} numbers, so its lead is probably "
            "overstated."
        )
    return text if better.is_clear else f"{text} These cases cannot settle it."


def _no_better_text(n_others: int, reason: Reason) -> str:
    none = f"none of the {n_others} other methods" if n_others > 1 else "no other method"
    return (
        f"use this model{_WITH_CARE.get(reason, '')}; {none} was clearly better by {MATTERS} or "
        "more in log score."
    )


def _calibration_advice(verdict: Verdict) -> list[str]:
    texts = {suggestion.what: _remedy_text(suggestion) for suggestion in verdict.suggestions}
    if "recalibration" in texts:
        return [texts["recalibration"]]
    if verdict.calibration == "overconfident":
        remedies = [texts[what] for what in ("mixture", "dependence", "factors") if what in texts]
        return ["This model's probabilities are overconfident.", *remedies]
    if verdict.calibration == "underconfident":
        return ["This model's probabilities are underconfident: they could be nearer to 0 and 1."]
    return []


def _remedy_text(suggestion: Suggestion) -> str:
    summary = suggestion.summary
    if suggestion.what == "factors":
        return _TRY_FACTORS
    if summary is None:
        return "A model of the dependence between features is needed."
    if suggestion.what == "recalibration":
        return (
            f"With recalibration: {describe_slope(summary.calibration)}. Leave out "
            "--no-recalibrate to use it."
        )
    fit = summary.calibration
    return (
        "The two-component mixture, which models hidden groups of cases, has a slope of "
        f"{number(fit.slope)} ({interval(fit.slope_interval)}) and a log score of "
        f"{number(summary.log_score.value, 3)}: see --model mixture."
    )


def describe_correction(verdict: Verdict) -> str:
    """Summarize the effect of the correction and the slope."""
    evidence = verdict.evidence
    corrected = number(evidence.corrected.summary.calibration.slope)
    last = None
    if evidence.recalibrated is not None:
        last = number(evidence.recalibrated.summary.calibration.slope)
    if evidence.uncorrected is None:
        if not verdict.has_signal or last is None:
            return ""
        return f"The calibration slope was {corrected} before recalibration and is {last} after it."
    before = evidence.uncorrected.confident
    who = "Without the correction the model"
    if evidence.average is not None:
        who = "Naive Bayes on the features that correlate best, not corrected for their selection,"
    sure = percent(before.at_least)
    text = (
        f"{who} predicted a class with {sure} or more for {count(before.n_confident)} cases, "
        f"expected {count_small(before.n_implied)} of them to be wrong, and "
        f"{count_small(before.n_wrong)} {'was' if before.n_wrong == 1 else 'were'}"
    )
    if before.n_confident == 0:
        text = f"{who} predicted a class with {sure} or more for no cases"
    if not verdict.has_signal:  # a slope of no signal means nothing
        return f"{text}."
    slope = number(evidence.uncorrected.summary.calibration.slope)
    text = f"{text}; its calibration slope was {slope}"
    if evidence.average is not None:
        return f"{text}; that of the {evidence.average} is {corrected}."
    if last is None:
        return f"{text}; with the correction, as in use, it is {corrected}."
    return (
        f"{text}; with the correction alone it is {corrected}, with correction and recalibration, "
        f"as in use, {last}."
    )


# --------------------------------------------------------------------------------------------------
# A model on another table
# --------------------------------------------------------------------------------------------------


def describe_external(
    summary: Summary,
    confident: ConfidentPredictions,
    labels: tuple[str, ...],
    dependence: str | None = None,
    generative: bool = True,
) -> str:
    """Describe the performance and calibration of a model on new cases."""
    lines = [describe_confident("On this table", confident, judge_confident(confident), 1)]
    if sum(size > 0 for size in class_counts(summary)) > 1:
        fit, shift = summary.calibration, find_shift(summary, labels)
        text = _judgement_text(judge_slope(fit), shift, fit, dependence, generative)
        lines.append(f"{text[0].upper()}{text[1:]}")
        if shift is not None:
            lines.append(
                "If the class is more or less frequent here than in training, --prevalence adjusts "
                "the probabilities."
            )
    return "\n".join(lines)
