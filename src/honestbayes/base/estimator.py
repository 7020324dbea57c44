"""What the estimators of all kinds of features share: fitting parts, the slope, prediction."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from itertools import pairwise
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from honestbayes.base.explanation import Described, Explained, contributions
from honestbayes.base.intervals import probability_intervals
from honestbayes.base.parameters import (
    check_level_and_draws,
    check_prevalences,
    check_recalibrate,
    group_codes,
    pseudocounts,
    refuse_arguments,
)
from honestbayes.base.part import (
    FittedPart,
    TrainingLabels,
    TrainingPart,
    choose_number,
    learn_recalibrations,
)
from honestbayes.base.persistence import SavedParts
from honestbayes.base.recalibration import NumberChoice, Recalibration, seed_of_folds
from honestbayes.data import check_as_many, encode_classes, encode_labels
from honestbayes.data.kinds import as_table, columns_of
from honestbayes.data.labels import VERY_MANY
from honestbayes.data.source import row_batches
from honestbayes.files.fields import (
    Known,
)
from honestbayes.types import AnyArray, FloatArray, IntArray

# --------------------------------------------------------------------------------------------------
# What every classifier says once it knows log probabilities
# --------------------------------------------------------------------------------------------------


class FromLogProbabilities:
    """Base of classifiers that have `predict_log_proba`."""

    classes_: AnyArray
    class_prior: Any

    def predict_log_proba(self, X: Any, *, class_prior: Any = None) -> FloatArray:
        """Return log P(class | x), shape (n, n_classes)."""
        raise NotImplementedError

    def predict_proba(self, X: Any, *, class_prior: Any = None) -> FloatArray:
        """Return P(class | x), shape (n, n_classes)."""
        log_proba = self.predict_log_proba(X, class_prior=class_prior)
        return np.asarray(np.exp(log_proba, out=log_proba))

    def predict(self, X: Any) -> AnyArray:
        """Return the most probable class of each row."""
        log_proba = self.predict_log_proba(X)
        result: AnyArray = self.classes_[np.argmax(log_proba, axis=1)]
        return result

    def _given_log_prior(self, class_prior: Any) -> FloatArray | None:
        """Return the logs of given prevalences, or None where the training data's hold."""
        given = self.class_prior if class_prior is None else class_prior
        return check_prevalences(given, self.classes_.size)


class SelectiveClassifier(ClassifierMixin, FromLogProbabilities, Explained, SavedParts):
    """Base of the estimators whose features come in parts of one kind each.

    A subclass says which labels it takes (`_encode`), which parts a training table has
    (`_training_parts`), where the columns of each stand (`_part_columns`), what is chosen on
    held-out cases (`_choose`), and stores what it wants to show of the fitted ones (`_store`).
    """

    n_features_to_select: Any
    threshold: Any
    always_keep: Any
    random_state: Any
    correction_: Any
    class_pseudocounts: Any
    class_prior: Any
    recalibrate: Any

    # ------------------------------------------------------------- for subclasses

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

    def _coded(self, X: Any) -> Any:
        """Return a table as the parts read it; by default as it is."""
        return X

    def _choose(
        self, training: Sequence[TrainingPart], labels: TrainingLabels
    ) -> tuple[Sequence[TrainingPart], NumberChoice | None, Recalibration | None]:
        """Choose on held-out cases what is to be chosen before the fit: the number of features.

        Returns
        -------
        training : sequence of TrainingPart
            The parts as they are to be fitted.
        choice : NumberChoice or None
            The numbers of features that were tried.
        layer : Recalibration or None
            How evidence becomes a probability, where the same held-out cases have told it.
        """
        if not self._number_is_to_be_chosen:
            return training, None, None
        choice = choose_number(self.recalibrate, training, labels)
        chosen = [part.keeping(min(choice.chosen, part.n_candidates)) for part in training]
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
            Cases of one group (one patient, say) are held out together where the slope is learned
            or the number of features chosen.
        **refused
            ``sample_weight`` is refused: the correction needs whole cases. For a different
            prevalence use ``class_prior``.
        """
        refuse_arguments(refused)
        training, labels = self._prepared(X, y, groups)
        training, choice, recalibration = self._choose(training, labels)
        parts = [part.fit() for part in training]
        # Held before the layer is learned: an interruption leaves a model.
        self._hold(parts, labels.classes, labels.log_prior(), recalibration, choice)
        if recalibration is None:
            self._recalibrated(*learn_recalibrations(self.recalibrate, training, parts, labels))
        return self

    def _fit_numbers(
        self, X: Any, y: Any, numbers: Sequence[int], *, groups: Any = None
    ) -> list[Self]:
        """Return a fitted copy for each number of features, of a model that runs no chains.

        The same as setting `n_features_to_select` to each and fitting, only that tables and folds
        are screened once for all of them.

        Parameters
        ----------
        X, y, groups
            As in `fit`.
        numbers : sequence of int
            Features that are kept, of each kind where there are kinds, or all where there are
            fewer. A threshold of the estimator is left aside.
        """
        first = clone(self).set_params(n_features_to_select=max(numbers), threshold=None)
        training, labels = first._prepared(X, y, groups)
        by_part = [
            part.fit_numbers([min(number, part.n_candidates) for number in numbers])
            for part in training
        ]
        recalibrations = learn_recalibrations(self.recalibrate, training, by_part, labels, numbers)
        result = []
        for number, recalibration, *parts in zip(numbers, recalibrations, *by_part, strict=True):
            one = copy(first).set_params(n_features_to_select=number)
            result.append(one._hold(parts, labels.classes, labels.log_prior(), recalibration))
        return result

    def _prepared(
        self, X: Any, y: Any, groups: Any
    ) -> tuple[Sequence[TrainingPart], TrainingLabels]:
        """Check a training table, and return its parts and labels."""
        X = as_table(X)
        classes, codes = self._encode(y)
        check_as_many(X.shape[0], codes.size)
        check_prevalences(self.class_prior, classes.size)
        check_recalibrate(self.recalibrate)
        weights = self._class_pseudocounts(classes.size)
        grouped, seed = group_codes(groups, codes.size), seed_of_folds(self.random_state)
        labels = TrainingLabels(classes, codes, grouped, weights, seed)
        validate_data(self, X, skip_check_array=True)
        if hasattr(X, "blocks"):  # a source, whose names scikit-learn does not find
            self._name_columns(X.feature_names)
        return self._training_parts(X, labels), labels

    @property
    def _number_is_to_be_chosen(self) -> bool:
        return isinstance(self.n_features_to_select, str) and self.n_features_to_select == "cv"

    def _hold(
        self,
        parts: Sequence[FittedPart],
        classes: AnyArray,
        log_prior: FloatArray,
        recalibration: Recalibration | None = None,
        choice: NumberChoice | None = None,
        *,
        kept_columns_only: bool = False,
    ) -> Self:
        """Hold what was fitted, and show it."""
        self._parts = tuple(parts)
        self._class_log_prior = log_prior
        self._kept_columns_only = kept_columns_only
        self.classes_ = classes
        self.class_count_ = np.array(parts[0].selection.class_counts)
        self.number_choice_ = choice
        self._recalibrated(
            Recalibration.plugged_in(1.0) if recalibration is None else recalibration
        )
        self._store(parts)
        return self

    @property
    def _log_prior(self) -> FloatArray:
        """Log class probabilities before features are seen, up to a constant, shape (C,).

        Those of the training rows, unless a model has its own.
        """
        return self._class_log_prior

    def _recalibrated(self, recalibration: Recalibration) -> None:
        """Hold how evidence becomes a probability, and show it."""
        self._recalibration = recalibration
        self.slope_ = recalibration.mean_slope()
        self.outlier_rate_ = recalibration.mean_outlier_rate()

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
        check_is_fitted(self)
        given = self._given_log_prior(class_prior)
        result = []
        for some in row_batches(X):
            n_rows, values = self._read(some)
            total = np.zeros((n_rows, self.classes_.size))
            for part, part_values in values:
                total += part.log_likelihood(part_values)
            result.append(self._recalibration.log_proba(total, self._log_prior, given))
        return result[0] if len(result) == 1 else np.concatenate(result)

    def predict_proba_interval(
        self, X: Any, level: float = 0.9, *, class_prior: Any = None, n_draws: int = 2000
    ) -> FloatArray:
        """Return intervals for P(class | x).

        An interval holds ``level`` of the distribution of P(class | x, parameters) given the
        training data and x itself, and of the slope and lapses of the layer; the mean of that
        distribution is `predict_proba`. With one slope plugged in, each draw's evidence is
        multiplied by it, and the mean is `predict_proba` only roughly.

        Parameters
        ----------
        X : table of shape (n, p)
            Rows to predict.
        level : float, default=0.9
            Probability that the interval holds.
        class_prior : array-like of shape (n_classes,), optional
            Prevalences where the model is used.
        n_draws : int, default=2000
            Draws of the parameters for each of two classes, or half of those of all classes, at
            least 100 each; from a fixed seed, so that the same row always has the same interval.

        Returns
        -------
        ndarray of shape (n, 2), or (n, n_classes, 2) for more than two classes
            Lower and upper bounds, for two classes those of ``classes_[1]``.
        """
        check_level_and_draws(level, n_draws)
        n_rows, values = self._read(X)
        given = self._given_log_prior(class_prior)
        n_classes = self.classes_.size
        weights = self._frequency_weights()
        result = probability_intervals(
            values, n_rows, weights, given, self._recalibration, n_draws, level
        )
        return result if n_classes > 2 else result[:, 0]

    def contributions(self, X: Any) -> FloatArray:
        """Return what each kept cell adds to the log-odds of its row: with it, less without it.

        A cell is left out as a missing one is. Cells of features that repeat each other add little
        each, so rows need not add up to the log-odds.

        Parameters
        ----------
        X : table of shape (n, p)
            Rows.

        Returns
        -------
        ndarray of shape (n, k), or (n, k, n_classes) for more than two classes
            In the order of `get_feature_names_out`: log-odds of ``classes_[1]``; for more classes
            log probabilities of each.
        """
        check_is_fitted(self)
        X = as_table(X, may_be_empty=self.n_features_in_ == 0)
        return contributions(self, X, self.kept_columns())

    def _frequency_weights(self) -> FloatArray:
        """Return the Dirichlet posterior of the class frequencies, for intervals."""
        return np.asarray(self.class_count_ + self._class_pseudocounts(self.classes_.size))

    def _read(self, X: Any) -> tuple[int, list[tuple[Any, Any]]]:
        """Return the number of rows, and each part that kept any columns with their values."""
        check_is_fitted(self)
        X = as_table(X, may_be_empty=self.n_features_in_ == 0)
        values: list[tuple[Any, Any]] = []
        if X.shape[1]:
            names = self.get_feature_names_out()
            first, kept = 0, self._columns_in(X)
            X = self._coded(X)
            for part, columns in zip(self._parts, kept, strict=True):
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
        names = self._names_of_columns()
        params, choices = {}, {name: getattr(self, name) for name in self._fitted_choices}
        if not self._kept_columns_only:
            names = None if names is None else tuple(map(str, self.get_feature_names_out()))
            params = self._parameters_on_kept_columns()
            choices |= self._choices_on_kept_columns()
        result: Self = clone(self).set_params(**params)
        result.n_features_in_ = sum(len(part.selection.columns) for part in self._parts)
        result._name_columns(names)
        for name, value in choices.items():
            setattr(result, name, value)
        return result._hold(
            self._parts,
            self.classes_,
            self._class_log_prior,
            self._recalibration,
            self.number_choice_,
            kept_columns_only=True,
        )

    def _choices_on_kept_columns(self) -> dict[str, Any]:
        """Return fitted choices that name columns, for the kept ones only."""
        return {}

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

    def _load_fitted(self, fitted: Known) -> Self:
        self.n_features_in_ = fitted["n_features_in"]
        self._name_columns(fitted["feature_names"])
        for name in self._fitted_choices:
            setattr(self, name, fitted[name])
        return self._hold(
            fitted["parts"],
            fitted["classes"],
            fitted["log_prior"],
            fitted["recalibration"],
            fitted["number_choice"],
            kept_columns_only=fitted["kept_columns_only"],
        )


class TwoClassNaiveBayes(SelectiveClassifier):
    """Base of estimators of binary features in two classes."""

    def __sklearn_tags__(self) -> Any:
        """Declare what inputs are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.classifier_tags.multi_class = False
        return tags

    def _encode(self, y: Any) -> tuple[AnyArray, IntArray]:
        classes, is_class_1 = encode_classes(y)
        return classes, is_class_1.astype(np.int64 if is_class_1.size <= VERY_MANY else np.int8)

    def predict(self, X: Any) -> AnyArray:
        """Return the more probable class of each row, the second where both are."""
        log_proba = self.predict_log_proba(X)
        result: AnyArray = self.classes_[(log_proba[:, 1] >= log_proba[:, 0]).astype(int)]
        return result
