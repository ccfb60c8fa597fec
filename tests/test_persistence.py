"""Models in files: the same model comes back, and no file can do harm."""

import contextlib
import json
import pickle
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.pipeline import Pipeline

from hesitant import FitWarning, MixtureClassifier
from hesitant.datasets import simulate
from hesitant.families import FAMILIES, Gaussian
from hesitant.mechanisms import EntropyMechanism, Functions, Polynomial, Spline
from hesitant.persistence import ModelFileError, Preparation, load, read_notes, save
from hesitant.tables import TableError
from hesitant.uncertainty import Renyi, SquaredLogOdds

MODELS = Path(__file__).parent / "data" / "models"
DATA = simulate(n=200, random_state=0)
X, Y = DATA.features, DATA.labels


class OwnGaussian(Gaussian):
    """A family of the user's own."""


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Return the text of a small model's file."""
    path = tmp_path_factory.mktemp("models") / "small.model"
    return save(MixtureClassifier().fit(X, Y), path).read_text()


def same(a, b):
    """Whether two fitted classifiers say the same of everything."""
    assert type(a) is type(b)
    np.testing.assert_array_equal(a.predict_log_proba(X), b.predict_log_proba(X))
    np.testing.assert_array_equal(a.labelling_probability(X), b.labelling_probability(X))
    np.testing.assert_array_equal(a.entropy(X), b.entropy(X))
    np.testing.assert_array_equal(a.classes_, b.classes_)
    assert a.classes_.dtype == b.classes_.dtype
    for name in ("log_likelihood_", "n_parameters_", "n_iter_", "converged_", "termination_"):
        assert getattr(a, name) == getattr(b, name), name
    np.testing.assert_array_equal(a.history_, b.history_)
    for name, value in a.parameters_.items():
        np.testing.assert_array_equal(value, b.parameters_[name])
    return True


OPTIONS = [
    *({"family": family} for family in FAMILIES),
    *({"covariance": c} for c in ("tied", "diag", "spherical")),
    {"mechanism": None},
    {"mechanism": "mixed"},
    {"mechanism": None, "alpha": 0.7},
    {"mechanism": EntropyMechanism(order=2, basis="spline")},
    {"mechanism": EntropyMechanism(basis=Polynomial(3), ridge=1e-4)},
    {"mechanism": EntropyMechanism(basis="logit")},
    {"mechanism": EntropyMechanism(uncertainty=SquaredLogOdds())},
    {"mechanism": EntropyMechanism(basis=Spline(df=5), uncertainty=Renyi(np.inf))},
    {"init": {"means": [[0, 0], [0, 3]], "covariances": np.array([np.eye(2)] * 2)}},
    {"classes": [1, 0], "random_state": 3, "max_iter": 500, "missing_label": None},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_kind_of_model_comes_back_the_same(options, tmp_path):
    clf = MixtureClassifier(**options).fit(X, Y)
    again = load(save(clf, tmp_path / "a.model"))
    assert same(clf, again)
    assert str(again.get_params()) == str(clf.get_params())


def test_a_loaded_model_can_be_refitted_and_saved_again(tmp_path):
    clf = MixtureClassifier(mechanism=EntropyMechanism(order=2)).fit(X, Y)
    again = load(save(clf, tmp_path / "a.model"))
    assert save(again, tmp_path / "b.model").read_bytes() == (tmp_path / "a.model").read_bytes()
    assert same(again.fit(X, Y), clf)


@pytest.mark.parametrize(
    "values",
    [
        ["benign", "tumour"],
        ["<b>\n", "=1+1", "😀"],
        ["x" * 10_000, "\ud800 lone"],
        [False, True],
        [3, 7],
        [0.0, 2.0],
        [np.datetime64("2024-01-01"), np.datetime64("2024-06-01")],
    ],
    ids=lambda v: str(v)[:20],
)
def test_classes_keep_their_values_and_types(values, tmp_path):
    values = values[:2]
    y = np.array([values[0] if v == 0 else values[1] for v in DATA.truth])
    clf = MixtureClassifier(missing_label=None, mechanism=None).fit(X, y)
    again = load(save(clf, tmp_path / "a.model"))
    assert again.classes_.dtype == clf.classes_.dtype
    assert again.classes_.tolist() == clf.classes_.tolist()


def test_feature_names_survive_and_are_checked(tmp_path):
    frame = pd.DataFrame(X, columns=["CD3 <low>", "x" * 5000])
    clf = MixtureClassifier().fit(frame, Y)
    again = load(save(clf, tmp_path / "a.model"))
    assert again.feature_names_in_.tolist() == list(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame.rename(columns={"CD3 <low>": "CD4"}))


def test_a_mechanism_that_could_not_be_estimated_stays_away(tmp_path):
    y = DATA.truth
    with pytest.warns(FitWarning, match="cannot be estimated"):
        clf = MixtureClassifier().fit(X, y)
    again = load(save(clf, tmp_path / "a.model"))
    assert again.mechanism == "entropy"
    assert not again.mechanism_.informative
    assert (again.labelling_probability(X) == 1).all()


def test_notes_tell_where_a_model_came_from(tmp_path):
    path = save(MixtureClassifier().fit(X, Y), tmp_path / "a.model", notes={"data": "cells.csv"})
    notes = read_notes(path)
    assert notes["data"] == "cells.csv"
    assert notes["written_by"].startswith("hesitant ")


# -- preparations -------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"n_components": 2}, {"standardise": False}], ids=str)
def test_a_preparation_travels_with_its_classifier(options, tmp_path):
    wide = np.column_stack((X, X[:, 0] * 100, np.full(len(X), 7.0)))
    model = Pipeline([("p", Preparation(**options)), ("c", MixtureClassifier(reg_covar=1e-3))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)  # of the columns that say nothing new
        model.fit(wide, Y)
    again = load(save(model, tmp_path / "a.model"))
    np.testing.assert_array_equal(again.predict_proba(wide), model.predict_proba(wide))
    assert again.n_features_in_ == 4


def test_principal_components_are_those_of_the_correlation_matrix():
    wide = np.column_stack((X, X @ [1.0, 2.0] + np.arange(len(X)) % 3))
    prep = Preparation(n_components=2).fit(wide)
    values, vectors = np.linalg.eigh(np.corrcoef(wide.T))
    np.testing.assert_allclose(prep.explained_, values[::-1][:2] / 3)
    np.testing.assert_allclose(np.abs(prep.rotation_), np.abs(vectors[:, ::-1][:, :2]))
    assert prep.get_feature_names_out().tolist() == ["PC1", "PC2"]
    with pytest.raises(ValueError, match="from 1 to 3"):
        Preparation(n_components=4).fit(wide)


# -- what is refused ----------------------------------------------------------------------------


def test_classes_of_the_users_own_are_refused(tmp_path):
    basis = Functions([np.tanh], [lambda u: 1 / np.cosh(u) ** 2])
    for options, words in [
        ({"family": OwnGaussian()}, "class of your own, OwnGaussian"),
        ({"mechanism": EntropyMechanism(basis=basis)}, "built-in bases"),
    ]:
        clf = MixtureClassifier(**options).fit(X, Y)
        with pytest.raises(ValueError, match=words):
            save(clf, tmp_path / "a.model")
    with pytest.raises(ValueError, match="Pipeline"):
        save("a string", tmp_path / "a.model")
    with pytest.raises(ValueError, match="Preparation"):
        save(Pipeline([("c", MixtureClassifier())]), tmp_path / "a.model")
    assert not list(tmp_path.iterdir())


def test_a_seed_that_cannot_be_kept_is_said(tmp_path):
    clf = MixtureClassifier(random_state=np.random.RandomState(0)).fit(X, Y)
    with pytest.warns(FitWarning, match="random_state"):
        save(clf, tmp_path / "a.model")
    assert load(tmp_path / "a.model").random_state is None


def test_an_existing_file_is_kept_without_force(tmp_path):
    clf = MixtureClassifier().fit(X, Y)
    path = tmp_path / "a.model"
    path.write_text("precious")
    with pytest.raises(TableError, match="exists already"):
        save(clf, path)
    assert path.read_text() == "precious"
    assert same(load(save(clf, path, force=True)), clf)


class Bomb:
    """Runs when unpickled."""

    def __reduce__(self):
        return (pytest.fail, ("a pickle was opened",))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not a model"),
        (pickle.dumps(Bomb()), "pickle"),
        (b"PK\x03\x04 zip", "pickle, an archive"),
        (b"\x00\xff\xfe binary", "not a model"),
        (b"a,b\n1,2\n", "not a model"),
        (b"{}", "not a model"),
        (b"[" * 100_000, "not a model"),
        (b'{"hesitant model": 1e999}', "not a model"),
        (b'{"hesitant model": ' + b"9" * 10_000 + b"}", "damaged"),
        (b'{"hesitant model": 2, "written_by": "hesitant 9.0"}', "Upgrade"),
        (b'{"hesitant model": 0}', "no model format"),
        (b'{"hesitant model": 1}', "damaged"),
        (b'{"hesitant model": 1, "classifier": 7}', "damaged"),
    ],
    ids=range(13),
)
def test_files_that_are_no_models(content, words, tmp_path):
    path = tmp_path / "a.model"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=words):
        load(path)


def test_absent_files_and_folders(tmp_path):
    with pytest.raises(ModelFileError, match="no such file"):
        load(tmp_path / "none.model")
    with pytest.raises(ModelFileError, match="folder"):
        load(tmp_path)


@pytest.mark.parametrize("share", [0.01, 0.3, 0.7, 0.999])
def test_a_truncated_file_says_so(saved, share, tmp_path):
    path = tmp_path / "a.model"
    path.write_text(saved[: int(len(saved) * share)])
    with pytest.raises(ModelFileError, match=r"cut short|not a model"):
        load(path)


HOSTILE = [
    (("options", "family"), {"object": {"class": "os.system", "options": {}}}),
    (("options", "family"), {"object": {"class": "Family", "options": {}}}),
    (("options", "family"), {"object": {"class": "Gaussian", "options": {"x": 1}}}),
    (("options", "family"), {"object": 3}),
    (("options", "family"), "cauchy"),
    (("options", "n_init"), {"tuple": [1]}),
    (("options", "surprise"), 1),
    (("n_features",), 10**9),
    (("n_features",), True),
    (("feature_names",), ["only one"]),
    (("classes",), {"dtype": "object", "shape": [2], "values": [{"dict": {}}, 1]}),
    (("classes",), {"dtype": "int64", "shape": [2], "values": [1, 1]}),
    (("classes",), {"dtype": "V8", "shape": [2], "values": [1, 2]}),
    (("weights", "values"), [0.5, 0.6]),
    (("weights", "shape"), [10**12]),
    (("params", "center"), {"dtype": "float64", "shape": [1], "values": [0.0]}),
    (("params", "whitener", "shape"), [2, 2, -2]),
    (("params", "whitener", "values"), ["nan"] * 8),
    (("params", "whitener", "values"), [0.0] * 8),
    (("params", "location", "values"), ["__import__('os')"] * 4),
    (("params", "extra"), {"dtype": "float64", "shape": [1], "values": [0.0]}),
    (("params", "spread", "values"), [1.0, -1.0]),
    (("mechanism", "theta", "values"), ["inf", 0.0]),
    (("mechanism", "theta"), {"dtype": "float64", "shape": [3], "values": [0.0] * 3}),
    (("mechanism", "rate"), 7),
    (("mechanism", "object"), {"object": {"class": "Spline", "options": {"df": 10**9}}}),
    (("record", "history"), None),
]


@pytest.mark.parametrize(("place", "value"), HOSTILE, ids=lambda v: str(v)[:40])
def test_a_file_with_one_bad_part_is_refused(saved, place, value, tmp_path):
    document = json.loads(saved)
    part = document["classifier"]
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    path = tmp_path / "a.model"
    path.write_text(json.dumps(document))
    with pytest.raises(ModelFileError, match="damaged"):
        load(path)


def test_a_spline_too_large_for_memory_is_refused(saved, tmp_path):
    document = json.loads(saved)
    options = document["classifier"]["mechanism"]["object"]["object"]["options"]
    options["basis"] = {"object": {"class": "Spline", "options": {"df": 10**9}}}
    (tmp_path / "a.model").write_text(json.dumps(document))
    with pytest.raises(ModelFileError, match="number of parameters"):
        load(tmp_path / "a.model")


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_file_changed_anywhere_loads_or_is_refused(saved, tmp_path_factory, data):
    """Nothing but ModelFileError comes out of load, whatever was done to the file."""
    place = data.draw(st.integers(0, len(saved) - 1))
    length = data.draw(st.integers(0, 6))
    patch = data.draw(st.text(st.characters(codec="utf-8"), max_size=6))
    path = tmp_path_factory.mktemp("fuzz") / "a.model"
    path.write_text(saved[:place] + patch + saved[place + length :], encoding="utf-8")
    with contextlib.suppress(ModelFileError):
        assert np.isfinite(load(path).predict_proba(X)).all()


# -- later versions must read what this one wrote -----------------------------------------------


@pytest.mark.parametrize("path", sorted(MODELS.glob("*.model")), ids=lambda p: p.stem)
def test_models_kept_from_earlier_versions(path):
    expected = json.loads(path.with_suffix(".json").read_text())
    model = load(path)
    assert model.classes_.tolist() == expected["classes"]
    rows = np.array(expected["rows"])
    names = getattr(model, "feature_names_in_", None)
    frame = rows if names is None else pd.DataFrame(rows, columns=names)
    np.testing.assert_allclose(model.predict_proba(frame), expected["posterior"], rtol=1e-9)
    assert model.predict(frame).tolist() == expected["predicted"]


def test_some_models_are_kept():
    assert len(list(MODELS.glob("*.model"))) >= 3
