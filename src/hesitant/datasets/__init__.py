"""Data: the paper's three real sets, generators, and labels from a panel's opinions.

Importing this room costs NumPy only; pandas, pooch and the readers of Excel files come with the
extra ``data`` and are imported when a loader needs them. The loaders are part of the paper's
studies and are found on first use.
"""

from typing import TYPE_CHECKING, Any

from hesitant._optional import find_lazily
from hesitant.datasets._consensus import consensus
from hesitant.datasets._partly_labelled import PartlyLabelled
from hesitant.datasets._simulate import make_cytometry_like, simulate

if TYPE_CHECKING:
    from hesitant.studies._cardiotocography import load_cardiotocography
    from hesitant.studies._cytometry import load_cytometry
    from hesitant.studies._gastrointestinal import load_gastrointestinal
    from hesitant.studies._sources import DataContentWarning
    from hesitant.studies._sparse_lda import SparseDiscriminant, sparse_discriminant_features

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

_LAZY = {
    "DataContentWarning": "hesitant.studies._sources",
    "SparseDiscriminant": "hesitant.studies._sparse_lda",
    "load_cardiotocography": "hesitant.studies._cardiotocography",
    "load_cytometry": "hesitant.studies._cytometry",
    "load_gastrointestinal": "hesitant.studies._gastrointestinal",
    "sparse_discriminant_features": "hesitant.studies._sparse_lda",
}


def __getattr__(name: str) -> Any:
    return find_lazily(__name__, name, _LAZY)
