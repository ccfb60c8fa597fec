"""Scores of single rows in a chart, and weighted sums of their products.

The complete-data score is ``s_ih = ∂ log(π_h f_h(x_i)) / ∂ψ``. Where the chart has no formula for
it, it is a central difference of log densities; most axes belong to one class, so one evaluation
can move an axis of every class. Observed and expected information, the sandwich's filling and what
a label adds all are sums ``Σ_i Σ_hj c_ihj s_ih s_ijᵀ``: :func:`products`. Gaussian scores are
polynomials of the second degree, so theirs are moments of the rows, whatever the class.

With gradient ``Σ w_ih s_ih`` (see :mod:`hesitant.likelihood`) the second derivative has two parts,

    Σ_ih w_ih ∂²ℓ_ih/∂ψ²     a weighted score at fixed weights, moved a little: classes are apart;
    Σ_ihk s_ih (∂w_ih/∂ℓ_ik) s_ikᵀ     what a row's posterior has to say, from scores of rows.

One pass over the rows gives the second, and the first where no formula gives it.
"""

import dataclasses
from collections.abc import Callable, Iterable
from functools import cached_property, partial
from itertools import combinations, combinations_with_replacement, zip_longest
from typing import Any, TypeAlias

import numpy as np

from hesitant._typing import AnyArray, BoolArray, FloatArray, IntArray
from hesitant.chart import Chart, chart_at
from hesitant.families import Family
from hesitant.families._base import Params, Statistics
from hesitant.inference._inverses import is_diagonal
from hesitant.likelihood import Evaluation, Posterior, State, normalise
from hesitant.mechanisms import Mechanism
from hesitant.model import FittedModel
from hesitant.rows import Block, ManyRows, sided

Weights: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]
"""Of products of rows' scores (n, g, g), symmetric; of those with the mechanism's parameters
(n, g, q); and sums of products among these (q, q), one for each batch."""
Weigh: TypeAlias = Callable[[Block], Weights]

# In units of one complete-data standard error: far from rounding, and from curvature too.
STEP = 1e-3
NUDGE = 1e-5  # in log densities, for derivatives of a row's weights
PROBES = 3  # rows of each class
NEGLIGIBLE = 1e-17  # beside the largest weight
ENTRIES = 4_000_000  # numbers that are kept at a time
FEW = 1000  # rows for which it takes longer to see that their scores are polynomials
LARGEST = 10_000  # parameters: their matrix takes 0.8 GB, and half a dozen are needed


@dataclasses.dataclass(frozen=True)
class Axes:
    """The axes of a chart that move classes (those of the mechanism are left out)."""

    family: Family
    chart: Chart
    moves: BoolArray  # (k, g)
    of_class: list[IntArray]  # the axes that move each class
    probes: FloatArray  # a few rows of each class
    units: tuple[FloatArray, FloatArray]  # their means and spreads

    @property
    def size(self) -> int:
        return len(self.moves)

    @property
    def scores_a_row(self) -> int:
        return sum(own.size for own in self.of_class)

    def check_size(self, most: int = LARGEST) -> None:
        """Raise if matrices of all that moves the classes would take too much memory."""
        if self.size > most:
            many = f"{self.size:,} numbers describe these classes, too many for their information"
            remedy = "take fewer features, covariance='tied' or 'diag', or bootstrap()"
            raise np.linalg.LinAlgError(f"{many} matrix (at most {most:,}): {remedy}.")

    @property
    def weight_scores(self) -> FloatArray:
        """Derivatives of the classes' log weights (g, axes of weights)."""
        directions = self.chart.weight_axes
        return directions - self.chart.reference.weights @ directions

    @cached_property
    def together(self) -> list[IntArray]:
        """Axes that are moved at once: one of each class, or a single one that moves several."""
        alone = self.moves.sum(axis=1) == 1
        single = [np.flatnonzero(alone & moved).tolist() for moved in self.moves.T]
        several = [np.array([axis]) for axis in np.flatnonzero(~alone)]
        one_each = [[k for k in axes if k is not None] for axes in zip_longest(*single)]
        return [*several, *map(np.array, one_each)]

    def powers(self, X: AnyArray) -> FloatArray:
        """Return one, the features of rows in units of their own, and their products (m, n)."""
        x = np.ascontiguousarray(X.T) - self.units[0][:, None]
        x /= self.units[1][:, None]
        products = [x[: j + 1] * x[j] for j in range(len(x))]
        return np.concatenate((np.ones((1, len(X))), x, *products))

    @cached_property
    def quadratic(self) -> list[FloatArray] | None:
        """Each class's scores as coefficients of powers (its axes, m); None unless they are."""
        X, (center, unit) = self.probes, self.units
        if len(self.chart.family.row_scores(X, 0)[0]) == 0:  # no formula
            return None
        one = np.eye(len(unit))
        ends = np.concatenate([one[: j + 1] + one[j] for j in range(len(one))])
        nodes = np.concatenate((0 * one[:1], one, np.where(ends == 2, -1.0, ends))) * unit + center
        solve, values = np.linalg.inv(self.powers(nodes)), self.powers(X)
        found = [s @ solve for s in class_scores(self, nodes)]
        for A, s in zip(found, class_scores(self, X), strict=True):
            # Classes that are far apart beside their size would cancel in the moments.
            size = np.abs(A) @ np.abs(values).mean(axis=1)
            near = np.abs(A @ values - s).max(axis=1) <= 1e-11 * size + 1e-300
            if not (near & (size <= 100 * np.abs(s).mean(axis=1) + 1e-300)).all():
                return None
        return found

    def in_chart(self, sums: FloatArray) -> FloatArray:
        """Return sums that end with the mechanism's own parameters in the chart's coordinates."""
        k, turn = self.size, self.chart.theta_axes
        edges, inner = sums[:k, k:] @ turn, turn.T @ sums[k:, k:] @ turn
        return np.block([[sums[:k, :k], edges], [edges.T, inner]])

    def variances(self, jacobian: FloatArray, V: FloatArray) -> FloatArray:
        """Return the diagonal of ``J V Jᵀ``; most numbers move with one class's axes alone."""
        if is_diagonal(V):
            return jacobian**2 @ V.diagonal()
        out, moved = np.full(len(jacobian), np.nan), jacobian != 0
        for own in (*(self.of_class if len(V) >= self.size else ()), np.arange(len(V))):
            mine = np.isnan(out) & ~np.delete(moved, own, axis=1).any(axis=1)
            part = jacobian[np.ix_(mine, own)]
            out[mine] = np.einsum("kd,kd->k", part @ V[np.ix_(own, own)], part)
        return out


def axes_at(model: FittedModel, rows: ManyRows) -> tuple[Axes, Evaluation]:
    """Return the axes of a chart about a fitted model, scaled to rows, and their likelihood."""
    chart, evaluation = chart_at(model.likelihood(rows), model.state)
    return find_axes(model.family, chart), evaluation


def nudged(chart: Chart, axes: Any, sign: int = 1) -> State:
    vector = np.zeros(chart.size)
    vector[axes] = sign * STEP
    return chart.decode(vector)


def find_axes(family: Family, chart: Chart) -> Axes:
    """Look which densities change along which axis, at a few rows of each class."""
    state = chart.reference
    g, (first, k) = state.weights.size, chart.splits
    rng = np.random.default_rng(0)
    X = np.concatenate([family.sample(state.params, h, PROBES, rng) for h in range(g)])
    moves = np.zeros((k, g), dtype=bool)
    moves[:first] = True  # weights concern every class
    for h in range(g):
        moves[first + chart.family.movers(h), h] = True
    for axis in first + np.flatnonzero(moves[first:].all(axis=1)):
        still, moved = (family.log_density(nudged(chart, axis, s).params, X) for s in (0, 1))
        changed = (np.abs(moved - still) > 1e-12 * (1.0 + np.abs(still))).any(axis=0)
        # Where nothing seems to move, nothing is known.
        moves[axis] = changed if changed.any() else True
    units = X.mean(axis=0), np.maximum(X.std(axis=0), 1e-300)
    return Axes(family, chart, moves, [*map(np.flatnonzero, moves.T)], X, units)


def log_joint(family: Family, state: State, X: AnyArray) -> FloatArray:
    """Return ``log π_h + log f_h(x_i)`` as (n, g)."""
    return family.log_density(state.params, X) + np.log(np.maximum(state.weights, 1e-300))


def class_scores(axes: Axes, X: AnyArray) -> list[FloatArray]:
    """Return each class's complete-data scores of rows (its axes, n) at the chart's reference."""
    chart, first = axes.chart, axes.chart.splits[0]
    out, left = [], axes.moves.sum(axis=1)  # classes for which no formula gives an axis's score
    left[:first] = 0
    for h, own in enumerate(axes.of_class):
        scores = np.empty((own.size, len(X)))
        scores[:first] = axes.weight_scores[h][:, None]
        places, known = chart.family.row_scores(X, h)
        scores[np.searchsorted(own, first + places)] = known
        left[first + places] -= 1
        out.append(scores)
    moved_at_once = [group[left[group] > 0] for group in axes.together] if left.any() else []
    for moved in filter(np.size, moved_at_once):
        ahead, behind = (log_joint(axes.family, nudged(chart, moved, s), X) for s in (1, -1))
        slope = (ahead - behind) / (2 * STEP)
        for axis in moved:
            for h in np.flatnonzero(axes.moves[axis]).tolist():
                out[h][np.searchsorted(axes.of_class[h], axis)] = slope[:, h]
    return out


def outer(
    chance: FloatArray, pull: FloatArray, gradient: FloatArray, n_batches: int = 1
) -> Weights:
    """Return the weights of the outer products of rows' scores, each counted by a chance (n,)."""
    # Rows stand last in memory: a loop over two or three classes takes many times as long.
    p, q = np.ascontiguousarray(pull.T), np.ascontiguousarray(gradient.T)
    each, shape = (chance * p)[:, None], (len(q), n_batches, len(chance) // n_batches)
    inner = (chance * q).reshape(shape).transpose(1, 0, 2) @ q.reshape(shape).transpose(1, 2, 0)
    return (each * p).transpose(2, 0, 1), (each * q).transpose(2, 0, 1), inner


def spread(tau: FloatArray) -> FloatArray:
    """Return ``diag(τ) − ττᵀ`` (n, g, g), exact where one class is all but sure."""
    t = np.ascontiguousarray(tau.T)
    out = -t[:, None] * t
    for h, row in enumerate(out):
        row[h] = 0.0
        row[h] = -row.sum(axis=0)
    return out.transpose(2, 0, 1)


def told(mechanism: Mechanism, theta: FloatArray, posterior: Posterior) -> tuple[FloatArray, ...]:
    """Return rows' chances of a blank; variance and slopes of what labels and blanks tell.

    By a mechanism that does not depend on the class; see :func:`outer`.
    """
    log_tau, tau, _ = posterior
    difficulty, whole = mechanism.difficulty(log_tau, tau), np.ones(len(tau), dtype=bool)
    seen, blank = (mechanism.evidence(difficulty, said, theta) for said in (whole, ~whole))
    # The scores of a row that is labelled and of one that is not differ by the slopes of the log
    # odds, whose variance is the product of both chances.
    chance, variance = np.exp(blank.log_p[:, 0]), np.exp(seen.log_p + blank.log_p)[:, 0]
    pull, gradient = seen.pull(tau) - blank.pull(tau), seen.scores(tau) - blank.scores(tau)
    return chance, variance, pull, gradient


def products(
    rows: ManyRows, axes: Axes, weigh: Weigh, *, balanced: bool = False, stride: int = 1
) -> FloatArray:
    """Return ``Σ_i Σ_hj c_ihj s_ih s_ijᵀ``, the mechanism's parameters last.

    ``weigh`` gives the weights of a block's rows, of which ``balanced`` says whether those of a
    row's classes sum to zero; with a ``stride`` some rows stand for all.
    """
    axes.check_size()

    def work(block: Block) -> tuple[FloatArray]:
        block, total = block[::stride], None
        # Scores may take as much memory as their products do.
        size = max(256, ENTRIES // axes.scores_a_row, axes.size)
        for start in range(0, max(len(block.X), 1), size):
            part = block[start : start + size]
            weights, edges, inner = weigh(part)
            # What rows that are sure of their class would add is lost in rounding.
            weights *= np.abs(weights) > NEGLIGIBLE * part.weight.max(initial=0)
            more = Scores(axes, part.X, FEW).totals(weights, edges, inner, balanced)[0]
            total = more if total is None else np.add(total, more, out=total)
        return (total,)  # type: ignore[return-value]

    return np.asarray(stride * rows.sum(work)[0])


class Scores:
    """Scores of some rows: each class's own, or powers of the features that make them up.

    Rows may come in batches, which end at these places, each with sums of its own.
    """

    def __init__(self, axes: Axes, X: AnyArray, few: int = 0, ends: Any = None) -> None:
        ends = [len(X)] if ends is None else [*ends]
        self.axes, self.turn, size = axes, None, len(X) // len(ends)
        self.batches = [*map(slice, [0, *ends], ends)]
        if size > max(few, 2 * X.shape[1] ** 2):  # of fewer, scores are quicker
            powers = axes.powers(X)
            # Not where cells are empty, or so far out that sums of powers would cancel.
            self.turn = axes.quadratic if np.abs(powers[1 : X.shape[1] + 1]).max() < 1e3 else None
        self.parts = class_scores(axes, X) if self.turn is None else [powers] * len(axes.of_class)

    def totals(
        self, weights: FloatArray, edges: Any = None, inner: Any = 0.0, balanced: bool = False
    ) -> FloatArray:
        """Return each batch's sum of weighted products, the mechanism's parameters last."""
        own, k, parts, turn = self.axes.of_class, self.axes.size, self.parts, self.turn
        edges = np.zeros((*weights.shape[:2], 0)) if edges is None else edges
        out = np.zeros((len(self.batches), k + edges.shape[2], k + edges.shape[2]))
        out[:, k:, k:] = inner
        short = balanced and turn is not None  # products of a class with itself follow
        sums = {}
        for h, j in (combinations if short else combinations_with_replacement)(range(len(own)), 2):
            if (w := weights[:, h, j]).any():
                sums[h, j] = _products(parts[h], w, parts[j], self.batches)
        for h in {h for pair in sums for h in pair} if short else ():
            sums[h, h] = -sum((s for pair, s in sums.items() if h in pair), start=np.zeros(()))
        for (h, j), part in sums.items():
            part = turn[h] @ part @ turn[j].T if turn else part
            out[:, own[h][:, None], own[j]] += part
            if h < j:
                out[:, own[j][:, None], own[h]] += part.transpose(0, 2, 1)
        for h, scores in enumerate(parts if edges.size else ()):
            edge = np.array([scores[:, at] @ edges[at, h] for at in self.batches])
            out[:, own[h], k:] += turn[h] @ edge if turn else edge
        out[:, k:, :k] = out[:, :k, k:].transpose(0, 2, 1)
        return out


def _products(a: FloatArray, weight: FloatArray, b: FloatArray, batches: Any) -> FloatArray:
    """Return ``a diag(weight) bᵀ`` of each batch of rows."""
    size, alike = np.abs(weight), a is b
    counts = size > NEGLIGIBLE * size.max(initial=0.0)  # a row that is sure of its class does not
    if np.count_nonzero(counts) < 0.7 * len(counts):
        a, weight = a.compress(counts, axis=1), weight[counts]  # a quarter of an index's time
        b = a if alike else b.compress(counts, axis=1)
        places = np.append(0, counts.cumsum())
        batches = [slice(places[at.start], places[at.stop]) for at in batches]
    if alike and weight.min(initial=0.0) >= 0:
        halves = (np.sqrt(weight[at]) * a[:, at] for at in batches)
        return np.array([half @ half.T for half in halves])  # symmetric: half of the work
    return np.array([(weight[at] * a[:, at]) @ b[:, at].T for at in batches])


def curvature(
    model: FittedModel, rows: ManyRows, axes: Axes, evaluation: Evaluation
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the information, the data's share of it, and the gradient, in the chart."""
    chart, statistics, (first, k) = axes.chart, evaluation.statistics, axes.chart.splits
    total = -axes.in_chart(products(rows, axes, partial(_slopes, model=model), balanced=True))
    own = slice(first, k)
    total[:first, :first] += np.eye(first)  # so the chart scales class weights, without a prior

    def look(points: list[Params]) -> Iterable[Statistics]:
        def moved(block: Block) -> Statistics:
            w, _ = _weights(block, model)
            found = [model.family.statistics(params, block.X, w) for params in points]
            return tuple(np.stack(part) for part in zip(*found, strict=True))

        return zip(*rows.sum(moved), strict=True)

    total[own, own] -= _at_fixed_weights(axes, statistics, look)
    from_data, weak = total.copy(), model.mechanism.information(model.state.theta, 0.0)
    total[k:, k:] += chart.theta_axes.T @ weak @ chart.theta_axes
    if not axes.family.adaptive_prior:  # which is not weak, but part of the model: rows like rows
        nothing = tuple(np.zeros_like(s) for s in statistics)
        from_data[own, own] += _at_fixed_weights(axes, nothing, lambda some: [nothing] * len(some))
    return total, from_data, chart.gradient(chart.reference, evaluation)


def scatter(model: FittedModel, rows: ManyRows, axes: Axes) -> FloatArray:
    """Return the sum of outer products of single rows' scores, the sandwich's filling."""
    each = products(rows, axes, lambda some: outer(np.ones(len(some.X)), *_weights(some, model)))
    return axes.in_chart(each)


def _weights(block: Block, model: FittedModel) -> tuple[FloatArray, FloatArray]:
    """Return the rows' weights in the score, and their derivatives in theta."""
    posterior = model.posterior(block.X)
    pull, gradient = _said(block, model, posterior)
    known = np.where(block.labelled[:, None], np.eye(pull.shape[1])[block.codes], posterior[1])
    return sided(block, model.alpha)[:, None] * known + pull, gradient


def _slopes(block: Block, model: FittedModel) -> Weights:
    """Return derivatives of rows' weights in log joint densities, and in theta."""
    joint, theta = log_joint(model.family, model.state, block.X), model.state.theta
    n, g = joint.shape
    edges, steps = np.zeros((n, g, theta.size)), np.zeros((g, g, n)).transpose(2, 0, 1)
    log_tau, tau, _ = normalise(joint.copy())
    blank = np.where(block.labelled, 0.0, sided(block, model.alpha))
    slopes = blank[:, None, None] * spread(tau)
    if not theta.size:  # nothing but labels was said
        return slopes, edges, np.zeros((0, 0))
    for h, nudge in enumerate(NUDGE * np.eye(g)[1:], start=1):
        ahead, behind = (_said(block, model, normalise(joint + d)) for d in (nudge, -nudge))
        steps[:, :, h] = (ahead[0] - behind[0]) / (2 * NUDGE)
        edges[:, h] = (ahead[1] - behind[1]) / (2 * NUDGE)
    # A row's posterior stays where all its densities rise alike.
    steps[:, :, 0], edges[:, 0] = -steps.sum(axis=2), -edges.sum(axis=1)
    seen = model.mechanism.difficulty(log_tau, tau, slopes=False)

    def gradient(theta: FloatArray) -> FloatArray:
        return model.mechanism.pattern(seen, block.codes, block.said, block.review, theta).gradient

    nudges = NUDGE * np.eye(theta.size)
    inner = np.array([gradient(theta + d) - gradient(theta - d) for d in nudges]) / (2 * NUDGE)
    return slopes + (steps + steps.transpose(0, 2, 1)) / 2, edges, (inner + inner.T) / 2


def _said(block: Block, model: FittedModel, posterior: Posterior) -> tuple[FloatArray, FloatArray]:
    """Return derivatives of what was said of each row, in its log densities and in theta."""
    rows, review = model.row_term(posterior, block.said, block.codes), block.review[:, None]
    return review * rows.pull, review * rows.gradient


def _at_fixed_weights(
    axes: Axes, statistics: Statistics, look: Callable[[list[Params]], Iterable[Statistics]]
) -> FloatArray:
    """Return derivatives of the family's weighted score; ``look`` gives statistics at points."""
    chart, first = axes.chart, axes.chart.splits[0]
    known = chart.family.hessian(statistics)
    if known is not None:
        return known
    groups = [group for group in axes.together if group[0] >= first]
    steps = [(group, sign) for group in groups for sign in (1, -1)]
    moved = look([nudged(chart, *step).params for step in steps])
    # A chart that folds must have decoded the very point at which it gives a gradient.
    pairs = zip(steps, moved, strict=True)
    scores = [chart.family.gradient(nudged(chart, *step).params, each) for step, each in pairs]
    moves, size = axes.moves[first:], axes.size - first
    out, found = np.zeros((2, size, size))
    for group, ahead, behind in zip(groups, scores[::2], scores[1::2], strict=True):
        # An entry is due to that axis of the group which has a class in common with its own. If
        # there are several, its own axis moves several classes, and by symmetry says the same.
        common = np.any(axes.moves[group][:, None, :] & moves[None], axis=2)
        for axis, due in zip(group - first, common & (common.sum(axis=0) == 1), strict=True):
            out[due, axis], found[due, axis] = (ahead - behind)[due] / (2 * STEP), 1.0
    return (out + out.T) / np.maximum(found + found.T, 1.0)
