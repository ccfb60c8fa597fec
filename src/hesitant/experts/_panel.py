"""A panel of readers as a mechanism: each hesitates and speaks in a way of their own.

What the readers said of row i is evidence about its class,

    a_ih = Σ_j [log chance that reader j speaks of it] + [log chance of what j then says],

the first from a missing-label mechanism, the second from a voice, both with parameters of j's own.
"""

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.linalg import block_diag
from scipy.optimize import linear_sum_assignment

from hesitant._typing import AnyArray, FloatArray, IntArray
from hesitant.experts._voices import Confusion, Voice
from hesitant.mechanisms import Evidence, Mechanism, row_term
from hesitant.mechanisms._base import Difficulty, Pattern, Sums
from hesitant.statements import NOT_SHOWN, WITHHELD, Statements

FIRST_SPREAD = 100.0  # variance between readers before it is estimated: next to no pooling
LEAST_SPREAD = 1e-4
FEW = 10


class _Looked(NamedTuple):
    """What a panel wants to know of posteriors."""

    u: FloatArray
    du: FloatArray | None
    tau: FloatArray
    hesitation: Difficulty


class Panel(Mechanism):
    """Readers, each with a hesitation and a voice of their own; made by :class:`Readers`.

    Parameters
    ----------
    readers : sequence of str
    hesitation : Mechanism
        How the chance that a reader speaks depends on difficulty.
    voice : Voice
    pooling : {"partial", "own", "shared"}
    spread : sequence of float, optional
        Variances between readers of each pooled parameter, for ``pooling="partial"``.
    counts : sequence of (shown, said), optional
        Rows that each reader was shown, and spoke of.
    """

    by_class = True
    start: FloatArray
    apart: bool
    """Whether no row has statements of two readers; known once the panel has begun."""

    def __init__(
        self,
        readers: Sequence[str],
        hesitation: Mechanism,
        voice: Voice,
        pooling: str = "partial",
        spread: Sequence[float] | None = None,
        counts: Sequence[Sequence[int]] | None = None,
    ) -> None:
        self.readers, self.hesitation, self.voice = readers, hesitation, voice
        self.pooling, self.spread, self.counts = pooling, spread, counts

    # -- parameters ----------------------------------------------------------------------------

    @property
    def in_words(self) -> str:
        """How many readers, and how they hesitate."""
        return f"{len(self.readers)} readers ({self.hesitation.in_words})"

    @property
    def width(self) -> int:
        """Number of parameters of one reader."""
        return self.hesitation.n_parameters + self.voice.size

    @property
    def n_parameters(self) -> int:  # type: ignore[override]
        """Number of parameters of all readers."""
        return self.width * (1 if self.pooling == "shared" else len(self.readers))

    def _own(self, theta: FloatArray) -> FloatArray:
        return theta.reshape(1 if self.pooling == "shared" else len(self.readers), self.width)

    def split(self, theta: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
        """Return each reader's parameters of hesitation and of voice."""
        own = self._own(theta)
        q = self.hesitation.n_parameters
        return [(own[j % len(own), :q], own[j % len(own), q:]) for j in range(len(self.readers))]

    def natural(self, theta: FloatArray) -> dict[str, float]:
        """Return hesitation and voice of each reader in natural units."""
        classes = self.class_names or [str(h) for h in range(self.n_classes)]
        hesitation = copy.copy(self.hesitation)
        hesitation.class_names = classes
        out: dict[str, float] = {}
        shared = self.pooling == "shared"
        parts = self.split(theta)[: 1 if shared else None]
        for reader, (first, voice) in zip(self.readers, parts, strict=False):
            values = zip(self.voice.names(classes), self.voice.natural(voice), strict=True)
            own = {**hesitation.natural(first), **{k: float(v) for k, v in values}}
            out |= {k if shared else f"{k} ({reader})": v for k, v in own.items()}
        return out

    @property
    def parameter_names(self) -> list[str]:
        """Names in natural units."""
        return list(self.natural(np.zeros(self.n_parameters)))

    @property
    def probabilities(self) -> tuple[str, ...]:  # type: ignore[override]
        """Which of the natural parameters are probabilities."""
        return tuple(name for name in self.parameter_names if name.startswith("P("))

    def prepare(self, n_classes: int) -> Self:
        """Return a copy with the hesitation resolved."""
        out = copy.copy(self)
        out.hesitation = self.hesitation.prepare(n_classes)
        out.uncertainty, out.n_classes = out.hesitation.uncertainty, n_classes
        return out

    def begin(self, statements: Statements, rough: IntArray) -> Self:
        """Return the panel with parameters to start from, given rough classes of the rows."""
        own = []
        for column in statements.said.T:
            spoke = np.flatnonzero(column >= 0)
            voice = self.voice.initial(column[spoke].astype(np.int64), rough[spoke])
            own.append(np.concatenate((self.hesitation.initial(), voice)))
        self.start = np.mean(own, axis=0) if self.pooling == "shared" else np.concatenate(own)
        given, shown = statements.given.sum(axis=0), statements.shown.sum(axis=0)
        self.counts = np.column_stack((shown, given)).tolist()
        self.apart = not (statements.given.sum(axis=1) > 1).any()
        return self

    def initial(self) -> FloatArray:
        """Return parameters to start from."""
        return self.start

    # -- the mathematics -----------------------------------------------------------------------

    def difficulty(self, log_tau: FloatArray, tau: FloatArray, slopes: bool = True) -> Any:
        """Return the posteriors, and what the hesitation wants to know of them."""
        own = self.hesitation.difficulty(log_tau, tau, slopes)
        return _Looked(own.u, tau if slopes else None, tau, own)

    def evidence(
        self,
        difficulty: Any,
        said: Statements,
        theta: FloatArray,
        weight: FloatArray | None = None,
    ) -> Evidence:
        """Add up what the readers said of rows; with weights, gradients are sums over rows."""
        (n, g), q = difficulty.tau.shape, self.hesitation.n_parameters
        log_p, speaks = np.zeros((n, g)), self.voice.listen(said)
        parts: list[tuple[int, slice, IntArray, Evidence]] = []
        for j, (first, voice) in enumerate(self.split(theta)):
            column = said.said[:, j]
            if q:
                shown = np.flatnonzero(column != NOT_SHOWN)
                seen = _rows(difficulty.hesitation, shown)
                part = self.hesitation.evidence(seen, column[shown] >= 0, first)
                parts.append((j, slice(0, q), shown, part))
            spoke = np.flatnonzero(column >= 0)
            what = column[spoke].astype(np.int64)
            if said.chances is not None:
                what = said.chances[spoke, j]
            part = speaks.evidence(what, difficulty.tau[spoke], voice)
            parts.append((j, slice(q, self.width), spoke, part))
        for _, _, rows, part in parts:
            log_p[rows] += part.log_p

        def pull_back(rho: FloatArray) -> tuple[FloatArray, FloatArray]:
            pull = np.zeros((n if difficulty.du is not None else 0, g))
            size = n if weight is None else 1
            gradient = np.zeros((size, len(self.readers), self.width))
            for j, place, rows, part in parts:
                move, slope = part.pull_back(rho[rows])
                if weight is None:
                    gradient[rows, j, place] = slope
                else:
                    gradient[0, j, place] = weight[rows] @ slope
                if len(move) and len(pull):
                    pull[rows] += move
            shared = self.pooling == "shared"
            return pull, gradient.sum(axis=1) if shared else gradient.reshape(size, theta.size)

        def information(by_class: FloatArray) -> FloatArray:
            total = np.zeros((len(self.readers), self.width, self.width))
            for j, place, rows, part in parts:
                total[j, place, place] = _information(part, by_class[rows])
            if self.pooling == "shared":
                return np.asarray(total.sum(axis=0))
            return block_diag(*total)

        return Evidence(log_p, pull_back, information)

    def pattern(
        self,
        log_tau: FloatArray,
        tau: FloatArray,
        difficulty: Any,
        codes: IntArray,
        said: Any,
        weight: FloatArray,
        theta: FloatArray,
    ) -> Pattern:
        """Sum over the block without a gradient for each row: of many readers that is large."""
        rows = row_term(self.evidence(difficulty, said, theta, weight), log_tau, tau, codes)
        assert rows.information is not None
        information = rows.information(weight[:, None] * rows.resolved)
        pull = weight[: len(rows.pull), None] * rows.pull
        return Pattern(float(weight @ rows.log_p), pull, rows.gradient[0], information)

    def add_prior(self, theta: FloatArray, sums: Sums) -> Sums:
        """Return the sums with the weak priors' shares, and what draws readers together."""
        value, gradient, curvature = sums[0], sums[1].copy(), sums[2].copy()
        own, q = self._own(theta), self.hesitation.n_parameters
        nothing = (0.0, np.zeros(q), np.zeros((q, q)))
        for j, beta in enumerate(own):
            a, b, c = j * self.width, j * self.width + q, (j + 1) * self.width
            for place, prior in (
                (slice(a, b), self.hesitation.add_prior(beta[:q], nothing)),
                (slice(b, c), self.voice.prior(beta[q:])),
            ):
                value += prior[0]
                gradient[place] += prior[1]
                curvature[place, place] += prior[2]
        if self.pooling == "partial" and len(own) > 1:
            places = self._pooled()
            spread = np.full(places.size, FIRST_SPREAD) if self.spread is None else self.spread
            off = own[:, places] - own[:, places].mean(axis=0)
            value -= 0.5 * float((off**2 / spread).sum())
            at = np.arange(len(own))[:, None] * self.width + places
            gradient[at] -= off / spread
            centring = np.eye(len(own)) - 1 / len(own)
            for column, variance in zip(at.T, np.asarray(spread), strict=True):
                curvature[np.ix_(column, column)] += centring / variance
        return value, gradient, curvature

    def _pooled(self) -> IntArray:
        """Return which of a reader's parameters are drawn together."""
        return np.arange(self.width if self.voice.pooled else self.hesitation.n_parameters)

    def retune(self, theta: FloatArray, curvature: FloatArray) -> Self | None:
        """Return the panel with pooling as strong as readers are alike; None if it is already.

        The variance between readers is DerSimonian and Laird's estimate: how much more they
        differ than the uncertainty of each explains.
        """
        J, places = len(self.readers), self._pooled()
        if self.pooling != "partial" or self.spread is not None or J < 2 or not places.size:
            return None
        variance = np.diag(np.linalg.inv(curvature)).reshape(J, -1)[:, places]
        own, weight = theta.reshape(J, -1)[:, places], 1 / np.maximum(variance, 1e-12)
        total = weight.sum(axis=0)
        excess = (weight * (own - (weight * own).sum(axis=0) / total) ** 2).sum(axis=0) - (J - 1)
        between = excess / (total - (weight**2).sum(axis=0) / total)
        out = copy.copy(self)
        out.spread = np.clip(between, LEAST_SPREAD, FIRST_SPREAD).tolist()
        return out

    # -- what a fitted panel is asked ------------------------------------------------------------

    def log_probability(self, *arguments: Any) -> Any:
        """Refuse: what a panel says is more than whether there is a label."""
        raise TypeError("A panel of readers has no single chance of a label.")

    def speaking(self, log_tau: FloatArray, tau: FloatArray) -> FloatArray:
        """Return the chance that each reader would speak of each row (n, J)."""
        chances = []
        for j, (first, _) in enumerate(self.split(self.parameters_)):
            shown, said = (self.counts or [(1, 1)] * len(self.readers))[j]
            reader = self.hesitation.fitted(first, said / max(shown, 1))
            chances.append(reader.probability(log_tau, tau))
        return np.column_stack(chances)

    def probability(
        self, log_tau: FloatArray, tau: FloatArray, classes: FloatArray | None = None
    ) -> FloatArray:
        """Return the mean over readers of the chance that they would speak of each row."""
        return self.speaking(log_tau, tau).mean(axis=1)

    def ask(
        self, log_tau: FloatArray, tau: FloatArray, resolved: FloatArray, said: Statements
    ) -> tuple[IntArray, FloatArray]:
        """Return which reader to show each row next, and how much of its entropy that may remove.

        A reader who may be wrong removes the mutual information of label and class, if they speak
        of the row; one who did has nothing to add.
        """
        removed = np.tile(_entropy(resolved)[:, None], len(self.readers))
        if isinstance(self.voice, Confusion):
            for j, chance in enumerate(self.confusion()):
                removed[:, j] = _entropy(resolved @ chance) - resolved @ _entropy(chance)
        worth = np.where(said.given, 0.0, removed * self.speaking(log_tau, tau))
        most = worth.max(axis=1)
        share = np.clip(most / np.maximum(_entropy(tau), 1e-300), 0.0, 1.0)
        return np.where(most > 0, worth.argmax(axis=1), -1), share

    def confusion(self) -> FloatArray:
        """Return each reader's chances of labels by class (J, g, g)."""
        if not isinstance(self.voice, Confusion):
            raise AttributeError("confusion_ belongs to labels of experts='fallible'.")
        voices = [voice for _, voice in self.split(self.parameters_)]
        return np.exp([self.voice.matrix(voice) for voice in voices])

    def draw(
        self,
        codes: IntArray,
        log_tau: FloatArray,
        tau: FloatArray,
        classes: AnyArray,
        rng: np.random.Generator,
    ) -> Statements:
        """Return what the readers would say of rows of these classes, were they shown them all."""
        spoke = rng.random((len(codes), len(self.readers))) < self.speaking(log_tau, tau)
        voices = [voice for _, voice in self.split(self.parameters_)]
        said = np.stack([self.voice.draw(codes, tau, voice, rng) for voice in voices], axis=1)
        kind, options = self.voice.menu(classes)
        nobody = np.full(len(codes), -1)
        names = tuple(self.readers)
        if said.ndim == 3:
            chances = np.where(spoke[:, :, None], said, np.nan)
            said = np.where(spoke, 0, WITHHELD)
            return Statements(kind, said, names, classes, options, nobody, chances)
        return Statements(kind, np.where(spoke, said, WITHHELD), names, classes, options, nobody)

    def remarks(self) -> list[str]:
        """Return what a careful user should know of a fitted panel."""
        out = []
        counts = zip(self.readers, self.counts or (), strict=False)
        few = [f"{reader!r} ({said})" for reader, (_, said) in counts if said < FEW]
        if few and self.pooling != "shared":
            more = f" and {len(few) - 5} more" * (len(few) > 5)
            out.append(
                f"Some readers spoke of fewer than {FEW} rows, {', '.join(few[:5])}{more}: what "
                "is found of them comes mostly from the prior. pooling='shared' takes all readers "
                "for alike."
            )
        if self.apart and isinstance(self.voice, Confusion) and len(self.readers) > 1:
            out.append(
                "No row was labelled by two readers: how often each is right is learnt from the "
                "features alone. Show some rows to several of them, or give truth= for some."
            )
        if isinstance(self.voice, Confusion):
            _, order = linear_sum_assignment(self.confusion().mean(axis=0), maximize=True)
            if (order != np.arange(len(order))).any():
                out.append(
                    "Most readers seem to be wrong about some classes more often than right, so "
                    "two classes may have exchanged names: look at confusion_, and give truth= "
                    "for a few rows of each class."
                )
        return out


def _information(part: Evidence, weight: FloatArray) -> FloatArray:
    """Return the information about one part's parameters, were the classes known."""
    if part.information is not None:
        return part.information(weight)
    n, g = weight.shape
    scores = [part.pull_back(np.broadcast_to(np.eye(g)[h], (n, g)))[1] for h in range(g)]
    return np.asarray(sum((weight[:, [h]] * s).T @ s for h, s in enumerate(scores)))


def _entropy(p: FloatArray) -> FloatArray:
    return -np.sum(p * np.log(np.maximum(p, 1e-300)), axis=-1)


def _rows(difficulty: Difficulty, rows: IntArray) -> Difficulty:
    if len(rows) == len(difficulty.u):
        return difficulty
    du = None if difficulty.du is None else difficulty.du[rows]
    return Difficulty(difficulty.u[rows], du, tuple(part[rows] for part in difficulty.design))
