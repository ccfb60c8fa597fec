"""`save` and `load`."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sklearn.pipeline import Pipeline

from hesitant.classifier import MixtureClassifier
from hesitant.persistence._document import (
    read_classifier,
    read_preparation,
    take,
    write_classifier,
    write_preparation,
)
from hesitant.persistence._errors import Damaged, ModelFileError
from hesitant.persistence._preparation import Preparation
from hesitant.tables import write_atomically
from hesitant.tables.errors import show_path

__all__ = ["load", "read_notes", "save"]

FORMAT = 1
_MARK = "hesitant model"
_LARGEST = 1 << 30  # bytes; four classes of a thousand features take a tenth of it
_AGAIN = "Save the model again, or check that this is the right file."


def save(
    model: MixtureClassifier | Pipeline,
    path: str | os.PathLike[str],
    *,
    force: bool = False,
    notes: Mapping[str, str] | None = None,
) -> Path:
    """Write a fitted model to a file that is safe to open.

    Parameters
    ----------
    model : MixtureClassifier or Pipeline
        A fitted classifier, or a pipeline of a `Preparation` and one.
    path : str or path
        The file, by custom with the suffix ``.model``. It is written whole or not at all.
    force : bool, default=False
        Whether to replace an existing file.
    notes : mapping of str to str, optional
        Anything worth keeping with the model, such as where its data came from.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    ValueError
        If the model has parts that are not the package's own (a family, mechanism or basis
        function that you wrote): a file that may hold code is a file that may do harm.
    TableError
        If the file exists already or cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from hesitant import MixtureClassifier
    >>> from hesitant.datasets import simulate
    >>> from hesitant.persistence import load, save
    >>> data = simulate(n=200, random_state=0)
    >>> clf = MixtureClassifier().fit(data.features, data.labels)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load(save(clf, folder + "/example.model"))
    >>> (again.predict(data.features) == clf.predict(data.features)).all()
    np.True_
    """
    from hesitant import __version__

    prep, clf = _parts(model)
    document = {
        _MARK: FORMAT,
        "written_by": f"hesitant {__version__}",
        "notes": {str(k): str(v) for k, v in (notes or {}).items()},
        "preparation": None if prep is None else write_preparation(prep),
        "classifier": write_classifier(clf, named=prep is None),
    }
    text = json.dumps(document, allow_nan=False, separators=(",", ":"))
    return write_atomically(path, text + "\n", force=force)


def _parts(model: Any) -> tuple[Preparation | None, MixtureClassifier]:
    if type(model) is MixtureClassifier:
        return None, model
    if isinstance(model, Pipeline):
        steps = [step for _, step in model.steps]
        if [type(s) for s in steps] == [Preparation, MixtureClassifier]:
            return steps[0], steps[1]
        found = ", ".join(type(s).__name__ for s in steps)
        raise ValueError(
            f"The pipeline is made of {found}: only a hesitant.persistence.Preparation (which "
            "standardises and finds principal components) before a MixtureClassifier can be saved."
        )
    raise ValueError(
        f"model is a {type(model).__name__}: give a fitted MixtureClassifier, or a Pipeline of a "
        "Preparation and one."
    )


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote.

    Nothing in the file is executed, whoever wrote it: names of classes are looked up among this
    package's own, and every array is checked before it is used.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    MixtureClassifier or Pipeline
        Whichever was saved.

    Raises
    ------
    ModelFileError
        If the file is absent, damaged, of a later version or no model at all.
    """
    name = show_path(os.fspath(path))
    document = _read(path, name)
    try:
        clf = read_classifier(document.get("classifier"))
        if document.get("preparation") is None:
            return clf
        prep = read_preparation(document["preparation"])
        width = prep.n_features_in_ if prep.rotation_ is None else prep.rotation_.shape[1]
        if width != clf.n_features_in_:
            raise Damaged("the preparation does not lead to the classifier's features")
        return Pipeline([("prepare", prep), ("classify", clf)])
    except Damaged as error:
        raise ModelFileError(name, f"The model file is damaged: {error}.", _AGAIN) from error
    except (TypeError, ValueError, ArithmeticError, RecursionError, MemoryError) as error:
        # The classes' own checks: a fit would have refused these options or numbers too.
        problem = f"The model file is damaged: {_first_line(error)}"
        raise ModelFileError(name, problem, _AGAIN) from error


def read_notes(path: str | os.PathLike[str]) -> dict[str, str]:
    """Return the notes that were saved with a model, and which version wrote it."""
    name = show_path(os.fspath(path))
    document = _read(path, name)
    notes = document.get("notes")
    kept = notes if isinstance(notes, dict) else {}
    out = {str(k): v for k, v in kept.items() if isinstance(v, str)}
    written_by = document.get("written_by")
    return {**out, "written_by": written_by if isinstance(written_by, str) else "unknown"}


def _read(path: str | os.PathLike[str], name: str) -> dict[str, Any]:
    """Return the document of a model file, so far as to know that it is one."""
    data = _bytes(path, name)
    if data.startswith((b"\x80", b"PK\x03\x04", b"\x1f\x8b", b"\x93NUMPY")):
        raise ModelFileError(
            name,
            "This is a pickle, an archive or an array, not a model written by hesitant.",
            "Give a file that hesitant.persistence.save or 'hesitant analyse' wrote; pickles are "
            "never opened, because they can run any program.",
        )
    try:
        document = json.loads(data.decode("utf-8"), parse_constant=_refuse_constant)
        version = take(document, _MARK, int)
    except Damaged as error:
        raise ModelFileError(name, "This is not a model written by hesitant.", _AGAIN) from error
    except (ValueError, RecursionError, MemoryError) as error:
        cut = data.startswith(f'{{"{_MARK}"'.encode())
        problem = (
            "The model file is cut short or damaged."
            if cut
            else "This is not a model written by hesitant."
        )
        raise ModelFileError(name, problem, _AGAIN) from error
    if version > FORMAT:
        raise ModelFileError(
            name,
            f"The model was written in format {version} by {read_writer(document)}; this version "
            f"reads up to {FORMAT}.",
            "Upgrade hesitant, or save the model with the older version.",
        )
    if version < 1:
        raise ModelFileError(name, f"There is no model format {version}.", _AGAIN)
    return dict(document)


def read_writer(document: Any) -> str:
    """Return which version wrote a document, cut to a decent length."""
    written_by = document.get("written_by")
    return written_by[:60] if isinstance(written_by, str) else "a later version"


def _bytes(path: str | os.PathLike[str], name: str) -> bytes:
    target = Path(path)
    try:
        size = target.stat().st_size
        if size > _LARGEST:
            raise ModelFileError(
                name, f"The file has {size:,} bytes, more than any model has.", _AGAIN
            )
        with target.open("rb") as file:
            return file.read(_LARGEST + 1)
    except FileNotFoundError as error:
        raise ModelFileError(name, "There is no such file.", "Check the name.") from error
    except IsADirectoryError as error:
        raise ModelFileError(name, "This is a folder.", "Name a model file in it.") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelFileError(name, f"It cannot be read: {reason}.", "Check the path.") from error


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _first_line(error: Exception) -> str:
    text = str(error).partition("\n")[0].strip() or type(error).__name__
    return text[:300] + ("" if text.endswith(".") else ".")
