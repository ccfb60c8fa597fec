"""What is assumed of the people who label: the ``experts`` of a classifier."""

from numbers import Real
from typing import Any, cast

import numpy as np
from sklearn.base import BaseEstimator

from hesitant._typing import IntArray
from hesitant.checks import check_number, check_shown, look_up
from hesitant.experts._answers import Answers, Certain, Confusion, Grades, Probabilities
from hesitant.experts._panel import FEW, Panel
from hesitant.labels import encode
from hesitant.mechanisms import Ignorable, Mechanism
from hesitant.statements import NOT_SHOWN, WITHHELD, Statements


class Readers(BaseEstimator):
    """What is assumed of the people who label.

    >>> from hesitant import MixtureClassifier, experts
    >>> clf = MixtureClassifier(experts=experts.Readers(pooling="own"))

    Parameters
    ----------
    fallible : bool, default=True
        Whether a label may be wrong; each reader then has a confusion matrix. (Probabilities and
        grades are never certain.)
    pooling : {"partial", "own", "shared"}, default="partial"
        Whether readers have parameters of their own. With "partial" those of hesitation,
        probabilities and grades are drawn together as strongly as the readers are alike; confusion
        matrices are not. With "shared" all readers are the same: for anonymous ones.
    right, rows : float, default=0.9 and 2.0
        The weak prior of the confusion matrices: as if each reader had labelled ``rows`` rows of
        every class before, a share ``right`` of them rightly.
    """

    def __init__(
        self, fallible: bool = True, pooling: str = "partial", right: float = 0.9, rows: float = 2
    ) -> None:
        self.fallible, self.pooling, self.right, self.rows = fallible, pooling, right, rows

    def as_statements(self, y: Any, reviewed: Any, missing_label: Any) -> Statements | None:
        """Return statements, or None where y is plain labels that are taken as right."""
        if y is None:  # in words that scikit-learn's own tests look for
            raise ValueError("requires y to be passed, but the target y is None: give labels.")
        if not (is_panel(y) or self.fallible):
            return None
        if not is_panel(y):  # one reader; labels of rows that were not reviewed are the truth
            labels = encode(y, missing_label)
            codes, classes = labels.codes, labels.classes
            seen = check_shown("reviewed", reviewed, codes.shape)
            said, truth = np.where(seen, codes, NOT_SHOWN)[:, None], np.where(seen, -1, codes)
            return Statements("labels", said, ("reader 1",), classes, classes, truth)
        if reviewed is not None:
            raise ValueError(
                "reviewed is for one label a row: of several readers say what each was shown, by "
                "Statements.from_labels(..., shown=...)."
            )
        if isinstance(y, Statements):
            return y
        return Statements.from_labels(y, missing_label=missing_label)

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
            more = f" (and those of {none.size - 1:,} more)" * (none.size > 1)
            raise ValueError(
                f"the statements about row {none[0]}{more} contradict each other, and readers who "
                "are never wrong agree: use experts='fallible'."
            )
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
            top = log_p.max(axis=1)
            clear = (log_p > top[:, None] - 0.1).sum(axis=1) == 1
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
            answers = Probabilities(g)
        elif statements.kind == "grades":
            answers = Grades(len(statements.options))
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
    if isinstance(y, Statements):
        return True
    shape = getattr(y, "shape", None)
    if shape is None and isinstance(y, list | tuple) and len(y):
        return isinstance(y[0], list | tuple | np.ndarray) and len(y[0]) > 1
    return shape is not None and len(shape) == 2 and shape[1] > 1


def reader_records(clf: Any, *data: Any, **given: Any) -> list[dict[str, Any]]:
    """Return what a fit found of each reader, with standard errors where rows are at hand.

    ``data`` are the rows of a model that was loaded, and has none.
    """
    panel = clf.mechanism_
    if not isinstance(panel, Panel):
        raise AttributeError(
            "readers_ belongs to a fit to statements, or with experts='fallible'."
        )
    weights, info = clf.weights_, None
    if clf.family_.has_coordinates and (data or clf.fit_rows is not None):
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
    counts = panel.counts or [(0, 0)] * len(panel.readers)
    lines = []
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
