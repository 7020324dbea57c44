"""Options of a report."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from honestbayes.base.spec import ModelSpec
from honestbayes.catalogue import table_specs
from honestbayes.tables.errors import InputError, shown

# --------------------------------------------------------------------------------------------------
# Where reports and models may be written: checked before any work, and before any long import
# --------------------------------------------------------------------------------------------------


PAGE = "report.html"
JSON = "report.json"
PREDICTIONS = "predictions.csv"
MODEL = "model.honestbayes"
FILES = frozenset({PAGE, JSON, PREDICTIONS, MODEL})


def check_folder(folder: Path, more: frozenset[str] = frozenset()) -> None:
    """Raise an error if other files would be overwritten; files named ``more`` may be there."""
    check_parent(folder)
    if not folder.exists():
        return
    if not folder.is_dir():
        msg = f"{path_name(folder)} exists and is not a folder; choose another --out."
        raise InputError(msg)
    present = {entry.name for entry in folder.iterdir()}
    ours = {entry.name for entry in folder.iterdir() if entry.is_file() and not entry.is_symlink()}
    strange = sorted(present - (ours & (FILES | more)))
    if not strange and present and not _is_report(folder / JSON):
        strange = sorted(present)
    if strange:
        msg = (
            f"the folder {path_name(folder)} holds {strange[0]!r}, which is not part of a report; "
            "choose another --out, so that nothing is lost."
        )
        raise InputError(msg)


def _is_report(path: Path) -> bool:
    """Whether this is the JSON of a report, so that the folder is ours to replace."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(data, dict) and {"verdict", "in_use", "methods", "versions"} <= set(data)


def check_parent(path: Path) -> None:
    """Raise an error if the folder of a path does not exist or is not writable."""
    parent = path.absolute().parent
    if not parent.is_dir():
        name = path_name(path)
        msg = f"the folder for {name} does not exist; create it, or choose another --out."
        raise InputError(msg)
    if not os.access(parent, os.W_OK | os.X_OK):
        msg = f"the folder for {path_name(path)} is not writable; choose another --out."
        raise InputError(msg)
    most, size = _longest_name(parent), len(os.fsencode(path.name))
    if size > most:
        msg = (
            f"the name {shown(path.name)} is too long to be written ({size} bytes, and {most} are "
            "the most); give a shorter one with --out."
        )
        raise InputError(msg)


def path_name(path: Path) -> str:
    """Return the last part of a path, or what was typed where there is none, as for "."."""
    return path.name or str(path)


def _longest_name(folder: Path) -> int:
    """Return how many bytes a name in a folder may have."""
    if not hasattr(os, "pathconf"):
        return 255
    try:
        return os.pathconf(folder, "PC_NAME_MAX")
    except (OSError, ValueError):  # the file system does not say
        return 255


DEFAULT_FOLDS = 5

QUICK_ROWS = 10_000
"""Rows of a larger table that a first answer is about."""

_REPEATS_BY_CELLS = ((1 << 18, 5), (1 << 21, 3), (1 << 24, 2))
"""Folds are drawn again as often as the size of the table, in cells, lets one wait for."""

MANY_CASES = 2000
"""With more cases than this one drawing of the folds is steady enough, and fits take seconds."""

MANY_FOR_AVERAGE = 500
"""The same for the average of models: with 1,800 cases of ten classes a fit takes 40 seconds."""

_OWN_PARAMS = {"order": "order", "missing": "missing_as_level", "effort": "effort"}
"""Constructor's parameters that not all models have, and the options that set them."""

PATH_UP_TO = 1 << 23
"""Cells of a table up to which the performance by number of features is found."""


def refuse_choice_of_number(spec: ModelSpec) -> None:
    """Refuse to choose the number of features where chains would run for each number."""
    if spec.chains is not None:
        msg = f"the {spec.title} does not choose the number of features; give a number."
        raise ValueError(msg)
    if spec.is_average:
        msg = (
            f"the {spec.title} chooses numbers of features itself; leave out 'cv', or give a "
            "number."
        )
        raise ValueError(msg)


def refuse_threshold(spec: ModelSpec) -> None:
    """Refuse a threshold where models rank columns each in a way of its own."""
    refuse_selection(spec)
    if spec.is_average:
        msg = f"the {spec.title} does not take a threshold; give --features, or use --model mixed."
        raise ValueError(msg)


def refuse_path(spec: ModelSpec) -> None:
    """Raise an error if the model cannot try other numbers of features."""
    refuse_selection(spec)
    if spec.is_average:
        msg = (
            f"the {spec.title} tries several numbers of features anyway, and its report shows "
            "them; leave the option out, or use --model mixed."
        )
        raise ValueError(msg)


def refuse_selection(spec: ModelSpec) -> None:
    """Refuse a number of features, or a threshold, where nothing would correct for it."""
    if not spec.selects:
        msg = (
            f"the {spec.title} keeps all columns, because it does not correct for selection; leave "
            "columns out with --ignore, or use another model."
        )
        raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class Options:
    """How features are selected, how the result is evaluated, and where it will be used.

    Attributes
    ----------
    n_features : int, "all", "cv" or None
        Number of features to keep, of each kind of column in the mixed model; None: 10, or all
        where there are fewer. In the average of models: one set of columns for all of them; with
        None or "all" each chooses its own.
    threshold : float or None
        Instead, keep all features whose absolute correlation (or its equivalent) is above this
        bound.
    n_folds : int or "loo"
        Folds of the cross-validation, or one case (or group) at a time.
    n_repeats : int or None
        Number of repeats of the folds; None: by the size of the table, and one where chains run.
        For the average of models about half as many, and one beyond 500 cases: it takes longer,
        and is more stable.
    prevalence : float, dict or None
        Share of the positive class where the model will be used; or of each class, by its label.
    recalibrate : bool
        Whether the model multiplies the evidence by a slope learned from held-out cases.
    path : bool or None
        Whether the performance by number of features is computed; None: unless the table is large.
    compare : bool
        Whether baselines, and the mixture, are run on the same folds: without them a
        report takes half the time, and cannot show whether another method is better.
    seed : int
        Random seed for folds and ties.
    n_jobs : int
        Folds to run in parallel.
    model : {"honest", "mixed", "binary", "mixture", "factors"}, or the name of another spec
        "honest": the average of all models that suit the columns. "mixed": naive Bayes for
        continuous, categorical and binary columns. "binary": numbers are cut at their median, and
        each category is a binary feature. "mixture": binary features, explained by two hidden
        groups of cases; it has no slope. "factors": correlated continuous features, with a few
        latent factors; text columns are refused. "interactions": interactions of categorical
        features; all columns are kept. "networks": dependent categorical features; continuous
        columns are binned.
    order : int, "cv" or None
        Largest number of cells in a pattern of the model with interactions; "cv": chosen on
        held-out cases. None: the estimator's default.
    missing_as_level : bool
        Whether a missing cell is treated as a category, in the models with interactions and of
        networks.
    effort : {"quick", "normal", "thorough"} or None
        How many candidates the average of models tries; None: the estimator's default.
    quick : bool
        A first answer: folds are drawn once, baselines are left out, and so are other
        numbers of features; the average of models tries one or two of each, unless ``effort``
        is given. The report mentions it.
    """

    n_features: int | Literal["all", "cv"] | None = None
    threshold: float | None = None
    n_folds: int | Literal["loo"] = DEFAULT_FOLDS
    n_repeats: int | None = None
    prevalence: float | dict[str, float] | None = None
    recalibrate: bool = True
    path: bool | None = None
    compare: bool = True
    seed: int = 0
    n_jobs: int = 1
    model: str = field(default_factory=lambda: next(iter(table_specs())))
    order: int | Literal["cv"] | None = None
    missing_as_level: bool = False
    effort: Literal["quick", "normal", "thorough"] | None = None
    quick: bool = False

    def __post_init__(self) -> None:
        """Validate the options."""
        if isinstance(self.prevalence, float | int) and not 0 < self.prevalence < 1:
            msg = f"prevalence={self.prevalence} is not a share between 0 and 1."
            raise ValueError(msg)
        if self.n_features is not None and self.threshold is not None:
            msg = "give n_features or threshold, not both."
            raise ValueError(msg)
        if self.n_folds != "loo" and self.n_folds < 2:
            msg = f"n_folds={self.n_folds} is not 2 or more, or 'loo'."
            raise ValueError(msg)
        if self.model not in table_specs():
            *first, last = map(repr, table_specs())
            msg = f"model={self.model!r} is not {', '.join(first)} or {last}."
            raise ValueError(msg)
        if self.n_features == "cv":
            refuse_choice_of_number(self.spec)
        if self.n_features not in (None, "all"):
            refuse_selection(self.spec)
        if self.threshold is not None:
            refuse_threshold(self.spec)
        if self.path:
            refuse_path(self.spec)
        for word, option in _OWN_PARAMS.items():
            if word in self.own_params and word not in self.spec.report_params:
                msg = f"{option} is not for the {self.model} model."
                raise ValueError(msg)

    @property
    def spec(self) -> ModelSpec:
        """The spec of the model."""
        return table_specs()[self.model]

    @property
    def coded(self) -> bool:
        """Whether text columns stay columns, as codes of their categories."""
        return self.spec.input.coded

    @property
    def number_to_keep(self) -> int | Literal["all", "cv"] | None:
        """How many features to keep: all, where the model selects none."""
        return self.n_features if self.spec.selects else "all"

    @property
    def own_params(self) -> dict[str, Any]:
        """The constructor's parameters that not all models have, where they are given."""
        free = self.spec.is_average and self.n_features == "all"
        effort = "quick" if self._tries_little else self.effort
        return {
            **({} if self.order is None else {"order": self.order}),
            **({"missing": "level"} if self.missing_as_level else {}),
            **({} if effort is None else {"effort": effort}),
            **({"n_features_to_select": None} if free else {}),
        }

    @property
    def _tries_little(self) -> bool:
        """Whether the average of models tries one or two numbers of features only."""
        return self.quick and self.effort is None and "effort" in self.spec.report_params

    @property
    def compares(self) -> bool:
        """Whether baselines are run on the same folds."""
        return self.compare and not self.quick

    def left_out(self) -> tuple[str, ...]:
        """Describe in a sentence what --quick leaves out."""
        if not self.quick:
            return ()
        what = [] if self.n_repeats is not None else ["folds were drawn once"]
        what += ["the average tried few numbers of features"] if self._tries_little else []
        what += ["baselines were not run"] if self.compare else []
        return (
            f"This is a first answer: {', '.join(what)}. Leave out --quick for the full report.",
        )

    @property
    def uses_slope(self) -> bool:
        """Whether the model in use has a slope."""
        return self.recalibrate and self.spec.recalibrates

    def repeats(self, n_cases: int, n_cells: int) -> int:
        """Return the number of repeats of the folds for a table of this size."""
        if self.n_folds == "loo":
            return 1
        if self.n_repeats is not None:
            return self.n_repeats
        if self.quick:
            return 1
        many = MANY_FOR_AVERAGE if self.spec.is_average else MANY_CASES
        chains = self.spec.chains
        drawn_once = chains is not None and not chains.repeat_folds
        if n_cases > many or drawn_once or self.effort == "thorough":
            return 1
        times = next((times for cells, times in _REPEATS_BY_CELLS if n_cells <= cells), 1)
        return (times + 1) // 2 if self.spec.is_average else times

    def wants_path(self, n_cases: int, n_cells: int) -> bool:
        """Return whether the performance by number of features is computed."""
        if self.path is not None:
            return self.path
        if self.spec.chains is not None or self.spec.is_average or self.quick:
            return False
        return n_cases <= MANY_CASES and n_cells <= PATH_UP_TO

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, without the number of processes, which changes no result."""
        result = asdict(self)
        result["recalibrate"] = self.uses_slope
        del result["n_jobs"]
        if not {"order", "missing"} & set(self.spec.report_params):
            del result["order"], result["missing_as_level"]
        if "effort" not in self.spec.report_params:
            del result["effort"]
        return result
