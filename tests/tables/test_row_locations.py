"""Messages name rows by the line of the file on which they begin."""

import csv
import gzip
import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from honestbayes.tables import csv_reader, open_table, read_training
from honestbayes.tables.csv_reader import line_of_row
from honestbayes.tables.errors import InputError, RowLocations

CELLS = st.text(alphabet='ab1,"\n\r é\u2028', max_size=6)


def lines_of(path: Path, n_rows: int) -> list[int | None]:
    line_of = open_table(path, delimiter=",").line_of
    assert line_of is not None
    return [line_of(row) for row in range(1, n_rows + 1)]


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(st.lists(CELLS, min_size=2, max_size=2), max_size=8),
    st.sampled_from(["\n", "\r\n"]),
    st.integers(0, 2),
    st.sampled_from(["", "a\nb"]),
)
def test_lines_are_counted_in_the_text_before_a_row(
    tmp_path: Path, rows: list[list[str]], end: str, blank: int, first_name: str
) -> None:
    """The oracle writes row after row, and counts the line ends that are there by then."""
    text, expected = io.StringIO(newline=""), []
    writer = csv.writer(text, lineterminator=end, quoting=csv.QUOTE_ALL)
    text.write(end * blank)
    writer.writerow([first_name or "x", "y"])
    for row in rows:
        text.write(end * blank)
        expected.append(1 + len(re.findall(r"\r\n|\r|\n", text.getvalue())))
        writer.writerow(row)
    path = tmp_path / "table.csv"
    path.write_bytes(text.getvalue().encode())
    assert lines_of(path, len(rows) + 1) == [*expected, None]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b\n1,2\n3,4", [2, 3]),
        ("a,b\n\n1,2\n\n\n3,4\n", [3, 6]),
        ('a,b\n"1","2"\n"3","4"\n', [2, 3]),
        ('a,b\n5" pipe,"x\ny"\n3,4\n', [2, 4]),
        ('a,"b\nc"\n1,2\n', [3]),
    ],
)
def test_empty_lines_and_quotes(tmp_path: Path, text: str, expected: list[int], end: str) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(text.replace("\n", end).encode())
    assert lines_of(path, len(expected)) == expected


def test_packed_files_other_alphabets_and_marks_at_the_start(tmp_path: Path) -> None:
    text = "é,b\nü,1\n\nö,2\n"
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text.encode("utf-8-sig")))
    assert lines_of(tmp_path / "t.csv.gz", 2) == [2, 4]
    (tmp_path / "latin.csv").write_bytes(text.encode("latin-1"))
    line_of = open_table(tmp_path / "latin.csv", encoding="latin-1").line_of
    assert line_of is not None
    assert [line_of(1), line_of(2)] == [2, 4]


def test_a_line_that_cannot_be_told_is_none_and_the_row_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,2\n" * 3, encoding="utf-8")
    words = {"header_bytes": 4, "delimiter": ",", "encoding": None}
    assert line_of_row(path, 3, **words) == 4
    path.write_text("a,b\n\n" + "1,2\n" * 3, encoding="utf-8")
    assert line_of_row(path, 3, **words) == 5  # a file that has changed is read again
    assert line_of_row(path, 4, **words) is None
    csv_reader._lines.cache_clear()
    monkeypatch.setattr(csv_reader, "MAX_BYTES", 3)
    assert line_of_row(path, 3, **words) is None
    csv_reader._lines.cache_clear()
    path.unlink()
    assert line_of_row(path, 3, **words) is None
    locations = RowLocations(line_of=lambda row: line_of_row(path, row, **words))
    assert locations.describe(14) == "data row 15 (the header not counted)"
    assert locations.describe(14, 19) == "data rows 15, 20 (the header not counted)"


def test_many_messages_read_the_file_once(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,2\n" * 500, encoding="utf-8")
    csv_reader._lines.cache_clear()
    assert lines_of(path, 500) == list(range(2, 502))
    assert csv_reader._lines.cache_info().misses == 1


def table(cell: str) -> pd.DataFrame:
    """A table in which the 17th row has a strange cell."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 8)), columns=list("xzvabcde"))
    frame["y"] = np.where(np.arange(40) % 2, "a", "b")
    frame["x"] = [*frame["x"].astype(str)[:16], cell, *frame["x"].astype(str)[17:]]
    return frame


def test_checks_and_readers_name_the_line_and_parquet_the_row(tmp_path: Path) -> None:
    frame = table("low")
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    for name, place in (("t.csv", "line 18 of the file"), ("t.parquet", "row 17")):
        file = open_table(tmp_path / name)
        (finding,) = [f for f in read_training(file, target="y").findings if f.column == "x"]
        assert f"holds numbers, but also 'low' ({place})" in finding.sentence
        with pytest.raises(InputError, match=f"'low' in {place}, which is not a number"):
            read_training(file, target="y", kinds={"x": "real"})
        with pytest.raises(InputError, match=f"'low' in {place}, which is not a number"):
            list(file.batches(["x"]))


def test_rows_that_repeat_are_named_by_their_lines(tmp_path: Path) -> None:
    once = table("0.5")
    frame = pd.concat([once, once[:4]])
    frame.to_csv(tmp_path / "t.csv", index=False)
    findings = read_training(open_table(tmp_path / "t.csv"), target="y").findings
    (repeated,) = [finding for finding in findings if finding.rule == "repeated rows"]
    assert "(for example lines 2, 42 of the file)" in repeated.sentence
