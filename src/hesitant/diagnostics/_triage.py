"""Which blank cases should go back to an expert: a list, best first."""

import dataclasses
import warnings
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from scipy.special import entr
from sklearn.utils.validation import check_is_fitted

from hesitant._cores import in_threads, one_blas_thread
from hesitant._optional import need
from hesitant._typing import AnyArray, FloatArray, IntArray
from hesitant.base import check_classifier
from hesitant.checks import check_number
from hesitant.diagnostics._tests import MOST_PARAMETERS, ROWS_A_PARAMETER
from hesitant.exceptions import FitWarning
from hesitant.experts import Panel
from hesitant.inference._information import RISES
from hesitant.inference._scores import ENTRIES, Axes, axes_at, class_scores, curvature
from hesitant.intake import check_features, refuse_dask
from hesitant.model import FittedModel
from hesitant.rows import Block, ManyRows, Rows
from hesitant.uncertainty import Shannon

BLOCK = 4096
# Directions that the data hardly determine count as known to this share of complete labels, so
# that one of them does not outweigh all the others.
LEAST_KNOWN = 1e-3
# A row less likely than this share of the labelled ones fits no class; of fewer labels than that
# the least likely one is no yardstick.
UNUSUAL, FEWEST = 0.005, 20
_FEW = (
    "There are fewer than two rows for each parameter of the model, too few to tell what a label "
    "would teach: rows are ranked by their entropy times the chance of an answer."
)

Known: TypeAlias = tuple[Axes, FloatArray]
"""Axes of the classes' parameters, and the estimates' covariance there, or its diagonal."""


@one_blas_thread()
def triage(
    clf: Any,
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    reviewed: Any = None,
    top: int | None = None,
) -> Any:
    """Rank blank rows by what asking for their labels would teach.

    The gain of a row is the information, in nats, that its label is expected to give about the
    classes' parameters, at most the row's entropy:

        gain_i = ½ log det(I + V^½ J_i V^½),   J_i = Σ_h τ_ih (s_ih − s̄_i)(s_ih − s̄_i)ᵀ,

    with ``s_ih`` the score of row i with class h, ``s̄_i`` their mean over the class posteriors
    and V the covariance of the estimates. Who left the hardest rows blank may do so again: rows
    are ranked by the gain times the chance of an answer. Those less likely under the model than
    nearly all labelled ones fit no class (outliers, mistakes): they stand last, ``unusual``.

    Of data as given to ``fit`` only blank rows are ranked. Without y all rows of X are ranked as
    new cases, and V is that of the fit (of a model that was loaded, or has more than 1,000
    parameters, that of as many completely labelled rows: the order is nearly the same). With fewer
    than two rows for each parameter entropies stand for gains.

    Returns a data frame (of polars if X is one), the ``top`` rows or all, best first: ``row``
    (position in X), ``index`` (if X is a pandas frame), ``expected_gain`` (gain times chance),
    ``gain``, ``entropy``, ``labelling_probability``, ``reader`` (of a panel: who should look next;
    the chance is then the share of the row's entropy that this reader may remove), ``unusual``,
    ``predicted`` and a ``P(...)`` a class.

    >>> from hesitant import MixtureClassifier, datasets
    >>> data = datasets.simulate(n=500, random_state=0)
    >>> clf = MixtureClassifier().fit(data.features, data.labels)
    >>> first = clf.triage(data.features, data.labels, top=5)
    >>> list(first.columns[:4])
    ['row', 'expected_gain', 'gain', 'entropy']
    """
    check_classifier(clf)
    check_is_fitted(clf, "fitted_")
    refuse_dask(X)
    if top is not None:
        check_number("top", top, Integral, 1)
    model, reader = clf.fitted_, None
    new = y is None and not isinstance(X, Rows)
    if new:  # of which nothing was said
        values = check_features(clf, X, reset=False)
        codes, threads = np.full(len(values), -1), clf._threads(values)
        rows = Rows(values, codes, n_classes=len(model.classes), threads=threads)
    else:
        rows = clf.check(X, y, sample_weight, reviewed)

    def look(block: Block) -> tuple[FloatArray, ...]:
        log_tau, tau, density = model.posterior(block.X)
        entropy, chance = Shannon().evaluate(log_tau, tau)[0], model.mechanism.probability
        return tau, entropy, density, chance(log_tau, tau)

    parts = rows.collect(look)
    tau, entropy, density, chance = (np.concatenate(part) for part in zip(*parts, strict=True))
    if model.mechanism.by_class and not new:  # what was said tells of the class itself
        features, tau = tau, model.resolve(rows)
        entropy = entr(tau).sum(axis=1)
        if isinstance(model.mechanism, Panel):
            logs = np.log(np.maximum(features, 1e-300))
            reader, chance = model.mechanism.ask(logs, features, tau, rows.said)
    fitted_to = clf.fit_rows if new else rows
    known = known_of(model, rows, fitted_to)
    least = -np.inf if fitted_to is None else least_density(model, fitted_to)
    blank, far = np.flatnonzero(rows.codes < 0), density < least
    places, gain = np.zeros(0, dtype=np.int64), np.zeros(0)
    for group in (blank[~far[blank]], blank[far[blank]]):
        left = None if top is None else top - places.size
        more = rank(known, rows, group, (tau, entropy, chance), left)
        places, gain = np.append(places, more[0]), np.append(gain, more[1])
    columns: dict[str, Any] = {"row": places}
    if hasattr(X, "index") and hasattr(X, "columns"):
        columns["index"] = np.asarray(X.index)[places]
    columns |= {"expected_gain": gain * chance[places], "gain": gain, "entropy": entropy[places]}
    columns["labelling_probability"] = chance[places]
    if reader is not None:
        columns["reader"] = np.array([*model.readers, None], dtype=object)[reader[places]]
    columns |= {"unusual": far[places], "predicted": model.classes[tau[places].argmax(axis=1)]}
    columns |= {f"P({name})": tau[places, h] for h, name in enumerate(model.class_names)}
    library = "polars" if type(X).__module__.startswith("polars") else "pandas"
    return need(library, "data").DataFrame(columns)


def least_density(model: FittedModel, rows: ManyRows, density: Any = None) -> float:
    """Return the log density that nearly all labelled rows exceed; below, a row fits no class."""
    if isinstance(rows, Rows):
        labelled = rows.codes >= 0 if rows.said is None else rows.said.given.any(axis=1)
        if labelled.sum() >= FEWEST:
            if density is None:
                density = model.by_rows(rows.X, lambda *found: found[2], rows.threads)
            return float(np.quantile(density[labelled], UNUSUAL))
    return -np.inf


def least_of(clf: Any) -> float | None:
    """Return that density of the rows of a fit, or as the file of a loaded model has it."""
    main, kept = getattr(clf, "model_", clf), vars(clf).get("_least_density")
    if getattr(main, "fit_rows", None) is not None:
        return least_density(main.fitted_, main.fit_rows)
    return None if kept is None else float(kept)


def known_of(model: FittedModel, rows: ManyRows, fitted_to: ManyRows | None) -> Known | None:
    """Return what the rows of a fit tell of the classes (None: too few), or as many labels."""
    if fitted_to is not None and fitted_to.tally.n < ROWS_A_PARAMETER * model.n_parameters:
        warnings.warn(_FEW, FitWarning, stacklevel=3)
        return None
    if fitted_to is None:  # of new rows, which have no labels: alpha=1 would leave none of them
        axes, _ = axes_at(dataclasses.replace(model, alpha=0.5), rows)
        return known_by_labels(axes, model.n_rows)
    axes, evaluation = axes_at(model, fitted_to)
    gradient = axes.chart.gradient(model.state, evaluation)[: axes.size]
    if model.n_parameters > MOST_PARAMETERS:
        _, V = known_by_labels(axes, model.n_rows)
        rise = V @ gradient**2
    else:
        information, _, _ = curvature(model, fitted_to, axes, evaluation)
        _, V = known_from(axes, information)
        rise = gradient @ V @ gradient
    if rise > 0.1:
        warnings.warn(RISES, FitWarning, stacklevel=3)
    return axes, V


def known_by_labels(axes: Axes, n_rows: float) -> Known:
    """Return what ``n_rows`` rows would tell, all with labels (0: as many as the chart's)."""
    n = axes.chart.total  # that many labels have the identity as their information in the chart
    return axes, np.full(axes.size, n / (n_rows or n))


def known_from(axes: Axes, information: FloatArray) -> Known:
    """Return the same from an information matrix in the chart."""
    value, vector = np.linalg.eigh(information)
    own = vector[: axes.size]
    return axes, (own / np.maximum(value, LEAST_KNOWN)) @ own.T


@one_blas_thread()
def rank(
    known: Known | None, rows: Rows, places: IntArray, looked: Any, top: int | None
) -> tuple[IntArray, FloatArray]:
    """Return those of some rows with the largest gain times chance of an answer, and the gains."""
    tau, entropy, chance = looked  # of all rows: class probabilities, entropies, chances
    # No gain exceeds its entropy: stop once enough rows have more than any that is left.
    most, size = entropy * chance, BLOCK
    if known is not None:  # a row has as many scores as parameters, or more
        size = int(np.clip(ENTRIES // known[0].scores_a_row, 256, BLOCK))
    step = rows.threads * size
    places = places[np.argsort(-most[places], kind="stable")]
    gain, worth, least = np.zeros(0), np.zeros(0), -np.inf  # of those that are listed
    top = places.size if top is None else top
    for start in range(0, places.size, step):
        if start >= top:
            least = np.partition(worth, start - top)[start - top] if top else np.inf
            if least >= most[places[start]]:
                break
        some = places[start : start + step]
        parts = np.split(some, range(size, some.size, size))
        found = in_threads(rows.threads, lambda k: _gains(known, rows.X[k], tau[k]), parts)
        more = np.fmin(np.concatenate([*found]), entropy[some])
        gain, worth = np.append(gain, more), np.append(worth, more * chance[some])
    near = np.flatnonzero(worth >= least)  # to sort them all would take longer
    best = near[np.lexsort((places[near], -entropy[places[near]], -worth[near]))[:top]]
    return places[best], gain[best]


def _gains(known: Known | None, X: AnyArray, p: FloatArray) -> FloatArray:
    """Return what labels of rows would tell of the parameters; NaN of what is not known at all."""
    if known is None:
        return np.full(len(p), np.nan)
    axes, V = known
    scores = class_scores(axes, np.ascontiguousarray(X, dtype=np.float64))
    gram = np.empty((len(p), len(scores), len(scores)))  # s_hᵀ V s_j
    for h, own in enumerate(axes.of_class):
        for j, other in enumerate(axes.of_class[: h + 1]):
            if V.ndim == 1:  # only what moves both classes counts
                both, a, b = np.intersect1d(own, other, return_indices=True)
                reached, reaching = V[both, None] * scores[h][a], scores[j][b]
            else:
                reached, reaching = V[np.ix_(other, own)] @ scores[h], scores[j]
            gram[:, h, j] = gram[:, j, h] = np.einsum("kn,kn->n", reached, reaching)
    away = np.sqrt(p)[:, :, None] * (np.eye(p.shape[1]) - p[:, None, :])
    # The determinant of a g x g matrix stands in for the large one (Sylvester).
    added = away @ gram @ away.transpose(0, 2, 1)
    with np.errstate(invalid="ignore"):
        return np.asarray(0.5 * np.linalg.slogdet(np.eye(p.shape[1]) + added)[1])
