"""AnnData files and objects give the same training data as the same table in CSV.

``stored/cells.h5ad`` was written by anndata 0.12: X sparse by rows, a layer sparse by columns.
"""

import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from typer.testing import CliRunner

from honestbayes import make_report
from honestbayes.cli import app
from honestbayes.tables import InputError, open_table, read_training
from honestbayes.tables.files import frame_table, sampled

h5py = pytest.importorskip("h5py")

STORED = Path(__file__).parent / "stored"
CELLS = pd.read_csv(STORED / "cells.csv", index_col=0)
GENES = [name for name in CELLS.columns if name.startswith("GENE")]


def same(data, values):
    assert [name for name in data.X.columns if name.startswith("GENE")] == GENES
    np.testing.assert_array_equal(data.X[GENES].to_numpy(float), values)
    assert [data.labels[code] for code in data.y] == CELLS["disease"].tolist()


def test_x_of_a_file_is_read_with_the_names_of_var_and_the_classes_of_obs():
    file = open_table(STORED / "cells.h5ad")
    data = read_training(file, target="disease", covariates=["age"], coded=True)
    same(data, CELLS[GENES].to_numpy(float))
    assert data.X["age"].tolist() == CELLS["age"].tolist()
    assert list(data.X.columns) == ["age", *GENES]
    assert any("'batch', 'passed': columns of the phenotype" in note for note in data.notes)


def test_a_layer_that_is_stored_by_columns():
    file = open_table(STORED / "cells.h5ad", layer="log")
    data = read_training(file, target="disease", ids="sample", coded=True)
    same(data, np.log1p(CELLS[GENES].to_numpy(np.float32)).astype(float))
    assert data.ids.tolist() == CELLS.index.tolist()


def test_rows_are_read_in_blocks_and_sampled_without_all_of_them(monkeypatch):
    monkeypatch.setattr("honestbayes.tables.files._BATCH_CELLS", 12)
    monkeypatch.setattr("honestbayes.tables.files._BLOCK_CELLS", 3 * len(GENES))
    file = open_table(STORED / "cells.h5ad")
    parts = list(file.batches(["GENE3", "disease"], text={"disease"}))
    assert len(parts) > 1
    assert np.concatenate([p["GENE3"] for p in parts]).tolist() == CELLS["GENE3"].tolist()
    some = read_training(sampled(file, 20, 0), target="disease", coded=True)
    rows = some.row_numbers - 1
    np.testing.assert_array_equal(some.X[GENES], CELLS[GENES].to_numpy(float)[rows])


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_an_object_with_obs_and_var_is_a_table(form):
    X = CELLS[GENES].to_numpy(np.float32)
    data = SimpleNamespace(  # what the reader asks of an AnnData object
        X=sparse.csc_matrix(X) if form == "sparse" else X,
        obs=CELLS[["disease", "age"]],
        obs_names=CELLS.index,
        var_names=pd.Index(GENES),
        layers={},
    )
    same(read_training(frame_table(data, "cells"), target="disease", coded=True), X)
    report = make_report(data, "disease", model="mixed", n_folds=2, n_repeats=1, compare=False)
    assert report.data.n_features == len(GENES)


def test_a_report_of_a_file_and_a_prediction_of_a_second_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(STORED / "cells.h5ad", "cells.h5ad")
    run = CliRunner().invoke
    made = run(
        app,
        [
            "report",
            "cells.h5ad",
            "--target",
            "disease",
            "--model",
            "mixed",
            "--quick",
            "--folds",
            "2",
        ],
    )
    assert made.exit_code == 0, made.output
    shutil.copy(STORED / "cells.csv", "new.csv")
    found = [
        run(app, ["predict", "cells-report/model.honestbayes", name])
        for name in ("cells.h5ad", "new.csv")
    ]
    assert found[0].exit_code == 0, found[0].output
    assert found[0].stdout == found[1].stdout


def written(path, change):
    shutil.copy(STORED / "cells.h5ad", path)
    with h5py.File(path, "r+") as file:
        change(file)


def drop(name):
    return lambda file: file.__delitem__(name)


def outside(file):
    file["X"]["indices"][0] = 1000


def backwards(file):
    file["X"]["indptr"][3] = 0


def renamed(file):
    names = file["var"][file["var"].attrs["_index"]]
    names[0] = "age"


@pytest.mark.parametrize(
    ("change", "words", "message"),
    [
        (drop("obs"), {}, "is an HDF5 file without X, obs and var; give an .h5ad file"),
        (drop("X"), {}, "is an HDF5 file without X, obs and var"),
        (outside, {}, "holds a sparse matrix that points outside of it"),
        (backwards, {}, "holds a sparse matrix that is not whole"),
        (renamed, {}, "has 'age' in obs and in var; rename one of them"),
        (lambda _: None, {"layer": "x"}, "has no layer 'x'; its layers are: 'log'"),
        (lambda _: None, {"max_bytes": 1000}, "holds more than 1000 bytes"),
        (lambda file: file["obs"].attrs.__delitem__("_index"), {}, "old version of anndata"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_sentence(tmp_path, change, words, message):
    written(tmp_path / "t.h5ad", change)
    with pytest.raises(InputError, match=message):
        open_table(tmp_path / "t.h5ad", **words).read()


def test_a_layer_of_another_format_and_a_damaged_file_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"is no \.h5ad file, and has no layers"):
        open_table(STORED / "cells.csv", layer="log")
    (tmp_path / "cut.h5ad").write_bytes((STORED / "cells.h5ad").read_bytes()[:2000])
    with pytest.raises(InputError, match=r"cut\.h5ad cannot be read as \.h5ad"):
        open_table(tmp_path / "cut.h5ad")
