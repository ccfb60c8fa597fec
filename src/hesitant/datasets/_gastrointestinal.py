"""Colonoscopy: lesions that most doctors of a panel would judge alike, or would not."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from hesitant._optional import need
from hesitant.datasets._bunch import PartlyLabelled
from hesitant.datasets._consensus import consensus
from hesitant.datasets._files import load_table
from hesitant.datasets._gastro_files import DOCTORS, FEATURES, OPINIONS
from hesitant.datasets._sparse_lda import sparse_discriminant_features

if TYPE_CHECKING:
    import pandas as pd

    from hesitant.datasets._bunch import LabelledTable

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
