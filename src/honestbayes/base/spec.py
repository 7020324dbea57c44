"""Model specs: descriptions of models for the average, reports, commands and files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

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
    quick : bool
        Whether a first answer is wanted, with ``effort="quick"``.
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
    quick: bool = False

    FEW_COLUMNS: ClassVar[int] = 200
    """Columns up to which all can be kept, so that nothing has to be selected."""

    @property
    def has_few_columns(self) -> bool:
        """Whether the table is an ordinary one, of few columns."""
        return self.n_numeric_candidates <= self.FEW_COLUMNS

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
    family : str
        Candidates of one family share one prior weight, so that near-copies gain none. By default
        each is a family of its own.
    title : str
        What it is, in a few words.
    suits : callable
        Whether it takes a table, given its `TableInfo`.
    params : callable
        The constructor's parameters, given the `TableInfo`.
    quick, normal : tuple of int, or None
        Numbers of features that are tried with ``effort="quick"`` and otherwise; -1 is all, and an
        empty tuple not to try it. None: the estimator chooses the number itself.
    as_numbers : bool
        Whether it takes the table as numbers, with a binary feature for each category.
    by_kind : bool
        Whether each kind of column has a ranking of its own.
    sampled : bool
        Whether it is fitted by Markov chains, and therefore tried with ``effort="thorough"`` only.
    shared_ranking : bool
        Whether it ranks columns as numbers by r squared, so that all such candidates keep the
        same ones.
    by_name : bool
        Whether it is tried only where the user names it in ``candidates``.
    held_out_once : bool
        Whether a fit takes long, so that every case is held out only once, as with models that run
        chains.
    """

    name: str
    title: str
    suits: Callable[[TableInfo], bool]
    params: Callable[[TableInfo], dict[str, Any]]
    family: str = ""
    quick: tuple[int, ...] | None = None
    normal: tuple[int, ...] | None = None
    as_numbers: bool = False
    by_kind: bool = False
    sampled: bool = False
    shared_ranking: bool = False
    by_name: bool = False
    held_out_once: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSpec:
    """The tables that a model takes, and the treatment of their columns.

    Attributes
    ----------
    coded : bool
        Whether columns are features as they are, text columns as codes of their levels; otherwise
        every column becomes binary features.
    kinds : tuple of {"binary", "categorical", "real"}
        The kinds of columns that the model takes.
    needs_real : bool
        Whether it refuses tables without a real-valued column.
    by_kind : bool
        Whether columns of each kind are ranked among themselves.
    bins_real : bool
        Whether it cuts real-valued columns into bins.
    two_classes : bool
        Whether it refuses more than two classes.
    complete : bool
        Whether it refuses missing cells in training, unless they are a level of their own.
    """

    coded: bool = True
    kinds: tuple[Kind, ...] = ("binary", "categorical", "real")
    needs_real: bool = False
    by_kind: bool = False
    bins_real: bool = False
    two_classes: bool = False
    complete: bool = False


CHAIN_DEFAULTS = {"n_chains": 4, "n_draws": 500, "n_warmup": 200, "n_doublings": 4}
"""Chain parameters of every sampled estimator, unless the user gives others: chains go on, to 16
times this length at most, until all R-hat are below 1.01. What differs between models is how many
sweeps a draw has (``thin``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainSpec:
    """Parameters of the Markov chains in reports.

    Attributes
    ----------
    fold_params, final_params : dict
        Constructor parameters for the fits of a cross-validation, and for the fit to all rows
        after them.
    repeat_folds : bool
        Whether folds are drawn several times where the user does not give a number.
    """

    fold_params: dict[str, Any] = field(default_factory=dict)
    final_params: dict[str, Any] = field(default_factory=CHAIN_DEFAULTS.copy)
    repeat_folds: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """Description of a model, available without importing or fitting it.

    Attributes
    ----------
    kind : str
        Name of the estimator's class, which files record.
    load : callable
        Imports and returns the class. Specs themselves import nothing, so that ``--help`` can list
        all models at once.
    name : str or None
        Value of ``--model``; None for models that commands do not offer.
    title : str
        Name of the model in a sentence, without an article.
    order : int
        Position among the models that commands offer, the lowest first; the first is the default.
    summary : str
        One line for ``--help``, after the name and a colon.
    description : str
        The same for the page of a report.
    input : InputSpec
        Which tables it takes.
    chains : ChainSpec or None
        How its chains are run; None for models that are not fitted by Markov chains. Other numbers
        of features are not tried where chains run.
    selects : bool
        Whether it selects features; otherwise all columns are kept.
    uncorrected_params : mapping or None
        Constructor parameters that switch the correction for selection off; None for models
        without a correction.
    recalibrates : bool
        Whether reports learn a slope for it.
    dependence : str or None
        The part of the model that explains dependence between features; None for naive Bayes.
    generative : bool
        Whether it models the distribution of features in each class. Only then are missing cells
        integrated out, and can dependence between features make it overconfident.
    is_average : bool
        Whether it is an average of models, each with its own number of features, slope and
        correction. It has no threshold and no slope, other numbers of features are not tried, and
        the report compares it with uncorrected naive Bayes.
    report_params : tuple of str
        Constructor parameters that options of reports set, beside those that all models have.
    candidates : tuple of CandidateSpec
        How the average tries it; empty where it does not.
    citation : str
        Where the method was published, for the foot of a report.
    """

    kind: str
    load: Callable[[], type[Any]]
    name: str | None = None
    title: str = "naive Bayes"
    order: int = 100
    summary: str = ""
    description: str = ""
    input: InputSpec = InputSpec()
    chains: ChainSpec | None = None
    selects: bool = True
    uncorrected_params: Mapping[str, Any] | None = field(
        default_factory=lambda: {"correction": None}
    )
    recalibrates: bool = True
    dependence: str | None = None
    generative: bool = True
    is_average: bool = False
    report_params: tuple[str, ...] = ()
    candidates: tuple[CandidateSpec, ...] = ()
    citation: str = "Li, Zhang and Neal (Bayesian Analysis 3, 2008, 171–196)"

    @property
    def estimator(self) -> Any:
        """The class."""
        return self.load()

    @property
    def corrects(self) -> bool:
        """Whether the model corrects for selection."""
        return self.uncorrected_params is not None

    def make_estimator(self, params: Mapping[str, Any], kinds: Any, **more: Any) -> Any:
        """Return an unfitted estimator for folds.

        Parameters
        ----------
        params : mapping
            Constructor parameters; None for one that the estimator does not have is left out.
        kinds : sequence of {"binary", "categorical", "real"}, or None
            The kind of each column, for estimators with a parameter of this name.
        **more
            Further parameters.
        """
        known = self.estimator._get_param_names()
        chains = {} if self.chains is None else self.chains.fold_params
        given = {**params, **chains, **({"kinds": kinds} if "kinds" in known else {}), **more}
        return self.estimator(**{k: v for k, v in given.items() if v is not None or k in known})
