"""Tables of every format give the same training data as the same table in CSV.

The spreadsheets in ``stored`` were written by openpyxl, odfpy and xlwt.
"""

import bz2
import gzip
import lzma
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.feather
import pytest
from typer.testing import CliRunner

from honestbayes.cli import app
from honestbayes.tables import InputError, open_table, read_training

STORED = Path(__file__).parent / "stored"
TEXT = (STORED / "clinic.csv").read_text()
FRAME = pd.read_csv(STORED / "clinic.csv")


def train(path, **words):
    return read_training(open_table(path, **words), target="state", coded=True)


@pytest.fixture(scope="module")
def expected():
    return train(STORED / "clinic.csv")


def same(found, expected):
    assert list(found.X.columns) == list(expected.X.columns)
    np.testing.assert_array_equal(found.X.to_numpy(float), expected.X.to_numpy(float))
    assert found.kinds == expected.kinds
    assert found.y.tolist() == expected.y.tolist()


def feather(path):
    pyarrow.feather.write_feather(FRAME, path, compression="lz4")


def zipped(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("folder/clinic.csv", TEXT)
        archive.writestr("__MACOSX/._clinic.csv", "what macOS adds")


WRITTEN = {
    "t.feather": feather,
    "t.jsonl": lambda path: FRAME.to_json(path, orient="records", lines=True),
    "t.parquet": lambda path: FRAME.to_parquet(path, index=False),
    "t.csv.gz": lambda path: path.write_bytes(gzip.compress(TEXT.encode())),
    "t.csv.bz2": lambda path: path.write_bytes(bz2.compress(TEXT.encode())),
    "t.csv.xz": lambda path: path.write_bytes(lzma.compress(TEXT.encode())),
    "t.csv.zip": zipped,
    "utf16.csv": lambda path: path.write_bytes(TEXT.encode("utf-16")),
    "utf16be.csv": lambda path: path.write_bytes(b"\xfe\xff" + TEXT.encode("utf-16-be")),
    "comments.tsv": lambda path: path.write_text(
        "# exported\n! by a program\n" + TEXT.replace(",", "\t")
    ),
}


@pytest.mark.parametrize("name", ["clinic.xlsx", "clinic.ods", "clinic.xls"])
def test_spreadsheets_of_every_kind(name, expected):
    same(train(STORED / name), expected)


@pytest.mark.parametrize("name", WRITTEN)
def test_other_formats(name, expected, tmp_path):
    WRITTEN[name](tmp_path / name)
    same(train(tmp_path / name), expected)


@pytest.mark.parametrize(
    ("encoding", "name"), [("cp1252", "größe"), ("latin-1", "größe\x81"), ("utf-8", "größe")]
)
def test_an_encoding_that_is_not_utf8_is_recognised_and_reported(encoding, name, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(TEXT.replace("lab0", name).encode(encoding))
    file = open_table(path)
    assert file.columns[1] == name
    note = f"t.csv is not UTF-8; it was read as {encoding} (--encoding decides)."
    assert file.notes == (() if encoding == "utf-8" else (note,))


def test_the_header_below_titles_is_found_and_reported(expected):
    file = open_table(STORED / "titles.xlsx", sheet="data")
    assert file.notes == (
        "Sheet 'data' of titles.xlsx was read.",
        "The header of titles.xlsx is row 3; --header-row names another.",
    )
    for words in ({"sheet": "data"}, {"sheet": "1"}, {"sheet": "1", "header_row": 3}):
        same(train(STORED / "titles.xlsx", **words), expected)


def test_the_header_of_a_text_file_may_be_named(expected, tmp_path):
    (tmp_path / "t.csv").write_text("Clinic study,,,\n\n" + TEXT)
    same(train(tmp_path / "t.csv", header_row=3), expected)
    file = open_table(tmp_path / "t.csv", header_row=3)
    assert file.locations().describe(0, 4) == "lines 4, 8 of the file"
    with pytest.raises(InputError, match="give the line of the header with --header-row"):
        open_table(tmp_path / "t.csv")


def test_a_header_that_begins_with_a_hash_is_no_comment(tmp_path):
    (tmp_path / "t.tsv").write_text("# made by a program\n#CHROM\tPOS\nx\t1\ny\t2\n")
    file = open_table(tmp_path / "t.tsv")
    assert file.columns == ("#CHROM", "POS")
    assert file.notes == ("The header of t.tsv stands below 1 comment line.",)


def test_dates_of_a_sheet_stop_as_dates_and_codes_stay_texts():
    file = open_table(STORED / "dates.xlsx")
    assert file.read(["code"])["code"].to_pylist()[:2] == ["000", "001"]
    assert file.read(["dose"])["dose"].to_pylist()[:2] == [0.0, 1.5]
    with pytest.raises(InputError, match="'seen': dates and times cannot be used as they are"):
        read_training(file, target="state")


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        ("titles.xlsx", {}, "has the sheets 'data', 'notes'; choose one with --sheet"),
        ("titles.xlsx", {"sheet": "empty"}, "has no sheet 'empty' with cells; its sheets are"),
        ("titles.xlsx", {"sheet": "3"}, "has no sheet '3' with cells"),
        ("clinic.xlsx", {"header_row": 90}, "row 90 of clinic.xlsx is empty"),
        ("clinic.xlsx", {"header_row": 0}, "header_row is 0; give a number from 1 to 1,000"),
        ("clinic.csv", {"header_row": 90}, "clinic.csv has fewer than 90 lines"),
        ("clinic.xlsx", {"max_bytes": 1000}, "holds more than 1000 bytes once unpacked"),
    ],
)
def test_sheets_and_headers_that_do_not_exist_are_refused(name, words, message):
    with pytest.raises(InputError, match=message):
        open_table(STORED / name, **words)


def cut(path):
    path.write_bytes((STORED / "clinic.xlsx").read_bytes()[:3000])


def two_files(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", TEXT)
        archive.writestr("b.csv", TEXT)


BROKEN = {
    "cut.xlsx": (cut, "cut.xlsx is a damaged archive; write it again"),
    "cut.xls": (
        lambda path: path.write_bytes((STORED / "clinic.xls").read_bytes()[:3000]),
        "cut.xls cannot be read as a spreadsheet",
    ),
    "cut.csv.xz": (
        lambda path: path.write_bytes(lzma.compress(TEXT.encode())[:-20]),
        "cut.csv.xz is damaged: its packed data are broken or end early",
    ),
    "cut.csv.bz2": (
        lambda path: path.write_bytes(bz2.compress(TEXT.encode())[:-20]),
        "cut.csv.bz2 is damaged: its packed data are broken or end early",
    ),
    "two.zip": (two_files, "two.zip is an archive of 2 files; unpack it"),
    "sheet.xlsx.gz": (
        lambda path: path.write_bytes(gzip.compress((STORED / "clinic.xlsx").read_bytes())),
        "is, once unpacked, an archive or a spreadsheet, which is not read; unpack it first",
    ),
    "one.json": (
        lambda path: path.write_text('{"state": ["a", "b"], "x": [1, 2]}'),
        "one.json is JSON, which is not read",
    ),
    "cohort.bed": (
        lambda path: path.write_bytes(b"\x6c\x1b\x01" + b"\x00" * 100),
        "cohort.bim is missing; .bed, .bim and .fam must be in one folder",
    ),
    "cut.feather": (
        lambda path: path.write_bytes(b"ARROW1\0\0" + b"x" * 100),
        "cut.feather cannot be read as Arrow",
    ),
    "lines.jsonl": (
        lambda path: path.write_text('{"a": 1}\n{"a": }\n'),
        "lines.jsonl cannot be read as JSON lines",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_refused_in_one_sentence(name, tmp_path):
    make, message = BROKEN[name]
    make(tmp_path / name)
    with pytest.raises(InputError, match=message) as caught:
        open_table(tmp_path / name).read()
    assert "\n" not in str(caught.value)


SPREADSHEETS = {
    f"t.{suffix}": lambda path, suffix=suffix: shutil.copy(STORED / f"clinic.{suffix}", path)
    for suffix in ("xlsx", "xls", "ods")
}
TRIPS = SPREADSHEETS | WRITTEN


@pytest.mark.slow_cases(*(name for name in TRIPS if name not in ("t.xlsx", "t.jsonl")))
@pytest.mark.parametrize("name", TRIPS)
def test_a_report_and_then_a_prediction_of_a_second_file(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    new = f"new-{name}"
    TRIPS[name](tmp_path / name)
    TRIPS[name](tmp_path / new)
    run = CliRunner().invoke
    words = ["--target", "state", "--model", "mixed", "--quick", "--folds", "2", "--out", "out"]
    made = run(app, ["report", name, *words])
    assert made.exit_code == 0, made.output
    found = run(app, ["predict", "out/model.honestbayes", new])
    assert found.exit_code == 0, found.output
    (tmp_path / "new.csv").write_text(TEXT)
    again = run(app, ["predict", "out/model.honestbayes", "new.csv"])
    assert found.stdout == again.stdout
    assert len(found.stdout.splitlines()) == 1 + len(FRAME)


def test_a_table_may_come_from_the_standard_input(tmp_path):
    words = [sys.executable, "-m", "honestbayes", "fit", "-", "--target", "state"]
    done = subprocess.run(
        [*words, "--model", "mixed"], input=TEXT.encode(), cwd=tmp_path, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "table.honestbayes").exists()


ROWS_OF_R = "\n".join(
    " ".join([f'"{i}"', *(f'"{c}"' if isinstance(c, str) else str(c) for c in row)])
    for i, row in enumerate(FRAME.astype(object).where(FRAME.notna(), "NA").to_numpy().tolist(), 1)
)
NAMES_OF_R = " ".join(f'"{name}"' for name in FRAME.columns)
WITHOUT_BLANKS = not any(" " in str(cell) for cell in FRAME.to_numpy().ravel())


@pytest.mark.parametrize(
    ("name", "text", "note"),
    [
        ("sep.csv", f"\ufeffsep=,\r\n{TEXT}", "stands below 1 comment line"),
        ("tab.xls", FRAME.to_csv(index=False, sep="\t"), ""),
        ("write.table", f"{NAMES_OF_R}\n{ROWS_OF_R}\n", "were separated at blanks"),
        ("write.table.tsv", f"{NAMES_OF_R}\n{ROWS_OF_R}\n".replace(" ", "\t"), "one column less"),
        ("margin.csv", TEXT.replace("\n", ",,\n"), "the last columns of margin.csv have no name"),
    ],
)
def test_what_other_programs_write_is_read_and_noted(name, text, note, expected, tmp_path):
    assert WITHOUT_BLANKS
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    data = train(path)
    same(data, expected)
    assert note in " ".join(data.notes).lower() or not note


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a  b  c\n1  2  x\n1  y\n", "was read as one column"),
        ("a b c\n" + "1 2 x\n" * 6 + "1 x\n", "line 8 of t.txt has 2 cells between blanks, but"),
        ('"a,b,c"\n"1,2,x"\n', "read as one column, 'a,b,c'; remove the quotes around each line"),
        (
            "a^b\n1^2\n",
            r"read as one column, 'a\^b'; .* name what separates the cells with --delim",
        ),
        (
            "title\na,b,z\n1,2,x\n1,2,y\n",
            "read as one column, .title.; if titles stand above the header",
        ),
        ("a,b,z\n1,2,x\nTotal\n", "has 1 cell, .* delete the line if it is a footer"),
        ('<table border="1">', "is a web page, which is not read; open it in a spreadsheet"),
        ('[{"a": 1}]', "is JSON, which is not read; write one object on each line"),
        ("$FL2@(#) SPSS DATA FILE", "is an SPSS file, which is not read; write the table as"),
    ],
)
def test_a_text_that_is_no_table_is_refused_with_the_fix(text, words, tmp_path):
    path = tmp_path / "t.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=words):
        read_training(open_table(path), target="z")


def test_what_databases_and_spreadsheets_write_for_missing_cells_is_missing(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "\\N,x\n#N/A,y\n<NA>,x\n1,y\n" * 2)
    assert open_table(path).read()["a"].null_count == 6


def test_a_second_table_beside_the_first_is_noted(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["state", "x", None, "drug"], ["ill", 1.5, None, "a"], ["well", 2, None, "b"]):
        book.active.append(row)
    book.save(tmp_path / "two.xlsx")
    (note,) = open_table(tmp_path / "two.xlsx").notes
    assert note.startswith("An empty column separates 'drug' from the columns to the left; if")
