"""One table, and one report of it."""

import pytest
from cli_tables import COMPARED, MIXED, patients, write


@pytest.fixture(scope="session")
def frame():
    """A table with a text column, an identifier that nobody asked to see, and signal."""
    table = patients()
    well = (table["status"] == "well").to_numpy()
    table["sex"] = ["m" if i % 7 == 0 else "f" if w else "m" for i, w in enumerate(well)]
    table["patient"] = [f"Secret{i:03}" for i in range(len(table))]
    return table


@pytest.fixture(scope="session")
def place(frame, run, tmp_path_factory):
    """A folder with patients.csv and its report, made from elsewhere by absolute paths."""
    folder = tmp_path_factory.mktemp("hidden-home")
    table = write(frame, folder / "patients.csv")
    elsewhere = tmp_path_factory.mktemp("hidden-work")
    ended = run(
        "report", table, "--target", "status", *COMPARED, "--out", folder / "base", cwd=elsewhere
    )
    (folder / "printed.txt").write_text(ended.done(), encoding="utf-8")
    assert list(elsewhere.iterdir()) == []
    return folder


@pytest.fixture(scope="session")
def model(frame, run, tmp_path_factory):
    """A model of the same table, by fit, that keeps the text column too."""
    folder = tmp_path_factory.mktemp("model")
    write(frame, folder / "patients.csv")
    ended = run("fit", "patients.csv", "--target", "status", "--keep", "sex", *MIXED, cwd=folder)
    assert "Model: patients.honestbayes" in ended.done()
    return folder / "patients.honestbayes"
