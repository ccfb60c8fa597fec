"""
Pipelines and grid search
=========================

``MixtureClassifier`` is a scikit-learn classifier: it goes into a ``Pipeline``, and
``GridSearchCV`` searches over its options. Two things need care with blanks: how to split, and how
to score.
"""

import numpy as np
from sklearn import config_context
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hesitant import MixtureClassifier
from hesitant.diagnostics import RegionsDisplay

# %%
# Thirteen measurements of 178 wines from three growers. We let a taster withhold the hard ones:
# the less certain a discriminant analysis of two principal components is, the rarer a label.

X, truth = load_wine(return_X_y=True)
taster = make_pipeline(StandardScaler(), PCA(2), MixtureClassifier(mechanism=None)).fit(X, truth)
entropy = taster[-1].entropy(taster[:-1].transform(X))
rng = np.random.default_rng(0)
y = np.where(rng.random(len(X)) < 1 / (1 + np.exp(-2 + 6 * entropy)), truth, -1)
blank = y == -1
print(f"{blank.sum()} of {len(y)} labels withheld")

# %%
# A pipeline: standardise, reduce, classify.

pipeline = make_pipeline(StandardScaler(), PCA(5), MixtureClassifier())
pipeline.fit(X, y)
print(f"right among the blanks: {pipeline.score(X[blank], truth[blank]):.0%}")

# %%
# What the classifier sees: the first two components, the other three averaged out.

Z = pipeline[:-1].transform(X)
regions = RegionsDisplay.from_estimator(pipeline[-1], Z, y, features=[0, 1])

# %%
# A grid search. Blanks have no label to score on, so they must never be in a test fold, and they
# should always be in the training part. ``PredefinedSplit`` says so: rows marked −1 there are
# never tested. (Do not turn test rows into blanks: that would fake a pattern.)

folds = np.where(blank, -1, rng.integers(0, 5, len(y)))
search = GridSearchCV(
    make_pipeline(StandardScaler(), PCA(5), MixtureClassifier(classes=[0, 1, 2])),
    {
        "pca__n_components": [2, 3, 5],
        "mixtureclassifier__covariance": ["full", "tied"],
        "mixtureclassifier__mechanism": [None, "entropy"],
    },
    cv=PredefinedSplit(folds),
    scoring="neg_log_loss",
)
search.fit(X, y)
print(search.best_params_)
print(f"right among the blanks: {np.mean(search.predict(X[blank]) == truth[blank]):.0%}")

# %%
# The search scored rows that somebody labelled. If those are the easy ones it hardly sees the
# region that matters. ``hesitant.compare`` ranks by likelihood, BIC and ICL as well, which judge
# all rows.
#
# ``sample_weight`` and ``reviewed`` travel by metadata routing.

with config_context(enable_metadata_routing=True):
    routed = make_pipeline(
        StandardScaler(), PCA(3), MixtureClassifier().set_fit_request(reviewed=True)
    )
    routed.fit(X, y, reviewed=rng.random(len(y)) < 0.9)
routed
