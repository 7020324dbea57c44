"""Tables that would give a wrong conclusion, each for one reason."""

import numpy as np
import pandas as pd


def plain(n=120, p=6, *, shift=0.8, seed=1):
    """Measurements of which two tell the class a little: nothing is doubtful."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 2)
    X = rng.normal(size=(n, p))
    X[:, :2] += shift * y[:, None]
    frame = pd.DataFrame(X.round(3)).add_prefix("g")
    frame.insert(0, "status", np.array(["ill", "well"])[y])
    return frame


def _with(**columns):
    """The plain table with columns made of the class (0/1) and a generator."""
    frame, rng = plain(), np.random.default_rng(2)
    y = (frame["status"] == "well").to_numpy().astype(int)
    for name, make in columns.items():
        frame[name] = make(y, rng)
    return frame


def visits(*, n_patients=25, n_visits=6, seed=3):
    """Patients with several rows each that resemble each other, and a class by lot."""
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(n_patients), n_visits)
    y = rng.permutation(np.arange(n_patients) % 2)[patient]
    means = rng.normal(size=(n_patients, 10))[patient]
    frame = pd.DataFrame((means + 0.1 * rng.normal(size=means.shape)).round(3)).add_prefix("m")
    frame.insert(0, "patient", patient + 101)
    frame.insert(0, "status", np.array(["ill", "well"])[y])
    return frame


def _named_visits():
    frame = visits()
    frame["patient"] = [f"P{number}" for number in frame["patient"]]
    return frame


def _sorted_visits():
    frame = visits().sort_values("status", kind="stable")
    frame["patient"] = pd.factorize(frame["patient"])[0] + 1
    return frame


def _ages():
    frame = visits()
    age = np.random.default_rng(4).normal(50, 10, 25).round(2)
    frame["age"] = age[frame.pop("patient") - 101]
    return frame


def _shuffled_patients():
    """Rows of 30 patients in random order, whose measurements vary and whose class may too."""
    rng = np.random.default_rng(6)
    patient = rng.permutation(np.repeat(np.arange(30), 4))
    frame = plain()
    frame["age"] = rng.integers(30, 75, 30)[patient]
    frame["height"] = rng.normal(170, 9, 30).round(1)[patient]
    return frame


def _whole_ages():
    frame = visits()
    age = np.random.default_rng(4).integers(30, 75, 25)
    frame["age"] = age[frame.pop("patient") - 101]
    return frame


def _two_names():
    frame = visits()
    place = frame.pop("patient") - 101
    return frame.assign(hospital=place // 5, nr=place % 5)


def _few_wrong():
    frame = visits()
    frame.loc[[0, 50], "status"] = ["well", "ill"]
    return frame


def _repeated():
    frame = plain()
    return pd.concat([frame, frame.iloc[:12]], ignore_index=True)


def _sorted_identifiers(*, shuffled=True):
    frame = plain().sort_values("status", kind="stable", ignore_index=True)
    rng = np.random.default_rng(5)
    frame["sample"] = np.sort(rng.choice(np.arange(1000, 9000), len(frame), replace=False))
    return frame.sample(frac=1, random_state=0, ignore_index=True) if shuffled else frame


def _stray(words, share=None):
    frame, rng = plain(), np.random.default_rng(6)
    cells = frame["g0"].astype(str)
    chosen = [7, 30] if share is None else np.flatnonzero(rng.random(len(cells)) < share)
    for position, row in enumerate(chosen):
        cells[row] = words[position % len(words)]
    return frame.assign(g0=cells)


STOPPED = {
    "patients by number": (visits, "groups", "patient"),
    "patients by name": (_named_visits, "groups", "patient"),
    "patients sorted by class": (_sorted_visits, "groups", "patient"),
    "two mistakes among patients": (_few_wrong, "groups", "patient"),
    "an age that names patients": (_ages, "groups", "age"),
    "a hospital and a number in it": (_two_names, "groups", "nr"),
    "rows that are there twice": (_repeated, "repeated rows", ""),
    "a text that is the class": (
        lambda: _with(code=lambda y, _: np.where(y, "B2", "A1")),
        "copy of the class",
        "code",
    ),
    "a flag that is the class": (
        lambda: _with(code=lambda y, _: 1 - y),
        "copy of the class",
        "code",
    ),
    "codes that determine the class": (
        lambda: _with(
            code=lambda y, rng: np.where(y, rng.choice([1, 2], y.size), rng.choice([3, 4], y.size))
        ),
        "copy of the class",
        "code",
    ),
    "a text with 2% noise": (
        lambda: _with(code=lambda y, rng: np.where(y ^ (rng.permutation(y.size) < 2), "B2", "A1")),
        "copy of the class",
        "code",
    ),
    "a flag with 2% noise": (
        lambda: _with(code=lambda y, rng: y ^ (rng.permutation(y.size) < 2)),
        "copy of the class",
        "code",
    ),
    "the class and a little noise": (
        lambda: _with(score=lambda y, rng: (y + rng.normal(0, 0.01, y.size)).round(4)),
        "copy of the class",
        "score",
    ),
    "the class, a little noise and two mistakes": (
        lambda: _with(
            score=lambda y, rng: (
                (y ^ (rng.permutation(y.size) < 2)) + rng.normal(0, 0.01, y.size)
            ).round(4)
        ),
        "copy of the class",
        "score",
    ),
    "dates as numbers": (
        lambda: _with(day=lambda y, rng: 20200101 + 10000 * y + rng.integers(0, 1200, y.size)),
        "copy of the class",
        "day",
    ),
    "identifiers sorted by class": (_sorted_identifiers, "sorted identifiers", "sample"),
    "one stray cell": (lambda: _stray(["-"]), "stray cells", "g0"),
    "cells that were not determined": (lambda: _stray(["n.d."], 0.15), "stray cells", "g0"),
    "two words for missing": (lambda: _stray(["-", "n.d."], 0.3), "stray cells", "g0"),
    "thousands": (
        lambda: _with(income=lambda y, rng: [f"{x:,}" for x in rng.integers(1000, 9999, y.size)]),
        "decimal marks",
        "income",
    ),
    **{
        f"numbers such as {example}": (
            lambda write=write: _with(
                # One cell is in no form, so that the column cannot be read as numbers.
                dose=lambda y, rng: ["trace", *(write(x) for x in rng.normal(50 + 5 * y, 8)[1:])]
            ),
            "numbers with units",
            "dose",
        )
        for example, write in {
            "28.1 mg": lambda x: f"{x:.1f} mg",
            "28mg": lambda x: f"{10 * x:.0f}mg",
            "5 %": lambda x: f"{x:.2f} %",
            "$1,200": lambda x: f"${100 * x:,.0f}",
            "120/80": lambda x: f"{2 * x:.0f}/{x:.0f}",
            "120/80 mmHg": lambda x: f"{2 * x:.0f}/{x:.0f} mmHg",
            "1.234,56": lambda x: f"{100 * x:,.2f}".translate(str.maketrans(",.", ".,")),
            "EUR 12.50": lambda x: f"EUR {x:.2f}",
            "28 or 1.2 g": lambda x: f"{x:.1f} mg" if x > 40 else f"{x / 1000:.3f} g",
            "45 years": lambda x: f"{10 * x:.0f} years",
        }.items()
    },
}
"""What a table has, how it is made, the rule that stops it, and the column."""


REMARKED = {
    "patients without a name": (
        lambda: visits().drop(columns="patient"),
        "rows in sequence",
        "",
    ),
    "patients and their age in years": (_whole_ages, "rows in sequence", ""),
    "categories that nearly determine the class": (
        lambda: _with(
            odour=lambda y, rng: np.where(
                y ^ (rng.permutation(y.size) < 2),
                rng.choice(["none", "almond"], y.size),
                rng.choice(["foul", "fishy", "musty"], y.size),
            )
        ),
        "nearly a copy",
        "odour",
    ),
    "a gene that separates the classes": (
        lambda: _with(gene=lambda y, rng: (9 * y + rng.normal(0, 1, y.size)).round(3)),
        "nearly a copy",
        "gene",
    ),
    "measured in one class only": (
        lambda: _with(dose=lambda y, rng: np.where(y, rng.normal(size=y.size), np.nan)),
        "missing by class",
        "dose",
    ),
    "missing more often in one class": (
        lambda: _with(
            dose=lambda y, rng: np.where(
                rng.random(y.size) < 0.1 + 0.5 * y, np.nan, rng.normal(size=y.size)
            )
        ),
        "missing by class",
        "dose",
    ),
    "999 for missing": (
        lambda: _with(
            age=lambda y, rng: np.where(rng.random(y.size) < 0.1, 999, rng.integers(20, 80, y.size))
        ),
        "sentinels",
        "age",
    ),
    "-99 for missing": (
        lambda: _with(
            age=lambda y, rng: np.where(rng.random(y.size) < 0.1, -99, rng.integers(0, 14, y.size))
        ),
        "sentinels",
        "age",
    ),
    "a copy of the class with an error in 20": (
        lambda: _with(code=lambda y, rng: y ^ (rng.permutation(y.size) < 6)),
        "one column alone",
        "code",
    ),
    "0 for missing": (
        lambda: _with(
            bmi=lambda y, rng: np.where(
                rng.random(y.size) < 0.1, 0, rng.normal(27, 4, y.size).round(1)
            )
        ),
        "zeros",
        "bmi",
    ),
    "lists in cells": (
        lambda: _with(
            drugs=lambda y, rng: [
                "; ".join(np.array(["aspirin", "insulin", "statin"])[rng.random(3) < 0.6]) or "none"
                for _ in y
            ]
        ),
        "lists in cells",
        "drugs",
    ),
    "a column that is there twice": (
        lambda: _with(again=lambda _y, _: plain()["g3"]),
        "same column twice",
        "again",
    ),
    "degrees in two scales": (
        lambda: _with(fahrenheit=lambda _y, _: 32 + 1.8 * plain()["g3"]),
        "same column twice",
        "fahrenheit",
    ),
    "patients in random order": (lambda: _shuffled_patients(), "rows that agree", ""),
    "the time until death": (
        lambda: _with(survival_days=lambda y, rng: 400 + 200 * y + 97.5 * rng.normal(size=120)),
        "known too late",
        "survival_days",
    ),
    "yes and Yes": (
        lambda: _with(smoker=lambda y, rng: rng.choice(["yes", "Yes", "no"], y.size)),
        "spellings of a category",
        "smoker",
    ),
    "days since 1900": (
        lambda: _with(visit_date=lambda y, rng: rng.integers(43_000, 44_000, y.size)),
        "dates as numbers",
        "visit_date",
    ),
    "dates without hyphens": (
        lambda: _with(seen=lambda y, rng: 20_200_101 + 100 * rng.integers(0, 12, y.size)),
        "dates as numbers",
        "seen",
    ),
    "a grade": (
        lambda: _with(grade=lambda y, rng: rng.integers(1, 5, y.size)),
        "codes",
        "grade",
    ),
    "a postcode": (
        lambda: _with(zip=lambda y, rng: rng.choice(np.arange(20001, 20030), y.size)),
        "codes",
        "zip",
    ),
}
"""The same for what is said and does not stop."""


QUIET = {
    "nothing": plain,
    **{
        f"texts such as {example}": lambda write=write: _with(
            text=lambda y, rng: [
                write(i, int(k)) for i, k in enumerate(rng.integers(0, 14, y.size))
            ]
        )
        for example, write in {
            "grade 1": lambda _, k: f"grade {k}",
            "stage 2": lambda _, k: f"stage {k % 4}",
            "10-19": lambda _, k: f"{5 * k}-{5 * k + 4}",
            "10 to 19": lambda _, k: f"{5 * k} to {5 * k + 4}",
            "S001": lambda i, _: f"S{i:03}",
            "sample 17": lambda i, _: f"sample {i}",
            "17_T": lambda i, _: f"{i}_T",
            "12A": lambda i, _: f"{i // 3}{'ABC'[i % 3]}",
            "12p13": lambda i, k: f"{k + 1}{'pq'[i % 2]}{i % 7 + 11}",
            "3rd": lambda _, k: f"{k + 4}th",
            "12 Main Street": lambda i, k: (
                f"{i} {('Main', 'Oak', 'High', 'Long', 'Elm', 'Park')[k % 6]} Street {k}"
            ),
            "20 mg tablet": lambda _, k: f"{20 * (k % 3)} mg tablet",
            "01067": lambda i, _: f"{i:05}",
        }.items()
    },
    "shuffled identifiers": lambda: _with(
        sample=lambda y, rng: rng.choice(np.arange(1000, 9000), y.size, replace=False)
    ),
    "names with the class in them": lambda: _with(
        name=lambda y, _: [f"{'well' if c else 'ill'}_{i:03}" for i, c in enumerate(y)]
    ),
    "two flags that tell the class together": lambda: _with(
        a=lambda y, rng: rng.permutation(np.arange(y.size) % 2),
        b=lambda y, rng: rng.permutation(np.arange(y.size) % 2) ^ y,
    ),
    "whole numbers that repeat": lambda: _with(
        age=lambda y, rng: rng.integers(20, 60, y.size) + 5 * y
    ),
    "counts from 0": lambda: _with(visits=lambda y, rng: rng.poisson(rng.exponential(6, y.size))),
    "multiples of 5 from 0": lambda: _with(
        cigarettes=lambda y, rng: 5 * rng.integers(0, 13, y.size)
    ),
    "rain, often none": lambda: _with(
        rain=lambda y, rng: np.where(
            rng.random(y.size) < 0.4, 0, np.exp(rng.normal(size=y.size)).round(2)
        )
    ),
    "zeros in a wide table": lambda: plain(p=101).pipe(
        lambda frame: frame.assign(g7=(frame["g7"] + 9).where(frame["g8"] < 1, 0))
    ),
    "names with commas": lambda: _with(
        town=lambda y, rng: rng.choice(["York, UK", "Ulm, DE", "Oslo, NO", "Lyon, FR"], y.size)
    ),
    "a square": lambda: _with(age=lambda y, rng: rng.integers(20, 60, y.size)).pipe(
        lambda frame: frame.assign(squared=(frame["age"] - 40) ** 2)
    ),
    "two ages": lambda: _with(
        age=lambda y, rng: rng.integers(20, 60, y.size),
        years=lambda y, rng: rng.integers(0, 30, y.size),
    ),
    "one pair of equal rows": lambda: pd.concat([plain(), plain().iloc[:1]], ignore_index=True),
    "many genes that separate the classes": lambda: plain(60, 20, shift=0).pipe(
        lambda frame: frame.assign(
            **{f"h{j}": frame[f"g{j}"] + 9 * (frame["status"] == "well") for j in range(6)}
        )
    ),
}
"""Tables about which there is nothing to say."""
