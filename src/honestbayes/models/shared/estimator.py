"""What the estimators of all kinds of features share: fitting parts, the slope, prediction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import log_softmax
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from honestbayes.files.entries import Entries, Plain, joined
from honestbayes.files.fields import (
    CLOSE,
    MOST_CLASSES,
    ClassLabels,
    Field,
    Flag,
    Known,
    Number,
    Texts,
)
from honestbayes.files.records import (
    MaybeSection,
    Section,
    record_from_plain,
    record_to_plain,
    values_from_plain,
    values_to_plain,
)
from honestbayes.models.shared.intervals import probability_intervals
from honestbayes.models.shared.kept_columns import Described, KeptColumns
from honestbayes.models.shared.number import NumberChoice
from honestbayes.models.shared.parameters import (
    check_level_and_draws,
    check_prevalences,
    check_recalibrate,
    group_codes,
    pseudocounts,
    refuse_arguments,
)
from honestbayes.models.shared.parts import (
    FittedPart,
    TrainingLabels,
    TrainingPart,
    choose_number,
    learn_slope,
)
from honestbayes.models.shared.saving import SavedEstimator, check_number
from honestbayes.models.shared.slope import SLOPES
from honestbayes.selection import Selection
from honestbayes.sources import check_as_many, encode_labels
from honestbayes.sources.columns import as_table
from honestbayes.sources.kinds import KINDS, columns_of
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray


class SelectiveNaiveBayes(ClassifierMixin, KeptColumns, SavedEstimator):
    """Base of the estimators whose features come in parts of one kind each.

    A subclass says which labels it takes (`_encode`), which parts a training table has
    (`_training_parts`), where the columns of each stand (`_part_columns`), what is chosen on
    held-out cases (`_choose`), and stores what it wants to show of the fitted ones (`_store`).
    """

    _part_classes: ClassVar[Mapping[str, type]]
    """Classes of fitted parts, by what files call them."""

    _fitted_words: ClassVar[Mapping[str, Field]]
    """Attributes that say what became of the constructor's words, and how they stand in files."""

    n_features_to_select: Any
    class_pseudocounts: Any
    class_prior: Any
    recalibrate: Any

    # ------------------------------------------------------------- for subclasses

    @classmethod
    def _settings_of(cls, words: Mapping[str, Any], always_keep: BoolArray) -> Any:
        """Turn the constructor's words into settings, or say what is wrong with them."""
        raise NotImplementedError

    def _encode(self, y: Any) -> tuple[AnyArray, IntArray]:
        """Return the class labels and the class of each row; by default of any two or more."""
        return encode_labels(y)

    def _class_pseudocounts(self, n_classes: int) -> FloatArray:
        """Return the Dirichlet prior of the class frequencies."""
        return pseudocounts(self.class_pseudocounts, n_classes)

    def _training_parts(self, X: Any, labels: TrainingLabels) -> Sequence[TrainingPart]:
        """Return the parts of a training table."""
        raise NotImplementedError

    def _part_columns(self) -> Sequence[IntArray]:
        """Return the table's columns of each part; by default one part has them all."""
        return [np.arange(self.n_features_in_)]

    def _choose(
        self, training: Sequence[TrainingPart], labels: TrainingLabels
    ) -> tuple[Sequence[TrainingPart], NumberChoice | None, float | None]:
        """Choose on held-out cases what is to be chosen before the fit: the number of features.

        Returns
        -------
        training : sequence of TrainingPart
            The parts as they are to be fitted.
        choice : NumberChoice or None
            The numbers of features that were tried.
        slope : float or None
            The factor on the evidence, where the same held-out cases have told it.
        """
        if not self._number_is_to_be_chosen:
            return training, None, None
        choice = choose_number(training, labels, recalibrate=self.recalibrate == "slope")
        chosen = [part.keeping(min(choice.chosen, part.n_racing)) for part in training]
        return chosen, choice, None

    def _store(self, parts: Sequence[FittedPart]) -> None:
        """Show what was fitted as attributes."""
        raise NotImplementedError

    # ------------------------------------------------------------------ fitting

    def fit(self, X: Any, y: Any, *, groups: Any = None, **refused: Any) -> Self:
        """Select features and fit.

        Parameters
        ----------
        X : table of shape (n, p)
            Training rows; NaN and None are missing.
        y : array-like of shape (n,)
            Class labels of two or more kinds.
        groups : array-like of shape (n,), optional
            Cases of one group (one patient, say) are held out together where the slope is learnt
            or the number of features chosen.
        **refused
            ``sample_weight`` is refused: the correction needs whole cases. For a different
            prevalence use ``class_prior``.
        """
        refuse_arguments(refused)
        X = as_table(X)
        classes, codes = self._encode(y)
        check_as_many(X.shape[0], codes.size)
        check_prevalences(self.class_prior, classes.size)
        check_recalibrate(self.recalibrate)
        weights = self._class_pseudocounts(classes.size)
        labels = TrainingLabels(classes, codes, group_codes(groups, codes.size), weights)
        validate_data(self, X, skip_check_array=True)
        training = self._training_parts(X, labels)
        training, choice, slope = self._choose(training, labels)
        parts = [part.fit() for part in training]
        self._hold(parts, classes, labels.log_prior(), 1.0 if slope is None else slope, choice)
        if self.recalibrate == "slope" and slope is None:
            self.slope_ = learn_slope(training, parts, labels)
        return self

    @property
    def _number_is_to_be_chosen(self) -> bool:
        return isinstance(self.n_features_to_select, str) and self.n_features_to_select == "cv"

    def _hold(
        self,
        parts: Sequence[FittedPart],
        classes: AnyArray,
        log_prior: FloatArray,
        slope: float = 1.0,
        choice: NumberChoice | None = None,
        *,
        kept_columns_only: bool = False,
    ) -> Self:
        """Hold what was fitted, and show it."""
        self._parts: tuple[FittedPart, ...] = tuple(parts)
        self._log_prior = log_prior
        self._kept_columns_only = kept_columns_only
        self.classes_ = classes
        self.class_count_ = np.array(parts[0].selection.class_counts)
        self.number_choice_ = choice
        self.slope_ = slope
        self._store(parts)
        return self

    # --------------------------------------------------------------- prediction

    def predict_log_proba(self, X: Any, *, class_prior: Any = None) -> FloatArray:
        """Return log P(class | x), shape (n, n_classes), without underflow.

        Parameters
        ----------
        X : table of shape (n, p)
            Rows to predict; missing cells are integrated out.
        class_prior : array-like of shape (n_classes,), optional
            Prevalences where the model is used.
        """
        n_rows, values = self._read(X)
        log_prior = self._given_log_prior(class_prior)
        if log_prior is None:
            log_prior = self._log_prior
        total = np.zeros((n_rows, self.classes_.size))
        for part, part_values in values:
            total += part.log_likelihood(part_values)
        return np.asarray(log_softmax(log_prior + self.slope_ * total, axis=1))

    def predict_proba(self, X: Any, *, class_prior: Any = None) -> FloatArray:
        """Return P(class | x), shape (n, n_classes)."""
        return np.asarray(np.exp(self.predict_log_proba(X, class_prior=class_prior)))

    def predict(self, X: Any) -> AnyArray:
        """Return the most probable class of each row."""
        log_proba = self.predict_log_proba(X)
        result: AnyArray = self.classes_[np.argmax(log_proba, axis=1)]
        return result

    def predict_proba_interval(
        self, X: Any, level: float = 0.9, *, class_prior: Any = None, n_draws: int = 2000
    ) -> FloatArray:
        """Return intervals for P(class | x).

        An interval holds ``level`` of the distribution of P(class | x, parameters) given the
        training data and x itself; the mean of that distribution is `predict_proba`. With a slope
        each draw's evidence is multiplied by it, and the mean is `predict_proba` only roughly.

        Parameters
        ----------
        X : table of shape (n, p)
            Rows to predict.
        level : float, default=0.9
            Probability that the interval holds.
        class_prior : array-like of shape (n_classes,), optional
            Prevalences where the model is used.
        n_draws : int, default=2000
            Draws of the parameters for each class; from a fixed seed, so that the same row always
            has the same interval.

        Returns
        -------
        ndarray of shape (n, 2), or (n, n_classes, 2) for more than two classes
            Lower and upper bounds, for two classes those of ``classes_[1]``.
        """
        check_level_and_draws(level, n_draws)
        n_rows, values = self._read(X)
        log_prior = self._given_log_prior(class_prior)
        n_classes = self.classes_.size
        weights = self.class_count_ + self._class_pseudocounts(n_classes)
        result = probability_intervals(
            values, n_rows, weights, log_prior, self.slope_, n_draws, level
        )
        return result if n_classes > 2 else result[:, 0]

    def _given_log_prior(self, class_prior: Any) -> FloatArray | None:
        """Return the logs of given prevalences, or None where the training data's hold."""
        given = self.class_prior if class_prior is None else class_prior
        return check_prevalences(given, self.classes_.size)

    def _read(self, X: Any) -> tuple[int, list[tuple[Any, Any]]]:
        """Return the number of rows, and each part that kept any columns with their values."""
        check_is_fitted(self)
        X = as_table(X, may_be_empty=self.n_features_in_ == 0)
        values: list[tuple[Any, Any]] = []
        if X.shape[1]:
            names = self.get_feature_names_out()
            first = 0
            for part, columns in zip(self._parts, self._columns_in(X), strict=True):
                if columns.size:
                    describe = Described(names[first : first + columns.size])
                    values.append((part, part.read(columns_of(X, columns), describe)))
                first += columns.size
        return X.shape[0], values

    def _kept_columns(self) -> list[IntArray]:
        """Return the table's columns that each part kept."""
        if self._kept_columns_only:
            ends = np.cumsum([0, *(len(part.selection.columns) for part in self._parts)])
            return [np.arange(*pair) for pair in pairwise(ends.tolist())]
        return [
            columns[np.array(part.selection.columns, dtype=np.int64)]
            for part, columns in zip(self._parts, self._part_columns(), strict=True)
        ]

    # ------------------------------------------------------------- copies and files

    def on_kept_columns(self) -> Self:
        """Return a fitted copy that takes the kept columns only.

        Returns
        -------
        estimator
            It takes the columns of `get_feature_names_out`, in this order; its probabilities are
            the same. It holds nothing of the size of the whole table, so parameters that name
            columns become those of the kept ones.
        """
        check_is_fitted(self)
        copy: Self = clone(self)
        fitted: Known = {
            "parts": self._parts,
            "classes": self.classes_,
            "log_prior": self._log_prior,
            "slope": self.slope_,
            "number_choice": self.number_choice_,
            "kept_columns_only": True,
            "n_features_in": self.n_features_in_,
            "feature_names": self._names_of_columns(),
            **{name: getattr(self, name) for name in self._fitted_words},
        }
        if not self._kept_columns_only:
            names = fitted["feature_names"]
            fitted["n_features_in"] = sum(len(part.selection.columns) for part in self._parts)
            if names is not None:
                fitted["feature_names"] = tuple(map(str, self.get_feature_names_out()))
            copy.set_params(**self._parameters_on_kept_columns())
        return copy._load_fitted(fitted)

    def _parameters_on_kept_columns(self) -> dict[str, Any]:
        """Return parameters that name columns, in the numbers of the kept ones."""
        by_design, first = [], 0
        for part in self._parts:
            k, width = len(part.selection.kept), len(part.selection.columns)
            by_design += list(range(first + k, first + width))
            first += width
        given = self.get_params(deep=False)["always_keep"]
        if given is None or np.asarray(given).dtype.kind not in "biuf":
            return {}
        return {"always_keep": by_design}

    def _names_of_columns(self) -> tuple[str, ...] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else tuple(map(str, names))

    def _load_fitted(self, fitted: Known) -> Self:
        self.n_features_in_ = fitted["n_features_in"]
        self._name_columns(fitted["feature_names"])
        for name in self._fitted_words:
            setattr(self, name, fitted[name])
        return self._hold(
            fitted["parts"],
            fitted["classes"],
            fitted["log_prior"],
            fitted["slope"],
            fitted["number_choice"],
            kept_columns_only=fitted["kept_columns_only"],
        )

    def _fitted_to_plain(self) -> Plain:
        words = values_to_plain(self._fitted_words, lambda name: getattr(self, name))
        head: Known = {
            "classes": self.classes_,
            "slope": self.slope_,
            "kept_columns_only": self._kept_columns_only,
            "feature_names": self._names_of_columns(),
            "number_choice": self.number_choice_,
        }
        return joined(values_to_plain(_HEAD, head.__getitem__), words, self._parts_to_plain())

    @classmethod
    def _fitted_from_plain(cls, entries: Entries) -> Known:
        known: Known = {}
        known["kept_columns_only"] = entries.flag("kept_columns_only")
        known |= cls._parts_from_plain(entries, known)
        selections = [part.selection for part in known["parts"]]
        known["width"] = sum(selection.n_features_in for selection in selections)
        kept = sum(len(selection.columns) for selection in selections)
        known["n_features_in"] = kept if known["kept_columns_only"] else known["width"]
        for name in ("number_choice", "feature_names", "slope"):
            known[name] = _HEAD[name].read(entries, name, {})
        names = known["feature_names"]
        named = names is None or len(names) == known["n_features_in"]
        entries.check(named, "feature_names", "does not name every column")
        return known

    def _parts_to_plain(self) -> Plain:
        """Return the parts, each in a section, and the prior of the classes."""
        kinds = {part_class: kind for kind, part_class in self._part_classes.items()}
        content = {
            "n_features_in": int(self.n_features_in_),
            "parts": [kinds[type(part)] for part in self._parts],
        }
        sections = {
            f"part{place}": joined(record_to_plain(part), selection=part.selection.to_plain())
            for place, part in enumerate(self._parts)
        }
        return joined((content, {"log_prior": self._log_prior}), **sections)

    @classmethod
    def _parts_from_plain(cls, entries: Entries, known: Known) -> Known:
        """Return parts, classes and their prior, and the fitted words."""
        kinds = entries.value("parts")
        good = isinstance(kinds, list) and 1 <= len(kinds) <= len(KINDS)
        good = good and all(isinstance(kind, str) and kind in cls._part_classes for kind in kinds)
        entries.check(good, "parts", f"are not those of {cls._kind}")
        log_prior = entries.finite("log_prior", (None,), -1e6, CLOSE)
        n_classes = log_prior.size
        good = 2 <= n_classes <= MOST_CLASSES
        entries.check(good, "log_prior", "is not one of two or more classes")
        good = abs(np.exp(log_prior).sum() - 1) <= CLOSE
        entries.check(good, "log_prior", "does not sum to 1")
        known = {**known, "n_classes": n_classes, "log_prior": log_prior, "part_names": kinds}
        known["classes"] = ClassLabels().read(entries, "classes", known)
        known["parts"] = tuple(
            cls._part_from_plain(kind, entries.section(f"part{place}"), known)
            for place, kind in enumerate(kinds)
        )
        counts = {part.selection.class_counts for part in known["parts"]}
        entries.check(len(counts) == 1, "parts", "have other numbers of cases")
        known["part_widths"] = [
            len(part.selection.columns)
            if known["kept_columns_only"]
            else part.selection.n_features_in
            for part in known["parts"]
        ]
        takes = entries.value("n_features_in")
        fits = type(takes) is int and takes == sum(known["part_widths"])
        entries.check(fits, "n_features_in", "does not fit the parts")
        return known | values_from_plain(cls._fitted_words, entries, known)

    @classmethod
    def _part_from_plain(cls, kind: str, entries: Entries, known: Known) -> FittedPart:
        selection = Section(kind=Selection).read(entries, "selection", {})
        fits = len(selection.class_counts) == known["n_classes"]
        entries.check(fits, "selection", "is one of other classes")
        known = {**known, "selection": selection, "n_columns": len(selection.columns)}
        part: FittedPart = record_from_plain(cls._part_classes[kind], entries, known)
        entries.finish()
        return part

    @classmethod
    def _check_words(cls, words: Known, fitted: Known) -> None:
        check_number(words, cls._most_features(fitted["width"]))
        number = words["n_features_to_select"]
        for value in list(number.values()) if isinstance(number, dict) else [number]:
            plain = None if type(value) in (int, float) else value
            cls._settings_of({**words, "n_features_to_select": plain}, np.zeros(0, dtype=bool))
        n_classes = fitted["classes"].size
        check_recalibrate(words["recalibrate"])
        check_prevalences(words["class_prior"], n_classes)
        pseudocounts(words["class_pseudocounts"], n_classes)

    @classmethod
    def _most_features(cls, width: int) -> int:
        """Return the largest number of features that may be asked for in a table of a width."""
        return width


_HEAD: dict[str, Field] = {
    "classes": ClassLabels(),
    "slope": Number(*SLOPES),
    "kept_columns_only": Flag(),
    "feature_names": Texts(),
    "number_choice": MaybeSection(kind=NumberChoice),
}
"""What files of all these estimators hold."""
