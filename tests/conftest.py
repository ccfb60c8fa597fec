"""Data that many tests share."""

import json
import os
import sys

import numpy as np
import pytest
from hypothesis import settings

from helpers import DATA, read_simulated
from helpers_experts import draw
from hesitant import MixtureClassifier, Statements
from hesitant.cli import main
from hesitant.families import Gaussian
from hesitant.likelihood import Likelihood, State
from hesitant.rows import Rows

# The same examples in every run, however slow the machine.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")

# Else a first run on a machine would switch from plain to compiled kernels half way.
os.environ["HESITANT_COMPILE"] = "always"


@pytest.fixture(autouse=True)
def close_figures():
    """Leave no picture open: pyplot keeps those of all tests together."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="session")
def optima():
    """Maxima found elsewhere, by automatic differentiation and BFGS from several starts."""
    with open(DATA / "gaussian_optima.json") as file:
        return json.load(file)


@pytest.fixture(scope="session")
def class_optima():
    """Likewise where the chance of a label depends on the class."""
    with open(DATA / "class_mechanism_optima.json") as file:
        return json.load(file)


@pytest.fixture(scope="session")
def simulated():
    """Return a function that reads a data set of the paper's simulation: X, y, truth."""
    return lambda name: read_simulated(f"simulated/{name}")


@pytest.fixture(scope="session")
def paper():
    """One data set of the paper's simulation: X, y, truth."""
    return read_simulated("simulated/train_00.csv")


@pytest.fixture(scope="session")
def three_classes():
    """Three overlapping classes in three dimensions, hard cases blank: X, y (strings, None)."""
    rng = np.random.default_rng(7)
    n = 400
    truth = rng.integers(0, 3, n)
    centers = np.array([[0.0, 0, 0], [2.0, 1, 0], [0.0, 2, 2]])
    X = rng.standard_normal((n, 3)) @ np.array([[1, 0.4, 0], [0, 1, 0.2], [0, 0, 0.8]])
    X += centers[truth]
    distance = ((X[:, None] - centers) ** 2).sum(axis=2)
    gap = np.diff(np.sort(distance, axis=1)[:, :2], axis=1)[:, 0]
    seen = rng.random(n) < 1 / (1 + np.exp(1 - gap))
    y = np.array(["b", "a", "c"], dtype=object)[truth]
    y[~seen] = None
    return X, y


@pytest.fixture
def build():
    """Return a function that makes a likelihood and a rough start from arrays."""

    def make(
        X,
        codes,
        mechanism,
        *,
        covariance="full",
        family=None,
        weight=None,
        reviewed=None,
        alpha=0.5,
    ):
        n, g = len(X), codes.max() + 1
        family = (family or Gaussian()).specialise(covariance, 1e-6)
        mechanism = mechanism.prepare(g)
        rows = Rows(
            np.asarray(X, dtype=float),
            codes.astype(np.int64),
            weight,
            reviewed,
        )
        w = np.zeros((n, g))
        seen = np.flatnonzero(codes >= 0)
        w[seen, codes[seen]] = 1.0
        theta = mechanism.initial() + np.linspace(0.3, -0.6, mechanism.n_parameters)
        state = State(np.full(g, 1 / g), family.initial(rows.X, w), theta)
        return Likelihood(rows, family, mechanism, alpha), state

    return make


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Return a function that runs a command line and returns exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    # a small combination of models does what a large one does
    monkeypatch.setattr("hesitant.model_selection._candidates.SHAPES", ({"covariance": "full"},))
    monkeypatch.setattr("hesitant.model_selection._candidates.MECHANISMS", (None, "entropy"))

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["hesitant", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        out = capsys.readouterr()
        assert "Traceback" not in out.err
        return left.value.code or 0, out.out, " ".join(out.err.split())

    return command


@pytest.fixture
def table(tmp_path):
    """Write a table to sit down with; return its path and true classes by id."""
    from helpers_desk import write_table

    return write_table(tmp_path)


@pytest.fixture
def sit():
    """Return a function that opens desks; they are closed at the end."""
    from helpers_desk import Sitting

    opened = []

    def make(path, **given):
        opened.append(Sitting(path, **given))
        return opened[-1]

    yield make
    for sitting in opened:
        sitting.desk.close()


@pytest.fixture(scope="module")
def four():
    """Four readers, and the fit to them."""
    X, truth, Y = draw()
    said = Statements.from_labels(Y, ["a", "b", "c", "d"])
    return X, truth, said, MixtureClassifier(experts="fallible").fit(X, said)
