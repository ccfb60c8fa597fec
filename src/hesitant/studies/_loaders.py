"""The paper's three real data sets: cells, heart traces and lesions, some left without a label."""

import os
import re
import tomllib
from collections.abc import Sequence
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, Literal

import numpy as np

from hesitant._choices import look_up
from hesitant._optional import need
from hesitant.checks import check_number
from hesitant.datasets import PartlyLabelled, consensus
from hesitant.persistence import Preparation
from hesitant.studies import _sources as sources
from hesitant.studies._sources import Frame, Source, load_table
from hesitant.studies._sparse_lda import sparse_discriminant_features

_TABLES = tomllib.loads(Path(__file__).with_name("sources.toml").read_text(encoding="utf-8"))
_ABOUT = _TABLES.pop("about")

# ---- flow cytometry: manual gating assigned cells to four populations, or to none --------------

CHANNELS = tuple(_TABLES["cytometry"]["columns"][:-1])
_EVENTS, _GATES = "dlbcl030_events.csv", "dlbcl030_labels.csv"


def load_cytometry(data_dir: str | os.PathLike[str] | None = None) -> PartlyLabelled:
    """Load the cells of FlowCAP-I DLBCL sample 030; those in no gate are blank.

    ``data_dir`` holds ``cytometry_dlbcl030.csv`` (FL1_LOG, FL2_LOG, FL4_LOG and label, 0 where no
    gate), or ``dlbcl030_events.csv``, exported from the FCS file, beside ``dlbcl030_labels.csv``,
    the gate of each event. By default it is that of the environment variable HESITANT_DATA, then
    the user's cache. There is no direct download.
    """
    table = load_table(CYTOMETRY, data_dir)
    gates = [None if gate == 0 else int(gate) for gate in table["label"]]
    labels = need("pandas").Series(gates, index=table.index, dtype=object, name="gate")
    about = _ABOUT["cytometry"].format(n=len(table), blank=gates.count(None))
    return PartlyLabelled("cytometry", table[list(CHANNELS)], labels, CHANNELS, about)


def _read_exported_cells(path: Path) -> Frame:
    pandas = need("pandas")
    beside = path.with_name(_GATES)
    if not beside.exists():
        raise FileNotFoundError(f"{path} needs {_GATES} beside it, the gate of each event")
    events = pandas.read_csv(path)
    # FCS readers write "FL1 LOG", "FL1.LOG" or "FL1 Log" for the same channel.
    events.columns = [re.sub("[ .]", "_", str(c).strip().upper()) for c in events]
    gates = pandas.read_csv(beside, header=None).iloc[:, -1]
    gates = pandas.to_numeric(gates, errors="coerce").dropna()  # a header is no number
    if len(gates) != len(events):
        raise ValueError(
            f"{beside} has {len(gates)} labels for the {len(events)} events of {path}"
        )
    return events.assign(label=gates.to_numpy())


CYTOMETRY = Source(
    **_TABLES["cytometry"],
    readers={"cytometry_dlbcl030.csv": sources.read_csv, _EVENTS: _read_exported_cells},
)


# ---- cardiotocography: normal, pathologic, or only suspect, which counts as blank --------------

_RECORDED = _TABLES["cardiotocography"]["columns"]
RAW = tuple(_RECORDED[2:-2])
DATA = tuple(name for name in RAW if name not in ("LBE", "DR"))
_COUNTS = ("AC", "FM", "UC", "DL", "DS", "DP")
PATTERNS = (5, 6, 9, 10)
_STATES = {1: "normal", 2: "suspect", 3: "pathologic"}
_TRACES = partial(sources.read_sheet, sheet="Raw Data", columns=_RECORDED)
CARDIOTOCOGRAPHY = Source(
    **_TABLES["cardiotocography"], readers={"ctg_full.csv": sources.read_csv, "CTG.xls": _TRACES}
)


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
    table = load_table(CARDIOTOCOGRAPHY, data_dir)
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
        description=_ABOUT["cardiotocography"].format(n=n, all=len(table), how=how, **counts),
        details=kept[["CLASS", "NSP"]].astype(int).assign(row=kept.index + 1),
    )


# ---- colonoscopy: lesions on which most doctors of a panel agree, or do not --------------------

_RECORD, _JUDGED = ("lesion", "class", "light"), _TABLES["opinions"]["columns"]
DOCTORS = tuple(_JUDGED[2:])
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
    records = load_table(LESIONS, data_dir)
    opinions = load_table(OPINIONS, data_dir).set_index("lesion")
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
    names, how = _chosen(records.drop(columns=list(_RECORD)), features, targets, select_on)
    counts = {"n": len(records), "lesions": records["lesion"].nunique()}
    counts |= {"labelled": labels.notna().sum(), "blank": labels.isna().sum()}
    told = {"experts": judged.shape[1], "light": _LIGHTS[light][1], "panel": panel}
    about = _ABOUT["gastrointestinal"].format(**counts, **told, at_least=at_least, how=how)
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


# ---- the two tables in the forms they are handed out -----------------------------------------


def _read_features_text(path: Path) -> Frame:
    # UCI's file lies on its side: a line of names, of classes, of lights, then one per feature.
    table = need("pandas").read_csv(path, header=None, dtype=str).T
    table.columns = [*_RECORD, *(f"f{k}" for k in range(1, table.shape[1] - 2))]
    return table


def _features(table: Frame, path: Path) -> Frame:
    measured = [name for name in table.columns if re.fullmatch(r"f\d+", name)]
    table = sources.keep_columns(table, [*_RECORD, *measured], path)
    numbers = sources.numeric(table.drop(columns="lesion"), path)
    numbers = numbers.astype({"class": int, "light": int})
    return need("pandas").concat([_lesions(table["lesion"]), numbers], axis=1)


def _opinions(table: Frame, path: Path) -> Frame:
    table = table.apply(lambda column: column.astype(str).str.strip().str.lower())
    strange = set(table.drop(columns="lesion").to_numpy().ravel()) - set(_DECISION)
    if strange:
        raise ValueError(
            f"{path} has the opinion {min(strange)!r}; known are {', '.join(_DECISION)}"
        )
    table["lesion"] = _lesions(table["lesion"])
    twice = table.loc[table["lesion"].duplicated(), "lesion"]
    if len(twice):
        raise ValueError(f"{path} has the lesion {twice.iloc[0]} twice; one row of opinions each")
    return table


def _lesions(names: Frame) -> Frame:
    # "Adenoma_01" on the web page is "adenoma_1" in the table of features.
    tidy = names.astype(str).str.strip().str.strip("'\"").str.lower()
    return tidy.str.replace(r"_0+(?=\d)", "_", regex=True)


def _judge(title: str) -> str:
    return title.lower().replace(" ", "").replace("groundtruth", "truth")


LESIONS = Source(
    **_TABLES["lesions"],
    readers={"gastro_features.csv": sources.read_csv, "data.txt": _read_features_text},
    tidy=_features,
)
_SHEET = partial(sources.read_sheet, sheet=0, columns=_JUDGED, rename=_judge)
OPINIONS = Source(
    **_TABLES["opinions"],
    readers={"gastro_opinions.csv": sources.read_csv, "HumanEvaluation.xlsx": _SHEET},
    tidy=_opinions,
)
