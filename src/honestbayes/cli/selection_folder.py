"""The folder that ``honestbayes select`` writes: path, picture, reduced table and selector."""

from __future__ import annotations

import csv
import math
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from honestbayes.cli.selection_inclusion import INCLUSION, INCLUSION_PICTURE, inclusion_table
from honestbayes.files import ModelFileError, read_archive, whole_folder
from honestbayes.plots import InclusionDisplay, SelectionPathDisplay
from honestbayes.report.folder import safe_cell
from honestbayes.report.places import check_parent, place_name
from honestbayes.search import SELECTORS, ProbabilitySelector, SubsetSampler, TableSelector
from honestbayes.tables import InputError, TableFile
from honestbayes.tables.conversion import to_text

PATH = "path.csv"
PICTURE = "path.png"
REDUCED = "reduced.csv"
SELECTOR = "selector.honestbayes"
FILES = (PATH, PICTURE, REDUCED, SELECTOR)
SAMPLED_FILES = (INCLUSION, INCLUSION_PICTURE, REDUCED, SELECTOR)

_NAMED_STEPS = 30
_WIDTH, _HEIGHT = 7.4, 4.6
_DOTS_PER_INCH = 150


def check_selection_folder(folder: Path, table: Path) -> None:
    """Refuse a place where something else, or the table itself, would be lost."""
    check_parent(folder)
    if not folder.exists():
        return
    if not folder.is_dir():
        msg = f"{place_name(folder)} exists and is not a folder; choose another --out."
        raise InputError(msg)
    if table.resolve().parent == folder.resolve():
        msg = f"--out {place_name(folder)} would replace what is read; choose another name."
        raise InputError(msg)
    entries = sorted(folder.iterdir())
    present = [entry.name for entry in entries]
    strange = [
        entry.name
        for entry in entries
        if entry.name not in {*FILES, *SAMPLED_FILES} or not entry.is_file() or entry.is_symlink()
    ]
    if not strange and not _is_selection(folder / SELECTOR):
        strange = present
    if strange:
        msg = (
            f"the folder {place_name(folder)} holds {strange[0]!r}, which is not part of a "
            "selection; choose another --out, so that nothing is lost."
        )
        raise InputError(msg)


def _is_selection(path: Path) -> bool:
    """Whether this is a selector, so that the folder is ours to replace."""
    try:
        return read_archive(path).kind in SELECTORS
    except (OSError, ModelFileError):
        return False


def write_selection(
    selector: TableSelector, file: TableFile, columns: Sequence[str], folder: Path
) -> None:
    """Write all files, together or not at all.

    Parameters
    ----------
    selector : fitted selector
        What chose.
    file : TableFile
        The whole table.
    columns : sequence of str
        Columns of the reduced table, in order.
    folder : Path
        Where; an earlier selection in this place is replaced as a whole.
    """
    with whole_folder(folder) as place:
        if isinstance(selector, SubsetSampler):
            write_columns(inclusion_table(selector), place / INCLUSION)
            draw(InclusionDisplay, selector, place / INCLUSION_PICTURE, None)
        else:
            assert isinstance(selector, ProbabilitySelector)
            write_columns(selector.path_.table(), place / PATH)
            draw_path(selector, place / PICTURE)
        write_reduced(file, columns, place / REDUCED)
        selector.save(place / SELECTOR)


def files_of(selector: TableSelector) -> tuple[str, ...]:
    """Return the names of the files that a selection has."""
    return SAMPLED_FILES if isinstance(selector, SubsetSampler) else FILES


def write_columns(table: Mapping[str, Any], place: Path) -> None:
    """Write columns as CSV, such as a path with one row a step; numbers with all their digits."""
    with place.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(table)
        for row in zip(*(column.tolist() for column in table.values()), strict=True):
            writer.writerow([_cell(value) for value in row])


def _cell(value: Any) -> str:
    """Return a value as text: empty where there is none."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return "" if math.isnan(value) else repr(value)
    return safe_cell(value)


def draw_path(selector: ProbabilitySelector, place: Path) -> None:
    """Draw the path as a picture, wider where more features are named below it."""
    steps = selector.path_.feature.size
    width = _WIDTH if steps > _NAMED_STEPS else max(2.4 + 0.34 * steps, 5.6)
    draw(SelectionPathDisplay, selector, place, (width, _HEIGHT))


def draw(
    display: Any, selector: TableSelector, place: Path, size: tuple[float, float] | None
) -> None:
    """Draw a display as a picture, as large as it needs where no size is given."""
    if size is None:
        size = 6.4, 1.4 + 0.26 * min(30, selector.n_features_in_)
    figure = Figure(figsize=size, layout="constrained")
    with warnings.catch_warnings():
        # A letter that the font lacks is drawn as a box; the name stands in the CSV file as well.
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)
        display.from_estimator(selector, ax=figure.add_subplot())
        figure.savefig(place, format="png", dpi=_DOTS_PER_INCH, metadata={"Software": None})


def write_reduced(file: TableFile, columns: Sequence[str], place: Path) -> None:
    """Copy some columns of a table, all rows, cell by cell; what is missing becomes empty."""
    wanted = tuple(columns)
    # Cells such as 1,5 are numbers only where the comma does not separate them.
    delimiter = ";" if file.decimal == "," else ","
    with place.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
        writer.writerow(wanted)
        for batch in file.reader.batches(wanted, limit=file.max_bytes, whole=False):
            cells = [batch[name] for name in wanted]
            if file.format != "csv":
                cells = [to_text(cell, name) for cell, name in zip(cells, wanted, strict=True)]
            writer.writerows(zip(*(cell.to_pylist() for cell in cells), strict=True))
