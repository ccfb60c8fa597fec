"""A fitted classifier joined to rows of data: what every question after a fit starts from."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from hesitant._typing import AnyArray, BoolArray, FloatArray
from hesitant.chart import Chart
from hesitant.intake import is_dask
from hesitant.labels import Labels, names_of
from hesitant.likelihood import Evaluation, Likelihood, State
from hesitant.rows import ManyRows, Rows


@dataclasses.dataclass(frozen=True)
class ModelData:
    """A fitted classifier with rows in memory."""

    clf: Any
    X: AnyArray
    labels: Labels
    weight: FloatArray
    reviewed: BoolArray
    likelihood: Likelihood

    @property
    def state(self) -> State:
        """The fitted parameters."""
        state: State = self.clf.state_
        return state


def check_classifier(clf: Any) -> None:
    """Raise unless this is a classifier of the package; a pipeline is told what to give."""
    if hasattr(clf, "_attach"):
        return
    if hasattr(clf, "steps"):
        raise TypeError(
            "A Pipeline was given: give its classifier with the features as that sees them, "
            "pipe[-1] and pipe[:-1].transform(X)."
        )
    raise TypeError(f"A {type(clf).__name__} was given: give a MixtureClassifier.")


def model_data(
    clf: Any, X: Any, y: Any, sample_weight: Any = None, reviewed: Any = None
) -> ModelData:
    """Check data against a fitted classifier and join the two."""
    check_classifier(clf)
    refuse_dask(X)
    likelihood = likelihood_of(clf, X, y, sample_weight, reviewed)
    rows = likelihood.rows
    assert isinstance(rows, Rows)  # what is not a Dask collection is in memory
    n = len(rows.codes)
    return ModelData(
        clf,
        rows.X,
        Labels(rows.codes, clf.classes_),
        np.ones(n) if rows.weight is None else rows.weight,
        np.ones(n, dtype=bool) if rows.reviewed is None else rows.reviewed,
        likelihood,
    )


def likelihood_of(
    clf: Any, X: Any = None, y: Any = None, sample_weight: Any = None, reviewed: Any = None
) -> Likelihood:
    """Return a fitted classifier's likelihood of rows, by default those of its fit."""
    check_classifier(clf)
    rows: ManyRows = clf._attach(X, y, sample_weight, reviewed)
    return Likelihood(rows, clf.family_, clf.mechanism_, clf.alpha)


@contextmanager
def open_chart(likelihood: Likelihood, state: State) -> Iterator[tuple[Chart, Evaluation]]:
    """Open the rows, and give the chart about a state with the likelihood there."""
    if not likelihood.family.has_coordinates:
        raise ValueError(
            f"The family {type(likelihood.family).__name__} has no `coordinates` method, so the "
            "information cannot be computed: write one, or use bootstrap()."
        )
    with likelihood.rows:
        evaluation = likelihood.evaluate(state)
        yield Chart(likelihood, state, evaluation, mechanism=True), evaluation


def refuse_dask(X: Any) -> None:
    """Raise if the rows are not in memory."""
    if is_dask(X):
        raise TypeError(
            "X is a Dask collection, and this needs all rows at once: give X.compute(), or a "
            "sample of the rows. (diagnose, information and summary do work on Dask collections.)"
        )


def class_names(clf: Any) -> list[str]:
    """Return the classes as tables and legends print them."""
    return names_of(clf.classes_)


def feature_names(clf: Any) -> list[str]:
    """Return the features' own names, or x0, x1 and so on."""
    named = getattr(clf, "feature_names_in_", None)
    if named is None:
        return [f"x{j}" for j in range(clf.n_features_in_)]
    return [str(name) for name in named]
