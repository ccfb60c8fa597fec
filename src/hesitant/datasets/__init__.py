"""Data: the paper's three real sets, generators, and labels from a panel's opinions."""

from typing import Any

from hesitant._optional import find_lazily
from hesitant.datasets._partly_labelled import PartlyLabelled, consensus
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

_HOMES = {
    "_loaders": ("load_cardiotocography", "load_cytometry", "load_gastrointestinal"),
    "_sparse_lda": ("SparseDiscriminant", "sparse_discriminant_features"),
    "_sources": ("DataContentWarning",),
}
_LAZY = {name: f"hesitant.studies.{home}" for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    return find_lazily(__name__, name, _LAZY)
