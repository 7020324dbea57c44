"""HonestClassifier: an average of all models that suit a table."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from honestbayes.average.candidates import (
    Candidate,
    Effort,
    are_ours,
    candidate_specs,
    check_choices,
    chosen_candidates,
    leave_out_beyond_memory,
)
from honestbayes.average.cross_fit import (
    AverageMember,
    CandidateResults,
    ModelTable,
    TableViews,
    class_frequencies_only,
    fit_members,
    rows_of,
    try_candidates,
    warnings_once,
)
from honestbayes.average.importance import FeatureImportance
from honestbayes.average.pool import pooled
from honestbayes.base.covariates import (
    CovariateCoding,
    CovariateModel,
    log_prior_of,
    warn_of_dependence,
)
from honestbayes.base.estimator import FromLogProbabilities, SelectiveClassifier
from honestbayes.base.explanation import (
    Contributions,
    ImportanceChart,
    KeptColumns,
    ReportSection,
    TableNames,
    contributions,
)
from honestbayes.base.intervals import SEED, draws_per_class, intervals_of_mixture
from honestbayes.base.parameters import (
    check_level_and_draws,
    check_prevalences,
    group_codes,
    pseudocounts,
    refuse_arguments,
)
from honestbayes.base.part import TrainingLabels
from honestbayes.base.persistence import Parameter, SavedEstimator
from honestbayes.base.recalibration import Recalibration, seed_of_folds
from honestbayes.base.spec import TableInfo
from honestbayes.data import check_as_many, encode_labels
from honestbayes.data.column_coding import ColumnCoding
from honestbayes.data.kinds import KINDS, Kind, as_table, columns_of, kinds_and_missing
from honestbayes.data.source import (
    ReadAhead,
    as_source,
    dense_values,
    is_beyond_memory,
    row_batches,
)
from honestbayes.files.fields import (
    ClassLabels,
    Entries,
    Field,
    Known,
    MaybeSection,
    Plain,
    Section,
    Texts,
    check_column_names,
    joined,
    record_to_plain,
    values_from_plain,
)
from honestbayes.selection import Selection, parse_always_keep
from honestbayes.tabular import Tabular
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

SHOWN = 20
"""Number of columns that tables and contributions show, unless the user names others."""

_LEAST_DRAWS = 100
"""Fewest draws of each model for intervals, over all classes."""

_MOST_MEMBERS = 1000
_LARGEST_WEIGHT = 100.0
"""Bounds of files, far beyond any average that can be fitted."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class HonestFeatureTable(Tabular):
    """The columns that the models of an average use, the most important first.

    The figures of importance are NaN, and ``group`` is -1, for columns that were not measured:
    those beyond the 40 that the models of the folds use most (64 where the table has no more), and
    all columns of tables beyond memory.

    Attributes
    ----------
    name : tuple of str
        Names of columns.
    kind : tuple of str
        Their kinds.
    importance : ndarray of shape (k,)
        What the held-out log score loses when the column is permuted among cases that the models
        have not seen. Columns of one group are permuted together and share it.
    lower, upper : ndarray of shape (k,)
        95% interval of the importance, over the cases. Where it holds 0, the column may be useless.
    direction : ndarray of shape (k,)
        From -1 to 1: positive where larger values favour ``classes_[1]``, near 0 where that
        depends. NaN for categories and for more than two classes.
    group : ndarray of int of shape (k,)
        Columns with the same number repeat each other (correlation within classes 0.7 or more).
    selected : ndarray of shape (k,)
        Share of the average's weight that lies on models which keep the column, over the folds.
    use : ndarray of shape (k,)
        The same for the models fitted to all cases.
    models : ndarray of int of shape (k,)
        Number of these models.
    """

    name: tuple[str, ...]
    kind: tuple[str, ...]
    importance: FloatArray
    lower: FloatArray
    upper: FloatArray
    direction: FloatArray
    group: AnyArray
    selected: FloatArray
    use: FloatArray
    models: AnyArray

    def changed(self, change: Callable[[Any], Any]) -> Any:
        """Apply a function to the table."""
        return change(self)

    def renamed(self, word: Callable[[str], str], classes: tuple[str, ...] = ()) -> Self:
        """Return the table with other names of columns; it has no classes."""
        del classes
        return replace(self, name=tuple(map(word, self.name)))

    def with_levels(self, texts: Callable[[str, tuple[str, ...]], tuple[str, ...]]) -> Self:
        """Return the table, which has no categories."""
        del texts
        return self

    def shortened(self, most: int) -> Self:
        """Return the table, which has no categories."""
        del most
        return self

    def to_dict(self) -> dict[str, list[Any]]:
        """Return plain columns, for a frame or JSON."""
        figures = ("importance", "lower", "upper", "direction", "group", "selected", "use")
        return {
            "name": list(self.name),
            "kind": list(self.kind),
            **{name: getattr(self, name).tolist() for name in (*figures, "models")},
        }

    def __str__(self) -> str:
        """Return an aligned table of the first columns."""
        measured = bool(np.isfinite(self.importance).any())
        head = ["column", "kind", "importance", "95% interval", "direction", "group"]
        rows = [[*(head if measured else head[:2]), "use", "models"]]
        for j in range(min(len(self.name), SHOWN)):
            cells = [self.name[j], self.kind[j]]
            if measured and np.isnan(self.importance[j]):
                cells += [""] * 4
            elif measured:
                interval = f"{self.lower[j]:.3f} to {self.upper[j]:.3f}"
                towards = "" if np.isnan(self.direction[j]) else f"{self.direction[j]:+.2f}"
                alone = np.sum(self.group == self.group[j]) == 1
                group = "" if alone else f"{self.group[j] + 1}"
                cells += [f"{self.importance[j]:.3f}", interval, towards, group]
            rows.append([*cells, f"{self.use[j]:.1%}", f"{self.models[j]}"])
        first, second, *sizes = (max(map(len, column)) for column in zip(*rows, strict=True))
        lines = [
            "  ".join(
                (
                    f"{name:<{first}}",
                    f"{kind:<{second}}",
                    *(f"{cell:>{size}}" for cell, size in zip(cells, sizes, strict=True)),
                )
            )
            for name, kind, *cells in rows
        ]
        left = len(self.name) - len(rows) + 1
        return "\n".join(lines + ([f"and {left:,} more"] if left else []))


class CandidateNames(Parameter):
    """The word "auto", or a list of names."""

    def write(self, name: str, value: Any) -> Plain:
        """Return the value as JSON holds it."""
        return {name: value if isinstance(value, str) else list(value)}, {}


_HEAD: dict[str, Field] = {
    "classes": ClassLabels(),
    "feature_names": Texts(),
    "left_out": Texts(),
}
"""Fields of files, beside the models."""

_COVARIATES = MaybeSection(kind=CovariateModel, absent=None)
"""Field of the covariates; files of averages without any may not have it."""

_IMPORTANCE = MaybeSection(kind=FeatureImportance, absent=None)
"""Field of what was measured of the columns; older files do not have it."""

_MOST_TESTED = 200
"""Number of columns, those of most weight, whose dependence on covariates is tested."""


class HonestClassifier(ClassifierMixin, FromLogProbabilities, KeptColumns, SavedEstimator):
    """The average of all models that suit a table, calibrated on held-out cases.

    Each candidate, with each of several numbers of features, predicts the same held-out cases, and
    features are selected again in every fold. These predictions show how far each candidate can be
    trusted: a slope on its evidence and an outlier rate are learned from them and averaged over,
    and then the weights of the candidates' log-odds (docs, "The average"). The kinds of the
    columns decide which candidates are tried.

    Parameters
    ----------
    candidates : "auto", or list of str or of classifiers, default="auto"
        Which models are tried. "auto": all that suit the table. A list of names ("binary",
        "categorical", "gaussian", "cut", "mixed", "discriminant", "raw discriminant", "logistic",
        "raw logistic", "kernel", "forest", "boosting", "mixture", "factors", "interactions",
        "networks"), or of scikit-learn classifiers, each of which is cloned and fitted again in
        every fold. Then `save` is refused, intervals reflect the uncertainty of slopes, outlier
        rates and candidates only, and each classifier treats missing cells in its own way. "cut" is
        tried only where it is named.
    effort : {"quick", "normal", "thorough"}, default="normal"
        How many models and numbers of features are tried. "quick": one or two numbers of features
        each. "thorough": models fitted by Markov chains too, which takes minutes.
    n_features_to_select : int, optional
        Keep one set of this many columns, the same for all candidates. Only candidates that rank
        columns by the F statistic are then tried. Selection is repeated in each fold.
    kinds : mapping or sequence, optional
        The kind of columns, "binary", "categorical" or "real": for some by name or index, or for
        all in order. By default texts are categorical, numbers with two values binary,
        other numbers real, and columns with one value in the training rows are left out. A binary
        column may hold any two numbers; a third one at prediction counts as the larger where it
        is above the smaller, with a warning.
    always_keep : list of names or indices, or mask, optional
        Columns kept by design, which are not ranked.
    covariates : list of names or indices, or mask, optional
        Columns such as age, sex or batch that are conditioned on and not modelled: they set the
        prior log-odds of each case, and the candidates see the other columns. Features must not
        depend on them within the classes; `fit` warns where kept ones do.
    class_pseudocounts : float or array-like of shape (n_classes,), default=1.0
        Parameter of the Dirichlet prior of the class frequencies, in cases of each class.
    class_prior : array-like of shape (n_classes,), optional
        Prevalences where the model is used, in the order of ``classes_``.
    n_jobs : int, optional
        Number of folds, and then of final fits, that run at once; for tables in memory.
    random_state : int, RandomState or None, default=None
        Breaks ties between features of equal strength, and seeds chains; an int is also the seed
        of the folds.
    importance : bool, default=True
        Whether feature importance is measured (`feature_table`); it takes up to a third of the
        time.
    verbose : bool, default=False
        Whether to show progress and the time that remains.

    Attributes
    ----------
    model_table_ : ModelTable
        The candidates; `model_table` returns it.
    held_out_log_score_ : float
        Log score of the average on held-out cases; slightly optimistic, because its weights were
        learned from the same cases.
    restriction_cost_ : float or None
        Increase of the held-out log score by keeping one set of columns; None where that was not
        asked for.
    left_out_ : tuple of str
        Candidates that were not tried because the table is beyond memory; `fit` warns of them.
    columns_needed_ : ndarray
        Names (or numbers) of the columns that predictions need.
    kinds_ : tuple of str
        The kind of each column; "constant" for one with a single value, "covariate" for
        covariates.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_count_ : ndarray of shape (n_classes,)
        Training cases in each class.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features, where X has them.

    Notes
    -----
    A class with a single case cannot be held out: its probability is its share of the cases,
    whatever the features are, and `fit` warns.

    An interrupt (Ctrl-C) after every case has been held out once leaves a model that was learned
    from the folds so far, and is raised again.

    Examples
    --------
    >>> import numpy as np
    >>> from honestbayes import HonestClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(60) % 2
    >>> X = rng.normal(size=(60, 500))
    >>> X[:, :3] += y[:, None]
    >>> model = HonestClassifier(effort="quick").fit(X, y)
    >>> model.predict_proba(X[:2]).shape
    (2, 2)
    """

    _kind: ClassVar[str] = "HonestClassifier"
    _parameter_fields: ClassVar[dict[str, Field]] = {
        "candidates": CandidateNames(),
        "importance": Parameter(absent=True),
    }

    classes_: AnyArray
    class_count_: AnyArray
    restriction_cost_: float | None
    held_out_log_score_: float
    model_table_: ModelTable
    _class_weights: FloatArray
    """Parameters of the Dirichlet posterior of all class frequencies."""
    _modelled: BoolArray
    """Which classes are modelled: those of two cases or more."""
    _members: tuple[AverageMember, ...]
    _covariate_model: CovariateModel | None = None
    _coding: ColumnCoding
    _left_out: tuple[str, ...]
    _importance: FeatureImportance | None

    def __init__(
        self,
        *,
        candidates: Any = "auto",
        effort: Effort = "normal",
        n_features_to_select: int | None = None,
        kinds: Any = None,
        always_keep: Any = None,
        covariates: Any = None,
        class_pseudocounts: Any = 1.0,
        class_prior: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        importance: bool = True,
        verbose: bool = False,
    ) -> None:
        self.candidates = candidates
        self.effort = effort
        self.n_features_to_select = n_features_to_select
        self.kinds = kinds
        self.always_keep = always_keep
        self.covariates = covariates
        self.class_pseudocounts = class_pseudocounts
        self.class_prior = class_prior
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.importance = importance
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        """Declare what inputs are accepted: those that all classifiers of the user accept."""
        tags = super().__sklearn_tags__()
        several = isinstance(self.candidates, list | tuple)
        given = [each for each in self.candidates if hasattr(each, "fit")] if several else []
        foreign = [get_tags(each).input_tags for each in given]
        tags.input_tags.string = True
        for name in ("sparse", "allow_nan"):
            setattr(tags.input_tags, name, all(getattr(each, name) for each in foreign))
        return tags

    # ------------------------------------------------------------------ fitting

    def fit(self, X: Any, y: Any, *, groups: Any = None, **refused: Any) -> Self:
        """Try all candidates on held-out cases, and fit those with weight to all cases.

        Parameters
        ----------
        X : table of shape (n, p)
            Training rows; NaN and None are missing. A table beyond memory (a packed store, a lazy
            frame, a Dask table) is screened for all folds in one pass; only kept columns are read.
        y : array-like of shape (n,)
            Class labels of two or more kinds.
        groups : array-like of shape (n,), optional
            Cases of one group (one patient, say) are held out together.
        **refused
            ``sample_weight`` is refused: the correction needs whole cases. For another prevalence
            use ``class_prior``.
        """
        refuse_arguments(refused)
        X = as_table(X)
        classes, codes = encode_labels(y)
        check_as_many(X.shape[0], codes.size)
        check_prevalences(self.class_prior, classes.size)
        weights = pseudocounts(self.class_pseudocounts, classes.size)
        grouped = group_codes(groups, codes.size)
        check_choices(self.candidates, self.effort, self.n_features_to_select)
        validate_data(self, X, skip_check_array=True)
        if hasattr(X, "blocks"):  # a source, whose names scikit-learn does not find
            self._name_columns(X.feature_names)
        counts = np.bincount(codes, minlength=classes.size)
        self.classes_, self.class_count_ = classes, counts
        self._class_weights = counts + weights
        self._modelled = counts > 1
        rows = np.flatnonzero(self._modelled[codes])
        if self._modelled.sum() < 2:
            msg = (
                "at least two classes need two cases or more, so that cases can be held out; cases "
                f"of each class: {counts.tolist()[:10]}."
            )
            raise ValueError(msg)
        if rows.size < codes.size:
            self._warn_of_single_cases()
            X, grouped = rows_of(X, rows), None if grouped is None else grouped[rows]
        new_codes = np.cumsum(self._modelled) - 1
        labels = TrainingLabels(
            np.arange(int(self._modelled.sum())),
            new_codes[codes[rows]],
            grouped,
            weights[self._modelled],
            seed_of_folds(self.random_state),
        )
        self._fit_average(X, labels)
        return self

    def _fit_average(self, X: Any, labels: TrainingLabels) -> None:
        self.kinds_, missing = kinds_and_missing(X, self.kinds)
        names = getattr(self, "feature_names_in_", None)
        names = None if names is None else tuple(map(str, names))
        always = parse_always_keep(self.always_keep, names, X.shape[1])
        labels = self._with_covariates(X, labels, always)
        beyond_memory = is_beyond_memory(X)
        self._coding = ColumnCoding.learn(X, self.kinds_)
        self._importance = None
        self.restriction_cost_: float | None = None
        varying, kinds = self._coding.varying(), self._coding.varying_kinds()
        whole = X
        if not varying.size:
            self._left_out = ()
            self._hold([], *class_frequencies_only(labels))
            return
        always, X = always[varying], self._coding.plain(X, self._describe)
        views = self._views(ReadAhead(X) if beyond_memory else X)
        sources = self._coding.sources()
        table_info = TableInfo(
            kinds=kinds,
            n_cases=labels.codes.size,
            n_classes=labels.classes.size,
            n_candidates=int(np.sum(~always)),
            n_numeric_candidates=int(np.sum(~always[sources])),
            max_candidates=max(int(np.sum(~always & (np.array(kinds) == k))) for k in KINDS),
            sparse=sparse.issparse(X),
            missing=missing,
            in_memory=not beyond_memory,
            quick=self.effort == "quick",
        )
        self._left_out = leave_out_beyond_memory(self.candidates, self.effort, table_info)
        most = self.n_features_to_select
        if most is not None and most > table_info.n_numeric_candidates:
            msg = (
                f"n_features_to_select={most} is more than the "
                f"{table_info.n_numeric_candidates} features to choose from; give a smaller number "
                "or None."
            )
            raise ValueError(msg)
        results = self._try_candidates(table_info, most, views, labels, always, measure=True)
        if most is not None:
            free = self._try_candidates(table_info, None, views, labels, always, measure=False)
            self.restriction_cost_ = results.log_score - free.log_score
        members = fit_members(results, views, labels, self.n_jobs)
        self._hold(members, results.table, results.log_score)
        self._importance = results.importance
        if labels.design is not None:
            used = np.setdiff1d(self.kept_columns(), np.flatnonzero(self._covariate_mask()))
            used = used[np.argsort(-self._use()[used], kind="stable")][:_MOST_TESTED]
            warn_of_dependence(whole, used, labels.design, labels.codes, names, stacklevel=3)
        if results.interrupted:
            raise KeyboardInterrupt

    def _covariate_mask(self) -> BoolArray:
        """Return which columns of the table are covariates, shape (p,)."""
        return np.array([kind == "covariate" for kind in self.kinds_], dtype=bool)

    def _with_covariates(self, X: Any, labels: TrainingLabels, always: BoolArray) -> TrainingLabels:
        """Set apart the covariates, and return labels that know them."""
        names = getattr(self, "feature_names_in_", None)
        names = None if names is None else tuple(map(str, names))
        mask = parse_always_keep(self.covariates, names, X.shape[1], "covariates")
        self._covariate_model = None
        if not mask.any():
            return labels
        both = np.flatnonzero(mask & always)
        if both.size:
            msg = (
                f"{self._describe(int(both[0]))} is in both covariates and always_keep; name it in "
                "one of them."
            )
            raise ValueError(msg)
        self.kinds_ = tuple(
            "covariate" if apart else kind
            for kind, apart in zip(self.kinds_, mask.tolist(), strict=True)
        )
        coding = CovariateCoding.learn(X, np.flatnonzero(mask), self.kinds)
        labels = replace(labels, covariates=coding, design=coding.design(X))
        self._covariate_model = labels.covariate_model()
        return labels

    def _try_candidates(
        self,
        table_info: TableInfo,
        most: int | None,
        views: TableViews,
        labels: TrainingLabels,
        always: BoolArray,
        *,
        measure: bool,
    ) -> CandidateResults:
        """Try candidates; with ``measure``, measure feature importance too."""
        chosen = chosen_candidates(self.candidates, self.effort, table_info, most)
        if are_ours(self.candidates):
            for candidate in chosen:
                self._set_params_of(candidate, always)
        return try_candidates(
            chosen,
            views,
            labels,
            self.n_jobs,
            verbose=bool(self.verbose),
            quick=table_info.quick,
            coding=self._coding if measure and self.importance else None,
        )

    def _set_params_of(self, candidate: Candidate, always: BoolArray) -> None:
        """Hand the user's parameters on to a candidate that has them."""
        params: dict[str, Any] = {"random_state": self.random_state}
        if always.any():
            mask = always[self._coding.sources()] if candidate.as_numbers else always
            params["always_keep"] = mask
        known = candidate.estimator.get_params(deep=False)
        candidate.estimator.set_params(**{n: v for n, v in params.items() if n in known})

    def _warn_of_single_cases(self) -> None:
        single = self.classes_[~self._modelled].tolist()
        named = ", ".join(repr(label) for label in single[:5]) + (", ..." if single[5:] else "")
        warnings.warn(
            f"class {named} has only one case, so its probability "
            "is its frequency, whatever the features are.",
            UserWarning,
            stacklevel=3,
        )

    def _hold(self, members: Sequence[AverageMember], table: ModelTable, log_score: float) -> None:
        """Set what was fitted, and the attributes that show it."""
        self._members = tuple(members)
        self.model_table_ = table
        self.held_out_log_score_ = log_score
        columns = self.kept_columns()
        names = getattr(self, "feature_names_in_", None)
        self.columns_needed_: AnyArray = columns if names is None else names[columns]

    # ------------------------------------------------------------ columns

    def _describe(self, column: int) -> str:
        """Return the name of a column in messages."""
        names = getattr(self, "feature_names_in_", None)
        return f"column {column}" if names is None else f"column {names[column]!r}"

    def _views(self, plain: Any) -> TableViews:
        """Return the varying columns as they are, and as numbers."""
        numbers = self._coding.as_numbers(plain, self._describe)
        if numbers is not plain and isinstance(plain, ReadAhead):
            numbers = ReadAhead(numbers)  # which remembers the indicators that were read
        return TableViews(plain, numbers)

    def _kept_columns(self) -> list[IntArray]:
        """Return the columns that any model uses, those of most weight first, and covariates."""
        use = self._use()
        kept = [np.argsort(-use, kind="stable")[: int(np.sum(use > 0))]]
        model = self._covariate_model
        return kept if model is None else [*kept, model.coding.columns]

    def _use(self) -> FloatArray:
        """Return the total weight of the models that use each column, shape (p,)."""
        total = np.zeros(self.n_features_in_)
        for member in self._members:
            total[self._columns_of(member)] += member.weight
        return total

    def _columns_of(self, member: AverageMember) -> IntArray:
        """Return the table's columns that a model uses, each once."""
        columns = member.columns
        if member.as_numbers:
            columns = self._coding.sources()[columns]
        return np.asarray(self._coding.varying()[np.unique(columns)])

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
        batches = [self._log_proba(self._read(some), class_prior) for some in row_batches(X)]
        return batches[0] if len(batches) == 1 else np.concatenate(batches)

    def _log_proba(self, views: TableViews, class_prior: Any) -> FloatArray:
        """Return log P(class | x), shape (n, n_classes), of a table that was read."""
        result = self._with_single_cases(self._modelled_log_proba(views))
        given = self._given_log_prior(class_prior)
        if given is not None:
            # Other prevalences change the odds of the classes by one factor for all x.
            result = result + given - np.log(self._class_weights / self._class_weights.sum())
            result = result - np.log(np.exp(result).sum(axis=1, keepdims=True))
        return result

    def _modelled_log_proba(self, views: TableViews) -> FloatArray:
        """Return log P(class | x) of the classes of two cases or more."""
        log_share, n_cases = self._log_prior(), int(self.class_count_.sum())
        log_prior, model = log_share, self._covariate_model
        if model is not None:
            log_prior = log_prior_of(model.regression, views.design, model.log_share)
        if not self._members:
            return np.array(np.broadcast_to(log_prior, (views.plain.shape[0], log_share.size)))
        with warnings_once():
            log_proba = [
                member.recalibration.log_proba(
                    member.evidence(views.of(member.as_numbers), log_share, n_cases), log_prior
                )
                for member in self._members
            ]
        weights = np.array([member.weight for member in self._members])
        return pooled(np.stack(log_proba), weights, log_prior, self._observed_share(views))

    def _observed_share(self, views: TableViews) -> FloatArray | None:
        """Return the share of each row's cells that is observed, shape (n,); None where all are.

        Each column is weighted by the models that use it.
        """
        sources = self._coding.sources()
        use = self._use()[self._coding.varying()[sources]] / np.bincount(sources)[sources]
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
        """Add classes of a single case, whose probability is their share of the cases."""
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

        An interval holds ``level`` of the distribution of P(class | x) over the models, by their
        weights, and over the slope, outlier rate and parameters of each; the mean is
        `predict_proba`.

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
        batches = [
            self._intervals(self._read(some), level, class_prior, n_draws)
            for some in row_batches(X)
        ]
        return batches[0] if len(batches) == 1 else np.concatenate(batches)

    def _intervals(
        self, views: TableViews, level: float, class_prior: Any, n_draws: int
    ) -> FloatArray:
        """Return intervals for a table that was read, shape (n, 2) or (n, n_classes, 2)."""
        target = np.exp(self._log_proba(views, class_prior))
        given = self._given_log_prior(class_prior)
        result = np.repeat(target[:, :, None], 2, axis=2)
        modelled = np.flatnonzero(self._modelled)
        weights, n_cases = self._class_weights[modelled], int(self.class_count_.sum())
        total = sum(member.weight for member in self._members)
        per_class = draws_per_class(n_draws, weights.size)

        def draws(rows: slice) -> list[tuple[float, Any]]:
            result = []
            for member in self._members:
                share = member.weight / total
                number = max(_LEAST_DRAWS // weights.size, int(per_class * share), 1)
                table, prior = rows_of(views.of(member.as_numbers), rows), None
                if self._covariate_model is not None:
                    generator = np.random.default_rng(SEED)
                    prior = self._covariate_model.draws(views.design[rows], number, generator)
                result.append((share, member.draws(table, weights, n_cases, number, prior)))
            return result

        if self._members:
            whole = target[:, modelled].sum(axis=1, keepdims=True)
            with warnings.catch_warnings():  # `_log_proba` has given them all
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

    def _read(self, X: Any) -> TableViews:
        X = as_table(X, may_be_empty=self.n_features_in_ == 0)
        self._columns_in(X)
        plain = self._coding.plain(X, self._describe)
        if hasattr(plain, "blocks"):  # a source: columns that any model uses are read once
            plain = ReadAhead(plain)
            used = np.flatnonzero(self._use() > 0)
            plain.read_ahead(np.searchsorted(self._coding.varying(), used))
        views = self._views(plain)
        if self._covariate_model is None:
            return views
        return replace(views, design=self._covariate_model.coding.design(X))

    # --------------------------------------------------------------- explanation

    @property
    def left_out_(self) -> tuple[str, ...]:
        """Candidates that were not tried because the table is beyond memory."""
        check_is_fitted(self)
        return self._left_out

    def model_table(self) -> ModelTable:
        """Return the weight and the held-out log score of each candidate."""
        check_is_fitted(self)
        return self.model_table_

    def feature_table(self) -> HonestFeatureTable:
        """Return the columns that the average uses, with their importance."""
        check_is_fitted(self)
        use, figures = self._use(), ("loss", "lower", "upper", "direction", "selected", "group")
        by_column = {name: np.full(use.size, np.nan) for name in figures}
        by_column["group"] = np.full(use.size, -1)
        measured = self._importance
        if measured is not None:
            for name, values in by_column.items():
                values[measured.column] = getattr(measured, name)
        columns = np.flatnonzero(use > 0)
        # Columns of one group stay together; those that were not measured come last (NaN).
        group = by_column["group"][columns]
        keys = (-use[columns], np.where(group < 0, use.size, group))
        columns = columns[np.lexsort(keys)]
        models = np.zeros(use.size, dtype=np.int64)
        for member in self._members:
            models[self._columns_of(member)] += 1
        total = max(sum(member.weight for member in self._members), 1e-300)
        names = getattr(self, "feature_names_in_", None)
        return HonestFeatureTable(
            name=tuple(f"x{j}" if names is None else str(names[j]) for j in columns),
            kind=tuple(self.kinds_[column] for column in columns),
            importance=by_column["loss"][columns],
            **{name: values[columns] for name, values in by_column.items() if name != "loss"},
            use=use[columns] / total,
            models=models[columns],
        )

    def _selections(self) -> dict[Kind, Selection]:
        """Return nothing: each model of the average has a selection of its own."""
        return {}

    def _feature_tables(self) -> dict[Kind, Any]:
        """Return nothing: the effect of a column differs between the models of the average."""
        return {}

    def _sections(self, names: TableNames) -> tuple[ReportSection, ...]:
        """Return the models of the average, and the columns that they need."""
        check_is_fitted(self)
        titles = {candidate.name: candidate.title for _, candidate in candidate_specs()}
        return average_sections(self, titles, names)

    def contributions(self, X: Any, columns: Any = None) -> Contributions:
        """Return the contribution of each cell to the log-odds of its row.

        A cell that is left out is treated as missing: models integrate over it, given the others.

        Parameters
        ----------
        X : table of shape (n, p)
            Rows.
        columns : list of int, optional
            Columns of the table; by default the first 20 of `get_feature_names_out`, which most of
            the average uses, and the covariates.
        """
        check_is_fitted(self)
        chosen = self._shown_columns() if columns is None else np.atleast_1d(columns)
        wrong = [c for c in chosen.tolist() if c not in range(self.n_features_in_)]
        if wrong:
            msg = f"column {wrong[0]!r} is not a number from 0 to {self.n_features_in_ - 1}."
            raise ValueError(msg)
        names = getattr(self, "feature_names_in_", None)
        shown = [f"x{j}" for j in chosen] if names is None else names[chosen]
        return contributions(self, X, chosen, shown)

    def _shown_columns(self) -> IntArray:
        """Return the columns whose contributions are shown by default."""
        used, *covariates = self._kept_columns()
        return np.concatenate([used[:SHOWN], *covariates])

    # ---------------------------------------------------- copies and files

    def on_kept_columns(self) -> Self:
        """Return a fitted copy that takes only the columns it needs.

        Returns
        -------
        estimator
            It takes the columns of `get_feature_names_out`, in this order, and has the same
            probabilities.
        """
        check_is_fitted(self)
        kept: IntArray = self.kept_columns()
        names = getattr(self, "feature_names_in_", None)
        coding, in_numbers = self._coding.take(kept)
        in_table = np.full(self.n_features_in_, -1)
        in_table[kept] = np.arange(kept.size)
        in_table = in_table[self._coding.varying()]
        members = []
        for member in self._members:
            columns = (in_numbers if member.as_numbers else in_table)[member.columns]
            members.append(replace(member, columns=columns))
        result: Self = clone(self).set_params(kinds=None, always_keep=None)
        model = self._covariate_model
        if model is not None:
            last = np.arange(kept.size - model.coding.columns.size, kept.size)
            model = replace(model, coding=replace(model.coding, columns=last))
            result.set_params(covariates=last.tolist())
        result._covariate_model = model
        result.n_features_in_ = int(kept.size)
        result._name_columns(None if names is None else tuple(map(str, names[kept])))
        for name in ("classes_", "class_count_", "_class_weights", "_modelled", "_left_out"):
            setattr(result, name, getattr(self, name))
        result.restriction_cost_ = self.restriction_cost_
        measured = self._importance
        result._importance = None if measured is None else measured.take(kept)
        result._coding, result.kinds_ = coding, coding.kinds
        result._hold(members, self.model_table_, self.held_out_log_score_)
        return result

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file of plain data, atomically.

        Parameters
        ----------
        path : path-like
            Any name; ``.honestbayes`` is the usual suffix. `honestbayes.load` reads it.
        """
        check_is_fitted(self)
        if not all(isinstance(member.model, SelectiveClassifier) for member in self._members):
            msg = "an average of your own classifiers cannot be saved to a model file; pickle it."
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
            _COVARIATES.write("covariates", self._covariate_model),
            _IMPORTANCE.write("importance", self._importance),
        )
        content = {
            "n_features_in": int(self.n_features_in_),
            "restriction_cost": self.restriction_cost_,
            "log_score": None if np.isnan(self.held_out_log_score_) else self.held_out_log_score_,
            "members": [type(member.model)._kind for member in self._members],
        }
        arrays = {"class_count": self.class_count_, "class_weights": self._class_weights}
        sections = {
            f"member{index}": joined(
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
            for index, member in enumerate(self._members)
        }
        return joined(
            head,
            (content, arrays),
            coding=self._coding.to_plain(),
            model_table=record_to_plain(self.model_table_),
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
        known["coding"] = Section(kind=ColumnCoding).read(entries, "coding", known)
        modelled = {"n_classes": int(np.sum(count > 1))}
        known |= values_from_plain({"covariates": _COVARIATES}, entries, {**known, **modelled})
        known |= values_from_plain({"importance": _IMPORTANCE}, entries, dict(known))
        model, kinds = known["covariates"], np.array(known["coding"].kinds)
        expected = np.zeros(0) if model is None else np.sort(model.coding.columns)
        same = np.array_equal(np.flatnonzero(kinds == "covariate"), expected)
        entries.check(same, "covariates", "are not those of the columns")
        known["table"] = Section(kind=ModelTable).read(entries, "model_table", {})
        kinds = entries.value("members")
        good = isinstance(kinds, list) and len(kinds) <= _MOST_MEMBERS
        entries.check(good, "members", "is not a list of models")
        known["members"] = [
            cls._member_from_plain(entries.section(f"member{index}"), kind, known)
            for index, kind in enumerate(kinds)
        ]
        return known

    @staticmethod
    def _member_from_plain(entries: Entries, kind: Any, known: Known) -> AverageMember:
        classes = {spec.kind: spec.estimator for spec, _ in candidate_specs()}
        entries.check(isinstance(kind, str) and kind in classes, "model", "is of no known kind")
        name = entries.one_of("name", [candidate.name for _, candidate in candidate_specs()])
        as_numbers = entries.flag("as_numbers")
        coding: ColumnCoding = known["coding"]
        width = coding.sources().size if as_numbers else len(coding.varying_kinds())
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
            # Only columns that are passed on as they are keep their names.
            as_they_are = not as_numbers or not coding.levels.values
            names = known["feature_names"] if as_they_are else None
            in_table = coding.varying()[columns].tolist()
            named = names is not None and own.tolist() == [names[j] for j in in_table]
            entries.check(named, "model.feature_names", "are not those of the average's columns")
        entries.finish()
        return AverageMember(name, model, columns, as_numbers, recalibration, weight)

    @classmethod
    def _check_parameters(cls, parameters: Known, fitted: Known) -> None:
        check_prevalences(parameters["class_prior"], fitted["n_classes"])
        pseudocounts(parameters["class_pseudocounts"], fitted["n_classes"])
        given = (parameters[name] for name in ("candidates", "effort", "n_features_to_select"))
        check_choices(*given)

    def _load_fitted(self, fitted: Known) -> Self:
        self.n_features_in_ = fitted["n_features_in"]
        self._name_columns(fitted["feature_names"])
        self.classes_, self.class_count_ = fitted["classes"], fitted["class_count"]
        self._class_weights = fitted["class_weights"]
        self._modelled = np.asarray(self.class_count_ > 1)
        self.restriction_cost_ = fitted["restriction_cost"]
        self._left_out = fitted["left_out"] or ()
        self._coding = fitted["coding"]
        self._covariate_model = fitted["covariates"]
        self._importance = fitted["importance"]
        self.kinds_ = self._coding.kinds
        self._hold(fitted["members"], fitted["table"], fitted["log_score"])
        return self


# --------------------------------------------------------------------------------------------------
# What reports show of an average: its models, and the columns that they need
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class AverageModel:
    """One model of an average.

    Attributes
    ----------
    name, title : str
        Name of the candidate, and what it is.
    n_features : int or None
        Features that it keeps; None where it chooses the number itself.
    weight, slope, outlier_rate : float
        Weight of its log-odds in the average; factor on its evidence; share of cases for which it
        is taken to be uninformative.
    log_score, error : float
        On held-out training cases, and its standard error.
    """

    name: str
    title: str
    n_features: int | None
    weight: float
    slope: float
    outlier_rate: float
    log_score: float
    error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Average:
    """The models of an average.

    Attributes
    ----------
    models : tuple of AverageModel
        Models of one kind together, the kind of most weight first; the class frequencies last.
    n_models : int
        Models with any weight.
    log_score : float
        Of the average on held-out training cases; slightly optimistic.
    restriction_cost : float or None
        Increase of that score by keeping one set of columns; None where that was not asked for.
    """

    models: tuple[AverageModel, ...]
    n_models: int
    log_score: float
    restriction_cost: float | None

    def families(self) -> list[list[AverageModel]]:
        """Return the models of each kind, without the class frequencies."""
        return [list(alike) for _, alike in groupby(self.models[:-1], lambda model: model.name)]

    def __str__(self) -> str:
        """Return an aligned table."""
        rows = [("model", "features", "weight", "slope", "outlier rate", "log score", "error")]
        for model in self.models:
            number = "" if model.n_features is None else f"{model.n_features}"
            rates = (f"{model.weight:.3f}", f"{model.slope:.2f}", f"{model.outlier_rate:.3f}")
            scores = (f"{model.log_score:.3f}", f"{model.error:.3f}")
            rows.append((model.name, number, *rates, *scores))
        first, *sizes = (max(map(len, column)) for column in zip(*rows, strict=True))
        lines = [
            "  ".join(
                (f"{name:<{first}}", *(f"{c:>{n}}" for c, n in zip(cells, sizes, strict=True)))
            )
            for name, *cells in rows
        ]
        lines.append(f"held-out log score of the average: {self.log_score:.3f}")
        if self.restriction_cost is not None:
            lines.append(f"cost of one set of columns: {self.restriction_cost:.3f}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class AverageColumn:
    """One column that an average needs.

    Attributes
    ----------
    column : str
        Its name.
    kind : {"binary", "categorical", "real"}
        Its kind.
    use : float
        Share of the weight of all models that belongs to models with this column.
    models : int
        Number of these models.
    by_design : bool
        Whether the user keeps it.
    selected : float
        Share of the folds whose average needed it.
    importance, lower, upper, direction : float
        As in `HonestFeatureTable`; NaN where it was not measured.
    group : int
        Columns with the same number repeat each other; -1 where it was not measured.
    """

    column: str
    kind: str
    use: float
    models: int
    by_design: bool
    selected: float
    importance: float
    lower: float
    upper: float
    direction: float
    group: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AverageColumns:
    """The columns that predictions need, the most used first.

    Attributes
    ----------
    columns : tuple of AverageColumn
        The columns.
    restriction_cost : float or None
        As in `Average`.
    """

    columns: tuple[AverageColumn, ...]
    restriction_cost: float | None

    @property
    def measured(self) -> bool:
        """Whether the importance of any column was measured."""
        return any(column.group >= 0 for column in self.columns)

    def repeated(self) -> dict[int, bool]:
        """Return for each group whether it has several columns."""
        count = Counter(column.group for column in self.columns)
        return {group: group >= 0 and number > 1 for group, number in count.items()}

    def __str__(self) -> str:
        """Return an empty text: `inspect` prints the table of features already."""
        return ""


def _importance_chart(used: HonestFeatureTable, names: TableNames) -> ImportanceChart | None:
    """Return the picture of the most important columns; None where none was measured."""
    measured = np.isfinite(used.importance)
    if not measured.any():
        return None
    columns = tuple(names.column(name) for name in used.name)
    first = [
        f"{columns[j]} {used.importance[j]:.3f} ({used.lower[j]:.3f} to {used.upper[j]:.3f})"
        for j in np.flatnonzero(measured)[:5]
    ]
    return ImportanceChart(
        names=columns,
        importance=used.importance,
        lower=used.lower,
        upper=used.upper,
        group=used.group,
        text=f"Loss of held-out log score without each column, 95% interval: {'; '.join(first)}.",
    )


def average_sections(
    model: Any, titles: Mapping[str, str], names: TableNames
) -> tuple[ReportSection, ...]:
    """Return the sections of a fitted average.

    Parameters
    ----------
    model : HonestClassifier
        Fitted.
    titles : mapping of str to str
        The title of each candidate, by its name.
    names : TableNames
        The names that the table uses.
    """
    table, used = model.model_table_.to_dict(), model.feature_table()
    candidates = table.pop("model")
    models = [
        AverageModel(
            name=name,
            title=titles.get(name, ""),
            **{key: values[index] for key, values in table.items()},
        )
        for index, name in enumerate(candidates)
    ]
    *tried, frequencies = models
    weights: dict[str, float] = dict.fromkeys(candidates, 0.0)
    for one in tried:
        weights[one.name] += one.weight
    n_models = int(np.sum(model.model_table_.weight[:-1] > 0))
    cost = model.restriction_cost_
    columns = tuple(
        AverageColumn(
            column=names.column(name),
            kind=used.kind[j],
            use=float(used.use[j]),
            models=int(used.models[j]),
            by_design=name in names.by_design,
            selected=names.share_selected(name),
            importance=float(used.importance[j]),
            lower=float(used.lower[j]),
            upper=float(used.upper[j]),
            direction=float(used.direction[j]),
            group=int(used.group[j]),
        )
        for j, name in enumerate(used.name)
    )
    k = len(columns)
    which = "1 model that needs" if n_models == 1 else f"{n_models:,} models that need"
    summary = f"average of {which} {k:,} column{'' if k == 1 else 's'}"
    covariates = [str(name) for name in model.get_feature_names_out()[k:]]
    if covariates:
        summary += f" and {len(covariates)} covariate{'' if len(covariates) == 1 else 's'}"
    if cost is not None:
        summary += f"; keeping to these costs {max(cost, 0.0):.3f} in held-out log score"
    return (
        ReportSection(
            name="average",
            title="The models of the average",
            record=Average(
                models=(
                    *sorted(tried, key=lambda one: (-weights[one.name], one.name)),
                    frequencies,
                ),
                n_models=n_models,
                log_score=model.held_out_log_score_,
                restriction_cost=cost,
            ),
            template="honestbayes.average/models.jinja",
            summary=summary,
            facts=(
                ("models in the average", f"{n_models}"),
                ("columns needed", f"{k + len(covariates):,}"),
                *(
                    (("covariates", ", ".join(map(names.column, covariates))),)
                    if covariates
                    else ()
                ),
            ),
            settings=(("effort", model.effort),),
            limits=(
                (
                    "The average is only as good as its models. Columns are ranked one by one, "
                    "so a "
                    "signal that only a combination of columns shows can be missed where there "
                    "are many columns."
                ),
            ),
        ),
        ReportSection(
            name="kept",
            title="The columns that it needs",
            record=AverageColumns(columns=columns, restriction_cost=cost),
            template="honestbayes.average/columns.jinja",
            picture=_importance_chart(used, names),
        ),
    )
