"""Real data whose classes are known, and ways of leaving labels blank."""

import argparse
import csv
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn import datasets
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedShuffleSplit, cross_val_predict
from sklearn.preprocessing import StandardScaler

FILES = ("banknote", "glass", "phoneme", "pima", "seeds", "segment", "vehicle", "waveform")
PATTERNS = ("difficulty", "random", "class")
TOGETHER = ("both", "softly both")  # class and difficulty
TRAIN = 600
FEWEST = 3  # labels that every class keeps


class Known(NamedTuple):
    """A set whose classes are known; ``difficulty`` is an expert's who knows no mixtures."""

    name: str
    X: np.ndarray
    truth: np.ndarray
    difficulty: np.ndarray


class Split(NamedTuple):
    """Rows to learn from, blanks (−1) among their labels, and rows to be judged by."""

    X: np.ndarray
    y: np.ndarray
    truth: np.ndarray
    X_test: np.ndarray
    test: np.ndarray


def data_folder() -> Path | None:
    """Return where the data lie, if the environment says so."""
    folder = os.environ.get("HESITANT_DATA")
    return Path(folder) if folder else None


def columns(path: Path) -> dict[str, np.ndarray]:
    """Return a table's columns as text."""
    with open(path, newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    return dict(zip(head, np.array(rows).T, strict=True))


def known_sets(names: tuple[str, ...] = ()) -> Iterator[Known]:
    """Yield the sets (all, or those named)."""
    folder = data_folder()
    assert folder is not None, "set HESITANT_DATA to the folder of the data"
    for name in (*FILES, "iris", "wine", "breast cancer", "digits", "cardiotocography"):
        if names and name not in names:
            continue
        if name in FILES:
            table = columns(folder / "bench" / f"{name}.csv")
            X = np.column_stack([v for k, v in table.items() if k.startswith("x")]).astype(float)
            _, truth = np.unique(table["class"].astype(int), return_inverse=True)
            yield Known(name, X, truth, table["difficulty"].astype(float))
            continue
        X, truth = _library_set(name, folder)
        yield Known(name, X, truth, _difficulty(X, truth))


def _library_set(name: str, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    if name == "cardiotocography":
        table = columns(folder / "ctg_full.csv")
        names = list(table)
        measured = names[names.index("LB") : names.index("Tendency") + 1]
        X = np.column_stack([table[k] for k in measured if k != "DR"]).astype(float)
        return _components(X), np.unique(table["NSP"], return_inverse=True)[1]
    load = {
        "iris": datasets.load_iris,
        "wine": datasets.load_wine,
        "breast cancer": datasets.load_breast_cancer,
        "digits": datasets.load_digits,
    }
    X, truth = load[name](return_X_y=True)
    return (_components(X, scale=False) if name == "digits" else X), truth


def _components(X: np.ndarray, scale: bool = True) -> np.ndarray:
    Z = StandardScaler().fit_transform(X) if scale else X
    return PCA(10, random_state=0).fit_transform(Z)


def _difficulty(X: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return the entropy of a random forest's out-of-fold probabilities, over its largest."""
    forest = RandomForestClassifier(200, random_state=0, n_jobs=-1)
    p = cross_val_predict(forest, X, truth, cv=5, method="predict_proba")
    return -(p * np.log(np.clip(p, 1e-300, None))).sum(axis=1) / np.log(p.shape[1])


def split(data: Known, pattern: str, repeat: int) -> Split:
    """Part a set into training and test rows, and leave training labels blank."""
    n = len(data.truth)
    share = min(TRAIN, 2 * n // 3)
    parts = StratifiedShuffleSplit(1, train_size=share, random_state=repeat)
    train, test = next(parts.split(data.X, data.truth))
    rng = np.random.default_rng([repeat, (*PATTERNS, *TOGETHER).index(pattern)])
    truth = data.truth[train]
    blank = rng.random(train.size) >= _label_chance(data, train, pattern, repeat, rng)
    for h in np.unique(truth):  # a class that nobody ever names is another problem
        own = np.flatnonzero(truth == h)
        lacking = FEWEST - np.count_nonzero(~blank[own])
        if lacking > 0:
            blank[rng.choice(own[blank[own]], lacking, replace=False)] = False
    y = np.where(blank, -1, truth)
    return Split(data.X[train], y, truth, data.X[test], data.truth[test])


def _label_chance(
    data: Known, train: np.ndarray, pattern: str, repeat: int, rng: np.random.Generator
) -> np.ndarray:
    if pattern == "random":
        return np.full(train.size, 0.5)
    rare = repeat % len(np.unique(data.truth))
    by_class = np.where(data.truth[train] == rare, 0.3, 0.8)
    if pattern == "class":
        return by_class
    hard = data.difficulty[train]
    rank = (np.lexsort((rng.random(train.size), hard)).argsort() + 0.5) / train.size
    if pattern == "softly both":
        return 1 / (1 + (1 / by_class - 1) * np.exp(5 * (rank - 0.5)))
    by_difficulty = 1 / (1 + np.exp((rank - 0.7) / 0.05))
    return by_class * by_difficulty if pattern == "both" else by_difficulty


def asked_for(
    about: str, patterns: tuple[str, ...] = PATTERNS
) -> Iterator[tuple[str, list[Split]]]:
    """Yield each pattern with the splits of all sets, as many as ``--repeats`` says."""
    options = argparse.ArgumentParser(description=about)
    options.add_argument("--repeats", type=int, default=2)
    repeats = options.parse_args().repeats
    warnings.simplefilter("ignore")
    sets = list(known_sets())
    for pattern in patterns:
        yield pattern, [split(data, pattern, k) for data in sets for k in range(repeats)]
