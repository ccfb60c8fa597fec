"""The published files give the published counts, where HESITANT_DATA names a directory."""

import os

import numpy as np
import pytest

from hesitant.datasets import (
    DataContentWarning,
    load_cardiotocography,
    load_cytometry,
    load_gastrointestinal,
    sparse_discriminant_features,
)

pytestmark = [
    pytest.mark.skipif(
        not os.environ.get("HESITANT_DATA"),
        reason="HESITANT_DATA names no directory with the published data",
    ),
    # The content is the published one: a difference would warn.
    pytest.mark.filterwarnings(f"error::{DataContentWarning.__module__}.DataContentWarning"),
]


def test_cytometry() -> None:
    data = load_cytometry()
    assert data.features.shape == (11792, 3)
    assert (data.n_labelled, data.n_blank) == (11459, 333)
    assert data.class_counts == {1: 375, 2: 245, 3: 2443, 4: 8396}


@pytest.mark.parametrize(("columns", "n_columns"), [("raw", 22), ("data", 21)])
def test_cardiotocography(columns: str, n_columns: int) -> None:
    data = load_cardiotocography(columns=columns)
    assert data.features.shape == (670, 2)
    assert data.class_counts == {"normal": 333, "pathologic": 69}
    assert data.n_blank == 268
    raw = load_cardiotocography(columns=columns, components=None).features
    assert raw.shape == (670, n_columns)
    np.testing.assert_allclose(
        data.features.var(ddof=1), np.linalg.eigvalsh(raw.corr())[::-1][:2], rtol=1e-10
    )


@pytest.mark.parametrize(
    ("panel", "light", "labelled", "blank"),
    [
        ("doctors", "both", 106, 46),
        ("doctors", "white", 53, 23),
        ("doctors+histology", "both", 128, 24),
        ("doctors+histology", "nbi", 64, 12),
    ],
)
def test_gastrointestinal(panel: str, light: str, labelled: int, blank: int) -> None:
    data = load_gastrointestinal(panel=panel, light=light)
    assert (data.n_labelled, data.n_blank) == (labelled, blank)
    assert data.features.shape == (labelled + blank, 4)
    assert "f472" in data.feature_names
    # Both records of a lesion carry the lesion's label.
    per_lesion = data.labels.fillna("blank").groupby(data.details["lesion"]).nunique()
    assert (per_lesion == 1).all()


def test_features_that_vary() -> None:
    assert load_gastrointestinal(features=None).features.shape == (152, 466)


def test_features_of_the_later_package_are_among_those_for_three_kinds_of_lesion() -> None:
    data = load_gastrointestinal(light="white", select_on="three-class")
    assert {"f294", "f441", "f472", "f486"} < set(data.feature_names)
    assert len(data.feature_names) == 8


def test_choice_of_features_does_not_depend_on_scale_or_row_order() -> None:
    data = load_gastrointestinal(features=None)
    chosen = sparse_discriminant_features(data.features, data.labels).names
    order = np.random.default_rng(0).permutation(len(data))
    scaled = data.features * np.geomspace(1e-6, 1e6, 466) + 3
    again = sparse_discriminant_features(scaled.iloc[order], data.labels.iloc[order]).names
    assert again == chosen == ("f194", "f472", "f475", "f486")
