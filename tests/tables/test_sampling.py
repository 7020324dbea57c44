"""Rows drawn from a file are its rows, in its order, and each is as likely as any other."""

import gzip

import numpy as np
import polars as pl
import pytest

from honestbayes.tables import files as reader
from honestbayes.tables import open_table, read_training
from honestbayes.tables.files import sampled


def table(n=3000):
    generator = np.random.default_rng(0)
    y = np.where(np.arange(n) % 3 == 0, "ill", "well")
    x = generator.normal(size=n).round(3)
    return pl.DataFrame({"number": np.arange(1, n + 1), "x": x, "flag": x > 0.5, "y": y})


@pytest.fixture(params=["csv", "csv.gz", "parquet"])
def file(request, tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "_BATCH_ROWS", 170)
    path = tmp_path / f"table.{request.param}"
    if request.param == "parquet":
        table().write_parquet(path)
    elif request.param == "csv":
        table().write_csv(path)
    else:
        path.write_bytes(gzip.compress(table().write_csv().encode()))
    return open_table(path)


def test_drawn_rows_are_rows_of_the_file_in_its_order(file):
    some = sampled(file, 400, seed=1)
    data = read_training(some, target="y", coded=True, ignore=["number"])
    numbers = data.row_numbers
    assert numbers.size == 400
    assert np.all(np.diff(numbers) > 0)
    whole = table()[(numbers - 1).tolist()]
    np.testing.assert_array_equal(data.X["x"], whole["x"])
    assert [data.labels[code] for code in data.y] == whole["y"].to_list()
    assert any(
        "The report uses 400 of 3,000 rows, drawn at random (seed 1)" in note for note in data.notes
    )


def test_the_seed_decides(file):
    numbers = [sampled(file, 400, seed).row_numbers for seed in (1, 1, 2)]
    np.testing.assert_array_equal(numbers[0], numbers[1])
    assert not np.array_equal(numbers[0], numbers[2])


def test_a_table_with_fewer_rows_is_whole(file):
    data = read_training(sampled(file, 3000, 0), target="y", coded=True)
    same = read_training(file, target="y", coded=True)
    np.testing.assert_array_equal(data.X, same.X)
    assert data.notes == same.notes
    np.testing.assert_array_equal(data.row_numbers, same.row_numbers)


def test_every_row_is_as_likely_as_any_other(tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "_BATCH_ROWS", 7)
    path = tmp_path / "table.parquet"
    table(60).write_parquet(path)
    file = open_table(path)
    times = np.zeros(60)
    for seed in range(600):
        times[sampled(file, 15, seed).row_numbers - 1] += 1
    # Each count is binomial (600, 1/4): four standard errors are 42.
    assert np.abs(times - 150).max() < 45
    assert times.sum() == 600 * 15


def test_a_message_names_the_line_of_the_file(tmp_path):
    lines = ["x,g,y", *(f"{i},{i % 4},{i % 2}" for i in range(50))]
    lines[30] = "29,,1"
    path = tmp_path / "table.csv"
    path.write_text("\n".join(lines))
    seed = next(s for s in range(20) if 30 in sampled(open_table(path), 40, s).row_numbers)
    with pytest.raises(ValueError, match="group column 'g' has no value in line 31"):
        read_training(sampled(open_table(path), 40, seed), target="y", groups="g")


@pytest.mark.parametrize("size", [1, 15, 59])
def test_drawn_rows_are_those_with_the_smallest_numbers(tmp_path, monkeypatch, size):
    monkeypatch.setattr(reader, "_BATCH_ROWS", 7)
    path = tmp_path / "table.parquet"
    table(60).write_parquet(path)
    for seed in range(20):
        lots = np.random.default_rng(seed).random(60)
        expected = np.sort(np.argsort(lots)[:size]) + 1
        np.testing.assert_array_equal(sampled(open_table(path), size, seed).row_numbers, expected)
