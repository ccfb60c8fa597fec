"""A fitted classifier as one plain document, and back, with every number checked."""

import dataclasses
import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hesitant._typing import AnyArray, FloatArray
from hesitant.classifier import MixtureClassifier
from hesitant.exceptions import FitWarning
from hesitant.families import Family
from hesitant.fitting import Fit
from hesitant.labels import names_of
from hesitant.likelihood import Evaluation, State
from hesitant.mechanisms import Mechanism
from hesitant.persistence._errors import Damaged
from hesitant.persistence._objects import decode_option, encode_option
from hesitant.persistence._preparation import Preparation
from hesitant.persistence._values import decode_array, encode_array
from hesitant.solvers import Progress

__all__ = [
    "read_classifier",
    "read_preparation",
    "take",
    "write_classifier",
    "write_preparation",
]


# -- out ----------------------------------------------------------------------------------------


def write_classifier(clf: MixtureClassifier, *, named: bool) -> dict[str, Any]:
    """Return the document of a fitted classifier.

    Parameters
    ----------
    clf : MixtureClassifier
    named : bool
        Whether to keep the features' names; behind a preparation they are its business.
    """
    check_is_fitted(clf)
    options = {k: _option(k, v) for k, v in clf.get_params(deep=False).items()}
    # Saved as it was fitted: without blanks a mechanism gives way to none.
    mechanism = {
        "object": encode_option("mechanism", clf.mechanism_),
        "theta": encode_array(clf.state_.theta),
        "rate": getattr(clf.mechanism_, "rate_", None),
    }
    encode_option("family", clf.family_)  # a class of the user's own is refused here
    try:
        classes = encode_array(clf.classes_)
    except TypeError as error:
        raise ValueError(
            f"The classes are {error}, which a model file cannot carry: fit with labels that are "
            "text, numbers, booleans or dates."
        ) from None
    names = getattr(clf, "feature_names_in_", None) if named else None
    return {
        "options": options,
        "n_features": int(clf.n_features_in_),
        "feature_names": None if names is None else [str(n) for n in names],
        "classes": classes,
        "weights": encode_array(clf.weights_),
        "params": {k: encode_array(np.asarray(v)) for k, v in _fields(clf.state_.params).items()},
        "mechanism": mechanism,
        "record": {
            "log_likelihood": float(clf.log_likelihood_),
            "n_rows": float(clf.n_rows_),
            "converged": bool(clf.converged_),
            "termination": str(clf.termination_),
            "history": encode_array(np.asarray(clf.history_, dtype=float)),
            "n_iter": int(clf.n_iter_),
        },
    }


def _option(name: str, value: Any) -> Any:
    if name == "init" and hasattr(value, "parameters_"):
        value = dict(value.parameters_)  # all that a fit takes from another model
    if name == "classes" and value is not None:
        value = [v.item() if isinstance(v, np.generic) else v for v in value]
    if name == "random_state" and isinstance(value, np.random.RandomState | np.random.Generator):
        warnings.warn(
            f"random_state is a {type(value).__name__}, whose position a model file cannot keep: "
            "the loaded model has random_state=None. Give a number to keep it.",
            FitWarning,
            stacklevel=5,
        )
        value = None
    return encode_option(name, value)


def _fields(params: Any) -> dict[str, Any]:
    if not dataclasses.is_dataclass(params):
        raise ValueError(
            f"The parameters are a {type(params).__name__}; only dataclasses of arrays can be "
            "saved."
        )
    fields = {f.name: getattr(params, f.name) for f in dataclasses.fields(params)}
    return {name: value for name, value in fields.items() if np.size(value)}


def write_preparation(prep: Preparation) -> dict[str, Any]:
    """Return the document of a fitted preparation."""
    check_is_fitted(prep)
    names = getattr(prep, "feature_names_in_", None)

    def array(value: AnyArray | None) -> Any:
        return None if value is None else encode_array(value)

    return {
        "standardise": bool(prep.standardise),
        "n_components": None if prep.n_components is None else int(prep.n_components),
        "feature_names": None if names is None else [str(n) for n in names],
        "center": array(prep.center_),
        "scale": array(prep.scale_),
        "rotation": array(prep.rotation_),
        "explained": array(prep.explained_),
    }


# -- back ---------------------------------------------------------------------------------------


def read_classifier(document: Any) -> MixtureClassifier:
    """Return the classifier of a document, or raise Damaged.

    Everything is rebuilt by the constructors and checks that a fit uses, so a document can only
    describe what a fit could have left behind. Shapes matter most: compiled loops trust them.
    """
    options = {k: decode_option(v) for k, v in take(document, "options", dict).items()}
    unknown = set(options) - set(MixtureClassifier._get_param_names())
    if unknown:
        raise Damaged(
            f"MixtureClassifier has no option {sorted(unknown)[0][:60]!r} in this version"
        )
    clf = MixtureClassifier(**options)
    family, _ = clf._resolve()
    p = take(document, "n_features", int)
    classes = decode_array(take(document, "classes", dict))
    weights = decode_array(take(document, "weights", dict))
    g = classes.size
    if p < 1 or g < 2 or classes.ndim != 1 or len(set(classes.tolist())) < g:
        raise Damaged("it needs at least one feature and two different classes")
    if weights.shape != (g,) or not (weights >= 0).all() or abs(weights.sum() - 1) > 1e-6:
        raise Damaged("the classes' weights are not probabilities")
    params = _read_params(take(document, "params", dict), family, g, p)
    mechanism, theta = _read_mechanism(take(document, "mechanism", dict), names_of(classes))
    clf.n_features_in_ = p
    names = _read_names(document, p)
    if names is not None:
        clf.feature_names_in_ = names
    record = take(document, "record", dict)
    fit = _read_record(record, clf, State(weights, params, theta))
    n_rows = record.get("n_rows", 0.0)  # the first files did not say
    if not (isinstance(n_rows, int | float) and 0 <= n_rows < np.inf):
        raise Damaged("its number of rows is not one")
    clf._publish(family, mechanism, classes, fit, n_rows)
    clf.n_iter_ = _count(record.get("n_iter", clf.n_iter_))  # warm-up steps have no history
    return clf


def _read_params(document: dict[str, Any], family: Family, g: int, p: int) -> Any:
    arrays = {k: decode_array(v) for k, v in document.items()}
    # Before a p by p matrix is made: a short file must not ask for a lot of memory.
    if not any(a.shape == (g, p, p) for a in arrays.values()):
        raise Damaged("the scale matrices do not fit the number of classes and features")
    rows = np.random.default_rng(0).standard_normal((8, p))
    template = family.initial(rows, np.ones((8, g)))
    wanted = _fields(template)
    if set(arrays) != set(wanted):
        raise Damaged("the parameters are not those of its family")
    for name, like in wanted.items():
        array, like = arrays[name], np.asarray(like)
        if array.shape != like.shape or array.dtype != like.dtype:
            raise Damaged(f"the parameter {name!r} has the wrong shape or type")
        if np.isnan(array).any():
            raise Damaged(f"the parameter {name!r} is not a number")
    if "whitener" in arrays:
        diagonal = np.diagonal(arrays["whitener"], axis1=1, axis2=2)
        core = [arrays[k] for k in ("center", "spread", "location", "whitener")]
        if not (
            all(np.isfinite(a).all() for a in core)
            and (diagonal > 0).all()
            and (np.triu(arrays["whitener"], 1) == 0).all()
            and (arrays["spread"] > 0).all()
        ):
            raise Damaged("a scale matrix is not positive definite")
    return type(template)(**arrays)


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise Damaged("its number of iterations is not one")
    return value


def _read_mechanism(document: dict[str, Any], names: list[str]) -> tuple[Mechanism, FloatArray]:
    mechanism = decode_option(document.get("object"))
    if not isinstance(mechanism, Mechanism):
        raise Damaged("its mechanism is not one")
    mechanism = mechanism.prepare(len(names))
    mechanism.class_names = names
    theta = decode_array(take(document, "theta", dict))
    if theta.shape != (mechanism.n_parameters,) or theta.dtype != np.float64:
        raise Damaged("the mechanism has the wrong number of parameters")
    if not np.isfinite(theta).all():
        raise Damaged("a parameter of the mechanism is not finite")
    rate = document.get("rate")
    if rate is not None and not (isinstance(rate, int | float) and 0 <= rate <= 1):
        raise Damaged("the share of labelled rows is not a share")
    return mechanism.fitted(theta, 0.5 if rate is None else rate), theta


def _read_record(document: dict[str, Any], clf: MixtureClassifier, state: State) -> Fit:
    nothing = np.zeros(0)
    value = float(take(document, "log_likelihood", float))
    progress = Progress(clf.tol, clf.max_iter)
    progress.history = decode_array(take(document, "history", dict)).astype(float).tolist()
    progress.converged = take(document, "converged", bool)
    progress.reason = take(document, "termination", str)
    final = Evaluation(value, value, nothing, nothing, np.zeros((0, 0)), ())
    return Fit(state, final, progress)


def read_preparation(document: Any) -> Preparation:
    """Return the preparation of a document, or raise Damaged."""
    prep = Preparation(take(document, "standardise", bool), document.get("n_components"))
    prep.center_ = decode_array(take(document, "center", dict))
    prep.scale_ = decode_array(take(document, "scale", dict))
    p = prep.center_.size
    prep.rotation_ = prep.explained_ = None
    if document.get("rotation") is not None:
        prep.rotation_ = decode_array(document["rotation"])
        prep.explained_ = decode_array(take(document, "explained", dict))
    arrays = [a for a in (prep.center_, prep.scale_, prep.rotation_) if a is not None]
    if (
        prep.center_.shape != (p,)
        or prep.scale_.shape != (p,)
        or (prep.rotation_ is not None and prep.rotation_.shape[:-1] != (p,))
        or not all(a.dtype == np.float64 and np.isfinite(a).all() for a in arrays)
        or not (prep.scale_ > 0).all()
    ):
        raise Damaged("the preparation's arrays do not fit together")
    prep.n_features_in_ = p
    names = _read_names(document, p)
    if names is not None:
        prep.feature_names_in_ = names
    return prep


def _read_names(document: dict[str, Any], p: int) -> AnyArray | None:
    names = document.get("feature_names")
    if names is None:
        return None
    if not (
        isinstance(names, list) and len(names) == p and all(isinstance(n, str) for n in names)
    ):
        raise Damaged("the features' names do not fit the number of features")
    out = np.empty(p, dtype=object)
    out[:] = names
    return out


def take(document: Any, key: str, kind: type) -> Any:
    """Return a part of a document, or raise Damaged if it is absent or of another kind."""
    if not isinstance(document, dict) or type(document.get(key)) is not kind:
        raise Damaged(f"its part {key!r} is missing or not what it should be")
    return document[key]
