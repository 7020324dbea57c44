"""Every format is read, and every file that is no table is refused in one sentence."""

import datetime as dt
import decimal
import gzip
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from honestbayes.tables import open_table
from honestbayes.tables.conversion import is_text
from honestbayes.tables.csv_reader import CsvReader
from honestbayes.tables.errors import InputError


def refusal(path: Path, **options: Any) -> str:
    """Open and read a file that must be refused, and return the message."""
    with pytest.raises(InputError) as caught:
        open_table(path, **options).read()
    message = str(caught.value)
    assert message.isprintable()
    assert str(path.parent) not in message
    return message


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.txt", "t"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_text_tables_are_read(write: Any, name: str, delimiter: str, end: str, mark: str) -> None:
    rows = [["age", "sex"], ["41", "f"], ["", "m"], ["3.5", '"x; y, z"']]
    file = open_table(write(mark + end.join(delimiter.join(row) for row in rows), name))
    assert file.format == "csv"
    assert file.name == name
    assert file.columns == ("age", "sex")
    table = file.read()
    assert table["age"].to_pylist() == [41.0, None, 3.5]
    assert table["sex"].to_pylist() == ["f", "m", "x; y, z"]


def test_a_delimiter_inside_quotes_is_no_delimiter(write: Any) -> None:
    file = open_table(write('"weight; kg; dry","size\nin cm",c\n1,2,3\n'))
    assert file.columns == ("weight; kg; dry", "size\nin cm", "c")
    assert file.read().num_rows == 1


def test_rows_speak_where_the_header_is_ambiguous(write: Any) -> None:
    file = open_table(write("a, in kg, dry;b, in cm\n1;2\n3;4\n"))
    assert file.columns == ("a, in kg, dry", "b, in cm")


def test_the_suffix_breaks_a_tie(write: Any) -> None:
    assert open_table(write("a,b\tc,d\n", "t.tsv")).columns == ("a,b", "c,d")


def test_a_given_delimiter_is_used(write: Any) -> None:
    path = write("a:b,c\n1:2\n")
    assert open_table(path, delimiter=":").columns == ("a", "b,c")
    assert open_table(write("a\tb,c\n"), delimiter="\\t").columns == ("a", "b,c")
    for wrong in ("::", "", "\n", '"', "é"):
        assert "is not one plain character" in refusal(path, delimiter=wrong)


@pytest.mark.parametrize(
    "missing", ["", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "?", "."]
)
@pytest.mark.parametrize("blank", ["", " "])
def test_missing_cells_are_null(write: Any, missing: str, blank: str) -> None:
    cell = blank + missing + blank
    path = write(f"a,b\n1,x\n{cell},{cell}\n")
    assert open_table(path).read().to_pylist()[1] == {"a": None, "b": None}
    (batch,) = open_table(path).batches(["a", "b"], {"b"})
    assert batch.to_pylist()[1] == {"a": None, "b": None}


def test_blanks_around_names_and_cells_do_not_count(write: Any) -> None:
    table = open_table(write(" a ,\tb\n 1 , x y \n2,x y\n")).read()
    assert table.to_pydict() == {"a": [1.0, 2.0], "b": ["x y", "x y"]}


def test_true_and_false_are_booleans(write: Any) -> None:
    path = write("a,b\nTrue,true\nFALSE,1\n,0\n")
    assert open_table(path).read().to_pydict() == {
        "a": [True, False, None],
        "b": ["true", "1", "0"],
    }
    (batch,) = open_table(path).batches(["a", "b"])
    assert batch.to_pydict() == {"a": [1.0, 0.0, None], "b": [1.0, 1.0, 0.0]}


@pytest.mark.parametrize(
    ("cells", "is_code"),
    [
        (("01067", "20095"), True),
        (("20095", " 007 "), True),
        (("00", "1"), True),
        (("008.45", "250.1"), True),
        (("", "01"), True),
        (("0", "0.7"), False),
        (("0", "10"), False),
        (("0.07", "1e05"), False),
        (("-0.5", "0e1"), False),
        ((".05", "0."), False),
    ],
)
def test_numbers_with_leading_zeros_are_codes(
    write: Any, cells: tuple[str, str], is_code: bool
) -> None:
    rows = "".join(f"{cell},1\n" for cell in cells)
    column = open_table(write(f"v,w\n{rows}")).read()["v"]
    assert is_text(column.type) is is_code
    if is_code:
        assert column.to_pylist() == [cell.strip() or None for cell in cells]


def test_leading_zeros_are_found_in_files_with_decimal_commas(write: Any) -> None:
    table = open_table(write("a;b;c\n0,5;01067;01,5\n1;20095;2\n")).read()
    assert table.to_pydict() == {"a": [0.5, 1], "b": ["01067", "20095"], "c": ["01,5", "2"]}


def test_leading_zeros_are_numbers_where_a_stream_needs_numbers(write: Any) -> None:
    file = open_table(write("v\n007\n8\n"))
    (numbers,) = file.batches(["v"])
    assert numbers["v"].to_pylist() == [7, 8]
    (text,) = file.batches(["v"], text={"v"})
    assert text["v"].to_pylist() == ["007", "8"]


@pytest.mark.parametrize("cell", ["1.1e100", "-3e200"])
def test_numbers_too_large_to_be_squared_are_refused(write: Any, cell: str) -> None:
    file = open_table(write(f"v\n1e100\n{cell}\n"))
    with pytest.raises(
        InputError, match=r"column 'v' holds .*e\+\d+, which is too large, in line 3 of"
    ):
        list(file.batches(["v"]))


def test_a_column_of_codes_with_points_leaves_the_commas_of_others(write: Any) -> None:
    file = open_table(write("a;b;c\n1,5;12.3;4\n2,25;7.8;5\n3;45.1;6,5\n"))
    assert file.read().to_pydict() == {
        "a": [1.5, 2.25, 3.0],
        "b": [12.3, 7.8, 45.1],
        "c": [4.0, 5.0, 6.5],
    }
    (batch,) = file.batches(["a", "b", "c"])
    assert batch.to_pydict() == file.read().to_pydict()


def test_points_that_may_part_thousands_are_no_numbers_beside_decimal_commas(write: Any) -> None:
    text = "a;b\n1,5;1.234\n2,5;12.500\n"
    assert open_table(write(text)).read()["b"].to_pylist() == ["1.234", "12.500"]
    assert open_table(write(text), decimal=".").read()["b"].to_pylist() == [1.234, 12.5]


def test_words_of_the_user_are_missing_in_text_and_in_numbers(write: Any) -> None:
    file = open_table(write("id,a,b\n999,1,x\n2,999.0,-\n3,-,y\n"), missing=["-", "999"])
    found = file.read(text={"id"}).to_pydict()
    assert found == {"id": ["999", "2", "3"], "a": [1.0, None, None], "b": ["x", None, "y"]}
    (batch,) = file.batches(["id", "a", "b"], text={"b"}, names={"id"})
    assert batch.to_pydict() == found


@pytest.mark.parametrize("packed", ["", ".gz"])
def test_another_encoding_is_read_where_it_is_named_or_recognised(write: Any, packed: str) -> None:
    text = "größe;b\n" + "1,5;Köln\n" * 40_000
    path = write(text.encode("latin-1"), f"t.csv{packed}")
    assert open_table(path).read() == open_table(path, encoding="latin-1").read()
    table = open_table(path, encoding="latin-1").read()
    assert table.column_names == ["größe", "b"]
    assert set(table["b"].to_pylist()) == {"Köln"}
    assert table.num_rows == 40_000
    with pytest.raises(InputError, match="not text in the encoding of --encoding"):
        open_table(path, encoding="ascii").read()


def test_columns_can_stay_text(write: Any) -> None:
    table = open_table(write("id,x\n007,1\n08,2\n")).read(["x", "id"], text={"id"})
    assert table.to_pydict() == {"x": [1.0, 2.0], "id": ["007", "08"]}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a;b\n1,5;x\n-2,25e3;y\n3;z\n", [1.5, -2250.0, 3.0]),
        ("a;b\n1,234;x\n", [1.234]),
        ("a;b\n 1,5 ;NA\n.;x\n", [1.5, None]),
        ("a\tb\n0,5\tx\n", [0.5]),
        ("a;b\n1,5;2020-01-01\n", [1.5]),
        ('a,b\n"1,5",x\n', [1.5]),  # quoted, and no number of the file has a point
    ],
)
def test_decimal_commas_are_read(write: Any, text: str, values: list[float]) -> None:
    file = open_table(write(text))
    assert file.decimal == ","
    assert file.read()["a"].to_pylist() == values
    (batch,) = file.batches(["a"])
    assert batch["a"].to_pylist() == values


@pytest.mark.parametrize(
    "text",
    [
        "a;b\n1,5;2\n2.5;3\n",  # both marks in one column
        "a\tb\n1,234\tx\n",  # may be thousands
        'a,b\n"1,5",2.5\n',  # the comma is the delimiter, the point the decimal mark
    ],
)
def test_commas_that_may_mean_something_else_are_text(write: Any, text: str) -> None:
    file = open_table(write(text))
    assert file.decimal == "."
    assert pa.types.is_string(file.read()["a"].type)
    with pytest.raises(
        InputError, match=r"column 'a' holds '1,\d+' in line 2 of the file, which is not a number"
    ):
        list(file.batches(["a"]))


def test_points_are_no_numbers_where_the_comma_is_the_mark(write: Any) -> None:
    # "1.234.567" and "1.234" are thousands here: to read 1.234 would be silently wrong.
    rows = "".join(f"{i},5;{i}\n" for i in range(200_000))
    file = open_table(write(f"a;b\n{rows}1,5;1.234\n"))
    assert file.decimal == ","
    assert pa.types.is_string(file.read()["b"].type)
    with pytest.raises(InputError, match=r"column 'b' holds '1.234' in line 200,002 of the file"):
        list(file.batches(["b"]))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty; give a table"),
        ("\n \n", "is empty; give a table"),
        ("\ufeff", "is empty; give a table"),
        ("a,b\n1,2\n3\n", "line 3 of table.csv has 1 cell, but the header names 2 columns"),
        ("a,b\n\n1,2\n\n1,2,3\n", "line 5 of table.csv has 3 cells"),
        ("a,b\n1,2,3\n4,5,6\n", "name the column of row names in the header"),
        ("a,b,a\n1,2,3\n", "columns of the same name: 'a'; rename them"),
        ("a,,b\n1,2,3\n", "column 2 of table.csv has no name"),
        (b"a,b\n1,\xe4\x01\n", "is not UTF-8 text: line 2 holds other bytes"),
        (b"a,\xe4\x01\n1,2\n", "is not UTF-8 text: line 1"),
        (b"a,b\n1,\xc3", "is not UTF-8 text: line 2"),
        (b"a,b\n1,\0\n", "has NUL bytes in line 2"),
        ("a,b\n".encode("utf-16-be"), "has NUL bytes in line 1"),
        ('a,b\n1,"x\n2,y\n', "is opened and never closed"),
        ('a,b\n1,"x\n\n', "is opened and never closed"),
        ("x" * 200_000 + ",b\n", "a name is too long, or a quote is not closed"),
        (b"\x93NUMPY\x01\x00", "a single NumPy array"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "cannot be read as a spreadsheet"),
        (b"PAR1", "cannot be read as Parquet"),
        (b"PAR1" + b"x" * 100 + b"PAR1", "cannot be read as Parquet"),
        (b"PK\x03\x04", "damaged archive"),
        (b"\x80\x05\x95abc", "a Python pickle, which is not read; write"),
    ],
)
def test_what_is_no_table_is_refused(write: Any, content: str | bytes, words: str) -> None:
    assert words in refusal(write(content))


def test_an_unclosed_quote_is_found_whichever_columns_are_read(write: Any) -> None:
    with pytest.raises(InputError, match="never closed"):
        list(open_table(write('a,b\n1,"x\n2,y\n')).batches(["a"]))


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    assert "there is no file nothing.csv" in refusal(tmp_path / "nothing.csv")
    folder = tmp_path / "folder"
    folder.mkdir()
    assert "folder is a folder" in refusal(folder)
    assert "its name cannot be used" in refusal(tmp_path / "a\0b")
    assert "File name too long" in refusal(tmp_path / ("x" * 5000))


def test_a_name_with_control_characters_is_harmless(write: Any) -> None:
    assert "\x1b" not in refusal(write("", "a\x1b[31m.csv"))
    assert "\n" not in refusal(write("a,b\n1\n", "a\nb.csv"))


def test_archives_that_are_no_tables_are_refused(tmp_path: Path) -> None:
    for members, words in (
        (("xl/workbook.xml",), "cannot be read as a spreadsheet"),
        (("a.csv", "b.csv"), "unpack it"),
    ):
        path = tmp_path / "book.xlsx"
        with zipfile.ZipFile(path, "w") as archive:
            for member in members:
                archive.writestr(member, "x")
        assert words in refusal(path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"PAR1xxx", "once unpacked, a Parquet file"),
        (gzip.compress(b"a,b\n", mtime=0), "packed twice"),
        (b"", "is empty"),
        (b"a,b\n1,\xff\x01\n", "is not UTF-8"),
    ],
)
def test_what_is_no_table_inside_gzip_is_refused(write: Any, content: bytes, words: str) -> None:
    assert words in refusal(write(content, "t.csv.gz"))


def test_damaged_gzip_is_refused(write: Any) -> None:
    data = gzip.compress(b"a,b\n" + b"1,2\n" * 10_000)
    assert "is damaged" in refusal(write(data[:-6]))
    assert "is damaged" in refusal(write(data[:60] + b"\0\1\2" + data[63:]))
    assert "is damaged" in refusal(write(data[:10]))


def test_a_header_alone_is_a_table_without_rows(write: Any) -> None:
    for text in ("a,b", "a,b\n", "a,b\r\n\n\n"):
        file = open_table(write(text))
        assert file.read().num_rows == 0
        assert file.read().column_names == ["a", "b"]
        assert list(file.batches(["a"])) == []


def test_row_names_of_pandas_and_r_get_a_name(write: Any) -> None:
    assert open_table(write('"","x"\n"1",2\n')).columns == ("Unnamed: 0", "x")


def test_a_wide_table_is_read(write: Any) -> None:
    p = 30_000
    names = ",".join(f"gene_{j}" for j in range(p))
    row = ",".join(str(j % 7) for j in range(p))
    file = open_table(write(f"{names}\n{row}\n{row}\n"))
    assert len(file.columns) == p
    (batch,) = file.batches(["gene_29999", "gene_3"])
    assert batch.to_pydict() == {"gene_29999": [29999 % 7] * 2, "gene_3": [3.0] * 2}


def test_a_long_header_with_a_quoted_line_break_is_read(write: Any) -> None:
    names = [f"name_{j}" for j in range(60_000)]
    file = open_table(write('"a\nb",' + ",".join(names) + "\n1" + ",2" * 60_000 + "\n"))
    assert file.columns == ("a\nb", *names)
    assert file.read(["a\nb", "name_59999"]).to_pylist() == [{"a\nb": 1.0, "name_59999": 2.0}]


def test_unknown_columns_are_refused_with_a_suggestion(write: Any) -> None:
    file = open_table(write("tumor,age\n1,2\n"))
    with pytest.raises(
        InputError, match=r"table.csv has no column 'tumour'; did you mean 'tumor'\?"
    ):
        file.read(["tumour"])
    with pytest.raises(InputError, match="did you mean"):
        list(file.batches(["tumour"]))


def test_no_columns_still_count_the_rows(write: Any) -> None:
    batches = list(open_table(write("a,b\nx,2\ny,3\n")).batches([]))
    assert sum(batch.num_rows for batch in batches) == 2


def test_a_gzip_bomb_is_refused_early(tmp_path: Path) -> None:
    path = tmp_path / "bomb.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"a,b\n")
        for _ in range(40):
            file.write(b"1,2\n" * (1 << 18))
    assert path.stat().st_size < 1 << 20
    assert "bomb.csv.gz holds more than 8 MiB" in refusal(path, max_bytes=8 << 20)
    assert "--max-size" in refusal(path, max_bytes=8 << 20)
    with pytest.raises(InputError, match="--max-size"):
        list(open_table(path, max_bytes=8 << 20).batches(["a"]))
    rows = sum(batch.num_rows for batch in open_table(path, max_bytes=None).batches(["a"]))
    assert rows == 40 << 18


def test_the_limit_holds_for_every_format(tmp_path: Path, write: Any) -> None:
    assert "--max-size" in refusal(write("a,b\n" + "1,2\n" * 1000), max_bytes=1000)
    table = pa.table({"a": np.zeros(1 << 20)})
    pq.write_table(table, tmp_path / "t.parquet")
    assert (tmp_path / "t.parquet").stat().st_size < 20_000
    assert "--max-size" in refusal(tmp_path / "t.parquet", max_bytes=1 << 20)
    np.savez_compressed(tmp_path / "t.npz", X=np.zeros((1000, 100)), y=np.zeros(1000))
    assert "--max-size" in refusal(tmp_path / "t.npz", max_bytes=1 << 18)


def test_a_long_record_is_read_and_a_longer_one_refused(write: Any) -> None:
    rows = ["a,b", *(f"{i},x" for i in range(5000)), f"1,{'y' * 3_000_000}", "2,z"]
    file = open_table(write("\n".join(rows)))
    assert isinstance(file.reader, CsvReader)
    reader = CsvReader(file.reader.path, file.reader.header, False, 1000)
    found = list(reader.batches(["a", "b"], limit=None, whole=False))
    assert [row for part in found for row in part["a"].to_pylist()] == [
        *(str(i) for i in range(5000)),
        "1",
        "2",
    ]
    with pytest.raises(InputError, match=r"one record of table.csv holds more than 97.7 KiB"):
        list(reader.batches(["a", "b"], limit=100_000, whole=False))


def test_text_stored_once_in_parquet_does_not_unpack(tmp_path: Path) -> None:
    # 20,000 rows of 20,000 characters are 400 MB; the file stores each text once.
    words = pa.DictionaryArray.from_arrays(
        pa.array(np.arange(20_000, dtype=np.int32) % 2), pa.array(["x" * 20_000, "y" * 20_000])
    )
    pq.write_table(pa.table({"a": words}), tmp_path / "t.parquet", store_schema=False)
    table = open_table(tmp_path / "t.parquet").read()
    assert table.num_rows == 20_000
    assert table.nbytes < 1 << 22


def parquet_table() -> pa.Table:
    day = dt.datetime(2020, 1, 1)
    return pa.table(
        {
            "half": pa.array([1.5, None], pa.float16()),
            "decimal": [decimal.Decimal("2.50"), None],
            "time": [day, day],
            "list": [[1], [2]],
            "struct": [{"a": 1}, {"a": 2}],
            "binary": [b"x", b"y"],
            "category": pa.array(["u", "v"]).dictionary_encode(),
            "codes": pa.array([1, 2]).dictionary_encode(),
            "flag": [True, None],
            "nothing": pa.nulls(2),
            "large": pa.array([" x ", "NA"], pa.large_string()),
            "unsigned": pa.array([2**63, 1], pa.uint64()),
            "a.b": [1, 2],
        }
    )


def test_types_of_parquet_become_numbers_and_text(tmp_path: Path) -> None:
    pq.write_table(parquet_table(), tmp_path / "t.parquet")
    file = open_table(tmp_path / "t.parquet")
    assert file.format == "parquet"
    numbers = ["half", "decimal", "flag", "codes", "unsigned", "nothing", "a.b"]
    (batch,) = file.batches(numbers)
    assert batch.to_pylist() == [
        dict(zip(numbers, (1.5, 2.5, 1.0, 1.0, 2.0**63, None, 1.0), strict=True)),
        dict(zip(numbers, (None, None, None, 2.0, 1.0, None, 2.0), strict=True)),
    ]
    texts = ["category", "large", "flag", "half", "codes", "nothing"]
    (batch,) = file.batches(texts, set(texts))
    assert batch.to_pylist() == [
        dict(zip(texts, ("u", "x", "true", "1.5", "1", None), strict=True)),
        dict(zip(texts, ("v", None, None, None, "2", None), strict=True)),
    ]


@pytest.mark.parametrize("name", ["time", "list", "struct", "binary", "category"])
def test_types_of_parquet_that_are_no_numbers_are_refused(tmp_path: Path, name: str) -> None:
    pq.write_table(parquet_table(), tmp_path / "t.parquet")
    with pytest.raises(InputError, match=f"column '{name}' holds"):
        list(open_table(tmp_path / "t.parquet").batches([name]))


def test_nested_values_are_no_text(tmp_path: Path) -> None:
    pq.write_table(parquet_table(), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="column 'list' holds values of type 'list<"):
        list(open_table(tmp_path / "t.parquet").batches(["list"], {"list"}))


def test_parquet_is_streamed_in_order(tmp_path: Path) -> None:
    n = 200_000
    pq.write_table(pa.table({"a": np.arange(n)}), tmp_path / "t.parquet", row_group_size=30_000)
    batches = list(open_table(tmp_path / "t.parquet").batches(["a"]))
    assert len(batches) > 1
    assert np.array_equal(
        np.concatenate([batch["a"].to_numpy() for batch in batches]), np.arange(n)
    )


def test_duplicate_names_in_parquet_are_refused(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    pq.write_table(table, tmp_path / "t.parquet")
    assert "columns of the same name: 'a'" in refusal(tmp_path / "t.parquet")


def test_a_numpy_archive_is_a_table(tmp_path: Path) -> None:
    X = np.arange(6.0).reshape(3, 2)
    X[1, 1] = np.nan
    np.savez(tmp_path / "t.npz", X=np.asfortranarray(X), y=np.array(["a", "b", "a"]))
    file = open_table(tmp_path / "t.npz")
    assert file.format == "npz"
    assert file.columns == ("x0", "x1", "y")
    assert file.read()["y"].to_pylist() == ["a", "b", "a"]
    (batch,) = file.batches(["x1", "x0"])
    assert batch.to_pydict() == {"x1": [1.0, None, 5.0], "x0": [0.0, 2.0, 4.0]}


def test_a_numpy_archive_may_name_its_columns_and_lack_a_class(tmp_path: Path) -> None:
    X = np.arange(6, dtype=">i2").reshape(3, 2)
    np.savez(tmp_path / "t.npz", X=X, names=np.array(["a", "b"]))
    file = open_table(tmp_path / "t.npz")
    assert file.columns == ("a", "b")
    assert file.read()["b"].to_pylist() == [1, 3, 5]


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"y": np.zeros(2)}, "holds no array X"),
        ({"X": np.zeros(2)}, "has shape (2,)"),
        ({"X": np.zeros((2, 0))}, "has shape (2, 0)"),
        ({"X": np.zeros((0, 2))}, "has shape (0, 2)"),
        ({"X": np.zeros((2, 2), dtype="M8[s]")}, "an unknown type"),
        ({"X": np.zeros((2, 2), dtype=complex)}, "type complex128"),
        ({"X": np.array([[1, "a"]], dtype=object)}, "an array of Python objects"),
        ({"X": np.zeros((2, 2)), "y": np.zeros(3)}, "y in t.npz has shape (3,)"),
        ({"X": np.zeros((2, 2)), "names": np.array(["a"])}, "one text for each of the 2 columns"),
        ({"X": np.zeros((2, 2)), "names": np.array(["a", "a"])}, "columns of the same name: 'a'"),
        (
            {"X": np.zeros((2, 2)), "names": np.array(["a", "y"]), "y": np.zeros(2)},
            "same name: 'y'",
        ),
    ],
)
def test_odd_archives_are_refused(tmp_path: Path, arrays: dict[str, Any], words: str) -> None:
    np.savez(tmp_path / "t.npz", **arrays)
    assert words in refusal(tmp_path / "t.npz")


def test_an_array_that_claims_more_than_it_holds_is_refused(tmp_path: Path) -> None:
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 2), }"
    text = header.ljust(117) + "\n"
    data = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + b"\0" * 16
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
        archive.writestr("X.npy", data)
    assert "size differs from its header" in refusal(tmp_path / "t.npz")


@pytest.mark.parametrize("kind", ["csr", "csc"])
@pytest.mark.parametrize("ones", [False, True])
def test_a_sparse_matrix_in_an_archive_is_unpacked(tmp_path, kind, ones):
    generator = np.random.default_rng(0)
    X = (generator.random((9, 5)) < 0.4) * (1 if ones else generator.integers(1, 9, (9, 5)))
    matrix = sparse.coo_array(X.astype(np.int8)).asformat(kind)
    parts = {"indices": matrix.indices, "indptr": matrix.indptr, "shape": matrix.shape}
    parts |= {} if ones else {"data": matrix.data}
    parts |= {} if kind == "csr" else {"format": np.array(b"csc")}
    np.savez(tmp_path / "t.npz", y=np.arange(9) % 2, **parts)
    file = open_table(tmp_path / "t.npz")
    assert file.columns == ("x0", "x1", "x2", "x3", "x4", "y")
    assert file.notes == ()
    found = file.read(["x0", "x1", "x2", "x3", "x4"])
    np.testing.assert_array_equal(np.column_stack([found[name] for name in found.column_names]), X)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"indices": np.array([0, 7])}, "is not whole"),
        ({"indptr": np.array([0, 2, 1])}, "is not whole"),
        ({"indptr": np.array([0.0, 1.0, 2.0])}, "is not valid"),
        ({"shape": np.array([2, 3, 4])}, "is not valid"),
        ({"shape": np.array([-2, 3])}, "is not whole"),
        ({"format": np.array(b"dia")}, "is not valid"),
        ({"data": np.array(["a", "b"])}, "is not valid"),
        ({"shape": np.array([1 << 30, 1 << 30])}, "--max-size"),
    ],
)
def test_a_broken_sparse_matrix_is_refused(tmp_path, changed, words):
    parts = {"indices": np.array([0, 2]), "indptr": np.array([0, 1, 2]), "shape": np.array([2, 3])}
    np.savez(tmp_path / "t.npz", y=np.arange(2), **parts | changed)
    assert words in refusal(tmp_path / "t.npz")
