"""The paper, by one call: what was asked for, part by part, and its answer."""

import csv
import io
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache, partial
from numbers import Integral
from pathlib import Path
from typing import Any

from hesitant._choices import look_up, renamed
from hesitant._optional import need
from hesitant._result import plain
from hesitant.checks import check_jobs, check_number
from hesitant.studies import _figures as figures
from hesitant.studies import _real as real
from hesitant.studies._checkpoint import Checkpoint, Row, StudyError
from hesitant.studies._page import write_page
from hesitant.studies._simulation import Design, complete, findings, summarise
from hesitant.tables import write_atomically

PARTS = ("table1", "table2", "full", "simulation", "figures")
"""In the order in which they are made: the figures draw what the others have computed."""


@dataclass
class Part:
    """One part of the paper: its files, its tables by name, and what went wrong, in words too."""

    name: str
    seconds: float = 0.0
    files: list[Path] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    tables: dict[str, list[Row]] = field(default_factory=dict)
    errors: list[Exception] = field(default_factory=list, repr=False)

    @property
    def ok(self) -> bool:
        """Whether nothing went wrong."""
        return not self.problems

    def note(self, error: Exception) -> None:
        """Add what went wrong."""
        # Messages of the package stand for themselves; others need the kind of error.
        known = isinstance(error, OSError | ValueError | ImportError | RuntimeError)
        words = str(error) if known else f"{type(error).__name__}: {error}"
        if words not in self.problems:  # a file that is missing is missed more than once
            self.errors.append(error)
            self.problems.append(words)

    def to_dict(self) -> dict[str, Any]:
        """Return the part as plain data."""
        files, seconds = [path.name for path in self.files], round(self.seconds, 3)
        about = {"ok": self.ok, "seconds": seconds, "files": files, "problems": self.problems}
        return {**about, "tables": plain(self.tables)}


@dataclass(frozen=True, repr=False)
class Reproduction:
    """The paper, reproduced as far as it went: its parts, in the order they were made."""

    out: Path
    parts: dict[str, Part]
    settings: dict[str, Any]

    @property
    def ok(self) -> bool:
        """Whether every part was completed."""
        return all(part.ok for part in self.parts.values())

    @property
    def exit_code(self) -> int:
        """0 if every part was completed, else 1."""
        return 0 if self.ok else 1

    @property
    def files(self) -> list[Path]:
        """All files written."""
        return [path for part in self.parts.values() for path in part.files]

    @property
    def problems(self) -> list[str]:
        """What went wrong, each with the name of its part."""
        return [f"{name}: {p}" for name, part in self.parts.items() for p in part.problems]

    def table(self, name: str) -> list[Row]:
        """Return a table by the name of its file without suffix, such as "table1"."""
        known = {key: rows for part in self.parts.values() for key, rows in part.tables.items()}
        if name not in known:
            raise KeyError(f"no table is called {name!r}; there are {', '.join(known) or 'none'}")
        return known[name]

    def to_frame(self, name: str) -> Any:
        """Return a table as a pandas data frame."""
        return need("pandas").DataFrame(self.table(name))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, fit for JSON."""
        return {
            "ok": self.ok,
            "out": str(self.out),
            "settings": plain(self.settings),
            "parts": {name: part.to_dict() for name, part in self.parts.items()},
        }

    def __str__(self) -> str:
        width = max(map(len, self.parts), default=0)
        lines = [f"{'complete' if self.ok else 'INCOMPLETE'}: {self.out}"]
        said: list[str] = []
        for name, part in self.parts.items():
            files = ", ".join(path.name for path in part.files if path.suffix != ".svg")
            state = "ok    " if part.ok else "FAILED"
            lines.append(f"  {name:{width}}  {state}  {part.seconds:6.1f} s  {files}")
            new = [problem for problem in part.problems if problem not in said]
            lines += [f"      {line}" for problem in new for line in problem.splitlines()]
            if len(new) < len(part.problems):
                lines.append("      as above")
            said += new
        return "\n".join(lines)

    __repr__ = __str__


@renamed(jobs="n_jobs", seed="random_state")
def reproduce(
    parts: str | Iterable[str] | None = None,
    out: str | os.PathLike[str] = "hesitant-paper",
    *,
    replications: int = 100,
    n_jobs: int | None = -1,
    data: str | os.PathLike[str] | None = None,
    resume: bool = False,
    force: bool = False,
    random_state: int = 1,
    design: Design | None = None,
    progress: bool = True,
) -> Reproduction:
    """Reproduce the paper's tables, simulation and figures, and go a little past it.

    The paper is D. Ahfock and G. J. McLachlan, *On missing label patterns in semi-supervised
    learning*. A part that fails does not stop the others.

    Parameters
    ----------
    parts : str or iterable of str, optional
        All by default: ``"table1"`` and ``"table2"``, mean entropies and tests on the three real
        data sets, for several readings of what the paper leaves open, beside the printed numbers;
        ``"full"``, the full likelihood on these data; ``"simulation"``, section 6; ``"figures"``.
    out : path, default="hesitant-paper"
        The folder of results; made if need be. Tables there are replaced.
    replications, random_state, design : int, int and Design, optional
        Of the simulation; a design other than the paper's has a seed of its own.
    n_jobs : int or None, default=-1
        Workers; −1 for all cores, None as ``joblib.parallel_config`` says or as few tasks need.
    data : path, optional
        The folder of the real data. By default that of the environment variable HESITANT_DATA,
        then the user's cache, then the official sources.
    resume, force : bool, default=False
        Continue an interrupted simulation, with the result of one never interrupted; or begin
        anew, with what was finished kept in a file that ends in ``.old``. Without either it is
        refused (`StudyError`), as is a folder that another run is writing to.
    """
    asked = [parts] if isinstance(parts, str) else list(parts or PARTS)
    for name in asked:
        look_up("parts", name, dict.fromkeys(PARTS))
    check_number("replications", replications, Integral, 1)
    check_number("random_state", random_state, Integral, 0)
    check_jobs("n_jobs", n_jobs)
    folder, design = Path(out).expanduser(), design or Design(seed=random_state)
    kept = Checkpoint(folder / "simulation.sqlite", design.settings(), resume, force)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise StudyError(
            f"Results cannot be written to {folder}: {reason}. Name a folder of your own with "
            "out (--out)."
        ) from error
    wanted = [name for name in PARTS if name in asked]
    settings = {"parts": wanted, "replications": replications, "resume": bool(resume)}
    result = Reproduction(folder, {}, {**settings, **kept.settings})
    # Locked for the whole run: two of them in one folder would mix their files.
    with kept:
        if "simulation" in wanted:
            kept.refuse_unfinished()  # before the other parts, which take a while
        run = _Run(result, kept, design, data, n_jobs, progress)
        for name in (*wanted, "paper"):
            begun = time.perf_counter()
            part = result.parts[name] = Part(name)
            run.attempt(part, partial(getattr(run, f"make_{name}"), part))
            part.seconds = time.perf_counter() - begun
    return result


@dataclass(eq=False)
class _Run:
    """What the parts share, each thing computed once."""

    result: Reproduction
    checkpoint: Checkpoint
    design: Design
    directory: Any
    n_jobs: int | None
    progress: bool
    missing: dict[str, Exception] = field(default_factory=dict)

    def attempt(self, part: Part, make: Callable[..., Any], dataset: str = "") -> list[Any]:
        """Return what a function makes, or nothing: what goes wrong is said and stops no more."""
        try:
            if dataset in self.missing:  # what cannot be found is not looked for again
                raise self.missing[dataset]
            return [make(dataset) if dataset else make()]
        except Exception as error:
            part.note(error)
            if dataset and isinstance(error, OSError | ImportError):
                self.missing[dataset] = error
            return []

    def _each_dataset(self, part: Part, make: Callable[[str], Any]) -> list[Any]:
        return [made for name in real.PRINTED for made in self.attempt(part, make, name)]

    def make_table1(self, part: Part) -> None:
        rows = [row for rows in self._each_dataset(part, self.compared) for row in rows]
        self._keep(part, part.name, real.beside_printed(part.name, rows))

    make_table2 = make_table1

    def make_full(self, part: Part) -> None:
        done = [tables for _, tables in self._each_dataset(part, self.full)]
        for name in ("full", "full_parameters", "full_moved"):
            self._keep(part, name, [row for tables in done for row in tables[name]])

    def make_simulation(self, part: Part) -> None:
        rows = self.simulation()
        self._keep(part, "simulation", rows)
        self._keep(part, "simulation_summary", summarise(rows))
        # a row for each fit is for a file, not for the page
        part.tables["findings"] = findings(part.tables.pop("simulation"))

    def make_figures(self, part: Part) -> None:
        # This run's replications, or an earlier one's, will do for the figures.
        reuse = self.checkpoint.recorded == self.checkpoint.settings
        draws: dict[str, Callable[..., Any]] = {
            "simulated_example": lambda: figures.draw_example(self.design.seed),
            "simulation": lambda: figures.draw_simulation(summarise(self.simulation(reuse))),
            "data": lambda name: figures.draw_display("PairsDisplay", *self.main(name)),
            "entropy": lambda name: figures.draw_display("EntropyDisplay", *self.main(name)),
            "full": lambda name: figures.draw_full(*self.main(name), self.full(name)[0]),
        }
        of_data = [(view, name) for name in real.PRINTED for view in ("data", "entropy", "full")]
        for view, *name in [("simulated_example",), ("simulation",), *of_data]:
            path = self.result.out / "_".join(("figure", view, *name))
            for files in self.attempt(part, partial(figures.save, path, draws[view]), *name):
                part.files.extend(files)

    def make_paper(self, part: Part) -> None:
        part.files.extend(write_page(self.result.out, self.result.to_dict(), PARTS))

    def _keep(self, part: Part, name: str, rows: list[Row]) -> None:
        """Keep a table in the part and, unless there is nothing in it, as CSV on disk."""
        part.tables[name] = rows
        if rows:
            text = io.StringIO()
            writer = csv.DictWriter(text, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(plain(rows))  # None is an empty cell
            path = self.result.out / f"{name}.csv"
            part.files.append(write_atomically(path, text.getvalue(), force=True))

    @cache  # noqa: B019 - lives as long as the run
    def simulation(self, reuse: bool = False) -> list[Row]:
        self.checkpoint.begin(reuse)
        n = self.result.settings["replications"]
        return complete(self.checkpoint, self.design, n, self.n_jobs, self.progress)

    @cache  # noqa: B019
    def compared(self, dataset: str) -> list[Row]:
        progress = None if self.progress else False
        how = (self.directory, self.n_jobs, progress)
        return real.compare_readings(real.readings(dataset), *how)

    @cache  # noqa: B019
    def main(self, dataset: str) -> tuple[Any, Any]:
        reading = real.readings(dataset)[0]
        data = real.load(reading, self.directory)
        return data, real.fit_reading(reading, data)

    @cache  # noqa: B019
    def full(self, dataset: str) -> tuple[Any, dict[str, list[Row]]]:
        return real.compare_full(real.readings(dataset)[0], *self.main(dataset))
