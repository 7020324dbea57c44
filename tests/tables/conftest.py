"""Fixtures that write the files which the tests of this folder read."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a text or bytes to a file; packed where its name ends in .gz."""

    def write_file(content: str | bytes, name: str = "table.csv") -> Path:
        data = content.encode() if isinstance(content, str) else content
        path = tmp_path / name
        path.write_bytes(gzip.compress(data, 1) if name.endswith(".gz") else data)
        return path

    return write_file
