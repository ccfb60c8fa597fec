"""Sparse discriminant analysis chooses the features that discriminate, and says why it cannot."""

import numpy as np
import pandas as pd
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import ElasticNet

from hesitant.datasets import sparse_discriminant_features


def wide(seed: int = 0, n: int = 60, p: int = 300) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.resize([0, 1], n)
    X = rng.normal(size=(n, p))
    X[:, [10, 20, 200]] += np.outer(y, [3.0, -3.0, 2.5])
    return X, y


def test_finds_what_discriminates_among_more_columns_than_rows() -> None:
    X, y = wide()
    found = sparse_discriminant_features(X, y, n_features=3)
    assert found.indices == found.names == (10, 20, 200)
    (direction,) = found.directions
    assert direction[10] > 0 > direction[20]


@pytest.mark.parametrize("k", range(1, 8))
def test_exactly_as_many_as_asked(k: int) -> None:
    X, y = wide(seed=k)
    assert len(sparse_discriminant_features(X, y, n_features=k).names) == k


@pytest.mark.parametrize("ridge", [1e-6, 0.5])
def test_coefficients_solve_the_elastic_net(ridge: float) -> None:
    X, y = wide()
    found = sparse_discriminant_features(X, y, n_features=4, ridge=ridge)
    beta = np.zeros(X.shape[1])
    beta[list(found.indices)] = [found.directions[0][j] for j in found.names]
    Z = X - X.mean(axis=0)
    Z /= np.sqrt((Z**2).sum(axis=0))
    t = np.where(y == 1, 1.0, -1.0)  # the score of two equal classes
    gradient = Z.T @ (t - Z @ beta) - ridge * beta
    penalty = np.abs(gradient).max()
    # Stationarity: equality where the coefficient is not zero.
    np.testing.assert_allclose(np.abs(gradient[beta != 0]), penalty, rtol=1e-6)
    total = penalty + ridge
    net = ElasticNet(
        alpha=total / len(t), l1_ratio=penalty / total, fit_intercept=False, tol=1e-12
    )
    np.testing.assert_allclose(net.fit(Z, t).coef_, beta, atol=1e-5)


def test_all_features_give_the_discriminant_of_fisher() -> None:
    rng = np.random.default_rng(3)
    y = np.resize([0, 1], 200)
    X = rng.normal(size=(200, 3)) + np.outer(y, [1.0, 1.5, -1.0])
    (direction,) = sparse_discriminant_features(X, y, n_features=3, ridge=0.0).directions
    beta = np.array([direction[j] for j in range(3)]) / X.std(axis=0)
    fisher = LinearDiscriminantAnalysis().fit(X, y).coef_[0]
    cosine = beta @ fisher / np.linalg.norm(beta) / np.linalg.norm(fisher)
    assert cosine == pytest.approx(1, abs=1e-6)


def test_names_blanks_constants_and_copies() -> None:
    X, y = wide(p=30 + 200)
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    frame["c0"] = 4.2
    frame["c25"] = -7 * frame["c10"] + 1  # says what c10 says
    labels = pd.Series(y, dtype=object)
    labels[:10] = None
    labels[10] = np.nan
    found = sparse_discriminant_features(frame, labels, n_features=3)
    assert found.names == ("c10", "c20", "c200")
    kept = labels.notna()
    again = sparse_discriminant_features(frame[kept], labels[kept], n_features=3)
    assert again == found


def test_units_do_not_matter_even_extreme_ones() -> None:
    X, y = wide()
    X[:, 10] *= 1e150
    X[:, 20] *= 1e-150
    assert sparse_discriminant_features(X, y, n_features=3).names == (10, 20, 200)


def test_three_classes_have_two_directions() -> None:
    rng = np.random.default_rng(5)
    y = np.resize(["a", "b", "c"], 90)
    X = rng.normal(size=(90, 150))
    X[:, 7] += 4.0 * (y == "a")
    X[:, 70] += 4.0 * (y == "b")
    found = sparse_discriminant_features(X, y, n_features=1)
    assert found.names == (7, 70)
    assert [len(d) for d in found.directions] == [1, 1]
    assert found == sparse_discriminant_features(X, y, n_features=1)


def test_errors_name_the_parameter_and_the_remedy() -> None:
    X, y = wide(p=201)
    for bad in (0, 999, 2.5, True):
        with pytest.raises(
            ValueError, match=rf"n_features={bad} must be an integer from 1 to 201"
        ):
            sparse_discriminant_features(X, y, n_features=bad)
    with pytest.raises(ValueError, match="no penalty leaves exactly that many coefficients"):
        sparse_discriminant_features(X, y, n_features=150, ridge=0.0)
    with pytest.raises(ValueError, match="y has 1 classes among its labelled rows"):
        sparse_discriminant_features(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="one label per row is needed"):
        sparse_discriminant_features(X, y[:-1])
    with pytest.raises(ValueError, match="ridge=-1: give a number >= 0"):
        sparse_discriminant_features(X, y, ridge=-1)
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match="X has missing or infinite values"):
        sparse_discriminant_features(X, y)
