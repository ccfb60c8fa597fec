"""An unconstrained, well-scaled chart of everything that is estimated."""

import math

import numpy as np

from hesitant._typing import FloatArray
from hesitant.families._base import standard_steps
from hesitant.likelihood import Evaluation, Likelihood, State


class Chart:
    """Class weights, family parameters and mechanism as one vector, zero at a reference.

    Each part is scaled by the root of its complete-data information there: plain gradient steps
    are EM steps. Without ``mechanism`` its parameters are profiled out.
    """

    def __init__(
        self, likelihood: Likelihood, reference: State, evaluation: Evaluation, mechanism: bool
    ) -> None:
        self.reference = reference
        self.total = likelihood.total
        pi = reference.weights
        self.log_weights = np.log(np.maximum(pi, 1e-300))
        self.weight_axes = _weight_axes(pi) / math.sqrt(self.total)
        self.family = likelihood.family.coordinates(reference.params, self.total * pi)
        if mechanism and reference.theta.size:
            bend = likelihood.mechanism.information(reference.theta, evaluation.theta_curvature)
            self.theta_axes = standard_steps(bend)
        else:
            self.theta_axes = np.zeros((reference.theta.size, 0))
        i = self.weight_axes.shape[1]
        self.splits = i, i + self.family.size
        self.size = self.splits[1] + self.theta_axes.shape[1]

    def decode(self, vector: FloatArray) -> State:
        """Return the state at a point of the chart."""
        i, j = self.splits
        # dot takes a third of the time of @ for such short vectors, as do sums in Python
        logits = self.log_weights + self.weight_axes.dot(vector[:i])
        weights = np.exp(logits - max(logits.tolist()))
        theta = self.reference.theta + self.theta_axes.dot(vector[j:])
        return State(weights / sum(weights.tolist()), self.family.decode(vector[i:j]), theta)

    def gradient(self, state: State, evaluation: Evaluation) -> FloatArray:
        """Return the objective's gradient in the chart."""
        toward = evaluation.counts - self.total * state.weights
        parts = self.family.gradient(state.params, evaluation.statistics)
        mechanism = evaluation.theta_gradient.dot(self.theta_axes)
        return np.concatenate((toward.dot(self.weight_axes), parts, mechanism))


def _weight_axes(pi: FloatArray) -> FloatArray:
    """Return directions of the logits, each of unit information, in which class weights move."""
    # The information is D (I − s sᵀ) D, with s the roots of the weights and D those on a diagonal:
    # all columns but the first of a reflection that takes s to the first axis are orthogonal to s.
    # (SciPy's null_space says as much in a line, and takes a fifteenth of a small fit.)
    keep = np.flatnonzero(pi > 1e-9)  # an empty class stays so
    s = np.sqrt(pi[keep])
    s /= math.sqrt(s @ s)
    mirror = s.copy()
    mirror[0] += 1.0
    axes = np.zeros((pi.size, keep.size - 1))
    axes[keep] = (np.eye(s.size)[:, 1:] - mirror[:, None] * (mirror[1:] / mirror[0])) / s[:, None]
    return axes


def chart_at(likelihood: Likelihood, state: State) -> tuple[Chart, Evaluation]:
    """Return the chart about a state, and the likelihood there."""
    if not likelihood.family.has_coordinates:
        family = type(likelihood.family).__name__
        raise ValueError(f"{family} has no `coordinates` method: use bootstrap() instead.")
    evaluation = likelihood.evaluate(state)
    return Chart(likelihood, state, evaluation, mechanism=True), evaluation
