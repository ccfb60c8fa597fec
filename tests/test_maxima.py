"""Maxima: every solver against every other, an independent optimiser, and other software."""

import dataclasses

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_expit, logsumexp
from scipy.stats import multivariate_normal
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.mixture import GaussianMixture

from helpers import read_simulated
from hesitant import MixtureClassifier
from hesitant.mechanisms import EntropyMechanism, MixedMechanism

COVARIANCES = ["full", "tied", "diag", "spherical"]
SOLVERS = ["auto", "one_step_late", "quasi_newton", "profile"]


@pytest.mark.parametrize("k", range(8))
@pytest.mark.parametrize(
    ("name", "mechanism"),
    [
        ("ignorance", None),
        ("full_entropy", "entropy"),
        ("full_log_entropy", EntropyMechanism(basis="log")),
    ],
)
def test_other_software_agrees(optima, k, name, mechanism):
    X, y, _ = read_simulated(f"simulated/train_{k:02d}.csv")
    known = optima[k][name]
    clf = MixtureClassifier(mechanism=mechanism, tol=1e-8).fit(X, y)
    assert clf.converged_
    assert clf.log_likelihood_ == pytest.approx(known["log_likelihood"], abs=2e-8)
    np.testing.assert_allclose(clf.weights_, known["weights"], atol=1e-5)
    np.testing.assert_allclose(clf.means_, known["means"], atol=1e-4)
    np.testing.assert_allclose(clf.covariances_, known["covariances"], atol=1e-4)
    if known["mechanism"]:
        found = [clf.mechanism_.intercept_, *clf.mechanism_.coef_]
        np.testing.assert_allclose(found, known["mechanism"], atol=1e-3)


class Independent:
    """The full likelihood written out plainly, for a general-purpose optimiser.

    Covariances are L Lᵀ with free L, in the structure asked for; derivatives are numerical.
    """

    def __init__(self, X, y, covariance, mechanism=True):
        self.X, self.y, self.covariance, self.mechanism = X, y, covariance, mechanism

    def unpack(self, v):
        p, lower = 2, np.tril_indices(2)
        weights = np.array([1, np.exp(v[0])]) / (1 + np.exp(v[0]))
        means, rest = v[1:5].reshape(2, p), v[7:]

        def matrix(entries):
            L = np.zeros((p, p))
            L[lower] = entries
            return L @ L.T

        covariances = {
            "full": lambda: [matrix(rest[:3]), matrix(rest[3:6])],
            "tied": lambda: [matrix(rest[:3])] * 2,
            "diag": lambda: [np.diag(rest[:2] ** 2), np.diag(rest[2:4] ** 2)],
            "spherical": lambda: [np.eye(2) * rest[0] ** 2, np.eye(2) * rest[1] ** 2],
        }[self.covariance]()
        return weights, means, covariances, v[5:7]

    def __call__(self, v):
        weights, means, covariances, beta = self.unpack(v)
        joint = np.column_stack(
            [
                np.log(w) + multivariate_normal(m, s, allow_singular=True).logpdf(self.X)
                for w, m, s in zip(weights, means, covariances, strict=True)
            ]
        )
        log_f = logsumexp(joint, axis=1)
        seen = self.y >= 0
        value = joint[seen, self.y[seen]].sum() + log_f[~seen].sum()
        if self.mechanism:
            tau = np.exp(joint - log_f[:, None])
            entropy = -(tau * (joint - log_f[:, None])).sum(axis=1)
            eta = beta[0] + beta[1] * entropy
            value += log_expit(np.where(seen, eta, -eta)).sum()
        return -value

    def maximise(self):
        size = {"full": 6, "tied": 3, "diag": 4, "spherical": 2}[self.covariance]
        entries = {"full": [1, 0, 1] * 2, "tied": [1, 0, 1], "diag": [1] * 4, "spherical": [1] * 2}
        means = [self.X[self.y == h].mean(axis=0) for h in (0, 1)]
        start = np.concatenate(([0.0], *means, [1.0, -4.0], entries[self.covariance]))
        assert start.size == 7 + size
        return -minimize(self, start, method="BFGS", options={"gtol": 1e-4}).fun


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("mechanism", [None, "entropy"])
def test_independent_optimiser_agrees(paper, covariance, mechanism):
    X, y, _ = paper
    X, y = X[:200], np.where(y[:200] < 0, -1, y[:200] - 1)
    clf = MixtureClassifier(covariance=covariance, mechanism=mechanism).fit(X, y)
    elsewhere = Independent(X, y, covariance, mechanism is not None).maximise()
    assert clf.log_likelihood_ == pytest.approx(elsewhere, abs=1e-5)


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize(
    "mechanism",
    [
        None,
        "entropy",
        EntropyMechanism(basis="spline"),
        EntropyMechanism(order=2),
        MixedMechanism(),
    ],
    ids=str,
)
def test_all_solvers_agree(three_classes, covariance, mechanism):
    X, y = three_classes
    solvers = [*SOLVERS, "em"] if mechanism is None else SOLVERS
    found = {}
    for solver in solvers:
        clf = MixtureClassifier(
            covariance=covariance, mechanism=mechanism, solver=solver, tol=1e-8
        )
        found[solver] = clf.fit(X, y).log_likelihood_
        assert clf.converged_, clf.termination_
        assert clf.history_[-1] == pytest.approx(clf.log_likelihood_, abs=1e-2)  # weak priors
    best = max(found.values())
    assert best - min(found.values()) < 1e-5, found


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("solver", ["em", "one_step_late"])
def test_objective_never_falls(three_classes, covariance, solver):
    X, y = three_classes
    mechanism = None if solver == "em" else "entropy"
    clf = MixtureClassifier(covariance=covariance, mechanism=mechanism, solver=solver).fit(X, y)
    assert len(clf.history_) > 3
    assert np.diff(clf.history_).min() > -1e-9


def test_alpha_half_is_ignorance(three_classes):
    X, y = three_classes
    half = MixtureClassifier(mechanism=None, alpha=0.5).fit(X, y)
    labelled = np.array([v is not None for v in y])
    tau = half.predict_log_proba(X) + half.score_samples(X)[:, None]
    codes = np.searchsorted(half.classes_, y[labelled].astype(str))
    by_hand = tau[labelled, codes].sum() + half.score_samples(X[~labelled]).sum()
    assert half.log_likelihood_ == pytest.approx(by_hand, rel=1e-12)


def test_alpha_one_is_discriminant_analysis(three_classes):
    X, y = three_classes
    labelled = np.array([v is not None for v in y])
    clf = MixtureClassifier(mechanism=None, alpha=1.0).fit(X, y)
    for h, c in enumerate(clf.classes_):
        mine = X[labelled & (y == c)]
        np.testing.assert_allclose(clf.means_[h], mine.mean(axis=0), rtol=1e-8)
        np.testing.assert_allclose(clf.covariances_[h], np.cov(mine.T, ddof=0), rtol=1e-5)
    qda = QuadraticDiscriminantAnalysis(store_covariance=True)
    qda.fit(X[labelled], y[labelled].astype(str))
    # scikit-learn divides by n − 1: undo that before comparing.
    agree = (clf.predict(X) == qda.predict(X)).mean()
    assert agree > 0.99
    only = MixtureClassifier(mechanism=None, alpha=1.0).fit(X[labelled], y[labelled])
    np.testing.assert_allclose(only.means_, clf.means_, rtol=1e-10)
    np.testing.assert_allclose(only.weights_, clf.weights_, rtol=1e-10)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_alpha_zero_is_clustering(three_classes, covariance):
    X, y = three_classes
    blank = np.array([v is None for v in y])
    means = np.array([[0.0, 0, 0], [2.0, 1, 0], [0.0, 2, 2]])
    start = {
        "weights": np.full(3, 1 / 3),
        "means": means,
        "covariances": np.tile(np.eye(3), (3, 1, 1)),
    }
    clf = MixtureClassifier(
        mechanism=None, alpha=0.0, covariance=covariance, init=start, tol=1e-10, solver="em",
        max_iter=10_000,
    ).fit(X, y)  # fmt: skip
    precisions = {
        "full": np.tile(np.eye(3), (3, 1, 1)),
        "tied": np.eye(3),
        "diag": np.ones((3, 3)),
        "spherical": np.ones(3),
    }[covariance]
    other = GaussianMixture(
        3, covariance_type=covariance, means_init=means, weights_init=start["weights"],
        precisions_init=precisions, tol=1e-12, max_iter=20_000, reg_covar=0.0,
    ).fit(X[blank])  # fmt: skip
    assert clf.log_likelihood_ == pytest.approx(2 * other.score(X[blank]) * blank.sum(), rel=1e-6)
    order = np.argsort(clf.means_[:, 0] + 10 * clf.means_[:, 2])
    theirs = np.argsort(other.means_[:, 0] + 10 * other.means_[:, 2])
    np.testing.assert_allclose(clf.means_[order], other.means_[theirs], atol=1e-3)


def test_alpha_zero_ignores_what_labels_say(paper):
    X, _, truth = paper
    y = np.where(np.random.default_rng(99).random(len(X)) < 0.3, truth, -1)
    clf = MixtureClassifier(mechanism=None, alpha=0.0, random_state=0).fit(X, y)
    swapped = MixtureClassifier(mechanism=None, alpha=0.0, random_state=0).fit(
        X, np.where(y > 0, 3 - y, y)
    )
    # The same clusters, with the names exchanged.
    np.testing.assert_allclose(clf.means_, swapped.means_[::-1], atol=1e-6)
    seen = y > 0
    assert (clf.predict(X[seen]) == y[seen]).mean() > 0.8
    assert (swapped.predict(X[seen]) == 3 - y[seen]).mean() > 0.8


@pytest.mark.parametrize("how", ["all labelled", "none reviewed"])
def test_mechanism_changes_nothing_without_a_pattern(paper, how):
    X, y, truth = paper
    labels = truth if how == "all labelled" else y
    reviewed = None if how == "all labelled" else np.zeros(len(X), dtype=bool)
    plain = MixtureClassifier(mechanism=None).fit(X, labels)
    with pytest.warns(UserWarning, match="mechanism cannot be estimated"):
        full = MixtureClassifier().fit(X, labels, reviewed=reviewed)
    assert full.log_likelihood_ == plain.log_likelihood_
    np.testing.assert_array_equal(full.means_, plain.means_)
    assert full.n_parameters_ == plain.n_parameters_


def test_reviewed_rows_keep_their_ignorance_term(paper):
    """Half the rows never shown: the objective is the sum of the two kinds of terms."""
    X, y, _ = paper
    shown = np.arange(len(X)) % 2 == 0
    clf = MixtureClassifier().fit(X, y, reviewed=shown)
    again = clf.log_likelihood(X, y, reviewed=shown)
    parts = clf.log_likelihood(X[shown], y[shown]) + clf.log_likelihood(
        X[~shown], y[~shown], reviewed=np.zeros((~shown).sum(), dtype=bool)
    )
    assert clf.log_likelihood_ == pytest.approx(again, rel=1e-12)
    assert clf.log_likelihood_ == pytest.approx(parts, rel=1e-12)
    ignoring = MixtureClassifier(mechanism=None).fit(X, y)
    everyone = MixtureClassifier().fit(X, y)
    assert not np.allclose(clf.means_, ignoring.means_, atol=1e-5)
    assert not np.allclose(clf.means_, everyone.means_, atol=1e-5)


def test_large_sample_recovers_everything():
    from hesitant.datasets import simulate

    data = simulate(n=200_000, random_state=11)
    clf = MixtureClassifier().fit(data.features, data.labels)
    np.testing.assert_allclose(clf.weights_, 0.5, atol=0.005)
    np.testing.assert_allclose(clf.means_, [[0, 0], [0, 3]], atol=0.015)
    np.testing.assert_allclose(clf.covariances_[0], [[1, 0.7], [0.7, 1]], atol=0.02)
    np.testing.assert_allclose(clf.covariances_[1], np.eye(2), atol=0.02)
    assert clf.mechanism_.intercept_ == pytest.approx(1, abs=0.03)
    assert clf.mechanism_.coef_[0] == pytest.approx(-5, abs=0.1)


@pytest.mark.slow
def test_mixed_mechanism_recovers_its_dropout():
    from hesitant.datasets import simulate

    data = simulate(n=100_000, random_state=5)
    rng = np.random.default_rng(6)
    y = data.labels.copy()
    y[rng.random(len(y)) < 0.25] = None
    clf = MixtureClassifier(mechanism="mixed").fit(data.features, y)
    assert clf.mechanism_.dropout_ == pytest.approx(0.25, abs=0.03)
    assert clf.mechanism_.coef_[0] == pytest.approx(-5, abs=0.5)


def test_restarts_keep_the_best(three_classes):
    X, y = three_classes
    few = y.copy()
    few[np.arange(len(y)) % 20 != 0] = None
    one = MixtureClassifier(mechanism=None, random_state=0).fit(X, few)
    many = MixtureClassifier(mechanism=None, random_state=0, n_init=8).fit(X, few)
    assert many.log_likelihood_ >= one.log_likelihood_ - 1e-6


def test_init_from_parameters_or_a_model(paper):
    X, y, _ = paper
    fitted = MixtureClassifier().fit(X, y)
    for init in (fitted, fitted.parameters_):
        again = MixtureClassifier(init=init).fit(X, y)
        assert again.log_likelihood_ == pytest.approx(fitted.log_likelihood_, abs=1e-6)
        assert again.n_iter_ < fitted.n_iter_


def test_signed_weights_never_break_a_step(paper, build):
    """One-step-late EM from a bad place: steps are shortened, the objective still rises."""
    from hesitant.labels import encode
    from hesitant.solvers import Progress, one_step_late

    X, y, _ = paper
    likelihood, state = build(X, encode(y).codes, EntropyMechanism())
    state = dataclasses.replace(
        state,
        params=dataclasses.replace(state.params, location=state.params.location[::-1] * 0.2),
    )
    progress = Progress(tol=1e-8, max_iter=3000)
    one_step_late(likelihood, state, progress)
    assert progress.converged
    assert np.diff(progress.history).min() > -1e-9


@pytest.mark.parametrize("mechanism", ["entropy", "entropy+class", None])
@pytest.mark.parametrize("few", [False, True])
def test_where_most_rows_are_labelled_one_step_of_em_leads_near(mechanism, few, capsys):
    X, y, _ = read_simulated("simulated/train_00.csv")
    y = np.where(few & (np.arange(len(y)) % 4 > 0), -1, y)
    clf = MixtureClassifier(mechanism=mechanism, tol=1e-9, verbose=1).fit(X, y)
    assert ("EM: 1 step taken" in capsys.readouterr().out) != few
    ignorance = MixtureClassifier(mechanism=None).fit(X, y)
    later = MixtureClassifier(mechanism=mechanism, tol=1e-9, init=ignorance).fit(X, y)
    assert later.log_likelihood_ == pytest.approx(clf.log_likelihood_, abs=1e-8)
