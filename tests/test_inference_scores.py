"""Scores of single rows by formula, against steps along every axis of the chart."""

import numpy as np
import pytest

from hesitant import MixtureClassifier
from hesitant.chart import Chart
from hesitant.families import SkewT, StudentT
from hesitant.inference._inverses import exceeds, inflation, inverse, is_diagonal
from hesitant.inference._scores import (
    STEP,
    class_scores,
    find_axes,
    log_joint,
)
from hesitant.labels import encode
from hesitant.mechanisms import EntropyMechanism


@pytest.mark.parametrize("covariance", ["full", "tied", "diag", "spherical", "shrunk"])
@pytest.mark.parametrize("family", [None, StudentT(), SkewT()], ids=["Gaussian", "t", "skew-t"])
def test_row_scores(three_classes, build, family, covariance):
    X, y = three_classes
    X = np.ascontiguousarray(X[:40])
    likelihood, state = build(
        X, encode(y[:40]).codes, EntropyMechanism(), family=family, covariance=covariance
    )
    chart = Chart(likelihood, state, likelihood.evaluate(state), mechanism=True)
    axes = find_axes(likelihood.family, chart)
    scores = class_scores(axes, X)
    for axis in range(axes.size):
        vector = np.zeros(chart.size)
        vector[axis] = STEP
        ahead, behind = (
            log_joint(likelihood.family, chart.decode(v), X) for v in (vector, -vector)
        )
        numeric = (ahead - behind) / (2 * STEP)
        for h, own in enumerate(axes.of_class):
            if axis not in own:
                assert np.abs(numeric[:, h]).max() < 1e-9
                continue
            found = scores[h][np.searchsorted(own, axis)]
            np.testing.assert_allclose(found, numeric[:, h], atol=1e-6 * (1 + np.abs(found).max()))


@pytest.mark.parametrize("covariance", ["full", "tied", "diag", "spherical", "shrunk"])
def test_what_complete_labels_tell_is_what_drawn_rows_tell(three_classes, covariance):
    X, y = three_classes
    clf = MixtureClassifier(covariance=covariance, mechanism=None).fit(X, y)
    model, rows = clf.fitted_, clf.fit_rows
    chart = Chart(model.likelihood(rows), model.state, None, mechanism=False)
    axes, (drawn, classes) = (
        find_axes(model.family, chart),
        model.draw(200_000, np.random.default_rng(0)),
    )
    found = np.zeros((axes.size, axes.size))
    for h, (own, scores) in enumerate(zip(axes.of_class, class_scores(axes, drawn), strict=True)):
        mine = scores[:, classes == h]
        found[np.ix_(own, own)] += mine @ mine.T * chart.total / len(drawn)
    expected = np.append(np.ones(chart.splits[0]), chart.family.complete)
    assert expected.max() <= 1 + 1e-9
    np.testing.assert_allclose(found, np.diag(expected), atol=0.03)


def test_inverses_of_information():
    rng = np.random.default_rng(0)
    root = rng.standard_normal((40, 30))
    matrix = root.T @ root
    before, least = matrix.copy(), np.linalg.eigvalsh(matrix)[0]
    found = inverse(matrix)
    np.testing.assert_allclose(found, np.linalg.inv(matrix), rtol=1e-9)
    np.testing.assert_array_equal(found, found.T)
    assert exceeds(matrix, 0.999 * least)
    assert not exceeds(matrix, 1.001 * least)
    np.testing.assert_array_equal(matrix, before)  # neither writes into what it is given
    turned = matrix - 2 * least * np.eye(30)  # uphill along one direction: no root
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        inverse(turned)


def test_information_of_axes_that_have_nothing_to_do_with_each_other():
    rng = np.random.default_rng(0)
    size, noise = rng.uniform(0.5, 2.0, 30), 1e-15 * rng.standard_normal((30, 30))
    matrix = np.diag(size) + noise + noise.T
    assert is_diagonal(matrix)
    np.testing.assert_allclose(inverse(matrix), np.linalg.inv(matrix), rtol=1e-12, atol=1e-12)
    assert exceeds(matrix, 0.999 * size)
    assert not exceeds(matrix, 1.001 * size.max())
    # An axis of which next to nothing is known shares what little there is with others.
    size[0] = 1e-9
    assert not is_diagonal(np.diag(size) + noise + noise.T)
    assert is_diagonal(np.diag(np.append(size, 0.0)))  # of which nothing is known
    assert not is_diagonal(np.eye(30)[::-1])
    assert not is_diagonal(-matrix)


def test_summary_of_classes_that_are_far_apart():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 200)
    X = rng.standard_normal((200, 4)) + 40.0 * truth[:, None]
    clf = MixtureClassifier(mechanism=None).fit(X, np.where(rng.random(200) < 0.5, truth, -1))
    info = clf.information()
    assert is_diagonal(info.chart_information)
    V = info.jacobian @ np.linalg.inv(info.chart_information) @ info.jacobian.T
    np.testing.assert_allclose(info.std_error, np.sqrt(V.diagonal()), rtol=1e-9)
    np.testing.assert_allclose(info.covariance, V, atol=1e-12 * V.max())


def test_inverses_of_sums_over_few_draws_are_too_large():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((10, 4000, 5))
    assert inflation([X.T @ X for X in rows]) == pytest.approx(1, abs=1e-3)
    assert inflation([X.T @ X for X in rows[:, :2]]) > 1.1
    without = inflation([X.T @ X for X in rows[:2, :2]])  # halves that have no inverse
    assert without == pytest.approx(2, abs=1e-6)
