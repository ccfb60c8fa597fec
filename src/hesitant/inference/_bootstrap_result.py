"""What a bootstrap found."""

import dataclasses
from numbers import Real
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.stats import norm

from hesitant._typing import FloatArray
from hesitant.checks import check_number
from hesitant.inference._estimates import Estimates
from hesitant.inference._natural import Scale

if TYPE_CHECKING:
    pass

__all__ = ["BootstrapResult", "interval_of"]


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class BootstrapResult(Estimates):
    """Estimates from rows drawn again.

    Attributes
    ----------
    kind : str
    parameters : list of str
    estimate : array of shape (k,)
        From the data themselves.
    bias, std_error, lower, upper : arrays of shape (k,)
        Mean of the replicates less the estimate, their standard deviation, and normal
        intervals (see :meth:`interval`).
    level : float
    n_replicates, n_failed, n_not_converged, n_relabelled : int
        Replicates used, those that failed and are not among them, those used although the fit
        had not settled, and those whose classes had to be matched to the original ones.
    failures : dict
        Reasons of the failures, with counts.
    remarks : list of str
    replicates : array of shape (n_replicates, k)
        NaN where a replicate has no finite value of a parameter.
    scales : list of Scale
        Where each parameter's normal interval is symmetric.
    """

    title: ClassVar[str] = "How sure are we? Bootstrap"

    columns: ClassVar[tuple[str, ...]] = ("estimate", "bias", "std_error", "lower", "upper")
    bars: ClassVar[str] = "bootstrap interval"

    kind: str
    bias: FloatArray
    n_replicates: int
    n_failed: int
    n_not_converged: int
    n_relabelled: int
    failures: dict[str, int]
    replicates: FloatArray = dataclasses.field(repr=False)
    scales: list[Scale] = dataclasses.field(repr=False)

    def interval(self, level: float = 0.95, method: str = "normal") -> FloatArray:
        """Return lower and upper bounds (k, 2) at another level, or by another method.

        Parameters
        ----------
        level : float, default=0.95
        method : {"normal", "percentile", "basic"}, default="normal"
            Standard deviations of the replicates to both sides, where estimates are closest to
            normal (logarithms of variances, logits of probabilities): steady with few
            replicates. Or percentiles of the replicates, or those reflected about the estimate.
        """
        check_number("level", level, Real, 1e-6, 1 - 1e-6)
        return interval_of(self.replicates, self.estimate, self.scales, level, method)

    def _introduction(self) -> str:
        return f"{self.n_replicates:,} {self.kind} replicates."


def interval_of(
    drawn: FloatArray, estimate: FloatArray, scales: list[Scale], level: float, method: str
) -> FloatArray:
    """Return lower and upper bounds (k, 2) from replicates (b, k)."""
    if method == "normal":
        z = norm.ppf(0.5 + level / 2)
        out = np.empty((estimate.size, 2))
        for k, scale in enumerate(scales):
            reach = z * np.nanstd(scale.forward(drawn[:, k]), ddof=1)
            middle = scale.forward(estimate[k])
            out[k] = scale.back(middle - reach), scale.back(middle + reach)
        return out
    ends: FloatArray = np.nanquantile(drawn, [0.5 - level / 2, 0.5 + level / 2], axis=0).T
    if method == "percentile":
        return ends
    if method == "basic":
        return 2 * estimate[:, None] - ends[:, ::-1]
    raise ValueError(f"method={method!r}: choose 'normal', 'percentile' or 'basic'.")
