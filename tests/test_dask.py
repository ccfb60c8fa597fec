"""Rows on a cluster: the same answers, the data left where they are, a worker lost."""

import contextlib
import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")
import dask  # noqa: E402
import pandas as pd  # noqa: E402
from joblib import parallel_config  # noqa: E402

from hesitant import MixtureClassifier, compare  # noqa: E402
from hesitant.datasets import simulate  # noqa: E402
from hesitant.diagnostics import diagnose  # noqa: E402
from hesitant.likelihood import Likelihood  # noqa: E402
from hesitant.studies import run_simulation  # noqa: E402


@pytest.fixture(scope="module")
def data():
    made = simulate(n=6000, random_state=3)
    return made.features, np.array([-1 if v is None else v for v in made.labels])


@pytest.fixture(scope="module")
def in_memory(data):
    return MixtureClassifier().fit(*data)


def assert_same(a, b):
    assert a.log_likelihood_ == pytest.approx(b.log_likelihood_, rel=1e-12)
    np.testing.assert_allclose(a.means_, b.means_, atol=1e-8)
    np.testing.assert_allclose(a.covariances_, b.covariances_, atol=1e-8)
    np.testing.assert_allclose(a.mechanism_.coef_, b.mechanism_.coef_, rtol=1e-6)


@pytest.mark.parametrize("chunks", [(6000, 2), (1000, 2), (777, 1), ((5999, 1), 2)], ids=str)
def test_any_chunks(data, in_memory, chunks):
    X, y = data
    lazy = da.from_array(X, chunks=chunks)
    assert_same(MixtureClassifier().fit(lazy, y), in_memory)
    assert_same(MixtureClassifier().fit(lazy, da.from_array(y, chunks=1000)), in_memory)


def test_data_frame(data, in_memory):
    X, y = data
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=y, w=1.0, seen=True)
    lazy = dd.from_pandas(frame, npartitions=4)
    clf = MixtureClassifier().fit(
        lazy[["a", "b"]], lazy["y"], sample_weight=lazy["w"], reviewed=lazy["seen"]
    )
    assert_same(clf, in_memory)
    assert clf.feature_names_in_.tolist() == ["a", "b"]
    lazily = clf.predict_proba(lazy[["a", "b"]])
    assert isinstance(lazily, da.Array)
    np.testing.assert_allclose(lazily.compute(), in_memory.predict_proba(X), atol=1e-7)
    with pytest.raises(ValueError, match="feature names"):
        clf.predict(lazy[["b", "a"]])


def test_predictions_are_lazy_and_equal(data, in_memory):
    X, y = data
    lazy = da.from_array(X, chunks=(900, 2))
    for name in ("predict", "predict_proba", "predict_log_proba", "score_samples", "entropy",
                 "labelling_probability"):  # fmt: skip
        method = getattr(in_memory, name)
        out = method(lazy)
        assert isinstance(out, da.Array)
        assert out.shape[0] == len(X)
        np.testing.assert_array_equal(out.compute(), method(X))
    assert in_memory.log_likelihood(lazy, y) == pytest.approx(in_memory.log_likelihood_)
    assert in_memory.bic(lazy, y) == pytest.approx(in_memory.bic(X, y))


def test_unknown_and_empty_chunks(data):
    X, y = data
    keep = X[:, 0] > -1
    keep[:1000] = False  # the first chunk will be empty
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=y, keep=keep)
    lazy = dd.from_pandas(frame, chunksize=1000)
    lazy = lazy[lazy["keep"]]
    expected = MixtureClassifier().fit(X[keep], y[keep])
    assert_same(MixtureClassifier().fit(lazy[["a", "b"]], lazy["y"]), expected)
    array = lazy[["a", "b"]].to_dask_array()
    assert np.isnan(array.shape[0])
    assert_same(MixtureClassifier().fit(array, y[keep]), expected)
    np.testing.assert_allclose(expected.entropy(array).compute(), expected.entropy(X[keep]))


def test_chunks_without_labels_and_with_weights(data):
    X, y = data
    y = y.copy()
    y[1000:3000] = -1
    weight = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    shown = np.arange(len(X)) % 3 > 0
    lazy = da.from_array(X, chunks=(1000, 2))
    a = MixtureClassifier().fit(lazy, y, sample_weight=weight, reviewed=shown)
    assert_same(a, MixtureClassifier().fit(X, y, sample_weight=weight, reviewed=shown))


@pytest.mark.parametrize("options", [{"alpha": 0.0, "mechanism": None}, {"solver": "profile"},
                                     {"solver": "one_step_late"}], ids=str)  # fmt: skip
def test_other_likelihoods_and_solvers(data, options):
    X, y = data
    options = {"random_state": 0, **options}
    a = MixtureClassifier(**options).fit(da.from_array(X, chunks=(2000, 2)), y)
    b = MixtureClassifier(**options).fit(X, y)
    assert a.log_likelihood_ == pytest.approx(b.log_likelihood_, abs=1e-4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (_with_infinity(X), y), "infinity in row 4321, column 1"),
        (lambda X, y: (X, y[:100]), "X has 6000 rows and y has 100"),
        (lambda X, y: (X, np.full(6000, -1)), "names 0 classes"),
        (lambda X, y: (X, np.where(y == 1, 1, -1)), "names 1 class"),
    ],
)
def test_errors(data, change, message):
    X, y = change(*data)
    with pytest.raises(ValueError, match=message):
        MixtureClassifier().fit(da.from_array(X, chunks=(1000, 2)), y)


def test_error_in_a_chunk_of_unknown_size_names_the_row(data, in_memory):
    X, y = data
    frame = pd.DataFrame(_with_infinity(X), columns=["a", "b"]).assign(y=y)
    lazy = dd.from_pandas(frame, chunksize=1000)
    with pytest.raises(ValueError, match=r"^X contains infinity in row 4321, column 'b'"):
        MixtureClassifier().fit(lazy[["a", "b"]], lazy["y"])
    huge = dd.from_pandas(frame.assign(b=X[:, 1] * 1e160), chunksize=1000)
    with pytest.raises(ValueError, match=r"e\+1\d\d in row \d+, column 'b': too large"):
        MixtureClassifier().fit(huge[["a", "b"]], huge["y"])
    # A prediction is lazy: when it fails, nobody is there to count the rows before the chunk.
    unknown = lazy[["a", "b"]].to_dask_array()
    with pytest.raises(ValueError, match=r"in chunk 4, .*infinity in row 321, column 1") as caught:
        in_memory.predict(unknown).compute()
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def _with_infinity(X):
    X = X.copy()
    X[4321, 1] = np.inf
    return X


def test_few_passes_and_no_collection(data, monkeypatch):
    """Each evaluation is one graph; what comes back to the client is a few numbers."""
    X, y = data
    passes, returned = [], []
    compute = dask.compute

    def counting(*graphs, **options):
        out = compute(*graphs, **options)
        passes.append(len(graphs))
        returned.append(len(pickle.dumps(out)))
        return out

    monkeypatch.setattr(dask, "compute", counting)
    lazy = da.from_array(np.tile(X, (10, 1)), chunks=(6000, 2))
    MixtureClassifier().fit(lazy, np.tile(y, 10))
    assert len(passes) < 60
    # One sample of about 20,000 rows for the start; sums otherwise.
    assert sorted(returned)[-1] < 20_100 * 4 * 8
    assert sorted(returned)[-2] < 5000


@pytest.mark.parametrize("chunks", [6000, 1000, 777], ids=str)
def test_diagnosis(data, chunks):
    X, y = data
    shown = np.arange(len(X)) % 7 > 0
    here = diagnose(X, y, reviewed=shown)
    lazy = da.from_array(X, chunks=(chunks, 2))
    there = diagnose(lazy, da.from_array(y, chunks=chunks), reviewed=shown)
    assert (there.n_labelled, there.n_blank, there.n_not_reviewed) == (
        here.n_labelled,
        here.n_blank,
        here.n_not_reviewed,
    )
    for ours, theirs in zip(here.tests, there.tests, strict=True):
        assert theirs.name == ours.name
        assert theirs.statistic == pytest.approx(ours.statistic, rel=1e-6)
        assert theirs.p_value == pytest.approx(ours.p_value, rel=1e-4, abs=1e-12)
    np.testing.assert_allclose(there.labelled_entropy, here.labelled_entropy, atol=1e-6)
    np.testing.assert_allclose(there.curve.probability, here.curve.probability, atol=1e-5)
    np.testing.assert_allclose(there.curve.fitted, here.curve.fitted, atol=1e-5)
    assert there.mean_blank == pytest.approx(here.mean_blank, abs=1e-7)
    assert there.verdict == here.verdict


def test_a_diagnosis_brings_back_a_few_numbers_a_row(data, monkeypatch):
    X, y = (np.tile(part, (10,) + (1,) * (part.ndim - 1)) for part in data)
    wide = np.hstack((X, np.random.default_rng(0).standard_normal((len(X), 2))))
    returned = []
    compute = dask.compute

    def weighing(*graphs, **options):
        out = compute(*graphs, **options)
        returned.append(len(pickle.dumps(out)))
        return out

    monkeypatch.setattr(dask, "compute", weighing)
    diagnose(da.from_array(wide, chunks=(6000, 4)), y)
    # A sample of about 20,000 rows to start each of four fits; one pass that measures every row;
    # sums otherwise.
    start, measured = 20_100 * (4 + 2) * 8, len(X) * (3 * 8 + 2) + 10_000
    assert sorted(returned)[-5] < max(start, measured)
    assert sorted(returned)[-6] < 50_000


def test_shares_by_class(data):
    X, _ = data
    rng = np.random.default_rng(0)
    truth = MixtureClassifier().fit(*data).predict(X)
    y = np.where(rng.random(len(X)) < np.where(truth == 0, 0.9, 0.3), truth, -1)
    lazy = diagnose(da.from_array(X, chunks=(700, 2)), y)
    here = diagnose(X, y)
    assert lazy.missing_by_class
    assert here.missing_by_class
    for a, b in zip(lazy.by_class, here.by_class, strict=True):
        assert a.pop("class") == b.pop("class")
        assert a == pytest.approx(b, rel=1e-3)


def test_diagnosis_of_a_fitted_model_and_a_data_frame(data, in_memory):
    X, y = data
    frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b"]).assign(y=y), npartitions=3)
    clf = MixtureClassifier().fit(frame[["a", "b"]], frame["y"])
    found = clf.diagnose(frame[["a", "b"]], frame["y"])
    assert found.full is clf
    assert found.test("Wald").statistic == pytest.approx(
        in_memory.diagnose(X, y).test("Wald").statistic, rel=1e-6
    )
    pd.testing.assert_frame_equal(
        clf.summary().drop(columns="parameter"),
        in_memory.summary().drop(columns="parameter"),
        rtol=1e-5,
        atol=1e-7,
    )


@pytest.mark.slow
def test_a_worker_lost_in_mid_fit(data, in_memory, monkeypatch):
    X, y = data
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        # Chunks travel with the graph, as they would be read again from disk.
        lazy = da.from_array(X, chunks=(1000, 2))
        assert_same(MixtureClassifier().fit(lazy, y), in_memory)
        evaluations = []
        evaluate = Likelihood.evaluate
        pids = list(client.run(os.getpid).values())
        struck = threading.Event()

        def striking(self, state):
            evaluations.append(1)
            if len(evaluations) == 5 and not struck.is_set():
                struck.set()
                os.kill(pids[0], signal.SIGKILL)
                time.sleep(0.2)
            return evaluate(self, state)

        monkeypatch.setattr(Likelihood, "evaluate", striking)
        clf = MixtureClassifier().fit(lazy, y)
        assert struck.is_set()
        assert_same(clf, in_memory)


# -- many fits, rather than one large one --------------------------------------------------------


@pytest.fixture(scope="module")
def cluster():
    """A client of five worker processes, one to be lost in each test."""
    with (
        distributed.LocalCluster(
            n_workers=5, threads_per_worker=1, processes=True, dashboard_address=None
        ) as made,
        distributed.Client(made) as client,
    ):
        yield client


def _bootstrap(X, y, folder):
    result = MixtureClassifier().fit(X, y).bootstrap(X, y, n_boot=60, random_state=0)
    assert result.n_failed == 0
    return result.replicates


def _compare(X, y, folder):
    found = compare(X, y, [{"family": "gaussian"}, {"family": "t"}], cv=3, random_state=0)
    return found.to_frame().select_dtypes("number").to_numpy()


def _restarts(X, y, folder):
    return MixtureClassifier("t", n_init=8, random_state=0).fit(X, y).means_


def _diagnosis(X, y, folder):
    return [test.p_value for test in diagnose(X, y, n_boot=30, random_state=0).tests]


def _study(X, y, folder):
    rows = run_simulation(folder / f"{time.time_ns()}.jsonl", 4, progress=False)
    return np.array([list(row.values()) for row in rows])


@pytest.mark.slow
@pytest.mark.parametrize("run", [_bootstrap, _compare, _restarts, _diagnosis, _study])
def test_many_fits_survive_a_lost_worker(data, cluster, run, tmp_path):
    """Joblib's Dask backend, a worker process killed at work: the answer of one process."""
    X, y = (part[:1000] for part in data)
    expected = run(X, y, tmp_path)
    struck = tmp_path / "struck"

    class LoseOneWorker(distributed.WorkerPlugin):
        """The first task that any worker begins ends its process, once."""

        name = "lose one worker"

        def transition(self, key, start, finish, **kwargs):
            if finish == "executing":
                with contextlib.suppress(FileExistsError):
                    struck.touch(exist_ok=False)
                    os.kill(os.getpid(), signal.SIGKILL)

    cluster.register_plugin(LoseOneWorker())
    try:
        with parallel_config(backend="dask"):
            found = run(X, y, tmp_path)
    finally:
        cluster.unregister_worker_plugin(LoseOneWorker.name)
    assert struck.exists()
    np.testing.assert_array_equal(found, expected)
