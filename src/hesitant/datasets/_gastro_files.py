"""The two tables of the colonoscopy data in the forms they are handed out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from hesitant._optional import need
from hesitant.datasets._files import Source
from hesitant.datasets._formats import keep_columns, numeric, read_csv, read_sheet, with_header

if TYPE_CHECKING:
    import pandas as pd

DOCTORS = (*(f"expert{k}" for k in range(1, 5)), *(f"beginner{k}" for k in range(1, 4)))
_JUDGED = ("lesion", "truth", *DOCTORS)
_CLASSES = {"adenoma", "hyperplasic", "serrated"}


def _read_features_csv(path: Path) -> pd.DataFrame:
    table = need("pandas").read_csv(path)
    measured = [name for name in table.columns if re.fullmatch(r"f\d+", name)]
    return _features(keep_columns(table, ["lesion", "class", "light", *measured], path), path)


def _read_features_text(path: Path) -> pd.DataFrame:
    # UCI's file lies on its side: a line of names, of classes, of lights, then one per feature.
    table = need("pandas").read_csv(path, header=None, dtype=str).T
    table.columns = ["lesion", "class", "light", *(f"f{k}" for k in range(1, table.shape[1] - 2))]
    return _features(table, path)


def _features(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    numbers = numeric(table.drop(columns="lesion"), path).astype({"class": int, "light": int})
    if numbers.shape[1] < 3:
        raise ValueError(f"{path} has no feature f1, f2, ...; is it the published file?")
    return need("pandas").concat([_lesions(table["lesion"]), numbers], axis=1)


def _read_opinions_csv(path: Path) -> pd.DataFrame:
    return _opinions(read_csv(path, _JUDGED), path)


def _read_opinions_workbook(path: Path) -> pd.DataFrame:
    table = with_header(read_sheet(path, 0), "GROUND TRUTH", path)
    table.columns = [
        str(c).lower().replace(" ", "").replace("groundtruth", "truth") for c in table
    ]
    return _opinions(keep_columns(table, _JUDGED, path).dropna(), path)


def _opinions(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    table = table.apply(lambda column: column.astype(str).str.strip().str.lower())
    strange = set(table.drop(columns="lesion").to_numpy().ravel()) - _CLASSES
    if strange:
        raise ValueError(
            f"{path} has the opinion {min(strange)!r}; known are {', '.join(sorted(_CLASSES))}"
        )
    table["lesion"] = _lesions(table["lesion"])
    if table["lesion"].duplicated().any():
        twice = table.loc[table["lesion"].duplicated(), "lesion"].iloc[0]
        raise ValueError(f"{path} has the lesion {twice} twice; one row of opinions each")
    return table.reset_index(drop=True)


def _lesions(names: pd.Series) -> pd.Series:
    # "Adenoma_01" on the web page is "adenoma_1" in the table of features.
    tidy = names.astype(str).str.strip().str.strip("'\"").str.lower()
    return tidy.str.replace(r"_0+(?=\d)", "_", regex=True)


FEATURES = Source(
    what="UCI Gastrointestinal Lesions in Regular Colonoscopy (features)",
    readers={"gastro_features.csv": _read_features_csv, "data.txt": _read_features_text},
    page=(
        "https://archive.ics.uci.edu/dataset/408/gastrointestinal+lesions+in+regular+colonoscopy"
    ),
    sha256="67e6469898ee0bd0c787221c8c2f8f348422896d585cfcc0d987921dfacf09e0",
    urls=(
        "https://archive.ics.uci.edu/static/public/408/"
        "gastrointestinal+lesions+in+regular+colonoscopy.zip",
        "https://archive.ics.uci.edu/ml/machine-learning-databases/00408/"
        "gastroenterology_dataset.zip",
    ),
)

OPINIONS = Source(
    what="Gastrointestinal Lesions in Regular Colonoscopy (opinions of the doctors)",
    readers={
        "gastro_opinions.csv": _read_opinions_csv,
        "HumanEvaluation.xlsx": _read_opinions_workbook,
    },
    page="http://www.depeca.uah.es/colonoscopy_dataset/",
    sha256="c8fc7eed98192906683c53c1edd3680943ead4bc7f3d1e5891153f61912015a4",
    # The address is where copies of the site have it, not one the page is known to promise.
    urls=("http://www.depeca.uah.es/colonoscopy_dataset/HumanEvaluation.xlsx",),
    note="A CSV file of your own needs the columns " + ", ".join(_JUDGED) + ".",
)
