"""A user's own family, mechanism, measure: a few short methods, and refusal of wrong ones."""

import numpy as np
import pytest

from helpers_families import Exponential
from hesitant import MixtureClassifier
from hesitant.datasets import simulate
from hesitant.families import Family, Gaussian
from hesitant.mechanisms import EntropyMechanism, Mechanism
from hesitant.uncertainty import Shannon, Uncertainty


class Stepwise(Mechanism):
    """One labelling rate for easy cases and one for hard ones, smoothly joined."""

    uncertainty = Shannon()
    n_parameters = 2

    def log_probability(self, u, labelled, theta):
        hard = 1 / (1 + np.exp(-20 * (u - 0.35)))
        eta = theta[0] + theta[1] * hard
        p = 1 / (1 + np.exp(-eta))
        residual = labelled - p
        log_p = -np.logaddexp(0, np.where(labelled, -eta, eta))
        slope = residual * theta[1] * 20 * hard * (1 - hard)
        return log_p, slope, residual[:, None] * np.column_stack((np.ones_like(u), hard))


class ByClass(Mechanism):
    """A labelling rate for each class, whatever the difficulty."""

    uncertainty = Shannon()
    by_class = True

    @property
    def n_parameters(self):
        return self.n_classes

    def log_probability(self, u, labelled, theta):
        sign = np.where(labelled, 1.0, -1.0)[:, None]
        eta = np.broadcast_to(theta, (len(u), self.n_classes))
        own = sign / (1 + np.exp(sign * eta))
        return -np.logaddexp(0, -sign * eta), 0 * own, own[:, :, None] * np.eye(self.n_classes)


def test_a_mechanism_of_ones_own_may_depend_on_the_class():
    data = simulate(n=300, random_state=1)
    ours, theirs = (
        MixtureClassifier(mechanism=m).fit(data.features, data.labels)
        for m in ("class", ByClass())
    )
    assert theirs.log_likelihood_ == pytest.approx(ours.log_likelihood_, abs=1e-5)
    np.testing.assert_allclose(
        theirs.resolve(data.features, data.labels),
        ours.resolve(data.features, data.labels),
        atol=1e-4,
    )


class Margin(Uncertainty):
    """One minus the gap between the two likeliest classes."""

    def evaluate(self, log_tau, tau):
        order = np.argsort(-tau, axis=1)
        rows = np.arange(len(tau))
        first, second = order[:, 0], order[:, 1]
        a, b = tau[rows, first], tau[rows, second]
        du = (a - b)[:, None] * tau
        du[rows, first] -= a
        du[rows, second] += b
        return 1 - (a - b), du


def exponential_data(n=20_000, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    X = rng.exponential(np.array([[1.0, 1.0], [4.0, 0.3]])[truth])
    return X, truth, rng


@pytest.mark.slow
def test_questions_to_an_own_family_skip_only_what_needs_a_chart():
    """Neither `coordinates` nor `from_attributes`: the rest of the evidence is there."""
    X, truth, rng = exponential_data(1500, seed=1)
    oracle = MixtureClassifier(Exponential(), mechanism=None).fit(X, truth)
    seen = rng.random(len(X)) < 1 / (1 + np.exp(6 * oracle.entropy(X) - 2))
    y = np.where(seen, truth, -1)
    clf = MixtureClassifier(Exponential()).fit(X, y)
    found = clf.diagnose(X, y, n_boot=3, random_state=0)
    assert found.finding == "hard"
    skipped = {test.name for test in found.tests if test.was_skipped}
    assert skipped == {"Wald", "shape of the mechanism"}
    assert "no `coordinates` method" in found.test("Wald").note
    result = clf.bootstrap(X, y, n_boot=5, random_state=0)
    assert result.n_failed == 0
    assert (result.std_error > 0).all()
    page = clf.report(X, y).to_html()
    assert "Exponential" in page
    with pytest.raises(ValueError, match="no `coordinates` method: use bootstrap"):
        clf.summary()
    with pytest.raises(ValueError, match="no `from_attributes` method"):
        MixtureClassifier(Exponential(), init=clf).fit(X, y)


@pytest.mark.parametrize("mechanism", [None, "entropy"])
def test_own_family(mechanism):
    X, truth, rng = exponential_data()
    y = np.where(rng.random(len(X)) < 0.3, truth, -1)
    clf = MixtureClassifier(Exponential(), mechanism=mechanism).fit(X, y)
    assert clf.converged_
    np.testing.assert_allclose(clf.means_, [[1, 1], [4, 0.3]], rtol=0.05)
    assert clf.n_parameters_ == 1 + 4 + (2 if mechanism else 0)
    drawn, classes, _ = clf.sample(5000, random_state=0)
    np.testing.assert_allclose(drawn[classes == 0].mean(axis=0), [1, 1], rtol=0.1)
    with pytest.raises(ValueError, match="no `coordinates` method"):
        MixtureClassifier(Exponential(), solver="quasi_newton").fit(X, y)
    with pytest.raises(ValueError, match="covariance='tied' means nothing to the family"):
        MixtureClassifier(Exponential(), covariance="tied").fit(X, y)


def test_own_mechanism():
    X, truth, rng = exponential_data(seed=2)
    oracle = MixtureClassifier(Exponential(), mechanism=None).fit(X, truth)
    stepwise = Stepwise()
    u = oracle.entropy(X)
    p = np.exp(stepwise.log_probability(u, np.ones(len(u), bool), np.array([1.5, -3.0]))[0])
    y = np.where(rng.random(len(X)) < p, truth, -1)
    clf = MixtureClassifier(Exponential(), mechanism=stepwise).fit(X, y)
    np.testing.assert_allclose(clf.mechanism_.parameters_, [1.5, -3.0], atol=0.2)
    np.testing.assert_allclose(clf.labelling_probability(X), p, atol=0.05)


def test_own_mechanism_reaches_its_maximum_with_gaussian_classes(paper):
    X, y, _ = paper
    values = [
        MixtureClassifier(mechanism=Stepwise(), solver=s).fit(X, y).log_likelihood_
        for s in ("quasi_newton", "one_step_late", "profile")
    ]
    assert max(values) - min(values) < 1e-4


def test_own_properties_and_copies_are_respected(paper):
    class Own(Gaussian):
        copies = 0

        @property
        def reg_covar(self):
            return getattr(self, "_given", 1e-6)

        @reg_covar.setter
        def reg_covar(self, value):
            self._given = value

        def __copy__(self):
            type(self).copies += 1
            out = object.__new__(type(self))
            vars(out).update(vars(self))
            return out

    ours, own = (MixtureClassifier(f, reg_covar=0.5).fit(*paper) for f in ("gaussian", Own()))
    assert own.log_likelihood_ == pytest.approx(ours.log_likelihood_)
    assert own.fitted_.family.reg_covar == 0.5
    assert Own.copies


def test_own_measure(paper):
    X, y, _ = paper
    values = [
        MixtureClassifier(mechanism=EntropyMechanism(uncertainty=Margin()), solver=s)
        .fit(X, y)
        .log_likelihood_
        for s in ("quasi_newton", "one_step_late")
    ]
    assert max(values) - min(values) < 1e-4


def test_incomplete_ones_are_refused_by_name(paper):
    X, y, _ = paper

    class NoDensity(Family):
        def initial(self, X, weights):
            return None

    class NoProbability(Mechanism):
        uncertainty = Shannon()
        n_parameters = 1

    class NoMeasure(Stepwise):
        @property
        def uncertainty(self):
            raise AttributeError

    with pytest.raises(TypeError, match=r"NoDensity lacks .*`log_density`.*`maximise`"):
        MixtureClassifier(NoDensity()).fit(X, y)
    with pytest.raises(TypeError, match="NoProbability lacks `log_probability`"):
        MixtureClassifier(mechanism=NoProbability()).fit(X, y)
    with pytest.raises(TypeError, match="NoMeasure lacks `uncertainty`"):
        MixtureClassifier(mechanism=NoMeasure()).fit(X, y)
