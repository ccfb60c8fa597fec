"""Readers who hesitate and err: what a panel teaches, by simulation and on real panels.

Invented: four readers (slopes −7, −3, −5, 0; right in 97, 90, 80, 70 %) on 600 rows of two
overlapping Gaussian classes, against the vote, the best rule on features alone, and crowd-kit's
Dawid-Skene if that is installed; coverage of the readers' intervals; reported probabilities
against labels made of them; and labels given by class, where the band of ``sensitivity`` should
contain the true share. Real, with HESITANT_DATA set: seven doctors against histology, and the
grades of lung nodules against grades rounded to labels and blanks.
``python -m benchmarks.study_experts [replications]``.
"""

import copy
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.special import expit

from hesitant import FitWarning, MixtureClassifier, Statements
from hesitant.experts import Readers
from hesitant.likelihood import log_posterior
from hesitant.mechanisms import row_term

INTERCEPTS, SLOPES = (3.0, 2.0, 2.5, 1.0), np.array([-7.0, -3.0, -5.0, 0.0])
ACCURACIES = np.array([0.97, 0.9, 0.8, 0.7])
SHIFT = np.array([2.0, 1.7])
DOCTORS = [f"expert{k}_bin" for k in range(1, 5)] + [f"beginner{k}_bin" for k in range(1, 4)]


def four_readers(n: int, seed: int) -> tuple[np.ndarray, ...]:
    """Return features, classes, labels of four readers, and the best rule on features."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    X = rng.standard_normal((n, 2)) + truth[:, None] * SHIFT
    odds = X @ SHIFT - SHIFT @ SHIFT / 2
    tau = np.column_stack((expit(-odds), expit(odds)))
    u = -(tau * np.log(np.maximum(tau, 1e-300))).sum(axis=1)
    Y = np.full((n, 4), -1)
    for j in range(4):
        spoke = rng.random(n) < expit(INTERCEPTS[j] + SLOPES[j] * u)
        label = np.where(rng.random(n) < ACCURACIES[j], truth, 1 - truth)
        Y[spoke, j] = label[spoke]
    return X, truth, Y, (odds > 0).astype(int)


def dawid_skene(Y: np.ndarray) -> np.ndarray:
    """Return crowd-kit's answer for each row, −1 where nobody spoke; NaN without crowd-kit."""
    try:
        import pandas as pd
        from crowdkit.aggregation import DawidSkene
    except ImportError:
        return np.full(len(Y), np.nan)
    row, reader = np.nonzero(Y >= 0)
    lines = pd.DataFrame({"task": row, "worker": reader, "label": Y[row, reader]})
    found = DawidSkene(n_iter=100).fit_predict(lines)
    return found.reindex(range(len(Y)), fill_value=-1).to_numpy()


def wrong(predicted: np.ndarray, truth: np.ndarray) -> float:
    """Return the share of rows that are wrong; a row without an answer is half wrong."""
    return float(np.mean(np.where(predicted == -1, 0.5, predicted != truth)))


def panel_study(replications: int) -> None:
    errors, accuracies, slopes, covered = [], [], [], []
    for seed in range(replications):
        X, truth, Y, best = four_readers(600, seed)
        clf = MixtureClassifier(experts="fallible").fit(X, Y)
        resolved, table = clf.resolve(X, Y).argmax(axis=1), clf.readers_
        votes = Statements.from_labels(Y).vote()
        skene = dawid_skene(Y)
        by_skene = np.nan if np.isnan(skene).any() else wrong(skene, truth)
        errors.append([wrong(r, truth) for r in (resolved, votes, best)] + [by_skene])
        accuracies.append(table.accuracy)
        slopes.append(table.slope)
        off = [
            np.abs(table.accuracy - ACCURACIES) < 1.96 * table.accuracy_se,
            np.abs(table.slope - SLOPES) < 1.96 * table.slope_se,
        ]
        covered.append(np.mean(off, axis=1))
    names = ("resolve", "majority vote", "best rule on features", "Dawid-Skene (crowd-kit)")
    for name, value in zip(names, np.mean(errors, axis=0), strict=True):
        print(f"  rows wrong, {name:24s} {100 * value:5.1f} %")
    print("  accuracies found", np.mean(accuracies, axis=0).round(3).tolist())
    print("  mean error of an accuracy", np.abs(np.array(accuracies) - ACCURACIES).mean().round(3))
    print("  slopes found", np.mean(slopes, axis=0).round(2).tolist())
    ordered = np.mean([np.argsort(s).tolist() == [0, 2, 1, 3] for s in slopes])
    print(f"  slopes in the right order: {100 * ordered:.0f} % of data sets")
    print("  95 % intervals that cover, accuracies and slopes:", np.mean(covered, axis=0).round(3))


def report_study(replications: int) -> None:
    """Print how far posteriors are off after 60 reports, and after labels made of them."""
    for spread in (0.2, 0.5, 1.0):
        off = []
        for seed in range(replications):
            rng = np.random.default_rng([seed, 7])
            truth = rng.integers(0, 2, 60)
            X = rng.standard_normal((60, 2)) + truth[:, None] * [1.5, 1.0]
            odds = X @ [1.5, 1.0] - 1.625
            q = expit(odds + np.sqrt(2) * spread * rng.standard_normal(60))
            Q = np.column_stack((1 - q, q))
            rounded = np.where(Q.max(axis=1) > 0.75, Q.argmax(axis=1), -1)
            new = rng.standard_normal((1000, 2)) + rng.integers(0, 2, (1000, 1)) * [1.5, 1.0]
            tau = expit(new @ [1.5, 1.0] - 1.625)
            fits = [
                MixtureClassifier(mechanism=None).fit(X, Statements.from_probabilities(Q, [0, 1])),
                MixtureClassifier(classes=[0, 1]).fit(X, rounded),
                MixtureClassifier(mechanism=None).fit(X, truth),
            ]
            off.append([np.abs(f.predict_proba(new)[:, 1] - tau).mean() for f in fits])
        reported, labels, known = np.mean(off, axis=0)
        print(
            f"  spread {spread}: posteriors off by {reported:.3f} with reports, {labels:.3f} with "
            f"labels and blanks made of them, {known:.3f} with the true classes"
        )


def sensitivity_study(replications: int) -> None:
    """Print how often the band of class shares contains the truth, labels given by class."""
    inside, plain, width = [], [], []
    for seed in range(replications):
        rng = np.random.default_rng([seed, 3])
        truth = (rng.random(500) < 0.4).astype(int)
        X = rng.standard_normal((500, 2)) + truth[:, None] * [1.8, 0.8]
        y = np.where(rng.random(500) < np.array([0.75, 0.45])[truth], truth, -1)
        clf = MixtureClassifier().fit(X, y)
        result = clf.sensitivity(X, y, of=1)
        low, high = result.band[1]
        inside.append(low <= 0.4 <= high)
        width.append(high - low)
        plain.append(clf.weights_[1])
    print(
        f"  labels of 75 % and 45 % of two classes: the true share 0.4 lies inside the band in "
        f"{100 * np.mean(inside):.0f} % of data sets (mean width {np.mean(width):.2f}); without a "
        f"tilt the share is {np.mean(plain):.3f} on average"
    )


def doctors(folder: Path) -> None:
    """Print how panels judge the lesions, against histology."""
    import pandas as pd

    features = pd.read_csv(folder / "gastro_features.csv")
    features = features[features.light == 1].set_index("lesion")[["f294", "f441", "f472", "f486"]]
    opinions = pd.read_csv(folder / "gastro_opinions.csv").set_index("lesion").loc[features.index]
    said, truth = Statements.from_labels(opinions[DOCTORS]), opinions.truth_bin.to_numpy()

    def balanced(codes: np.ndarray) -> float:
        right = said.classes[codes] == truth
        return float(np.mean([right[truth == c].mean() for c in said.classes]))

    clf = MixtureClassifier(experts="fallible").fit(features.to_numpy(), said)
    resolved = clf.resolve(features.to_numpy(), said).argmax(axis=1)
    print(
        f"  balanced accuracy: vote {balanced(said.vote()):.3f}, resolve {balanced(resolved):.3f}"
    )
    skene = dawid_skene(np.asarray(said.said))
    if not np.isnan(skene).any():
        print(f"  Dawid-Skene (crowd-kit) {balanced(skene):.3f}")
    table = clf.readers_
    table["true"] = [np.mean(opinions[d] == truth) for d in DOCTORS]
    for h, name in enumerate(said.classes):
        table[f"says {name}"] = clf.confusion_[:, h, h]
        table[f"truly {name}"] = [np.mean(opinions[d][truth == name] == name) for d in DOCTORS]
    print(table.drop(columns=["shown", "labelled"]).round(2).to_string(index=False))


def log_chance(clf: MixtureClassifier, X: np.ndarray, said: Statements) -> np.ndarray:
    """Return the log chance of what was said of each row."""
    panel = copy.copy(clf.mechanism_)
    panel.readers = list(said.readers)  # anonymous ones share their parameters
    log_tau, tau, _ = log_posterior(clf.family_, clf.state_, X)
    evidence = panel.evidence(panel.difficulty(log_tau, tau, False), said, clf.state_.theta)
    return row_term(evidence, log_tau, tau, said.truth).log_p


def nodules(folder: Path, repeats: int) -> None:
    """Print the log loss of held-out readings, by grades and by labels and blanks."""
    import pandas as pd

    readings = pd.read_csv(folder / "lidc_readings.csv")
    gains, losses = [], []
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        shuffled = readings.iloc[rng.permutation(len(readings))]
        place = shuffled.groupby("nodule").cumcount()
        kept = shuffled[place > 0].assign(k=place[place > 0])
        held = shuffled[place == 0].set_index("nodule").malignancy.sort_index().to_numpy()
        X = kept.groupby("nodule")[["log_volume", "log_diameter"]].mean().to_numpy()
        wide = kept.pivot(index="nodule", columns="k", values="malignancy")
        shown = wide.notna().to_numpy()
        R = wide.fillna(-1).to_numpy().astype(int)
        fold = rng.integers(0, 5, len(X))
        five = {
            rounded: -_held_out_score(X, R, shown, held, fold, rounded)
            for rounded in (False, True)
        }
        losses.append([five[False].mean(axis=0), five[True].mean(axis=0)])
        gains.append(five[True] - five[False])
    gain = np.mean(gains, axis=0)
    error = gain.std(axis=0) / np.sqrt(len(gain))
    for k, what in enumerate(("its grade", "benign, indeterminate or malignant")):
        grades, labels = np.mean(losses, axis=0)[:, k]
        print(
            f"  log loss of a held-out reading, {what}: {grades:.4f} by grades, {labels:.4f} by "
            f"labels and blanks; gain {gain.mean(axis=0)[k]:.4f} (s.e. {error[k]:.4f})"
        )


def _held_out_score(
    X: np.ndarray,
    R: np.ndarray,
    shown: np.ndarray,
    held: np.ndarray,
    fold: np.ndarray,
    rounded: bool,
) -> np.ndarray:
    """Return log chances of held-out readings: of the grade, and of its side of the scale."""
    side = np.array([0, 0, 0, -1, 1, 1])  # of grades 1 to 5
    cells = np.where(R > 0, side[np.maximum(R, 0)], -1) if rounded else R

    def make(cells: np.ndarray, shown: np.ndarray) -> Statements:
        if rounded:
            return Statements.from_labels(cells, shown=shown, classes=[0, 1])
        return Statements.from_grades(cells, range(1, 6), [0, 1], shown=shown)

    out = np.zeros((len(X), 2))
    for k in range(5):
        train, test = fold != k, np.flatnonzero(fold == k)
        clf = MixtureClassifier(experts=Readers(pooling="shared"))
        clf.fit(X[train], make(cells[train], shown[train]))
        before = log_chance(clf, X[test], make(cells[test], shown[test]))
        seen = np.column_stack((shown[test], np.ones(len(test), dtype=bool)))
        chance = np.zeros((len(test), 6))
        for grade in range(1, 6):
            answer = np.full(len(test), side[grade] if rounded else grade)
            said = make(np.column_stack((cells[test], answer)), seen)
            chance[:, grade] = np.exp(log_chance(clf, X[test], said) - before)
        if rounded:  # of one side, grades are as frequent as among the readings kept
            counts = np.bincount(R[train][shown[train]], minlength=6)
            for s in (0, -1, 1):
                own = np.flatnonzero(side[1:] == s) + 1
                chance[:, own] *= counts[own] / counts[own].sum()
        rows, grade = np.arange(len(test)), held[test]
        same = (side[None, 1:] == side[grade][:, None]) * chance[:, 1:]
        out[test] = np.log(np.column_stack((chance[rows, grade], same.sum(axis=1))))
    return out


def speed() -> None:
    X, _, Y, _ = four_readers(10_000, 0)
    said = Statements.from_labels(np.column_stack((Y, Y[:, 0])))
    MixtureClassifier(experts="fallible").fit(X[:500], said[:500])
    begin, busy = time.perf_counter(), time.process_time()
    MixtureClassifier(experts="fallible").fit(X, said)
    print(
        f"  10,000 rows x 5 readers: {time.perf_counter() - begin:.2f} s "
        f"({time.process_time() - busy:.2f} s of computing)"
    )


def main(replications: int = 20) -> None:
    warnings.simplefilter("ignore", FitWarning)
    print("four readers")
    panel_study(10 * replications)  # intervals that cover take many to count
    print("reported probabilities, 60 rows")
    report_study(replications)
    print("what if blanks depend on the class")
    sensitivity_study(replications)
    print("speed")
    speed()
    if "HESITANT_DATA" in os.environ:
        folder = Path(os.environ["HESITANT_DATA"])
        print("seven doctors, 76 lesions")
        doctors(folder)
        print("grades of lung nodules")
        nodules(folder, max(1, replications // 5))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
