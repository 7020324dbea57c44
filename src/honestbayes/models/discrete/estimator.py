"""Plain naive Bayes for columns of any kind, by counts of categories and bins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from scipy.special import log_softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from honestbayes.base.parameters import (
    check_prevalences,
    check_weights,
    positive_number,
    whole_number,
)
from honestbayes.base.persistence import NumbersParameter, Parameter, SavedEstimator
from honestbayes.data import check_as_many, encode_labels
from honestbayes.data.categories import Coded, Coding, learn_coding
from honestbayes.data.kinds import KINDS, as_table
from honestbayes.files.fields import (
    MOST_CLASSES,
    MOST_FEATURES,
    ClassLabels,
    Entries,
    Field,
    Known,
    Plain,
    Section,
    Seed,
    Texts,
    Whole,
    check_column_names,
    joined,
    plain_scalar,
)
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

# --------------------------------------------------------------------------------------------------
# Parameters of `DiscreteNB` and of the selectors in files
# --------------------------------------------------------------------------------------------------


LARGEST = 1e100
"""Largest weight or smoothing, so that sums stay finite."""

_SMALLEST = 1e-300
"""Smallest smoothing: its logarithm stays finite after a division by a number of categories."""


@dataclass(frozen=True, slots=True)
class Smoothing(Parameter):
    """The smoothing of counts; an integer stays one."""

    def read(self, entries: Entries, name: str, known: Known) -> float | int:
        """Return the number."""
        value: float | int = entries.value(name)
        good = type(value) in (int, float) and _SMALLEST <= value <= LARGEST
        entries.check(good, name, f"is not a number from {_SMALLEST:g} to {LARGEST:g}")
        return value


@dataclass(frozen=True, slots=True)
class WholeParameter(Parameter):
    """An integer from ``least`` on, or None where that is allowed."""

    least: int = 1
    may_be_none: bool = False

    def read(self, entries: Entries, name: str, known: Known) -> Any:
        """Return the number."""
        value = entries.value(name)
        try:
            if not (value is None and self.may_be_none):
                whole_number({name: value}, name, self.least)
        except (ValueError, OverflowError):
            entries.refuse(name, f"is not a whole number of {self.least} or more")
        return value


@dataclass(frozen=True, slots=True)
class KindsInTable(Parameter):
    """Kinds of columns that a user named: by name or number, or one for each column."""

    def write(self, name: str, value: Any) -> Plain:
        """Return pairs of a column and its kind, or one kind for each column."""
        if isinstance(value, Mapping):
            pairs = [[plain_scalar(key), str(kind)] for key, kind in value.items()]
            return {name: pairs or None}, {}
        return {name: None if value is None else [str(kind) for kind in value]}, {}

    def read(self, entries: Entries, name: str, known: Known) -> Any:
        """Return the mapping or the list; refuse columns that are not there."""
        given, width = entries.value(name), known["n_features_in"]
        if given is None:
            return None
        entries.check(isinstance(given, list) and given, name, "are not a list")
        if all(isinstance(kind, str) for kind in given):
            good = len(given) == width and all(kind in KINDS for kind in given)
            entries.check(good, name, "are not those of the columns")
            return given
        for pair in given:
            good = isinstance(pair, list) and len(pair) == 2 and isinstance(pair[1], str)
            good = good and pair[1] in KINDS
            entries.check(good, name, "are not pairs of a column and its kind")
            key = pair[0]
            there = type(key) is int and 0 <= key < width
            there = there or (isinstance(key, str) and key in (known["feature_names"] or ()))
            entries.check(there, name, "name a column that is not there")
        return dict(given)


@dataclass(frozen=True, slots=True)
class Shares(NumbersParameter):
    """Prevalences of the classes, or None."""

    def read(self, entries: Entries, name: str, known: Known) -> Any:
        """Return the shares."""
        shares = entries.value(name)
        if shares is not None:
            good = isinstance(shares, list) and all(type(share) in (int, float) for share in shares)
            entries.check(good, name, "is not a list of shares")
            try:
                check_prevalences(shares, known["n_classes"])
            except (ValueError, OverflowError):
                entries.refuse(name, "is not a list of shares that sum to 1")
        return shares


_TABLE = {
    "n_classes": Whole(2, MOST_CLASSES),
    "classes": ClassLabels(),
    "n_features_in": Whole(1, MOST_FEATURES),
    "feature_names": Texts(),
}


class CodedTableMixin(SavedEstimator):
    """Base of estimators whose files hold classes, columns, and more (`_found_to_plain`)."""

    def _fitted_to_plain(self) -> Plain:
        values = {
            "n_classes": self.classes_.size,
            "classes": self.classes_,
            "n_features_in": self.n_features_in_,
            "feature_names": getattr(self, "feature_names_in_", None),
        }
        table = [field.write(name, values[name]) for name, field in _TABLE.items()]
        return joined(*table, self._found_to_plain())

    def _found_to_plain(self) -> Plain:
        """Return the fitted state beside classes and columns."""
        raise NotImplementedError

    @classmethod
    def _fitted_from_plain(cls, entries: Entries) -> Known:
        known: Known = {}
        for name, field in _TABLE.items():
            known[name] = field.read(entries, name, known)
        check_column_names(entries, known["feature_names"], known["n_features_in"])
        return known

    @classmethod
    def _check_parameters(cls, parameters: Known, fitted: Known) -> None:
        """Every parameter has been checked by its field."""

    def _load_fitted(self, fitted: Known) -> Any:
        self.classes_, self.n_features_in_ = fitted["classes"], fitted["n_features_in"]
        if fitted["feature_names"] is not None:
            self.feature_names_in_ = np.array(fitted["feature_names"], dtype=object)
        return self


# --------------------------------------------------------------------------------------------------
# Weighted counts of categories
#
# All columns have their levels in one flat table. Column j has the slots ``first[j]`` (missing) to
# ``first[j] + n_levels[j]``, so that a cell's slot is ``first[j] + 1 + code``.
# --------------------------------------------------------------------------------------------------


_ROUNDING = 1e-6
"""Relative error that sums of weights in files may have."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LevelCounts:
    """Weights of training rows by level and class.

    Attributes
    ----------
    first : ndarray of int of shape (p,)
        Slot of each column's missing cells.
    n_levels : ndarray of int of shape (p,)
        Levels of each column.
    is_open : ndarray of bool of shape (p,)
        Columns whose categories are those that training has seen: others have no evidence.
    slots : ndarray of shape (L, C)
        Weight of each slot and class.
    classes : ndarray of shape (C,)
        Weight of each class.
    """

    first: IntArray
    n_levels: IntArray
    is_open: BoolArray
    slots: FloatArray
    classes: FloatArray

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> LevelCounts:
        """Return the weights in a file, of the levels of ``known["coding"]``."""
        coding, n_classes = known["coding"], known["n_classes"]
        n_levels = coding.n_levels
        first = slots_of(n_levels)
        n_slots = int(np.sum(n_levels + 1))
        slots = entries.finite("slots", (n_slots, n_classes), 0.0, LARGEST)
        classes = entries.finite("class_count", (n_classes,), 0.0, LARGEST)
        entries.check(np.all(classes > 0), "class_count", "is 0 for a class")
        with np.errstate(divide="ignore"):
            shares = np.log(classes / classes.sum())
        entries.check(np.all(np.isfinite(shares)), "class_count", "is too small for a class")
        off = np.abs(np.add.reduceat(slots, first) - classes) > _ROUNDING * classes
        entries.check(not np.any(off), "slots", "do not sum to the weight of each class")
        return cls(
            first=first, n_levels=n_levels, is_open=coding.is_open, slots=slots, classes=classes
        )

    def log_prior(self) -> FloatArray:
        """Return the log share of each class, shape (C,)."""
        return np.asarray(np.log(self.classes / self.classes.sum()))

    def log_likelihood(self, smoothing: float) -> FloatArray:
        """Return log P(category | class) of each slot, shape (L, C), 0 for missing cells.

        ``smoothing`` is added to the count of each category in each class.
        """
        column = np.repeat(np.arange(self.first.size), self.n_levels + 1)
        observed = self.slots.copy()
        observed[self.first] = 0.0
        seen = observed.any(axis=1)
        n_seen = np.maximum(np.add.reduceat(seen.astype(np.int64), self.first), 2)
        n_levels = np.where(self.is_open, n_seen, self.n_levels)
        whole = np.add.reduceat(observed, self.first) + smoothing * n_levels[:, None]
        result = np.log(observed + smoothing) - np.log(whole)[column]
        result[self.first] = 0.0
        result[self.is_open[column] & ~seen] = 0.0
        return np.asarray(result)

    def drawn(self, rng: np.random.Generator, columns: IntArray, smoothing: float) -> FloatArray:
        """Return a draw of log P(category | class) of some columns, shape (L, C).

        Each column has its Dirichlet distribution given the training rows; slots of other columns,
        of missing cells and of categories that training has not seen are 0.
        """
        result = np.zeros_like(self.slots)
        for j in columns:
            own = slice(self.first[j] + 1, self.first[j] + 1 + self.n_levels[j])
            seen = self.slots[own].any(axis=1) | (not self.is_open[j])
            if not seen.any():  # all cells of training are missing
                continue
            log_gamma = np.log(rng.standard_gamma(self.slots[own][seen] + smoothing))
            top = log_gamma.max(axis=0)
            whole = top + np.log(np.exp(log_gamma - top).sum(axis=0))
            result[own][seen] = log_gamma - whole
        return result


def slots_of(n_levels: IntArray) -> IntArray:
    """Return the slot of each column's missing cells."""
    return np.concatenate([[0], np.cumsum(n_levels + 1)[:-1]]).astype(np.int64)


def count_levels(
    coded: Coded,
    labels: AnyArray,
    weight: FloatArray,
    n_classes: int,
    n_jobs: int | None = None,
) -> LevelCounts:
    """Count all columns.

    Parameters
    ----------
    coded : Coded
        The cells.
    labels : ndarray of int of shape (n,)
        Class of each row.
    weight : ndarray of shape (n,)
        Weight of each row.
    n_classes : int
        Number of classes.
    n_jobs : int, optional
        Number of threads.
    """
    from honestbayes.models.discrete.kernels import add_counts

    first = slots_of(coded.n_levels)
    slots = np.zeros((int(np.sum(coded.n_levels + 1)), n_classes))
    bounds = np.linspace(0, first.size, effective_n_jobs(n_jobs) + 1).astype(np.int64)
    Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(add_counts)(coded.cells, first, labels, weight, slots, *part)
        for part in pairwise(bounds)
    )
    classes = np.bincount(labels, weight, minlength=n_classes).astype(float)
    return LevelCounts(
        first=first, n_levels=coded.n_levels, is_open=coded.is_open, slots=slots, classes=classes
    )


def log_likelihood_of(coded: Coded, counts: LevelCounts, smoothing: float) -> AnyArray:
    """Return log P(row | class) of a coded table, shape (n, C)."""
    from honestbayes.models.discrete.kernels import add_evidence

    total = np.zeros((coded.cells.shape[0], counts.classes.size))
    add_evidence(coded.cells, counts.first, counts.log_likelihood(smoothing), total)
    return total


class DiscreteNB(ClassifierMixin, CodedTableMixin):
    """Naive Bayes on categories and bins, for columns of any kind.

    The plain model on which `ForwardProbabilitySelector` and `BoostedProbabilitySelector` build. It
    uses all columns and does not correct for selection: for selected features use the Selective
    models.

    Parameters
    ----------
    smoothing : float, default=1.0
        Added to the count of each category in each class.
    n_bins : int, default=10
        Bins of a real-valued column, at most; fewer where there would be less than 20 rows in each.
    kinds : mapping or sequence, optional
        Kinds of columns ("binary", "categorical", "real") that should not be inferred.
    class_prior : array-like of shape (n_classes,), optional
        Prevalences where the model is used, in the order of ``classes_``.
    random_state : int, RandomState or None, default=None
        Not used, because nothing is drawn at random. Every estimator has it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_count_ : ndarray of shape (n_classes,)
        Weight of the training cases of each class.
    coding_ : Coding
        The bins and levels of each column.
    counts_ : LevelCounts
        Weight of the training cases by level and class.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features, where X has them.

    Notes
    -----
    Missing cells, and categories that training has not seen, have no evidence.

    Examples
    --------
    >>> import numpy as np
    >>> from honestbayes.models.discrete.estimator import DiscreteNB
    >>> X = np.array([["red", 1.5], ["red", 0.2], ["blue", 1.1], ["blue", None]], dtype=object)
    >>> model = DiscreteNB().fit(X, [0, 0, 1, 1])
    >>> model.predict_proba(X[:1]).round(2)
    array([[0.82, 0.18]])
    """

    _kind: ClassVar[str] = "DiscreteNB"
    _parameter_fields: ClassVar[Mapping[str, Field]] = {
        "smoothing": Smoothing(),
        "n_bins": WholeParameter(least=2),
        "kinds": KindsInTable(),
        "class_prior": Shares(),
        "random_state": Seed(),
    }

    def __init__(
        self,
        *,
        smoothing: float = 1.0,
        n_bins: int = 10,
        kinds: Any = None,
        class_prior: Any = None,
        random_state: Any = None,
    ) -> None:
        self.smoothing = smoothing
        self.n_bins = n_bins
        self.kinds = kinds
        self.class_prior = class_prior
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Declare what inputs are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn bins and count.

        Parameters
        ----------
        X : table of shape (n, p)
            Array, sparse matrix, pandas or polars frame; NaN and None are missing.
        y : array-like of shape (n,)
            Class labels of two or more kinds.
        sample_weight : array-like of shape (n,), optional
            Weight of each row.
        """
        params = self.get_params(deep=False)
        positive_number(params, "smoothing")
        n_bins = whole_number(params, "n_bins", 2)
        X = as_table(X)
        self.classes_, codes = encode_labels(y)
        check_as_many(X.shape[0], codes.size)
        check_prevalences(self.class_prior, self.classes_.size)
        validate_data(self, X, skip_check_array=True)
        weight = check_weights(sample_weight, codes, self.classes_)
        self.coding_: Coding = learn_coding(X, weight, kinds=self.kinds, n_bins=n_bins)
        self.counts_ = count_levels(self.coding_.encode(X), codes, weight, self.classes_.size)
        self.class_count_ = self.counts_.classes
        return self

    def predict_log_proba(self, X: Any, *, class_prior: Any = None) -> FloatArray:
        """Return log P(class | x), shape (n, n_classes).

        Parameters
        ----------
        X : table of shape (n, p)
            Rows to predict.
        class_prior : array-like of shape (n_classes,), optional
            Prevalences where the model is used.
        """
        check_is_fitted(self)
        X = as_table(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        given = self.class_prior if class_prior is None else class_prior
        log_prior = check_prevalences(given, self.classes_.size)
        if log_prior is None:
            log_prior = self.counts_.log_prior()
        evidence = log_likelihood_of(self.coding_.encode(X), self.counts_, float(self.smoothing))
        return np.asarray(log_softmax(log_prior + evidence, axis=1))

    def predict_proba(self, X: Any, *, class_prior: Any = None) -> FloatArray:
        """Return P(class | x), shape (n, n_classes)."""
        return np.asarray(np.exp(self.predict_log_proba(X, class_prior=class_prior)))

    def predict(self, X: Any) -> AnyArray:
        """Return the most probable class of each row."""
        log_proba = self.predict_log_proba(X)
        result: AnyArray = self.classes_[np.argmax(log_proba, axis=1)]
        return result

    # ------------------------------------------------------------------------------- files

    def _found_to_plain(self) -> Plain:
        arrays = {"slots": self.counts_.slots, "class_count": self.counts_.classes}
        return joined(({}, arrays), coding=self.coding_.to_plain())

    @classmethod
    def _fitted_from_plain(cls, entries: Entries) -> Known:
        known = super()._fitted_from_plain(entries)
        known["coding"] = Section(kind=Coding).read(entries, "coding", known)
        known["counts"] = LevelCounts.from_plain(entries, known)
        return known

    def _load_fitted(self, fitted: Known) -> Self:
        super()._load_fitted(fitted)
        self.coding_, self.counts_ = fitted["coding"], fitted["counts"]
        self.class_count_ = self.counts_.classes
        return self
