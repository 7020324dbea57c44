"""Many mutated model files, and many killed writers."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from model_files import mutated


def ordinary(name):
    """A module of the ordinary tests, whose helpers serve here too."""
    path = Path(__file__).resolve().parents[1] / name
    spec = importlib.util.spec_from_file_location(f"ordinary_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("part", range(5))
@pytest.mark.parametrize(
    "how",
    [
        {"n_features_to_select": 5, "always_keep": [7]},
        {"feature_prior": "uniform", "correction": "counts", "always_keep": [1, 2]},
        {"feature_prior": "uniform", "correction": "selection"},
        {"quadrature": "paper", "n_features_to_select": 3},
    ],
    ids=str,
)
def test_a_mutated_file_loads_as_a_model_or_is_refused(tmp_path, how, part):
    tests = ordinary("models/binary/test_file.py")
    hostile = ordinary("files/test_hostile_files.py")
    tests.fitted(how).save(tmp_path / "good")
    mark = tmp_path / "executed"
    loaded = 0
    for seed in range(2000):
        mutated(tmp_path / "good", tmp_path / "bad", 10_000 * (part + 1) + seed, mark)
        loaded += hostile.loads_or_is_refused(tmp_path / "bad", tests.X_NEW)
    assert not mark.exists()
    assert 0 < loaded < 1000


@pytest.mark.skipif(sys.platform != "linux", reason="signals, and the exchange, are Linux's")
@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_killed_writer_leaves_a_complete_version(tmp_path, kind):
    tests = ordinary("files/test_whole.py")
    assert len(tests.kill_writers(kind, tmp_path, 150, 1)) > 3


def test_a_model_of_many_features_comes_back(tmp_path):
    rng = np.random.default_rng(0)
    tests = ordinary("models/binary/test_file.py")
    X = (rng.random((40, 20_000)) < 0.5).astype(np.int8)
    y = np.arange(40) % 2
    for how in ({}, {"feature_prior": "uniform"}):
        model = tests.fitted({"n_features_to_select": "all", "recalibrate": None, **how}, X, y)
        loaded = tests.saved_and_loaded(model, tmp_path)
        assert np.array_equal(model.predict_proba(X), loaded.predict_proba(X))
