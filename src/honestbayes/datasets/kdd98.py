"""Donations to a national veterans organization: the data of the KDD-98 contest, and parts."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from honestbayes.datasets.folder import data_folder
from honestbayes.types import FloatArray, IntArray

MAIL_COST = 0.68
"""What asking one person cost, in dollars."""

_TARGETS = ("TARGET_B", "TARGET_D")
_ID = "CONTROLN"

_SAMPLE_FILE = "donor_19372x50.csv.gz"
_CATEGORICAL_FILE = "lrn_categorical_95412x22.csv.gz"
_OTHERS_WEIGHT = 6.2337
"""Non-donors of the sample stand for so many of the learning set."""


@dataclass(frozen=True, slots=True, eq=False)
class Donations:
    """People who were asked for a donation.

    Attributes
    ----------
    X : pandas DataFrame of shape (n, p)
        What was known of them.
    y : ndarray of int of shape (n,)
        Whether they gave.
    gift : ndarray of shape (n,)
        How much, in dollars; 0 for who did not.
    sample_weight : ndarray of shape (n,)
        How many people each row stands for.
    description : str
        What the data are.

    Examples
    --------
    >>> data = load_kdd98_sample("data")  # doctest: +SKIP
    >>> data.X.shape  # doctest: +SKIP
    (19372, 47)
    """

    X: Any = field(repr=False)
    y: IntArray = field(repr=False)
    gift: FloatArray = field(repr=False)
    sample_weight: FloatArray = field(repr=False)
    description: str

    def take(self, rows: IntArray) -> Donations:
        """Return some of the people."""
        return Donations(
            self.X.iloc[rows],
            self.y[rows],
            self.gift[rows],
            self.sample_weight[rows],
            self.description,
        )


def load_kdd98(folder: str | os.PathLike[str]) -> tuple[Donations, Donations]:
    """Read the official files: ``cup98LRN.txt``, ``cup98VAL.txt`` and ``valtargt.txt``.

    Parameters
    ----------
    folder : path
        Where the three files are.

    Returns
    -------
    learning, validation : Donations
        95,412 and 96,367 people, with 478 columns each. Columns are numbers or texts; blanks are
        missing. The identifier is left out, and so are the targets.

    Notes
    -----
    The terms of use ask to call the sponsor a national veterans organization.

    Examples
    --------
    >>> learning, validation = load_kdd98("kdd98")  # doctest: +SKIP
    """
    place = Path(folder)
    learning = _read(place / "cup98LRN.txt", (*_TARGETS, _ID))
    validation = _read(place / "cup98VAL.txt", (_ID,))
    targets = _read(place / "valtargt.txt", (_ID, *_TARGETS))
    merged = validation.merge(targets[[_ID, *_TARGETS]], on=_ID, how="left", validate="1:1")
    unknown = merged[_ID][merged[_TARGETS[0]].isna()]
    if unknown.size:
        msg = f"valtargt.txt has no target for {_ID} {unknown.iloc[0]}."
        raise ValueError(msg)
    names = [name for name in learning.columns if name not in (*_TARGETS, _ID)]
    other = [name for name in merged.columns if name not in (*_TARGETS, _ID)]
    if names != other:
        strange = sorted(set(names) ^ set(other)) or names
        msg = f"cup98LRN.txt and cup98VAL.txt have different columns: {strange[0]!r}, for one."
        raise ValueError(msg)
    for name in names:
        if not _is_number(learning[name]) and _is_number(merged[name]):
            merged[name] = merged[name].map(_number_text)
    return _donations(learning, "KDD-98, learning set"), _donations(
        merged, "KDD-98, validation set"
    )


def load_kdd98_sample(folder: str | os.PathLike[str] | None = None) -> Donations:
    """Read all donors and a part of the others of the learning set, with 47 columns.

    Parameters
    ----------
    folder : path, optional
        Where ``kdd98/donor_19372x50.csv.gz`` is; by default the folder named by the environment
        variable HONESTBAYES_DATA. ``sample_weight`` restores the share of donors, 5.08%.

    Examples
    --------
    >>> data = load_kdd98_sample("data")  # doctest: +SKIP
    """
    frame = _read(data_folder(folder, _SAMPLE_FILE) / "kdd98" / _SAMPLE_FILE, ("Donate",))
    frame = frame.replace({".": None, "?": None})
    y = (frame["Donate"] == "Yes").to_numpy().astype(np.int64)
    gift = frame["Donation.Amount"].fillna(0.0).to_numpy(dtype=float)
    X = frame.drop(columns=["Donate", "Donation.Amount", "ID"])
    weight = np.where(y == 1, 1.0, _OTHERS_WEIGHT)
    return Donations(X, y, gift, weight, "KDD-98, a sample of the learning set")


def load_kdd98_categorical(folder: str | os.PathLike[str] | None = None) -> Donations:
    """Read 20 categorical columns of all 95,412 people of the learning set.

    Parameters
    ----------
    folder : path, optional
        Where ``kdd98/lrn_categorical_95412x22.csv.gz`` is; by default the folder named by the
        environment variable HONESTBAYES_DATA.

    Examples
    --------
    >>> data = load_kdd98_categorical("data")  # doctest: +SKIP
    """
    file = data_folder(folder, _CATEGORICAL_FILE) / "kdd98" / _CATEGORICAL_FILE
    frame = _read(file, _TARGETS)
    texts = [name for name in frame.columns if name not in _TARGETS]
    frame[texts] = frame[texts].astype("str").where(frame[texts].notna(), None)
    return _donations(frame, "KDD-98, categorical columns of the learning set")


def _is_number(column: Any) -> bool:
    return getattr(column.dtype, "kind", "O") in "biuf"


def _number_text(value: float) -> str | None:
    """Return a number as the text that a file holds."""
    if value != value:
        return None
    return f"{value:.0f}" if value == int(value) else repr(float(value))


def _donations(frame: Any, description: str) -> Donations:
    y = frame[_TARGETS[0]].to_numpy().astype(np.int64)
    gift = frame[_TARGETS[1]].to_numpy(dtype=float)
    X = frame.drop(columns=[name for name in (*_TARGETS, _ID) if name in frame.columns])
    return Donations(X, y, gift, np.ones(y.size), description)


def _read(file: Path, needed: tuple[str, ...]) -> Any:
    """Read a table with commas; blanks are missing."""
    import pandas as pd

    if not file.is_file():
        msg = f"{file.name} is not in the folder {file.parent}; give the folder that holds it."
        raise FileNotFoundError(msg)
    frame = pd.read_csv(
        file,
        low_memory=False,
        skipinitialspace=True,
        keep_default_na=False,
        na_values=["", " "],
        encoding="latin-1",
    )
    absent = [name for name in needed if name not in frame.columns]
    if absent:
        msg = f"{file.name} has no column {absent[0]!r}; get another copy."
        raise ValueError(msg)
    return frame
