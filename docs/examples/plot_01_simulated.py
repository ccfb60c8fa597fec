"""
Two classes and an expert who hesitates
=======================================

The paper's simulation: two Gaussian classes that overlap, and an expert whose chance of giving a
label falls with the entropy of the class, logit Pr(label) = 1 − 5 · entropy. We fit with and
without the pattern of blanks and compare both with the truth.
"""

import numpy as np

from hesitant import MixtureClassifier
from hesitant.datasets import simulate
from hesitant.diagnostics import RegionsDisplay

data = simulate(n=500, random_state=1)
X, y = data.features, data.labels
data

# %%
# Fit twice. ``mechanism=None`` uses labels and features; the default also uses *which* labels are
# missing.

ignorance = MixtureClassifier(mechanism=None).fit(X, y)
full = MixtureClassifier().fit(X, y)

for name, clf in (("ignorance", ignorance), ("full", full)):
    print(f"{name:10s} means {clf.means_.round(2).tolist()}, weights {clf.weights_.round(2)}")

# %%
# The fitted mechanism, beside the one that made the data.

fitted = full.mechanism_
print(f"logit Pr(label) = {fitted.intercept_:.2f} {fitted.coef_[0]:+.2f} · entropy")

# %%
# Regions of the full fit. Blanks are black squares; the boundary of the fit without the pattern is
# dashed.

regions = RegionsDisplay.from_estimator(full, X, y, compare_with=ignorance)
lines = regions.ax_.get_legend().get_texts()[-2:]
for line, name in zip(lines, ("full likelihood", "ignorance likelihood"), strict=True):
    line.set_text(name)

# %%
# Are the blanks about difficulty? The three panels compare labelled and blank rows, using the fit
# that does not use the pattern.

diagnosis = full.diagnose(X, y)
panels = diagnosis.plot()
print(diagnosis.verdict)

# %%
# One data set proves little. Here are forty, judged on the same 20,000 fresh rows.

fresh = simulate(n=20_000, random_state=10**6)
errors = []
for seed in range(40):
    d = simulate(n=500, random_state=seed)
    fits = [MixtureClassifier(mechanism=m).fit(d.features, d.labels) for m in (None, "entropy")]
    errors.append([1 - clf.score(fresh.features, fresh.truth) for clf in fits])
errors = 100 * np.array(errors)
gain = errors[:, 0] - errors[:, 1]
print(f"mean error: ignorance {errors[:, 0].mean():.2f} %, full {errors[:, 1].mean():.2f} %")
print(f"paired difference {gain.mean():.3f} ± {gain.std(ddof=1) / np.sqrt(40):.3f} points")
