"""The methods that a report compares on the same folds.

Four are honestbayes itself, with and without the correction and the slope; where there are not too
many cases, so is a mixture that knows of hidden groups. Where the model in use is that mixture, or
one with latent factors, naive Bayes is compared with it. A model that has no correction stands
there under its own title; the average of models does too, and naive Bayes stands beside it without
the correction and with it. The others are the peers of
``evaluation/peers``: what a good practitioner would run instead, each tuned inside the folds, and
the class frequencies, as the line that any method must pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from honestbayes.base.spec import Card
from honestbayes.data.kinds import KindsInOrder
from honestbayes.evaluation.peers import FREQUENCIES, Task, peers_for
from honestbayes.models.cards import table_cards
from honestbayes.report.level_flags import LevelsAsFlags

UNCORRECTED = "uncorrected"
UNCORRECTED_SLOPE = "uncorrected, recalibrated"
CORRECTED = "corrected"
CORRECTED_SLOPE = "corrected, recalibrated"
MIXTURE = "two-component mixture"
NAIVE_BAYES = "naive Bayes, recalibrated"
UNCORRECTED_NAIVE = "naive Bayes, uncorrected"
CORRECTED_NAIVE = "naive Bayes, corrected"
"""The two beside an average of models; the second is recalibrated too."""

MOST_FOR_MIXTURE = 400
"""Cases up to which the mixture's correction is quick to prepare, so that it is always compared."""


def own_names(card: Card) -> tuple[str, str]:
    """Return what the model of a report is called in its comparison: without a slope, with it."""
    if card.corrects:
        return CORRECTED, CORRECTED_SLOPE
    return card.title, f"{card.title}, recalibrated"


def uncorrected_name(card: Card) -> str | None:
    """Return what is called uncorrected in the comparison of a model, where there is such a one."""
    if card.of_models:
        return UNCORRECTED_NAIVE
    return UNCORRECTED if card.corrects else None


def contenders(
    card: Card,
    *,
    n_features: int | str | None,
    threshold: float | None,
    always_keep: list[str] | None,
    n_racing: int,
    seed: int,
    kinds: KindsInOrder | None = None,
    mixture: bool = False,
    compare: bool = True,
    more: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the estimators by name, in the order of the report.

    Parameters
    ----------
    card : Card
        The model that the report is about.
    n_features : int, "all", "cv" or None
        How many features to keep, of each kind where there are kinds; "cv": chosen inside the
        folds.
    threshold : float or None
        Instead, a bound on the absolute correlation.
    always_keep : list of str or None
        Features kept by design.
    n_racing : int
        Features in the largest race, for the numbers that "cv" tries.
    seed : int
        Breaks ties, and draws the inner folds.
    kinds : sequence of {"binary", "categorical", "real"}, optional
        The kind of each column, where columns are features as they are; without it all are turned
        into 0/1.
    mixture : bool, default=False
        Whether the two-component mixture is compared with a naive Bayes.
    compare : bool, default=True
        Whether methods of others are there too; class frequencies alone always are.
    more : mapping, optional
        Parameters that only the model in use has.
    """
    words = {
        "n_features_to_select": n_features,
        "threshold": threshold,
        "always_keep": always_keep,
        "random_state": seed,
    }
    own = words | dict(more or {})
    plain, recalibrated = own_names(card)
    naive = card.beyond is None
    ours: dict[str, Any] = {}
    if card.of_models:
        ours |= _naive_beside_average(words, kinds)
    if card.uncorrected is not None:
        ours[UNCORRECTED] = card.make(own, kinds, recalibrate=None, **card.uncorrected)
    ours[plain] = card.make(own, kinds, recalibrate=None)
    if card.has_slope:
        ours[recalibrated] = card.make(own, kinds, recalibrate="layer")
    if card.has_slope and naive and card.uncorrected is not None:
        ours[UNCORRECTED_SLOPE] = card.make(own, kinds, recalibrate="layer", **card.uncorrected)
    if not naive and not card.of_models:
        ours[NAIVE_BAYES] = naive_bayes(kinds).make(words, kinds)
    elif naive and mixture:
        ours[MIXTURE] = mixture_of(words, kinds)
    task = Task(
        n_features=n_features, threshold=threshold, n_racing=n_racing, seed=seed, kinds=kinds
    )
    peers = peers_for(task)
    return ours | (peers if compare else {FREQUENCIES: peers[FREQUENCIES]})


def _naive_beside_average(words: Mapping[str, Any], kinds: KindsInOrder | None) -> dict[str, Any]:
    """Return naive Bayes without the correction, and as it is by default."""
    naive = naive_bayes(kinds)
    without = naive.uncorrected or {}
    return {
        UNCORRECTED_NAIVE: naive.make(words, kinds, recalibrate=None, **without),
        CORRECTED_NAIVE: naive.make(words, kinds),
    }


def naive_bayes(kinds: KindsInOrder | None) -> Card:
    """Return the card of the naive Bayes of columns as they are, or of yes-or-no features."""
    return table_cards()["binary" if kinds is None else "mixed"]


def mixture_of(words: dict[str, Any], kinds: KindsInOrder | None) -> Any:
    """Return the two-component mixture, with a flag for each level of a categorical column.

    Where the number of features is to be chosen it keeps ten: chains for each number in each fold
    would take too long.
    """
    if words["n_features_to_select"] == "cv":
        words = words | {"n_features_to_select": None}
    model = table_cards()["mixture"].make(words, kinds)
    if kinds is None or "categorical" not in kinds:
        return model
    return LevelsAsFlags(model.set_params(always_keep=None), kinds, words["always_keep"])
