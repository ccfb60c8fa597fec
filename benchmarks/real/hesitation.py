"""Blanks that real experts left, judged by what became known of them otherwise."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.real.peers import fit_peer
from benchmarks.real.sets import columns, data_folder
from hesitant import MixtureClassifierCV

FLOW = ("Lymph_003", "Lymph_015", "GvHD_006", "StemCell_007", "StemCell_017", "StemCell_027")
FLOW_ROWS = 3000
PEERS = ("LDA", "logistic regression", "random forest", "ignorance, tied", "full likelihood")
Case = tuple[str, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def flow_sample(name: str, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return channels and gates (−1 for a cell left ungated) of a part of a sample."""
    table = columns(folder / "flow" / f"{name}.csv")
    gate = table.pop("gate").astype(float).astype(int)
    X = np.column_stack(list(table.values())).astype(float)
    keep = np.random.default_rng(0).permutation(len(X))[: 2 * FLOW_ROWS]
    _, codes = np.unique(gate[keep], return_inverse=True)
    return X[keep], codes - (gate[keep].min() == 0)


def tess(folder: Path) -> Case:
    """Objects of 2020: blanks that were settled by 2025 are the test."""
    table = columns(folder / "tess_toi.csv")
    names = ("pl_orbper", "pl_trandurh", "pl_trandep", "pl_rade", "pl_eqt", "st_teff", "st_rad")
    raw = [np.where(table[k] == "", "nan", table[k]).astype(float) for k in (*names, "st_tmag")]
    X = np.column_stack([*(np.log(np.where(v > 0, v, np.nan)) for v in raw[:-1]), raw[-1]])
    complete = np.isfinite(X).all(axis=1)
    early, late = table["label_2020"], table["label_2025"]
    values = sorted(set(early) - {""})
    code = {v: k for k, v in enumerate(values)}
    y = np.array([code.get(v, -1) for v in early])
    settled = np.array([code.get(v, -1) for v in late])
    test = complete & (y < 0) & (settled >= 0)
    return "TESS", X[complete], y[complete], X[test], settled[test]


def lidc(folder: Path) -> Case:
    """The first reading of a nodule, its grade 3 a blank, judged by the others' mean grade."""
    table = {k: v.astype(float) for k, v in columns(folder / "lidc_readings.csv").items()}
    said, names = {"nodule", "reading", "malignancy"}, list(table)
    X = np.column_stack([table[k] for k in names if k not in said])
    first, test, truth = [], [], []
    for nodule in np.unique(table["nodule"]):
        rows = np.flatnonzero(table["nodule"] == nodule)
        others = table["malignancy"][rows[1:]].mean()
        first.append(rows[0])
        if table["malignancy"][rows[0]] == 3 and others != 3:
            test.append(rows[0])
            truth.append(int(others > 3))
    grade = table["malignancy"][first]
    y = np.where(grade == 3, -1, (grade > 3).astype(int))
    return "LIDC", X[first], y, X[test], np.array(truth)


def gastro(folder: Path) -> Case:
    """Lesions on which at least six of seven doctors agree; the others judged by histology."""
    opinions = columns(folder / "gastro_opinions.csv")
    table = columns(folder / "gastro_features.csv")
    white = table["light"] == "1"
    features = [k for k in table if k.startswith("f") and k[1:].isdigit()]
    X = np.column_stack([table[k][white] for k in features]).astype(float)
    X = make_pipeline(StandardScaler(), PCA(8, random_state=0)).fit_transform(
        X[:, X.std(axis=0) > 0]
    )
    order = {name: k for k, name in enumerate(opinions["lesion"])}
    place = np.array([order[name] for name in table["lesion"][white]])
    cut = opinions["n_resection"].astype(float).astype(int)[place]
    truth = (opinions["truth_bin"][place] == "resection").astype(int)
    y = np.where(cut >= 6, 1, np.where(cut <= 1, 0, -1))
    blank = y < 0
    return "colonoscopy", X, y, X[blank], truth[blank]


def hesitation_rows(
    names: tuple[str, ...], judge: Callable[..., Any], verdict: Callable[..., str]
) -> Iterator[dict[str, Any]]:
    """Yield results on real hesitation."""
    folder = data_folder()
    assert folder is not None
    for name in FLOW:
        if names and name not in names:
            continue
        X, y = flow_sample(name, folder)
        train = np.arange(len(X)) < FLOW_ROWS
        held_out = ~train & (y >= 0)
        case = (name, X[train], y[train], X[held_out], y[held_out])
        yield from _case_rows(case, judge, verdict, X[~train], y[~train] < 0)
    for make in (tess, lidc, gastro):
        yield from _case_rows(make(folder), judge, verdict)


def _case_rows(
    case: Case,
    judge: Callable[..., Any],
    verdict: Callable[..., str],
    X_all: np.ndarray | None = None,
    blank: np.ndarray | None = None,
) -> Iterator[dict[str, Any]]:
    name, X, y, X_test, truth = case
    about = {"kind": "hesitation", "set": name, "pattern": "real", "split": 0, "rows": len(y),
             "features": X.shape[1], "classes": int(y.max()) + 1, "labelled": (y >= 0).mean(),
             "diagnose": verdict(X, y)}  # fmt: skip
    for model in (*PEERS, "MixtureClassifierCV"):
        if model == "MixtureClassifierCV":
            fit = MixtureClassifierCV(random_state=0).fit(X, y)
        else:
            fit = fit_peer(model, X, y)
        found = judge(fit.predict_proba(X_test), truth)
        if blank is not None and hasattr(fit, "labelling_probability") and blank.any():
            chance = fit.labelling_probability(X_all)
            about["pattern"] = f"real; blanks found with AUC {roc_auc_score(blank, -chance):.3f}"
        yield {**about, "model": model, **found}
        about["pattern"] = "real"
