"""Packing that is killed, or finds the disk full, leaves no store, and goes on where it stopped."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import killed_packer
import numpy as np
import pytest
from killed_packer import WIDTH, SlowSource, pack

from honestbayes.data import open_store, pack_store, packing

PACKER = Path(killed_packer.__file__)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """What a store holds that was packed without a break."""
    store, _ = pack(tmp_path_factory.mktemp("whole") / "s")
    return contents(store.folder)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the test kills a process")
def test_killed_processes_leave_no_store_and_the_next_goes_on(tmp_path, expected):
    target, kills = tmp_path / "s", 0
    unfinished = tmp_path / "s.partial" / "store"
    for n_parts in (3, 17, 41):
        child = subprocess.Popen([sys.executable, PACKER, target])
        limit = time.monotonic() + 60
        while len(list(unfinished.glob("part-*"))) < n_parts:
            assert time.monotonic() < limit
            assert child.poll() is None
            time.sleep(0.002)
        child.send_signal(signal.SIGKILL)
        child.wait()
        kills += 1
        with pytest.raises(ValueError, match="s is incomplete: packing was interrupted"):
            open_store(target)
        assert not target.exists()
    steps = []
    store, source = pack(target, progress=lambda done, total: steps.append((done, total)))
    assert kills == 3
    # The last part may have been written and not listed.
    assert 40 <= steps[0][0] < steps[-1][0] == 50
    assert contents(store.folder) == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s"]
    store.verify()
    np.testing.assert_array_equal(store.take(np.arange(1000)), source.cut.values)


def full_disk_after(n_calls, monkeypatch):
    """Let a disk be full after some calls of fsync."""
    left, fsync = [n_calls], os.fsync

    def full(handle):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", full)


@pytest.mark.parametrize("n_calls", [0, 1, 2, 3, 4, 5, 30, 151, 153, 155, 157])
def test_a_full_disk_leaves_nothing_that_opens(tmp_path, monkeypatch, expected, n_calls):
    with monkeypatch.context() as patch:
        full_disk_after(n_calls, patch)
        with pytest.raises(OSError, match="the disk is full; make room, and pack") as error:
            pack(tmp_path / "s")
        assert error.value.errno == errno.ENOSPC
        assert Path(error.value.filename).name == "s"
    with pytest.raises(ValueError, match=r"s is incomplete|there is no folder s"):
        open_store(tmp_path / "s")
    store, _ = pack(tmp_path / "s")
    assert contents(store.folder) == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s"]


@pytest.mark.parametrize("n_calls", [0, 1, 20, 51, 52])
def test_a_disk_that_is_full_while_it_is_written_to_is_said_to_be(
    tmp_path, monkeypatch, expected, n_calls
):
    left, write_bytes = [n_calls], Path.write_bytes

    def full(path, content):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return write_bytes(path, content)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        with pytest.raises(OSError, match="the disk is full; make room, and pack"):
            pack(tmp_path / "s")
    assert not (tmp_path / "s").exists()
    store, _ = pack(tmp_path / "s")
    assert contents(store.folder) == expected


def test_a_part_that_cannot_be_written_is_written_again(tmp_path, monkeypatch, expected):
    with monkeypatch.context() as patch:
        real = packing.checksum
        seen = []

        def broken(content):
            if isinstance(content, np.ndarray) and content.dtype == np.uint64:
                seen.append(content)
                if len(seen) == 9:
                    raise OSError(errno.EIO, "Input/output error")
            return real(content)

        patch.setattr(packing, "checksum", broken)
        with pytest.raises(OSError, match="Input/output error"):
            pack(tmp_path / "s")
    journal = tmp_path / "s.partial" / "done.txt"
    assert len(journal.read_text().split("\n")) == 9  # an empty line, and eight parts
    journal.write_text(journal.read_text()[:-1])  # a line that is not whole
    store, _ = pack(tmp_path / "s")
    assert contents(store.folder) == expected


OTHERS = {
    "other cells": {"seed": 1},
    "other names": {"names": [f"x{j}" for j in range(1000)]},
    "another cut": {"binarize": 0.5},
}


@pytest.mark.parametrize("options", OTHERS.values(), ids=OTHERS)
def test_an_unfinished_store_of_another_table_is_refused(tmp_path, monkeypatch, options):
    with monkeypatch.context() as patch:
        full_disk_after(30, patch)
        with pytest.raises(OSError, match="the disk is full"):
            pack(tmp_path / "s")
    before = contents(tmp_path / "s.partial" / "store")
    with pytest.raises(ValueError, match=r"s\.partial is an unfinished store of another table"):
        pack(tmp_path / "s", **options)
    assert contents(tmp_path / "s.partial" / "store") == before


def test_a_table_that_was_changed_where_nobody_looks_is_refused_too(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        full_disk_after(30, patch)
        with pytest.raises(OSError, match="the disk is full"):
            pack(tmp_path / "s")
    before = contents(tmp_path / "s.partial" / "store")
    changed = SlowSource()
    changed.cut.values = 1 - changed.cut.values
    sample = SlowSource()
    changed.take = sample.take
    with pytest.raises(ValueError, match=r"s\.partial is an unfinished store of another table"):
        pack_store(changed, tmp_path / "s", labels=np.arange(150) % 3, columns_per_file=WIDTH)
    assert contents(tmp_path / "s.partial" / "store") == before


def test_what_exists_is_not_replaced(tmp_path):
    store, _ = pack(tmp_path / "s")
    with pytest.raises(ValueError, match="s exists; choose another name, or remove it"):
        pack(tmp_path / "s")
    store.verify()
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ValueError, match="file exists"):
        pack(tmp_path / "file")
    (tmp_path / "t.partial").mkdir()
    (tmp_path / "t.partial" / "mine").write_text("mine")
    with pytest.raises(ValueError, match=r"t\.partial is an unfinished store of another table"):
        pack(tmp_path / "t")
    with pytest.raises(FileNotFoundError):
        pack(tmp_path / "no" / "s")


def test_killed_when_only_the_scraps_were_left(tmp_path, monkeypatch, expected):
    with monkeypatch.context() as patch:
        patch.setattr(packing.shutil, "rmtree", lambda _: None)
        pack(tmp_path / "s")
    assert (tmp_path / "s.partial").exists()
    store, source = pack(tmp_path / "s")
    assert source.n_read == 0
    assert contents(store.folder) == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s"]


def test_what_cannot_be_packed_is_refused_at_once(tmp_path):
    X = np.zeros((4, 3))
    y = [0, 1, 0, 1]
    for options, complaint in (
        ({"names": ["a", "b"]}, "names holds 2 names, but X has 3 columns"),
        ({"names": ["a", "b", "a"]}, "column name 'a' occurs twice"),
        ({"labels": y[:3]}, "X has 4 rows, y has 3"),
        ({"labels": np.array(y).astype("M8[D]")}, "labels are of type date; give texts or numbers"),
        ({"columns_per_file": 0}, "columns_per_file=0 is not a number of columns"),
        ({"binarize": "mean"}, "binarize='mean' is not one of"),
    ):
        with pytest.raises(ValueError, match=complaint):
            pack_store(X, tmp_path / "s", **options)
        assert list(tmp_path.iterdir()) == [], options
