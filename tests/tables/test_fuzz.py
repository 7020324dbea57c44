"""Whatever bytes a file holds: a table or an InputError, and nothing else."""

import gzip
import io
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from honestbayes.tables import open_table, read_training
from honestbayes.tables.errors import InputError

_SETTINGS = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
_LIMIT = 1 << 24


def attempt(path: Path) -> str:
    """Read a file in every way; return "table", or the message of the error."""
    try:
        file = open_table(path, max_bytes=_LIMIT)
        table = file.read()
        streamed = sum(part.num_rows for part in file.batches(file.columns, set(file.columns)))
        assert streamed == table.num_rows
        read_training(file, target=file.columns[-1])
    except InputError as error:
        message = str(error)
        assert message.isprintable()
        assert str(path.parent) not in message
        assert len(message) < 1200
        return message
    return "table"


@_SETTINGS
@given(st.binary(max_size=300))
@example(b"\x1f\x8b")
@example(b"PAR1")
@example(b"PK\x03\x04")
@example(b'"')
@example(b'""')
@example(b"\xef\xbb\xbf")
@example(b"\r")
@example(b"a\r\n\r")
def test_random_bytes_are_a_table_or_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    attempt(path)


@_SETTINGS
@given(st.text(alphabet='ab01,;\t|"\n\r .-+einfNAé?', max_size=200))
@example('a,b\n"\n')
@example("a,b\n1,2\r")
@example('"a"b,c\n1,2\n')
def test_random_text_is_a_table_or_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    attempt(path)


@_SETTINGS
@given(st.text(alphabet='ab01,"\n', max_size=60))
def test_random_text_inside_gzip_is_read_like_plain_text(tmp_path: Path, text: str) -> None:
    plain, packed = tmp_path / "t.csv", tmp_path / "t.csv.gz"
    plain.write_bytes(text.encode())
    packed.write_bytes(gzip.compress(text.encode()))
    assert attempt(packed).replace("t.csv.gz", "t.csv") == attempt(plain)


def good_files() -> dict[str, bytes]:
    rng = np.random.default_rng(0)
    n = 60
    columns = {
        "x": rng.normal(size=n),
        "k": rng.integers(0, 5, n),
        "flag": rng.integers(0, 2, n).astype(bool),
        "text": rng.choice(["a", "b", "c"], n),
        "y": rng.integers(0, 2, n),
    }
    table = pa.table(columns)
    files: dict[str, bytes] = {}
    for codec in ("none", "snappy", "gzip", "zstd"):
        out = io.BytesIO()
        # Damage to pyarrow's own copy of the schema is found at once; without it, it goes deeper.
        own = codec in ("none", "gzip")
        pq.write_table(table, out, compression=codec, row_group_size=25, store_schema=own)
        files[f"{codec}.parquet"] = out.getvalue()
    for name, save in (("plain.npz", np.savez), ("packed.npz", np.savez_compressed)):
        out = io.BytesIO()
        X = np.column_stack([columns["x"], columns["k"]])
        save(out, X=X, y=columns["text"] == "a", names=np.array(["x", "k"]))
        files[name] = out.getvalue()
    rows = zip(*columns.values(), strict=True)
    text = "\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]).encode()
    files["t.csv"] = text
    files["t.csv.gz"] = gzip.compress(text)
    return files


_FILES = good_files()


@pytest.mark.parametrize("name", sorted(_FILES))
def test_the_files_that_are_damaged_below_are_good(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(_FILES[name])
    assert attempt(path) == "table"


@pytest.mark.parametrize("name", sorted(_FILES))
def test_damaged_files_are_a_table_or_refused(tmp_path: Path, name: str) -> None:
    rng = np.random.default_rng(sorted(_FILES).index(name))
    good = np.frombuffer(_FILES[name], dtype=np.uint8)
    path = tmp_path / name
    refused = 0
    for trial in range(150):
        data = good.copy()
        # The end of Parquet and ZIP files describes the rest: damage it more often.
        low = 0 if trial % 2 else max(0, data.size - 900)
        places = rng.integers(low, data.size, size=rng.integers(1, 6))
        data[places] = rng.choice([0, 1, 127, 128, 255, rng.integers(256)], size=places.size)
        if trial % 5 == 0:
            data = data[: rng.integers(1, data.size)]
        path.write_bytes(data.tobytes())
        refused += attempt(path) != "table"
    assert refused > 0


def test_damaged_arrays_with_right_checksums_are_a_table_or_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(_FILES["plain.npz"])) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    rng = np.random.default_rng(9)
    path = tmp_path / "t.npz"
    refused = 0
    for _ in range(300):
        name = str(rng.choice(list(members)))
        data = np.frombuffer(members[name], dtype=np.uint8).copy()
        places = rng.integers(0, min(128, data.size), size=rng.integers(1, 4))
        data[places] = rng.choice([*b"0123456789<>|OUSfi,()'", rng.integers(256)], size=places.size)
        with zipfile.ZipFile(path, "w") as archive:
            for other, content in members.items():
                archive.writestr(other, data.tobytes() if other == name else content)
        refused += attempt(path) != "table"
    assert refused > 100
