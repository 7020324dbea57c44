"""Records that convert to data frames and render as HTML tables."""

from __future__ import annotations

from html import escape
from typing import Any

MOST_ROWS = 60
"""Rows that a notebook shows."""


class Tabular:
    """Base of records with a method ``to_dict`` that returns plain columns of one length."""

    __slots__ = ()

    def to_dict(self) -> dict[str, list[Any]]:
        """Return plain columns, for a frame or JSON."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """Return the table as a pandas frame."""
        import pandas as pd

        return pd.DataFrame(self.to_dict())

    def _repr_html_(self) -> str:
        """Return the table as a notebook shows it; text from data is escaped."""
        return html_table(self.to_dict())


def html_table(columns: dict[str, list[Any]]) -> str:
    """Return columns as an HTML table of the first rows."""
    head = "".join(f"<th>{escape(str(name))}</th>" for name in columns)
    rows = list(zip(*columns.values(), strict=True))
    body = "".join(
        f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row)}</tr>"
        for row in rows[:MOST_ROWS]
    )
    left = len(rows) - MOST_ROWS
    more = f"<p>and {left:,} more rows</p>" if left > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(value: Any) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list | tuple):
        return ", ".join(_cell(each) for each in value)
    return escape(str(value))
