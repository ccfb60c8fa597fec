"""Cardiotocograms: normal, pathologic, or only suspect, which counts as left blank."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from hesitant._optional import need
from hesitant.datasets._partly_labelled import PartlyLabelled
from hesitant.studies._sources import (
    Source,
    keep_columns,
    load_table,
    numeric,
    read_csv,
    read_sheet,
)

if TYPE_CHECKING:
    import pandas as pd

    from hesitant.datasets._partly_labelled import LabelledTable

_COUNTS = ("AC", "FM", "UC", "DL", "DS", "DP")
_VARIABILITY = ("ASTV", "MSTV", "ALTV", "MLTV")
_SHAPE = ("Width", "Min", "Max", "Nmax", "Nzeros")
_HISTOGRAM = (*_SHAPE, "Mode", "Mean", "Median", "Variance", "Tendency")
RAW = ("LBE", "LB", "AC", "FM", "UC", *_VARIABILITY, "DL", "DS", "DP", "DR", *_HISTOGRAM)
DATA = ("LB", "AC", "FM", "UC", *_VARIABILITY, "DL", "DS", "DP", *_HISTOGRAM)
PATTERNS = (5, 6, 9, 10)
_STATES = {1: "normal", 2: None, 3: "pathologic"}

_DESCRIPTION = """\
Cardiotocography (UCI 193): the {n:,} recordings of morphologic pattern 5, 6, 9 or 10 out of
{all:,}. Three obstetricians agreed on normal ({normal}), suspect ({suspect}) or pathologic
({pathologic}); suspect is taken as a blank.
Features: {how}

Source   https://archive.ics.uci.edu/dataset/193, doi 10.24432/C51S4N; Ayres de Campos et al.
         (2000), J. Matern. Fetal Med. 5:311-318.
Licence  CC BY 4.0 according to UCI.
Paper    its text counts 670 recordings, 402 labelled; its table 669 and 401. The published file
         gives 670 and 402, and which row the table left out cannot be told.
Open     "23 features": the 23 measurements of the Raw Data sheet (columns="raw"; DR is constant
         and dropped, LBE equals LB and so counts twice) or the 21 of the Data sheet
         (columns="data", counts per second). Five recordings repeat another's measurements."""


def load_cardiotocography(
    data_dir: str | os.PathLike[str] | None = None,
    *,
    columns: Literal["raw", "data"] = "raw",
    components: int | None = 2,
) -> LabelledTable:
    """Load the cardiotocograms of four patterns, those called suspect left blank.

    Parameters
    ----------
    data_dir : path, optional
        Directory that holds ``ctg_full.csv`` or UCI's ``CTG.xls``. Without it the directory named
        by the environment variable HESITANT_DATA is searched, then the user's cache; failing
        both the file is downloaded from UCI.
    columns : {"raw", "data"}, default="raw"
        The 23 measurements of the workbook's Raw Data sheet, with events counted, or the 21 of
        its Data sheet, with events per second.
    components : int or None, default=2
        How many principal components of those columns to return, taken on the correlation scale
        over all the rows. None returns the columns themselves. Constant columns are dropped
        either way.

    Returns
    -------
    PartlyLabelled
        Labels are "normal" and "pathologic". `details` has the row of the published file, the
        pattern CLASS and the state NSP.

    Notes
    -----
    Scores follow R's ``prcomp(scale. = TRUE)``; the sign of each component is chosen so that its
    largest loading is positive.

    Examples
    --------
    >>> from hesitant.datasets import load_cardiotocography
    >>> data = load_cardiotocography()  # doctest: +SKIP
    >>> data.n_labelled, data.n_blank  # doctest: +SKIP
    (402, 268)
    """
    if columns not in ("raw", "data"):
        raise ValueError(f"columns={columns!r} is not known; use 'raw' or 'data'")
    pandas = need("pandas")
    table = load_table(SOURCE, data_dir)
    kept = table[table["CLASS"].isin(PATTERNS)]
    if kept.empty:
        raise ValueError(f"no recording has a CLASS in {PATTERNS}; is this the published file?")
    measured = kept[list(RAW)] if columns == "raw" else _per_second(kept)
    measured = measured.loc[:, measured.max() > measured.min()]
    if components is None:
        features, how = measured, f"the {measured.shape[1]} columns that vary."
    else:
        scores, share = _scores(measured.to_numpy(), components)
        names = [f"PC{k + 1}" for k in range(components)]
        features = pandas.DataFrame(scores, index=kept.index, columns=names)
        how = (
            f"{components} principal components of {measured.shape[1]} columns that vary, on the "
            f"correlation\nscale; they hold {share:.0%} of the variance."
        )
    states = kept["NSP"].astype(int)
    return PartlyLabelled(
        name="cardiotocography",
        features=features,
        labels=pandas.Series(
            [_STATES[state] for state in states], index=kept.index, dtype=object, name="state"
        ),
        feature_names=tuple(features.columns),
        description=_DESCRIPTION.format(
            n=len(kept),
            all=len(table),
            normal=(states == 1).sum(),
            suspect=(states == 2).sum(),
            pathologic=(states == 3).sum(),
            how=how,
        ),
        details=pandas.DataFrame(
            {"row": kept.index + 1, "CLASS": kept["CLASS"].astype(int), "NSP": states},
            index=kept.index,
        ),
    )


def _per_second(table: pd.DataFrame) -> pd.DataFrame:
    seconds = table["e"] - table["b"]
    return table.assign(**{name: table[name] / seconds for name in _COUNTS})[list(DATA)]


def _scores(X: NDArray[np.float64], components: int) -> tuple[NDArray[np.float64], float]:
    most = min(X.shape[0] - 1, X.shape[1])
    if isinstance(components, bool) or not 1 <= components <= most:
        raise ValueError(
            f"components={components!r} must be an integer from 1 to {most}, or None for no "
            "principal components"
        )
    Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    _, d, Vt = np.linalg.svd(Z, full_matrices=False)
    loadings = Vt[:components]
    largest = loadings[np.arange(components), np.abs(loadings).argmax(axis=1)]
    share = float((d[:components] ** 2).sum() / (d**2).sum())
    return Z @ (loadings * np.sign(largest)[:, None]).T, share


_COLUMNS = ("b", "e", *RAW, "CLASS", "NSP")


def _read_workbook(path: Path) -> pd.DataFrame:
    sheet = read_sheet(path, "Raw Data", "NSP")
    # An empty line follows the header, and totals stand below the data.
    table = keep_columns(sheet, _COLUMNS, path).dropna()
    return numeric(table.reset_index(drop=True), path)


SOURCE = Source(
    what="UCI Cardiotocography",
    readers={
        "ctg_full.csv": lambda path: numeric(read_csv(path, _COLUMNS), path),
        "CTG.xls": _read_workbook,
    },
    page="https://archive.ics.uci.edu/dataset/193/cardiotocography",
    sha256="64888fa8100e5bfd9896641cdf3ffa987a0c78780905f68c5643b77a840b6bec",
    urls=(
        "https://archive.ics.uci.edu/static/public/193/cardiotocography.zip",
        "https://archive.ics.uci.edu/ml/machine-learning-databases/00193/CTG.xls",
    ),
)
