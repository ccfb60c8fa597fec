"""Data: the paper's three real sets, generators, and labels from a panel's opinions.

Importing this room costs NumPy only; pandas, pooch and the readers of Excel files come with the
extra ``data`` and are imported when a loader needs them.
"""

from hesitant.datasets._bunch import PartlyLabelled
from hesitant.datasets._cardiotocography import load_cardiotocography
from hesitant.datasets._consensus import consensus
from hesitant.datasets._cytometry import load_cytometry
from hesitant.datasets._files import DataContentWarning
from hesitant.datasets._gastrointestinal import load_gastrointestinal
from hesitant.datasets._simulate import make_cytometry_like, simulate
from hesitant.datasets._sparse_lda import SparseDiscriminant, sparse_discriminant_features

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
