"""The pictures of the pages, drawn by the package itself; the build calls each of `PICTURES`."""

import warnings

import numpy as np
from scipy.special import expit
from scipy.stats import multivariate_normal, norm

from hesitant import MixtureClassifier
from hesitant._drawing import (
    BLANK,
    GREY,
    class_color,
    class_marker,
    drawing,
    new_figure,
)
from hesitant.datasets import make_cytometry_like, simulate
from hesitant.diagnostics import EntropyDisplay, RegionsDisplay, diagnose
from hesitant.exceptions import FitWarning

MEANS = ((0.0, 0.0), (0.0, 3.0))
COVARIANCES = (((1.0, 0.7), (0.7, 1.0)), ((1.0, 0.0), (0.0, 1.0)))
WITHOUT, WITH, BOTH = "#D55E00", "#111111", "#0072B2"


# -- what a blank tells --------------------------------------------------------------------------


def difficulty():
    """Two classes on a line: densities, uncertainty, the chance of a label."""
    x = np.linspace(-4, 7, 500)
    f = np.stack([0.5 * norm.pdf(x, 0, 1), 0.5 * norm.pdf(x, 3, 1)])
    tau = f / f.sum(axis=0)
    entropy = -(tau * np.log(np.maximum(tau, 1e-300))).sum(axis=0)
    with drawing():
        figure = new_figure(7.2, 4.6)
        axes = figure.subplots(3, 1, sharex=True)
        for h, name in enumerate(("class a", "class b")):
            axes[0].fill_between(x, f[h], color=class_color(h), alpha=0.25, linewidth=0)
            axes[0].plot(x, f[h], color=class_color(h), label=name)
        axes[0].set_ylabel("how common")
        axes[0].legend(loc="upper right")
        axes[1].plot(x, entropy, color=GREY)
        axes[1].set_ylabel("uncertainty")
        axes[1].set_yticks([0, np.log(2)], ["0", "log 2"])
        axes[2].plot(x, expit(3 - 10 * entropy), color=BLANK)
        axes[2].set(ylabel="chance of a label", ylim=(0, 1.05), xlabel="a measurement")
        axes[2].set_yticks([0, 0.5, 1])
        for ax in axes:
            ax.axvline(1.5, color=GREY, linestyle=(0, (2, 3)), linewidth=1)
            ax.set_xlim(x[0], x[-1])
    return figure


def two_patterns():
    """The same cases with as many blanks: withheld where it is hard, and lost by chance."""
    data = simulate(n=400, intercept=3, slope=-12, random_state=4)
    X, truth, blank = data.features, data.truth, ~data.labelled
    chance = np.random.default_rng([4, 1]).permutation(blank)
    with drawing():
        figure = new_figure(8.6, 3.9)
        axes = figure.subplots(1, 2, sharex=True, sharey=True)
        titles = ("An expert who withholds the hard ones", "As many labels lost by chance")
        for ax, gone, title in zip(axes, (blank, chance), titles, strict=True):
            _points(ax, X, truth, gone)
            ax.set(title=title, xticks=[], yticks=[])
        _legend(axes[0])
    return figure


def entropy_panels():
    """The three panels of the entropy analysis for the paper's simulation."""
    data = simulate(n=500, random_state=0)
    clf = MixtureClassifier().fit(data.features, data.labels)
    return EntropyDisplay.from_estimator(clf, data.features, data.labels).figure_


def learning():
    """Mean excess error against the number of rows, with and without the pattern."""
    sizes = (60, 120, 250, 500, 1000, 2000)
    options = {"intercept": 3.0, "slope": -12.0}
    test = simulate(n=20_000, random_state=10**6).features
    odds = _log_odds(test)
    means, errors = [], []
    for n in sizes:
        drawn = []
        for seed in range(40):
            data = simulate(n=n, random_state=seed, **options)
            fits = [
                _quiet(MixtureClassifier(mechanism=m), data.features, y)
                for m, y in ((None, data.labels), ("entropy", data.labels), (None, data.truth))
            ]
            drawn.append([_excess(clf, test, odds) for clf in fits])
        means.append(np.mean(drawn, axis=0))
        errors.append(np.std(drawn, axis=0, ddof=1) / np.sqrt(len(drawn)))
    means, errors = 100 * np.array(means), 100 * np.array(errors)
    names = (
        "labels and features",
        "… and where the blanks are",
        "every case labelled, no pattern",
    )
    styles = ((WITHOUT, "-"), (WITH, "-"), (GREY, "--"))
    with drawing():
        figure = new_figure(6.8, 3.5)
        ax = figure.subplots()
        for k, (name, (color, style)) in enumerate(zip(names, styles, strict=True)):
            ax.errorbar(
                sizes, means[:, k], 2 * errors[:, k], color=color, linestyle=style, label=name,
                marker="o", markersize=3.5, capsize=2, linewidth=1.5,
            )  # fmt: skip
        ax.set(xscale="log", yscale="log", xlabel="rows", ylabel="error above the best rule, %")
        ax.set_xticks(sizes, map(str, sizes))
        ax.set_yticks([0.03, 0.1, 0.3, 1, 3], ["0.03", "0.1", "0.3", "1", "3"])
        ax.minorticks_off()
        ax.legend(loc="upper right")
    return figure


def when_wrong():
    """Mean excess error when the blanks mean something else than the model says."""
    test = simulate(n=20_000, random_state=10**6).features
    odds = _log_odds(test)
    situations = {
        "difficulty": _by_difficulty,
        "pure chance": _by_chance,
        "part chance,\npart difficulty": _by_both,
        "the class:\nb is named less often": _by_class,
    }
    table = []
    for blanks in situations.values():
        drawn = []
        for seed in range(64):
            data = simulate(n=500, random_state=seed)
            rng = np.random.default_rng([seed, 1])
            y = np.where(blanks(data, rng), data.truth, -1)
            fits = [
                _quiet(MixtureClassifier(mechanism=m), data.features, y)
                for m in (None, "entropy", "entropy+class")
            ]
            drawn.append([_excess(clf, test, odds) for clf in fits])
        table.append((np.mean(drawn, axis=0), np.std(drawn, axis=0, ddof=1) / 8))
    place = np.arange(len(situations))
    with drawing():
        figure = new_figure(7.4, 3.3)
        ax = figure.subplots()
        shown = (("none", WITHOUT), ('"entropy"', WITH), ('"entropy+class"', BOTH))
        for k, (name, color) in enumerate(shown):
            ax.bar(
                place + 0.27 * k - 0.27,
                [100 * mean[k] for mean, _ in table],
                0.25,
                yerr=[200 * error[k] for _, error in table],
                color=color,
                alpha=0.85,
                label=f"mechanism: {name}",
                error_kw={"linewidth": 1, "capsize": 2, "ecolor": GREY},
            )
        ax.set_xticks(place, situations)
        ax.set_ylabel("error above the best rule, %")
        ax.set_xlabel("what the blanks depend on", labelpad=8)
        ax.legend(loc="upper left")
    return figure


def _by_difficulty(data, rng):
    return rng.random(len(data)) < expit(1 - 5 * data.details["entropy"])


def _by_chance(data, rng):
    return rng.random(len(data)) < 0.6


def _by_both(data, rng):
    easy = rng.random(len(data)) < expit(3 - 12 * data.details["entropy"])
    return easy & (rng.random(len(data)) < 0.7)


def _by_class(data, rng):
    return rng.random(len(data)) < np.where(data.truth == 1, 0.3, 0.9)


# -- never shown against shown and withheld -------------------------------------------------------


def never_shown():
    """A slice of the cases was never shown: blanks that say nothing, taken for silence."""
    data, y, shown = half_shown(seed=2)
    X = data.features
    naive = MixtureClassifier().fit(X, y)
    told = MixtureClassifier().fit(X, y, reviewed=shown)
    blank = y == -1
    with drawing():
        figure = new_figure(8.6, 3.9)
        axes = figure.subplots(1, 2, sharex=True, sharey=True)
        titles = ("Every blank taken for hesitation", "reviewed= says who was shown")
        for ax, clf, title in zip(axes, (naive, told), titles, strict=True):
            _points(ax, X[shown], data.truth[shown], blank[shown])
            ax.scatter(
                *X[~shown].T, s=12, facecolor="none", edgecolor=GREY, marker="s", linewidth=0.6
            )
            _boundaries(ax, clf, X)
            ax.set(title=title, xticks=[], yticks=[])
        handles = _handles()
        from matplotlib.lines import Line2D

        handles += [
            Line2D([], [], color=GREY, marker="s", markerfacecolor="none", markersize=4,
                   linestyle="", label="never shown"),
            Line2D([], [], color=WITH, label="fitted boundary"),
            Line2D([], [], color=GREY, linestyle="--", label="true boundary"),
        ]  # fmt: skip
        figure.legend(handles=handles, loc="outside lower center", ncols=6)
    return figure


def half_shown(n=500, seed=0):
    """Return data whose rows with a large first feature nobody was shown."""
    data = simulate(n=n, random_state=seed)
    shown = data.features[:, 0] < 0.3
    y = np.where(data.labelled & shown, data.truth, -1)
    return data, y, shown


# -- choosing, standard errors, reports -----------------------------------------------------------


def families():
    """Gaussian and skew-t regions of the same skewed cells."""
    data = make_cytometry_like(n=1500, random_state=0)
    X = data.features[:, [1, 2]]
    with drawing():
        figure = new_figure(9.2, 3.8)
        axes = figure.subplots(1, 2, sharex=True, sharey=True)
        for ax, family in zip(axes, ("gaussian", "skew_t"), strict=True):
            clf = _quiet(MixtureClassifier(family), X, data.labels)
            RegionsDisplay.from_estimator(clf, X, data.labels, ax=ax)
            ax.set(xlabel="CD5", ylabel="CD19", title=f'family="{family}"')
        axes[0].get_legend().remove()
        axes[1].set_ylabel("")
    return figure


def misfit():
    """A mechanism of the wrong shape, and one flexible enough."""
    from hesitant.mechanisms import EntropyMechanism

    data = simulate(n=3000, random_state=3)
    u = data.details["entropy"]
    rng = np.random.default_rng([3, 1])
    given = rng.random(len(u)) < 0.35 + 0.6 * expit(3 - 14 * u)
    y = np.where(given, data.truth, -1)
    with drawing():
        figure = new_figure(8.6, 3.1)
        axes = figure.subplots(1, 2, sharey=True)
        for ax, basis in zip(axes, ("linear", "spline"), strict=True):
            result = diagnose(data.features, y, mechanism=EntropyMechanism(basis=basis))
            c, shape = result.curve, result.test("shape")
            ax.fill_between(c.grid, c.lower, c.upper, color=class_color(0), alpha=0.2, linewidth=0)
            ax.plot(c.grid, c.probability, color=class_color(0), label="kernel estimate")
            ax.plot(c.grid, c.fitted, color=WITHOUT, linestyle="-.", label="fitted mechanism")
            p = "p < 0.0001" if shape.p_value < 1e-4 else f"p = {shape.p_value:.2g}"
            ax.set(title=f'basis="{basis}", shape test {p}', xlabel="transformed entropy")
        axes[0].set_ylabel("probability of a label")
        axes[0].legend(loc="lower left")
    return figure


def example_report():
    """Return the report on invented cells, as a page."""
    cells = make_cytometry_like(n=1500, random_state=0)
    X = cells.to_frame().drop(columns="label")
    clf = _quiet(MixtureClassifier("skew_t"), X, cells.labels)
    return clf.report(X, cells.labels, name="invented cells", random_state=0).to_html()


# -- shared ---------------------------------------------------------------------------------------


def _quiet(clf, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        return clf.fit(X, y)


def _log_odds(X):
    a, b = (multivariate_normal(m, c).logpdf(X) for m, c in zip(MEANS, COVARIANCES, strict=True))
    return b - a


def _excess(clf, X, odds):
    """Return the error rate above the best rule's, averaged with the true posteriors."""
    wrong = (clf.predict(X) == clf.classes_[1]) != (odds > 0)
    return float(np.mean(wrong * np.abs(np.tanh(odds / 2))))


def _points(ax, X, truth, blank):
    for h in (0, 1):
        mine = ~blank & (truth == h)
        ax.scatter(
            *X[mine].T, s=16, color=class_color(h), marker=class_marker(h), linewidth=0,
            alpha=0.8,
        )  # fmt: skip
    ax.scatter(*X[blank].T, s=11, color=BLANK, marker="s", linewidth=0, alpha=0.85)


def _handles():
    from matplotlib.lines import Line2D

    names = ("class a", "class b")
    return [
        *(
            Line2D([], [], color=class_color(h), marker=class_marker(h), linestyle="", label=name,
                   markersize=5)
            for h, name in enumerate(names)
        ),
        Line2D([], [], color=BLANK, marker="s", linestyle="", label="blank", markersize=4),
    ]  # fmt: skip


def _legend(ax):
    ax.legend(handles=_handles(), loc="upper left")


def _boundaries(ax, clf, X):
    low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
    grid = np.meshgrid(*(np.linspace(a, b, 250) for a, b in zip(low, high, strict=True)))
    rows = np.column_stack([g.ravel() for g in grid])
    log_tau = clf.predict_log_proba(rows)
    fitted = (log_tau[:, 1] - log_tau[:, 0]).reshape(grid[0].shape)
    true = _log_odds(rows).reshape(grid[0].shape)
    ax.contour(*grid, fitted, levels=[0], colors=WITH, linewidths=1.8)
    ax.contour(*grid, true, levels=[0], colors=GREY, linewidths=1.4, linestyles="--")
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))


PICTURES = {
    f.__name__: f
    for f in (
        difficulty,
        two_patterns,
        entropy_panels,
        learning,
        when_wrong,
        never_shown,
        families,
        misfit,
    )
}
