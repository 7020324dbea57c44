"""Tables as they come: formats, spreadsheets' habits, and files that are none."""

import csv
import gzip

import numpy as np
import pandas as pd
import pytest
from cli_tables import SHORT, column, patients, report_json, rows_of, write

from honestbayes.datasets import load_leukemia

TARGET = ("--target", "status", "--model", "mixed")


@pytest.fixture(scope="module")
def leukemia():
    data = load_leukemia()
    # As float64: text of a float32 is not exactly the same number.
    frame = pd.DataFrame(data.X.astype(np.float64), columns=data.feature_names.tolist())
    frame.insert(0, "leukemia", np.array(data.classes)[data.y])
    return frame


@pytest.mark.slow
def test_the_bundled_data_give_one_result_in_every_format(leukemia, tmp_path, run):
    X, names = leukemia.iloc[:, 1:].to_numpy(), leukemia.columns[1:].to_numpy(dtype=str)
    write(leukemia, tmp_path / "a.csv")
    leukemia.to_parquet(tmp_path / "a.parquet")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress((tmp_path / "a.csv").read_bytes(), 1))
    leukemia.to_csv(tmp_path / "a.tsv", index=False, sep="\t")
    y = leukemia["leukemia"].to_numpy(dtype=str)
    np.savez(tmp_path / "a.npz", X=X, y=y, names=names)
    models, fitted = {}, {}
    for suffix in ("csv", "parquet", "csv.gz", "tsv", "npz"):
        words = () if suffix == "npz" else ("--target", "leukemia")
        words += ("--model", "mixed", "-q", "--out", suffix[-3:])
        run("fit", f"a.{suffix}", *words, cwd=tmp_path).done()
        models[suffix] = (tmp_path / suffix[-3:]).read_bytes()
        printed = run("predict", suffix[-3:], f"a.{suffix}", cwd=tmp_path).done()
        fitted[suffix] = column(rows_of(printed), "probability: AML").tolist()
    del models["npz"]  # its target has another name
    assert len(set(models.values())) == 1
    assert all(found == fitted["csv"] for found in fitted.values())


@pytest.mark.slow
def test_the_bundled_data_give_one_report_in_the_main_formats(leukemia, tmp_path, run):
    write(leukemia, tmp_path / "a.csv")
    leukemia.to_parquet(tmp_path / "a.parquet")
    found = {}
    for suffix in ("csv", "parquet"):
        words = ("--target", "leukemia", *SHORT, "-q", "--out", suffix)
        run("report", f"a.{suffix}", *words, cwd=tmp_path).done()
        found[suffix] = report_json(tmp_path / suffix)
    for part in ("verdict", "methods", "features", "cases"):
        assert found["csv"][part] == found["parquet"][part]
    predictions = [(tmp_path / s / "predictions.csv").read_bytes() for s in ("csv", "parquet")]
    assert predictions[0] == predictions[1]
    # The model has no other probabilities than its report.
    printed = run("predict", "csv/model.honestbayes", "a.csv", cwd=tmp_path).done()
    fitted = column(rows_of(tmp_path / "csv" / "predictions.csv"), "fitted")
    np.testing.assert_array_equal(column(rows_of(printed), "probability: AML"), fitted)


@pytest.mark.slow
def test_what_spreadsheets_do_to_a_file_changes_nothing(frame, tmp_path, run):
    plain = frame.rename(columns={"g0": 'name, with "all"\nof it', "g1": "größe µ"})
    write(plain, tmp_path / "plain.csv")
    text = (tmp_path / "plain.csv").read_text(encoding="utf-8")
    variants = {
        "mark.csv": b"\xef\xbb\xbf" + text.encode(),
        "windows.csv": plain.to_csv(index=False, lineterminator="\r\n").encode(),
        "quoted.csv": plain.to_csv(index=False, quoting=csv.QUOTE_ALL).encode(),
        "blank.csv": text.encode() + b"\n\n\n",
        "semicolon.csv": plain.to_csv(index=False, sep=";", decimal=",").encode(),
        "bar.csv": plain.to_csv(index=False, sep="|").encode(),
        "spaces.csv": plain.assign(status=plain["status"] + "  ").to_csv(index=False).encode(),
    }
    run("fit", "plain.csv", *TARGET, "-q", cwd=tmp_path).done()
    model = (tmp_path / "plain.honestbayes").read_bytes()
    for name, content in variants.items():
        (tmp_path / name).write_bytes(content)
        run("fit", name, *TARGET, "-q", cwd=tmp_path).done()
        assert (tmp_path / name).with_suffix(".honestbayes").read_bytes() == model, name
    more = ("--delimiter", "\\t", "--out", "tab")
    plain.to_csv(tmp_path / "tab.csv", sep="\t", index=False)
    run("fit", "tab.csv", *TARGET, *more, "-q", cwd=tmp_path).done()
    assert (tmp_path / "tab").read_bytes() == model
    assert (
        "not one plain character"
        in run("fit", "tab.csv", *TARGET, "--delimiter", "ab", cwd=tmp_path).refused()
    )


@pytest.mark.slow
def test_twenty_thousand_columns_and_classes_of_truth_values(tmp_path, run):
    wide = patients(30, 20_000)
    wide["status"] = wide["status"] == "well"
    write(wide, tmp_path / "wide.csv")
    printed = run("fit", "wide.csv", *TARGET, "--positive", "True", cwd=tmp_path).done()
    assert "30 cases, 15 of them true; 10 of 20,000 features kept" in printed


def test_tables_that_cannot_be_used_are_refused_in_one_sentence(frame, tmp_path, run):
    (tmp_path / "folder").mkdir()
    small = frame.iloc[:20, :4]
    texts = {
        "empty.csv": "",
        "blank.csv": "\n\n",
        "header.csv": "status,a\n",
        "double.csv": "status,a,b,a\nill,1,2,3\nwell,1,2,3\n",
        "ragged.csv": "status,a\nill,1\nwell,1,2\n",
        "one.csv": small.assign(status="well").to_csv(index=False),
        "numbers.csv": small.assign(status=range(20)).to_csv(index=False),
        "none.csv": small.assign(status="").to_csv(index=False),
        "single.csv": small.assign(status=["ill"] + ["well"] * 19).to_csv(index=False),
        "alone.csv": small[["status"]].to_csv(index=False),
        "infinite.csv": small.assign(g0=["inf"] + [1, 2] * 9 + [3]).to_csv(index=False),
        "names.csv": small[["status"]].assign(who=[f"p{i}" for i in range(20)]).to_csv(index=False),
        "latin.csv": b"status,gr\xf6\xdfe\nill,\x01\n",
        "sheet.csv": b"PK\x03\x04 nothing",
        "zip.csv.gz": b"\x1f\x8b broken",
    }
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    for name, words in {
        "nowhere.csv": "there is no file nowhere.csv",
        "folder": "folder is a folder; give the file of the table",
        "empty.csv": "empty.csv is empty",
        "blank.csv": "blank.csv is empty",
        "header.csv": "'status' has no rows",
        "double.csv": "columns of the same name: 'a'",
        "ragged.csv": "line 3 of ragged.csv has 3 cells",
        "one.csv": "'status' holds one class only, 'well'",
        "numbers.csv": "20 different numbers",
        "none.csv": "'status' has no values",
        "single.csv": "class 'ill' of column 'status' has 1 case",
        "alone.csv": "no columns left as features; add some",
        "infinite.csv": "column 'g0' holds an infinite value in line 2 of the file",
        "names.csv": "no columns that can be features: 'who' (identifier-like",
        "latin.csv": "is not UTF-8 text",
        "sheet.csv": "damaged archive",
        "zip.csv.gz": "is damaged",
    }.items():
        assert words in run("report", name, *TARGET, cwd=tmp_path).refused()
        assert words in run("fit", name, *TARGET, cwd=tmp_path).refused()
    write(small, tmp_path / "small.csv")
    for more, words in (
        (("--target", "Statu"), "has no column 'Statu'; did you mean 'status'?"),
        ((), "name the column of small.csv that holds the class, with --target"),
        ((*TARGET, "--id", "status"), "'status' is given as the target and as the identifiers"),
    ):
        assert words in run("report", "small.csv", *more, cwd=tmp_path).refused()
    left = {entry.name for entry in tmp_path.iterdir()}
    assert left == {*texts, "folder", "small.csv"}


def test_missing_cells_are_integrated_out_in_training_and_prediction(frame, tmp_path, run):
    holes = frame.copy()
    generator = np.random.default_rng(0)
    for name in ("g0", "g1", "g2", "g7"):
        holes[name] = holes[name].astype(object)
        holes.loc[generator.random(60) < 0.3, name] = "NA"
    holes.loc[[3, 4], "status"] = ""
    holes["nothing"] = ""
    write(holes, tmp_path / "holes.csv")
    more = SHORT
    printed = run("report", "holes.csv", *TARGET, *more, cwd=tmp_path).done()
    assert "2 rows have no class in column 'status' and were left out" in printed
    assert "Column 'nothing' is left out: no values" in printed
    report = report_json(tmp_path / "holes-report")
    known = np.ones(60, dtype=bool)
    known[[3, 4]] = False
    missing = int((holes.loc[known, ["g0", "g1", "g2", "g7"]] == "NA").to_numpy().sum())
    assert report["data"]["n_missing"] == missing
    assert report["cases"]["row"] == (np.flatnonzero(known) + 1).tolist()
    # A row without any cell has the prevalence of the class.
    blank = holes.iloc[:2].astype(object)
    blank.loc[0, :] = ""
    write(blank, tmp_path / "blank.csv")
    printed = run("predict", "holes-report/model.honestbayes", "blank.csv", cwd=tmp_path).done()
    share = report["data"]["class_counts"][1] / report["data"]["n_cases"]
    assert column(rows_of(printed), "probability: ill")[0] == pytest.approx(share, abs=0.02)


@pytest.mark.slow
def test_a_small_file_that_holds_much_is_refused_until_the_limit_is_lifted(
    model, frame, tmp_path, run
):
    rows = frame.iloc[:1].to_csv(index=False, header=False)
    content = frame.to_csv(index=False) + rows * (30_000_000 // len(rows))
    (tmp_path / "bomb.csv.gz").write_bytes(gzip.compress(content.encode(), 9))
    assert (tmp_path / "bomb.csv.gz").stat().st_size < 300_000
    limit = ("--max-size", "0.01", "--out", "p.csv")
    for command in (
        ("report", "bomb.csv.gz", *TARGET, *limit),
        ("fit", "bomb.csv.gz", *TARGET, *limit),
        ("predict", model, "bomb.csv.gz", *limit),
    ):
        assert "--max-size" in run(*command, cwd=tmp_path).refused()
    assert [entry.name for entry in tmp_path.iterdir()] == ["bomb.csv.gz"]
    for size in ("0", "1", "inf"):
        more = ("--max-size", size, "--out", "p.csv", "-q")
        run("predict", model, "bomb.csv.gz", *more, cwd=tmp_path).done()
        lines = (tmp_path / "p.csv").read_text().count("\n")
        assert lines == content.count("\n")
