"""From checked data to the best state: starts, solver, restarts."""

import contextlib
import copy
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.utils import check_random_state

from hesitant._probe import probe_family
from hesitant._typing import AnyArray, FloatArray, IntArray
from hesitant._words import did_you_mean
from hesitant.checks import look_up
from hesitant.families import Family
from hesitant.families._kernels import robust_units
from hesitant.leverage import steadied
from hesitant.likelihood import Likelihood, State, log_posterior
from hesitant.rows import Block, ManyRows
from hesitant.solvers import FAILURES, SOLVERS, Fit, Progress

LARGEST_NOISE = 1e-3  # what rounding may hide of a log-likelihood that is called settled
SAMPLE = 20_000
# What the package's own fits show: parameters of one family may start another.
_NAMES = {"weights", "mechanism", "means", "covariances", "locations", "scales", "shapes", "dof"}
_NAMES |= {"shrinkage"}


def fit_mixture(likelihood: Likelihood, classes: AnyArray, how: Any) -> tuple[Fit, Likelihood]:
    """Climb from every start; return the highest point reached, and the likelihood climbed."""
    solver, init, n_init = look_up("solver", how.solver, SOLVERS), how.init, how.n_init
    theta = likelihood.mechanism.initial()
    solver.check(likelihood)
    states = [] if init is None else [from_given(init, likelihood, classes, theta)]
    n_given = len(states)
    try:
        starts = _from_labels(likelihood, len(classes), theta, how.random_state)
        states += islice(starts, n_init - n_given)
    except FAILURES as error:
        raise ValueError(_advice(error, None)) from error
    probe_family(likelihood.family, states[0].params, likelihood.sample, len(classes))
    with contextlib.suppress(*FAILURES), np.errstate(all="ignore"):  # the fit will say why
        mechanism = steadied(likelihood, states[0])
        if mechanism is not likelihood.mechanism:
            likelihood = dataclasses.replace(likelihood, mechanism=mechanism)
    limits = how.tol, how.max_iter, how.verbose
    jobs = [(state, Progress(*limits), k >= n_given) for k, state in enumerate(states)]
    if n_init == 1:
        climbs = [solver.run(likelihood, *jobs[0])]
    else:  # where joblib says, a cluster included
        climbs = Parallel()(delayed(solver.run)(likelihood, *job) for job in jobs)
    fits = [climb for climb in climbs if not isinstance(climb, str)]
    if not fits and n_given and not isinstance(init, Mapping):
        how = copy.copy(how)  # a fit to other rows may lead nowhere here
        how.init = None
        return fit_mixture(likelihood, classes, how)
    if not fits:
        raise ValueError(_advice(climbs[0], init))

    def rank(fit: Fit) -> tuple[bool, float]:
        # A class that shrank onto a few rows wins for want of others only, however large that
        # makes the likelihood.
        state = fit.state
        defects = likelihood.family.defects(state.params, state.weights, likelihood.total)
        return not defects, fit.final.objective

    best = fits[0] if len(fits) == 1 else max(fits, key=rank)
    lost = best.progress.noise(best.final.objective)
    if best.progress.converged and lost > LARGEST_NOISE:
        hidden = f"rounding hides gains below {lost:.1g}: divide sample_weight by a constant"
        best.progress.finish(hidden, False)
    tuned = likelihood.mechanism.retune(best.state.theta, best.final.theta_curvature)
    if tuned is not None:
        again = dataclasses.replace(likelihood, mechanism=tuned)
        fit = solver.run(again, best.state, best.progress, False)
        if not isinstance(fit, str):
            return fit, again
    return best, likelihood


def _advice(reason: object, init: Any) -> str:
    remedy = "init may be far from the data: look at its values, or leave it out."
    if init is None:
        remedy = "The data may be degenerate (a class of identical rows, rows too few):"
        remedy += " drop features, look at sample_weight, or use covariance='shrunk'."
    return f"No start led to a fit: {reason}. {remedy}"


def _from_labels(
    likelihood: Likelihood, n_classes: int, theta: FloatArray, random_state: Any
) -> Iterator[State]:
    """Yield starts: the first from each class's labelled rows, others from bootstrap samples.

    Classes without a labelled row are seeded by k-means on the blank rows.
    """
    X, codes, weight = likelihood.sample(SAMPLE)
    own = weight[weight > 0]
    if own.size and not (own.max() < 1e6 and own.min() > 1e-6):  # more than squares can bear
        weight = np.where(weight > 0, np.clip(weight / np.median(own), 1e-3, 1e3), 0.0)
    labelled = chosen = np.flatnonzero(codes >= 0)
    rng: Any = None  # most fits never need one
    while True:
        mine, own = codes[chosen], weight[chosen]
        w = np.bincount(chosen * n_classes + mine, own, codes.size * n_classes).astype(float)
        w, counts = w.reshape(-1, n_classes), np.bincount(mine, own, n_classes).astype(float)
        if not counts.all():
            rng = rng or generator(random_state)
            _seed(X, weight, w, np.flatnonzero(counts == 0), rng)
            counts = np.einsum("ih->h", w)
        counts += 1.0
        yield State(counts / counts.sum(), likelihood.family.initial(X, w), theta)
        rng = rng or generator(random_state)
        chosen = rng.choice(labelled, labelled.size)


def generator(random_state: Any) -> np.random.Generator:
    """Return a generator from any of scikit-learn's ways to give a seed, or from itself."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))


def _seed(
    X: FloatArray, weight: FloatArray, w: FloatArray, empty: IntArray, rng: np.random.Generator
) -> None:
    """Give the classes without rows some of the rows that no class has."""
    from sklearn.cluster import KMeans  # slow to import, and seldom needed

    center, spread = robust_units(X)
    # A wild outlier must not claim a class for itself.
    Z = np.clip(np.nan_to_num((X - center) / spread), -1e3, 1e3)
    taken = np.setdiff1d(np.arange(w.shape[1]), empty)
    centers = [np.average(Z, axis=0, weights=w[:, h]) for h in taken]
    free = np.flatnonzero(w.sum(axis=1) == 0)
    if free.size < empty.size:
        free = np.arange(len(X))
    for _ in empty:  # k-means++ from the known centres
        near = cdist(Z[free], np.reshape(centers, (-1, X.shape[1])), "sqeuclidean")
        chance = weight[free] * near.min(axis=1, initial=1e6)
        total = chance.sum()
        pick = rng.choice(free, p=chance / total if total > 0 else None)
        centers.append(Z[pick])
    if free.size > len(centers):
        means = KMeans(len(centers), init=np.array(centers), n_init=1, max_iter=50)
        nearest = means.fit(Z[free], sample_weight=weight[free]).labels_
    else:  # too few rows for k-means: each goes to the nearest of the rows chosen
        nearest = cdist(Z[free], np.array(centers)).argmin(axis=1)
    for slot, h in enumerate(empty):
        members = free[nearest == taken.size + slot]
        w[members, h] = weight[members]
        if not members.size:  # duplicates all the way: any row will do
            w[rng.choice(free), h] = 1.0


def from_given(init: Any, likelihood: Likelihood, classes: AnyArray, theta: FloatArray) -> State:
    """Return the state that the user's ``init`` describes: parameters by name, or a model."""
    if isinstance(init, State):  # of a fit to these very rows
        return init
    n_classes, family = len(classes), likelihood.family
    order = np.arange(n_classes)
    if isinstance(init, Mapping):
        given = dict(init)
    elif hasattr(init, "parameters_"):
        given = dict(init.parameters_)
        given |= _refilled(given, partial(likelihood.sample, SAMPLE))
        mine, theirs = classes.tolist(), init.classes_.tolist()
        if set(mine) != set(theirs):
            raise ValueError(f"init has the classes {theirs}, and y {mine}: they must agree.")
        order = np.array([theirs.index(name) for name in mine])
    else:
        needed = "a dict with 'weights', 'means' and 'covariances', or a fitted MixtureClassifier"
        raise TypeError(f"init is a {type(init).__name__}: give {needed}.")
    mechanism = _numbers(given.get("mechanism", theta))
    if mechanism.shape == theta.shape and np.isfinite(mechanism).all():
        theta = mechanism
    elif isinstance(init, Mapping) and mechanism.size and theta.size:
        found = given["mechanism"]
        raise ValueError(f"init has mechanism {found!r}: give {theta.size} finite numbers.")
    weights = _numbers(given.get("weights", np.full(n_classes, 1 / n_classes)))
    if weights.shape != (n_classes,) or not (np.isfinite(weights) & (weights > 0)).all():
        found = given["weights"]
        raise ValueError(f"init has weights {found!r}: give positive numbers, one a class.")
    if not family.has_from_attributes:
        name = type(family).__name__
        raise ValueError(f"init: the family {name} has no `from_attributes` method to start from.")
    X, _, _ = likelihood.sample(SAMPLE)
    params = family.from_attributes(given, X)
    described = len(family.moments(params)[0])
    if described != n_classes:
        raise ValueError(f"init describes {described} classes, and the data have {n_classes}.")
    shown = family.attributes(params)
    for name in given:
        if name not in _NAMES | set(shown) and not str(name).startswith("component_"):
            hint = did_you_mean(name, [*shown, "weights", "mechanism"])
            raise ValueError(f"init has {name!r}, which is no parameter of a fit.{hint}")
    return State(weights[order] / weights.sum(), family.permute(params, order), theta)


def _refilled(given: Mapping[str, Any], sample: Callable[[], Any]) -> dict[str, FloatArray]:
    """Return parameters of a fit whose empty classes are back among the rows."""
    # From a weight of about zero no step would lead back, nor from a class without end.
    known = np.asarray(given["weights"], dtype=float)
    out = {"weights": np.where(known < 1e-8, 1e-3, known)}
    for name, value in given.items():
        matrices = name.endswith(("covariances", "scales"))
        if (matrices or name.endswith(("means", "locations"))) and not np.isfinite(value).all():
            center, spread = robust_units(sample()[0])
            lost = ~np.isfinite(value).all(axis=(1, 2) if matrices else 1)
            out[name] = np.array(value)
            out[name][lost] = np.diag(spread**2) if matrices else center
    return out


def _numbers(value: Any) -> FloatArray:
    """Return an array of numbers, or a NaN if the value is not one."""
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return np.full(1, np.nan)


def match_to_labels(state: State, family: Family, rows: ManyRows) -> State:
    """Return the state with its classes named to agree best with the labelled rows."""

    def agree(block: Block) -> tuple[FloatArray]:
        _, tau, _ = log_posterior(family, state, block.X)
        agreement = np.zeros((tau.shape[1], tau.shape[1]))
        np.add.at(agreement, block.codes[block.labelled], tau[block.labelled])
        return (agreement,)

    _, order = linear_sum_assignment(rows.sum(agree)[0], maximize=True)
    return State(state.weights[order], family.permute(state.params, order), state.theta)
