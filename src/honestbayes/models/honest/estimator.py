"""The average of all models that suit a table: the estimator to start with."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from honestbayes.models.honest.candidates import Candidate, Effort, Facts
from honestbayes.models.honest.choices import (
    are_ours,
    check_choices,
    chosen_candidates,
    leave_out_beyond_memory,
    refuse_levels_beyond_memory,
)
from honestbayes.models.honest.explain import (
    SHOWN,
    HonestFeatureTable,
    feature_table,
    made_of,
)
from honestbayes.models.honest.held_out import rows_of
from honestbayes.models.honest.members import Member
from honestbayes.models.honest.numbers import Numbers
from honestbayes.models.honest.predict import PooledModels
from honestbayes.models.honest.saving import SavedAverage
from honestbayes.models.honest.training import (
    Tried,
    Views,
    class_frequencies_only,
    fit_members,
    try_candidates,
)
from honestbayes.models.honest.tried import ModelTable
from honestbayes.models.shared.contributions import contributions
from honestbayes.models.shared.held_out import seed_of_folds
from honestbayes.models.shared.parameters import (
    check_prevalences,
    group_codes,
    pseudocounts,
    refuse_arguments,
)
from honestbayes.models.shared.parts import TrainingLabels
from honestbayes.screening.kinds import kinds_and_missing
from honestbayes.selection import Selection, parse_always_keep
from honestbayes.sources import check_as_many, encode_labels
from honestbayes.sources.columns import as_table
from honestbayes.sources.kinds import KINDS, Kind
from honestbayes.sources.some_rows import ReadAhead
from honestbayes.sources.source import is_beyond_memory
from honestbayes.types import AnyArray, BoolArray, FloatArray


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
    _absent_parameters: ClassVar[dict[str, Any]] = {"verbose": False}

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
        facts = Facts(
            kinds=kinds,
            n_cases=labels.codes.size,
            n_classes=labels.classes.size,
            n_racing=int(np.sum(~always)),
            n_racing_numbers=int(np.sum(~always[sources])),
            largest_race=max(int(np.sum(~always & (np.array(kinds) == k))) for k in KINDS),
            sparse=sparse.issparse(X),
            missing=missing,
            in_memory=not beyond_memory,
        )
        self._left_out = leave_out_beyond_memory(self.candidates, self.effort, facts)
        most = self.n_features_to_select
        if most is not None and most > facts.n_racing_numbers:
            msg = (
                f"n_features_to_select={most} is more than the {facts.n_racing_numbers} features "
                "in the race; give a smaller number or None."
            )
            raise ValueError(msg)
        tried = self._tried(facts, most, views, labels, always)
        if most is not None:
            free = self._tried(facts, None, views, labels, always)
            self.restriction_cost_ = tried.log_score - free.log_score
        members = fit_members(tried, views, labels, self.n_jobs)
        self._hold(members, tried.table, tried.log_score)
        if tried.interrupted:
            raise KeyboardInterrupt

    def _tried(
        self,
        facts: Facts,
        most: int | None,
        views: Views,
        labels: TrainingLabels,
        always: BoolArray,
    ) -> Tried:
        chosen = chosen_candidates(self.candidates, self.effort, facts, most)
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

    def _hold(self, members: Sequence[Member], table: ModelTable, log_score: float) -> None:
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
