"""What the paper prints, what it leaves open, and the ways we read it.

A reading says which rows and features of a data set to take and how to fit them. All that are here
are reported. The first of each data set is the main one: what the paper's text and its counts of
rows suggest. The others grew while results were looked at, so the nearest of them is found by a
search that knew the printed numbers; the page says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from hesitant.datasets import (
    PartlyLabelled,
    load_cardiotocography,
    load_cytometry,
    load_gastrointestinal,
)


@dataclass(frozen=True)
class Printed:
    """What the paper prints of one data set: its Tables 1 and 2, and the classes' family."""

    n_labelled: int
    n_unlabelled: int
    mean_labelled: float
    mean_unlabelled: float
    ks: float
    mann_whitney: float
    ks_p: float | None  # None where only a bound is printed
    mann_whitney_p: float | None
    family: str

    @property
    def mann_whitney_share(self) -> float:
        """The Mann-Whitney statistic as a share of all pairs, comparable between counts."""
        return self.mann_whitney / (self.n_labelled * self.n_unlabelled)


PRINTED = {
    "cytometry": Printed(11459, 333, -5.59, -0.53, 0.783, 232996, None, None, "skew_t"),
    "cardiotocography": Printed(401, 268, -4.82, -1.92, 0.429, 23311, None, None, "skew_t"),
    "gastrointestinal": Printed(128, 24, -2.34, -0.21, 0.336, 1014, 0.0105, 0.0042, "t"),
}

LATER_FEATURES = ("f294", "f441", "f472", "f486")
"""Those that a later package of the paper's group uses."""

_LOADERS = {
    "cytometry": load_cytometry,
    "cardiotocography": load_cardiotocography,
    "gastrointestinal": load_gastrointestinal,
}
_TIED_DOF = {"own": False, "common": True}
_COVARIANCE = {"own": "full", "common": "tied"}


class RealData:
    """The real data, each table read once; what cannot be found is not looked for again."""

    def __init__(self, directory: Any = None) -> None:
        self.directory = directory
        self._loaded: dict[Any, Any] = {}

    def load(self, dataset: str, **options: Any) -> Any:
        """Return a data set as its loader does."""
        failure = self._loaded.get(dataset)
        if isinstance(failure, Exception):
            raise failure
        key = dataset, *sorted(options.items())
        if key not in self._loaded:
            try:
                self._loaded[key] = _LOADERS[dataset](self.directory, **options)
            except (OSError, ImportError) as error:
                self._loaded[dataset] = error
                raise
        return self._loaded[key]


@dataclass(frozen=True)
class Reading:
    """One way to read the paper: what was decided, by the name of the question, and its meaning.

    Classes have degrees of freedom and scale matrices of their "own" or "common" ones. The climb
    starts at "ours", a robust start, or at the classes fitted to the "labelled rows" alone, which
    is how one would start a program that asks for parameters.
    """

    dataset: str
    choices: dict[str, str]
    loading: dict[str, Any] = field(default_factory=dict)
    reworked: str = ""  # what happens to the table before the fit: the name of a step below
    dof: str = "own"
    scale: str = "own"
    start: str = "ours"
    n_init: int = 1

    @property
    def name(self) -> str:
        """The choices in one line."""
        return "; ".join(f"{question}: {answer}" for question, answer in self.choices.items())

    def load(self, source: RealData) -> Any:
        """Return the rows and features to fit."""
        data = source.load(self.dataset, **self.loading)
        if not 0 < data.n_blank < len(data):
            which = "unlabelled" if data.n_labelled else "labelled"
            raise ValueError(
                f"The {self.dataset} data have no {which} row ({self.name}), so there is nothing "
                "to compare; are these the published files?"
            )
        return _STEPS[self.reworked](data) if self.reworked else data

    def options(self, family: type) -> dict[str, Any]:
        """Return the parameters of the classifier."""
        return {
            "family": family(tied_dof=_TIED_DOF[self.dof]),
            "covariance": _COVARIANCE[self.scale],
            "n_init": self.n_init,
        }


def _reading(dataset: str, choices: dict[str, str], **options: Any) -> Reading:
    """Return a reading whose choices include how it is fitted."""
    made = Reading(dataset, choices, **options)
    start = made.start if made.n_init == 1 else f"best of {made.n_init}"
    how = {"degrees of freedom": made.dof, "start": start}
    return replace(made, choices={**choices, **how})


def _cytometry() -> Iterator[Reading]:
    steps = {"channels": "", "standardised": "standardise"}
    for (features, step), dof in product(steps.items(), _TIED_DOF):
        yield _reading("cytometry", {"features": features}, reworked=step, dof=dof)
    yield _reading("cytometry", {"features": "channels"}, start="labelled rows")
    yield _reading("cytometry", {"features": "channels"}, n_init=5)


def _cardiotocography() -> Iterator[Reading]:
    ways: list[tuple[str, str, dict[str, Any], str]] = [
        ("23 raw, correlation PCA", "670", {}, ""),
        ("22 raw without LBE, correlation PCA", "670", {"components": None}, "pca without LBE"),
        ("21 of the Data sheet, correlation PCA", "670", {"columns": "data"}, ""),
        ("23 raw, covariance PCA", "670", {"components": None}, "covariance pca"),
        ("23 raw, correlation PCA", "665, repeats dropped", {}, "drop repeats"),
    ]
    for features, rows, loading, step in ways:
        choices = {"features": features, "rows": rows}
        options: dict[str, Any] = {"loading": loading, "reworked": step}
        yield _reading("cardiotocography", choices, **options)
        yield _reading("cardiotocography", choices, dof="common", **options)
        yield _reading("cardiotocography", choices, start="labelled rows", **options)
    yield _reading("cardiotocography", {"features": ways[0][0], "rows": "670"}, n_init=10)


def _gastrointestinal() -> Iterator[Reading]:
    panels = {"7 doctors and histology": "doctors+histology", "7 doctors": "doctors"}
    lights = {"both": "both", "white only": "white"}
    later = " ".join(LATER_FEATURES)
    features: dict[str, dict[str, Any]] = {
        "sparse LDA of the labels": {"select_on": "labels"},
        "sparse LDA of the histology": {"select_on": "histology"},
        "sparse LDA of three kinds of lesion": {"select_on": "three-class", "features": 2},
        later: {"features": LATER_FEATURES},
    }
    order = product(lights, panels, features, _COVARIANCE, _TIED_DOF)
    for light, panel, chosen, scale, dof in order:
        if light == "white only" and chosen != later:
            continue  # the paper counts 152 records, so both lights; the later package has one
        choices = {"panel": panel, "features": chosen, "light": light, "scale matrices": scale}
        loading = {"panel": panels[panel], "light": lights[light], **features[chosen]}
        options = {"loading": loading, "dof": dof, "scale": scale}
        yield _reading("gastrointestinal", choices, **options)
        if light == "both" and (scale, dof) == ("own", "own"):
            yield _reading("gastrointestinal", choices, start="labelled rows", **options)
            yield _reading("gastrointestinal", choices, n_init=10, **options)


# ---- what may happen to a table before the fit --------------------------------------------------


def _with_features(data: Any, features: pd.DataFrame, keep: Any = None) -> Any:
    keep = np.ones(len(features), dtype=bool) if keep is None else keep
    return PartlyLabelled(
        name=data.name,
        features=features[keep],
        labels=data.labels[keep],
        feature_names=tuple(features.columns),
        description=data.description,
        details=data.details[keep] if len(data.details) else data.details,
    )


def _standardise(data: Any) -> Any:
    table = data.features
    return _with_features(data, (table - table.mean()) / table.std())


def _drop_repeats(data: Any) -> Any:
    return _with_features(data, data.features, ~data.features.duplicated().to_numpy())


def _pca(data: Any, scale: bool, drop: tuple[str, ...] = ()) -> Any:
    table = data.features.drop(columns=list(drop))
    centred = table - table.mean()
    Z = (centred / table.std() if scale else centred).to_numpy(dtype=float)
    _, _, Vt = np.linalg.svd(Z, full_matrices=False)
    scores = pd.DataFrame(Z @ Vt[:2].T, index=table.index, columns=["PC1", "PC2"])
    return _with_features(data, scores)


_STEPS = {
    "standardise": _standardise,
    "drop repeats": _drop_repeats,
    "covariance pca": lambda data: _pca(data, scale=False),
    "pca without LBE": lambda data: _pca(data, scale=True, drop=("LBE",)),
}
_READINGS = {
    "cytometry": _cytometry,
    "cardiotocography": _cardiotocography,
    "gastrointestinal": _gastrointestinal,
}


def readings(dataset: str) -> list[Reading]:
    """Return every reading of a data set, the main one first."""
    return list(_READINGS[dataset]())
