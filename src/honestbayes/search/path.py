"""What a selector did, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from honestbayes.files.entries import Entries
from honestbayes.files.fields import CLOSE, Array, Counts, Floats, Known, Maybe, Whole
from honestbayes.files.records import Check, Given
from honestbayes.tabular import Tabular
from honestbayes.types import AnyArray, FloatArray, IntArray


def feature_names(names: Any, columns: list[int]) -> tuple[str, ...]:
    """Return how some columns are called: by name, or x0, x1, ... where there are no names."""
    return tuple(f"x{j}" if names is None else str(names[j]) for j in columns)


SQUARED_ERROR = "squared error (summed over classes)"
"""What a selector makes small by default: of two classes twice the Brier score."""


def loss_in_words(scoring: Any) -> str:
    """Return what the scores of a path are: what ``scoring`` of a selector names.

    >>> loss_in_words("log_loss")
    'log score'
    """
    words = {"squared_error": SQUARED_ERROR, "log_loss": "log score"}
    if isinstance(scoring, str):
        return words[scoring]
    return str(getattr(scoring, "__name__", "loss")).replace("_", " ")


@dataclass(frozen=True, slots=True)
class NamesOfSteps(Given):
    """What the columns of all steps are called, which follows from the names of all columns."""

    def read(self, entries: Entries, name: str, known: Known) -> tuple[str, ...]:
        """Return the names."""
        entries.check(
            known["feature"].max(initial=0) < known["n_features_in"],
            "feature",
            "holds an impossible number",
        )
        return feature_names(known["feature_names"], known["feature"].tolist())


def _of_rounds(low: float, high: float) -> Maybe:
    return Maybe(array=Floats("steps", low=low - CLOSE, high=high + CLOSE))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SelectionPath(Tabular):
    """The steps of a selector.

    Attributes
    ----------
    feature : ndarray of int of shape (T,)
        Column that was taken at each step; boosting may take one again.
    name : tuple of str
        What it is called.
    train_score, held_out_score : ndarray of shape (1 + T,)
        Loss with the features so far on the training rows, and on rows held out (NaN without
        any). The first is that of no feature: each case has the class shares.
    n_kept : int
        Steps whose features are kept.
    r, alpha, entropy : ndarray of shape (T,) or None
        Of boosting: the weighted confidence in the actual class, the step that follows from it,
        and the entropy of the weights after it, 1 where all are alike.
    """

    feature: Annotated[IntArray, Counts("steps")]
    name: Annotated[tuple[str, ...], NamesOfSteps()]
    train_score: Annotated[FloatArray, Floats("steps+1")]
    held_out_score: Annotated[FloatArray, Array("steps+1")]
    n_kept: Annotated[int, Whole()]
    r: Annotated[FloatArray | None, _of_rounds(-1.0, 1.0)] = None
    alpha: Annotated[FloatArray | None, _of_rounds(-100.0, 100.0)] = None
    entropy: Annotated[FloatArray | None, _of_rounds(0.0, 1.0)] = None

    def check_against(self, known: Known, check: Check) -> None:
        """Refuse steps that a selector of a table with these columns cannot have taken."""
        once = known["boosted"] or np.unique(self.feature).size == self.feature.size
        check(once, "feature", "takes a column twice")
        score = self.held_out_score
        good = np.isfinite(score).all() or np.isnan(score).all()
        check(good, "held_out_score", "is known for some steps only")
        steps = self.feature.size
        check(self.n_kept <= steps, "n_kept", f"is not a number from 0 to {steps}")
        for name in ("r", "alpha", "entropy"):
            there = getattr(self, name) is not None
            check(there == known["boosted"], name, "is missing" if not there else "is unknown")

    @property
    def kept(self) -> IntArray:
        """Columns that are kept, each once, in the order in which they were taken."""
        chosen = self.feature[: self.n_kept]
        _, first = np.unique(chosen, return_index=True)
        return np.asarray(chosen[np.sort(first)])

    def table(self) -> dict[str, AnyArray]:
        """Return the path by columns, one row a step."""
        result: dict[str, AnyArray] = {
            "step": np.arange(1, self.feature.size + 1),
            "feature": self.feature,
            "name": np.array(self.name, dtype=object),
            "train_score": self.train_score[1:],
            "held_out_score": self.held_out_score[1:],
            "kept": np.arange(self.feature.size) < self.n_kept,
        }
        for word in ("r", "alpha", "entropy"):
            value = getattr(self, word)
            if value is not None:
                result[word] = value
        return result

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the path as plain columns, for a frame or JSON."""
        return {name: values.tolist() for name, values in self.table().items()}

    def __str__(self) -> str:
        """Return the path as text, one line a step."""
        has_held_out = not np.all(np.isnan(self.held_out_score))
        head = ["step", "training", *(["held out"] if has_held_out else []), "feature"]
        lines = [head]
        for step, train in enumerate(self.train_score.tolist()):
            held_out = [f"{self.held_out_score[step]:.5f}"] if has_held_out else []
            name = self.name[step - 1] if step else "(none)"
            left = "" if step <= self.n_kept else "  left out"
            lines.append([str(step), f"{train:.5f}", *held_out, name + left])
        widths = [max(len(line[place]) for line in lines) for place in range(len(head) - 1)]
        return "\n".join(
            "  ".join(
                [*(word.rjust(w) for word, w in zip(line[:-1], widths, strict=True)), line[-1]]
            )
            for line in lines
        )
