"""Naive Bayes for tables of binary, categorical and continuous features."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np

from honestbayes.base.estimator import SelectiveClassifier
from honestbayes.base.explanation import KeptTable
from honestbayes.base.parameters import is_number
from honestbayes.base.part import FittedPart, TrainingLabels, TrainingPart
from honestbayes.data.binarization import Binarization
from honestbayes.data.kinds import (
    ALL_KINDS,
    KINDS,
    Kind,
    TwoValues,
    as_columns,
    columns_of,
    find_kinds,
    kinds_of_columns,
    kinds_of_source,
)
from honestbayes.data.source import ColumnsOf, DescribeColumns, as_source, is_beyond_memory
from honestbayes.files.fields import MOST_FEATURES, Entries, Field, Known, Plain, Section
from honestbayes.models.binary.model import (
    BernoulliPart,
    BernoulliTraining,
    FeatureTable,
    TrainingRows,
    bernoulli_settings,
)
from honestbayes.models.binary.model import feature_table as binary_table
from honestbayes.models.categorical.model import (
    CategoricalPart,
    categorical_training,
)
from honestbayes.models.categorical.model import feature_table as categorical_table
from honestbayes.models.gaussian.estimator import (
    GaussianPart,
    GaussianTraining,
    gaussian_settings,
    refuse_sparse,
)
from honestbayes.models.gaussian.estimator import feature_table as real_table
from honestbayes.selection import Selection
from honestbayes.types import BoolArray, IntArray

_TABLES: dict[type, Callable[..., KeptTable]] = {
    BernoulliPart: binary_table,
    CategoricalPart: categorical_table,
    GaussianPart: real_table,
}
"""The feature tables of the estimators of one kind."""


def part_table(
    part: Any, names: tuple[str, ...], classes: tuple[str, ...], slope: float
) -> KeptTable:
    """Return the table of the features of one kind, as the estimator of that kind does."""
    return _TABLES[type(part)](part, names, classes, slope)


@dataclass(frozen=True, slots=True)
class MixedFeatureTable:
    """The kept features, by kind.

    Attributes
    ----------
    parts : dict of str to table
        "binary": `FeatureTable`; "categorical": `CategoricalFeatureTable`; "real":
        `GaussianFeatureTable`. With more than two classes binary features are categorical ones of
        two levels.
    """

    parts: dict[Kind, Any]

    def to_dict(self) -> dict[Kind, dict[str, list[Any]]]:
        """Return plain columns of each kind."""
        return {kind: table.to_dict() for kind, table in self.parts.items()}

    def to_pandas(self) -> Any:
        """Return one pandas frame of all kinds; columns that a kind lacks are missing."""
        import pandas as pd

        frames = {kind: table.to_pandas() for kind, table in self.parts.items()}
        return pd.concat(frames, names=["kind"]).reset_index("kind").reset_index(drop=True)

    def _repr_html_(self) -> str:
        """Return a table for each kind, as a notebook shows it."""
        return "".join(
            f"<p>{kind} features</p>{table._repr_html_()}" for kind, table in self.parts.items()
        )

    def __str__(self) -> str:
        """Return an aligned table for each kind."""
        return "\n\n".join(f"{kind} features\n{table}" for kind, table in self.parts.items())

    def changed(self, change: Callable[[Any], Any]) -> Self:
        """Apply a function to the table of each kind."""
        return type(self)({kind: change(table) for kind, table in self.parts.items()})


@dataclass(frozen=True, slots=True)
class KindsOfColumns(Field):
    """The kind of each column, in files by its number."""

    def write(self, name: str, value: Any) -> Plain:
        """Return the numbers."""
        return {}, {name: np.array([ALL_KINDS.index(kind) for kind in value], dtype=np.int64)}

    def read(self, entries: Entries, name: str, known: Known) -> tuple[Kind, ...]:
        """Return the kinds."""
        codes = entries.counts(name, (known["n_features_in"],), len(ALL_KINDS) - 1)
        return tuple(ALL_KINDS[code] for code in codes.tolist())


@dataclass(frozen=True, slots=True)
class KindsOfParts(Field):
    """The kinds that occur; with more than two classes binary features are a categorical part."""

    def write(self, name: str, value: Any) -> Plain:
        """Return the kinds in a list."""
        return {name: list(value)}, {}

    def read(self, entries: Entries, name: str, known: Known) -> tuple[Kind, ...]:
        """Return the kinds; refuse those that are not those of the parts."""
        kinds, widths = entries.value(name), known["part_widths"]
        good = isinstance(kinds, list) and kinds == [kind for kind in KINDS if kind in kinds]
        good = good and len(kinds) == len(widths)
        entries.check(good, name, "are not those of the parts")
        for kind, part, width in zip(kinds, known["part_names"], widths, strict=True):
            coded = kind == "binary" and known["n_classes"] > 2
            entries.check(part == ("categorical" if coded else kind), name, "are not of the parts")
            fits = known["kinds_"].count(kind) == width
            entries.check(fits, "kinds", "differ from those of the parts")
        others = set(known["kinds_"]) - set(kinds) - {"constant", "covariate"}
        entries.check(not others, "kinds", "differ from those of the parts")
        return tuple(kinds)


class SelectiveMixedNB(SelectiveClassifier):
    """Naive Bayes for tables of binary, categorical and continuous columns.

    Columns of each kind are ranked among themselves and corrected as by the estimator of that kind
    (`SelectiveBernoulliNB`, `SelectiveCategoricalNB`, `SelectiveGaussianNB`); given the class the
    kinds are taken as independent. One slope on the evidence of all corrects for features that
    depend on each other, which naive Bayes ignores.

    Parameters
    ----------
    kinds : mapping or sequence, optional
        The kind of columns: a mapping from names or indices to "binary", "categorical" or "real",
        which need not name all of them, or a sequence of a kind for each column. By default texts
        and frames' categories are categorical, numbers with two values binary, whatever these
        are, other numbers real, and columns with one value in the training rows are left out.
        A third value of a binary column at prediction counts as the larger where it is above the
        smaller, with a warning. Numbers with more values that are said to be binary are cut at
        their median where there are two classes, and refused where there are more.
    n_features_to_select : int, "all", "cv", mapping or None, default=None
        How many features of each kind to keep, or all where a kind has fewer; a mapping from kinds
        to numbers for different ones. None: 10. "cv": found inside `fit`.
    threshold : float, optional
        Instead, keep all features whose absolute correlation (or its equivalent) is above this.
    correction : {"auto", "counts", "selection"} or None, default="auto"
        What the model is conditioned on, as in the estimators of one kind.
    always_keep : list of names or indices, or mask, optional
        Features kept by design, which are not ranked.
    covariates : list of names or indices, or mask, optional
        Columns such as age, sex or batch that are conditioned on and not modelled: they set the
        prior log-odds of each case. Features must not depend on them within the classes; `fit`
        warns where kept ones do. Numbers or categories.
    class_pseudocounts : float or array-like of shape (n_classes,), default=1.0
        Parameter of the Dirichlet prior of the class frequencies, in cases of each class.
    class_prior : array-like of shape (n_classes,), optional
        Prevalences where the model is used, in the order of ``classes_``.
    recalibrate : {"bayes", "slope"} or None, default="bayes"
        How probabilities are recalibrated on held-out cases. "bayes": they are averaged over a
        slope on the evidence and an outlier rate (of cases for which the features are
        uninformative), both learned from held-out predictions in `fit`. "slope": one factor on the
        evidence, plugged in.
    random_state : int, RandomState or None, default=None
        Breaks ties between features of equal strength.

    Attributes
    ----------
    kinds_ : tuple of str
        The kind of each column; "constant" for one with a single value, "covariate" for
        covariates.
    part_kinds_ : tuple of str
        The kinds that occur.
    selections_ : dict of str to Selection
        What was kept and discarded, for each kind that occurs; columns are numbered within the
        kind.
    number_choice_ : NumberChoice or None
        The numbers of features that were tried, with n_features_to_select="cv".
    slope_ : float
        Posterior mean of the slope on the evidence; 1 without recalibration.
    outlier_rate_ : float
        Posterior mean of the outlier rate; 0 without recalibration.
    correction_ : str or None
        What "auto" became.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_count_ : ndarray of shape (n_classes,)
        Training cases in each class.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features, where X has them.

    Examples
    --------
    >>> import numpy as np
    >>> from honestbayes import SelectiveMixedNB
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 30)
    >>> X = np.column_stack([rng.normal(size=(60, 40)), rng.integers(0, 2, (60, 40))])
    >>> model = SelectiveMixedNB(n_features_to_select=3, random_state=0).fit(X, y)
    >>> sorted(model.selections_)
    ['binary', 'real']
    """

    _kind: ClassVar[str] = "SelectiveMixedNB"
    _explain_part = staticmethod(part_table)
    _part_classes: ClassVar[Mapping[str, type]] = {
        "binary": BernoulliPart,
        "categorical": CategoricalPart,
        "real": GaussianPart,
    }
    _fitted_choices: ClassVar[Mapping[str, Field]] = {
        "kinds_": KindsOfColumns(),
        "part_kinds_": KindsOfParts(),
        "_two_values": Section(kind=TwoValues),
    }

    def __init__(
        self,
        *,
        kinds: Any = None,
        n_features_to_select: int | Literal["all", "cv"] | Mapping[str, Any] | None = None,
        threshold: float | None = None,
        correction: Literal["auto", "counts", "selection"] | None = "auto",
        always_keep: Any = None,
        covariates: Any = None,
        class_pseudocounts: Any = 1.0,
        class_prior: Any = None,
        recalibrate: Literal["bayes", "slope"] | None = "bayes",
        random_state: Any = None,
    ) -> None:
        self.kinds = kinds
        self.n_features_to_select = n_features_to_select
        self.threshold = threshold
        self.correction = correction
        self.always_keep = always_keep
        self.covariates = covariates
        self.class_pseudocounts = class_pseudocounts
        self.class_prior = class_prior
        self.recalibrate = recalibrate
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Declare what inputs are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        return tags

    def _training_parts(self, X: Any, labels: TrainingLabels) -> list[TrainingPart]:
        refuse_sparse(X, type(self).__name__)
        beyond = is_beyond_memory(X)
        kinds = kinds_of_source(X, self.kinds) if beyond else find_kinds(X, self.kinds)
        covariate = np.zeros(len(kinds), dtype=bool)
        if self.covariates is not None:
            covariate = self._covariate_mask()
        # Where no feature varies, none is kept, and the class frequencies are predicted.
        self._nothing_varies = set(np.array(kinds)[~covariate].tolist()) == {"constant"}
        if self._nothing_varies and beyond:
            kinds = ("real",) * X.shape[1]
        elif self._nothing_varies:
            kinds = kinds_of_columns(as_columns(X), constant=False)
        self.kinds_: tuple[Kind, ...] = tuple(
            "covariate" if apart else kind
            for kind, apart in zip(kinds, covariate.tolist(), strict=True)
        )
        self._two_values = TwoValues.learn(X, self.kinds_)
        X = self._coded(X)
        names = getattr(self, "feature_names_in_", None)
        names = None if names is None else tuple(map(str, names))
        always = np.zeros(len(self.kinds_), dtype=bool)
        always[~covariate] = self._always_kept(names, always.size)
        self._check_number(always)
        self.part_kinds_: tuple[Kind, ...] = tuple(kind for kind in KINDS if kind in self.kinds_)
        some = ColumnsOf if beyond else columns_of
        return [
            self._training_part(kind, some(X, columns), always[columns], labels)
            for kind, columns in zip(self.part_kinds_, self._part_columns(), strict=True)
        ]

    def _coded(self, X: Any) -> Any:
        names = getattr(self, "feature_names_in_", None)
        return self._two_values.apply(
            X, DescribeColumns(None if names is None else tuple(map(str, names)))
        )

    def _training_part(
        self, kind: Kind, table: Any, always: BoolArray, labels: TrainingLabels
    ) -> TrainingPart:
        """Return the training part of one kind, with the settings of its own estimator."""
        params = {
            **_DEFAULTS,
            **self.get_params(deep=False),
            "n_features_to_select": self._number(kind, int(np.sum(~always))),
        }
        if kind == "real":
            chosen = gaussian_settings(params, always)
            return GaussianTraining(chosen, as_source(table), labels, self.random_state)
        if kind == "binary" and labels.classes.size == 2:
            params["class_pseudocounts"] = tuple(labels.pseudocounts)
            both = (labels.classes, labels.codes == 1)
            rows = TrainingRows.screened(as_source(table), both, "auto", self.random_state)
            return BernoulliTraining(bernoulli_settings(params, always), rows)
        part = categorical_training(
            table, params, lambda _names, _number: always, labels, self.random_state
        )
        many = np.flatnonzero(part.n_levels > 2)
        if kind == "binary" and many.size:
            names = part.feature_names
            own = np.flatnonzero(np.array(self.kinds_) == "binary")[many[0]]
            name = int(own) if names is None else repr(names[many[0]])
            msg = f"column {name} is declared binary, but has more than two values."
            raise ValueError(msg)
        return part

    def _check_number(self, always: BoolArray) -> None:
        """Refuse a number of features that is more than any kind has, or its own kind."""
        n_candidates = {
            kind: sum(
                own == kind and not kept
                for own, kept in zip(self.kinds_, always.tolist(), strict=True)
            )
            for kind in KINDS
        }
        number: Any = self.n_features_to_select
        numbers = dict(number) if isinstance(number, Mapping) else {None: number}
        unknown = sorted(set(numbers) - {None, *KINDS}, key=str)
        if unknown:
            msg = f"n_features_to_select names {unknown[0]!r}, which is not one of {KINDS}."
            raise ValueError(msg)
        for kind, asked in numbers.items():
            most = n_candidates.get(kind, 0) if kind else max(n_candidates.values())
            if is_number(asked) and asked > most:
                whose = f"{kind} features" if kind else "features of any kind"
                msg = (
                    f"n_features_to_select={number} is more than the {most} {whose} to choose "
                    "from; give a smaller number or 'all'."
                )
                raise ValueError(msg)

    def _number(self, kind: Kind, n_candidates: int) -> Any:
        """Return the number of features of a kind to keep, at most those that it has."""
        number: Any = 0 if self._nothing_varies else self.n_features_to_select
        if isinstance(number, Mapping):
            number = number.get(kind)
            if number == "cv":
                msg = "n_features_to_select='cv' is for all kinds together, not for one of them."
                raise ValueError(msg)
        if is_number(number) and number >= 0 and number == int(number):
            return min(int(number), n_candidates)
        return number

    @classmethod
    def _n_outside_parts(cls, known: Known) -> int:
        kinds: tuple[Kind, ...] = known["kinds_"]
        return kinds.count("constant") + kinds.count("covariate")

    def _parameters_on_kept_columns(self) -> dict[str, Any]:
        kinds: Any = None
        if self.kinds is not None:
            kept = [self.kinds_[column] for column in self.kept_columns().tolist()]
            named = {j: kind for j, kind in enumerate(kept) if kind != "covariate"}
            kinds = kept if len(named) == len(kept) else named
        return {**super()._parameters_on_kept_columns(), "kinds": kinds}

    def _features_of(self, X: Any) -> Any:
        return X  # covariates are a kind of column here

    def _part_columns(self) -> list[IntArray]:
        kinds = np.array(self.kinds_)
        return [np.flatnonzero(kinds == kind) for kind in self.part_kinds_]

    @classmethod
    def _settings_of(cls, parameters: Mapping[str, Any], always_keep: BoolArray) -> Any:
        return gaussian_settings({**_DEFAULTS, **parameters}, always_keep)

    @classmethod
    def _most_features(cls, width: int) -> int:  # noqa: ARG003 - all are kept of a kind with fewer
        return MOST_FEATURES

    def _store(self, parts: Sequence[FittedPart]) -> None:
        by_kind = list(zip(self.part_kinds_, parts, strict=True))
        self.selections_: dict[str, Selection] = {kind: part.selection for kind, part in by_kind}

    def _choices_on_kept_columns(self) -> dict[str, Any]:
        kept = self.kept_columns()
        return {
            "kinds_": tuple(self.kinds_[column] for column in kept.tolist()),
            "_two_values": self._two_values.take(kept),
        }

    def _feature_tables(self) -> dict[Kind, Any]:
        """Return the tables of all kinds; binary features with the values that the table has."""
        tables = super()._feature_tables()
        if "binary" not in tables:
            return tables
        columns = self._kept_columns()[self.part_kinds_.index("binary")]
        values = self._two_values.take(columns)
        table = tables["binary"]
        if isinstance(table, FeatureTable):
            coded = ~np.isnan(values.low)
            cuts = Binarization(
                np.where(coded, values.low, table._cuts.cut),
                np.where(coded, values.high, table._cuts.high),
            )
            return tables | {"binary": replace(table, _cuts=cuts)}
        texts = dict(zip(table.name, values.texts(), strict=True))
        return tables | {"binary": table.with_levels(lambda name, levels: texts[name] or levels)}

    def _kinds_of_parts(self) -> tuple[Kind, ...]:
        return self.part_kinds_

    @property
    def correction_(self) -> str | None:
        """The resolved value of "auto", as in the estimators of one kind."""
        return "counts" if self.correction == "auto" else self.correction

    def feature_table(self) -> MixedFeatureTable:
        """Return the tables of the kept features, by kind."""
        return MixedFeatureTable(self._feature_tables())


_DEFAULTS = {
    "feature_prior": "auto",
    "alpha_prior": (0.5, 5.0),
    "theta_prior": (0.0, 1.0),
    "quadrature": "adaptive",
    "tol": 1e-9,
}
"""Defaults of the parameters that only the estimators of one kind have."""
