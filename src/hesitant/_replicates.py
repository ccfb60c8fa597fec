"""Many independent computations: workers, progress, seeds, and a count of those that fail."""

import copy
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from hesitant._cores import BESIDE_OTHERS
from hesitant.checks import check_jobs
from hesitant.exceptions import collect_warnings
from hesitant.fitting import generator

WORTH_PROCESSES = 64  # tasks that are worth the seconds it takes to start workers
_watched: set[int] = set()


def run_tasks(
    function: Callable[..., Any],
    tasks: Iterable[tuple[Any, ...]],
    *,
    n_jobs: int | None = None,
    in_order: bool = True,
    progress: bool | None = False,
    description: str = "replicates",
    already_done: int = 0,
) -> Iterator[Any]:
    """Yield a function's answers to tuples of arguments, with a bar if ``progress`` says so."""
    check_jobs("n_jobs", n_jobs)
    tasks, parent = list(tasks), os.getpid()
    if n_jobs is None and effective_n_jobs(None) == 1:  # nobody has said how many
        n_jobs = -1 if len(tasks) >= WORTH_PROCESSES else 1
    several = effective_n_jobs(n_jobs) > 1
    calls = [delayed(_call)(parent, several, function, given) for given in tasks]
    # One at a time out of order: what a worker holds back in a batch would be lost with it.
    how: dict[str, Any] = {"batch_size": "auto", "return_as": "generator"}
    if not in_order:
        how = {"batch_size": 1, "return_as": "generator_unordered"}
    try:
        run = Parallel(n_jobs=n_jobs, **how)
    except ValueError:  # joblib's multiprocessing backend returns whole lists only
        run = Parallel(n_jobs=n_jobs)
    if progress is False or not find_spec("tqdm"):  # a bar is no reason to fail
        yield from run(calls)
        return
    from tqdm.auto import tqdm

    shown = {"desc": description, "leave": False, "disable": None if progress is None else False}
    yield from tqdm(run(calls), total=already_done + len(tasks), initial=already_done, **shown)


def _call(parent: int, several: bool, function: Callable[..., Any], given: tuple[Any, ...]) -> Any:
    def end_with_parent() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    # A killed parent cannot tell its worker processes to end: they look for it themselves.
    if os.getppid() == parent and parent not in _watched:
        _watched.add(parent)
        threading.Thread(target=end_with_parent, daemon=True).start()
    token = BESIDE_OTHERS.set(several)
    try:
        return function(*given)
    finally:
        BESIDE_OTHERS.reset(token)


def replicate(
    task: Callable[[np.random.Generator], Any], n: int, *, random_state: Any = None, **how: Any
) -> tuple[list[Any], dict[str, int], str]:
    """Run a task n times, each with a generator of its own; ``how`` as for :func:`run_tasks`.

    Return the answers, why others failed and how often, and a sentence about those, if any.
    """
    # The i-th generator does not depend on how many workers there are.
    tasks = [(task, rng) for rng in generator(random_state).spawn(n)]
    outcomes = list(run_tasks(_attempt, tasks, **how))
    values = [value for value, reason in outcomes if reason is None]
    failures = dict(Counter(reason for _, reason in outcomes if reason is not None).most_common())
    reasons = "; ".join(f"{count} × {why}" for why, count in failures.items())
    words = f"{n - len(values)} of {n} replicates failed and are not counted: {reasons}"
    return values, failures, words if failures else ""


def _attempt(task: Callable[..., Any], rng: np.random.Generator) -> tuple[Any, str | None]:
    try:
        return task(rng), None
    except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
        return None, f"{type(error).__name__}, {str(error).split(': ')[0].split('. ')[0]}"


def like(clf: Any, start: Any = None, **changes: Any) -> Any:
    """Return a copy to fit to other rows, from where ``start`` ended."""
    if start is not None and start.family_.has_from_attributes:
        changes |= {"init": start, "n_init": 1}
    if hasattr(clf, "classes_"):  # a class may lose all its labels and must stay
        changes["classes"] = clf.classes_.tolist()
    new = copy.copy(clf)  # scikit-learn's clone takes a tenth of a small fit
    new.random_state = copy.deepcopy(clf.random_state)  # of the parameters one has a state
    vars(new).update({"verbose": 0} | changes)
    return new


def refit(clf: Any, X: Any, y: Any, start: Any = None, warned: Any = None, **changes: Any) -> Any:
    """Fit a copy to other rows, with weights if given; ``warned`` gets its warnings."""
    rows = {name: changes.pop(name, None) for name in ("sample_weight", "reviewed")}
    new = like(clf, start, **changes)
    with collect_warnings() as said:
        new.fit(X, y, **rows)
    if warned is not None:
        warned += [words for words in said if words not in warned]
    return new
