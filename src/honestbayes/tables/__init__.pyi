from .columns import Column, classify_columns
from .encoding import Encoding, Feature, encoding_of
from .errors import DoubtfulTable, InputError
from .files import DEFAULT_MAX_BYTES, TableFile
from .opening import open_table
from .training import TrainingTable, read_training

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
