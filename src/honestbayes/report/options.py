"""What the user asked a report for."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from honestbayes.models.cards import table_cards
from honestbayes.models.shared.card import Card

DEFAULT_FOLDS = 5

_REPEATS_BY_CELLS = ((1 << 18, 5), (1 << 21, 3), (1 << 24, 2))
"""Folds are drawn again as often as the size of the table, in cells, lets one wait for."""

MANY_CASES = 2000
"""With more cases than this one drawing of the folds is steady enough, and fits take seconds."""

PATH_UP_TO = 1 << 23
"""Cells of a table up to which the performance by number of features is found."""


def refuse_choice_of_number(card: Card) -> None:
    """Refuse to choose the number of features where chains would run for each number."""
    if card.sampled:
        msg = f"the {card.title} does not choose the number of features; give one."
        raise ValueError(msg)


def refuse_selection(card: Card) -> None:
    """Refuse a number of features, or a threshold, where nothing would correct for it."""
    if not card.selects:
        msg = (
            f"the {card.title} does not correct for a selection, and keeps all columns; leave "
            "columns out with --ignore, or use another model."
        )
        raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class Options:
    """How features are selected, how the result is evaluated, and where it will be used.

    Attributes
    ----------
    n_features : int, "all", "cv" or None
        How many features to keep, of each kind of column in the mixed model; None: 10, or all
        where there are fewer.
    threshold : float or None
        Instead, keep all features whose absolute correlation (or its equivalent) is above this
        bound.
    n_folds : int or "loo"
        Folds of the cross-validation, or one case (or group) at a time.
    n_repeats : int or None
        How often folds are drawn; None: by the size of the table, and once for "factors".
    prevalence : float, dict or None
        Share of the positive class where the model will be used; or of each class, by its label.
    recalibrate : bool
        Whether the model multiplies the evidence by a slope learned from held-out cases.
    path : bool or None
        Whether the performance by number of features is found; None: unless the table is large.
    compare : bool
        Whether methods of others, and the mixture, are run on the same folds: without them a
        report is made in half the time, and cannot say whether something else is better.
    seed : int
        Draws folds and breaks ties.
    n_jobs : int
        Folds at work at once.
    model : {"mixed", "binary", "mixture", "factors"}, or what another card says
        "mixed": numbers stay numbers, text columns are categories. "binary": numbers are cut at
        their median, and each level of a text column is a yes-or-no feature. "mixture": these
        features, explained by two hidden groups of cases; it has no slope. "factors": numbers
        that move together, by a few factors that all cases have; text columns are refused.
        "interactions": categories and flags, and what several of them together tell; measurements
        are refused, and all columns are kept.
    order : int, "cv" or None
        How many cells a pattern of the model with interactions has at most; "cv": chosen on
        held-out cases. None: the estimator's default.
    missing_as_level : bool
        Whether a missing cell is a level of its own, in the model with interactions.
    """

    n_features: int | Literal["all", "cv"] | None = None
    threshold: float | None = None
    n_folds: int | Literal["loo"] = DEFAULT_FOLDS
    n_repeats: int | None = None
    prevalence: float | dict[str, float] | None = None
    recalibrate: bool = True
    path: bool | None = None
    compare: bool = True
    seed: int = 0
    n_jobs: int = 1
    model: str = "mixed"
    order: int | Literal["cv"] | None = None
    missing_as_level: bool = False

    def __post_init__(self) -> None:
        """Refuse what means nothing before any work is done."""
        if isinstance(self.prevalence, float | int) and not 0 < self.prevalence < 1:
            msg = f"prevalence={self.prevalence} is not a share between 0 and 1."
            raise ValueError(msg)
        if self.n_features is not None and self.threshold is not None:
            msg = "give n_features or threshold, not both."
            raise ValueError(msg)
        if self.n_folds != "loo" and self.n_folds < 2:
            msg = f"n_folds={self.n_folds} is not 2 or more, or 'loo'."
            raise ValueError(msg)
        if self.model not in table_cards():
            *first, last = map(repr, table_cards())
            msg = f"model={self.model!r} is not {', '.join(first)} or {last}."
            raise ValueError(msg)
        if self.n_features == "cv":
            refuse_choice_of_number(self.card)
        if self.n_features not in (None, "all") or self.threshold is not None or self.path:
            refuse_selection(self.card)
        for word, option in {"order": "order", "missing": "missing_as_level"}.items():
            if word in self.own_words and word not in self.card.words:
                msg = f"{option} is not for the {self.model} model."
                raise ValueError(msg)

    @property
    def card(self) -> Card:
        """What is known of the model."""
        return table_cards()[self.model]

    @property
    def coded(self) -> bool:
        """Whether text columns stay columns, as codes of their levels."""
        return self.card.coded

    @property
    def number_to_keep(self) -> int | Literal["all", "cv"] | None:
        """How many features to keep: all, where the model selects none."""
        return self.n_features if self.card.selects else "all"

    @property
    def own_words(self) -> dict[str, Any]:
        """The constructor's parameters that not all models have, where they are given."""
        order = {} if self.order is None else {"order": self.order}
        return order | ({"missing": "level"} if self.missing_as_level else {})

    @property
    def uses_slope(self) -> bool:
        """Whether the model in use has a slope."""
        return self.recalibrate and self.card.has_slope

    def repeats(self, n_cases: int, n_cells: int) -> int:
        """Return how often the folds are drawn for a table of this size."""
        if self.n_folds == "loo":
            return 1
        if self.n_repeats is not None:
            return self.n_repeats
        if n_cases > MANY_CASES or self.card.drawn_once:
            return 1
        return next((times for cells, times in _REPEATS_BY_CELLS if n_cells <= cells), 1)

    def wants_path(self, n_cases: int, n_cells: int) -> bool:
        """Return whether the performance by number of features is found."""
        if self.path is not None:
            return self.path
        return not self.card.sampled and n_cases <= MANY_CASES and n_cells <= PATH_UP_TO

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; the number of processes changes nothing, and is left out."""
        result = asdict(self)
        result["recalibrate"] = self.uses_slope
        del result["n_jobs"]
        if not self.card.words:
            del result["order"], result["missing_as_level"]
        return result
