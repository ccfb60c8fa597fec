"""The paper, by one call: what was asked for, part by part, and its answer."""

import base64
import io
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from numbers import Integral
from pathlib import Path
from typing import Any

from hesitant._drawing import drawing
from hesitant._optional import need, templates
from hesitant._words import decimals, plain
from hesitant.checks import check_jobs, check_number, look_up, renamed
from hesitant.diagnostics import EntropyDisplay, PairsDisplay
from hesitant.studies import _real as real
from hesitant.studies import _simulation as study
from hesitant.studies._simulation import Design, Row, StudyError
from hesitant.tables import write_atomically

PARTS = ("table1", "table2", "full", "simulation", "figures")
"""In the order in which they are made: the figures draw what the others have computed."""
_FULL = ("full", "full_parameters", "full_moved")


@dataclass
class Part:
    """One part of the paper: its files, its tables by name, and what went wrong, in words."""

    name: str
    seconds: float = 0.0
    files: list[Path] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    tables: dict[str, list[Row]] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether nothing went wrong."""
        return not self.problems

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Note what goes wrong inside; it stops nothing else."""
        try:
            yield
        except Exception as error:
            # Messages of the package stand for themselves; others need the kind of error.
            known = isinstance(error, OSError | ValueError | ImportError | RuntimeError)
            self.problems.append(str(error) if known else f"{type(error).__name__}: {error}")

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
        about = {"ok": self.ok, "out": str(self.out), "settings": plain(self.settings)}
        return {**about, "parts": {name: part.to_dict() for name, part in self.parts.items()}}

    def __str__(self) -> str:
        width = max(map(len, self.parts), default=0)
        lines = [f"{'complete' if self.ok else 'INCOMPLETE'}: {self.out}"]
        said: list[str] = []
        for name, part in self.parts.items():
            files = ", ".join(path.name for path in part.files if path.suffix != ".svg")
            state = "ok    " if part.ok else "FAILED"
            lines.append(f"  {name:{width}}  {state}  {part.seconds:6.1f} s  {files}")
            new = [problem for problem in dict.fromkeys(part.problems) if problem not in said]
            lines += [f"      {line}" for problem in new for line in problem.splitlines()]
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

    ``parts`` are all by default: ``"table1"`` and ``"table2"``, mean entropies and tests on the
    three real data sets, for several readings of what the paper leaves open, beside the printed
    numbers; ``"full"``, the full likelihood on these data; ``"simulation"``, section 6;
    ``"figures"``. ``out`` is the folder of results, made if need be; tables there are replaced.
    ``replications``, ``random_state`` and ``design`` are those of the simulation; a design other
    than the paper's has a seed of its own. ``n_jobs`` are workers: −1 for all cores, None as
    ``joblib.parallel_config`` says or as few tasks need. ``data`` is the folder of the real data,
    by default that of the environment variable HESITANT_DATA, then the user's cache, then the
    official sources.

    ``resume`` continues an interrupted simulation, with the result of one never interrupted;
    ``force`` begins anew, with what was finished kept in a file that ends in ``.old``. Without
    either it is refused (`StudyError`), as is a folder that another run is writing to.
    """
    asked = [parts] if isinstance(parts, str) else list(parts or PARTS)
    for name in asked:
        look_up("parts", name, dict.fromkeys(PARTS))
    check_number("replications", replications, Integral, 1)
    check_number("random_state", random_state, Integral, 0)
    check_jobs("n_jobs", n_jobs)
    folder, design = Path(out).expanduser(), design or Design(seed=random_state)
    kept = study.Checkpoint(folder / "simulation.sqlite", design.settings(), resume, force)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = f"Results cannot be written to {folder}: {error.strerror}"
        raise StudyError(f"{why}. Name a folder of your own with out (--out).") from error
    wanted = [name for name in PARTS if name in asked]
    settings = {"parts": wanted, "replications": replications, "resume": bool(resume)}
    result = Reproduction(folder, {}, {**settings, **kept.settings})
    with kept:  # locked for the whole run: two of them in one folder would mix their files
        if "simulation" in wanted or "figures" in wanted:
            # Before the other parts, which take a while; an earlier run's will do for figures.
            kept.begin(reuse="simulation" not in wanted)
        run = _Run(result, kept, design, data, n_jobs, progress)
        for name in (*wanted, "paper"):
            begun = time.perf_counter()
            part = result.parts[name] = Part(name)
            with part.attempt():
                getattr(run, f"make_{name}")(part)
            part.seconds = time.perf_counter() - begun
    return result


@dataclass(eq=False)
class _Run:
    """What the parts share, each thing computed once."""

    result: Reproduction
    checkpoint: study.Checkpoint
    design: Design
    directory: Any
    n_jobs: int | None
    progress: bool

    def make_tables(self, part: Part) -> None:
        names = _FULL if part.name == "full" else (part.name,)
        tables: dict[str, list[Row]] = {name: [] for name in names}
        for dataset in real.PRINTED:
            with part.attempt():
                found = self.full(dataset)[-1] if part.name == "full" else self.compared(dataset)
                for name, rows in tables.items():
                    rows += found[name]
        for name, rows in tables.items():
            self._keep(part, name, rows)

    make_table1 = make_table2 = make_full = make_tables

    def make_simulation(self, part: Part) -> None:
        rows = self.simulation()
        self._keep(part, "simulation", rows)
        self._keep(part, "simulation_summary", study.summarise(rows))
        # a row for each fit is for a file, not for the page
        part.tables["findings"] = study.findings(part.tables.pop("simulation"))

    def make_figures(self, part: Part) -> None:
        save = partial(self._save, part)
        save("simulated_example", study.draw_example, self.design.seed)
        with part.attempt():
            save("simulation", study.draw_simulation, study.summarise(self.simulation()))
        for name in real.PRINTED:
            with part.attempt():
                data, ignorance, full, _ = self.full(name)
                given = ignorance, data.features, data.labels
                save(f"data_{name}", PairsDisplay.from_estimator, *given)
                save(f"entropy_{name}", EntropyDisplay.from_estimator, *given)
                save(f"full_{name}", real.draw_full, data, ignorance, full)

    def _save(self, part: Part, name: str, make: Callable[..., Any], *given: Any) -> None:
        """Save a figure or display as PNG and SVG, the same one as the same bytes."""
        with drawing(**{"svg.hashsalt": "hesitant"}):
            made = make(*given)
            figure = getattr(made, "figure_", made)
            for line in [line for ax in figure.axes for line in ax.lines]:
                line.set_rasterized(len(line.get_xdata()) > 3000)
            for kind, unstable in (("png", "Software"), ("svg", "Date")):
                content, about = io.BytesIO(), {unstable: None}
                figure.savefig(content, format=kind, dpi=200, metadata=about, facecolor="white")
                path = self.result.out / f"figure_{name}.{kind}"
                part.files.append(write_atomically(path, content.getvalue(), force=True))

    def make_paper(self, part: Part) -> None:
        part.files.extend(write_page(self.result.out, self.result.to_dict()))

    def _keep(self, part: Part, name: str, rows: list[Row]) -> None:
        """Keep a table in the part and, unless there is nothing in it, as CSV on disk."""
        part.tables[name] = rows
        if rows:
            text = need("pandas").DataFrame(plain(rows)).to_csv(index=False, lineterminator="\n")
            part.files.append(write_atomically(self.result.out / f"{name}.csv", text, force=True))

    @cache  # noqa: B019 - lives as long as the run
    def simulation(self) -> list[Row]:
        n = self.result.settings["replications"]
        return study.complete(self.checkpoint, self.design, n, self.n_jobs, self.progress)

    @cache  # noqa: B019
    def compared(self, dataset: str) -> dict[str, list[Row]]:
        how: Any = {"n_jobs": self.n_jobs, "progress": None if self.progress else False}
        rows = real.compare_readings(real.readings(dataset), self.directory, **how)
        return {table: real.beside_printed(table, rows) for table in ("table1", "table2")}

    @cache  # noqa: B019
    def full(self, dataset: str) -> tuple[Any, ...]:
        reading = real.readings(dataset)[0]
        data = real.load(reading, self.directory)
        ignorance = real.fit_reading(reading, data)
        return data, ignorance, *real.compare_full(reading, data, ignorance)


def write_page(folder: Path, content: dict[str, Any]) -> list[Path]:
    """Write ``results.json`` and the page of it; parts not made are those of earlier runs."""
    record = folder / "results.json"
    try:
        earlier = dict(json.loads(record.read_text(encoding="utf-8"))["parts"])
    except (OSError, ValueError, KeyError, TypeError):
        earlier = {}  # none, or not ours: this run's parts are enough
    known = {**earlier, **content["parts"]}
    parts = {name: known[name] for name in PARTS if name in known}
    text = json.dumps({**content, "parts": parts}, indent=1) + "\n"
    problems: dict[str, list[str]] = {}  # each once, with the parts that have it
    for name, part in parts.items():
        for problem in part["problems"]:
            problems.setdefault(problem, []).append(name)
    environment = templates("hesitant.studies")
    environment.filters["number"] = decimals
    drawn = [folder / file for file in parts.get("figures", {}).get("files", [])]
    shown = [path for path in drawn if path.suffix == ".png" and path.exists()]
    tables = {k: rows for part in parts.values() for k, rows in part["tables"].items()}
    given = {"parts": parts, "problems": problems, "settings": content["settings"]}
    given |= {"datasets": [_dataset(name, tables) for name in real.PRINTED], "tables": tables}
    figures = {path.stem: base64.b64encode(path.read_bytes()).decode() for path in shown}
    given |= {"figures": figures, "measures": study.MEASURES}
    page = environment.get_template("paper.html.j2").render(given)
    files = {record: text, folder / "paper.html": page}
    return [write_atomically(path, content, force=True) for path, content in files.items()]


def _dataset(name: str, tables: dict[str, list[Row]]) -> dict[str, Any]:
    """Return all that the page says of a data set; lists are empty where a part was not made."""
    of = ("table1", "table2", *_FULL)
    own = {k: [row for row in tables.get(k, []) if row["dataset"] == name] for k in of}
    readings: dict[str, Row] = {}
    for row in (*own["table1"], *own["table2"]):
        readings.setdefault(row["reading"], {}).update(row)
    chosen: Any = {k: row for row in readings.values() for k in ("main", "nearest") if row[k]}
    if chosen:  # how much more likely the same model becomes from our own start
        near = chosen["nearest"]
        ours = near["reading"].replace("start: labelled rows", "start: ours")
        chosen["higher"] = readings.get(ours, near)["log_likelihood"] - near["log_likelihood"]
    return {"name": name, "printed": real.PRINTED[name], "readings": readings, **own, **chosen}
