"""The real data: tables 1 and 2 beside the printed ones, and the full likelihood past them.

A reading says what the paper leaves open. The first of each data set is the main one: what the
text and its counts suggest. The others were chosen with the printed numbers in sight.
"""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from hesitant import diagnostics, families, likelihood, uncertainty
from hesitant._optional import need
from hesitant._replicates import refit, run_tasks
from hesitant.classifier import MixtureClassifier
from hesitant.inference import information
from hesitant.studies import _loaders
from hesitant.studies._simulation import Row
from hesitant.studies._sources import FACTS

# What the paper prints of each data set; of some p-values only a bound.
_BOUNDS: Any = {"ks_p": None, "mann_whitney_p": None}
PRINTED = {k: SimpleNamespace(**_BOUNDS | facts) for k, facts in FACTS["printed"].items()}
_SAMPLE = 100_000  # draws that tell which share of the space changes class
_COLUMNS = {"table1": ("n_labelled", "n_unlabelled", "mean_labelled", "mean_unlabelled")}
_COLUMNS["table2"] = ("ks", "ks_p", "mann_whitney", "mann_whitney_p")


def distance(row: Row, printed: Row) -> float:
    """Return how far a row is from the printed numbers; 1 is very far."""
    gap = printed["mean_unlabelled"] - printed["mean_labelled"]

    def scaled(r: Row) -> Any:
        pairs = r["n_labelled"] * r["n_unlabelled"]
        means = r["mean_labelled"] / gap, r["mean_unlabelled"] / gap
        return np.array([*means, r["ks"], r["mann_whitney"] / pairs])

    return float(np.abs(scaled(row) - scaled(printed)).mean())


@dataclass(frozen=True)
class Reading:
    """One way to read the paper: what the loader is asked for, and how the classes are fitted."""

    dataset: str
    features: str
    loading: dict[str, Any] = field(default_factory=dict)
    dof: str = "own"  # or "common" to all classes, as the scale matrices may be
    scale: str = "own"
    start: str = "ours"  # or classes fitted to the "labelled rows" alone

    @property
    def name(self) -> str:
        classes = f"degrees of freedom: {self.dof}; scale matrices: {self.scale}"
        return f"features: {self.features}; {classes}; start: {self.start}"


def readings(dataset: str) -> list[Reading]:
    return [Reading(**facts) for facts in FACTS["readings"] if facts["dataset"] == dataset]


def load(reading: Reading, directory: Any = None) -> Any:
    name = reading.dataset
    data = getattr(_loaders, f"load_{name}")(directory, **reading.loading)
    if not 0 < data.n_blank < len(data):
        which = "unlabelled" if data.n_labelled else "labelled"
        none = f"The {name} data have no {which} row ({reading.name})"
        raise ValueError(f"{none}: are these the published files?")
    return data


def fit_reading(reading: Reading, data: Any, **changes: Any) -> Any:
    """Fit a reading by the ignorance likelihood; what it warns of is in ``remarks_``."""
    family = families.FAMILIES[PRINTED[reading.dataset].family]
    options: dict[str, Any] = {
        "family": family(tied_dof=reading.dof == "common"),
        "covariance": "tied" if reading.scale == "common" else "full",
        "mechanism": None,
        "random_state": 0,
        "max_iter": 5000,
    }
    remarks: list[str] = []
    given = data.features, data.labels
    if reading.start == "labelled rows":
        options["init"] = refit(MixtureClassifier(**options, alpha=1.0), *given, warned=[])
        # EM, as the paper has it, goes to the nearest maximum; other solvers may leap past it.
        # Some of these have a class that is half a distribution, on a ridge without end.
        options |= {"solver": "em", "tol": 1e-3}
    classifier = refit(MixtureClassifier(**options | changes), *given, warned=remarks)
    classifier.remarks_ = remarks
    return classifier


def compare_readings(readings: list[Reading], directory: Any = None, **how: Any) -> list[Row]:
    """Fit every reading of one data set and compare each with the printed numbers."""
    tasks = [(reading, load(reading, directory)) for reading in readings]
    rows = list(run_tasks(_compare, tasks, description=readings[0].dataset, **how))
    # Fits that end at the same maximum differ by less than the tolerance: the first one counts.
    least = min(row["distance"] for row in rows) + 5e-4
    nearest = next(k for k, row in enumerate(rows) if row["distance"] <= least)
    return [{**row, "main": k == 0, "nearest": k == nearest} for k, row in enumerate(rows)]


def _compare(reading: Reading, data: Any) -> Row:
    classifier = fit_reading(reading, data)
    entropy = classifier.entropy(data.features, uncertainty.Shannon())  # whatever its own is
    t = uncertainty.transformed_entropy(entropy, len(classifier.classes_))
    groups = {"labelled": t[data.labelled], "unlabelled": t[~data.labelled]}
    printed = vars(PRINTED[reading.dataset])
    row = {"dataset": reading.dataset, "reading": reading.name, **_ending(classifier)}
    row |= {f"{name}_printed": value for name, value in printed.items()}
    for name, values in groups.items():
        row |= {f"n_{name}": len(values), f"mean_{name}": float(values.mean())}
    for name, test in (("ks", "kolmogorov_smirnov"), ("mann_whitney", "mann_whitney")):
        found = getattr(diagnostics, test)(*groups.values())
        row |= {name: float(found.statistic), f"{name}_p": float(found.p_value)}
    return {**row, "distance": distance(row, printed)}


def _ending(clf: Any) -> Row:
    found = {"log_likelihood": float(clf.log_likelihood_), "converged": bool(clf.converged_)}
    return {**found, "remarks": " ".join(clf.remarks_)}


def beside_printed(table: str, rows: list[Row]) -> list[Row]:
    """Return the columns of table 1 or 2, each beside the printed one."""
    pairs = [name for column in _COLUMNS[table] for name in (column, f"{column}_printed")]
    columns = ["dataset", "reading", "main", "nearest", *pairs]
    columns += ["distance", "log_likelihood", "converged", "remarks"]
    return [{name: row[name] for name in columns} for row in rows]


def compare_full(reading: Reading, data: Any, ignorance: Any) -> tuple[Any, dict[str, list[Row]]]:
    """Fit the full likelihood beside an ignorance fit of a reading; return it and three tables."""
    full = fit_reading(reading, data, mechanism="entropy", init=ignorance)
    X, blank, models = data.features, ~data.labelled, {"ignorance": ignorance, "full": full}
    old, new = (
        information(clf, X, data.labels)
        .to_frame()
        .set_index("parameter")[["estimate", "std_error"]]
        .set_axis([name, f"{name}_se"], axis=1)
        for name, clf in models.items()
    )
    table = old.join(new, how="inner")  # parameters that both models have
    known = np.isfinite(table[["ignorance_se", "full_se"]]).all(axis=1)
    error = table["ignorance_se"].where(known & (table["ignorance_se"] > 0))
    table["se_ratio"] = table["full_se"] / error
    table["shift"] = (table["full"] - table["ignorance"]) / error
    moved, tau = need("pandas").DataFrame({"dataset": data.name, "row": X.index.astype(str)}), []
    for name, clf in models.items():
        tau.append(clf.predict_proba(X))
        moved[f"{name}_class"] = clf.predict(X).astype(str)
        moved[f"{name}_posterior"] = tau[-1].max(axis=1)
    moved["truth"] = None if data.truth is None else np.asarray(data.truth).astype(str)
    changed = (moved["ignorance_class"] != moved["full_class"]).to_numpy()
    space = type(X)(full.sample(_SAMPLE, random_state=0)[0], columns=X.columns)
    # Labels that go missing by a coin need one parameter less.
    chance = likelihood.chance_log_likelihood(data.n_labelled, data.n_blank)
    row, own = {"dataset": reading.dataset, "mechanism": "entropy"}, full.mechanism_
    row |= {"intercept": own.intercept_, "intercept_se": new["full_se"]["intercept"]}
    row |= {"slope": own.coef_[0], "slope_se": new["full_se"]["coef[u]"]}
    gain = full.log_likelihood_ - ignorance.log_likelihood_ - chance
    row |= {"log_likelihood": full.log_likelihood_, "likelihood_ratio": 2 * gain}
    row |= {"unlabelled_moved": changed[blank].sum(), "labelled_moved": changed[~blank].sum()}
    row["space_moved"] = (ignorance.predict(space) != full.predict(space)).mean()
    row["mean_posterior_change_unlabelled"] = np.abs(tau[0] - tau[1]).max(axis=1)[blank].mean()
    # of those that are known
    row |= {"median_se_ratio": table["se_ratio"].median()}
    row |= {"largest_shift": table["shift"].abs().max(), **_ending(full)}
    parameters = table.assign(dataset=reading.dataset).reset_index().to_dict("records")
    moves = moved[changed & blank].to_dict("records")
    return full, {"full": [row], "full_parameters": parameters, "full_moved": moves}


def draw_full(data: Any, ignorance: Any, full: Any) -> Any:
    """Draw both likelihoods' boundaries, with rings around unlabelled rows that change class."""
    X, blank = data.features, ~data.labelled
    drawn = diagnostics.RegionsDisplay.from_estimator(full, X, data.labels, compare_with=ignorance)
    moved = np.asarray(ignorance.predict(X) != full.predict(X)) & blank
    label = f"changes class ({moved.sum()} of {blank.sum()})"
    ring: Any = {"s": 34, "facecolor": "none", "edgecolor": "#C1121F", "lw": 0.9, "zorder": 5}
    rings = drawn.ax_.scatter(*drawn.points[moved].T, label=label, **ring)
    legend = drawn.ax_.get_legend()
    words = {"this model": "full likelihood", "the other": "ignorance likelihood"}
    names = [words.get(text.get_text(), text.get_text()) for text in legend.get_texts()]
    handles = [*legend.legend_handles, rings]
    drawn.ax_.legend(handles, [*names, label], loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return drawn
