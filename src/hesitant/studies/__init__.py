"""Studies: the paper's data, simulation, tables and figures, by one call (`reproduce`)."""

from hesitant.studies._real import PRINTED
from hesitant.studies._reproduce import PARTS, Part, Reproduction, reproduce
from hesitant.studies._simulation import Design, StudyError, findings, run_simulation, summarise

__all__ = ["PARTS", "PRINTED", "Design", "Part", "Reproduction", "StudyError", "findings"]
__all__ += ["reproduce", "run_simulation", "summarise"]
