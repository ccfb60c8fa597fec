"""Studies: the paper's data, simulation, tables and figures, by one call.

The files, in the order a run passes through them::

    _reproduce                 `reproduce`: what was asked for, part by part, and its answer
    _simulation, _checkpoint   the simulation, replication by replication, safe against kill -9
    _sources, _loaders         the real data: found, read, and compared with the published
    _sparse_lda                how the features of one of them are chosen
    _real                      tables 1 and 2 for several readings, and full fits
    _figures, _page            pictures, and the page that puts it all together
"""

from hesitant.studies._checkpoint import StudyError
from hesitant.studies._real import PRINTED
from hesitant.studies._reproduce import PARTS, Part, Reproduction, reproduce
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
