"""Small tables for the commands, and their results read back."""

import csv
import json

import numpy as np
import pandas as pd

MIXED = ("--model", "mixed")
"""A model that is quicker than the default, for what is not about the model."""

COMPARED = ("--folds", "2", "--repeats", "1", "--no-path", *MIXED)
SHORT = (*COMPARED, "--no-compare")
"""Options that make a report quick."""


def patients(n=60, p=60, *, informative=5, shift=1.2, seed=0):
    """A table with a class "ill" or "well" whose first columns tell it, and noise."""
    generator = np.random.default_rng(seed)
    y = generator.permutation(np.arange(n) % 2)
    X = generator.normal(size=(n, p))
    X[:, :informative] += shift * y[:, None]
    frame = pd.DataFrame(X.round(4), columns=[f"g{j}" for j in range(p)])
    frame.insert(0, "status", np.array(["ill", "well"])[y])
    return frame


def write(frame, path):
    """Write a frame as CSV, as most programs do."""
    frame.to_csv(path, index=False)
    return path


def rows_of(path_or_text):
    """The rows of a CSV file, or of what a command printed, by column name."""
    text = path_or_text
    if not isinstance(text, str):
        text = path_or_text.read_bytes().decode("utf-8")
    return list(csv.DictReader(text.splitlines(keepends=True)))


def column(rows, name):
    """One column of numbers."""
    return np.array([float(row[name]) for row in rows])


def report_json(folder):
    """The JSON file of a report, read strictly."""
    return strict_json((folder / "report.json").read_bytes().decode("ascii"))


def strict_json(text):
    """JSON without the words NaN and Infinity, which are Python's own."""

    def refuse(word):
        raise AssertionError(word)

    return json.loads(text, parse_constant=refuse)


def by_name(report):
    """The methods of a report by their names."""
    return {method["name"]: method for method in report["methods"]}


def used(report):
    """What the model in use achieved on held-out cases."""
    return by_name(report)[report["in_use"]]["summary"]
