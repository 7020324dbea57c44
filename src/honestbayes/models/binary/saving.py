"""Files of the binary model, which are older than the others and hold no list of parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from honestbayes.files.entries import Entries, Plain, joined
from honestbayes.files.fields import Choice, ClassLabels, Field, Known
from honestbayes.files.records import (
    Section,
    record_from_plain,
    record_to_plain,
    values_from_plain,
)
from honestbayes.models.binary.fit import BernoulliFit
from honestbayes.models.binary.part import BernoulliPart
from honestbayes.models.shared.saved_parts import SavedParts
from honestbayes.selection import Selection


class SavedBinary(SavedParts):
    """Base of `SelectiveBernoulliNB`: its features stand beside the classes."""

    _fit: BernoulliFit
    selection_: Selection

    _fitted_choices: ClassVar[Mapping[str, Field]] = {
        "feature_prior_": Choice("learned", "uniform", stored_as="feature_prior"),
        "correction_": Choice("counts", "selection", None, stored_as="correction"),
    }

    def _parts_to_plain(self) -> Plain:
        """Return the features without a list of parts: such files are older than the others."""
        return joined(record_to_plain(self._fit), selection=self.selection_.to_plain())

    @classmethod
    def _parts_from_plain(cls, entries: Entries, known: Known) -> Known:
        known = {**known, "n_classes": 2}
        known["classes"] = ClassLabels().read(entries, "classes", known)
        selection = Section(kind=Selection).read(entries, "selection", {})
        two = len(selection.class_counts) == 2
        entries.check(two, "class_counts", "are not those of two classes")
        known |= {
            "selection": selection,
            "n_columns": len(selection.columns),
            "n_features_in": selection.n_features_in,
        }
        words = values_from_plain(cls._fitted_choices, entries, known)
        known["learned"] = words["feature_prior_"] == "learned"
        event = known["learned"] and words["correction_"] == "selection"
        entries.check(not event, "correction", "is 'selection', not one of ['counts', None]")
        fit = record_from_plain(BernoulliFit, entries, known)
        return {**known, **words, "parts": (BernoulliPart(fit),), "log_prior": fit.log_prior}
