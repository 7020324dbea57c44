"""The verdict in plain words: what was claimed, what happened, and what remains.

Three parts. What the uncorrected model claimed with near certainty, and how often it was wrong; the
same for the corrected one; and whether what remains is consistent with honest probabilities. Before
these stands whether anything can be predicted at all.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from honestbayes.metrics import CalibrationFit, Claims, Estimate, Summary
from honestbayes.report.wording import count, interval, number, percent, percent_with_interval

Remaining = Literal["nothing", "honest", "overconfident", "underconfident", "too few cases"]

TWICE_TOO_SURE = 0.5
"""A calibration slope at which the log-odds are twice what they should be.

Where the interval of the slope holds both 1 and this, the cases cannot tell honest from twice too
sure, and the verdict says so.
"""

CHANCE = 0.5
"""AUC of a method that knows nothing."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One method's results, as far as the verdict looks at them."""

    summary: Summary
    claims: Claims


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the report says first.

    Attributes
    ----------
    headline : str
        The result in one or two sentences.
    uncorrected, corrected : str
        What each claimed with near certainty, and what happened.
    remaining : {"nothing", "honest", "overconfident", "underconfident", "too few cases"}
        What is left after the correction; "nothing": no signal was found.
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
    uncorrected: Judged,
    corrected: Judged,
    recalibrated: Judged,
    *,
    better: dict[str, Estimate],
    n_repeats: int,
    recalibrate: bool = True,
) -> Verdict:
    """Put the results of three methods into words.

    Parameters
    ----------
    uncorrected, corrected, recalibrated : Judged
        Without the correction; with it; with it and the slope.
    better : dict of name to Estimate
        Methods whose log score is surely better than that of the model in use, and by how much.
    n_repeats : int
        Predictions of each case.
    recalibrate : bool, default=True
        Whether the model in use is the recalibrated one.
    """
    used = recalibrated if recalibrate else corrected
    auc = used.summary.auc
    says_nothing = not auc.interval[0] > CHANCE
    remaining = "nothing" if says_nothing else _remaining(corrected.summary.calibration)
    return Verdict(
        headline=_nothing(used.summary) if says_nothing else _headline(used.summary, recalibrate),
        uncorrected=_claims_in_words("Without the correction", uncorrected.claims, n_repeats),
        corrected=_claims_in_words("With the correction", corrected.claims, n_repeats),
        remaining=remaining,
        remains=_remains(remaining, corrected.summary.calibration, used.summary),
        advice=_advice(remaining, recalibrated.summary.calibration, better, recalibrate),
    )


def claims_verdict(who: str, claims: Claims) -> str:
    """Say what one model claimed with near certainty, and what happened."""
    return _claims_in_words(who, claims, 1)


def slope_verdict(fit: CalibrationFit) -> str:
    """Say what a calibration slope means."""
    return _remains(_remaining(fit), fit, None)


def _headline(summary: Summary, recalibrate: bool) -> str:
    name = "corrected and recalibrated" if recalibrate else "corrected"
    return (
        f"The {name} model claims an error rate of {percent(summary.expected_error)}; "
        f"{percent_with_interval(summary.actual_error)} happened. "
        f"AUC {number(summary.auc.value)} ({interval(summary.auc.interval)})."
    )


def _nothing(summary: Summary) -> str:
    low, high = summary.auc.interval
    above = number(high)
    unlikely = f" An AUC above {above} is unlikely." if above != number(1.0) else ""
    return (
        f"Nothing can be predicted from these features, as far as {summary.n_cases:,} cases tell: "
        f"the AUC is {number(summary.auc.value)} ({number(low)} to {above}), and "
        f"{number(CHANCE)} is chance.{unlikely}"
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


def count_small(value: float) -> str:
    """Return a small number of cases: one decimal, two below 1.

    >>> count_small(0.0), count_small(0.137), count_small(2.0), count_small(12.34)
    ('none', '0.14', '2', '12.3')
    """
    if value == 0:
        return "none"
    if value < 1:
        return f"{value:.2f}"
    return count(value)


def _remaining(fit: CalibrationFit) -> Remaining:
    low, high = fit.slope_interval
    if not low <= high:  # a slope that the data do not determine
        return "too few cases"
    if high < 1:
        return "overconfident"
    if low > 1:
        return "underconfident"
    return "honest" if low >= TWICE_TOO_SURE else "too few cases"


def _slope_in_words(fit: CalibrationFit) -> str:
    return f"the calibration slope is {number(fit.slope)} ({interval(fit.slope_interval)})"


def _remains(remaining: Remaining, fit: CalibrationFit, used: Summary | None) -> str:
    slope = f"{_slope_in_words(fit)}; 1 is honest, less is too sure"
    if remaining == "nothing":
        return (
            "What remains: there is no signal to be honest about. The corrected model says so "
            "itself where its probabilities stay close to the class frequencies."
            + (
                ""
                if used is None
                else f" It claims an error rate of {percent(used.expected_error)}."
            )
        )
    if remaining == "overconfident":
        return (
            "What remains: still overconfident, because features depend on each other and naive "
            f"Bayes counts shared evidence more than once: {slope}."
        )
    if remaining == "underconfident":
        return f"What remains: too careful rather than too sure: {slope}."
    if remaining == "honest":
        return f"What remains: consistent with honest probabilities: {slope}."
    return (
        f"What remains: too few cases to tell: {slope}, and the interval leaves room for honest "
        "probabilities as well as for log-odds twice too large."
    )


def _advice(
    remaining: Remaining, after: CalibrationFit, better: dict[str, Estimate], recalibrate: bool
) -> str:
    sentences = []
    if remaining == "nothing":
        return (
            "Advice: do not act on these probabilities; more cases, or other features, are needed."
        )
    if remaining in ("overconfident", "underconfident"):
        state = f"With recalibration {_slope_in_words(after)}."
        if recalibrate:
            sentences.append(f"{state} The model and the predictions use it.")
        else:
            sentences.append(f"{state} Leave out --no-recalibrate to use it.")
        if after.slope_interval[1] < 1:
            sentences.append(
                "Even so it is too sure; a model that knows about dependence is needed."
            )
    elif recalibrate:
        sentences.append(f"With recalibration, which the model uses, {_slope_in_words(after)}.")
    for name, gain in better.items():
        sentences.append(
            f"{name} did better here: its log score is lower by {number(-gain.value, 3)} "
            f"({interval((-gain.interval[1], -gain.interval[0]), 3)})."
        )
    return "Advice: " + " ".join(sentences) if sentences else ""
