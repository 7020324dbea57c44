"""``honestbayes inspect``: what a model file holds."""

from __future__ import annotations

from honestbayes.cli import options as given
from honestbayes.cli.messages import one_line_errors
from honestbayes.cli.models import loaded_file, of_tables


@one_line_errors
def inspect(model: given.Model, as_json: given.AsJson = False) -> None:
    """Show what a model file holds."""
    fitted = loaded_file(model)
    from honestbayes.search import TableSelector

    if isinstance(fitted, TableSelector):
        from honestbayes.cli.inspection_selector import show_selector

        show_selector(fitted, model.name, as_json=as_json)
        return
    from honestbayes.cli.inspection_words import show

    show(of_tables(fitted, model), as_json=as_json)
