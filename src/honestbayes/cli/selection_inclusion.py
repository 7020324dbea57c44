"""What ``honestbayes select --method sampled`` tells: how sure it is that each column matters."""

from __future__ import annotations

from typing import Any

import numpy as np

from honestbayes.cli.messages import word
from honestbayes.search.sampled import SubsetSampler
from honestbayes.search.selector import TableSelector
from honestbayes.types import IntArray

INCLUSION = "inclusion.csv"
INCLUSION_PICTURE = "inclusion.png"

MOST_LINES = 20
"""Columns that are printed; the file holds all."""


def _order(sampler: SubsetSampler) -> IntArray:
    """Return the columns, the most probable first."""
    probability = sampler.inclusion_probabilities_
    return np.lexsort((np.arange(probability.size), -probability))


def column_names(selector: TableSelector) -> list[Any]:
    """Return how the candidates are called: x0, x1, ... where the table had no names."""
    names = getattr(selector, "feature_names_in_", None)
    return [f"x{j}" for j in range(selector.n_features_in_)] if names is None else list(names)


def inclusion_table(sampler: SubsetSampler) -> dict[str, Any]:
    """Return inclusion probabilities as columns, the highest first."""
    order = _order(sampler)
    return {
        "column": np.array(column_names(sampler), dtype=object)[order],
        "inclusion_probability": sampler.inclusion_probabilities_[order],
        "standard_error": sampler.inclusion_errors_[order],
        "kept": sampler.get_support()[order],
    }


def inclusion_contents(sampler: SubsetSampler) -> dict[str, Any]:
    """Return what is known of the draws as data."""
    names = column_names(sampler)
    sizes = sampler.draws_.draws.pooled("size")
    return {
        "inclusion": inclusion_table(sampler),
        "n_columns_of_subsets": {
            "mean": float(sizes.mean()),
            "quantiles": np.quantile(sizes, [0.05, 0.5, 0.95]).tolist(),
        },
        "most_frequent_subsets": [
            {"columns": [str(names[j]) for j in columns], "share": share}
            for columns, share in sampler.draws_.most_visited(5)
        ],
        "diagnostics": sampler.diagnostics_.to_dict(),
        "warnings": sampler.diagnostics_.problems(),
    }


def table_of_inclusion(sampler: SubsetSampler) -> str:
    """Return the most probable columns as text, with names that stay on their lines."""
    found = inclusion_table(sampler)
    names = [word(name) for name in found["column"][:MOST_LINES]]
    width = max([len("column"), *(len(name) for name in names)])
    lines = [f"{'column':<{width}}  inclusion  error"]
    for row, name in enumerate(names):
        mark = " *" if found["kept"][row] else ""
        lines.append(
            f"{name:<{width}}  {found['inclusion_probability'][row]:9.3f}  "
            f"{found['standard_error'][row]:5.3f}{mark}"
        )
    more = len(found["column"]) - len(names)
    lines.append("* kept" + (f"; {more:,} more columns in {INCLUSION}" if more > 0 else ""))
    return "\n".join(lines)


def words_of_inclusion(sampler: SubsetSampler) -> str:
    """Say what inclusion probabilities mean, how many columns there are, and what chains lack."""
    sizes = sampler.draws_.draws.pooled("size")
    low, high = np.quantile(sizes, [0.05, 0.95]).astype(int)
    holds = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    text = (
        f"An inclusion probability is the share of the {sizes.size:,} drawn sets that hold the "
        "column, naive Bayes being the model and its parameters integrated out; the error is that "
        f"of having drawn so many. Nine of ten sets hold {holds} columns. Columns that tell the "
        "same are each counted as if they told something of their own."
    )
    problems = sampler.diagnostics_.problems()
    if problems:
        text += f" Do not trust the third digit: {'; '.join(problems[:2])}."
    return text
