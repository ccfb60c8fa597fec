"""The numbers that the paper prints."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PRINTED", "Printed"]


@dataclass(frozen=True)
class Printed:
    """What the paper prints of one data set.

    Parameters
    ----------
    n_labelled, n_unlabelled : int
        Counts, from its Table 1.
    mean_labelled, mean_unlabelled : float
        Mean transformed entropy, from its Table 1.
    ks, mann_whitney : float
        Statistics of the one-sided tests, from its Table 2.
    ks_p, mann_whitney_p : float or None
        Their p-values, where they are printed as more than a bound.
    family : str
        The classes' distribution.
    """

    n_labelled: int
    n_unlabelled: int
    mean_labelled: float
    mean_unlabelled: float
    ks: float
    mann_whitney: float
    ks_p: float | None
    mann_whitney_p: float | None
    family: str

    @property
    def mann_whitney_share(self) -> float:
        """The Mann-Whitney statistic as a share of all pairs, comparable between counts."""
        return self.mann_whitney / (self.n_labelled * self.n_unlabelled)


PRINTED = {
    "cytometry": Printed(11459, 333, -5.59, -0.53, 0.783, 232996, None, None, "skew_t"),
    "cardiotocography": Printed(401, 268, -4.82, -1.92, 0.429, 23311, None, None, "skew_t"),
    "gastrointestinal": Printed(128, 24, -2.34, -0.21, 0.336, 1014, 0.0105, 0.0042, "t"),
}
