"""The paper's simulation: which estimators learn from labels that are missing in hard cases."""

import itertools
import json
import math
import os
import sqlite3
from dataclasses import asdict, dataclass
from numbers import Integral
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy.stats import multivariate_normal
from sklearn.metrics import adjusted_rand_score

import hesitant
from hesitant import _drawing as draw
from hesitant._replicates import run_tasks
from hesitant._typing import FloatArray, IntArray
from hesitant._words import decimals, noun
from hesitant.checks import check_jobs, check_number, renamed
from hesitant.classifier import MixtureClassifier
from hesitant.datasets import simulate
from hesitant.datasets._data import COVARIANCES, MEANS, log_posterior
from hesitant.diagnostics import RegionsDisplay
from hesitant.exceptions import collect_warnings
from hesitant.weights import inverse_probability_weights

Row = dict[str, Any]
ALPHAS = tuple(k / 20 for k in range(21))
_ELSEWHERE = "choose another folder with out (--out)."
# what a measure is called, whether more (1) or less (-1) of it is better, and its decimals
MEASURES = {"adjusted_rand": ("adjusted Rand index", 1, 4), "log_loss": ("total log loss", -1, 2)}
_LINES = {  # of a figure: colours, styles and what they stand for
    "full": (draw.class_color(4), "-", "full likelihood"),
    "weighted labels": (draw.class_color(3), "-.", "labels, inverse weights"),
    "complete labels": (draw.class_color(2), "--", "complete labels"),
    "true parameters": (draw.INK, ":", "true parameters"),
}
# with the fractional estimators
_COMPARED: dict[str, dict[str, Any]] = {"weighted labels": {"mechanism": None, "alpha": 1}}
_COMPARED |= {"ignorance": {"mechanism": None}, "full": {"solver": "quasi_newton"}}
_COMPARED |= {"profile": {"solver": "profile"}, "one-step-late": {"solver": "one_step_late"}}
_COMPARED |= {"complete labels": {"mechanism": None}}


@dataclass(frozen=True)
class Design:
    """All that the results of the study depend on; ``restarts`` are those of alpha = 0."""

    seed: int = 1
    n: int = 500
    n_test: int = 2000
    alphas: tuple[float, ...] = ALPHAS
    restarts: int = 5

    def settings(self) -> Row:
        """Return what a checkpoint should record: the design, and what computes it."""
        return asdict(self) | {"hesitant": hesitant.__version__, "numpy": np.__version__}


class StudyError(RuntimeError):
    """A study cannot run as asked; the message says what to do."""


class Checkpoint:
    """The finished replications of a study, kept so that a run that is killed loses none.

    The file is locked within the context, so that no two runs write to the same folder; the
    system lifts the lock of a process that is killed.
    """

    def __init__(
        self, path: Any, settings: Row, resume: bool = False, force: bool = False
    ) -> None:
        if resume and force:
            raise ValueError("resume=True continues and force=True starts again: choose one.")
        self.path, self.resume, self.force = Path(path), resume, force
        self.settings: Row = json.loads(json.dumps(settings))
        self._database: sqlite3.Connection | None = None

    def __enter__(self) -> Self:
        for statement in (
            "PRAGMA locking_mode = EXCLUSIVE",
            "BEGIN EXCLUSIVE",
            "CREATE TABLE IF NOT EXISTS state (key TEXT PRIMARY KEY, value TEXT)",
            "CREATE TABLE IF NOT EXISTS finished (replication INTEGER PRIMARY KEY, rows TEXT)",
            "COMMIT",
        ):
            self._execute(statement)
        return self

    def __exit__(self, *_: object) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    @property
    def finished(self) -> dict[int, list[Row]]:
        found = self._execute("SELECT replication, rows FROM finished ORDER BY replication")
        return {k: json.loads(rows) for k, rows in found}

    def begin(self, reuse: bool = False) -> None:
        """Continue or reuse the same study's results if asked to; otherwise start again."""
        state, new = dict(self._execute("SELECT key, value FROM state")), self.settings
        old = json.loads(state.get("settings", "null"))
        unfinished = 0 if "complete" in state else len(self.finished)
        if old == new and (reuse or self.resume):
            return
        if unfinished and not (self.resume or self.force):
            held = f"{self.path} holds {noun(unfinished, 'finished replication')}"
            ways = "with resume=True (--resume), start again with force=True (--force)"
            raise StudyError(f"{held} of an interrupted run. Continue it {ways}, or {_ELSEWHERE}")
        if self.resume and old is not None:
            changed = "; ".join(
                f"{k} was {json.dumps(old.get(k)):.60} and is now {json.dumps(new.get(k)):.60}"
                for k in sorted({*old, *new})
                if old.get(k) != new.get(k)
            )
            other = f"{self.path} was begun with other settings ({changed}), so its results cannot"
            same = "Use the same settings, start again with force=True (--force) instead"
            raise StudyError(f"{other} be continued. {same}, or {_ELSEWHERE}")
        if unfinished:
            names = (self.path.with_suffix(f".{number}.old") for number in itertools.count(1))
            self._execute("VACUUM INTO ?", str(next(name for name in names if not name.exists())))
        # Killed in between, there is nothing that could be lost or taken for something else.
        self._execute("DELETE FROM finished")
        self._execute("DELETE FROM state")
        self._execute("INSERT INTO state VALUES ('settings', ?)", json.dumps(new))

    def append(self, replication: int, rows: list[Row]) -> None:
        """Add a finished replication; on return it is on the disk."""
        self._execute("DELETE FROM state WHERE key = 'complete'")
        added = "INSERT OR REPLACE INTO finished VALUES (?, ?)"
        self._execute(added, replication, json.dumps(rows))

    def finish(self) -> None:
        """Note that the study reached its end, so that nothing is lost by beginning another."""
        self._execute("INSERT OR IGNORE INTO state VALUES ('complete', '')")

    def _execute(self, statement: str, *values: Any) -> list[Any]:
        try:
            if self._database is None:
                # Without transactions of Python's own a statement is on the disk on return.
                self._database = sqlite3.connect(self.path, timeout=0, isolation_level=None)
            return self._database.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            why = f"The results cannot be kept in {self.path}: {error}. What was finished before "
            why += f"is safe; make room, or {_ELSEWHERE}"
            code = getattr(error, "sqlite_errorcode", 0)
            if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                why = f"Another run is writing to {self.path}: wait for it, or {_ELSEWHERE}"
            raise StudyError(why) from error


@renamed(jobs="n_jobs")
def run_simulation(
    path: str | os.PathLike[str],
    replications: int = 100,
    *,
    design: Design | None = None,
    n_jobs: int | None = -1,
    resume: bool = False,
    force: bool = False,
    progress: bool = True,
) -> list[Row]:
    """Run the simulation of the paper's section 6; return a row for each fit, sorted.

    Two bivariate Gaussian classes; logit Pr(labelled) = 1 − 5 · entropy. Each replication draws a
    training and a test set, fits every estimator to the first and scores it on the second. Rows
    depend on the design only: not on workers, backend, or interruptions. ``path`` is the file that
    keeps finished replications, for resuming, with more of them if need be; other options are
    those of :func:`reproduce`.
    """
    check_number("replications", replications, Integral, 1)
    check_jobs("n_jobs", n_jobs)
    design = design or Design()
    with Checkpoint(path, design.settings(), resume, force) as checkpoint:
        checkpoint.begin()
        return complete(checkpoint, design, replications, n_jobs, progress)


def complete(
    checkpoint: Checkpoint, design: Design, replications: int, n_jobs: int | None, progress: bool
) -> list[Row]:
    """Run the replications that a checkpoint still lacks; return the rows of all."""
    finished = checkpoint.finished
    todo = [(design, k) for k in range(replications) if k not in finished]
    how: Any = {"n_jobs": n_jobs, "progress": None if progress else False, "in_order": False}
    done = replications - len(todo)
    for k, rows in run_tasks(replicate, todo, description="simulation", already_done=done, **how):
        checkpoint.append(k, rows)
    checkpoint.finish()
    kept = checkpoint.finished
    return [{"replication": k, **row} for k in range(replications) for row in kept[k]]


def replicate(design: Design, replication: int) -> tuple[int, list[Row]]:
    """Return one replication's number and rows, a function of the design and the number only."""
    # What SeedSequence.spawn gives as its k-th child, without making those before it.
    own = np.random.SeedSequence(design.seed, spawn_key=(replication,))
    for_train, for_test, for_fits = own.spawn(3)
    train = simulate(design.n, random_state=for_train)  # by default with the paper's parameters
    test = simulate(design.n_test, random_state=for_test)
    seed = int(for_fits.generate_state(1)[0] >> 1)  # scikit-learn's seeds have 31 bits
    truth, rows = np.asarray(train.truth), []
    partial = np.where(train.labelled, truth, -1)  # read faster than objects

    def judge(name: str, alpha: float | None, log_tau: FloatArray, converged: bool) -> None:
        about = {"converged": converged, "n_labelled": train.n_labelled}
        found = scores(log_tau, np.asarray(test.truth))
        rows.append({"estimator": name, "alpha": alpha, **found, **about})

    # With alpha = 0 no label says where a class is, and the likelihood of the few hundred blank
    # rows has many maxima, so that one start is not enough.
    fractional: list[Any] = [
        ("fractional", a, {"mechanism": None, "alpha": a, "n_init": 1 if a else design.restarts})
        for a in design.alphas
    ]
    for name, alpha, options in fractional + [(k, None, v) for k, v in _COMPARED.items()]:
        labels = truth if name == "complete labels" else partial
        # A tolerance below the default's, so that solvers of the same problem can be compared.
        classifier = MixtureClassifier(random_state=seed, tol=1e-8, **options)
        with collect_warnings():  # what one would say of one of thousands of fits is in the table
            weighted = name == "weighted labels"
            weight = inverse_probability_weights(train.features, labels) if weighted else None
            classifier.fit(train.features, labels, sample_weight=weight)
        log_tau = classifier.predict_log_proba(test.features)
        judge(name, alpha, log_tau, bool(classifier.converged_))
    judge("true parameters", None, true_log_posterior(test.features), True)
    return replication, rows


def scores(log_tau: FloatArray, truth: IntArray) -> Row:
    predicted, lost = log_tau.argmax(axis=1), -log_tau[np.arange(len(truth)), truth].sum()
    found = adjusted_rand_score(truth, predicted), lost, np.mean(predicted != truth)
    return dict(zip((*MEASURES, "error_rate"), map(float, found), strict=True))


def true_log_posterior(X: FloatArray) -> FloatArray:
    classes = [multivariate_normal(*own) for own in zip(MEANS, COVARIANCES, strict=True)]
    return log_posterior(X, classes, (0.5, 0.5))


def summarise(rows: list[Row]) -> list[Row]:
    """Summarise the rows of `run_simulation`, one row for each estimator.

    For each measure the mean and its Monte Carlo standard error, the mean difference from the full
    likelihood on the same data (estimator − full) with its own, and how often full won or tied.
    """
    groups = _groups(rows)
    full, out = groups["full", None], []
    for (name, alpha), group in groups.items():
        row: Row = {"estimator": name, "alpha": alpha, "replications": len(group["converged"])}
        row["converged"] = int(group["converged"].sum())
        for measure, (_, better, _) in MEASURES.items():
            change = group[measure] - full[measure]
            # Solvers that reach the same maximum differ by rounding: that is a tie, not a win.
            change[np.abs(change) <= 1e-4 * np.abs(full[measure])] = 0.0
            row[f"{measure}_mean"], row[f"{measure}_se"] = _mean(group[measure])
            row[f"{measure}_minus_full"], row[f"{measure}_minus_full_se"] = _mean(change)
            row[f"{measure}_full_wins"] = int((better * change < 0).sum())
            row[f"{measure}_ties"] = int((change == 0).sum())
        out.append(row)
    return out


def _groups(rows: list[Row]) -> dict[tuple[str, float | None], dict[str, FloatArray]]:
    """Return each estimator's columns, in the order of the replications."""
    lists: dict[tuple[str, float | None], list[Row]] = {}
    for row in sorted(rows, key=lambda row: int(row["replication"])):
        lists.setdefault((row["estimator"], row["alpha"]), []).append(row)
    columns = (*MEASURES, "converged")
    return {k: {c: np.array([float(r[c]) for r in g]) for c in columns} for k, g in lists.items()}


def _mean(values: FloatArray) -> tuple[float, float]:
    """Return the mean and its standard error; NaN for that of a single value."""
    n = len(values)
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(n)) if n > 1 else math.nan


def findings(rows: list[Row]) -> list[Row]:
    """Say whether each finding of the paper can be seen in the rows of `run_simulation`.

    Each was ``seen`` in the means or not, with a ``state`` ("yes", "no", or "within error" where a
    difference is less than two Monte Carlo standard errors), and the differences in ``words``.
    """
    groups = _groups(rows)
    alphas = {a: group for (_, a), group in groups.items() if a is not None}
    out: list[Row] = []
    for measure, (_, better, places) in MEASURES.items():
        values = {a: group[measure] for a, group in alphas.items()}
        best = max(values, key=lambda a: better * values[a].mean())
        half = min(values, key=lambda a: abs(a - 0.5))
        full, ends = groups["full", None][measure], (min(values), max(values))
        gain = {f"full less the best alpha ({best:g})": full - values[best]}
        lost = {f"best at {best:g}; {half:g} less the best": values[half] - values[best]}
        falls = {f"{end:g} less {half:g}": values[end] - values[half] for end in ends}
        for claim, sign, changes in (
            ("full beats every alpha", 1, gain),
            ("alpha = 0.5 is best among them", 1, {} if half == best else lost),
            ("both ends fall off", -1, falls),
        ):
            found = {name: _mean(change) for name, change in changes.items()}
            means, errors = np.array([*found.values()]).reshape(-1, 2).T
            # a single replication has no error: its sign decides
            support, reach = sign * better * means, np.nan_to_num(2 * errors)
            state = "yes" if (support > reach).all() else "within error"
            words = [
                f"{name}: {decimals(mean, places, signed=True)} (s.e. {decimals(error, places)})"
                for name, (mean, error) in found.items()
            ]
            about = {"claim": claim, "measure": measure, "seen": bool((support > 0).all())}
            about["state"] = "no" if (support < -reach).any() else state
            out.append(about | {"words": "; ".join(words) or f"best at {best:g}"})
    return out


def draw_example(seed: int) -> Any:
    """Draw one data set of the simulation over the true regions of its classes."""
    data = simulate(500, random_state=np.random.SeedSequence(seed, spawn_key=(0,)).spawn(3)[0])
    X, truth, names = data.features, np.asarray(data.truth), ["class 1", "class 2"]
    x, y = np.linspace(X.min(axis=0) - 0.4, X.max(axis=0) + 0.4, 301).T
    log_tau = true_log_posterior(np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2))
    proba, codes = np.exp(log_tau).reshape(301, 301, 2), np.where(data.labelled, truth, -1)
    figure = draw.new_figure(6.6, 3.3)
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    for ax, shown in ((left, truth), (right, codes)):
        RegionsDisplay(x, y, proba, X, shown, names, ("x1", "x2")).plot(ax)
        ax.get_legend().remove()
    left.set_title("(a) complete labels")
    right.set(title=f"(b) observed labels, {data.n_blank} of {len(X)} missing", ylabel="")
    figure.legend(handles=draw.legend_handles(names, codes), loc="outside lower center", ncols=3)
    return figure


def draw_simulation(summary: list[Row]) -> Any:
    """Draw both measures against alpha with their Monte Carlo errors, beside the others."""
    figure = draw.new_figure(7.0, 3.3)
    panels = zip("ab", figure.subplots(1, 2), MEASURES, (0.13, 0.42), strict=True)
    for letter, ax, measure, bottom in panels:
        _draw_measure(ax, summary, measure)
        ax.set(xlabel="$\\alpha$, weight of the labelled rows", xlim=(-0.02, 1.02))
        ax.set_title(f"({letter}) {MEASURES[measure][0]}")
        # Both ends dwarf what matters, so the middle is shown again, larger.
        inset = ax.inset_axes((0.36, bottom, 0.62, 0.5))
        middle = [r for r in summary if r["alpha"] is None or r["alpha"] >= 0.25]
        _draw_measure(inset, middle, measure)
        inset.set_xlim(0.24, 1.01)
        inset.tick_params(labelsize=6, length=2)
        inset.spines[:].set(visible=True, color="#999999")
        ax.indicate_inset(inset.viewLim.bounds, edgecolor="#999999", alpha=0.8)
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def _draw_measure(ax: Any, summary: list[Row], measure: str) -> None:
    lines, curve, blue = {}, [], draw.class_color(0)
    for row in summary:
        mean, error = row[f"{measure}_mean"], row[f"{measure}_se"]
        reach = 2 * np.nan_to_num(error)  # one replication has no error
        lines[row["estimator"]] = ends = mean, mean - reach, mean + reach
        if row["alpha"] is not None:
            curve.append((row["alpha"], *ends))
    alpha, middle, low, high = np.array(curve).T
    ax.fill_between(alpha, low, high, color=blue, alpha=0.2)
    name = "fractional, $\\pm$ 2 Monte Carlo s.e."
    ax.plot(alpha, middle, "o-", ms=2.5, color=blue, label=name)
    for estimator, (colour, style, words) in _LINES.items():
        centre, *band = lines[estimator]
        ax.axhline(centre, color=colour, ls=style, lw=1.1, label=words)
        if estimator == "full":
            ax.axhspan(*band, color=colour, alpha=0.15, lw=0)
