"""Rows become features in the same way in training and prediction."""

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestbayes.tables import Column, Encoding, Feature, classify_columns, encoding_of, open_table
from honestbayes.tables.errors import InputError, RowLocations

COLUMNS = (
    Column("x", "real"),
    Column("b", "binary"),
    Column("sex", "binary", "", ("f", "m")),
    Column("id", "left out", "identifier-like"),
    Column("stage", "categorical", "", ("1", "2", "3")),
)
ENCODING = encoding_of(COLUMNS)


def table(**columns: Any) -> pa.Table:
    prepared = {"x": [0.5, None], "b": [0, 1], "sex": ["m", "f"], "stage": ["2", "3"], **columns}
    return pa.table(prepared)


def test_names_say_column_and_level() -> None:
    assert ENCODING.names == ("x", "b", "sex=m", "stage=1", "stage=2", "stage=3")
    assert ENCODING.columns == ("x", "b", "sex", "stage")
    assert ENCODING.text_columns == {"sex", "stage"}


def test_values_are_numbers_and_levels() -> None:
    values, unknown = ENCODING.apply(table())
    nan = np.nan
    assert np.array_equal(values, [[0.5, 0, 1, 0, 1, 0], [nan, 1, 0, 0, 0, 1]], equal_nan=True)
    assert values.dtype == np.float64
    assert unknown == {}


def test_complete_zeros_and_ones_are_small_integers() -> None:
    values, _ = ENCODING.take([1, 2, 4]).apply(table())
    assert values.dtype == np.int8
    assert values.tolist() == [[0, 1, 1], [1, 0, 0]]
    assert ENCODING.take([2]).apply(table(sex=["m", None]))[0].dtype == np.float64


def test_unknown_levels_are_missing_and_reported() -> None:
    values, unknown = ENCODING.apply(table(sex=["m", "x"], stage=["9", None]))
    assert unknown == {"sex": ("x",), "stage": ("9",)}
    assert np.isnan(values[1, 2])
    assert np.isnan(values[:, 3:]).all()


def test_a_known_level_without_a_feature_is_zero_and_no_surprise() -> None:
    values, unknown = ENCODING.take([4]).apply(table(stage=["1", "2"]))
    assert values.tolist() == [[0], [1]]
    assert unknown == {}


def test_numbers_in_a_text_column_are_read_as_text() -> None:
    values, unknown = ENCODING.take([3, 4]).apply(table(stage=[1.0, 2.0]))
    assert values.tolist() == [[1, 0], [0, 1]]
    assert unknown == {}


def test_text_in_a_numeric_column_is_refused_with_its_place() -> None:
    with pytest.raises(InputError, match=r"column 'x' holds 'low' in row 2, which is not a number"):
        ENCODING.apply(table(x=["1", "low"]))
    with pytest.raises(InputError, match="in row 12,"):
        ENCODING.apply(table(x=["1", "low"]), locations=RowLocations(first=11))
    with pytest.raises(InputError, match="in row 70,"):
        ENCODING.apply(table(x=["1", "low"]), locations=RowLocations(np.array([3, 70])))
    values, _ = ENCODING.apply(table(x=["1", " true "]))
    assert values[:, 0].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("value", [np.inf, -np.inf, "inf", "1e999"])
def test_infinite_values_are_refused_with_their_place(value: Any) -> None:
    start = "1" if isinstance(value, str) else 1.0
    with pytest.raises(InputError, match="column 'x' holds an infinite value in row 2; replace it"):
        ENCODING.apply(table(x=[start, value]))


def test_a_column_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match="the table has no column 'b', 'stage', which the model"):
        ENCODING.apply(table().drop_columns(["b", "stage"]))


def test_order_of_columns_and_other_columns_do_not_matter() -> None:
    first = table()
    second = first.select(["stage", "sex", "x", "b"]).append_column("more", pa.array([[1], [2]]))
    assert np.array_equal(ENCODING.apply(first)[0], ENCODING.apply(second)[0], equal_nan=True)


CODED = encoding_of(COLUMNS, coded=True)


def test_a_text_with_more_than_two_levels_may_be_one_feature_of_codes() -> None:
    assert CODED.names == ("x", "b", "sex=m", "stage")
    assert [feature.coded for feature in CODED.features] == [False, False, False, True]
    assert CODED.text_columns == {"sex", "stage"}
    values, unknown = CODED.apply(table(stage=["3", "1"]))
    assert values[:, 3].tolist() == [2, 0]
    assert unknown == {}
    values, unknown = CODED.apply(table(stage=["9", None]))
    assert np.isnan(values[:, 3]).all()
    assert unknown == {"stage": ("9",)}
    # A level keeps its code where others are not there.
    assert CODED.take([3]).apply(table(stage=["2", "2"]))[0].tolist() == [[1], [1]]


def test_codes_are_said_in_plain_data_and_files_without_them_still_load() -> None:
    plain = json.loads(json.dumps(CODED.to_dict()))
    assert plain["coded"] == [False, False, False, True]
    assert Encoding.from_dict(plain) == CODED
    assert "coded" not in ENCODING.to_dict()
    assert Encoding.from_dict(ENCODING.to_dict()) == ENCODING


def test_an_empty_table_gives_no_rows() -> None:
    assert ENCODING.apply(table().slice(0, 0))[0].shape == (0, 6)
    assert ENCODING.take([]).apply(table())[0].shape == (2, 0)


def test_names_that_clash_are_refused() -> None:
    clash = (Column("sex", "binary", "", ("f", "m")), Column("sex=m", "real"))
    with pytest.raises(InputError, match="columns 'sex' and 'sex=m' both give a feature 'sex=m'"):
        encoding_of(clash)


@given(
    st.lists(
        st.tuples(
            st.text(st.characters(codec="utf-8"), min_size=1),
            st.none()
            | st.sets(st.text(st.characters(codec="utf-8"), min_size=1), min_size=2, max_size=4),
        ),
        unique_by=lambda pair: pair[0],
        max_size=5,
    )
)
def test_plain_data_give_the_encoding_back(columns: list[tuple[str, set[str] | None]]) -> None:
    features: list[Feature] = []
    levels: dict[str, tuple[str, ...]] = {}
    for column, words in columns:
        if words is None:
            features.append(Feature(f"f{len(features)}", column))
        else:
            levels[column] = tuple(sorted(words))
            features.extend(Feature(f"f{len(features)}_{w}", column, w) for w in levels[column])
    encoding = Encoding(tuple(features), levels)
    plain = json.loads(json.dumps(encoding.to_dict()))
    assert Encoding.from_dict(plain) == encoding


def change(**parts: Any) -> dict[str, Any]:
    return {**ENCODING.to_dict(), **parts}


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {**ENCODING.to_dict(), "more": 1},
        change(names="abcdef"),
        change(names=["x"]),
        change(names=["x", "x", "c", "d", "e", "f"]),
        change(names=["x", 1, "c", "d", "e", "f"]),
        change(names=["x", "", "c", "d", "e", "f"]),
        change(names=["x", "\ud800", "c", "d", "e", "f"]),
        change(columns=["x", "b", "sex", "stage", "stage", None]),
        change(of_level=None),
        change(of_level=[None] * 6),
        change(of_level=[None, "1", "m", "1", "2", "3"]),
        change(of_level=[None, None, "z", "1", "2", "3"]),
        change(of_level=[None, None, ["m"], "1", "2", "3"]),
        change(of_level=[None, None, True, "1", "2", "3"]),
        change(levels=None),
        change(levels={"sex": ["f", "m"]}),
        change(levels={"sex": ["m", "f"], "stage": ["1", "2", "3"]}),
        change(levels={"sex": ["m", "m"], "stage": ["1", "2", "3"]}),
        change(levels={"sex": ["m"], "stage": ["1", "2", "3"]}),
        change(levels={"sex": "fm", "stage": ["1", "2", "3"]}),
        change(levels={"sex": ["f", "m"], "stage": ["1", "2", "3"], "z": ["a", "b"]}),
        change(levels={1: ["f", "m"], "stage": ["1", "2", "3"]}),
        change(coded=None),
        change(coded=[True]),
        change(coded=[False] * 5 + [1]),
        change(coded=[True] + [False] * 5),
        change(coded=[False] * 5 + [True]),
        {**CODED.to_dict(), "coded": [False] * 4},
    ],
)
def test_odd_plain_data_are_refused(data: Any) -> None:
    with pytest.raises(ValueError, match=r"encoding|categories of column|sorted categories"):
        Encoding.from_dict(data)


def test_streamed_rows_are_encoded_like_the_whole_table(write: Any) -> None:
    rng = np.random.default_rng(0)
    rows = "".join(
        f"{rng.choice(['1.5', '2', '', 'NA', '-3e2'])},{rng.choice(['a', 'b c', '', 'd'])},"
        f"{rng.choice(['true', 'False'])}\n"
        for _ in range(300)
    )
    file = open_table(write(f"x,t,f\n{rows}"))
    whole = file.read()
    encoding = encoding_of(classify_columns(whole))
    expected, _ = encoding.apply(whole)
    parts = [
        encoding.apply(part)[0] for part in file.batches(encoding.columns, encoding.text_columns)
    ]
    assert np.array_equal(np.concatenate(parts), expected, equal_nan=True)
