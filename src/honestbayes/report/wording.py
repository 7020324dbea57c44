"""Formatting of numbers for readers."""

from __future__ import annotations

import math

from honestbayes.metrics import Estimate


def percent(value: float) -> str:
    """Return a share as a percentage with the digits that matter.

    >>> percent(0.0724), percent(0.3), percent(0.0004), percent(0.0), percent(1.0)
    ('7.2%', '30%', '0.04%', '0%', '100%')
    """
    if math.isnan(value):
        return "–"
    points = 100 * value
    if points == 0 or abs(points) >= 99.95:
        return f"{points:.0f}%"
    if abs(points) < 0.01:
        return "below 0.01%"
    return f"{points:.2g}%" if abs(points) < 10 else f"{points:.0f}%"


def count(value: float) -> str:
    """Return a number of cases, with one decimal where it is an average.

    >>> count(29.0), count(29.75), count(12345.0)
    ('29', '29.8', '12,345')
    """
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"


def number(value: float, digits: int = 2) -> str:
    """Return a number with fixed digits, or the word for one that is not finite.

    >>> number(0.514), number(float("inf")), number(-0.001), number(float("nan"))
    ('0.51', 'infinite', '0.00', '–')
    """
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "infinite" if value > 0 else "minus infinite"
    return f"{value:z.{digits}f}"


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


def interval(bounds: tuple[float, float], digits: int = 2) -> str:
    """Return both bounds of an interval, with words for an infinite bound.

    >>> interval((0.5, 1.25)), interval((0.5, float("inf"))), interval((-float("inf"), 0.5))
    ('0.50 to 1.25', 'above 0.50', 'below 0.50')
    """
    low, high = bounds
    if math.isinf(low) and math.isinf(high):
        return "unknown"
    if math.isinf(high):
        return f"above {number(low, digits)}"
    if math.isinf(low):
        return f"below {number(high, digits)}"
    return f"{number(low, digits)} to {number(high, digits)}"


def with_interval(estimate: Estimate, digits: int = 3) -> str:
    """Return a value with its interval.

    >>> with_interval(Estimate(0.25, 0.1, (0.05, 0.45), 0.95), 2)
    '0.25 (0.05 to 0.45)'
    """
    return f"{number(estimate.value, digits)} ({interval(estimate.interval, digits)})"


def percent_with_interval(estimate: Estimate) -> str:
    """Return a share with its interval, in percent.

    >>> percent_with_interval(Estimate(0.072, 0.03, (0.019, 0.231), 0.95))
    '7.2% (1.9% to 23%)'
    """
    low, high = estimate.interval
    return f"{percent(estimate.value)} ({percent(low)} to {percent(high)})"
