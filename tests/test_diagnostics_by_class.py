"""Labels missing by class: told from difficulty and from chance."""

import json

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_softmax, logit, softmax
from scipy.stats import chi2_contingency

from helpers import ring
from hesitant import MixtureClassifier
from hesitant.datasets import simulate
from hesitant.diagnostics import diagnose
from hesitant.diagnostics._groups import told_by_labels
from hesitant.label_rates import as_sure_as, explain_blanks

CHANCE = {"intercept": 0.6, "slope": 0.0}


def three(n, seed):
    """Return three classes of equal size, three apart."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    X = rng.standard_normal((n, 2)) + 3.0 * np.eye(3)[truth, 1:]
    return rng, X, truth


def test_two_classes_labelled_unequally():
    for seed in range(5):
        data = simulate(n=500, random_state=seed)
        chance = np.where(data.truth == 0, 0.9, 0.3)
        y = np.where(np.random.default_rng([seed, 1]).random(500) < chance, data.truth, -1)
        found = diagnose(data.features, y)
        assert found.missing_by_class
        first, second = found.by_class
        assert first["class"] == "0"
        assert first["labelled"] > first["expected"] + 0.1
        assert second["labelled"] < second["expected"] - 0.1
        assert first["rows"] + second["rows"] == pytest.approx(500)
        assert found.headline != "The blanks mark the hard cases."
        assert "missing by class" in found.verdict


def test_the_class_is_believed_where_difficulty_adds_nothing():
    """Overlapping classes: rows of the class seldom labelled look hard, and none the worse."""
    for seed in (0, 2, 5):
        rng = np.random.default_rng(seed)
        truth = rng.integers(2, size=400)
        X = rng.standard_normal((400, 2)) + np.outer(truth, [0, 2])
        y = np.where(rng.random(400) < np.where(truth == 0, 0.9, 0.3), truth, -1)
        found = diagnose(X, y)
        assert found.suggested == "class"
        assert found.missing_by_class
        assert found.headline != "The blanks mark the hard cases."
        assert "% of class 0 (of rows as hard" in found.caution
        assert "% of class 1 (of rows as hard" in found.caution


def test_three_classes_labelled_unequally():
    rng, X, truth = three(2000, 0)
    y = np.where(rng.random(2000) < np.array([0.9, 0.5, 0.15])[truth], truth, -1)
    found = diagnose(X, y)
    assert found.missing_by_class
    assert json.loads(json.dumps(found.to_dict()))["by_class"] == found.by_class
    assert "% of class 0 (" in found.caution
    assert "but to" in found.caution.partition("% of class 0 (")[2]
    assert "Share labelled by class" in str(found)
    verdict = MixtureClassifier().fit(X, y).report(X, y).to_dict()["verdict"]
    assert "class" in verdict["headline"]
    assert any("% of class 2" in caution for caution in verdict["cautions"])
    assert "That the two are linked stands" not in str(verdict)
    assert "Labels are missing where the classes overlap" not in str(verdict)


def test_a_class_that_is_never_labelled():
    rng, X, truth = three(2000, 1)
    y = np.where((rng.random(2000) < 0.6) & (truth != 2), truth, -1)
    found = diagnose(X, y, estimator=MixtureClassifier(classes=[0, 1, 2], random_state=0))
    assert found.missing_by_class
    assert found.by_class[2]["labelled"] == 0
    assert "but to 0.0 % of class 2" in found.caution


@pytest.mark.parametrize("setting", [{}, CHANCE])
def test_difficulty_and_chance_are_not_taken_for_class(setting):
    for seed in range(20):
        data = simulate(n=500, **setting, random_state=seed)
        found = diagnose(data.features, data.labels)
        assert not found.missing_by_class
        assert "Share labelled by class" not in str(found)
        assert len(found.by_class) == 2


def test_shares_by_class_by_hand():
    """Without strata it is Pearson's test of labels against classes."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 40)
    X = rng.standard_normal((40, 1)) + 60.0 * truth[:, None]  # nobody doubts a class
    y = np.where(rng.random(40) < np.where(truth == 0, 0.8, 0.4), truth, -1)
    from hesitant.diagnostics._groups import labelled_shares
    from hesitant.diagnostics._tests import fit_both

    records, p_value, _ = labelled_shares(fit_both(MixtureClassifier(), X, y)[0])
    table = [[np.sum((truth == h) & seen) for seen in (y >= 0, y < 0)] for h in (0, 1)]
    assert p_value == pytest.approx(chi2_contingency(table, correction=False).pvalue)
    for h, record in enumerate(records):
        assert record["labelled"] == pytest.approx((y >= 0)[truth == h].mean())
        assert record["expected"] == pytest.approx((y >= 0).mean())


def test_no_pattern_has_no_shares():
    data = simulate(n=100, random_state=0)
    found = diagnose(data.features, data.truth)
    assert found.by_class == []
    assert not found.missing_by_class


def test_classes_of_the_wrong_shape_are_not_taken_for_missing_by_class():
    """A mixture bends to the blanks, and asks for the class; labelled rows know better."""
    for seed in range(4):
        rng, X, truth = ring(800, seed)
        far, draw = np.abs(np.hypot(*X.T) - 1.7), rng.random((3, 800))
        hard = diagnose(X, np.where(draw[0] < expit(4 * (far - 0.7)), truth, -1))
        by_class = diagnose(X, np.where(draw[1] < np.where(truth == 0, 0.9, 0.3), truth, -1))
        chance = diagnose(X, np.where(draw[2] < 0.6, truth, -1))
        assert min(chance.mechanisms, key=chance.mechanisms.get) == "entropy+class"
        assert "does not bear out the lowest BIC" in " ".join(str(chance).split())
        assert [each.suggested for each in (hard, by_class)] == ["entropy", "class"]
        assert "class" not in chance.suggested
        assert told_by_labels(chance.ignorance.check()) == "none"
        assert told_by_labels(by_class.ignorance.check()) == "class"
        found = [each.missing_by_class for each in (hard, by_class, chance)]
        assert found == [False, True, False]


@pytest.mark.parametrize(("slope", "told"), [(0.0, "class"), (-3.0, "entropy+class")])
def test_labelled_rows_recover_the_chances_of_their_classes(slope, told):
    """By the true posteriors among labelled rows; the maximum is that of another optimiser."""
    rng, X, truth = three(20_000, 3)
    intercepts, centers = np.array([2.2, 0.4, -1.4]), 3.0 * np.eye(3)[:, 1:]
    p = softmax(-0.5 * ((X[:, None] - centers) ** 2).sum(axis=2), axis=1)
    u = -np.einsum("ih,ih->i", p, np.log(np.maximum(p, 1e-300)))
    chance = expit(intercepts + slope * u[:, None])
    seen = rng.random(20_000) < chance[np.arange(20_000), truth]
    p = p * chance
    p /= p.sum(axis=1, keepdims=True)
    name, theta = explain_blanks(p, seen, np.ones(20_000))
    assert name == told
    if not slope:
        np.testing.assert_allclose(theta, intercepts, atol=0.1)
    p = np.clip(p, 1e-4, 1)
    u = -np.einsum("ih,ih->i", p, np.log(p)) * (slope != 0)

    def misfit(at):
        odds = np.log((p * np.exp(-at[:3])).sum(axis=1)) - np.append(at, 0.0)[3] * u
        prior = 0.125 * np.sum((at[:3] - logit(seen.mean())) ** 2)
        return np.logaddexp(0, np.where(seen, odds, -odds)).sum() + prior

    np.testing.assert_allclose(
        theta, minimize(misfit, 0 * theta).x, atol=1e-3 if not slope else 5e-3
    )


@pytest.mark.parametrize("every", [True, False])
def test_blanks_in_a_regular_order(every):
    """Every fourth row is blank, or the only labelled one: whatever rows are taken, both occur."""
    _, X, truth = three(12_000, 4)
    fourth = np.arange(12_000) % 4 == 0
    y = np.where(fourth == every, -1, truth)
    assert not diagnose(X, y).missing_by_class


@pytest.mark.parametrize("claimed", [0.2, 1.0, 2.5])
def test_probabilities_are_made_as_sure_as_labels_bear_out(claimed):
    rng = np.random.default_rng(3)
    truly = log_softmax(3 * rng.standard_normal((400, 3)), axis=1)
    codes = (np.exp(truly).cumsum(axis=1) < rng.random((400, 1))).sum(axis=1)
    log_p, weight = truly / claimed, rng.random(400)
    log_p[0], codes[0], weight[0] = [0.0, -np.inf, -np.inf], 0, 0.5  # as sure as can be, and right

    def lost(power):
        at = power * np.maximum(log_p, -1e300)
        return -weight @ log_softmax(at, axis=1)[np.arange(400), codes]

    found = as_sure_as(log_p, codes, weight, 5.0)
    assert found == pytest.approx(minimize_scalar(lost, bounds=(0, 5)).x, abs=1e-4)
    assert found == pytest.approx(claimed, rel=0.2)
    assert as_sure_as(log_p, codes, weight, 0.1) == 0.1  # at most
    assert as_sure_as(-log_p[1:], codes[1:], weight[1:], 5.0) == 0.0  # worse than knowing nothing
