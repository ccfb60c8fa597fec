"""Flow cytometry standard (FCS) files, through FlowIO."""

import io
import warnings
from importlib import import_module

import pandas as pd

from .errors import TableError
from .shape import check_names, check_rows

__all__ = ["read_fcs"]


def read_fcs(data: bytes, source: str, *, min_columns: int) -> pd.DataFrame:
    """Read the bytes of an FCS 2.0, 3.0 or 3.1 file.

    Columns are named by the detector (``$PnN``), which the standard requires to be unique. Values
    are on the linear scale: gains, logarithmic amplification and the time step are applied, but
    neither compensation nor any display transformation.
    """
    try:
        flowio = import_module("flowio")
    except ImportError as error:
        raise TableError(
            source,
            "Reading FCS needs FlowIO, which is not installed.",
            "Install it with pip install 'hesitant[fcs]', or export the events as CSV.",
        ) from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of oddities that the checks below decide on
            file = flowio.FlowData(io.BytesIO(data))
            names = [str(name).strip() for name in file.pnn_labels]
            check_names(names, source, min_columns)
            events = file.as_array()
        if events.shape != (file.event_count, len(names)):
            raise ValueError(
                f"it announces {file.event_count} events of {len(names)} channels "
                f"and holds {events.shape[0]} of {events.shape[1]}"
            )
    except (MemoryError, TableError):
        raise
    except flowio.exceptions.MultipleDataSetsError as error:
        raise TableError(
            source,
            "The file holds several data sets.",
            "Export the one you want to a file of its own.",
        ) from error
    except Exception as error:  # FlowIO lets through whatever a damaged file provokes
        reason = str(error).partition("\n")[0].rstrip(".") or type(error).__name__
        raise TableError(
            source,
            f"This is not a readable FCS file: {reason}.",
            "Export it again from the cytometer's software, or export the events as CSV.",
        ) from error
    check_rows(len(events), names, source)
    return pd.DataFrame(events, columns=names)
