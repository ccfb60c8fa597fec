"""Which blank cases should go back to an expert: a list, best first."""

from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hesitant._cores import one_blas_thread
from hesitant._optional import need
from hesitant._typing import AnyArray, FloatArray, IntArray
from hesitant.chart import Chart
from hesitant.checks import check_number
from hesitant.experts import Panel
from hesitant.families import Family
from hesitant.inference._information import ObservedInformation, information_of, warn_if_rising
from hesitant.inference._scores import Axes, class_scores, find_axes
from hesitant.intake import check_features
from hesitant.likelihood import Likelihood, State, log_posterior
from hesitant.model_data import (
    check_classifier,
    class_names,
    likelihood_of,
    model_data,
    open_chart,
    refuse_dask,
)
from hesitant.rows import ManyRows, Rows
from hesitant.uncertainty import Shannon

if TYPE_CHECKING:
    import pandas as pd

BLOCK = 4096
# Directions that the data hardly determine count as known to this share of complete labels, so
# that one of them does not outweigh all the others.
LEAST_KNOWN = 1e-3
# A row less likely than this share of the labelled ones fits no class; of fewer labels than that
# the least likely one is no yardstick.
UNUSUAL, FEWEST = 0.005, 20


@one_blas_thread()
def triage(
    clf: Any,
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    reviewed: Any = None,
    top: int | None = None,
) -> "pd.DataFrame":
    """Rank blank rows by what asking for their labels would teach.

    The gain of a row is the information, in nats, that its label is expected to give about the
    classes' parameters,

        gain_i = ½ log det(I + V^½ J_i V^½),   J_i = Σ_h τ_ih (s_ih − s̄_i)(s_ih − s̄_i)ᵀ,

    where ``s_ih`` is the score of row i with class h, ``s̄_i`` their mean over the class
    posteriors, and V the covariance of the estimates. J_i is the Fisher information that the
    label adds to the features. It is large for rows that are uncertain *and* would move
    parameters that are still uncertain; a label cannot teach more than it is uncertain, so the
    gain is at most the row's entropy. Somebody who left the hardest rows blank may do so again:
    rows are ranked by the gain times the chance of an answer.

    Rows that are less likely under the model than nearly all labelled ones fit no class: outliers,
    mistakes of measurement, or a class of their own. They stand at the end, marked ``unusual``,
    since no class's label would mean what it means elsewhere.

    Parameters
    ----------
    clf : fitted MixtureClassifier
    X : array-like of shape (n, p)
    y : array-like of shape (n,), optional
        Labels with blanks, as given to ``fit``: only blank rows are ranked. Without, all rows of X
        are ranked as new cases, and V is that of the fit (of a model that was loaded, and does
        not carry its rows, that of as many completely labelled rows as it was fitted to).
    sample_weight, reviewed : array-likes, optional
        As given to ``fit``, with y.
    top : int, optional
        How many rows to return; all by default.

    Returns
    -------
    DataFrame
        Best first: ``row`` (position in X), ``index`` (if X is a pandas frame),
        ``expected_gain`` (gain times chance), ``gain``, ``entropy``, ``labelling_probability``,
        ``reader`` (of a panel: who should look next; the chance is then the share of the row's
        entropy that this reader may remove), ``unusual``, ``predicted`` and one ``P(...)`` for
        each class. A polars frame if X is one.

    Examples
    --------
    >>> from hesitant import MixtureClassifier
    >>> from hesitant.datasets import simulate
    >>> from hesitant.diagnostics import triage
    >>> data = simulate(n=500, random_state=0)
    >>> clf = MixtureClassifier().fit(data.features, data.labels)
    >>> first = triage(clf, data.features, data.labels, top=5)
    >>> list(first.columns[:4])
    ['row', 'expected_gain', 'gain', 'entropy']
    """
    check_classifier(clf)
    check_is_fitted(clf, "state_")
    refuse_dask(X)
    if top is not None:
        check_number("top", top, Integral, 1)
    if y is None:
        rows = check_features(clf, X, reset=False)
        blank = np.arange(len(rows))
        likelihood = likelihood_of(clf) if hasattr(clf, "_rows") else None
    else:
        data = model_data(clf, X, y, sample_weight, reviewed)
        rows, likelihood = data.X, data.likelihood
        blank = np.flatnonzero(~data.labels.labelled)
    if likelihood is None:
        known = _as_if_labelled(clf, rows)
        least = -np.inf
    else:
        found = information_of(clf, likelihood)
        warn_if_rising(found)
        known = known_from(likelihood, clf.state_, found)
        least = least_density(clf, likelihood.rows)
    chance, reader = clf.labelling_probability(X), None
    if isinstance(clf.mechanism_, Panel) and y is not None:
        looks = _posteriors(clf, rows, np.arange(len(rows)))[:2]
        told = getattr(data.likelihood.rows, "said", y)
        reader, chance = clf.mechanism_.ask(*looks, clf.resolve(X, y), told)
    far = clf.score_samples(X) < least
    fits, apart = blank[~far[blank]], blank[far[blank]]
    ranked = gains(clf, rows, fits, *known, chance, top)
    rest = gains(clf, rows, apart, *known, chance, None if top is None else top - len(ranked.row))
    places, gain, entropy, tau = (np.concatenate(part) for part in zip(ranked, rest, strict=True))
    columns: dict[str, Any] = {"row": places}
    if hasattr(X, "index") and hasattr(X, "columns"):
        columns["index"] = np.asarray(X.index)[places]
    columns["expected_gain"], columns["gain"] = gain * chance[places], gain
    columns["entropy"], columns["labelling_probability"] = entropy, chance[places]
    if reader is not None:
        columns["reader"] = np.array([*clf.readers, None], dtype=object)[reader[places]]
    columns["unusual"] = far[places]
    columns["predicted"] = clf.classes_[tau.argmax(axis=1)]
    for h, name in enumerate(class_names(clf)):
        columns[f"P({name})"] = tau[:, h]
    if type(X).__module__.startswith("polars"):
        return need("polars", "data").DataFrame(columns)
    return need("pandas", "data").DataFrame(columns)


def least_density(clf: Any, rows: ManyRows) -> float:
    """Return the log density that nearly all labelled rows exceed; below, a row fits no class."""
    if not isinstance(rows, Rows) or (rows.codes >= 0).sum() < FEWEST:
        return -np.inf
    density = _posteriors(clf, rows.X, np.flatnonzero(rows.codes >= 0))[2]
    return float(np.quantile(density, UNUSUAL))


def _as_if_labelled(clf: Any, X: AnyArray) -> tuple[Chart, FloatArray]:
    """Return a chart, and the covariance there if all rows of the fit had been labelled."""
    data = model_data(clf, X, np.full(len(X), None, dtype=object))
    with open_chart(data.likelihood, data.state) as (chart, _):
        # The chart is scaled to these rows; what is known comes from those of the fit.
        return chart, np.eye(chart.size) * len(X) / (clf.n_rows_ or len(X))


def known_from(
    likelihood: Likelihood, state: State, found: ObservedInformation
) -> tuple[Chart, FloatArray]:
    """Return a chart, and the covariance of the estimates there."""
    value, vector = np.linalg.eigh(found.chart_information)
    with open_chart(likelihood, state) as (chart, _):
        return chart, (vector / np.maximum(value, LEAST_KNOWN)) @ vector.T


class Ranked(NamedTuple):
    """Rows, best first, with their gains, entropies and class posteriors."""

    row: IntArray
    gain: FloatArray
    entropy: FloatArray
    tau: FloatArray


def gains(
    clf: Any,
    X: AnyArray,
    places: IntArray,
    chart: Chart,
    V: FloatArray,
    chance: FloatArray,
    top: int | None = None,
) -> Ranked:
    """Rank rows ``places`` of X by gain times chance (n,) of an answer, V as in the chart."""
    axes = find_axes(clf.family_, chart)
    root = np.asarray(np.linalg.cholesky(V[: axes.size, : axes.size]))
    log_tau, tau, _ = _posteriors(clf, X, places)
    entropy, _ = Shannon().evaluate(log_tau, tau)
    # No gain exceeds its entropy: once enough rows have more than is left, the rest may rest.
    most = entropy * chance[places]
    order = np.argsort(-most, kind="stable")
    places, entropy, tau, most = places[order], entropy[order], tau[order], most[order]
    gain = np.zeros(0)
    for start in range(0, places.size, BLOCK):
        worth = gain * chance[places[: gain.size]]
        if top is not None and start >= top and (not top or np.sort(worth)[-top] >= most[start]):
            break
        part = slice(start, start + BLOCK)
        rows = np.ascontiguousarray(X[places[part]], dtype=np.float64)
        found = _gains_of(rows, clf.family_, axes, root, tau[part])
        gain = np.append(gain, np.minimum(found, entropy[part]))
    done = gain.size
    best = np.lexsort((places[:done], -entropy[:done], -gain * chance[places[:done]]))[:top]
    return Ranked(places[best], gain[best], entropy[best], tau[best])


def _posteriors(
    clf: Any, X: AnyArray, places: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return log posteriors, posteriors and log densities of some rows."""
    log_tau = np.empty((places.size, len(clf.classes_)))
    tau, density = np.empty_like(log_tau), np.empty(places.size)
    for start in range(0, places.size, BLOCK):
        part = slice(start, start + BLOCK)
        rows = np.ascontiguousarray(X[places[part]], dtype=np.float64)
        log_tau[part], tau[part], density[part] = log_posterior(clf.family_, clf.state_, rows)
    return log_tau, tau, density


def _gains_of(
    X: FloatArray, family: Family, axes: Axes, root: FloatArray, tau: FloatArray
) -> FloatArray:
    scores = class_scores(family, axes, X)
    reached = [s.T @ root[own] for own, s in zip(axes.of_class, scores, strict=True)]
    moved = np.stack(reached, axis=1)
    moved -= np.einsum("ig,igk->ik", tau, moved)[:, None, :]
    moved *= np.sqrt(tau)[:, :, None]
    # The determinant of a g x g matrix stands in for the large one (Sylvester).
    _, logdet = np.linalg.slogdet(np.eye(tau.shape[1]) + moved @ moved.transpose(0, 2, 1))
    return np.asarray(0.5 * logdet)
