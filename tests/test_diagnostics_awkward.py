"""Diagnoses of data that leave little to ask: few blanks or none, failures, bad options."""

import json
import warnings

import numpy as np
import pytest

from hesitant import FitWarning, MixtureClassifier
from hesitant.datasets import simulate
from hesitant.diagnostics import diagnose


@pytest.fixture(scope="module")
def data():
    return simulate(n=500, random_state=0)


def test_too_few_blanks_skips_tests_one_by_one():
    data = simulate(n=200, intercept=50.0, random_state=0)
    y = data.truth.astype(object)
    y[:3] = None
    result = diagnose(data.features, y)
    assert not result.test("Mann").was_skipped
    assert result.test("Wald").was_skipped
    assert result.test("Wald").note == "3 blank rows, needs 5"
    assert result.test("shape").note == "3 blank rows, needs 10"
    y[1:3] = data.truth[1:3]
    one = diagnose(data.features, y)
    assert all(test.was_skipped for test in one.tests)
    assert "too few" in one.verdict


@pytest.mark.parametrize("blank", [False, True])
def test_no_pattern_at_all(blank):
    data = simulate(n=100, random_state=0)
    if blank:
        y = np.full(100, None)
        result = diagnose(
            data.features, y, estimator=MixtureClassifier(classes=[0, 1], random_state=0)
        )
        assert result.finding == "none"
    else:
        result = diagnose(data.features, data.truth)
        assert result.finding == "all"
    assert result.full is None
    assert all(test.was_skipped for test in result.tests)
    assert json.dumps(result.to_dict(), allow_nan=False)
    assert result.plot().axes_.size == 3


def test_nobody_reviewed_anything():
    data = simulate(n=100, random_state=0)
    result = diagnose(data.features, data.labels, reviewed=np.zeros(100, bool))
    assert result.full is None
    assert result.n_not_reviewed == 100


def test_separation_has_no_wald_test_worth_the_name():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 300)
    X = rng.standard_normal((300, 1)) + 2.0 * truth[:, None]
    y = np.where(np.abs(X[:, 0] - 1) > 0.5, X[:, 0] > 1, -1)  # blank exactly in the middle
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        result = diagnose(X, y)
    assert result.test("likelihood ratio").p_value < 1e-10
    assert result.finding == "hard"
    assert any("separates labelled rows from blanks" in remark for remark in result.remarks)


def test_failed_replicates_are_counted(data, monkeypatch):
    from hesitant.diagnostics import _tests as module

    real = module._null_ratio
    calls = {"n": 0}

    def flaky(*args, **kwargs):
        calls["n"] += 1
        if calls["n"] % 3 == 0:
            raise ValueError("No start led to a fit: whatever. More.")
        return real(*args, **kwargs)

    monkeypatch.setattr(module, "_null_ratio", flaky)
    result = diagnose(data.features, data.labels, n_boot=9, random_state=0)
    test = result.test("likelihood ratio, bootstrap")
    assert "replicates failed and are not counted" in test.note
    assert "No start led to a fit" in test.note
    assert test.method != "9 replicates"
    monkeypatch.setattr(module, "_null_ratio", lambda *_: np.linalg.inv(np.zeros((2, 2))))
    none = diagnose(data.features, data.labels, n_boot=4, random_state=0)
    assert none.test("likelihood ratio, bootstrap").was_skipped
    assert "4 of 4 replicates failed" in none.test("likelihood ratio, bootstrap").note
    assert not none.test("Wald").was_skipped


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_boot": -1}, "n_boot=-1"),
        ({"n_boot": 2.5}, "n_boot=2.5"),
        ({"level": 2.0}, "level=2.0"),
        ({"bandwidth": "wide"}, "bandwidth='wide'"),
        ({"bandwidth": -1}, "bandwidth=-1"),
        ({"mechanism": "entropi"}, "Did you mean 'entropy'"),
        ({"family": "gausian"}, "Did you mean 'gaussian'"),
        ({"reviewed": [True]}, "reviewed has shape"),
    ],
)
def test_bad_options(data, options, message):
    with pytest.raises((ValueError, TypeError), match=message.replace("(", r"\(")):
        diagnose(data.features, data.labels, **options)


def test_fits_warn_once_at_most(data):
    """Fits inside keep their warnings to themselves."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", FitWarning)
        diagnose(data.features, data.labels, mechanism="mixed", n_boot=2, random_state=0)
