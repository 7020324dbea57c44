"""Data for models with interactions, and the experiments that use them."""

import json

import numpy as np
import pytest

from honestbayes.datasets import (
    load_genesis,
    simulate_cauchy_model,
    simulate_hidden_markov,
    tic_tac_toe,
    vowels_and_consonants,
)
from honestbayes.experiments import interactions


def test_letters_become_classes():
    assert "".join(vowels_and_consonants("Hello,  World! 42 x")) == "CVCCV_CVCCC_C"
    symbols = vowels_and_consonants(load_genesis())
    assert set(symbols) == {"V", "C", "_"}
    assert symbols.size > 3930
    assert not np.any((symbols[1:] == "_") & (symbols[:-1] == "_"))


def test_boards_of_tic_tac_toe():
    X, y = tic_tac_toe()
    assert X.shape == (958, 9)
    assert np.sum(y == "x won") == 626
    assert len({tuple(row) for row in X}) == 958


def test_hidden_states_show_what_follows():
    data = simulate_hidden_markov(4000, 6, random_state=0)
    assert set(np.unique(data)) == {1, 2}
    # After 1 and 2 the likely hidden states are 2 and 3, so that 8 follows, which shows 1.
    after = data[(data[:, 3] == 1) & (data[:, 4] == 2), 5]
    assert np.mean(after == 1) > 0.6


def test_cases_of_a_cauchy_model():
    X, y = simulate_cauchy_model(300, 4, 3, 2, random_state=0)
    again, _ = simulate_cauchy_model(300, 4, 3, 2, random_state=0)
    assert np.array_equal(X, again)
    assert set(np.unique(X)) == {1, 2, 3}
    assert set(np.unique(y)) == {0, 1}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_experiments_run(tmp_path, capsys, monkeypatch):
    quick = interactions._settings(quick=True)
    monkeypatch.setattr(interactions, "ORDERS", {"hmm": (1, 3), "text": (1,)})
    shorter = {**quick, "n_warmup": 10, "n_samples": 40}
    monkeypatch.setattr(interactions, "_settings", lambda _: shorter)
    for name in ("sizes", "text"):
        interactions.main([str(tmp_path), "--only", name, "--quick"])
        assert (tmp_path / f"{name}.png").stat().st_size > 1000
    sizes = json.loads((tmp_path / "sizes.json").read_text())
    assert all(point["n_groups"] <= point["n_patterns"] for point in sizes)
    results = json.loads((tmp_path / "text.json").read_text())
    assert [(row["prior"], row["compressed"]) for row in results] == [
        ("cauchy", True),
        ("cauchy", False),
        ("gaussian", True),
        ("gaussian", False),
    ]
    assert all(0.5 < row["log_score"] < 1.1 for row in results)
    assert "text cauchy order 1 compressed: 4 of 4" in capsys.readouterr().out
