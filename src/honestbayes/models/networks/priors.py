"""Prior distributions of graphs, by their number of arcs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln

from honestbayes.files.entries import Entries, Plain
from honestbayes.files.fields import Known, plain_scalar
from honestbayes.models.shared.parameter_fields import Parameter
from honestbayes.types import FloatArray


@dataclass(frozen=True, slots=True)
class PriorField(Parameter):
    """A prior in files: a word, or a list of a word and a number."""

    def write(self, name: str, value: Any) -> Plain:
        """Return the word or the pair."""
        pair = isinstance(value, tuple | list)
        return {name: [plain_scalar(part) for part in value] if pair else value}, {}

    def read(self, entries: Entries, name: str, known: Known) -> Any:
        """Return the prior; refuse what is none."""
        del known
        value = entries.value(name)
        prior = tuple(value) if isinstance(value, list) else value
        try:
            check_prior(prior)
        except ValueError:
            entries.refuse(name, "is no prior of graphs")
        return prior


def most_arcs(k: int) -> int:
    """Return how many arcs a graph of k features and the class can have: one for each pair."""
    return k * (k + 1) // 2


def check_prior(prior: Any) -> None:
    """Refuse what is no prior."""
    if isinstance(prior, str) and prior in ("arcs", "uniform"):
        return
    if isinstance(prior, tuple | list) and len(prior) == 2 and prior[0] == "arcs":
        factor = prior[1]
        is_number = isinstance(factor, float | int | np.number) and not isinstance(factor, bool)
        if is_number and 0 < factor < math.inf:
            return
    msg = f"prior={prior!r} is not 'arcs', 'uniform', or ('arcs', factor) with a factor above 0."
    raise ValueError(msg)


def log_prior_of_arcs(prior: Any, k: int, n_columns: int) -> FloatArray:
    """Return the log prior of a graph with 0, 1, ... arcs, up to a constant.

    Parameters
    ----------
    prior : {"arcs", "uniform"} or ("arcs", factor)
        "arcs": the number of arcs m has probability proportional to 2^-m, and is shared by all
        ways to choose as many of the p (p + 1) arcs that p columns and the class could have;
        columns that were screened out count. So the more columns are looked at, the stronger the
        first arcs have to be, and where there are many already, more are expected.
        ("arcs", factor): each arc multiplies the probability by a factor. "uniform": every graph
        is as likely as any other.
    k : int
        Features.
    n_columns : int
        Columns of the table before screening.
    """
    check_prior(prior)
    arcs = np.arange(most_arcs(k) + 1)
    if isinstance(prior, str):
        if prior == "uniform":
            return np.zeros(arcs.size)
        whole = n_columns * (n_columns + 1)
        # Without 2^-m, with few cases, tables of many parents whose every combination has one case
        # would be taken for many weak arcs.
        ways = gammaln(whole + 1) - gammaln(arcs + 1) - gammaln(whole - arcs + 1)
        return np.asarray(-ways - arcs * math.log(2))
    return np.asarray(arcs * math.log(prior[1]))
