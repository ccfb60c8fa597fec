"""Studies: the paper's data, simulation, tables and figures, by one call.

The rooms, in the order a run passes through them::

    _reproduce, _result        `reproduce`: what was asked for, part by part, and its answer
    _simulation, _checkpoint   the simulation, replication by replication, safe against kill -9
    _sources                   where the real data are found, and whether they are the published
    _cytometry, _cardiotocography, _gastrointestinal, _sparse_lda
    _readings, _real           tables 1 and 2 for all that the paper leaves open, and full fits
    _figures, _page            pictures, and the page that puts it all together
"""

from typing import TYPE_CHECKING, Any

from hesitant._optional import find_lazily

if TYPE_CHECKING:
    from hesitant.studies._checkpoint import StudyError
    from hesitant.studies._readings import PRINTED
    from hesitant.studies._reproduce import PARTS, reproduce
    from hesitant.studies._result import Part, Reproduction
    from hesitant.studies._simulation import Design, findings, run_simulation, summarise

__all__ = [
    "PARTS",
    "PRINTED",
    "Design",
    "Part",
    "Reproduction",
    "StudyError",
    "findings",
    "reproduce",
    "run_simulation",
    "summarise",
]

# Found on first use: the loaders, which `hesitant.datasets` offers, need none of the rest.
_LAZY = {
    "PARTS": "hesitant.studies._reproduce",
    "PRINTED": "hesitant.studies._readings",
    "Design": "hesitant.studies._simulation",
    "Part": "hesitant.studies._result",
    "Reproduction": "hesitant.studies._result",
    "StudyError": "hesitant.studies._checkpoint",
    "findings": "hesitant.studies._simulation",
    "reproduce": "hesitant.studies._reproduce",
    "run_simulation": "hesitant.studies._simulation",
    "summarise": "hesitant.studies._simulation",
}


def __getattr__(name: str) -> Any:
    return find_lazily(__name__, name, _LAZY)
