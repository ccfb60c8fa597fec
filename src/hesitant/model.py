"""What a fit found, and none of its data: what estimators publish and every question is put to."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from hesitant._typing import AnyArray, FloatArray, IntArray
from hesitant.families import Family
from hesitant.labels import names_of
from hesitant.likelihood import Likelihood, Posterior, State, log_posterior
from hesitant.mechanisms import Mechanism, RowTerm, row_term
from hesitant.rows import Block, ManyRows, Rows

LEAST = 1e-300  # a probability that rounded to zero must not make a mean infinite


@dataclasses.dataclass(frozen=True)
class FittedModel:
    """Parameters, mechanism, classes and features of a fit, and how it ended."""

    family: Family
    mechanism: Mechanism  # which knows its parameters
    state: State
    classes: AnyArray
    n_features: int
    named_features: AnyArray | None = None  # None if the data had no names
    alpha: float = 0.5
    log_likelihood: float = np.nan
    n_rows: float = 0.0  # sum of weights; 0 if a file does not say
    n_iter: int = 0
    converged: bool = True
    termination: str = ""
    history: FloatArray = dataclasses.field(default_factory=lambda: np.zeros(0))

    @property
    def class_names(self) -> list[str]:
        """The classes as tables and legends print them."""
        return names_of(self.classes)

    @property
    def feature_names(self) -> list[str]:
        """The features' own names, or x0, x1 and so on."""
        if self.named_features is None:
            return [f"x{j}" for j in range(self.n_features)]
        return [str(name) for name in self.named_features]

    @property
    def readers(self) -> list[str] | None:
        """The readers, if the fit was one to statements."""
        return self.mechanism.readers

    @property
    def n_parameters(self) -> int:
        """How many numbers were estimated."""
        own = self.family.n_parameters(self.state.params)
        return len(self.classes) - 1 + own + self.mechanism.n_parameters

    @property
    def shown(self) -> dict[str, Any]:
        """What the estimator publishes, each with an underscore."""
        state = self.state
        own = {"weights": state.weights, **self.family.attributes(state.params)}
        same = ["family", "mechanism", "state", "classes", "log_likelihood", "n_parameters"]
        same += ["n_rows", "n_iter", "converged", "termination", "history"]
        parameters = {**own, "mechanism": state.theta}
        return {**{k: getattr(self, k) for k in same}, **own, "parameters": parameters}

    def posterior(self, X: AnyArray) -> Posterior:
        """Return log posteriors (n, g), posteriors (n, g) and log densities of the rows (n,)."""
        return log_posterior(self.family, self.state, X)

    def by_rows(self, X: AnyArray, pick: Callable[..., AnyArray], threads: int) -> AnyArray:
        """Return what ``pick`` makes of :meth:`posterior`, block by block; no more is kept."""
        rows = Rows(X, np.full(len(X), -1, dtype=np.int8), threads=threads)
        return np.concatenate(rows.collect(lambda block: pick(*self.posterior(block.X))))

    def likelihood(self, rows: ManyRows) -> Likelihood:
        """Return the fit's likelihood of rows."""
        return Likelihood(rows, self.family, self.mechanism, self.alpha)

    def row_term(
        self, posterior: Posterior, said: Any, codes: IntArray, slopes: bool = True
    ) -> RowTerm:
        """Return what was said of rows, its probability and what follows."""
        log_tau, tau, _ = posterior
        difficulty = self.mechanism.difficulty(log_tau, tau, slopes=slopes)
        evidence = self.mechanism.evidence(difficulty, said, self.state.theta)
        return row_term(evidence, log_tau, tau, codes)

    def if_labelled(self, log_tau: FloatArray, tau: FloatArray, log_f: FloatArray) -> FloatArray:
        """Return posteriors (n, g) of rows that were given a label, whichever it was."""
        given, unknown = np.ones(len(tau), dtype=bool), np.full(len(tau), -1)
        return self.row_term((log_tau, tau, log_f), given, unknown, slopes=False).resolved

    def resolve(self, rows: ManyRows) -> FloatArray:
        """Return class probabilities given features and what was said of each row."""
        return self.predict(rows)[2]

    def predict(self, rows: ManyRows) -> tuple[FloatArray, ...]:
        """Return posteriors, log p of what was seen, resolved posteriors, p of a label, log f."""
        chance_alone = not (self.mechanism.informative or self.readers)

        def look(block: Block) -> tuple[FloatArray, ...]:
            posterior, shown = self.posterior(block.X), block.review > 0
            log_tau, tau, log_f = posterior
            term = self.row_term(posterior, block.said, block.codes, slopes=False)
            chance, log_p = self.mechanism.probability(log_tau, tau), term.log_p
            if chance_alone:
                log_p = np.log(np.maximum(np.where(block.labelled, chance, 1 - chance), LEAST))
            own = np.where(block.labelled, log_tau[np.arange(len(tau)), block.codes], 0.0)
            seen = np.maximum(own + np.where(shown, log_p, 0.0), np.log(LEAST))
            resolved = np.where((shown | block.labelled)[:, None], term.resolved, tau)
            return tau, seen, resolved, chance, log_f

        return tuple(map(np.concatenate, zip(*rows.collect(look), strict=True)))

    def draw(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        """Draw features and classes, as positions among them."""
        codes = rng.choice(len(self.classes), size=n, p=self.state.weights)
        X = np.empty((n, self.n_features))
        for h in range(len(self.classes)):
            mine = np.flatnonzero(codes == h)
            X[mine] = self.family.sample(self.state.params, h, mine.size, rng)
        return X, codes

    def sample(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray, Any]:
        """Draw rows, their classes, and of which there would be a label, or what a panel says."""
        X, codes = self.draw(n, rng)
        log_tau, tau, _ = self.posterior(X)
        return X, codes, self.mechanism.draw(codes, log_tau, tau, self.classes, rng)


def with_blanks(truth: AnyArray, blank: AnyArray, missing_label: Any) -> AnyArray:
    """Return labels with blanks, marked as the classes' type allows."""
    marker = np.asarray(missing_label)
    numbers = {marker.dtype.kind, truth.dtype.kind} <= set("iuf")
    if numbers and marker == marker.astype(truth.dtype):
        marker = marker.astype(truth.dtype)
    elif marker.dtype.kind != truth.dtype.kind:
        truth, marker = truth.astype(object), np.asarray(None)
    return np.where(blank, marker, truth)
