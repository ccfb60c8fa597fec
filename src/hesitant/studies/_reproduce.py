"""The paper, by one call."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterable
from numbers import Integral
from pathlib import Path
from typing import Any

from hesitant.checks import check_jobs, check_number
from hesitant.studies._output import make_folder, write_json
from hesitant.studies._parts import PARTS, make_part
from hesitant.studies._result import Part, Reproduction
from hesitant.studies._simulation import Design, check_beginning
from hesitant.studies._workshop import Workshop

__all__ = ["reproduce"]


def reproduce(
    parts: str | Iterable[str] | None = None,
    out: str | os.PathLike[str] = "hesitant-paper",
    *,
    replications: int = 100,
    jobs: int | None = None,
    data: str | os.PathLike[str] | None = None,
    resume: bool = False,
    force: bool = False,
    seed: int = 1,
    design: Design | None = None,
    progress: bool = True,
) -> Reproduction:
    """Reproduce the paper's tables, simulation and figures, and go a little past it.

    The paper is D. Ahfock and G. J. McLachlan, *On missing label patterns in semi-supervised
    learning*.

    Parameters
    ----------
    parts : str or iterable of str, optional
        Which parts; all by default:

        - ``"table1"``, ``"table2"``: mean entropies and tests on the three real data sets, for
          every reading that the paper leaves open, beside the printed numbers
        - ``"full"``: the full likelihood on the same data, and what it changes
        - ``"simulation"``: section 6
        - ``"figures"``: all figures, as PNG and SVG
    out : path, default="hesitant-paper"
        The folder of results; made if need be. Tables there are replaced.
    replications : int, default=100
        Replications of the simulation.
    jobs : int, optional
        Processes; all cores by default. ``joblib.parallel_config`` chooses another backend.
    data : path, optional
        The folder of the real data. By default that of the environment variable HESITANT_DATA,
        then the user's cache, then the official sources.
    resume : bool, default=False
        Continue an interrupted simulation. Its result is that of one never interrupted.
    force : bool, default=False
        Begin an interrupted simulation anew; what it had finished is kept in a file that ends in
        ``.old``.
    seed : int, default=1
        Of the simulation.
    design : Design, optional
        Another design of the simulation than the paper's, instead of `seed`.
    progress : bool, default=True
        Show progress bars.

    Returns
    -------
    Reproduction
        With ``ok``, the tables, the files and, if anything failed, what to do about it. A part
        that fails does not stop the others.

    Raises
    ------
    ValueError
        If an option makes no sense.
    StudyError
        If nothing can be written to `out`, or it holds an interrupted simulation and neither
        `resume` nor `force` says what to do with it.

    Examples
    --------
    >>> from hesitant.studies import reproduce
    >>> result = reproduce("simulation", replications=10)  # doctest: +SKIP
    >>> result.ok  # doctest: +SKIP
    True
    """
    wanted = _check_parts(parts)
    check_number("replications", replications, Integral, 1)
    check_number("seed", seed, Integral, 0)
    check_jobs("jobs", jobs)
    check_beginning(resume, force)
    workshop = Workshop(
        make_folder(out),
        replications,
        design or Design(seed=seed),
        jobs,
        data,
        bool(resume),
        bool(force),
        bool(progress),
    )
    if "simulation" in wanted and not (resume or force):
        # before the other parts, which take a while
        workshop.journal().refuse_unfinished()
    made = {name: make_part(name, workshop) for name in wanted}
    settings = {
        "parts": wanted,
        "replications": workshop.replications,
        "resume": workshop.resume,
        **workshop.design.settings(),
    }
    result = Reproduction(workshop.folder, made, settings)
    made["paper"] = _page(result)
    return result


def _page(result: Reproduction) -> Part:
    """Write the page from this run's parts and, for other parts, those of earlier runs."""
    record = result.out / "results.json"
    part = Part("paper")
    try:
        from hesitant.studies._page import write_page

        content = result.to_dict()
        content["parts"] = {**_earlier(record), **content["parts"]}
        content["parts"] = {k: content["parts"][k] for k in PARTS if k in content["parts"]}
        part.files.append(write_json(record, content))
        part.files.append(write_page(result.out, content))
    except (OSError, ImportError, ValueError) as error:
        part.errors.append(error)
        part.problems.append(str(error))
    return part


def _earlier(record: Path) -> dict[str, Any]:
    try:
        parts = json.loads(record.read_text(encoding="utf-8"))["parts"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}  # none, or not ours: this run's parts are enough
    return parts if isinstance(parts, dict) else {}


def _check_parts(parts: str | Iterable[str] | None) -> list[str]:
    asked = [parts] if isinstance(parts, str) else list(parts or PARTS)
    for name in asked:
        if name not in PARTS:
            near = difflib.get_close_matches(str(name), PARTS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"parts: {name!r} is unknown; choose among {', '.join(PARTS)}.{hint}")
    return [name for name in PARTS if name in asked]
