"""What the parts of the paper share, each thing made once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from hesitant.studies._estimators import Row
from hesitant.studies._journal import Journal
from hesitant.studies._printed import PRINTED
from hesitant.studies._progress import bar
from hesitant.studies._simulation import Design, run_simulation

__all__ = ["DATASETS", "Workshop"]

DATASETS = tuple(PRINTED)
T = TypeVar("T")


@dataclass
class Workshop:
    """The settings of a run, and what has been computed so far.

    Parameters
    ----------
    folder : Path
        Where results go.
    replications, jobs, resume, force, progress
        As for `reproduce`.
    design : Design
        Of the simulation.
    data : path, optional
        Where the real data are.
    """

    folder: Path
    replications: int
    design: Design
    jobs: int | None = None
    data: Any = None
    resume: bool = False
    force: bool = False
    progress: bool = True
    _made: dict[str, Any] = field(default_factory=dict)

    def once(self, name: str, make: Callable[[], T]) -> T:
        """Return what `make` returns; a second call repeats the answer or the failure."""
        if name not in self._made:
            try:
                self._made[name] = make()
            except Exception as error:
                self._made[name] = error
                raise
        made: T | Exception = self._made[name]
        if isinstance(made, Exception):
            raise made
        return made

    def each_dataset(self, make: Callable[[str], T]) -> tuple[dict[str, T], list[Exception]]:
        """Call a function for every data set; one that fails does not stop the others."""
        done, errors = {}, []
        for dataset in DATASETS:
            try:
                done[dataset] = make(dataset)
            except Exception as error:
                errors.append(error)
        return done, errors

    # ---- simulation -----------------------------------------------------------------------------

    def simulation(self) -> list[Row]:
        """Return the rows of the simulation."""
        return self.once("simulation", partial(self._simulate, self.resume))

    def simulation_for_figures(self) -> list[Row]:
        """Return the rows of the simulation, those of an earlier run if they will do."""
        return self.once("simulation", partial(self._simulate, self.resume or self._is_there()))

    def _simulate(self, resume: bool) -> list[Row]:
        return run_simulation(
            self.journal().path,
            self.replications,
            design=self.design,
            jobs=self.jobs,
            resume=resume,
            force=self.force and not resume,
            progress=self.progress,
        )

    def journal(self) -> Journal:
        """Return the file that keeps finished replications."""
        return Journal(self.folder / "simulation.journal", self.design.settings())

    def _is_there(self) -> bool:
        journal = self.journal()
        return journal.read() == journal.settings

    # ---- real data ------------------------------------------------------------------------------
    # Imported where they are used: they need pandas, which the simulation does not.

    def source(self) -> Any:
        """Return the real data's tables."""
        from hesitant.studies._readings import Source

        return self.once("source", lambda: Source(self.data))

    def compared(self, dataset: str) -> list[Row]:
        """Return every reading of a data set beside the printed numbers."""
        return self.once(f"compared {dataset}", partial(self._compare, dataset))

    def _compare(self, dataset: str) -> list[Row]:
        from hesitant.studies._readings import readings
        from hesitant.studies._real import compare_readings

        ways = readings(dataset)
        with bar(dataset, len(ways), self.progress) as advance:
            return compare_readings(ways, self.source(), self.jobs, advance)

    def full(self, dataset: str) -> Any:
        """Return the ignorance and the full likelihood on the main reading of a data set."""
        return self.once(f"full {dataset}", partial(self._full, dataset))

    def _full(self, dataset: str) -> Any:
        from hesitant.studies._full import compare_full
        from hesitant.studies._readings import readings

        reading = readings(dataset)[0]
        data, ignorance = self.main(dataset)
        return compare_full(reading, data, ignorance)

    def main(self, dataset: str) -> tuple[Any, Any]:
        """Return the data of the main reading and its ignorance fit."""
        return self.once(f"main {dataset}", partial(self._main, dataset))

    def _main(self, dataset: str) -> tuple[Any, Any]:
        from hesitant.studies._readings import readings
        from hesitant.studies._real import fit_reading

        reading = readings(dataset)[0]
        data = reading.load(self.source())
        return data, fit_reading(reading, data)
