"""`save` and `load`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from hesitant.checks import is_ours
from hesitant.persistence._document import Damaged, decode, encode, expect_answers
from hesitant.tables import TableError, write_atomically
from hesitant.tables.output import PathLike

Notes: TypeAlias = Mapping[str, str]
FORMAT = 2
_MARK = "hesitant model"
_AGAIN = "Save the model again, or check that this is the right file."


class ModelFileError(TableError):
    """A model file that cannot be read, and what to do about it."""


def save(
    model: BaseEstimator, path: PathLike, *, force: bool = False, notes: Notes | None = None
) -> Path:
    """Write a fitted model to a file that is safe to open, whole or not at all.

    ``model`` is one of this package's estimators, or a pipeline of them such as a `Preparation`
    before a classifier. Families, mechanisms and the like of your own must be classes in a module
    that can be imported: a file carries no functions, for what may hold code may do harm. ``path``
    by custom has the suffix ``.model``; an existing file is replaced only with ``force``.
    ``notes`` are kept with the model, such as where its data came from.

    >>> import tempfile
    >>> from hesitant import MixtureClassifier, datasets, load, save
    >>> data = datasets.simulate(n=200, random_state=0)
    >>> clf = MixtureClassifier().fit(data.features, data.labels)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load(save(clf, folder + "/example.model"))
    >>> (again.predict(data.features) == clf.predict(data.features)).all()
    np.True_
    """
    return write_atomically(path, to_bytes(model, notes), force=force)


def to_bytes(model: BaseEstimator, notes: Notes | None = None) -> bytes:
    """Return what `save` writes."""
    from hesitant import __version__
    from hesitant.diagnostics._triage import least_of

    pipeline = isinstance(getattr(model, "steps", None), list)
    names, steps = zip(*(model.steps if pipeline else [(None, model)]), strict=True)
    for step in steps:
        if not is_ours(step):
            others = "a fitted MixtureClassifier, or a Pipeline of a Preparation and one"
            raise ValueError(f"model has a {type(step).__name__}: give {others}.")
        check_is_fitted(step)
    least = least_of(steps[-1])  # by which `hesitant predict` tells rows that fit no class
    notes = ({} if least is None else {"least_density": repr(least)}) | dict(notes or {})
    document = {
        _MARK: FORMAT,
        "written_by": f"hesitant {__version__}",
        "notes": {str(k): encode("notes", str(v)) for k, v in notes.items()},
        "names": names if pipeline else None,
        "steps": [encode("model", step) for step in steps],
    }
    return (json.dumps(document, allow_nan=False, separators=(",", ":")) + "\n").encode()


def load(path: PathLike) -> Any:
    """Read a model that `save` wrote.

    Nothing in the file is executed and nothing that it names is imported, whoever wrote it: every
    class must be known already and every array is checked before it is used. A model with a
    family or mechanism of your own needs the module of that class imported beforehand.

    A file that is absent, damaged, of a later version or no model at all is a `ModelFileError`.
    """
    document = _read(path)
    try:
        if document[_MARK] == 1:
            document = _from_format_1(document)
        names, steps = document.get("names"), [decode(step) for step in document["steps"]]
        model, steps[-1]._least_density = steps[0], document.get("notes", {}).get("least_density")
        if names is not None:
            from sklearn.pipeline import Pipeline  # slow to import, and seldom needed

            model = Pipeline([(str(name), step) for name, step in zip(names, steps, strict=True)])
        expect_answers(model)
        return model
    except Exception as error:  # of the classes' own checks: a fit would have refused it too
        words = str(error) if isinstance(error, Damaged | TypeError | ValueError) else ""
        words = words.partition("\n")[0][:300].strip().rstrip(".") or "a part is missing or odd"
        raise ModelFileError(path, f"The model file is damaged: {words}.", _AGAIN) from error


def _from_format_1(document: dict[str, Any]) -> dict[str, Any]:
    """Return what version 0.1 wrote, arranged as it is today."""
    fit, old = document["classifier"], document.get("preparation")
    fit["_more"] = _named_features(fit, fit["n_features"])
    inner = {"object": {"class": "MixtureClassifier", "options": fit["options"], "fit": fit}}
    if old is None:
        return {"steps": [inner]}
    p = decode(old["center"]).size
    fitted = {f"{k}_": old.get(k) for k in ("center", "scale", "rotation", "explained")}
    fitted |= {"n_features_in_": p, **_named_features(old, p)}
    options = {k: old.get(k) for k in ("standardise", "n_components")}
    first = {"object": {"class": "Preparation", "options": options, "fitted": fitted}}
    return {"names": ["prepare", "classify"], "steps": [first, inner]}


def _named_features(old: dict[str, Any], p: int) -> dict[str, Any]:
    names = old.get("feature_names")
    array = {"dtype": "object", "shape": [p], "values": names}
    return {} if names is None else {"feature_names_in_": array}


def read_notes(path: PathLike) -> dict[str, str]:
    """Return the notes that were saved with a model, and which version wrote it."""
    document = _read(path)
    kept = {**(document.get("notes") or {}), "written_by": document.get("written_by", "unknown")}
    return {k: v for k, v in kept.items() if isinstance(v, str)}


def _read(path: PathLike) -> dict[str, Any]:
    """Return the document of a model file, so far as to know that it is one."""
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ModelFileError(path, f"{why}.", "Check the path, and name a model file.") from error
    problem, remedy = "This is not a model written by hesitant.", _AGAIN
    if data.startswith((b"\x80", b"PK\x03\x04", b"\x1f\x8b", b"\x93NUMPY")):
        problem = "This is a pickle, an archive or an array, not a model written by hesitant."
        remedy = "Pickles are never opened, because they can run any program: save the model."
    elif data.startswith(f'{{"{_MARK}"'.encode()):
        problem = "The model file is cut short or damaged."
    try:
        document = json.loads(data.decode("utf-8"))
        version = document[_MARK]
        if type(version) is not int or not 1 <= version <= FORMAT:
            writer = str(document.get("written_by", "a later version"))[:60]
            remedy = "Upgrade hesitant, or save the model with the older version."
            problem = f"Format {str(version)[:20]}, of {writer}, is not one from 1 to {FORMAT}."
            raise ValueError(problem)
        if b"\\ud" in data.lower():
            problem = "The model file has text with half a character in it (a lone surrogate)."
            json.dumps(document, ensure_ascii=False).encode()
        return dict(document)
    except (ValueError, TypeError, LookupError, RecursionError, MemoryError) as error:
        raise ModelFileError(path, problem, remedy) from error
