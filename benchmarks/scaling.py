"""How time grows with cases, columns, nonzeros, kept features and workers, beside peers.

    python benchmarks/scaling.py            # scaling.json, .md and .png in benchmarks/results
    python benchmarks/scaling.py --quick    # small sizes, no workers, half a minute; prints only
    python benchmarks/scaling.py --draw     # the table and the picture again, from scaling.json

One size grows at a time. All sizes and contenders of a panel run in turns, at least five rounds, so
that ratios of a round are taken side by side; what was measured in each round is kept. BLAS runs on
one thread. Peers see the same table: scikit-learn's `SelectKBest` and `BernoulliNB.partial_fit`,
Dask's own sums by class, and a sum of all words, which is little more than reading them.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scaling_report import draw, markdown
from scipy import sparse
from sklearn.feature_selection import SelectKBest, chi2, f_classif
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from honestbayes import SelectiveBernoulliNB
from honestbayes.data import pack_store
from honestbayes.data.source import as_source
from honestbayes.selection import screen
from honestbayes.selection.moments import screen_moments

RESULTS = Path(__file__).parent / "results"
CLASSES = np.array([0, 1])
KEPT = 20
FEWEST, MOST = 5, 25
"""Rounds; more than the fewest only while the panel has taken less than `ENOUGH` seconds."""
ENOUGH = 10.0

ComparedMethods = dict[str, Callable[[], Any]]


@dataclass(frozen=True)
class Panel:
    """One size that grows.

    Attributes
    ----------
    title : str
        What is done to which table.
    axis : str
        What grows.
    sizes : tuple of int
        How it grows; the first three are the quick ones.
    compared_methods : function of a size and an ExitStack
        Returns what is timed, by name; ours begin with "ours". The stack closes what was opened.
    pairs : tuple of (ours, peer)
        Ratios to be told.
    """

    title: str
    axis: str
    sizes: tuple[int, ...]
    compared_methods: Callable[[int, ExitStack], ComparedMethods]
    pairs: tuple[tuple[str, str], ...]


def labels(n: int) -> np.ndarray:
    """Return two classes, evenly."""
    return np.arange(n) % 2


def flags(n: int, p: int) -> np.ndarray:
    """Return flags, each in 2% to 50% of the cases: most columns differ in their counts."""
    generator = np.random.default_rng((n, p))
    share = generator.uniform(0.02, 0.5, p).astype(np.float32)
    return (generator.random((n, p), dtype=np.float32) < share).astype(np.int8)


def ours(X: Any, y: np.ndarray) -> np.ndarray:
    """Count by class, and correlate with the class."""
    return screen(X, y).correlation()


def dense_flags(n: int, p: int, stack: ExitStack) -> ComparedMethods:
    """Screen bytes and packed bits."""
    X, y = flags(n, p), labels(n)
    store = pack_store(X, Path(stack.enter_context(tempfile.TemporaryDirectory())) / "store")
    words = np.concatenate(
        [store.read_part(j).bits.ravel() for j in range(len(store.header.parts))]
    )
    return {
        "ours, bytes": lambda: ours(X, y),
        "ours, packed store": lambda: ours(store, y),
        "SelectKBest(chi2)": lambda: SelectKBest(chi2).fit(X, y),
        "BernoulliNB.partial_fit": lambda: BernoulliNB().partial_fit(X, y, classes=CLASSES),
        "sum of the bytes, as words": lambda: X.view(np.int64).sum(),
        "sum of the packed words": lambda: words.sum(),
    }


def sparse_flags(nonzeros: int, _: ExitStack, *, kind: str) -> ComparedMethods:
    """Screen a sparse matrix of 2,000 x 20,000."""
    shape = 2000, 20_000
    density = nonzeros / (shape[0] * shape[1])
    X = sparse.random_array(shape, density=density, format=kind, rng=0, dtype=np.float32)
    X.data = np.ones(X.nnz, dtype=np.int8)
    y = labels(shape[0])
    found: ComparedMethods = {
        f"ours, {kind.upper()}": lambda: ours(X, y),
        "SelectKBest(chi2)": lambda: SelectKBest(chi2).fit(X, y),
        "sum of the columns": lambda: X.sum(axis=0),
    }
    if kind == "csr":  # from CSC it would be timed with a copy by rows
        found["BernoulliNB.partial_fit"] = lambda: BernoulliNB().partial_fit(X, y, classes=CLASSES)
    return found


def measurements(n: int, p: int, _: ExitStack) -> ComparedMethods:
    """Find moments of real numbers."""
    X, y = np.random.default_rng((n, p)).standard_normal((n, p)), labels(n)
    return {
        "ours, moments": lambda: screen_moments(as_source(X), y, CLASSES).r_squared(),
        "SelectKBest(f_classif)": lambda: SelectKBest(f_classif).fit(X, y),
        "sum of the numbers": lambda: X.sum(),
    }


def fits(n: int, p: int, k: int, _: ExitStack) -> ComparedMethods:
    """Screen, select and fit."""
    X, y = flags(n, p), labels(n)
    words = {"n_features_to_select": k, "random_state": 0}
    return {
        "ours, with the layer (default)": lambda: SelectiveBernoulliNB(**words).fit(X, y),
        "ours, recalibrate=None": lambda: SelectiveBernoulliNB(**words, recalibrate=None).fit(X, y),
        "SelectKBest(chi2), BernoulliNB": lambda: make_pipeline(
            SelectKBest(chi2, k=k), BernoulliNB()
        ).fit(X, y),
    }


def made_flags(block_info: Any = None) -> np.ndarray:
    """Make a chunk of random flags on the way: nobody can have it in a cache."""
    (first, last), (left, right) = block_info[None]["array-location"]
    bits = np.random.default_rng(left).bytes((last - first) * (right - left) // 8)
    unpacked = np.unpackbits(np.frombuffer(bits, dtype=np.uint8))
    return unpacked.reshape(last - first, right - left).view(np.int8)


def sum_of_words(values: np.ndarray) -> np.ndarray:
    """Read a chunk."""
    return values.view(np.int64).sum(keepdims=True)


def dask_workers(number: int, stack: ExitStack, *, n_chunks: int = 16) -> ComparedMethods:
    """Screen 2,000 x 8,000 flags in each chunk, by workers that are processes of one thread."""
    import dask.array as da
    from distributed import Client, LocalCluster

    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    cluster = stack.enter_context(LocalCluster(n_workers=number, **options))
    client = stack.enter_context(Client(cluster))
    n, width = 2000, 8000
    chunks, meta = ((n,), (width,) * n_chunks), np.zeros((0, 0), dtype=np.int8)
    X, y = da.map_blocks(made_flags, chunks=chunks, dtype=np.int8, meta=meta), labels(n)
    read = X.map_blocks(sum_of_words, chunks=((1,), (1,) * n_chunks), dtype=np.int64, meta=meta)
    sums = da.stack([X[y == label].sum(axis=0) for label in CLASSES])

    def by_client(run: Callable[[], Any]) -> Any:
        with client.as_current():
            return run()

    return {
        "ours, Dask": partial(by_client, lambda: ours(X, y)),
        "Dask's sums by class": partial(by_client, sums.compute),
        "making and reading the chunks": partial(by_client, read.compute),
    }


CHI2, NAIVE, FIT_BASELINE = (
    "SelectKBest(chi2)",
    "BernoulliNB.partial_fit",
    "SelectKBest(chi2), BernoulliNB",
)
FLAG_PAIRS = (
    ("ours, bytes", CHI2),
    ("ours, bytes", NAIVE),
    ("ours, bytes", "sum of the bytes, as words"),
    ("ours, packed store", "sum of the packed words"),
)
REAL_PAIRS = (
    ("ours, moments", "SelectKBest(f_classif)"),
    ("ours, moments", "sum of the numbers"),
)
FIT_PAIRS = (
    ("ours, with the layer (default)", FIT_BASELINE),
    ("ours, recalibrate=None", FIT_BASELINE),
)
NONZEROS = (160_000, 640_000, 2_560_000, 10_240_000)
PANELS = (
    Panel(
        "Screening flags, 10,000 columns",
        "n, cases",
        (500, 1000, 2000, 4000, 8000),
        lambda n, stack: dense_flags(n, 10_000, stack),
        FLAG_PAIRS,
    ),
    Panel(
        "Screening flags, 500 cases",
        "p, columns",
        (4000, 8000, 16_000, 32_000, 64_000, 128_000),
        lambda p, stack: dense_flags(500, p, stack),
        FLAG_PAIRS,
    ),
    Panel(
        "Screening CSC, 2,000 x 20,000",
        "nonzeros",
        NONZEROS,
        partial(sparse_flags, kind="csc"),
        (("ours, CSC", CHI2), ("ours, CSC", "sum of the columns")),
    ),
    Panel(
        "Screening CSR, 2,000 x 20,000",
        "nonzeros",
        NONZEROS,
        partial(sparse_flags, kind="csr"),
        (("ours, CSR", CHI2), ("ours, CSR", NAIVE), ("ours, CSR", "sum of the columns")),
    ),
    Panel(
        "Moments of numbers, 4,000 columns",
        "n, cases",
        (250, 500, 1000, 2000, 4000),
        lambda n, stack: measurements(n, 4000, stack),
        REAL_PAIRS,
    ),
    Panel(
        "Moments of numbers, 500 cases",
        "p, columns",
        (2000, 4000, 8000, 16_000, 32_000),
        lambda p, stack: measurements(500, p, stack),
        REAL_PAIRS,
    ),
    Panel(
        "Fit, 1,000 columns, 20 kept",
        "n, cases",
        (250, 500, 1000, 2000, 4000),
        lambda n, stack: fits(n, 1000, KEPT, stack),
        FIT_PAIRS,
    ),
    Panel(
        "Fit, 500 cases, 20 kept",
        "p, columns",
        (1000, 4000, 16_000, 64_000),
        lambda p, stack: fits(500, p, KEPT, stack),
        FIT_PAIRS,
    ),
    Panel(
        "Fit, 500 cases, 4,000 columns",
        "k, features kept",
        (4, 16, 64, 256, 1024),
        lambda k, stack: fits(500, 4000, k, stack),
        FIT_PAIRS,
    ),
    Panel(
        "Screening with Dask, 2,000 x 128,000",
        "workers",
        (1, 2),
        dask_workers,
        (
            ("ours, Dask", "Dask's sums by class"),
            ("ours, Dask", "making and reading the chunks"),
        ),
    ),
)


def measure(panel: Panel, sizes: tuple[int, ...], enough: float) -> dict[str, Any]:
    """Time all sizes and contenders of a panel in turns.

    Returns
    -------
    dict
        The words of the panel, and seconds by contender, size and round.
    """
    with ExitStack() as stack:
        compared_methods = {size: panel.compared_methods(size, stack) for size in sizes}
        for run in compared_methods[sizes[0]].values():  # imports and kernels
            run()
        times: dict[str, list[list[float]]] = {
            name: [[] for _ in sizes] for name in compared_methods[sizes[0]]
        }
        start, rounds = time.perf_counter(), 0
        while rounds < FEWEST or (rounds < MOST and time.perf_counter() - start < enough):
            for place, size in enumerate(sizes):
                for name, run in compared_methods[size].items():
                    begin = time.perf_counter()
                    run()
                    times[name][place].append(float(f"{time.perf_counter() - begin:.4g}"))
            rounds += 1
    return {
        "title": panel.title,
        "axis": panel.axis,
        "pairs": panel.pairs,
        "rounds": rounds,
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "sizes": sizes,
        "seconds": times,
    }


def main() -> None:
    """Measure, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--quick", action="store_true", help="three sizes, no workers; prints only")
    parser.add_argument("--draw", action="store_true", help="nothing is measured again")
    parser.add_argument("--only", default="", help="panels whose title holds this; prints only")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    path = arguments.out / "scaling.json"
    if arguments.draw:
        found = json.loads(path.read_text(encoding="utf-8"))
    else:
        found = []
        for panel in PANELS:
            slow = panel.axis == "workers"  # to start them takes longer than all the rest
            if arguments.only in panel.title and not (arguments.quick and slow):
                sizes = panel.sizes[:3] if arguments.quick else panel.sizes
                start = time.perf_counter()
                with threadpool_limits(1):
                    found.append(measure(panel, sizes, 0.0 if arguments.quick else ENOUGH))
                print(f"{panel.title}: {time.perf_counter() - start:.0f} s", flush=True)
    if arguments.quick or arguments.only:
        print(markdown(found))
        return
    path.write_text(json.dumps(found) + "\n", encoding="utf-8")
    path.with_suffix(".md").write_text(markdown(found), encoding="utf-8")
    draw(found, path.with_suffix(".png"))


if __name__ == "__main__":
    main()
