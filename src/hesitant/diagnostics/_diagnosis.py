"""What a diagnosis found."""

import dataclasses
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from hesitant._optional import need
from hesitant._result import Result, Table, number
from hesitant._typing import FloatArray
from hesitant.diagnostics._smoother import LabellingCurve
from hesitant.diagnostics._tests import Test
from hesitant.inference._information import ObservedInformation

if TYPE_CHECKING:
    import pandas as pd


@dataclasses.dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Diagnosis(Result):
    """The evidence on whether blanks are about difficulty.

    The ``finding`` is "hard" or "easy" (what the blanks are), "mixed", "random", "few" (rows, to
    tell), "crowded" (parameters, to tell), "all", "none" or "unseen". Entropies are transformed,
    ``logit(e / log g)``, and those of the ignorance fit. ``by_class`` has for each class its
    reviewed "rows" (blank ones by their posteriors), the share "labelled", and the share
    "expected": that of rows equally difficult, whatever their class.
    """

    title: ClassVar[str] = "Are the blanks about difficulty?"

    headline: str
    explanation: str
    caution: str
    finding: str
    decisive: Test | None
    n_labelled: int
    n_blank: int
    n_not_reviewed: int
    mean_labelled: float
    mean_blank: float
    median_labelled: float
    median_blank: float
    harder_share: float
    tests: list[Test]
    curve: LabellingCurve | None = None
    coefficients: dict[str, float] = dataclasses.field(default_factory=dict)
    by_class: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    missing_by_class: bool
    mechanisms: dict[str, float] = dataclasses.field(default_factory=dict)
    suggested: str
    family: str
    caveats: list[str]
    remarks: list[str]
    ignorance: Any = dataclasses.field(repr=False)
    full: Any = dataclasses.field(repr=False)
    labelled_entropy: FloatArray = dataclasses.field(repr=False)
    blank_entropy: FloatArray = dataclasses.field(repr=False)
    information: ObservedInformation | None = dataclasses.field(repr=False)

    @property
    def verdict(self) -> str:
        """The headline, what lies behind it, and a caution if there is one."""
        return " ".join(filter(None, (self.headline, self.explanation, self.caution)))

    @property
    def tone(self) -> str:
        """Former name of ``finding``."""
        words = "Diagnosis.tone is now Diagnosis.finding; the old name goes in the next release."
        warnings.warn(words, DeprecationWarning, stacklevel=2)
        return self.finding

    def test(self, name: str) -> Test:
        """Return the test whose name starts so, such as ``"Mann-Whitney"`` or ``"Wald"``."""
        for test in self.tests:
            if test.name.startswith(name):
                return test
        known = ", ".join(repr(t.name) for t in self.tests)
        raise KeyError(f"no test is called {name!r}; there are {known}")

    def to_frame(self) -> "pd.DataFrame":
        """Return one row for each test."""
        frame = need("pandas", "data").DataFrame([dataclasses.asdict(t) for t in self.tests])
        frame = frame.rename(columns={"name": "test"}).astype({"df": "Int64"})
        return frame[["test", "statistic", "df", "p_value", "method", "note"]]

    def plot(self, axes: Any = None) -> Any:
        """Draw densities, distribution functions and labelling probability, side by side."""
        from hesitant.diagnostics._displays import EntropyDisplay

        return EntropyDisplay(self.labelled_entropy, self.blank_entropy, self.curve).plot(axes)

    def _content(self) -> Iterator[str | Table]:
        yield self.verdict
        both = ("labelled", "blank")
        rows = [[k, *(getattr(self, f"{n}_{k}") for n in ("n", "mean", "median"))] for k in both]
        words = f"Transformed entropy, logit(e / log g), of {self.family} classes fitted without"
        yield Table(("rows", "count", "mean", "median"), rows, f"{words} the pattern")
        if self.n_not_reviewed:
            yield f"{self.n_not_reviewed:,} rows that were not reviewed are in no test."
        yield Table(
            ("test", "statistic", "df", "p-value", "how", "note"),
            [
                (t.name, t.statistic, number(t.df), _p(t.p_value), t.method, _short(t.note))
                for t in self.tests
            ],
            "Chance (labels missing at random) against difficulty; whether the fitted curve has "
            "the right shape; difficulty and class, each given the other",
        )
        if self.missing_by_class:
            header = ("class", "rows", "labelled, %", "expected, %")
            words = "Share labelled by class, and that of equally difficult rows"
            shares = [
                (name, round(n), round(100 * labelled), round(100 * expected))
                for name, n, labelled, expected in (r.values() for r in self.by_class)
            ]
            yield Table(header, shares, words, rest=".by_class")
        if self.mechanisms:
            least = min(self.mechanisms.values())
            above = [(name, round(bic - least, 1)) for name, bic in self.mechanisms.items()]
            words = f"Which mechanism: the data favour {self.suggested!r}"
            yield Table(("mechanism", "BIC above the best"), above, words)
        if self.coefficients:
            listed = ", ".join(f"{k} {number(v)}" for k, v in self.coefficients.items())
            yield f"Mechanism under the full likelihood: {listed}."
        long = [f"{t.name}: {t.note}." for t in self.tests if _short(t.note) != t.note]
        yield from (f"* {note}" for note in (*long, *self.caveats))


def _short(note: str) -> str:
    return note if len(note) <= 60 else "see below"


def _p(value: float) -> float | str:
    return "< 1e-300" if value < 1e-300 else value  # none is zero
