"""Models side by side, as dots."""

import math
from typing import Any, Self

import numpy as np

from hesitant._drawing import GREY, Drawing, class_color, drawing, new_figure

__all__ = ["ComparisonDisplay"]


class ComparisonDisplay(Drawing):
    """The ranking criterion, as distance from the best, and the cross-validated log loss.

    Parameters
    ----------
    candidates : list of Candidate
        Best first.
    sort_by : str
    """

    def __init__(self, candidates: list[Any], sort_by: str) -> None:
        self.candidates = [c for c in candidates if not math.isnan(getattr(c, sort_by))]
        self.sort_by = sort_by
        self.criterion = "bic" if sort_by == "cv_log_loss" else sort_by

    def plot(self, axes: Any = None) -> Self:
        """Draw on two axes, or on a new figure."""
        y = np.arange(len(self.candidates))
        values = np.array([getattr(c, self.criterion) for c in self.candidates])
        loss = np.array([c.cv_gap for c in self.candidates])
        error = np.array([c.cv_gap_error for c in self.candidates])
        with drawing():
            if axes is None:
                self.figure_ = new_figure(8.2, 1.0 + 0.24 * max(len(y), 2))
                axes = self.figure_.subplots(1, 2, sharey=True)
            self.axes_ = np.asarray(axes, dtype=object).ravel()
            self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
            left, right = self.axes_
            best = np.nanmax(values) if self.criterion == "log_likelihood" else np.nanmin(values)
            away = np.abs(values - best)
            left.hlines(y, 0, away, color=GREY, linewidth=0.8)
            left.plot(away, y, "o", color=class_color(0), markersize=5)
            left.set_yticks(y, [c.name for c in self.candidates])
            left.set_ylim(len(y) - 0.5, -0.5)
            left.set_xlabel(f"{self.criterion.replace('_', '-').upper()}, distance from the best")
            right.errorbar(
                loss, y, xerr=error, fmt="o", color=class_color(4), markersize=5, linewidth=1
            )
            right.axvline(0, color=GREY, linewidth=0.7, linestyle=":")
            right.set_xlabel("held-out log loss,\ndistance from the best ± s.e.")
            if np.isnan(loss).all():
                right.text(0.5, 0.5, "not cross-validated", transform=right.transAxes, ha="center")
        return self
