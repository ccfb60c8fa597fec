"""Kernels: compiled where that pays, plain where it does not, and never without a word."""

import json
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from hesitant import MixtureClassifier, _compile, _vector_math, likelihood
from hesitant.datasets import simulate
from hesitant.families import Gaussian, _kernels
from hesitant.mechanisms import (
    ClassMechanism,
    EntropyClassMechanism,
    EntropyMechanism,
    Mechanism,
    _logistic,
    as_mechanism,
)
from hesitant.rows import Rows

RNG = np.random.default_rng(0)
X = RNG.standard_normal((70, 3))
PLACE = (RNG.standard_normal(3), RNG.uniform(1, 2, 3), RNG.standard_normal((2, 3)))
JOINT = 30 * RNG.standard_normal((70, 2))
TAU = RNG.dirichlet([1, 1], 70)
CODES, WEIGHT = RNG.integers(-1, 2, 70), RNG.random(70)

EACH = EntropyClassMechanism(basis="polynomial").prepare(2)
ALONE = ClassMechanism().prepare(2)
CURVE, BETA = EntropyMechanism(basis="polynomial").prepare(2), np.array([1.0, -5.0, 2.0])

PAIRS = {
    "distances": (
        _kernels.squared_distances,
        _kernels._distances_plainly,
        (X, PLACE, np.tril(RNG.standard_normal((2, 3, 3)))),
    ),
    "moments": (
        _kernels.weighted_moments,
        _kernels._moments_plainly,
        (X, PLACE, TAU - 0.2),
    ),
    "posteriors": (_vector_math.normalise, _vector_math._normalise_plainly, (JOINT,)),
    "posteriors of classes of some size": (
        _vector_math.normalise,
        _vector_math._normalise_plainly,
        (JOINT, np.array([0.3, -2.0])),
    ),
    "weights": (
        likelihood._weigh,
        likelihood._weigh_plainly,
        ((np.log(TAU), TAU, JOINT[:, 0].copy()), CODES, WEIGHT, 0.1 * JOINT),
    ),
    "pattern": (
        _logistic._sum_logistic,
        Mechanism.pattern,
        (CURVE, CURVE.difficulty(np.log(TAU), TAU), CODES, CODES >= 0, WEIGHT, BETA),
    ),
    "pattern by class": (
        _logistic._sum_logistic,
        Mechanism.pattern,
        (EACH, EACH.difficulty(np.log(TAU), TAU), CODES, CODES >= 0, WEIGHT, np.r_[0.3, BETA]),
    ),
    "pattern of classes alone": (
        _logistic._sum_logistic,
        Mechanism.pattern,
        (ALONE, ALONE.difficulty(np.log(TAU), TAU, False), CODES, CODES >= 0, WEIGHT, BETA[:2]),
    ),
    "pattern without pull": (
        _logistic._sum_logistic,
        Mechanism.pattern,
        (CURVE, CURVE.difficulty(np.log(TAU), TAU, False), CODES, CODES >= 0, WEIGHT, 99 * BETA),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_plain_and_compiled_kernels_agree(name):
    kernel, plain, arguments = PAIRS[name]

    def results(function):
        own = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        out = function(*own)
        return out if isinstance(out, tuple) else (out,)

    kernel.compile_now()
    for a, b in zip(results(kernel), results(plain), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_a_loop_of_pythons_own_is_compiled_sooner(monkeypatch):
    ran = []

    def loop(x):
        ran.append("plain")

    monkeypatch.setattr(_compile, "_compile", lambda *_, **__: lambda x: ran.append("compiled"))
    monkeypatch.setattr(_compile, "_compiled_before", lambda _: False)
    for plain in (True, loop):
        _compile.njit(plain)(loop)(np.zeros(_compile.PATIENCE // 40))
    assert ran == ["compiled", "plain"]


@pytest.mark.parametrize("p", [1, 2, 4, 7, 12])
def test_features_in_fours_leave_none_out(p):
    rng = np.random.default_rng(p)
    X, location, w = (
        rng.standard_normal((500, p)),
        rng.standard_normal((3, p)),
        rng.random((500, 3)),
    )
    W = np.tril(rng.standard_normal((3, p, p)))
    place = rng.standard_normal(p), rng.uniform(1, 2, p), location
    u = (X - place[0]) / place[1] - location[:, None]
    z = u @ W.transpose(0, 2, 1)
    np.testing.assert_allclose(_kernels.squared_distances(X, place, W), (z**2).sum(axis=2).T)
    mass, first, second = _kernels.weighted_moments(X, place, w)
    np.testing.assert_allclose(mass, w.sum(axis=0))
    np.testing.assert_allclose(first, np.einsum("ih,hij->hj", w, u), atol=1e-10)
    np.testing.assert_allclose(second, np.einsum("ih,hij,hik->hjk", w, u, u), atol=1e-10)


@pytest.mark.parametrize("kept", [0.2, 0.8, 0.0])
def test_moments_of_wide_rows_leave_out_what_adds_nothing(kept):
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((3000, 40)), np.eye(4)[rng.integers(0, 4, 3000)]
    w[:, 3] = rng.random(3000) < kept  # pools that fill often, not at all, and that none needs
    X[0], w[0] = 1e20, 1e-40  # next to no weight, and yet all there is to see
    w[1:9] -= 1e-80
    place = rng.standard_normal(40), rng.uniform(1, 2, 40), rng.standard_normal((4, 40))
    _kernels.weighted_moments.compile_now()
    expected = _kernels._moments_plainly(X, place, w)
    for a, b in zip(_kernels.weighted_moments(X, place, w), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("covariance", ["full", "tied"])
@pytest.mark.parametrize(
    ("p", "g", "mechanism"),
    [(1, 2, None), (2, 2, "entropy"), (3, 4, "entropy"), (5, 3, None), (40, 3, "entropy")],
)
def test_one_pass_says_what_the_steps_say_one_by_one(p, g, mechanism, covariance):
    rng = np.random.default_rng(p)
    n = 2 * _kernels.LENGTH + 5  # whole strips, and a piece of one
    X = rng.standard_normal((n, p)) + rng.integers(0, g, n)[:, None]
    codes, weight = rng.integers(-1, g, n), 3 * rng.random(n)
    X[0], weight[0] = 1e150, 0.0  # so far out that squares overflow
    rows = Rows(X, codes, weight, rng.random(n) < 0.8, n_classes=g)
    family = Gaussian().specialise(covariance, 1e-6)
    params = family.initial(X[1:], rng.dirichlet(np.ones(g), n - 1))
    how = as_mechanism(mechanism).prepare(g)
    weights = rng.dirichlet(np.ones(g))
    state = likelihood.State(weights, params, np.array([1.0, -4.0]))
    whole = likelihood.Likelihood(rows, family, how, alpha=0.7)
    assert whole.in_one_pass
    likelihood._in_one_pass.compile_now()
    found = whole.evaluate(state)
    whole.in_one_pass = False
    expected = whole.evaluate(state)
    for a, b in zip(found[:5], expected[:5], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)
    for a, b in zip(found.statistics, expected.statistics, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)


def test_sums_do_not_depend_on_where_in_memory_arrays_lie():
    data = simulate(n=20_000, random_state=0)  # three blocks, copied anew for every look
    kept, found = [], set()
    for k, size in enumerate(RNG.integers(1, 3_000, 24)):
        kept.append(np.empty(size))
        clf = MixtureClassifier(n_jobs=1 + k % 2, tol=1e-9).fit(data.features, data.labels)
        found.add((clf.log_likelihood_, clf.means_.tobytes()))
    assert len(found) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_forked_process_takes_up_no_sum_that_another_thread_had_begun():
    rng = np.random.default_rng(0)
    codes = rng.integers(-1, 3, 6000)
    X = rng.standard_normal((6000, 40)) + 2 * codes[:, None]  # wide: rows wait in pools
    family, weights = Gaussian(), np.full(3, 1 / 3)
    params = family.initial(X, rng.dirichlet(weights, 6000))
    state = likelihood.State(weights, params, np.array([1.0, -4.0]))
    how = as_mechanism("entropy").prepare(3)
    whole = likelihood.Likelihood(Rows(X, codes, n_classes=3), family, how)
    likelihood._in_one_pass.compile_now()
    second, over = whole.evaluate(state).statistics[3], threading.Event()

    def go_on():
        while not over.is_set():
            whole.evaluate(state)

    def compare():  # the first thread of a forked process often takes the place of that other one
        os._exit(0 if (whole.evaluate(state).statistics[3] == second).all() else 1)

    beside = threading.Thread(target=go_on)
    beside.start()
    codes_of_exit = []
    for _ in range(10):
        if (child := os.fork()) == 0:
            threading.Thread(target=compare).start()
            over.wait(60)
            os._exit(2)
        codes_of_exit.append(os.waitpid(child, 0)[1])
    over.set()
    beside.join()
    assert codes_of_exit == [0] * 10


class OwnShape(Gaussian):
    """A user's family, which may change anything."""


@pytest.mark.parametrize(
    "options",
    [
        {"family": "t"},
        {"family": OwnShape()},
        {"components": 2},
        {"mechanism": "class"},
        {"mechanism": EntropyMechanism(order=2)},
        {"mechanism": EntropyMechanism(basis="spline")},
        {"mechanism": EntropyMechanism(tilt=[0.0, 1.0])},
        {"mechanism": "mixed"},
    ],
)
@pytest.mark.filterwarnings("ignore::hesitant.FitWarning")
def test_what_one_pass_does_not_know_goes_step_by_step(options):
    data = simulate(n=300, random_state=1)
    clf = MixtureClassifier(**options).fit(data.features, data.labels)
    assert not clf.fitted_.likelihood(clf.fit_rows).in_one_pass


def test_a_family_of_ones_own_that_changes_nothing_gives_the_same_fit():
    data = simulate(n=300, random_state=1)
    own, usual = (
        MixtureClassifier(family).fit(data.features, data.labels)
        for family in (OwnShape(), "gaussian")
    )
    assert usual.fitted_.likelihood(usual.fit_rows).in_one_pass
    assert own.log_likelihood_ == pytest.approx(usual.log_likelihood_, abs=1e-8)
    np.testing.assert_allclose(own.means_, usual.means_, atol=1e-4)


FIT = """
import json, sys, warnings
import numpy as np
{before}
from hesitant import MixtureClassifier
from hesitant.datasets import simulate
data = simulate(n=300, random_state=1)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    fits = [MixtureClassifier({family!r}).fit(data.features, data.labels) for _ in range(2)]
    P = fits[1].predict_proba(data.features)
print(json.dumps({{
    "numba": "numba" in sys.modules,
    "value": fits[0].log_likelihood_,
    "P": P[:5].tolist(),
    "warnings": [str(w.message) for w in caught if "compile" in str(w.message)],
}}))
"""


def run(tmp_path, family="gaussian", before="", **environment):
    done = subprocess.run(
        [sys.executable, "-c", FIT.format(family=family, before=before)],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["gaussian", "t"])
@pytest.mark.filterwarnings("ignore::hesitant.FitWarning")
def test_a_small_first_fit_compiles_nothing_and_says_the_same(tmp_path, family):
    found = run(tmp_path, family, HESITANT_COMPILE="")
    assert not found["numba"]
    assert not found["warnings"]
    data = simulate(n=300, random_state=1)
    clf = MixtureClassifier(family).fit(data.features, data.labels)
    assert found["value"] == pytest.approx(clf.log_likelihood_, rel=1e-9)
    np.testing.assert_allclose(found["P"], clf.predict_proba(data.features)[:5], atol=1e-6)


@pytest.mark.slow
def test_without_a_folder_to_write_in_kernels_are_compiled_and_not_kept(tmp_path):
    # Permissions do not stop everybody, so numba is told that it has nowhere to look.
    nowhere = "import numba.core.caching as c; c.CompileResultCacheImpl._locator_classes = []"
    kernel = f"{nowhere}; import hesitant.families._kernels as k; k.cholesky.compile_now()"
    kernel += "; import hesitant.likelihood as m; m._weigh.compile_now()"
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", kernel], capture_output=True, text=True, check=True
    )
    assert done.stderr.count("Set NUMBA_CACHE_DIR to a folder that can be written") == 1
