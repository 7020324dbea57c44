"""``honestbayes inspect``: what a model file or a packed store holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from honestbayes.cli import options as given
from honestbayes.cli.messages import one_line_errors
from honestbayes.cli.models import loaded_file, of_tables


@one_line_errors
def inspect(
    model: Annotated[
        Path,
        typer.Argument(
            help="Model file that report or fit wrote, or store that pack wrote.", readable=False
        ),
    ],
    as_json: given.AsJson = False,
) -> None:
    """Show what a model file holds; of a packed store, compare all checksums too."""
    unfinished = not model.exists() and model.with_name(f"{model.name}.partial").is_dir()
    if unfinished or (model / "store.json").is_file():
        from honestbayes.cli.inspection_store import show_store

        show_store(model, as_json=as_json)
        return
    fitted = loaded_file(model)
    from honestbayes.search import TableSelector

    if isinstance(fitted, TableSelector):
        from honestbayes.cli.inspection_selector import show_selector

        show_selector(fitted, model.name, as_json=as_json)
        return
    from honestbayes.cli.inspection_words import show

    show(of_tables(fitted, model), as_json=as_json)
