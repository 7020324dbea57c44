"""What ``honestbayes inspect`` prints of a packed store."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from honestbayes.cli import options as given
from honestbayes.cli.messages import bad_input, say, word
from honestbayes.data.packed_store import PackedStore, open_store


def show_store(path: Path, *, as_json: bool) -> None:
    """Compare the checksums of a store, and print what it holds and what to do next."""
    with bad_input():
        store = open_store(path)
        store.verify()
    n, p = store.shape
    header = store.header
    if as_json:
        content = {
            "store": path.name,
            "rows": n,
            "columns": p,
            "bytes": store.n_bytes,
            "files": len(header.parts),
            "named": store.feature_names is not None,
            "classes": None if header.classes is None else list(header.classes),
            "cut": store.binarization is not None,
            "verified": True,
        }
        typer.echo(json.dumps(content, allow_nan=False, indent=1))
        return
    say(f"{word(path.name)} is a packed store: {lines_of(store)}.")
    n_files = len(header.parts)
    say(f"All checksums are right ({n_files:,} {'file' if n_files == 1 else 'files'} of bits).")
    if store.binarization is not None:
        say("Measurements were cut; store.zero_one(X) cuts new rows alike.")
    say()
    for line in next_lines(store, given.shareable(path)):
        say(line, wrap=False)


def lines_of(store: PackedStore) -> str:
    """Return what a store holds, in words."""
    n, p = store.shape
    rows, columns = "row" if n == 1 else "rows", "column" if p == 1 else "columns"
    named = "" if store.feature_names is None else "named "
    words = f"{n:,} {rows} x {p:,} {named}{columns} in {store.n_bytes:,} bytes"
    if store.header.classes is None:
        return f"{words}, without classes"
    classes = ", ".join(word(label) for label in store.header.classes)
    return f"{words}, classes {classes}"


def next_lines(store: PackedStore, path: str) -> list[str]:
    """Return the lines of Python that fit a model to a store."""
    labels = "y" if store.header.classes is None else "store.labels"
    return [
        "In Python:",
        "  from honestbayes import SelectiveBernoulliNB, open_store",
        f"  store = open_store({path!r})",
        f"  model = SelectiveBernoulliNB().fit(store, {labels})",
    ]
