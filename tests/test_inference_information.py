"""Standard errors: against an independent Hessian, against simulation, and when there are none."""

import copy
import json
import math
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, log_expit, logsumexp
from scipy.stats import multivariate_normal, multivariate_t
from sklearn.exceptions import NotFittedError

from hesitant import FitWarning, MixtureClassifier
from hesitant.attached import likelihood_of, open_chart
from hesitant.datasets import simulate
from hesitant.families import Family, StudentT
from hesitant.inference import information, summary
from hesitant.inference._axes import find_axes
from hesitant.inference._curvature import curvature
from hesitant.inference._scores import class_scores, mix
from hesitant.likelihood import log_posterior
from hesitant.mechanisms import EntropyMechanism, Polynomial

TRIL = np.tril_indices(2)


@pytest.fixture(scope="module")
def two():
    """The paper's simulation: X, and y with -1 for a blank."""
    data = simulate(n=500, random_state=0)
    return data.features, np.where(data.labelled, data.truth, -1)


# -- an independent likelihood, in natural parameters, and its Hessian by differences ------------


def natural_log_likelihood(v, X, y, mechanism, dof=None):
    """Two classes in two dimensions: weight, means, covariances (scales), [dof], [β0, β1]."""
    pi = np.array([v[0], 1 - v[0]])
    joint = np.empty((len(X), 2))
    for h in range(2):
        mean, omega = v[1 + 2 * h : 3 + 2 * h], np.zeros((2, 2))
        omega[TRIL] = v[5 + 3 * h : 8 + 3 * h]
        omega = omega + omega.T - np.diag(np.diag(omega))
        if dof is None:
            joint[:, h] = multivariate_normal(mean, omega).logpdf(X)
        else:
            joint[:, h] = multivariate_t(mean, omega, df=dof).logpdf(X)
    joint += np.log(pi)
    total = logsumexp(joint, axis=1)
    seen = y >= 0
    value = joint[seen, y[seen]].sum() + total[~seen].sum()
    if mechanism:
        log_tau = joint - total[:, None]
        entropy = -(np.exp(log_tau) * log_tau).sum(axis=1)
        eta = v[-2] + v[-1] * entropy
        value += log_expit(np.where(seen, eta, -eta)).sum()
    return value


def numerical_hessian(function, x, step):
    k = x.size
    out = np.empty((k, k))
    eye = np.eye(k) * step
    for i in range(k):
        for j in range(i + 1):
            out[i, j] = out[j, i] = (
                function(x + eye[i] + eye[j])
                - function(x + eye[i] - eye[j])
                - function(x - eye[i] + eye[j])
                + function(x - eye[i] - eye[j])
            ) / (4 * step[i] * step[j])
    return out


@pytest.mark.parametrize("mechanism", [None, "entropy"])
@pytest.mark.parametrize("dof", [None, 5.0])
def test_standard_errors_against_an_independent_hessian(two, mechanism, dof):
    X, y = two
    if dof is None:
        family, scales = "gaussian", "covariances_"
    else:
        family, scales = StudentT(dof=dof), "scales_"
    clf = MixtureClassifier(family, mechanism=mechanism, tol=1e-10).fit(X, y)
    means = clf.means_
    matrices = getattr(clf, scales)
    at = [clf.weights_[0], *means.ravel(), *matrices[0][TRIL], *matrices[1][TRIL]]
    if mechanism:
        at += [clf.mechanism_.intercept_, *clf.mechanism_.coef_]
    at = np.array(at)

    def function(v):
        return natural_log_likelihood(v, X, y, bool(mechanism), dof)

    assert function(at) == pytest.approx(clf.log_likelihood_, abs=1e-6)
    hessian = numerical_hessian(function, at, 1e-3 * np.maximum(np.abs(at), 0.1))
    expected = np.sqrt(np.diag(np.linalg.inv(-hessian)))
    info = information(clf, X, y)
    found = dict(zip(info.parameters, info.std_error, strict=True))
    kind = "covariance" if dof is None else "scale"
    names = ["weight[0]"]
    names += [f"mean[{h}, x{j}]" for h in range(2) for j in range(2)]
    names += [f"{kind}[{h}, x{j}, x{k}]" for h in range(2) for j, k in zip(*TRIL, strict=True)]
    names += ["intercept", "coef[u]"] if mechanism else []
    np.testing.assert_allclose([found[n] for n in names], expected, rtol=2e-4)
    assert info.remarks == []


@pytest.mark.parametrize("family", ["t", "skew_t", "skew_normal"])
def test_curvature_is_that_of_the_value(three_classes, family):
    """Second differences of the value itself, in the chart: no analytic gradient involved."""
    X, y = three_classes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        clf = MixtureClassifier(family, covariance="tied").fit(X, y)
    likelihood = likelihood_of(clf, X, y)
    with open_chart(likelihood, clf.state_) as (chart, evaluation):
        total, _, _ = curvature(likelihood, chart, evaluation)

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
    likelihood = likelihood_of(clf, X, y, **rows)
    with open_chart(likelihood, clf.state_) as (chart, evaluation):
        total, _, _ = curvature(likelihood, chart, evaluation)
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
    with open_chart(likelihood_of(own), own.state_) as (chart, _):
        axes = find_axes(own.family_, chart)
    p = X.shape[1]
    assert axes.moves[:2].all()  # weights
    assert (axes.moves[2:].sum(axis=1) == 1).all()
    assert len(axes.together) == 2 + p + p * (p + 1) // 2
    assert sorted(np.concatenate(axes.together)) == list(range(axes.size))
    tied = MixtureClassifier(covariance="tied").fit(X, y)
    with open_chart(likelihood_of(tied), tied.state_) as (chart, _):
        axes = find_axes(tied.family_, chart)
    assert (axes.moves.sum(axis=1) == 3).sum() == 2 + p * (p + 1) // 2


def test_standard_errors_take_a_few_passes(three_classes, monkeypatch):
    X, y = three_classes
    clf = MixtureClassifier("t").fit(X, y)
    passes = []
    total = type(clf._rows).sum

    def counted(self, function, *extra):
        passes.append(function)
        return total(self, function, *extra)

    monkeypatch.setattr(type(clf._rows), "sum", counted)
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
    likelihood = likelihood_of(clf, X, y)
    with open_chart(likelihood, clf.state_) as (chart, evaluation):
        gradient = chart.gradient(chart.reference, evaluation)
        axes = find_axes(clf.family_, chart)
        scores = class_scores(clf.family_, axes, X)
    log_tau, tau, _ = log_posterior(clf.family_, clf.state_, X)
    u, du = clf.mechanism_.uncertainty.evaluate(log_tau, tau)
    _, slope, _ = clf.mechanism_.log_probability(u, y >= 0, clf.state_.theta)
    given = np.where((y >= 0)[:, None], np.eye(2)[y], tau)
    total = mix(axes, scores, given + slope[:, None] * du).sum(axis=0)
    np.testing.assert_allclose(total, gradient[: axes.size], rtol=1e-4, atol=1e-3)
    assert np.abs(gradient).max() > 1


@pytest.mark.parametrize("mechanism", [None, "mixed"])
def test_sandwich_agrees_when_the_model_is_right(mechanism):
    data = simulate(n=4000, intercept=3.0, random_state=0)
    y = np.where(data.labelled, data.truth, -1)
    y[::5] = -1  # some labels are lost whatever the case
    clf = MixtureClassifier(mechanism=mechanism).fit(data.features, y)
    plain = information(clf, data.features, y)
    robust = information(clf, data.features, y, robust=True)
    assert robust.robust
    assert not plain.robust
    np.testing.assert_allclose(robust.std_error, plain.std_error, rtol=0.15)


def test_sandwich_is_right_when_the_model_is_wrong():
    """Heavy tails fitted by Gaussian classes: simulate the spread of a variance estimate."""
    rng = np.random.default_rng(0)
    estimates, plain, robust = [], [], []
    for _ in range(100):
        truth = rng.integers(0, 2, 400)
        X = rng.standard_t(5, size=(400, 1)) + 6.0 * truth[:, None]
        y = np.where(rng.random(400) < 0.7, truth, -1)
        clf = MixtureClassifier(mechanism=None).fit(X, y)
        estimates.append(clf.covariances_[0, 0, 0])
        for kind, into in ((False, plain), (True, robust)):
            info = information(clf, X, y, robust=kind)
            into.append(info.std_error[info.parameters.index("covariance[0, x0, x0]")])
    spread = np.std(estimates)
    assert np.mean(robust) == pytest.approx(spread, rel=0.2)
    assert np.mean(plain) < 0.75 * spread


@pytest.mark.parametrize(("mechanism", "replications"), [(None, 100), ("entropy", 200)])
def test_coverage_of_95_percent_intervals(mechanism, replications):
    truth = {
        "weight[0]": 0.5, "weight[1]": 0.5,
        "mean[0, x0]": 0, "mean[0, x1]": 0, "mean[1, x0]": 0, "mean[1, x1]": 3,
        "covariance[0, x0, x0]": 1, "covariance[0, x1, x0]": 0.7, "covariance[0, x1, x1]": 1,
        "covariance[1, x0, x0]": 1, "covariance[1, x1, x0]": 0, "covariance[1, x1, x1]": 1,
        "intercept": 1, "coef[u]": -5,
    }  # fmt: skip
    hits = []
    for seed in range(replications):
        data = simulate(n=500, random_state=seed)
        clf = MixtureClassifier(mechanism=mechanism).fit(data.features, data.labels)
        info = information(clf, data.features, data.labels)
        true = np.array([truth[name] for name in info.parameters])
        hits.append((info.lower <= true) & (true <= info.upper))
    coverage = np.mean(hits, axis=0)
    # The standard error of one parameter's coverage is about 0.02, of their average below 0.01.
    assert coverage.min() > 0.87
    assert coverage.mean() == pytest.approx(0.95, abs=0.02)


def test_every_structure_lists_what_is_free(two):
    X, y = two
    for covariance, expected in [("full", 6), ("tied", 3), ("diag", 4), ("spherical", 4)]:
        clf = MixtureClassifier(covariance=covariance).fit(X, y)
        info = information(clf, X, y)
        matrices = [name for name in info.parameters if name.startswith("covariance")]
        assert len(matrices) == expected
        assert np.isfinite(info.std_error).all()
    tied = information(MixtureClassifier(covariance="tied").fit(X, y), X, y)
    assert "covariance[x1, x0]" in tied.parameters  # shared: named once, without a class


def test_intervals_stay_in_range(three_classes):
    X, y = three_classes
    clf = MixtureClassifier().fit(X, y)
    info = information(clf, X, y, level=0.9999)
    for name, lower, upper in zip(info.parameters, info.lower, info.upper, strict=True):
        assert lower < upper
        if name.startswith("weight"):
            assert lower > 0
            assert upper < 1
        if name in ("covariance[a, x1, x1]", "covariance[c, x0, x0]"):
            assert lower > 0
    assert "mean[b, x2]" in info.parameters  # the classes' own names


def test_mixed_mechanism_shows_the_dropout_itself(two):
    X, y = two
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        clf = MixtureClassifier(mechanism="mixed").fit(X, y)
    info = information(clf, X, y)
    place = info.parameters.index("dropout")
    assert info.estimate[place] == pytest.approx(clf.mechanism_.dropout_)
    assert 0 <= info.lower[place] <= info.upper[place] <= 1


def test_a_basis_called_logit_is_still_a_coefficient(two):
    X, y = two
    clf = MixtureClassifier(mechanism=EntropyMechanism(basis="logit")).fit(X, y)
    info = information(clf, X, y)
    assert info.parameters[-1] == "coef[logit u]"
    assert info.estimate[-1] == pytest.approx(clf.mechanism_.coef_[0])


def test_singular_information_names_the_directions():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 200)
    X = rng.standard_normal((200, 1)) + 200.0 * truth[:, None]  # no entropy anywhere
    y = np.where(rng.random(200) < 0.5, truth, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        clf = MixtureClassifier().fit(X, y)
    info = information(clf, X, y)
    assert info.flat_directions == ["coef[u]"]
    place = info.parameters.index("coef[u]")
    assert info.std_error[place] == np.inf
    assert (info.lower[place], info.upper[place]) == (-np.inf, np.inf)
    others = np.delete(info.std_error, place)
    assert np.isfinite(others).all()
    # The rest is as it would be without a mechanism.
    alone = information(MixtureClassifier(mechanism=None).fit(X, y), X, y)
    np.testing.assert_allclose(others[:-1], alone.std_error, rtol=1e-3)
    assert "do not determine coef[u]" in str(info)
    with pytest.warns(FitWarning, match=r"do not determine coef\[u\]"):
        frame = summary(clf, X, y)
    assert np.isinf(frame["std_error"]).sum() == 1
    assert json.loads(json.dumps(info.to_dict()))["std_error"][place] is None


def test_a_kink_is_no_lack_of_data():
    """Where the likelihood curves upwards the remark says so, and asks for no more labels."""
    rng = np.random.default_rng(7)
    means = 2.0 * np.eye(3)
    truth = rng.integers(0, 3, 300)
    X = rng.standard_normal((300, 3)) + means[truth]
    y = np.where(rng.random(300) < expit(0.6), truth, -1)
    mechanism = EntropyMechanism(basis="logit")
    clf = MixtureClassifier(mechanism=mechanism).fit(X, y).diagnose(X, y).full
    info = clf.information()
    assert np.linalg.eigvalsh(info.chart_information)[0] < -1
    assert info.remarks[0].startswith("The likelihood is not at a smooth maximum")
    assert "More labels" not in info.remarks[0]


def test_a_class_without_rows_is_named():
    """Three classes where the data have two: the third has nothing to stand on."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 60)
    X = rng.standard_normal((60, 2)) + 8.0 * truth[:, None]
    y = np.where(rng.random(60) < 0.9, truth, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        clf = MixtureClassifier(mechanism=None, classes=[0, 1, 2], random_state=0).fit(X, y)
    info = information(clf, X, y)
    assert len(info.parameters) == info.std_error.size
    good = [k for k, n in enumerate(info.parameters) if n.startswith(("mean[0", "mean[1"))]
    assert np.isfinite(info.std_error[good]).all()


def test_degrees_of_freedom_at_their_bound_have_no_standard_error(two):
    X, y = two
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        clf = MixtureClassifier("t").fit(X, y)
    info = information(clf, X, y)
    at_bound = [f"dof[{h}]" for h in range(2) if clf.dof_[h] > 199.9]
    assert at_bound  # the data are Gaussian
    for name in at_bound:
        assert np.isnan(info.std_error[info.parameters.index(name)])
    assert "edge of what is possible" in info.remarks[0]
    rest = [k for k, name in enumerate(info.parameters) if name not in at_bound]
    assert np.isfinite(info.std_error[rest]).all()


def test_fractional_likelihood_uses_the_sandwich_and_says_so(two):
    X, y = two
    clf = MixtureClassifier(mechanism=None, alpha=0.7).fit(X, y)
    info = information(clf, X, y)
    assert info.robust
    assert "alpha=0.7" in info.remarks[-1]


def test_other_rows_are_noticed(two):
    X, y = two
    clf = MixtureClassifier().fit(X[:250], y[:250])
    info = information(clf, X[250:], y[250:])
    assert any("still rises" in remark for remark in info.remarks)


def test_reviewed_and_weights_enter(two):
    X, y = two
    reviewed = np.arange(len(X)) % 3 > 0
    clf = MixtureClassifier().fit(X, y, reviewed=reviewed)
    some = information(clf, X, y, reviewed=reviewed)
    assert some.remarks == []
    twice = MixtureClassifier().fit(X, y, sample_weight=np.full(len(X), 2.0))
    one = information(MixtureClassifier().fit(X, y), X, y)
    two = information(twice, X, y, sample_weight=np.full(len(X), 2.0))
    np.testing.assert_allclose(two.std_error, one.std_error / np.sqrt(2), rtol=1e-3)


def test_without_data_it_is_that_of_the_fits_own_rows(two):
    """Weights and reviewed included; a model that travelled says what it lacks."""
    X, y = two
    weight = np.random.default_rng(0).uniform(0.5, 2, len(X))
    reviewed = np.arange(len(X)) % 4 > 0
    clf = MixtureClassifier().fit(X, y, sample_weight=weight, reviewed=reviewed)
    given = clf.summary(X, y, sample_weight=weight, reviewed=reviewed)
    pd.testing.assert_frame_equal(clf.summary(), given, check_exact=True)
    assert clf.log_likelihood() == clf.log_likelihood_
    plain = MixtureClassifier().fit(X, y)
    assert (plain.aic(), plain.bic()) == (plain.aic(X, y), plain.bic(X, y))
    for travelled in (pickle.loads(pickle.dumps(clf)), copy.deepcopy(clf)):
        with pytest.raises(ValueError, match="X and y are needed"):
            travelled.summary()
    with pytest.raises(ValueError, match="belong to X and y"):
        clf.summary(reviewed=reviewed)
    with pytest.raises(ValueError, match="target y is None"):
        clf.summary(X)
    with pytest.raises(NotFittedError):
        MixtureClassifier().summary()


@pytest.mark.parametrize("family", ["gaussian", "t", "skew_t", "skew_normal"])
def test_units_of_any_size(two, family):
    """Standard errors scale with the features, though a variance's own square has no number."""
    X, y = two
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        warnings.simplefilter("error", RuntimeWarning)
        plain = MixtureClassifier(family).fit(X, y).information()
        for unit in (1e150, 1e-150):
            scaled = MixtureClassifier(family).fit(X * unit, y).information()
            assert scaled.parameters == plain.parameters
            for k, name in enumerate(plain.parameters):
                power = {"mean": 1, "loca": 1, "cova": 2, "scal": 2}.get(name[:4], 0)
                a, b = plain.std_error[k], scaled.std_error[k] / unit**power
                assert b == pytest.approx(a, rel=1e-3, nan_ok=True), name


def test_dask_rows(two):
    array = pytest.importorskip("dask.array")
    X, y = two
    clf = MixtureClassifier().fit(X, y)
    there = information(clf, array.from_array(X, chunks=(200, 2)), array.from_array(y, chunks=200))
    here = information(clf, X, y)
    np.testing.assert_allclose(there.std_error, here.std_error, rtol=1e-8)


def test_a_family_without_a_chart_is_sent_to_the_bootstrap(two, monkeypatch):
    X, y = two
    clf = MixtureClassifier().fit(X, y)
    monkeypatch.setattr(type(clf.family_), "coordinates", Family.coordinates)
    with pytest.raises(ValueError, match="bootstrap"):
        information(clf, X, y)


@pytest.mark.parametrize("level", [0, 1, 1.5, "x", None])
def test_bad_levels(two, level):
    X, y = two
    clf = MixtureClassifier().fit(X, y)
    with pytest.raises((ValueError, TypeError), match="level"):
        information(clf, X, y, level=level)


def test_expit_is_the_weights_scale(two):
    X, y = two
    clf = MixtureClassifier(mechanism=None).fit(X, y)
    info = information(clf, X, y)
    p, se = info.estimate[0], info.std_error[0]
    z = 1.959963984540054
    logit = np.log(p / (1 - p))
    assert info.lower[0] == pytest.approx(expit(logit - z * se / (p * (1 - p))))
    assert info.upper[0] == pytest.approx(expit(logit + z * se / (p * (1 - p))))
    assert info.lower[0] == pytest.approx(1 - info.upper[1])
