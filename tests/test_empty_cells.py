"""Empty cells in X: the likelihood of what was observed, whatever the family and the container."""

import warnings

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal, multivariate_t

from hesitant import MixtureClassifier
from hesitant.chart import Chart
from hesitant.families import FAMILIES, Gaussian, SkewT, StudentT
from hesitant.families._gaps import find_gaps
from hesitant.labels import encode
from hesitant.mechanisms import EntropyMechanism, Ignorable

STRUCTURES = ["full", "tied", "diag", "spherical", "shrunk"]


@pytest.fixture(scope="module")
def torn():
    """Return three classes with a fifth of all cells empty, one row with nothing at all."""
    rng = np.random.default_rng(1)
    n = 240
    truth = rng.integers(3, size=n)
    mix = np.array([[1, 0.6, 0.2], [0, 1, -0.5], [0, 0, 0.8]])
    X = rng.standard_normal((n, 3)) @ mix + np.array([[0, 0, 0], [3, 1, 0], [0, 3, 2.0]])[truth]
    X[rng.random(X.shape) < 0.2] = np.nan
    X[7] = np.nan
    return X, np.where(rng.random(n) < 0.6, truth, -1)


def observed_density(clf, X):
    """Return log densities by SciPy, row by row."""
    params = clf.parameters_
    out = np.zeros((len(X), len(clf.classes_)))
    for i, row in enumerate(X):
        seen = ~np.isnan(row)
        for h in range(out.shape[1]):
            if seen.any() and "dof" in params:
                part = params["scales"][h][np.ix_(seen, seen)]
                law = multivariate_t(params["locations"][h][seen], part, params["dof"][h])
                out[i, h] = law.logpdf(row[seen])
            elif seen.any():
                part = params["covariances"][h][np.ix_(seen, seen)]
                out[i, h] = multivariate_normal(params["means"][h][seen], part).logpdf(row[seen])
    return out


@pytest.mark.parametrize("covariance", STRUCTURES)
@pytest.mark.parametrize("family", ["gaussian", "t"])
@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
def test_likelihood_is_that_of_what_was_observed(torn, family, covariance):
    X, y = torn
    clf = MixtureClassifier(family, covariance=covariance).fit(X, y)
    expected = observed_density(clf, X)
    np.testing.assert_allclose(
        clf.family_.log_density(clf.state_.params, X), expected, rtol=1e-9, atol=1e-9
    )
    joint = expected + np.log(clf.weights_)
    np.testing.assert_allclose(
        clf.predict_proba(X), np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None])
    )
    np.testing.assert_allclose(clf.predict_proba(X[[7]])[0], clf.weights_)
    assert clf.converged_


@pytest.mark.parametrize("family", ["skew_t", "skew_normal"])
def test_skewed_classes_are_closed_under_margins(torn, family):
    X, y = torn
    clf = MixtureClassifier(family, mechanism=None, max_iter=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # not meant to arrive
        clf.fit(X, y)
    params, density = clf.state_.params, clf.family_.log_density
    row = np.array([[0.3, np.nan, 1.1]])
    # What is missing, summed over.
    grid = np.linspace(-60, 60, 40_001)
    whole = np.column_stack((np.full_like(grid, 0.3), grid, np.full_like(grid, 1.1)))
    summed = np.exp(density(params, whole)).sum(axis=0) * (grid[1] - grid[0])
    np.testing.assert_allclose(np.exp(density(params, row))[0], summed, rtol=1e-3)
    np.testing.assert_allclose(density(params, X[[7]]), 0, atol=1e-9)


@pytest.mark.parametrize("covariance", STRUCTURES)
@pytest.mark.parametrize(
    "family", [Gaussian(), StudentT(), StudentT(dof=np.inf), SkewT()], ids=str
)
@pytest.mark.parametrize("mechanism", [Ignorable(), EntropyMechanism()], ids=str)
def test_gradient(torn, build, family, covariance, mechanism):
    X, y = torn
    likelihood, state = build(
        X[:80], encode(y).codes[:80], mechanism, family=family, covariance=covariance
    )
    chart = Chart(likelihood, state, likelihood.evaluate(state), mechanism=True)
    there = 0.3 * np.random.default_rng(0).standard_normal(chart.size)
    at = chart.decode(there)
    analytic = chart.gradient(at, likelihood.evaluate(at))
    numeric = [
        likelihood.evaluate(chart.decode(there + e)).objective
        - likelihood.evaluate(chart.decode(there - e)).objective
        for e in 1e-4 * np.eye(chart.size)
    ]
    size = np.abs(analytic).max()
    np.testing.assert_allclose(analytic, np.array(numeric) / 2e-4, rtol=1e-5, atol=1e-6 * size)


def test_em_of_skewed_classes_climbs(torn):
    X, y = torn[0][:120], torn[1][:120]
    clf = MixtureClassifier(SkewT(dof=8), mechanism=None, solver="em", max_iter=40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # not meant to arrive
        history = clf.fit(X, y).history_
    assert np.diff(history).min() > -1e-9 * abs(history[-1])


@pytest.mark.parametrize("family", ["gaussian", "t"])
@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
def test_em_climbs_to_where_gradients_lead(torn, family):
    X, y = torn[0][:120], torn[1][:120]
    em = MixtureClassifier(family, mechanism=None, solver="em", max_iter=5000).fit(X, y)
    newton = MixtureClassifier(family, mechanism=None).fit(X, y)
    assert np.diff(em.history_).min() > -1e-9 * abs(em.history_[-1])
    assert em.log_likelihood_ == pytest.approx(newton.log_likelihood_, abs=1e-3)
    # And blocks do not matter.
    assert newton.log_likelihood(X, y) == pytest.approx(newton.log_likelihood_, rel=1e-12)


def test_optimum_against_another_optimiser(torn):
    X, y = torn
    X, y = X[:100, :2], np.minimum(y[:100], 1)
    clf = MixtureClassifier(mechanism=None, reg_covar=0).fit(X, y)

    def negative(v):
        means, L = v[:4].reshape(2, 2), np.zeros((2, 2, 2))
        L[:, 0, 0], L[:, 1, 0], L[:, 1, 1] = np.exp(v[4:6]), v[6:8], np.exp(v[8:10])
        cover = L @ L.transpose(0, 2, 1)
        joint = np.tile([-np.logaddexp(0, -v[10]), -np.logaddexp(0, v[10])], (len(X), 1))
        for seen in ([True, True], [True, False], [False, True]):
            rows = (~np.isnan(X) == seen).all(axis=1)
            for h in range(2):
                law = multivariate_normal(means[h][seen], cover[h][np.ix_(seen, seen)])
                joint[rows, h] += law.logpdf(X[rows][:, seen])
        known = joint[np.arange(len(X)), y]
        return -np.where(y >= 0, known, np.logaddexp(*joint.T)).sum()

    start = np.concatenate((np.nanmean(X, axis=0), np.nanmean(X, axis=0), np.zeros(7)))
    found = minimize(negative, start, method="BFGS", options={"maxiter": 500})
    assert clf.log_likelihood_ == pytest.approx(-found.fun, abs=1e-3)


def test_affine_maps_of_one_feature_change_nothing(torn):
    # Of several features at once a row with gaps has no image.
    X, y = torn
    scale, shift = np.array([1e3, -0.01, 7.0]), np.array([5.0, 1e3, 0.0])
    for covariance in ("full", "tied", "diag"):
        before = MixtureClassifier(covariance=covariance).fit(X, y)
        after = MixtureClassifier(covariance=covariance).fit(X * scale + shift, y)
        np.testing.assert_allclose(
            after.predict_proba(X * scale + shift), before.predict_proba(X), atol=1e-4
        )


def test_a_turn_of_features_that_are_missing_together_changes_nothing(torn):
    X, y = torn
    X = X.copy()
    X[np.isnan(X[:, :2]).any(axis=1), :2] = np.nan
    turned = X.copy()
    turned[:, :2] = X[:, :2] @ np.array([[0.6, 0.8], [-0.8, 0.6]])
    before, after = (MixtureClassifier().fit(features, y) for features in (X, turned))
    np.testing.assert_allclose(after.predict_proba(turned), before.predict_proba(X), atol=1e-4)


def test_standard_errors(torn):
    X, y = torn
    clf = MixtureClassifier(mechanism=None).fit(X, y)
    errors = clf.summary()["std_error"]
    whole = ~np.isnan(X).any(axis=1)
    fewer = MixtureClassifier(mechanism=None).fit(X[whole], y[whole]).summary()["std_error"]
    assert np.isfinite(errors).all()
    assert errors.mean() < fewer.mean()  # incomplete rows say something


def test_containers_agree(torn):
    X, y = torn
    names = ["a", "b", "c"]
    expected = MixtureClassifier().fit(X, y).predict_proba(X)
    frame = pd.DataFrame(X, columns=names)
    nulls = [[None if np.isnan(v) else float(v) for v in column] for column in X.T]
    arrow = pa.table(dict(zip(names, nulls, strict=True)))
    for table in (
        frame,
        frame.convert_dtypes(),
        frame.astype(object).where(frame.notna(), None),
        frame.astype("float64[pyarrow]"),
        pl.DataFrame(dict(zip(names, nulls, strict=True))),
        arrow,
        np.ma.array(np.nan_to_num(X, nan=99.0), mask=np.isnan(X)),
    ):
        clf = MixtureClassifier().fit(table, y)
        np.testing.assert_allclose(clf.predict_proba(table), expected, atol=1e-9)
    chunks = da.from_array(X, chunks=(50, 3))
    clf = MixtureClassifier().fit(chunks, y)
    np.testing.assert_allclose(clf.predict_proba(chunks).compute(), expected, atol=1e-5)


def test_blocks_and_threads_agree(torn):
    X, y = torn
    X, y = np.tile(X, (40, 1)), np.tile(y, 40)  # more than one block
    one, two = (MixtureClassifier(n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    np.testing.assert_array_equal(one.means_, two.means_)


def test_classes_without_labels_and_other_solvers(torn):
    X, y = torn
    y = np.where(y == 2, -1, y)
    clf = MixtureClassifier(classes=[0, 1, 2], mechanism=None, random_state=0).fit(X, y)
    assert np.isfinite(clf.predict_proba(X)).all()
    for solver in ("one_step_late", "profile"):
        fit = MixtureClassifier(solver=solver).fit(X, y)
        assert fit.log_likelihood_ == pytest.approx(
            MixtureClassifier().fit(X, y).log_likelihood_, abs=1e-2
        )


def test_patterns_of_many_features():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 70))
    X[rng.random(X.shape) < 0.05] = np.nan
    X[10] = X[3]
    gaps = find_gaps(X)
    assert sorted(gaps.places) == np.flatnonzero(np.isnan(X).any(axis=1)).tolist()
    np.testing.assert_array_equal(gaps.rest, np.nan_to_num(X))
    for k, (a, b) in enumerate(zip(gaps.starts, gaps.starts[1:], strict=False)):
        assert (~np.isnan(X[gaps.places[a:b]]) == gaps.seen[k]).all()
    assert len(gaps.seen) == len(np.unique(np.isnan(X[gaps.places]), axis=0))
    assert find_gaps(np.zeros((3, 2))) is None


def test_what_cannot_be_is_said(torn):
    X, y = torn
    infinite = X.copy()
    infinite[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinity in row 3, column 1"):
        MixtureClassifier().fit(infinite, y)
    nothing = X.copy()
    nothing[:, 2] = np.nan
    with pytest.raises(ValueError, match="no value at all in column 2: drop it"):
        MixtureClassifier().fit(nothing, y)


def test_tags_say_which_families_allow_it():
    for name, family in FAMILIES.items():
        tags = MixtureClassifier(name).__sklearn_tags__()
        assert tags.input_tags.allow_nan == family.takes_gaps


@pytest.mark.parametrize("family", FAMILIES)
def test_a_step_to_classes_wider_than_numbers_is_no_end_of_a_fit(torn, family):
    X, y = torn
    clf = MixtureClassifier(family).fit(X, y)
    params = clf.state_.params
    some = X[~np.isnan(X).all(axis=1)]
    with np.errstate(all="ignore"):
        found = clf.family_.log_density(params.moved(whitener=0.0 * params.whitener), some)
    assert not np.isfinite(found).any()
