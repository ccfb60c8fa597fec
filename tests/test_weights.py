"""Labelled rows weighted by one over their chance of a label stand in for all rows."""

import numpy as np
import pytest

from hesitant import MixtureClassifier, inverse_probability_weights


@pytest.fixture(scope="module")
def skewed():
    """Two classes whose labels get rare to the right: X, y, the chance of a label."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 2000)
    X = rng.standard_normal((2000, 2)) + 1.5 * truth[:, None]
    p = 1 / (1 + np.exp(X[:, 0] - 0.5))
    return X, np.where(rng.random(2000) < p, truth, -1), p


def test_a_fitted_mechanism_gives_one_over_its_probability(paper):
    X, y, _ = paper
    clf = MixtureClassifier().fit(X, y)
    weight = inverse_probability_weights(X, y, estimator=clf, trim=1)
    seen = y >= 0
    np.testing.assert_allclose(
        np.ptp(weight[seen] * clf.labelling_probability(X)[seen]), 0, atol=1e-12
    )
    assert weight[~seen].max() == 0
    assert weight[seen].mean() == pytest.approx(1)
    np.testing.assert_array_equal(weight, inverse_probability_weights(X, y, trim=1))


def test_the_kernel_needs_no_mechanism_to_undo_a_selection(skewed):
    X, y, _ = skewed
    seen = y >= 0
    weight = inverse_probability_weights(X, y, chance="kernel", trim=1)
    off = np.abs(X[seen].mean(axis=0) - X.mean(axis=0))[0]
    left = np.abs(np.average(X, axis=0, weights=weight) - X.mean(axis=0))[0]
    assert off > 0.4
    assert left < 0.3 * off


def test_weighted_discriminant_analysis_finds_what_the_selection_hides(skewed):
    X, y, _ = skewed
    clf = MixtureClassifier(mechanism=None, alpha=1)
    plain = clf.fit(X, y).means_[1, 0]
    weight = inverse_probability_weights(X, y, chance="kernel", trim=1)
    weighted = clf.fit(X, y, sample_weight=weight).means_[1, 0]
    assert abs(weighted - 1.5) < 0.5 * abs(plain - 1.5)


def test_trimming_cuts_the_largest_weights_only(paper):
    X, y, _ = paper
    free, cut = (inverse_probability_weights(X, y, trim=trim) for trim in (1, 0.9))
    assert cut.max() / cut[cut > 0].min() < free.max() / free[free > 0].min()
    assert (np.diff(cut[np.argsort(free)]) >= -1e-12).all()


def test_rows_that_nobody_saw_get_no_weight(paper):
    X, y, _ = paper
    reviewed = np.arange(len(y)) % 5 > 0
    for chance in ("mechanism", "kernel"):
        weight = inverse_probability_weights(X, y, chance=chance, reviewed=reviewed)
        assert weight[~reviewed].max() == 0
        assert weight[reviewed & (y >= 0)].min() > 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"chance": "guess"}, "chance"),
        ({"trim": 0.2}, "trim"),
        ({"missing_label": None}, "at least 2 are needed"),
    ],
)
def test_mistakes_are_named(paper, options, words):
    X, y, _ = paper
    y = np.full(len(y), np.nan) if "missing_label" in options else y
    with pytest.raises(ValueError, match=words):
        inverse_probability_weights(X, y, **options)
