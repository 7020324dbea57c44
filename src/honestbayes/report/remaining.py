"""What remains in a model: too sure, too careful, shifted, or honest as far as the cases tell."""

from __future__ import annotations

import math
from typing import Literal

from scipy.special import ndtri

from honestbayes.metrics import CalibrationFit, Summary
from honestbayes.report.wording import percent, slope_in_words

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
