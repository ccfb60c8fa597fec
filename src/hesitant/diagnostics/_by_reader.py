"""Whether each reader of a panel leaves the hard rows blank."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from scipy.stats import norm

from hesitant._drawing import COLORS, Drawing, as_text, class_color, drawing
from hesitant._replicates import refit
from hesitant._typing import FloatArray
from hesitant._words import Result, Table
from hesitant.diagnostics._tests import ALPHA, FEW, mann_whitney
from hesitant.experts import Panel, reader_records
from hesitant.mechanisms import as_mechanism
from hesitant.statements import WITHHELD, Statements
from hesitant.uncertainty import Shannon

_DASHES = ("-", "--", ":", "-.")
_FINDINGS = {
    "hard": "leaves the hard rows blank",
    "easy": "leaves the easy rows blank",
    "random": "leaves rows blank without regard to difficulty",
    "few": "left too few rows blank, or spoke of too few, to tell",
    "none": "left no row blank",
}


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class ReadersDiagnosis(Result):
    """Whether each reader's blanks are about difficulty.

    Each of ``readers`` has a ``harder_share`` (how often a row left blank is the harder of two)
    with its one-sided p-value ``mann_whitney``, the fitted ``slope`` of hesitation with
    ``slope_se`` and ``wald`` (p-value), and a ``finding``: "hard", "easy", "random", "few" or
    "none".
    """

    title: ClassVar[str] = "Are the blanks about difficulty, reader by reader?"

    readers: list[dict[str, Any]]
    remarks: list[str]
    entropy: FloatArray = dataclasses.field(repr=False)  #: (n,), of a fit that ignores hesitation
    speaking: FloatArray = dataclasses.field(repr=False)  #: (n, J), chances that readers speak

    def _content(self) -> Iterator[str | Table]:
        for line in self.readers:
            yield f"* {line['reader']} {_FINDINGS[line['finding']]}."
        found = ("mean_labelled", "mean_withheld", "harder_share", "slope", "wald")
        shown = ("reader", "labelled", "withheld", *found)
        yield Table(shown, [[line[name] for name in shown] for line in self.readers])

    def _columns(self) -> dict[str, Any]:
        return {name: [line[name] for line in self.readers] for name in self.readers[0]}

    def plot(self, axes: Any = None) -> Drawing:
        """Draw each reader's chance of speaking against the entropy of rows."""
        names = [line["reader"] for line in self.readers]
        return draw_readers(names, self.entropy, self.speaking, axes)


def draw_readers(
    readers: Sequence[str], difficulty: FloatArray, speaking: FloatArray, axes: Any = None
) -> Drawing:
    """Draw a curve for each reader: difficulty (n,) against chances of a label (n, J)."""
    display, order = Drawing(), np.argsort(difficulty)
    with drawing():
        display.use(axes, (5.0, 3.2))
        for j, name in enumerate(readers):
            look = {"color": class_color(j), "linestyle": _DASHES[j // len(COLORS) % 4]}
            line = difficulty[order], speaking[order, j]
            display.ax_.plot(*line, **look, label=as_text(name, 20))
        display.ax_.set(xlabel="entropy", ylabel="chance of a label", ylim=(0, 1.02))
        display.ax_.legend()
    return display


def diagnose_readers(estimator: Any, X: Any, y: Any, said: Statements, **given: Any) -> Any:
    """Return what each reader's blanks are about, in classes that all readers' words made."""
    warned: list[str] = []
    silent = refit(estimator, X, y, mechanism=None, warned=warned, **given)
    full, explains = estimator, as_mechanism(estimator.mechanism).informative
    if not isinstance(getattr(full, "mechanism_", None), Panel) or not explains:
        mechanism = estimator.mechanism if explains else "entropy"
        full = refit(estimator, X, y, mechanism=mechanism, warned=warned, **given)
    entropy, log_tau = silent.entropy(X, Shannon()), np.asarray(full.predict_log_proba(X))
    lines, rows = [], (X, y) if full.fit_rows is None else ()
    for j, found in enumerate(reader_records(full, *rows, **(given if rows else {}))):
        groups = {"labelled": said.said[:, j] >= 0, "withheld": said.said[:, j] == WITHHELD}
        line: dict[str, Any] = {"reader": found["reader"]}
        for name, which in groups.items():
            line[name] = int(which.sum())
            line[f"mean_{name}"] = float(entropy[which].mean()) if line[name] else np.nan
        test = mann_whitney(*(entropy[which] for which in groups.values()))
        pairs, fewer = line["labelled"] * line["withheld"], min(line["labelled"], line["withheld"])
        harder = 1 - test.statistic / max(pairs, 1)  # NaN where the test was skipped
        slope, error = found.get("slope", np.nan), found.get("slope_se", np.nan)
        wald = float(2 * norm.sf(abs(slope) / error)) if error > 0 else np.nan
        # The slope's test allows for the other readers and for classes that are estimated.
        p = wald if np.isfinite(wald) else 2 * min(test.p_value, 1 - test.p_value)
        finding = "random"
        if fewer < FEW:
            finding = "few" if line["withheld"] else "none"
        elif p < ALPHA:
            finding = "hard" if harder > 0.5 else "easy"
        line |= {"slope": slope, "slope_se": error, "harder_share": harder}
        lines.append(line | {"mann_whitney": test.p_value, "wald": wald, "finding": finding})
    speaking = full.mechanism_.speaking(log_tau, np.exp(log_tau))
    return ReadersDiagnosis(lines, warned, entropy, speaking)
