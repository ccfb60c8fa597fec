"""Models in files: the same model comes back, and no file can do harm."""

import base64
import json
import pickle
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from helpers_families import Exponential, Rates
from hesitant import FitWarning, MixtureClassifier, MixtureClassifierCV
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
    """A family of the user's own, in a module."""

    def __init__(self, touch: float = 1.0) -> None:
        self.touch = touch


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
    *({"covariance": c} for c in ("tied", "diag", "spherical", "shrunk")),
    {"mechanism": "class"},
    {"mechanism": "entropy+class", "alpha": 0.7},
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
@pytest.mark.filterwarnings("ignore::hesitant.FitWarning")
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
        ["x" * 10_000, "y"],
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


def test_classes_of_the_users_own_are_saved_by_name(tmp_path):
    path = tmp_path / "a.model"
    clf = MixtureClassifier(family=OwnGaussian(2.0)).fit(X, Y)
    again = load(save(clf, path))
    assert same(clf, again)
    assert type(again.family) is OwnGaussian
    assert again.family_.touch == 2.0
    # Where nobody has imported the module the file does not get it imported.
    text = path.read_text()
    path.write_text(text.replace(f"{OwnGaussian.__module__}:", "antigravity:"))
    with pytest.raises(ModelFileError, match="import 'antigravity' first"):
        load(path)
    assert "antigravity" not in sys.modules
    for other in ("pathlib:Path", "sklearn.svm._classes:SVC", "os:system", "hesitant:FitWarning"):
        path.write_text(text.replace(f"{OwnGaussian.__module__}:OwnGaussian", other))
        with pytest.raises(ModelFileError, match="not known here"):
            load(path)


def test_parameters_of_any_make_come_back(tmp_path):
    data = np.abs(X) + 0.1
    clf = MixtureClassifier(family=Exponential(), mechanism=None, solver="em").fit(data, Y)
    again = load(save(clf, tmp_path / "a.model"))
    np.testing.assert_array_equal(clf.predict_log_proba(data), again.predict_log_proba(data))
    assert type(again.state_.params) is Rates


def test_what_a_fit_leaves_in_its_objects_is_kept(tmp_path):
    clf = MixtureClassifier().fit(X, Y)
    clf.notes_ = {("a", 1): np.arange(3), "b": [None, 2.5]}
    clf.mechanism_.temperature_ = 3
    clf.family_.strength = 0.25
    again = load(save(clf, tmp_path / "a.model"))
    assert again.notes_["b"] == [None, 2.5]
    assert again.notes_["a", 1].tolist() == [0, 1, 2]
    assert again.mechanism_.temperature_ == 3
    assert again.family_.strength == 0.25


class Committee(Preparation):
    """An estimator that holds several fitted models."""

    def predict_proba(self, X):
        return sum(
            w * m.predict_proba(X) for w, m in zip(self.weights_, self.models_, strict=True)
        )


Committee.__module__ = "hesitant.committee"


def test_several_models_in_one_file(tmp_path):
    committee = Committee().fit(X)
    committee.models_ = [MixtureClassifier(covariance=c).fit(X, Y) for c in ("full", "tied")]
    committee.weights_ = np.array([0.25, 0.75])
    committee.classes_ = committee.models_[0].classes_
    again = load(save(committee, tmp_path / "a.model"))
    np.testing.assert_array_equal(again.predict_proba(X), committee.predict_proba(X))


def test_models_combined_by_held_out_rows_come_back(tmp_path):
    candidates = {c: MixtureClassifier(covariance=c) for c in ("full", "tied")}
    clf = MixtureClassifierCV(candidates, cv=2, random_state=0).fit(X, Y)
    again = load(save(clf, tmp_path / "a.model"))
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    assert again.weights_ == clf.weights_
    assert not hasattr(again, "held_out_proba_")  # of rows, which do not travel


def test_what_no_file_can_carry_is_refused(tmp_path):
    class Local(Gaussian):
        pass

    basis = Functions([np.tanh], [lambda u: 1 / np.cosh(u) ** 2])
    for options, words in [
        ({"family": Local()}, "class of your own, Local"),
        ({"mechanism": EntropyMechanism(basis=basis)}, "no functions"),
    ]:
        clf = MixtureClassifier(**options).fit(X, Y)
        with pytest.raises(ValueError, match=words):
            save(clf, tmp_path / "a.model")
    with pytest.raises(ValueError, match="model has a str"):
        save("a string", tmp_path / "a.model")
    with pytest.raises(ValueError, match="StandardScaler"):
        save(Pipeline([("s", StandardScaler()), ("c", MixtureClassifier())]), tmp_path / "a.model")
    with pytest.raises(NotFittedError):
        save(MixtureClassifier(), tmp_path / "a.model")
    y = np.array(["a", "\ud800 half"])[DATA.truth]
    with pytest.raises(ValueError, match="half a character"):
        save(MixtureClassifier(mechanism=None).fit(X, y), tmp_path / "a.model")
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
        (b'{"hesitant model": 1e999}', "is not one from 1"),
        (b'{"hesitant model": ' + b"9" * 10_000 + b"}", "damaged"),
        (b'{"hesitant model": 3, "written_by": "hesitant 9.0"}', "Upgrade"),
        (b'{"hesitant model": 0}', "is not one from 1"),
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
    with pytest.raises(ModelFileError, match=r"(?i)no such file"):
        load(tmp_path / "none.model")
    with pytest.raises(ModelFileError, match=r"(?i)directory"):
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


def changed(document, place, value):
    part = document
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    return json.dumps(document)


def refused(path, text, words="damaged"):
    path.write_text(text)
    with pytest.raises(ModelFileError, match=words):
        load(path)


@pytest.mark.parametrize(("place", "value"), HOSTILE, ids=lambda v: str(v)[:40])
def test_an_old_file_with_one_bad_part_is_refused(place, value, tmp_path):
    document = json.loads((MODELS / "0.1_gaussian_entropy.model").read_text())
    refused(tmp_path / "a.model", changed(document, ("classifier", *place), value))


def packed(*values, dtype="float64"):
    return base64.b64encode(np.array(values, dtype).tobytes()).decode()


STEP = ("steps", 0, "object")
FIT = (*STEP, "fit")
BAD_PARTS = [
    (("steps",), []),
    (("steps",), None),
    (("names",), ["a", "b"]),
    (("names",), 3),
    ((*STEP, "class"), "Preparation"),
    ((*STEP, "class"), ["MixtureClassifier"]),
    ((*STEP, "options", "surprise"), 1),
    ((*STEP, "options", "mechanism"), {"object": {"class": "Spline", "options": {"df": 10**9}}}),
    ((*STEP, "fitted"), {"predict_proba": 3}),
    ((*STEP, "fitted"), {"__class__": 3}),
    ((*FIT, "_more"), {"fit": None}),
    ((*FIT, "_more"), [1]),
    ((*FIT, "family_more"), {"log_density": 1}),
    ((*FIT, "mechanism_more"), {"not a name": 1}),
    ((*FIT, "family"), {"object": {"class": "EntropyMechanism", "options": {}}}),
    ((*FIT, "family"), {"object": {"class": "StudentT", "options": {}}}),
    ((*FIT, "n_features"), 10**9),
    ((*FIT, "classes", "base64"), packed(1, 1, dtype="int64")),
    ((*FIT, "classes", "dtype"), "object"),
    ((*FIT, "weights", "base64"), packed(0.5, 0.6)),
    ((*FIT, "weights", "base64"), "?"),
    ((*FIT, "params", "location", "shape"), [4, 1]),
    ((*FIT, "params", "location", "base64"), packed(0, 0, 0, 2e150)),
    ((*FIT, "params", "location", "base64"), packed(0, 0, 0, np.nan)),
    ((*FIT, "params", "location", "dtype"), "int64"),
    ((*FIT, "params", "whitener", "base64"), packed(*[0] * 8)),
    ((*FIT, "params", "spread", "base64"), packed(1, -1)),
    ((*FIT, "mechanism", "theta", "base64"), packed(np.nan, 0)),
    ((*FIT, "mechanism", "theta", "base64"), packed(0, 1e200)),
    ((*FIT, "mechanism", "rate"), "half"),
    ((*FIT, "record", "history"), 3),
    ((*FIT, "record", "n_iter"), -1),
    ((*FIT, "record"), []),
]


@pytest.mark.parametrize(("place", "value"), BAD_PARTS, ids=lambda v: str(v)[-40:])
def test_a_file_with_one_bad_part_is_refused(saved, place, value, tmp_path):
    refused(tmp_path / "a.model", changed(json.loads(saved), place, value))


@pytest.mark.parametrize("dof", [0.0, -1.0, np.nan, -np.inf])
@pytest.mark.filterwarnings("ignore::hesitant.FitWarning")
def test_degrees_of_freedom_must_be_positive(dof, tmp_path):
    path = tmp_path / "a.model"
    clf = MixtureClassifier(family="t", mechanism=None).fit(X, Y)
    document = json.loads(save(clf, path).read_text())
    refused(path, changed(document, (*FIT, "params", "dof", "base64"), packed(5, dof)))


def test_half_characters_are_refused(saved, tmp_path):
    text = saved.replace('"notes":{', '"notes":{"a":"\\uD83D!",')
    refused(tmp_path / "a.model", text, "half a character")
    with pytest.raises(ModelFileError, match="half a character"):
        read_notes(tmp_path / "a.model")
    (tmp_path / "a.model").write_text(text.replace("!", "\\uDE00"))  # the other half
    assert read_notes(tmp_path / "a.model")["a"] == "😀"


def test_a_spline_too_large_for_memory_is_refused(saved, tmp_path):
    place = (*FIT, "mechanism", "object", "object", "options", "basis")
    spline = {"object": {"class": "Spline", "options": {"df": 10**9}}}
    text = changed(json.loads(saved), place, spline)
    refused(tmp_path / "a.model", text, "no basis has 1000000000 functions")


# -- later versions must read what this one wrote -----------------------------------------------


@pytest.mark.parametrize("path", sorted(MODELS.glob("*.model")), ids=lambda p: p.stem)
def test_models_kept_from_earlier_versions(path, tmp_path):
    expected = json.loads(path.with_suffix(".json").read_text())
    model = load(path)
    assert model.classes_.tolist() == expected["classes"]
    rows = np.array(expected["rows"])
    names = getattr(model, "feature_names_in_", None)
    frame = rows if names is None else pd.DataFrame(rows, columns=names)
    np.testing.assert_allclose(model.predict_proba(frame), expected["posterior"], rtol=1e-9)
    assert model.predict(frame).tolist() == expected["predicted"]
    again = load(save(model, tmp_path / "again.model"))
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))


def test_some_models_are_kept():
    assert len(list(MODELS.glob("*.model"))) >= 3
