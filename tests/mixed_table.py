"""Tables with measurements, categories and flags at once."""

import numpy as np
import pandas as pd
from hostile_table import hostile_frame

STAGES = ("<i>early</i>", "=late()", "</table><script>alert(5)</script>")
"""Levels that try to run, in no order that means anything."""


def clinic(n=80, seed=0):
    """A table of a clinic: numbers, texts with two and with more levels, flags, missing cells."""
    generator = np.random.default_rng(seed)
    ill = generator.permutation(np.arange(n) % 2)
    frame = pd.DataFrame(
        {f"lab{j}": generator.normal(50 + 8 * ill * (j < 3), 10, n).round(3) for j in range(12)}
    )
    step = (generator.random(n) < 0.6) * ill
    frame["stage"] = np.array(["I", "II", "III", "IV"])[generator.integers(0, 3, n) + step]
    frame["ward"] = np.array(["north", "south", "east"])[generator.integers(0, 3, n)]
    frame["smoker"] = np.where(generator.random(n) < 0.3 + 0.3 * ill, "yes", "no")
    frame["flag"] = (generator.random(n) < 0.3 + 0.4 * ill).astype(int)
    frame["answer"] = generator.integers(1, 3, n)
    frame.loc[3, "lab0"] = np.nan
    frame.loc[4, "stage"] = None
    frame.loc[5, "smoker"] = None
    frame.insert(0, "state", np.where(ill, "ill", "healthy"))
    return frame


def mixed_frame(n=60, seed=0):
    """A table with hostile names of columns, classes and levels, of all kinds."""
    generator = np.random.default_rng(seed)
    frame = hostile_frame(n, seed=seed)
    positive = (frame["<svg onload=alert(3)>"] == frame["<svg onload=alert(3)>"].max()).to_numpy()
    place = np.where(generator.random(n) < 0.6, 2 * positive, generator.integers(0, 3, n))
    frame.insert(1, "stage <u>", np.array(STAGES, dtype=object)[place])
    frame.insert(2, "ward", np.array(["north", "south", "east"])[generator.integers(0, 3, n)])
    frame.insert(3, "flag", generator.integers(0, 2, n))
    frame.loc[7, "stage <u>"] = None
    return frame


SPECIES = ("<b>ant</b>", "=bee()", "cat, big")
"""Three classes whose names try to be more than names."""


def species(n=90, seed=0):
    """A table of three classes: numbers, texts with two and with more levels, flags."""
    generator = np.random.default_rng(seed)
    kind = generator.permutation(np.arange(n) % 3)
    frame = pd.DataFrame(
        {f"size{j}": generator.normal(kind * (j < 2), 1, n).round(3) for j in range(8)}
    )
    known = generator.random(n) < 0.6
    frame["colour"] = np.where(known, np.array(["red", "blue", "grey"])[kind], "grey")
    frame["spots"] = np.where(generator.random(n) < np.array([0.2, 0.5, 0.9])[kind], "yes", "no")
    frame["bit"] = generator.integers(0, 2, n)
    frame.loc[3, ["size0", "colour", "bit"]] = [np.nan, None, np.nan]
    frame.insert(0, "kind", np.array(SPECIES, dtype=object)[kind])
    return frame
