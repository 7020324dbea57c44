"""Every kind of table gives the counts of a plain loop."""

import math
import tracemalloc
from dataclasses import dataclass

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from honestbayes.data.source import Block
from honestbayes.selection import screen

NAN = math.nan


def plain_counts(rows, labels, cut=0.0):
    """Ones and observed cases per class and column, by a loop over cells."""
    p = len(rows[0])
    ones = [[0] * p, [0] * p]
    observed = [[0] * p, [0] * p]
    for row, label in zip(rows, labels, strict=True):
        for j, value in enumerate(row):
            if value != value:
                continue
            observed[label][j] += 1
            ones[label][j] += value > cut
    return ones, observed


def assert_counts(screening, rows, labels, cut=0.0):
    ones, observed = plain_counts(rows, labels, cut)
    assert screening.ones.tolist() == ones
    assert screening.observed_full().tolist() == observed
    assert screening.class_counts == (labels.count(0), labels.count(1))


def zero_one_table(n=37, p=11, seed=0):
    rng = np.random.default_rng(seed)
    values = (rng.random((n, p)) < rng.random(p)).astype(int)
    values[:, 0], values[:, 1] = 0, 1
    labels = rng.integers(0, 2, n).tolist()
    labels[:2] = [0, 1]
    return values, labels


def strided(values):
    wide = np.zeros((2 * values.shape[0], 3 * values.shape[1]), dtype=values.dtype)
    wide[::2, ::3] = values
    return wide[::2, ::3]


LAYOUTS = {
    "c": np.ascontiguousarray,
    "fortran": np.asfortranarray,
    "strided": strided,
    "reversed": lambda values: np.ascontiguousarray(values[::-1])[::-1],
}
DTYPES = ["int8", "uint8", "bool", "int16", "int64", "uint64", "float16", "float32", "float64"]


CUTS = ["auto", None, 0.5, "median"]
PAIRS = [  # all pairs of type and layout, each with a rule of its turn
    (dtype, layout, CUTS[(i + j) % 4])
    for i, dtype in enumerate(DTYPES)
    for j, layout in enumerate(LAYOUTS)
]


@pytest.mark.parametrize(("dtype", "layout", "binarize"), PAIRS)
def test_dense_zero_one_data_of_any_type_and_layout_are_counted(dtype, layout, binarize):
    values, labels = zero_one_table()
    given = LAYOUTS[layout](values.astype(dtype))
    screening = screen(given, labels, binarize=binarize)
    assert_counts(screening, values.tolist(), labels)


@pytest.mark.parametrize("n", [254, 255, 256, 511, 1021])
def test_counts_do_not_wrap_around_in_a_byte(n):
    labels = [0] * n + [1] * n
    screening = screen(np.ones((2 * n, 3), dtype=np.int8), labels)
    assert screening.ones.tolist() == [[n] * 3, [n] * 3]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nan_is_missing(dtype, layout):
    values, labels = zero_one_table()
    holes = np.random.default_rng(1).random(values.shape) < 0.2
    values = np.where(holes, NAN, values).astype(dtype)
    values[:, 4] = NAN
    values[np.array(labels) == 1, 5] = NAN
    assert_counts(screen(LAYOUTS[layout](values), labels), values.tolist(), labels)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64"])
@pytest.mark.parametrize("cut", [-1, 0.5, 3, 200])
def test_integers_are_cut_at_a_number_that_their_type_may_not_hold(dtype, cut):
    values = np.random.default_rng(0).integers(0, 7, (30, 5)).astype(dtype)
    labels = [0, 1] * 15
    assert_counts(screen(values, labels, binarize=cut), values.tolist(), labels, cut)


@pytest.mark.parametrize("cut", [-1, 0, 0.5, 1])
def test_booleans_are_cut_at_a_number(cut):
    values, labels = zero_one_table()
    assert_counts(screen(values.astype(bool), labels, binarize=cut), values.tolist(), labels, cut)


def test_float32_is_not_rounded_up_to_the_cut():
    below = np.float32(0.1)  # 0.10000000149..., above the double 0.1
    values = np.array([[below], [0.0], [below], [1.0]], dtype=np.float32)
    assert screen(values, [0, 0, 1, 1], binarize=0.1).ones.tolist() == [[1], [2]]


FORMATS = [
    getattr(sparse, f"{kind}_{shape}")
    for kind in ("csr", "csc", "coo", "lil", "bsr", "dia", "dok")
    for shape in ("matrix", "array")
]


@pytest.mark.parametrize("container", FORMATS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("dtype", ["int8", "int64", "float32", "float64"])
def test_sparse_data_of_any_kind_are_counted(container, dtype):
    values, labels = zero_one_table()
    assert_counts(screen(container(values.astype(dtype)), labels), values.tolist(), labels)


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix])
def test_boolean_sparse_data_are_counted(container):
    values, labels = zero_one_table()
    assert_counts(screen(container(values.astype(bool)), labels), values.tolist(), labels)


def untidy(container, values):
    """The same values with each cell in two unsorted parts, and with explicit zeros."""
    rows, columns = (index.ravel() for index in np.indices(values.shape))
    data = np.concatenate([values.ravel() - 2.0, np.full(values.size, 2.0)])
    order = np.random.default_rng(0).permutation(data.size)
    both = np.tile(rows, 2)[order], np.tile(columns, 2)[order]
    compressed, other = both if "csr" in container.__name__ else both[::-1]
    order_2 = np.argsort(compressed, kind="stable")
    length = values.shape[0 if "csr" in container.__name__ else 1]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(compressed, minlength=length))])
    return container((data[order][order_2], other[order_2], indptr), shape=values.shape)


@pytest.mark.parametrize("container", FORMATS[:4], ids=lambda kind: kind.__name__)
def test_duplicates_and_explicit_zeros_of_sparse_data_are_summed_without_touching_them(container):
    values, labels = zero_one_table()
    given = untidy(container, values)
    stored = given.data.copy()
    assert given.nnz == 2 * values.size
    np.testing.assert_array_equal(given.toarray(), values)
    assert_counts(screen(given, labels), values.tolist(), labels)
    np.testing.assert_array_equal(given.data, stored)


@pytest.mark.parametrize("container", FORMATS[:4], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("cut", ["auto", -1.5, -0.5, 0, 0.5, 2])
def test_sparse_data_are_cut_like_dense_data_with_missing_cells_stored(container, cut):
    rng = np.random.default_rng(3)
    values = np.where(rng.random((31, 9)) < 0.6, 0.0, rng.integers(-2, 4, (31, 9)))
    values[rng.random(values.shape) < 0.1] = NAN
    labels = [0, 1] * 15 + [1]
    screening = screen(container(values), labels, binarize=cut)
    reference = screen(values, labels, binarize=cut)
    np.testing.assert_array_equal(screening.ones, reference.ones)
    np.testing.assert_array_equal(screening.observed_full(), reference.observed_full())
    np.testing.assert_array_equal(screening.binarization.cut, reference.binarization.cut)
    np.testing.assert_array_equal(screening.binarization.high, reference.binarization.high)
    if cut != "auto":
        assert_counts(screening, values.tolist(), labels, cut)


def mixed_frame(n):
    rng = np.random.default_rng(5)
    columns = {
        "i8": rng.integers(0, 2, n).astype("int8"),
        "f8": np.where(rng.random(n) < 0.3, NAN, rng.integers(0, 2, n)),
        "b": rng.random(n) < 0.5,
        "u": rng.integers(0, 2, n).astype("uint16"),
    }
    nullable = [None if u < 0.3 else bool(u > 0.6) for u in rng.random(n)]
    plain = [[columns[name][i] for name in columns] for i in range(n)]
    for row, value in zip(plain, nullable, strict=True):
        row.extend([NAN if value is None else int(value)] * 2)
        row[:] = [float(cell) for cell in row]
    return columns, nullable, plain


def test_a_pandas_frame_of_mixed_and_nullable_types_is_counted():
    labels = [0, 1, 1] * 10
    columns, nullable, plain = mixed_frame(30)
    frame = pd.DataFrame(columns)
    frame["Int64"] = pd.array([None if v is None else int(v) for v in nullable], dtype="Int64")
    frame["boolean"] = pd.array(nullable, dtype="boolean")
    screening = screen(frame, labels)
    assert_counts(screening, plain, labels)
    assert screening.feature_names == tuple(frame.columns)


@pytest.mark.parametrize(
    "dtype", ["int8", "bool", "float32", "Int64", "boolean", "Float64", "object"]
)
def test_a_pandas_frame_of_one_type_is_counted(dtype):
    values, labels = zero_one_table()
    frame = pd.DataFrame(values, columns=list("abcdefghijk")).astype(dtype)
    assert_counts(screen(frame, labels), values.tolist(), labels)


def test_a_pandas_category_of_numbers_is_counted():
    frame = pd.DataFrame({"a": pd.Categorical([0, 1, 1, None]), "b": [0, 0, 1, 1]})
    assert_counts(screen(frame, [0, 1, 0, 1]), [[0, 0], [1, 0], [1, 1], [NAN, 1]], [0, 1, 0, 1])


def test_a_polars_frame_with_nulls_and_booleans_is_counted():
    labels = [0, 1, 1] * 10
    columns, nullable, plain = mixed_frame(30)
    frame = pl.DataFrame(columns).with_columns(
        pl.Series("int", [None if v is None else int(v) for v in nullable]),
        pl.Series("bool", nullable),
    )
    screening = screen(frame, labels)
    assert_counts(screening, plain, labels)
    assert screening.feature_names == tuple(frame.columns)


@pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt32, pl.Boolean, pl.Float32, pl.Int64])
def test_a_polars_frame_of_one_type_is_counted(dtype):
    values, labels = zero_one_table()
    frame = pl.DataFrame(values, schema=list("abcdefghijk")).cast(dtype)
    assert_counts(screen(frame, labels), values.tolist(), labels)


def test_a_polars_column_without_any_value_is_all_missing():
    frame = pl.DataFrame({"a": [None] * 4, "b": [0, 1, 0, 1]})
    screening = screen(frame, [0, 0, 1, 1])
    assert screening.observed.tolist() == [[0, 2], [0, 2]]
    assert screening.ones.tolist() == [[0, 1], [0, 1]]


def test_a_list_of_lists_is_counted():
    values, labels = zero_one_table()
    assert_counts(screen(values.tolist(), labels), values.tolist(), labels)
    holes = [[0, NAN], [1, 1], [NAN, 0], [0, 1]]
    assert_counts(screen(holes, [0, 1, 0, 1]), holes, [0, 1, 0, 1])


@dataclass
class ColumnFile:
    """A source of another kind: a list of columns, handed out in pairs."""

    columns: list
    feature_names: tuple

    @property
    def shape(self):
        return len(self.columns[0]), len(self.columns)

    def blocks(self):
        for start in range(0, len(self.columns), 2):
            part = np.array(self.columns[start : start + 2]).T
            yield Block(slice(0, part.shape[0]), slice(start, start + part.shape[1]), part)

    def take(self, columns):
        return np.array([self.columns[j] for j in columns]).T


def test_a_source_of_another_kind_is_counted():
    values, labels = zero_one_table()
    values = values.astype(float)
    values[3, 6] = values[20, 7] = NAN
    source = ColumnFile(values.T.tolist(), tuple("abcdefghijk"))
    screening = screen(source, labels)
    assert_counts(screening, values.tolist(), labels)
    assert screening.feature_names == source.feature_names


def peak_of(call):
    """Largest memory in use during a call beyond what was there before, in bytes."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow_cases("csr-False")
@pytest.mark.parametrize("ones_only", [True, False])
@pytest.mark.parametrize("kind", ["csc", "csr"])
def test_sparse_input_is_not_made_dense(kind, ones_only):
    n, p = 2000, 50_000
    given = sparse.random_array((n, p), density=0.002, format=kind, rng=np.random.default_rng(0))
    given.data[:] = 1.0 if ones_only else np.round(given.data * 4)
    labels = [0, 1] * (n // 2)
    screen(given[:, :10], labels)  # compile
    stored = given.data.nbytes + given.indices.nbytes + given.indptr.nbytes
    # A dense copy of bytes takes 100 MB, of floats 800 MB.
    assert peak_of(lambda: screen(given, labels)) < 2 * stored + 200 * p


@pytest.mark.parametrize("values", ["zero-one", "counts"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_integer_input_is_not_copied_to_floats(order, values):
    n, p = 500, 20_000
    top = 2 if values == "zero-one" else 5
    given = np.random.default_rng(0).integers(0, top, (n, p)).astype(np.int8, order=order)
    labels = [0, 1] * (n // 2)
    # The input takes 10 MB and a copy in floats 80 MB; blocks of bytes are allowed.
    assert peak_of(lambda: screen(given, labels)) < 3.5 * given.nbytes
