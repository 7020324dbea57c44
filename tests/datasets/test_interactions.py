"""Data for models with interactions."""

import numpy as np

from honestbayes.datasets import (
    load_genesis,
    simulate_cauchy_model,
    simulate_hidden_markov,
    tic_tac_toe,
    vowels_and_consonants,
)


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
