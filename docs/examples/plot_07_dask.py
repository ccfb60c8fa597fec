"""
Rows on a Dask cluster
======================

Each evaluation of the likelihood sends parameters out and brings sums back; features stay where
they are. Here the "cluster" is two workers in this process, so that the example runs anywhere.
Give ``Client`` an address and nothing else changes.
"""

import dask.array as da
import numpy as np
from distributed import Client
from joblib import parallel_config

from hesitant import MixtureClassifier
from hesitant.datasets import simulate
from hesitant.diagnostics import RegionsDisplay

client = Client(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None)

# %%
# Rows in chunks, kept on the workers.

data = simulate(n=100_000, random_state=0)
X = da.from_array(data.features, chunks=(20_000, 2)).persist()
y = np.where(data.labelled, data.truth, -1).astype(np.int8)
print(X)

# %%
# Fit. The answer is that of a fit in memory.

clf = MixtureClassifier().fit(X, y)
here = MixtureClassifier().fit(data.features, y)
print(f"{clf.n_iter_} passes; {clf.termination_}")
print(f"largest difference in a mean: {np.abs(clf.means_ - here.means_).max():.1e}")

# %%
# Predictions are lazy. Reduce them on the cluster and bring back what you need.

proba = clf.predict_proba(X)
print(proba)
unsure = (proba.max(axis=1) < 0.7).mean()
print(f"{unsure.compute():.2%} of the rows are less than 70 % sure")

# %%
# For pictures, take some rows home.

some = slice(0, 2000)
regions = RegionsDisplay.from_estimator(clf, X[some].compute(), y[some])

# %%
# Standard errors need passes over the data too, and take the same collections.

clf.summary().tail(2).round(3)

# %%
# Many fits, rather than one large one, go through joblib. With a client open its Dask backend
# sends them to the workers.

small = MixtureClassifier().fit(data.features[some], y[some])
with parallel_config(backend="dask"):
    result = small.bootstrap(data.features[some], y[some], n_boot=40, random_state=0)
print(result.to_frame().tail(2).round(3))

client.close()
