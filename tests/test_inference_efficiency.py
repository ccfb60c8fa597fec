"""What the pattern buys: closed forms, quadrature, and brute-force simulation."""

import dataclasses
import json
import math
import pickle

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm
from sklearn.datasets import load_iris

from helpers import GAP, exact_excess, known, quadrature, univariate
from hesitant import MixtureClassifier
from hesitant._words import percent
from hesitant.datasets import simulate
from hesitant.families import Gaussian, StudentT
from hesitant.inference import _draws, _fisher, efficiency


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


@pytest.mark.parametrize("n_draws", [2000, 10_000])
def test_many_parameters_beside_the_draws(n_draws):
    rng, p, n = np.random.default_rng(0), 10, 1000
    y = np.arange(400) % 2
    X = rng.normal(size=(400, p)) + 1.5 * y[:, None]
    y = np.where(rng.random(400) < 0.3, -1, y)
    ratios = {}
    for name, family in {"plain": "gaussian", "own": OwnGaussian()}.items():
        clf = MixtureClassifier(family).fit(X, y)
        found = efficiency(clf, n_rows=n, n_draws=n_draws, random_state=0)
        assert len(found.parameters) > 100
        means = [name.startswith("mean[") for name in found.parameters]
        exact = np.sqrt(clf.covariances_.diagonal(0, 1, 2) / (n * clf.weights_[:, None])).ravel()
        ratios[name] = {way: e[means] / exact for way, e in found.std_errors.items()}
    if n_draws < 20 * len(found.parameters):
        # What all labels tell is known of Gaussians; what some tell is little less here.
        np.testing.assert_allclose(ratios["plain"]["complete"], 1, rtol=1e-9)
        assert (ratios["plain"]["ignorance"] >= 1).all()
        np.testing.assert_allclose(ratios["plain"]["ignorance"], 1, atol=0.02)
    else:
        np.testing.assert_allclose(ratios["plain"]["complete"], ratios["own"]["complete"])
    # An inverse of sums over as few draws as this is up to a fifth too large, on average.
    assert np.median(ratios["own"]["complete"]) == pytest.approx(1, abs=0.03)
    assert ratios["own"]["ignorance"] == pytest.approx(ratios["own"]["complete"], rel=0.2)


class OwnGaussian(Gaussian):
    """One whose densities might be others: what labels tell is drawn."""


@pytest.mark.parametrize("share", [0, 0.02, 0.1])
def test_of_next_to_no_labels_the_same_draws_tell_what_is_left(share):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 700)
    X = rng.normal(size=(700, 3)) + np.array([[0, 0, 0], [1.6, 0.5, 0.3], [-0.4, 1.8, -1]])[y]
    y = np.where(rng.random(700) < 0.5, -1, y)
    found, own = (
        efficiency(
            MixtureClassifier(f).fit(X, y), n_draws=500, reviewed_share=share, random_state=0
        )
        for f in ("gaussian", OwnGaussian())
    )
    for kind in ("parameter_efficiency", "error_efficiency"):
        each = getattr(found, kind), getattr(own, kind)
        assert each[0] == pytest.approx(each[1], rel=1e-6)


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


@pytest.mark.slow
@pytest.mark.parametrize("gap", [0.5, 3.0, 6.0])
def test_the_stated_error_is_the_spread_over_seeds(gap):
    beta = (1.0, -3.0)
    clf = univariate("entropy", beta, gap)
    results = [efficiency(clf, n_rows=1, n_draws=6000, random_state=s) for s in range(40)]
    exact = {way: exact_excess(info, gap) for way, info in quadrature(beta, gap=gap).items()}
    exact = {f"excess {way}": value for way, value in exact.items()}
    exact["bayes_error"] = norm.cdf(-gap / 2)
    found = {
        f"excess {way}": [r.excess_error[way] for r in results] for way in results[0].std_errors
    }
    found["bayes_error"] = [r.bayes_error for r in results]
    found["labels_worth error"] = [r.labels_worth["error"] for r in results]
    for pair in results[0].error_efficiency:
        found[f"error {pair}"] = [r.error_efficiency[pair] for r in results]
    for name, values in found.items():
        stated = np.sqrt(np.mean([r.monte_carlo_error[name] ** 2 for r in results]))
        spread = np.std(values, ddof=1)
        # Forty seeds tell a spread to 11 %; the figures in `exact` are the ones to be sure of.
        factor = 1.5 if name in exact else 2.0
        assert 1 / factor < stated / spread < factor, name
        if name in exact:
            assert abs(np.mean(values) - exact[name]) < 4 * spread / np.sqrt(40), name
            assert spread < 0.06 * exact[name], name


def test_a_boundary_in_two_parts():
    """Normals of different spread are equally likely at two points; sum over both."""
    sd, gap = 3.0, 6.0
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 400)
    X = np.where(truth, gap + sd * rng.standard_normal(400), rng.standard_normal(400))[:, None]
    y = np.where(rng.random(400) < 0.5, truth, -1)
    clf = MixtureClassifier(mechanism=None).fit(X, y)
    clf = known(clf, X, [[0.0], [gap]], np.array([[[1.0]], [[sd**2]]]))
    # D(x) = x²/2 − (x − gap)²/(2 sd²) − log sd.
    roots = np.roots([0.5 - 0.5 / sd**2, gap / sd**2, -(gap**2) / (2 * sd**2) - np.log(sd)])
    expected = 0.0
    for x in roots:
        z = np.array([x, (x - gap) / sd])
        # With n rows: 4/n for the weight; σ²/(n/2) for a mean; 1/n for log σ of half the rows.
        variance = 4 + (2 * z**2 + (z**2 - 1) ** 2).sum()
        expected += 0.5 * 0.5 * norm.pdf(x) * variance / abs(x - z[1] / sd)
    found = efficiency(clf, n_rows=1, n_draws=40_000, random_state=0)
    error = found.monte_carlo_error["excess complete"]
    assert found.excess_error["complete"] == pytest.approx(expected, abs=4 * error)
    assert error < 0.04 * expected


@pytest.mark.slow
def test_brute_force_with_three_classes():
    """Estimate labelled classes again and again; integrate each rule's error over a grid."""
    # Turned, so that no boundary runs along the grid.
    turn = np.array([[np.cos(0.4), np.sin(0.4)], [-np.sin(0.4), np.cos(0.4)]])
    means, n = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.7]]) @ turn, 1000
    axis = np.linspace(-5, 7, 241)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    joint = np.stack([multivariate_normal(m).pdf(grid) / 3 for m in means], axis=1)
    joint /= joint.sum()
    rng = np.random.default_rng(0)
    excess = []
    for _ in range(400):
        counts = rng.multinomial(n, [1 / 3] * 3)
        centres = means + rng.standard_normal((3, 2)) / np.sqrt(counts)[:, None]
        z = rng.standard_normal((n, 2))
        precision = np.linalg.inv(z.T @ z / n)
        linear = centres @ precision
        score = grid @ linear.T + np.log(counts) - 0.5 * (linear * centres).sum(axis=1)
        chosen = joint[np.arange(len(grid)), score.argmax(axis=1)].sum()
        excess.append(joint.max(axis=1).sum() - chosen)
    X = np.repeat(means, 100, axis=0) + rng.standard_normal((300, 2))
    clf = MixtureClassifier(covariance="tied", mechanism=None).fit(X, np.repeat([0, 1, 2], 100))
    clf = known(clf, X, means, np.stack([np.eye(2)] * 3))
    found = efficiency(clf, n_rows=n, n_draws=40_000, random_state=0)
    simulated, doubt = np.mean(excess), np.std(excess) / np.sqrt(len(excess))
    doubt = np.hypot(doubt, found.monte_carlo_error["excess complete"])
    assert found.excess_error["complete"] == pytest.approx(
        simulated, abs=3 * doubt + 0.02 * simulated
    )
    best = 1 - joint.max(axis=1).sum()
    assert found.bayes_error == pytest.approx(best, abs=4 * found.monte_carlo_error["bayes_error"])


@pytest.mark.parametrize("family", ["gaussian", "t", "skew_t"])
@pytest.mark.filterwarnings("ignore::hesitant.FitWarning")
def test_two_species_that_do_not_overlap(family):
    X, y = load_iris(return_X_y=True)
    X, y = X[:100], y[:100]
    y = np.where(np.random.default_rng(0).random(100) < 0.3, -1, y)
    clf = MixtureClassifier(family, covariance="tied").fit(X, y)
    one, two = (efficiency(clf, n_draws=10_000, random_state=s) for s in range(2))
    for way, value in one.excess_error.items():
        assert 0 < value < 1e-4
        doubt = np.hypot(*(r.monte_carlo_error[f"excess {way}"] for r in (one, two)))
        assert abs(value - two.excess_error[way]) < 4 * doubt
    assert 0 < one.bayes_error < 1e-3
    assert str(one)


@pytest.mark.parametrize("gap", [20.0, 60.0])
@pytest.mark.filterwarnings("ignore::hesitant.FitWarning")
def test_classes_too_far_apart_for_any_gain(gap):
    result = efficiency(univariate("entropy", (1.0, -3.0), gap), n_draws=4000, random_state=0)
    expected = norm.pdf(gap / 2) * (4 + gap**2) / (4 * gap) / 1000
    error = result.monte_carlo_error["excess complete"]
    assert result.excess_error["complete"] == pytest.approx(expected, rel=0.3, abs=1e-300)
    assert abs(result.excess_error["complete"] - expected) <= 4 * error
    assert result.error_efficiency["full / ignorance"] == pytest.approx(1)
    assert math.isnan(result.labels_worth["error"])
    assert "Neither labels for the blanks nor their pattern" in result.remarks[-1]
    assert "cannot be told" in str(result)
    assert result.plot().figure_


def test_a_family_of_ones_own_draws_from_the_model_alone(monkeypatch):
    """Its density may be meant for part of the space only."""
    monkeypatch.setattr(_draws, "Gaussian", StudentT)
    beta = (1.0, -3.0)
    found = efficiency(univariate("entropy", beta), n_rows=1, n_draws=40_000, random_state=0)
    for way, info in quadrature(beta).items():
        assert found.excess_error[way] == pytest.approx(exact_excess(info), rel=0.08)
    far = efficiency(univariate("entropy", beta, 9.0), n_draws=4000, random_state=0)
    assert math.isnan(far.bayes_error)
    assert all(math.isnan(v) for v in [*far.excess_error.values(), *far.error_efficiency.values()])
    assert far.worth_all == {"error": False, "parameters": False}
    assert np.isfinite(far.std_errors["full"]).all()
    assert "Too few of the rows drawn" in far.remarks[-1]
    assert json.loads(json.dumps(far.to_dict(), allow_nan=False))["bayes_error"] is None
    assert "cannot be told" in str(far)
    assert "not known" in far.plot().axes_[1].texts[0].get_text()


def test_weights_are_bounded_and_average_to_one(three_classes):
    X, y = three_classes
    clf = MixtureClassifier().fit(X, y)
    rng = np.random.default_rng(0)
    proposals = _draws.fit_proposals(clf.fitted_, rng)
    X, _, _, log_w = _draws.draw_rows(clf.fitted_, *proposals, 20_000, rng)
    w = np.exp(log_w)
    assert len(X) == 20_000
    assert w.max() <= 2 + 1e-9
    assert w.mean() == pytest.approx(1, abs=4 * w.std() / np.sqrt(len(w)))


def test_what_has_no_information_explains_nothing():
    B, D = np.array([[1.0, 0.0], [2.0, 0.0]]), np.diag([4.0, 0.0])
    assert B @ _fisher._regression(B, D) == pytest.approx(np.array([[0.25, 0.5], [0.5, 1.0]]))
    tiny = np.diag([1.0, 1e-20])
    B = np.array([[0.0, 1e-10]])
    assert B @ _fisher._regression(B, tiny) == pytest.approx(np.array([[1.0]]))
    B = np.zeros((2, 0))
    assert B @ _fisher._regression(B, np.zeros((0, 0))) == pytest.approx(np.zeros((2, 2)))


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
    found = {"state": known.state_, "mechanism": known.mechanism_}
    clf._publish(dataclasses.replace(clf.fitted_, **found))
    free, fixed = (efficiency(c, n_draws=2000, random_state=0) for c in (clf, known))
    assert free.excess_error["full"] == pytest.approx(fixed.excess_error["full"], rel=1e-6)
    assert not any(name.startswith("dof") for name in free.parameters)


def test_only_reviewed_rows_have_a_pattern():
    """Expected and observed information agree, rows that nobody saw included."""
    data = simulate(n=5000, reviewed_share=0.3, random_state=0)
    clf = MixtureClassifier().fit(data.features, data.labels, reviewed=data.reviewed)
    found = efficiency(clf, n_rows=5000, n_draws=20_000, random_state=0)
    observed = clf.information().std_error[: len(found.parameters)]
    np.testing.assert_allclose(found.std_errors["full"], observed, rtol=0.08)
    assert found.reviewed_share == pytest.approx(data.reviewed.mean())
    assert found.share_labelled == pytest.approx(data.n_labelled / 5000, abs=0.01)
    assert "30 % are reviewed" in str(found)
    shares = f"30 % of them reviewed and {percent(found.share_labelled, 0)} of them labelled"
    assert shares in " ".join(str(found).split())


def test_labels_from_elsewhere_count_but_make_no_pattern():
    data = simulate(n=4000, reviewed_share=0.5, random_state=1)
    y = np.where(data.labelled, data.truth, -1)
    y[~data.reviewed] = data.truth[~data.reviewed]  # histology, say
    clf = MixtureClassifier().fit(data.features, y, reviewed=data.reviewed)
    found = efficiency(clf, n_rows=4000, n_draws=20_000, random_state=0)
    observed = clf.information().std_error[: len(found.parameters)]
    np.testing.assert_allclose(found.std_errors["full"], observed, rtol=0.08)
    assert found.share_labelled == pytest.approx((y >= 0).mean(), abs=0.01)


def test_a_loaded_model_is_told_who_was_reviewed():
    data = simulate(n=1000, reviewed_share=0.3, random_state=0)
    clf = MixtureClassifier().fit(data.features, data.labels, reviewed=data.reviewed)
    options = {"n_draws": 2000, "random_state": 0}
    here = efficiency(clf, **options)
    loaded = pickle.loads(pickle.dumps(clf))
    blind = efficiency(loaded, **options)
    assert blind.reviewed_share == 1
    assert "reviewed_share" in blind.remarks[-1]
    told = efficiency(loaded, reviewed_share=here.reviewed_share, **options)
    assert told.excess_error == pytest.approx(here.excess_error)
    assert told.labels_worth == pytest.approx(here.labels_worth)
    assert told.remarks == here.remarks
    with pytest.raises(ValueError, match=r"reviewed_share=1\.5"):
        efficiency(loaded, reviewed_share=1.5)


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
