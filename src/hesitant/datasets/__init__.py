"""Data: the paper's three real sets, generators, and labels from a panel's opinions."""

from functools import partial

from hesitant._optional import find_lazily
from hesitant.datasets._data import PartlyLabelled, consensus, make_cytometry_like, simulate

__all__ = ["DataContentWarning", "PartlyLabelled", "SparseDiscriminant", "consensus"]
__all__ += ["load_cardiotocography", "load_cytometry", "load_gastrointestinal"]
__all__ += ["make_cytometry_like", "simulate", "sparse_discriminant_features"]

# What is not here already needs more than simulations do.
_LAZY = dict.fromkeys(__all__, "studies._loaders")
_LAZY["DataContentWarning"] = "studies._sources"
__getattr__ = partial(find_lazily, __name__, rooms=_LAZY)
