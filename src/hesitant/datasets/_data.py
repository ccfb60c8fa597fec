"""Partly labelled data: what a table of them is, a panel's agreed labels, data to play with."""

import math
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from textwrap import shorten
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_softmax
from scipy.stats import multivariate_normal, multivariate_t

from hesitant._optional import need
from hesitant._typing import AnyArray, BoolArray
from hesitant.checks import check_number, look_up
from hesitant.labels import read
from hesitant.statements import Statements
from hesitant.uncertainty import Shannon

Seed = int | np.random.Generator | np.random.SeedSequence | None
MEANS = ((0.0, 0.0), (0.0, 3.0))
COVARIANCES = (((1.0, 0.7), (0.7, 1.0)), ((1.0, 0.0), (0.0, 1.0)))

_SIMULATED = """\
{n:,} draws from {g} Gaussian classes in {p} dimensions; the chance of a label is
logit Pr = {line} x entropy, the Shannon entropy (natural logarithm) of
the true class probabilities given the features. By default the simulation of section 6 of
D. Ahfock and G. J. McLachlan, On missing label patterns in semi-supervised learning. `details` has
the true entropy and labelling probability of each row."""

_CELLS = """\
Invented: {n:,} cells with three markers on the 0 to 1023 scale of a log amplifier, in four skewed
and heavy-tailed populations. Labels are missing mostly between the populations, as after manual
gating. `details` has the entropy and the labelling probability of each cell; entropies come from
an elliptical approximation of the populations. No measurement, no person, no licence."""

_POPULATIONS = ("T cells", "B cells", "CD5+ B cells", "other")
_SHARES = np.array([0.45, 0.30, 0.10, 0.15])
_CENTRES = np.array([[690, 660, 120], [130, 140, 690], [150, 570, 650], [170, 190, 170]], float)
_SKEWS = np.array([[-95, -85, 70], [85, 110, -100], [60, -75, -80], [100, 90, 110]], float)
_SPREADS = np.array([[40, 45, 40], [40, 40, 45], [40, 40, 45], [50, 50, 45]], float)
_FREEDOM = 6
_MEAN_HEAVY = math.sqrt(_FREEDOM / 2) * math.gamma((_FREEDOM - 1) / 2) / math.gamma(_FREEDOM / 2)


@dataclass(frozen=True, eq=False, repr=False)
class PartlyLabelled:
    """A table of features with labels, some of which were left blank.

    Labels are the class's own value, or None where it was left blank, as ``fit`` takes them.
    ``truth`` is the class of every row, where it is known; ``reviewed`` is False where nobody was
    shown the case, or None if every case was shown; ``details`` has what else is known.

    >>> from hesitant.datasets import simulate
    >>> simulate(n=100, random_state=1).class_counts
    {0: 29, 1: 31}
    """

    name: str
    features: Any
    labels: Any
    feature_names: tuple[str, ...]
    description: str
    truth: Any = None
    reviewed: BoolArray | None = None
    details: Any = field(default_factory=dict)

    @property
    def labelled(self) -> BoolArray:
        """True where a label was given."""
        return np.array([value is not None for value in np.asarray(self.labels)], dtype=bool)

    @property
    def n_labelled(self) -> int:
        """How many rows carry a label."""
        return int(self.labelled.sum())

    @property
    def n_blank(self) -> int:
        """How many rows were left blank."""
        return len(self) - self.n_labelled

    @property
    def class_counts(self) -> dict[Any, int]:
        """How many rows carry each label, in the order of the labels."""
        values, counts = np.unique(np.asarray(self.labels)[self.labelled], return_counts=True)
        return dict(zip(values.tolist(), counts.tolist(), strict=True))

    def to_frame(self, label: str = "label") -> Any:
        """Return features and, in a column named ``label``, labels, as one would write a file."""
        pandas = need("pandas")
        if label in self.feature_names:
            raise ValueError(f"label={label!r} is also the name of a feature; choose another name")
        frame = pandas.DataFrame(self.features, columns=list(self.feature_names))
        labels = pandas.Series(np.asarray(self.labels), index=frame.index, dtype=object)
        if all(isinstance(c, int | np.integer) for c in labels[self.labelled]):
            labels = labels.astype("Int64")  # a file then says 0 and 1, not 0.0 and 1.0
        return frame.assign(**{label: labels})

    def __len__(self) -> int:
        return len(np.asarray(self.labels))

    def __repr__(self) -> str:
        n, blank, names = len(self), self.n_blank, shorten(", ".join(self.feature_names), 80)
        classes = ", ".join(f"{value} ({count:,})" for value, count in self.class_counts.items())
        width, truth = len(f"{n:,}"), "unknown" if self.truth is None else "known"
        lines = [
            f"PartlyLabelled: {self.name}",
            f"{n:,} rows, {len(self.feature_names)} features: {names}",
            f"labelled {n - blank:{width},}: {shorten(classes, 80)}",
            f"blank    {blank:{width},} ({100 * blank / max(n, 1):.1f} %)",
        ]
        if self.reviewed is not None:
            lines.append(f"shown    {self.reviewed.sum():{width},}: the rest never reviewed")
        return "\n  ".join([*lines, f"truth    {truth}"])


def consensus(
    opinions: Any, at_least: int | float = 6, missing: Any = None, *, ties: str = "raise"
) -> Any:
    """Label each case that enough experts judge alike, and leave the others blank (None).

    ``opinions`` has a row a case and a column an expert; None, NaN, NA and ``missing`` are no
    opinion. ``at_least`` is the number of experts who must agree, or a share (a float up to 1) of
    the whole panel, those without an opinion included. Where it asks for half the panel or less
    two classes may reach it with equally many: ``ties`` is "raise", or "blank" to leave such cases
    blank. A DataFrame gives a Series with its index, anything else an array; both of objects.

    >>> from hesitant.datasets import consensus
    >>> consensus([["benign", "benign", "benign"],
    ...            ["benign", "malign", "malign"],
    ...            ["malign", None, "malign"]], at_least=2/3)
    array(['benign', 'malign', 'malign'], dtype=object)
    """
    look_up("ties", ties, dict.fromkeys(("raise", "blank")))
    table, _ = read(opinions, "opinions")
    if table.ndim != 2:
        raise ValueError(f"opinions has shape {table.shape}: rows are cases, columns are readers")
    said, panel = Statements.from_labels(table, missing_label=missing), table.shape[1]
    whole, real = isinstance(at_least, Integral), isinstance(at_least, Real)
    if isinstance(at_least, bool) or not (real and 0 < at_least <= (panel if whole else 1)):
        number = f"give a whole number of experts from 1 to {panel}"
        raise ValueError(f"at_least={at_least!r}: {number}, or a share of them (a float up to 1)")
    # 0.7 of 10 experts are 7, although 0.7 * 10 may come out above it.
    threshold = at_least if whole else max(1, math.ceil(at_least * panel - 1e-9))
    votes = np.pad(said.votes(), ((0, 0), (0, 1)))  # the last stands for no class
    most = votes.max(axis=1)
    reached = most >= threshold
    tied = reached & ((votes == most[:, None]).sum(axis=1) > 1)
    framed = hasattr(opinions, "iloc")  # of pandas
    index = opinions.index if framed else range(len(votes))
    if ties == "raise" and tied.any():
        row = int(tied.argmax())
        first = said.classes.tolist()[votes[row].argmax()]
        told = f"at_least={at_least!r} leaves {tied.sum()} cases tied, such as row {index[row]!r}"
        told += f" ({most[row]:.0f} experts each for {first!r} and another class)"
        raise ValueError(f"{told}: give at_least={panel // 2 + 1}, or ties='blank'")
    labels = said.labels(np.where(reached & ~tied, votes.argmax(axis=1), -1))
    return need("pandas").Series(labels, index=index, dtype=object) if framed else labels


def simulate(
    n: int = 500,
    *,
    means: ArrayLike = MEANS,
    covariances: ArrayLike = COVARIANCES,
    weights: ArrayLike | None = None,
    intercept: float = 1.0,
    slope: float = -5.0,
    reviewed_share: float = 1.0,
    random_state: Seed = None,
) -> PartlyLabelled:
    """Draw Gaussian classes whose labels go missing where they overlap: the paper's simulation.

    ``means`` (g, p), ``covariances`` (g, p, p) and ``weights`` (g,) are those of the classes: by
    default (0, 0) with ((1, .7), (.7, 1)), and (0, 3) with the identity, equally weighted. A row
    is shown to the expert with probability ``reviewed_share``, and then labelled with logit
    Pr(labelled) = intercept + slope · entropy. ``random_state`` is anything that
    ``numpy.random.default_rng`` takes; an integer makes the draw repeatable.

    >>> from hesitant.datasets import simulate
    >>> data = simulate(n=500, random_state=0)
    >>> data.features.shape, data.labels[:4]
    ((500, 2), array([1, 0, None, 0], dtype=object))
    """
    check_number("n", n, Integral, 1)
    check_number("reviewed_share", reviewed_share, Real, 1e-6, 1)
    mu, sigma = np.asarray(means, dtype=float), np.asarray(covariances, dtype=float)
    if mu.ndim != 2:
        raise ValueError(f"means has shape {mu.shape}; give one row per class")
    g, p = mu.shape
    if sigma.shape != (g, p, p):
        raise ValueError(f"covariances has shape {sigma.shape}; the means need ({g}, {p}, {p})")
    if not np.allclose(sigma, sigma.swapaxes(1, 2)) or np.linalg.eigvalsh(sigma).min() <= 0:
        raise ValueError("covariances are not all symmetric and positive definite")
    pi = np.full(g, 1 / g) if weights is None else np.asarray(weights, dtype=float)
    if pi.shape != (g,) or not (pi > 0).all() or not np.isclose(pi.sum(), 1):
        raise ValueError(f"weights={weights!r} must be {g} positive numbers that sum to 1")
    rng, pi = np.random.default_rng(random_state), pi / pi.sum()
    truth = rng.choice(g, size=n, p=pi)
    roots, noise = np.linalg.cholesky(sigma), rng.standard_normal((n, p))
    X = mu[truth] + np.einsum("nij,nj->ni", roots[truth], noise)
    line = f"{intercept:g} {'-' if slope < 0 else '+'} {abs(slope):g}"
    names, about = tuple(f"x{j}" for j in range(p)), _SIMULATED.format(n=n, g=g, p=p, line=line)
    made = PartlyLabelled("simulation", X, truth, names, about, truth)
    classes = [multivariate_normal(*own) for own in zip(mu, sigma, strict=True)]
    return _withhold(made, log_posterior(X, classes, pi), (intercept, slope), rng, reviewed_share)


def make_cytometry_like(n: int = 2000, random_state: Seed = None) -> PartlyLabelled:
    """Invent n cells of four populations, most of those between the populations left ungated.

    Each population is a skew-t: a Gaussian pushed one way by the absolute value of another, both
    divided by the root of a common gamma variable.

    >>> from hesitant.datasets import make_cytometry_like
    >>> make_cytometry_like(n=1000, random_state=0).n_blank
    135
    """
    check_number("n", n, Integral, 1)
    rng = np.random.default_rng(random_state)
    truth = rng.choice(len(_SHARES), size=n, p=_SHARES)
    heavy = np.sqrt(_FREEDOM / 2 / rng.gamma(_FREEDOM / 2, size=n))[:, None]
    pushed = _SKEWS[truth] * np.abs(rng.standard_normal(n))[:, None]
    noise = _SPREADS[truth] * rng.standard_normal((n, 3))
    X = np.clip(_CENTRES[truth] + heavy * (pushed + noise), 0, 1023)
    # A t with the mean and covariance of each population stands in for its skew-t.
    means, populations = _CENTRES + np.sqrt(2 / np.pi) * _MEAN_HEAVY * _SKEWS, []
    for mean, skew, spread in zip(means, _SKEWS, _SPREADS, strict=True):
        scatter = np.diag(spread**2) + (1 - 2 / np.pi) * np.outer(skew, skew)
        populations.append(multivariate_t(mean, scatter, _FREEDOM))
    classes, names = np.array(_POPULATIONS, dtype=object)[truth], ("CD3", "CD5", "CD19")
    made = PartlyLabelled("cytometry-like", X, classes, names, _CELLS.format(n=n), classes)
    return _withhold(made, log_posterior(X, populations, _SHARES), (4, -9), rng)


def log_posterior(X: AnyArray, classes: Any, weights: Any) -> AnyArray:
    """Return the log class probabilities (n, g) of rows, of weighted distributions of SciPy."""
    scores = np.column_stack([own.logpdf(X) for own in classes]) + np.log(weights)
    return np.asarray(log_softmax(scores, axis=1))


def _withhold(
    made: PartlyLabelled, logs: AnyArray, line: tuple[float, float], rng: Any, share: float = 1.0
) -> PartlyLabelled:
    """Leave labels out by a line in the entropy of probabilities with these logarithms."""
    entropy = np.maximum(Shannon().evaluate(logs, np.exp(logs))[0], 0.0)
    chance = expit(line[0] + line[1] * entropy)
    given = rng.random(len(logs)) < chance
    reviewed = None if share == 1 else rng.random(len(logs)) < share
    labels = np.where(given if reviewed is None else given & reviewed, made.truth, None)
    details = {"entropy": entropy, "labelling_probability": chance}
    return replace(made, labels=labels, reviewed=reviewed, details=details)
