"""Any question about any fit is answered, or refused in words."""

import re
import warnings

import numpy as np
import pytest

from hesitant import FitWarning, MixtureClassifier, MixtureClassifierCV

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::hesitant.FitWarning")]

FAMILIES = ("gaussian", "t", "skew_t", "skew_normal")
COVARIANCES = ("full", "tied", "diag", "shrunk")
MECHANISMS = (None, "entropy", "class", "entropy+class", "mixed")
# What is refused, and rightly: each with its reason and a remedy.
REFUSALS = (
    "sensitivity has no tilt of the mechanism 'mixed': fit with",
    "The information of the classes is singular under .* see summary",
    "the information is not finite at this fit: heed its warnings, or use bootstrap",
    "Too few replicates for a spread: .* replicates failed",
    "No start led to a fit: .*(drop features|leave it out)",
    "has no `coordinates` method",
    "(is|are) constant",
)


def awkward(rng):
    """Draw rows that are awkward in one way or another, with some labels of every class."""
    n, p, g = (
        int(rng.choice(some)) for some in ((6, 12, 30, 80, 200), (1, 2, 3, 6), (2, 2, 3, 5))
    )
    truth = np.append(np.arange(g), rng.integers(0, g, n))
    X = rng.standard_normal((n + g, p)) + 2 * rng.standard_normal((g, p))[truth]
    y = np.where(rng.random(n + g) < rng.choice([0.1, 0.5, 0.9]), truth, -1)
    y[:g] = np.arange(g)
    wild, few = X.copy(), X[rng.integers(0, 3, n + g)]
    wild[-1, 0] = 10.0 ** rng.integers(3, 13)
    gaps = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    gaps[:2] = 0.5
    ways = {
        "plain": X,
        "constant": np.column_stack((X, np.ones(n + g))),
        "copied": np.column_stack((X, X[:, 0])),
        "whole numbers": np.round(X),
        "zero or one": (X > 0).astype(float),
        "one wild cell": wild,
        "far from zero": 1e-9 * X + 1e6,
        "of any scale": X * 10.0 ** rng.integers(-100, 100),
        "empty cells": gaps,
        "three rows again and again": few,
        "far apart": X + 50 * truth[:, None],
        "cut off": np.abs(X),
    }
    return ways[str(rng.choice(list(ways)))], y


@pytest.mark.parametrize("seed", range(40))
def test_questions_are_answered_or_refused_in_words(seed):
    rng = np.random.default_rng(seed)
    X, y = awkward(rng)
    options = {
        "family": FAMILIES[rng.integers(4)],
        "covariance": COVARIANCES[rng.integers(4)],
        "mechanism": MECHANISMS[rng.integers(5)],
        "alpha": float(rng.choice([0.5, 0.5, 0.8, 1.0])),
        "components": int(rng.choice([1, 1, 2])),
    }
    clf = MixtureClassifier(random_state=0, **options)
    if seed % 8 == 0:
        clf = MixtureClassifierCV(random_state=0)
    questions = {
        "summary": lambda: clf.summary(),
        "robust": lambda: clf.information(robust=True).to_dict(),
        "diagnose": lambda: str(clf.diagnose(X, y)),
        "efficiency": lambda: str(clf.efficiency(n_draws=1000, random_state=0)),
        "triage": lambda: clf.triage(X, y),
        "sensitivity": lambda: str(clf.sensitivity(X, y, tilts=[-1, 1])),
        "bootstrap": lambda: str(clf.bootstrap(X, y, n_boot=3, random_state=0)),
        "report": lambda: clf.report(X, y).to_html(),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", FitWarning)
        try:
            clf.fit(X, y)
            assert np.isfinite(clf.predict_proba(X)).all()
            for question in rng.choice(list(questions), 3, replace=False):
                questions[question]()
        except (ValueError, TypeError) as refusal:
            if not any(re.search(words, str(refusal)) for words in REFUSALS):
                raise
