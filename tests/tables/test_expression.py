"""Tables with features in rows, phenotype files, and files of GEO and GCT."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from honestbayes.cli import app
from honestbayes.tables import InputError, open_table, read_training

N, P = 24, 60
SAMPLES = [f"GSM{1000 + i}" for i in range(N)]
GENES = [f"GENE{j}" for j in range(P)]


@pytest.fixture(scope="module")
def truth():
    """Samples in rows, as a table that nobody has to turn around."""
    generator = np.random.default_rng(0)
    ill = np.arange(N) % 2 == 1
    X = generator.normal(size=(N, P)).round(3)
    X[ill, :6] += 2
    frame = pd.DataFrame(X, index=SAMPLES, columns=GENES)
    frame.iloc[2, 3] = np.nan
    return frame, np.where(ill, "tumour", "normal")


@pytest.fixture
def facts(truth):
    _, y = truth
    age = np.random.default_rng(1).integers(30, 80, N)
    stage = np.where(y == "tumour", "II", "0")
    return pd.DataFrame({"geo": SAMPLES, "disease": y, "age": age, "stage": stage})


def same(data, frame, y):
    """Whether training data hold the features of a frame and the classes."""
    assert list(data.X.columns) == list(frame.columns)
    np.testing.assert_array_equal(data.X.to_numpy(float), frame.to_numpy(float))
    assert [data.labels[code] for code in data.y] == list(y)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
def test_a_transposed_table_with_a_phenotype_file_gives_the_table_of_samples(
    truth, facts, tmp_path, suffix
):
    frame, y = truth
    turned = frame.T.rename_axis("symbol").reset_index()
    path = tmp_path / f"expression.{suffix}"
    if suffix == "parquet":
        turned.to_parquet(path, index=False)
    else:
        turned.to_csv(path, index=False, sep="\t" if suffix == "tsv" else ",")
    facts.sample(frac=1, random_state=0).to_csv(tmp_path / "pheno.csv", index=False)
    file = open_table(path, transpose=True, phenotype=tmp_path / "pheno.csv")
    data = read_training(file, target="disease", coded=True)
    same(data, frame, y)
    assert f"All {N} samples of expression.{suffix} are in pheno.csv." in data.notes
    assert any("'geo', 'age', 'stage': columns of the phenotype" in note for note in data.notes)


def test_columns_of_the_phenotype_are_features_or_covariates_only_where_they_are_named(
    truth, facts, tmp_path
):
    frame, _ = truth
    frame.T.rename_axis("symbol").to_csv(tmp_path / "x.csv")
    facts.to_csv(tmp_path / "pheno.csv", index=False)
    file = open_table(tmp_path / "x.csv", transpose=True, phenotype=tmp_path / "pheno.csv")
    data = read_training(file, target="disease", covariates=["age"], keep=["stage"], coded=True)
    assert list(data.X.columns) == [*GENES, "age", "stage=II"]
    assert data.covariates == ("age",)
    assert data.X["age"].tolist() == facts["age"].tolist()


def test_samples_in_rows_are_joined_too_and_those_without_a_match_are_named(truth, facts, tmp_path):
    frame, y = truth
    frame.rename_axis("geo").to_csv(tmp_path / "x.csv")
    facts.iloc[3:].assign(geo=[*SAMPLES[3:-1], "GSM9"]).to_csv(tmp_path / "p.csv", index=False)
    file = open_table(tmp_path / "x.csv", phenotype=tmp_path / "p.csv")
    data = read_training(file, target="disease", coded=True)
    same(data, frame.iloc[3:-1], y[3:-1])
    assert data.row_numbers.tolist() == list(range(4, N))
    notes = " ".join(data.notes)
    assert f"{N - 4} of the {N} samples of x.csv are in p.csv." in notes
    assert "4 samples are in x.csv only, and not used: 'GSM1000', 'GSM1001'" in notes
    assert "1 sample is in p.csv only, and not used: 'GSM9'." in notes


def test_a_row_with_the_class_and_a_column_of_descriptions_are_told_from_the_numbers(
    truth, tmp_path
):
    frame, y = truth
    turned = pd.concat([pd.DataFrame([y], columns=SAMPLES, index=["disease"]), frame.T])
    turned.insert(0, "Description", [f"about {name}" for name in turned.index])
    turned.rename_axis("symbol").to_csv(tmp_path / "x.csv")
    data = read_training(
        open_table(tmp_path / "x.csv", transpose=True), target="disease", coded=True
    )
    same(data, frame, y)
    assert any("'Description' is not a sample (no numbers)" in note for note in data.notes)


def test_a_name_of_several_rows_is_made_distinct_and_reported(truth, tmp_path):
    frame, _ = truth
    frame = frame.rename(columns={"GENE7": "GENE3", "GENE9": "GENE3"})
    frame.T.rename_axis("symbol").to_csv(tmp_path / "x.csv")
    file = open_table(tmp_path / "x.csv", transpose=True)
    assert file.columns[4:11] == (
        *("GENE3", "GENE4", "GENE5", "GENE6", "GENE3.2", "GENE8", "GENE3.3"),
    )
    assert "'GENE3': names of several rows" in file.notes[-1]


def write_series_matrix(path, frame, y, age):
    def line(name, values):
        return "\t".join([name, *(f'"{value}"' for value in values)]) + "\n"

    with gzip.open(path, "wt") as file:
        file.write('!Series_title\t"A study"\n\n')
        file.write(line("!Sample_geo_accession", SAMPLES))
        file.write(line("!Sample_organism_ch1", ["Homo sapiens"] * N))
        file.write(line("!Sample_characteristics_ch1", [f"disease: {label}" for label in y]))
        # Keys stand in another order for some samples, as in files of GEO.
        cells = [f"age: {years}" if i % 3 else "sex: f" for i, years in enumerate(age)]
        file.write(line("!Sample_characteristics_ch1", cells))
        file.write("!series_matrix_table_begin\n" + line('"ID_REF"', SAMPLES))
        for gene in GENES:
            values = ["" if value != value else value for value in frame[gene]]
            file.write("\t".join([f'"{gene}"', *map(str, values)]) + "\n")
        file.write("!series_matrix_table_end\n")


def test_a_series_matrix_of_geo_holds_the_classes(truth, facts, tmp_path):
    frame, y = truth
    path = tmp_path / "GSE1_series_matrix.txt.gz"
    write_series_matrix(path, frame, y, facts["age"])
    data = read_training(open_table(path), target="disease", keep=["age"], coded=True)
    age = facts["age"].where(np.arange(N) % 3 > 0).to_numpy()
    same(data, frame.assign(age=age), y)
    with pytest.raises(InputError, match="has its samples in rows already"):
        open_table(path, transpose=True)


def write_gct(path, frame, y, version):
    more = "\t1\t1" if version == "1.3" else ""
    lines = [f"#{version}", f"{P}\t{N}{more}", "\t".join(["Name", "Description", *SAMPLES])]
    if version == "1.3":
        lines.append("\t".join(["disease", "na", *y]))
    for gene in GENES:
        cells = ["" if value != value else str(value) for value in frame[gene]]
        lines.append("\t".join([gene, "a gene", *cells]))
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_gct_files(truth, tmp_path, version):
    frame, y = truth
    write_gct(tmp_path / "x.gct", frame, y, version)
    pd.DataFrame({"id": SAMPLES, "state": y}).to_csv(tmp_path / "p.csv", index=False)
    phenotype = tmp_path / "p.csv" if version == "1.2" else None
    file = open_table(tmp_path / "x.gct", phenotype=phenotype)
    same(read_training(file, target="state" if phenotype else "disease", coded=True), frame, y)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({}, "'disease' is a row of x.csv: features are in rows. Add --transpose."),
        ({"phenotype": "p.csv"}, "samples of p.csv are columns of x.csv.*add --transpose"),
        (
            {"transpose": True, "phenotype": "p.csv", "sample_id": "age"},
            "column 'age' of p.csv holds none of the samples of x.csv, but column 'geo' does",
        ),
        ({"transpose": True, "phenotype": "other.csv"}, "no sample is in both files"),
        ({"transpose": True, "phenotype": "twice.csv"}, "'GSM1000' more than once"),
        ({"transpose": True, "phenotype": "both.csv"}, "both have a column 'GENE1'; rename"),
        ({"transpose": True, "sample_id": "geo"}, "give the file with --phenotype"),
        ({"transpose": True, "phenotype": "p.csv", "sample_id": "no"}, "has no column 'no'"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_option_that_mends_it(
    truth, facts, tmp_path, words, message
):
    frame, y = truth
    turned = pd.concat([pd.DataFrame([y], columns=SAMPLES, index=["disease"]), frame.T])
    turned.rename_axis("symbol").to_csv(tmp_path / "x.csv")
    facts = facts.rename(columns={"disease": "illness"})
    facts.to_csv(tmp_path / "p.csv", index=False)
    facts.assign(geo=[f"S{i}" for i in range(N)]).to_csv(tmp_path / "other.csv", index=False)
    facts.assign(geo=["GSM1000", *SAMPLES[:-1]]).to_csv(tmp_path / "twice.csv", index=False)
    facts.rename(columns={"age": "GENE1"}).to_csv(tmp_path / "both.csv", index=False)
    if "phenotype" in words:
        words = words | {"phenotype": tmp_path / words["phenotype"]}
    with pytest.raises(InputError, match=message):
        read_training(open_table(tmp_path / "x.csv", **words), target="disease")


def test_a_long_table_without_its_class_is_asked_whether_its_rows_are_features(truth, tmp_path):
    frame, _ = truth
    frame.T.rename_axis("symbol").to_csv(tmp_path / "x.csv")
    with pytest.raises(InputError, match="if these are features, add --transpose"):
        read_training(open_table(tmp_path / "x.csv"), target="state")


def test_a_model_of_a_transposed_table_predicts_a_second_one(truth, facts, tmp_path, monkeypatch):
    frame, _ = truth
    monkeypatch.chdir(tmp_path)
    frame.T.rename_axis("symbol").to_csv("x.csv")
    facts.to_csv("p.csv", index=False)
    new = frame.iloc[:5].rename(index=lambda name: f"new{name}")
    new.T.iloc[::-1].rename_axis("gene").to_csv("new.csv")
    run = CliRunner().invoke
    words = "report x.csv --transpose --phenotype p.csv --target disease --model mixed --quick"
    made = run(app, words.split())
    assert made.exit_code == 0, made.output
    command = json.loads((tmp_path / "x-report" / "report.json").read_text())["command"]
    assert "--transpose --phenotype p.csv" in command
    found = run(app, ["predict", "x-report/model.honestbayes", "new.csv", "--transpose"])
    assert found.exit_code == 0, found.output
    wrong = run(app, ["predict", "x-report/model.honestbayes", "new.csv"])
    assert "features are in rows. Add --transpose." in wrong.output
    again = run(
        app,
        ["predict", "x-report/model.honestbayes", "x.csv", "--transpose", "--id", "sample"],
    )
    lines = again.stdout.splitlines()
    assert lines[1].split(",")[1] == "GSM1000"
    assert [line.split(",")[1:] for line in found.stdout.splitlines()[1:6]] == [
        line.split(",")[2:] for line in lines[1:6]
    ]


@pytest.mark.parametrize("form", ["gct", pytest.param("geo", marks=pytest.mark.slow)])
def test_a_report_of_expression_with_its_classes_predicts_a_second_file(
    truth, facts, tmp_path, monkeypatch, form
):
    frame, y = truth
    monkeypatch.chdir(tmp_path)
    for name in ("x", "new"):
        if form == "gct":
            write_gct(tmp_path / name, frame, y, "1.3")
        else:
            write_series_matrix(tmp_path / name, frame, y, facts["age"])
    run = CliRunner().invoke
    words = "report x --target disease --model mixed --quick --folds 2 --out out"
    made = run(app, words.split())
    assert made.exit_code == 0, made.output
    found = run(app, ["predict", "out/model.honestbayes", "new", "--id", "sample"])
    assert found.exit_code == 0, found.output
    assert [line.split(",")[1] for line in found.stdout.splitlines()[1:]] == SAMPLES


@pytest.mark.parametrize(
    ("own", "other"),
    [
        ("X{}.a", "{}-A"),  # R's make.names
        ("tcga_{}", "TCGA-{} "),
        ("S{}", "s{}"),
    ],
)
def test_identifiers_that_another_program_spells_otherwise_are_matched_and_noted(
    truth, facts, tmp_path, own, other
):
    frame, y = truth
    names = [own.format(i) if i else other.format(0) for i in range(N)]
    frame.set_axis(names).T.rename_axis("symbol").to_csv(tmp_path / "x.csv")
    facts = facts.assign(geo=[other.format(i) for i in range(N)])
    facts.to_csv(tmp_path / "p.csv", index=False)
    file = open_table(tmp_path / "x.csv", transpose=True, phenotype=tmp_path / "p.csv")
    data = read_training(file, target="disease", coded=True)
    same(data, frame, y)
    assert f"{N - 1} samples were matched although" in " ".join(data.notes)


def test_identifiers_that_may_be_different_samples_are_not_matched(truth, facts, tmp_path):
    frame, _ = truth
    names = ["1-11", "A1", "a1", *SAMPLES[3:]]
    frame.set_axis(names).T.rename_axis("symbol").to_csv(tmp_path / "x.csv")
    facts.assign(geo=["11-1", "A-1", "a_1", *SAMPLES[3:]]).to_csv(tmp_path / "p.csv", index=False)
    file = open_table(tmp_path / "x.csv", transpose=True, phenotype=tmp_path / "p.csv")
    assert read_training(file, target="disease", coded=True).y.size == N - 3
    facts.assign(geo=[f"{name}-01" for name in names]).to_csv(tmp_path / "p.csv", index=False)
    with pytest.raises(InputError, match=r"but '1-11-01' begins with '1-11': write"):
        open_table(tmp_path / "x.csv", transpose=True, phenotype=tmp_path / "p.csv")


def test_a_table_of_samples_without_its_class_is_asked_for_a_phenotype_file(truth, tmp_path):
    frame, _ = truth
    frame.T.rename_axis("symbol").to_csv(tmp_path / "x.csv")
    with pytest.raises(InputError, match=r"no column 'disease'. Add the file .* --phenotype"):
        read_training(open_table(tmp_path / "x.csv", transpose=True), target="disease")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#1.3\n2\t2\nid\td\ts1\ts2\ng\tx\t1\t2\n", "second line does not hold its sizes"),
        ("#1.2\n1\t2\nid\td\ts1\ts2\ng\tx\t1\n", "the row 'g' of x has 1 cells for 2 samples"),
        (
            (
                '!Sample_characteristics_ch1\t"a: 1"\n!Sample_characteristics_ch1\t"b: 1"\t"a: 2"\n'
                "!series_matrix_table_begin\nID_REF\ts1\ts2\ng1\t1\n!series_matrix_table_end\n"
            ),
            "the row 'g1' of x has 1 cells for 2 samples",
        ),
        ('!Series_title\t"A study"\n', "holds no table of values"),
    ],
)
def test_expression_files_that_are_cut_are_refused_in_one_sentence(tmp_path, text, message):
    (tmp_path / "x").write_text(text)
    with pytest.raises(InputError, match=message):
        open_table(tmp_path / "x")
