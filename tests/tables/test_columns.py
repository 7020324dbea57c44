"""Each column is what its rule says, and what is left out says why."""

import datetime as dt
import time
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from honestbayes.tables import Column, classify_columns, open_table
from honestbayes.tables.errors import InputError, RowLocations


def classify(values: Any, name: str = "v", **options: Any) -> Column:
    (column,) = classify_columns(pa.table({name: values}), **options)
    assert column.name == name
    assert column.reason.isprintable()
    return column


WORDS = [f"word{i}" for i in range(300)]
NORMAL = np.random.default_rng(0).normal(size=40)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([0, 1, 0, 1], "binary"),
        ([3.5, -2.0, 3.5], "binary"),
        ([True, False, None], "binary"),
        ([0, 0, 0], "binary"),
        ([1, None, 1], "binary"),
        ([2, None, 1], "binary"),
        ([0.0, float("nan"), 1.0], "binary"),
        ([7, 7, 7], "binary"),
        ([0, 1, 2], "real"),
        (NORMAL, "real"),
        ([float("inf"), 1.0, 2.0], "real"),
        (["a", "b", None], "binary"),
        (["a", "b", "c"], "categorical"),
        (WORDS[:10], "categorical"),
        (WORDS[:100] * 3, "categorical"),
    ],
)
def test_columns_that_are_used(values: Any, kind: str) -> None:
    column = classify(values)
    assert column.kind == kind
    assert column.reason == ""


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([None, None], "no values"),
        ([float("nan")] * 3, "no values"),
        (["NA", " ", "?"], "no values"),
        (["a", None, "a"], "one value only: 'a'"),
        (WORDS[:38], "identifier-like: 38 different values in 38 rows"),
        (WORDS[:21] + WORDS[:20], "identifier-like: 21 different values in 41 rows"),
        (WORDS[:214] * 3, "text with 214 different values"),
        ([dt.datetime(2020, 1, 1)], "date or time"),
        ([dt.date(2020, 1, 1)], "date or time"),
        ([dt.timedelta(1)], "date or time"),
        (["2020-01-01", "2020-02-01", "2021-01-01 10:00"], "date or time"),
        (["1.2.2020", "13.4.1999"] * 3, "date or time"),
        (["12:30", "13:45:10"] * 3, "date or time"),
        (["Jan 05, 2020", "13-Feb-99", "2 March 2021", "2020-05-01"], "date or time"),
        (["1:30 pm", "11:05 AM"], "date or time"),
        ([[1], [2]], "values of type 'list<"),
        ([b"x", b"y"], "values of type 'binary' cannot be used"),
    ],
)
def test_columns_that_are_left_out_say_why(values: Any, reason: str) -> None:
    column = classify(values)
    assert column.kind == "left out"
    assert column.reason.startswith(reason)


@pytest.mark.parametrize(
    "name",
    ["id", "ID", "Patient_ID", "PatientID", "sampleId", "case nr", "Unnamed: 0", "index", "row"],
)
def test_different_whole_numbers_under_the_name_of_an_identifier_are_left_out(name: str) -> None:
    values = np.random.default_rng(1).choice(100_000, size=38, replace=False)
    column = classify(values, name)
    assert column.kind == "left out"
    assert column.reason == "identifier-like: 38 different whole numbers in as many rows"
    assert classify(values, "platelets").kind == "real"


@pytest.mark.parametrize("name", ["humid", "covid", "rapid", "piano", "brown", "nid"])
def test_words_that_end_like_identifiers_are_not(name: str) -> None:
    values = np.random.default_rng(1).choice(100_000, size=38, replace=False)
    assert classify(values, name).kind == "real"


def test_numbers_that_count_the_rows_are_left_out_under_any_name() -> None:
    rng = np.random.default_rng(2)
    assert classify(rng.permutation(50)).kind == "left out"
    assert classify(np.delete(np.arange(1000, 1050), [3, 20])).kind == "left out"
    assert classify(np.arange(50) * 7).kind == "real"
    assert classify(np.arange(50) + 0.5).kind == "real"
    assert classify(np.append(np.arange(49), 0)).kind == "real"
    assert classify(np.arange(9)).kind == "real"
    assert classify(np.append(0, np.arange(1, 50) + 0.5)).kind == "real"
    assert classify(np.append(0, np.arange(1, 50) * 9.5), "id").kind == "real"


@pytest.mark.parametrize("first", [10**19, -(10**17), 2**60])
def test_identifiers_of_more_digits_than_a_float_holds_are_left_out(first: int) -> None:
    values = pa.array([float(first + i) for i in range(40)])
    assert len(set(values.to_pylist())) < 10
    column = classify(values, "tweet_id")
    assert (column.kind, column.reason) == (
        "left out",
        "identifier-like: numbers with 16 digits or more",
    )
    assert classify(values, "tweet_id", keep={"tweet_id"}).kind in ("binary", "real")
    assert classify(values, "photons").kind in ("binary", "real")


def test_an_identifier_whose_numbers_repeat_is_real() -> None:
    assert classify([5, 5, *range(100, 150)], "id").kind == "real"


@pytest.mark.parametrize("stray", ["low", "<5", "12;5", "1.2.3", "5 mg"])
def test_numbers_with_a_stray_text_name_the_cell(stray: str) -> None:
    words = [f"{x:.3f}" for x in NORMAL]
    words[16] = stray
    column = classify(words)
    assert column.kind == "left out"
    assert column.reason == (f"mostly numbers, but row 17 holds '{stray}', which is not a number")
    rows = np.arange(101, 141)
    assert "row 117 " in classify(words, locations=RowLocations(rows)).reason


@pytest.mark.parametrize("form", ["{:.2f}%", "{:.1f} %", "${:.3f}", "{:.3f} €"])
def test_numbers_with_a_unit_are_named(form: str) -> None:
    words = [form.format(abs(x)) for x in NORMAL]
    column = classify(words)
    assert column.kind == "left out"
    assert column.reason == f"mostly numbers, but row 1 holds '{words[0]}', which is not a number"


def test_decimal_commas_in_a_file_with_points_are_named() -> None:
    column = classify([f"{x:.3f}".replace(".", ",") for x in NORMAL])
    assert column.kind == "left out"
    assert "mostly numbers, but row 1 holds '0,126'" in column.reason


def test_few_levels_that_are_mostly_numbers_are_used_with_a_remark() -> None:
    column = classify(["0", "1", "2"] * 10 + ["unknown"])
    assert column.kind == "categorical"
    assert column.levels == ("0", "1", "2", "unknown")
    assert "row 31 holds 'unknown'" in column.reason


def test_numbers_stored_as_text_are_named() -> None:
    assert classify([f"{x:.3f}" for x in NORMAL]).reason.startswith("numbers stored as text")


def test_codes_with_leading_zeros_are_text_and_say_so() -> None:
    zeros = "holds '01067', a code with a leading zero"
    few = classify(["20095", "01067", "80331"] * 5)
    assert few == Column("v", "categorical", f"row 2 {zeros}", ("01067", "20095", "80331"))
    many = [str(20000 + i) for i in range(300)]
    some = classify(["01067", *many[:40]] * 3)
    assert (some.kind, some.reason) == ("categorical", f"row 1 {zeros}")
    reason = f"text with 301 different values; row 301 {zeros}"
    assert classify([*many, "01067"] * 3).reason == reason
    reason = f"identifier-like: 41 different values in 41 rows; row 41 {zeros}"
    assert classify([*many[:40], "01067"]).reason == reason
    assert classify(
        ["20095", "01067"], decimal=",", locations=RowLocations(np.array([3, 9]))
    ).reason == (f"row 9 {zeros}")
    assert classify(["007", None, "007"]).reason == "one value only: '007'"


def test_a_stray_text_among_codes_is_one_of_them() -> None:
    column = classify([f"{i:02}" for i in range(1, 13)] * 4 + ["unknown"])
    assert column.kind == "categorical"
    assert column.reason == "row 1 holds '01', a code with a leading zero"


def test_text_that_is_not_of_numbers_says_nothing_of_leading_zeros() -> None:
    assert classify(["01a", "02b", "03"] * 5).reason == ""


def test_reasons_are_printable_whatever_the_data_hold() -> None:
    words = [f"{x:.3f}" for x in NORMAL]
    words[3] = "\x1b[31m<script>\n" + "x" * 1000
    assert len(classify(words).reason) < 200


def test_levels_are_sorted_and_clean() -> None:
    table = pa.table({"v": pa.array([" b", "a ", "b", "NA", None]).dictionary_encode()})
    assert classify_columns(table)[0].levels == ("a", "b")


def test_the_users_word_wins_where_a_column_can_be_encoded() -> None:
    assert classify(np.arange(50), "id", keep={"id"}).kind == "real"
    assert classify(WORDS[:38], keep={"v"}).kind == "categorical"
    for values in (WORDS[:101], [[1]], [None], [dt.date(2020, 1, 1)], ["a", "a"]):
        with pytest.raises(InputError, match="column 'v' cannot be kept: "):
            classify(pa.array(values), keep={"v"})


def test_a_numeric_column_without_values_cannot_be_kept() -> None:
    with pytest.raises(InputError, match="column 'v' cannot be kept: no values"):
        classify(pa.array([None, None], pa.float64()), keep={"v"})


def test_constant_numbers_stay_because_the_correction_counts_them() -> None:
    table = pa.table({f"g{j}": np.full(20, float(j)) for j in range(10_000)})
    columns = classify_columns(table, keep={"g7"})
    assert {(column.kind, column.reason) for column in columns} == {("binary", "")}


def test_an_empty_table_has_no_kinds() -> None:
    table = pa.table({"a": pa.array([], pa.float64()), "b": pa.array([], pa.string())})
    assert [column.kind for column in classify_columns(table)] == ["left out", "left out"]


def test_columns_in_several_parts_are_one_column() -> None:
    column = pa.chunked_array([["a", "b"], [], ["c", None], ["a"]])
    coded = pa.chunked_array(
        [pa.array(["x"]).dictionary_encode(), pa.array(["y"]).dictionary_encode()]
    )
    assert classify(column).levels == ("a", "b", "c")
    assert classify(coded).levels == ("x", "y")


def test_wide_tables_are_quick() -> None:
    rng = np.random.default_rng(3)
    table = pa.table({f"g{j}": x for j, x in enumerate(rng.normal(size=(20_000, 200)))})
    start = time.perf_counter()
    columns = classify_columns(table)
    # Measured: 0.3 s. A loop that looks every name up in a list of names takes minutes.
    assert time.perf_counter() - start < 5
    assert {column.kind for column in columns} == {"real"}


def test_the_kinds_of_a_file(write: Any) -> None:
    rows = "".join(
        f"{i},p{i},{i % 2},{'mf'[i % 2]},{'ABC'[i % 3]},{i * 0.37:.2f},2020-01-{i % 28 + 1:02d},\n"
        for i in range(38)
    )
    file = open_table(write(f",name,flag,sex,stage,size,date,empty\n{rows}"))
    kinds = {column.name: column.kind for column in classify_columns(file.read())}
    assert kinds == {
        "Unnamed: 0": "left out",
        "name": "left out",
        "flag": "binary",
        "sex": "binary",
        "stage": "categorical",
        "size": "real",
        "date": "left out",
        "empty": "left out",
    }
