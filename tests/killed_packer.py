"""Pack a table that takes long to read, until somebody ends the process."""

import sys
import time
from pathlib import Path

import numpy as np
from cut_source import grid

from honestbayes.data import pack_store

WIDTH = 20
"""Columns of a part."""


class SlowSource:
    """A table in blocks of rows and columns, each of which takes some milliseconds to read."""

    feature_names = None

    def __init__(self, pause=0.0, seed=0):
        X = np.random.default_rng(seed).integers(0, 2, (150, 1000), dtype=np.uint8)
        self.cut, self.pause = grid(X, [50, 101], list(range(30, 1000, 30)), seed=None), pause
        self.shape = X.shape
        self.n_read = 0

    def blocks(self):
        for block in self.cut.blocks():
            time.sleep(self.pause)
            self.n_read += 1
            yield block

    def take(self, columns):
        return self.cut.take(columns)


def pack(path, pause=0.0, seed=0, **options):
    """Pack, from where it stopped where there is something."""
    source = SlowSource(pause, seed)
    y = np.arange(150) % 3
    return pack_store(source, path, labels=y, columns_per_file=WIDTH, **options), source


if __name__ == "__main__":
    pack(Path(sys.argv[1]), pause=0.01)
