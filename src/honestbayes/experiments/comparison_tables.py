"""The real tables of comparisons, read from the folder of real data.

Nothing here looks at the class, except to read it and to keep a class of a few cases in every fold.
"""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import expit, logsumexp

from honestbayes.data.kinds import Kind
from honestbayes.datasets import simulate_naive_bayes
from honestbayes.datasets.real import data_folder
from honestbayes.types import AnyArray, FloatArray, IntArray

LEAST_MESSAGES = 3
"""A word counts as a feature where so many messages have it."""

MOST = 1000
"""Cases that are drawn from a table with more than twice as many."""

FEWEST = 5
"""Cases of a class, so that it can be in all folds."""


@dataclass(frozen=True)
class ComparisonTable:
    """One table.

    Attributes
    ----------
    name : str
        What the data are called.
    kind : {"real", "binary", "categorical"}
        What the features are.
    X : array, sparse matrix or frame, shape (n, p)
        Features as our models take them; missing cells of a frame are None.
    y : ndarray, shape (n,)
        Labels.
    note : str
        What was done to the data.
    codes : ndarray of int or None, shape (n, p)
        For methods without missing cells: categories as numbers, missing as one of them.
    truth : ndarray of shape (n, C), or None
        The true probabilities of the classes, where the data were simulated.
    """

    name: str
    kind: Kind
    X: Any = field(repr=False)
    y: AnyArray = field(repr=False)
    note: str
    codes: IntArray | None = field(default=None, repr=False)
    truth: FloatArray | None = field(default=None, repr=False)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])


def leukaemia(folder: Path) -> ComparisonTable:
    """Read Golub et al. (1999)."""
    return _expression(folder, "leukaemia", "golub_3051")


def colon(folder: Path) -> ComparisonTable:
    """Read Alon et al. (1999), intensities."""
    return _expression(folder, "colon", "colon_alon")


def lymphoma(folder: Path) -> ComparisonTable:
    """Read Alizadeh et al. (2000), three classes."""
    return _expression(folder, "lymphoma", "lymphoma")


def srbct(folder: Path) -> ComparisonTable:
    """Read Khan et al. (2001), four classes, training and test samples together."""
    note = "training and test samples of the paper together"
    return _expression(folder, "srbct", "khan_srbct", note)


def _expression(folder: Path, name: str, file: str, note: str = "as they are") -> ComparisonTable:
    with np.load(folder / f"{file}.npz") as arrays:
        return ComparisonTable(name, "real", arrays["X"].astype(float), arrays["y"], note)


def prostate(folder: Path) -> ComparisonTable:
    """Read Singh et al. (2002), which are intensities: logarithms of them, floored at 10."""
    with np.load(folder / "singh_prostate.npz") as file:
        X = np.log2(np.maximum(file["X"].astype(float), 10.0))
        return ComparisonTable(
            "prostate", "real", X, file["y"], "log2 of intensities, floored at 10"
        )


def dorothea(folder: Path) -> ComparisonTable:
    """Read the molecules whose class is public, all 100,000 features."""
    with np.load(folder / "dorothea.npz") as file:
        ones = np.ones(file["indices"].size, dtype=np.int8)
        # scikit-learn's solvers take 32-bit indices only.
        parts = (ones, file["indices"], file["indptr"].astype(np.int32))
        labelled = np.flatnonzero(file["split"] < 2)
        X = sparse.csr_array(parts, shape=tuple(file["shape"]))[labelled]
        y = file["y"][labelled]
    note = "training and validation split; half of the features are random probes"
    return ComparisonTable("dorothea", "binary", X, (y == y.max()).astype(int), note)


def sms_spam(folder: Path) -> ComparisonTable:
    """Read the messages as words present or absent."""
    with gzip.open(folder / "sms_spam.tsv.gz", "rt", encoding="utf-8", errors="replace") as file:
        lines = [line.rstrip("\n").split("\t", 1) for line in file]
    lines = [line for line in lines if line[0] in ("ham", "spam")]
    messages = [set(re.findall(r"\w\w+", text.lower())) for _, text in lines]
    frequency = Counter(word for message in messages for word in message)
    words = sorted(word for word, count in frequency.items() if count >= LEAST_MESSAGES)
    column = {word: j for j, word in enumerate(words)}
    rows = [sorted(column[word] for word in message if word in column) for message in messages]
    starts = np.cumsum([0, *(len(row) for row in rows)], dtype=np.int32)
    indices = np.array([j for row in rows for j in row], dtype=np.int32)
    ones = np.ones(indices.size, dtype=np.int8)
    X = sparse.csr_array((ones, indices, starts), shape=(len(rows), len(words)))
    note = f"words of two letters or more, in {LEAST_MESSAGES} messages or more of either class"
    return ComparisonTable("sms_spam", "binary", X, np.array([label for label, _ in lines]), note)


def _categorical(folder: Path, name: str, file: str, note: str) -> ComparisonTable:
    frame = pd.read_csv(
        folder / "discrete" / f"{file}.csv.gz", dtype=str, na_values=["?", ""], keep_default_na=True
    )
    y = frame.pop("class").to_numpy(dtype=object).astype(str)
    codes = np.stack([_codes(frame[column]) for column in frame], axis=1)
    X = frame.astype(object).where(frame.notna(), None)
    return ComparisonTable(name, "categorical", X, y, note, codes)


def _codes(column: pd.Series[Any]) -> IntArray:
    codes, levels = pd.factorize(column, sort=True)
    return np.where(codes < 0, len(levels), codes)


def dna_statlog(folder: Path) -> ComparisonTable:
    """Read the splice junctions: three indicators for each of 60 nucleotides, three classes."""
    note = "three indicators for each of 60 nucleotides"
    return _categorical(folder, "dna_statlog", "dna_statlog", note)


def mushroom(folder: Path) -> ComparisonTable:
    """Read the mushrooms."""
    return _categorical(folder, "mushroom", "mushroom", "'?' is missing")


def vote(folder: Path) -> ComparisonTable:
    """Read the congressional votes of 1984."""
    return _categorical(folder, "vote", "housevotes84", "votes not cast are missing")


TABLES = {
    reader.__name__: reader
    for reader in (prostate, lymphoma, srbct, dorothea, sms_spam, dna_statlog, mushroom, vote)
}
"""The whole tables, as they come."""


def discrete(folder: Path, name: str) -> tuple[pd.DataFrame, AnyArray]:
    """Return columns of texts, and classes."""
    names = [f"{name}_train", f"{name}_test"] if name.startswith("monks") else [name]
    frames = [
        pd.read_csv(folder / "discrete" / f"{n}.csv.gz", dtype=str, keep_default_na=False)
        for n in names
    ]
    table = pd.concat(frames, ignore_index=True).drop(columns="split", errors="ignore")
    if name.startswith("monks"):
        table = table.drop_duplicates(ignore_index=True)  # the test file holds every case
    # Nursery has a class of two cases, which cannot be in all folds.
    table = table[table.groupby("class")["class"].transform("size") >= 3]
    X, y = table.drop(columns="class"), table["class"].to_numpy(dtype=object)
    if name == "dna_statlog":  # three flags for each position: one column of bases
        bits = X.to_numpy().reshape(len(X), -1, 3)
        words = ["".join(bits[i, j]) for i in range(len(X)) for j in range(bits.shape[1])]
        X = pd.DataFrame(np.array(words).reshape(len(X), -1)).rename(columns=lambda j: f"p{j + 1}")
    constant = [column for column in X if X[column].nunique() == 1]
    return X.drop(columns=constant), y.astype(str)


def real_table(name: str) -> ComparisonTable:
    """Return a table of a comparison by name.

    Of messages and molecules ("words_1", "dorothea_2") some cases are drawn, by the number in the
    name; of tables with more than 2,000 cases 1,000.
    """
    folder = data_folder(None, name)
    readers = {f.__name__: f for f in (leukaemia, colon, prostate, lymphoma, srbct)}
    if name in readers:
        return readers[name](folder)
    if name.startswith(("words", "dorothea")):
        kind, seed = name.split("_")
        table = (sms_spam if kind == "words" else dorothea)(folder)
        size = 200 if kind == "words" else 300
        rows = np.random.default_rng(int(seed)).permutation(table.y.size)[:size]
        X, note = table.X[rows], f"{size} cases drawn, sample {seed}"
        if kind == "words":  # words of three of these messages or more
            X = X[:, np.flatnonzero(np.asarray(X.sum(axis=0)).ravel() >= LEAST_MESSAGES)]
        return ComparisonTable(name, "binary", X.astype(np.int8), table.y[rows], note)
    X, y = discrete(folder, name)
    if len(y) > 2 * MOST:
        rows = np.random.default_rng(0).permutation(len(y))[:MOST]
        X, y = X.iloc[rows].reset_index(drop=True), y[rows]
        enough = np.isin(y, [c for c in np.unique(y) if np.sum(y == c) >= FEWEST])
        X, y = X[enough].reset_index(drop=True), y[enough]
    codes = np.stack([np.unique(X[c], return_inverse=True)[1] for c in X], axis=1)
    return ComparisonTable(name, "categorical", X, y, "missing is a level", codes)


# --------------------------------------------------------------------------------------------------
# Simulated tables, with the true probabilities of their cases
# --------------------------------------------------------------------------------------------------


Drawn = tuple[AnyArray, IntArray, FloatArray]
"""Columns, classes 0 and 1, and the true log-odds of class 1."""


def flags(rng: np.random.Generator, n: int, p: int) -> Drawn:
    """Draw independent binary features, as the papers simulate them, with alpha = 300."""
    data = simulate_naive_bayes(n, 1, p, alpha=300.0, random_state=int(rng.integers(2**31)))
    share = data.true_proba(data.X_train)
    return data.X_train, data.y_train, np.log(share) - np.log1p(-share)


def copied_flags(rng: np.random.Generator, n: int, p: int) -> Drawn:
    """Draw binary features in blocks of ten copies of a hidden one, each wrong in 5% of the cases.

    Eight blocks differ between the classes (30% and 60%), the others do not.
    """
    y = _classes(rng, n)
    n_blocks, size, wrong = p // 10, 10, 0.05
    share = np.full((2, n_blocks), 0.45)
    share[:, :8] = [[0.3], [0.6]]
    hidden = rng.random((n, n_blocks)) < share[y]
    X = np.repeat(hidden, size, axis=1) ^ (rng.random((n, n_blocks * size)) < wrong)
    ones = X.reshape(n, n_blocks, size).sum(axis=2)[:, :8]
    of_one = ones * np.log1p(-wrong) + (size - ones) * np.log(wrong)
    of_zero = ones * np.log(wrong) + (size - ones) * np.log1p(-wrong)
    by_class = [
        logsumexp([of_one + np.log(q[:8]), of_zero + np.log1p(-q[:8])], axis=0).sum(axis=1)
        for q in share
    ]
    return X.astype(np.int8), y, by_class[1] - by_class[0]


def genes(rng: np.random.Generator, n: int, p: int) -> Drawn:
    """Draw independent continuous features, ten of them shifted by 0.8 standard deviations."""
    y = _classes(rng, n)
    X = rng.normal(size=(n, p))
    X[:, :10] += 0.8 * y[:, None]
    return X, y, 0.8 * (X[:, :10] - 0.4).sum(axis=1)


def genes_in_blocks(rng: np.random.Generator, n: int, p: int) -> Drawn:
    """Draw blocks of ten continuous features with correlation 0.7, two of them shifted by 0.8."""
    y = _classes(rng, n)
    shared = np.repeat(rng.normal(size=(n, p // 10)), 10, axis=1)
    X = np.sqrt(0.7) * shared + np.sqrt(0.3) * rng.normal(size=(n, p // 10 * 10))
    X[:, :20] += 0.8 * y[:, None]
    # The mean of the columns is sufficient in a block with equal correlations.
    weight = 0.8 * 10 / (1 + 9 * 0.7)
    means = X[:, :20].reshape(n, 2, 10).mean(axis=2)
    return X, y, weight * (means - 0.4).sum(axis=1)


def noise(rng: np.random.Generator, n: int, p: int) -> Drawn:
    """Draw continuous features that are independent of the class."""
    return rng.normal(size=(n, p)), _classes(rng, n), np.zeros(n)


def two_together(rng: np.random.Generator, n: int, p: int) -> Drawn:
    """Draw twenty binary features, of which two predict the class only together."""
    X = rng.random((n, min(p, 20))) < 0.5
    log_odds = np.where(X[:, 0] ^ X[:, 1], 2.0, -2.0)
    y = (rng.random(n) < expit(log_odds)).astype(np.int64)
    return X.astype(np.int8), y, log_odds


def _classes(rng: np.random.Generator, n: int) -> IntArray:
    return rng.permutation(np.arange(n) % 2)


TRUTHS: dict[str, tuple[Kind, Callable[[np.random.Generator, int, int], Drawn]]] = {
    "flags": ("binary", flags),
    "copied flags": ("binary", copied_flags),
    "genes": ("real", genes),
    "genes in blocks": ("real", genes_in_blocks),
    "noise": ("real", noise),
    "two together": ("binary", two_together),
}
"""Kind of the columns, and the function that draws them."""


def simulated_table(name: str, seed: int, n: int, p: int) -> ComparisonTable:
    """Draw a table by name."""
    kind, draw = TRUTHS[name]
    X, y, log_odds = draw(np.random.default_rng([seed, *name.encode()]), n, p)
    truth = np.stack([expit(-log_odds), expit(log_odds)], axis=1)
    return ComparisonTable(name, kind, X, y, (draw.__doc__ or "").split("\n")[0], truth=truth)
