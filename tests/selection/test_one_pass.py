"""Folds of a table beyond memory are counted in one pass, and give what a table in memory gives."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from cut_source import CUTS, CutSource

from honestbayes import SelectiveBernoulliNB, SelectiveGaussianNB
from honestbayes.base import recalibration
from honestbayes.data import as_source
from honestbayes.data.normal_scores import NormalScoresSource
from honestbayes.data.source import Block, PackedColumns
from honestbayes.selection import leave_out as module
from honestbayes.selection.counts import screen_source
from honestbayes.selection.leave_out import leave_out
from honestbayes.selection.moments import moments_without, scored_moments_without, screen_moments

CLASSES = np.array(["a", "b"])


@dataclass
class Beyond(CutSource):
    """A table that says that it is not to be read again, and counts how often it was."""

    beyond_memory = True
    passes: int = 0
    taken: list = field(default_factory=list)

    def blocks(self):
        self.passes += 1
        yield from super().blocks()

    def take(self, columns):
        self.taken.append(np.asarray(columns).tolist())
        return super().take(columns)


@dataclass
class Packed(Beyond):
    """Its columns are bits."""

    def blocks(self):
        for block in super().blocks():
            yield Block(block.rows, block.columns, PackedColumns.pack(block.values))


def table(seed=0, n=37, p=6):
    generator = np.random.default_rng(seed)
    labels = generator.random(n) < 0.4
    return (generator.random((n, p)) < 0.3 + 0.3 * labels[:, None]).astype(np.uint8), labels


def folds_of(n, n_repeats=2, n_folds=5):
    generator = np.random.default_rng(1)
    return [
        np.sort(part)
        for _ in range(n_repeats)
        for part in np.array_split(generator.permutation(n), n_folds)
    ]


def beyond(values, cut, kind=Beyond):
    rows, columns = CUTS[cut]
    return kind(values, [rows] * (len(columns) + 1), columns, seed=2)


def assert_same(found, expected):
    assert found.class_counts == expected.class_counts
    np.testing.assert_array_equal(found.ones, expected.ones)
    np.testing.assert_array_equal(found.observed_full(), expected.observed_full())
    assert found.binarization.equals(expected.binarization)


@pytest.mark.parametrize("kind", [Beyond, Packed])
@pytest.mark.parametrize("cut", CUTS)
def test_folds_of_zeros_and_ones_are_counted_once_for_each_drawing(cut, kind):
    values, labels = table()
    source = beyond(values, cut, kind)
    whole = screen_source(source, CLASSES, labels, "auto")
    before, folds = source.passes, folds_of(37)
    found = list(leave_out(source, labels, folds, whole, "auto"))
    assert source.passes - before == 2
    expected = leave_out(as_source(values), labels, folds, whole, "auto")
    for one, other in zip(found, expected, strict=True):
        assert_same(one, other)


@pytest.mark.parametrize("most", [1, 2, 100])
def test_folds_are_counted_in_several_passes_where_counts_are_many(monkeypatch, most):
    monkeypatch.setattr(module, "_MOST_COUNTS", 2 * 6 * most)
    values, labels = table()
    source, folds = beyond(values, "rows"), folds_of(37, 1)
    whole = screen_source(source, CLASSES, labels, "auto")
    before = source.passes
    found = list(leave_out(source, labels, folds, whole, "auto"))
    assert source.passes - before == {1: 5, 2: 3, 100: 1}[most]
    expected = leave_out(as_source(values), labels, folds, whole, "auto")
    for one, other in zip(found, expected, strict=True):
        assert_same(one, other)


@pytest.mark.parametrize("option", ["auto", "median", 0.5])
@pytest.mark.parametrize("cut", CUTS)
def test_medians_and_missing_cells_of_folds_are_those_of_a_table_in_memory(cut, option):
    generator = np.random.default_rng(3)
    values = generator.normal(size=(37, 6)).round(1)
    values[:, 2] = generator.integers(0, 2, 37)
    values[:, 4] = generator.integers(3, 5, 37)
    values[generator.random(values.shape) < 0.1] = np.nan
    labels = generator.random(37) < 0.5
    folds = folds_of(37)
    whole = screen_source(as_source(values), CLASSES, labels, option)
    expected = list(leave_out(as_source(values), labels, folds, whole, option))
    found = list(leave_out(beyond(values, cut), labels, folds, whole, option))
    for one, other in zip(found, expected, strict=True):
        assert_same(one, other)


@pytest.mark.parametrize("kind", [Beyond, Packed])
def test_a_model_of_a_table_beyond_memory_is_that_of_the_table_in_memory(kind):
    values, labels = table(4, 60, 30)
    values = (values | (np.random.default_rng(5).random((60, 30)) < 0.2)).astype(np.uint8)
    model = SelectiveBernoulliNB(n_features_to_select=4, random_state=0)
    expected = model.fit(values, labels).predict_log_proba(values)
    source = kind(values, [[11, 30, 44]] * 3, [7, 20], seed=1)
    fitted = model.fit(source, labels)
    np.testing.assert_array_equal(fitted.predict_log_proba(values), expected)
    assert fitted.slope_ != 1
    # What the folds kept is read once, and not column by column or fold by fold.
    assert len(source.taken) == 1


@pytest.mark.parametrize("most", [20, 60])
def test_many_cases_are_thinned_before_they_are_read(monkeypatch, most):
    monkeypatch.setattr(recalibration, "_CELLS", 2 * most)
    monkeypatch.setattr("honestbayes.base.recalibration._ENOUGH_CASES", 50)
    values, labels = table(6, 300, 12)
    model = SelectiveBernoulliNB(n_features_to_select=3, random_state=0)
    seen = []
    original = recalibration.learn_recalibration

    def learn_recalibration(kind, evidence, codes, log_prior, share):
        seen.append(codes.size)
        return original(kind, evidence, codes, log_prior, share)

    monkeypatch.setattr("honestbayes.base.part.learn_recalibration", learn_recalibration)
    model.fit(values, labels)
    assert seen == [max(most, 100)]


def test_measurements_beyond_memory_give_the_same_model():
    generator = np.random.default_rng(7)
    labels = np.arange(60) % 3
    values = generator.normal(size=(60, 20)) + np.outer(labels, np.arange(20) < 3)
    model = SelectiveGaussianNB(n_features_to_select=5, random_state=0)
    expected = model.fit(values, labels).predict_log_proba(values)
    source = Beyond(values, [[13, 40]] * 2, [8], seed=1)
    found = model.fit(source, labels).predict_log_proba(values)
    # Sums are rounded in another order.
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    # All rows, four drawings of the folds; then what any of them kept.
    assert source.passes == 5
    assert len(source.taken) == 1


@pytest.mark.parametrize("cell", [(0, 0), (36, 5), (18, 2)])
@pytest.mark.parametrize("value", [5.0, np.nan, -1.0])
@pytest.mark.parametrize("cut", ["rows", "columns", "a grid"])
def test_one_cell_that_is_neither_zero_nor_one_is_seen_wherever_it_is(cut, value, cell):
    values, labels = table()
    values = values.astype(float)
    values[cell] = value
    expected = screen_source(as_source(values), CLASSES, labels, "auto")
    assert_same(screen_source(beyond(values, cut), CLASSES, labels, "auto"), expected)


@pytest.mark.parametrize("kind", [Beyond, Packed])
@pytest.mark.parametrize("cut", CUTS)
def test_moments_of_flags_have_the_same_bits_however_they_are_cut(cut, kind):
    values, _ = table()
    codes, classes = (np.arange(37) % 3).astype(np.int64), np.arange(3)
    source, folds = beyond(values, cut, kind), folds_of(37)
    found = [screen_moments(source, codes, classes)]
    found += moments_without(source, codes, classes, folds)
    assert source.passes == 1 + 2
    everyone = np.arange(37)
    rows = [everyone, *(np.setdiff1d(everyone, fold) for fold in folds)]
    for moments, some in zip(found, rows, strict=True):
        expected = screen_moments(as_source(values[some]), codes[some], classes)
        assert moments.class_counts == expected.class_counts
        np.testing.assert_array_equal(moments.mean, expected.mean)
        np.testing.assert_array_equal(moments.within, expected.within)
        np.testing.assert_array_equal(moments.r_squared(), expected.r_squared())


@pytest.mark.parametrize("cut", CUTS)
def test_moments_of_flags_beside_measurements_keep_what_rounding_left_out(cut):
    values, labels = table()
    values = 1e8 + np.random.default_rng(8).normal(size=values.shape)
    rows, columns = CUTS[cut]
    left = CutSource(values, [rows] * (len(columns) + 1), columns, seed=0)
    codes, classes = labels.astype(np.int64), np.arange(2)
    moments = screen_moments(left, codes, classes)
    flags = screen_moments(as_source(table()[0]), codes, classes)
    both = flags.merge_columns(moments)
    assert both.ones is None
    np.testing.assert_array_equal(both.rest[:, 6:], moments.rest)
    np.testing.assert_array_equal(both.rest[:, :6], 0)
    assert flags.take(np.array([2])).merge_columns(flags).ones.shape == (2, 7)
    assert flags.standardised()[0].ones is None


@pytest.mark.parametrize("cut", CUTS)
def test_normal_scores_are_learned_without_each_fold(cut):
    generator = np.random.default_rng(9)
    values = generator.normal(size=(37, 6)).round(1)
    values[generator.random(values.shape) < 0.1] = np.nan
    codes, classes, folds = np.arange(37) % 2, np.arange(2), folds_of(37)
    found = scored_moments_without(beyond(values, cut), codes, classes, folds)
    for fold, moments in zip(folds, found, strict=True):
        others = np.setdiff1d(np.arange(37), fold)
        scored = NormalScoresSource(as_source(values[others]))
        expected = screen_moments(scored, codes[others], classes)
        np.testing.assert_array_equal(moments.observed, expected.observed)
        np.testing.assert_allclose(moments.mean, expected.mean, rtol=0, atol=1e-12)
        np.testing.assert_allclose(moments.within, expected.within, rtol=1e-12)
