"""Data: the paper's three real sets, generators, and labels from a panel's opinions.

The loaders are part of the paper's studies and are found on first use, with the libraries that
they need (the extra ``data``).
"""

from typing import Any

from hesitant._optional import find_lazily
from hesitant.datasets._consensus import consensus
from hesitant.datasets._partly_labelled import PartlyLabelled
from hesitant.datasets._simulate import make_cytometry_like, simulate

__all__ = [
    "DataContentWarning",
    "PartlyLabelled",
    "SparseDiscriminant",
    "consensus",
    "load_cardiotocography",
    "load_cytometry",
    "load_gastrointestinal",
    "make_cytometry_like",
    "simulate",
    "sparse_discriminant_features",
]

_LOADERS, _SPARSE = "hesitant.studies._loaders", "hesitant.studies._sparse_lda"
_LAZY = {
    **dict.fromkeys(
        ("load_cardiotocography", "load_cytometry", "load_gastrointestinal"), _LOADERS
    ),
    **dict.fromkeys(("SparseDiscriminant", "sparse_discriminant_features"), _SPARSE),
    "DataContentWarning": "hesitant.studies._sources",
}


def __getattr__(name: str) -> Any:
    return find_lazily(__name__, name, _LAZY)
