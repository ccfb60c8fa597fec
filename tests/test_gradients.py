"""Analytic gradients against finite differences: every structure, mechanism and likelihood."""

import numpy as np
import pytest

from helpers import assert_gradient
from hesitant.families import SkewT, StudentT
from hesitant.labels import encode
from hesitant.mechanisms import (
    ArandaOrdaz,
    ClassMechanism,
    EntropyClassMechanism,
    EntropyMechanism,
    Functions,
    Ignorable,
    Log,
    Mechanism,
    MixedMechanism,
    Polynomial,
    Spline,
    row_term,
)
from hesitant.uncertainty import Margin, Renyi, Shannon, SquaredLogOdds

MECHANISMS = {
    "ignorable": Ignorable(),
    "entropy": EntropyMechanism(),
    "order 0.5": EntropyMechanism(order=0.5),
    "order 2": EntropyMechanism(order=2.0),
    "order near 1": EntropyMechanism(order=1.0 + 1e-9),
    "min-entropy": EntropyMechanism(order=np.inf),
    "polynomial": EntropyMechanism(basis=Polynomial(3)),
    "spline": EntropyMechanism(basis=Spline(5)),
    "log": EntropyMechanism(basis=Log()),
    "logit": EntropyMechanism(basis="logit"),
    "functions": EntropyMechanism(
        basis=Functions([np.sin, np.cosh], [np.cos, np.sinh]), uncertainty=Renyi(3)
    ),
    "margin": EntropyMechanism(uncertainty=Margin()),
    "mixed": MixedMechanism(),
    "mixed spline": MixedMechanism(basis="spline"),
    "class": ClassMechanism(),
    "entropy+class": EntropyClassMechanism(),
    "spline+class": EntropyClassMechanism(basis="spline", order=2.0),
    "tilted": EntropyClassMechanism(tilt=[-1.0, 0.5, 2.0]),
    "Aranda-Ordaz": EntropyMechanism(link="aranda_ordaz"),
    "Aranda-Ordaz 0.3": EntropyMechanism(link=ArandaOrdaz(0.3), basis="log"),
    "Aranda-Ordaz+class": EntropyClassMechanism(link="aranda_ordaz"),
}
KINKED = {"min-entropy", "margin"}


@pytest.mark.parametrize("covariance", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("name", MECHANISMS)
def test_gradient(three_classes, build, covariance, name):
    X, y = three_classes
    codes = encode(y).codes
    rng = np.random.default_rng(3)
    weight = rng.uniform(0.2, 2.0, len(X))
    reviewed = rng.random(len(X)) < 0.8
    likelihood, state = build(
        X, codes, MECHANISMS[name], covariance=covariance, weight=weight, reviewed=reviewed
    )
    # Some measures have a kink where two classes tie: keep the differences on one side of it.
    assert_gradient(likelihood, state, step=1e-5 if name in KINKED else 1e-3)


@pytest.mark.parametrize("name", ["ignorable", "entropy", "entropy+class"])
@pytest.mark.parametrize("alpha", [0.0, 0.2, 0.5, 1.0])
def test_gradient_fractional(three_classes, build, alpha, name):
    X, y = three_classes
    codes = encode(y).codes
    assert_gradient(*build(X, codes, MECHANISMS[name], alpha=alpha))


@pytest.mark.parametrize("family", [StudentT(), SkewT()], ids=["t", "skew-t"])
@pytest.mark.parametrize("name", ["class", "entropy+class", "Aranda-Ordaz"])
def test_gradient_of_other_families(three_classes, build, family, name):
    X, y = three_classes
    assert_gradient(*build(X, encode(y).codes, MECHANISMS[name], family=family), step=1e-4)


def test_gradient_squared_log_odds(paper, build):
    X, y, _ = paper
    mechanism = EntropyMechanism(uncertainty=SquaredLogOdds())
    assert_gradient(*build(X, encode(y).codes, mechanism))


@pytest.mark.parametrize(
    "measure", [Shannon(), Renyi(0.3), Renyi(2), Renyi(np.inf), Margin()], ids=str
)
def test_measure_derivative(measure):
    rng = np.random.default_rng(0)
    joint = rng.normal(scale=3, size=(50, 4))

    def evaluate(joint):
        log_tau = joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)
        return measure.evaluate(log_tau, np.exp(log_tau))

    _, du = evaluate(joint)
    np.testing.assert_allclose(du.sum(axis=1), 0, atol=1e-12)
    for h in range(4):
        e = np.zeros(4)
        e[h] = 1e-5
        numeric = (evaluate(joint + e)[0] - evaluate(joint - e)[0]) / 2e-5
        np.testing.assert_allclose(du[:, h], numeric, atol=1e-8)


@pytest.mark.parametrize("name", [k for k in MECHANISMS if k != "ignorable"])
def test_mechanism_derivatives(name):
    mechanism = MECHANISMS[name].prepare(3)
    rng = np.random.default_rng(1)
    u = rng.uniform(0.01, 1.09, 60)
    labelled = rng.random(60) < 0.5
    theta = mechanism.initial() + rng.normal(size=mechanism.n_parameters)
    log_p, slope, gradient = mechanism.log_probability(u, labelled, theta)
    both = np.exp(log_p) + np.exp(mechanism.log_probability(u, ~labelled, theta)[0])
    np.testing.assert_allclose(both, 1, rtol=1e-12)
    ahead, behind = (mechanism.log_probability(u + h, labelled, theta)[0] for h in (1e-6, -1e-6))
    np.testing.assert_allclose(slope, (ahead - behind) / 2e-6, rtol=1e-5, atol=1e-6)
    for k in range(theta.size):
        e = np.zeros(theta.size)
        e[k] = 1e-6
        ahead, behind = (mechanism.log_probability(u, labelled, theta + s * e)[0] for s in (1, -1))
        np.testing.assert_allclose(gradient[..., k], (ahead - behind) / 2e-6, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", ["entropy", "spline", "log", "entropy+class", "Aranda-Ordaz"])
def test_pattern_agrees_with_the_log_probability_of_rows(name):
    # Whatever short cuts a mechanism takes, they come to what its one function says.
    mechanism = MECHANISMS[name].prepare(3)
    rng = np.random.default_rng(1)
    joint = rng.normal(scale=2, size=(60, 3))
    log_tau = joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)
    tau, weight = np.exp(log_tau), rng.uniform(0, 2, 60)
    codes = rng.integers(-1, 3, 60)
    theta = mechanism.initial() + rng.normal(size=mechanism.n_parameters)
    arguments = (codes, codes >= 0, weight, theta)
    found = mechanism.pattern(mechanism.difficulty(log_tau, tau), *arguments)
    plain = Mechanism.difficulty(mechanism, log_tau, tau)
    rows = row_term(Mechanism.evidence(mechanism, plain, codes >= 0, theta), log_tau, tau, codes)
    assert found.value == pytest.approx(weight @ rows.log_p, rel=1e-12)
    np.testing.assert_allclose(found.pull, weight[:, None] * rows.pull, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.gradient, weight @ rows.gradient, rtol=1e-9, atol=1e-10)
    assert np.linalg.eigvalsh(found.curvature)[0] > -1e-12
