"""
Triage: label what teaches most, refit
======================================

An expert has time for twenty more cases. Which? ``triage`` ranks blanks by the information their
label is expected to give about the classes. We label the top five, refit, and ask again, four
times, against blanks chosen by their entropy and blanks chosen at random.

The new labels come from somebody who had to decide, so they are marked ``reviewed=False``: they
inform the classes but not the mechanism.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from hesitant import FitWarning, MixtureClassifier
from hesitant.datasets import simulate

# %%
# Two classes, 150 cases, and about one case in seven labelled.

design = {"intercept": -1.5, "slope": -5.0}
data = simulate(n=150, random_state=1, **design)
data

# %%
# The list. ``gain`` is in nats and at most the entropy. The most uncertain case need not be the
# most instructive one.

clf = MixtureClassifier().fit(data.features, data.labels)
clf.triage(data.features, data.labels, top=8).round(3)

# %%
# The loop. Each rule says which five blanks to label next.

batch, rounds = 5, 4
fresh = simulate(n=10_000, random_state=10**6, **design)


def by_triage(clf, X, y, reviewed, rng):
    """Return the most instructive blanks."""
    return clf.triage(X, y, reviewed=reviewed, top=batch)["row"].to_numpy()


def by_entropy(clf, X, y, reviewed, rng):
    """Return the most uncertain blanks."""
    blank = np.flatnonzero(y == -1)
    return blank[np.argsort(-clf.entropy(X[blank]))[:batch]]


def by_chance(clf, X, y, reviewed, rng):
    """Return any blanks."""
    return rng.choice(np.flatnonzero(y == -1), batch, replace=False)


def run(choose, seed):
    """Return the error rate after each round."""
    data = simulate(n=150, random_state=seed, **design)
    X, rng = data.features, np.random.default_rng([seed, 1])
    y = np.where(data.labelled, data.truth, -1)
    reviewed = np.ones(len(y), dtype=bool)
    errors = []
    for _ in range(rounds + 1):
        clf = MixtureClassifier(classes=[0, 1]).fit(X, y, reviewed=reviewed)
        errors.append(1 - clf.score(fresh.features, fresh.truth))
        rows = choose(clf, X, y, reviewed, rng)
        y[rows], reviewed[rows] = data.truth[rows], False
    return errors


# %%
# Sixty data sets for each rule. Lines are means, bars one standard error. (Warnings about classes
# that start with very few labels are silenced.)

warnings.simplefilter("ignore", FitWarning)
fig, ax = plt.subplots(figsize=(6.4, 3.7), layout="constrained")
labels = batch * np.arange(rounds + 1)
rules = {"triage": by_triage, "entropy": by_entropy, "chance": by_chance}
for k, (name, choose) in enumerate(rules.items()):
    errors = 100 * np.array([run(choose, seed) for seed in range(60)])
    mean, bar = errors.mean(axis=0), errors.std(axis=0, ddof=1) / np.sqrt(len(errors))
    aside = 0.15 * (k - 1)  # so that no bar hides another
    ax.errorbar(labels + aside, mean, bar, fmt="o-", ms=3, label=name, capsize=2)
    print(f"{name:8s} error after {labels[-1]} labels: {mean[-1]:.2f} ± {bar[-1]:.2f} %")
ax.set(xlabel="labels added", ylabel="error, %", xticks=labels)
legend = ax.legend(title="chosen by")

# %%
# Choosing beats chance. With two classes the uncertain cases are much the same as the instructive
# ones, so entropy does as well. Where labels are plenty, any choice will do.
