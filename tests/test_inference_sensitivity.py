"""What would change if blanks also depended on the class."""

import math
import pickle

import numpy as np
import pytest

from helpers_families import Exponential
from hesitant import MixtureClassifier
from hesitant.mechanisms import ClassMechanism, EntropyClassMechanism, MixedMechanism

TILTS = [-1.5, -0.75, 0.75, 1.5]


@pytest.fixture(scope="module")
def by_class():
    """Two classes, labels given to 75 % of one and 45 % of the other: X, y."""
    rng = np.random.default_rng(0)
    truth = (rng.random(500) < 0.4).astype(int)
    X = rng.standard_normal((500, 2)) + truth[:, None] * [1.8, 0.8]
    return X, np.where(rng.random(500) < np.array([0.75, 0.45])[truth], truth, -1)


@pytest.fixture(scope="module")
def swept(by_class):
    X, y = by_class
    clf = MixtureClassifier().fit(X, y)
    return clf, clf.sensitivity(X, y, of=1, tilts=TILTS)


def test_no_tilt_is_the_fit_itself(swept, by_class):
    clf, result = swept
    assert result.tilts.tolist() == [-1.5, -0.75, 0.0, 0.75, 1.5]
    assert result.log_likelihood[2] == pytest.approx(clf.log_likelihood_, abs=1e-5)
    np.testing.assert_allclose(result.shares[2], clf.weights_, atol=1e-4)
    assert result.changed[2] == 0


def test_each_tilt_is_a_fit_of_its_own(swept, by_class):
    X, y = by_class
    _, result = swept
    mechanism = EntropyClassMechanism(tilt=[0.0, -1.5])
    alone = MixtureClassifier(mechanism=mechanism).fit(X, y)
    assert result.log_likelihood[0] == pytest.approx(alone.log_likelihood_, abs=1e-4)
    np.testing.assert_allclose(result.shares[0], alone.weights_, atol=1e-3)


def test_the_truth_lies_inside_the_band_and_the_data_point_towards_it(swept):
    clf, result = swept
    low, high = result.band[1]
    assert clf.weights_[1] < 0.36  # without a tilt the class is taken for a smaller one
    assert low < 0.4 < high
    assert (np.diff(result.shares[:, 1]) < 0).all()
    assert result.tilts[result.log_likelihood.argmax()] < 0
    assert "speak for a tilt" in str(result)


def test_rows_turn_where_their_prediction_does(swept, by_class):
    X, _ = by_class
    _, result = swept
    classes = np.array([clf.predict(X) for clf in result.models])
    np.testing.assert_array_equal(result.stable, (classes == classes[2]).all(axis=0))
    row = int(np.flatnonzero(~result.stable)[0])
    at = result.tilts.tolist().index(result.turns[row])
    assert classes[at, row] != classes[2, row]
    nearer = np.abs(result.tilts) < abs(result.turns[row])
    assert (classes[nearer, row] == classes[2, row]).all()
    np.testing.assert_allclose(result.changed, (classes != classes[2]).mean(axis=1))


def test_the_tilt_at_which_a_conclusion_turns(swept):
    _, result = swept
    middle = result.shares[1:3, 1].mean()
    turn = result.turning_point(lambda clf: clf.weights_[1] - middle)
    assert turn == pytest.approx(-0.375, abs=0.05)
    assert result.turning_point(lambda clf: bool(clf.weights_[1] > middle)) == -0.375
    assert math.isnan(result.turning_point(lambda clf: clf.weights_[1]))


def test_without_a_mechanism_the_tilt_is_of_the_class_alone(by_class):
    X, y = by_class
    clf = MixtureClassifier(mechanism=None).fit(X, y)
    result = clf.sensitivity(X, y, tilts=[1.0])
    assert isinstance(result.models[0].mechanism_, ClassMechanism)
    np.testing.assert_allclose(result.shares[0], clf.weights_, atol=1e-3)
    assert list(result.to_frame())[:3] == ["tilt", "odds", "log_likelihood"]
    assert result.plot().ax_.get_ylabel() == "share of 1"


def test_whatever_solver_found_the_fit(by_class):
    fits = [MixtureClassifier(mechanism=None, solver=s).fit(*by_class) for s in ("em", "auto")]
    found, same = (clf.sensitivity(*by_class, tilts=[-1, 1]) for clf in fits)
    np.testing.assert_allclose(found.shares, same.shares, atol=1e-3)


def test_mistakes_are_named(by_class):
    X, y = by_class
    clf = MixtureClassifier().fit(X, y)
    with pytest.raises(ValueError, match="of='c'"):
        clf.sensitivity(X, y, of="c")
    for wrong in ([np.nan], "x", 3):
        with pytest.raises(ValueError, match=r"tilts=.*finite"):
            clf.sensitivity(X, y, tilts=wrong)
    mixed = MixtureClassifier(mechanism=MixedMechanism()).fit(X, y)
    with pytest.raises(TypeError, match="no tilt of the mechanism 'mixed"):
        mixed.sensitivity(X, y, tilts=[1.0])


def test_standard_errors_travel(swept):
    """They are found when asked for; a copy that went where no rows are has them all the same."""
    _, found = swept
    elsewhere = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(elsewhere.errors, found.errors)
    expected = MixtureClassifier.information(found.models[0])
    weights = [k for k, name in enumerate(expected.parameters) if name.startswith("weight")]
    assert set(expected.std_error[weights]) <= set(found.errors[0])


def test_a_family_without_an_information_matrix_is_swept_without_errors(by_class):
    X, y = np.abs(by_class[0]), by_class[1]
    found = MixtureClassifier(Exponential()).fit(X, y).sensitivity(X, y, tilts=[1.0])
    assert np.isnan(found.errors).all()
    assert "with it; there are no standard errors." in " ".join(str(found).split())
    assert len(pickle.loads(pickle.dumps(found)).tilts) == 2
