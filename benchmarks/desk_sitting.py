"""A sitting at the desk: whether it pays, whether its audit is fair, whether it stays fluent.

First, an expert who hesitates by entropy answers cases that the desk chooses, or cases drawn at
random, from tables with a few labels whose blanks nobody had looked at, and from one where they
were withheld (the paper's simulation): the error on fresh cases after each ten answers. Then what
the audit says of the guesses about blank cases, against the truth, and what would still have been
gained after the desk advised to stop. Last, how long answers take in a table of 100,000 rows while
the model is refitted behind them.
``python -m benchmarks.desk_sitting [replications] [answers] [world]``.
"""

import subprocess
import sys
import tempfile
import time
import urllib.request
from json import dumps, loads
from pathlib import Path
from typing import Any

import numpy as np

from hesitant.datasets import make_cytometry_like, simulate
from hesitant.desk import Desk, _sitting
from hesitant.desk._findings import guessed, when_to_stop

EVERY = 10
WAYS = {"chosen by the desk": 0.1, "drawn at random": 1.0}
NAMES = "abc"
# Classes of `simulate`, and how many labels of each class there are at first: 0 is for blanks that
# were withheld where it is hard. The paper's classes leave little to learn, the others more.
WORLDS: dict[str, tuple[dict[str, Any], int]] = {
    "paper": ({}, 6),
    "withheld": ({}, 0),
    "3 classes": (
        {
            "means": [[0, 0, 0, 0], [1.6, 0, 0, 0], [0, 1.8, 0.8, 0]],
            "covariances": [np.eye(4), np.diag([0.5, 1.5, 1, 1]), 0.7 * np.eye(4) + 0.3],
            "weights": [0.5, 0.3, 0.2],
        },
        5,
    ),
    "8 features": (
        {
            "means": [[0.0] * 8, [0.9] * 4 + [0.0] * 4],
            "covariances": [np.eye(8), np.diag([2.0, 0.5] * 4)],
            "weights": [0.7, 0.3],
        },
        10,
    ),
}


def write(folder: Path, seed: int, world: str) -> tuple[Path, np.ndarray, np.ndarray]:
    """Write a table; return its path, the true classes, and of which rows the expert can tell."""
    rng, (classes, each) = np.random.default_rng([seed, 7]), WORLDS[world]
    data = simulate(500, random_state=seed, **classes)
    chance = 1 / (1 + np.exp(-3 + 5 * data.details["entropy"]))
    speaks, given = rng.random(500) < chance, data.labelled
    if each:
        given = np.zeros(500, dtype=bool)
        for z in np.unique(data.truth):
            easy = np.flatnonzero((data.truth == z) & speaks)
            given[rng.choice(easy, each, replace=False)] = True
    frame = data.to_frame("number").drop(columns="number")
    frame["label"] = [NAMES[z] if g else "" for z, g in zip(data.truth, given, strict=True)]
    path = folder / f"table-{seed}.csv"
    frame.to_csv(path, index=False)
    return path, data.truth, speaks


def sitting(seed: int, world: str, audit: float, answers: int) -> dict[str, Any]:
    """Return errors along a sitting, audit accuracy and the truth, and when to stop."""
    fresh = simulate(20_000, random_state=10_000 + seed, **WORLDS[world][0])
    names = np.array(list(NAMES))[fresh.truth]
    _sitting.held_out = lambda model: None  # nobody looks at it here
    with tempfile.TemporaryDirectory() as folder:
        path, truth, speaks = write(Path(folder), seed, world)
        withheld = world == "withheld"
        desk = Desk(path, label="label", withheld=withheld, audit=audit)
        desk._seed = seed  # the audit is drawn alike in every run
        desk.configure(desk.guesses())
        desk.worker.settle()
        errors, right, stop = [], [], None
        for k in range(answers + 1):
            if k % EVERY == 0 or stop is None:
                error = 100 * float((desk.model.clf.predict(fresh.features) != names).mean())
            if k % EVERY == 0:
                errors.append(error)
            advice = when_to_stop(desk, desk.model)
            if stop is None and advice["still"] and not advice["shape_at"]:
                stop = k, error
            case = desk.case("expert")
            if k == answers or case is None:
                break
            row = case["row"]
            blank = (desk.data.codes < 0) & speaks
            right.append(float((desk.model.guess == truth)[blank].mean()))
            if speaks[row]:
                desk.answer("expert", row, "label", NAMES[truth[row]])
            else:
                desk.answer("expert", row, "cannot tell")
            desk.worker.settle()
        found = guessed(desk.journal.answers(), audit=True)
        desk.close()
    told = float("nan") if found["accuracy"] is None else found["accuracy"]
    holds = found["low"] <= np.mean(right) <= found["high"]
    return {
        "errors": errors,
        "audit": (told, float(np.mean(right)), float(holds)),
        "stop": stop and (*stop, errors[-1]),
    }


def compare(world: str, replications: int, answers: int) -> None:
    """Print errors after each ten answers, what choosing saves, audits, and advice to stop."""
    print(f"\n{world}: error on fresh cases in %, {replications} tables of 500 rows")
    print(f"{'answers':26s}" + "".join(f"{k:7d}" for k in range(0, answers + 1, EVERY)))
    found, said = {}, []
    for way, audit in WAYS.items():
        runs = [sitting(seed, world, audit, answers) for seed in range(replications)]
        shortest = min(len(run["errors"]) for run in runs)
        found[way] = np.array([run["errors"][:shortest] for run in runs])
        show(way, found[way].mean(axis=0))
        told, true, holds = np.array([run["audit"] for run in runs]).T
        said.append(
            f"  audit, {way}: {100 * np.nanmean(told):.1f} % right, truth "
            f"{100 * true.mean():.1f} %; the 95 % interval holds it in {holds.sum():.0f} of "
            f"{replications}"
        )
        stops = np.array([run["stop"] for run in runs if run["stop"]]).reshape(-1, 3)
        gained = stops[:, 1] - stops[:, 2]
        said.append(
            f"  stop, {way}: advised in {len(stops)} of {replications}"
            + (
                f", after {np.median(stops[:, 0]):.0f} answers (median); the rest up to {answers} "
                f"then gained {gained.mean():.2f} points (largest {gained.max():.2f})"
                if len(stops)
                else ""
            )
        )
    # the same tables: differences vary far less than errors do
    chosen, drawn = found.values()
    k = min(chosen.shape[1], drawn.shape[1])
    saved = drawn[:, :k] - chosen[:, :k]
    show("saved by choosing", saved.mean(axis=0))
    show("  standard error", saved.std(axis=0, ddof=1) / np.sqrt(replications))
    print("\n".join(said), flush=True)


def show(name: str, values: np.ndarray) -> None:
    """Print a line of a table."""
    print(f"{name:26s}" + "".join(f"{value:7.2f}" for value in values), flush=True)


def fluency(n: int = 100_000, answers: int = 200) -> None:
    """Print how long requests take while the model is refitted."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cells.csv"
        make_cytometry_like(n, random_state=1).to_frame("population").to_csv(path, index=False)
        command = [sys.executable, "-m", "hesitant", "desk", str(path), "--label", "population"]
        with subprocess.Popen(
            [*command, "--no-browser"], stdout=subprocess.PIPE, text=True
        ) as server:
            assert server.stdout is not None
            base, _, token = server.stdout.readline().split()[-1].partition("/?")
            times: dict[str, list[float]] = {}

            def ask(path: str, body: dict | None = None) -> bytes:
                data = None if body is None else dumps(body).encode()
                begin = time.perf_counter()
                with urllib.request.urlopen(f"{base}{path}?{token}", data) as response:
                    found = response.read()
                times.setdefault(path, []).append(time.perf_counter() - begin)
                return found

            for k in range(answers):
                case = loads(ask("/api/case"))
                label = case["classes"][k % len(case["classes"])]
                ask("/api/answer", {"row": case["row"], "answer": "label", "label": label})
                ask("/part/case")
            knows = loads(ask("/api/state"))["model_knows"]
            server.terminate()
        print(f"\n{n:,} rows, {answers} answers without a pause; the model knew {knows} of them")
        for path, found in times.items():
            low, high = 1e3 * np.median(found), 1e3 * max(found)
            print(f"  {path:12s} median {low:6.1f} ms, longest {high:6.1f} ms")


def main() -> None:
    given = sys.argv[1:]
    replications, answers = (int(given[k]) if len(given) > k else 20 * 3**k for k in (0, 1))
    worlds = given[2:] or [*WORLDS]
    for world in worlds:
        compare(world, replications, answers)
    if not given[2:]:
        fluency()


if __name__ == "__main__":
    main()
