"""Many small fits: seeds, parallel workers, and an honest count of those that fail."""

import dataclasses
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils import check_random_state

from hesitant._optional import need
from hesitant.checks import check_number
from hesitant.exceptions import FitWarning, hearing

__all__ = ["Replicates", "refit", "replicate", "seeds"]


@dataclasses.dataclass(frozen=True)
class Replicates:
    """What came of repeated attempts.

    Attributes
    ----------
    values : list
        Results of the attempts that succeeded.
    failures : dict
        Reasons of those that did not, each with its count.
    """

    values: list[Any]
    failures: dict[str, int]

    @property
    def n_failed(self) -> int:
        """How many attempts failed."""
        return sum(self.failures.values())

    def in_words(self) -> str:
        """Return a sentence about failures; empty if there were none."""
        if not self.failures:
            return ""
        tried = self.n_failed + len(self.values)
        reasons = "; ".join(f"{count} × {why}" for why, count in self.failures.items())
        return f"{self.n_failed} of {tried} replicates failed and are not counted: {reasons}"


def seeds(random_state: Any, n: int) -> list[np.random.SeedSequence]:
    """Return n independent seeds; the i-th does not depend on how many workers there are."""
    if isinstance(random_state, np.random.Generator):
        entropy = random_state.integers(2**31 - 1)
    else:
        entropy = check_random_state(random_state).randint(2**31 - 1)
    return np.random.SeedSequence(int(entropy)).spawn(n)


def replicate(
    task: Callable[[np.random.Generator], Any],
    n: int,
    *,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool = False,
    description: str = "replicates",
) -> Replicates:
    """Run a task n times, each with a generator of its own, on any joblib backend."""
    check_number("n", n, Integral, 1)
    calls = (delayed(_attempt)(task, seed) for seed in seeds(random_state, n))
    with _quiet():
        if progress:
            bar = need("tqdm.auto", "data").tqdm
            done = _as_they_come(n_jobs)(calls)
            outcomes = list(bar(done, desc=description, total=n, leave=False))
        else:
            outcomes = Parallel(n_jobs=n_jobs)(calls)
    values = [value for value, reason in outcomes if reason is None]
    failures = Counter(reason for _, reason in outcomes if reason is not None)
    return Replicates(values, dict(failures.most_common()))


def _as_they_come(n_jobs: int | None) -> Any:
    """Return a pool whose answers arrive one by one, in order, where the backend can do that."""
    try:
        return Parallel(n_jobs=n_jobs, return_as="generator")
    except ValueError:  # joblib's multiprocessing backend returns whole lists only
        return Parallel(n_jobs=n_jobs)


def _attempt(
    task: Callable[[np.random.Generator], Any], seed: np.random.SeedSequence
) -> tuple[Any, str | None]:
    try:
        with _quiet():
            return task(np.random.default_rng(seed)), None
    except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
        first_sentence = str(error).split(": ")[0].split(". ")[0]
        return None, f"{type(error).__name__}, {first_sentence}"


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep fits from repeating in every replicate what the user knows of the first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        yield


def refit(
    clf: Any,
    X: Any,
    y: Any,
    *,
    start: Any = None,
    reviewed: Any = None,
    sample_weight: Any = None,
    heard: list[str] | None = None,
    **changes: Any,
) -> Any:
    """Fit a copy of a classifier to other rows, from where the classifier ``start`` ended.

    A family that cannot start from given parameters starts afresh. What the fit warns of is added
    to ``heard``, if given, and not said aloud.
    """
    new = clone(clf).set_params(**changes)
    if start is not None and start.family_.has_from_attributes:
        new.set_params(init=start, n_init=1)
    if hasattr(clf, "classes_"):  # a class may lose all its labels and must stay
        new.set_params(classes=clf.classes_.tolist())
    new.set_params(verbose=0)
    with hearing() as said:
        new.fit(X, y, sample_weight=sample_weight, reviewed=reviewed)
    if heard is not None:
        heard += [words for words in said if words not in heard]
    return new
