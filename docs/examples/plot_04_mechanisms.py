"""
Comparing mechanisms
====================

An expert labels nine in ten of the easy cases and one in three of the hardest. A straight line in
the entropy does not describe that: it cannot level off. We fit several mechanisms, look at the
fitted curves, and let criteria rank them.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

from hesitant import MixtureClassifier, compare
from hesitant.datasets import simulate
from hesitant.mechanisms import EntropyMechanism, MixedMechanism, Polynomial

data = simulate(n=3000, random_state=5)
X, u = data.features, data.details["entropy"]


def chance(u):
    """Return the chance of a label at an entropy."""
    return 0.33 + 0.57 * expit(3 - 14 * u)


y = np.where(np.random.default_rng([5, 1]).random(len(u)) < chance(u), data.truth, -1)

# %%
# Candidates by name.

candidates = {
    "none": MixtureClassifier(mechanism=None),
    "linear": MixtureClassifier(),
    "quadratic": MixtureClassifier(mechanism=EntropyMechanism(basis=Polynomial(2))),
    "spline": MixtureClassifier(mechanism=EntropyMechanism(basis="spline")),
    "order 2": MixtureClassifier(mechanism=EntropyMechanism(order=2)),
    "log": MixtureClassifier(mechanism=EntropyMechanism(basis="log")),
    "mixed": MixtureClassifier(mechanism=MixedMechanism()),
}
result = compare(X, y, candidates, cv=0)
result

# %%
# The fitted curves against the true one: the chance of a label at posteriors (t, 1 − t). The mixed
# mechanism finds no labels that are missing for another reason, so that its curve (dashed) lies on
# the linear one.

t = np.linspace(0.5, 0.9999, 300)
tau = np.column_stack((t, 1 - t))
entropy = -(tau * np.log(tau)).sum(axis=1)

fig, ax = plt.subplots(figsize=(6.6, 3.8), layout="constrained")
ax.plot(entropy, chance(entropy), color="black", linewidth=2.5, label="true")
for name in ("linear", "quadratic", "spline", "order 2", "log", "mixed"):
    fitted = candidates[name].fit(X, y).mechanism_
    style = {"color": "black", "linestyle": (0, (3, 4))} if name == "mixed" else {}
    ax.plot(entropy, fitted.probability(np.log(tau), tau), label=name, **style)
ax.set(xlabel="entropy", ylabel="chance of a label", ylim=(0, 1))
legend = ax.legend(ncols=2)

# %%
# The shape test of ``diagnose`` says the same without candidates: is there something that a spline
# can do and the mechanism cannot?

for name in ("linear", "quadratic", "spline"):
    shape = candidates[name].diagnose(X, y).test("shape")
    print(f"{name:10s} shape test p = {shape.p_value:.2g}")

# %%
# Does it matter for the classes? With 3,000 rows every fit is close to the best possible rule.

fresh = simulate(n=50_000, random_state=6)
for name, clf in candidates.items():
    print(f"{name:10s} error {1 - clf.fit(X, y).score(fresh.features, fresh.truth):.2%}")
