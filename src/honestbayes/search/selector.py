"""Shared by forward and boosted selection: tables, held-out rows and the base estimator."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from sklearn.feature_selection import SelectorMixin
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted, validate_data

from honestbayes.base.parameters import check_weights, positive_number, selection_rule, whole_number
from honestbayes.base.persistence import HeldOutParameter, Parameter
from honestbayes.base.recalibration import folds_of
from honestbayes.data import check_as_many, encode_labels
from honestbayes.data.categories import learn_coding
from honestbayes.data.frames import as_frame
from honestbayes.data.kinds import as_table, columns_of
from honestbayes.files.fields import (
    CLOSE,
    Array,
    Check,
    Counts,
    Entries,
    Field,
    Floats,
    Given,
    Known,
    Maybe,
    Plain,
    Section,
    Whole,
    nested,
    record_to_plain,
)
from honestbayes.models.discrete.estimator import (
    CodedTableMixin,
    KindsInTable,
    Smoothing,
    WholeParameter,
)
from honestbayes.search.scorers import CodedCases
from honestbayes.tabular import Tabular
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

# --------------------------------------------------------------------------------------------------
# The path of a selector
# --------------------------------------------------------------------------------------------------


def feature_names(names: Any, columns: list[int]) -> tuple[str, ...]:
    """Return how some columns are called: by name, or x0, x1, ... where there are no names."""
    return tuple(f"x{j}" if names is None else str(names[j]) for j in columns)


SQUARED_ERROR = "squared error (summed over classes)"
"""The default loss of a selector: for two classes twice the Brier score."""


def loss_label(scoring: Any) -> str:
    """Return the label of a selector's ``scoring``.

    >>> loss_label("log_loss")
    'log score'
    """
    names = {"squared_error": SQUARED_ERROR, "log_loss": "log score"}
    if isinstance(scoring, str):
        return names[scoring]
    return str(getattr(scoring, "__name__", "loss")).replace("_", " ")


@dataclass(frozen=True, slots=True)
class NamesOfSteps(Given):
    """Names of the columns of all steps, from the names of all columns."""

    def read(self, entries: Entries, name: str, known: Known) -> tuple[str, ...]:
        """Return the names."""
        entries.check(
            known["feature"].max(initial=0) < known["n_features_in"],
            "feature",
            "holds an impossible number",
        )
        return feature_names(known["feature_names"], known["feature"].tolist())


def _of_rounds(low: float, high: float) -> Maybe:
    return Maybe(array=Floats("steps", low=low - CLOSE, high=high + CLOSE))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SelectionPath(Tabular):
    """The steps of a selector.

    Attributes
    ----------
    feature : ndarray of int of shape (T,)
        Column that was taken at each step; boosting may take one again.
    name : tuple of str
        What it is called.
    train_score, held_out_score : ndarray of shape (1 + T,)
        Loss with the features so far on the training rows, and on rows held out (NaN without
        any). The first is that of no feature: each case has the class shares.
    n_kept : int
        Steps whose features are kept.
    r, alpha, entropy : ndarray of shape (T,) or None
        Of boosting: the weighted confidence in the actual class, the step that follows from it,
        and the entropy of the weights after it, 1 where all are alike.
    """

    feature: Annotated[IntArray, Counts("steps")]
    name: Annotated[tuple[str, ...], NamesOfSteps()]
    train_score: Annotated[FloatArray, Floats("steps+1")]
    held_out_score: Annotated[FloatArray, Array("steps+1")]
    n_kept: Annotated[int, Whole()]
    r: Annotated[FloatArray | None, _of_rounds(-1.0, 1.0)] = None
    alpha: Annotated[FloatArray | None, _of_rounds(-100.0, 100.0)] = None
    entropy: Annotated[FloatArray | None, _of_rounds(0.0, 1.0)] = None

    def check_against(self, known: Known, check: Check) -> None:
        """Refuse steps that a selector of a table with these columns cannot have taken."""
        check(known["boosted"] or not self.takes_again, "feature", "takes a column twice")
        score = self.held_out_score
        good = np.isfinite(score).all() or np.isnan(score).all()
        check(good, "held_out_score", "is known for some steps only")
        steps = self.feature.size
        check(self.n_kept <= steps, "n_kept", f"is not a number from 0 to {steps}")
        for name in ("r", "alpha", "entropy"):
            there = getattr(self, name) is not None
            check(there == known["boosted"], name, "is missing" if not there else "is unknown")

    @property
    def takes_again(self) -> bool:
        """Whether a column was taken twice."""
        return np.unique(self.feature).size < self.feature.size

    @property
    def kept(self) -> IntArray:
        """Columns that are kept, each once, in the order in which they were taken."""
        chosen = self.feature[: self.n_kept]
        _, first = np.unique(chosen, return_index=True)
        return np.asarray(chosen[np.sort(first)])

    def table(self) -> dict[str, AnyArray]:
        """Return the path by columns, one row a step."""
        result: dict[str, AnyArray] = {
            "step": np.arange(1, self.feature.size + 1),
            "feature": self.feature,
            "name": np.array(self.name, dtype=object),
            "train_score": self.train_score[1:],
            "held_out_score": self.held_out_score[1:],
            "kept": np.arange(self.feature.size) < self.n_kept,
        }
        for name in ("r", "alpha", "entropy"):
            value = getattr(self, name)
            if value is not None:
                result[name] = value
        return result

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the path as plain columns, for a frame or JSON."""
        return {name: values.tolist() for name, values in self.table().items()}

    def __str__(self) -> str:
        """Return the path as text, one line a step."""
        has_held_out = not np.all(np.isnan(self.held_out_score))
        head = ["step", "training", *(["held out"] if has_held_out else []), "feature"]
        lines = [head]
        for step, train in enumerate(self.train_score.tolist()):
            held_out = [f"{self.held_out_score[step]:.5f}"] if has_held_out else []
            name = self.name[step - 1] if step else "(none)"
            left = "" if step <= self.n_kept else "  left out"
            lines.append([str(step), f"{train:.5f}", *held_out, name + left])
        widths = [max(len(line[index]) for line in lines) for index in range(len(head) - 1)]
        return "\n".join(
            "  ".join(
                [*(cell.rjust(w) for cell, w in zip(line[:-1], widths, strict=True)), line[-1]]
            )
            for line in lines
        )


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """Which rows train and which are held out.

    Attributes
    ----------
    fold : ndarray of int of shape (n,)
        Fold of each row, -1 for rows that are never held out.
    is_part : bool
        Whether there is a single fold, held out for good, so that only the others train.
    """

    fold: AnyArray
    is_part: bool

    @property
    def training(self) -> BoolArray:
        """Which rows train."""
        return np.asarray(self.fold < 0) | (not self.is_part)

    @property
    def is_any(self) -> bool:
        """Whether any row is held out."""
        return bool(np.any(self.fold >= 0))

    def splits(self, weight: FloatArray) -> list[tuple[BoolArray, BoolArray]]:
        """Return training rows and judged rows of each fold that has any weight."""
        folds = range(int(self.fold.max()) + 1)
        return [(self.fold != f, self.fold == f) for f in folds if weight[self.fold == f].any()]


def number_of_features(given: Any, n_candidates: int) -> int:
    """Return how many features to take; None: 10, or all when there are fewer."""
    if isinstance(given, str) and given != "all":
        msg = f"n_features_to_select={given!r} is not a number, 'all' or None."
        raise ValueError(msg)
    number, _ = selection_rule({"n_features_to_select": given, "threshold": None}, n_candidates)
    return n_candidates if number is None else number


@dataclass(frozen=True, slots=True)
class NumberOfFeatures(Parameter):
    """How many features to keep: a number, "all" or None."""

    def read(self, entries: Entries, name: str, known: Known) -> Any:
        """Return the number, "all" or None."""
        value = entries.value(name)
        try:
            number_of_features(value, known["n_features_in"])
        except (TypeError, ValueError, OverflowError):
            entries.refuse(name, "is not a number of features")
        return value


@dataclass(frozen=True, slots=True)
class Jobs(Parameter):
    """A number of threads or processes, or None."""

    def read(self, entries: Entries, name: str, known: Known) -> Any:
        """Return the number."""
        value = entries.value(name)
        entries.check(value is None or (type(value) is int and value != 0), name, "is not a number")
        return value


class TableSelector(SelectorMixin, CodedTableMixin):
    """Base of selectors that fit naive Bayes to tables of any kind."""

    held_out: Any
    smoothing: Any
    n_bins: Any
    kinds: Any
    n_jobs: Any
    random_state: Any

    _parameter_fields: ClassVar[Mapping[str, Field]] = {
        "held_out": HeldOutParameter(),
        "smoothing": Smoothing(),
        "n_bins": WholeParameter(least=2),
        "kinds": KindsInTable(),
        "n_jobs": Jobs(),
    }

    def __sklearn_tags__(self) -> Any:
        """Declare what inputs are accepted."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        return tags

    def transform(self, X: Any) -> Any:
        """Return the kept columns, in the order of the table; a frame gives a frame.

        Parameters
        ----------
        X : table of shape (n, p)
            With the columns of training.
        """
        module = type(X).__module__.partition(".")[0]
        if module not in ("pandas", "polars", "pyarrow"):
            return super().transform(X)
        # scikit-learn would make an array of the frame first, which not all types of columns allow.
        kept = np.flatnonzero(self._get_support_mask())
        frame = as_frame(X)
        validate_data(self, frame, reset=False, skip_check_array=True)
        if not kept.size:
            warnings.warn("No features were selected.", UserWarning, stacklevel=2)
        if module == "pyarrow":
            return X.select([str(frame.columns[column]) for column in kept.tolist()])
        part = columns_of(X, kept)
        as_array = (
            module == "pandas" and _get_output_config("transform", self)["dense"] == "default"
        )
        return part.to_numpy() if as_array else part

    # ---------------------------------------------------------------- for subclasses

    def _training(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, AnyArray, FloatArray]:
        """Check a training table; return it, the class of each row, and weights."""
        X = as_table(X)
        self.classes_, codes = encode_labels(y)
        check_as_many(X.shape[0], codes.size)
        validate_data(self, X, skip_check_array=True)
        weight = check_weights(sample_weight, codes, self.classes_)
        labels = codes.astype(np.min_scalar_type(-self.classes_.size))
        return X, labels, weight

    def _names(self, columns: IntArray) -> tuple[str, ...]:
        """Return how features are called."""
        return feature_names(getattr(self, "feature_names_in_", None), columns.tolist())

    def _hold_out(self, labels: AnyArray, weight: FloatArray, groups: Any) -> HeldOut:
        """Choose the rows that are held out."""
        given = self.held_out
        is_share = isinstance(given, float | np.floating)
        if groups is not None and (given is None or is_share):
            msg = "groups need folds; give held_out as a number of folds."
            raise ValueError(msg)
        fold: AnyArray = np.full(labels.size, -1, dtype=np.int32)
        if given is None:
            return HeldOut(fold, False)
        if is_share:
            if not 0 < given < 1:
                msg = f"held_out={given!r} is not a share between 0 and 1."
                raise ValueError(msg)
            splitter = StratifiedShuffleSplit(
                1, test_size=float(given), random_state=self.random_state
            )
            fold[next(splitter.split(labels, labels))[1]] = 0
            return _with_weight(HeldOut(fold, True), weight)
        fold = folds_of(given, labels, groups)
        return _with_weight(HeldOut(fold, False), weight)

    def _cases(self, X: Any, labels: AnyArray, weight: FloatArray, held_out: HeldOut) -> CodedCases:
        """Learn bins from the rows that train, and code all rows."""
        params = self.get_params(deep=False)
        n_bins = whole_number(params, "n_bins", 2)
        positive_number(params, "smoothing")
        training = np.where(held_out.training, weight, 0.0)
        coding = learn_coding(X, training, kinds=self.kinds, n_bins=n_bins)
        return CodedCases(coding.encode(X), labels, self.classes_, weight)


class ProbabilitySelector(TableSelector):
    """Base of selectors that improve the probabilities of naive Bayes one feature at a time."""

    path_: SelectionPath
    _takes_again: ClassVar[bool]
    """Whether a feature may be taken again, as boosting does."""

    def _get_support_mask(self) -> BoolArray:
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.path_.kept] = True
        return mask

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted selector to a file of plain data, atomically.

        Parameters
        ----------
        path : path-like
            Any name; ``.honestbayes`` is the usual suffix. `honestbayes.load` reads it.

        Notes
        -----
        A selector with an ``estimator``, or a function as ``scoring``, is refused: without these a
        new fit would take other features. Folds that are given as a splitter, and a
        ``RandomState``, are stored as None; they are not needed to transform.
        """
        super().save(path)

    def _found_to_plain(self) -> Plain:
        return nested("path", record_to_plain(self.path_))

    @classmethod
    def _fitted_from_plain(cls, entries: Entries) -> Known:
        known = super()._fitted_from_plain(entries)
        known["boosted"] = cls._takes_again
        known["path"] = Section(kind=SelectionPath).read(entries, "path", known)
        return known

    def _load_fitted(self, fitted: Known) -> Self:
        super()._load_fitted(fitted)
        self.path_ = fitted["path"]
        return self


def _with_weight(held_out: HeldOut, weight: FloatArray) -> HeldOut:
    """Refuse rows held out that all count nothing."""
    if not weight[held_out.fold >= 0].any():
        msg = "all held-out rows have a sample_weight of 0."
        raise ValueError(msg)
    return held_out
