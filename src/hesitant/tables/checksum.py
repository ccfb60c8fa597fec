"""`sha256_of`: which data an analysis was made of."""

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import TableError, show_path

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["sha256_of"]

_CHUNK = 1 << 20


def sha256_of(data: "str | os.PathLike[str] | pd.DataFrame") -> str:
    """Return the SHA-256 checksum of a file, or of the content of a data frame.

    Parameters
    ----------
    data : str, path or pandas.DataFrame
        A file, whose bytes count; or a table, whose column names, values and order count, and
        whose index and storage (text as objects or strings, 32 or 64 bits) do not.

    Returns
    -------
    str
        64 hexadecimal digits. That of a file is what ``sha256sum`` prints.

    Examples
    --------
    >>> import pandas as pd
    >>> sha256_of(pd.DataFrame({"x": [1.0, 2.0]}))[:12]
    '69f7b764add3'
    """
    if isinstance(data, str | os.PathLike):
        return _of_file(Path(data))
    digest = hashlib.sha256()
    for position, name in enumerate(data.columns):
        _add_text(digest, str(name))
        _add_column(digest, data.iloc[:, position])
    return digest.hexdigest()


def _of_file(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        raise TableError(
            show_path(str(path)), f"It cannot be read: {error.strerror}.", "Check the path."
        ) from error
    return digest.hexdigest()


def _add_column(digest: Any, column: Any) -> None:
    kind = column.dtype.kind
    digest.update(len(column).to_bytes(8, "little"))
    if kind in "biuf":
        if column.isna().any():
            kind = "f"
        # each kind in its widest form, in one byte order
        wide = {"b": "?", "i": "<i8", "u": "<u8", "f": "<f8"}[kind]
        values = column.to_numpy(wide, na_value=np.nan) if kind == "f" else column.to_numpy(wide)
        if kind == "f":
            values = np.where(np.isnan(values), np.nan, values)  # NaN has many bit patterns
        digest.update(kind.encode() + np.ascontiguousarray(values).tobytes())
        return
    digest.update(b"t")
    for cell, absent in zip(column, column.isna(), strict=True):
        if absent:
            digest.update(b"\xff")  # a length that no text has
        else:
            _add_text(digest, str(cell))


def _add_text(digest: Any, text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    digest.update(len(data).to_bytes(8, "big") + data)
