"""What a careful user should know is said: collapsed classes, odd labels, wrong objects."""

import json
import re
import signal
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from hesitant import MixtureClassifier, MixtureClassifierCV
from hesitant.datasets import simulate
from hesitant.exceptions import FitWarning, collect_warnings
from hesitant.families import Gaussian, StudentT
from hesitant.mechanisms import Basis, EntropyMechanism, Functions, Log, Mechanism, Polynomial
from hesitant.uncertainty import Shannon, Uncertainty

DATA = simulate(n=300, random_state=0)
X = DATA.features
TRUTH = np.asarray(DATA.truth).astype(int)
Y = np.where(DATA.labelled, TRUTH, -1)


def warned(X, y, *, fit=None, **options):
    with collect_warnings() as said:
        clf = MixtureClassifier(**options).fit(X, y, **(fit or {}))
    return clf, " ".join(said)


# -- classes that collapse ------------------------------------------------------------------------


def constant_in_class_1():
    Z = np.c_[X, np.random.default_rng(0).normal(size=300)]
    Z[TRUTH == 1, 2] = 0
    return Z, Y


def identical_rows():
    return np.r_[np.zeros((20, 2)), X], np.r_[[2] * 20, Y]


def collinear_in_class_1():
    Z = np.c_[X, X[:, 0]]
    Z[TRUTH == 0, 2] = np.random.default_rng(0).normal(size=(TRUTH == 0).sum())
    return Z, Y


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (constant_in_class_1, "Within class 1, feature 2 is constant"),
        (identical_rows, "Within class 2, features 0, 1 are constant"),
        (collinear_in_class_1, "Within class 1, features 0, 2 are linearly dependent"),
    ],
)
@pytest.mark.parametrize("family", ["gaussian", "t"])
def test_a_collapsed_class_is_named(make, words, family):
    clf, said = warned(*make(), family=family)
    assert words in said
    assert np.isfinite(clf.log_likelihood_)


def test_a_healthy_start_beats_a_collapsed_one():
    doubled = np.r_[X, np.repeat(X[Y < 0][:1], 6, axis=0)]
    y = np.r_[Y, [-1] * 6]
    clf, said = warned(doubled, y, classes=[0, 1, 2], n_init=10, random_state=0)
    assert "constant" not in said
    assert np.linalg.eigvalsh(clf.covariances_).min() > 1e-4


def test_a_prior_that_outweighs_the_data_is_said_so():
    _, said = warned(X, Y, reg_covar=1e6)
    assert "reg_covar=1e+06 outweighs rows of weight 300: lower it" in said
    _, said = warned(X, Y, fit={"sample_weight": np.full(300, 1e-12)})
    assert "weight 3e-10" in said
    assert "vanished" not in said
    _, said = warned(np.c_[X, X], Y, reg_covar=0)
    assert "kept invertible by rounding errors alone" in said


def test_many_classes_are_one_remark():
    rng = np.random.default_rng(0)
    z = np.repeat(np.arange(20), 75)
    rows = rng.normal(size=(1500, 3)) + 6 * rng.normal(size=(20, 3))[z]
    with collect_warnings() as said:
        MixtureClassifier("t").fit(rows, np.where(rng.random(1500) < 0.4, z, -1))
    assert len([s for s in said if "upper bound" in s]) == 1
    assert "more have degrees of freedom at their upper bound" in " ".join(said)


# -- labels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("marker", ["nan", "None", "-1"])
def test_blanks_turned_to_text(marker):
    y = np.where(Y < 0, marker, np.where(Y == 1, "b", "a"))
    with pytest.warns(FitWarning, match=f"Class '{marker}' looks like a blank"):
        MixtureClassifierCV([{"mechanism": None}]).fit(X, y)
    clf, said = warned(X, y, mechanism=None)
    assert marker in clf.classes_
    assert f"Class '{marker}' looks like a blank that was turned into text" in said
    clf, said = warned(X, y, missing_label=marker)
    assert clf.classes_.tolist() == ["a", "b"]
    assert said == ""


def test_classes_that_differ_in_blanks_are_asked_about():
    y = np.where(Y < 0, "-", np.where(Y == 1, "b", np.where(X[:, 0] > 0, "a ", "A")))
    _, said = warned(X, y, missing_label="-")
    assert "Are 'A' and 'a ' one class? They differ only in case or blanks" in said


def test_bytes_and_strings_of_any_length():
    y = np.where(Y < 0, b"", np.where(Y == 1, b"x", b"z"))
    assert warned(X, y, missing_label=b"")[0].classes_.tolist() == [b"x", b"z"]
    text = np.array(
        [None if v < 0 else "ab"[v] for v in Y], dtype=np.dtypes.StringDType(na_object=None)
    )
    assert warned(X, text)[0].classes_.tolist() == ["a", "b"]


def test_labels_of_no_weight():
    weight = np.where(Y == 1, 0.0, 1.0)
    _, said = warned(X, Y, mechanism=None, random_state=0, fit={"sample_weight": weight})
    assert "Class 1 has no labelled row of positive weight" in said
    with pytest.raises(ValueError, match="1 of 300 rows have a positive weight, for 2 classes"):
        MixtureClassifier().fit(X, Y, sample_weight=np.eye(300)[0])


def test_all_labelled_stays_finite():
    clf, _ = warned(X, TRUTH)
    assert json.loads(json.dumps(clf.mechanism_.intercept_, allow_nan=False)) > 30
    assert clf.labelling_probability(X).min() > 1 - 1e-12


@pytest.mark.parametrize(("kind", "marker"), [("i1", -1), ("i4", -1), ("f8", -1), ("i8", -1.0)])
def test_samples_mark_blanks_in_the_type_of_the_classes(kind, marker):
    clf, _ = warned(X, Y.astype(kind), missing_label=marker)
    _, _, y = clf.sample(50, random_state=np.random.default_rng(0))
    assert y.dtype == np.dtype(kind)
    assert set(np.unique(y)) == {-1, 0, 1}


# -- scores ---------------------------------------------------------------------------------------


def test_scores_of_wrong_input():
    clf, _ = warned(X, Y)
    with pytest.raises(ValueError, match="sample_weight"):
        clf.score(X, TRUTH, sample_weight=np.ones(5))
    with pytest.raises(ValueError, match="sample_weight is zero for every row"):
        clf.score(X, TRUTH, sample_weight=np.zeros(300))
    with pytest.raises(ValueError, match="sample_weight is zero for every labelled row"):
        clf.score(X, Y, sample_weight=(Y < 0) * 1.0)
    with pytest.raises(ValueError, match="none is the same"):
        clf.score(X, TRUTH.astype(str))


def test_not_converging_is_a_convergence_warning():
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        MixtureClassifier(max_iter=2).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)  # it is one of the package's, too
        warnings.simplefilter("error", ResourceWarning)
        MixtureClassifier(max_iter=2).fit(X, Y)


# -- starts ---------------------------------------------------------------------------------------


def test_a_model_starts_another_by_the_names_of_its_classes():
    names = np.array(["a", "b"])
    first = MixtureClassifier(classes=["b", "a"]).fit(X, [None if v < 0 else "ab"[v] for v in Y])
    second = MixtureClassifier(init=first, mechanism=None, classes=["a", "b"])
    assert second.fit(X, [None] * 300).score(X, names[TRUTH]) > 0.9
    with pytest.raises(ValueError, match=r"init has the classes \['b', 'a'\], and y"):
        MixtureClassifier(init=first).fit(X, Y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": ["a", "b"]}, "init has weights"),
        ({"mechanism": "x"}, "init has mechanism 'x': give 2 finite numbers"),
        ({"mechanism": [1, 2, 3]}, "give 2 finite numbers"),
        ({"mechanism": [np.nan, 1]}, "give 2 finite numbers"),
        ({"mean": 0}, "init has 'mean', which is no parameter of a fit. Did you mean 'means'?"),
        ({"covariances": [[[1, 0.5], [0, 1]]] * 2}, "not symmetric"),
        ({"means": np.full((2, 2), 1e200)}, "init may be far from the data"),
    ],
)
def test_starts_that_make_no_sense(change, message):
    known = MixtureClassifier().fit(X, Y).parameters_
    with pytest.raises(ValueError, match=re.escape(message)):
        MixtureClassifier(init={**known, **change}).fit(X, Y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": ["em"]}, "solver must be one of 'auto'"),
        ({"solver": "proflie"}, "Did you mean 'profile'?"),
        ({"random_state": "a"}, "random_state='a': give a whole number"),
        ({"family": StudentT(tied_dof="no")}, "tied_dof='no'"),
        ({"mechanism": EntropyMechanism(basis=Polynomial("a"))}, "degree='a'"),
        ({"mechanism": EntropyMechanism(basis=Log(None))}, "floor=None"),
        (
            {"mechanism": EntropyMechanism(basis=Functions(np.tanh, np.cosh))},
            "functions must be a list",
        ),
        (
            {"mechanism": EntropyMechanism(basis=Functions([lambda u: 1.0], [lambda u: 0.0]))},
            "Functions.evaluate: b has shape (1,)",
        ),
    ],
)
def test_options_that_make_no_sense(options, message):
    with pytest.raises((TypeError, ValueError)) as error:
        MixtureClassifier(**options).fit(X, Y)
    assert message in str(error.value)


# -- objects of the user's own --------------------------------------------------------------------


class Logistic(Mechanism):
    """Right, up to the factors of its derivatives."""

    uncertainty = Shannon()
    n_parameters = 2

    def __init__(self, slope=1.0, gradient=1.0):
        self.slope = slope
        self.gradient = gradient

    def log_probability(self, u, labelled, theta):
        sign = np.where(labelled, 1.0, -1.0)
        eta = sign * (theta[0] + theta[1] * u)
        missed = sign / (1 + np.exp(eta))
        design = np.column_stack((np.ones(u.size), u))
        return (
            -np.logaddexp(0, -eta),
            self.slope * missed * theta[1],
            self.gradient * missed[:, None] * design,
        )


class Certain(Logistic):
    """Labels for sure, and none for sure."""

    def log_probability(self, u, labelled, theta):
        return np.zeros(u.size), np.zeros(u.size), np.zeros((u.size, 2))


class Scalar(Logistic):
    """A number where an array should be."""

    def log_probability(self, u, labelled, theta):
        return 0.0, np.zeros(u.size), np.zeros((u.size, 2))


class Nameless(Uncertainty):
    """Nothing written."""


class Constant(Uncertainty):
    """A measure with the wrong derivatives."""

    def evaluate(self, log_tau, tau):
        return 1 - tau.max(axis=1), np.ones_like(tau)


class Alone(Uncertainty):
    """A measure without derivatives."""

    def evaluate(self, log_tau, tau):
        return 1 - tau.max(axis=1)


class Square(Basis):
    """A basis with the wrong derivative."""

    size = 1

    def evaluate(self, u, maximum):
        return (u**2)[:, None], u[:, None]


class Narrow(Gaussian):
    """Densities of one class only."""

    def log_density(self, params, X):
        return super().log_density(params, X)[:, 0]


def test_a_right_mechanism_reaches_the_packages_maximum():
    own = MixtureClassifier(mechanism=Logistic()).fit(X, Y)
    assert own.log_likelihood_ == pytest.approx(MixtureClassifier().fit(X, Y).log_likelihood_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mechanism": Logistic(slope=5)}, "Logistic.log_probability: slope does not agree"),
        ({"mechanism": Logistic(gradient=-1)}, "gradient[0] does not agree"),
        ({"mechanism": Certain()}, "do not add up to one"),
        ({"mechanism": Scalar()}, "log_p has shape (), and must have (6,)"),
        ({"mechanism": EntropyMechanism(uncertainty=Nameless())}, "Nameless lacks `evaluate`"),
        ({"mechanism": EntropyMechanism(uncertainty=Constant())}, "Constant.evaluate: du[0]"),
        ({"mechanism": EntropyMechanism(uncertainty=Alone())}, "must return (u, du); got ndarray"),
        ({"mechanism": EntropyMechanism(basis=Square())}, "Square.evaluate: db[0] does not agree"),
        ({"family": Narrow()}, "Narrow.log_density has shape"),
    ],
)
def test_wrong_objects_are_refused_by_name(options, message):
    with pytest.raises((TypeError, ValueError)) as error:
        MixtureClassifier(**options).fit(X, Y)
    assert message in str(error.value)


# -- fits that fail -------------------------------------------------------------------------------


def test_a_failed_fit_leaves_nothing_of_the_last():
    frame = pd.DataFrame(X, columns=["a", "b"])
    clf = MixtureClassifier().fit(frame, Y)
    turned = frame[["b", "a"]].copy()
    turned.iloc[7, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        clf.fit(turned, Y)
    with pytest.raises(NotFittedError):
        clf.predict(frame)
    assert not hasattr(clf, "means_")
    assert clf.fit(X, Y).predict(X).shape == (300,)  # and columns without names are as good


@pytest.mark.slow
def test_ctrl_c_is_a_keyboard_interrupt():
    """Wherever it comes, kernels included, which numba would make a SystemError of."""
    script = """
        import signal, sys, threading, os, time
        import numpy as np
        from hesitant import MixtureClassifier
        rng = np.random.default_rng(0)
        z = rng.integers(0, 2, 60_000)
        X = rng.standard_normal((60_000, 4)) + z[:, None]
        y = np.where(rng.random(60_000) < 0.5, z, -1)
        clf = MixtureClassifier("skew_t", n_jobs=1, tol=0, max_iter=10**6).fit(X[:500], y[:500])
        seen = set()
        for delay in np.linspace(0.2, 0.5, 6):
            threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT)).start()
            try:
                clf.fit(X, y)
            except BaseException as error:
                seen.add(type(error).__name__)
            assert not hasattr(clf, "state_")
        print(sorted(seen))
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert done.stdout.strip() == "['KeyboardInterrupt']", done.stderr
    assert done.returncode != -signal.SIGINT
