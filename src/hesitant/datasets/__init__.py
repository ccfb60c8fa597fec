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

# What is not here already needs more than simulations do.
_LAZY = dict.fromkeys(__all__, "hesitant.studies._loaders")
_LAZY["DataContentWarning"] = "hesitant.studies._sources"


def __getattr__(name: str) -> Any:
    return find_lazily(__name__, name, _LAZY)
