"""Studies: the paper's simulation, tables and figures, by one call.

The rooms, in the order a run passes through them::

    _reproduce               `reproduce`: what was asked for, part by part, then the page
    _parts, _workshop        what each part computes, and what they share
    _estimators, _simulation,
    _journal, _summary       the simulation, replication by replication, safe against kill -9
    _printed, _readings,
    _real                    tables 1 and 2, for everything that the paper leaves open
    _full                    past the paper: the full likelihood on the same data
    _figures, _page          pictures, and the page that puts it all together
"""

from hesitant.studies._journal import StudyError
from hesitant.studies._parts import PARTS as _PARTS
from hesitant.studies._printed import PRINTED
from hesitant.studies._reproduce import reproduce
from hesitant.studies._result import Part, Reproduction
from hesitant.studies._simulation import Design, run_simulation
from hesitant.studies._summary import findings, summarise

PARTS = tuple(_PARTS)
"""The names of the parts, in the order in which they are made."""

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
