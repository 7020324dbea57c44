"""An average in files: how columns become numbers, and its models, each as it saves itself."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from honestbayes.files.entries import Entries, Plain, joined
from honestbayes.files.fields import ClassLabels, Field, Known, Texts, check_column_names
from honestbayes.files.records import Section, record_to_plain
from honestbayes.models.honest.candidates import OFFERS
from honestbayes.models.honest.members import Member
from honestbayes.models.honest.numbers import Numbers
from honestbayes.models.honest.tried import ModelTable
from honestbayes.models.shared.estimator import SelectiveClassifier
from honestbayes.models.shared.layer import Layer
from honestbayes.models.shared.parameter_fields import Parameter
from honestbayes.models.shared.parameters import check_prevalences, pseudocounts
from honestbayes.models.shared.saving import SavedEstimator
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

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
    _members: tuple[Member, ...]
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
        )
        content = {
            "n_features_in": int(self.n_features_in_),
            "restriction_cost": self.restriction_cost_,
            "log_score": None if np.isnan(self.held_out_log_score_) else self.held_out_log_score_,
            "members": [type(member.model)._kind for member in self._members],
        }
        arrays = {"class_count": self.class_count_, "class_weights": self._class_weights}
        more = [_HEAD["left_out"].write("left_out", self._left_out)] if self._left_out else []
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
                layer=record_to_plain(member.layer),
                model=member.model._to_plain(),
            )
            for place, member in enumerate(self._members)
        }
        return joined(
            head,
            (content, arrays),
            *more,
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
        has_left_out = _HEAD["left_out"].is_in(entries, "left_out")
        known["left_out"] = _HEAD["left_out"].read(entries, "left_out", {}) if has_left_out else ()
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
    def _member_from_plain(entries: Entries, kind: Any, known: Known) -> Member:
        classes = {offer.estimator._kind: offer.estimator for offer in OFFERS}
        entries.check(isinstance(kind, str) and kind in classes, "model", "is of no known kind")
        name = entries.one_of("name", [offer.name for offer in OFFERS])
        as_numbers = entries.flag("as_numbers")
        numbers = known["numbers"]
        width = numbers.sources().size if as_numbers else len(numbers.varying_kinds())
        columns = entries.counts("columns", (None,), max(width - 1, 0))
        layer = Section(kind=Layer).read(entries, "layer", {})
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
        return Member(name, model, columns, as_numbers, layer, weight)

    @classmethod
    def _check_parameters(cls, parameters: Known, fitted: Known) -> None:
        check_prevalences(parameters["class_prior"], fitted["n_classes"])
        pseudocounts(parameters["class_pseudocounts"], fitted["n_classes"])
        cls(**parameters)._check_choices()

    def _check_choices(self) -> None:
        """Refuse words that mean nothing."""
        raise NotImplementedError

    def _hold(self, members: Sequence[Member], table: ModelTable, log_score: float) -> None:
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
            Member(
                member.name,
                member.model,
                (place if member.as_numbers else in_table)[member.columns],
                member.as_numbers,
                member.layer,
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
