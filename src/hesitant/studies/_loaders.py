"""The paper's three real data sets: cells, heart traces and lesions, some left without a label."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.linear_model import lars_path_gram
from sklearn.preprocessing import normalize

from hesitant._optional import need
from hesitant._typing import FloatArray
from hesitant.checks import check_number, look_up
from hesitant.datasets import PartlyLabelled, consensus
from hesitant.labels import encode
from hesitant.persistence import Preparation
from hesitant.studies._sources import FACTS, SOURCES, Frame, load_table

# Flow cytometry: manual gating assigned cells to four populations, or to none.
CHANNELS = tuple(SOURCES["cytometry"].columns[:-1])
# Cardiotocography: normal, pathologic, or only suspect, which counts as blank.
RAW = tuple(SOURCES["cardiotocography"].columns[2:-2])
DATA = tuple(name for name in RAW if name not in ("LBE", "DR"))
_COUNTS = ("AC", "FM", "UC", "DL", "DS", "DP")
PATTERNS = (5, 6, 9, 10)
_STATES = {1: "normal", 2: "suspect", 3: "pathologic"}
# Colonoscopy: lesions on which most doctors of a panel agree, or do not.
DOCTORS = tuple(SOURCES["opinions"].columns[2:])
_LIGHTS: Any = {"white": ((1,), "in white light"), "nbi": ((2,), "in narrow-band imaging")}
_LIGHTS["both"] = (1, 2), "in white light and in narrow-band imaging"
_PANELS = {"doctors": DOCTORS, "doctors+histology": (*DOCTORS, "truth")}
_DECISION = {"adenoma": "resection", "hyperplasic": "no-resection", "serrated": "resection"}
_SAME = 1e-10  # columns whose correlation is this close to 1 carry the same information
_MAX_ROUNDS = 100  # of the search for a sparse discriminant


def load_cytometry(data_dir: str | os.PathLike[str] | None = None) -> PartlyLabelled:
    """Load the cells of FlowCAP-I DLBCL sample 030; those in no gate are blank.

    ``data_dir`` holds ``cytometry_dlbcl030.csv`` (FL1_LOG, FL2_LOG, FL4_LOG and label, 0 where no
    gate), or ``dlbcl030_events.csv``, exported from the FCS file, beside ``dlbcl030_labels.csv``,
    the gate of each event. By default it is that of the environment variable HESITANT_DATA, then
    the user's cache. There is no direct download.
    """
    table = load_table(SOURCES["cytometry"], data_dir)
    gates = [None if gate == 0 else int(gate) for gate in table["label"]]
    labels = need("pandas").Series(gates, index=table.index, dtype=object, name="gate")
    about = FACTS["about"]["cytometry"].format(n=len(table), blank=gates.count(None))
    return PartlyLabelled("cytometry", table[list(CHANNELS)], labels, CHANNELS, about)


def load_cardiotocography(
    data_dir: str | os.PathLike[str] | None = None,
    *,
    columns: Literal["raw", "data"] = "raw",
    components: int | None = 2,
) -> PartlyLabelled:
    """Load the cardiotocograms of four patterns, those called suspect left blank.

    ``data_dir`` holds ``ctg_full.csv`` or UCI's ``CTG.xls``; by default HESITANT_DATA of the
    environment, then the user's cache, then UCI. ``columns`` are the 23 measurements of the
    workbook's Raw Data sheet ("raw"), with events counted, or the 21 of its Data sheet ("data"),
    with events per second; constant ones are dropped. ``components`` is how many of their
    principal components to return, on the correlation scale, each with a positive largest loading;
    None returns the columns themselves.
    """
    look_up("columns", columns, dict.fromkeys(("raw", "data")))
    table = load_table(SOURCES["cardiotocography"], data_dir)
    kept = table[table["CLASS"].isin(PATTERNS)]
    if kept.empty:
        raise ValueError(f"no recording has a CLASS in {PATTERNS}; is this the published file?")
    features = kept[list(RAW)]
    if columns == "data":
        seconds = kept["e"] - kept["b"]
        features = kept.assign(**{name: kept[name] / seconds for name in _COUNTS})[list(DATA)]
    features = features.loc[:, features.max() > features.min()]
    n, p = features.shape
    how = f"the {p} columns that vary."
    if components is not None:
        check_number("components", components, Integral, 1, min(n - 1, p))
        prepared: Any = Preparation(n_components=components).fit(features)
        # Preparation divides by n in a variance, a correlation matrix by n - 1.
        scores = prepared.transform(features) * np.sqrt(1 - 1 / n)
        features = need("pandas").DataFrame(scores, kept.index, prepared.get_feature_names_out())
        how = f"{components} principal components of {p} columns that vary, on the correlation\n"
        how += f"scale; they hold {prepared.explained_.sum():.0%} of the variance."
    states = kept["NSP"].astype(int).map(_STATES)
    counts = {state: (states == state).sum() for state in _STATES.values()}
    about = FACTS["about"]["cardiotocography"].format(n=n, all=len(table), how=how, **counts)
    labels = states.astype(object).where(states != "suspect", None).rename("state")
    details = kept[["CLASS", "NSP"]].astype(int).assign(row=kept.index + 1)
    made = "cardiotocography", features, labels, tuple(features.columns), about
    return PartlyLabelled(*made, details=details)


def load_gastrointestinal(
    data_dir: str | os.PathLike[str] | None = None,
    *,
    panel: Literal["doctors", "doctors+histology"] = "doctors",
    at_least: int | float = 6,
    light: Literal["both", "white", "nbi"] = "both",
    features: int | Sequence[str] | None = 4,
    select_on: Literal["labels", "histology", "three-class"] = "labels",
) -> PartlyLabelled:
    """Load the colonoscopy lesions, "resection" or "no-resection" where a panel agrees.

    ``data_dir`` holds the features (``gastro_features.csv`` or UCI's ``data.txt``) and the
    opinions (``gastro_opinions.csv`` or ``HumanEvaluation.xlsx``); by default HESITANT_DATA of the
    environment, then the user's cache, then the official sources. The ``panel`` are the seven
    doctors, or the histology as an eighth, of whom ``at_least`` so many must agree (see
    `consensus`). ``light`` says which of the two records of each lesion to take. ``features`` is
    how many to choose by `sparse_discriminant_features`, their names ("f472"), or None for all
    that vary; ``select_on`` is what chosen ones should discriminate: the given labels, what the
    histology calls for, or the three kinds of lesion, by two directions with so many each.
    """
    members, (lights, seen_in) = look_up("panel", panel, _PANELS), look_up("light", light, _LIGHTS)
    records = load_table(SOURCES["lesions"], data_dir)
    opinions = load_table(SOURCES["opinions"], data_dir).set_index("lesion")
    strange = set(opinions.to_numpy().ravel()) - set(_DECISION)
    if strange:
        known = ", ".join(_DECISION)
        raise ValueError(f"the panel has the opinion {min(strange)!r}; known are {known}")
    twice = opinions.index[opinions.index.duplicated()]
    if len(twice):
        raise ValueError(f"the panel has the lesion {twice[0]} twice; one row of opinions each")
    records = records[records["light"].isin(lights)].reset_index(drop=True)
    strangers = sorted(set(records["lesion"]) - set(opinions.index))
    if strangers:
        raise ValueError(f"no opinions on {len(strangers)} lesions, {strangers[0]} among them")

    # One row of opinions per record, so that both records of a lesion get its label.
    opinions = opinions.loc[records["lesion"]].set_axis(records.index)
    decisions = opinions.apply(lambda column: column.map(_DECISION))
    judged = decisions[list(members)]
    labels = consensus(judged, at_least=at_least).rename("decision")
    truth = decisions["truth"].astype(object).rename("decision")
    targets = {"labels": labels, "histology": truth, "three-class": opinions["truth"]}
    measured = records.drop(columns=["lesion", "class", "light"])
    names, how = _chosen(measured, features, look_up("select_on", select_on, targets), select_on)
    told = {"n": len(records), "lesions": records["lesion"].nunique(), "light": seen_in}
    told |= {"panel": panel, "at_least": at_least, "experts": len(members), "how": how}
    told |= {"labelled": labels.notna().sum(), "blank": labels.isna().sum()}
    about = FACTS["about"]["gastrointestinal"].format(**told)
    beside = {"light": records["light"].map({1: "white", 2: "nbi"})}
    beside["histology"] = opinions["truth"]
    beside["n_resection"] = (judged == "resection").sum(axis=1)
    details = records[["lesion"]].assign(**beside, **judged[list(DOCTORS)])
    made = "gastrointestinal", records[names], labels, tuple(names), about, truth
    return PartlyLabelled(*made, details=details)


def _chosen(
    measured: Frame, features: int | Sequence[str] | None, target: Any, on: str
) -> tuple[list[str], str]:
    """Return the names of the chosen features, and how they were chosen."""
    if features is None:
        varying = measured.columns[measured.max() > measured.min()].tolist()
        return varying, f"the {len(varying)} that vary."
    if isinstance(features, (int, np.integer)):
        found = sparse_discriminant_features(measured, target, n_features=int(features))
        how = f"chosen by sparse discriminant analysis\n(select_on={on!r})."
        return list(found.names), f"{', '.join(found.names)}, {how}"
    names = [features] if isinstance(features, str) else list(features)
    unknown = [name for name in names if name not in measured]
    if unknown:
        known = f"{measured.columns[0]} to {measured.columns[-1]}"
        raise ValueError(f"features={names!r}: {', '.join(map(str, unknown))} not among {known}")
    return names, f"{', '.join(names)}, as asked for."


@dataclass(frozen=True)
class SparseDiscriminant:
    """The chosen columns, by name and by position in X, and each direction's coefficients.

    Without names columns go by position. Coefficients are for columns scaled to unit length; the
    last class in sorted order is on the positive side.
    """

    names: tuple[Any, ...]
    indices: tuple[int, ...]
    directions: tuple[dict[Any, float], ...]


def sparse_discriminant_features(
    X: ArrayLike, y: ArrayLike, n_features: int = 4, *, ridge: float = 1e-6
) -> SparseDiscriminant:
    """Choose the features with which sparse linear discriminants tell classes apart.

    Sparse discriminant analysis by optimal scoring [1]_ minimises, over coefficients β and scores
    θ of the classes, normalised and orthogonal to earlier ones,

        ||Yθ − Xβ||² + ridge·||β||² + λ·||β||₁

    where λ falls until exactly `n_features` coefficients differ from zero, in each of the g − 1
    directions of g classes. p may be larger than n. Constant columns are passed over, and of
    columns that are multiples of one another only the first is considered. Rows whose class is
    None or NaN are left out. A larger ridge lets correlated features enter together.

    References
    ----------
    .. [1] L. Clemmensen, T. Hastie, D. Witten and B. Ersbøll (2011), Sparse discriminant
       analysis, Technometrics 53:406-413.

    Examples
    --------
    >>> import numpy as np
    >>> from hesitant.datasets import sparse_discriminant_features
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.normal(size=(40, 100))
    >>> X[:, [3, 50]] += 3 * y[:, None]
    >>> sparse_discriminant_features(X, y, n_features=2).names
    (3, 50)
    """
    names, X, labels = tuple(getattr(X, "columns", ())), np.asarray(X, float), encode(y, None)
    n, g = len(labels.codes), len(labels.classes)
    if X.ndim != 2 or len(X) != n:
        raise ValueError(f"X has shape {X.shape} and y {n} rows; one label per row is needed")
    X, Y = X[labels.labelled], np.eye(g)[labels.codes[labels.labelled]]
    if not np.isfinite(X).all():
        raise ValueError("X has missing or infinite values in labelled rows; drop those first")
    if g < 2:
        raise ValueError(f"y has {g} classes among its labelled rows; a discriminant needs two")
    # Dividing by the largest value first keeps squares of huge or tiny columns finite.
    scaled = X / np.maximum(np.abs(X).max(axis=0), np.finfo(float).tiny)
    centred = scaled - scaled.mean(axis=0)
    # Less than this is rounding of a constant, and stays zero.
    centred[:, np.linalg.norm(centred, axis=0) <= 1e-12 * np.sqrt(len(X))] = 0.0
    columns = normalize(centred, axis=0)
    varying = np.flatnonzero(columns.any(axis=0))
    alike = np.abs(columns[:, varying].T @ columns[:, varying]) > 1 - _SAME
    usable = varying[~np.triu(alike, k=1).any(axis=0)]
    if type(n_features) is bool or n_features not in range(1, len(usable) + 1):
        most = f"{len(usable)}, the number of distinct columns that vary among the labelled rows"
        raise ValueError(f"n_features={n_features!r} must be an integer from 1 to {most}")
    check_number("ridge", ridge, Real, 0)
    earlier, betas = np.ones((g, 1)), []
    for _ in range(g - 1):
        theta, beta = _direction(columns[:, usable], Y, earlier, n_features, ridge)
        earlier = np.column_stack([earlier, theta])
        betas.append(beta)
    chosen = np.flatnonzero(np.any(betas, axis=0))
    called = [names[j] if names else int(j) for j in usable]
    each = tuple({called[k]: float(b[k]) for k in np.flatnonzero(b)} for b in betas)
    places = tuple(usable[chosen].tolist())
    return SparseDiscriminant(tuple(called[k] for k in chosen), places, each)


def _direction(
    Z: FloatArray, Y: FloatArray, earlier: FloatArray, n_features: int, ridge: float
) -> tuple[FloatArray, FloatArray]:
    """Alternate between scores and coefficients from several starts; keep the closest fit."""
    share = Y.mean(axis=0)

    def admissible(theta: FloatArray) -> FloatArray:
        free = theta - earlier @ (earlier.T @ (share * theta))
        size = np.sqrt((share * free**2).sum())
        # A start within the span of the earlier scores leads nowhere.
        return free / size if size > 1e-8 else np.zeros_like(free)

    found: list[tuple[float, FloatArray, FloatArray]] = []
    # For two classes both starts are the same score, so one will do.
    for start in np.eye(Y.shape[1])[Y.shape[1] == 2 :]:
        theta, beta = admissible(start), np.zeros(Z.shape[1])
        for _ in range(_MAX_ROUNDS if theta.any() else 0):
            before, beta = theta, _coefficients(Z, Y @ theta, n_features, ridge)
            theta = admissible((Y.T @ (Z @ beta)) / (len(Z) * share))
            if np.abs(theta - before).max() < 1e-8 or not theta.any():
                break
        loss = ((Y @ theta - Z @ beta) ** 2).mean() if theta.any() else np.inf
        found.append((loss, theta, beta))
    least = min(loss for loss, _, _ in found) + 1e-9  # several starts may end in the same place
    theta, beta = next((theta, beta) for loss, theta, beta in found if loss <= least)
    sign = -1.0 if theta[-1] < 0 else 1.0
    return sign * theta, sign * beta


def _coefficients(Z: FloatArray, score: FloatArray, n_features: int, ridge: float) -> FloatArray:
    """Follow the path of coefficients to the first stretch with `n_features` of them."""
    # Adding the ridge to the Gram matrix turns the path of the lasso into the elastic net's.
    gram = Z.T @ Z + ridge * np.eye(Z.shape[1])
    # Coefficients that leave the path again make it longer than their number, seldom by much.
    how: Any = {"n_samples": 1, "method": "lasso", "max_iter": 5 * n_features + 10}
    _, _, path = lars_path_gram(Xy=Z.T @ score, Gram=gram, **how)
    # At a knot the entering coefficient is still zero; between knots it is not.
    between = (path[:, :-1] + path[:, 1:]) / 2
    sizes = np.count_nonzero(between, axis=0)
    hits = np.flatnonzero(sizes == n_features)
    if not len(hits):
        none = "no penalty leaves exactly that many coefficients"
        most = f"(up to {sizes.max(initial=0)} on the path); ask for fewer or raise ridge={ridge}"
        raise ValueError(f"n_features={n_features}: {none} {most}")
    middle, end = between[:, hits[0]], path[:, hits[0] + 1]
    return np.where(end != 0, end, middle)  # one that leaves at the end still belongs to it
