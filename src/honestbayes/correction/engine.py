"""P(S): the probability that the discarded features were discarded, for any model and criterion.

Exact where a formula exists or all tables of counts can be gone through, by simulation otherwise
(docs, "The probability of a selection").
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np

from honestbayes.correction.event import Event, HyperNodes, LogProbSelection
from honestbayes.correction.exact_selection import ExactLogProb, enumeration, formula
from honestbayes.correction.feature_models import FeatureModel, RealFeatures
from honestbayes.correction.simulated_selection import MAX_DRAWS, TOLERANCE, simulate
from honestbayes.selection import DiscardedGroup
from honestbayes.selection.criteria import Criterion, columns_of
from honestbayes.types import AnyArray, FloatArray, IntArray

# --------------------------------------------------------------------------------------------------
# Whether a user's criterion depends only on what it may depend on, tried on a few columns
# --------------------------------------------------------------------------------------------------


_TRIED = 5
_CLOSE = 1e-6


def check_invariance(model: FeatureModel, criterion: Criterion, group: DiscardedGroup) -> None:
    """Refuse a function that depends on the order of cases, or on the origin or unit of values.

    The probability that a column is discarded is free of a real-valued feature's origin and unit
    only if the criterion is.
    """
    if criterion.one_column is None:
        return
    generator = np.random.default_rng(0)
    sizes = np.array(group.observed, dtype=np.int64)
    if isinstance(model, RealFeatures):
        present = np.flatnonzero(sizes)
        columns: AnyArray = model.draw_columns(1.0, sizes[present], _TRIED, generator)
        codes: IntArray = np.repeat(present, sizes[present])
    else:
        atom = float(model.atoms(np.ones(1))[0])
        drawn = model.draw(atom, sizes, group.n_levels, _TRIED, generator)
        columns, codes = columns_of(drawn[:, 1:].astype(np.int64))
    strength = criterion.strengths(columns, codes)

    def same(changed: AnyArray, classes: IntArray) -> bool:
        return np.allclose(criterion.strengths(changed, classes), strength, rtol=_CLOSE, atol=1e-12)

    order = generator.permutation(codes.size)
    if not same(columns[:, order], codes[order]):
        msg = f"criterion={criterion.name!r} depends on the order of the cases, and must not."
        raise ValueError(msg)
    if isinstance(model, RealFeatures):
        for name, changed in (("origin", columns + 3.0), ("unit", 7.0 * columns)):
            if not same(changed, codes):
                msg = (
                    f"criterion={criterion.name!r} depends on the {name} of a feature's values, "
                    f"and features have no common {name}: make it a function of "
                    "(column - column.mean()) / column.std()."
                )
                raise ValueError(msg)


Method = Literal["auto", "exact", "simulation"]


class SelectionProbability(Protocol):
    """P(S) as a function of nodes; simulation uses the same draws at every call."""

    def at(self, nodes: HyperNodes) -> LogProbSelection:
        """Return log P(S) at nodes."""


@dataclass(frozen=True, slots=True)
class ExactSelection:
    """P(S) without simulation."""

    event: Event
    log_prob: ExactLogProb
    method: Literal["formula", "enumeration"]

    def at(self, nodes: HyperNodes) -> LogProbSelection:
        """Return log P(S) at nodes."""
        log_prob = self.log_prob(nodes)
        reference = int(np.argmax(nodes.log_posterior(log_prob)))
        return LogProbSelection(
            log_prob=log_prob,
            error=np.zeros(log_prob.size),
            reference=reference,
            max_error=0.0,
            method=self.method,
            n_draws=0,
            ties=self.event.ties,
        )


def log_prob_selection(
    model: FeatureModel,
    criterion: Criterion,
    event: Event,
    nodes: HyperNodes,
    *,
    method: Method = "auto",
    tolerance: float = TOLERANCE,
    max_draws: int = MAX_DRAWS,
    random_state: int | np.random.Generator = 0,
) -> LogProbSelection:
    """Return log P(S), the probability that the discarded features were discarded, and its error.

    Parameters
    ----------
    model : FeatureModel
        How columns arise: `BinaryFeatures`, `CategoricalFeatures` or `RealFeatures`.
    criterion : Criterion
        What features were selected by; see `honestbayes.selection.criteria.as_criterion`.
    event : Event
        The bound, and the numbers of discarded features.
    nodes : HyperNodes
        Where P(S) is wanted, and the posterior weights without it.
    method : {"auto", "exact", "simulation"}
        "auto" simulates only where nothing exact is known, "exact" refuses to.
    tolerance : float
        Standard error of differences of log P(S) from the node of largest posterior weight, at
        nodes whose weight is at least exp(-7) times the largest.
    max_draws : int
        Limit of draws, beyond which a ConvergenceWarning is raised instead.
    random_state : int or Generator
        Source of random numbers.

    Returns
    -------
    LogProbSelection

    Examples
    --------
    >>> from honestbayes.correction.event import Event, HyperNodes
    >>> from honestbayes.correction.feature_models import RealFeatures
    >>> from honestbayes.selection import DiscardedGroup
    >>> from honestbayes.selection.criteria import as_criterion
    >>> event = Event(12.0, (DiscardedGroup((15, 20), 990, n_levels=0),))
    >>> found = log_prob_selection(
    ...     RealFeatures(), as_criterion("f"), event, HyperNodes(np.array([0.0, 0.01, 0.1]))
    ... )
    >>> found.method, found.log_prob.round(2)
    ('formula', array([ -1.48,  -3.  , -43.73]))
    """
    return selection_probability(
        model,
        criterion,
        event,
        nodes,
        method=method,
        tolerance=tolerance,
        max_draws=max_draws,
        random_state=random_state,
    ).at(nodes)


def selection_probability(
    model: FeatureModel,
    criterion: Criterion,
    event: Event,
    nodes: HyperNodes,
    *,
    method: Method = "auto",
    tolerance: float = TOLERANCE,
    max_draws: int = MAX_DRAWS,
    random_state: int | np.random.Generator = 0,
) -> SelectionProbability:
    """Return P(S) as a function that can be asked at any nodes, for rules that refine themselves.

    The parameters are those of :func:`log_prob_selection`. Draws, where they are needed, are made
    here, for the nodes given here, whose atoms should span those that will be asked for.
    """
    if method not in ("auto", "exact", "simulation"):
        msg = f"method={method!r} is unknown. Use 'auto', 'exact' or 'simulation'."
        raise ValueError(msg)
    for group in event.groups:
        criterion.check(model.kind, len(group.observed), group.n_levels)
    event = replace(
        event,
        groups=tuple(
            group
            for group in event.groups
            if group.n_discarded and criterion.can_judge(model.kind, np.array(group.observed))
        ),
    )
    if not event.groups:
        return ExactSelection(event, _certain, "formula")
    check_invariance(model, criterion, max(event.groups, key=lambda group: sum(group.observed)))
    if method != "simulation":
        by_formula = formula(model, criterion, event)
        if by_formula is not None:
            return ExactSelection(event, by_formula, "formula")
        by_tables = enumeration(model, criterion, event)
        if by_tables is not None:
            return ExactSelection(event, by_tables, "enumeration")
        if method == "exact":
            msg = (
                f"P(S) has no exact form for criterion={criterion.name!r} and these features; "
                "use method='auto'."
            )
            raise ValueError(msg)
    return simulate(
        model,
        criterion,
        event,
        nodes,
        tolerance=tolerance,
        max_draws=max_draws,
        generator=np.random.default_rng(random_state),
    )


def _certain(nodes: HyperNodes) -> FloatArray:
    """Features that never win were discarded for certain."""
    return np.zeros(nodes.size)
