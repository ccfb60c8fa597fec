"""The labelling probability as the data show it: a kernel regression without any mechanism."""

import dataclasses
from numbers import Real

import numpy as np
from scipy.ndimage import gaussian_filter1d
from scipy.stats import norm, rankdata

from hesitant._typing import BoolArray, FloatArray, IntArray

BINS = 501
POINTS = 201


@dataclasses.dataclass(frozen=True)
class LabellingCurve:
    """Labelling probability against transformed entropy.

    Attributes
    ----------
    grid : array
        Transformed entropies.
    probability, lower, upper : arrays
        Nadaraya-Watson estimate and pointwise band.
    fitted : array or None
        The fitted mechanism's probabilities, smoothed in the same way.
    bandwidth : float
        Standard deviation of the kernel, as a share of the rows.
    bandwidth_rule : str
    level : float
        Confidence of the band.
    """

    grid: FloatArray
    probability: FloatArray
    lower: FloatArray
    upper: FloatArray
    fitted: FloatArray | None
    bandwidth: float
    bandwidth_rule: str
    level: float


def labelling_curve(
    t: FloatArray,
    labelled: BoolArray,
    *,
    fitted: FloatArray | None = None,
    bandwidth: float | str = "cv",
    level: float = 0.95,
) -> LabellingCurve:
    """Estimate the probability of a label against transformed entropy.

    Nadaraya-Watson with a Gaussian kernel on the ranks of the entropies, so that the kernel is
    narrow where rows are dense (mostly where the curve is steep) and wide in the long tail of
    certain rows, where one fixed width would chase single rows. The bandwidth is the one of 25
    with the largest leave-one-out log-likelihood.

    The band at a point is Wilson's interval for a share among as many rows as the kernel there is
    worth, ``(ΣK)² / ΣK²``. It shows the noise, not the smoothing's own bias, so the fitted
    mechanism is smoothed likewise before the two are compared.

    Parameters
    ----------
    t : array of shape (n,)
        Transformed entropies.
    labelled : boolean array of shape (n,)
    fitted : array of shape (n,), optional
        Labelling probabilities of the rows under a fitted mechanism.
    bandwidth : "cv", "silverman" or float, default="cv"
        The rule, or the kernel's standard deviation as a share of the rows (0 to 1).
    level : float, default=0.95

    Returns
    -------
    LabellingCurve
    """
    t, labelled = np.asarray(t, float), np.asarray(labelled, bool)
    share = (rankdata(t) - 0.5) / t.size
    place = np.rint(share * (BINS - 1)).astype(np.int64)
    rows, labels = _counts(place), _counts(place, labelled.astype(float))
    rule, h = _bandwidth(bandwidth, rows, labels)
    sigma = h * (BINS - 1)
    # K² is a Gaussian too, narrower by √2.
    squares = _smooth(rows, sigma / np.sqrt(2)) / (2 * sigma * np.sqrt(np.pi))
    near = squares > 1e-3 * squares.max()  # ties leave ranks without rows: bridge the gap
    mass = _smooth(rows, sigma)[near]
    p = np.clip(_smooth(labels, sigma)[near] / mass, 0.0, 1.0)
    lower, upper = _wilson(p, mass**2 / squares[near], level)
    mean = None if fitted is None else _smooth(_counts(place, fitted), sigma)[near] / mass
    grid = np.linspace(*shown_range(t), POINTS)
    order = np.argsort(t)
    where = np.interp(grid, t[order], share[order]) * (BINS - 1)
    bins = np.flatnonzero(near)

    def at_grid(curve: FloatArray) -> FloatArray:
        return np.interp(where, bins, curve)

    smoothed = None if mean is None else at_grid(mean)
    curves = at_grid(p), at_grid(lower), at_grid(upper)
    return LabellingCurve(grid, *curves, smoothed, h, rule, level)


def shown_range(t: FloatArray) -> tuple[float, float]:
    """Return the range of a picture; a long tail of certain rows is cut at the left."""
    first, third = np.quantile(t, [0.25, 0.75])
    low = max(t.min(), first - 3 * (third - first), np.quantile(t, 0.002))
    return float(low), float(max(t.max(), low + 1e-9))


def check_bandwidth(given: float | str) -> None:
    """Raise unless this is a rule, or a share of the rows."""
    rule = isinstance(given, str) and given in ("cv", "silverman")
    share = isinstance(given, Real) and not isinstance(given, bool | np.bool_) and 0 < given <= 1
    if not (rule or share):
        raise ValueError(
            f"bandwidth={given!r}: give 'cv', 'silverman' or a number above 0 and up to 1, the "
            "kernel's width as a share of the rows."
        )


def _bandwidth(given: float | str, rows: FloatArray, labels: FloatArray) -> tuple[str, float]:
    check_bandwidth(given)
    if given == "cv":
        return "leave-one-out likelihood", _cross_validated(rows, labels)
    if given == "silverman":
        return "Silverman", float(0.9 * np.sqrt(1 / 12) * rows.sum() ** -0.2)  # ranks are uniform
    return "given", float(given)


def _counts(place: IntArray, weight: FloatArray | None = None) -> FloatArray:
    """Gather rows into bins: a sum over rows is then one over bins, however many rows."""
    return np.bincount(place, weights=weight, minlength=BINS).astype(float)


def _smooth(values: FloatArray, sigma: float) -> FloatArray:
    out: FloatArray = gaussian_filter1d(values, sigma, mode="constant", truncate=4.0)
    return out


def _cross_validated(rows: FloatArray, labels: FloatArray) -> float:
    """Return the bandwidth under which each row is best foretold by all the others."""
    n = rows.sum()
    rate = labels.sum() / n
    point = np.zeros(BINS)
    point[BINS // 2] = 1.0

    def left_out(h: float) -> float:
        sigma = h * (BINS - 1)
        own = _smooth(point, sigma).max()
        mass, hits = _smooth(rows, sigma), _smooth(labels, sigma)
        # Half a row at the overall rate: a lone row must not be foretold with certainty.
        prior = 0.5 * own
        for_label = (hits - own + prior * rate) / (mass - own + prior)
        for_blank = (hits + prior * rate) / (mass - own + prior)
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = np.where(labels > 0, labels * np.log(for_label), 0.0)
            gain += np.where(rows > labels, (rows - labels) * np.log1p(-for_blank), 0.0)
        return float(gain.sum())

    candidates = np.geomspace(max(5 / n, 2 / BINS), 0.5, 25)
    return float(candidates[np.argmax([left_out(h) for h in candidates])])


def _wilson(p: FloatArray, n: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    z = float(norm.ppf(0.5 + level / 2))
    center = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return np.maximum(center - half, 0.0), np.minimum(center + half, 1.0)
