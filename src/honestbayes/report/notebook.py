"""Reports of pandas and polars frames from Python."""

from __future__ import annotations

import difflib
import os
import time
import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from honestbayes.data.kinds import Kind
from honestbayes.report.analysis import analyse, no_progress
from honestbayes.report.methods import with_room
from honestbayes.report.options import Options, check_folder
from honestbayes.report.record import Report
from honestbayes.report.render import write_folder
from honestbayes.status_line import StatusLine, is_watched
from honestbayes.tables import read_training
from honestbayes.tables.files import frame_table
from honestbayes.tables.model import TableModel

_ELSEWHERE = {
    "n_features_to_select": "n_features",
    "features": "n_features",
    "random_state": "seed",
    "cv": "n_folds",
    "folds": "n_folds",
    "repeats": "n_repeats",
    "jobs": "n_jobs",
    "class_prior": "prevalence",
}
"""What estimators, or the command line, call some options."""


def make_report(
    frame: Any,
    target: str,
    *,
    folder: str | os.PathLike[str] | None = None,
    name: str = "table",
    positive: str | None = None,
    keep: Collection[str] = (),
    covariates: Collection[str] = (),
    ignore: Collection[str] = (),
    groups: str | None = None,
    kinds: Mapping[str, Kind] | None = None,
    missing: Collection[str] = (),
    keep_duplicates: bool = False,
    merge_labels: bool = False,
    missing_labels: Collection[str] = (),
    keep_labels: bool = False,
    verbose: bool | None = None,
    **options: Any,
) -> Report:
    """Make the report of ``honestbayes report`` from a pandas or polars frame.

    Parameters
    ----------
    frame : pandas or polars frame
        The table.
    target : str
        Column of the class.
    folder : path-like, optional
        Where to write page, JSON, predictions and model; nothing is written without it.
    name : str, default="table"
        What the table is called in the report.
    positive : str, optional
        The class whose probability is wanted; by default the one whose label names a case (yes,
        tumour, dead), else the rarer one.
    keep, ignore : collection of str
        Columns kept by design, and columns to leave out.
    covariates : collection of str
        Columns such as age or batch that set the prior probability of each case and are not
        modelled.
    groups : str, optional
        Column of groups that stay together in folds.
    kinds : mapping of str to {"binary", "categorical", "real"}, optional
        What columns are, where you know better, as in ``SelectiveMixedNB``.
    missing : collection of str
        Cells that are missing in every column, such as ``["-", "n.d.", "999"]``.
    keep_duplicates : bool, default=False
        Whether rows that repeat another one are other cases.
    merge_labels : bool, default=False
        Whether labels that differ in case, blanks or hyphens only are one class.
    missing_labels : collection of str
        Labels of the target that mean that the class is missing, such as ``["unknown"]``.
    keep_labels : bool, default=False
        Whether all labels of the target are classes as they are.
    verbose : bool, optional
        Whether to show how far the work is; by default in notebooks and on terminals.
    **options
        Fields of :class:`honestbayes.report.options.Options`, such as ``n_features``, ``n_folds``,
        ``prevalence``, ``seed`` and ``model``.

    Returns
    -------
    Report
        The record; ``print(report.verdict)`` is the short of it.

    Warns
    -----
    UserWarning
        For each thing in the table that would lead to a wrong conclusion, where
        ``honestbayes report`` would stop.

    Examples
    --------
    >>> import pandas as pd
    >>> from honestbayes import make_report
    >>> from honestbayes.datasets import simulate_naive_bayes
    >>> data = simulate_naive_bayes(60, 0, n_features=5, alpha=0.5, random_state=0)
    >>> frame = pd.DataFrame(data.X_train, columns=list("abcde")).assign(sick=data.y_train)
    >>> report = make_report(frame, target="sick", model="binary", n_folds=2, n_repeats=1)
    >>> report.data.n_cases, report.in_use
    (60, 'corrected, recalibrated')
    """
    _refuse_unknown(options)
    chosen = Options(**options)
    if folder is not None:
        check_folder(Path(folder))
    table = read_training(
        frame_table(frame, name).with_missing(missing),
        target=target,
        positive=positive,
        keep=keep,
        covariates=covariates,
        ignore=ignore,
        groups=groups,
        coded=chosen.coded,
        kinds=kinds,
        keep_duplicates=keep_duplicates,
        merge_labels=merge_labels,
        missing_labels=missing_labels,
        keep_labels=keep_labels,
    )
    for finding in table.findings:
        if finding.stops:
            warnings.warn(f"{finding.in_python()}.", UserWarning, stacklevel=2)
    if "n_folds" not in options:
        chosen, table = with_room(chosen, table)
    steps = Steps() if (is_watched() if verbose is None else verbose) else None
    analysis = analyse(table, chosen, name=name, progress=steps or no_progress)
    if folder is not None:
        model = TableModel.of_training(analysis.model, table)
        write_folder(analysis.report, model, folder)
    if steps is not None:
        steps.end(f"Report of {name} made")
    return analysis.report


class Steps:
    """Progress of a report, by step."""

    def __init__(self) -> None:
        self._line = StatusLine()
        self._begin = time.monotonic()

    def __call__(self, description: str, total: int) -> Callable[[], None]:
        """Begin a step; return what is called after each of its parts."""
        self._line.show(description)
        done = 0

        def step() -> None:
            nonlocal done
            done += 1
            self._line.show(f"{description}: {done:,} of {total:,}")

        return step

    def end(self, what: str) -> None:
        """Print the total time."""
        self._line.show(f"{what} in {time.monotonic() - self._begin:.0f} s.", last=True)


def _refuse_unknown(options: Mapping[str, Any]) -> None:
    """Refuse an option that there is not, and name the one that was meant."""
    known = [field.name for field in fields(Options)]
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(_ELSEWHERE.get(name, name), known, 1)
            meant = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}."
            msg = f"make_report has no option {name!r}; {meant}"
            raise TypeError(msg)
