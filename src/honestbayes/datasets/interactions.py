"""Data for models with interactions: those of the thesis, a text, and tic-tac-toe."""

from __future__ import annotations

import re
from importlib import resources
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import expit

from honestbayes.types import AnyArray, IntArray

STEPS = {2: 3, 3: 8, 8: 6, 6: 4, 4: 2, 1: 7, 7: 5, 5: 1}
"""The likely steps of the hidden states. The text names two of them, 2 to 3 and 3 to 8, and says
that the first is the only one from an even to an odd state; the others, which stand in figure 3.6
alone, are chosen so that this holds."""


LINES = (
    *((3 * row, 3 * row + 1, 3 * row + 2) for row in range(3)),
    *((column, column + 3, column + 6) for column in range(3)),
    (0, 4, 8),
    (2, 4, 6),
)
"""Squares of tic-tac-toe that make a line."""


def simulate_hidden_markov(n: int, length: int = 21, *, random_state: Any = None) -> IntArray:
    """Draw binary sequences of a hidden Markov model with eight states (section 3.4.3).

    A hidden state takes its likely step with probability 0.95, and any step otherwise. An even
    state shows 1 with probability 0.95, an odd one 2.

    Parameters
    ----------
    n : int
        Sequences.
    length : int, default=21
        Of each.
    random_state : int or Generator, optional
        Seed.

    Returns
    -------
    ndarray of int of shape (n, length)
        1 and 2.

    Examples
    --------
    >>> simulate_hidden_markov(2, length=8, random_state=0).shape
    (2, 8)
    """
    rng = np.random.default_rng(random_state)
    likely = np.array([0, *(STEPS[state] for state in range(1, 9))])
    hidden = rng.integers(1, 9, n)
    shown = np.empty((n, length), dtype=np.int64)
    for t in range(-20, length):
        hidden = np.where(rng.random(n) < 0.95, likely[hidden], rng.integers(1, 9, n))
        one = (hidden % 2 == 0) == (rng.random(n) < 0.95)
        if t >= 0:
            shown[:, t] = np.where(one, 1, 2)
    return shown


def simulate_cauchy_model(
    n: int, n_features: int = 7, n_levels: int = 3, order: int = 4, *, random_state: Any = None
) -> tuple[IntArray, IntArray]:
    """Draw cases of the logistic model with interactions whose coefficients are Cauchy (3.5.3).

    Coefficients of order o have width 1 / o; the intercept is 0.

    Parameters
    ----------
    n : int
        Cases.
    n_features, n_levels, order : int, default=7, 3, 4
        Features, their levels, and the highest order of interactions.
    random_state : int or Generator, optional
        Seed.

    Returns
    -------
    X : ndarray of int of shape (n, n_features)
        From 1 on.
    y : ndarray of int of shape (n,)
        0 and 1.

    Examples
    --------
    >>> X, y = simulate_cauchy_model(5, random_state=0)
    >>> X.shape, y.shape
    ((5, 7), (5,))
    """
    rng = np.random.default_rng(random_state)
    X = rng.integers(0, n_levels, (n, n_features))
    f = np.zeros(n)
    for o in range(1, order + 1):
        for columns in combinations(range(n_features), o):
            code = np.ravel_multi_index(tuple(X[:, list(columns)].T), (n_levels,) * o)
            f += (rng.standard_cauchy(n_levels**o) / o)[code]
    return X + 1, (rng.random(n) < expit(f)).astype(np.int64)


def load_genesis() -> str:
    """Return the beginning of the Book of Genesis, King James Version: 8,000 characters.

    Examples
    --------
    >>> load_genesis()[:25]
    'In the beginning God crea'
    """
    place = resources.files("honestbayes.datasets").joinpath("data", "genesis.txt")
    return place.read_text(encoding="utf-8")


def tic_tac_toe() -> tuple[AnyArray, AnyArray]:
    """Return all 958 boards on which a game of tic-tac-toe that "x" began can end.

    Returns
    -------
    X : ndarray of shape (958, 9)
        Squares row by row: "x", "o" or "b" (blank).
    y : ndarray of shape (958,)
        "x won", or "not won".

    Examples
    --------
    >>> X, y = tic_tac_toe()
    >>> X.shape, int((y == "x won").sum())
    ((958, 9), 626)
    """
    ends: dict[str, bool] = {}
    seen: set[str] = set()  # the same board comes about in many ways

    def play(board: str, player: str) -> None:
        if board in seen:
            return
        seen.add(board)
        other = "o" if player == "x" else "x"
        won = any(all(board[square] == other for square in line) for line in LINES)
        if won or "b" not in board:
            ends[board] = won and other == "x"
            return
        for square, cell in enumerate(board):
            if cell == "b":
                play(board[:square] + player + board[square + 1 :], other)

    play("b" * 9, "x")
    boards = sorted(ends)
    X = np.array([list(board) for board in boards])
    return X, np.array(["x won" if ends[board] else "not won" for board in boards])


def vowels_and_consonants(text: str) -> AnyArray:
    """Return a text as vowels (V), consonants (C) and all others (_), runs of these as one.

    Parameters
    ----------
    text : str
        In Latin letters.

    Examples
    --------
    >>> "".join(vowels_and_consonants("In the beginning"))
    'VC_CCV_CVCVCCVCC'
    """
    others = re.sub(r"[^a-z]+", "_", text.lower())
    vowels = re.sub(r"[aeiou]", "V", others)
    return np.array(list(re.sub(r"[a-z]", "C", vowels)))
