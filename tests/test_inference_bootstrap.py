"""The bootstrap: agreement with theory, label switching, failures, seeds and workers."""

import json
import pickle
import threading
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from scipy.stats import norm

from hesitant import FitWarning, MixtureClassifier
from hesitant._cores import in_threads
from hesitant.datasets import simulate
from hesitant.inference import _bootstrap as module
from hesitant.inference import bootstrap, information
from hesitant.inference._information import draw_intervals


@pytest.fixture(scope="module")
def fitted():
    data = simulate(n=400, random_state=0)
    y = np.where(data.labelled, data.truth, -1)
    return data.features, y, MixtureClassifier().fit(data.features, y)


@pytest.mark.parametrize("kind", ["parametric", "nonparametric"])
def test_standard_errors_agree_with_the_information(fitted, kind):
    X, y, clf = fitted
    result = bootstrap(clf, X, y, kind=kind, n_boot=150, stratify=False, random_state=0)
    info = information(clf, X, y)
    assert result.parameters == info.parameters
    np.testing.assert_allclose(result.estimate, info.estimate)
    ratio = result.std_error / info.std_error
    assert ((ratio > 0.7) & (ratio < 1.5)).all()
    assert np.median(ratio) == pytest.approx(1, abs=0.12)
    assert (result.lower < result.estimate).all()
    assert (result.estimate < result.upper).all()
    assert result.n_failed == 0


def test_normal_intervals_by_hand(fitted):
    X, y, clf = fitted
    result = bootstrap(clf, X, y, n_boot=20, random_state=0)
    z = norm.ppf(0.975)
    k = result.parameters.index("covariance[1, x1, x1]")
    reach = z * np.log(result.replicates[:, k]).std(ddof=1)
    assert result.lower[k] == pytest.approx(result.estimate[k] * np.exp(-reach))
    k = result.parameters.index("mean[1, x1]")
    assert result.upper[k] == pytest.approx(result.estimate[k] + z * result.std_error[k])


def test_strata_keep_their_sizes(fitted):
    X, y, clf = fitted
    reviewed = np.arange(len(X)) % 4 > 0
    data = clf.check(X, y, reviewed=reviewed)
    draw = partial(module._draw, clf, data, "nonparametric")
    drawn = draw(True, np.random.default_rng(0))
    codes, shown = drawn.codes, drawn.reviewed
    assert (codes >= 0).sum() == (y >= 0).sum()
    for part in (True, False):
        assert ((codes >= 0) & (shown == part)).sum() == ((y >= 0) & (reviewed == part)).sum()
    sizes = {int((draw(False, np.random.default_rng(k)).codes >= 0).sum()) for k in range(10)}
    assert len(sizes) > 1


@pytest.mark.parametrize("kind", ["parametric", "nonparametric"])
def test_weights_stay_with_their_rows(fitted, kind):
    """Without them a weighted fit's replicates would be centred elsewhere."""
    X, y, _ = fitted
    weight = np.where(X[:, 1] > 1.5, 4.0, 0.25)
    clf = MixtureClassifier().fit(X, y, sample_weight=weight)
    found = bootstrap(clf, X, y, kind=kind, n_boot=30, sample_weight=weight, random_state=0)
    center = found.replicates.mean(axis=0)
    assert abs(center[0] - clf.weights_[0]) < 4 * found.std_error[0]


def test_stratification_freezes_the_intercept_only(fitted):
    """As documented: the share of labelled rows cannot vary, so the intercept hardly does."""
    X, y, clf = fitted
    kept, free = (
        bootstrap(clf, X, y, kind="nonparametric", n_boot=100, stratify=s, random_state=0)
        for s in (True, False)
    )
    assert "intercept" in kept.remarks[0]
    assert free.remarks == []
    place = kept.parameters.index("intercept")
    assert kept.std_error[place] < 0.85 * free.std_error[place]
    others = [k for k in range(len(kept.parameters)) if k != place]
    ratio = kept.std_error[others] / free.std_error[others]
    assert np.median(ratio) == pytest.approx(1, abs=0.15)


def test_seeds_and_workers(fitted):
    X, y, clf = fitted
    one = bootstrap(clf, X, y, n_boot=6, random_state=5)
    with parallel_config(backend="threading", n_jobs=2):
        two = bootstrap(clf, X, y, n_boot=6, random_state=5)
    np.testing.assert_array_equal(one.replicates, two.replicates)
    other = bootstrap(clf, X, y, n_boot=6, random_state=6)
    assert not np.allclose(one.replicates, other.replicates)
    generator = bootstrap(clf, X, y, n_boot=6, random_state=np.random.default_rng(5))
    assert generator.n_replicates == 6


@pytest.mark.parametrize(("n_jobs", "alone"), [(None, False), (2, True)])
def test_fits_keep_to_one_thread_only_side_by_side(fitted, monkeypatch, n_jobs, alone):
    X, y, clf = fitted
    seen, real = [], module.refit

    def listening(*args, **options):
        own = threading.get_ident()
        seen.append(set(in_threads(3, lambda _: threading.get_ident(), range(3))) == {own})
        return real(*args, **options)

    monkeypatch.setattr(module, "refit", listening)
    with parallel_config(backend="threading"):
        bootstrap(clf, X, y, n_boot=2, random_state=0, n_jobs=n_jobs)
    assert seen == [alone] * 2


def test_tasks_can_be_sent_to_other_processes(fitted):
    X, y, clf = fitted
    task = partial(module._replicate, clf, clf.check(X, y), "parametric", True)
    there = pickle.loads(pickle.dumps(task))
    here = task(np.random.default_rng(0))[0]
    np.testing.assert_array_equal(here.theta, there(np.random.default_rng(0))[0].theta)


def test_label_switching_is_undone():
    """No labels in two of three classes: nothing but the fit itself tells them apart."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 300)
    X = rng.standard_normal((300, 1)) + 6.0 * truth[:, None]
    y = np.where((truth == 0) & (rng.random(300) < 0.5), 0, -1)
    clf = MixtureClassifier(mechanism=None, classes=[0, 1, 2], random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        clf.fit(X, y)
    swapped = module.State(
        clf.state_.weights[[0, 2, 1]],
        clf.family_.permute(clf.state_.params, np.array([0, 2, 1])),
        clf.state_.theta,
    )
    state = module._matched(swapped, clf, X, y)
    assert state is not swapped
    np.testing.assert_allclose(state.weights, clf.state_.weights)
    assert module._matched(clf.state_, clf, X, y) is clf.state_
    result = bootstrap(clf, X, y, kind="nonparametric", n_boot=30, random_state=0)
    means = result.std_error[[k for k, n in enumerate(result.parameters) if "mean" in n]]
    assert means.max() < 0.5  # a switch would make it about three


def test_classes_with_many_labels_are_never_renamed(fitted):
    X, y, clf = fitted
    result = bootstrap(clf, X, y, n_boot=10, random_state=0)
    assert result.n_relabelled == 0


def test_failures_are_counted_and_reported(fitted, monkeypatch):
    X, y, clf = fitted
    real, calls = module.refit, {"n": 0}

    def flaky(*args, **kwargs):
        calls["n"] += 1
        if calls["n"] % 4 == 0:
            raise ValueError("No start led to a fit: the data are odd. Do something.")
        return real(*args, **kwargs)

    monkeypatch.setattr(module, "refit", flaky)
    result = bootstrap(clf, X, y, n_boot=8, random_state=0)
    assert (result.n_replicates, result.n_failed) == (6, 2)
    assert result.failures == {"ValueError, No start led to a fit": 2}
    assert "2 of 8 replicates failed" in str(result)

    def hopeless(*args, **kwargs):
        raise ValueError("No start led to a fit")

    monkeypatch.setattr(module, "refit", hopeless)
    with pytest.raises(ValueError, match="3 of 3 replicates failed"):
        bootstrap(clf, X, y, n_boot=3, random_state=0)


def test_replicates_without_blanks_have_no_mechanism_and_do_not_count():
    data = simulate(n=60, random_state=1)
    y = np.where(np.arange(60) == 3, -1, data.truth)
    clf = MixtureClassifier().fit(data.features, y)
    result = clf.bootstrap(data.features, y, n_boot=12, random_state=0)
    assert 0 < result.n_failed < 12
    assert list(result.failures) == ["ValueError, blanks have no pattern there"]
    assert np.isfinite(result.std_error).all()


def test_unsettled_replicates_are_reported(fitted):
    X, y, clf = fitted
    hasty = MixtureClassifier(max_iter=2, init=dict(clf.parameters_))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        hasty.fit(X, y)
    result = bootstrap(hasty, X, y, n_boot=5, random_state=0)
    assert result.n_not_converged == 5
    assert "had not converged" in str(result)


def test_result_object(fitted):
    X, y, clf = fitted
    result = bootstrap(clf, X, y, n_boot=12, random_state=0)
    frame = result.to_frame()
    assert list(frame.columns) == [
        "parameter", "estimate", "bias", "std_error", "lower", "upper",
    ]  # fmt: skip
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))["kind"] == "parametric"
    assert "<table>" in result._repr_html_()
    np.testing.assert_allclose(result.interval(0.95)[:, 0], result.lower)
    assert str(pickle.loads(pickle.dumps(result))) == str(result)
    plain = result.interval(0.95, "percentile")
    np.testing.assert_allclose(plain.T, np.quantile(result.replicates, [0.025, 0.975], axis=0))
    basic = result.interval(0.95, "basic")
    np.testing.assert_allclose(basic[:, 0], 2 * result.estimate - plain[:, 1])
    assert len(result.plot(parameters="mean").axes_) == 1
    with pytest.raises(ValueError, match="percentile"):
        result.interval(0.9, "bca")


@pytest.mark.parametrize("mechanism", [None, "entropy"])
def test_frames_strings_and_reviewed(three_classes, mechanism):
    X, y = three_classes
    X = pd.DataFrame(X, columns=["a", "b", "c"])
    reviewed = np.arange(len(X)) % 5 > 0
    clf = MixtureClassifier(mechanism=mechanism).fit(X, y, reviewed=reviewed)
    for kind in ("parametric", "nonparametric"):
        result = bootstrap(clf, X, y, kind=kind, n_boot=4, reviewed=reviewed, random_state=0)
        assert result.n_replicates == 4
        assert "mean[a, b]" in result.parameters


def test_progress_bar(fitted, capsys):
    X, y, clf = fitted
    bootstrap(clf, X, y, n_boot=2, random_state=0, progress=True)
    assert "parametric" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "jackknife"}, "jackknife"),
        ({"n_boot": 0}, "n_boot=0"),
        ({"n_boot": 1}, "Too few"),
        ({"level": 1.0}, "level"),
    ],
)
def test_bad_options(fitted, options, message):
    X, y, clf = fitted
    with pytest.raises(ValueError, match=message):
        bootstrap(clf, X, y, **options)


@pytest.mark.filterwarnings("ignore::hesitant.FitWarning")
def test_what_has_no_finite_value_in_some_replicates_stays_in_the_table():
    """A t class near two degrees of freedom has a covariance in some replicates only."""
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 2, 200)
    X = rng.standard_t(2.2, size=(200, 2)) + 4 * truth[:, None]
    y = np.where(rng.random(200) < 0.6, truth, -1)
    clf = MixtureClassifier("t").fit(X, y)
    found = bootstrap(clf, X, y, n_boot=40, random_state=0)
    assert "covariance[0, x0, x0]" in found.parameters
    place = found.parameters.index("covariance[0, x0, x0]")
    gone = np.isnan(found.replicates[:, place])
    assert gone.any()
    assert np.isfinite(found.std_error).all()
    assert any(f"no finite value in {gone.sum()} of 40" in remark for remark in found.remarks)
    assert np.isfinite(found.interval(0.9, "percentile")).all()


def test_plots_say_which_names_there_are(fitted):
    X, y, clf = fitted
    result = bootstrap(clf, X, y, n_boot=3, random_state=0)
    with pytest.raises(ValueError, match=r"parameters='zzz' .* weight\[0\], weight\[1\]"):
        result.plot(parameters="zzz")
    with pytest.raises(ValueError, match=r"parameters='zzz' .* weight\[0\]"):
        clf.information().plot(parameters="zzz")


def test_bars_end_where_intervals_do():
    """No bar without bounds, and one to the edge where there is no end."""
    inf, nan = np.inf, np.nan
    display = draw_intervals(
        [f"a[{k}]" for k in range(4)],
        np.array([1.0, 2.0, 3.0, 200.0]),
        np.array([0.5, nan, 2.0, -inf]),
        np.array([1.5, nan, inf, inf]),
    )
    (bars,) = display.ax_.collections
    ends = {int(path[0, 1]): path[:, 0] for path in bars.get_segments()}
    assert sorted(ends) == [0, 2, 3]
    low, high = display.ax_.get_xlim()
    np.testing.assert_allclose(ends[0], [0.5, 1.5])
    np.testing.assert_allclose(ends[2], [2.0, high])
    np.testing.assert_allclose(ends[3], [low, high])
    unknown = draw_intervals(["b"], np.array([5.0]), np.array([nan]), np.array([nan]))
    low, high = unknown.ax_.get_xlim()
    assert low < 5 < high
    assert not unknown.ax_.collections[0].get_segments()


def test_layout_of_many_panels(fitted):
    clf = fitted[2]
    display = clf.information().plot()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        display.figure_.draw_without_rendering()


def test_level_may_be_any_number(fitted):
    X, y, clf = fitted
    result = bootstrap(clf, X, y, n_boot=3, random_state=0)
    with pytest.raises(ValueError, match="level=1: give a number"):
        result.interval(level=1)


def test_the_earlier_name_of_n_boot_is_understood_and_warned_of(fitted):
    X, y, clf = fitted
    with pytest.warns(DeprecationWarning, match="n is called n_boot now"):
        result = clf.bootstrap(X, y, n=3, random_state=0)
    assert result.n_replicates == 3
