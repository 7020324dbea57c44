"""``honestbayes inspect``: what a model file holds."""

from __future__ import annotations

from honestbayes.cli import options as given
from honestbayes.cli.messages import one_line_errors
from honestbayes.cli.models import loaded


@one_line_errors
def inspect(model: given.Model, as_json: given.AsJson = False) -> None:
    """Show what a model file holds."""
    fitted = loaded(model)
    from honestbayes.cli.inspection_words import show

    show(fitted, as_json=as_json)
