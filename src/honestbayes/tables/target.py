"""The target column: its labels, and the class of each row."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from honestbayes.data.labels import label_key, missing_labels, spellings
from honestbayes.tables.checks import Finding, Remedy
from honestbayes.tables.conversion import (
    floats,
    is_number,
    is_text,
    levels_and_codes,
    number_text,
)
from honestbayes.tables.errors import DoubtfulTable, InputError, RowLocations, listed, shown
from honestbayes.types import BoolArray, IntArray

MIN_CASES = 2
"""Cases of each class: of one alone, nothing can be learned."""

MOST_SHOWN = 3
"""Classes whose spellings a message shows."""

MOST_CLASSES = 20
MOST_NUMBERS = 10
"""A column with more different texts, or numbers, was not meant as a class."""

_POSITIVE = re.compile(
    r"yes|true|positive|pos|\+|cases?|patients?|events?|diseased?|ill|sick|abnormal|affected|"
    r"infected|tumou?r|cancer|malignant|metasta(sis|tic)|dead|died|deceased|death|relapsed?|"
    r"recurren(ce|t)|progression|fail(ure|ed)|treated|exposed|present|responder|muta(nt|ted)|spam|"
    r"fraud|default(ed)?|churn(ed)?"
)
_NEGATIVE = re.compile(
    r"0|-1|no|false|negative|neg|-|controls?|ctr?l|ctr|healthy|well|normal|unaffected|benign|alive|"
    r"living|surviv(ed|or)|censored|none|absent|nonevent|placebo|untreated|unexposed|nonresponder|"
    r"wildtype|wt|ham|ref(erence)?|background|baseline"
)
_YES = frozenset(("yes", "y", "true", "t", "1", "ja", "oui", "si", "sí", "positive", "pos", "+"))
_NO = frozenset(("no", "n", "false", "f", "0", "nein", "non", "negative", "neg", "-"))
_NOT = frozenset(("no", "non", "not", "without", "free"))
"""Words of labels that name the class of interest, or the other one; and that turn one around."""

_SUM_TOLERANCE = 1e-3  # shares that a user typed, such as 0.333


@dataclass(frozen=True, slots=True)
class Target:
    """Classes of the rows.

    Attributes
    ----------
    labels : tuple of str
        The classes; of two, the negative and the positive one.
    has_class : ndarray of shape (number of rows,)
        Whether the row's class is known.
    codes : ndarray of shape (number of rows with a class,)
        The index of each row's class among the labels.
    findings : tuple of Finding
        What is doubtful in the labels.
    notes : tuple of str
        Which labels were merged.
    """

    labels: tuple[str, ...]
    has_class: BoolArray
    codes: IntArray
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()


def read_target(
    column: pa.ChunkedArray,
    name: str,
    positive: str | None,
    *,
    merge: bool = False,
    missing: Collection[str] = (),
    keep: bool = False,
    table: str = "the table",
    locations: RowLocations = RowLocations(),  # noqa: B008  # frozen
) -> Target:
    """Find the classes of a column.

    Labels are sorted, numbers as numbers; of two classes the second one is the positive one, which
    is chosen by :func:`positive_of`, unless given.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        The column.
    name : str
        Its name.
    positive : str or None
        Of two classes the positive one.
    merge : bool, default=False
        Whether labels that differ in their spelling only are one class.
    missing : collection of str
        Labels, in any spelling, that mean that the class is missing.
    keep : bool, default=False
        Whether all labels are classes as they are, so that none is doubtful.
    table : str
        Name of the table, for messages.
    locations : RowLocations
        Where the rows stand.

    Raises
    ------
    InputError
        Where the column holds no classes, or too few cases of one.
    DoubtfulTable
        Where a class has too few cases that may be another class, or none.
    """
    labels, codes = _labels_and_codes(column, name)
    labels, codes = _without_missing(labels, codes, missing, name)
    notes: list[str] = []
    if merge:
        labels, codes, notes = _merged(labels, codes, name)
    findings = () if keep or not is_text(column.type) else tuple(_doubts(labels, codes, name))
    _check_number(labels, name, column)
    if positive is not None:
        chosen = _chosen(positive, labels, name, column)
        if len(labels) > 2 and findings:
            raise DoubtfulTable(table, [finding.in_command() for finding in findings])
        if len(labels) > 2:
            msg = (
                f"column {shown(name)} has {len(labels)} classes, and the probability of each is "
                "given; a positive class is for two classes: leave it out, or merge the others."
            )
            raise InputError(msg)
    else:
        chosen = positive_of(labels, [int(np.sum(codes == c)) for c in (0, 1)])
    if len(labels) == 2 and chosen == 0:
        labels, codes = labels[::-1], np.where(codes >= 0, 1 - codes, -1)
    has_class = codes >= 0
    known = codes[has_class].astype(np.int64)
    for code, label in enumerate(labels):
        cases = int(np.sum(known == code))
        if cases < MIN_CASES and findings:
            raise DoubtfulTable(table, [finding.in_command() for finding in findings])
        if cases < MIN_CASES:
            where = locations.describe(*np.flatnonzero(codes == code)[:1].tolist())
            msg = (
                f"class {shown(label)} of column {shown(name)} has {cases} case; at least "
                f"{MIN_CASES} cases of each class are needed: correct the cell in {where}, or use "
                f"--missing-label {shlex.quote(label)} if it is no class."
            )
            raise InputError(msg)
    return Target(tuple(labels), has_class, known, findings, tuple(notes))


def _without_missing(
    labels: list[str], codes: IntArray, missing: Collection[str], name: str
) -> tuple[list[str], IntArray]:
    """Make the rows missing whose label means that."""
    keys = {label_key(label): label for label in missing}
    known = {label_key(label) for label in labels}
    for key, label in keys.items():
        if key not in known:
            msg = (
                f"column {shown(name)} has no label {shown(label)} to be treated as missing; its "
                f"labels are {listed(labels)}."
            )
            raise InputError(msg)
    kept = [label for label in labels if label_key(label) not in keys]
    index = {label: position for position, label in enumerate(kept)}
    new = np.array([index.get(label, -1) for label in labels] + [-1], dtype=np.int64)
    return kept, new[codes]


def _merged(labels: list[str], codes: IntArray, name: str) -> tuple[list[str], IntArray, list[str]]:
    """Give each class its most frequent spelling, and note which labels were merged."""
    counts = dict(zip(labels, np.bincount(codes[codes >= 0], minlength=len(labels)), strict=True))
    chosen: dict[str, str] = {}
    notes = []
    for same in spellings(labels):
        best = max(same, key=lambda label: int(counts[label]))
        chosen |= dict.fromkeys(same, best)
        notes.append(f"The labels {listed(same)} of column {shown(name)} are one class.")
    kept = [label for label in labels if chosen.get(label, label) == label]
    index = {label: position for position, label in enumerate(kept)}
    new = [index[chosen.get(label, label)] for label in labels]
    return kept, np.array([*new, -1], dtype=np.int64)[codes], notes


def _doubts(labels: list[str], codes: IntArray, name: str) -> Iterator[Finding]:
    """Find labels that are spellings of one class, or that mean that the class is missing."""
    keep = Remedy("keep_labels", "", "if they are different classes")
    several = spellings(labels)
    if several:
        yield Finding(
            name,
            "spellings of a class",
            f"the target column {shown(name)} spells one class in several ways "
            f"({'; '.join(listed(same) for same in several[:MOST_SHOWN])})",
            (Remedy("merge_labels", "", "to merge them"), keep),
            stops=True,
        )
    senses = {label_key(label) for label in labels}
    if len(senses) > 2 and senses <= _YES | _NO:
        yes = listed(label for label in labels if label_key(label) in _YES)
        no = listed(label for label in labels if label_key(label) in _NO)
        yield Finding(
            name,
            "spellings of a class",
            f"the target column {shown(name)} means yes by {yes} and no by {no}; write each class "
            "in one way, or use",
            (keep,),
            stops=True,
        )
    counts = np.bincount(codes[codes >= 0], minlength=len(labels)).tolist()
    for label in missing_labels(labels, counts):
        n_rows = counts[labels.index(label)]
        rows = "1 row" if n_rows == 1 else f"{n_rows:,} rows"
        yield Finding(
            name,
            "labels that mean missing",
            f"the target column {shown(name)} holds {shown(label)} in {rows} as a class",
            (
                Remedy("missing_label", label, "if the class of these rows is missing"),
                Remedy("keep_labels", "", "if it is a class"),
            ),
            stops=True,
        )


def _unknown_doubts(
    present: list[str], strange: list[str], codes: IntArray, name: str, labels: Sequence[str]
) -> Iterator[Finding]:
    """Find labels unknown to a model that are spellings of its classes, or mean missing."""
    known = {label_key(label) for label in labels}
    spelled = [label for label in strange if label_key(label) in known]
    if spelled:
        yield Finding(
            name,
            "spellings of a class",
            f"the target column {shown(name)} holds {listed(spelled)}, but the model was "
            f"trained on the classes {listed(labels)}",
            (Remedy("merge_labels", "", "to accept other spellings of these classes"),),
            stops=True,
        )
    others = sorted({*labels, *present})
    counts = {label: int(np.sum(codes == index)) for index, label in enumerate(present)}
    for label in missing_labels(others, [counts.get(other, 0) for other in others]):
        if label not in labels:
            rows = "1 row" if counts[label] == 1 else f"{counts[label]:,} rows"
            yield Finding(
                name,
                "labels that mean missing",
                f"the target column {shown(name)} holds {shown(label)} in {rows}, which is not a "
                "class of the model",
                (Remedy("missing_label", label, "if the class of these rows is missing"),),
                stops=True,
            )


def positive_of(labels: Sequence[str], counts: Sequence[int]) -> int:
    """Return which of two classes is the positive one by default.

    The label that names the class of interest by its words (case, tumour, yes), or the one beside
    a label that names the other class (control, normal, no, 0); else the rarer class; else the
    second.

    Parameters
    ----------
    labels : sequence of str
        Two labels.
    counts : sequence of int
        Their cases.

    Examples
    --------
    >>> positive_of(["case", "ctrl"], [50, 50]), positive_of(["ALL", "AML"], [27, 11])
    (0, 1)
    >>> positive_of(["disease", "no disease"], [9, 5]), positive_of(["b", "a"], [5, 5])
    (0, 1)
    """
    letters = [label.strip().casefold() for label in labels[:2]]
    if letters in (["y", "n"], ["n", "y"], ["t", "f"], ["f", "t"]):
        return int(letters[1] in "yt")
    first, second = (_sense(label) for label in labels[:2])
    if first != second:
        return int(second > first)
    return int(counts[1] <= counts[0])


def _sense(label: str) -> int:
    """Return 1 for a label of the class of interest, -1 for one of the other class, else 0."""
    whole = label.strip().casefold()
    texts = [whole, *re.findall(r"[^\W\d_]+", whole)]
    senses = (bool(_POSITIVE.fullmatch(w)) - bool(_NEGATIVE.fullmatch(w)) for w in texts)
    sense = next((value for value in senses if value), 0)
    # "no disease", "non-event", "disease-free"; "no" alone is its own word.
    others = [text for text in texts[1:] if text not in _NOT]
    if others and len(others) < len(texts) - 1:
        return -1
    return sense


def known_classes(
    column: pa.ChunkedArray,
    name: str,
    labels: tuple[str, ...],
    *,
    merge: bool = False,
    missing: Collection[str] = (),
    keep: bool = False,
    table: str = "the table",
) -> tuple[BoolArray, IntArray]:
    """Find the classes of a column whose labels are known from a model.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        The column.
    name : str
        Its name.
    labels : tuple of str
        The classes that the model knows.
    merge : bool, default=False
        Whether a label that differs in its spelling only from one class is that class.
    missing : collection of str
        Labels, in any spelling, that mean that the class is missing.
    keep : bool, default=False
        Whether all labels are classes as they are, so that none is doubtful.
    table : str
        Name of the table, for messages.

    Returns
    -------
    has_class : ndarray of shape (number of rows,)
        Whether the row's class is known.
    codes : ndarray of shape (number of rows with a class,)
        Its index among the labels.
    """
    present, codes = _labels_and_codes(column, name)
    present, codes = _without_missing(present, codes, missing, name)
    class_of = {label: label for label in labels}
    if merge:
        keys = [label_key(label) for label in labels]
        by_key = {
            key: label for key, label in zip(keys, labels, strict=True) if keys.count(key) == 1
        }
        class_of |= {
            label: by_key[label_key(label)]
            for label in present
            if label not in labels and label_key(label) in by_key
        }
    strange = [label for label in present if label not in class_of]
    if strange and not keep and is_text(column.type):
        doubts = list(_unknown_doubts(present, strange, codes, name, labels))
        if doubts:
            raise DoubtfulTable(table, [finding.in_command() for finding in doubts])
    if strange:
        msg = (
            f"the target column {shown(name)} holds {listed(strange)}, but the model was "
            f"trained on the classes {listed(labels)}; write the classes as in the training table."
        )
        raise InputError(msg)
    indices = np.array([labels.index(class_of[label]) for label in present] + [-1], dtype=np.int64)
    known = indices[codes]
    return known >= 0, known[known >= 0]


def prevalences(
    given: float | Mapping[str, float] | None, labels: tuple[str, ...]
) -> tuple[float, ...] | None:
    """Return the share of each class where a model is used.

    Parameters
    ----------
    given : float, mapping or None
        The share of the positive class of two, or of each class by its label. None: as in
        training, and so is the result.
    labels : tuple of str
        The classes.
    """
    if given is None:
        return None
    if not isinstance(given, Mapping):
        if len(labels) == 2:
            return (1 - given, given)
        msg = f"there are {len(labels)} classes; give the prevalence of each: {listed(labels)}."
        raise InputError(msg)
    strange = [label for label in given if label not in labels]
    absent = [label for label in labels if label not in given]
    if strange or absent:
        texts = f"of {listed(strange)}, which is not a class" if strange else ""
        texts = texts or f"of all classes but {listed(absent)}"
        msg = f"prevalences are given {texts}; give one for each of {listed(labels)}."
        raise InputError(msg)
    shares = tuple(float(given[label]) for label in labels)
    if not all(0 < share < 1 for share in shares) or abs(sum(shares) - 1) > _SUM_TOLERANCE:
        msg = f"the prevalences sum to {sum(shares):g}; give shares above 0 that sum to 1."
        raise InputError(msg)
    return tuple(share / sum(shares) for share in shares)


def _labels_and_codes(column: pa.ChunkedArray, name: str) -> tuple[list[str], IntArray]:
    """Return the sorted labels, and the position of each row's label (-1: missing)."""
    if pa.types.is_null(column.type):
        return [], np.full(len(column), -1, dtype=np.int64)
    if is_number(column.type):
        values = floats(column)
        observed = ~np.isnan(values)
        levels, indices = np.unique(values[observed], return_inverse=True)
        codes = np.full(values.size, -1, dtype=np.int64)
        codes[observed] = indices
        if pa.types.is_boolean(column.type):
            return [("false", "true")[int(level)] for level in levels], codes
        return [number_text(level) for level in levels.tolist()], codes
    if not is_text(column.type):
        msg = (
            f"the target column {shown(name)} holds values of type {shown(str(column.type))}; "
            "give a column of classes."
        )
        raise InputError(msg)
    parts, unsorted = levels_and_codes(column, name)
    texts = parts.to_pylist()
    order = sorted(range(len(texts)), key=lambda index: texts[index])
    rank = np.full(len(texts) + 1, -1, dtype=np.int64)
    rank[order] = np.arange(len(texts))
    return [texts[index] for index in order], rank[unsorted]


def _check_number(labels: list[str], name: str, column: pa.ChunkedArray) -> None:
    target = f"the target column {shown(name)}"
    if len(column) == 0:
        msg = f"{target} has no rows; give a table with rows below its header."
        raise InputError(msg)
    if not labels:
        msg = f"{target} has no values; give a column of classes."
        raise InputError(msg)
    if len(labels) == 1:
        msg = f"{target} holds one class only, {shown(labels[0])}; two or more are needed."
        raise InputError(msg)
    if len(labels) <= (MOST_NUMBERS if is_number(column.type) else MOST_CLASSES):
        return
    if is_number(column.type):
        msg = (
            f"{target} has {len(labels):,} different numbers; give a column of classes, such "
            "as whether the number is above a threshold, or write names of classes as texts "
            "('type 1')."
        )
        raise InputError(msg)
    msg = (
        f"{target} has {len(labels):,} classes ({listed(labels)}), and at most {MOST_CLASSES} are "
        "allowed; leave out or merge some."
    )
    raise InputError(msg)


def _chosen(positive: str, labels: list[str], name: str, column: pa.ChunkedArray) -> int:
    """Return which label the user means; "1.0" means 1, and "True" means true."""
    text = positive.strip()
    if pa.types.is_boolean(column.type):
        text = text.lower()
    elif is_number(column.type):
        with contextlib.suppress(ValueError):
            text = number_text(float(text))
    same = [label for label in labels if label_key(label) == label_key(text)]
    if text not in labels and len(same) == 1:
        text = same[0]
    if text not in labels:
        msg = (
            f"column {shown(name)} has no class {shown(positive)}; its classes are "
            f"{listed(labels)}."
        )
        raise InputError(msg)
    return labels.index(text)
