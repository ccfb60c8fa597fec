"""
A panel that disagrees
======================

Four readers look at the same cases. Each leaves out what they find too hard, and each is wrong at
times: the first next to never, the last in three of ten cases. A vote counts them alike. A model
that knows the features can tell who is right, and who hesitates where. The data are invented, so
we know the answer.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

from hesitant import MixtureClassifier, Statements

rng = np.random.default_rng(1)
n = 600
truth = rng.integers(0, 2, n)
X = rng.standard_normal((n, 2)) + truth[:, None] * [2.0, 1.7]
odds = X @ [2.0, 1.7] - 3.445
tau = np.column_stack((expit(-odds), expit(odds)))
difficulty = -(tau * np.log(tau)).sum(axis=1)

names = np.array(["benign", "malign"])
opinions = {}
for reader, intercept, slope, right in (
    ("Ada", 3.0, -7.0, 0.97),
    ("Bo", 2.0, -3.0, 0.90),
    ("Cy", 2.5, -5.0, 0.80),
    ("Di", 1.0, 0.0, 0.70),
):
    spoke = rng.random(n) < expit(intercept + slope * difficulty)
    label = names[np.where(rng.random(n) < right, truth, 1 - truth)]
    opinions[reader] = [word if given else None for word, given in zip(label, spoke, strict=True)]

said = Statements.from_labels(opinions)
said

# %%
# How often do two of them agree, where both spoke?

said.agreement().round(2)

# %%
# ``experts="fallible"`` gives each reader a confusion matrix, and an intercept and a slope of
# hesitation, drawn together as far as the readers are alike.

clf = MixtureClassifier(experts="fallible").fit(X, said)
clf.readers_.round(2)

# %%
# ``accuracy`` is the chance that a label of this reader is right. Nobody told the model: it
# follows from who agrees with whom, and with the features. Di labels hard and easy cases alike.
#
# ``resolve`` weighs everything: the features, who said what, and who said nothing.

resolved = clf.resolve(X, said)
vote = said.vote()
for rule, code in (
    ("majority vote, ties by a coin", np.where(vote < 0, rng.integers(0, 2, n), vote)),
    ("features alone", clf.predict_proba(X).argmax(axis=1)),
    ("features and readers", resolved.argmax(axis=1)),
):
    print(f"{rule:32s} wrong on {np.mean(code != truth):.1%} of the rows")

# %%
# Each reader's hesitation: the chance of a label against the difficulty of the case.

panel = clf.mechanism_
order = np.argsort(clf.entropy(X))
chance = panel.speaking(clf.predict_log_proba(X), clf.predict_proba(X))
fig, ax = plt.subplots(figsize=(4.6, 3.2), layout="constrained")
for j, reader in enumerate(said.readers):
    ax.plot(clf.entropy(X)[order], chance[order, j], label=reader)
ax.set(xlabel="entropy of the case", ylabel="chance of a label", ylim=(0, 1))
ax.legend(frameon=False)
plt.show()

# %%
# And who should look next? Rows are ranked by what a label would teach, times the share of the
# row's remaining doubt that this reader is likely to remove.

clf.triage(X, said, top=6)[["row", "reader", "expected_gain", "predicted"]]
