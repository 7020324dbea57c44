"""A table that arrives in pieces: blocks of rows and columns, in any order."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from honestbayes.data.source import Block

CONTAINERS = {"dense": np.asarray, "csr": sparse.csr_array, "csc": sparse.csc_array}


@dataclass
class CutSource:
    """An array or sparse matrix that is cut at given rows and columns.

    ``rows`` holds, for each slice of columns, the rows at which it is cut: a grid where all are
    alike. Blocks arrive in an order that ``seed`` shuffles; None: from top to bottom.
    """

    values: object
    rows: list
    columns: list
    seed: int | None = None
    feature_names: tuple | None = None

    @property
    def shape(self):
        return self.values.shape

    def blocks(self):
        n, p = self.shape
        places = [
            (slice(*rows), slice(*columns))
            for columns, cuts in zip(pairwise([0, *self.columns, p]), self.rows, strict=True)
            for rows in pairwise([0, *cuts, n])
        ]
        if self.seed is not None:
            np.random.default_rng(self.seed).shuffle(places)
        for rows, columns in places:
            yield Block(rows, columns, self.values[rows, columns])

    def take(self, columns):
        part = self.values[:, columns]
        return part.toarray() if sparse.issparse(part) else part


def grid(values, rows, columns=(), seed=0, feature_names=None):
    """Cut all columns at the same rows."""
    return CutSource(values, [rows] * (len(columns) + 1), list(columns), seed, feature_names)


@st.composite
def cuts(draw, n, p):
    """Rows (of each slice of columns) and columns at which a table of this shape is cut."""
    places = st.sets(st.integers(1, p - 1), max_size=4) if p > 1 else st.just(set())
    columns = sorted(draw(places))
    of_rows = st.sets(st.integers(1, n - 1), max_size=n - 1).map(sorted)
    rows = draw(
        st.one_of(
            of_rows.map(lambda one: [one] * (len(columns) + 1)),
            st.lists(of_rows, min_size=len(columns) + 1, max_size=len(columns) + 1),
        )
    )
    return rows, columns


CUTS = {
    "one block": ([], []),
    "columns": ([], [1, 3]),
    "rows": ([7, 8, 20], []),
    "single rows": (list(range(1, 37)), [2]),
    "a grid": ([5, 10, 15, 20, 25, 30, 35], [1, 2, 4]),
    "odd rows": ([1, 3, 5, 7, 9, 31], [3]),
}
"""Rows and columns at which a table of shape (37, 6) is cut."""


def real_table(n, p, offset, share_missing, seed):
    """Measurements of three classes around an offset; with missing cells, some columns lack all."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, 3, n)
    values = offset + generator.normal(size=(n, p)) + labels[:, None]
    values[generator.random((n, p)) < share_missing] = np.nan
    if share_missing:
        values[:, 0] = np.nan
        values[labels == 1, 1] = np.nan
    return values, labels
