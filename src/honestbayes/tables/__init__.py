"""Files of users: what is in them, and how it becomes what the estimators take."""

from __future__ import annotations

from honestbayes.tables.columns import Column, classify_columns
from honestbayes.tables.encoding import Encoding, Feature, encoding_of
from honestbayes.tables.errors import DoubtfulTable, InputError
from honestbayes.tables.files import DEFAULT_MAX_BYTES, TableFile, open_table
from honestbayes.tables.training import TrainingTable, read_training

__all__ = [
    "DEFAULT_MAX_BYTES",
    "Column",
    "DoubtfulTable",
    "Encoding",
    "Feature",
    "InputError",
    "TableFile",
    "TrainingTable",
    "classify_columns",
    "encoding_of",
    "open_table",
    "read_training",
]
