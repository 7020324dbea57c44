"""PLINK files are decoded and counted as a loop over their bits does."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

from honestbayes import HonestClassifier, SelectiveCategoricalNB, SelectiveMixedNB
from honestbayes.cli import app
from honestbayes.data import join_columns, join_rows, open_plink, pack_store
from honestbayes.data.kinds import kinds_and_missing
from honestbayes.data.source import PackedGenotypes, RowsOf
from honestbayes.tables import open_table, read_training

PAIRS = {2: "00", None: "01", 1: "10", 0: "11"}
"""The two bits of each count of A1, the higher one first, as the format is published."""


def bytes_of(genotypes):
    """Write the bytes of one variant, a text of bits at a time."""
    result = []
    for first in range(0, len(genotypes), 4):
        pairs = [PAIRS[value] for value in genotypes[first : first + 4]]
        pairs += ["00"] * (4 - len(pairs))
        result.append(int("".join(reversed(pairs)), 2))  # the first sample has the lowest bits
    return bytes(result)


def write_plink(folder, table, name="cohort", phenotype=None, ids=None, names=None):
    """Write files of a table: a list of variants, each a list of 0, 1, 2 or None."""
    n = len(table[0])
    stem = folder / name
    content = bytes([0x6C, 0x1B, 0x01]) + b"".join(map(bytes_of, table))
    stem.with_suffix(".bed").write_bytes(content)
    names = names or [f"rs{j}" for j in range(len(table))]
    lines = [f"1\t{name}\t0\t{100 + j}\tA\tG" for j, name in enumerate(names)]
    stem.with_suffix(".bim").write_text("\n".join(lines) + "\n")
    phenotype = phenotype or [1 + i % 2 for i in range(n)]
    ids = ids or [(f"f{i}", f"s{i}") for i in range(n)]
    lines = [f"{fid} {iid} 0 0 1 {value}" for (fid, iid), value in zip(ids, phenotype, strict=True)]
    stem.with_suffix(".fam").write_text("\n".join(lines) + "\n")
    return stem.with_suffix(".bed")


def random_table(n, p, seed=0, missing=0.1):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 3, (p, n)).tolist()
    gone = rng.random((p, n)) < missing
    return [
        [None if absent else value for value, absent in zip(row, mask, strict=True)]
        for row, mask in zip(values, gone, strict=True)
    ]


def slow_decode(path, n):
    """Read a file bit by bit: a list of variants of 0, 1, 2 or None, without any array."""
    content = path.read_bytes()[3:]
    width = (n + 3) // 4
    table = []
    for start in range(0, len(content), width):
        row = []
        for sample in range(n):
            byte = content[start + sample // 4]
            low = byte // 2 ** (2 * (sample % 4)) % 2
            high = byte // 2 ** (2 * (sample % 4) + 1) % 2
            # The published table: 00 homozygous A1, 01 missing, 10 heterozygous, 11 homozygous A2.
            text = f"{high}{low}"
            row.append({"00": 2, "01": None, "10": 1, "11": 0}[text])
        table.append(row)
    return table


def as_array(table):
    return np.array([[np.nan if v is None else v for v in row] for row in table], dtype=float).T


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 31, 32, 33, 65, 130])
def test_cells_are_those_of_a_loop_over_bits(tmp_path, n):
    path = write_plink(tmp_path, random_table(n, 9, seed=n))
    expected = as_array(slow_decode(path, n))
    source = open_plink(path)
    assert source.shape == (n, 9)
    np.testing.assert_array_equal(source.take(np.arange(9)), expected)
    np.testing.assert_array_equal(source.take(np.array([7, 0])), expected[:, [7, 0]])
    rows = np.array([n - 1, 0]) if n > 1 else np.array([0])
    np.testing.assert_array_equal(
        source.take_rows(rows, np.array([2])), expected[np.ix_(rows, [2])]
    )
    for block in source.blocks():
        np.testing.assert_array_equal(block.dense(), expected[:, block.columns])


@pytest.mark.parametrize("n", [1, 5, 32, 33, 130])
@pytest.mark.parametrize("n_groups", [1, 2, 3, 11])
def test_counts_are_those_of_a_loop_over_cells(tmp_path, n, n_groups):
    path = write_plink(tmp_path, random_table(n, 6, seed=n))
    groups = np.random.default_rng(1).integers(0, n_groups, n)
    expected = np.zeros((6, n_groups, 4), dtype=int)
    for j, row in enumerate(slow_decode(path, n)):
        for value, group in zip(row, groups, strict=True):
            expected[j, group, 3 if value is None else value] += 1
    (block,) = open_plink(path).blocks()
    np.testing.assert_array_equal(block.values.counts(groups, n_groups), expected)


def test_counts_of_some_rows_leave_out_the_others(tmp_path):
    path = write_plink(tmp_path, random_table(50, 6))
    rows = np.array([3, 4, 10, 31, 32, 49])
    groups = np.array([0, 1, 0, 1, 1, 0])
    table = slow_decode(path, 50)
    expected = np.zeros((6, 2, 4), dtype=int)
    for j in range(6):
        for row, group in zip(rows, groups, strict=True):
            value = table[j][row]
            expected[j, group, 3 if value is None else value] += 1
    for source in (RowsOf(open_plink(path), rows), open_plink(path).select_samples(rows)):
        (block,) = source.blocks()
        (values,) = source.work.results([source.work.call(lambda v: v, block.values)])
        assert isinstance(values, PackedGenotypes)
        np.testing.assert_array_equal(values.counts(groups, 2), expected)
        np.testing.assert_array_equal(values.toarray(), as_array(table)[rows])


def test_bits_beyond_the_last_sample_mean_nothing(tmp_path):
    path = write_plink(tmp_path, [[0, 1, 2, 0, 1], [1, 1, 2, 0, None]])
    content = bytearray(path.read_bytes())
    for last in (4, 6):  # the second byte of each variant holds one sample
        content[last] |= 0b01100100
    path.write_bytes(bytes(content))
    source = open_plink(path)
    np.testing.assert_array_equal(source.take([0]).ravel(), [0, 1, 2, 0, 1])
    (block,) = source.blocks()
    counts = block.values.counts(np.zeros(5, dtype=int), 1)
    assert counts[:, 0].tolist() == [[2, 2, 1, 0], [1, 2, 1, 1]]


def test_variants_are_categorical_or_constant(tmp_path):
    table = [[0, 1, 2, 0], [0, 0, None, 0], [None] * 4, [0, 2, 0, 2]]
    source = open_plink(write_plink(tmp_path, table))
    kinds, missing = kinds_and_missing(source)
    assert kinds == ("categorical", "constant", "constant", "categorical")
    assert missing
    assert kinds_and_missing(source, {0: "real"})[0][0] == "real"


def test_the_files_are_found_with_and_without_the_ending(tmp_path):
    path = write_plink(tmp_path, random_table(5, 2))
    assert open_plink(str(path)).shape == open_plink(path.with_suffix("")).shape == (5, 2)
    assert repr(open_plink(path)) == "PlinkSource('cohort.bed', 5 samples, 2 variants)"


def test_names_of_variants_differ(tmp_path):
    names = ["rs1", ".", "rs1", "rs1_2", "rs1"]
    source = open_plink(write_plink(tmp_path, random_table(4, 5), names=names))
    assert source.feature_names == ("rs1", "1:101:A:G", "rs1_3", "rs1_2", "rs1_4")


def test_samples_are_named_by_family_where_they_repeat(tmp_path):
    table = random_table(3, 2)
    path = write_plink(tmp_path, table, ids=[("a", "1"), ("b", "1"), ("b", "2")])
    assert open_plink(path).sample_ids.tolist() == ["a 1", "b 1", "b 2"]
    path = write_plink(tmp_path, table, ids=[("a", "1"), ("a", "1"), ("b", "2")])
    with pytest.raises(ValueError, match=r"cohort\.fam names the sample 'a 1' 2 times"):
        open_plink(path)


class TestPhenotype:
    """Phenotypes come from the .fam file, or from the user."""

    def test_complete(self, tmp_path):
        source = open_plink(write_plink(tmp_path, random_table(4, 2), phenotype=[1, 2, 2, 1]))
        assert source.phenotype.tolist() == [1, 2, 2, 1]
        assert source.phenotype.dtype.kind == "i"

    def test_missing(self, tmp_path):
        path = write_plink(tmp_path, random_table(5, 2), phenotype=[1, -9, 2, 0, "NA"])
        source = open_plink(path)
        np.testing.assert_array_equal(source.phenotype, [1, np.nan, 2, np.nan, np.nan])
        known = source.select_samples(~np.isnan(source.phenotype))
        assert known.phenotype.tolist() == [1, 2]
        assert known.sample_ids.tolist() == ["s0", "s2"]
        np.testing.assert_array_equal(known.take(np.arange(2)), source.take(np.arange(2))[[0, 2]])
        path = write_plink(tmp_path, random_table(3, 2), phenotype=[-9, 0, -9])
        assert open_plink(path).phenotype is None

    def test_of_several_values_is_refused_when_it_is_asked_for(self, tmp_path):
        path = write_plink(tmp_path, random_table(3, 2), phenotype=[1, 2, 71.5])
        source = open_plink(path)
        with pytest.raises(ValueError, match=r"not case-control: line 3 holds '71\.5'.*phenotype="):
            source.phenotype  # noqa: B018 - it is a property
        assert open_plink(path, phenotype=["a", "b", "a"]).phenotype.tolist() == ["a", "b", "a"]

    @pytest.mark.parametrize("library", [pd, pl])
    def test_frames_are_joined_by_identifier(self, tmp_path, library):
        path = write_plink(tmp_path, random_table(3, 2))
        frame = library.DataFrame({"IID": ["s2", "s0", "s1"], "ill": [1, 0, 1]})
        assert open_plink(path, phenotype=frame).phenotype.tolist() == [0, 1, 1]
        with pytest.raises(ValueError, match="no row for the sample 's1'"):
            open_plink(path, phenotype=frame[:2])

    def test_of_another_length_is_refused(self, tmp_path):
        path = write_plink(tmp_path, random_table(3, 2))
        with pytest.raises(ValueError, match=r"the \.fam file has 3 samples"):
            open_plink(path, phenotype=[1, 2])


class TestBadFiles:
    """Each gets one sentence that names the file."""

    def refused(self, path, message):
        with pytest.raises(ValueError, match=re.escape(message)):
            open_plink(path)

    def test_other_content(self, tmp_path):
        path = write_plink(tmp_path, random_table(5, 2))
        path.write_bytes(b"\x50\x4b\x01" + path.read_bytes()[3:])
        self.refused(path, "cohort.bed is not a PLINK .bed file")

    def test_one_sample_after_the_other(self, tmp_path):
        path = write_plink(tmp_path, random_table(5, 2))
        path.write_bytes(b"\x6c\x1b\x00" + path.read_bytes()[3:])
        self.refused(path, "individual-major")

    @pytest.mark.parametrize("cut", [-1, 1])
    def test_another_size(self, tmp_path, cut):
        path = write_plink(tmp_path, random_table(5, 2))
        content = path.read_bytes()
        path.write_bytes(content[:cut] if cut < 0 else content + b"\x00")
        self.refused(path, f"cohort.bed has {7 + cut} bytes instead of 7")

    @pytest.mark.parametrize("ending", [".bed", ".bim", ".fam"])
    def test_a_missing_file(self, tmp_path, ending):
        path = write_plink(tmp_path, random_table(5, 2))
        path.with_suffix(ending).unlink()
        self.refused(path, f"cohort{ending} is missing")

    def test_a_short_line_and_an_empty_file(self, tmp_path):
        path = write_plink(tmp_path, random_table(5, 2))
        path.with_suffix(".bim").write_text("1 rs0 0 100 A G\n1 rs1 0 101\n")
        self.refused(path, "cohort.bim has 4 fields instead of 6 in line 2")
        path.with_suffix(".bim").write_text("")
        self.refused(path, "cohort.bim is empty")

    def test_a_mask_of_another_length(self, tmp_path):
        source = open_plink(write_plink(tmp_path, random_table(5, 2)))
        with pytest.raises(ValueError, match="which has 3 entries, but there are 5 samples"):
            source.select_samples([True, False, True])


def with_signal(n=60, p=250, missing=0.03):
    """A table of variants with some signal, and classes 1 and 2."""
    rng = np.random.default_rng(5)
    y = np.arange(n) % 2 + 1
    values = rng.integers(0, 3, (p, n))
    values[:8] = np.clip(values[:8] + (y - 1) * (rng.random((8, n)) < 0.5), 0, 2)
    values[10] = values[11]  # equal counts, which tie
    values[20], values[21] = 0, np.minimum(values[21], 1)
    gone = rng.random((p, n)) < missing
    table = [
        [None if absent else int(value) for value, absent in zip(row, mask, strict=True)]
        for row, mask in zip(values, gone, strict=True)
    ]
    return table, y


@pytest.mark.parametrize("missing", [0.0, 0.03])
def test_models_are_those_of_the_same_table_in_memory(tmp_path, missing):
    table, y = with_signal(missing=missing)
    source, X = open_plink(write_plink(tmp_path, table, phenotype=y.tolist())), as_array(table)
    kinds = ["categorical"] * len(table)
    for estimator in (
        SelectiveCategoricalNB(random_state=0),
        SelectiveMixedNB(kinds=kinds, random_state=0),
        HonestClassifier(kinds=kinds, effort="quick", random_state=0),
    ):
        found = estimator.fit(source, source.phenotype).predict_proba(source)
        np.testing.assert_array_equal(found, estimator.fit(X, y).predict_proba(X))


def test_constant_variants_are_left_out_by_the_average(tmp_path):
    table, y = with_signal()
    source, X = open_plink(write_plink(tmp_path, table)), as_array(table)
    model = HonestClassifier(effort="quick", random_state=0).fit(source, y)
    assert model.kinds_[20] == "constant"
    assert set(model.kinds_) == {"categorical", "constant"}
    kinds = {j: "categorical" for j in range(len(table)) if j != 20}
    expected = HonestClassifier(effort="quick", random_state=0, kinds=kinds).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(source), expected.predict_proba(X))
    frame = pd.DataFrame(X, columns=source.feature_names)
    np.testing.assert_array_equal(model.predict_proba(frame), expected.predict_proba(X))


def test_samples_without_phenotype_are_left_out_by_the_caller(tmp_path):
    table, y = with_signal()
    phenotype = [-9 if i % 7 == 0 else int(label) for i, label in enumerate(y)]
    source = open_plink(write_plink(tmp_path, table, phenotype=phenotype))
    known = source.select_samples(~np.isnan(source.phenotype))
    model = SelectiveCategoricalNB(random_state=0)
    found = model.fit(known, known.phenotype).predict_proba(source)
    some = np.arange(len(y)) % 7 > 0
    expected = model.fit(as_array(table)[some], y[some]).predict_proba(as_array(table))
    np.testing.assert_array_equal(found, expected)


class TestJoinedColumns:
    """One set of files for each chromosome is one table."""

    def test_is_the_whole_table(self, tmp_path):
        table, y = with_signal()
        parts = [
            open_plink(write_plink(tmp_path, some, name=name, names=names))
            for name, some, names in (
                ("chr1", table[:100], [f"a{j}" for j in range(100)]),
                ("chr2", table[100:], [f"b{j}" for j in range(150)]),
            )
        ]
        joined, X = join_columns(parts), as_array(table)
        assert joined.shape == X.shape
        assert joined.feature_names[98:102] == ("a98", "a99", "b0", "b1")
        columns = np.array([200, 3, 99, 100])
        np.testing.assert_array_equal(joined.take(columns), X[:, columns])
        rows = np.array([5, 2])
        np.testing.assert_array_equal(joined.take_rows(rows, columns), X[np.ix_(rows, columns)])
        model = SelectiveCategoricalNB(random_state=0)
        found = model.fit(joined, y).predict_proba(joined)
        np.testing.assert_array_equal(found, model.fit(X, y).predict_proba(X))

    def test_of_files_of_two_cohorts(self, tmp_path):
        table, y = with_signal()
        halves = [
            open_plink(write_plink(tmp_path, [calls[own] for calls in table], name=name))
            for name, own in (("a", slice(0, 25)), ("b", slice(25, None)))
        ]
        joined, X = join_rows(halves), as_array(table)
        model = SelectiveCategoricalNB(random_state=0)
        found = model.fit(joined, y).predict_proba(joined)
        np.testing.assert_array_equal(found, model.fit(X, y).predict_proba(X))

    def test_of_tables_of_several_sorts(self, tmp_path):
        table, y = with_signal()
        flags = np.random.default_rng(0).integers(0, 2, (60, 30))
        store = pack_store(flags, tmp_path / "flags")
        measured = np.random.default_rng(1).normal(size=(60, 20))
        genotypes = open_plink(write_plink(tmp_path, table))
        joined = join_columns([genotypes, store, measured])
        X = np.column_stack([as_array(table), flags, measured])
        kinds = dict.fromkeys(range(len(table)), "categorical")
        model = SelectiveMixedNB(kinds=kinds, random_state=0)
        found = model.fit(joined, y).predict_proba(joined)
        expected = model.fit(X, y).predict_proba(X)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)

    def test_what_does_not_fit_is_refused(self, tmp_path):
        table = random_table(5, 2)
        first = open_plink(write_plink(tmp_path, table, "first"))
        with pytest.raises(ValueError, match=r"these have \[5, 3\] rows"):
            join_columns([first, np.zeros((3, 2))])
        with pytest.raises(ValueError, match="two of the tables name a column 'rs0'"):
            join_columns([first, first])
        ids = [(f"f{i}", f"x{i}") for i in range(5)]
        other = write_plink(tmp_path, table, "other", ids=ids)
        with pytest.raises(ValueError, match="name other samples, or in another order"):
            join_columns([first, open_plink(other)])
        with pytest.raises(ValueError, match="one table or more"):
            join_columns([])


class TestCommandLine:
    """A report on PLINK files, and predictions for a second set of files."""

    def test_report_and_predict(self, tmp_path):
        table, y = with_signal()
        halves = [[calls[own] for calls in table] for own in (slice(0, 40), slice(40, None))]
        write_plink(tmp_path, halves[0], "first", phenotype=y[:40].tolist())
        write_plink(tmp_path, halves[1], "second", phenotype=[-9] * (len(y) - 40))
        done = CliRunner().invoke(app, [
            "report", str(tmp_path / "first.bed"), "--target", "phenotype", "--quick",
            "--model", "mixed", "--out", str(tmp_path / "out"),
        ])  # fmt: skip
        assert done.exit_code == 0, done.output
        assert "numbers of copies (0, 1, 2) of one allele" in " ".join(done.output.split())
        model, out = str(tmp_path / "out" / "model.honestbayes"), tmp_path / "predicted.csv"
        words = ["predict", model, str(tmp_path / "second.bed"), "--out", str(out)]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
        assert len(out.read_text().splitlines()) == len(y) - 40 + 1

    def test_a_measured_phenotype_needs_a_file_of_classes(self, tmp_path):
        table, y = with_signal()
        path = write_plink(tmp_path, table, phenotype=[1.5 * value for value in y])
        file = open_table(path)
        assert "phenotype" not in file.columns
        assert "give the classes with --phenotype" in file.notes[1]
        classes = tmp_path / "clinic.csv"
        lines = [f"s{i},{'ill' if value == 2 else 'well'}" for i, value in enumerate(y)]
        classes.write_text("\n".join(["IID,state", *lines]) + "\n")
        data = read_training(open_table(path, phenotype=classes), target="state")
        assert data.labels == ("well", "ill")
        np.testing.assert_array_equal(data.y, np.array(y) - 1)

    def test_files_that_count_the_other_allele_are_refused(self, tmp_path):
        table, y = with_signal()
        path = write_plink(tmp_path, table, phenotype=y.tolist())
        data = read_training(open_table(path), target="phenotype")
        assert data.findings == ()
        assert set(data.kinds) <= {"real", "binary"}
        np.testing.assert_array_equal(data.X.to_numpy(float), as_array(table))
        assert data.X.columns[0] == "rs0_A"
        swapped = write_plink(tmp_path, table, "swapped")
        bim = swapped.with_suffix(".bim")
        bim.write_text(bim.read_text().replace("A\tG", "G\tA"))
        model = str(tmp_path / "cohort.honestbayes")
        words = ["fit", str(path), "--target", "phenotype", "--model", "mixed", "--out", model]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
        done = CliRunner().invoke(app, ["predict", model, str(swapped)])
        assert done.exit_code == 2
        assert "swapped.bed lacks" in done.output
