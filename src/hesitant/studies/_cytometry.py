"""Flow cytometry: cells that manual gating assigned to four populations, or to none."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from hesitant._optional import need
from hesitant.datasets._partly_labelled import PartlyLabelled
from hesitant.studies._sources import Source, keep_columns, load_table, numeric, read_csv

if TYPE_CHECKING:
    import pandas as pd

    from hesitant.datasets._partly_labelled import LabelledTable

CHANNELS = ("FL1_LOG", "FL2_LOG", "FL4_LOG")
_EVENTS, _GATES = "dlbcl030_events.csv", "dlbcl030_labels.csv"

_DESCRIPTION = """\
FlowCAP-I, diffuse large B-cell lymphoma, sample 030: {n:,} cells, three fluorescence channels
(integers from a log amplifier), four populations drawn by manual gating. {blank:,} cells lie in no
gate: they are the blanks.

Source   FlowRepository FR-FCM-ZZYY; Aghaeepour et al. (2013), Nature Methods 10:228-238.
Licence  as stated by FlowRepository for that experiment; not redistributed here.
Paper    n = 11,792, p = 3, g = 4, 11,459 labelled, 333 unlabelled; the published file agrees.
Open     which antibody each channel carries is not certain, so the channel names are kept."""


def load_cytometry(data_dir: str | os.PathLike[str] | None = None) -> LabelledTable:
    """Load the cells of FlowCAP-I DLBCL sample 030; those in no gate are blank.

    Parameters
    ----------
    data_dir : path, optional
        Directory that holds ``cytometry_dlbcl030.csv`` (columns FL1_LOG, FL2_LOG, FL4_LOG and
        label, 0 where no gate), or the two files ``dlbcl030_events.csv``, exported from the FCS
        file, and ``dlbcl030_labels.csv``, the gate of each event in the same order. Without it
        the directory named by the environment variable HESITANT_DATA is searched, then the
        user's cache. There is no direct download: FlowRepository hands out FCS files.

    Returns
    -------
    PartlyLabelled
        Labels are the gates 1 to 4.

    Examples
    --------
    >>> from hesitant.datasets import load_cytometry
    >>> data = load_cytometry()  # doctest: +SKIP
    >>> data.n_labelled, data.n_blank  # doctest: +SKIP
    (11459, 333)
    """
    table = load_table(SOURCE, data_dir)
    gates = [None if gate == 0 else int(gate) for gate in table["label"]]
    labels = need("pandas").Series(gates, index=table.index, dtype=object, name="gate")
    return PartlyLabelled(
        name="cytometry",
        features=table[list(CHANNELS)],
        labels=labels,
        feature_names=CHANNELS,
        description=_DESCRIPTION.format(n=len(table), blank=gates.count(None)),
    )


def _read_exported(path: Path) -> pd.DataFrame:
    pandas = need("pandas")
    beside = path.with_name(_GATES)
    if not beside.exists():
        raise FileNotFoundError(f"{path} needs {_GATES} beside it, the gate of each event")
    events = pandas.read_csv(path)
    # FCS readers write "FL1 LOG", "FL1.LOG" or "FL1 Log" for the same channel.
    events.columns = [str(c).strip().upper().replace(" ", "_").replace(".", "_") for c in events]
    events = keep_columns(events, CHANNELS, path)
    gates = pandas.read_csv(beside, header=None).iloc[:, -1]
    gates = pandas.to_numeric(gates, errors="coerce")
    if len(gates) == len(events) + 1:  # a header, which coercion turned into a missing value
        gates = gates.iloc[1:]
    if len(gates) != len(events):
        raise ValueError(
            f"{beside} has {len(gates)} labels for the {len(events)} events of {path}"
        )
    return numeric(events.assign(label=gates.to_numpy()), path)


SOURCE = Source(
    what="FlowCAP-I DLBCL sample 030",
    readers={
        "cytometry_dlbcl030.csv": lambda path: numeric(read_csv(path, [*CHANNELS, "label"]), path),
        _EVENTS: _read_exported,
    },
    page="https://flowrepository.org/id/FR-FCM-ZZYY",
    sha256="12d9ec2f7012a6bbb38dabdd43053c26c11f1360a3dbf01b6e182267a5835171",
    note=(
        "FlowRepository offers no table to download. Get the FCS file of DLBCL sample 030 and its "
        f"manual gates there, export the events with their channel names to {_EVENTS} and the "
        f"gates, 0 to 4 in the order of the events, to {_GATES}."
    ),
)
