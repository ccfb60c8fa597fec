"""Libraries that not everybody installs."""

import importlib
from typing import Any

__all__ = ["need"]


def need(module: str, extra: str = "data") -> Any:
    """Import an optional module, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"this needs {module}, which is not installed: pip install 'hesitant[{extra}]'"
        ) from error
