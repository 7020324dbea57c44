"""What the report of an average shows: its models, and the columns that they need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from honestbayes.base.explanation import ReportSection, TableNames


@dataclass(frozen=True, slots=True, kw_only=True)
class AverageModel:
    """One model of an average.

    Attributes
    ----------
    name, title : str
        Name of the candidate, and what it is.
    n_features : int or None
        Features that it keeps; None where it chooses the number itself.
    weight, slope, outlier_rate : float
        Weight of its log-odds in the average; factor on its evidence; share of cases for which it
        is taken to be uninformative.
    log_score, error : float
        On held-out training cases, and its standard error.
    """

    name: str
    title: str
    n_features: int | None
    weight: float
    slope: float
    outlier_rate: float
    log_score: float
    error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Average:
    """The models of an average.

    Attributes
    ----------
    models : tuple of AverageModel
        Models of one kind together, the kind of most weight first; the class frequencies last.
    n_models : int
        Models with any weight.
    log_score : float
        Of the average on held-out training cases; slightly optimistic.
    restriction_cost : float or None
        Increase of that score by keeping one set of columns; None where that was not asked for.
    """

    models: tuple[AverageModel, ...]
    n_models: int
    log_score: float
    restriction_cost: float | None

    def families(self) -> list[list[AverageModel]]:
        """Return the models of each kind, without the class frequencies."""
        return [list(alike) for _, alike in groupby(self.models[:-1], lambda model: model.name)]

    def __str__(self) -> str:
        """Return an aligned table."""
        rows = [("model", "features", "weight", "slope", "outlier rate", "log score", "error")]
        for model in self.models:
            number = "" if model.n_features is None else f"{model.n_features}"
            rates = (f"{model.weight:.3f}", f"{model.slope:.2f}", f"{model.outlier_rate:.3f}")
            scores = (f"{model.log_score:.3f}", f"{model.error:.3f}")
            rows.append((model.name, number, *rates, *scores))
        first, *sizes = (max(map(len, column)) for column in zip(*rows, strict=True))
        lines = [
            "  ".join(
                (f"{name:<{first}}", *(f"{c:>{n}}" for c, n in zip(cells, sizes, strict=True)))
            )
            for name, *cells in rows
        ]
        lines.append(f"held-out log score of the average: {self.log_score:.3f}")
        if self.restriction_cost is not None:
            lines.append(f"cost of one set of columns: {self.restriction_cost:.3f}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class AverageColumn:
    """One column that an average needs.

    Attributes
    ----------
    column : str
        Its name.
    kind : {"binary", "categorical", "real"}
        Its kind.
    use : float
        Share of the weight of all models that belongs to models with this column.
    models : int
        Number of these models.
    by_design : bool
        Whether the user keeps it.
    selected : float
        Share of the folds whose average needed it.
    """

    column: str
    kind: str
    use: float
    models: int
    by_design: bool
    selected: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AverageColumns:
    """The columns that predictions need, the most used first.

    Attributes
    ----------
    columns : tuple of AverageColumn
        The columns.
    restriction_cost : float or None
        As in `Average`.
    """

    columns: tuple[AverageColumn, ...]
    restriction_cost: float | None

    def __str__(self) -> str:
        """Return an empty text: `inspect` prints the table of features already."""
        return ""


def average_sections(
    model: Any, titles: Mapping[str, str], names: TableNames
) -> tuple[ReportSection, ...]:
    """Return the sections of a fitted average.

    Parameters
    ----------
    model : HonestClassifier
        Fitted.
    titles : mapping of str to str
        The title of each candidate, by its name.
    names : TableNames
        The names that the table uses.
    """
    table, used = model.model_table_.to_dict(), model.feature_table()
    candidates = table.pop("model")
    models = [
        AverageModel(
            name=name,
            title=titles.get(name, ""),
            **{key: values[index] for key, values in table.items()},
        )
        for index, name in enumerate(candidates)
    ]
    *tried, frequencies = models
    weights: dict[str, float] = dict.fromkeys(candidates, 0.0)
    for one in tried:
        weights[one.name] += one.weight
    n_models = int(np.sum(model.model_table_.weight[:-1] > 0))
    cost = model.restriction_cost_
    columns = tuple(
        AverageColumn(
            column=names.column(name),
            kind=used.kind[j],
            use=float(used.use[j]),
            models=int(used.models[j]),
            by_design=name in names.by_design,
            selected=names.share_selected(name),
        )
        for j, name in enumerate(used.name)
    )
    k = len(columns)
    which = "1 model that needs" if n_models == 1 else f"{n_models:,} models that need"
    summary = f"average of {which} {k:,} column{'' if k == 1 else 's'}"
    covariates = [str(name) for name in model.get_feature_names_out()[k:]]
    if covariates:
        summary += f" and {len(covariates)} covariate{'' if len(covariates) == 1 else 's'}"
    if cost is not None:
        summary += f"; keeping to these costs {max(cost, 0.0):.3f} in held-out log score"
    return (
        ReportSection(
            name="average",
            title="The models of the average",
            record=Average(
                models=(
                    *sorted(tried, key=lambda one: (-weights[one.name], one.name)),
                    frequencies,
                ),
                n_models=n_models,
                log_score=model.held_out_log_score_,
                restriction_cost=cost,
            ),
            template="honestbayes.average/models.jinja",
            summary=summary,
            facts=(
                ("models in the average", f"{n_models}"),
                ("columns needed", f"{k + len(covariates):,}"),
                *(
                    (("covariates", ", ".join(map(names.column, covariates))),)
                    if covariates
                    else ()
                ),
            ),
            settings=(("effort", model.effort),),
            limits=(
                (
                    "The average is as good as its models. Most of them add up over columns: "
                    "signal that only combinations of columns show may not be seen; --effort "
                    "thorough tries models that look for it."
                ),
            ),
        ),
        ReportSection(
            name="kept",
            title="The columns that it needs",
            record=AverageColumns(columns=columns, restriction_cost=cost),
            template="honestbayes.average/columns.jinja",
        ),
    )
