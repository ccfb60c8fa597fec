"""Standard errors: against an independent Hessian, against simulation, and when there are none."""

import copy
import json
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, log_expit, logsumexp
from scipy.stats import multivariate_normal, multivariate_t
from sklearn.exceptions import NotFittedError

from hesitant import FitWarning, MixtureClassifier
from hesitant.datasets import simulate
from hesitant.families import StudentT
from hesitant.inference import information, summary
from hesitant.mechanisms import EntropyMechanism

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


@pytest.mark.slow
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


@pytest.mark.slow
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
    """Where no parabola fits the likelihood the remark says so, and asks for no more labels."""
    rng = np.random.default_rng(7)
    means = 2.0 * np.eye(3)
    truth = rng.integers(0, 3, 300)
    X = rng.standard_normal((300, 3)) + means[truth]
    y = np.where(rng.random(300) < expit(0.6), truth, -1)
    mechanism = EntropyMechanism(basis="logit")
    clf = MixtureClassifier(mechanism=mechanism).fit(X, y).diagnose(X, y).full
    info = clf.information()
    bend = np.linalg.eigvalsh(info.chart_information)
    assert bend[0] < -1 or bend[-1] > 1e4  # upwards, or far more than of any smooth likelihood
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


@pytest.mark.parametrize("robust", [False, True])
def test_degrees_of_freedom_at_their_bound_have_no_standard_error(two, robust):
    X, y = two
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        clf = MixtureClassifier("t").fit(X, y)
    info = information(clf, X, y, robust=robust)
    at_bound = [f"dof[{h}]" for h in range(2) if clf.dof_[h] > 199.9]
    assert at_bound  # the data are Gaussian
    for name in at_bound:
        assert np.isnan(info.std_error[info.parameters.index(name)])
    assert any("edge of what is possible" in remark for remark in info.remarks)
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
    monkeypatch.setattr(type(clf.family_), "has_coordinates", False)
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
