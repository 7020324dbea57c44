"""An average in files: how columns become numbers, and its models, each as it saves itself."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from honestbayes.average.candidates import Numbers, candidate_specs
from honestbayes.average.cross_fit import AverageMember, ModelTable, Views, rows_of, said_once
from honestbayes.average.pool import pooled
from honestbayes.base.estimator import FromLogProbabilities, SelectiveClassifier
from honestbayes.base.explanation import KeptColumns
from honestbayes.base.intervals import draws_per_class, intervals_of_mixture
from honestbayes.base.parameters import check_level_and_draws, check_prevalences, pseudocounts
from honestbayes.base.persistence import Parameter, SavedEstimator
from honestbayes.base.recalibration import Recalibration
from honestbayes.data.kinds import as_table, columns_of
from honestbayes.data.source import ReadAhead, as_source, dense_values, row_batches
from honestbayes.files.fields import (
    ClassLabels,
    Entries,
    Field,
    Known,
    Plain,
    Section,
    Texts,
    check_column_names,
    joined,
    record_to_plain,
)
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

# --------------------------------------------------------------------------------------------------
# What an average of models predicts, and which columns it looks at
# --------------------------------------------------------------------------------------------------


_LEAST_DRAWS = 100
"""Of each model, for intervals: over all classes that a case may turn out to be of."""


class PooledModels(FromLogProbabilities, KeptColumns):
    """Base of the average: fitted models, and what they say together.

    Classes of a single case are not modelled (``_modelled``); ``_class_weights`` are the
    parameters of the Dirichlet posterior of all class frequencies.
    """

    classes_: AnyArray
    class_count_: AnyArray
    class_prior: Any
    n_features_in_: int
    _class_weights: FloatArray
    _modelled: BoolArray
    _members: tuple[AverageMember, ...]
    _numbers: Numbers

    def _describe(self, column: int) -> str:
        """Return how messages call a column of the table."""
        names = getattr(self, "feature_names_in_", None)
        return f"column {column}" if names is None else f"column {names[column]!r}"

    def _views(self, plain: Any) -> Views:
        """Return the columns that vary as they are, and as numbers."""
        return Views(plain, self._numbers.numbers(plain, self._describe))

    def _kept_columns(self) -> list[IntArray]:
        """Return the columns that any model of the average looks at, those of most weight first."""
        return [np.argsort(-self._use(), kind="stable")[: int(np.sum(self._use() > 0))]]

    def _use(self) -> FloatArray:
        """Return the weight of the models that look at each column, shape (p,)."""
        total = np.zeros(self.n_features_in_)
        for member in self._members:
            total[self._columns_of(member)] += member.weight
        return total

    def _columns_of(self, member: AverageMember) -> IntArray:
        """Return the table's columns that a model looks at, each once."""
        columns = member.columns
        if member.as_numbers:
            columns = self._numbers.sources()[columns]
        return np.asarray(self._numbers.varying()[np.unique(columns)])

    # --------------------------------------------------------------- prediction

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
        said = [self._log_proba(self._read(some), class_prior) for some in row_batches(X)]
        return said[0] if len(said) == 1 else np.concatenate(said)

    def _log_proba(self, views: Views, class_prior: Any) -> FloatArray:
        """Return log P(class | x) of a table that was read."""
        result = self._with_single_cases(self._modelled_log_proba(views))
        given = self._given_log_prior(class_prior)
        if given is not None:
            result = result + given - np.log(self._class_weights / self._class_weights.sum())
            result = result - np.log(np.exp(result).sum(axis=1, keepdims=True))
        return result

    def _modelled_log_proba(self, views: Views) -> FloatArray:
        """Return log P(class | x) of the classes of two cases or more."""
        log_prior, n_cases = self._log_prior(), int(self.class_count_.sum())
        if not self._members:
            return np.repeat(log_prior[None], views.plain.shape[0], axis=0)
        with said_once():
            said = [
                member.recalibration.log_proba(
                    member.evidence(views.of(member.as_numbers), log_prior, n_cases), log_prior
                )
                for member in self._members
            ]
        weights = np.array([member.weight for member in self._members])
        return pooled(np.stack(said), weights, log_prior, self._observed_share(views))

    def _observed_share(self, views: Views) -> FloatArray | None:
        """Return the share of each row's cells that is observed, shape (n,); None where all are.

        A column counts as much as the models that look at it.
        """
        sources = self._numbers.sources()
        use = self._use()[self._numbers.varying()[sources]] / np.bincount(sources)[sources]
        columns = np.flatnonzero(use > 0)
        if hasattr(views.numbers, "indptr") and not np.isnan(views.numbers.data).any():
            return None
        cells = dense_values(as_source(columns_of(views.numbers, columns)))
        missing = np.isnan(cells) if cells.dtype.kind == "f" else np.zeros((1, 1), dtype=bool)
        if not missing.any():
            return None
        return np.asarray(1 - missing @ use[columns] / use[columns].sum())

    def _log_prior(self) -> FloatArray:
        weights = self._class_weights[self._modelled]
        return np.asarray(np.log(weights / weights.sum()))

    def _with_single_cases(self, log_proba: FloatArray) -> FloatArray:
        """Give classes of a single case their share."""
        if self._modelled.all():
            return log_proba
        share = self._class_weights / self._class_weights.sum()
        result = np.repeat(np.log(share)[None], len(log_proba), axis=0)
        result[:, self._modelled] = log_proba + np.log(share[self._modelled].sum())
        return result

    def predict_proba_interval(
        self, X: Any, level: float = 0.9, *, class_prior: Any = None, n_draws: int = 2000
    ) -> FloatArray:
        """Return intervals for P(class | x).

        An interval holds ``level`` of what the candidates say, each as often as it counts, over
        the slope and lapses of each and over its own parameters; the mean is `predict_proba`.

        Parameters
        ----------
        X : table of shape (n, p)
            Rows to predict.
        level : float, default=0.9
            Probability that the interval holds.
        class_prior : array-like of shape (n_classes,), optional
            Prevalences where the model is used.
        n_draws : int, default=2000
            Draws for each of two classes over all candidates, or half of those of all classes.

        Returns
        -------
        ndarray of shape (n, 2), or (n, n_classes, 2) for more than two classes
            Lower and upper bounds, for two classes those of ``classes_[1]``.
        """
        check_is_fitted(self)
        check_level_and_draws(level, n_draws)
        found = [
            self._intervals(self._read(some), level, class_prior, n_draws)
            for some in row_batches(X)
        ]
        return found[0] if len(found) == 1 else np.concatenate(found)

    def _intervals(self, views: Views, level: float, class_prior: Any, n_draws: int) -> FloatArray:
        """Return intervals for a table that was read."""
        target = np.exp(self._log_proba(views, class_prior))
        given = self._given_log_prior(class_prior)
        result = np.repeat(target[:, :, None], 2, axis=2)
        modelled = np.flatnonzero(self._modelled)
        weights, n_cases = self._class_weights[modelled], int(self.class_count_.sum())
        total = sum(member.weight for member in self._members)
        per_class = draws_per_class(n_draws, weights.size)

        def draws(rows: slice) -> list[tuple[float, Any]]:
            shares = [member.weight / total for member in self._members]
            return [
                (
                    share,
                    member.draws(
                        rows_of(views.of(member.as_numbers), rows),
                        weights,
                        n_cases,
                        max(_LEAST_DRAWS // weights.size, int(per_class * share), 1),
                    ),
                )
                for member, share in zip(self._members, shares, strict=True)
            ]

        if self._members:
            whole = target[:, modelled].sum(axis=1, keepdims=True)
            with warnings.catch_warnings():  # all was said by `_log_proba`
                warnings.simplefilter("ignore")
                bounds = intervals_of_mixture(
                    draws,
                    target[:, modelled] / whole,
                    weights / weights.sum(),
                    None if given is None else np.exp(given[modelled]),
                    n_draws,
                    level,
                )
            if bounds.shape[1] == 1:
                bounds = np.concatenate([1 - bounds[:, :, ::-1], bounds], axis=1)
            result[:, modelled] = bounds * whole[:, :, None]
        return result[:, 1] if self.classes_.size == 2 else result

    def _read(self, X: Any) -> Views:
        X = as_table(X, may_be_empty=self.n_features_in_ == 0)
        self._columns_in(X)
        plain = self._numbers.plain(X, self._describe)
        if hasattr(plain, "blocks"):  # a source: what any model looks at is read once
            plain = ReadAhead(plain)
            plain.read_ahead(np.searchsorted(self._numbers.varying(), self.kept_columns()))
        return self._views(plain)


_MOST_MEMBERS = 1000
_LARGEST_WEIGHT = 100.0
_HEAD: dict[str, Field] = {
    "classes": ClassLabels(),
    "feature_names": Texts(),
    "left_out": Texts(),
}


class CandidateNames(Parameter):
    """The word "auto", or a list of names."""

    def write(self, name: str, value: Any) -> Plain:
        """Return the value as JSON holds it."""
        return {name: value if isinstance(value, str) else list(value)}, {}


class SavedAverage(SavedEstimator):
    """Base of the average, for its files and its copies."""

    _parameter_fields: ClassVar[dict[str, Field]] = {"candidates": CandidateNames()}

    classes_: AnyArray
    class_count_: AnyArray
    n_features_in_: int
    restriction_cost_: float | None
    _left_out: tuple[str, ...]
    held_out_log_score_: float
    model_table_: ModelTable
    _class_weights: FloatArray
    _modelled: BoolArray
    _members: tuple[AverageMember, ...]
    _numbers: Numbers

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file of plain data, whole or not at all.

        Parameters
        ----------
        path : path-like
            Any name; ``.honestbayes`` is the usual suffix. `honestbayes.load` reads it.
        """
        check_is_fitted(self)
        if not all(isinstance(member.model, SelectiveClassifier) for member in self._members):
            msg = "an average of classifiers that are not ours cannot be saved; pickle works."
            raise TypeError(msg)
        super().save(path)

    def _fitted_to_plain(self) -> Plain:
        names = getattr(self, "feature_names_in_", None)
        head = joined(
            _HEAD["classes"].write("classes", self.classes_),
            _HEAD["feature_names"].write(
                "feature_names", None if names is None else tuple(map(str, names))
            ),
            _HEAD["left_out"].write("left_out", self._left_out),
        )
        content = {
            "n_features_in": int(self.n_features_in_),
            "restriction_cost": self.restriction_cost_,
            "log_score": None if np.isnan(self.held_out_log_score_) else self.held_out_log_score_,
            "members": [type(member.model)._kind for member in self._members],
        }
        arrays = {"class_count": self.class_count_, "class_weights": self._class_weights}
        sections = {
            f"member{place}": joined(
                (
                    {
                        "name": member.name,
                        "as_numbers": member.as_numbers,
                        "weight": member.weight,
                    },
                    {"columns": member.columns},
                ),
                recalibration=record_to_plain(member.recalibration),
                model=member.model._to_plain(),
            )
            for place, member in enumerate(self._members)
        }
        return joined(
            head,
            (content, arrays),
            numbers=self._numbers.to_plain(),
            tried=record_to_plain(self.model_table_),
            **sections,
        )

    @classmethod
    def _fitted_from_plain(cls, entries: Entries) -> Known:
        n_features = int(entries.number("n_features_in", 0, 2**53))
        count = entries.counts("class_count", (None,), 2**53)
        n_classes = count.size
        entries.check(n_classes >= 2, "class_count", "is not one of two or more classes")
        known: Known = {"n_features_in": n_features, "n_classes": n_classes, "class_count": count}
        known["classes"] = _HEAD["classes"].read(entries, "classes", {"n_classes": n_classes})
        known["feature_names"] = _HEAD["feature_names"].read(entries, "feature_names", {})
        check_column_names(entries, known["feature_names"], n_features)
        known["class_weights"] = entries.finite("class_weights", (n_classes,), 0.0, 1e15)
        weighed = bool(np.all(known["class_weights"] > count)) and int(np.sum(count > 1)) >= 2
        entries.check(weighed, "class_weights", "are not those of the classes")
        known["restriction_cost"] = entries.optional_number("restriction_cost")
        known["left_out"] = _HEAD["left_out"].read(entries, "left_out", {})
        score = entries.optional_number("log_score")
        known["log_score"] = np.nan if score is None else score
        known["numbers"] = Section(kind=Numbers).read(entries, "numbers", known)
        known["table"] = Section(kind=ModelTable).read(entries, "tried", {})
        kinds = entries.value("members")
        good = isinstance(kinds, list) and len(kinds) <= _MOST_MEMBERS
        entries.check(good, "members", "is not a list of models")
        known["members"] = [
            cls._member_from_plain(entries.section(f"member{place}"), kind, known)
            for place, kind in enumerate(kinds)
        ]
        return known

    @staticmethod
    def _member_from_plain(entries: Entries, kind: Any, known: Known) -> AverageMember:
        classes = {spec.kind: spec.estimator for spec, _ in candidate_specs()}
        entries.check(isinstance(kind, str) and kind in classes, "model", "is of no known kind")
        name = entries.one_of("name", [candidate.name for _, candidate in candidate_specs()])
        as_numbers = entries.flag("as_numbers")
        numbers = known["numbers"]
        width = numbers.sources().size if as_numbers else len(numbers.varying_kinds())
        columns = entries.counts("columns", (None,), max(width - 1, 0))
        recalibration = Section(kind=Recalibration).read(entries, "recalibration", {})
        weight = entries.number("weight", 0.0, _LARGEST_WEIGHT)
        section = entries.section("model")
        model = classes[kind]._from_plain(*section.plain())
        good = model.n_features_in_ == columns.size
        good = good and model.classes_.size == int(np.sum(known["class_count"] > 1))
        good = good and np.unique(columns).size == columns.size
        entries.check(good, "columns", "are not those of the model")
        own = getattr(model, "feature_names_in_", None)
        if own is not None:
            # Only columns that are handed on as they are keep their names.
            as_they_are = not as_numbers or not numbers.levels.values
            names = known["feature_names"] if as_they_are else None
            places = numbers.varying()[columns].tolist()
            named = names is not None and own.tolist() == [names[j] for j in places]
            entries.check(named, "model.feature_names", "are not those of the average's columns")
        entries.finish()
        return AverageMember(name, model, columns, as_numbers, recalibration, weight)

    @classmethod
    def _check_parameters(cls, parameters: Known, fitted: Known) -> None:
        check_prevalences(parameters["class_prior"], fitted["n_classes"])
        pseudocounts(parameters["class_pseudocounts"], fitted["n_classes"])
        cls(**parameters)._check_choices()

    def _check_choices(self) -> None:
        """Refuse words that mean nothing."""
        raise NotImplementedError

    def _hold(self, members: Sequence[AverageMember], table: ModelTable, log_score: float) -> None:
        """Hold what was fitted, and show it."""
        raise NotImplementedError

    def _load_fitted(self, fitted: Known) -> Self:
        self.n_features_in_ = fitted["n_features_in"]
        self._name_columns(fitted["feature_names"])
        self.classes_, self.class_count_ = fitted["classes"], fitted["class_count"]
        self._class_weights = fitted["class_weights"]
        self._modelled = np.asarray(self.class_count_ > 1)
        self.restriction_cost_ = fitted["restriction_cost"]
        self._left_out = fitted["left_out"] or ()
        self._numbers = fitted["numbers"]
        self.kinds_ = self._numbers.kinds
        self._hold(fitted["members"], fitted["table"], fitted["log_score"])
        return self

    def on_kept_columns(self) -> Self:
        """Return a fitted copy that takes the needed columns only.

        Returns
        -------
        estimator
            It takes the columns of `get_feature_names_out`, in this order; its probabilities are
            the same.
        """
        check_is_fitted(self)
        kept: IntArray = self.kept_columns()
        names = getattr(self, "feature_names_in_", None)
        numbers, place = self._numbers.take(kept)
        in_table = np.full(self.n_features_in_, -1)
        in_table[kept] = np.arange(kept.size)
        in_table = in_table[self._numbers.varying()]
        members = [
            AverageMember(
                member.name,
                member.model,
                (place if member.as_numbers else in_table)[member.columns],
                member.as_numbers,
                member.recalibration,
                member.weight,
            )
            for member in self._members
        ]
        copy: Self = clone(self)
        copy.set_params(kinds=None, always_keep=None)
        return copy._load_fitted(
            {
                "n_features_in": int(kept.size),
                "feature_names": None if names is None else tuple(map(str, names[kept])),
                "classes": self.classes_,
                "class_count": self.class_count_,
                "class_weights": self._class_weights,
                "restriction_cost": self.restriction_cost_,
                "left_out": self._left_out,
                "numbers": numbers,
                "members": members,
                "table": self.model_table_,
                "log_score": self.held_out_log_score_,
            }
        )
