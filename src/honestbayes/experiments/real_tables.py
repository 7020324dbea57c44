"""The real tables of `real_data.py`, read from the folder HONESTBAYES_DATA.

Nothing here looks at the class, except to read it.
"""

import gzip
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

LEAST_MESSAGES = 3
"""A word counts as a feature where so many messages have it."""


@dataclass(frozen=True)
class Table:
    """One table.

    Attributes
    ----------
    name : str
        What the data are called.
    kind : {"real", "binary", "categorical"}
        What the features are.
    X : array, sparse matrix or frame, shape (n, p)
        Features as SelectiveXNB takes them; missing cells of a frame are None.
    y : ndarray, shape (n,)
        Labels.
    note : str
        What was done to the data.
    codes : ndarray of int or None, shape (n, p)
        For methods that know no missing cells: levels as numbers, missing as a level of its own.
    """

    name: str
    kind: str
    X: object = field(repr=False)
    y: np.ndarray = field(repr=False)
    note: str
    codes: np.ndarray | None = field(default=None, repr=False)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.X.shape[1]


def prostate(folder: Path) -> Table:
    """Read Singh et al. (2002), which are intensities: logarithms of them, floored at 10."""
    with np.load(folder / "singh_prostate.npz") as file:
        X = np.log2(np.maximum(file["X"].astype(float), 10.0))
        return Table("prostate", "real", X, file["y"], "log2 of intensities, floored at 10")


def lymphoma(folder: Path) -> Table:
    """Read Alizadeh et al. (2000), three classes."""
    with np.load(folder / "lymphoma.npz") as file:
        return Table("lymphoma", "real", file["X"].astype(float), file["y"], "as they are")


def srbct(folder: Path) -> Table:
    """Read Khan et al. (2001), four classes, training and test samples together."""
    with np.load(folder / "khan_srbct.npz") as file:
        note = "training and test samples of the paper together"
        return Table("srbct", "real", file["X"].astype(float), file["y"], note)


def dorothea(folder: Path) -> Table:
    """Read the molecules whose class is public, all 100,000 features."""
    with np.load(folder / "dorothea.npz") as file:
        ones = np.ones(file["indices"].size, dtype=np.int8)
        # scikit-learn's solvers take 32-bit indices only.
        parts = (ones, file["indices"], file["indptr"].astype(np.int32))
        labelled = np.flatnonzero(file["split"] < 2)
        X = sparse.csr_array(parts, shape=tuple(file["shape"]))[labelled]
        y = file["y"][labelled]
    note = "training and validation split; half of the features are random probes"
    return Table("dorothea", "binary", X, (y == y.max()).astype(int), note)


def sms_spam(folder: Path) -> Table:
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
    return Table("sms_spam", "binary", X, np.array([label for label, _ in lines]), note)


def _categorical(folder: Path, name: str, file: str, note: str) -> Table:
    frame = pd.read_csv(
        folder / "discrete" / f"{file}.csv.gz", dtype=str, na_values=["?", ""], keep_default_na=True
    )
    y = frame.pop("class").to_numpy(dtype=object).astype(str)
    codes = np.stack([_codes(frame[column]) for column in frame], axis=1)
    X = frame.astype(object).where(frame.notna(), None)
    return Table(name, "categorical", X, y, note, codes)


def _codes(column: pd.Series) -> np.ndarray:
    codes, levels = pd.factorize(column, sort=True)
    return np.where(codes < 0, len(levels), codes)


def dna_statlog(folder: Path) -> Table:
    """Read the splice junctions: three indicators for each of 60 nucleotides, three classes."""
    note = "three indicators for each of 60 nucleotides"
    return _categorical(folder, "dna_statlog", "dna_statlog", note)


def mushroom(folder: Path) -> Table:
    """Read the mushrooms."""
    return _categorical(folder, "mushroom", "mushroom", "'?' is missing")


def vote(folder: Path) -> Table:
    """Read the congressional votes of 1984."""
    return _categorical(folder, "vote", "housevotes84", "votes not cast are missing")


TABLES = {
    reader.__name__: reader
    for reader in (prostate, lymphoma, srbct, dorothea, sms_spam, dna_statlog, mushroom, vote)
}
