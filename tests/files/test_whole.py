"""Files and folders are written whole or not at all, also by a process that is killed."""

import os
import random
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from honestbayes.files import atomic, atomic_folder, atomic_write


def hidden(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def fill(folder, text, n_files=5):
    for number in range(n_files):
        (folder / f"{number}.txt").write_text(text)


def texts(folder):
    return {path.name: path.read_text() for path in Path(folder).iterdir()}


# ------------------------------------------------------------------------------------- files


def test_a_file_is_there_when_the_block_ends_and_not_before(tmp_path):
    target = tmp_path / "out.txt"
    with atomic_write(target) as temporary:
        temporary.write_text("new")
        assert not target.exists()
        assert temporary.parent == tmp_path
        assert temporary.name.startswith(".out.txt.honestbayes-")
    assert target.read_text() == "new"
    assert hidden(tmp_path) == []


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_file_stays_as_it_was_when_the_block_raises(tmp_path, error):
    target = tmp_path / "out.txt"
    target.write_text("old")

    def stopped():
        with atomic_write(target) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(error):
        stopped()
    assert target.read_text() == "old"
    assert hidden(tmp_path) == []


def test_a_block_that_removes_its_file_changes_nothing(tmp_path):
    (tmp_path / "out").write_text("old")
    with pytest.raises(FileNotFoundError), atomic_write(tmp_path / "out") as temporary:
        temporary.unlink()
    assert (tmp_path / "out").read_text() == "old"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_modes_are_those_that_umask_leaves(tmp_path, mask, mode):
    before = os.umask(mask)
    try:
        with atomic_write(tmp_path / "out") as temporary:
            temporary.write_text("new")
        with atomic_folder(tmp_path / "folder"):
            pass
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == mode
    assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) == 0o777 & ~mask


def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with atomic_write(tmp_path / "link") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_relative_path_and_a_long_name_are_fine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("out", "x" * 255, "é" * 127):
        with atomic_write(name) as temporary:
            temporary.write_text(name)
        assert Path(name).read_text() == name


def test_what_cannot_be_a_target_is_refused(tmp_path):
    with pytest.raises(IsADirectoryError), atomic_write(tmp_path):
        pass
    with pytest.raises(FileNotFoundError, match="No such folder"), atomic_write(tmp_path / "a/b"):
        pass
    (tmp_path / "file").write_text("old")
    with pytest.raises(NotADirectoryError), atomic_folder(tmp_path / "file"):
        pass
    assert (tmp_path / "file").read_text() == "old"
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(OSError, match="Not a regular file"), atomic_write(tmp_path / "pipe"):
            pass


# ----------------------------------------------------------------------------------- folders


@pytest.fixture(params=["exchange", "two renames"])
def way(request, monkeypatch):
    """Both ways of replacing a folder."""
    if request.param == "two renames":
        monkeypatch.setattr(atomic, "_exchange", lambda *_: False)
    return request.param


@pytest.mark.usefixtures("way")
def test_a_folder_replaces_an_older_one_with_all_that_it_held(tmp_path):
    target = tmp_path / "report"
    for text in ("first", "second", "third"):
        with atomic_folder(target) as temporary:
            fill(temporary, text, 2 + len(text))
            (temporary / "inner").mkdir()
            (temporary / "inner" / "a").write_text(text)
            (temporary / "inner" / "a").chmod(0o444)
        assert (target / "inner" / "a").read_text() == text
        assert len(list(target.iterdir())) == 3 + len(text)
        assert hidden(tmp_path) == []


@pytest.mark.usefixtures("way")
def test_a_folder_stays_as_it_was_when_the_block_raises(tmp_path):
    target = tmp_path / "report"
    target.mkdir()
    fill(target, "old")

    def stopped():
        with atomic_folder(target) as temporary:
            fill(temporary, "half")
            raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011 - it is raised right above
        stopped()
    assert set(texts(target).values()) == {"old"}
    assert hidden(tmp_path) == []


def test_an_empty_folder_is_replaced_too(tmp_path):
    (tmp_path / "report").mkdir()
    with atomic_folder(tmp_path / "report") as temporary:
        fill(temporary, "new")
    assert len(texts(tmp_path / "report")) == 5


def test_the_old_folder_comes_back_where_the_second_rename_fails(tmp_path, monkeypatch):
    target = tmp_path / "report"
    target.mkdir()
    fill(target, "old")
    monkeypatch.setattr(atomic, "_exchange", lambda *_: False)
    right = Path.rename
    calls = []

    def rename(self, to):
        calls.append(self)
        if len(calls) == 3:  # the first finds the target in its place, the second moves that
            raise OSError("no space left")
        return right(self, to)

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(OSError, match="no space"), atomic_folder(target) as temporary:
        fill(temporary, "new")
    assert len(calls) == 4
    assert set(texts(target).values()) == {"old"}
    assert hidden(tmp_path) == []


@pytest.mark.skipif(sys.platform not in ("linux", "darwin"), reason="there is no such call here")
def test_two_folders_change_places_in_one_call(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        fill(tmp_path / name, name)
    if not atomic._exchange(tmp_path / "a", tmp_path / "b"):
        pytest.skip("this file system cannot exchange names")
    assert set(texts(tmp_path / "a").values()) == {"b"}
    assert set(texts(tmp_path / "b").values()) == {"a"}
    with pytest.raises(FileNotFoundError):
        atomic._exchange(tmp_path / "a", tmp_path / "absent")


# -------------------------------------------------------------------------------- left-overs


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_old_left_overs_of_the_same_target_are_removed(tmp_path, kind):
    old = [tmp_path / f".out.honestbayes-{letter * 16}" for letter in "ab"]
    old[0].write_text("left")
    old[1].mkdir()
    fill(old[1], "left")
    others = [
        tmp_path / ".out.honestbayes-cccccccccccccccc",  # young: its process may be at work
        tmp_path / ".other.honestbayes-dddddddddddddddd",  # of another target
        tmp_path / ".out.honestbayes-mine",  # not our name
        tmp_path / ".out",
    ]
    for path in others:
        path.write_text("keep")
    long_ago = time.time() - 25 * 3600
    for path in [*old, *others[1:]]:
        os.utime(path, (long_ago, long_ago))
    if kind == "file":
        with atomic_write(tmp_path / "out") as temporary:
            temporary.write_text("new")
    else:
        with atomic_folder(tmp_path / "out"):
            pass
    assert not any(path.exists() for path in old)
    assert all(path.read_text() == "keep" for path in others)


# -------------------------------------------------------------------------------------- kill

# Reads the one file that it needs, because importing the package takes longer than the writing.
_WRITER = """
import runpy, sys
module, kind, target = sys.argv[1:]
names = runpy.run_path(module)
atomic_write, atomic_folder = names["atomic_write"], names["atomic_folder"]
version = 0
print("ready", flush=True)
while True:
    version += 1
    if kind == "file":
        with atomic_write(target) as path, path.open("w") as file:
            for line in range(200):
                file.write(f"{version}\\n")
                if line % 50 == 0:
                    file.flush()
    else:
        with atomic_folder(target) as path:
            for number in range(6):
                (path / f"{number}.txt").write_text(f"{version}\\n")
"""


def writer(kind, target):
    return [sys.executable, "-c", _WRITER, atomic.__file__, kind, str(target)]


def versions(kind, target):
    """Versions of which the target holds parts, and the number of parts."""
    if kind == "file":
        lines = target.read_text().splitlines()
    else:
        lines = [text.strip() for text in texts(target).values()]
    return set(lines), len(lines)


def kill_writers(kind, folder, rounds, seed):
    """Kill writers at random moments, and look at what they left.

    On a machine that is busy many are killed before they have written anything: there are more
    rounds then, until three versions were seen.
    """
    rng = random.Random(seed)
    target = folder / "target"
    seen = set()
    done = 0
    while done < rounds or (len(seen) < 3 and done < 20 * rounds):
        done += 1
        begin = time.monotonic()
        with subprocess.Popen(writer(kind, target), stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            # On a busy machine writers are slow, as their start has shown: they get more time.
            slowness = max(1.0, (time.monotonic() - begin) / 0.1)
            time.sleep(slowness * rng.uniform(0.01, 0.12))
            process.send_signal(signal.SIGKILL)
        if not target.exists():
            continue  # killed before the first version was complete
        found, parts = versions(kind, target)
        assert len(found) == 1
        assert parts == (200 if kind == "file" else 6)
        seen |= found
    return seen


@pytest.mark.slow_cases("folder")
@pytest.mark.skipif(sys.platform != "linux", reason="signals, and the exchange, are Linux's")
@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_killed_writer_leaves_a_complete_version(tmp_path, kind):
    assert len(kill_writers(kind, tmp_path, 12, 0)) > 2


@pytest.mark.skipif(sys.platform != "linux", reason="the exchange is Linux's")
def test_a_reader_always_finds_a_folder_while_it_is_replaced(tmp_path):
    target = tmp_path / "target"
    with subprocess.Popen(writer("folder", target), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        while not target.exists():
            time.sleep(0.001)
        end = time.monotonic() + 1.0
        looks = 0
        while time.monotonic() < end:
            assert target.is_dir()
            looks += 1
        process.kill()
    assert looks > 1000
