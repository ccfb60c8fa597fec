"""The paper's simulation: what do labels that are missing where it is hard teach, and whom."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

import hesitant
from hesitant.checks import check_jobs, check_number
from hesitant.datasets import simulate
from hesitant.studies._estimators import Row, entries, evaluate
from hesitant.studies._journal import Journal
from hesitant.studies._parallel import unordered
from hesitant.studies._progress import bar

__all__ = ["Design", "check_beginning", "run_simulation"]

ALPHAS = tuple(k / 20 for k in range(21))


@dataclass(frozen=True)
class Design:
    """All that the results of the study depend on.

    Parameters
    ----------
    seed : int, default=1
        Replication k draws from the k-th child of this seed, whoever computes it and when.
    n : int, default=500
        Rows to learn from.
    n_test : int, default=2000
        Rows to be judged on.
    alphas : tuple of float
        Weights of the labelled rows for the fractionally supervised fits.
    restarts : int, default=5
        Starts of the fit with alpha = 0, which is a cluster analysis.
    """

    seed: int = 1
    n: int = 500
    n_test: int = 2000
    alphas: tuple[float, ...] = ALPHAS
    restarts: int = 5

    def settings(self) -> dict[str, Any]:
        """Return what a journal should record: the design, and what computes it."""
        versions = {"hesitant": hesitant.__version__, "numpy": np.__version__}
        return {**asdict(self), "alphas": list(self.alphas), **versions}


def run_simulation(
    path: str | Path,
    replications: int = 100,
    *,
    design: Design | None = None,
    jobs: int | None = None,
    resume: bool = False,
    force: bool = False,
    progress: bool = True,
) -> list[Row]:
    """Run the simulation of the paper's section 6.

    Two bivariate Gaussian classes; logit Pr(labelled) = 1 − 5 · entropy. Each replication draws a
    training and a test set, fits every estimator to the first and scores it on the second.

    Parameters
    ----------
    path : path
        The file that keeps finished replications. It is a journal for resuming, not a table.
    replications : int, default=100
        How many. Resuming with more than before adds to what is there.
    design : Design, optional
        The paper's by default.
    jobs : int, optional
        Processes; all cores by default. Under ``joblib.parallel_config`` the backend, and
        without `jobs` its number of workers too, are the caller's choice.
    resume : bool, default=False
        Continue what an interrupted run has left in `path`.
    force : bool, default=False
        Begin anew although an interrupted run has left finished replications in `path`, which are
        kept in a file beside it whose name ends in ``.old``.
    progress : bool, default=True
        Show a progress bar.

    Returns
    -------
    list of dict
        One row for each replication and estimator, sorted. It depends on the design only: not on
        jobs, backend, or interruptions.

    Raises
    ------
    StudyError
        If `path` holds an interrupted run and neither `resume` nor `force` says what to do with
        it, or `resume` cannot continue it.
    """
    check_beginning(resume, force)
    check_number("replications", replications, Integral, 1)
    check_jobs("jobs", jobs)
    design = design or Design()
    journal = Journal(Path(path), design.settings())
    with journal.open(resume, force):
        todo = [k for k in range(replications) if k not in journal.finished]
        shown = bar("simulation", replications, progress, done=replications - len(todo))
        with shown as advance:
            for k, rows in unordered(replicate, [(design, k) for k in todo], jobs):
                journal.append(k, rows)
                advance()
        journal.finish()
    return [
        {"replication": k, **row}
        for k, rows in sorted(journal.finished.items())
        if k < replications
        for row in rows
    ]


def check_beginning(resume: bool, force: bool) -> None:
    """Refuse to both continue and begin anew."""
    if resume and force:
        raise ValueError("resume=True continues and force=True begins anew: choose one.")


def replicate(design: Design, replication: int) -> tuple[int, list[Row]]:
    """Return one replication's number and rows, a function of the design and the number only."""
    # What SeedSequence.spawn gives as its k-th child, without making those before it.
    own = np.random.SeedSequence(design.seed, spawn_key=(replication,))
    for_train, for_test, for_fits = own.spawn(3)
    # the paper's parameters are the defaults
    train = simulate(design.n, random_state=for_train)
    test = simulate(design.n_test, random_state=for_test)
    seed = int(for_fits.generate_state(1)[0] >> 1)  # scikit-learn's seeds have 31 bits
    return replication, [
        {**evaluate(entry, train, test, seed), "n_labelled": train.n_labelled}
        for entry in entries(design.alphas, design.restarts)
    ]
