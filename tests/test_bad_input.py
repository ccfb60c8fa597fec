"""Bad input and hard data: a clear message, a finite answer, nothing silent."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hesitant import FitWarning, MixtureClassifier, MixtureClassifierCV
from hesitant.mechanisms import EntropyMechanism, Functions, Log, Polynomial, Spline
from hesitant.uncertainty import SquaredLogOdds


def assert_usable(clf, X):
    assert np.isfinite(clf.log_likelihood_)
    assert np.isfinite(clf.means_).all()
    assert np.isfinite(clf.covariances_).all()
    assert np.isfinite(clf.mechanism_.intercept_) or clf.mechanism_.coef_.size == 0
    tau = clf.predict_proba(X)
    assert np.isfinite(tau).all()
    np.testing.assert_allclose(tau.sum(axis=1), 1, rtol=1e-9)
    assert np.isfinite(clf.predict_log_proba(X)).all()
    assert np.isfinite(clf.labelling_probability(X)).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"family": "gausian"}, "family='gausian' is unknown.*Did you mean 'gaussian'"),
        ({"family": MixtureClassifier}, "got the class MixtureClassifier"),
        ({"covariance": "ful"}, "covariance='ful'.*'full', 'tied', 'diag', 'spherical'"),
        ({"mechanism": "entrop"}, "mechanism='entrop'.*Did you mean 'entropy'"),
        ({"mechanism": 3}, "mechanism must be one of.*got a int"),
        ({"solver": "newton"}, "solver='newton'.*'one_step_late'"),
        ({"solver": "em"}, "ignorance likelihood only.*one_step_late"),
        ({"alpha": 2}, "alpha=2: give a number from 0 to 1"),
        ({"alpha": 0, "mechanism": "class"}, "alpha=0 names the classes after the fit"),
        ({"alpha": "x"}, "alpha='x': give a number"),
        ({"alpha": float("nan"), "mechanism": None}, "alpha=nan"),
        ({"n_init": 0}, "n_init=0: give a whole number >= 1"),
        ({"n_init": 1.5}, "n_init=1.5: give a whole number"),
        ({"max_iter": -1}, "max_iter=-1"),
        ({"tol": -1}, "tol=-1"),
        ({"reg_covar": -1}, "reg_covar=-1"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"init": 3}, "init is a int.*fitted MixtureClassifier"),
        ({"init": {"weights": [0.5, 0.5]}}, "give 'weights', and 'means' and 'covariances'"),
        (
            {"init": {"means": np.zeros((2, 3)), "covariances": np.zeros((2, 3, 3))}},
            "g, 2, 2",
        ),
        (
            {"init": {"means": np.zeros((2, 2)), "covariances": -np.tile(np.eye(2), (2, 1, 1))}},
            "not positive definite",
        ),
        ({"init": {"weights": [1.0, -1.0]}}, "positive numbers, one a class"),
        ({"mechanism": EntropyMechanism(order=-1)}, "order=-1 is not a Rényi order"),
        ({"mechanism": EntropyMechanism(basis="sline")}, "basis='sline'.*Did you mean 'spline'"),
        ({"mechanism": EntropyMechanism(basis=Spline(df=1))}, "df=1"),
        ({"mechanism": EntropyMechanism(basis=Polynomial(0))}, "degree=0"),
        ({"mechanism": EntropyMechanism(basis=Log(floor=0))}, "floor=0"),
        ({"mechanism": EntropyMechanism(ridge=0)}, "ridge=0"),
        ({"mechanism": EntropyMechanism(uncertainty="shannon")}, "uncertainty='shannon': give"),
        (
            {"mechanism": EntropyMechanism(order=2, uncertainty=SquaredLogOdds())},
            "both name the measure",
        ),
        (
            {"mechanism": EntropyMechanism(basis="spline", uncertainty=SquaredLogOdds())},
            "Spline needs a bounded measure",
        ),
        (
            {"mechanism": EntropyMechanism(basis=Functions([np.exp], [np.sin]))},
            r"derivatives\[0\] does not agree",
        ),
        (
            {"mechanism": EntropyMechanism(basis=Functions([np.exp], []))},
            "one derivative for each",
        ),
        ({"classes": [1, 1]}, "names a class twice"),
        ({"classes": [5, 6]}, "not among classes"),
        ({"classes": [1]}, "not among classes"),
    ],
)
def test_wrong_options(paper, options, message):
    X, y, _ = paper
    with pytest.raises((ValueError, TypeError), match=message):
        MixtureClassifier(**options).fit(X, y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (X, y[:10]), "X has 500 rows and y has 10"),
        (lambda X, y: (X[:, 0], y), "Reshape your data"),
        (lambda X, y: (np.where(X > 3, np.inf, X), y), "infinity"),
        (lambda X, y: (X * 1e160, y), r"X contains .*e\+160 in row 0, column 0: too large"),
        (lambda X, y: (np.where(X > 3, "high", "low"), y), "not numbers .*'low'"),
        (lambda X, y: ("cells.csv", y), "not numbers .*'cells.csv'.*give rows of numbers"),
        (lambda X, y: (X, None), "target y is None"),
        (lambda X, y: (X, np.full(len(X), -1)), "names 0 classes.*classes="),
        (lambda X, y: (X, np.where(y == 1, 1, -1)), "names 1 class .*at least 2"),
        (lambda X, y: (X[:1], y[:1]), "minimum of 2 is required"),
        (lambda X, y: (X[:0], y[:0]), "0 sample"),
    ],
)
def test_wrong_data(paper, change, message):
    X, y, _ = paper
    with pytest.raises(ValueError, match=message):
        MixtureClassifier().fit(*change(X, y))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sample_weight": np.zeros(500)}, "sample_weight is zero for every row"),
        ({"sample_weight": np.full(500, 1e-40)}, "or nearly so: give some rows more"),
        ({"sample_weight": -np.ones(500)}, r"sample_weight\[0\] is -1"),
        ({"sample_weight": np.ones(3)}, "sample_weight"),
        ({"sample_weight": "a"}, "sample_weight must be numbers"),
        ({"reviewed": np.ones(3, dtype=bool)}, r"reviewed has shape \(3,\): give \(500,\)"),
        ({"reviewed": ["yes"] * 500}, r"reviewed\[0\] is 'yes'"),
    ],
)
def test_wrong_fit_arguments(paper, options, message):
    X, y, _ = paper
    with pytest.raises(ValueError, match=message):
        MixtureClassifier().fit(X, y, **options)


HARD = {
    "constant column": (lambda X, y: (np.c_[X, np.full(len(X), 7.0)], y), "Feature 2 is constant"),
    "constant 1e9": (lambda X, y: (np.c_[X, np.full(len(X), 1e9)], y), "Feature 2 is constant"),
    "zeros": (lambda X, y: (np.c_[X, np.zeros(len(X))], y), "Feature 2 is constant"),
    "copied column": (lambda X, y: (np.c_[X, X[:, 0]], y), "Features 0, 2 are linearly dependent"),
    "sum of columns": (lambda X, y: (np.c_[X, X.sum(axis=1)], y), "0, 1, 2 are linearly dep"),
    "all labelled": (lambda X, y: (X, np.where(y < 0, 1, y)), "every reviewed row is labelled"),
    "fewer rows than features": (
        lambda X, y: (X.reshape(20, 50), np.repeat([0, 1, -1], [8, 8, 4])),
        "free parameters: the probabilities",
    ),
    "two rows": (lambda X, y: (X[:2], [0, 1]), "rest on the weight of 1 row"),
    "well separated": (
        lambda X, y: (X + 1e3 * np.c_[y > 1, y > 1], np.where(np.arange(500) % 2, y, -1)),
        "uncertainty hardly varies",
    ),
    "identical class": (
        lambda X, y: (np.r_[X, np.full((2, 2), 9.0)], np.r_[y, [3, 3]]),
        "Class 3 rests on the weight of 2 rows",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HARD)
@pytest.mark.filterwarnings("ignore::hesitant.FitWarning")
def test_hard_data_is_said_and_finite(paper, name):
    X, y, _ = paper
    change, message = HARD[name]
    X, y = change(X, y)
    with pytest.warns(FitWarning, match=message):
        clf = MixtureClassifier().fit(X, y)
    assert_usable(clf, X)


@pytest.mark.parametrize("solver", ["auto", "one_step_late", "profile"])
def test_separation_by_entropy(solver):
    """Labels given exactly where the posterior is sure: β would be infinite."""
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 400)
    X = rng.normal(size=(400, 2)) + np.array([[0, 0], [0, 3]])[truth]
    y = np.where(np.abs(X[:, 1] - 1.5) > 0.7, truth, -1)
    with pytest.warns(FitWarning, match="separates labelled rows from blanks"):
        clf = MixtureClassifier(solver=solver).fit(X, y)
    assert_usable(clf, X)
    assert clf.mechanism_.coef_[0] < -50


@pytest.mark.filterwarnings("ignore::hesitant.FitWarning")
def test_outlier(paper):
    X, y, _ = paper
    clf = MixtureClassifier().fit(np.r_[X, [[1e12, -1e12]]], np.r_[y, -1])
    assert_usable(clf, X)


def test_far_away_rows_get_probabilities(paper):
    X, y, _ = paper
    clf = MixtureClassifier().fit(X, y)
    far = np.array([[1e300, -1e300], [-1e200, 1e10], [1e-300, 0]])
    assert_usable(clf, far)


def test_a_class_with_one_labelled_row(paper):
    X, y, truth = paper
    keep = np.flatnonzero(y == 1)[:1]
    few = np.where((y == 2) | np.isin(np.arange(len(y)), keep), y, -1)
    clf = MixtureClassifier(mechanism=None).fit(X, few)
    assert (clf.predict(X) == truth).mean() > 0.9


def test_classes_without_a_labelled_row(paper):
    X, y, truth = paper
    clf = MixtureClassifier(classes=[1, 2], mechanism=None, random_state=0).fit(
        X, np.where(y == 1, -1, y)
    )
    assert (clf.predict(X) == truth).mean() > 0.9
    clusters = MixtureClassifier(classes=["p", "q"], mechanism=None, random_state=0)
    names = clusters.fit(X, [None] * len(X)).predict(X)
    agreement = max((names == np.where(truth == 1, *pair)).mean() for pair in ("pq", "qp"))
    assert agreement > 0.9


def test_alpha_one_needs_labels_of_every_class(paper):
    X, y, _ = paper
    with pytest.raises(ValueError, match=r"alpha=1.*none"):
        MixtureClassifier(alpha=1, mechanism=None, classes=[1, 2]).fit(X, np.full(len(X), -1))
    with pytest.raises(ValueError, match=r"class 3 has no labelled row.*alpha"):
        MixtureClassifier(alpha=1, mechanism=None, classes=[1, 2, 3]).fit(X, y)


def test_alpha_zero_needs_blanks(paper):
    X, _, truth = paper
    with pytest.raises(ValueError, match="alpha=0 uses blank rows only"):
        MixtureClassifier(alpha=0, mechanism=None).fit(X, truth)


@settings(max_examples=80, suppress_health_check=list(HealthCheck))
@given(
    X=hnp.arrays(
        float,
        hnp.array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=12),
        elements=st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1.0]),
    ),
    seed=st.integers(0, 100),
    mechanism=st.sampled_from([None, "entropy", "mixed"]),
    covariance=st.sampled_from(["full", "tied", "diag", "spherical"]),
)
@example(  # features of very different sizes, fewer rows than features
    X=np.array(
        [
            [-846609.372, 1.2e-7, 0.99999, 0, 1e6, 0, 0],
            [0, 0, 1, 0, 0, 0, 0],
            [0, 0, 0, 2.2e-311, 0, 0, 0],
            [1.2e-38, 1, 0, 1, 0, 0, 1],
            [795478.225, 319174.349, 0, 0, -2.2e-313, 0, 0],
            [0, 0, 1, 1.1, 1, 0, 0],
        ]
    ),
    seed=81,
    mechanism="entropy",
    covariance="tied",
)
def test_any_small_table(X, seed, mechanism, covariance):
    """Random tiny tables, most of them degenerate: always finite, never a stray warning."""
    y = np.random.default_rng(seed).integers(-1, 2, len(X))
    y[:2] = [0, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", FitWarning)
        clf = MixtureClassifier(mechanism=mechanism, covariance=covariance).fit(X, y)
        assert_usable(clf, X)
        assert_usable(clf, X * 1e3 + 1)


FRAME = pd.DataFrame({"a": [0.0, 1.0, 2.0, 5.0], "b": [1.0, 0.0, 3.0, 4.0]})


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (["x", "y", "z", "x"], "String"),
        (pd.Categorical(["x", "y", "z", "x"]), "Categorical"),
        (pd.date_range("2020", periods=4), "Datetime"),
    ],
)
def test_columns_that_are_no_numbers_are_named(column, kind):
    with pytest.raises(ValueError, match=rf"column 'c' of type {kind}.*: give numbers, or drop"):
        MixtureClassifier().fit(FRAME.assign(c=column), [0, 1, 0, 1])


def test_numbers_kept_otherwise_are_numbers():
    X = np.random.default_rng(0).standard_normal((60, 2)) + np.arange(60)[:, None] % 2 * 3
    y = np.where(np.arange(60) % 3, np.arange(60) % 2, -1)
    frame = pd.DataFrame(X, columns=["a", "b"])
    expected = MixtureClassifier().fit(X, y).means_
    for same in (frame.astype(object), frame.astype(str), frame.astype("Float64")):
        np.testing.assert_allclose(MixtureClassifier().fit(same, y).means_, expected)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: MixtureClassifier().fit(pl.DataFrame({"a": [1.0]}).lazy(), [0]), "X.collect"),
        (
            lambda: MixtureClassifier().fit(FRAME.set_axis(["a", "a"], axis=1), [0, 1, 0, 1]),
            "columns of the same name",
        ),
        (
            lambda: MixtureClassifier().fit(
                FRAME, [0, 1, 0, 1], reviewed=pd.array([True, None, True, True], dtype="boolean")
            ),
            r"reviewed\[1\] is <NA>",
        ),
        (lambda: MixtureClassifier(verbose="x").fit(FRAME, [0, 1, 0, 1]), "verbose='x'"),
        (lambda: MixtureClassifier().fit(FRAME, {"ada": 1}), "X has 4 rows and y has 0"),
        (
            lambda: MixtureClassifier().fit(FRAME, np.eye(2)[[0, 1, 0, 1]]),
            r"some readers \(columns of y\)",
        ),
        (
            lambda: MixtureClassifierCV(random_state="x").fit(FRAME, [0, 1, 0, 1]),
            "random_state='x': give a whole number",
        ),
    ],
)
def test_small_mistakes_are_named(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def test_questions_about_other_features_are_refused(paper):
    X, y, _ = paper
    clf = MixtureClassifier().fit(X, y)
    with pytest.raises(ValueError, match="1 features, but MixtureClassifier is expecting 2"):
        clf.diagnose(np.asarray(X)[:, :1], y)
    for model in (clf, MixtureClassifierCV([clf], combine="best").fit(X, y)):
        with pytest.raises(TypeError, match=r"measure='renyi': give an object"):
            model.entropy(X, "renyi")
