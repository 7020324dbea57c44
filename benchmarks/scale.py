"""One large table through every kind of source: the same model to the last bit, memory and time.

    python benchmarks/scale.py make FOLDER [--cases 2000] [--features 2000000]
    python benchmarks/scale.py run FOLDER          # all sources, each in a process of its own
    python benchmarks/scale.py parquet FOLDER [--rows 50000000]
    python benchmarks/scale.py workers             # one and two workers of Dask

`make` writes the table as a memory map of bytes, a CSC matrix and a packed store. `run` fits
`SelectiveBernoulliNB` to each and to a Dask array in chunks of columns, and prints seconds, peak
memory beyond that of the imports, and whether selection and probabilities are those of the memory
map. Then it compares times with those of reading alone, taken in turns in one process.
"""

import argparse
import hashlib
import json
import resource
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
from scipy import sparse

CHUNK = 20_000
SOURCES = ("memory map", "csc", "packed", "dask by columns")


def labels(n):
    """Two classes, evenly."""
    return np.arange(n) % 2


def columns(n, first, last):
    """Return flags of 2% of the cases; the first hundred columns have twice as many in a class."""
    generator = np.random.default_rng((0, first))
    share = np.full((n, last - first), 0.02)
    told = max(0, min(100, last) - first)
    share[labels(n) == 1, :told] = 0.04
    return (generator.random((n, last - first)) < share).astype(np.int8)


def make(folder, n, p):
    """Write the table in all its forms."""
    from honestbayes.data import pack_store

    folder.mkdir(exist_ok=True)
    table = np.lib.format.open_memmap(folder / "x.npy", "w+", np.int8, (n, p), fortran_order=True)
    parts = []
    for first in range(0, p, CHUNK):
        last = min(first + CHUNK, p)
        table[:, first:last] = part = columns(n, first, last)
        parts.append(sparse.csc_array(part))
    table.flush()
    sparse.save_npz(folder / "x.npz", sparse.hstack(parts, format="csc"), compressed=False)
    start = time.perf_counter()
    pack_store(np.load(folder / "x.npy", mmap_mode="r"), folder / "x.store")
    print(f"packed in {time.perf_counter() - start:.1f} s", flush=True)


def opened(folder, kind):
    """Return the table as a source reads it."""
    if kind == "csc":
        return sparse.load_npz(folder / "x.npz")
    if kind == "packed":
        from honestbayes.data import open_store

        return open_store(folder / "x.store")
    table = np.load(folder / "x.npy", mmap_mode="r")
    if kind == "dask by columns":
        import dask.array as da

        # `from_array` would copy all of a memory map at once.
        n, p = table.shape
        sizes = (CHUNK,) * (p // CHUNK) + ((p % CHUNK,) if p % CHUNK else ())
        read = partial(read_columns, path=folder / "x.npy")
        return da.map_blocks(read, chunks=((n,), sizes), dtype=table.dtype, meta=np.zeros((0, 0)))
    return table


def read_columns(block_info=None, *, path):
    """Read a chunk of columns from the file."""
    (_, _), (first, last) = block_info[None]["array-location"]
    return np.array(np.load(path, mmap_mode="r")[:, first:last])


def peak():
    """Return the largest memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def private():
    """Return the memory of this process that is not pages of files, in MB."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    kept = {line.split(":")[0]: line.split()[1] for line in lines[1:]}
    return int(kept["Anonymous"]) / 1e3


class Watch:
    """The largest private memory while something runs, looked at twenty times a second."""

    def __enter__(self):
        import threading

        self.most, self.done = 0.0, threading.Event()

        def look():
            while not self.done.wait(0.05):
                self.most = max(self.most, private())

        self.thread = threading.Thread(target=look, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()


def one(folder, kind):
    """Fit one source, and print what was found as JSON."""
    from honestbayes import SelectiveBernoulliNB

    small = columns(40, 0, 30)
    SelectiveBernoulliNB(random_state=0).fit(small, labels(40))  # imports and kernels
    before = private()
    with Watch() as watch:
        start = time.perf_counter()
        X = opened(folder, kind)
        y = labels(X.shape[0])
        model = SelectiveBernoulliNB(n_features_to_select=20, random_state=0).fit(X, y)
        fitted = time.perf_counter() - start
        proba = model.predict_log_proba(X)
        seconds = time.perf_counter() - start
    print(
        json.dumps(
            {
                "selection": hashlib.sha256(repr(model.selection_).encode()).hexdigest()[:12],
                "kept": list(model.selection_.kept)[:5],
                "probabilities": hashlib.sha256(proba.tobytes()).hexdigest()[:12],
                "fit": fitted,
                "seconds": seconds,
                "memory": watch.most - before,
            }
        )
    )


def run(folder):
    """Fit all sources, and compare."""
    found = {}
    for kind in SOURCES:
        told = subprocess.run(
            [sys.executable, __file__, "one", str(folder), "--kind", kind],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        found[kind] = json.loads(told)
    first = found[SOURCES[0]]
    print("| source | fit, s | with prediction, s | memory of its own, MB | same bits |")
    print("| --- | ---: | ---: | ---: | --- |")
    for kind, result in found.items():
        same = all(result[word] == first[word] for word in ("selection", "probabilities"))
        print(
            f"| {kind} | {result['fit']:.1f} | {result['seconds']:.1f} | {result['memory']:.0f} | "
            f"{'yes' if same else 'NO'} |"
        )


def ratios(folder):
    """Compare screening with reading the same bytes, in turns."""
    from numba import njit
    from speed import best_times

    from honestbayes.data import open_store
    from honestbayes.selection import screen

    @njit(nogil=True)
    def total(words):
        result = np.uint64(0)
        for word in words:
            result += word
        return result

    store, matrix = open_store(folder / "x.store"), sparse.load_npz(folder / "x.npz")
    y = labels(store.shape[0])
    words = np.concatenate(
        [store.read_part(part).bits.ravel() for part in range(len(store.header.parts))]
    )
    times = best_times(
        {
            "sum of the words, one thread": lambda: total(words),
            "screening the store": lambda: screen(store, y),
            "sum of the columns, CSC": lambda: matrix.sum(axis=0),
            "screening CSC": lambda: screen(matrix, y),
        },
        5,
    )
    for name, seconds in times.items():
        print(f"{name}: {seconds:.3f} s")
    first, second, third, last = times.values()
    print(f"ratios: packed {second / first:.2f} (bound 3), CSC {last / third:.2f} (bound 3)")


def parquet(folder, n):
    """Screen and fit a Parquet file of 40 columns, beside polars' own counting."""
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq

    from honestbayes import SelectiveBernoulliNB
    from honestbayes.selection import screen

    path = folder / "rows.parquet"
    names = [f"x{j}" for j in range(40)]
    if not path.exists():
        generator = np.random.default_rng(0)
        schema = pa.schema([("y", pa.int8()), *((name, pa.int8()) for name in names)])
        with pq.ParquetWriter(path, schema) as writer:
            for first in range(0, n, 1_000_000):
                rows = min(1_000_000, n - first)
                y = generator.integers(0, 2, rows, dtype=np.int8)
                cells = [
                    (generator.integers(0, 100, rows, dtype=np.int8) < 30 + 2 * y * (j < 5)).astype(
                        np.int8
                    )
                    for j in range(40)
                ]
                writer.write_table(pa.table([y, *cells], schema=schema))
    frame = pl.scan_parquet(path)
    X, y = frame.drop("y"), frame.select("y").collect().to_series().to_numpy()
    model = SelectiveBernoulliNB(random_state=0)
    model.fit(columns(40, 0, 30), labels(40))
    start_memory = private()
    for _ in range(3):
        start = time.perf_counter()
        with Watch() as watch:
            screen(X, y)
        middle = time.perf_counter()
        frame.group_by("y").agg(pl.all().sum()).collect(engine="streaming")
        end = time.perf_counter()
        print(
            f"screening {middle - start:.1f} s, polars {end - middle:.1f} s, ratio "
            f"{(middle - start) / (end - middle):.2f} (bound 2); {watch.most - start_memory:.0f} MB"
        )
    start = time.perf_counter()
    with Watch() as watch:
        model.fit(X, y)
    print(
        f"fit {time.perf_counter() - start:.1f} s, {watch.most - start_memory:.0f} MB, "
        f"peak of the process {peak():.0f} MB"
    )


def made_columns(block_info=None):
    """Make a chunk of random flags: nobody can have it in a cache."""
    (first, last), (left, right) = block_info[None]["array-location"]
    generator = np.random.default_rng(left)
    bits = np.frombuffer(generator.bytes((last - first) * (right - left) // 8), dtype=np.uint8)
    return np.unpackbits(bits).reshape(last - first, right - left).view(np.int8)


def workers():
    """Screen chunks that are made on the way by one and by two workers of Dask, in turns."""
    import dask.array as da
    from distributed import Client, LocalCluster

    from honestbayes.selection import screen

    n, width, number = 2000, 8000, 60
    X = da.map_blocks(
        made_columns, chunks=((n,), (width,) * number), dtype=np.int8, meta=np.zeros((0, 0))
    )
    y, found = labels(n), {1: [], 2: []}
    words = {"threads_per_worker": 1, "processes": True, "dashboard_address": None}
    clients = {k: Client(LocalCluster(n_workers=k, **words)) for k in found}
    for client in clients.values():
        with client.as_current():
            screen(X[:, : 2 * width], y)
    for _ in range(5):
        for k, client in clients.items():
            with client.as_current():
                before = sum(client.run(time.process_time).values())
                start = time.perf_counter()
                screen(X, y)
                seconds = time.perf_counter() - start
                cpu = sum(client.run(time.process_time).values()) - before
            found[k].append((seconds, cpu))
    (one_wall, one_cpu), (two_wall, two_cpu) = (np.median(found[k], axis=0) for k in (1, 2))
    print(f"one worker {one_wall:.1f} s, {one_cpu:.1f} CPU s; two {two_wall:.1f} s, {two_cpu:.1f}")
    print(
        f"CPU {two_cpu / one_cpu:.2f} (bound 1.2), faster {one_wall / two_wall:.2f} (at least 1.3)"
    )
    for client in clients.values():
        client.close()


def main():
    """Do what was asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["make", "run", "one", "ratios", "parquet", "workers"])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--kind", choices=SOURCES)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--features", type=int, default=2_000_000)
    parser.add_argument("--rows", type=int, default=50_000_000)
    given = parser.parse_args()
    if given.what == "make":
        make(given.folder, given.cases, given.features)
    elif given.what == "one":
        one(given.folder, given.kind)
    elif given.what == "run":
        run(given.folder)
        ratios(given.folder)
    elif given.what == "workers":
        workers()
    elif given.what == "parquet":
        parquet(given.folder, given.rows)
    else:
        ratios(given.folder)


if __name__ == "__main__":
    main()
