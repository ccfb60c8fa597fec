"""A panel of readers as a mechanism, and what is assumed of them: the ``experts`` of a classifier.

What they said of row i is evidence about its class, ``a_ih = Σ_j [log chance that reader j answers
at all] + [log chance of what j then says]``: by a missing-label mechanism, and a model of answers.
"""

import contextlib
from collections.abc import Sequence
from numbers import Real
from typing import Any, Self, cast

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import entr
from sklearn.base import BaseEstimator

from hesitant._typing import AnyArray, FloatArray, IntArray
from hesitant._words import listed
from hesitant.checks import check_number, check_shown, look_up
from hesitant.experts import _answers as ways
from hesitant.experts._answers import Answers, Certain, Confusion, Rng
from hesitant.labels import encode
from hesitant.mechanisms._base import Difficulty, Evidence, Ignorable, Mechanism, Value
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
        hesitation = self.hesitation.moved(class_names=classes)
        both = zip(*self.split(theta), strict=True)
        return [(hesitation.natural(a), self.answers.natural(b, classes)) for a, b in both]

    def natural(self, theta: FloatArray) -> dict[str, float]:
        both = zip(self.readers, self.each(theta), strict=True)
        parts = [(self.suffix(reader), hesitates | says) for reader, (hesitates, says) in both]
        return {name + suffix: value for suffix, own in parts for name, value in own.items()}

    def suffix(self, reader: str) -> str:
        return "" if self.pooling == "shared" else f" ({reader})"

    @property
    def parameter_names(self) -> list[str]:
        return list(self.natural(np.zeros(self.n_parameters)))

    @property
    def probabilities(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(name for name in self.parameter_names if name.startswith("P("))

    def prepare(self, n_classes: int) -> Self:
        hesitation = self.hesitation.prepare(n_classes)
        known = {"uncertainty": hesitation.uncertainty, "n_classes": n_classes}
        return self.moved(hesitation=hesitation, **known)

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

    def evidence(self, seen: Difficulty, said: Any, theta: FloatArray) -> Evidence:
        own, q = self.own(theta), self.hesitation.n_parameters
        out, by_reader = ways.Heard(seen.tau.shape, own.shape), np.ascontiguousarray(said.said.T)
        who, rows = np.nonzero(by_reader != NOT_SHOWN)
        what: AnyArray = by_reader[who, rows].astype(np.int64)
        spoke, whose = what >= 0, np.minimum(who, len(own) - 1)  # a shared one is everybody's
        if q:
            part = self.hesitation.evidence(seen.at(rows, whose), spoke, own[:, :q])
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
        blocks[:, :q, :q] += self.hesitation.strength(own[:, :q]) * np.eye(q)
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
        return self.moved(spread=np.clip(between, LEAST_SPREAD, FIRST_SPREAD).tolist())

    def speaking(self, log_tau: FloatArray, tau: FloatArray, classes: Any = None) -> FloatArray:
        """Return the chance that each reader would speak of each row (n, J)."""
        counts = self.counts or [(1, 1)] * len(self.readers)
        each = zip(self.split(self.parameters_)[0], counts, strict=True)
        own = [self.hesitation.fitted(theta, n / max(shown, 1)) for theta, (shown, n) in each]
        return np.column_stack([one.probability(log_tau, tau, classes) for one in own])

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
        spoke, each = rng.random(chance.shape) < chance, self.split(self.parameters_)[1]
        said = np.stack([self.answers.draw(codes, tau, own, rng) for own in each], axis=1)
        chances = None
        if said.ndim == 3:
            chances, said = np.where(spoke[:, :, None], said, np.nan), np.zeros_like(spoke, int)
        kind, options = self.answers.menu(classes)
        said, nobody = np.where(spoke, said, WITHHELD), np.full(len(codes), -1)
        return Statements(kind, said, tuple(self.readers), classes, options, nobody, chances)

    def remarks(self) -> list[str]:
        counts, out = zip(self.readers, self.counts or (), strict=False), []
        few = [f"{reader!r} ({said})" for reader, (_, said) in counts if said < FEW]
        if few and self.pooling != "shared":
            found = f"Some readers judged fewer than {FEW} rows, {listed(few)}: estimates"
            out.append(f"{found} rest mostly on the prior. pooling='shared' treats all alike.")
        if not isinstance(self.answers, Confusion):
            return out
        if self.apart and len(self.readers) > 1:
            found = "No row was labelled by two readers: how often each is right is learned from"
            out.append(f"{found} the features alone. Show rows to several, or give truth=.")
        _, order = linear_sum_assignment(self.confusion().mean(axis=0), maximize=True)
        if (order != np.arange(len(order))).any():
            found = "Most readers are more often wrong than right of some classes, which may have"
            out.append(f"{found} swapped names. Look at confusion_, and give truth= for each.")
        return out


class Readers(BaseEstimator):
    """What is assumed of the people who label.

    >>> from hesitant import MixtureClassifier, experts
    >>> clf = MixtureClassifier(experts=experts.Readers(pooling="own"))

    ``fallible`` readers may be wrong: each has a confusion matrix, with a weak prior as if it came
    from ``rows`` rows of every class, a share ``right`` of them rightly labelled. (Probabilities
    and grades are never certain.) ``pooling`` says whether readers have parameters of their "own",
    or are all the same ("shared", for anonymous ones); with "partial" those of hesitation,
    probabilities and grades, but not confusion matrices, are drawn together as strongly as the
    readers are alike.
    """

    def __init__(
        self, fallible: bool = True, pooling: str = "partial", right: float = 0.9, rows: float = 2
    ) -> None:
        self.fallible, self.pooling, self.right, self.rows = fallible, pooling, right, rows

    def as_statements(self, y: Any, reviewed: Any, missing_label: Any) -> Statements | None:
        """Return statements, or None where y is plain labels that are taken as right."""
        if y is None:  # in words that scikit-learn's own tests look for
            raise ValueError("requires y to be passed, but the target y is None: give labels.")
        if is_panel(y):
            if reviewed is not None:
                raise ValueError("reviewed is for one label a row: use Statements, with shown=.")
            known = isinstance(y, Statements)
            return y if known else Statements.from_labels(y, missing_label=missing_label)
        if not self.fallible:
            return None
        labels = encode(y, missing_label)  # of one reader; unless reviewed they are the truth
        codes, classes = labels.codes, labels.classes
        seen = check_shown("reviewed", reviewed, codes.shape)
        said, truth = np.where(seen, codes, NOT_SHOWN)[:, None], np.where(seen, -1, codes)
        return Statements("labels", said, ("reader 1",), classes, classes, truth)

    def known(self, statements: Statements) -> IntArray:
        """Return the classes that are known for certain, −1 elsewhere."""
        sets, truth = statements.sets, statements.truth
        if self.fallible or sets is None:
            return truth
        one = np.eye(len(statements.classes), dtype=bool)
        possible = np.where((truth >= 0)[:, None], one[truth], True)
        for column in statements.said.T:
            spoke = column >= 0
            possible[spoke] &= sets[column[spoke]]
        none = np.flatnonzero(~possible.any(axis=1))
        if none.size:
            rows = f"statements about {none.size:,} rows (first {none[0]}) contradict each other"
            some = "some readers (columns of y) are wrong"
            raise ValueError(f"{rows}: {some}. Use experts='fallible'.")
        return np.where(possible.sum(axis=1) == 1, possible.argmax(axis=1), -1)

    def rough(self, statements: Statements) -> IntArray:
        """Return classes that are roughly right, −1 where nobody can tell."""
        # The vote, or the truth if it is known of every class; then a few steps of Dawid and
        # Skene's, in which readers count as much as they have been right.
        codes = statements.vote()
        if not self.fallible or statements.sets is None:
            return codes
        g = len(statements.classes)
        if np.bincount(statements.truth + 1, minlength=g + 1)[1:].min() >= FEW:
            codes = statements.truth
        panel = self._panel(statements, Ignorable())
        nothing = panel.difficulty(np.zeros((len(codes), g)), np.zeros((len(codes), g)))
        for _ in range(5):
            theta = panel.begin(statements, codes).initial()
            log_p = panel.evidence(nothing, statements, theta).log_p
            clear = (log_p > log_p.max(axis=1, keepdims=True) - 0.1).sum(axis=1) == 1
            found = np.where(clear, log_p.argmax(axis=1), -1)
            codes = np.where(statements.truth >= 0, statements.truth, found)
        return codes

    def panel(self, statements: Statements, mechanism: Mechanism, rough: IntArray) -> Mechanism:
        if not statements.given.any():
            raise ValueError("no reader said anything of any row: there is nothing to learn from.")
        if not (mechanism.informative or self.fallible) and statements.kind == "labels":
            return mechanism  # all that was said is in the labels
        return self._panel(statements, mechanism).begin(statements, rough)

    def _panel(self, statements: Statements, mechanism: Mechanism) -> Panel:
        g = len(statements.classes)
        if not (statements.said == WITHHELD).any():
            mechanism = Ignorable()  # nobody hesitated
        answers: Answers
        if statements.kind == "probabilities":
            answers = ways.Probabilities(g)
        elif statements.kind == "grades":
            answers = ways.Grades(len(statements.options))
        else:
            sets = np.asarray(statements.sets).tolist()
            answers = Confusion(sets, self.right, self.rows) if self.fallible else Certain(sets)
        return Panel(list(statements.readers), mechanism, answers, self.pooling).prepare(g)


def as_readers(value: Any) -> Readers:
    names = {"right": False, "fallible": True}
    if not isinstance(value, Readers):
        value = Readers(look_up("experts", value, names, ", or an instance of Readers"))
    look_up("pooling", value.pooling, {"partial": 0, "own": 0, "shared": 0})
    check_number("right", value.right, Real, 0.01, 0.99)
    check_number("rows", value.rows, Real, 0.01)
    return cast(Readers, value)


def is_panel(y: Any) -> bool:
    """Whether y is what several readers said: statements, or a table of several columns."""
    if isinstance(y, list | tuple) and y:
        return isinstance(y[0], list | tuple | np.ndarray) and len(y[0]) > 1
    shape: Any = getattr(y, "shape", ())
    return isinstance(y, Statements) or (len(shape) == 2 and shape[1] > 1)


def reader_records(clf: Any, *data: Any, **given: Any) -> list[dict[str, Any]]:
    """Return what a fit found of each reader, with standard errors where rows are at hand.

    ``data`` are the rows of a model that was loaded, and has none.
    """
    panel = clf.mechanism_
    if not isinstance(panel, Panel):
        raise AttributeError("readers_ belongs to fits to statements, or experts='fallible'.")
    weights, info = clf.weights_, None
    if clf.family_.has_coordinates and (data or clf.fit_rows is not None):
        with contextlib.suppress(np.linalg.LinAlgError):  # of too many parameters, say
            info = clf.information(*data, **given)
    place = {} if info is None else {name: k for k, name in enumerate(info.parameters)}

    def error(names: list[str], slopes: Any) -> float:
        """Return the standard error of a sum of parameters, each times its slope."""
        if info is None or not set(names) <= set(place):
            return float("nan")
        at = [place[name] for name in names]
        if not np.isfinite(info.std_error[at]).all():
            return np.inf
        return float(np.sqrt(slopes @ info.covariance[np.ix_(at, at)] @ slopes))

    confused = isinstance(panel.answers, Confusion)
    counts, lines = panel.counts or [(0, 0)] * len(panel.readers), []
    parts = zip(panel.readers, counts, panel.each(panel.parameters_), strict=True)
    for j, (reader, (shown, said), (own, spoken)) in enumerate(parts):
        suffix, errors = panel.suffix(reader), {}
        line: dict[str, Any] = {"reader": reader, "shown": shown, "labelled": said}
        alone = sum(name.startswith("coef") for name in own) == 1
        for name, value in (own if confused else own | spoken).items():
            column = "slope" if name.startswith("coef") and alone else name
            column = f"report {column}" if column in line else column
            line[column], errors[f"{column}_se"] = value, error([name + suffix], np.ones(1))
        if confused:
            right = np.diag(panel.confusion()[j])
            names = [f"weight[{c}]" for c in clf.fitted_.class_names]
            names += [name + suffix for name in spoken]
            slopes = np.append(right, -np.repeat(weights, len(weights) - 1))
            line["accuracy"], errors["accuracy_se"] = float(weights @ right), error(names, slopes)
        lines.append(line | errors)
    return lines
