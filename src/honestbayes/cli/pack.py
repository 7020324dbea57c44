"""``honestbayes pack``: pack a table of 0s and 1s into a store on disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from honestbayes.cli import options as given
from honestbayes.cli.output import bad_input, one_line_errors, progress, say, word
from honestbayes.report.options import check_parent
from honestbayes.tables.errors import InputError

if TYPE_CHECKING:
    from honestbayes.data.binarization import BinarizeOption
    from honestbayes.data.packed_store import PackedStore
    from honestbayes.tables.packing import ToPack


@one_line_errors
@given.reads_tables("transpose", "phenotype", "sample_id", "layer")
def pack(
    table: Annotated[
        Path,
        typer.Argument(
            help="CSV, TSV (also gzipped), Parquet, npz with arrays X and y, npy, or npz of a "
            "SciPy sparse matrix.",
            readable=False,
        ),
    ],
    store: Annotated[
        Path, typer.Argument(help="Folder to write; it must not exist.", readable=False)
    ],
    target: given.Target = None,
    merge_labels: given.MergeLabels = False,
    missing_label: given.MissingLabel = None,
    keep_labels: given.KeepLabels = False,
    ignore: given.Ignore = None,
    cut: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER, auto or median",
            help="Cut continuous columns to 0/1: above a number; 'auto' cuts all but binary "
            "columns "
            "at their median; 'median' cuts all columns. By default the "
            "table must be 0/1.",
        ),
    ] = None,
    quiet: given.Quiet = False,
    *,
    reading: given.Reading,
) -> None:
    """Pack a table of 0s and 1s into a store on disk, one bit per cell.

    If packing is interrupted, run the same command again to resume.
    """
    binarize = _cut_of(cut)
    check_parent(store)
    if table.is_file():  # else it is said before what takes long to import
        from honestbayes.data.packing import check_place

        with bad_input():
            check_place(store)
    with progress(quiet=quiet) as bars, bad_input():
        bars("Reading", 0)
        labels = {"merge": merge_labels, "missing": missing_label or (), "keep": keep_labels}
        to_pack = _input(table, target, ignore, reading, labels)
        packed = _packed(to_pack, store, binarize, bars)
    if not quiet:
        _tell(packed, store)


def _cut_of(text: str | None) -> BinarizeOption:
    """Return what --cut asks for."""
    if text is None or text in ("auto", "median"):
        return text  # type: ignore[return-value]  # narrowed by the comparison
    try:
        return float(text)
    except ValueError:
        msg = f"{text!r} is not a number, 'auto' or 'median'."
        raise typer.BadParameter(msg, param_hint="--cut") from None


def _input(
    table: Path,
    target: str | None,
    ignore: list[str] | None,
    reading: given.Reading,
    labels: Mapping[str, Any],
) -> ToPack:
    """Open what is to be packed, and read its classes."""
    array = None
    if table.is_file():
        from honestbayes.tables.packing import array_to_pack

        array = array_to_pack(table, reading.max_bytes)
    if array is not None:
        if target is not None or ignore:
            msg = (
                f"{table.name} has no column names; leave out --target and --ignore, and give "
                "y to fit, or to honestbayes.data.pack_store as labels."
            )
            raise InputError(msg)
        return array
    if (table / "store.json").is_file():
        msg = f"{table.name} is a packed store already; fit it, or make a report of it."
        raise InputError(msg)
    file = reading.open(table)
    from honestbayes.tables.packing import file_to_pack

    return file_to_pack(file, target, ignore or (), **labels)


def _packed(
    to_pack: ToPack,
    store: Path,
    binarize: BinarizeOption,
    bars: Callable[[str, int], Callable[[], None]],
) -> PackedStore:
    """Pack with a progress bar; name the row and column of a cell that is not 0 or 1."""
    from honestbayes.data.packing import CellError, pack_store

    step: Callable[[], None] | None = None

    def shown(done: int, total: int) -> None:
        nonlocal step
        if step is not None:
            step()
            return
        step = bars("Packing", total)
        for _ in range(done):
            step()

    try:
        return pack_store(
            to_pack.source,
            store,
            labels=to_pack.labels,
            binarize=binarize,
            progress=shown,
        )
    except CellError as error:
        msg = f"{error.what} in {to_pack.locations.describe(error.row)}; {error.fix}."
        raise InputError(msg) from None


def _tell(packed: PackedStore, store: Path) -> None:
    from honestbayes.cli.inspect import lines_of, next_lines

    say(f"{word(store.name)} is packed: {lines_of(packed)}.")
    say()
    for line in next_lines(packed, given.shareable(store)):
        say(line, wrap=False)
