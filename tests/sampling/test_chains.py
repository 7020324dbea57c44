"""Chains: streams, schedules, interruption, checkpoints."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import terminated_run

from honestbayes.files import ModelFileError
from honestbayes.files.fields import Counts, Floats
from honestbayes.sampling import chains
from honestbayes.sampling.chains import Form, Schedule, advance, start
from honestbayes.sampling.checkpoint import fingerprint, read_checkpoint, write_checkpoint
from honestbayes.sampling.draws import Draws, _without_rounding, diagnose

SCHEDULE = Schedule(n_warmup=7, n_draws=20, thin=3)


class Walk:
    """An autoregressive walk in two dimensions, and a count of its sweeps."""

    def __init__(self, pause=0.0):
        self.pause = pause

    def step(self, rng, state):
        time.sleep(self.pause)
        x = 0.5 * state["x"] + rng.normal(size=2)
        n = state["n"] + 1
        return {"x": x, "n": n}, {"x": x, "first": x[0], "sweep": n}

    def form(self):
        chain, drawn = ("n_chains",), ("n_chains", "n_draws")
        return Form(
            state={"x": Floats(*chain, 2), "n": Counts(*chain)},
            drawn={"x": Floats(*drawn, 2), "first": Floats(*drawn), "sweep": Counts(*drawn)},
        )


def starts(n_chains=3):
    return [{"x": np.full(2, float(c)), "n": np.array(0)} for c in range(n_chains)]


def run(schedule=SCHEDULE, seed=0, **words):
    began = start(starts(), np.random.SeedSequence(seed))
    return advance(Walk(), began, schedule, **words)


def read(path, of="me", schedule=SCHEDULE):
    found = read_checkpoint(path, of, Walk().form().like(starts()), [schedule])
    return None if found is None else found[0]


def equal(a, b):
    assert a.values.keys() == b.values.keys()
    for name in a.values:
        np.testing.assert_array_equal(a[name], b[name])


def test_draws_are_those_of_a_plain_loop_on_spawned_streams():
    done, interrupted = run()
    assert not interrupted
    assert done.draws["x"].shape == (3, 20, 2)
    for c, child in enumerate(np.random.SeedSequence(0).spawn(3)):
        rng, state, kept = np.random.Generator(np.random.PCG64(child)), starts()[c], []
        for sweep in range(1, SCHEDULE.n_sweeps + 1):
            state, info = Walk().step(rng, state)
            if sweep > 7 and (sweep - 7) % 3 == 0:
                kept.append(info["x"])
        np.testing.assert_array_equal(done.draws["x"][c], kept)


def test_the_number_of_processes_changes_nothing():
    equal(run(n_jobs=1)[0].draws, run(n_jobs=3)[0].draws)


def test_the_seed_given_is_not_used_up():
    seed = np.random.SeedSequence(5)
    first = start(starts(), seed)
    assert first.chains[0].stream == start(starts(), seed).chains[0].stream
    assert seed.n_children_spawned == 0


def test_chains_and_seeds_differ():
    draws = run()[0].draws["first"]
    assert not np.array_equal(draws[0], draws[1])
    assert not np.array_equal(draws, run(seed=1)[0].draws["first"])


@pytest.mark.parametrize("at", [1, 7, 8, 30])
def test_stopped_and_resumed_runs_give_the_same_draws(at, tmp_path):
    whole, _ = run()
    began = start(starts(), np.random.SeedSequence(0))
    schedule = Schedule(at, 0) if at <= 7 else Schedule(7, (at - 7) // 3, 3)
    part, _ = advance(Walk(), began, schedule)
    write_checkpoint(tmp_path / "c", part, "me")
    resumed, _ = advance(Walk(), read(tmp_path / "c"), SCHEDULE)
    equal(whole.draws, resumed.draws)


def test_an_interrupt_keeps_what_was_drawn_and_the_rest_follows(tmp_path):
    schedule = Schedule(2, 400)
    whole, _ = run(schedule)
    began = start(starts(), np.random.SeedSequence(0))
    saved = []
    timer = threading.Timer(1.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    part, interrupted = advance(Walk(0.005), began, schedule, save=saved.append)
    timer.cancel()
    assert interrupted
    assert saved[-1] is part
    assert 0 < part.draws.n_draws < 400
    np.testing.assert_array_equal(part.draws["x"], whole.draws["x"][:, : part.draws.n_draws])
    write_checkpoint(tmp_path / "c", part, "me")
    resumed, interrupted = advance(Walk(), read(tmp_path / "c", schedule=schedule), schedule)
    assert not interrupted
    equal(whole.draws, resumed.draws)


class Deaf(Walk):
    """Is interrupted in its first sweeps, and loses every exception, as compiled code may."""

    def __init__(self, times):
        super().__init__()
        self.left = times

    def step(self, rng, state):
        if self.left > 0:
            self.left -= 1
            try:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.01)
            except KeyboardInterrupt:
                pass
        return super().step(rng, state)


def test_an_interrupt_that_would_be_lost_is_noted():
    before = signal.getsignal(signal.SIGINT)
    began = start(starts(), np.random.SeedSequence(0))
    stopped, interrupted = advance(Deaf(1), began, Schedule(0, 10_000))
    assert interrupted
    assert 1 <= stopped.draws.n_draws < 10_000
    assert signal.getsignal(signal.SIGINT) is before
    done, _ = advance(Walk(), stopped, Schedule(0, 40))
    equal(done.draws, run(Schedule(0, 40))[0].draws)


def test_a_handler_of_the_program_s_own_is_left_alone():
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append(1))
    try:
        began = start(starts(), np.random.SeedSequence(0))
        _, interrupted = advance(Deaf(1), began, Schedule(0, 20))
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [1]
    assert not interrupted


def test_a_second_request_stops_at_once():
    class Twice(Walk):
        def step(self, rng, state):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
            return super().step(rng, state)

    began = start(starts(), np.random.SeedSequence(0))
    clock = time.monotonic()
    stopped, interrupted = advance(Twice(), began, Schedule(0, 20))
    assert interrupted
    assert stopped.draws.n_draws == 0
    assert time.monotonic() - clock < 4


def test_progress_and_checkpoints_are_told(monkeypatch):
    monkeypatch.setattr(chains, "SAVE_EVERY", 0.0)
    told, saved = [], []
    run(progress=lambda done, total: told.append((done, total)), save=saved.append)
    assert told[-1] == (3 * SCHEDULE.n_sweeps, 3 * SCHEDULE.n_sweeps)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert saved[-1].chains[0].n_sweeps == SCHEDULE.n_sweeps
    assert len(saved) >= 3


def test_a_checkpoint_of_another_run_or_of_something_else_is_refused(tmp_path):
    done, _ = run()
    assert read(tmp_path / "none") is None
    write_checkpoint(tmp_path / "c", done, "me")
    with pytest.raises(ValueError, match="c is the checkpoint of a run with other data"):
        read(tmp_path / "c", "you")
    raw = bytearray((tmp_path / "c").read_bytes())
    raw[len(raw) // 2] ^= 1
    (tmp_path / "c").write_bytes(raw)
    with pytest.raises(ModelFileError):
        read(tmp_path / "c")


def test_a_fingerprint_tells_data_and_settings_apart():
    x = np.arange(6.0)
    same = fingerprint(x, {"a": 1}, "s")
    assert same == fingerprint(x.copy(), {"a": 1}, "s")
    others = [(x.reshape(2, 3), {"a": 1}, "s"), (x + 1, {"a": 1}, "s"), (x, {"a": 2}, "s")]
    others += [(x.astype(int), {"a": 1}, "s"), (x, {"a": 1})]
    assert len({same, *(fingerprint(*parts) for parts in others)}) == 6


def test_draws_are_pooled_chain_by_chain():
    draws = Draws({"x": np.arange(12).reshape(2, 3, 2)}, 2)
    assert draws.pooled("x").tolist() == np.arange(12).reshape(6, 2).tolist()
    assert draws.n_draws == 3
    assert Draws({}, 2).n_draws == 0


def test_good_chains_have_no_problems_and_bad_ones_are_named():
    generator = np.random.default_rng(0)
    good = generator.normal(size=(4, 500))
    apart = good + np.arange(4)[:, None]
    slow = np.cumsum(generator.normal(size=(4, 500)), axis=1) / 500 + 0.0
    found = diagnose({"good": good, "apart": apart})
    assert len(found.problems()) == 1
    assert "chains disagree about apart (R-hat" in found.problems()[0]
    assert found.rhat[0] < 1.01
    assert found.mcse[0] == pytest.approx(1 / np.sqrt(found.ess_bulk[0]), rel=0.1)
    assert "slow" in " ".join(diagnose({"slow": slow}).problems())
    assert "good" in str(found)
    assert found.to_dict()["name"] == ["good", "apart"]


def test_few_independent_draws_are_said_to_be_few():
    generator = np.random.default_rng(1)
    sticky = np.repeat(generator.normal(size=(4, 20)), 25, axis=1)
    (words,) = diagnose({"sticky": sticky}).problems()
    assert "effective sample size" in words or "disagree" in words


def test_one_chain_alone_is_said_to_be_one():
    (words,) = diagnose({"x": np.random.default_rng(0).normal(size=(1, 500))}).problems()
    assert words == "one chain of x cannot be compared with others; run more"


def test_what_never_moved_agrees_or_does_not():
    still = np.ones((3, 50))
    found = diagnose({"still": still, "frozen": still * np.arange(3)[:, None]})
    assert found.rhat.tolist() == [1.0, np.inf]
    assert len(found.problems()) == 1


@pytest.mark.usefixtures("arviz")
def test_two_values_half_and_half_are_judged_without_a_warning():
    draws = np.random.default_rng(0).permuted(np.tile([0.0, 1.0], (4, 50)), axis=1)
    assert diagnose({"flag": draws}).rhat[0] < 1.05


def test_draws_go_to_arviz():
    done, _ = run()
    data = done.draws.to_arviz(["x"], ["first"])
    assert data.posterior["x"].shape == (3, 20, 2)
    assert data.sample_stats["first"].shape == (3, 20)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="elsewhere SIGTERM ends a process at once")
def test_a_process_that_is_told_to_end_saves_its_chains_first(tmp_path):
    process = subprocess.Popen(
        [sys.executable, terminated_run.__file__, str(tmp_path / "c")], stderr=subprocess.PIPE
    )
    with process.stderr as told:
        said = b""
        while said.count(b"sampling:") < 6:
            said += told.read(1)
        assert not (tmp_path / "c").exists()  # it is not yet time for one
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == -signal.SIGTERM
        assert b"Traceback" not in told.read()
    stopped, _ = terminated_run.run(tmp_path / "c", Schedule(5, 1))
    assert stopped.n_draws == 1
    again, _ = terminated_run.run(tmp_path / "c", Schedule(5, 200))
    whole, _ = terminated_run.run(None, Schedule(5, 200))
    equal(again, whole)


def test_handlers_of_both_signals_are_as_before_and_without_a_place_only_one_is_taken():
    seen = []

    class Looking(Walk):
        def step(self, rng, state):
            seen.append((signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)))
            return super().step(rng, state)

    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    assert before == (signal.default_int_handler, signal.SIG_DFL)
    for save in (None, lambda _: None):
        advance(Looking(), start(starts(), np.random.SeedSequence(0)), Schedule(0, 1), save=save)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    without, with_place = seen[0], seen[-1]
    assert without[0] is not before[0]
    assert without[1] == signal.SIG_DFL
    assert with_place[1] != signal.SIG_DFL


def test_without_a_folder_for_arviz_one_sentence_says_so(monkeypatch, tmp_path):
    (tmp_path / "arviz.py").write_text("raise PermissionError(13, 'Permission denied')")
    monkeypatch.delitem(sys.modules, "arviz", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match=r"XDG_CACHE_HOME .* \(Permission denied\)\."):
        Draws({"x": np.zeros((1, 2))}, 1).to_arviz(["x"])


def rounded_draws(offset, noise, seed=0):
    """Four values in chains that agree, each wrong by rounding that differs between chains."""
    rng = np.random.default_rng(seed)
    exact = offset + rng.choice([0.0, 0.4, 0.9, 1.3], size=(4, 500))
    return exact, exact + noise * np.arange(4)[:, None]


@pytest.mark.parametrize(("offset", "noise"), [(0.0, 8e-12), (-1000.0, 1e-12), (-1e6, 1e-8)])
@pytest.mark.parametrize("seed", range(5))
def test_values_that_differ_by_rounding_alone_do_not_look_like_chains_that_disagree(
    offset, noise, seed
):
    exact, computed = rounded_draws(offset, noise, seed)
    found, expected = diagnose({"score": computed}), diagnose({"score": exact})
    assert found.rhat[0] == pytest.approx(expected.rhat[0], abs=1e-9)
    assert found.ess_bulk[0] == pytest.approx(expected.ess_bulk[0])
    assert found.ess_tail[0] == pytest.approx(expected.ess_tail[0])
    assert found.rhat[0] < 1.01


def test_a_value_that_never_moved_but_for_rounding_has_an_rhat_of_1():
    _, computed = rounded_draws(100.0, 1e-13)
    constant = 100.0 + (computed - computed.round(6))
    assert np.ptp(constant) > 0
    assert diagnose({"score": constant}).rhat.tolist() == [1.0]


def test_draws_of_a_continuous_quantity_are_judged_as_they_are():
    draws = np.random.default_rng(0).normal(size=(4, 500)) + 1e4
    np.testing.assert_allclose(_without_rounding(draws), draws, rtol=1e-11)
    apart = draws + np.arange(4)[:, None]
    assert diagnose({"x": apart}).rhat[0] > 1.2
