"""``honestbayes pack`` and ``inspect``: stores from files of every kind, and their refusals."""

import errno
import gzip
import json
import shutil
import zlib
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from cli_tables import strict_json
from scipy import sparse

from honestbayes import SelectiveBernoulliNB
from honestbayes.data import open_store, packing
from honestbayes.tables import open_table
from honestbayes.tables.packing import file_to_pack

P = 30


def table(n=100):
    """A table of flags with a class and identifiers."""
    generator = np.random.default_rng(0)
    y = np.arange(n) % 3 == 0
    X = (generator.random((n, P)) < 0.3 + 0.4 * np.outer(y, np.arange(P) < 3)).astype(int)
    frame = pd.DataFrame(X, columns=[f"gene{j}" for j in range(P)])
    frame.insert(0, "id", [f"p{i}" for i in range(n)])
    frame.insert(5, "status", np.where(y, "ill", "well"))
    return frame, X


@pytest.fixture
def here(tmp_path):
    """A folder with one table in files of every kind."""
    frame, X = table()
    frame.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress((tmp_path / "t.csv").read_bytes()))
    frame.to_parquet(tmp_path / "t.parquet")
    names = [f"gene{j}" for j in range(P)]
    np.savez(tmp_path / "t.npz", X=X, y=frame["status"].to_numpy(dtype=str), names=names)
    np.save(tmp_path / "t.npy", X)
    sparse.save_npz(tmp_path / "sparse.npz", sparse.csr_array(X))
    return tmp_path


OPTIONS = {
    "t.csv": ("--target", "status", "--ignore", "id"),
    "t.csv.gz": ("--target", "status", "--ignore", "id"),
    "t.parquet": ("--target", "status", "--ignore", "id"),
    "t.npz": ("--target", "y"),
    "t.npy": (),
    "sparse.npz": (),
}


@pytest.mark.slow_cases("t.csv")
@pytest.mark.parametrize("name", OPTIONS)
def test_every_kind_of_file_gives_the_same_bits(here, run, name):
    frame, X = table()
    printed = run("pack", name, "store", *OPTIONS[name], cwd=here).done()
    store = open_store(here / "store")
    np.testing.assert_array_equal(store.take(np.arange(P)), X)
    if OPTIONS[name]:
        assert store.labels.tolist() == frame["status"].tolist()
        assert store.feature_names == tuple(f"gene{j}" for j in range(P))
        size = 16 * P + 4 * 100 + (here / "store" / "names.json").stat().st_size
        assert printed.startswith(
            f"store is packed: 100 rows x 30 named columns in {size:,} bytes, classes ill, well."
        )
        assert printed.endswith("SelectiveBernoulliNB().fit(store, store.labels)\n")
    else:
        assert store.labels is None
        assert "100 rows x 30 columns in 480 bytes, without classes." in printed
        assert printed.endswith("SelectiveBernoulliNB().fit(store, y)\n")
    assert sorted(path.name for path in here.iterdir()) == sorted([*OPTIONS, "store"])


def test_the_lines_that_are_printed_work(here, run, monkeypatch):
    frame, X = table()
    printed = run("pack", "t.csv", "store", *OPTIONS["t.csv"], cwd=here).done()
    monkeypatch.chdir(here)
    names = {}
    exec("\n".join(line.strip() for line in printed.splitlines() if line.startswith("  ")), names)
    expected = SelectiveBernoulliNB().fit(X, frame["status"]).predict_proba(X)
    np.testing.assert_array_equal(names["model"].predict_proba(names["store"]), expected)


def test_numbers_stay_numbers_and_measurements_are_cut(here, run):
    frame, _ = table()
    frame["status"] = (frame["status"] == "ill").astype(int)
    frame["gene3"] = np.arange(100) / 7
    frame.to_csv(here / "u.csv", index=False)
    words = ("--target", "status", "--ignore", "id")
    said = run("pack", "u.csv", "u", *words, cwd=here).refused()
    assert said == (
        "column 'gene3' holds 0.14285714285714285 in line 3 of the file; a packed store holds "
        "only 0 and 1; cut continuous features (binarize='auto', or --cut auto)."
    )
    run("pack", "u.csv", "v", *words, "--cut", "auto", "--quiet", cwd=here).done()
    store = open_store(here / "v")
    assert store.labels.tolist() == frame["status"].tolist()
    np.testing.assert_array_equal(store.take(np.array([3]))[:, 0], np.arange(100) >= 50)
    printed = " ".join(run("inspect", "v", cwd=here).done().split())
    assert "store.zero_one(X) cuts new rows in the same way" in printed
    assert "is not a number, 'auto' or" in run("pack", "u.csv", "w", "--cut", "x", cwd=here).err


def test_inspect_shows_a_store_and_finds_damage(here, run):
    run("pack", "t.csv", "store", *OPTIONS["t.csv"], "-q", cwd=here).done()
    printed = run("inspect", "store", cwd=here).done()
    assert printed.startswith("store is a packed store: 100 rows x 30 named columns")
    assert "All checksums match (1 file of bits)." in printed
    found = strict_json(run("inspect", "store", "--json", cwd=here).done())
    assert (found["rows"], found["columns"], found["classes"]) == (100, 30, ["ill", "well"])
    part = here / "store" / "part-00000.bits"
    part.write_bytes(b"\1" + part.read_bytes()[1:])
    said = run("inspect", "store", cwd=here).refused()
    assert said.startswith("store is damaged: part-00000.bits does not have the checksum")


def test_inspect_refuses_forged_names_in_one_line(here, run):
    run("pack", "t.csv", "store", *OPTIONS["t.csv"], "-q", cwd=here).done()
    header = json.loads((here / "store" / "store.json").read_bytes())
    names = b"[" * 100_000
    (here / "store" / "names.json").write_bytes(names)
    header["files"]["names.json"] = [len(names), zlib.crc32(names)]
    del header["checksum"]
    own = zlib.crc32(json.dumps(header, sort_keys=True).encode())
    text = json.dumps({**header, "checksum": own}, indent=1) + "\n"
    (here / "store" / "store.json").write_text(text)
    said = run("inspect", "store", cwd=here).refused()
    assert "store is damaged: names.json does not hold a different text for each column" in said


def test_what_cannot_be_packed_is_refused_in_one_line(here, run):
    frame, _ = table(20)
    frame["gene7"] = frame["gene7"].astype(object)
    frame.loc[4, "gene7"] = None
    frame.loc[9, "status"] = None
    frame.to_csv(here / "holes.csv", index=False)
    (here / "broken.npy").write_bytes((here / "t.npy").read_bytes()[:90])
    (here / "taken").mkdir()
    (here / "taken" / "mine").write_text("mine")
    run("pack", "t.csv", "store", *OPTIONS["t.csv"], "-q", cwd=here).done()
    for words, complaint in (
        (("nothing.csv", "s"), "there is no file nothing.csv"),
        (("t.csv", "taken", *OPTIONS["t.csv"]), "taken exists; choose another name, or remove it."),
        (("t.csv", "s", "--target", "staus"), "did you mean 'status'?"),
        (("t.npy", "s", "--target", "y"), "t.npy has no column names; leave out --target"),
        (("t.npz", "s"), "y in t.npz is not a feature; use --target y"),
        (("broken.npy", "s"), "broken.npy cannot be packed"),
        (
            ("holes.csv", "s", "--ignore", "id", "--ignore", "status"),
            (
                "column 'gene7' is missing in line 6 of the file; a packed store cannot hold "
                "missing cells"
            ),
        ),
        (
            ("holes.csv", "s", *OPTIONS["t.csv"]),
            "column 'status' is missing in line 11 of the file; fill it in",
        ),
        (("store", "s"), "store is a packed store already; fit it, or make a report of it"),
    ):
        assert complaint in run("pack", *words, cwd=here).refused()
        assert not (here / "s").exists()
    run("pack", "t.npy", "bare", "-q", cwd=here).done()
    assert "bare has no classes; give them with" in run("fit", "bare", cwd=here).refused()
    assert (
        "has no column 'status'" in run("fit", "store", *OPTIONS["t.csv"][:2], cwd=here).refused()
    )
    assert "is a folder; give a model file" in run("inspect", "taken", cwd=here).refused()


def test_a_store_is_fitted_reported_and_predicted_like_its_table(here, run):
    run("pack", "t.csv", "store", *OPTIONS["t.csv"], "-q", cwd=here).done()
    model = ("--model", "binary", "--features", "5", "-q")
    run("fit", "t.csv", *OPTIONS["t.csv"], *model, "--out", "a.honestbayes", cwd=here).done()
    run("fit", "store", *model, "--out", "b.honestbayes", cwd=here).done()
    predicted = [
        run("predict", name, table, cwd=here).done()
        for name, table in (("a.honestbayes", "t.csv"), ("b.honestbayes", "store"))
    ]
    assert predicted[0] == predicted[1]
    run("report", "store", *model, "--quick", "--folds", "2", cwd=here).done()
    assert (here / "store-report" / "report.html").exists()


def test_packing_that_was_stopped_goes_on_by_the_same_command(here, run, monkeypatch):
    words = ("pack", "t.csv", "store", *OPTIONS["t.csv"])
    run(*words, "-q", cwd=here).done()
    whole = {path.name: path.read_bytes() for path in (here / "store").iterdir()}
    shutil.rmtree(here / "store")
    file = file_to_pack(open_table(here / "t.csv"), "status", ["id"])
    full = OSError(errno.ENOSPC, "No space left on device")
    with monkeypatch.context() as patch:
        patch.setattr(packing, "_finish", Mock(side_effect=full))
        with pytest.raises(OSError, match="the disk is full"):
            packing.pack_store(file.source, here / "store", labels=file.labels)
    assert "store is incomplete" in run("inspect", "store", cwd=here).refused()
    other = ("--target", "status", "--ignore", "id", "--ignore", "gene9")
    said = run("pack", "t.csv", "store", *other, cwd=here).refused()
    assert said.startswith("store.partial is an unfinished store of another table")
    run(*words, "-q", cwd=here).done()
    assert {path.name: path.read_bytes() for path in (here / "store").iterdir()} == whole
    assert not (here / "store.partial").exists()


def test_a_model_of_one_store_predicts_another_which_needs_no_classes(here, run):
    for name, words in (("first", OPTIONS["t.csv"]), ("second", ("--ignore", "status"))):
        words = (*words, "--ignore", "id") if name == "second" else words
        run("pack", "t.csv", name, *words, "-q", cwd=here).done()
    run("fit", "first", "--model", "binary", "--out", "m.honestbayes", "-q", cwd=here).done()
    assert run("predict", "m.honestbayes", "second", "--out", "p.csv", cwd=here).code == 0
    assert run("predict", "m.honestbayes", "first", "--out", "q.csv", cwd=here).code == 0
    assert (here / "p.csv").read_text() == (here / "q.csv").read_text()
