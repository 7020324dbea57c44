"""The average of all models that suit a table: the estimator to start with."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from honestbayes.average.candidates import (
    EFFORTS,
    Candidate,
    Effort,
    Numbers,
    candidate_specs,
    candidates_for,
    left_out_beyond_memory,
    name_of,
)
from honestbayes.average.cross_fit import (
    AverageMember,
    CandidateResults,
    ModelTable,
    Views,
    class_frequencies_only,
    fit_members,
    rows_of,
    try_candidates,
)
from honestbayes.average.model import PooledModels, SavedAverage
from honestbayes.base.explanation import contributions
from honestbayes.base.parameters import (
    check_prevalences,
    group_codes,
    pseudocounts,
    refuse_arguments,
    whole_number,
)
from honestbayes.base.part import TrainingLabels
from honestbayes.base.recalibration import seed_of_folds
from honestbayes.base.spec import TableInfo
from honestbayes.data import check_as_many, encode_labels
from honestbayes.data.kinds import KINDS, Kind, as_table, kinds_and_missing
from honestbayes.data.source import ReadAhead, is_beyond_memory
from honestbayes.selection import Selection, parse_always_keep
from honestbayes.tabular import Tabular
from honestbayes.types import AnyArray, BoolArray, FloatArray

# --------------------------------------------------------------------------------------------------
# What a user may ask of an average, and what is refused before any work starts
# --------------------------------------------------------------------------------------------------


def check_choices(given: Any, effort: Any, n_features_to_select: Any) -> None:
    """Refuse words that mean nothing; ``given`` are the candidates."""
    if effort not in EFFORTS:
        msg = f"effort={effort!r} is not one of {EFFORTS}."
        raise ValueError(msg)
    if n_features_to_select is not None:
        whole_number({"n_features_to_select": n_features_to_select}, "n_features_to_select", 1)
    if isinstance(given, str) and given == "auto":
        return
    several = isinstance(given, Sequence) and not isinstance(given, str) and len(given) > 0
    if several and all(isinstance(each, str) for each in given):
        known = [candidate.name for _, candidate in candidate_specs()]
        wrong = [name for name in given if name not in known]
        if wrong:
            msg = f"candidates names {wrong[0]!r}, which is not one of {known}."
            raise ValueError(msg)
    elif not several or not all(map(is_classifier, given)):
        msg = "candidates must be 'auto', a list of names, or a list of classifiers."
        raise ValueError(msg)
    elif n_features_to_select is not None:
        msg = "n_features_to_select is for our own candidates: classifiers see all columns."
        raise ValueError(msg)


def are_ours(given: Any) -> bool:
    """Whether candidates are named, and not classifiers of the user's."""
    return isinstance(given, str) or isinstance(given[0], str)


def chosen_candidates(
    given: Any, effort: Effort, table_info: TableInfo, most: int | None
) -> list[Candidate]:
    """Return the candidates that the user wants and that suit the table.

    Parameters
    ----------
    given : "auto", or list of str or of classifiers
        What the user wants.
    effort : {"quick", "normal", "thorough"}
        How many are tried where that is "auto".
    table_info : TableInfo
        What is known of the table.
    most : int or None
        As in `candidates_for`.
    """
    if not are_ours(given):
        return [Candidate(name_of(each, place), each) for place, each in enumerate(given)]
    found = candidates_for(table_info, effort if given == "auto" else "thorough", most)
    if given != "auto":
        found = [candidate for candidate in found if candidate.name in given]
    if not found:
        suits = ", ".join(repr(c.name) for c in candidates_for(table_info, "thorough", most))
        table = "table" if table_info.in_memory else "table, which is beyond memory"
        msg = f"none of candidates={given!r} suits this {table}; those that do: {suits}."
        raise ValueError(msg)
    return found


def leave_out_beyond_memory(given: Any, effort: Effort, table_info: TableInfo) -> tuple[str, ...]:
    """Return the candidates that a table beyond memory does without, and say so.

    Parameters are those of `chosen_candidates`.
    """
    if table_info.in_memory:
        return ()
    if not are_ours(given):
        msg = (
            "candidates holds classifiers, which see all columns, but X is beyond memory: name "
            "candidates of ours, or give a table in memory."
        )
        raise ValueError(msg)
    chosen_candidates(given, effort, table_info, None)  # refuses where none is left
    wanted = None if given == "auto" else given
    found = left_out_beyond_memory(table_info, effort if wanted is None else "thorough", wanted)
    if found:
        warnings.warn(
            "X is beyond memory, and candidates that hold all of its columns, or very many cells "
            f"of them, are left out: {', '.join(found)}. A table in memory is tried with these "
            "too.",
            UserWarning,
            stacklevel=5,
        )
    return found


def refuse_levels_beyond_memory(kinds: Sequence[str]) -> None:
    """Refuse columns that the user calls categorical, of a table beyond memory."""
    if "categorical" in kinds:
        msg = (
            f"kinds says that column {list(kinds).index('categorical')} is categorical, but X is "
            "beyond memory, where columns are flags or measurements: make a flag of each level, "
            "or give a table in memory."
        )
        raise ValueError(msg)


# --------------------------------------------------------------------------------------------------
# What the columns of a table are worth to an average
# --------------------------------------------------------------------------------------------------


SHOWN = 20
"""Columns of which contributions are found, unless the user names others."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class HonestFeatureTable(Tabular):
    """The columns that any model of an average looks at, those of most weight first.

    Attributes
    ----------
    name : tuple of str
        Names of columns.
    kind : tuple of str
        Their kinds.
    use : ndarray of shape (k,)
        Share of the average's weight that models have which look at the column.
    models : ndarray of int of shape (k,)
        How many models these are.
    """

    name: tuple[str, ...]
    kind: tuple[str, ...]
    use: FloatArray
    models: AnyArray

    def changed(self, change: Callable[[Any], Any]) -> Any:
        """Return the table as a function changes it."""
        return change(self)

    def renamed(self, word: Callable[[str], str], classes: tuple[str, ...] = ()) -> Self:
        """Return the table with other names of columns; it does not speak of classes."""
        del classes
        return replace(self, name=tuple(map(word, self.name)))

    def with_levels(self, texts: Callable[[str, tuple[str, ...]], tuple[str, ...]]) -> Self:
        """Return the table: it does not speak of levels."""
        del texts
        return self

    def shortened(self, most: int) -> Self:
        """Return the table: it does not speak of levels."""
        del most
        return self

    def to_dict(self) -> dict[str, list[Any]]:
        """Return plain columns, for a frame or JSON."""
        return {
            "name": list(self.name),
            "kind": list(self.kind),
            "use": self.use.tolist(),
            "models": self.models.tolist(),
        }

    def __str__(self) -> str:
        """Return an aligned table of the first columns."""
        shown = range(min(len(self.name), SHOWN))
        width = max([len(self.name[j]) for j in shown] + [len("column")])
        lines = [f"{'column':<{width}}  {'kind':<11}  {'use':>6}  models"]
        lines += [
            f"{self.name[j]:<{width}}  {self.kind[j]:<11}  {self.use[j]:>6.1%}  {self.models[j]:>6}"
            for j in shown
        ]
        left = len(self.name) - len(shown)
        return "\n".join(lines + ([f"and {left:,} more"] if left else []))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MadeOf:
    """What an average is made of.

    Attributes
    ----------
    models : ModelTable
        The candidates.
    titles : tuple of str
        What each of them is, in words; empty for classifiers of the user's.
    columns : HonestFeatureTable
        The columns that predictions look at.
    log_score : float
        Of the average on held-out training cases; a little too good.
    restriction_cost : float or None
        What keeping one set of columns costs in that score; None where it was not asked for.
    """

    models: ModelTable
    titles: tuple[str, ...]
    columns: HonestFeatureTable
    log_score: float
    restriction_cost: float | None

    @property
    def n_models(self) -> int:
        """How many models the average has, the class frequencies not counted."""
        return int(np.sum(self.models.weight[:-1] > 0))

    def in_words(self) -> str:
        """Say it in short."""
        k = len(self.columns.name)
        return (
            f"average of {self.n_models} model{'' if self.n_models == 1 else 's'}, which look at "
            f"{k:,} column{'' if k == 1 else 's'}"
        )


def made_of(model: Any) -> MadeOf:
    """Put together what a fitted average is made of."""
    titles = {candidate.name: candidate.title for _, candidate in candidate_specs()}
    table: ModelTable = model.model_table_
    return MadeOf(
        models=table,
        titles=tuple(titles.get(name, "") for name in table.name),
        columns=feature_table(model),
        log_score=model.held_out_log_score_,
        restriction_cost=model.restriction_cost_,
    )


def feature_table(model: Any) -> HonestFeatureTable:
    """Summarise the columns that a fitted average looks at."""
    columns = model.kept_columns()
    use = model._use()
    models = np.zeros(use.size, dtype=np.int64)
    for member in model._members:
        models[model._columns_of(member)] += 1
    total = max(sum(member.weight for member in model._members), 1e-300)
    return HonestFeatureTable(
        name=tuple(map(str, model.get_feature_names_out())),
        kind=tuple(model.kinds_[column] for column in columns),
        use=use[columns] / total,
        models=models[columns],
    )


class HonestClassifier(ClassifierMixin, PooledModels, SavedAverage):
    """The average of all models that suit a table, calibrated on held-out cases.

    Each candidate, with each of several numbers of features, predicts the same held-out cases,
    selection repeated each time. From what it claimed and what happened, a slope on its evidence
    and a rate of lapses are learned and averaged over; and how much each candidate's log-odds
    count (docs, "The average"). Which candidates there are follows from the kinds of columns.

    Parameters
    ----------
    candidates : "auto", or list of str or of classifiers, default="auto"
        "auto": all that suit the table. A list of names ("binary", "categorical", "gaussian",
        "cut", "mixed", "discriminant", "logistic", "mixture", "factors", "interactions",
        "networks"), or of scikit-learn classifiers, each of which is cloned and fitted again in
        every fold; then `save` is refused, intervals carry slope, lapses and candidates only, and
        missing cells are as each of them takes them.
    effort : {"quick", "normal", "thorough"}, default="normal"
        "quick": one or two numbers of features each. "thorough": models fitted by Markov chains
        too, which takes minutes.
    n_features_to_select : int, optional
        Keep one set of so many columns, the same for all candidates: those that rank columns by
        the F statistic. Selection is repeated in each fold.
    kinds : mapping or sequence, optional
        The kind of columns, "binary", "categorical" or "real": for some by name or index, or for
        all in order. By default texts are categorical, numbers with two values binary,
        other numbers real, and columns with one value in the training rows are left out. A binary
        column may hold any two numbers; a third one at prediction counts as the larger where it
        is above the smaller, with a warning.
    always_keep : list of names or indices, or mask, optional
        Columns kept by design, outside the race.
    class_pseudocounts : float or array-like of shape (n_classes,), default=1.0
        Cases of each class that the Dirichlet prior of the class frequencies is worth.
    class_prior : array-like of shape (n_classes,), optional
        Prevalences where the model is used, in the order of ``classes_``.
    n_jobs : int, optional
        Folds, and then final fits, at work at once; of a table in memory.
    random_state : int, RandomState or None, default=None
        Breaks ties between features of equal strength, and seeds chains; an int is also the seed
        of the folds.
    verbose : bool, default=False
        Whether to say how long it will take, once the first fold is done, and how far it is.

    Attributes
    ----------
    model_table_ : ModelTable
        The candidates; `model_table` returns it.
    held_out_log_score_ : float
        Of the average on held-out cases; a little too good, because its weights were learned on
        the same.
    restriction_cost_ : float or None
        What keeping one set of columns costs in held-out log score; None where that was not asked
        for.
    left_out_ : tuple of str
        Candidates that a table beyond memory does without; `fit` warns of them.
    columns_needed_ : ndarray
        Names (or numbers) of the columns that predictions look at.
    kinds_ : tuple of str
        The kind of each column; "constant" for one with a single value.
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
    A class with a single case cannot be held out: it gets its share of the cases, whatever the
    features say, with a warning.

    An interrupt (Ctrl-C) once every case has been held out leaves a model that has learned from
    the folds so far, and is raised again.

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

    def __init__(
        self,
        *,
        candidates: Any = "auto",
        effort: Effort = "normal",
        n_features_to_select: int | None = None,
        kinds: Any = None,
        always_keep: Any = None,
        class_pseudocounts: Any = 1.0,
        class_prior: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.candidates = candidates
        self.effort = effort
        self.n_features_to_select = n_features_to_select
        self.kinds = kinds
        self.always_keep = always_keep
        self.class_pseudocounts = class_pseudocounts
        self.class_prior = class_prior
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        """Declare what inputs are accepted: of classifiers of the user's, what all of them take."""
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
        """Try all candidates on held-out cases, and fit those that count.

        Parameters
        ----------
        X : table of shape (n, p)
            Training rows; NaN and None are missing. Of a table beyond memory (a packed store, a
            lazy frame, a Dask table) folds are screened in one pass, and what is kept is read.
        y : array-like of shape (n,)
            Class labels of two or more kinds.
        groups : array-like of shape (n,), optional
            Cases of one group (one patient, say) are held out together.
        **refused
            ``sample_weight`` is refused: the correction needs whole cases. For a different
            prevalence use ``class_prior``.
        """
        refuse_arguments(refused)
        X = as_table(X)
        classes, codes = encode_labels(y)
        check_as_many(X.shape[0], codes.size)
        check_prevalences(self.class_prior, classes.size)
        weights = pseudocounts(self.class_pseudocounts, classes.size)
        grouped = group_codes(groups, codes.size)
        self._check_choices()
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
                "fewer than two classes have two cases or more: nothing can be held out to learn "
                f"from. Cases of each class: {counts.tolist()[:10]}."
            )
            raise ValueError(msg)
        if rows.size < codes.size:
            self._warn_of_single_cases()
            X, grouped = rows_of(X, rows), None if grouped is None else grouped[rows]
        places = np.cumsum(self._modelled) - 1
        labels = TrainingLabels(
            np.arange(int(self._modelled.sum())),
            places[codes[rows]],
            grouped,
            weights[self._modelled],
            seed_of_folds(self.random_state),
        )
        self._fit_average(X, labels)
        return self

    def _fit_average(self, X: Any, labels: TrainingLabels) -> None:
        self.kinds_, missing = kinds_and_missing(X, self.kinds)
        names = getattr(self, "feature_names_in_", None)
        always = parse_always_keep(
            self.always_keep, None if names is None else tuple(map(str, names)), X.shape[1]
        )
        beyond_memory = is_beyond_memory(X)
        if beyond_memory:
            refuse_levels_beyond_memory(self.kinds_)
        self._numbers = Numbers.learn(X, self.kinds_)
        self.restriction_cost_: float | None = None
        varying, kinds = self._numbers.varying(), self._numbers.varying_kinds()
        if not varying.size:
            self._left_out = ()
            self._hold([], *class_frequencies_only(labels))
            return
        always, X = always[varying], self._numbers.plain(X, self._describe)
        views = self._views(ReadAhead(X) if beyond_memory else X)
        sources = self._numbers.sources()
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
        tried = self._tried(table_info, most, views, labels, always)
        if most is not None:
            free = self._tried(table_info, None, views, labels, always)
            self.restriction_cost_ = tried.log_score - free.log_score
        members = fit_members(tried, views, labels, self.n_jobs)
        self._hold(members, tried.table, tried.log_score)
        if tried.interrupted:
            raise KeyboardInterrupt

    def _tried(
        self,
        table_info: TableInfo,
        most: int | None,
        views: Views,
        labels: TrainingLabels,
        always: BoolArray,
    ) -> CandidateResults:
        chosen = chosen_candidates(self.candidates, self.effort, table_info, most)
        found = [self._prepared(candidate, always) for candidate in chosen]
        return try_candidates(found, views, labels, self.n_jobs, verbose=bool(self.verbose))

    def _prepared(self, candidate: Candidate, always: BoolArray) -> Candidate:
        """Return a candidate whose estimator knows what the user said."""
        given = candidate.estimator.get_params(deep=False)
        if not are_ours(self.candidates):
            return candidate
        mask = always[self._numbers.sources()] if candidate.as_numbers else always
        words: dict[str, Any] = {"random_state": self.random_state}
        words |= {"always_keep": mask} if always.any() else {}
        words = {name: value for name, value in words.items() if name in given}
        candidate.estimator.set_params(**words)
        return candidate

    def _check_choices(self) -> None:
        """Refuse words that mean nothing, before any work starts."""
        check_choices(self.candidates, self.effort, self.n_features_to_select)

    def _warn_of_single_cases(self) -> None:
        single = self.classes_[~self._modelled].tolist()
        named = ", ".join(repr(label) for label in single[:5]) + (", ..." if single[5:] else "")
        warnings.warn(
            f"with one case only nothing can be learned of class {named}: it gets its share of "
            "the cases, whatever the features say.",
            UserWarning,
            stacklevel=3,
        )

    def _hold(self, members: Sequence[AverageMember], table: ModelTable, log_score: float) -> None:
        """Hold what was fitted, and show it."""
        self._members = tuple(members)
        self.model_table_ = table
        self.held_out_log_score_ = log_score
        columns = self.kept_columns()
        names = getattr(self, "feature_names_in_", None)
        self.columns_needed_: AnyArray = columns if names is None else names[columns]

    # --------------------------------------------------------------- explanation

    @property
    def left_out_(self) -> tuple[str, ...]:
        """Candidates that a table beyond memory does without, in words."""
        check_is_fitted(self)
        return self._left_out

    def model_table(self) -> ModelTable:
        """Return what each candidate is worth, and how it did on held-out cases."""
        check_is_fitted(self)
        return self.model_table_

    def feature_table(self) -> HonestFeatureTable:
        """Return how much of the average looks at each column, and which way it points."""
        check_is_fitted(self)
        return feature_table(self)

    def _selections(self) -> dict[Kind, Selection]:
        """Return nothing: each model of the average has a selection of its own."""
        return {}

    def _feature_tables(self) -> dict[Kind, Any]:
        """Return nothing: what a column says differs between the models of the average."""
        return {}

    def _sections(self) -> dict[str, Any]:
        """Return a record of what the average is made of, by name."""
        check_is_fitted(self)
        return {"average": made_of(self)}

    def contributions(self, X: Any, columns: Any = None) -> FloatArray:
        """Return what each cell adds to the log-odds of its row: with it, less without it.

        A cell is left out as a missing one is: models integrate over it, given the others.

        Parameters
        ----------
        X : table of shape (n, p)
            Rows.
        columns : list of int, optional
            Columns of the table; by default the first 20 of `get_feature_names_out`, which most of
            the average looks at.

        Returns
        -------
        ndarray of shape (n, k), or (n, k, n_classes) for more than two classes
            Log-odds of ``classes_[1]``; for more classes log probabilities of each.
        """
        check_is_fitted(self)
        chosen = self.kept_columns()[:SHOWN] if columns is None else np.atleast_1d(columns)
        wrong = [c for c in chosen.tolist() if c not in range(self.n_features_in_)]
        if wrong:
            msg = f"column {wrong[0]!r} is not a number from 0 to {self.n_features_in_ - 1}."
            raise ValueError(msg)
        return contributions(self, X, chosen)
