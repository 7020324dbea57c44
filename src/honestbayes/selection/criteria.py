"""Criteria that rank features one by one by their association with the class.

A column is real-valued, or holds codes of categories 0, 1, ...; NaN and -1 are missing and are left
out of that column's statistic. Larger strengths are kept first. No criterion depends on the order
of the cases, none of categorical columns but a user's own on the names of the categories.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import xlogy

from honestbayes.selection.correlation import phi_squared
from honestbayes.types import AnyArray, FloatArray, IntArray

# --------------------------------------------------------------------------------------------------
# Measures of association between a column and the class, of many columns at once
#
# Tables are counts by class and category, of shape (m, C, V). Moments are the numbers of cases, of
# shape (C, m) or (C, 1), class means, of shape (C, m), and sums of squares around them, of shape
# (m,). Classes without cases do not count.
# --------------------------------------------------------------------------------------------------


_ROUNDING = 1e-13
"""A share of a sum of squares, or an information, below this is 0."""


def level_tables(columns: IntArray, codes: IntArray, n_classes: int, n_levels: int) -> IntArray:
    """Count cases by class and category, shape (m, C, V), in columns of codes of shape (m, n)."""
    m = columns.shape[0]
    cell = (np.arange(m)[:, None] * n_classes + codes) * n_levels + columns
    counts = np.bincount(cell[columns >= 0], minlength=m * n_classes * n_levels)
    return counts.reshape(m, n_classes, n_levels)


def class_moments(
    columns: FloatArray, codes: IntArray, n_classes: int
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return cases and means by class, shape (C, m), and the sums of squares within, shape (m,)."""
    m = columns.shape[0]
    observed, mean = np.zeros((n_classes, m), dtype=np.int64), np.zeros((n_classes, m))
    within = np.zeros(m)
    for label in range(n_classes):
        part = columns[:, codes == label]
        known = ~np.isnan(part)
        observed[label] = known.sum(axis=1)
        filled = np.where(known, part, 0.0)
        mean[label] = filled.sum(axis=1) / np.maximum(observed[label], 1)
        apart = np.where(known, part - mean[label][:, None], 0.0)
        within += np.einsum("ij,ij->i", apart, apart)
    return observed, mean, within


def chi_square(tables: IntArray) -> FloatArray:
    """Pearson's chi-square of class by category tables, shape (m,)."""
    return np.asarray(phi_squared(tables) * tables.sum(axis=(1, 2)))


def mutual_information(tables: IntArray) -> FloatArray:
    """Mutual information of class and category in each table, in nats, shape (m,)."""
    total, expected = _expected(tables)
    ratio = np.where(tables > 0, tables / np.where(expected > 0, expected, 1.0), 1.0)
    value = xlogy(tables, ratio).sum(axis=(1, 2)) / np.maximum(total, 1.0)
    return np.where(value > _ROUNDING, value, 0.0)


def cramer(tables: IntArray) -> FloatArray:
    """Cramer's V, shape (m,): the absolute correlation where a table is 2 by 2.

    The square root of chi-square over n and over the smaller of both numbers of categories that
    occur, less one.
    """
    classes = (tables.sum(axis=2) > 0).sum(axis=1)
    levels = (tables.sum(axis=1) > 0).sum(axis=1)
    most = np.maximum(np.minimum(classes, levels) - 1, 1)
    return np.asarray(np.sqrt(phi_squared(tables) / most))


def _expected(tables: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the number of cases, shape (m,), and expected counts, shape (m, C, V)."""
    rows, columns = tables.sum(axis=2).astype(float), tables.sum(axis=1).astype(float)
    total = rows.sum(axis=1)
    return total, rows[:, :, None] * columns[:, None, :] / np.maximum(total, 1.0)[:, None, None]


def binary_moments(tables: IntArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return moments of the 0s and 1s in tables of two categories."""
    ones, observed = tables[:, :, 1].T, tables.sum(axis=2).T
    mean = ones / np.maximum(observed, 1)
    return observed, mean, (observed * mean * (1.0 - mean)).sum(axis=0)


def _shares(
    observed: IntArray, mean: FloatArray, within: FloatArray
) -> tuple[FloatArray, FloatArray, IntArray, IntArray]:
    """Return SSB / SST, SSW / SST, cases and classes that occur; (0, 1) if it cannot be judged."""
    n, present = observed.sum(axis=0), (observed > 0).sum(axis=0)
    unit = np.maximum(np.abs(mean).max(axis=0), np.sqrt(within))
    unit = np.where(unit > 0, unit, 1.0)
    scaled = mean / unit
    centre = (observed * scaled).sum(axis=0) / np.maximum(n, 1)
    between = (observed * (scaled - centre) ** 2).sum(axis=0)
    inside = (np.sqrt(within) / unit) ** 2
    total = between + inside
    judged = (present >= 2) & (n > present) & (total > 1e-24 * n)
    total = np.where(judged, total, 1.0)
    share = np.where(judged, between / total, 0.0)
    share = np.where(share > _ROUNDING, share, 0.0)
    return share, np.where(judged, inside / total, 1.0), n, present


def correlation_ratio(observed: IntArray, mean: FloatArray, within: FloatArray) -> FloatArray:
    """Square root of SSB / SST, shape (m,): the absolute correlation for two classes."""
    return np.asarray(np.sqrt(_shares(observed, mean, within)[0]))


def f_statistic(observed: IntArray, mean: FloatArray, within: FloatArray) -> FloatArray:
    """F statistic of the class means, shape (m,); inf where classes differ and cases do not."""
    between, inside, n, present = _shares(observed, mean, within)
    degrees = np.maximum(n - present, 0) / np.maximum(present - 1, 1)
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(between > 0, degrees * (between / inside), 0.0))


def t_statistic(observed: IntArray, mean: FloatArray, within: FloatArray) -> FloatArray:
    """Absolute t statistic of the difference of two class means, shape (m,)."""
    return np.asarray(np.sqrt(f_statistic(observed, mean, within)))


FeatureKind = Literal["categorical", "real"]

ColumnFunction = Callable[[AnyArray, AnyArray], float]
"""A user's criterion: one column without its missing cells, and the classes of the same cases."""

SAME = 1e-9
"""Strengths this close (relative) are equal: their difference is rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """A criterion, in the forms in which it can be computed.

    Attributes
    ----------
    name : str
        As the user named it.
    features : tuple of {"categorical", "real"}
        Kinds of features that it is for.
    two_classes, two_levels : bool
        Whether it takes no more classes, or no more categories of a categorical feature, than two.
    one_column : callable or None
        A user's function of one column and the classes; None for the criteria known by name.
    classes : ndarray of shape (C,) or None
        Labels that a user's function gets; None: the codes 0, 1, ...
    from_tables : callable or None
        Strengths, shape (m,), from class by category tables, shape (m, C, V).
    from_moments : callable or None
        Strengths, shape (m,), from the numbers of cases, shape (C, m) or (C, 1), the class means,
        shape (C, m), and the sums of squares around them, shape (m,).
    r_squared : callable or None
        For a bound on the strength, a number of cases and a number of classes that occur: the bound
        on r squared (the share of a column's sum of squares that lies between classes, for binary
        columns that of their 0s and 1s) that is the same event. It may exceed 1. None where the
        criterion orders columns otherwise.
    """

    name: str
    features: tuple[FeatureKind, ...]
    two_classes: bool = False
    two_levels: bool = False
    one_column: ColumnFunction | None = None
    classes: AnyArray | None = None
    from_tables: Callable[[IntArray], FloatArray] | None = None
    from_moments: Callable[[IntArray, FloatArray, FloatArray], FloatArray] | None = None
    r_squared: Callable[[float, int, int], float] | None = None

    def check(self, kind: FeatureKind, n_classes: int, n_levels: int = 2) -> None:
        """Refuse features that the criterion is not for."""
        if kind not in self.features:
            msg = f"criterion={self.name!r} is not for {kind} features."
            raise ValueError(msg)
        if self.two_classes and n_classes != 2:
            msg = f"criterion={self.name!r} is for two classes, and there are {n_classes}."
            raise ValueError(msg)
        if kind == "categorical" and self.two_levels and n_levels > 2:
            msg = (
                f"criterion={self.name!r} is for categorical features of two categories, and there "
                "are "
                f"{n_levels}: use 'correlation', 'chi2' or 'mutual_information'."
            )
            raise ValueError(msg)

    def can_judge(self, kind: FeatureKind, observed: IntArray) -> bool:
        """Whether a column with so many cases of each class, shape (C,), has a strength at all.

        It takes two classes and, in real values and for F and t, more cases than classes. Where it
        has none, its strength is 0, by a user's criterion -inf, so that it never wins.
        """
        n, present = int(np.sum(observed)), int(np.count_nonzero(observed))
        return present >= 2 and (n > present or not (kind == "real" or self.two_levels))

    def strengths(self, columns: AnyArray, codes: IntArray) -> FloatArray:
        """Return the strength of each column.

        Parameters
        ----------
        columns : ndarray of shape (m, n)
            Floats are real values, NaN missing; integers are codes of categories, -1 missing.
        codes : ndarray of int of shape (n,)
            Class of each case, as 0, 1, ...

        Returns
        -------
        ndarray of shape (m,)
            See :meth:`can_judge` for columns with few observed cases.
        """
        real = columns.dtype.kind == "f"
        n_classes = int(codes.max(initial=0)) + 1
        n_levels = 2 if real else int(columns.max(initial=0)) + 1
        self.check("real" if real else "categorical", n_classes, n_levels)
        if self.one_column is not None:
            return self._one_by_one(columns, codes)
        if real:
            assert self.from_moments is not None
            return self.from_moments(*class_moments(columns, codes, n_classes))
        assert self.from_tables is not None
        return self.from_tables(level_tables(columns, codes, n_classes, max(n_levels, 2)))

    def _one_by_one(self, columns: AnyArray, codes: IntArray) -> FloatArray:
        assert self.one_column is not None
        real = columns.dtype.kind == "f"
        labels = codes if self.classes is None else self.classes[codes]
        known = ~np.isnan(columns) if real else columns >= 0
        result = np.full(columns.shape[0], -np.inf)
        kind: FeatureKind = "real" if real else "categorical"
        for j, (column, seen) in enumerate(zip(columns, known, strict=True)):
            if self.can_judge(kind, np.bincount(codes[seen])):
                result[j] = _number(self.one_column(column[seen], labels[seen]), self.name)
        return result


def _number(value: Any, name: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        msg = (
            f"criterion={name!r} must return one number for a column, and returned "
            f"{type(value).__name__}."
        )
        raise TypeError(msg) from None
    if np.isnan(number):
        msg = (
            f"criterion={name!r} returned NaN for a column. Return the smallest strength, such as "
            "0, where a column cannot be judged, for example a constant one."
        )
        raise ValueError(msg)
    return number


def compare(strength: FloatArray, bound: float) -> IntArray:
    """Return the sign of strength - bound; 0 where they differ by rounding alone."""
    same = strength == bound
    if np.isfinite(bound):
        same |= np.abs(strength - bound) <= SAME * abs(bound)
    return np.where(same, 0, np.where(strength > bound, 1, -1))


def _r_squared_of_f(bound: float, n: int, n_classes: int) -> float:
    if n <= n_classes or n_classes < 2:
        return np.inf if bound >= 0 else -np.inf
    if bound == np.inf:
        return 1.0
    scaled = bound * (n_classes - 1) / (n - n_classes)
    return scaled / (1.0 + scaled) if bound >= 0 else -np.inf


def _r_squared_of_correlation(bound: float, n: int, n_classes: int) -> float:
    del n, n_classes
    return bound * bound if bound >= 0 else -np.inf


def _r_squared_of_t(bound: float, n: int, n_classes: int) -> float:
    return _r_squared_of_f(bound * bound if bound >= 0 else -1.0, n, n_classes)


def _r_squared_of_chi_square(bound: float, n: int, n_classes: int) -> float:
    del n_classes
    return bound / n if n else np.inf


def _by_name() -> dict[str, Criterion]:
    both: tuple[FeatureKind, ...] = ("categorical", "real")
    known = [
        Criterion(
            name="correlation",
            features=both,
            from_tables=cramer,
            from_moments=correlation_ratio,
            r_squared=_r_squared_of_correlation,
        ),
        Criterion(
            name="f",
            features=both,
            two_levels=True,
            from_tables=lambda tables: f_statistic(*binary_moments(tables)),
            from_moments=f_statistic,
            r_squared=_r_squared_of_f,
        ),
        Criterion(
            name="t",
            features=both,
            two_classes=True,
            two_levels=True,
            from_tables=lambda tables: t_statistic(*binary_moments(tables)),
            from_moments=t_statistic,
            r_squared=_r_squared_of_t,
        ),
        Criterion(
            name="chi2",
            features=("categorical",),
            from_tables=chi_square,
            r_squared=_r_squared_of_chi_square,
        ),
        Criterion(
            name="mutual_information", features=("categorical",), from_tables=mutual_information
        ),
    ]
    return {criterion.name: criterion for criterion in known}


CRITERIA = _by_name()
"""The criteria known by name: correlation, f, t, chi2, mutual_information."""


def as_criterion(
    given: object,
    *,
    features: tuple[FeatureKind, ...] = ("categorical", "real"),
    classes: AnyArray | None = None,
) -> Criterion:
    """Return the criterion of a name, or one made of a user's function.

    Parameters
    ----------
    given : str, callable or Criterion
        A name in :data:`CRITERIA`, or a function of one column and the classes that returns one
        number, larger for features to keep. It gets the column without missing cells, and must
        depend neither on the order of the cases nor, for real values, on their origin and unit.
    features : tuple of {"categorical", "real"}
        Kinds of features that a function is for.
    classes : ndarray of shape (C,), optional
        Labels that a function gets instead of the codes 0, 1, ...

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([0, 0, 0, 1, 1])
    >>> as_criterion("t").strengths(np.array([[1.0, 2.0, 3.0, 5.0, 6.0]]), y).round(3)
    array([4.2])
    >>> def separation(column, y):
    ...     return abs(np.median(column[y == 1]) - np.median(column[y == 0])) / np.std(column)
    >>> criterion = as_criterion(separation)
    >>> criterion.name
    'separation'
    """
    if isinstance(given, Criterion):
        return given
    if isinstance(given, str):
        if given not in CRITERIA:
            names = ", ".join(repr(name) for name in CRITERIA)
            msg = f"criterion={given!r} is unknown. Use one of {names}, or a function."
            raise ValueError(msg)
        return CRITERIA[given]
    if not callable(given):
        msg = f"criterion must be a name or a function of one column and y, not {given!r}."
        raise TypeError(msg)
    name = getattr(given, "__name__", type(given).__name__)
    return Criterion(name=name, features=features, one_column=given, classes=classes)


_BLOCK_CELLS = 1 << 22
"""Cells of artificial columns at once."""


def table_strengths(criterion: Criterion, tables: IntArray) -> FloatArray:
    """Return the strength of the columns that a criterion sees as these tables, shape (m,)."""
    if criterion.from_tables is not None:
        return criterion.from_tables(tables)
    result = np.empty(tables.shape[0])
    step = max(1, _BLOCK_CELLS // max(int(tables[:1].sum()) * tables.shape[2], 1))
    for begin in range(0, tables.shape[0], step):
        part = slice(begin, begin + step)
        result[part] = criterion.strengths(*columns_of(tables[part]))
    return result


def columns_of(tables: IntArray) -> tuple[IntArray, IntArray]:
    """Return columns of codes of levels, shape (m, n), and classes, shape (n,), class by class."""
    sizes = tables[0].sum(axis=1)
    columns = []
    for c, size in enumerate(sizes.tolist()):
        last = np.cumsum(tables[:, c], axis=1)
        columns.append((np.arange(size)[None, :, None] >= last[:, None, :]).sum(axis=2))
    return np.concatenate(columns, axis=1), np.repeat(np.arange(sizes.size), sizes)
