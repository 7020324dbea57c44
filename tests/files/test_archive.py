"""The container of a model file: any plain data come back, and nothing else does."""

import json
import os
import struct
import subprocess
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model_files import header_of, npy, put_together, taken_apart, with_header

from honestbayes.files import ModelFileError, read_archive, write_archive
from honestbayes.files.fields import Entries, texts_as_arrays

CONTENT = {"a": [1, 2.5, None, True, "é\x00"], "b": {"c": 10**300}}
ARRAYS = {
    "x": np.arange(6.0).reshape(2, 3),
    "y.z": np.array([-(2**63), 2**63 - 1]),
    "flags": np.array([True, False]),
    "bytes": np.array([0, 255], dtype=np.uint8),
    "none": np.zeros((0, 4)),
}


@pytest.fixture
def good(tmp_path):
    write_archive(tmp_path / "good.honestbayes", "a kind", CONTENT, ARRAYS)
    return tmp_path / "good.honestbayes"


def refused(path, match):
    with pytest.raises(ModelFileError, match=match) as caught:
        read_archive(path)
    text = str(caught.value)
    assert text.startswith(repr(path.name))
    assert text.endswith(".")
    assert "\n" not in text
    assert str(path.parent) not in text


def test_data_come_back(good):
    archive = read_archive(good)
    assert archive.kind == "a kind"
    assert archive.content == CONTENT
    assert sorted(archive.arrays) == sorted(ARRAYS)
    for name, array in ARRAYS.items():
        found = archive.arrays[name]
        assert (found.dtype, found.shape) == (array.dtype, array.shape)
        assert found.tobytes() == array.tobytes()
        assert found.flags.c_contiguous
        assert found.flags.writeable


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    content=st.dictionaries(
        st.text(max_size=5),
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers(-(10**50), 10**50)
            | st.floats(allow_nan=False, allow_infinity=False)
            | st.text(max_size=8),
            lambda inner: (
                st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
            ),
            max_leaves=8,
        ),
        max_size=4,
    ),
    shape=st.lists(st.integers(0, 4), min_size=1, max_size=3),
    raw=st.binary(min_size=512, max_size=512),
)
def test_any_plain_data_come_back(tmp_path, content, shape, raw):
    array = np.frombuffer(raw, "<f8")[: np.prod(shape)].reshape(shape)
    write_archive(tmp_path / "any", "kind", content, {"a": array})
    archive = read_archive(tmp_path / "any")
    assert archive.content == content
    assert archive.arrays["a"].tobytes() == array.tobytes()
    assert archive.arrays["a"].shape == array.shape


def test_a_transposed_array_is_stored_in_c_order(tmp_path):
    write_archive(tmp_path / "t", "kind", {}, {"a": ARRAYS["x"].T})
    assert np.array_equal(read_archive(tmp_path / "t").arrays["a"], ARRAYS["x"].T)


@settings(max_examples=100, deadline=None)
@given(texts=st.lists(st.text(st.characters(codec=None), max_size=10), max_size=6))
def test_any_texts_come_back_even_halves_of_characters(texts):
    texts = [*texts, "\ud800", "\ud83d\ude00", "\x00"]
    entries = Entries({}, texts_as_arrays("names", texts))
    assert list(entries.texts("names")) == texts
    assert Entries({}, texts_as_arrays("names", [])).texts("names") == ()


@pytest.mark.parametrize(
    ("content", "arrays", "message"),
    [
        ({"a": float("nan")}, {}, "plain data"),
        ({"a": np.float32(1)}, {}, "plain data"),
        ({}, {"a": np.zeros(2, dtype=np.float32)}, "cannot be stored"),
        ({}, {"a": np.array([object()])}, "cannot be stored"),
        ({}, {"../a": np.zeros(2)}, "cannot be stored"),
        ({}, {"A": np.zeros(2)}, "cannot be stored"),
        ({"a": "x" * 17 * 2**20}, {}, "bytes, more than"),
        ({}, {f"a{j}": np.zeros(1) for j in range(1000)}, "more than one file may hold"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_not_plain_data_is_not_written(tmp_path, content, arrays, message):
    with pytest.raises(ValueError, match=message):
        write_archive(tmp_path / "bad", "kind", content, arrays)
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------- damaged files


def test_every_file_that_was_cut_off_is_refused(good, tmp_path):
    data = good.read_bytes()
    for size in range(0, len(data), 7):
        (tmp_path / "bad").write_bytes(data[:size])
        refused(tmp_path / "bad", "is damaged|is not a model file")


def test_a_changed_byte_of_any_entry_is_found(good, tmp_path):
    data = bytearray(good.read_bytes())
    with zipfile.ZipFile(good) as file:
        infos = file.infolist()
    for info in infos:
        start = info.header_offset + 30 + len(info.filename)
        for position in range(start, start + info.file_size, 11):
            data[position] ^= 1
            (tmp_path / "bad").write_bytes(data)
            refused(tmp_path / "bad", "is damaged")
            data[position] ^= 1


def test_a_changed_byte_anywhere_gives_the_same_data_or_is_found(good, tmp_path):
    data = bytearray(good.read_bytes())
    unseen = 0
    for position in range(len(data)):
        data[position] ^= 0x10
        (tmp_path / "bad").write_bytes(data)
        try:
            archive = read_archive(tmp_path / "bad")
        except ModelFileError:
            pass
        else:
            unseen += 1
            assert archive.content == CONTENT
            assert all(np.array_equal(archive.arrays[name], ARRAYS[name]) for name in ARRAYS)
        data[position] ^= 0x10
    # What unzip makes of the file mode and the like is of no concern.
    assert unseen <= len(ARRAYS) * 8 + 8


def test_other_files_are_refused(tmp_path):
    for name, data in (("empty", b""), ("text", b"hello\n" * 50), ("pickle", b"\x80\x04K\x01.")):
        (tmp_path / name).write_bytes(data)
        refused(tmp_path / name, "is not a model file")
    np.savez(tmp_path / "arrays.npz", a=np.zeros(3))
    refused(tmp_path / "arrays.npz", "is damaged|is not a model file|holds no model.json")
    put_together(tmp_path / "zip", {"a.npy": npy(np.zeros(2))})
    refused(tmp_path / "zip", "holds no model.json")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", "is not a regular file")


def test_a_large_file_is_refused_before_it_is_read(good):
    with pytest.raises(ModelFileError, match="more than the 100 allowed"):
        read_archive(good, largest=100)


def test_a_sparse_file_beyond_the_limit_is_refused(tmp_path):
    with (tmp_path / "large").open("wb") as file:
        file.truncate(2**31)
    refused(tmp_path / "large", "more than the 2147483647 allowed")


def entries_of(good):
    return taken_apart(good)


def test_compressed_entries_are_refused_before_they_are_unpacked(good, tmp_path):
    entries = {**entries_of(good), "x.npy": npy(np.zeros(20_000_000))}
    put_together(tmp_path / "bomb", entries, zipfile.ZIP_DEFLATED)
    assert (tmp_path / "bomb").stat().st_size < 300_000
    tracemalloc.start()
    refused(tmp_path / "bomb", "compressed or encrypted")
    assert tracemalloc.get_traced_memory()[1] < 2_000_000
    tracemalloc.stop()


def described(good, **change):
    document = json.loads(entries_of(good)["model.json"])
    return json.dumps({**document, **change}).encode()


def test_entries_are_exactly_those_that_are_declared(good, tmp_path):
    entries = entries_of(good)
    bad = tmp_path / "bad"
    put_together(bad, {name: data for name, data in entries.items() if name != "x.npy"})
    refused(bad, r"not those that it declares \('x.npy'\)")
    put_together(bad, {**entries, "more.npy": npy(np.zeros(1))})
    refused(bad, r"not those that it declares \('more.npy'\)")
    put_together(bad, {**entries, "é.npy": npy(np.zeros(1))})
    refused(bad, "compressed or encrypted|not one of a model file")
    with pytest.warns(UserWarning, match="Duplicate name"):
        put_together(bad, [*entries.items(), ("x.npy", entries["x.npy"])])
    refused(bad, "holds 'x.npy' twice")
    put_together(bad, {**entries, "model.json": described(good, arrays=["x", "x"])})
    refused(bad, "names of its arrays")
    put_together(bad, {**entries, "model.json": described(good, arrays=["../x"])})
    refused(bad, "names of its arrays")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[1, 2]", "not a model file of honestbayes"),
        (b'{"format": "honestbayes", "schema": NaN}', "the number NaN"),
        (b'{"format": "honestbayes", "schema": -Infinity}', "the number -Infinity"),
        (b'{"format": "honestbayes", "schema": 1e999}', "the number 1e999"),
        (b'{"format": "honestbayes", "schema": ' + b"9" * 1001 + b"}", "the number 9999"),
        (b'{"format": "honestbayes", "schema": ' + b"9" * 9999 + b"}", "the number 9999"),
        (b'{"format": "honestbayes", "format": "honestbayes"}', "names something twice"),
        (b'{"format": "honestbayes", "schema": true}', "names no schema"),
        (b'{"format": "honestbayes", "schema": 1}', "missing or unknown entries"),
        (b'{"a": ' * 17 + b"1" + b"}" * 17, "too deep"),
        (b"[" * 100_000, "too deep"),
        (b'{"a":' * 100_000, "too deep"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_a_description_that_is_not_strict_json_is_refused(good, tmp_path, text, message):
    put_together(tmp_path / "bad", {**entries_of(good), "model.json": text})
    refused(tmp_path / "bad", message)


@pytest.mark.parametrize(
    "header",
    [
        header_of("<f4", shape=(12,)),
        header_of(">f8", shape=(2, 3)),
        header_of("|O", shape=(6,)),
        header_of("<f8", order=True, shape=(2, 3)),
        header_of(shape=(2, 4)),
        header_of(shape=(10**12,)),
        header_of(shape=(0, 10**18)),
        header_of(shape=(0, 10**9, 10**9)),
        header_of(shape=(-2, -3)),
        header_of(shape=(2, 3, 1, 1, 1)),
        "{'descr': '<f8', 'shape': (2, 3), }",
        "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (6,), }",
        "__import__('os').mkdir('executed')",
        "(" * 400,
        "x" * 5000,
    ],
    ids=lambda value: value[:60],
)
def test_an_array_that_is_not_plain_numbers_is_refused(good, tmp_path, header, monkeypatch):
    monkeypatch.chdir(tmp_path)
    entries = entries_of(good)
    put_together(tmp_path / "bad", {**entries, "x.npy": with_header(entries["x.npy"], header)})
    refused(tmp_path / "bad", "an array")
    assert not (tmp_path / "executed").exists()


def test_truth_values_are_0_or_1(good, tmp_path):
    entries = entries_of(good)
    entries["flags.npy"] = entries["flags.npy"][:-1] + b"\x02"
    put_together(tmp_path / "bad", entries)
    refused(tmp_path / "bad", "truth values")


def test_a_directory_that_lies_is_refused(good, tmp_path):
    data = good.read_bytes()
    end = bytearray(data[-22:])
    for start, form, value in (
        (4, "<H", 1),  # number of this disk
        (8, "<H", 2),  # entries here
        (10, "<H", 60_000),  # entries
        (12, "<L", 2**32 - 1),  # size of the directory
        (16, "<L", 0),  # its place
        (20, "<H", 5),  # length of a comment
    ):
        changed = bytearray(end)
        struct.pack_into(form, changed, start, value)
        (tmp_path / "bad").write_bytes(data[:-22] + changed)
        refused(tmp_path / "bad", "is damaged")
    (tmp_path / "bad").write_bytes(b"PK\x03\x04 more before" + data)
    refused(tmp_path / "bad", "is damaged")
    (tmp_path / "bad").write_bytes(data + b"more after")
    refused(tmp_path / "bad", "is damaged")


_LIMITED = """
import resource, sys
from honestbayes.files import ModelFileError, read_archive
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 64 * 2**20,) * 2)
for path in sys.argv[1:]:
    try:
        read_archive(path)
    except ModelFileError as error:
        print(error)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the limit is set as Linux has it")
def test_no_file_makes_the_reader_allocate_more_than_it_holds(good, tmp_path):
    entries = entries_of(good)
    paths = []
    for number, shape in enumerate([(10**9,), (10**12,), (0, 10**10), (2**31, 2**31, 2**31)]):
        path = tmp_path / f"bad{number}"
        header = with_header(entries["x.npy"], header_of(shape=shape))
        put_together(path, {**entries, "x.npy": header})
        paths.append(path)
    put_together(
        tmp_path / "bomb", {**entries, "x.npy": npy(np.zeros(10**7))}, zipfile.ZIP_DEFLATED
    )
    lying = bytearray(good.read_bytes())
    with zipfile.ZipFile(good) as file:
        place = file.start_dir
    struct.pack_into("<LL", lying, place + 20, 2**32 - 2, 2**32 - 2)
    (tmp_path / "lying").write_bytes(lying)
    paths += [tmp_path / "bomb", tmp_path / "lying"]
    result = subprocess.run(
        [sys.executable, "-c", _LIMITED, *map(str, paths)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stderr == ""
    assert len(result.stdout.splitlines()) == len(paths)
