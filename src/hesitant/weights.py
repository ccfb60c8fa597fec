"""Weights for labelled rows that stand in for the blank ones."""

from numbers import Real
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.metrics import log_loss

from hesitant._typing import BoolArray, FloatArray, IntArray
from hesitant.checks import check_number, look_up
from hesitant.classifier import MixtureClassifier
from hesitant.families._kernels import robust_units
from hesitant.intake import refuse_not_finite, take

REFERENCE = 2000
BANDWIDTHS = np.geomspace(0.1, 2.5, 15)
FLOOR = 1e-3


def inverse_probability_weights(
    X: Any,
    y: Any = None,
    *,
    chance: str = "mechanism",
    estimator: MixtureClassifier | None = None,
    trim: float = 0.95,
    reviewed: Any = None,
    missing_label: Any = -1,
) -> FloatArray:
    """Weigh labelled rows by one over their chance of a label, so that they look like all rows.

    Returns weights (n,) for ``fit(X, y, sample_weight=...)`` with ``alpha=1``: zero for blank rows
    and those that nobody was shown, one on average over the labelled ones. The ``chance`` of a
    label is by the "mechanism" of a classifier (an ``estimator``, fitted to X and y first unless
    it is already), or by a "kernel" regression on the features, which assumes no mechanism and
    needs few features and many rows. Weights above the quantile ``trim`` are cut down to it, so
    that none outweighs all others.

    >>> from hesitant import MixtureClassifier, datasets, inverse_probability_weights
    >>> data = datasets.simulate(n=500, random_state=0)
    >>> weight = inverse_probability_weights(data.features, data.labels)
    >>> clf = MixtureClassifier(mechanism=None, alpha=1)
    >>> clf = clf.fit(data.features, data.labels, sample_weight=weight)
    """
    check_number("trim", trim, Real, 0.5, 1)
    look_up("chance", chance, {"mechanism": None, "kernel": None})
    clf = MixtureClassifier(missing_label=missing_label) if estimator is None else estimator
    fitted = hasattr(clf, "fitted_")
    data = take(clf if fitted else clone(clf), X, y, None, reviewed, reset=not fitted)
    labelled, seen = data.labels.labelled, data.reviewed
    counts = labelled & seen
    if not counts.any():
        raise ValueError("y has no label of a reviewed row: there is nothing to weigh.")
    if chance == "kernel":
        refuse_not_finite(data.X, data.named_features, bool)
        p = _kernel_chance(np.asarray(data.X, dtype=float), labelled, seen)
    else:
        clf = clf if fitted else clone(clf).fit(data, None)
        p = np.asarray(clf.labelling_probability(data))
    weight, raw = np.zeros(len(p)), 1 / np.maximum(p[counts], FLOOR)
    cut = np.minimum(raw, np.quantile(raw, trim))
    weight[counts] = cut / cut.mean()
    return weight


def _kernel_chance(X: FloatArray, labelled: BoolArray, seen: BoolArray) -> FloatArray:
    """Return a kernel estimate of the chance of a label, each row's own answer left out."""
    own = np.flatnonzero(seen)
    base = own[:: -(-len(own) // REFERENCE)]  # enough to learn a smooth function from
    Z, r = X / robust_units(X)[1], labelled[base].astype(float)

    def estimate(squares: FloatArray, h: float) -> FloatArray:
        K = np.exp(-0.5 / h**2 * squares)
        # The rate of all rows counts like one further row: far from any it is the estimate.
        return np.asarray((K @ r + r.mean()) / (K.sum(axis=1) + 1))

    def distances(rows: IntArray) -> FloatArray:
        squares = cdist(Z[rows], Z[base], "sqeuclidean")
        squares[rows[:, None] == base[None, :]] = np.inf
        return np.asarray(squares)

    among = distances(base)
    shrink = len(base) ** (-1 / (X.shape[1] + 4))  # the known rate of the best bandwidth
    losses = [log_loss(r, estimate(among, h * shrink), labels=[0, 1]) for h in BANDWIDTHS]
    best = shrink * BANDWIDTHS[np.argmin(losses)]
    parts = np.array_split(np.arange(len(X)), -(-len(X) // 1000))
    return np.concatenate([estimate(distances(rows), best) for rows in parts])
