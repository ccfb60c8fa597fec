"""Colonoscopy: lesions that most doctors of a panel would judge alike, or would not."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from hesitant._optional import need
from hesitant.datasets._consensus import consensus
from hesitant.datasets._partly_labelled import PartlyLabelled
from hesitant.studies._sources import (
    Source,
    keep_columns,
    load_table,
    numeric,
    read_csv,
    read_sheet,
)
from hesitant.studies._sparse_lda import sparse_discriminant_features

if TYPE_CHECKING:
    import pandas as pd

    from hesitant.datasets._partly_labelled import LabelledTable

DOCTORS = (*(f"expert{k}" for k in range(1, 5)), *(f"beginner{k}" for k in range(1, 4)))
_JUDGED = ("lesion", "truth", *DOCTORS)
_KINDS = {"adenoma", "hyperplasic", "serrated"}
_LIGHTS = {"white": (1,), "nbi": (2,), "both": (1, 2)}
_LIGHT_WORDS = {
    "white": "in white light",
    "nbi": "in narrow-band imaging",
    "both": "in white light and in narrow-band imaging",
}
_PANELS = {"doctors": DOCTORS, "doctors+histology": (*DOCTORS, "truth")}
_DECISION = {"adenoma": "resection", "serrated": "resection", "hyperplasic": "no-resection"}

_DESCRIPTION = """\
Gastrointestinal Lesions in Regular Colonoscopy (UCI 408): {n} records of {lesions} lesions,
{light}. Four experts and three beginners judged each lesion;
adenoma and serrated lesions call for resection, hyperplasic ones do not. Panel: {panel}.
A record is labelled where the panel agrees, at_least={at_least} of {experts}:
{labelled} labelled, {blank} blank.
Features: {how}

Source   https://archive.ics.uci.edu/dataset/408 (features) and
         http://www.depeca.uah.es/colonoscopy_dataset (opinions); Mesejo et al. (2016), IEEE
         Trans. Med. Imaging 35:2051-2063.
Licence  CC BY 4.0 according to UCI.
Paper    128 labelled, 24 unlabelled of 152, "at least 6 of 7 doctors". That rule gives 106 and
         46; 128 and 24 appear when the histology counts as an eighth opinion
         (panel="doctors+histology").
Open     the four features, chosen by sparse linear discriminant analysis, are not printed; a later
         package of the same group uses f294, f441, f472 and f486, in white light only. Our
         choices for the two classes share f472 and often f486 with these; ours for the three kinds
         of lesion in white light (light="white", select_on="three-class") has all four among its
         eight. The two records of a lesion, one in each light, are not independent."""


def load_gastrointestinal(
    data_dir: str | os.PathLike[str] | None = None,
    *,
    panel: Literal["doctors", "doctors+histology"] = "doctors",
    at_least: int | float = 6,
    light: Literal["both", "white", "nbi"] = "both",
    features: int | Sequence[str] | None = 4,
    select_on: Literal["labels", "histology", "three-class"] = "labels",
) -> LabelledTable:
    """Load the colonoscopy lesions, labelled where a panel of doctors agrees.

    Parameters
    ----------
    data_dir : path, optional
        Directory that holds the features (``gastro_features.csv`` or UCI's ``data.txt``) and the
        opinions (``gastro_opinions.csv`` or ``HumanEvaluation.xlsx``). Without it the directory
        named by the environment variable HESITANT_DATA is searched, then the user's cache;
        failing both the files are downloaded.
    panel : {"doctors", "doctors+histology"}, default="doctors"
        Whose opinions count: the seven doctors', or the histology's as an eighth.
    at_least : int or float, default=6
        How many of the panel must agree, see `consensus`.
    light : {"both", "white", "nbi"}, default="both"
        Which of the two records of each lesion to take.
    features : int, sequence of str or None, default=4
        How many features to choose by `sparse_discriminant_features`, or their names ("f472"),
        or None for all that vary.
    select_on : {"labels", "histology", "three-class"}, default="labels"
        What a choice of features should discriminate: the labels of the labelled records; what
        the histology calls for, in all of them; or the three kinds of lesion it tells apart,
        which takes two discriminant directions with `features` features each.

    Returns
    -------
    PartlyLabelled
        Labels and truth are "resection" and "no-resection". `details` has the lesion, the light,
        the three-class histology and how many of the panel would resect.

    Examples
    --------
    >>> from hesitant.datasets import load_gastrointestinal
    >>> data = load_gastrointestinal()  # doctest: +SKIP
    >>> data.n_labelled, data.n_blank  # doctest: +SKIP
    (106, 46)
    """
    for given, value, known in (
        ("panel", panel, tuple(_PANELS)),
        ("light", light, tuple(_LIGHTS)),
        ("select_on", select_on, ("labels", "histology", "three-class")),
    ):
        if value not in known:
            raise ValueError(f"{given}={value!r} is not known; use one of {known}")
    records = load_table(FEATURES, data_dir)
    opinions = load_table(OPINIONS, data_dir).set_index("lesion")
    records = records[records["light"].isin(_LIGHTS[light])].reset_index(drop=True)
    strangers = sorted(set(records["lesion"]) - set(opinions.index))
    if strangers:
        raise ValueError(f"no opinions on {len(strangers)} lesions, {strangers[0]} among them")

    # One row of opinions per record, so that both records of a lesion get its label.
    opinions = opinions.loc[records["lesion"]].set_axis(records.index)
    decisions = opinions.apply(lambda column: column.map(_DECISION))
    judged = decisions[list(_PANELS[panel])]
    labels = consensus(judged, at_least=at_least).rename("decision")
    truth = decisions["truth"].astype(object).rename("decision")
    targets = {"labels": labels, "histology": truth, "three-class": opinions["truth"]}
    table, how = _chosen(records, features, targets[select_on], select_on)
    return PartlyLabelled(
        name="gastrointestinal",
        features=table,
        labels=labels,
        truth=truth,
        feature_names=tuple(table.columns),
        description=_DESCRIPTION.format(
            n=len(records),
            lesions=records["lesion"].nunique(),
            light=_LIGHT_WORDS[light],
            panel=panel,
            at_least=at_least,
            experts=judged.shape[1],
            labelled=labels.notna().sum(),
            blank=labels.isna().sum(),
            how=how,
        ),
        details=need("pandas").DataFrame(
            {
                "lesion": records["lesion"],
                "light": records["light"].map({1: "white", 2: "nbi"}),
                "histology": opinions["truth"],
                "n_resection": (judged == "resection").sum(axis=1),
                **{name: judged[name] for name in judged if name != "truth"},
            }
        ),
    )


def _chosen(
    records: pd.DataFrame, features: int | Sequence[str] | None, target: pd.Series, on: str
) -> tuple[pd.DataFrame, str]:
    measured = records.drop(columns=["lesion", "class", "light"])
    if features is None:
        measured = measured.loc[:, measured.max() > measured.min()]
        return measured, f"the {measured.shape[1]} that vary."
    if isinstance(features, (int, np.integer)):
        found = sparse_discriminant_features(measured, target, n_features=int(features))
        names = [str(name) for name in found.names]
        return measured[names], (
            f"{', '.join(names)}, chosen by sparse discriminant analysis\n(select_on={on!r})."
        )
    names = [features] if isinstance(features, str) else list(features)
    unknown = [name for name in names if name not in measured]
    if unknown:
        raise ValueError(
            f"features={names!r}: {', '.join(map(str, unknown))} not among {measured.columns[0]} "
            f"to {measured.columns[-1]}"
        )
    return measured[names], f"{', '.join(names)}, as asked for."


# ---- the two tables in the forms they are handed out -----------------------------------------


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


def _read_opinions_workbook(path: Path) -> pd.DataFrame:
    table = read_sheet(path, 0, "GROUND TRUTH")
    table.columns = [
        str(c).lower().replace(" ", "").replace("groundtruth", "truth") for c in table
    ]
    return _opinions(keep_columns(table, _JUDGED, path).dropna(), path)


def _opinions(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    table = table.apply(lambda column: column.astype(str).str.strip().str.lower())
    strange = set(table.drop(columns="lesion").to_numpy().ravel()) - _KINDS
    if strange:
        raise ValueError(
            f"{path} has the opinion {min(strange)!r}; known are {', '.join(sorted(_KINDS))}"
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
        "gastro_opinions.csv": lambda path: _opinions(read_csv(path, _JUDGED), path),
        "HumanEvaluation.xlsx": _read_opinions_workbook,
    },
    page="http://www.depeca.uah.es/colonoscopy_dataset/",
    sha256="c8fc7eed98192906683c53c1edd3680943ead4bc7f3d1e5891153f61912015a4",
    # The address is where copies of the site have it, not one the page is known to promise.
    urls=("http://www.depeca.uah.es/colonoscopy_dataset/HumanEvaluation.xlsx",),
    note="A CSV file of your own needs the columns " + ", ".join(_JUDGED) + ".",
)
