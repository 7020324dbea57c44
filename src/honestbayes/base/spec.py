"""Model specs: what the average, reports, commands and files know of a model without fitting it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from honestbayes.data.kinds import Kind


@dataclass(frozen=True, slots=True)
class TableInfo:
    """What candidates are chosen by: the shape and the kinds of a training table.

    Attributes
    ----------
    kinds : tuple of str
        The kind of each column.
    n_cases, n_classes : int
        Rows and classes.
    n_candidates, n_numeric_candidates, max_candidates : int
        Columns that are not kept by design: of the table, once each level of a categorical column
        is a flag, and of the most frequent kind.
    sparse, missing : bool
        Whether it is a sparse matrix, and whether any cell is missing.
    in_memory : bool
        Whether it may be read as a whole.
    """

    kinds: tuple[Kind, ...]
    n_cases: int
    n_classes: int
    n_candidates: int
    n_numeric_candidates: int
    max_candidates: int
    sparse: bool
    missing: bool
    in_memory: bool = True

    @property
    def has_measurements(self) -> bool:
        """Whether normal scores would change anything: those of flags are flags."""
        return "real" in self.kinds

    def only(self, *kinds: Kind) -> bool:
        """Whether all columns are of these kinds."""
        return set(self.kinds) <= set(kinds)


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateSpec:
    """How the average of models tries an estimator.

    Attributes
    ----------
    name : str
        Its name in `HonestClassifier.model_table` and in ``candidates``.
    title : str
        What it is, in a few words.
    suits : callable
        Whether it takes a table, given its `TableInfo`.
    params : callable
        The constructor's parameters, given the `TableInfo`.
    quick, normal : tuple of int, or None
        Numbers of features that are tried with ``effort="quick"`` and otherwise; -1 is all. None:
        the estimator chooses the number itself.
    as_numbers : bool
        Whether it takes the table as numbers, with a binary feature for each category.
    by_kind : bool
        Whether each kind of column has a ranking of its own.
    sampled : bool
        Whether it is fitted by Markov chains, and therefore tried with ``effort="thorough"`` only.
    shared_ranking : bool
        Whether it ranks columns as numbers by r squared, so that all such candidates keep the
        same ones.
    """

    name: str
    title: str
    suits: Callable[[TableInfo], bool]
    params: Callable[[TableInfo], dict[str, Any]]
    quick: tuple[int, ...] | None = None
    normal: tuple[int, ...] | None = None
    as_numbers: bool = False
    by_kind: bool = False
    sampled: bool = False
    shared_ranking: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """What is known of an estimator without fitting it.

    Attributes
    ----------
    kind : str
        The name of the class, which files record.
    load : callable
        Imports the class and returns it. Specs themselves import nothing, so that ``--help`` can
        list all models at once.
    name : str or None
        The word of ``--model``; None where a table cannot be given to it.
    title : str
        What the model is called in a sentence, without an article.
    place : int
        Where it stands among the models of tables, the lowest first; the first is the default.
    summary : str
        One line for ``--help``, to stand behind the name and a colon.
    page : str
        The same for the page of a report.
    coded : bool
        Whether columns are features as they are, text columns as codes of their levels, and reports
        speak of kinds of features; otherwise every column becomes yes-or-no features.
    by_kind : bool
        Whether each kind of column has a ranking of its own. Such an estimator is told the kinds by
        its word ``kinds``.
    only_numbers : bool
        Whether it refuses text columns.
    needs_measurement : bool
        Whether it refuses tables without a measurement.
    only_categories : bool
        Whether it refuses measurements.
    cuts : bool
        Whether it cuts measurements into levels. Such an estimator is told the kinds too.
    only_two_classes : bool
        Whether it refuses more than two classes.
    sampled : bool
        Whether it is fitted by Markov chains, so that other numbers of features are not tried.
    drawn_once : bool
        Whether folds are drawn once, where the user does not say how often.
    has_slope : bool
        Whether reports learn a slope for it.
    beyond : str or None
        What explains that its features depend on each other, in the plural; None for naive Bayes.
    joint : bool
        Whether it models how features are distributed in each class. Only then are missing cells
        integrated out, and can features that depend on each other be what makes it too sure.
    complete : bool
        Whether it refuses missing cells in training, unless they are a level of their own.
    uncorrected : mapping or None
        The constructor's parameters that take the correction away; None where there is none to take
        away.
    keeps_all : bool
        Whether it keeps all columns.
    of_models : bool
        Whether it is an average of models, each with numbers of features, slopes and corrections of
        its own. Such an estimator is told the kinds too; it has no threshold and no slope, other
        numbers of features are not tried, and what is uncorrected beside it is naive Bayes.
    words : tuple of str
        The constructor's parameters that options of reports set, beside those of all models.
    candidates : tuple of CandidateSpec
        How the average tries it; empty where it does not.
    in_folds, final : dict
        Parameters for the fits of a cross-validation, and for the fit to all rows after them.
    """

    kind: str
    load: Callable[[], type[Any]]
    name: str | None = None
    title: str = "naive Bayes"
    place: int = 100
    summary: str = ""
    page: str = ""
    coded: bool = True
    by_kind: bool = False
    only_numbers: bool = False
    needs_measurement: bool = False
    only_categories: bool = False
    cuts: bool = False
    only_two_classes: bool = False
    sampled: bool = False
    drawn_once: bool = False
    has_slope: bool = True
    beyond: str | None = None
    joint: bool = True
    complete: bool = False
    uncorrected: Mapping[str, Any] | None = field(default_factory=lambda: {"correction": None})
    keeps_all: bool = False
    of_models: bool = False
    words: tuple[str, ...] = ()
    candidates: tuple[CandidateSpec, ...] = ()
    in_folds: dict[str, Any] = field(default_factory=dict)
    final: dict[str, Any] = field(default_factory=dict)

    @property
    def estimator(self) -> Any:
        """The class."""
        return self.load()

    @property
    def selects(self) -> bool:
        """Whether it selects features; else all columns are kept."""
        return not self.keeps_all

    @property
    def corrects(self) -> bool:
        """Whether the model itself corrects for selection, and could also do without."""
        return self.uncorrected is not None

    def make(self, words: Mapping[str, Any], kinds: Any, **more: Any) -> Any:
        """Return an unfitted estimator for folds.

        Parameters
        ----------
        words : mapping
            The constructor's parameters; None for one that it does not have is left out.
        kinds : sequence of {"binary", "categorical", "real"}, or None
            The kind of each column, for estimators that are told.
        **more
            Further words.
        """
        told = {"kinds": kinds} if self.by_kind or self.cuts or self.of_models else {}
        given = {**words, **self.in_folds, **told, **more}
        known = self.estimator._get_param_names()
        return self.estimator(**{k: v for k, v in given.items() if v is not None or k in known})
