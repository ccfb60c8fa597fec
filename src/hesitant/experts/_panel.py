"""A panel of readers as a mechanism: each hesitates and answers in a way of their own.

What they said of row i is evidence about its class, ``a_ih = Σ_j [log chance that reader j answers
at all] + [log chance of what j then says]``: by a missing-label mechanism, and a model of answers.
"""

import copy
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import entr

from hesitant._typing import AnyArray, FloatArray, IntArray
from hesitant._words import listed
from hesitant.experts._answers import Answers, Confusion, Rng, gather
from hesitant.mechanisms import Evidence, Mechanism
from hesitant.mechanisms._base import Difficulty, Value
from hesitant.statements import NOT_SHOWN, WITHHELD, Statements

FIRST_SPREAD = 100.0  # variance between readers before it is estimated: next to no pooling
LEAST_SPREAD = 1e-4
FEW = 10


class Panel(Mechanism):
    """Readers, each with a hesitation and answers of their own; made by :class:`Readers`.

    ``spread`` holds the variances between readers of each pooled parameter, ``counts`` how many
    rows each reader was shown, and spoke of.
    """

    by_class = True
    start: FloatArray
    apart: bool  # whether no row has statements of two readers; known once the panel has begun

    def __init__(
        self,
        readers: Sequence[str],
        hesitation: Mechanism,
        answers: Answers,
        pooling: str = "partial",
        spread: Sequence[float] | None = None,
        counts: Sequence[Sequence[int]] | None = None,
    ) -> None:
        self.readers, self.hesitation, self.answers = readers, hesitation, answers
        self.pooling, self.spread, self.counts = pooling, spread, counts

    @property
    def in_words(self) -> str:
        return f"{len(self.readers)} readers ({self.hesitation.in_words})"

    @property
    def width(self) -> int:
        return self.hesitation.n_parameters + self.answers.size

    @property
    def n_parameters(self) -> int:  # type: ignore[override]
        return self.width * (1 if self.pooling == "shared" else len(self.readers))

    def own(self, theta: FloatArray) -> FloatArray:
        """Return the parameters with a row a reader, or one for all."""
        return theta.reshape(-1, self.width) if self.width else np.zeros((len(self.readers), 0))

    def split(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the parameters of hesitation and of answers, with a row a reader."""
        own, q = self.own(theta), self.hesitation.n_parameters
        every = np.broadcast_to(own, (len(self.readers), self.width))
        return every[:, :q], every[:, q:]

    def each(self, theta: FloatArray) -> list[tuple[dict[str, float], dict[str, float]]]:
        """Return natural parameters of each reader's hesitation and answers."""
        classes = self.class_names or [str(h) for h in range(self.n_classes)]
        hesitation = copy.copy(self.hesitation)
        hesitation.class_names = classes
        both = zip(*self.split(theta), strict=True)
        return [(hesitation.natural(a), self.answers.natural(b, classes)) for a, b in both]

    def natural(self, theta: FloatArray) -> dict[str, float]:
        return {
            name + self.suffix(reader): value
            for reader, own in zip(self.readers, self.each(theta), strict=True)
            for name, value in (own[0] | own[1]).items()
        }

    def suffix(self, reader: str) -> str:
        return "" if self.pooling == "shared" else f" ({reader})"

    @property
    def parameter_names(self) -> list[str]:
        return list(self.natural(np.zeros(self.n_parameters)))

    @property
    def probabilities(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(name for name in self.parameter_names if name.startswith("P("))

    def prepare(self, n_classes: int) -> Self:
        out = copy.copy(self)
        out.hesitation = self.hesitation.prepare(n_classes)
        out.uncertainty, out.n_classes = out.hesitation.uncertainty, n_classes
        return out

    def begin(self, statements: Statements, rough: IntArray) -> Self:
        """Return the panel with parameters to start from, given rough classes of the rows."""
        answers = self.answers.initial(statements.said, rough)
        own = np.hstack((np.tile(self.hesitation.initial(), (len(answers), 1)), answers))
        self.start = own.mean(axis=0) if self.pooling == "shared" else own.ravel()
        given, shown = statements.given.sum(axis=0), statements.shown.sum(axis=0)
        self.counts = np.column_stack((shown, given)).tolist()
        self.apart = not (statements.given.sum(axis=1) > 1).any()
        return self

    def initial(self) -> FloatArray:
        return self.start

    def difficulty(self, log_tau: FloatArray, tau: FloatArray, slopes: bool = True) -> Difficulty:
        return self.hesitation.difficulty(log_tau, tau, slopes)

    def evidence(
        self, seen: Difficulty, said: Any, theta: FloatArray, who: Any = None
    ) -> Evidence:
        own, q = self.own(theta), self.hesitation.n_parameters
        out = _Heard(seen.tau.shape, own.shape)
        by_reader = np.ascontiguousarray(said.said.T)
        who, rows = np.nonzero(by_reader != NOT_SHOWN)
        what: AnyArray = by_reader[who, rows].astype(np.int64)
        spoke, whose = what >= 0, np.minimum(who, len(own) - 1)  # a shared one is everybody's
        if q:
            part = self.hesitation.evidence(seen.at(rows), spoke, own[:, :q], whose)
            out.add(part, rows, whose, slice(0, q))
        rows, who, whose, what = rows[spoke], who[spoke], whose[spoke], what[spoke]
        if said.chances is not None:
            what = said.chances[rows, who]
        tau = seen.tau.take(rows, axis=0)
        part = self.answers.fitting(said).evidence(what, tau, own[:, q:], whose)
        out.add(part, rows, whose, slice(q, self.width))
        return out

    def add_prior(self, theta: FloatArray, value: float, gradient: FloatArray) -> Value:
        own, q = self.own(theta), self.hesitation.n_parameters
        strength, of_answers = self.hesitation.strength(own[:, :q]), self.answers.prior(own[:, q:])
        inward = np.hstack((strength * own[:, :q], -of_answers[1]))
        value += of_answers[0] - 0.5 * float((strength * own[:, :q] ** 2).sum())
        if self.pooling == "partial":
            places, spread = self._pooled()
            off = own[:, places] - own[:, places].mean(axis=0)
            value -= 0.5 * float((off**2 / spread).sum())
            inward[:, places] += off / spread
        return value, gradient - inward.ravel()

    def information(self, theta: FloatArray, curvature: FloatArray | float) -> FloatArray:
        own, q = self.own(theta), self.hesitation.n_parameters
        J, width = own.shape
        blocks = np.zeros((J, width, width)) + curvature
        blocks[:, :q, :q] += np.diag(self.hesitation.strength(own[:, :q]))
        blocks[:, q:, q:] += self.answers.prior(own[:, q:])[2]
        out, at = np.zeros((J, width, J, width)), np.arange(J)
        out[at, :, at] = blocks
        if self.pooling == "partial":
            places, spread = self._pooled()
            out[:, places, :, places] += (np.eye(J) - 1 / J) / spread[:, None, None]
        return out.reshape(theta.size, theta.size)

    def _pooled(self) -> tuple[IntArray, FloatArray]:
        """Return which of a reader's parameters are drawn together, and how far they spread."""
        places = np.arange(self.width if self.answers.pooled else self.hesitation.n_parameters)
        unknown = np.full(places.size, FIRST_SPREAD)
        return places, unknown if self.spread is None else np.asarray(self.spread)

    def retune(self, theta: FloatArray, curvature: FloatArray) -> Self | None:
        # DerSimonian and Laird's variance: how much more readers differ than the uncertainty of
        # each explains.
        J, (places, _) = len(self.readers), self._pooled()
        if self.pooling != "partial" or self.spread is not None or J < 2 or not places.size:
            return None
        inverse = np.linalg.inv(self.information(theta, curvature))
        variance = np.diag(inverse).reshape(J, -1)[:, places]
        own, weight = theta.reshape(J, -1)[:, places], 1 / np.maximum(variance, 1e-12)
        total = weight.sum(axis=0)
        excess = (weight * (own - (weight * own).sum(axis=0) / total) ** 2).sum(axis=0) - (J - 1)
        between = excess / (total - (weight**2).sum(axis=0) / total)
        out = copy.copy(self)
        out.spread = np.clip(between, LEAST_SPREAD, FIRST_SPREAD).tolist()
        return out

    def speaking(self, log_tau: FloatArray, tau: FloatArray, classes: Any = None) -> FloatArray:
        """Return the chance that each reader would speak of each row (n, J)."""
        counts = self.counts or [(1, 1)] * len(self.readers)
        chances = [
            self.hesitation.fitted(own, said / max(shown, 1)).probability(log_tau, tau, classes)
            for own, (shown, said) in zip(self.split(self.parameters_)[0], counts, strict=True)
        ]
        return np.column_stack(chances)

    def probability(self, log_tau: FloatArray, tau: FloatArray, classes: Any = None) -> FloatArray:
        return self.speaking(log_tau, tau, classes).mean(axis=1)

    def ask(
        self, log_tau: FloatArray, tau: FloatArray, resolved: FloatArray, said: Statements
    ) -> tuple[IntArray, FloatArray]:
        """Return which reader to show each row next, and how much of its entropy that may remove.

        One who may be wrong removes the mutual information of label and class, if they speak.
        """
        removed = entr(resolved).sum(axis=1)[:, None]
        if isinstance(self.answers, Confusion):
            chance = self.confusion()
            answer = entr(np.einsum("ih,jhk->ijk", resolved, chance)).sum(axis=2)
            removed = answer - resolved @ entr(chance).sum(axis=2).T
        worth = np.where(said.given, 0.0, removed * self.speaking(log_tau, tau, resolved))
        most = worth.max(axis=1)
        share = np.clip(most / np.maximum(entr(tau).sum(axis=1), 1e-300), 0.0, 1.0)
        return np.where(most > 0, worth.argmax(axis=1), -1), share

    def confusion(self) -> FloatArray:
        """Return each reader's chances of labels by class (J, g, g)."""
        if not isinstance(self.answers, Confusion):
            return super().confusion()
        return np.exp(self.answers.matrix(self.split(self.parameters_)[1]))

    def draw(
        self, codes: IntArray, log_tau: FloatArray, tau: FloatArray, classes: AnyArray, rng: Rng
    ) -> Statements:
        """Return what the readers would say of rows of these classes, were they shown them all."""
        chance = self.speaking(log_tau, tau, np.eye(tau.shape[1])[codes])
        spoke = rng.random(chance.shape) < chance
        each = self.split(self.parameters_)[1]
        said = np.stack([self.answers.draw(codes, tau, own, rng) for own in each], axis=1)
        chances = None
        if said.ndim == 3:
            chances, said = np.where(spoke[:, :, None], said, np.nan), np.zeros_like(spoke, int)
        kind, options = self.answers.menu(classes)
        said, nobody = np.where(spoke, said, WITHHELD), np.full(len(codes), -1)
        return Statements(kind, said, tuple(self.readers), classes, options, nobody, chances)

    def remarks(self) -> list[str]:
        out = []
        counts = zip(self.readers, self.counts or (), strict=False)
        few = [f"{reader!r} ({said})" for reader, (_, said) in counts if said < FEW]
        if few and self.pooling != "shared":
            out.append(
                f"Some readers spoke of fewer than {FEW} rows, {listed(few)}: what is found of "
                "them comes mostly from the prior. pooling='shared' takes all readers for alike."
            )
        if not isinstance(self.answers, Confusion):
            return out
        if self.apart and len(self.readers) > 1:
            out.append(
                "No row was labelled by two readers: how often each is right is learnt from the "
                "features alone. Show some rows to several of them, or give truth= for some."
            )
        _, order = linear_sum_assignment(self.confusion().mean(axis=0), maximize=True)
        if (order != np.arange(len(order))).any():
            out.append(
                "Most readers seem to be wrong about some classes more often than right, so two "
                "classes may have exchanged names: look at confusion_, and give truth= for a few "
                "rows of each class."
            )
        return out


class _Heard(Evidence):
    """What readers said, kept by pairs of row and reader, and added up over readers."""

    def __init__(self, shape: tuple[int, ...], own: tuple[int, ...]) -> None:
        self.log_p, self.own = np.zeros(shape), own  # numbers of readers and parameters
        self.parts: list[tuple[Evidence, IntArray, IntArray, slice]] = []

    def add(self, part: Evidence, rows: IntArray, who: IntArray, place: slice) -> None:
        """Add evidence of pairs, sorted by reader, with the place of its parameters."""
        n, g = self.log_p.shape
        self.log_p += gather(np.broadcast_to(part.log_p, (len(rows), g)), rows, n)
        self.parts.append((part, rows, who, place))

    def pull(self, rho: FloatArray) -> FloatArray:
        out = np.zeros_like(rho)
        for part, rows, *_ in self.parts:
            if part.in_joint is not None:
                out += gather(part.pull(rho.take(rows, axis=0)), rows, len(rho))
        return out

    def scores(self, rho: FloatArray) -> FloatArray:
        n, (J, width) = len(rho), self.own
        out = np.zeros((n * J, width))
        for part, rows, who, place in self.parts:
            out[:, place] = gather(part.scores(rho.take(rows, axis=0)), rows * J + who, n * J)
        return out.reshape(n, J * width)

    def sums(self, weight: FloatArray, edges: Any = None) -> tuple[FloatArray, FloatArray]:
        J, width = self.own
        score, information = np.zeros((J, width)), np.zeros((J, width, width))
        for part, rows, who, place in self.parts:
            edges = np.searchsorted(who, np.arange(J + 1)).tolist()
            sums = part.sums(weight.take(rows, axis=0), edges)
            score[:, place], information[:, place, place] = sums
        return score.reshape(1, -1), information[None]
