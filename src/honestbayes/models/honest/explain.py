"""What the columns of a table are worth to an average."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from honestbayes.models.honest.candidates import OFFERS
from honestbayes.models.honest.tried import ModelTable
from honestbayes.tabular import Tabular
from honestbayes.types import AnyArray, FloatArray

SHOWN = 20
"""Columns of which contributions are found, unless the user names others."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class HonestFeatureTable(Tabular):
    """The columns that any model of an average looks at, those of most weight first.

    Attributes
    ----------
    name : tuple of str
        Names of columns.
    kind : tuple of str
        Their kinds.
    use : ndarray of shape (k,)
        Share of the average's weight that models have which look at the column.
    models : ndarray of int of shape (k,)
        How many models these are.
    """

    name: tuple[str, ...]
    kind: tuple[str, ...]
    use: FloatArray
    models: AnyArray

    def changed(self, change: Callable[[Any], Any]) -> Any:
        """Return the table as a function changes it."""
        return change(self)

    def renamed(self, word: Callable[[str], str], classes: tuple[str, ...] = ()) -> Self:
        """Return the table with other names of columns; it does not speak of classes."""
        del classes
        return replace(self, name=tuple(map(word, self.name)))

    def with_levels(self, texts: Callable[[str, tuple[str, ...]], tuple[str, ...]]) -> Self:
        """Return the table: it does not speak of levels."""
        del texts
        return self

    def shortened(self, most: int) -> Self:
        """Return the table: it does not speak of levels."""
        del most
        return self

    def to_dict(self) -> dict[str, list[Any]]:
        """Return plain columns, for a frame or JSON."""
        return {
            "name": list(self.name),
            "kind": list(self.kind),
            "use": self.use.tolist(),
            "models": self.models.tolist(),
        }

    def __str__(self) -> str:
        """Return an aligned table of the first columns."""
        shown = range(min(len(self.name), SHOWN))
        width = max([len(self.name[j]) for j in shown] + [len("column")])
        lines = [f"{'column':<{width}}  {'kind':<11}  {'use':>6}  models"]
        lines += [
            f"{self.name[j]:<{width}}  {self.kind[j]:<11}  {self.use[j]:>6.1%}  {self.models[j]:>6}"
            for j in shown
        ]
        left = len(self.name) - len(shown)
        return "\n".join(lines + ([f"and {left:,} more"] if left else []))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MadeOf:
    """What an average is made of.

    Attributes
    ----------
    models : ModelTable
        The candidates.
    titles : tuple of str
        What each of them is, in words; empty for classifiers of the user's.
    columns : HonestFeatureTable
        The columns that predictions look at.
    log_score : float
        Of the average on held-out training cases; a little too good.
    restriction_cost : float or None
        What keeping one set of columns costs in that score; None where it was not asked for.
    """

    models: ModelTable
    titles: tuple[str, ...]
    columns: HonestFeatureTable
    log_score: float
    restriction_cost: float | None

    @property
    def n_models(self) -> int:
        """How many models the average has, the class frequencies not counted."""
        return int(np.sum(self.models.weight[:-1] > 0))

    def in_words(self) -> str:
        """Say it in short."""
        k = len(self.columns.name)
        return (
            f"average of {self.n_models} model{'' if self.n_models == 1 else 's'}, which look at "
            f"{k:,} column{'' if k == 1 else 's'}"
        )


def made_of(model: Any) -> MadeOf:
    """Put together what a fitted average is made of."""
    titles = {offer.name: offer.title for offer in OFFERS}
    table: ModelTable = model.model_table_
    return MadeOf(
        models=table,
        titles=tuple(titles.get(name, "") for name in table.name),
        columns=feature_table(model),
        log_score=model.held_out_log_score_,
        restriction_cost=model.restriction_cost_,
    )


def feature_table(model: Any) -> HonestFeatureTable:
    """Summarise the columns that a fitted average looks at."""
    columns = model.kept_columns()
    use = model._use()
    models = np.zeros(use.size, dtype=np.int64)
    for member in model._members:
        models[model._columns_of(member)] += 1
    total = max(sum(member.weight for member in model._members), 1e-300)
    return HonestFeatureTable(
        name=tuple(map(str, model.get_feature_names_out())),
        kind=tuple(model.kinds_[column] for column in columns),
        use=use[columns] / total,
        models=models[columns],
    )
