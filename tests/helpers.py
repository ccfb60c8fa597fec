"""What several test modules compare with, and data that they draw."""

import csv
import dataclasses
from functools import cache
from pathlib import Path

import mpmath as mp
import numpy as np
from scipy import special
from scipy.special import expit
from scipy.stats import norm

from hesitant import MixtureClassifier
from hesitant.chart import Chart

DATA = Path(__file__).parent / "data"
COVARIANCES = ["full", "tied", "diag", "spherical"]
GAP = 2.0


def read_simulated(name):
    """Return features, labels (-1 blank) and true classes of a reference file."""
    with open(DATA / name, newline="") as file:
        rows = list(csv.DictReader(file))
    X = np.array([[float(r["x1"]), float(r["x2"])] for r in rows])
    y = np.array([-1 if r["label"] == "NA" else int(r["label"]) for r in rows])
    return X, y, np.array([int(r["true"]) for r in rows])


def finite_difference(function, x, step=1e-5):
    out = np.empty_like(x)
    for j in range(x.size):
        e = np.zeros_like(x)
        e[j] = step
        # Five points: the error is of order step to the fourth.
        near = function(x + e) - function(x - e)
        far = function(x + 2 * e) - function(x - 2 * e)
        out[j] = (8 * near - far) / (12 * step)
    return out


def assert_gradient(likelihood, state, seed=0, step=1e-3):
    chart = Chart(likelihood, state, likelihood.evaluate(state), mechanism=True)
    point = 0.3 * np.random.default_rng(seed).standard_normal(chart.size)
    there = chart.decode(point)
    analytic = chart.gradient(there, likelihood.evaluate(there))
    numeric = finite_difference(
        lambda v: likelihood.evaluate(chart.decode(v)).objective, point, step
    )
    assert np.abs(analytic).max() > 1e-2  # away from the maximum, or nothing is tested
    np.testing.assert_allclose(analytic, numeric, rtol=1e-6, atol=1e-6 * np.abs(analytic).max())


def two_classes(n=300, seed=0, p=2, dof=4.0):
    """Overlapping t classes, hard cases blank."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    X = rng.standard_t(dof, (n, p)) + 2.5 * truth[:, None]
    far = np.abs(X.sum(axis=1) / p - 1.25)
    seen = rng.random(n) < special.expit(4 * far - 2)
    return X, np.where(seen, truth, -1)


def climb(likelihood, state, steps=15):
    """Return the objective at each of some EM steps."""
    values = []
    for _ in range(steps):
        evaluation = likelihood.evaluate(state)
        values.append(evaluation.objective)
        state = likelihood.maximise(state, evaluation)
    return np.array(values)


@cache
def legendre() -> list[tuple[mp.mpf, mp.mpf]]:
    """Gauss-Legendre on [0, 1] to 40 digits: 192 nodes."""
    with mp.workdps(40):
        rule = mp.calculus.quadrature.GaussLegendre(mp.mp).calc_nodes(7, 160)
        return [((x + 1) / 2, weight / 2) for x, weight in rule]


def reference(r: float, a: float) -> tuple[mp.mpf, mp.mpf, mp.mpf]:
    """Log F, D and the ratio, by another integral than the package's.

    F(-s) = C (1 + s^2)^-a J, J = int exp(-2a h(v)) dv, h(v) = log(cosh v + tau sinh v).
    """
    with mp.workdps(40):
        r, a = mp.mpf(r), mp.mpf(a)
        s = abs(r)
        tau = s / mp.sqrt(1 + s * s)
        c = mp.exp(40 / a)
        top = mp.log((c + mp.sqrt(c * c - 1 / (1 + s * s))) / (1 + tau))
        mass = moment = mp.mpf(0)
        for x, weight in legendre():
            e = mp.exp(top * x)
            h = mp.log(((1 + tau) * e + (1 - tau) / e) / 2)
            term = weight * top * mp.exp(-2 * a * h)
            mass += term
            moment += term * h
        log_c = mp.loggamma(a + 0.5) - mp.loggamma(a) - mp.log(mp.pi) / 2
        log_f = log_c - a * mp.log1p(s * s) + mp.log(mass)
        d = mp.psi(0, a + 0.5) - mp.psi(0, a) - mp.log1p(s * s) - 2 * moment / mass
        ratio = 1 / (mp.sqrt(2 * a * (1 + s * s)) * mass)
        if r <= 0:
            return log_f, d, ratio
        f = mp.exp(log_f)
        return mp.log1p(-f), -f / (1 - f) * d, f / (1 - f) * ratio


def univariate(mechanism, theta=None, gap=GAP):
    """Two unit normals at ±gap/2 with equal weights, known exactly."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 400)
    X = rng.standard_normal((400, 1)) + gap * (truth[:, None] - 0.5)
    y = np.where(rng.random(400) < 0.5, truth, -1)
    clf = MixtureClassifier(covariance="tied", mechanism=mechanism).fit(X, y)
    return known(clf, X, [[-gap / 2], [gap / 2]], np.ones((2, 1, 1)), theta)


def known(clf, X, means, covariances, theta=None):
    """Put known parameters, with equal weights, in place of the fitted ones."""
    params = clf.family_.from_attributes(
        {"means": np.array(means, dtype=float), "covariances": np.asarray(covariances)}, X
    )
    theta = clf.state_.theta if theta is None else np.asarray(theta, dtype=float)
    weights = np.full(len(means), 1 / len(means))
    state = dataclasses.replace(clf.state_, weights=weights, params=params, theta=theta)
    mechanism = clf.mechanism_.fitted(theta, 0.5)
    clf._publish(dataclasses.replace(clf.fitted_, state=state, mechanism=mechanism))
    return clf


def quadrature(beta=None, rate=0.5, gap=GAP):
    """Information of (logit π, μ1, μ2, log σ) by numerical integration, in three ways."""
    x = np.linspace(
        -9 - gap / 2, 9 + gap / 2, 4001
    )  # the integrands are smooth and vanish at both ends
    z = x[:, None] - np.array([-gap / 2, gap / 2])
    f = 0.5 * norm.pdf(z)
    density = f.sum(axis=1)
    tau = f / density[:, None]
    scores = np.zeros((x.size, 2, 4))
    scores[:, :, 0] = [-0.5, 0.5]
    for h in range(2):
        scores[:, h, 1 + h] = z[:, h]
        scores[:, h, 3] = z[:, h] ** 2 - 1
    mean = np.einsum("ih,ihk->ik", tau, scores)
    centred = scores - mean[:, None]
    e = -(tau * np.log(tau)).sum(axis=1)
    p = np.full(x.size, rate) if beta is None else expit(beta[0] + beta[1] * e)
    weight = density * (x[1] - x[0])
    features = np.einsum("i,ik,il->kl", weight, mean, mean)
    label = np.einsum("i,ih,ihk,ihl->kl", weight, tau, centred, centred)
    seen = np.einsum("i,ih,ihk,ihl->kl", weight * p, tau, centred, centred)
    out = {"complete": features + label, "ignorance": features + seen, "full": features + seen}
    if beta is not None:
        du = -tau * (np.log(tau) + e[:, None])
        move = np.einsum("ih,ihk->ik", du, scores)
        d = np.column_stack((beta[1] * move, np.ones(x.size), e))
        pattern = np.einsum("i,ik,il->kl", weight * p * (1 - p), d, d)
        A, B, D = pattern[:4, :4], pattern[:4, 4:], pattern[4:, 4:]
        out["full"] = out["full"] + A - B @ np.linalg.solve(D, B.T)
    return out


def exact_excess(info, gap=GAP):
    """¼ f(0) Var(δD(0)) / |D'(0)|: the boundary is one point."""
    # D(x) = logit π + log f2 − log f1, and at x = 0 both means move it by −gap/2.
    slope = np.array([1.0, -gap / 2, -gap / 2, 0.0])
    return norm.pdf(gap / 2) / (4 * gap) * slope @ np.linalg.solve(info, slope)


def ring(n, seed):
    """Return two classes that are no Gaussians: a heap, and a ring around part of it."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    angle, radius = rng.uniform(0, 2 * np.pi, n), np.where(truth == 1, 3.0, 0.0)
    X = radius[:, None] * np.column_stack((np.cos(angle), np.sin(angle)))
    return rng, X + rng.standard_normal((n, 2)), truth
