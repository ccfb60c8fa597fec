"""The estimators that the simulation compares, and how each is scored."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import multivariate_normal
from sklearn.metrics import adjusted_rand_score

from hesitant._typing import FloatArray, IntArray
from hesitant.classifier import MixtureClassifier
from hesitant.datasets._simulate import COVARIANCES, MEANS
from hesitant.exceptions import FitWarning

__all__ = ["Entry", "Row", "entries", "evaluate", "true_log_posterior"]

Row = dict[str, Any]


@dataclass(frozen=True)
class Entry:
    """One estimator of the study.

    Parameters
    ----------
    name : str
        What tables call it.
    alpha : float, optional
        Its weight of the labelled rows, for a fractionally supervised fit.
    options : dict
        Parameters of the classifier.
    labels : {"partial", "complete", "none"}
        What it learns from; "none" knows the true parameters already.
    """

    name: str
    alpha: float | None
    options: dict[str, Any]
    labels: str = "partial"


def entries(alphas: tuple[float, ...], restarts: int) -> Iterator[Entry]:
    """Yield the estimators in the order of the tables.

    With alpha = 0 no label says where a class is: clusters start from k-means, and the likelihood
    of the few hundred blank rows has many maxima, so that one start is not enough.
    """
    for alpha in alphas:
        options = {"mechanism": None, "alpha": alpha, "n_init": restarts if alpha == 0 else 1}
        yield Entry("fractional", alpha, options)
    yield Entry("ignorance", None, {"mechanism": None})
    yield Entry("full", None, {"solver": "quasi_newton"})
    yield Entry("profile", None, {"solver": "profile"})
    yield Entry("one-step-late", None, {"solver": "one_step_late"})
    yield Entry("complete labels", None, {"mechanism": None}, labels="complete")
    yield Entry("true parameters", None, {}, labels="none")


def evaluate(entry: Entry, train: Any, test: Any, seed: int) -> Row:
    """Fit an estimator to one data set and score it on another.

    Parameters
    ----------
    entry : Entry
    train, test : PartlyLabelled
        Two draws of `simulate`.
    seed : int
        For the estimator's restarts.

    Returns
    -------
    dict
        The adjusted Rand index and the error rate of the predicted classes, the log loss summed
        over the test set, and whether the fit converged.
    """
    if entry.labels == "none":
        log_tau, converged = true_log_posterior(test.features), True
    else:
        known = train.labelled | (entry.labels == "complete")
        labels = np.where(known, train.truth, -1)  # read faster than objects
        # A tolerance below the default's, so that solvers of the same problem can be compared.
        classifier = MixtureClassifier(random_state=seed, tol=1e-8, **entry.options)
        with warnings.catch_warnings():
            # What a warning would say of one of thousands of fits is in the table instead.
            warnings.simplefilter("ignore", FitWarning)
            classifier.fit(train.features, labels)
        log_tau, converged = classifier.predict_log_proba(test.features), classifier.converged_
    return {
        "estimator": entry.name,
        "alpha": entry.alpha,
        **scores(log_tau, np.asarray(test.truth)),
        "converged": bool(converged),
    }


def scores(log_tau: FloatArray, truth: IntArray) -> dict[str, float]:
    """Return the measures of the study for log posteriors of a test set."""
    predicted = log_tau.argmax(axis=1)
    return {
        "adjusted_rand": float(adjusted_rand_score(truth, predicted)),
        "log_loss": float(-log_tau[np.arange(len(truth)), truth].sum()),
        "error_rate": float(np.mean(predicted != truth)),
    }


def true_log_posterior(X: FloatArray) -> FloatArray:
    """Return the log posteriors of rows under the simulation's true parameters."""
    joint = np.stack(
        [
            multivariate_normal(mean, covariance).logpdf(X)
            for mean, covariance in zip(MEANS, COVARIANCES, strict=True)
        ],
        axis=1,
    )
    result: FloatArray = joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)
    return result
