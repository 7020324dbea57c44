"""Rows of CSV files: against Python's csv module, in blocks of any size, with bounded memory."""

import csv
import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from honestbayes.tables import open_table
from honestbayes.tables.csv_reader import CsvReader

_MISSING = {"", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "?", "."}
_CELLS = st.text(alphabet='ab1.,;|\t"\n\r é\u2028😀NA?<', max_size=8)


def rows_by_csv_module(text: str, delimiter: str) -> list[list[str | None]]:
    """Read the data rows as Python's own module does; null for missing cells."""
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
    return [
        [None if cell.strip() in _MISSING else cell.strip() for cell in row] for row in rows[1:]
    ]


@st.composite
def tables(draw: st.DrawFn) -> tuple[str, str]:
    delimiter = draw(st.sampled_from(",;\t|"))
    # One column is left to a test of its own: there an empty line is a missing cell.
    p = draw(st.integers(2, 5))
    rows = draw(st.lists(st.lists(_CELLS, min_size=p, max_size=p), max_size=12))
    file = io.StringIO(newline="")
    # With "\n" at the end of lines, the module would leave a cell with "\r" without quotes.
    end, quoting = draw(
        st.sampled_from(
            [("\n", csv.QUOTE_ALL), ("\r\n", csv.QUOTE_ALL), ("\r\n", csv.QUOTE_MINIMAL)]
        )
    )
    writer = csv.writer(file, delimiter=delimiter, lineterminator=end, quoting=quoting)
    writer.writerows([[f"c{j}" for j in range(p)], *rows])
    return file.getvalue(), delimiter


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(tables(), st.integers(1, 60))
def test_cells_are_those_of_the_csv_module_for_every_block_size(
    tmp_path: Path, table: tuple[str, str], block: int
) -> None:
    text, delimiter = table
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode())
    file = open_table(path, delimiter=delimiter)
    expected = rows_by_csv_module(text, delimiter)
    whole = file.read(text=file.columns)
    assert [list(row.values()) for row in whole.to_pylist()] == expected
    streamed = [
        row for part in file.batches(file.columns, set(file.columns)) for row in part.to_pylist()
    ]
    assert [list(row.values()) for row in streamed] == expected
    reader = file.reader
    assert isinstance(reader, CsvReader)
    small = CsvReader(reader.path, reader.header, False, block)
    parts = list(small.batches(file.columns, limit=None, whole=False))
    cells = [list(row.values()) for part in parts for row in part.to_pylist()]
    stripped = [
        [None if c is None or c.strip() in _MISSING else c.strip() for c in r] for r in cells
    ]
    assert stripped == expected


@pytest.mark.parametrize("block", [1, 50, 200, 777, 4096, 1 << 20])
def test_streaming_agrees_with_reading_the_whole_table(write: Any, block: int) -> None:
    rng = np.random.default_rng(block)
    rows = [["number", "text", "flag"]]
    for i in range(3000):
        text = rng.choice(["a", "b\nc", 'd"e', "f,g", "\r\n", "NA", "é"])
        rows.append([f"{rng.normal():.6g}", str(text), str(i % 2)])
    out = io.StringIO(newline="")
    csv.writer(out).writerows(rows)
    file = open_table(write(out.getvalue()))
    reader = file.reader
    assert isinstance(reader, CsvReader)
    small = CsvReader(reader.path, reader.header, False, block)
    parts = list(small.batches(["text", "number"], limit=None, whole=False))
    whole = file.read(["text", "number"], text={"text", "number"})
    # The parts hold cells as they stand; blanks around them are removed afterwards.
    texts = [row["text"] for part in parts for row in part.to_pylist()]
    assert [(text and text.strip()) or None for text in texts] == whole["text"].to_pylist()
    assert [row["number"] for part in parts for row in part.to_pylist()] == (
        whole["number"].to_pylist()
    )
    if block <= 4096:
        assert len(parts) > 1


def test_line_breaks_inside_quotes_survive_every_cut(write: Any) -> None:
    # pyarrow alone loses the second half of a line break that is cut in two.
    cells = ["x" * i + "\r\n" + "y" * (40 - i) for i in range(40)]
    text = "a,b\r\n" + "".join(f'"{cell}",1\r\n' for cell in cells * 20)
    reader = open_table(write(text)).reader
    assert isinstance(reader, CsvReader)
    for block in range(90, 140):
        small = CsvReader(reader.path, reader.header, False, block)
        parts = small.batches(["a"], limit=None, whole=False)
        assert [cell for part in parts for cell in part["a"].to_pylist()] == cells * 20


def test_numbers_are_those_that_python_reads(write: Any) -> None:
    rng = np.random.default_rng(0)
    values = [
        f"{x:.{d}{f}}"
        for x, d, f in zip(
            rng.normal(size=2000) * 10.0 ** rng.integers(-300, 99, 2000),
            rng.integers(0, 17, 2000),
            rng.choice(["e", "g"], 2000),
            strict=True,
        )
    ]
    values += ["+5", "5.", ".5", "-.5e-3", "-007", "-0", "1E5", "123456789012345678901234567890"]
    path = write("a,b\n" + "".join(f"{value},x\n" for value in values))
    assert open_table(path).read()["a"].to_pylist() == [float(value) for value in values]
    streamed = [x for part in open_table(path).batches(["a"]) for x in part["a"].to_pylist()]
    assert streamed == [float(value) for value in values]


def test_an_error_far_down_names_its_row(write: Any) -> None:
    rows = "".join(f"{i},{i}\n" for i in range(1_000_000))
    file = open_table(write(f"a,b\n{rows}low,1\n"))
    with pytest.raises(
        ValueError, match="column 'a' holds 'low' in line 1,000,002 of the file, which is not"
    ):
        list(file.batches(["a"]))


def test_empty_lines_are_skipped(write: Any) -> None:
    assert open_table(write("a\n1\n\n2\n\n")).read()["a"].to_pylist() == [1.0, 2.0]


_STREAM = """
import re, sys
from pathlib import Path
from honestbayes.tables import open_table

def rows(path):
    return sum(batch.num_rows for batch in open_table(path).batches(["c1", "c3"], {"c3"}))

# Not ru_maxrss: a process inherits that from the one which started it.
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) / 1024

small, large = sys.argv[1::2], sys.argv[2::2]
for path in small:
    rows(path)
before = peak()
for path in large:
    print(rows(path), peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read as Linux gives it")
def test_streaming_takes_little_memory(write: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    n = 1_000_000
    block = "".join(
        ",".join([*(f"{x:.6f}" for x in row), f"t{i % 50}"]) + "\n"
        for i, row in enumerate(rng.normal(size=(10_000, 6)))
    )
    header = ",".join(f"c{j}" for j in (0, 1, 2, 4, 5, 6, 3)) + "\n"
    assert len(header + block * 100) > 60_000_000
    table = pa.table(
        {
            **{f"c{j}": np.resize(rng.normal(size=50_000), n) for j in (0, 1, 2, 4)},
            "c3": np.resize(np.array([f"t{i}" for i in range(50)]), n),
        }
    )
    pq.write_table(table.slice(0, 1000), tmp_path / "small.parquet")
    pq.write_table(table, tmp_path / "large.parquet")
    files = [
        write(header + block, "small.csv"),
        write(header + block * 100, "large.csv"),
        write(header + block, "small.csv.gz"),
        write(header + block * 100, "large.csv.gz"),
        tmp_path / "small.parquet",
        tmp_path / "large.parquet",
    ]
    result = subprocess.run(
        [sys.executable, "-c", _STREAM, *map(str, files)],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line.split() for line in result.stdout.splitlines()]
    assert [int(rows) for rows, _ in lines] == [n, n, n]
    # Measured: under 30 MB for three tables of 50 MB and more, most of it blocks that
    # pyarrow reads ahead; 37 MB for 400 MB. With blocks of 4 MiB it was over 80 MB.
    assert max(float(growth) for _, growth in lines) < 60
