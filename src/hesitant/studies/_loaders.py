"""The paper's three real data sets: cells, heart traces and lesions, some left without a label."""

import os
from collections.abc import Sequence
from numbers import Integral
from typing import Any, Literal

import numpy as np

from hesitant._choices import look_up
from hesitant._optional import need
from hesitant.checks import check_number
from hesitant.datasets import PartlyLabelled, consensus
from hesitant.persistence import Preparation
from hesitant.studies._sources import FACTS, SOURCES, Frame, load_table
from hesitant.studies._sparse_lda import sparse_discriminant_features

CHANNELS = tuple(SOURCES["cytometry"].columns[:-1])
RAW = tuple(SOURCES["cardiotocography"].columns[2:-2])
DATA = tuple(name for name in RAW if name not in ("LBE", "DR"))
DOCTORS = tuple(SOURCES["opinions"].columns[2:])

# ---- flow cytometry: manual gating assigned cells to four populations, or to none --------------


def load_cytometry(data_dir: str | os.PathLike[str] | None = None) -> PartlyLabelled:
    """Load the cells of FlowCAP-I DLBCL sample 030; those in no gate are blank.

    ``data_dir`` holds ``cytometry_dlbcl030.csv`` (FL1_LOG, FL2_LOG, FL4_LOG and label, 0 where no
    gate), or ``dlbcl030_events.csv``, exported from the FCS file, beside ``dlbcl030_labels.csv``,
    the gate of each event. By default it is that of the environment variable HESITANT_DATA, then
    the user's cache. There is no direct download.
    """
    table = load_table(SOURCES["cytometry"], data_dir)
    gates = [None if gate == 0 else int(gate) for gate in table["label"]]
    labels = need("pandas").Series(gates, index=table.index, dtype=object, name="gate")
    about = FACTS["about"]["cytometry"].format(n=len(table), blank=gates.count(None))
    return PartlyLabelled("cytometry", table[list(CHANNELS)], labels, CHANNELS, about)


# ---- cardiotocography: normal, pathologic, or only suspect, which counts as blank --------------

_COUNTS = ("AC", "FM", "UC", "DL", "DS", "DP")
PATTERNS = (5, 6, 9, 10)
_STATES = {1: "normal", 2: "suspect", 3: "pathologic"}


def load_cardiotocography(
    data_dir: str | os.PathLike[str] | None = None,
    *,
    columns: Literal["raw", "data"] = "raw",
    components: int | None = 2,
) -> PartlyLabelled:
    """Load the cardiotocograms of four patterns, those called suspect left blank.

    Parameters
    ----------
    data_dir : path, optional
        Directory that holds ``ctg_full.csv`` or UCI's ``CTG.xls``. By default that of the
        environment variable HESITANT_DATA, then the user's cache, then UCI.
    columns : {"raw", "data"}, default="raw"
        The 23 measurements of the workbook's Raw Data sheet, with events counted, or the 21 of
        its Data sheet, with events per second. Constant columns are dropped.
    components : int or None, default=2
        Principal components to return, on the correlation scale, each with a positive largest
        loading; None returns the columns themselves.
    """
    look_up("columns", columns, dict.fromkeys(("raw", "data")))
    pandas = need("pandas")
    table = load_table(SOURCES["cardiotocography"], data_dir)
    kept = table[table["CLASS"].isin(PATTERNS)]
    if kept.empty:
        raise ValueError(f"no recording has a CLASS in {PATTERNS}; is this the published file?")
    features = kept[list(RAW)]
    if columns == "data":
        seconds = kept["e"] - kept["b"]
        features = kept.assign(**{name: kept[name] / seconds for name in _COUNTS})[list(DATA)]
    features = features.loc[:, features.max() > features.min()]
    n, p = features.shape
    how = f"the {p} columns that vary."
    if components is not None:
        check_number("components", components, Integral, 1, min(n - 1, p))
        prepared: Any = Preparation(n_components=components).fit(features)
        # Preparation divides by n in a variance, a correlation matrix by n - 1.
        scores = prepared.transform(features) * np.sqrt(1 - 1 / n)
        features = pandas.DataFrame(scores, kept.index, prepared.get_feature_names_out())
        how = (
            f"{components} principal components of {p} columns that vary, on the "
            f"correlation\nscale; they hold {prepared.explained_.sum():.0%} of the variance."
        )
    states = kept["NSP"].astype(int).map(_STATES)
    counts = {state: (states == state).sum() for state in _STATES.values()}
    return PartlyLabelled(
        name="cardiotocography",
        features=features,
        labels=states.astype(object).where(states != "suspect", None).rename("state"),
        feature_names=tuple(features.columns),
        description=FACTS["about"]["cardiotocography"].format(
            n=n, all=len(table), how=how, **counts
        ),
        details=kept[["CLASS", "NSP"]].astype(int).assign(row=kept.index + 1),
    )


# ---- colonoscopy: lesions on which most doctors of a panel agree, or do not --------------------

_LIGHTS = {
    "white": ((1,), "in white light"),
    "nbi": ((2,), "in narrow-band imaging"),
    "both": ((1, 2), "in white light and in narrow-band imaging"),
}
_PANELS = {"doctors": DOCTORS, "doctors+histology": (*DOCTORS, "truth")}
_DECISION = {"adenoma": "resection", "hyperplasic": "no-resection", "serrated": "resection"}


def load_gastrointestinal(
    data_dir: str | os.PathLike[str] | None = None,
    *,
    panel: Literal["doctors", "doctors+histology"] = "doctors",
    at_least: int | float = 6,
    light: Literal["both", "white", "nbi"] = "both",
    features: int | Sequence[str] | None = 4,
    select_on: Literal["labels", "histology", "three-class"] = "labels",
) -> PartlyLabelled:
    """Load the colonoscopy lesions, "resection" or "no-resection" where a panel agrees.

    Parameters
    ----------
    data_dir : path, optional
        Directory that holds the features (``gastro_features.csv`` or UCI's ``data.txt``) and the
        opinions (``gastro_opinions.csv`` or ``HumanEvaluation.xlsx``). By default that of the
        environment variable HESITANT_DATA, then the user's cache, then the official sources.
    panel : {"doctors", "doctors+histology"}, default="doctors"
        Whose opinions count: the seven doctors', or the histology's as an eighth.
    at_least : int or float, default=6
        How many of the panel must agree, see `consensus`.
    light : {"both", "white", "nbi"}, default="both"
        Which of the two records of each lesion to take.
    features : int, sequence of str or None, default=4
        How many to choose by `sparse_discriminant_features`, their names ("f472"), or None for
        all that vary.
    select_on : {"labels", "histology", "three-class"}, default="labels"
        What chosen features should discriminate: the given labels; what the histology calls for;
        or the three kinds of lesion, by two directions with `features` features each.
    """
    look_up("panel", panel, _PANELS)
    look_up("light", light, _LIGHTS)
    look_up("select_on", select_on, dict.fromkeys(("labels", "histology", "three-class")))
    records = load_table(SOURCES["lesions"], data_dir)
    opinions = load_table(SOURCES["opinions"], data_dir).set_index("lesion")
    strange = set(opinions.to_numpy().ravel()) - set(_DECISION)
    if strange:
        known = ", ".join(_DECISION)
        raise ValueError(f"the panel has the opinion {min(strange)!r}; known are {known}")
    twice = opinions.index[opinions.index.duplicated()]
    if len(twice):
        raise ValueError(f"the panel has the lesion {twice[0]} twice; one row of opinions each")
    records = records[records["light"].isin(_LIGHTS[light][0])].reset_index(drop=True)
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
    measured = records.drop(columns=["lesion", "class", "light"])
    names, how = _chosen(measured, features, targets, select_on)
    counts = {"n": len(records), "lesions": records["lesion"].nunique()}
    counts |= {"labelled": labels.notna().sum(), "blank": labels.isna().sum()}
    told = {"experts": judged.shape[1], "light": _LIGHTS[light][1], "panel": panel}
    about = FACTS["about"]["gastrointestinal"].format(**counts, **told, at_least=at_least, how=how)
    return PartlyLabelled(
        name="gastrointestinal",
        features=records[names],
        labels=labels,
        truth=truth,
        feature_names=tuple(names),
        description=about,
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
    measured: Frame, features: int | Sequence[str] | None, targets: Any, on: str
) -> tuple[list[str], str]:
    """Return the names of the chosen features, and how they were chosen."""
    if features is None:
        varying = measured.columns[measured.max() > measured.min()].tolist()
        return varying, f"the {len(varying)} that vary."
    if isinstance(features, (int, np.integer)):
        found = sparse_discriminant_features(measured, targets[on], n_features=int(features))
        how = f"chosen by sparse discriminant analysis\n(select_on={on!r})."
        return list(found.names), f"{', '.join(found.names)}, {how}"
    names = [features] if isinstance(features, str) else list(features)
    unknown = [name for name in names if name not in measured]
    if unknown:
        raise ValueError(
            f"features={names!r}: {', '.join(map(str, unknown))} not among {measured.columns[0]} "
            f"to {measured.columns[-1]}"
        )
    return names, f"{', '.join(names)}, as asked for."
