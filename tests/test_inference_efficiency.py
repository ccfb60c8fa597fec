"""What the pattern buys: closed forms, quadrature, and brute-force simulation."""

import dataclasses
import json

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from hesitant import MixtureClassifier
from hesitant.datasets import simulate
from hesitant.families import StudentT
from hesitant.inference import efficiency

GAP = 2.0


def univariate(mechanism, theta=None, gap=GAP):
    """Two unit normals at ±gap/2 with equal weights, known exactly."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 400)
    X = rng.standard_normal((400, 1)) + gap * (truth[:, None] - 0.5)
    y = np.where(rng.random(400) < 0.5, truth, -1)
    clf = MixtureClassifier(covariance="tied", mechanism=mechanism).fit(X, y)
    params = clf.family_.from_attributes(
        {"means": np.array([[-gap / 2], [gap / 2]]), "covariances": np.ones((2, 1, 1))}, X
    )
    theta = clf.state_.theta if theta is None else np.asarray(theta, dtype=float)
    clf.state_ = dataclasses.replace(
        clf.state_, weights=np.array([0.5, 0.5]), params=params, theta=theta
    )
    clf.weights_ = clf.state_.weights
    clf.mechanism_ = clf.mechanism_.fitted(theta, 0.5)
    return clf


def quadrature(beta=None, rate=0.5, gap=GAP):
    """Information of (logit π, μ1, μ2, log σ) by numerical integration, in three ways."""
    x = np.linspace(-9, 9, 4001)  # the integrands are smooth and vanish at both ends
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


def test_complete_labels_have_a_closed_form():
    clf = univariate(None)
    found = efficiency(clf, n_rows=1000, n_draws=100_000, random_state=0)
    # Var(δD(0)) = 4/n for the weight, 2/n · gap²/4 for each mean, nothing for the variance.
    expected = norm.pdf(GAP / 2) * (4 + GAP**2) / (4 * GAP) / 1000
    assert found.excess_error["complete"] == pytest.approx(expected, rel=0.04)
    assert found.bayes_error == pytest.approx(norm.cdf(-GAP / 2), rel=0.01)
    error = found.monte_carlo_error
    assert abs(found.bayes_error - norm.cdf(-GAP / 2)) < 4 * error["bayes_error"]
    assert abs(found.excess_error["complete"] - expected) < 4 * error["excess complete"]
    assert dict(zip(found.parameters, found.std_errors["complete"], strict=True))[
        "mean[0, x0]"
    ] == pytest.approx(np.sqrt(2 / 1000), rel=0.01)
    assert exact_excess(quadrature()["complete"]) == pytest.approx(1000 * expected, rel=1e-6)


@pytest.mark.parametrize("beta", [None, (1.0, -3.0)])
def test_against_quadrature(beta):
    clf = univariate(None if beta is None else "entropy", beta)
    found = efficiency(clf, n_rows=1, n_draws=100_000, random_state=1)
    known = quadrature(beta)
    for way, info in known.items():
        assert found.excess_error[way] == pytest.approx(exact_excess(info), rel=0.04)
        V = np.linalg.inv(info)
        errors = dict(zip(found.parameters, found.std_errors[way], strict=True))
        assert errors["mean[0, x0]"] == pytest.approx(np.sqrt(V[1, 1]), rel=0.02)
        assert errors["mean[1, x0]"] == pytest.approx(np.sqrt(V[2, 2]), rel=0.02)
        assert errors["covariance[x0, x0]"] == pytest.approx(2 * np.sqrt(V[3, 3]), rel=0.02)
        assert errors["weight[0]"] == pytest.approx(np.sqrt(V[0, 0]) / 4, rel=0.02)
    for one, other in [("ignorance", "complete"), ("full", "ignorance")]:
        ratio = np.linalg.det(known[one]) / np.linalg.det(known[other])
        pair = f"{one} / {other}"
        assert found.parameter_efficiency[pair] == pytest.approx(ratio**0.25, rel=0.01)
        ratio = exact_excess(known[other]) / exact_excess(known[one])
        assert found.error_efficiency[pair] == pytest.approx(ratio, rel=0.02)


def test_labels_worth_by_hand():
    """Solve for the share of blanks with the quadrature's matrices."""
    beta = (1.0, -3.0)
    clf = univariate("entropy", beta)
    found = efficiency(clf, n_rows=1000, n_draws=100_000, random_state=2)
    known = quadrature(beta)
    blanks = 1000 * (1 - found.share_labelled)

    def excess(share):
        return exact_excess(known["ignorance"] + share * (known["complete"] - known["ignorance"]))

    shares = np.linspace(0, 1, 2001)
    values = np.array([excess(s) for s in shares])
    target = exact_excess(known["full"])
    if values[-1] > target:
        assert found.worth_all["error"]
    else:
        share = shares[np.argmin(np.abs(values - target))]
        assert found.labels_worth["error"] == pytest.approx(share * blanks, rel=0.05)
    assert 0 < found.labels_worth["parameters"] <= blanks + 1e-9


def test_brute_force_excess_error():
    """Fit many simulated data sets and measure the fitted rules' error rates exactly."""
    beta, n, gap = (1.0, -3.0), 500, GAP
    clf = univariate("entropy", beta)
    predicted = efficiency(clf, n_rows=n, n_draws=100_000, random_state=3)
    bayes = norm.cdf(-gap / 2)
    excess = {"ignorance": [], "full": []}
    for seed in range(150):
        data = simulate(
            n=n,
            means=[[-gap / 2], [gap / 2]],
            covariances=np.ones((2, 1, 1)),
            intercept=beta[0],
            slope=beta[1],
            random_state=seed,
        )
        for way, mechanism in (("ignorance", None), ("full", "entropy")):
            fit = MixtureClassifier(covariance="tied", mechanism=mechanism).fit(
                data.features, data.labels
            )
            m, v, w = fit.means_[:, 0], fit.covariances_[0, 0, 0], fit.weights_
            cut = m.mean() + v * np.log(w[0] / w[1]) / (m[1] - m[0])
            rate = 0.5 * (norm.sf(cut + gap / 2) + norm.cdf(cut - gap / 2))
            excess[way].append(rate - bayes)
    for way, values in excess.items():
        error = np.std(values) / np.sqrt(len(values))
        assert np.mean(values) == pytest.approx(
            predicted.excess_error[way], abs=4 * error + 0.1 * predicted.excess_error[way]
        )
    measured = np.mean(excess["ignorance"]) / np.mean(excess["full"])
    assert measured == pytest.approx(predicted.error_efficiency["full / ignorance"], rel=0.4)


def test_the_papers_setting_and_the_printed_words():
    data = simulate(n=500, random_state=0)
    clf = MixtureClassifier().fit(data.features, data.labels)
    result = efficiency(clf, n_rows=500, n_draws=20_000, random_state=0)
    assert result.error_efficiency["full / ignorance"] > 1.5
    assert result.parameter_efficiency["ignorance / complete"] < 1
    assert "worth" in str(result).split("\n\n")[1]
    frame = result.to_frame()
    assert (frame["full / ignorance"] > 1).all()
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))["n_rows"] == 500
    assert "<table>" in result._repr_html_()
    display = result.plot()
    assert len(display.axes_) == 2
    weaker = efficiency(
        MixtureClassifier().fit(*_weak()), n_rows=500, n_draws=20_000, random_state=0
    )
    assert "chosen at random" in str(weaker)


def _weak():
    data = simulate(n=2000, intercept=0.0, slope=-0.8, random_state=0)
    return data.features, data.labels


def test_without_a_mechanism_the_pattern_is_worth_nothing():
    data = simulate(n=300, random_state=0)
    clf = MixtureClassifier(mechanism=None).fit(data.features, data.labels)
    result = efficiency(clf, n_draws=2000, random_state=0)
    assert result.labels_worth["error"] == 0
    assert result.error_efficiency["full / ignorance"] == pytest.approx(1)
    assert "adds nothing" in str(result)
    assert "no mechanism" in result.remarks[-1]


@pytest.mark.parametrize("family", ["t", "skew_t"])
@pytest.mark.filterwarnings("ignore::hesitant.FitWarning")
def test_other_families_and_more_classes(three_classes, family):
    X, y = three_classes
    clf = MixtureClassifier(family, covariance="tied").fit(X, y)
    result = efficiency(clf, n_draws=4000, random_state=0)
    assert result.error_efficiency["ignorance / complete"] < 1
    assert np.isfinite(result.std_errors["full"]).all()


@pytest.mark.filterwarnings("ignore::hesitant.FitWarning")
def test_a_parameter_at_its_bound_counts_as_known():
    data = simulate(n=300, random_state=0)
    clf = MixtureClassifier("t").fit(data.features, data.labels)
    known = MixtureClassifier(StudentT(dof=200.0)).fit(data.features, data.labels)
    clf.state_ = dataclasses.replace(known.state_, theta=known.state_.theta)
    clf.weights_, clf.mechanism_ = known.weights_, known.mechanism_
    free, fixed = (efficiency(c, n_draws=2000, random_state=0) for c in (clf, known))
    assert free.excess_error["full"] == pytest.approx(fixed.excess_error["full"], rel=1e-6)
    assert not any(name.startswith("dof") for name in free.parameters)


def test_seed():
    clf = univariate(None)
    a, b = (efficiency(clf, n_draws=2000, random_state=4).excess_error for _ in range(2))
    assert a == b


@pytest.mark.parametrize(
    ("options", "message"), [({"n_rows": 0}, "n_rows=0"), ({"n_draws": 10}, "n_draws=10")]
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        efficiency(univariate(None), **options)
