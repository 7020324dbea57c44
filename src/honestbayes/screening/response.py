"""Moments of every feature with a real response, in one pass over a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np

from honestbayes.screening.accumulation import accumulate
from honestbayes.screening.moments import ROUNDING, check_squares
from honestbayes.sources.binarization import check_finite
from honestbayes.sources.source import DescribeColumns, Source, dense
from honestbayes.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ResponseMoments:
    """Moments of each feature and of the response over the cases in which it was observed.

    Features are in units of their own, so that squares neither overflow nor vanish. All arrays
    have the shape (p,).

    Attributes
    ----------
    n_observed : ndarray of int
        Observed cells.
    largest : ndarray
        The largest absolute value, which is the unit; 0 where all are 0, and the unit is 1.
    mean : ndarray
        Means, in these units; 0 where no cell was observed.
    squares : ndarray
        Sums of squares around the means, in these units.
    response_mean, response_squares : ndarray
        The same of the response.
    products : ndarray
        Sums of products of both, around their means.
    """

    n_observed: IntArray
    largest: FloatArray
    mean: FloatArray
    squares: FloatArray
    response_mean: FloatArray
    response_squares: FloatArray
    products: FloatArray

    def r_squared(self) -> FloatArray:
        """Squared correlation of each feature with the response; 0 where it has none."""
        number, of_x, of_y = self.n_observed, self.squares, self.response_squares
        real = self.varies() & (of_y > 1e-12) & (number > 2)
        found = self.products**2 / np.where(real, of_x * of_y, 1.0)
        return np.where(real, np.minimum(found, 1.0), 0.0)

    def varies(self) -> BoolArray:
        """Return which features have two different values, as `Moments.varies`."""
        return np.asarray(self.squares > ROUNDING * self.n_observed)

    def square(self) -> FloatArray:
        """Sum of squares of each feature around its mean; infinite where it is too large."""
        with np.errstate(over="ignore"):
            return np.asarray((np.sqrt(self.squares) * _unit(self.largest)) ** 2)

    def merge_rows(self, other: ResponseMoments) -> ResponseMoments:
        """Return the moments of both sets of rows, which must not share any.

        As in `honestbayes.screening.moments.Moments.merge_rows`, and the same for products. Values
        are rounded when they are brought to their unit, so means far from 0 beside the spread cost
        digits, in one block as in many.
        """
        largest = np.maximum(self.largest, other.largest)
        scale, other_scale = (part.largest / _unit(largest) for part in (self, other))
        number = self.n_observed + other.n_observed
        share = other.n_observed / np.maximum(number, 1)
        mean = scale * self.mean
        apart = other_scale * other.mean - mean
        response_apart = other.response_mean - self.response_mean
        weight = self.n_observed * share
        squares = scale**2 * self.squares + other_scale**2 * other.squares
        products = scale * self.products + other_scale * other.products
        return ResponseMoments(
            n_observed=number,
            largest=largest,
            mean=mean + share * apart,
            squares=squares + weight * apart**2,
            response_mean=self.response_mean + share * response_apart,
            response_squares=self.response_squares
            + other.response_squares
            + weight * response_apart**2,
            products=products + weight * apart * response_apart,
        )

    def merge_columns(self, *others: ResponseMoments) -> ResponseMoments:
        """Return the moments of all sets of columns, in this order."""
        parts = (self, *others)
        names = [field.name for field in fields(self)]
        return ResponseMoments(
            **{name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        )


def _unit(largest: FloatArray) -> FloatArray:
    return np.where(largest > 0, largest, 1.0)


def screen_response(source: Source, y: FloatArray) -> ResponseMoments:
    """Find the moments of every column with the response, in one pass.

    Parameters
    ----------
    source : Source of shape (n, p)
        The table; NaN is missing.
    y : ndarray of shape (n,)
        The response, around 0 and in units of its own.
    """
    describe = DescribeColumns(source.feature_names)

    def of_block(rows: slice, columns: slice) -> Callable[[Any], ResponseMoments]:
        return partial(
            response_of_values, y=y[rows], first_row=rows.start, describe=describe.at(columns)
        )

    found = accumulate(source, of_block)
    check_squares(found.square(), describe)
    return found


def response_of_values(
    values: Any, *, y: FloatArray, first_row: int, describe: DescribeColumns
) -> ResponseMoments:
    """Return the moments of a block.

    Parameters
    ----------
    values : ndarray or sparse matrix of shape (m, c)
        Its cells.
    y : ndarray of shape (m,)
        The response of each row.
    first_row : int
        Where it begins in the table.
    describe : DescribeColumns
        Names its columns in error messages.
    """
    values = np.asarray(dense(values), dtype=float)
    check_finite(values, describe, first_row, describe.first)
    seen = ~np.isnan(values)
    number = seen.sum(axis=0)
    largest = np.abs(np.where(seen, values, 0.0)).max(axis=0, initial=0.0)
    x = np.where(seen, values / _unit(largest), 0.0)
    mean = x.sum(axis=0) / np.maximum(number, 1)
    x = np.where(seen, x - mean, 0.0)
    response_mean = (y @ seen) / np.maximum(number, 1)
    return ResponseMoments(
        n_observed=number,
        largest=largest,
        mean=mean,
        squares=np.einsum("ij,ij->j", x, x),
        response_mean=response_mean,
        response_squares=(y**2) @ seen - number * response_mean**2,
        products=y @ x,
    )
