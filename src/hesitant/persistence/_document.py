"""Estimators as plain documents, exactly, and back with every part checked.

Numbers, text, None and lists stand for themselves; everything else is an object that tells what it
is. Whatever goes wrong while a file is read means that it is damaged: what is checked here is what
would otherwise go unnoticed, or reach compiled code.
"""

import base64
import math
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from hesitant._typing import AnyArray
from hesitant.checks import is_ours
from hesitant.classifier import MixtureClassifier
from hesitant.exceptions import FitWarning
from hesitant.families import Family
from hesitant.labels import names_of
from hesitant.likelihood import State
from hesitant.mechanisms import Basis, Mechanism
from hesitant.model import FittedModel

_BINARY = "biufM"  # kinds of arrays that are kept as bytes: no other is ever built of them
_PLAIN = (bool, int, float, str)
_MOST_FUNCTIONS = 1000  # of a basis
_TRIED = (0.0, 1.0, -1e3, 1e6)  # values of all features that a loaded model is tried on
_LARGEST = 1e150  # the square of a parameter beyond is more than a number can hold
_SAID: dict[str, Any] = {"log_likelihood": float, "n_rows": int | float, "converged": bool}
_RECORD = {**_SAID, "termination": str, "history": np.ndarray, "n_iter": int}


class Damaged(Exception):
    """Something in a file that `save` would not have written; `load` adds the file's name."""


def expect(right: Any, words: str) -> None:
    if not right:
        raise Damaged(words)


def encode(name: str, value: Any) -> Any:
    """Return a value as JSON can say it; `name` is for the message if it cannot be said."""
    if isinstance(value, np.generic) and value.dtype.kind in "biufU":
        value = value.item()
    if isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
        raise ValueError(f"{name}: {value!r:.60} has half a character (a lone surrogate).")
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, np.ndarray):
        return _encode_array(name, value)
    if isinstance(value, list):
        return [encode(name, v) for v in value]
    if isinstance(value, tuple):
        return {"tuple": [encode(name, v) for v in value]}
    if isinstance(value, dict):
        return {"pairs": [[encode(name, k), encode(str(k), v)] for k, v in value.items()]}
    if isinstance(value, BaseEstimator):
        return {"object": _encode_object(name, value)}
    if isinstance(value, np.random.RandomState | np.random.Generator):
        lost = f"{name} is a {type(value).__name__}, which no model file can keep: give a number."
        warnings.warn(lost, FitWarning, stacklevel=2)
        return None
    what = f"{name} holds a {type(value).__name__}, which a model file cannot carry"
    raise ValueError(f"{what}: no functions, only numbers, text and objects of hesitant.")


def _encode_array(name: str, array: AnyArray) -> dict[str, Any]:
    dtype, shape = str(array.dtype), list(array.shape)
    if array.dtype.kind in _BINARY:
        data = array.astype(array.dtype.newbyteorder("<")).tobytes()
        return {"dtype": dtype, "shape": shape, "base64": base64.b64encode(data).decode()}
    if array.dtype.kind not in "UO":
        raise ValueError(f"{name} is an array of {dtype}, which a model file cannot carry.")
    kind = "str" if array.dtype.kind == "U" else "object"
    return {"dtype": kind, "shape": shape, "values": encode(name, array.ravel().tolist())}


def decode(document: Any) -> Any:
    """Undo `encode`, or raise Damaged."""
    if isinstance(document, list):
        return [decode(v) for v in document]
    if not isinstance(document, dict):
        return document
    if "dtype" in document:
        return _decode_array(document)
    tag, inner = next(iter(document.items()), ("", None))
    expect(tag in _READERS, "an option has a value of no known kind")
    return _READERS[tag](inner)


def _decode_array(document: dict[str, Any]) -> AnyArray:
    try:
        dtype = np.dtype(document["dtype"])
        if dtype.kind in "UO":
            values = [decode(v) for v in document["values"]]
            if not all(type(v) in ((str,) if dtype.kind == "U" else _PLAIN) for v in values):
                raise ValueError("of another type")
            flat = np.array([*values, None], dtype=object)[:-1].astype(dtype)
        elif dtype.kind not in _BINARY:
            raise ValueError("of no known type")
        elif "values" in document:  # version 0.1 listed numbers, too
            flat = np.array(document["values"], dtype=dtype)
        else:
            data = base64.b64decode(document["base64"], validate=True)
            stored = np.dtype("u1") if dtype.kind == "b" else dtype.newbyteorder("<")
            flat = np.frombuffer(data, stored).astype(dtype)
        return flat.reshape(document["shape"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise Damaged("an array's type, shape and values do not agree") from error


def _encode_object(name: str, value: BaseEstimator) -> dict[str, Any]:
    kind, options = type(value), {k: encode(k, v) for k, v in value.get_params(deep=False).items()}
    if _classes().get(_class_name(kind)) is not kind or kind.__module__ == "__main__":
        own = f"{name} is of a class of your own, {kind.__name__}, and a model file holds no code"
        raise ValueError(f"{own}: derive it, in a module, from a class of hesitant.")
    document = {"class": _class_name(kind), "options": options}
    if isinstance(value, MixtureClassifier) and hasattr(value, "state_"):
        return {**document, "fit": _encode_fit(value)}
    return {**document, "fitted": _attributes(value)}


def _attributes(value: Any) -> dict[str, Any]:
    """Return what a fit has left in an object; what it found of each row does not travel."""
    kept = {k: v for k, v in vars(value).items() if k[-1] == "_" != k[0]}
    return {k: encode(k, v) for k, v in kept.items() if k != "held_out_proba_"}


def _decode_object(document: dict[str, Any]) -> Any:
    name = document["class"]
    if name not in _classes():  # perhaps in the one room that nobody may have entered yet
        import_module("hesitant.model_selection")
    kind: Any = _classes().get(name)
    # Importing what a file names would let the file choose what runs.
    own = f" (import {name.partition(':')[0][:60]!r} first, if you trust it)" * (":" in name)
    expect(kind, f"it names a class that is not known here: {name[:60]!r}{own}")
    made = kind(**{k: decode(v) for k, v in document["options"].items()})
    if isinstance(made, Basis):
        expect(0 < made.size <= _MOST_FUNCTIONS, f"no basis has {made.size} functions")
    if isinstance(made, MixtureClassifier) and "fit" in document:
        _decode_fit(made, document["fit"])
    _set_attributes(made, document.get("fitted", {}))
    return made


def _set_attributes(made: Any, document: Any) -> None:
    """Set what a fit has left in an object; never anything that its class defines."""
    for name, value in document.items():
        right = name.isidentifier() and name[0] != "_" and getattr(type(made), name, None) is None
        expect(right, f"{type(made).__name__} has no attribute {name[:60]!r}")
        setattr(made, name, decode(value))


_READERS: dict[str, Callable[[Any], Any]] = {
    "float": float,
    "array": decode,
    "tuple": lambda inner: tuple(decode(v) for v in inner),
    "pairs": lambda inner: {decode(k): decode(v) for k, v in inner},
    "dict": lambda inner: {k: decode(v) for k, v in inner.items()},  # of version 0.1
    "object": _decode_object,
}


def _class_name(kind: type) -> str:
    return kind.__name__ if is_ours(kind) else f"{kind.__module__}:{kind.__qualname__}"


def _classes() -> dict[str, Any]:
    """Find the estimators of the package, and those that derive from one of them, by name."""
    found: dict[str, Any] = {}
    waiting: list[Any] = [BaseEstimator]
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if any(map(is_ours, kind.__mro__)) and "<locals>" not in kind.__qualname__:
            found[_class_name(kind)] = kind
    return found


def _encode_fit(clf: Any) -> dict[str, Any]:
    """Return the numbers of a fit from which a reader can work out the rest."""
    theta, rate = encode("theta", clf.state_.theta), getattr(clf.mechanism_, "rate_", None)
    document = {
        "n_features": int(clf.n_features_in_),
        "classes": encode("the class labels", clf.classes_),
        "weights": encode("weights", clf.weights_),
        # Saved as they were fitted: without blanks a mechanism gives way to none.
        "family": encode("family", clone(clf.family_)),
        "params": _take_apart(clf.state_.params),
        "mechanism": {
            "object": encode("mechanism", clone(clf.mechanism_)),
            "theta": theta,
            "rate": rate,
        },
        "record": {name: encode(name, getattr(clf, f"{name}_")) for name in _RECORD},
        "family_more": _attributes(clf.family_),
    }
    # Read it at once: what would be refused later is refused now, and whatever the fit left
    # behind that a reader cannot work out is added.
    again = clone(clf)
    try:
        _decode_fit(again, document)
    except Damaged as error:
        raise ValueError(f"The model cannot be saved: {error}.") from error
    for part in ("", "family", "mechanism"):
        old, new = (getattr(c, f"{part}_") if part else c for c in (clf, again))
        left = {k: v for k, v in vars(old).items() if k not in vars(new) and k[0] != "_"}
        document.setdefault(f"{part}_more", {}).update((k, encode(k, v)) for k, v in left.items())
    return document


def _take_apart(params: Any) -> Any:
    """Return a family's parameters, whatever they are made of, as a document."""
    if isinstance(params, np.ndarray | int | float):
        return encode("params", np.asarray(params))
    if isinstance(params, list | tuple):
        return [_take_apart(v) for v in params]
    return {k: _take_apart(v) for k, v in vars(params).items() if np.size(v)}


def _put_together(document: Any, like: Any, name: str = "params") -> Any:
    """Return parameters of the same types and shapes as those of a fresh start."""
    if isinstance(like, np.ndarray | int | float):
        array = decode(document)
        right = isinstance(array, np.ndarray) and array.dtype == np.asarray(like).dtype
        # What only some structures have is empty in a fresh start.
        right = right and (array.shape == np.shape(like) or np.size(like) == 0)
        expect(right and array.ndim == np.ndim(like), f"{name!r} has the wrong shape or type")
        # A Gaussian limit has infinite degrees of freedom.
        finite = array[~np.isposinf(array)] if name == "dof" else array
        expect((np.abs(finite) <= _LARGEST).all(), f"{name!r} has no numbers, or too large ones")
        return array if isinstance(like, np.ndarray) else type(like)(array)
    if isinstance(like, list | tuple):
        return type(like)(_put_together(d, v, name) for d, v in zip(document, like, strict=True))
    fields = vars(like)
    # Files lack what is empty, those of earlier versions what came later.
    needed = {k for k, v in fields.items() if np.size(v)} - set(getattr(like, "newer", ()))
    expect(needed <= set(document) <= set(fields), "the parameters are not those of its family")
    return type(like)(**{k: _put_together(v, fields[k], k) for k, v in document.items()})


def _decode_fit(clf: Any, document: Any) -> None:
    """Put a fit into a classifier, or raise Damaged; compiled loops trust the shapes."""
    family, _ = clf._resolve()
    if "family" in document:  # version 0.1 had it among the options alone
        family = decode(document["family"])
        expect(isinstance(family, Family), "its family is not one")
        family = family.specialise(clf.covariance, clf.reg_covar)
    _set_attributes(family, document.get("family_more", {}))
    p, classes, weights = (decode(document[k]) for k in ("n_features", "classes", "weights"))
    g = classes.size
    right = type(p) is int and p > 0 and g > 1 and classes.ndim == 1
    expect(right and len(set(classes.tolist())) == g, "it needs a feature and different classes")
    right = weights.shape == (g,) and (weights >= 0).all() and abs(weights.sum() - 1) <= 1e-6
    expect(right, "the classes' weights are not probabilities")
    params = _decode_params(document["params"], family, g, p)
    mechanism = _decode_mechanism(document, classes)
    record = {k: decode(v) for k, v in document["record"].items()}
    record["history"] = record["history"].astype(float)
    # The first files did not say these two; warm-up steps have no history.
    record = {"n_rows": 0.0, "n_iter": len(record["history"]), **record}
    right = all(isinstance(record[k], kind) for k, kind in _RECORD.items())
    right = right and 0 <= record["n_rows"] < np.inf and record["n_iter"] >= 0
    expect(right, "what it says of the fit is not what a fit says")
    more = document.get("_more", {})
    names = decode(more.get("feature_names_in_"))
    expect(names is None or names.shape == (p,), "the features' names do not fit their number")
    state, clf.n_features_in_ = State(weights, params, mechanism.parameters_), p
    clf._publish(FittedModel(family, mechanism, state, classes, p, names, clf.alpha, **record))
    expect_answers(clf)
    _set_attributes(clf, more)


def _decode_params(document: Any, family: Family, g: int, p: int) -> Any:
    # Before a p by p matrix is made: a short file must not ask for a lot of memory.
    expect(len(str(document)) >= (p**2 if is_ours(family) else p), "there are too few parameters")
    rows = np.random.default_rng(0).exponential(size=(64, p))
    params = _put_together(document, family.initial(rows, np.ones((64, g))))
    expect((getattr(params, "dof", np.ones(1)) > 0).all(), "degrees of freedom must be positive")
    whitener = getattr(params, "whitener", None)
    if whitener is not None:
        right = (np.diagonal(whitener, axis1=1, axis2=2) > 0).all() and (params.spread > 0).all()
        expect(right and not np.triu(whitener, 1).any(), "a scale is not positive definite")
    return params


def _decode_mechanism(document: Any, classes: AnyArray) -> Any:
    part = document["mechanism"]
    mechanism, theta, rate = (decode(part.get(k)) for k in ("object", "theta", "rate"))
    expect(isinstance(mechanism, Mechanism), "its mechanism is not one")
    mechanism = mechanism.prepare(len(classes))
    mechanism.class_names = names_of(classes)
    _set_attributes(mechanism, document.get("mechanism_more", {}))
    right = theta.shape == (mechanism.n_parameters,) and theta.dtype == np.float64
    right = right and (np.abs(theta) <= _LARGEST).all()
    expect(right, "the mechanism's parameters are too few, too many or not finite")
    rate = 0.5 if rate is None else float(rate)
    expect(0 <= rate <= 1, "the share of labelled rows is not a share")
    return mechanism.fitted(theta, rate)


def expect_answers(model: Any) -> None:
    """Raise Damaged unless a model has answers for rows wherever they may lie."""
    p = model.n_features_in_
    expect(type(p) is int and 0 < p < 1 << 20, "it does not say how many features it needs")
    rows = np.multiply.outer(_TRIED, np.ones(p))
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):  # of no names
        found = [model.predict_proba(rows)]
        if isinstance(model, MixtureClassifier):
            found += [model.entropy(rows), model.labelling_probability(rows)]
    right = found[0].shape == (len(rows), len(model.classes_))
    right = right and all(np.isfinite(a).all() and (a >= 0).all() for a in found)
    expect(right, "its parts do not fit together, or its probabilities are not numbers")
