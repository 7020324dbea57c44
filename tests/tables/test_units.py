"""Cells with units, currencies, thousands separators and second numbers."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import honestbayes
from honestbayes.report.methods import fit_model
from honestbayes.report.options import Options
from honestbayes.tables import InputError, open_table, read_training
from honestbayes.tables.files import frame_table
from honestbayes.tables.model import TableModel
from honestbayes.tables.units import CellForm

N = 40
NUMBERS = np.random.default_rng(0).uniform(900, 4000, N)
STATE = np.array(["ill", "well"])[np.arange(N) % 2]


def frame(cells):
    other = np.random.default_rng(1).normal(size=N).round(3)
    return pd.DataFrame({"state": STATE, "dose": cells, "other": other})


def train(cells, **words):
    return read_training(frame_table(frame(cells), "t"), target="state", coded=True, **words)


FORMS = {
    "a unit": ([f"{x:.1f} mg" for x in NUMBERS], "numbers in 'mg'", 1),
    "a unit without a blank": ([f"{x:.1f}mg/dL" for x in NUMBERS], "numbers in 'mg/dL'", 1),
    "percent": ([f"{x / 100:.2f} %" for x in NUMBERS], "numbers in '%'", 100),
    "a currency before": ([f"${x:,.0f}" for x in NUMBERS], "in '$' with ',' between", 1),
    "a currency behind": ([f"{x:.2f} EUR" for x in NUMBERS], "numbers in 'EUR'", 1),
    "English thousands": ([f"{x:,.2f}" for x in NUMBERS], "numbers with ',' between", 1),
    "German thousands": (
        [f"{x:,.2f}".translate(str.maketrans(",.", ".,")) for x in NUMBERS],
        "numbers with '.' between thousands",
        1,
    ),
    "Swiss thousands": ([f"{x:,.2f}".replace(",", "'") for x in NUMBERS], 'with "\'" between', 1),
    "narrow blanks": ([f"{x:,.2f}".replace(",", "\u202f") for x in NUMBERS], "with ' ' between", 1),
    "a decimal comma and a unit": (
        [f"{x:.1f} kg".replace(".", ",") for x in NUMBERS],
        "numbers in 'kg' with decimal commas",
        1,
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_column_in_one_form_is_numbers_and_reported(name):
    cells, note, factor = FORMS[name]
    cells = [*cells[:-1], None]
    data = train(cells)
    assert list(data.X.columns) == ["dose", "other"]
    assert data.kinds[0] == "real"
    np.testing.assert_allclose(data.X["dose"][:-1] * factor, NUMBERS[:-1], atol=0.51)
    assert np.isnan(data.X["dose"].iloc[-1])
    assert data.findings == ()
    (found,) = [n for n in data.notes if "'dose'" in n]
    assert note in found
    assert found.endswith("--categorical 'dose' keeps its cells as categories.")


def test_two_numbers_in_a_cell_become_two_columns():
    low = np.round(NUMBERS / 50)
    data = train([f"{x + 40:.0f}/{x:.0f}" for x in low])
    assert list(data.X.columns) == ["dose (1)", "dose (2)", "other"]
    assert data.X["dose (2)"].tolist() == low.tolist()
    assert any("two columns of numbers, 'dose (1)' and 'dose (2)'" in note for note in data.notes)


DOUBTFUL = {
    "two units": [f"{x:.1f} {'mg' if i % 3 else 'g'}" for i, x in enumerate(NUMBERS)],
    "a unit in some cells": [f"{x:.1f}{' mg' if i % 3 else ''}" for i, x in enumerate(NUMBERS)],
    "another text": [f"{x:.1f} mg" for x in NUMBERS[:-1]] + ["not given"],
    "a bound": [f"{x:.1f} mg" for x in NUMBERS[:-1]] + ["< 900 mg"],
    "thousands or decimals": [f"{x / 1000:.3f} kg".replace(".", ",") for x in NUMBERS],
}


@pytest.mark.parametrize("name", DOUBTFUL)
def test_a_column_in_doubt_stops_the_report(name):
    data = train(DOUBTFUL[name])
    assert [finding.rule for finding in data.findings if finding.stops] == ["numbers with units"]


LEFT_ALONE = {
    "stages": [f"stage {i % 4}" for i in range(N)],
    "codes": [f"{i:02d}p{i % 7}" for i in range(N)],
    "ranks": [f"{i + 1}th" for i in range(N)],
    "ranges": [f"{10 * (i % 6)}-{10 * (i % 6) + 9}" for i in range(N)],
    "months of dates": [f"{i % 12 + 1}/{i % 28 + 1}" for i in range(N)],
    "few doses": [f"{10 * (i % 3)} mg" for i in range(N)],
}


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_categories_and_names_with_numbers_stay_text(name):
    assert train(LEFT_ALONE[name]).forms == ()


def test_a_named_kind_comes_first():
    cells, _, _ = FORMS["a unit"]
    few = [cells[i % 6] for i in range(N)]
    assert train(few, kinds={"dose": "categorical"}).kinds[0] == "categorical"


def test_a_table_with_decimal_commas_is_not_read_with_thousands(tmp_path):
    text = frame([f"{x / 1000:.3f} kg".replace(".", ",") for x in NUMBERS])
    text.to_csv(tmp_path / "t.csv", sep=";", decimal=",", index=False)
    data = read_training(open_table(tmp_path / "t.csv"), target="state", coded=True)
    np.testing.assert_allclose(data.X["dose"], (NUMBERS / 1000).round(3))


@pytest.fixture(scope="module")
def model():
    low = np.round(NUMBERS / 50)
    table = frame([f"{x:.1f} mg" for x in NUMBERS]).assign(
        bp=[f"{x + 40:.0f}/{x:.0f}" for x in low]
    )
    data = read_training(frame_table(table, "t"), target="state", coded=True)
    return TableModel.of_training(fit_model(data, Options(model="mixed", seed=0)), data), table


def test_a_model_keeps_the_form_and_its_file_too(model, tmp_path):
    fitted, table = model
    assert set(fitted.columns) == {"dose", "other", "bp"}
    fitted.save(tmp_path / "m.honestbayes")
    again = honestbayes.load(tmp_path / "m.honestbayes")
    np.testing.assert_array_equal(fitted.predict_proba(table), again.predict_proba(table))
    bare = table.assign(dose=[float(cell[:-3]) for cell in table["dose"]])
    np.testing.assert_array_equal(fitted.predict_proba(table), again.predict_proba(bare))


@pytest.mark.parametrize(
    ("column", "cell", "message"),
    [
        (
            "dose",
            "2 g",
            "column 'dose' holds '2 g' in row 3, where the others hold numbers in 'mg'",
        ),
        ("dose", "much", "column 'dose' holds 'much' in row 3"),
        ("bp", "120", "column 'bp' holds '120' in row 3"),
        ("bp", "120/80/60", "column 'bp' holds '120/80/60' in row 3"),
    ],
)
def test_another_form_in_a_new_table_is_an_error(model, column, cell, message):
    fitted, table = model
    table = table.copy()
    table.loc[2, column] = cell
    with pytest.raises(InputError, match=message):
        fitted.predict_proba(table)


@given(st.floats(0, 1e9, allow_nan=False), st.sampled_from([(".", ","), (",", "."), (".", "")]))
def test_a_number_that_is_written_in_a_form_is_read_back(value, marks):
    decimal, thousands = marks
    written = f"{value:,.3f}".replace(",", "T").replace(".", decimal).replace("T", thousands)
    form = CellForm("x", "mg", decimal, thousands, False)
    (found,) = form.parse(f"{written} mg")
    assert found == float(f"{value:.3f}")
