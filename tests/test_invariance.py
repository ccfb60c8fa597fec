"""What must not change the answer: order, names, units, weights against copies, threads."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hesitant import MixtureClassifier
from hesitant.rows import Rows


def fit(X, y, **options):
    keys = ("sample_weight", "reviewed")
    passed = {k: options.pop(k) for k in keys if k in options}
    return MixtureClassifier(**{"tol": 1e-9} | options).fit(X, y, **passed)


def assert_same(a, b, order=None, rtol=1e-6):
    order = slice(None) if order is None else order
    assert a.log_likelihood_ == pytest.approx(b.log_likelihood_, abs=1e-7)
    np.testing.assert_allclose(a.weights_, b.weights_[order], rtol=rtol, atol=1e-6)
    np.testing.assert_allclose(a.means_, b.means_[order], rtol=rtol, atol=1e-5)
    np.testing.assert_allclose(a.covariances_, b.covariances_[order], rtol=rtol, atol=1e-5)


@pytest.mark.parametrize("mechanism", [None, "entropy"])
def test_row_order(three_classes, mechanism):
    X, y = three_classes
    order = np.random.default_rng(0).permutation(len(X))
    assert_same(fit(X, y, mechanism=mechanism), fit(X[order], y[order], mechanism=mechanism))


@pytest.mark.parametrize(
    "names",
    [[0, 1, 2], [1, 2, 3], [10, 5, 7], ["x", "y", "z"], [2.0, 1.0, 3.0]],
    ids=str,
)
def test_class_names(three_classes, names):
    X, y = three_classes
    renamed = np.array([None if v is None else names["abc".index(v)] for v in y], dtype=object)
    plain, other = fit(X, y), fit(X, renamed)
    assert sorted(names) == other.classes_.tolist()
    assert_same(plain, other, order=[other.classes_.tolist().index(n) for n in names])


def test_classes_keep_the_order_given(three_classes):
    X, y = three_classes
    plain, other = fit(X, y), fit(X, y, classes=["c", "a", "b"])
    assert other.classes_.tolist() == ["c", "a", "b"]
    assert_same(plain, other, order=[1, 2, 0])


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 1000),
    log_scale=st.floats(-4, 4),
    shift=st.floats(-1e3, 1e3),
)
def test_affine_maps(three_classes, seed, log_scale, shift):
    """A full covariance follows any invertible linear map; posteriors do not change."""
    X, y = three_classes
    rng = np.random.default_rng(seed)
    A = np.linalg.qr(rng.standard_normal((3, 3)))[0] * 10**log_scale
    A *= rng.uniform(0.5, 2, 3)
    plain, moved = fit(X, y), fit(X @ A.T + shift, y)
    volume = len(X) * np.linalg.slogdet(A)[1]
    assert moved.log_likelihood_ == pytest.approx(plain.log_likelihood_ - volume, abs=1e-5)
    np.testing.assert_allclose(
        moved.means_, plain.means_ @ A.T + shift, rtol=1e-4, atol=1e-3 * 10**log_scale
    )
    np.testing.assert_allclose(
        moved.predict_proba(X @ A.T + shift), plain.predict_proba(X), atol=1e-4
    )


@pytest.mark.parametrize("covariance", ["full", "tied", "diag", "spherical"])
def test_weight_two_is_a_row_twice(three_classes, covariance):
    X, y = three_classes
    weight = np.random.default_rng(1).integers(0, 3, len(X))
    copies = np.repeat(np.arange(len(X)), weight)
    weighted = fit(X, y, covariance=covariance, sample_weight=weight)
    copied = fit(X[copies], y[copies], covariance=covariance)
    assert_same(weighted, copied, rtol=1e-8)


@pytest.mark.parametrize("unit", [1e-150, 1e-20, 1.0, 1e20, 1e150])
def test_units(paper, unit):
    X, y, _ = paper
    plain, scaled = fit(X, y), fit(X * unit, y)
    np.testing.assert_allclose(scaled.means_ / unit, plain.means_, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(
        scaled.covariances_ / unit / unit, plain.covariances_, rtol=1e-6, atol=1e-7
    )
    np.testing.assert_allclose(scaled.predict_proba(X * unit), plain.predict_proba(X), atol=1e-7)


def test_threads_and_blocks(paper):
    """Any number of threads gives the same bits; any block size the same numbers."""
    X, y, _ = paper
    X, y = np.tile(X, (40, 1)), np.tile(y, 40)  # 20,000 rows: three blocks
    one, two, all_cores = (fit(X, y, n_jobs=k) for k in (1, 2, None))
    assert one.log_likelihood_ == two.log_likelihood_ == all_cores.log_likelihood_
    np.testing.assert_array_equal(one.means_, two.means_)
    sums = []
    for size in (100, 999, 8192, 10**6):
        rows = Rows(X, np.maximum(y, -1), block_size=size)
        sums.append(rows.sum(lambda b: (b.X.sum(axis=0), b.labelled.sum())))
    for total, labelled in sums:
        np.testing.assert_allclose(total, X.sum(axis=0), rtol=1e-12)
        assert labelled == (y >= 0).sum()


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_number_types(three_classes, dtype):
    X, y = three_classes
    X = np.round(X * 50).astype(dtype)
    assert_same(fit(X, y), fit(X.astype(float), y), rtol=1e-8)


@pytest.mark.parametrize("make", [np.asfortranarray, lambda X: np.repeat(X, 2, axis=0)[::2]])
def test_memory_layouts(three_classes, make):
    X, y = three_classes
    assert_same(fit(X, y), fit(make(X), y), rtol=1e-10)


def test_read_only_memory_map(three_classes, tmp_path):
    X, y = three_classes
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert_same(fit(X, y), fit(mapped, y), rtol=1e-10)
