"""The record of a selection: kept and discarded features, and the rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from honestbayes.files.errors import ModelFileError
from honestbayes.files.fields import MOST_CASES, MOST_FEATURES, Entries, Known, Plain, Texts, joined
from honestbayes.types import AnyArray, BoolArray

Rule = Literal["top", "threshold", "all"]

_NAMES = ("kept_names", "always_kept_names")


@dataclass(frozen=True, slots=True)
class DiscardedGroup:
    """Discarded features with the same numbers of observed cases.

    Attributes
    ----------
    observed : tuple of int
        Observed cases in each class.
    n_discarded : int
        How many such features were discarded.
    n_tied : int
        How many of these have a correlation of exactly gamma (0 where it is not known).
    n_levels : int
        How many categories such a feature has; 0 for real-valued ones.
    """

    observed: tuple[int, ...]
    n_discarded: int
    n_tied: int = 0
    n_levels: int = 2


@dataclass(frozen=True, slots=True)
class Selection:
    """Kept and discarded features of a selection by absolute correlation.

    With several classes or categories the squared correlation is r squared of real-valued features
    and its equivalent of categorical ones (`honestbayes.selection.correlation`).

    Attributes
    ----------
    rule : {"top", "threshold", "all"}
        The features with the largest absolute correlation; all above a threshold; all.
    gamma_squared : Fraction
        The squared bound, exactly: of the weakest kept feature, or of the threshold.
    kept : tuple of int
        Selected columns, strongest first.
    always_kept : tuple of int
        Columns kept by design, outside the ranking.
    n_features_in : int
        Columns of the screened table.
    class_counts : tuple of int
        Training cases in each class.
    groups : tuple of DiscardedGroup
        Discarded features by numbers of observed cases (one group where nothing is missing).
    n_tied_kept : int
        Kept features whose absolute correlation is exactly gamma (m).
    ties_known : bool
        Whether the numbers of discarded features tied at gamma (T) are known.
    kept_names, always_kept_names : tuple of str or None
        Names, where the table had them.
    criterion : str
        What features were ranked by. Another one than the correlation leaves gamma at 0.
    strength_bound : float or None
        Strength of the weakest kept feature by another criterion than the correlation.
    n_constant : int
        Constant columns that were left out, neither kept nor discarded: those of continuous
        features. A constant binary or categorical feature is a discarded one.

    Examples
    --------
    >>> from honestbayes import SelectiveBernoulliNB
    >>> from honestbayes.datasets import simulate_naive_bayes
    >>> data = simulate_naive_bayes(40, 0, n_features=100, random_state=0)
    >>> model = SelectiveBernoulliNB(n_features_to_select=3, recalibrate=None)
    >>> selection = model.fit(data.X_train, data.y_train).selection_
    >>> selection.kept, selection.n_discarded, selection.gamma_squared
    ((23, 50, 89), 97, Fraction(3, 25))
    """

    rule: Rule
    gamma_squared: Fraction
    kept: tuple[int, ...]
    always_kept: tuple[int, ...]
    n_features_in: int
    class_counts: tuple[int, ...]
    groups: tuple[DiscardedGroup, ...]
    n_tied_kept: int
    ties_known: bool = True
    kept_names: tuple[str, ...] | None = None
    always_kept_names: tuple[str, ...] | None = None
    criterion: str = "correlation"
    strength_bound: float | None = None
    n_constant: int = 0

    def __post_init__(self) -> None:
        """Refuse a record that contradicts itself."""
        _check(
            (self.strength_bound is None) == (self.criterion == "correlation"),
            "only another criterion than the correlation has a strength as bound",
        )
        _check(self.rule in ("top", "threshold", "all"), f"rule {self.rule!r} is unknown")
        _check(0 <= self.gamma_squared <= 1, "gamma squared is not between 0 and 1")
        _check(len(self.class_counts) >= 2, "there are not two classes")
        _check(min(self.class_counts) >= 1, "a class has no cases")
        columns = self.kept + self.always_kept
        _check(len(set(columns)) == len(columns), "a column is kept twice")
        _check(
            all(0 <= column < self.n_features_in for column in columns),
            "a kept column is outside the table",
        )
        _check(self.n_constant >= 0, "fewer than no columns are constant")
        constant = f" and {self.n_constant} constant columns" if self.n_constant else ""
        _check(
            len(columns) + self.n_discarded + self.n_constant == self.n_features_in,
            f"{len(columns)} kept and {self.n_discarded} discarded features{constant} do not add "
            f"up to {self.n_features_in}",
        )
        _check(self.rule != "all" or not self.n_discarded, "not all are kept under the rule 'all'")
        _check(0 <= self.n_tied_kept <= len(self.kept), "more tied than kept features")
        for group in self.groups:
            _check(
                0 <= group.n_tied <= group.n_discarded
                and len(group.observed) == len(self.class_counts)
                and all(
                    0 <= seen <= size
                    for seen, size in zip(group.observed, self.class_counts, strict=True)
                )
                and group.n_levels >= 0,
                f"the group {group} is impossible",
            )
        for names, kept in (
            (self.kept_names, self.kept),
            (self.always_kept_names, self.always_kept),
        ):
            _check(names is None or len(names) == len(kept), "names and columns differ in number")

    @property
    def gamma(self) -> float:
        """The bound on the absolute correlation of a discarded feature."""
        return float(np.sqrt(float(self.gamma_squared)))

    @property
    def columns(self) -> tuple[int, ...]:
        """All columns that the model uses: selected ones, then those kept by design."""
        return self.kept + self.always_kept

    @property
    def n_discarded(self) -> int:
        """How many features were discarded."""
        return sum(group.n_discarded for group in self.groups)

    @property
    def n_tied_discarded(self) -> int | None:
        """How many discarded features have a correlation of exactly gamma (T), where known."""
        return sum(group.n_tied for group in self.groups) if self.ties_known else None

    def support(self) -> BoolArray:
        """Mask of shape (n_features_in,) of the columns that the model uses."""
        mask = np.zeros(self.n_features_in, dtype=bool)
        mask[list(self.columns)] = True
        return mask

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that JSON can hold."""
        data = {field.name: getattr(self, field.name) for field in fields(self)}
        data["gamma_squared"] = [self.gamma_squared.numerator, self.gamma_squared.denominator]
        data["groups"] = [
            [*group.observed, group.n_discarded, group.n_tied, group.n_levels]
            for group in self.groups
        ]
        for name in ("kept", "always_kept", "class_counts", "kept_names", "always_kept_names"):
            data[name] = None if data[name] is None else list(data[name])
        if self.criterion == "correlation":
            del data["criterion"], data["strength_bound"]
        if not self.n_constant:
            del data["n_constant"]
        return data

    def to_plain(self) -> Plain:
        """Return `to_dict` for a file, with what grows with the number of features in arrays."""
        more = {"criterion": self.criterion, "strength_bound": self.strength_bound}
        content = {**self.to_dict(), **more, "n_constant": self.n_constant}
        for name in ("n_features_in", "n_tied_kept", "n_constant"):
            content[name] = int(content[name])
        for name in ("gamma_squared", "class_counts"):
            content[name] = [int(value) for value in content[name]]
        width = len(self.class_counts) + 3
        arrays: dict[str, AnyArray] = {
            "kept": np.array(content.pop("kept"), dtype=np.int64),
            "always_kept": np.array(content.pop("always_kept"), dtype=np.int64),
            "groups": np.array(content.pop("groups"), dtype=np.int64).reshape(-1, width),
        }
        names = [Texts().write(name, content.pop(name)) for name in _NAMES]
        return joined((content, arrays), *names)

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> Selection:
        """Return the record that `to_plain` described; refuse anything else."""
        counts = entries.value("class_counts")
        groups = entries.counts("groups", (None, None))
        data: dict[str, Any] = {"class_counts": counts, "groups": groups.tolist()}
        for name in ("kept", "always_kept"):
            data[name] = entries.counts(name, (None,)).tolist()
        for name in _NAMES:
            names = Texts().read(entries, name, known)
            data[name] = None if names is None else list(names)
        others = ("rule", "gamma_squared", "n_features_in", "n_tied_kept", "n_constant")
        for name in (*others, "criterion", "strength_bound"):
            data[name] = entries.value(name)
        data["ties_known"] = entries.flag("ties_known")
        try:
            selection = cls.from_dict(data)
        except (TypeError, ValueError) as error:
            raise ModelFileError(str(error)[:200].rstrip(".")) from None
        entries.check(sum(selection.class_counts) <= MOST_CASES, "class_counts", "is too large")
        entries.check(selection.n_features_in <= MOST_FEATURES, "n_features_in", "is too large")
        named = selection.kept_names is None or selection.always_kept_names is not None
        good = named or not selection.always_kept
        entries.check(good, "always_kept_names", "is missing beside kept_names")
        return selection

    @classmethod
    def from_dict(cls, data: Any) -> Selection:
        """Return the record that :meth:`to_dict` described; refuse anything else."""
        expected = {field.name for field in fields(cls)}
        if isinstance(data, Mapping) and "criterion" not in data:
            data = {**data, "criterion": "correlation", "strength_bound": None}
        if isinstance(data, Mapping) and "n_constant" not in data:
            data = {**data, "n_constant": 0}
        if not isinstance(data, Mapping) or set(data) != expected:
            strange = sorted(map(str, set(data) ^ expected)) if isinstance(data, Mapping) else data
            msg = f"not a selection: missing or unknown entries {strange}."
            raise ValueError(msg)
        numerator, denominator = _whole_numbers(data, "gamma_squared", 2)
        _check(denominator > 0, "gamma squared has no positive denominator")
        class_counts = _whole_numbers(data, "class_counts")
        width = len(class_counts) + 3
        groups = _sequence(data, "groups")
        by_group = [_whole_numbers({"groups": group}, "groups", width) for group in groups]
        _check(isinstance(data["ties_known"], bool), "ties_known is not true or false")
        return cls(
            rule=data["rule"],
            gamma_squared=Fraction(numerator, denominator),
            kept=_whole_numbers(data, "kept"),
            always_kept=_whole_numbers(data, "always_kept"),
            n_features_in=_whole_number(data["n_features_in"], "n_features_in"),
            class_counts=class_counts,
            groups=tuple(DiscardedGroup(group[:-3], *group[-3:]) for group in by_group),
            n_tied_kept=_whole_number(data["n_tied_kept"], "n_tied_kept"),
            ties_known=data["ties_known"],
            kept_names=_names(data, "kept_names"),
            always_kept_names=_names(data, "always_kept_names"),
            criterion=_text(data["criterion"]),
            strength_bound=_strength(data["strength_bound"]),
            n_constant=_whole_number(data["n_constant"], "n_constant"),
        )


def _sequence(data: Mapping[str, Any], name: str) -> list[Any]:
    value = data[name]
    _check(isinstance(value, list | tuple), f"{name} is not a list")
    return list(value)


def _whole_number(value: Any, name: str) -> int:
    _check(
        isinstance(value, int) and not isinstance(value, bool),
        f"{name} holds {value!r}, which is not a whole number",
    )
    return int(value)


def _whole_numbers(
    data: Mapping[str, Any], name: str, length: int | None = None
) -> tuple[int, ...]:
    values = _sequence(data, name)
    _check(length is None or len(values) == length, f"{name} does not hold {length} numbers")
    return tuple(_whole_number(value, name) for value in values)


def _text(value: Any) -> str:
    _check(isinstance(value, str), f"criterion holds {value!r}, which is not a name")
    return str(value)


def _strength(value: Any) -> float | None:
    good = value is None or (isinstance(value, int | float) and not isinstance(value, bool))
    _check(good and value == value, f"strength_bound holds {value!r}, which is not a number")
    return None if value is None else float(value)


def _names(data: Mapping[str, Any], name: str) -> tuple[str, ...] | None:
    if data[name] is None:
        return None
    names = _sequence(data, name)
    _check(all(isinstance(value, str) for value in names), f"{name} does not hold only names")
    return tuple(names)


def _check(condition: bool, what: str) -> None:
    if not condition:
        msg = f"not a possible selection: {what}."
        raise ValueError(msg)
