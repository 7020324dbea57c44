"""Tables in memory and beyond: arrays, sparse matrices, frames, Dask, stores and genotypes."""

from __future__ import annotations

from honestbayes.data.binarization import Binarization
from honestbayes.data.labels import check_as_many, encode_classes, encode_labels
from honestbayes.data.packed_store import open_store
from honestbayes.data.packing import pack_store
from honestbayes.data.plink import open_plink
from honestbayes.data.source import Source, as_source, join_columns, join_rows

__all__ = [
    "Binarization",
    "Source",
    "as_source",
    "check_as_many",
    "encode_classes",
    "encode_labels",
    "join_columns",
    "join_rows",
    "open_plink",
    "open_store",
    "pack_store",
]
