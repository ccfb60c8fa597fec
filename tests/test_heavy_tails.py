"""What Student-t and skew-t classes have in common, tested alike."""

import dataclasses
import math
from contextlib import nullcontext

import numpy as np
import pytest

from helpers import COVARIANCES, DATA, assert_gradient, two_classes
from hesitant import MixtureClassifier
from hesitant.exceptions import FitWarning
from hesitant.families import SkewNormal, SkewT, StudentT
from hesitant.labels import encode
from hesitant.mechanisms import EntropyMechanism, Ignorable, MixedMechanism

FAMILIES = {
    "t": StudentT(),
    "t, one dof": StudentT(tied_dof=True),
    "t, fixed dof": StudentT(dof=[3.0, math.inf, 0.7]),
    "skew-t": SkewT(),
    "skew-t, one dof": SkewT(tied_dof=True),
    "skew-t, fixed dof": SkewT(dof=[3.0, math.inf, 0.7]),
    "skew-normal": SkewNormal(),
}
MECHANISMS = [Ignorable(), EntropyMechanism(), MixedMechanism()]


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
@pytest.mark.parametrize("family", FAMILIES)
def test_gradient(three_classes, build, covariance, mechanism, family):
    X, y = three_classes
    codes = encode(y).codes
    assert_gradient(*build(X, codes, mechanism, covariance=covariance, family=FAMILIES[family]))


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("family", ["t", "skew-t"])
def test_signed_steps_point_uphill(build, covariance, family):
    X, y = two_classes(seed=3)
    likelihood, state = build(
        X, y, EntropyMechanism(), covariance=covariance, family=FAMILIES[family]
    )
    state = dataclasses.replace(state, theta=np.array([1.0, -3.0]))
    evaluation = likelihood.evaluate(state)
    proposal = likelihood.maximise(state, evaluation)
    near = likelihood.family.blend(state.params, proposal.params, 1e-3)
    after = likelihood.evaluate(dataclasses.replace(state, params=near))
    assert after.objective > evaluation.objective


SIMULATED = ("sim_skewt_n700_p2_g2.csv", ("x1", "x2"))
FAITHFUL = ("faithful.csv", ("eruptions", "waiting"))


@pytest.mark.parametrize(
    ("data", "family", "value", "dof"),
    [
        (FAITHFUL, "t", -1129.960172, None),
        (SIMULATED, "t", -2828.921974, [5.83, 7.28]),
        (SIMULATED, "t, one dof", -2829.041928, None),
        (FAITHFUL, "skew-t", -1110.220827, None),
        (SIMULATED, "skew-t", -2806.429562, [5.860, 12.545]),
        (SIMULATED, "skew-t, one dof", -2807.556013, None),
    ],
)
def test_maxima_found_elsewhere(data, family, value, dof):
    file, columns = data
    table = np.genfromtxt(DATA / file, delimiter=",", names=True)
    X = np.column_stack([table[c] for c in columns])
    clf = MixtureClassifier(
        FAMILIES[family], mechanism=None, classes=[0, 1], random_state=0, n_init=2, tol=1e-8
    )
    with pytest.warns(FitWarning) if data == FAITHFUL else nullcontext():
        clf.fit(X, np.full(len(X), -1))
    assert clf.log_likelihood_ > value - 2e-6
    assert clf.log_likelihood_ == pytest.approx(value, abs=1e-5)
    if dof:
        np.testing.assert_allclose(np.sort(clf.dof_), dof, rtol=1e-3)


def spoil(kind):
    X, y = two_classes(n=120, seed=13, p=3, dof=30.0)
    if kind == "constant column":
        X[:, 1] = 4.0
    elif kind == "outliers":
        X[3] = 1e12
        X[4, 0] = -1e12
    elif kind == "handful":
        y[:] = -1
        y[:3] = [0, 1, 2]
    elif kind == "huge":
        X *= 1e150
    elif kind == "tiny":
        X *= 1e-150
    elif kind == "few rows":
        X, y = X[:5], np.array([0, 0, 1, 1, -1])
    elif kind == "duplicates":
        X, y = np.repeat(X[:3], 20, axis=0), np.tile([0, 1, -1], 20)
    return X, y


@pytest.mark.parametrize(
    "kind", ["constant column", "outliers", "handful", "huge", "tiny", "few rows", "duplicates"]
)
@pytest.mark.parametrize("family", ["t", "skew_t", "skew_normal"])
@pytest.mark.parametrize("mechanism", [None, "entropy"])
@pytest.mark.filterwarnings("error::RuntimeWarning", "ignore::hesitant.exceptions.FitWarning")
def test_bad_input_gives_finite_answers(kind, family, mechanism):
    X, y = spoil(kind)
    clf = MixtureClassifier(family, mechanism=mechanism).fit(X, y)
    assert math.isfinite(clf.log_likelihood_)
    for name in {"locations", "scales", "shapes"} & set(clf.parameters_):
        assert np.isfinite(clf.parameters_[name]).all()
    assert np.isfinite(clf.predict_log_proba(X)).all()
