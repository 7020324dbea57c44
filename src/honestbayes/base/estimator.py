"""Base of the classifiers after feature selection: fitting parts, prediction, copies and files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import log_softmax
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from honestbayes.base.covariates import (
    CovariateCoding,
    CovariateModel,
    PriorDraws,
    warn_of_dependence,
)
from honestbayes.base.explanation import Contributions, Described, Explained, contributions
from honestbayes.base.intervals import (
    SEED,
    draws_per_class,
    probability_intervals,
)
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
    FoldMemo,
    TrainingLabels,
    TrainingPart,
    choose_number,
    learn_recalibrations,
)
from honestbayes.base.persistence import SavedEstimator, check_number
from honestbayes.base.recalibration import NumberChoice, Recalibration, seed_of_folds
from honestbayes.data import check_as_many, encode_classes, encode_labels
from honestbayes.data.kinds import KINDS, as_table, columns_of
from honestbayes.data.labels import VERY_MANY
from honestbayes.data.source import ColumnsOf, is_beyond_memory, row_batches
from honestbayes.files.errors import ModelFileError
from honestbayes.files.fields import (
    CLOSE,
    MOST_CLASSES,
    MOST_FEATURES,
    ClassLabels,
    Entries,
    Field,
    Flag,
    Known,
    MaybeSection,
    Plain,
    Section,
    Texts,
    Whole,
    check_column_names,
    joined,
    record_from_plain,
    record_to_plain,
    values_from_plain,
    values_to_plain,
)
from honestbayes.selection import Selection, parse_always_keep
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray


class FromLogProbabilities:
    """Base of classifiers that define `predict_log_proba`."""

    classes_: AnyArray
    class_prior: Any

    def predict_log_proba(self, X: Any, *, class_prior: Any = None) -> FloatArray:
        """Return log P(class | x), shape (n, n_classes)."""
        raise NotImplementedError

    def predict_proba(self, X: Any, *, class_prior: Any = None) -> FloatArray:
        """Return P(class | x), shape (n, n_classes)."""
        log_proba = self.predict_log_proba(X, class_prior=class_prior)
        return np.asarray(np.exp(log_proba, out=log_proba))

    def decision_function(self, X: Any) -> FloatArray:
        """Return the log-odds of ``classes_[1]``, shape (n,).

        With more than two classes it returns log P(class | x), shape (n, n_classes).

        Parameters
        ----------
        X : table of shape (n, p)
            Rows to predict.
        """
        log_proba = self.predict_log_proba(X)
        return log_proba[:, 1] - log_proba[:, 0] if self.classes_.size == 2 else log_proba

    def __call__(self, X: Any) -> FloatArray:
        """Return `decision_function`, for tools such as SHAP that explain functions."""
        return self.decision_function(X)

    def predict(self, X: Any) -> AnyArray:
        """Return the most probable class of each row."""
        log_proba = self.predict_log_proba(X)
        result: AnyArray = self.classes_[np.argmax(log_proba, axis=1)]
        return result

    def _given_log_prior(self, class_prior: Any) -> FloatArray | None:
        """Return the logs of given prevalences, or None where those of the training data hold."""
        given = self.class_prior if class_prior is None else class_prior
        return check_prevalences(given, self.classes_.size)


_HEAD: dict[str, Field] = {
    "classes": ClassLabels(),
    "recalibration": Section(kind=Recalibration),
    "kept_columns_only": Flag(),
    "feature_names": Texts(),
    "number_choice": MaybeSection(kind=NumberChoice),
    "n_features_in": Whole(0, MOST_FEATURES, "is not a possible number"),
}
"""Fields of the files of all these estimators, beside their parts."""

_COVARIATES = MaybeSection(kind=CovariateModel, absent=None)
"""Field of the covariates; files of models without any may not have it."""


class SelectiveClassifier(ClassifierMixin, FromLogProbabilities, Explained, SavedEstimator):
    """Base of the classifiers with one part for each kind of feature.

    A subclass defines which labels it takes (`_encode`), the parts of a training table
    (`_training_parts`), the columns of each (`_part_columns`), what is chosen on held-out cases
    (`_choose`), and which attributes the user sees (`_store`).
    """

    n_features_to_select: Any
    threshold: Any
    always_keep: Any
    covariates: Any = None
    random_state: Any
    class_pseudocounts: Any
    recalibrate: Any

    correction_: Any
    classes_: AnyArray
    number_choice_: NumberChoice | None
    _parts: tuple[FittedPart, ...]
    _class_log_prior: FloatArray
    _recalibration: Recalibration
    _covariate_model: CovariateModel | None = None
    _kept_columns_only: bool

    _part_classes: ClassVar[Mapping[str, type]]
    """Classes of fitted parts, by their names in files."""

    _fitted_choices: ClassVar[Mapping[str, Field]]
    """Attributes that hold what parameters such as "auto" became, and their fields in files."""

    # ------------------------------------------------------------- for subclasses

    def _encode(self, y: Any) -> tuple[AnyArray, IntArray]:
        """Return the class labels and the class of each row; by default two classes or more."""
        return encode_labels(y)

    def _class_pseudocounts(self, n_classes: int) -> FloatArray:
        """Return the Dirichlet prior of the class frequencies."""
        return pseudocounts(self.class_pseudocounts, n_classes)

    @classmethod
    def _settings_of(cls, parameters: Mapping[str, Any], always_keep: BoolArray) -> Any:
        """Turn the constructor's parameters into settings; raise an error where they are wrong."""
        raise NotImplementedError

    def _training_parts(self, X: Any, labels: TrainingLabels) -> Sequence[TrainingPart]:
        """Return the parts of a training table."""
        raise NotImplementedError

    def _part_columns(self) -> Sequence[IntArray]:
        """Return the table's columns of each part; by default one has all but the covariates."""
        return [np.flatnonzero(~self._covariate_mask())]

    def _features_of(self, X: Any) -> Any:
        """Return the columns of a training table that the parts are made from."""
        mask = self._covariate_mask()
        if not mask.any():
            return X
        some = ColumnsOf if is_beyond_memory(X) else columns_of
        return some(X, np.flatnonzero(~mask))

    def _covariate_mask(self) -> BoolArray:
        """Return which columns of the training table are covariates, shape (p,)."""
        return parse_always_keep(
            self.covariates, self._names_of_columns(), self.n_features_in_, "covariates"
        )

    def _always_kept(self, names: tuple[str, ...] | None, n_columns: int) -> BoolArray:
        """Return which features are kept by design: a mask of the columns that are no covariates.

        ``names`` and ``n_columns`` are those of these columns; indices and masks that the user
        gives are of the whole table.
        """
        if self.covariates is None:
            return parse_always_keep(self.always_keep, names, n_columns)
        covariate = self._covariate_mask()
        mask = parse_always_keep(self.always_keep, self._names_of_columns(), self.n_features_in_)
        both = np.flatnonzero(mask & covariate)
        if both.size:
            all_names = self._names_of_columns()
            name = int(both[0]) if all_names is None else repr(all_names[both[0]])
            msg = f"column {name} is in both covariates and always_keep; name it in one of them."
            raise ValueError(msg)
        return np.asarray(mask[~covariate])

    def _coded(self, X: Any) -> Any:
        """Return a table in the coding that the parts read; by default as it is."""
        return X

    def _choose(
        self, training: Sequence[TrainingPart], labels: TrainingLabels
    ) -> tuple[Sequence[TrainingPart], NumberChoice | None, Recalibration | None]:
        """Choose on held-out cases what has to be chosen before the fit: the number of features.

        Returns
        -------
        training : sequence of TrainingPart
            The parts to fit.
        choice : NumberChoice or None
            The numbers of features that were tried.
        recalibration : Recalibration or None
            The recalibration, where it was learned from the same held-out cases.
        """
        if not self._number_is_to_be_chosen:
            return training, None, None
        choice = choose_number(self.recalibrate, training, labels)
        chosen = [part.keeping(min(choice.chosen, part.n_candidates)) for part in training]
        return chosen, choice, None

    def _store(self, parts: Sequence[FittedPart]) -> None:
        """Set the attributes that show what was fitted."""
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
            Cases of one group (one patient, say) are held out together where the recalibration is
            learned or the number of features chosen.
        **refused
            ``sample_weight`` is refused: the correction needs whole cases. For another prevalence
            use ``class_prior``.
        """
        refuse_arguments(refused)
        training, labels = self._prepared(X, y, groups)
        training, choice, recalibration = self._choose(training, labels)
        parts = [part.fit() for part in training]
        # Set before the recalibration is learned, so that an interruption leaves a fitted model.
        self._hold(
            parts,
            labels.classes,
            labels.log_prior(),
            recalibration,
            choice,
            covariates=labels.covariate_model(),
        )
        if recalibration is None:
            self._recalibrated(*learn_recalibrations(self.recalibrate, training, parts, labels))
        if labels.design is not None:
            names, kept = self._names_of_columns(), np.concatenate(self._kept_columns()[:-1])
            warn_of_dependence(X, kept, labels.design, labels.codes, names, stacklevel=2)
        return self

    def _fit_numbers(
        self,
        X: Any,
        y: Any,
        numbers: Sequence[int],
        *,
        groups: Any = None,
        memo: FoldMemo | None = None,
    ) -> list[Self]:
        """Return a fitted copy for each number of features, of a model that runs no chains.

        The results are those of setting `n_features_to_select` to each and fitting, but tables and
        folds are screened once for all of them.

        Parameters
        ----------
        X, y, groups
            As in `fit`.
        numbers : sequence of int
            Features to keep, of each kind where there are kinds, or all where there are fewer. A
            threshold of the estimator is ignored.
        memo : FoldMemo, optional
            What other models of the same table have computed.
        """
        first = clone(self).set_params(n_features_to_select=max(numbers), threshold=None)
        training, labels = first._prepared(X, y, groups)
        by_part = [
            part.fit_numbers([min(number, part.n_candidates) for number in numbers], memo)
            for part in training
        ]
        recalibrations = learn_recalibrations(self.recalibrate, training, by_part, labels, numbers)
        result = []
        for number, recalibration, *parts in zip(numbers, recalibrations, *by_part, strict=True):
            one = copy(first).set_params(n_features_to_select=number)
            prior, covariates = labels.log_prior(), labels.covariate_model()
            one._hold(parts, labels.classes, prior, recalibration, covariates=covariates)
            result.append(one)
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
        columns = np.flatnonzero(self._covariate_mask())
        if columns.size == self.n_features_in_:
            msg = "covariates names all columns of X; leave at least one column as a feature."
            raise ValueError(msg)
        if columns.size:
            coding = CovariateCoding.learn(X, columns, getattr(self, "kinds", None))
            labels = replace(labels, covariates=coding, design=coding.design(X))
        return self._training_parts(self._features_of(X), labels), labels

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
        covariates: CovariateModel | None = None,
    ) -> Self:
        """Set what was fitted, and the attributes that show it."""
        self._parts = tuple(parts)
        self._covariate_model = covariates
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
        """Set how evidence becomes a probability."""
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
        result = [
            self._recalibration.log_proba(
                self._log_likelihood(some), *self._priors_of_rows(some, given)
            )
            for some in row_batches(X)
        ]
        return result[0] if len(result) == 1 else np.concatenate(result)

    def _priors_of_rows(
        self, X: Any, given: FloatArray | None
    ) -> tuple[FloatArray, FloatArray | None]:
        """Return the log prior, and that where the model is used, if its prevalences are given.

        Of shape (C,); of shape (n, C) where rows have covariates.
        """
        if self._covariate_model is None:
            return self._log_prior, given
        log_prior = self._covariate_model.log_prior(as_table(X))
        if given is None:
            return log_prior, None
        # Other prevalences change the odds of the classes by one factor for all rows.
        return log_prior, np.asarray(log_softmax(log_prior + given - self._log_prior, axis=1))

    def _log_likelihood(self, X: Any) -> FloatArray:
        """Return log P(x | class), shape (n, C), up to a constant of each row.

        A sum over parts, which naive Bayes takes as independent given the class.
        """
        n_rows, values = self._read(X)
        total = np.zeros((n_rows, self.classes_.size))
        for part, part_values in values:
            total += part.log_likelihood(part_values)
        return total

    def _log_evidence(self, X: Any) -> FloatArray:
        """Return what a table adds to the log class probabilities, shape (n, C).

        The log likelihood times the slope, up to a constant of each row, wherever this is all that
        stands between the two. An outlier rate or other prevalences change the odds by amounts that
        depend on the row: there it is what remains of the posterior without the prior.
        """
        check_is_fitted(self)
        if not self._recalibration.is_plugged_in or self.class_prior is not None:
            return np.asarray(self.predict_log_proba(X) - self._priors_of_rows(X, None)[0])
        batches = [self.slope_ * self._log_likelihood(some) for some in row_batches(X)]
        return batches[0] if len(batches) == 1 else np.concatenate(batches)

    def predict_proba_interval(
        self, X: Any, level: float = 0.9, *, class_prior: Any = None, n_draws: int = 2000
    ) -> FloatArray:
        """Return intervals for P(class | x).

        An interval holds ``level`` of the distribution of P(class | x, parameters) given the
        training data and x itself, over the parameters and over the slope and the outlier rate of
        the recalibration; the mean of that distribution is `predict_proba`. With one slope plugged
        in, each draw's evidence is multiplied by it, and the mean is only roughly `predict_proba`.

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
            values,
            n_rows,
            weights,
            given,
            self._recalibration,
            n_draws,
            level,
            self._prior_draws(X, draws_per_class(n_draws, n_classes)),
        )
        return result if n_classes > 2 else result[:, 0]

    def _prior_draws(self, X: Any, n_draws: int) -> Callable[[slice], PriorDraws] | None:
        """Return a function that draws the priors of some rows; None without covariates."""
        model = self._covariate_model
        if model is None:
            return None
        design = model.coding.design(as_table(X))

        def draw(rows: slice) -> PriorDraws:
            # The seed is fixed, so that the draws of a row do not depend on the batch.
            return model.draws(design[rows], n_draws, np.random.default_rng(SEED))

        return draw

    def contributions(self, X: Any) -> Contributions:
        """Return the contribution of each kept cell to the log-odds of its row.

        A cell that is left out is treated as missing. Cells of features that repeat each other add
        little each, so that contributions need not sum to the log-odds.

        Parameters
        ----------
        X : table of shape (n, p)
            Rows.
        """
        check_is_fitted(self)
        X = as_table(X, may_be_empty=self.n_features_in_ == 0)
        return contributions(self, X, self.kept_columns(), self.get_feature_names_out())

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
            for part, columns in zip(self._parts, kept[: len(self._parts)], strict=True):
                if columns.size:
                    describe = Described(names[first : first + columns.size])
                    values.append((part, part.read(columns_of(X, columns), describe)))
                first += columns.size
        return X.shape[0], values

    def _kept_columns(self) -> list[IntArray]:
        """Return the table's columns that each part kept, and then the covariates, if any."""
        model = self._covariate_model
        covariates = [] if model is None else [model.coding.columns]
        if self._kept_columns_only:
            ends = np.cumsum([0, *(len(part.selection.columns) for part in self._parts)])
            return [*(np.arange(*pair) for pair in pairwise(ends.tolist())), *covariates]
        kept = [
            columns[np.array(part.selection.columns, dtype=np.int64)]
            for part, columns in zip(self._parts, self._part_columns(), strict=True)
        ]
        return kept + covariates

    # ------------------------------------------------------------------ copies

    def on_kept_columns(self) -> Self:
        """Return a fitted copy that takes only the kept columns.

        Returns
        -------
        estimator
            It takes the columns of `get_feature_names_out`, in this order, and has the same
            probabilities. It holds nothing of the size of the whole table, so parameters that name
            columns are changed to name the kept ones.
        """
        check_is_fitted(self)
        names = self._names_of_columns()
        params, choices = {}, {name: getattr(self, name) for name in self._fitted_choices}
        if not self._kept_columns_only:
            names = None if names is None else tuple(map(str, self.get_feature_names_out()))
            params = self._parameters_on_kept_columns()
            choices |= self._choices_on_kept_columns()
        result: Self = clone(self).set_params(**params)
        model = self._covariate_model
        k = sum(len(part.selection.columns) for part in self._parts)
        result.n_features_in_ = k + (0 if model is None else model.coding.columns.size)
        if model is not None:
            last = np.arange(k, result.n_features_in_)
            model = replace(model, coding=replace(model.coding, columns=last))
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
            covariates=model,
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
        new = {"always_keep": by_design}
        if self._covariate_model is not None:
            n_covariates = self._covariate_model.coding.columns.size
            new["covariates"] = list(range(first, first + n_covariates))
        given = self.get_params(deep=False)
        by_number = {name for name in new if np.asarray(given[name]).dtype.kind in "biuf"}
        return {name: value for name, value in new.items() if name in by_number}

    # ------------------------------------------------------------------- files

    def _names_of_columns(self) -> tuple[str, ...] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else tuple(map(str, names))

    def _fitted_to_plain(self) -> Plain:
        kinds = {part_class: kind for kind, part_class in self._part_classes.items()}
        head: Known = {
            "classes": self.classes_,
            "recalibration": self._recalibration,
            "kept_columns_only": self._kept_columns_only,
            "feature_names": self._names_of_columns(),
            "number_choice": self.number_choice_,
            "n_features_in": self.n_features_in_,
        }
        sections = {
            f"part{index}": joined(record_to_plain(part), selection=part.selection.to_plain())
            for index, part in enumerate(self._parts)
        }
        return joined(
            values_to_plain(_HEAD, head.__getitem__),
            values_to_plain(self._fitted_choices, lambda name: getattr(self, name)),
            _COVARIATES.write("covariates", self._covariate_model),
            (
                {"parts": [kinds[type(part)] for part in self._parts]},
                {"log_prior": self._class_log_prior},
            ),
            **sections,
        )

    @classmethod
    def _fitted_from_plain(cls, entries: Entries) -> Known:
        known = cls._parts_from_plain(entries)
        selections = [part.selection for part in known["parts"]]
        known["width"] = sum(selection.n_features_in for selection in selections)
        if known["kept_columns_only"]:
            # Constant columns, which belong to no part, are not among the kept ones.
            known["n_features_in"] = sum(len(selection.columns) for selection in selections)
            known["n_features_in"] += cls._n_covariates(known)
        for name in ("number_choice", "feature_names", "recalibration"):
            known[name] = _HEAD[name].read(entries, name, {})
        check_column_names(entries, known["feature_names"], known["n_features_in"])
        cls._check_fitted(entries, known)
        return known

    @classmethod
    def _parts_from_plain(cls, entries: Entries) -> Known:
        """Return parts, classes and their prior, and the fitted choices."""
        known: Known = {"kept_columns_only": entries.flag("kept_columns_only")}
        kinds = entries.value("parts")
        good = isinstance(kinds, list) and 1 <= len(kinds) <= len(KINDS)
        good = good and all(isinstance(kind, str) and kind in cls._part_classes for kind in kinds)
        entries.check(good, "parts", f"are not those of {cls._kind}")
        log_prior = entries.finite("log_prior", (None,), -1e6, CLOSE)
        good = 2 <= log_prior.size <= MOST_CLASSES
        entries.check(good, "log_prior", "is not one of two or more classes")
        good = abs(np.exp(log_prior).sum() - 1) <= CLOSE
        entries.check(good, "log_prior", "does not sum to 1")
        known |= {"n_classes": log_prior.size, "log_prior": log_prior, "part_names": kinds}
        known |= values_from_plain({"covariates": _COVARIATES}, entries, known)
        known["classes"] = _HEAD["classes"].read(entries, "classes", known)
        known["parts"] = tuple(
            cls._part_from_plain(kind, entries.section(f"part{index}"), known)
            for index, kind in enumerate(kinds)
        )
        counts = {part.selection.class_counts for part in known["parts"]}
        entries.check(len(counts) == 1, "parts", "have different numbers of cases")
        known["part_widths"] = [
            len(part.selection.columns)
            if known["kept_columns_only"]
            else part.selection.n_features_in
            for part in known["parts"]
        ]
        known["n_features_in"] = _HEAD["n_features_in"].read(entries, "n_features_in", known)
        known |= values_from_plain(cls._fitted_choices, entries, known)
        width = sum(known["part_widths"]) + cls._n_outside_parts(known)
        fits = known["n_features_in"] == width
        entries.check(fits, "n_features_in", "does not fit the parts")
        return known

    @classmethod
    def _part_from_plain(cls, kind: str, entries: Entries, known: Known) -> FittedPart:
        selection = Section(kind=Selection).read(entries, "selection", {})
        fits = len(selection.class_counts) == known["n_classes"]
        entries.check(fits, "selection", "has another number of classes")
        known = {**known, "selection": selection, "n_columns": len(selection.columns)}
        part: FittedPart = record_from_plain(cls._part_classes[kind], entries, known)
        entries.finish()
        return part

    @classmethod
    def _n_outside_parts(cls, known: Known) -> int:
        """Return how many columns of the table belong to no part; by default the covariates."""
        return cls._n_covariates(known)

    @staticmethod
    def _n_covariates(known: Known) -> int:
        model: CovariateModel | None = known["covariates"]
        return 0 if model is None else model.coding.columns.size

    @classmethod
    def _check_fitted(cls, entries: Entries, known: Known) -> None:
        """Refuse parts that do not fit the fitted choices; by default nothing."""

    @classmethod
    def _check_parameters(cls, parameters: Known, fitted: Known) -> None:
        check_number(parameters, cls._most_features(fitted["width"]))
        number = parameters["n_features_to_select"]
        for value in list(number.values()) if isinstance(number, dict) else [number]:
            # Numbers are checked above: the settings would need a mask of all columns.
            plain = None if type(value) in (int, float) else value
            cls._settings_of({**parameters, "n_features_to_select": plain}, np.zeros(0, dtype=bool))
        n_classes = fitted["classes"].size
        check_recalibrate(parameters["recalibrate"])
        check_prevalences(parameters["class_prior"], n_classes)
        pseudocounts(parameters["class_pseudocounts"], n_classes)

    @classmethod
    def _most_features(cls, width: int) -> int:
        """Return the largest number of features that may be asked for in a table of a width."""
        return width

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
            covariates=fitted["covariates"],
        )

    @classmethod
    def _from_plain(cls, content: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Self:
        """Return the model that a file describes; its parts must have kept the columns they name.

        A file holds the names of columns twice: one that moved columns from one part to another
        would hand numbers to a part of texts.
        """
        model = super()._from_plain(content, arrays)
        names = model._names_of_columns()
        for part, columns in zip(model._parts, model._kept_columns(), strict=False):
            selection = part.selection
            if names is not None and selection.kept_names is not None:
                own = selection.kept_names + (selection.always_kept_names or ())
                if own != tuple(names[column] for column in columns.tolist()):
                    msg = "feature_names differs from the selection's"
                    raise ModelFileError(msg)
        return model


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
