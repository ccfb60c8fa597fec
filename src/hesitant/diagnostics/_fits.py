"""The two fits that a diagnosis compares, and what they say of every row."""

import dataclasses
import math
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from hesitant._typing import BoolArray, FloatArray
from hesitant.diagnostics._test import Test, skipped
from hesitant.inference._information import ObservedInformation, information_of
from hesitant.likelihood import Likelihood, log_posterior
from hesitant.rows import Block, ManyRows
from hesitant.uncertainty import Shannon, transformed_entropy

__all__ = ["MOST_PARAMETERS", "SMALLEST_GROUP", "Fits", "Measured"]

SMALLEST_GROUP = 5
MOST_PARAMETERS = 1000  # minutes of work beyond, and two tests of several


@dataclasses.dataclass(frozen=True)
class Fits:
    """The two fits that are compared, and their data.

    Attributes
    ----------
    ignorance, full : fitted MixtureClassifier
        Without and with the mechanism; ``full`` is None if there is no pattern to fit.
    rows : ManyRows
        In memory or on a cluster.
    """

    ignorance: Any
    full: Any
    rows: ManyRows

    @cached_property
    def measured(self) -> "Measured":
        """What the fits say of every row, in one pass."""
        work = partial(_measure_block, ignorance=self.ignorance, full=self.full)
        parts = self.rows.collect(work)
        return Measured(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    @property
    def seen(self) -> BoolArray:
        """Whether each reviewed row is labelled."""
        return self.measured.labelled[self.measured.reviewed]

    @property
    def weight(self) -> FloatArray:
        """Weight of each reviewed row."""
        return self.measured.weight[self.measured.reviewed]

    @property
    def falls(self) -> bool:
        """Whether the fitted chance of a label falls with difficulty, by and large."""
        if self.full is None:
            return False
        difficulty = rankdata(self.measured.entropy)
        return float((difficulty - difficulty.mean()) @ self.measured.probability) < 0

    @property
    def rows_a_parameter(self) -> float:
        """How many rows there are for each parameter of the full fit."""
        return float(self.rows.tally.n / self.full.n_parameters_) if self.full else math.inf

    @cached_property
    def information(self) -> ObservedInformation:
        """Standard errors of the full fit."""
        return information_of(self.full, self.likelihood)

    @property
    def information_so_far(self) -> ObservedInformation | None:
        """Those standard errors, if a test has asked for them."""
        return vars(self).get("information")

    @property
    def likelihood(self) -> Likelihood:
        """The full likelihood of the rows."""
        return Likelihood(self.rows, self.full.family_, self.full.mechanism_, self.full.alpha)

    def too_few(self, name: str, least: int = SMALLEST_GROUP) -> Test | None:
        """Return a skipped test if a group is too small for an asymptotic p-value."""
        counts = {"labelled": int(self.seen.sum()), "blank": int((~self.seen).sum())}
        for what, count in counts.items():
            if count < least:
                rows = f"{count} {what} row{'s' * (count != 1)}"
                return skipped(name, f"{rows}, needs {least}")
        return None

    def no_information(self, name: str) -> Test | None:
        """Return a skipped test if there is no information matrix to be had."""
        count, family = self.full.n_parameters_, self.full.family_
        if count > MOST_PARAMETERS:
            return skipped(name, f"{count:,} parameters, computed up to {MOST_PARAMETERS:,}")
        if not family.has_coordinates:
            return skipped(name, f"the family {type(family).__name__} has no `coordinates` method")
        return None


class Measured(NamedTuple):
    """What the two fits say of rows.

    Attributes
    ----------
    labelled, reviewed : boolean arrays of shape (n,)
        A row of weight zero counts as one that nobody reviewed.
    weight : array of shape (n,)
    entropy : array
        Transformed entropy of each reviewed row under the ignorance fit.
    uncertainty : array
        The mechanism's own measure of the same.
    probability : array
        Labelling probability of each reviewed row under the full fit.
    """

    labelled: BoolArray
    reviewed: BoolArray
    weight: FloatArray
    entropy: FloatArray
    uncertainty: FloatArray
    probability: FloatArray


def _measure_block(block: Block, ignorance: Any, full: Any) -> Measured:
    shown = block.review > 0
    log_tau, tau, _ = log_posterior(ignorance.family_, ignorance.state_, block.X[shown])
    e, _ = Shannon().evaluate(log_tau, tau)
    t = transformed_entropy(e, tau.shape[1])
    if full is None:
        return Measured(block.labelled, shown, block.weight, t, e, np.full(len(e), np.nan))
    u, _ = full.mechanism_.uncertainty.evaluate(log_tau, tau)
    log_tau, tau, _ = log_posterior(full.family_, full.state_, block.X[shown])
    p = full.mechanism_.probability(log_tau, tau)
    return Measured(block.labelled, shown, block.weight, t, u, p)
