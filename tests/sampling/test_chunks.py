"""Long draws in chunks beside a checkpoint: written once, resumed from, checked."""

import shutil

import numpy as np
import pytest
from model_files import changed

from honestbayes.files import ModelFileError
from honestbayes.files.fields import Floats
from honestbayes.sampling import chains, checkpoint
from honestbayes.sampling.chains import Form, Schedule
from honestbayes.sampling.runs import Sampling, sample

EACH = 5
"""Draws in a chunk."""


class Walk:
    """A random walk that may be stopped as by Ctrl-C."""

    def __init__(self, stop_at=None):
        self.stop_at, self.n = stop_at, 0

    def step(self, rng, state):
        self.n += 1
        if self.stop_at is not None and self.n > self.stop_at:
            raise KeyboardInterrupt
        x = state["x"] + rng.normal(size=3)
        return {"x": x}, {"x": x}

    def form(self):
        drawn = Floats("n_chains", "n_draws", 3)
        return Form(state={"x": Floats("n_chains", 3)}, drawn={"x": drawn})


def run(path, n_draws, kernel=None, n_doublings=0):
    sampling = Sampling(
        Schedule(2, n_draws),
        2,
        np.random.SeedSequence(0),
        checkpoint=path,
        n_doublings=n_doublings,
    )
    starts = [{"x": np.zeros(3)} for _ in range(2)]
    kernel = Walk() if kernel is None else kernel
    try:
        return sample(kernel, lambda _: starts, sampling, agree=lambda _: False)
    except KeyboardInterrupt:  # before anything was kept
        return None, True


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch):
    monkeypatch.setattr(checkpoint, "CHUNK_BYTES", EACH * 2 * 3 * 8)
    monkeypatch.setattr(chains, "SAVE_EVERY", -1.0)


def names(folder):
    return sorted(place.name for place in folder.iterdir())


def test_draws_go_on_to_be_the_same_and_chunks_are_written_once(tmp_path, monkeypatch):
    written = []
    write = checkpoint.write_archive

    def counted(path, kind, content, arrays):
        drawn = [a.shape[1] for name, a in arrays.items() if name in ("x", "drawn.x")]
        written.append((path.name, sum(drawn)))
        write(path, kind, content, arrays)

    monkeypatch.setattr(checkpoint, "write_archive", counted)
    path = tmp_path / "c"
    part, _ = run(path, 13)
    assert names(tmp_path) == ["c", "c.draws-0-1", "c.draws-0-2"]
    longer, _ = run(path, 100)
    whole, _ = run(None, 100)
    np.testing.assert_array_equal(part["x"], whole["x"][:, :13])
    np.testing.assert_array_equal(longer["x"], whole["x"])
    assert len(names(tmp_path)) == 1 + 100 // EACH
    of_chunks = [name for name, _ in written if name != "c"]
    assert len(of_chunks) == len(set(of_chunks)) == 100 // EACH
    # The checkpoint itself holds less than a chunk of draws.
    assert max(length for name, length in written if name == "c") < EACH


@pytest.mark.parametrize("stop_at", [1, 7, 11, 12, 13, 18, 21])
def test_a_run_that_was_interrupted_goes_on(stop_at, tmp_path):
    _, interrupted = run(tmp_path / "c", 20, Walk(2 * stop_at))
    assert interrupted
    on, _ = run(tmp_path / "c", 20)
    np.testing.assert_array_equal(on["x"], run(None, 20)[0]["x"])


@pytest.mark.parametrize("stop_at", [10, 25, 40, 44, 60, 80, 100])
def test_stages_write_chunks_anew_and_remove_the_old(stop_at, tmp_path):
    _, interrupted = run(tmp_path / "c", 20, Walk(2 * stop_at), n_doublings=2)
    on, _ = run(tmp_path / "c", 20, n_doublings=2)
    np.testing.assert_array_equal(on["x"], run(None, 20, n_doublings=2)[0]["x"])
    assert interrupted == (stop_at < 88)
    assert names(tmp_path) == ["c", *(f"c.draws-2-{k}" for k in (1, 2, 3, 4))]


def test_a_process_killed_between_chunk_and_checkpoint_loses_the_last_minute_only(
    tmp_path, monkeypatch
):
    path = tmp_path / "c"
    run(path, 12)
    write = checkpoint.write_archive

    def killed(where, kind, content, arrays):
        if where == path:
            raise SystemExit
        write(where, kind, content, arrays)

    monkeypatch.setattr(chains, "SAVE_EVERY", 60.0)
    monkeypatch.setattr(checkpoint, "write_archive", killed)
    with pytest.raises(SystemExit):
        run(path, 40)
    assert "c.draws-0-3" in names(tmp_path)
    monkeypatch.setattr(checkpoint, "write_archive", write)
    on, _ = run(path, 40)
    np.testing.assert_array_equal(on["x"], run(None, 40)[0]["x"])


def test_chunks_that_are_missing_damaged_or_others_are_refused(tmp_path):
    path = tmp_path / "c"
    run(path, 12)
    shutil.copy(path, tmp_path / "alone")
    with pytest.raises(
        ModelFileError, match=r"'alone.draws-0-1', which is not in its folder.*again"
    ):
        run(tmp_path / "alone", 20)
    first, second = tmp_path / "c.draws-0-1", tmp_path / "c.draws-0-2"
    good = first.read_bytes()
    shutil.copy(second, first)
    with pytest.raises(ModelFileError, match="does not hold the draws"):
        run(path, 20)
    raw = bytearray(good)
    raw[len(raw) // 2] ^= 1
    first.write_bytes(raw)
    with pytest.raises(ModelFileError, match="damaged"):
        run(path, 20)
    first.write_bytes(good)
    run(path, 20)


@pytest.mark.parametrize(
    "other",
    [
        None,
        [],
        {"generation": 0, "n_draws": [5, 5], "digest": ["a"]},
        {"generation": -1, "n_draws": [], "digest": []},
        {"generation": 0, "n_draws": [5, 0], "digest": ["a", "b"]},
        {"generation": 0, "n_draws": [5, "5"], "digest": ["a", "b"]},
        {"generation": 0, "n_draws": [5, 5], "digest": ["a", 3]},
        {"generation": "../x", "n_draws": [], "digest": []},
    ],
    ids=str,
)
def test_a_checkpoint_that_names_no_chunks_is_refused(other, tmp_path):
    run(tmp_path / "c", 12)

    def change(document, _arrays):
        document["content"]["chunks"] = other

    changed(tmp_path / "c", tmp_path / "forged", change)
    with pytest.raises(ModelFileError, match="chunks are not those of a checkpoint"):
        run(tmp_path / "forged", 20)


def test_a_checkpoint_from_before_chunks_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "CHUNK_BYTES", 1 << 24)
    run(tmp_path / "c", 12)
    changed(tmp_path / "c", tmp_path / "old", lambda document, _: document["content"].pop("chunks"))
    on, _ = run(tmp_path / "old", 20)
    np.testing.assert_array_equal(on["x"], run(None, 20)[0]["x"])


def test_a_run_that_starts_anew_leaves_no_chunks_of_the_last(tmp_path):
    run(tmp_path / "c", 40)
    (tmp_path / "c").unlink()
    (tmp_path / "c.draws-notes").write_text("mine")
    run(tmp_path / "c", 12)
    assert names(tmp_path) == ["c", "c.draws-0-1", "c.draws-0-2", "c.draws-notes"]
