"""Columns of a logistic regression: standardised, turned to fewer directions, dense or sparse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from scipy import sparse
from scipy.linalg import qr
from scipy.linalg.lapack import dpotri, dtrtrs
from sklearn.utils.extmath import randomized_svd

from honestbayes.files.fields import CLOSE, Flag, Floats, Maybe
from honestbayes.files.records import Check
from honestbayes.types import FloatArray

MOST_DIRECTIONS = 1000
"""Directions that coefficients are confined to where columns and cases are both more than
``MANY``: no step may grow like the cube of the number of cases."""

MANY = 2000

_SPARSE = 0.1
"""Share of cells that are not 0 up to which products of sparse matrices are quicker."""

_LARGE = 200_000
"""Cells from which that matters."""

_FARTHEST = 1e100
"""Standardised values beyond it stay there, so that their squares are numbers."""


_TURN = Floats("n_selected", "n_directions", low=-1.0 - CLOSE, high=1.0 + CLOSE)


@dataclass(frozen=True, slots=True, eq=False)
class Directions:
    """From values of the kept columns to what coefficients are multiplied by.

    The coefficients of the columns that were selected are alike before the data are seen, so that
    any orthonormal directions will do: where columns outnumber cases, the directions that the cases
    span. In all others the posterior is the prior, and only the length of a case there matters.

    Attributes
    ----------
    centre, unit : ndarray of shape (k,)
        Mean and standard deviation of each column.
    varies : ndarray of shape (k,)
        1, or 0 for a column that never varies.
    turn : ndarray of shape (k_race, r) or None
        Orthonormal directions of the columns that were selected; None: the columns themselves.
    whole : bool
        Whether the directions span all cases.
    """

    centre: Annotated[FloatArray, Floats("n_columns")]
    unit: Annotated[FloatArray, Floats("n_columns", low=1e-300)]
    varies: Annotated[FloatArray, Floats("n_columns", low=0.0, high=1.0)]
    turn: Annotated[FloatArray | None, Maybe(array=_TURN)]
    whole: Annotated[bool, Flag()]

    def check(self, check: Check) -> None:
        """Refuse directions that are not orthonormal."""
        if self.turn is not None:
            check(self.turn.shape[0] <= self.centre.size, "turn", "has too many columns")
            product = self.turn.T @ self.turn
            good = np.all(np.abs(product - np.eye(len(product))) < 1e-6)
            check(good, "turn", "is not orthonormal")

    @classmethod
    def learn(
        cls, values: FloatArray, n_selected: int, *, turned: bool | None = None
    ) -> Directions:
        """Learn from training rows, shape (n, k), of which the first columns were selected.

        Missing cells do not count. ``turned``: whether the selected columns are turned; by default
        where they outnumber the cases, or both are very many.
        """
        missing = np.isnan(values)
        n = np.maximum((~missing).sum(axis=0), 1)
        # Around a value of the column itself, so that a constant one leaves exactly nothing.
        rows = np.argmin(missing, axis=0)
        first = np.nan_to_num(values[rows, np.arange(values.shape[1])])
        apart = np.where(missing, 0.0, values - first)
        rough = np.abs(apart).max(axis=0)
        varies = rough > 0
        rough = np.where(varies, rough, 1.0)
        apart /= rough
        mean = apart.sum(axis=0) / n
        apart -= mean
        apart[missing] = 0.0
        spread = np.sqrt(np.einsum("ij,ij->j", apart, apart) / n)
        unit = np.maximum(np.where(varies, spread * rough, 1.0), 1e-300)
        plain = cls(first + mean * rough, unit, varies.astype(float), None, whole=True)
        if turned is None:
            turned = n_selected > len(values) or min(n_selected, len(values)) > MANY
        return plain._turned(plain.standardised(values)[:, :n_selected]) if turned else plain

    def _turned(self, selected: FloatArray) -> Directions:
        """Return the same with directions that span the rows of the selected columns."""
        whole = min(selected.shape) <= MANY
        if whole:
            turn = qr(selected.T, mode="economic", check_finite=False)[0]
        else:
            leading = randomized_svd(selected, MOST_DIRECTIONS, n_iter=2, random_state=0)[2]
            turn = leading.T
        # In the order that files have, so that a loaded model says the same to the last bit.
        stored: FloatArray = np.ascontiguousarray(turn, dtype=np.float64)
        return Directions(self.centre, self.unit, self.varies, stored, whole)

    def standardised(self, values: FloatArray) -> FloatArray:
        """Return values in standard units, shape (n, k); missing cells are the mean."""
        with np.errstate(over="ignore"):
            z = (values - self.centre) / self.unit
        z *= self.varies
        if np.isnan(z).any():
            np.copyto(z, 0.0, where=np.isnan(z))
        return np.asarray(np.clip(z, -_FARTHEST, _FARTHEST, out=z))

    def coordinates(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what coefficients are multiplied by, shape (n, q), and the rest.

        The rest, shape (n,), is the squared length outside all directions.
        """
        z = self.standardised(values)
        ones = np.ones((len(z), 1))
        if self.turn is None:
            return np.hstack([ones, z]), np.zeros(len(z))
        selected, designed = np.split(z, [len(self.turn)], axis=1)
        turned = selected @ self.turn
        rest = np.zeros(len(z))
        if self.whole:
            rest = np.einsum("ij,ij->i", selected, selected)
            inside = np.einsum("ij,ij->i", turned, turned)
            rest = np.where(rest - inside > 1e-12 * rest, rest - inside, 0.0)
        return np.hstack([ones, turned, designed]), np.asarray(rest)

    def slopes(self, coefficients: FloatArray) -> FloatArray:
        """Return what coefficients, shape (..., q), say of each standardised column, (..., k)."""
        inside = coefficients[..., 1:]
        if self.turn is None:
            return np.asarray(inside * self.varies)
        turned, designed = np.split(inside, [self.turn.shape[1]], axis=-1)
        return np.asarray(np.concatenate([turned @ self.turn.T, designed], axis=-1) * self.varies)

    @property
    def n_turned(self) -> int | None:
        """How many directions there are in the place of selected columns."""
        return None if self.turn is None else self.turn.shape[1]


def training_columns(directions: Directions, values: FloatArray) -> DenseColumns | SparseColumns:
    """Return the columns of training rows in the form that is quicker."""
    if directions.turn is None and values.size > _LARGE and not np.isnan(values).any():
        cells = sparse.csr_array(values)
        if cells.nnz < _SPARSE * values.size:
            return SparseColumns.of(directions, cells)
    return DenseColumns(directions.coordinates(values)[0])


@dataclass(frozen=True, slots=True, eq=False)
class DenseColumns:
    """Columns as they are, shape (n, q)."""

    values: FloatArray

    def predictor(self, coefficients: FloatArray) -> FloatArray:
        """Return X w."""
        return np.asarray(self.values @ coefficients)

    def gathered(self, shift: FloatArray) -> FloatArray:
        """Return X' s."""
        return np.asarray(shift @ self.values)

    def precision(self, weights: FloatArray) -> FloatArray:
        """Return X' diag(weights) X."""
        scaled = self.values * np.sqrt(weights)[:, None]
        return np.asarray(scaled.T @ scaled)

    def variance(self, triangle: FloatArray) -> FloatArray:
        """Return the variances of X w, where w has precision L L'."""
        half = dtrtrs(triangle, self.values.T, lower=1)[0]
        return np.asarray(np.einsum("ij,ij->j", half, half))


@dataclass(frozen=True, slots=True, eq=False)
class SparseColumns:
    """Columns that are mostly 0 before they are centred: X = Y M, Y sparse with a column of ones.

    Attributes
    ----------
    cells : csr_array of shape (n, q)
        Y: a column of ones, and the columns in their units.
    dense : ndarray of shape (n, q)
        The same, for sums over rows of a product that is not sparse.
    moved : ndarray of shape (q,)
        Centres in these units, 0 first: M is the identity with the first row 1, -moved.
    """

    cells: Any
    dense: FloatArray
    moved: FloatArray

    @classmethod
    def of(cls, directions: Directions, cells: Any) -> SparseColumns:
        """Return the columns of training rows."""
        scale = directions.varies / directions.unit
        ones = sparse.csr_array(np.ones((cells.shape[0], 1)))
        scaled = sparse.hstack([ones, cells * scale[None, :]], format="csr")
        return cls(scaled, scaled.toarray(), np.append(0.0, directions.centre * scale))

    def predictor(self, coefficients: FloatArray) -> FloatArray:
        """Return X w."""
        return np.asarray(self.cells @ coefficients - self.moved @ coefficients)

    def gathered(self, shift: FloatArray) -> FloatArray:
        """Return X' s."""
        return np.asarray(self.cells.T @ shift - self.moved * shift.sum())

    def precision(self, weights: FloatArray) -> FloatArray:
        """Return X' diag(weights) X."""
        scaled = self.cells * np.sqrt(weights)[:, None]
        product = (scaled.T @ scaled).toarray()
        # The first row of Y' W Y is that of the column of ones.
        cross = np.outer(product[0] - 0.5 * product[0, 0] * self.moved, self.moved)
        product -= cross
        product -= cross.T
        return np.asarray(product)

    def variance(self, triangle: FloatArray) -> FloatArray:
        """Return the variances of X w, where w has precision L L'."""
        # One triangle is enough for squares x' S x: what is beside its diagonal counts twice.
        upper = dpotri(triangle, lower=1)[0].T
        diagonal = np.diagonal(upper).copy()
        towards = upper @ self.moved + self.moved @ upper - diagonal * self.moved
        upper[0] -= towards
        upper *= 2
        upper.flat[:: diagonal.size + 1] = diagonal
        upper[0, 0] += self.moved @ towards - 2 * towards[0]
        reached = self.cells @ upper
        return np.asarray(np.einsum("ij,ij->i", self.dense, reached))
