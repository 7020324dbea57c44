"""The check of speed against another revision: what counts as slower, and what is not compared."""

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 15


@pytest.fixture
def regression(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import regression

    return regression


def noise(seed: int, spread: float = 0.1) -> np.ndarray:
    """Return factors around 1, by which other programs disturb a time."""
    return np.exp(spread * np.random.default_rng(seed).standard_normal(ROUNDS))


@pytest.mark.parametrize(
    ("factor", "slower"), [(0.5, False), (1.0, False), (1.1, False), (1.6, True)]
)
def test_a_task_is_slower_where_it_takes_much_longer(
    regression: ModuleType, factor: float, slower: bool
) -> None:
    verdict = regression.judge(0.02 * noise(1), factor * 0.02 * noise(2))
    assert verdict.low <= verdict.ratio <= verdict.high
    assert verdict.ratio == pytest.approx(factor, rel=0.15)
    assert verdict.is_slower(1.25) is slower


def test_a_few_disturbed_rounds_make_no_task_slower(regression: ModuleType) -> None:
    head = np.full(ROUNDS, 0.02)
    head[:4] *= 30
    assert not regression.judge(np.full(ROUNDS, 0.02), head).is_slower(1.25)


def test_a_wide_interval_makes_no_task_slower(regression: ModuleType) -> None:
    verdict = regression.judge(noise(1), 1.3 * noise(2, spread=1.0))
    assert verdict.high > 1.25
    assert not verdict.is_slower(1.25)


def test_rounds_are_compared_one_by_one(regression: ModuleType) -> None:
    load = np.geomspace(1, 20, ROUNDS)
    verdict = regression.judge(load, 1.5 * load)
    assert (verdict.low, verdict.ratio, verdict.high) == pytest.approx((1.5, 1.5, 1.5))


def test_the_interval_holds_the_median_as_often_as_it_says(regression: ModuleType) -> None:
    """The sign test: 15 rounds, from the 4th to the 12th, 1 - 2 P(at most 3 of 15) = 0.965."""
    generator = np.random.default_rng(0)
    held = 0
    for _ in range(2000):
        verdict = regression.judge(np.ones(ROUNDS), np.exp(generator.standard_normal(ROUNDS)))
        held += verdict.low <= 1 <= verdict.high
    assert abs(held / 2000 - 0.965) < 0.016  # four standard errors


def test_too_few_rounds_are_refused(regression: ModuleType) -> None:
    assert regression.judge(np.ones(6), np.ones(6)).ratio == 1
    with pytest.raises(ValueError, match="5 rounds are too few to judge by: at least 6"):
        regression.judge(np.ones(5), np.ones(5))


def test_what_the_base_cannot_do_is_said_and_not_compared(regression: ModuleType) -> None:
    answers = [({"why": "AttributeError: no pack_store"}, {"seconds": 1.0})] * 6
    line, worse = regression.told("screen a packed store", answers, 1.25)
    assert line.endswith("not compared: the base says AttributeError: no pack_store")
    assert not worse


def test_what_only_the_head_cannot_do_is_worse(regression: ModuleType) -> None:
    line, worse = regression.told("fit", [({"seconds": 1.0}, {"why": "TypeError: k"})] * 6, 1.25)
    assert "DOES NOT RUN: the head says TypeError: k" in line
    assert worse


@pytest.mark.skipif(not (ROOT / "src").is_dir(), reason="the package is installed elsewhere")
def test_tasks_run_and_tell_seconds(regression: ModuleType) -> None:
    with regression.Runner(ROOT) as runner:
        assert runner.run("screen CSC")["seconds"] > 0
        assert runner.run("paint the fence")["why"].startswith("KeyError")


def test_a_package_from_elsewhere_is_not_timed(regression: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    with pytest.raises(RuntimeError, match="was to be timed, but"):
        regression.Runner(tmp_path)
