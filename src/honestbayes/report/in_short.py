"""The verdict in two or three sentences, for a reader who knows nothing of statistics.

What the model expected and what was observed, whether its probabilities can be taken as they stand,
and whether to use it. The figures, with their intervals, are in the verdict itself.
"""

from __future__ import annotations

import math

from scipy.special import expit, logit

from honestbayes.evaluation.peers import FREQUENCIES
from honestbayes.metrics import CalibrationFit
from honestbayes.report import advice
from honestbayes.report.advice import Other
from honestbayes.report.judging import others_of
from honestbayes.report.record import Report
from honestbayes.report.remaining import NO_SIGNAL, shift_in_words


def in_short(report: Report) -> list[str]:
    """Return the verdict in two or three sentences."""
    if report.verdict.caution:
        return [report.verdict.caution, _errors(report), "Do not use it before this is decided."]
    if report.verdict.remaining in NO_SIGNAL:
        return [_errors(report), _without_signal(report)]
    return [_errors(report), _probabilities(report), _whether_to_use(report)]


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


def _errors(report: Report) -> str:
    """Say how many errors were expected and observed, and how many guessing would make."""
    summary = report.method(report.in_use).summary
    text = (
        "Of 100 cases that it had not seen, this model expected to name the wrong class for "
        f"{of_100(summary.expected_error)}, and did so for {of_100(summary.actual_error.value)}"
    )
    guess = _guess(report)
    if guess is None:
        return f"{text}."
    most = "more" if len(report.data.labels) == 2 else "most"
    rate = of_100(guess.actual_error)
    return f"{text}; always naming the {most} frequent class would be wrong for {rate}."


def _without_signal(report: Report) -> str:
    n, labels = report.data.n_cases, report.data.labels
    which = " and ".join(labels) if len(labels) == 2 else "the classes"
    best = _best_other(report)
    what = "more cases, or other columns, are needed"
    if best is not None and best.name != FREQUENCIES:
        used = report.method(report.in_use).summary
        surely = advice.is_preferred(best, used, report.data.n_features)
        found = "found" if surely else "may have found"
        what = f"{best.name} {found} more on the same cases"
    if report.verdict.remaining == "cannot tell":
        return (
            f"{n:,} cases are too few to tell whether it separates {which}: do not use it; {what}."
        )
    return f"As far as {n:,} cases can tell, it cannot tell {which} apart: do not use it; {what}."


def _probabilities(report: Report) -> str:
    """Say whether the probabilities can be taken as they stand."""
    method, n = report.method(report.in_use), report.data.n_cases
    fit = method.summary.calibration
    match report.verdict.remaining:
        case "overconfident":
            return f"Its probabilities are too sure{_example(fit)}."
        case "underconfident":
            return f"Its probabilities are too careful{_example(fit)}."
        case "shifted":
            shift = shift_in_words(method.summary, report.data.labels)
            return f"Its {shift}."
        case "honest":
            text = f"Its probabilities agree with what was observed, as far as {n:,} cases can tell"
        case _:
            text = f"{n:,} cases are too few to tell whether its probabilities are right"
    if method.claims.broken:
        return f"{text}; but where it was almost certain, it was wrong more often than it claimed."
    return f"{text}."


def _example(fit: CalibrationFit, said: float = 0.9) -> str:
    """Give what the fitted line makes of a probability, where there is one line for it."""
    if isinstance(fit.intercept, tuple) or not math.isfinite(fit.slope + fit.intercept):
        return ""
    found = float(expit(fit.intercept + fit.slope * logit(said)))
    return f": where it says {said:.0%}, about {found:.0%} fits what was observed"


def _whether_to_use(report: Report) -> str:
    best = _best_other(report)
    if best is not None:
        return _prefer(best, report)
    used = report.method(report.in_use).summary
    match advice.care_of(report.verdict.remaining, _others(report), used):
        case "may be a guess":
            text = "Use it with care: it is not certain that it does better than guessing"
        case "single probabilities":
            text = "Use it to rank cases, but do not take a single probability as it stands"
        case "few cases":
            text = "Use it with care, and judge it again when there are more cases"
        case _:
            text = "It can be used for new cases that come from where these came from"
    tried = "" if compared(report) else "; methods of other libraries were not tried"
    return f"{text}{tried}."


def _guess(report: Report) -> Other | None:
    """Return the class frequencies alone, where they were compared."""
    return next((o for o in _others(report) if o.name == FREQUENCIES), None)


def _prefer(best: Other, report: Report) -> str:
    """Name the other method that the advice names."""
    if best.name == FREQUENCIES:
        return "Do not use it: the class frequencies alone have the better log score."
    used = report.method(report.in_use)
    if advice.is_preferred(best, used.summary, report.data.n_features):
        return f"Use {best.title} instead, which did better on the same cases."
    broken = used.claims.broken or report.verdict.remaining in ("overconfident", "shifted")
    what = "prefer that one" if broken else "until more cases tell, either can be used"
    return f"On the same cases {best.title} did better, but that may be chance: {what}."


def _others(report: Report) -> tuple[Other, ...]:
    return others_of(report.methods, report.settings["model"])


def _best_other(report: Report) -> Other | None:
    summary = report.method(report.in_use).summary
    return advice.best_other(_others(report), summary, report.data.n_features)


def compared(report: Report) -> bool:
    """Whether methods of others were run on the same folds."""
    return bool(report.settings["compare"]) and not report.settings["quick"]
