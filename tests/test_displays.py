"""Every picture is drawn, and shows the data it says it shows."""

import io
import itertools

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from hesitant import MixtureClassifier
from hesitant._drawing import class_color, class_marker
from hesitant.datasets import make_cytometry_like, simulate
from hesitant.diagnostics import (
    EntropyDisplay,
    PairsDisplay,
    RegionsDisplay,
    diagnose,
    kolmogorov_smirnov,
)
from hesitant.inference import information
from hesitant.inference._information import draw_intervals
from hesitant.uncertainty import Shannon, transformed_entropy


@pytest.fixture(scope="module")
def fitted():
    data = simulate(n=300, random_state=0)
    y = np.where(data.labelled, data.truth, -1)
    return data.features, y, MixtureClassifier().fit(data.features, y)


@pytest.fixture(scope="module")
def cells():
    data = make_cytometry_like(n=600, random_state=0)
    X = pd.DataFrame(data.features, columns=data.feature_names)
    return X, data.labels, MixtureClassifier().fit(X, data.labels)


@pytest.fixture(autouse=True)
def no_figure_left():
    yield
    plt.close("all")


def png(display):
    target = io.BytesIO()
    display.save(target, format="png")
    assert target.getvalue().startswith(b"\x89PNG")


def points(ax):
    return [
        collection.get_offsets() for collection in ax.collections if len(collection.get_offsets())
    ]


# -- entropy -------------------------------------------------------------------------------------


def test_entropy_display(fitted):
    X, y, clf = fitted
    display = EntropyDisplay.from_estimator(clf, X, y)
    t = transformed_entropy(clf.entropy(X, Shannon()), 2)
    np.testing.assert_array_equal(display.labelled, np.sort(t[y >= 0]))
    np.testing.assert_array_equal(display.blank, np.sort(t[y < 0]))
    density, ecdf, probability = display.axes_
    for line in density.get_lines():
        assert np.trapezoid(line.get_ydata(), line.get_xdata()) == pytest.approx(1, abs=0.06)
    steps = ecdf.get_lines()[0]
    assert steps.get_ydata()[-1] == 1
    np.testing.assert_array_equal(steps.get_xdata()[1:], display.labelled)
    gap = kolmogorov_smirnov(display.labelled, display.blank).statistic
    (segment,) = ecdf.collections[0].get_segments()
    assert np.ptp(segment[:, 1]) == pytest.approx(gap)
    labels = [text.get_text() for text in probability.get_legend().get_texts()]
    assert labels == ["kernel estimate, 95 % band", "fitted mechanism"]
    fit = next(line for line in probability.get_lines() if line.get_label() == "fitted mechanism")
    np.testing.assert_array_equal(fit.get_ydata(), display.curve.fitted)
    png(display)


def test_entropy_legends_hide_no_curve(fitted):
    X, y, clf = fitted
    display = EntropyDisplay.from_estimator(clf, X, y)
    display.figure_.canvas.draw()
    for ax in display.axes_:
        legend = ax.get_legend().get_window_extent()
        assert legend.y1 < ax.xaxis.label.get_window_extent().y0
        assert legend.y0 > 0
    assert display.axes_[1].get_ylim()[1] < 1.1
    for left, right in itertools.pairwise(display.axes_):
        gap = right.yaxis.label.get_window_extent().x0 - left.get_window_extent().x1
        assert gap > 0.15 * display.figure_.dpi


def test_entropy_from_predictions_agrees(fitted):
    X, y, clf = fitted
    a = EntropyDisplay.from_estimator(clf, X, y)
    b = EntropyDisplay.from_predictions(
        y, clf.predict_proba(X), labelling_probability=clf.labelling_probability(X)
    )
    inner = a.labelled > -25  # probabilities cannot tell 1e-20 from 0
    np.testing.assert_allclose(b.labelled[inner], a.labelled[inner], atol=1e-3)
    with pytest.raises(ValueError, match="one row of class probabilities"):
        EntropyDisplay.from_predictions(y[:10], clf.predict_proba(X))


def test_entropy_without_blanks_or_mechanism(fitted):
    X, y, _ = fitted
    none = MixtureClassifier(mechanism=None).fit(X, y)
    assert EntropyDisplay.from_estimator(none, X, y).curve.fitted is None
    full = EntropyDisplay.from_estimator(none, X, none.predict(X))
    assert full.curve is None
    png(full)
    one = EntropyDisplay(np.array([0.0, 1.0, 2.0]), np.array([1.5]))
    png(one.plot())


def test_own_axes(fitted):
    X, y, clf = fitted
    figure = Figure()
    axes = figure.subplots(2, 2).ravel()
    display = EntropyDisplay.from_estimator(clf, X, y, axes=axes[:3])
    assert display.figure_ is figure
    assert display.ax_ is axes[0]
    with pytest.raises(ValueError, match="three"):
        EntropyDisplay.from_estimator(clf, X, y, axes=axes[:2])
    regions = RegionsDisplay.from_estimator(clf, X, y, ax=axes[3], grid_resolution=20)
    assert regions.ax_ is axes[3]


def test_diagnosis_draws_its_own_entropies(fitted):
    X, y, _ = fitted
    result = diagnose(X, y)
    display = result.plot()
    np.testing.assert_array_equal(display.labelled, np.sort(result.labelled_entropy))


# -- pairs ---------------------------------------------------------------------------------------


def test_pairs_display(cells):
    X, y, clf = cells
    display = PairsDisplay.from_estimator(clf, X, y)
    assert display.axes_.shape == (3, 3)
    assert display.axes_[0, 1] is None
    drawn = points(display.axes_[2, 0])
    blank = np.array([v is None for v in y])
    values = X.to_numpy()
    np.testing.assert_array_equal(np.asarray(drawn[-1]), values[blank][:, [0, 2]])
    assert sum(map(len, drawn)) == len(X)
    texts = [t.get_text() for t in display.figure_.legends[0].get_texts()]
    assert texts[-1] == f"blank ({blank.sum()})"
    assert texts[0].startswith("B cells")
    assert display.axes_[2, 0].get_xlabel() == "CD3"
    png(display)


def test_blanks_are_black_squares(fitted):
    X, y, _ = fitted
    ax = PairsDisplay.from_predictions(X, y).axes_[1, 0]
    squares = ax.collections[-1]
    np.testing.assert_array_equal(squares.get_facecolor()[0][:3], [0, 0, 0])
    corners = squares.get_paths()[0].vertices
    np.testing.assert_allclose(np.ptp(corners, axis=0), [1, 1])  # a square, not a disc
    assert len(corners) == 5


def test_pairs_choices(cells):
    X, y, _ = cells
    display = PairsDisplay.from_predictions(X, y, features=["CD19", 0])
    assert display.features == ["CD19", "CD3"]
    one = PairsDisplay.from_predictions(X.to_numpy(), y, features=[1], feature_names=X.columns)
    assert one.axes_.shape == (1, 1)
    png(one)
    many = np.random.default_rng(0).standard_normal((30, 12))
    assert PairsDisplay.from_predictions(many, [0, 1, None] * 10).axes_.shape == (8, 8)
    for bad, message in [(["CD4"], "CD4"), ([7], "7")]:
        with pytest.raises(ValueError, match=message):
            PairsDisplay.from_predictions(X, y, features=bad)
    with pytest.raises(ValueError, match="and y has 5 rows"):
        PairsDisplay.from_predictions(X, y[:5])
    with pytest.raises(ValueError, match="feature names"):
        PairsDisplay.from_predictions(X, y, feature_names=["a"])


def lines(display):
    """Return the boundaries, which unlike the shading are not filled."""
    return (c for c in display.ax_.collections if not getattr(c, "filled", True))


# -- regions -------------------------------------------------------------------------------------


def test_regions_in_two_dimensions(fitted):
    X, y, clf = fitted
    display = RegionsDisplay.from_estimator(clf, X, y, grid_resolution=40)
    xx, yy = np.meshgrid(display.grid_x, display.grid_y)
    expected = clf.predict_proba(np.column_stack((xx.ravel(), yy.ravel())))
    np.testing.assert_allclose(display.proba.reshape(-1, 2), expected)
    np.testing.assert_allclose(display.points, X)
    png(display)
    same = RegionsDisplay.from_predictions(X, y, display.grid_x, display.grid_y, display.proba)
    np.testing.assert_array_equal(same.proba, display.proba)


def test_boundary_is_where_classes_tie(fitted):
    X, y, clf = fitted
    display = RegionsDisplay.from_estimator(clf, X, y, grid_resolution=150)
    contour = next(lines(display))
    along = np.vstack([path.vertices for path in contour.get_paths()])
    np.testing.assert_allclose(clf.predict_proba(along), 0.5, atol=0.02)


def test_regions_compare_two_models(fitted):
    X, y, clf = fitted
    other = MixtureClassifier(mechanism=None).fit(X, y)
    display = RegionsDisplay.from_estimator(clf, X, y, compare_with=other, grid_resolution=30)
    assert len(list(lines(display))) == 2
    texts = [t.get_text() for t in display.ax_.get_legend().get_texts()]
    assert texts[-2:] == ["this model", "the other"]
    strings = MixtureClassifier(classes=["a", "b"]).fit(X, np.array(["b", "a", None])[y])
    with pytest.raises(ValueError, match="compare_with has the classes"):
        RegionsDisplay.from_estimator(clf, X, y, compare_with=strings)


def test_regions_on_principal_components(cells):
    X, y, clf = cells
    display = RegionsDisplay.from_estimator(clf, X, y, grid_resolution=25)
    assert display.names[0].startswith("component 1")
    Z = (X - X.mean()) / X.std(ddof=0)
    share = np.linalg.eigvalsh(np.cov(Z.T))[-1] / 3
    assert f"({100 * share:.0f} %)" in display.names[0]
    np.testing.assert_allclose(np.corrcoef(display.points.T)[0, 1], 0, atol=1e-10)
    np.testing.assert_allclose(display.proba.sum(axis=2), 1)
    png(display)


def test_regions_of_rows_with_empty_cells():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, -1], 40)
    X = rng.normal(size=(120, 3)) + 3 * (np.arange(120) % 2)[:, None] * (y[:, None] != 0)
    X[::2, 0] = np.nan
    clf = MixtureClassifier().fit(X, y)
    drawn = RegionsDisplay.from_estimator(clf, X, y, grid_resolution=20)
    assert np.isfinite(drawn.points).all(axis=1).sum() == 60
    X[1::2, 1] = np.nan  # no row has both, and each still tells how far its axis reaches
    clf = MixtureClassifier().fit(X, y)
    drawn = RegionsDisplay.from_estimator(clf, X, y, features=(0, 1), grid_resolution=20)
    assert drawn.grid_x[0] < np.nanquantile(X[:, 0], 0.1)
    assert drawn.grid_y[-1] > np.nanquantile(X[:, 1], 0.9)
    assert np.isfinite(drawn.proba).all()
    with pytest.raises(ValueError, match="features=None: 0 rows have all features: name two"):
        RegionsDisplay.from_estimator(clf, X, y)


def test_slices_hold_the_other_features_at_their_means(cells):
    X, y, clf = cells
    display = RegionsDisplay.from_estimator(
        clf, X, y, features=("CD3", "CD19"), others="mean", grid_resolution=15
    )
    xx, yy = np.meshgrid(display.grid_x, display.grid_y)
    rows = pd.DataFrame({"CD3": xx.ravel(), "CD5": X["CD5"].mean(), "CD19": yy.ravel()})
    np.testing.assert_allclose(display.proba.reshape(-1, 4), clf.predict_proba(rows), atol=1e-12)
    np.testing.assert_allclose(display.points, X[["CD3", "CD19"]])


def test_averaged_regions_are_marginal_posteriors():
    """With independent features, averaging one out leaves the classifier of the other two."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 2000)
    X = rng.standard_normal((2000, 3)) + 2.0 * truth[:, None] * np.array([1, 0.5, 1])
    clf = MixtureClassifier(covariance="spherical", mechanism=None).fit(X, truth)
    display = RegionsDisplay.from_estimator(clf, X, truth, features=(0, 1), grid_resolution=60)
    pair = MixtureClassifier(covariance="spherical", mechanism=None).fit(X[:, :2], truth)
    xx, yy = np.meshgrid(display.grid_x, display.grid_y)
    grid = np.column_stack((xx.ravel(), yy.ravel()))
    expected = pair.predict_proba(grid)[:, 1].reshape(60, 60)
    inside = pair.score_samples(grid).reshape(60, 60) > -5
    assert np.abs(display.proba[..., 1] - expected)[inside].mean() < 0.04


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": (0,)}, "two different"),
        ({"features": (1, 1)}, "two different"),
        ({"others": "zero"}, "others='zero'"),
    ],
)
def test_bad_planes(cells, options, message):
    X, y, clf = cells
    with pytest.raises(ValueError, match=message):
        RegionsDisplay.from_estimator(clf, X, y, **options)


def test_one_feature_has_no_regions():
    X = np.arange(40.0)[:, None]
    clf = MixtureClassifier(mechanism=None).fit(X, [0] * 20 + [1] * 20)
    with pytest.raises(ValueError, match="at least two features"):
        RegionsDisplay.from_estimator(clf, X, [0] * 20 + [1] * 20)
    with pytest.raises(ValueError, match="proba has shape"):
        RegionsDisplay.from_predictions(X, [0] * 20 + [1] * 20, [0, 1], [0, 1], np.ones((2, 2, 3)))


# -- all of them ---------------------------------------------------------------------------------


def test_interval_display(fitted):
    X, y, clf = fitted
    info = information(clf, X, y)
    display = info.plot()
    assert len(display.axes_) == 5  # weights, means, covariances, intercept, coefficients
    ticks = [t.get_text() for t in display.axes_[1].get_yticklabels()]
    assert ticks == [n for n in info.parameters if n.startswith("mean")]
    infinite = draw_intervals(
        ["a", "b"], np.array([1.0, 2.0]), np.array([-np.inf, 1.0]), np.array([np.inf, 3.0])
    )
    png(infinite)
    assert draw_intervals(["a"], *np.array([[1.0], [0.0], [2.0]]), ax=Figure().subplots()).ax_


def test_pictures_are_pyplots_own(fitted, tmp_path):
    X, y, clf = fitted
    before = dict(mpl.rcParams)
    diagnose(X, y, estimator=clf).plot()
    plt.savefig(tmp_path / "current.png")
    assert np.ptp(plt.imread(tmp_path / "current.png")) > 0.5  # not an empty page
    display = RegionsDisplay.from_estimator(clf, X, y, grid_resolution=20)
    assert plt.gcf() is display.figure_
    assert dict(mpl.rcParams) == before
    for ending in ("png", "svg", "pdf"):
        display.save(tmp_path / f"picture.{ending}")
        assert (tmp_path / f"picture.{ending}").stat().st_size > 1000
    assert "blank" in (tmp_path / "picture.svg").read_text()  # text stays text


@pytest.mark.filterwarnings("ignore:constrained_layout")
def test_names_are_no_formulas(fitted):
    X, y, _ = fitted
    names = ["$\\frac{", "a" * 200]
    frame = pd.DataFrame(X, columns=names)
    labels = np.array(["$x", "$y", None])[y]
    clf = MixtureClassifier(mechanism=None).fit(frame, labels)
    png(RegionsDisplay.from_estimator(clf, frame, labels))
    png(PairsDisplay.from_estimator(clf, frame, labels))
    png(information(clf, frame, labels).plot())


def test_classes_can_be_told_apart():
    styles = {(class_color(h), class_marker(h)) for h in range(14)}
    assert len(styles) == 14
    assert "#000000" not in {class_color(h) for h in range(7)}
