"""Chains that go on until they agree: which draws are kept, and that nothing else decides."""

import numpy as np
import pytest

from honestbayes.files.fields import Counts, Floats
from honestbayes.sampling.chains import Form, Schedule, start
from honestbayes.sampling.draws import Draws, diagnose
from honestbayes.sampling.runs import Sampling, at_stage, kept_on, sample, stage_of


class Count:
    """A random walk that counts its sweeps, and may be interrupted in one of them."""

    def __init__(self, stop_at=None):
        self.stop_at = stop_at

    def step(self, rng, state):
        n = int(state["n"]) + 1
        if n == self.stop_at:
            self.stop_at = None
            raise KeyboardInterrupt
        x = state["x"] + rng.normal()
        return {"x": x, "n": np.array(n)}, {"x": float(x), "sweep": n}

    def form(self):
        drawn = {"x": Floats("n_chains", "n_draws"), "sweep": Counts("n_chains", "n_draws")}
        return Form(state={"x": Floats("n_chains"), "n": Counts("n_chains")}, drawn=drawn)


def starts(_seed):
    return [{"x": np.array(float(c)), "n": np.array(0)} for c in range(2)]


def agree_after(n_sweeps):
    return lambda draws: draws["sweep"].max() >= n_sweeps


def run(warmup, samples, doublings, until, kernel=None, **words):
    seed = np.random.SeedSequence(3)
    sampling = Sampling(Schedule(warmup, samples), 2, seed, n_doublings=doublings, **words)
    try:
        return sample(kernel or Count(), starts, sampling, agree=agree_after(until))
    except KeyboardInterrupt:  # before anything was kept
        return None, True


@pytest.mark.parametrize(("warmup", "samples"), [(3, 10), (10, 10), (0, 7), (12, 4), (5, 9)])
@pytest.mark.parametrize("stage", [0, 1, 2, 3])
def test_each_stage_keeps_its_own_share_of_its_own_sweeps(warmup, samples, stage):
    until = (warmup + samples) << stage
    draws, interrupted = run(warmup, samples, 3, until)
    assert not interrupted
    expected = (warmup + np.arange(1, samples + 1)) << stage
    np.testing.assert_array_equal(draws["sweep"], [expected, expected])


def test_chains_end_where_they_may_not_be_made_longer():
    draws, _ = run(3, 10, 1, 10**9)
    assert draws["sweep"].max() == 26
    assert run(3, 10, 0, 10**9)[0]["sweep"].max() == 13


@pytest.mark.parametrize("stop_at", [2, 9, 13, 14, 20, 26, 27, 40, 52])
@pytest.mark.parametrize("warmup", [3, 12])
def test_a_stopped_run_goes_on_to_the_same_draws(stop_at, warmup, tmp_path):
    whole, _ = run(warmup, 10, 2, 10**9)
    path = tmp_path / "chains"
    part, interrupted = run(warmup, 10, 2, 10**9, Count(stop_at), checkpoint=path)
    assert interrupted == (stop_at <= 4 * (warmup + 10))
    assert stop_at <= warmup + 10 or part is not None
    resumed, _ = run(warmup, 10, 2, 10**9, checkpoint=path)
    for name in whole.values:
        np.testing.assert_array_equal(whole[name], resumed[name])
    np.testing.assert_array_equal(run(warmup, 10, 2, 10**9, n_jobs=2)[0]["x"], whole["x"])


def test_stages_of_other_lengths_do_not_go_on_from_each_other(tmp_path):
    path = tmp_path / "chains"
    run(3, 10, 2, 0, checkpoint=path)
    with pytest.raises(ValueError, match="checkpoint of a run with other data"):
        run(3, 12, 2, 0, checkpoint=path)


def test_a_stage_that_has_begun_without_a_sweep_is_known_by_its_draws():
    schedule = Schedule(2, 6)
    fresh = start(starts(None), np.random.SeedSequence(0))
    assert stage_of(fresh, schedule) == 0
    draws = Draws({"x": np.arange(12.0).reshape(2, 6)}, 2)
    np.testing.assert_array_equal(kept_on(draws, schedule)["x"], [[3.0, 5.0], [9.0, 11.0]])
    assert at_stage(schedule, 3) == Schedule(16, 6, 8)


def test_chains_agree_by_their_r_hat_and_a_single_one_with_itself():
    rng = np.random.default_rng(0)
    assert diagnose({"x": rng.normal(size=(4, 1000))}).agree()
    assert not diagnose({"x": rng.normal(size=(4, 100)) + np.arange(4)[:, None]}).agree()
    assert not diagnose({"x": rng.normal(size=(4, 3))}).agree()
    assert diagnose({"x": rng.normal(size=(1, 50))}).agree()
    stuck = np.repeat(np.arange(2.0), 50).reshape(2, 50)
    assert not diagnose({"x": stuck}).agree()


def test_the_time_to_go_is_said_beforehand(capsys):
    run(3, 10, 1, 10**9, verbose=True)
    said = capsys.readouterr().err
    assert "s to go, or up to" in said
    assert said.endswith("\nsampling: 52 of 52 steps (100%)\n")
