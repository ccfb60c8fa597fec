"""Fits end at maxima, leave edges, refuse what is not a number, and keep rare classes in sight."""

import threading
import warnings

import numpy as np
import pytest
from scipy.special import expit, logsumexp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from hesitant import FitWarning, MixtureClassifier
from hesitant.datasets import simulate
from hesitant.families import StudentT
from hesitant.mechanisms import EntropyMechanism, Functions, Mechanism
from hesitant.rows import Rows
from hesitant.solvers._quasi_newton import _direction
from hesitant.uncertainty import Renyi, Shannon


def problem(seed):
    """Classes, shapes, blanks and a model, all at random."""
    rng = np.random.default_rng(seed)
    g, p, n = int(rng.integers(2, 5)), int(rng.integers(1, 5)), int(rng.choice([60, 200, 600]))
    centers = rng.standard_normal((g, p)) * rng.uniform(0.5, 4)
    truth = rng.integers(0, g, n)
    shapes = rng.standard_normal((g, p, p)) * 0.5 + np.eye(p)
    X = np.einsum("nij,nj->ni", shapes[truth], rng.standard_t(6, (n, p))) + centers[truth]
    gap = np.diff(np.sort(((X[:, None] - centers) ** 2).sum(axis=2), axis=1)[:, :2], axis=1)[:, 0]
    seen = rng.random(n) < expit(gap * rng.uniform(0, 0.6) - rng.uniform(-1, 2))
    options = {
        "covariance": str(rng.choice(["full", "tied", "diag", "spherical"])),
        "mechanism": ["entropy", "mixed", EntropyMechanism(basis="spline")][rng.integers(3)],
        "classes": list(range(g)),
        "random_state": 0,
    }
    return X, np.where(seen, truth, -1), options


def shortfall(X, y, family="gaussian", solver="auto", **options):
    """Return what a second fit, from where the first ended, still gains."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        first = MixtureClassifier(family, solver=solver, **options).fit(X, y)
        again = MixtureClassifier(family, init=first, tol=1e-8, **options).fit(X, y)
    return again.log_likelihood_ - first.log_likelihood_


@pytest.mark.slow
@pytest.mark.parametrize("family", ["gaussian", "t"])
def test_converged_means_at_a_maximum(family):
    gains = [shortfall(*problem(s)[:2], family, **problem(s)[2]) for s in range(30)]
    assert max(gains) < 2e-3, int(np.argmax(gains))


def test_directions_are_those_of_the_two_recursions():
    rng = np.random.default_rng(0)
    for m in (1, 3, 8):
        S, g = rng.standard_normal((m, 12)), rng.standard_normal(12)
        Y = S @ np.diag(rng.uniform(0.2, 5, 12))
        out, along, own = g.copy(), np.zeros(m), np.einsum("kj,kj->k", S, Y)
        for k in reversed(range(m)):
            along[k] = S[k] @ out / own[k]
            out -= along[k] * Y[k]
        out *= 0.7
        for k in range(m):
            out += (along[k] - Y[k] @ out / own[k]) * S[k]
        found = _direction(S, Y, np.asfortranarray(S @ Y.T), 0.7, g)
        np.testing.assert_allclose(found, out, rtol=1e-10)


def test_one_steep_direction_does_not_stop_the_others():
    rng = np.random.default_rng(23)
    truth = rng.integers(0, 2, 300)
    X = rng.standard_normal((300, 2)) + 2 * truth[:, None]
    y = np.where(rng.random(300) < 0.6, truth, -1)
    assert shortfall(X, y, mechanism="mixed") < 1e-3


def test_em_does_not_stop_at_the_first_small_gain():
    gains = []
    for seed in range(40):
        X, y, options = problem(seed)
        gains.append(shortfall(X, y, solver="em", **{**options, "mechanism": None}))
    assert max(gains) < 2e-3


@pytest.mark.slow
def test_what_rows_hardly_tell_does_not_keep_the_rest_from_its_maximum():
    """Labels lost at random, or given at random: of a mixed mechanism rows tell only the sum."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 4000)
    X = rng.standard_normal((4000, 2)) + 2.0 * truth[:, None]
    y = np.where(rng.random(4000) < 0.1, truth, -1)
    jointly, profiled = (
        MixtureClassifier(mechanism="mixed", solver=solver).fit(X, y).log_likelihood_
        for solver in ("quasi_newton", "profile")
    )
    assert profiled == pytest.approx(jointly, abs=1e-3)


def test_tails_can_grow_heavy_again():
    """From the Gaussian limit, the edge of what dof may be, a fit finds the tails."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 400)
    X = rng.standard_t(3, (400, 2)) + 3 * truth[:, None]
    y = np.where(rng.random(400) < 0.5, truth, -1)
    best = MixtureClassifier("t").fit(X, y)
    limit = MixtureClassifier(StudentT(dof=np.inf)).fit(X, y)
    for start in (limit, {**best.parameters_, "dof": np.full(2, 200.0)}):
        again = MixtureClassifier("t", init=start).fit(X, y)
        assert again.log_likelihood_ == pytest.approx(best.log_likelihood_, abs=1e-3)
        assert (again.dof_ < 10).all()


@pytest.mark.filterwarnings("ignore::hesitant.FitWarning")
def test_rare_classes_stay_in_the_sample():
    n = 60_000
    codes = np.full(n, -1)
    codes[::3] = 0
    codes[np.random.default_rng(0).choice(n, 5, replace=False)] = 1
    rows = Rows(np.zeros((n, 1)), codes, n_classes=2)
    _, kept, weight = rows.sample(20_000)
    assert (kept == 1).sum() == 5
    assert 5000 < (kept == 0).sum() <= 11_000
    assert 5000 < (kept == -1).sum() <= 11_000
    light = Rows(np.zeros((n, 1)), codes, np.full(n, 1 / n), n_classes=2)
    assert len(light.sample(20_000)[1]) == len(kept)  # rows are counted, not weights
    assert weight.min() == 1
    dask = pytest.importorskip("dask.array")
    clf = MixtureClassifier(mechanism=None)
    X = np.random.default_rng(1).standard_normal((n, 1)) + np.maximum(codes, 0)[:, None]
    lazy = dask.from_array(X, chunks=(7000, 1))
    for weights in (None, np.full(n, 1 / n)):
        there = clf.fit(lazy, codes, sample_weight=weights).fit_rows.sample(20_000)[1]
        assert (there == 1).sum() == 5
        assert len(there) < 25_000
    with pytest.raises(ValueError, match="sample_weight is zero for every row"):
        clf.fit(lazy, codes, sample_weight=np.zeros(n))


class Broken(Mechanism):
    """A mechanism with a mistake in it."""

    uncertainty = Shannon()
    n_parameters = 1

    def log_probability(self, u, labelled, theta):
        log_p, slope = np.full(u.size, -np.log(2)), np.zeros(u.size)
        if u.size > 100:  # nothing that a look at a few points would find
            log_p *= np.nan
        return log_p, slope, slope[:, None]


@pytest.mark.parametrize("solver", ["auto", "one_step_late", "profile"])
def test_a_likelihood_that_is_no_number_is_refused(paper, solver):
    X, y, _ = paper
    with pytest.raises(ValueError, match=r"No start led to a fit: the likelihood is nan"):
        MixtureClassifier(mechanism=Broken(), solver=solver).fit(X, y)


def test_functions_must_bear_certain_rows(paper):
    X, y, _ = paper
    log = Functions([np.log], [lambda u: 1 / u])
    with pytest.raises(ValueError, match=r"Functions\.evaluate: b is not finite.*np\.maximum"):
        MixtureClassifier(mechanism=EntropyMechanism(basis=log)).fit(X, y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"means": np.full((2, 2), np.nan)}, "not finite"),
        ({"means": np.zeros((3, 2)), "covariances": np.stack([np.eye(2)] * 3)}, "3 classes"),
    ],
)
def test_starts_that_make_no_sense(paper, change, message):
    X, y, _ = paper
    given = {"means": np.zeros((2, 2)), "covariances": np.stack([np.eye(2)] * 2), **change}
    with pytest.raises(ValueError, match=message):
        MixtureClassifier(init=given).fit(X, y)


@pytest.mark.parametrize("order", [0.3, 2, 5, 20, 50, 60, 400, np.int64(3)])
def test_renyi_of_any_order(order):
    rng = np.random.default_rng(0)
    log_tau = np.vstack((np.zeros((1, 4)), 5 * rng.standard_normal((200, 4))))
    log_tau -= logsumexp(log_tau, axis=1, keepdims=True)
    u, du = Renyi(order).evaluate(log_tau, np.exp(log_tau))
    exact = logsumexp(float(order) * log_tau, axis=1) / (1 - float(order))
    np.testing.assert_allclose(u, exact, rtol=1e-9, atol=1e-12)
    assert u[0] == pytest.approx(np.log(4), rel=1e-12)
    np.testing.assert_allclose(du.sum(axis=1), 0, atol=1e-9)
    Renyi(order).check(4)


def test_iterations_are_at_most_what_was_asked_for(paper):
    X, y, _ = paper
    for most in (1, 2, 3, 5):
        with pytest.warns(FitWarning, match="did not converge"):
            clf = MixtureClassifier(max_iter=most).fit(X, y)
        assert clf.n_iter_ <= most
        assert np.isfinite(clf.log_likelihood_)


def test_a_fitted_start_survives_cloning(paper):
    X, y, _ = paper
    first = MixtureClassifier().fit(X, y)
    again = clone(MixtureClassifier(init=first)).fit(X, y)
    assert again.n_iter_ <= first.n_iter_
    search = GridSearchCV(
        MixtureClassifier(init=first), {"reg_covar": [1e-6, 1e-3]}, cv=2, error_score="raise"
    )
    assert search.fit(X, y).best_estimator_.converged_


def test_several_threads_may_ask_at_once():
    data = simulate(n=20_000, random_state=0)
    clf = MixtureClassifier(n_jobs=2).fit(data.features, data.labels)
    expected = clf.information().std_error
    found, failed = [], []

    def ask():
        try:
            found.append(clf.information().std_error)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    for errors in found:
        # Threads of linear algebra, which others may have taken, round in their own way.
        np.testing.assert_allclose(errors, expected, rtol=1e-12)


def test_bic_counts_weights_as_rows(paper):
    X, y, _ = paper
    twice = np.repeat(np.arange(len(X)), 2)
    heavy = MixtureClassifier().fit(X, y, sample_weight=np.full(len(X), 2.0))
    long = MixtureClassifier().fit(np.asarray(X)[twice], np.asarray(y)[twice])
    assert heavy.bic() == pytest.approx(long.bic(), rel=1e-7)


@pytest.mark.parametrize("family", ["t", "skew_t"])
@pytest.mark.parametrize("value", [1e12, 1e20, 1e100])
@pytest.mark.filterwarnings("ignore::hesitant.FitWarning")
def test_a_fill_value_does_not_flatten_the_rest(family, value):
    """One entry of 1e20, as exports write for missing: heavy tails bear it."""
    data = simulate(n=400, random_state=0)
    X = data.features.copy()
    X[3, 0] = value
    clf = MixtureClassifier(family).fit(X, data.labels)
    assert (clf.predict(data.features) == data.truth).mean() > 0.9
