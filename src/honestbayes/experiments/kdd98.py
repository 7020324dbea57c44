"""Table 3 of Gidofalvi and Zadrozny: few features or all, and whom to mail.

    python -m honestbayes.experiments.kdd98 [FOLDER]

FOLDER holds the official files of the KDD-98 contest. Without it the experiment runs on the parts
of the learning set in the folder that HONESTBAYES_DATA names, halved at random several times: half
of the people train, the others test. Profits of these halves cannot be compared with the published
ones, which are of the official test set and of other columns.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import StratifiedShuffleSplit

from honestbayes.datasets.kdd98 import (
    MAIL_COST,
    Donations,
    load_kdd98,
    load_kdd98_categorical,
    load_kdd98_sample,
)
from honestbayes.decisions import decide, mailing_benefits, profit
from honestbayes.models.plain import DiscreteNB
from honestbayes.search.boosted import BoostedProbabilitySelector
from honestbayes.search.forward import ForwardProbabilitySelector
from honestbayes.types import FloatArray, IntArray

PUBLISHED = {
    "7 hand-selected": (0.10089, 0.10111, 10083, 9531),
    "5 forward": (0.09535, 0.09536, 15484, 14048),
    "10 forward": (0.09520, 0.09537, 16221, 14443),
    "20 forward": (0.09499, 0.09556, 16877, 13366),
    "5 boosted": (0.10349, 0.09540, 7365, 11700),
    "all features": (0.64965, 0.65750, 14355, 10319),
}
"""Squared error and profit in dollars on the training and the test set, by method."""

NUMBERS = (5, 10, 20)
BOOSTED = 5


@dataclass(frozen=True, slots=True)
class Study:
    """A table, and which of its columns play a part.

    Attributes
    ----------
    name : str
        What to call it.
    by_hand : tuple of str
        Columns chosen by hand: those of Zadrozny and Elkan (2001), or what comes nearest.
    for_gift : tuple of str
        Columns of the regression of the gift.
    """

    name: str
    by_hand: tuple[str, ...]
    for_gift: tuple[str, ...]


OFFICIAL = Study(
    "the official files",
    ("INCOME", "FISTDATE", "LASTDATE", "CARDGIFT", "RFA_2F", "RFA_2A", "PEPSTRFL"),
    ("LASTGIFT", "AVGGIFT"),
)
SAMPLE = Study(
    "19,372 people, 47 columns",
    (
        "INCOME_GROUP",
        "MONTHS_SINCE_FIRST_GIFT",
        "MONTHS_SINCE_LAST_GIFT",
        "RECENT_RESPONSE_PROP",
        "FREQUENCY_STATUS_97NK",
        "LAST_GIFT_AMT",
        "PEP_STAR",
    ),
    ("LAST_GIFT_AMT", "LIFETIME_AVG_GIFT_AMT"),
)
CATEGORICAL = Study(
    "95,412 people, 20 categorical columns",
    ("DOMAIN_A", "HOMEOWNR", "GENDER", "RFA_2A", "MDMAUD_F", "MDMAUD_A", "PEPSTRFL"),
    ("RFA_2A",),
)


@dataclass(frozen=True, slots=True)
class Row:
    """One method.

    Attributes
    ----------
    name : str
        Which.
    error : tuple of (float, float)
        Squared error, summed over both classes, of training and test people.
    profit : tuple of (float, float)
        Dollars, of training and test people.
    """

    name: str
    error: tuple[float, float]
    profit: tuple[float, float]


def estimate_gift(train: Donations, people: Donations, columns: Sequence[str]) -> FloatArray:
    """Return the gift that each person would give, by linear regression on donors only.

    Texts have a column for each value; missing numbers are the donors' mean.
    """
    donors = train.y == 1
    known = train.X[list(columns)]
    numbers = known.select_dtypes("number").columns
    texts = [name for name in columns if name not in numbers]

    def design(X: Any) -> FloatArray:
        parts = [X[numbers].fillna(known.loc[donors, numbers].mean()).to_numpy(dtype=float)]
        for name in texts:
            values = sorted(known[name].dropna().unique())[1:]
            parts.append(X[name].to_numpy(dtype=object)[:, None] == np.array(values, dtype=object))
        return np.hstack([part.astype(float) for part in parts])

    model = LinearRegression().fit(design(known[donors]), train.gift[donors])
    return np.asarray(model.predict(design(people.X[list(columns)])), dtype=float)


def table_3(
    study: Study, train: Donations, test: Donations, n_jobs: int | None = None
) -> list[Row]:
    """Compute the rows of table 3."""
    gifts = [estimate_gift(train, people, study.for_gift) for people in (train, test)]
    most = min(max(NUMBERS), train.X.shape[1])
    words = (train.X, train.y, train.sample_weight)
    forward = ForwardProbabilitySelector(n_features_to_select=most, n_jobs=n_jobs).fit(*words)
    boosted = BoostedProbabilitySelector(n_rounds=BOOSTED, n_jobs=n_jobs).fit(*words)
    chosen: dict[str, IntArray] = {
        f"{len(study.by_hand)} hand-selected": np.array(
            [train.X.columns.get_loc(name) for name in study.by_hand]
        )
    }
    for number in NUMBERS:
        if number <= most:
            chosen[f"{number} forward"] = forward.path_.feature[:number]
    chosen[f"{BOOSTED} boosted"] = boosted.path_.kept
    chosen["all features"] = np.arange(train.X.shape[1])
    rows = []
    for name, columns in chosen.items():
        model = DiscreteNB().fit(train.X.iloc[:, columns], *words[1:])
        results = [
            evaluate(model.predict_proba(people.X.iloc[:, columns]), people, gift)
            for people, gift in zip((train, test), gifts, strict=True)
        ]
        errors, profits = zip(*results, strict=True)
        rows.append(Row(name, errors, profits))
    return rows


def evaluate(proba: FloatArray, people: Donations, gift: FloatArray) -> tuple[float, float]:
    """Return the squared error, and the profit of mailing to whom it is expected to pay."""
    error = 2.0 * np.average((people.y - proba[:, 1]) ** 2, weights=people.sample_weight)
    actions = decide(proba, mailing_benefits(gift, MAIL_COST))
    actual = mailing_benefits(people.gift, MAIL_COST)
    gained = profit(people.y, actions, actual, sample_weight=people.sample_weight)
    return float(error), gained


def mail_everyone(people: Donations) -> float:
    """Return the profit of asking all."""
    return float(people.sample_weight @ (people.gift - MAIL_COST))


def halves(people: Donations, n_times: int) -> list[tuple[Donations, Donations]]:
    """Return random halves with as many donors each."""
    splitter = StratifiedShuffleSplit(n_times, test_size=0.5, random_state=0)
    return [
        (people.take(train), people.take(test))
        for train, test in splitter.split(np.zeros((people.y.size, 1)), people.y)
    ]


def report(study: Study, pairs: Sequence[tuple[Donations, Donations]], n_jobs: int | None) -> str:
    """Return the table as text: averages over the pairs, and standard errors of the test's."""
    tables = [table_3(study, *pair, n_jobs) for pair in pairs]
    lines = [
        f"{study.name}; training and test set" + (f", {len(pairs)} halves" * (len(pairs) > 1)),
        f"{'':16s} {'squared error':>28s} {'profit':>28s} {'published (other test set)':>40s}",
    ]
    for rows in zip(*tables, strict=True):
        error = np.array([row.error for row in rows])
        gained = np.array([row.profit for row in rows])
        published = PUBLISHED.get(rows[0].name)
        told = "" if published is None else "{:.5f} {:.5f} {:7,d} {:7,d}".format(*published)
        lines.append(
            f"{rows[0].name:16s} {_average(error[:, 0], '.5f')} {_average(error[:, 1], '.5f')} "
            f"{_average(gained[:, 0], ',.0f')} {_average(gained[:, 1], ',.0f')}   {told}"
        )
    constant = np.mean([_constant(train, test) for train, test in pairs])
    everyone = np.mean([mail_everyone(test) for _, test in pairs])
    lines.append(f"the same probability for all: squared error {constant:.5f} on the test set")
    lines.append(f"mail to everyone: profit {everyone:,.0f} on the test set")
    return "\n".join(lines)


def _average(values: FloatArray, word: str) -> str:
    """Return an average, with its standard error where there are several values."""
    text = format(float(values.mean()), word)
    if values.size > 1:
        text += f" ({format(float(values.std(ddof=1) / np.sqrt(values.size)), word)})"
    return text.rjust(18)


def _constant(train: Donations, test: Donations) -> float:
    share = float(np.average(train.y, weights=train.sample_weight))
    return float(2.0 * np.average((test.y - share) ** 2, weights=test.sample_weight))


def main() -> None:
    """Run the experiment and print its tables."""
    parser = argparse.ArgumentParser(description="Table 3 of Gidofalvi and Zadrozny.")
    parser.add_argument("folder", nargs="?", help="with the official files of the KDD-98 contest")
    parser.add_argument("--halves", type=int, default=5, help="random halves of the parts")
    parser.add_argument("--jobs", type=int, default=None, help="threads")
    words = parser.parse_args()
    if words.folder is not None:
        sys.stdout.write(report(OFFICIAL, [load_kdd98(words.folder)], words.jobs) + "\n")
        return
    for study, people in ((SAMPLE, load_kdd98_sample()), (CATEGORICAL, load_kdd98_categorical())):
        sys.stdout.write(report(study, halves(people, words.halves), words.jobs) + "\n\n")


if __name__ == "__main__":
    main()
