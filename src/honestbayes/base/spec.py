"""A model's card: what files, reports and the command line have to know of an estimator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """What is known of an estimator without fitting it.

    Attributes
    ----------
    path : str
        Where the estimator is, below ``honestbayes.models``: it is imported when it is needed, so
        that ``--help`` can speak of all models at once.
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
    in_folds, final : dict
        Words for the fits of a cross-validation, and for the fit to all rows after them.
    """

    path: str
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
    in_folds: dict[str, Any] = field(default_factory=dict)
    final: dict[str, Any] = field(default_factory=dict)

    @property
    def estimator(self) -> Any:
        """The class."""
        module, _, name = self.path.rpartition(".")
        return getattr(import_module(f"honestbayes.models.{module}"), name)

    @property
    def kind(self) -> str:
        """What files call the estimator: the name of its class."""
        return self.path.rpartition(".")[2]

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
