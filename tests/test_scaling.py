"""More rows than one would like to copy: memory, single precision, restarts elsewhere."""

import os
import subprocess
import sys
import textwrap

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from threadpoolctl import threadpool_limits

from hesitant import MixtureClassifier
from hesitant._cores import threads_allowed
from hesitant.datasets import simulate

MEMORY = """
import sys, threading, time
from pathlib import Path
import numpy as np
from hesitant import MixtureClassifier

def own():
    text = Path("/proc/self/status").read_text()
    return int(text.partition("RssAnon:")[2].split()[0]) * 1024

rng = np.random.default_rng(0)
path, n, p = sys.argv[1], 1_000_000, 10
X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(n, p))
truth = rng.integers(0, 2, n)
for k in range(0, n, 100_000):
    X[k : k + 100_000] = rng.standard_normal((100_000, p)) + 2 * truth[k : k + 100_000, None]
X.flush()
y = np.where(rng.random(n) < 0.3, truth, -1).astype(np.int8)
X = np.load(path, mmap_mode="r")
MixtureClassifier().fit(np.array(X[:20_000]), y[:20_000])  # compile before counting
before = most = own()
done = False

def watch():
    global most
    while not done:
        most = max(most, own())
        time.sleep(0.002)

watcher = threading.Thread(target=watch)
watcher.start()
clf = MixtureClassifier().fit(X, y)
done = True
watcher.join()
print(clf.converged_, (most - before) / X.nbytes)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_beyond_a_mapped_file(tmp_path):
    """A fit to 80 MB on disk takes less than a quarter of that in memory."""
    script = textwrap.dedent(MEMORY)
    run = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "x.npy")],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "HESITANT_COMPILE": "always"},  # a compiler takes memory of its own
    )
    converged, share = run.stdout.split()
    assert converged == "True"
    assert float(share) < 0.25


def test_single_precision_keeps_the_answer():
    """Sums are taken in double precision: only the rounding of the data itself remains."""
    data = simulate(n=30_000, random_state=0)
    y = data.labels
    narrow = (data.features + 100).astype(np.float32)
    a = MixtureClassifier().fit(narrow, y)
    b = MixtureClassifier().fit(narrow.astype(np.float64), y)
    assert a.log_likelihood_ == b.log_likelihood_
    np.testing.assert_array_equal(a.predict_proba(narrow), b.predict_proba(narrow.astype(float)))


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"]
)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_tables(paper, make):
    X, y, _ = paper
    table = make({"a": X[:, 0], "b": X[:, 1]})
    clf = MixtureClassifier().fit(table, y)
    np.testing.assert_allclose(clf.means_, MixtureClassifier().fit(X, y).means_, atol=1e-10)
    np.testing.assert_allclose(clf.entropy(table), clf.entropy(X), atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_restarts_run_on_joblib(three_classes, backend):
    X, y = three_classes
    clf = MixtureClassifier(classes=["a", "b", "c", "d"], mechanism=None, n_init=4, random_state=1)
    alone = clf.fit(X, y).log_likelihood_
    with joblib.parallel_config(backend=backend, n_jobs=2):
        assert clf.fit(X, y).log_likelihood_ == alone


def test_interruption_leaves_the_estimator_unfitted(paper, monkeypatch):
    from sklearn.exceptions import NotFittedError

    from hesitant.likelihood import Likelihood

    X, y, _ = paper
    calls = []
    evaluate = Likelihood.evaluate

    def interrupted(self, state):
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return evaluate(self, state)

    monkeypatch.setattr(Likelihood, "evaluate", interrupted)
    clf = MixtureClassifier()
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, y)
    with pytest.raises(NotFittedError):
        clf.predict(X)


def test_infinity_in_a_distant_block():
    X = np.zeros((50_000, 3))
    X[:, 0] = np.arange(50_000)
    X[43_210, 2] = np.nan
    X[43_220, 1] = np.inf
    with pytest.raises(ValueError, match="infinity in row 43220, column 1:"):
        MixtureClassifier().fit(X, np.arange(50_000) % 2)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    with pytest.raises(ValueError, match="row 43220, column 'b'"):
        MixtureClassifier().fit(frame, np.arange(50_000) % 2)


def test_threads_keep_to_the_fields_limits():
    most = joblib.cpu_count()
    assert threads_allowed(None) == threads_allowed(-1) <= most
    assert threads_allowed(3) == 3
    assert threads_allowed(-1000) == 1
    with threadpool_limits(1):
        assert threads_allowed(None) == threads_allowed(-1) == 1
        assert threads_allowed(3) == 3  # what is asked for is done
    code = "from hesitant._cores import threads_allowed; print(threads_allowed(None))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "1"
