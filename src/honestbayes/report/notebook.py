"""A report of a frame in memory, for those who do write Python."""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from honestbayes.report.analysis import analyse
from honestbayes.report.fitting import with_room
from honestbayes.report.folder import write_folder
from honestbayes.report.options import Options
from honestbayes.report.places import check_folder
from honestbayes.report.record import Report
from honestbayes.sources.kinds import Kind
from honestbayes.tables import read_training
from honestbayes.tables.memory import frame_table
from honestbayes.tables.model import TableModel


def make_report(
    frame: Any,
    target: str,
    *,
    folder: str | os.PathLike[str] | None = None,
    name: str = "table",
    positive: str | None = None,
    keep: Collection[str] = (),
    ignore: Collection[str] = (),
    groups: str | None = None,
    kinds: Mapping[str, Kind] | None = None,
    missing: Collection[str] = (),
    keep_duplicates: bool = False,
    **options: Any,
) -> Report:
    """Make the report that ``honestbayes report`` makes, of a pandas or polars frame.

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
        The class whose probability is wanted; by default the second in sorted order.
    keep, ignore : collection of str
        Columns kept by design, and columns to leave out.
    groups : str, optional
        Column of groups that stay together in folds.
    kinds : mapping of str to {"binary", "categorical", "real"}, optional
        What columns are, where you know better, as in ``SelectiveMixedNB``.
    missing : collection of str
        Cells that are missing in every column, such as ``["-", "n.d.", "999"]``.
    keep_duplicates : bool, default=False
        Whether rows that repeat another one are other cases.
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
    """
    chosen = Options(**options)
    if folder is not None:
        check_folder(Path(folder))
    table = read_training(
        frame_table(frame, name).with_missing(missing),
        target=target,
        positive=positive,
        keep=keep,
        ignore=ignore,
        groups=groups,
        coded=chosen.coded,
        kinds=kinds,
        keep_duplicates=keep_duplicates,
    )
    for finding in table.findings:
        if finding.stops:
            warnings.warn(f"{finding.in_python()}.", UserWarning, stacklevel=2)
    if "n_folds" not in options:
        chosen, table = with_room(chosen, table)
    analysis = analyse(table, chosen, name=name)
    if folder is not None:
        model = TableModel.of_training(analysis.model, table)
        write_folder(analysis.report, model, folder)
    return analysis.report
