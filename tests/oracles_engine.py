"""P(S) by going through every table of counts in rational arithmetic. No package code."""

import math
from fractions import Fraction

import numpy as np
from oracles_categorical import all_tables, marginal


def chi_square(table):
    """Pearson's chi-square of a class by level table, exactly."""
    rows = [sum(row) for row in table]
    columns = [sum(column) for column in zip(*table, strict=True)]
    n = sum(rows)
    total = Fraction(0)
    for row, r in zip(table, rows, strict=True):
        for count, c in zip(row, columns, strict=True):
            if r and c:
                expected = Fraction(r * c, n)
                total += (count - expected) ** 2 / expected
    return total


def mutual_information(table):
    """Mutual information in nats, rounded so that equal ones are equal."""
    rows = [sum(row) for row in table]
    columns = [sum(column) for column in zip(*table, strict=True)]
    n = sum(rows)
    total = math.fsum(
        count / n * math.log(count * n / (r * c))
        for row, r in zip(table, rows, strict=True)
        for count, c in zip(row, columns, strict=True)
        if count
    )
    return round(total, 12)


def strengths_and_probabilities(statistic, sizes, levels, alpha):
    """The strength of every table, and its probability given alpha (theta uniform)."""
    tables, ways = all_tables(sizes, levels)
    tables = tables.tolist()
    strengths = [statistic(table) for table in tables]
    probability = [
        int(number) * marginal(table, Fraction(alpha))
        for table, number in zip(tables, ways, strict=True)
    ]
    return strengths, probability


def log_prob_known_ties(statistic, sizes, levels, alpha, bound, n_discarded, n_tied):
    """Log P(S): n_tied of the discarded features at the bound, the others below it."""
    strengths, probability = strengths_and_probabilities(statistic, sizes, levels, alpha)
    pairs = list(zip(strengths, probability, strict=True))
    below = sum(p for s, p in pairs if s < bound)
    tied = sum(p for s, p in pairs if s == bound)
    total = (n_discarded - n_tied) * np.log(float(below))
    return total + (n_tied * np.log(float(tied)) if n_tied else 0.0)
