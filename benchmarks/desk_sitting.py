"""A sitting at the desk: whether it pays, whether its audit is fair, whether it stays fluent.

First, an expert who hesitates by entropy answers 100 cases that the desk chooses, or 100 drawn at
random, from tables where nobody had looked at the blanks (12 labels) and where they were withheld
(the paper's simulation): the error on fresh cases after each ten answers. Then what the audit says
of the guesses about blank cases, against the truth. Last, how long answers take in a table of
100,000 rows while the model is refitted behind them.
``python -m benchmarks.desk_sitting [replications]``.
"""

import subprocess
import sys
import tempfile
import time
import urllib.request
from json import dumps, loads
from pathlib import Path

import numpy as np

from hesitant.datasets import make_cytometry_like, simulate
from hesitant.desk import Desk
from hesitant.desk._findings import guessed

ANSWERS, EVERY = 100, 10
# the paper's mechanism: a chance of expit(3 - 5 e) to say something, e the entropy
WAYS = {"chosen by the desk": 0.1, "drawn at random": 1.0}
TABLES = {"12 labels, blanks never looked at": False, "blanks withheld where it is hard": True}


def write(folder: Path, seed: int, withheld: bool) -> tuple[Path, np.ndarray, np.ndarray]:
    """Write a table; return its path, the true classes and the chance of an answer."""
    rng = np.random.default_rng([seed, 7])
    data = simulate(500, random_state=seed)
    hard = np.array([v is None for v in data.labels])
    if not withheld:
        hard[:] = True
        for z in (0, 1):
            hard[rng.choice(np.flatnonzero(data.truth == z), 6, replace=False)] = False
    path = folder / f"table-{seed}.csv"
    rows = [
        f"{a!r},{b!r},{'' if h else 'ab'[z]}"
        for (a, b), h, z in zip(data.features.tolist(), hard, data.truth, strict=True)
    ]
    path.write_text("x,y,label\n" + "\n".join(rows))
    return path, data.truth, 1 / (1 + np.exp(-3 + 5 * entropy(data.features)))


def entropy(X: np.ndarray) -> np.ndarray:
    """Return the entropy of the true class posteriors of the simulation."""
    from scipy.stats import multivariate_normal

    from benchmarks._common import COVARIANCES, MEANS

    f = np.stack(
        [multivariate_normal(m, s).pdf(X) for m, s in zip(MEANS, COVARIANCES, strict=True)]
    )
    tau = np.maximum(f / f.sum(axis=0), 1e-300)
    return -(tau * np.log(tau)).sum(axis=0)


def sitting(seed: int, withheld: bool, audit: float) -> tuple[list[float], tuple[float, ...]]:
    """Return errors along a sitting, and (audit accuracy, truth, whether the interval holds)."""
    fresh = simulate(20_000, random_state=10_000 + seed)
    names = np.array(["a", "b"])[fresh.truth]
    rng = np.random.default_rng([seed, 8])
    with tempfile.TemporaryDirectory() as folder:
        path, truth, chance = write(Path(folder), seed, withheld)
        speaks = rng.random(len(truth)) < chance
        desk = Desk(path, label="label", withheld=withheld, audit=audit)
        desk._seed = seed  # the audit is drawn alike in every run
        desk.configure(desk.guesses())
        desk.worker.settle()
        errors, right = [], []
        for k in range(ANSWERS + 1):
            if k % EVERY == 0:
                errors.append(float((desk.model.clf.predict(fresh.features) != names).mean()))
            case = desk.case("expert")
            if k == ANSWERS or case is None:
                break
            row = case["row"]
            blank = (desk.data.codes < 0) & speaks
            right.append(float((desk.model.guess == truth)[blank].mean()))
            if speaks[row]:
                desk.answer("expert", row, "label", "ab"[truth[row]])
            else:
                desk.answer("expert", row, "cannot tell")
            desk.worker.settle()
        found = guessed(desk.journal.answers(), audit=True)
        desk.close()
    told = float("nan") if found["accuracy"] is None else found["accuracy"]
    holds = found["low"] <= np.mean(right) <= found["high"]
    return errors, (told, float(np.mean(right)), float(holds))


def compare(replications: int) -> None:
    """Print the errors after each ten answers, what choosing saves, and what the audits said."""
    for title, withheld in TABLES.items():
        print(f"\n{title}: error on fresh cases in %, {replications} tables of 500 rows")
        print(f"{'answers':26s}" + "".join(f"{k:7d}" for k in range(0, ANSWERS + 1, EVERY)))
        found, said = {}, []
        for way, audit in WAYS.items():
            runs = [sitting(seed, withheld, audit) for seed in range(replications)]
            shortest = min(len(errors) for errors, _ in runs)
            found[way] = 100 * np.array([errors[:shortest] for errors, _ in runs])
            show(way, found[way].mean(axis=0))
            told, true, holds = np.array([audit for _, audit in runs]).T
            said.append(
                f"  audit, {way}: {100 * np.nanmean(told):.1f} % right, truth "
                f"{100 * true.mean():.1f} %; the 95 % interval holds it in {holds.sum():.0f} of "
                f"{replications}"
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
    fluency()
    compare(int(sys.argv[1]) if len(sys.argv) > 1 else 20)


if __name__ == "__main__":
    main()
