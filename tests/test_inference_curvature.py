"""Curvature of the likelihood: against its value, its gradient, and where there is none."""

import math
import warnings

import numpy as np
import pytest

from hesitant import FitWarning, MixtureClassifier
from hesitant.datasets import simulate
from hesitant.families import StudentT
from hesitant.inference import information
from hesitant.inference._scores import axes_at, class_scores, curvature
from hesitant.likelihood import log_posterior
from hesitant.mechanisms import EntropyMechanism, Polynomial


@pytest.fixture(scope="module")
def two():
    """The paper's simulation: X, and y with -1 for a blank."""
    data = simulate(n=500, random_state=0)
    return data.features, np.where(data.labelled, data.truth, -1)


@pytest.mark.parametrize("family", ["t", "skew_t", "skew_normal"])
def test_curvature_is_that_of_the_value(three_classes, family):
    """Second differences of the value itself, in the chart: no analytic gradient involved."""
    X, y = three_classes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        clf = MixtureClassifier(family, covariance="tied").fit(X, y)
    rows = clf.check(X, y)
    likelihood = clf.fitted_.likelihood(rows)
    axes, evaluation = axes_at(clf.fitted_, rows)
    total, _, _ = curvature(clf.fitted_, rows, axes, evaluation)
    chart = axes.chart

    def value(v):
        return likelihood.evaluate(chart.decode(v)).objective

    rng = np.random.default_rng(0)
    for _ in range(5):
        d = rng.standard_normal(chart.size)
        d *= 0.01 / np.linalg.norm(d)
        middle = evaluation.objective
        expected = (2 * middle - value(d) - value(-d)) / 0.01**2
        assert d @ total @ d / 0.01**2 == pytest.approx(expected, rel=5e-3)


MECHANISMS = {
    "none": None,
    "entropy": "entropy",
    "spline": EntropyMechanism(basis="spline"),
    "order 2": EntropyMechanism(order=2, basis=Polynomial(2)),
}


@pytest.mark.parametrize(
    ("family", "mechanism"),
    [
        *(("gaussian", name) for name in MECHANISMS),
        *((family, "entropy") for family in (StudentT(tied_dof=True), "t", "skew_normal")),
    ],
)
@pytest.mark.parametrize("covariance", ["full", "tied", "diag", "spherical"])
def test_curvature_is_that_of_the_gradient(three_classes, family, covariance, mechanism):
    """Two passes for every axis, the long way round; weights and reviewed rows included."""
    X, y = three_classes
    rng = np.random.default_rng(0)
    rows = {"sample_weight": rng.integers(1, 4, len(X)), "reviewed": rng.random(len(X)) < 0.8}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        clf = MixtureClassifier(family, covariance=covariance, mechanism=MECHANISMS[mechanism])
        clf.fit(X, y, **rows)
    rows = clf.check(X, y, **rows)
    likelihood = clf.fitted_.likelihood(rows)
    axes, evaluation = axes_at(clf.fitted_, rows)
    total, _, _ = curvature(clf.fitted_, rows, axes, evaluation)
    chart = axes.chart
    expected = np.empty_like(total)
    for axis, step in enumerate(1e-3 * np.eye(chart.size)):
        ahead, behind = (chart.decode(v) for v in (step, -step))
        rise = chart.gradient(ahead, likelihood.evaluate(ahead))
        rise -= chart.gradient(behind, likelihood.evaluate(behind))
        expected[axis] = -rise / 2e-3
    np.testing.assert_allclose(total, (expected + expected.T) / 2, atol=1e-5 * np.abs(total).max())


def test_axes_know_their_classes(three_classes):
    X, y = three_classes
    own = MixtureClassifier().fit(X, y)
    axes, _ = axes_at(own.fitted_, own.fit_rows)
    p = X.shape[1]
    assert axes.moves[:2].all()  # weights
    assert (axes.moves[2:].sum(axis=1) == 1).all()
    assert len(axes.together) == 2 + p + p * (p + 1) // 2
    assert sorted(np.concatenate(axes.together)) == list(range(axes.size))
    tied = MixtureClassifier(covariance="tied").fit(X, y)
    axes, _ = axes_at(tied.fitted_, tied.fit_rows)
    assert (axes.moves.sum(axis=1) == 3).sum() == 2 + p * (p + 1) // 2


@pytest.mark.filterwarnings("ignore::hesitant.FitWarning")
def test_standard_errors_take_a_few_passes(three_classes, monkeypatch):
    X, y = three_classes
    clf = MixtureClassifier("t").fit(X, y)
    passes = []
    total = type(clf.fit_rows).sum

    def counted(self, function, *extra):
        passes.append(function)
        return total(self, function, *extra)

    monkeypatch.setattr(type(clf.fit_rows), "sum", counted)
    information(clf)
    assert len(passes) <= 3


@pytest.mark.parametrize(("seed", "kink"), [(0, False), (2, True)])
def test_a_kink_has_no_standard_error(seed, kink):
    """Where a row sits at the ceiling of a logit basis, no curvature measures the likelihood."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 3, 300)
    X = rng.standard_normal((300, 3)) + np.array([[0, 0, 0], [2, 0, 1], [0, 2, -1]])[z]
    y = np.where(rng.random(300) < 0.6, z, -1)
    logit = EntropyMechanism(basis="logit")
    clf = MixtureClassifier(covariance="tied", mechanism=logit).fit(X, y)
    assert (clf.entropy(X).max() / math.log(3) > 1 - 1e-8) == kink
    assert any("kink" in remark for remark in information(clf).remarks) == kink


def test_row_scores_add_up_to_the_gradient(two):
    X, y = two
    with pytest.warns(FitWarning, match="converge"):
        clf = MixtureClassifier(max_iter=3, tol=0).fit(X[:200], y[:200])  # far from the top
    axes, evaluation = axes_at(clf.fitted_, clf.check(X, y))
    gradient = axes.chart.gradient(axes.chart.reference, evaluation)
    scores = class_scores(axes, X)
    log_tau, tau, _ = log_posterior(clf.family_, clf.state_, X)
    u, du = clf.mechanism_.uncertainty.evaluate(log_tau, tau)
    _, slope, _ = clf.mechanism_.log_probability(u, y >= 0, clf.state_.theta)
    given = np.where((y >= 0)[:, None], np.eye(2)[y], tau)
    total = np.zeros(axes.size)
    for own, s, w in zip(axes.of_class, scores, (given + slope[:, None] * du).T, strict=True):
        total[own] += s @ w
    np.testing.assert_allclose(total, gradient[: axes.size], rtol=1e-4, atol=1e-3)
    assert np.abs(gradient).max() > 1
