"""Options and arrays as JSON can say them, exactly and without a way to say anything else.

Numbers, text, None and lists stand for themselves; everything else is an object with one key that
tells what it is. Floats are written as the shortest decimal that reads back to the same bits.
"""

import math
from typing import Any

import numpy as np

from hesitant._typing import AnyArray
from hesitant.persistence._errors import Damaged

__all__ = ["decode", "decode_array", "encode", "encode_array"]

# No dtype outside this list is ever built from a file.
_NUMBERS = tuple(
    f"{kind}{bits}"
    for kind, sizes in {"float": (32, 64), "int": (8, 16, 32, 64), "uint": (8, 16, 32, 64)}.items()
    for bits in sizes
)
_DATES = ("datetime64[ns]", "datetime64[us]", "datetime64[ms]", "datetime64[s]", "datetime64[D]")


def encode(value: Any) -> Any:
    """Return an option's value as JSON can say it, or raise TypeError.

    Examples
    --------
    >>> encode((1, float("inf")))
    {'tuple': [1, {'float': 'inf'}]}
    """
    if isinstance(value, np.generic) and value.dtype.kind in "biufU":
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, np.ndarray):
        return {"array": encode_array(value)}
    if isinstance(value, list):
        return [encode(v) for v in value]
    if isinstance(value, tuple):
        return {"tuple": [encode(v) for v in value]}
    if isinstance(value, dict) and all(isinstance(k, str) for k in value):
        return {"dict": {k: encode(v) for k, v in value.items()}}
    raise TypeError(f"a {type(value).__name__}")


def decode(document: Any) -> Any:
    """Undo `encode`; objects of the package are left to `_objects`."""
    if document is None or isinstance(document, bool | int | float | str):
        return document
    if isinstance(document, list):
        return [decode(v) for v in document]
    if isinstance(document, dict) and len(document) == 1:
        ((tag, inner),) = document.items()
        if tag == "float" and inner in ("nan", "inf", "-inf"):
            return float(inner)
        if tag == "array":
            return decode_array(inner)
        if tag == "tuple" and isinstance(inner, list):
            return tuple(decode(v) for v in inner)
        if tag == "dict" and isinstance(inner, dict):
            return {k: decode(v) for k, v in inner.items()}
    raise Damaged("an option has a value of no known kind")


def encode_array(array: AnyArray) -> dict[str, Any]:
    """Return an array as its type, shape and values, or raise TypeError.

    Examples
    --------
    >>> encode_array(np.array([0.5, np.inf]))
    {'dtype': 'float64', 'shape': [2], 'values': [0.5, 'inf']}
    """
    kind, dtype = array.dtype.kind, str(array.dtype)
    values: list[Any]
    if kind == "f" and dtype in _NUMBERS:
        values = [v if math.isfinite(v) else str(v) for v in array.ravel().tolist()]
    elif dtype in _NUMBERS or kind == "b":
        values = array.ravel().tolist()
    elif kind == "U":
        dtype, values = "str", array.ravel().tolist()
    elif dtype in _DATES:
        values = array.astype("int64").ravel().tolist()
    elif kind == "O":
        values = array.ravel().tolist()
        odd = next((v for v in values if not isinstance(v, bool | int | float | str)), None)
        if odd is not None:
            raise TypeError(f"an array of {type(odd).__name__}")
        values = [encode(v) for v in values]
    else:
        raise TypeError(f"an array of {dtype}")
    return {"dtype": dtype, "shape": list(array.shape), "values": values}


def decode_array(document: Any) -> AnyArray:
    """Undo `encode_array`; raise Damaged unless type, shape and values agree."""
    if not isinstance(document, dict) or set(document) != {"dtype", "shape", "values"}:
        raise Damaged("an array is incomplete")
    dtype, shape, values = document["dtype"], document["shape"], document["values"]
    if not (
        isinstance(values, list)
        and isinstance(shape, list)
        and all(type(k) is int and k >= 0 for k in shape)
        and len(shape) <= 8
        and math.prod(shape) == len(values)
    ):
        raise Damaged("an array does not have as many values as its shape says")
    try:
        return _flat(dtype, values).reshape(shape)
    except (TypeError, ValueError, OverflowError) as error:
        raise Damaged(f"an array has a value that is not of its type {dtype!r}") from error


def _flat(dtype: Any, values: list[Any]) -> AnyArray:
    if dtype in ("float64", "float32"):
        if not all(
            type(v) in (int, float) or (type(v) is str and v in ("nan", "inf", "-inf"))
            for v in values
        ):
            raise ValueError("not a number")
        return np.array([float(v) for v in values], dtype=dtype)
    wanted = {"str": str, "bool": bool}.get(dtype, int)
    if dtype == "object":
        out = np.empty(len(values), dtype=object)
        out[:] = [decode(v) for v in values]
        if not all(isinstance(v, bool | int | float | str) for v in out):
            raise ValueError("not a plain value")
        return out
    if not all(type(v) is wanted for v in values):
        raise ValueError("of another type")
    if dtype in _NUMBERS or dtype in ("str", "bool"):
        return np.array(values, dtype=dtype)
    if dtype in _DATES:
        return np.array(values, dtype="int64").astype(dtype)
    raise ValueError("unknown")
