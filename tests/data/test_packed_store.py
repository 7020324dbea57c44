"""Packed stores hold the bits of the table, give the same probabilities, and refuse damage."""

import json
import pickle
import random
import threading
import zlib
from pathlib import Path

import numpy as np
import pytest
from cut_source import grid
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from honestbayes import SelectiveBernoulliNB, SelectiveGaussianNB
from honestbayes.data import open_store, pack_store, packed_store, packing
from honestbayes.data.packed_store import PackedStore, StoreError
from honestbayes.data.source import RowsOf
from honestbayes.selection import screen


def flags(n=60, p=40, seed=0):
    generator = np.random.default_rng(seed)
    y = np.arange(n) % 2
    chance = 0.3 + 0.3 * np.outer(y, np.arange(p) < 4)
    return (generator.random((n, p)) < chance).astype(np.int8), y


@pytest.fixture
def store(tmp_path):
    """A store of ten parts with names and labels."""
    X, y = flags()
    names = [f"gene {j}" for j in range(40)]
    return pack_store(X, tmp_path / "genes", labels=y, names=names, columns_per_file=4)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@settings(max_examples=40, deadline=None)
@given(
    n=st.one_of(st.integers(1, 9), st.sampled_from([63, 64, 65, 127, 128, 129, 200])),
    p=st.integers(1, 30),
    width=st.integers(1, 35),
    rows=st.sets(st.integers(1, 199), max_size=5),
    columns=st.sets(st.integers(1, 29), max_size=3),
    seed=st.integers(0, 2**31),
)
def test_the_bits_are_those_of_the_table_however_it_comes(
    tmp_path_factory, n, p, width, rows, columns, seed
):
    generator = np.random.default_rng(seed)
    X = generator.integers(0, 2, (n, p), dtype=np.uint8)
    turned = X if seed % 2 else np.asfortranarray(X)
    cut = grid(
        turned,
        sorted(row for row in rows if row < n),
        sorted(c for c in columns if c < p),
        seed=seed,
    )
    folder = tmp_path_factory.mktemp("stores")
    store = pack_store(cut, folder / "a", columns_per_file=width)
    assert contents(folder / "a") == contents(
        pack_store(sparse.csr_array(X), folder / "b", columns_per_file=width).folder
    )
    some = generator.integers(0, p, 7)
    np.testing.assert_array_equal(store.take(some), X[:, some])
    places = np.flatnonzero(generator.random(n) < 0.5)
    np.testing.assert_array_equal(store.take_rows(places, some), X[np.ix_(places, some)])
    # The layout, in words of its own: case i is bit i % 64 of word i // 64, from the lowest.
    for number in range(-(-p // width)):
        words = np.fromfile(folder / "a" / f"part-{number:05}.bits", dtype="<u8")
        of_part = X[:, number * width : (number + 1) * width]
        expected = [
            sum(int(bit) << i for i, bit in enumerate(column[start : start + 64]))
            for column in of_part.T
            for start in range(0, n, 64)
        ]
        assert words.tolist() == expected


def test_little_room_takes_more_passes_and_gives_the_same_store(tmp_path, monkeypatch):
    X, _ = flags(100, 50)
    whole = pack_store(X, tmp_path / "whole", columns_per_file=3)
    monkeypatch.setattr(packing, "ROOM", 100)  # of the 48 bytes of a part
    by_rows = grid(X, list(range(7, 100, 7)), [20], seed=1)
    passes = []
    blocks = by_rows.blocks
    by_rows.blocks = lambda: passes.append(1) or blocks()
    store = pack_store(by_rows, tmp_path / "rows", columns_per_file=3)
    assert len(passes) > 5
    assert contents(store.folder) == contents(whole.folder)


@pytest.mark.parametrize("recalibrate", [None, "bayes"])
def test_selection_and_probabilities_are_the_same_to_the_last_bit(store, recalibrate):
    X, y = flags()
    model = SelectiveBernoulliNB(n_features_to_select=5, random_state=0, recalibrate=recalibrate)
    expected = model.fit(X, y).predict_log_proba(X)
    selection = model.selection_
    model.fit(store, store.labels)
    assert model.selection_.columns == selection.columns
    assert model.selection_.n_discarded == selection.n_discarded
    assert model.selection_.class_counts == selection.class_counts
    np.testing.assert_array_equal(model.predict_log_proba(store), expected)
    assert list(model.feature_names_in_) == [f"gene {j}" for j in range(40)]


def test_counts_of_medians_and_moments_are_those_of_the_array(store):
    X, y = flags()
    for option in ("auto", "median", 0.5, None):
        found, expected = screen(store, y, binarize=option), screen(X, y, binarize=option)
        np.testing.assert_array_equal(found.ones, expected.ones)
        assert found.binarization.equals(expected.binarization)
    model = SelectiveGaussianNB(n_features_to_select=3, recalibrate=None, random_state=0)
    expected = model.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(model.fit(store, y).predict_proba(store), expected, rtol=1e-12)


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_the_number_of_threads_changes_nothing(store, monkeypatch, n_threads):
    X, y = flags()
    used = set()
    read = PackedStore.read_part

    def reading(self, part):
        used.add(threading.get_ident())
        return read(self, part)

    monkeypatch.setattr(PackedStore, "read_part", reading)
    monkeypatch.setattr(packed_store, "cpu_count", lambda: n_threads)
    found = screen(store, y)
    np.testing.assert_array_equal(found.ones, [X[y == c].sum(axis=0) for c in (0, 1)])
    assert (threading.get_ident() in used) == (n_threads == 1)
    rows = np.flatnonzero(np.arange(60) % 7 != 3)
    part = screen(RowsOf(store, rows), y[rows])
    np.testing.assert_array_equal(part.ones, [X[rows][y[rows] == c].sum(axis=0) for c in (0, 1)])


@pytest.mark.parametrize("chunks", [(60, 7), (13, 40), (17, 11)])
def test_dask_arrays_and_lazy_frames_are_packed_too(store, tmp_path, chunks):
    X, y = flags()
    names = [f"gene {j}" for j in range(40)]
    lazy = pytest.importorskip("dask.array").from_array(X, chunks=chunks)
    polars = pytest.importorskip("polars")
    frame = polars.LazyFrame(X.astype(float), schema=names)
    for number, source in enumerate((lazy, frame)):
        packed = pack_store(
            source, tmp_path / str(number), labels=y, names=names, columns_per_file=4
        )
        assert contents(packed.folder) == contents(store.folder)
    X[3, 5] = 2
    wrong = pytest.importorskip("dask.array").from_array(X, chunks=chunks)
    with pytest.raises(ValueError, match="column 5 holds 2 in row 3"):
        pack_store(wrong, tmp_path / "wrong")


def test_a_store_holds_names_labels_and_can_be_sent_to_another_process(store):
    again = pickle.loads(pickle.dumps(open_store(store.folder)))
    assert again.feature_names == tuple(f"gene {j}" for j in range(40))
    np.testing.assert_array_equal(again.labels, np.arange(60) % 2)
    np.testing.assert_array_equal(again.take(np.arange(40)), flags()[0])
    assert repr(again) == "PackedStore('genes', 60 rows, 40 columns)"
    again.verify()


@pytest.mark.parametrize("labels", [["ill", "well"], [False, True], [1.0, 2.0], [-3, 7]])
def test_labels_come_back_as_they_were(tmp_path, labels):
    y = np.array(labels)[np.arange(60) % 2]
    found = pack_store(flags()[0], tmp_path / "s", labels=y).labels
    assert found.dtype == y.dtype
    np.testing.assert_array_equal(found, y)


def test_measurements_are_cut_and_new_rows_alike(tmp_path):
    generator = np.random.default_rng(3)
    X, y = generator.normal(size=(51, 6)), np.arange(51) % 2
    X[:, 5] = y + 2  # two values stay two values
    store = pack_store(X, tmp_path / "s", binarize="auto", columns_per_file=4)
    ones = np.column_stack([X[:, :5] > np.median(X[:, :5], axis=0), y == 1])
    np.testing.assert_array_equal(store.take(np.arange(6)), ones)
    new = generator.normal(size=(9, 6))
    new[:, 5] = 3
    new[4, 2] = np.nan
    expected = np.column_stack([new[:, :5] > np.median(X[:, :5], axis=0), new[:, 5] > 2]) * 1.0
    expected[4, 2] = np.nan
    np.testing.assert_array_equal(open_store(store.folder).zero_one(new), expected)
    np.testing.assert_array_equal(
        pack_store(X, tmp_path / "t", binarize=0.25).take(np.arange(6)), X > 0.25
    )


@pytest.mark.parametrize(
    ("cell", "complaint"),
    [
        (2, "column 'c' holds 2.0 in row 17; a packed store holds only 0 and 1; cut"),
        (np.nan, "column 'c' is missing in row 17; a packed store cannot hold missing cells"),
    ],
)
def test_a_cell_that_is_no_bit_is_refused_by_column_and_row(tmp_path, cell, complaint):
    X = flags(30, 3)[0].astype(float)
    X[17, 2] = cell
    for cut in (X, grid(X, [5, 11], [1])):
        with pytest.raises(ValueError, match="row 17") as error:
            pack_store(cut, tmp_path / "s", names="abc")
        assert str(error.value).startswith(complaint)
        assert list(tmp_path.iterdir()) == []  # it will be another table when it is corrected


# ------------------------------------------------------------------------------ damage


def flip(path, place=11):
    content = bytearray(path.read_bytes())
    content[place] ^= 4
    path.write_bytes(content)


@pytest.mark.parametrize("name", ["part-00003.bits", "names.json", "labels.bin"])
def test_a_damaged_byte_is_refused_naming_the_file(store, name):
    flip(store.folder / name)
    again = open_store(store.folder)
    complaint = (
        f"genes is damaged: {name} does not have the checksum that was written; copy the "
        "store again, or remove it and pack the table again."
    )
    with pytest.raises(ValueError, match="checksum") as error:
        again.verify()
    assert str(error.value) == complaint
    with pytest.raises(ValueError, match="checksum") as error:
        screen(again, again.labels)
    assert str(error.value) == complaint


def test_a_damaged_part_is_refused_when_some_of_its_columns_are_read(store):
    flip(store.folder / "part-00003.bits")
    again = open_store(store.folder)
    again.take(np.array([0, 11, 16]))
    with pytest.raises(ValueError, match="part-00003"):
        again.take(np.array([13]))
    open_store(store.folder, verify_reads=False).take(np.array([13]))


def test_a_missing_or_short_part_is_refused_on_opening(store):
    part = store.folder / "part-00009.bits"
    part.write_bytes(part.read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"part-00009.bits has 31 bytes instead of 32; copy"):
        open_store(store.folder)
    with pytest.raises(ValueError, match=r"part-00009.bits is missing or too short; copy"):
        store.take(np.array([39]))
    part.unlink()
    with pytest.raises(ValueError, match=r"genes is damaged: part-00009.bits is missing; copy"):
        open_store(store.folder)


HEADERS = {
    "not JSON": lambda _: b"{",
    "another format": lambda header: json.dumps({**header, "format": "x"}).encode(),
    "fewer columns": lambda header: json.dumps({**header, "columns": 39}, indent=1).encode(),
    "no parts": lambda header: json.dumps({**header, "parts": []}, indent=1).encode(),
    "a list": lambda _: b"[1]",
    "deep": lambda _: b"[" * 100_000,
    "empty": lambda _: b"",
}


@pytest.mark.parametrize("change", HEADERS.values(), ids=HEADERS)
def test_an_odd_header_is_refused(store, change):
    path = store.folder / "store.json"
    path.write_bytes(change(json.loads(path.read_bytes())))
    with pytest.raises(ValueError, match=r"genes is (not a packed store|damaged): store\.json "):
        open_store(store.folder)


@settings(max_examples=60, deadline=None)
@given(place=st.integers(0, 10**6), bit=st.integers(0, 7))
def test_no_changed_bit_of_the_header_is_accepted(tmp_path_factory, place, bit):
    X, y = flags(10, 9)
    folder = tmp_path_factory.mktemp("s") / "s"
    path = pack_store(X, folder, labels=y, columns_per_file=2).folder / "store.json"
    content = bytearray(path.read_bytes())
    content[place % len(content)] ^= 1 << bit
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"s is|s was"):
        open_store(folder)


def test_a_newer_store_and_what_is_none_are_refused(store, tmp_path):
    path = store.folder / "store.json"
    path.write_bytes(path.read_bytes().replace(b'"version": 1', b'"version": 2'))
    with pytest.raises(ValueError, match="packed by a newer honestbayes; update"):
        open_store(store.folder)
    with pytest.raises(ValueError, match="there is no folder nothing"):
        open_store(tmp_path / "nothing")
    with pytest.raises(ValueError, match=r"not a packed store: it has no store\.json"):
        open_store(tmp_path)


# ------------------------------------------------------------------------------ forged stores


def forge(folder, written=(), **header):
    """Change fields of a store's header and its files, with checksums that are right again."""
    content = json.loads((folder / "store.json").read_bytes())
    del content["checksum"]
    for name, data in dict(written).items():
        (folder / name).write_bytes(data)
        content["files"][name] = [len(data), zlib.crc32(data)]
    content |= header
    write_header(folder, content)


def write_header(folder, content):
    own = zlib.crc32(json.dumps(content, sort_keys=True).encode())
    text = json.dumps({**content, "checksum": own}, indent=1) + "\n"
    (folder / "store.json").write_bytes(text.encode())


def read_all(folder):
    """Everything that a store holds, or why it is refused."""
    try:
        store = open_store(folder)
        store.verify()
        return store.feature_names, store.labels, store.binarization, screen(store, store.labels)
    except StoreError as error:
        return error


def names_of(change):
    """The 40 names of the store, in JSON, with the first one changed."""
    return json.dumps([change, *(f"gene {j}" for j in range(1, 40))]).encode()


NAMES = {
    "nested": b"[" * 100_000 + b"]" * 100_000,
    "not UTF-8": b'["\xff\xfe"]',
    "UTF-16": names_of("gene 0").decode().encode("utf-16"),
    "empty": b"",
    "a long number": b"[" + b"1" * 4_300 + b"]",
    "a longer number": b"[" + b"1" * 5_000 + b"]",
    "not a list": b"{}",
    "too few": b'["a"]',
    "a number": names_of(7),
    "nothing": names_of(None),
    "a list of names": names_of(["gene 0"]),
    "the same name twice": names_of("gene 1"),
}


@pytest.mark.parametrize("content", NAMES.values(), ids=NAMES)
def test_forged_names_are_refused_in_one_sentence(store, content):
    forge(store.folder, {"names.json": content})
    again = open_store(store.folder)
    complaint = (
        "genes is damaged: names.json does not hold a different text for each column; copy the "
        "store again, or remove it and pack the table again."
    )
    with pytest.raises(StoreError) as error:
        again.feature_names  # noqa: B018  the names are read when they are asked for
    assert str(error.value) == complaint
    with pytest.raises(StoreError, match="does not hold a different text"):
        again.verify()
    with pytest.raises(StoreError) as error:
        SelectiveBernoulliNB(recalibrate=None).fit(again, flags()[1])
    assert str(error.value) == complaint


@pytest.mark.parametrize("n_bytes", [0, 3, 4, 239, 241, 480])
def test_labels_of_another_size_than_the_rows_are_refused_on_opening(store, n_bytes):
    forge(store.folder, {"labels.bin": bytes(n_bytes)})
    with pytest.raises(StoreError, match=f"labels.bin has {n_bytes} bytes instead of 240; copy"):
        open_store(store.folder)


@pytest.mark.parametrize("name", ["labels.bin", "cuts.bin", "names.json"])
def test_a_file_of_eight_gigabytes_is_refused_by_its_size_before_it_is_read(
    store, name, monkeypatch
):
    forge(store.folder, {name: b""})
    content = json.loads((store.folder / "store.json").read_bytes())
    forge(store.folder, files={**content["files"], name: [8 << 30, 0]})
    with (store.folder / name).open("wb") as file:
        file.truncate(8 << 30)  # sparse: it takes no room
    monkeypatch.setattr(Path, "read_bytes", lambda path: pytest.fail(f"{path.name} was read"))
    with pytest.raises(StoreError, match=f"{name} has 8,589,934,592 bytes"):
        open_store(store.folder)
    if name != "cuts.bin":  # one that has grown since the store was opened
        with pytest.raises(StoreError, match=f"{name} has 8,589,934,592 bytes"):
            store.verify()


@pytest.mark.parametrize("codes", [[-1] * 60, [2] * 60, [2**31 - 1] * 60])
def test_labels_that_are_no_class_are_refused(store, codes):
    forge(store.folder, {"labels.bin": np.array(codes, dtype="<i4").tobytes()})
    with pytest.raises(StoreError, match=r"labels.bin does not hold the class of each row; copy"):
        open_store(store.folder).labels  # noqa: B018


CLASSES = {
    "mixed": [0, "a"],
    "a number and a truth value": [0, True],
    "whole and not": [0, 1.5],
    "nested": [[0], [1]],
    "objects": [{}, {}],
    "nothing": [None, None],
    "NaN": [0.0, float("nan")],
    "infinite": [0.0, float("inf")],
    "the same": [1, 1],
    "one": [0],
    "none": [],
    "not sorted": [1, 0],
    "beyond 64 bits": [0, 2**64],
    "4,300 digits": [0, 10**4299],
    "no list": "ab",
}


@pytest.mark.parametrize("classes", CLASSES.values(), ids=CLASSES)
def test_classes_that_no_table_has_are_refused(store, classes):
    forge(store.folder, classes=classes)
    with pytest.raises(StoreError, match=r"genes is damaged: store\.json holds .*class.*; copy"):
        open_store(store.folder)


def test_deeply_nested_classes_are_refused(store):
    path = store.folder / "store.json"
    text = path.read_text().replace('"classes": [', '"classes": [' + "[" * 900, 1)
    path.write_text(text.replace("1\n ]", "1\n ]" + "]" * 900, 1))
    with pytest.raises(StoreError, match=r"genes is (damaged|no packed store): store\.json"):
        open_store(store.folder)


@pytest.mark.parametrize("field", ["rows", "columns", "columns_per_part"])
@pytest.mark.parametrize("number", [2**70, 10**4299, 0, -1, 1.5, True, None, "4", [4]])
def test_a_shape_that_no_table_has_is_refused(store, field, number):
    parts = [0] if field == "columns_per_part" else [0] * 10
    forge(store.folder, **{field: number, "parts": parts})
    complaint = rf"store\.json holds a number of {field} that is not from 1 to 1,099,511,627,776; "
    with pytest.raises(StoreError, match=complaint):
        open_store(store.folder)


@pytest.mark.parametrize(
    "field", [{"version": "1"}, {"version": 0}, {"files": []}, {"files": {"x": [1, 2]}}]
    + [{"files": {"names.json": value}} for value in (None, [1], [1, -1], ["1", 2], [[], []])]
    + [{"parts": value} for value in (None, {}, [None] * 10, [[]] * 10, [0.5] * 10, [0] * 9)],
)  # fmt: skip
def test_a_header_that_no_store_has_is_refused(store, field):
    forge(store.folder, **field)
    with pytest.raises(StoreError, match=r"genes is damaged: store\.json [^\n]*; copy the store"):
        open_store(store.folder)


@pytest.mark.parametrize("cut", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 40])
def test_cuts_that_are_no_cuts_are_refused(store, cut, place):
    cuts = np.concatenate([np.zeros(40), np.ones(40)])
    cuts[place + 7] = cut
    forge(store.folder, {"cuts.bin": cuts.tobytes()})
    again = open_store(store.folder)
    if place and np.isnan(cut):
        assert np.isnan(again.binarization.high[7])  # a column that had more than two values
        return
    with pytest.raises(StoreError, match=r"cuts.bin does not hold a cut of column 7; copy"):
        again.binarization  # noqa: B018


def test_a_part_may_be_wider_than_the_table(tmp_path):
    X, _ = flags()
    store = pack_store(X, tmp_path / "s", columns_per_file=2**70)
    np.testing.assert_array_equal(store.take(np.arange(40)), X)


ODD = [None, True, 0, -1, 3, 2**63, 10**400, 0.5, float("nan"), "", "é", [], [0], {}, [[[]]]]


def test_a_mutated_store_is_refused_or_read(tmp_path):
    """Headers and files changed at random, with valid checksums: no other error, and no crash."""
    X, y = flags(20, 9)
    folder = tmp_path / "s"
    pack_store(X, folder, labels=y, names="abcdefghi", columns_per_file=4, binarize="auto")
    good = contents(folder)
    n_read = 0
    for seed in range(400):
        for name, data in good.items():
            (folder / name).write_bytes(data)
        rng = random.Random(seed)
        if rng.random() < 0.5:
            name = rng.choice(["names.json", "labels.bin", "cuts.bin"])
            data = bytearray(good[name])
            data[rng.randrange(len(data))] = rng.randrange(256)
            forge(folder, {name: bytes(data)})
        else:
            content = json.loads(good["store.json"])
            del content["checksum"]
            where, key = content, rng.choice(list(content))
            while isinstance(where[key], dict | list) and where[key] and rng.random() < 0.7:
                where = where[key]
                key = rng.choice(list(where if isinstance(where, dict) else range(len(where))))
            where[key] = rng.choice(ODD)
            write_header(folder, content)
        read = read_all(folder)
        if isinstance(read, StoreError):
            assert "\n" not in str(read), seed
            continue
        n_read += 1
        _, labels, binarization, found = read
        assert np.all(np.isfinite(binarization.cut)), seed
        assert found.ones.shape == (np.unique(labels).size, 9), seed
    assert 50 < n_read < 300
