"""The labelling probability as the data show it: a kernel regression without any mechanism."""

import dataclasses
from numbers import Real
from typing import Any

import numpy as np
from scipy.fft import dct, irfft, rfft
from scipy.special import ndtri

from hesitant._typing import BoolArray, FloatArray

BINS, POINTS = 501, 201


@dataclasses.dataclass(frozen=True)
class LabellingCurve:
    """Labelling probability against transformed entropy."""

    grid: FloatArray  #: transformed entropies
    probability: FloatArray  #: Nadaraya-Watson estimate
    lower: FloatArray  #: pointwise band
    upper: FloatArray
    fitted: FloatArray | None  #: the fitted mechanism's, smoothed in the same way
    bandwidth: float  #: standard deviation of the kernel, as a share of the rows
    bandwidth_rule: str
    level: float  #: confidence of the band


def labelling_curve(
    t: FloatArray,
    labelled: BoolArray,
    *,
    fitted: FloatArray | None = None,
    bandwidth: float | str = "cv",
    level: float = 0.95,
) -> LabellingCurve:
    """Estimate the probability of a label against transformed entropies t.

    Nadaraya-Watson with a Gaussian kernel on the ranks of the entropies, narrow where rows are
    dense and wide in the long tail of certain rows. ``bandwidth`` is its standard deviation as a
    share of the rows, or a rule: "silverman", or "cv" for the one of 25 with the largest
    leave-one-out log-likelihood. The band is Wilson's interval for as many rows as the kernel is
    worth. It shows the noise, not the smoothing's own bias, so the ``fitted`` mechanism's
    probabilities of the rows are smoothed likewise before the two are compared.
    """
    check_bandwidth(bandwidth)
    t, labelled = np.asarray(t, float), np.asarray(labelled, bool)
    share = (ranks(t) - 0.5) / t.size
    # A sum over rows is then one over bins, however many rows.
    place = np.rint(share * (BINS - 1)).astype(np.int64)
    weights = [np.ones(t.size), labelled, np.zeros(t.size) if fitted is None else fitted]
    sums = np.array([np.bincount(place, w, BINS) for w in weights])
    rule, h = "given", bandwidth
    if bandwidth == "cv":
        rule, h = "leave-one-out likelihood", _cross_validated(*sums[:2])
    elif bandwidth == "silverman":  # ranks are uniform
        rule, h = "Silverman", 0.9 * np.sqrt(1 / 12) * t.size**-0.2
    h = float(h)
    squares = _smooth(sums[0], h, power=2)
    near = squares > 1e-3 * squares.max()  # ties leave ranks without rows: bridge the gap
    mass, *means = _smooth(sums, h)[:, near]
    p, mean = np.clip(means / mass, 0.0, 1.0)
    lower, upper = wilson(p, mass**2 / squares[near], level)
    grid = np.linspace(*shown_range(t), POINTS)
    where, bins = np.interp(grid, np.sort(t), np.sort(share)) * (BINS - 1), np.flatnonzero(near)
    p, lower, upper, mean = (np.interp(where, bins, curve) for curve in (p, lower, upper, mean))
    return LabellingCurve(grid, p, lower, upper, None if fitted is None else mean, h, rule, level)


def ranks(t: FloatArray) -> FloatArray:
    """Return each value's rank, equal ones' mean, in a third of the time of SciPy's rankdata."""
    _, place, count = np.unique(t, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(count) - (count - 1) / 2)[place])


def shown_range(t: FloatArray) -> tuple[float, float]:
    """Return the range of a picture; a long tail of certain rows is cut at the left."""
    least, first, third = np.quantile(t, [0.002, 0.25, 0.75])
    low = max(t.min(), first - 3 * (third - first), least)
    return float(low), float(max(t.max(), low + 1e-9))


def check_bandwidth(given: float | str) -> None:
    """Raise unless this is a rule, or a share of the rows."""
    share = isinstance(given, Real) and not isinstance(given, bool | np.bool_) and 0 < given <= 1
    if not (share or given in ("cv", "silverman")):
        width = "a number above 0 and up to 1, the kernel's width as a share of the rows"
        raise ValueError(f"bandwidth={given!r}: give 'cv', 'silverman' or {width}.")


def _smooth(values: FloatArray, h: Any, power: int = 1) -> FloatArray:
    """Return sums over neighbouring bins, weighted by (a power of) a kernel of width h."""
    length = 1024  # a circle on which bins that are far apart stay so
    away = np.arange(length // 2 + 1) / (h * (BINS - 1))  # the other half mirrors this one
    kernel = dct(np.exp(-0.5 * power * away**2), type=1)
    return np.maximum(irfft(rfft(values, length) * kernel, length)[..., :BINS], 0.0)


def _cross_validated(rows: FloatArray, labels: FloatArray) -> float:
    n, rate = rows.sum(), labels.sum() / rows.sum()
    candidates = np.geomspace(max(5 / n, 2 / BINS), 0.5, 25)
    mass, hits = _smooth(np.stack((rows, labels))[:, None], candidates[:, None])
    # Without the row itself, whose kernel is one there, and with half a row at the overall rate: a
    # lone row must not be predicted with certainty.
    gain = np.zeros(candidates.size)
    for own, count, some in ((0, rows - labels, rows > labels), (1, labels, labels > 0)):
        chance = (hits[:, some] + rate / 2 - own) / (mass[:, some] - 0.5)
        gain += np.log(chance if own else 1 - chance) @ count[some]
    return float(candidates[gain.argmax()])


def wilson(p: Any, n: Any, level: float = 0.95) -> tuple[Any, Any]:
    """Return Wilson's interval for shares p among n rows."""
    z = float(ndtri(0.5 + level / 2))
    center = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return np.maximum(center - half, 0.0), np.minimum(center + half, 1.0)
