"""Give every estimator tables of odd kinds, in a process that may crash without harm.

Whatever is refused is refused by one of Python's usual errors, in words.
"""

import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse

import honestbayes

N = 12
Y = np.arange(N) % 2
RNG = np.random.default_rng(0)


def _as_matrix(values):
    """A NumPy matrix, which warns of itself unless something else has been imported before."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return np.asmatrix(values)


GOOD = (RNG.random((N, 5)) < 0.5).astype(float)


class Wrong:
    """Looks like a table and is none."""

    shape = (N, 5)
    dtype = np.dtype(float)

    def __len__(self):
        return N


def _sparse(kind, change):
    X = sparse.random_array((N, 5), density=0.5, format=kind, rng=np.random.default_rng(0))
    X.data[:] = 1
    change(X)
    return X


def _set(name, place, value):
    def change(X):
        getattr(X, name)[place] = value

    return change


def _cut(name):
    def change(X):
        setattr(X, name, getattr(X, name)[:-3])

    return change


TABLES = {
    "complex": GOOD + 1j,
    "dates": np.full((N, 5), np.datetime64("2020-01-01")),
    "durations": np.full((N, 5), np.timedelta64(1, "s")),
    "bytes": np.full((N, 5), b"a"),
    "void": np.zeros((N, 5), dtype="V8"),
    "record": np.zeros(N, dtype=[("a", float), ("b", int)]),
    "lists": np.array([[[1]] * 5] * N, dtype=object),
    "objects": np.full((N, 5), object(), dtype=object),
    "nothing": np.full((N, 5), None, dtype=object),
    "infinite": np.full((N, 5), np.inf),
    "huge integers": np.full((N, 5), 10**30, dtype=object),
    "large": np.full((N, 5), 1.7e308) * np.where(GOOD > 0, 1, -1),
    "tiny": GOOD * 5e-324,
    "half": GOOD.astype(np.float16),
    "long double": GOOD.astype(np.longdouble),
    "unsigned": GOOD.astype(np.uint64) + np.uint64(2**64 - 2),
    "other byte order": GOOD.astype(">f8"),
    "backwards": GOOD[::-1, ::-1],
    "strided": np.zeros((N * 2, 10))[::2, ::2],
    "broadcast": np.broadcast_to(GOOD[:, :1], (N, 5)),
    "read-only": np.frombuffer(GOOD.tobytes()).reshape(N, 5),
    "masked": np.ma.masked_array(GOOD, GOOD > 0),
    "matrix": _as_matrix(GOOD),
    "three axes": GOOD[:, :, None],
    "one axis": GOOD[:, 0],
    "no axis": np.array(1.0),
    "no rows": GOOD[:0],
    "no columns": GOOD[:, :0],
    "other rows": GOOD[:5],
    "text": "a table",
    "number": 3,
    "None": None,
    "set": {1, 2},
    "ragged": [[1], [1, 2]] * 6,
    "impostor": Wrong(),
    "frame of dates": pd.DataFrame({"a": pd.date_range("2020", periods=N)}),
    "frame of intervals": pd.DataFrame({"a": pd.interval_range(0, N)}),
    "frame of complex": pd.DataFrame({"a": GOOD[:, 0] + 1j}),
    "frame of lists": pd.DataFrame({"a": [[1]] * N}),
    "frame of sets of levels": pd.DataFrame({"a": pd.Categorical([(1,)] * N)}),
    "frame with nullable": pd.DataFrame({"a": pd.array([1, None] * 6, dtype="Int64")}),
    "frame, sparse": pd.DataFrame({"a": pd.arrays.SparseArray(GOOD[:, 0])}),
    "frame, names twice": pd.DataFrame(GOOD, columns=list("aabbc")),
    "frame, levels of names": pd.DataFrame(
        GOOD, columns=pd.MultiIndex.from_product([["a"], range(5)])
    ),
    "frame, no columns": pd.DataFrame(index=range(N)),
    "polars of lists": pl.DataFrame({"a": [[1, 2]] * N}),
    "polars of structs": pl.DataFrame({"a": [{"b": 1}] * N}),
    "polars of dates": pl.DataFrame({"a": pd.date_range("2020", periods=N).to_list()}),
    "polars of objects": pl.DataFrame({"a": pl.Series([object()] * N, dtype=pl.Object)}),
    "polars, nothing": pl.DataFrame({"a": [None] * N}),
    "polars, lazy": pl.LazyFrame({"a": GOOD[:, 0]}),
    "dictionary of keys": sparse.dok_array(GOOD),
    "diagonals": sparse.dia_array(GOOD),
    "blocks": sparse.bsr_array(GOOD),
    "csr, complex": sparse.csr_array(GOOD + 1j * GOOD),
    "csr, NaN": _sparse("csr", _set("data", 0, np.nan)),
    **{
        f"{kind}, {name}": _sparse(kind, change)
        for kind in ("csr", "csc")
        for name, change in {
            "index too large": _set("indices", 0, 10**6),
            "index below 0": _set("indices", 0, -1),
            "pointer too large": _set("indptr", 3, 10**6),
            "pointer below 0": _set("indptr", 3, -5),
            "pointers turn back": _set("indptr", 3, 0),
            "last pointer too large": _set("indptr", -1, 10**6),
            "first pointer not 0": _set("indptr", 0, 2),
            "indices cut": _cut("indices"),
            "data cut": _cut("data"),
            "pointers cut": _cut("indptr"),
        }.items()
    },
}

FEW = {
    "n_chains": 1,
    "n_doublings": 0,
    "n_warmup": 2,
    "n_draws": 2,
    "recalibrate": None,
    "random_state": 0,
}
ESTIMATORS = {
    "SelectiveBernoulliNB": {"recalibrate": None},
    "SelectiveCategoricalNB": {"recalibrate": None},
    "SelectiveGaussianNB": {"recalibrate": None},
    "SelectiveLogistic": {"recalibrate": None},
    "SelectiveMixedNB": {"recalibrate": None},
    "DiscreteNB": {},
    "ForwardProbabilitySelector": {"n_features_to_select": 1},
    "BoostedProbabilitySelector": {"n_rounds": 1},
    "SelectiveMixture": {**FEW, "thin": 1},
    "SelectiveFactorClassifier": {**FEW, "n_factors": 1},
    "InteractionClassifier": {**FEW, "order": 1},
    "AveragedNetworkClassifier": FEW,
    "SequenceClassifier": {**FEW, "order": 1},
}
REFUSALS = (ValueError, TypeError)
"""What scikit-learn's checks expect of bad input; InputError is a ValueError."""


def attempt(name, X):
    """Fit and use an estimator; return how it ended."""
    model = getattr(honestbayes, name)(**ESTIMATORS[name])
    try:
        model.fit(X, Y)
        use = model.predict_proba if hasattr(model, "predict_proba") else model.transform
        found = np.asarray(use(X))
    except REFUSALS as error:
        return "refused" if str(error).strip() else "refused without a word"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finite = not hasattr(model, "predict_proba") or np.all(np.isfinite(found))
    return "used" if finite else "not finite"


def main(name):
    """Try all tables, and say of each how it ended."""
    warnings.simplefilter("ignore")
    for table, X in TABLES.items():
        sys.stdout.write(f"{table}|")
        sys.stdout.flush()
        sys.stdout.write(f"{' '.join(attempt(name, X).split())}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
