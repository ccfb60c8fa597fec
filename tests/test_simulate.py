"""Generators draw what they say, repeatably, and withhold labels where classes overlap."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit
from scipy.stats import multivariate_normal

from hesitant.datasets import make_cytometry_like, simulate


def true_entropy(X: np.ndarray) -> np.ndarray:
    first = multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]]).pdf(X)
    second = multivariate_normal([0, 3], np.eye(2)).pdf(X)
    p = np.column_stack([first, second]) / (first + second)[:, None]
    return -np.where(p > 0, p * np.log(np.where(p > 0, p, 1)), 0).sum(axis=1)


def test_entropy_and_mechanism_are_the_papers() -> None:
    data = simulate(n=2000, random_state=0)
    entropy = data.details["entropy"]
    np.testing.assert_allclose(entropy, true_entropy(data.features), atol=1e-12)
    np.testing.assert_allclose(logit(data.details["labelling_probability"]), 1 - 5 * entropy)


def test_draws_have_the_moments_asked_for() -> None:
    data = simulate(n=100_000, random_state=1)
    for h, (mean, cov) in enumerate([([0, 0], [[1, 0.7], [0.7, 1]]), ([0, 3], np.eye(2))]):
        X = data.features[data.truth == h]
        assert len(X) == pytest.approx(50_000, abs=700)
        np.testing.assert_allclose(X.mean(axis=0), mean, atol=0.02)
        np.testing.assert_allclose(np.cov(X.T), cov, atol=0.03)
    chance = data.details["labelling_probability"]
    for low in np.arange(0, 0.7, 0.1):  # labelled as often as promised, however hard the case
        band = (chance >= low) & (chance < low + 0.1)
        if band.sum() > 500:
            assert data.labelled[band].mean() == pytest.approx(chance[band].mean(), abs=0.05)


def test_labels_are_the_truth_or_blank() -> None:
    data = simulate(n=300, random_state=2)
    assert data.labels.dtype == object
    assert data.truth.dtype.kind == "i"
    assert (data.labels[data.labelled] == data.truth[data.labelled]).all()
    assert all(v is None for v in data.labels[~data.labelled])
    assert data.n_labelled + data.n_blank == len(data) == 300
    assert data.reviewed is None


def test_parameters_can_be_changed() -> None:
    means = [[0, 0, 0], [5, 5, 5], [-5, 5, 0]]
    data = simulate(
        n=5000,
        means=means,
        covariances=[np.eye(3) * s for s in (1, 2, 0.5)],
        weights=[0.2, 0.5, 0.3],
        intercept=50.0,
        slope=0.0,
        random_state=3,
    )
    assert data.n_blank == 0
    assert data.feature_names == ("x0", "x1", "x2")
    np.testing.assert_allclose(np.bincount(data.truth) / 5000, [0.2, 0.5, 0.3], atol=0.03)


@pytest.mark.parametrize("slope", [-1e6, 1e6])
def test_extreme_mechanisms_stay_silent(slope: float) -> None:
    with np.errstate(all="raise", under="ignore"):
        chance = simulate(n=50, slope=slope, random_state=0).details["labelling_probability"]
    assert np.isfinite(chance).all()


def test_rows_never_shown_are_blank() -> None:
    data = simulate(n=2000, reviewed_share=0.5, random_state=4)
    assert data.reviewed.mean() == pytest.approx(0.5, abs=0.05)
    assert not data.labelled[~data.reviewed].any()
    assert "never reviewed" in repr(data)
    whole = simulate(n=2000, random_state=4)
    np.testing.assert_array_equal(whole.features, data.features)
    np.testing.assert_array_equal(data.labelled, whole.labelled & data.reviewed)


@pytest.mark.parametrize("make", [simulate, make_cytometry_like])
def test_seeds_repeat_and_differ(make: object) -> None:
    one, same, other = (make(100, random_state=s) for s in (7, np.random.default_rng(7), 8))
    np.testing.assert_array_equal(one.features, same.features)
    assert [*one.labels] == [*same.labels]
    assert not np.array_equal(one.features, other.features)


def test_cells_are_skewed_heavy_tailed_and_blank_between_the_gates() -> None:
    data = make_cytometry_like(20_000, random_state=0)
    assert data.features.shape == (20_000, 3)
    assert 0 <= data.features.min() <= data.features.max() <= 1023
    assert 0.05 < data.n_blank / len(data) < 0.2
    entropy = data.details["entropy"]
    assert entropy[~data.labelled].mean() > 10 * entropy[data.labelled].mean()
    assert len(data.class_counts) == 4
    cells = pd.DataFrame(data.features)[data.truth == "T cells"]
    assert cells[0].skew() < -0.3
    assert cells[0].kurt() > 0.5


def test_errors_name_the_parameter_and_the_remedy() -> None:
    for bad in (0, -1, 2.5, True):
        with pytest.raises((ValueError, TypeError), match=r"n=.*: give a whole number >= 1"):
            simulate(bad)
    with pytest.raises(ValueError, match=r"covariances has shape \(2, 2\); .* need \(2, 2, 2\)"):
        simulate(covariances=np.eye(2))
    with pytest.raises(
        ValueError, match="covariances are not all symmetric and positive definite"
    ):
        simulate(covariances=[np.eye(2), -np.eye(2)])
    with pytest.raises(ValueError, match="covariances are not all symmetric"):
        simulate(covariances=[np.eye(2), [[1, 0.5], [0, 1]]])
    with pytest.raises(ValueError, match=r"weights=\[1, 1\] must be 2 positive numbers that sum"):
        simulate(weights=[1, 1])
    with pytest.raises(ValueError, match=r"means has shape \(2,\); give one row per class"):
        simulate(means=[0, 3])
    with pytest.raises(ValueError, match="reviewed_share=0: give a number"):
        simulate(reviewed_share=0)


def test_frame_for_a_file() -> None:
    frame = simulate(n=20, random_state=0).to_frame("class")
    assert [*frame.columns] == ["x0", "x1", "class"]
    assert frame["class"].isna().any()
    with pytest.raises(ValueError, match="label='x1' is also the name of a feature"):
        simulate(n=20).to_frame("x1")


def test_generators_and_consensus_work_without_pandas() -> None:
    program = (
        "import sys; sys.modules['pandas'] = None; sys.modules['pooch'] = None\n"
        "from hesitant.datasets import consensus, make_cytometry_like, simulate, load_cytometry\n"
        "print(simulate(20, random_state=0)); make_cytometry_like(20)\n"
        "print(consensus([[1, 1], [1, 2]], at_least=2))\n"
        "try: load_cytometry()\n"
        "except ImportError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "pip install 'hesitant[data]'" in done.stdout


def test_what_was_drawn_is_told_in_a_few_lines() -> None:
    assert repr(simulate(n=100, random_state=1)).splitlines() == [
        "PartlyLabelled: simulation",
        "  100 rows, 2 features: x0, x1",
        "  labelled  60: 0 (29), 1 (31)",
        "  blank     40 (40.0 %)",
        "  truth    known",
    ]
