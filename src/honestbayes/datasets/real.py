"""Real data, bundled with the package or read from a folder."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honestbayes.types import AnyArray, FloatArray, IntArray

DATA_VARIABLE = "HONESTBAYES_DATA"


def data_folder(folder: str | os.PathLike[str] | None, file: str) -> Path:
    """Return the folder that is given, or the one that the environment names.

    Parameters
    ----------
    folder : path or None
        What the user gave.
    file : str
        What is looked for, for the message.
    """
    if folder is not None:
        return Path(folder)
    named = os.environ.get(DATA_VARIABLE)
    if not named:
        msg = (
            f"the folder of {file} is unknown; give folder=..., or set the environment "
            f"variable {DATA_VARIABLE}."
        )
        raise FileNotFoundError(msg)
    return Path(named)


# --------------------------------------------------------------------------------------------------
# Gene expression
# --------------------------------------------------------------------------------------------------


_LEUKEMIA = """\
Leukaemia, Golub et al. 1999: 38 bone marrow samples, 3051 genes; class 0 is acute lymphoblastic
leukaemia (ALL, 27 samples), class 1 acute myeloid leukaemia (AML, 11 samples). The training set of
the publication, as prepared in the Bioconductor package multtest (data set `golub`, Debian package
r-bioc-multtest): floor and ceiling, filter, base 10 logarithm, each array standardised.

Golub, T. R. et al. (1999). Molecular classification of cancer: class discovery and class prediction
by gene expression monitoring. Science 286, 531-537."""

_COLON = """\
Colon tissue, Alon et al. 1999: 62 samples of 40 patients, 2000 genes; class 0 is normal (22
samples), class 1 tumour (40 samples); 22 patients gave one sample of each. {prepared}

Alon, U. et al. (1999). Broad patterns of gene expression revealed by clustering analysis of tumor
and normal colon tissues probed by oligonucleotide arrays. PNAS 96, 6745-6750."""

_STANDARDIZED = """\
Intensities as base 10
logarithms, each array (row) standardised to mean 0 and standard deviation 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """A table with its classes.

    Attributes
    ----------
    X : ndarray, shape (n_cases, n_features)
        Features.
    y : ndarray of int64, shape (n_cases,)
        Index into `classes`.
    feature_names : ndarray of str, shape (n_features,)
        Names of the columns.
    classes : tuple of str
        Names of the classes.
    description : str
        What the data are and where they come from.
    groups : ndarray or None, shape (n_cases,)
        Cases of one group (one patient, say) belong on the same side of every split.

    Examples
    --------
    >>> data = load_leukemia()
    >>> data.feature_names.size, [data.classes[c] for c in data.y[25:29]]
    (3051, ['ALL', 'ALL', 'AML', 'AML'])
    """

    X: NDArray[np.floating[Any]] = field(repr=False)
    y: NDArray[np.int64] = field(repr=False)
    feature_names: NDArray[np.str_] = field(repr=False)
    classes: tuple[str, ...]
    description: str
    groups: NDArray[np.int64] | None = field(default=None, repr=False)


def load_leukemia() -> Dataset:
    """Load the bundled leukaemia expression data.

    Returns
    -------
    Dataset
        X is float32 of shape (38, 3051); class 1 is AML.

    References
    ----------
    Golub, T. R. et al. (1999). Molecular classification of cancer: class discovery and class
    prediction by gene expression monitoring. Science 286, 531-537.

    Examples
    --------
    >>> data = load_leukemia()
    >>> data.X.shape, data.classes
    ((38, 3051), ('ALL', 'AML'))
    """
    packed = resources.files("honestbayes.datasets").joinpath("data", "leukemia.npz")
    with packed.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
        return Dataset(
            X=arrays["X"],
            y=arrays["y"].astype(np.int64),
            feature_names=arrays["feature_names"],
            classes=("ALL", "AML"),
            description=_LEUKEMIA,
        )


def load_colon(
    folder: str | os.PathLike[str] | None = None, *, standardize: bool = True
) -> Dataset:
    """Load the colon expression data from ``colon_alon.npz`` in a folder.

    Parameters
    ----------
    folder : path, optional
        By default the folder named by the environment variable HONESTBAYES_DATA.
    standardize : bool, default=True
        Whether intensities become base 10 logarithms and each array (row) gets mean 0 and standard
        deviation 1; False leaves intensities as they are.

    Returns
    -------
    Dataset
        X is float64 of shape (62, 2000); class 1 is tumour; `groups` are patients.

    Raises
    ------
    FileNotFoundError
        Where no folder is given, or the file is not in it.
    ValueError
        Where the file holds something else.

    Notes
    -----
    Li, Zhang and Neal (2008, section 5) mention only the threshold at each gene's median, which is
    left to the estimator because it has to be learned from the training cases. Without the
    standardisation the error rates are near 0.30, far from the published 0.19. Runs of dots in gene
    names, the padding of the source's names, are shortened to one.

    Examples
    --------
    >>> data = load_colon("data")  # doctest: +SKIP
    """
    arrays = _read_colon(data_folder(folder, "colon_alon.npz") / "colon_alon.npz")
    names = [re.sub(r"\.{2,}", ".", name) for name in arrays["gene"].tolist()]
    return Dataset(
        X=_standardise_rows(np.log10(arrays["X"])) if standardize else arrays["X"].astype(float),
        y=arrays["y"].astype(np.int64),
        feature_names=np.array(names),
        classes=("normal", "tumor"),
        description=_COLON.format(prepared=_STANDARDIZED if standardize else "Raw intensities."),
        groups=arrays["patient"].astype(np.int64),
    )


def _read_colon(file: Path) -> Mapping[str, NDArray[Any]]:
    if not file.is_file():
        raise FileNotFoundError(
            f"{file.name} is not in the folder {file.parent}; give the folder that holds it."
        )
    with np.load(file, allow_pickle=False) as stored:
        missing = {"X", "y", "gene", "patient"}.difference(stored.files)
        if missing:
            raise ValueError(f"{file.name} lacks the arrays {sorted(missing)}; get another copy.")
        arrays = {name: stored[name] for name in ("X", "y", "gene", "patient")}
    n_cases, n_genes = arrays["X"].shape if arrays["X"].ndim == 2 else (-1, -1)
    shapes_agree = (
        arrays["y"].shape == arrays["patient"].shape == (n_cases,)
        and arrays["gene"].shape == (n_genes,)
        and set(np.unique(arrays["y"]).tolist()) == {0, 1}
    )
    if not shapes_agree or not np.all(arrays["X"] > 0):
        raise ValueError(
            f"{file.name} does not hold positive intensities with a 0/1 class and a patient per "
            "row; get another copy."
        )
    return arrays


def _standardise_rows(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale each row to mean 0 and standard deviation 1."""
    centred = X - X.mean(axis=1, keepdims=True)
    return np.asarray(centred / centred.std(axis=1, keepdims=True))


# --------------------------------------------------------------------------------------------------
# Donations to a national veterans organization: the KDD-98 contest
# --------------------------------------------------------------------------------------------------


MAIL_COST = 0.68
"""Cost of mailing one person, in dollars."""

_TARGETS = ("TARGET_B", "TARGET_D")
_ID = "CONTROLN"

_SAMPLE_FILE = "donor_19372x50.csv.gz"
_CATEGORICAL_FILE = "lrn_categorical_95412x22.csv.gz"
_OTHERS_WEIGHT = 6.2337
"""Non-donors of the sample stand for so many of the learning set."""


@dataclass(frozen=True, slots=True, eq=False)
class Donations:
    """Donors and other people of the KDD-98 mailing.

    Attributes
    ----------
    X : pandas DataFrame of shape (n, p)
        Their columns.
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
    path = Path(folder)
    learning = _read(path / "cup98LRN.txt", (*_TARGETS, _ID))
    validation = _read(path / "cup98VAL.txt", (_ID,))
    targets = _read(path / "valtargt.txt", (_ID, *_TARGETS))
    merged = validation.merge(targets[[_ID, *_TARGETS]], on=_ID, how="left", validate="1:1")
    unknown = merged[_ID][merged[_TARGETS[0]].isna()]
    if unknown.size:
        msg = f"valtargt.txt has no target for {_ID} {unknown.iloc[0]}."
        raise ValueError(msg)
    names = [name for name in learning.columns if name not in (*_TARGETS, _ID)]
    other = [name for name in merged.columns if name not in (*_TARGETS, _ID)]
    if names != other:
        strange = sorted(set(names) ^ set(other)) or names
        msg = f"cup98LRN.txt and cup98VAL.txt have different columns, such as {strange[0]!r}."
        raise ValueError(msg)
    for name in names:
        if not _is_number(learning[name]) and _is_number(merged[name]):
            merged[name] = merged[name].map(_number_text)
    return _donations(learning, "KDD-98, learning set"), _donations(
        merged, "KDD-98, validation set"
    )


def load_kdd98_sample(folder: str | os.PathLike[str] | None = None) -> Donations:
    """Read all donors of the learning set and a sample of the others, with 47 columns.

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


# --------------------------------------------------------------------------------------------------
# A text and all games of tic-tac-toe, for models with interactions
# --------------------------------------------------------------------------------------------------


LINES = (
    *((3 * row, 3 * row + 1, 3 * row + 2) for row in range(3)),
    *((column, column + 3, column + 6) for column in range(3)),
    (0, 4, 8),
    (2, 4, 6),
)
"""Squares of tic-tac-toe that make a line."""


def load_genesis() -> str:
    """Return the first 8,000 characters of the Book of Genesis, King James Version.

    Examples
    --------
    >>> load_genesis()[:25]
    'In the beginning God crea'
    """
    path = resources.files("honestbayes.datasets").joinpath("data", "genesis.txt")
    return path.read_text(encoding="utf-8")


def tic_tac_toe() -> tuple[AnyArray, AnyArray]:
    """Return the 958 final boards of tic-tac-toe in which "x" began.

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
    """Return a text as vowels (V), consonants (C) and runs of other characters (_).

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
