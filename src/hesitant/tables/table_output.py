"""`write_table`: a data frame in the format that its file's name asks for."""

import os
from pathlib import Path
from typing import BinaryIO

import pandas as pd

from .atomic import write_atomically
from .csv_output import write_csv
from .errors import TableError, show_path

__all__ = ["check_format", "write_table"]

_PACKED = (".gz", ".bz2", ".xz")
_TEXT = ("", ".csv", ".tsv", ".txt")
_COLUMNAR = {".parquet": "to_parquet", ".feather": "to_feather"}


def write_table(frame: pd.DataFrame, path: str | os.PathLike[str], force: bool = False) -> Path:
    """Write a data frame, whole or not at all, in the format of the file's suffix.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table. Its index is not written.
    path : str or path
        ``.csv`` and ``.tsv`` (also packed, ``.csv.gz``), ``.parquet`` or ``.feather``; without a
        suffix CSV.
    force : bool, default=False
        Whether to replace an existing file.

    Returns
    -------
    pathlib.Path
        The file written.

    Raises
    ------
    TableError
        If the suffix is of no such format, or the file exists already or cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_table(pd.DataFrame({"x": [1, 2]}), folder + "/out.parquet")
    ...     pd.read_parquet(path)["x"].tolist()
    [1, 2]
    """
    suffix = check_format(path)
    if suffix in _COLUMNAR:
        return _write_columnar(frame, path, suffix, force)
    return write_csv(frame, path, force=force, delimiter="\t" if suffix == ".tsv" else ",")


def check_format(path: str | os.PathLike[str]) -> str:
    """Return the suffix that tells the format of a file, or refuse it.

    A command calls this before its work, lest the work be lost for a name.

    Examples
    --------
    >>> check_format("cells.tsv.gz")
    '.tsv'
    """
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    packed = bool(suffixes) and suffixes[-1] in _PACKED
    suffix = suffixes[-1 - packed] if len(suffixes) > packed else ""
    # packed files are text, whatever they are called; columnar ones pack themselves
    if not packed if suffix in _COLUMNAR else packed or suffix in _TEXT:
        return suffix
    raise TableError(
        show_path(os.fspath(path)),
        f"Tables are not written as {''.join(suffixes[-1 - packed :])}.",
        "Let the name end in .csv, .tsv, .parquet or .feather.",
    )


def _write_columnar(
    frame: pd.DataFrame, path: str | os.PathLike[str], suffix: str, force: bool
) -> Path:
    def write(file: BinaryIO) -> None:
        # Pandas closes what it is given; the file must stay open until it is in place.
        with open(os.dup(file.fileno()), "wb") as copy:
            getattr(frame.reset_index(drop=True), _COLUMNAR[suffix])(copy)

    try:
        return write_atomically(path, write, force=force)
    except ImportError as error:
        raise TableError(
            show_path(os.fspath(path)),
            f"Writing {suffix} needs pyarrow, which is not installed.",
            "Install it with pip install 'hesitant[cli]', or name the file .csv.",
        ) from error
    except (TypeError, ValueError) as error:
        if isinstance(error, TableError):
            raise
        reason = str(error).partition("\n")[0].rstrip(".")
        raise TableError(
            show_path(os.fspath(path)),
            f"The table cannot be written as {suffix}: {reason}.",
            "Name the file .csv instead.",
        ) from error
