"""Which model: criteria by hand, comparability, failures, cross-validation without leaks."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import xlogy
from sklearn.metrics import log_loss

from hesitant import FitWarning, MixtureClassifier
from hesitant._cores import BESIDE_OTHERS
from hesitant.datasets import simulate
from hesitant.inference import compare
from hesitant.inference._compare import default_models
from hesitant.mechanisms import EntropyMechanism, MixedMechanism, Polynomial
from hesitant.model_selection._candidates import as_candidates, describe_model
from hesitant.model_selection._labelled import deal_out
from hesitant.uncertainty import SquaredLogOdds

GRID = {"covariance": ["full", "tied"], "mechanism": [None, "entropy"]}


@pytest.fixture(scope="module")
def data():
    return simulate(n=400, random_state=0)


@pytest.fixture(scope="module")
def result(data):
    return compare(data.features, data.labels, GRID, random_state=0)


def row(result, name):
    return next(c for c in result.candidates if c.name == name)


def test_criteria_by_hand(data, result):
    X, y, n = data.features, data.labels, 400
    full = MixtureClassifier().fit(X, y)
    found = row(result, "gaussian, full, entropy")
    k = 1 + 4 + 6 + 2
    assert found.n_parameters == k
    assert found.log_likelihood == pytest.approx(full.log_likelihood_)
    assert found.aic == pytest.approx(full.aic(X, y))
    assert found.bic == pytest.approx(full.bic(X, y))
    tau = full.predict_proba(X)[~data.labelled]
    doubt = -xlogy(tau, tau).sum()
    assert found.icl == pytest.approx(k * np.log(n) - 2 * full.log_likelihood_ + 2 * doubt)


def test_ignorance_is_made_comparable(data, result):
    none = MixtureClassifier(mechanism=None).fit(data.features, data.labels)
    rate = data.labelled.mean()
    chance = 400 * (xlogy(rate, rate) + xlogy(1 - rate, 1 - rate))
    found = row(result, "gaussian, full, none")
    assert found.log_likelihood == pytest.approx(none.log_likelihood_ + chance)
    assert found.n_parameters == none.n_parameters_ + 1
    assert "pure chance" in str(result)
    # The flat mechanism is nested in the entropy mechanism, so it can never fit better.
    assert found.log_likelihood < row(result, "gaussian, full, entropy").log_likelihood
    alone = compare(data.features, data.labels, {"mechanism": ["entropy"]}, cv=0)
    assert alone.remarks == []


def test_ranking(data, result):
    assert result.sort_by == "cv_log_loss"
    losses = [c.cv_log_loss for c in result.candidates]
    assert losses == sorted(losses)
    by_bic = compare(data.features, data.labels, GRID, cv=0)
    assert by_bic.best == "gaussian, full, entropy"
    bics = [c.bic for c in by_bic.candidates]
    assert bics == sorted(bics)
    by_likelihood = compare(data.features, data.labels, GRID, sort_by="log_likelihood", cv=0)
    values = [c.log_likelihood for c in by_likelihood.candidates]
    assert values == sorted(values, reverse=True)


def test_cross_validation_by_hand(data, result):
    """Hold each fold's labelled rows out; blanks stay; nothing is turned into a blank."""
    codes = np.where(data.labelled, data.truth, -1)
    folds = deal_out(codes, 5, 0, fewer=True)
    assert np.array_equal(np.sort(np.concatenate(folds)), np.flatnonzero(codes >= 0))
    total = 0.0
    for fold in folds:
        keep = np.setdiff1d(np.arange(400), fold)
        clf = MixtureClassifier().fit(data.features[keep], codes[keep])
        tau = clf.predict_proba(data.features[fold])
        total += log_loss(codes[fold], tau, labels=[0, 1]) * len(fold)
    expected = total / data.n_labelled
    found = row(result, "gaussian, full, entropy")
    assert found.cv_log_loss == pytest.approx(expected, rel=1e-4)
    assert found.cv_gap >= 0
    assert min(c.cv_gap for c in result.candidates) == 0
    # Paired differences are surer than the losses themselves.
    assert max(c.cv_gap_error for c in result.candidates) < min(
        c.cv_error for c in result.candidates
    )


def test_folds_hold_all_classes():
    codes = np.array([0] * 40 + [1] * 7 + [-1] * 20)
    folds = deal_out(codes, 5, 0, fewer=True)
    assert all({0, 1} <= set(codes[fold]) for fold in folds)
    assert max(map(len, folds)) - min(map(len, folds)) <= 1


def test_failures_stay_in_the_table(data):
    candidates = {
        "good": MixtureClassifier(),
        "bad family": MixtureClassifier("gausian"),
        "bad alpha": MixtureClassifier(alpha=0, mechanism="class"),
        "fractional": MixtureClassifier(mechanism=None, alpha=0.3),
    }
    with pytest.warns(FitWarning, match=r"2 of 4 candidates could not be fitted\. bad family"):
        result = compare(data.features, data.labels, candidates, random_state=0)
    assert len(result.candidates) == 4
    assert result.best == "good"
    assert "Did you mean 'gaussian'" in row(result, "bad family").note
    assert np.isnan(row(result, "bad alpha").bic)
    fractional = row(result, "fractional")
    assert np.isnan(fractional.bic)
    assert fractional.cv_log_loss > 0
    assert "no likelihood" in fractional.note
    assert "failed" in str(result)
    assert json.dumps(result.to_dict(), allow_nan=False)


def test_all_candidates_fail(data):
    with pytest.raises(ValueError, match=r"No candidate could be fitted.*family='nothing'"):
        compare(data.features, data.labels, [{"family": "nothing"}], cv=0)


def test_a_parameter_that_there_is_not_is_named(data):
    with pytest.raises(ValueError, match=r"candidates: parameter='famly'.*Did you mean 'family'"):
        compare(data.features, data.labels, {"famly": ["t"]})


def test_candidates_bring_their_own_marker(data):
    """Which rows are blank is the candidates' to say, and they must agree."""
    y = np.array(["?" if v is None else "ab"[v] for v in data.labels])
    options = {"missing_label": "?"}
    own = [MixtureClassifier(**options), MixtureClassifier(mechanism=None, **options)]
    a = compare(data.features, y, own, cv=0)
    b = compare(data.features, y, {"mechanism": ["entropy", None]}, cv=0, missing_label="?")
    assert a.best == b.best == "gaussian, full, entropy"
    assert [c.bic for c in a.candidates] == pytest.approx([c.bic for c in b.candidates])
    with pytest.raises(ValueError, match=r"disagree about missing_label \('\?', -1\)"):
        compare(data.features, y, [own[0], MixtureClassifier(mechanism=None)], cv=0)


def test_weights_are_as_good_as_rows(data):
    X, y = data.features[:200], data.labels[:200]
    twice = np.repeat(np.arange(200), 2)
    grid = {"mechanism": [None, "entropy"]}
    heavy = compare(X, y, grid, cv=0, sample_weight=np.full(200, 2.0))
    long = compare(X[twice], y[twice], grid, cv=0)
    for a, b in zip(heavy.candidates, long.candidates, strict=True):
        assert a.name == b.name
        assert a.log_likelihood == pytest.approx(b.log_likelihood)
        assert a.icl - a.bic == pytest.approx(b.icl - b.bic, rel=1e-4)


def test_nothing_labelled_leaves_nothing_to_foretell(data):
    grid = {"mechanism": [None], "covariance": ["full", "tied"]}
    result = compare(
        data.features, np.full(len(data.labels), None), grid, classes=[0, 1], random_state=0
    )
    assert np.isnan([c.cv_log_loss for c in result.candidates]).all()
    assert np.isfinite([c.bic for c in result.candidates]).all()


def test_names():
    assert describe_model(MixtureClassifier()) == "gaussian, full, entropy"
    assert describe_model(MixtureClassifier(mechanism=None, alpha=0.3)).endswith("none, alpha=0.3")
    spline = EntropyMechanism(order=2, basis="spline")
    assert describe_model(MixtureClassifier(mechanism=spline)).endswith("entropy order 2 spline")
    mixed = MixedMechanism(uncertainty=SquaredLogOdds(), basis=Polynomial(3))
    assert "mixed SquaredLogOdds() Polynomial(degree=3)" in describe_model(
        MixtureClassifier(mechanism=mixed)
    )
    assert len(as_candidates([MixtureClassifier(), MixtureClassifier()], {})) == 2
    names = list(as_candidates(default_models()))
    assert "t, tied, none, alpha=1" in names
    assert len(set(names)) == len(default_models())


def test_result_object(result):
    frame = result.to_frame()
    assert frame["model"].iloc[0] == result.best
    assert {"log_likelihood", "aic", "bic", "icl", "cv_log_loss"} <= set(frame.columns)
    assert "ΔBIC" in str(result)
    assert "<table>" in result._repr_html_()
    assert len(result.plot().axes_) == 2


def test_frames_strings_and_reviewed(three_classes):
    X, y = three_classes
    result = compare(
        pd.DataFrame(X), pd.Series(y), {"mechanism": ["entropy"]}, cv=3,
        reviewed=np.arange(len(X)) % 7 > 0, random_state=0, n_jobs=1,
    )  # fmt: skip
    assert result.candidates[0].cv_log_loss > 0
    listed = compare(X.tolist(), list(y), {"mechanism": ["entropy"]}, cv=2, random_state=0)
    assert listed.candidates[0].cv_log_loss > 0


def test_arrow_tables(data):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"a": data.features[:, 0], "b": data.features[:, 1]})
    grid = {"mechanism": ["entropy"]}
    found = compare(table, pa.array(data.labels.tolist()), grid, cv=3, random_state=0)
    plain = compare(data.features, data.labels, grid, cv=3, random_state=0)
    assert found.candidates[0].cv_log_loss == pytest.approx(plain.candidates[0].cv_log_loss)
    polars = pytest.importorskip("polars")
    found = compare(polars.from_arrow(table), list(data.labels), grid, cv=3, random_state=0)
    assert found.candidates[0].cv_log_loss == pytest.approx(plain.candidates[0].cv_log_loss)


def test_one_candidate_cannot_sink_the_comparison(data, monkeypatch):
    from hesitant.model_selection import _held_out as module

    def broken(fit, data, rows):
        raise TypeError("these rows cannot be taken apart")

    monkeypatch.setattr(module, "_predict", broken)
    result = compare(data.features, data.labels, {"mechanism": ["entropy"]}, random_state=0)
    assert "Cross-validation failed: these rows" in result.candidates[0].note
    assert np.isfinite(result.candidates[0].bic)


def test_without_blanks_mechanisms_make_no_difference(data):
    result = compare(data.features, data.truth, {"mechanism": [None, "entropy"]}, cv=2)
    none, entropy = (row(result, f"gaussian, full, {m}") for m in ("none", "entropy"))
    assert none.bic == pytest.approx(entropy.bic)
    assert none.n_parameters == entropy.n_parameters == 1 + 4 + 6
    assert "the same fit" in str(result)
    assert "pure chance" not in str(result)


@pytest.mark.parametrize(("n_jobs", "beside_others"), [(None, False), (2, True)])
def test_fits_keep_to_one_thread_only_side_by_side(data, n_jobs, beside_others):
    from joblib import parallel_config

    seen = []

    class Listening(MixtureClassifier):
        def fit(self, *args, **kwargs):
            seen.append(BESIDE_OTHERS.get())
            return super().fit(*args, **kwargs)

    with parallel_config(backend="threading"):
        compare(data.features, data.labels, [Listening()], cv=2, n_jobs=n_jobs)
    assert seen == [beside_others] * 3


def test_labels_stay_in_the_picture(data):
    """Many candidates with long names leave two narrow panels."""
    result = compare(data.features, data.labels, {"mechanism": ["entropy"]}, cv=2, random_state=0)
    one = result.candidates[0]
    many = [dataclasses.replace(one, name=f"skew_normal, tied, entropy spline {k}")
            for k in range(30)]  # fmt: skip
    display = dataclasses.replace(result, candidates=many).plot()
    figure = display.figure_
    figure.draw_without_rendering()
    for ax in display.axes_:
        box = ax.xaxis.label.get_window_extent()
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.x1 - 5


def test_a_class_with_one_label_can_still_be_held_out(data):
    y = np.where(data.labelled & (data.truth == 0), 0, -1)
    y[np.flatnonzero(data.truth == 1)[:1]] = 1
    result = compare(data.features, y, {"mechanism": [None]}, cv=3, random_state=0)
    assert np.isfinite(result.candidates[0].cv_log_loss)


@pytest.mark.parametrize(
    ("candidates", "options", "message"),
    [
        (GRID, {"cv": -1}, "cv=-1"),
        (GRID, {"cv": 1}, "cv=1"),
        (GRID, {"sort_by": "gini"}, "gini"),
        ([], {}, "empty"),
        ([3], {}, "int"),
        ({"covariance": "full"}, {}, "needs to be a list"),
    ],
)
def test_bad_options(data, candidates, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        compare(data.features, data.labels, candidates, **options)
