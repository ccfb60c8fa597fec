"""Libraries that not everybody installs."""

import importlib
from collections.abc import Mapping
from typing import Any


def need(module: str, extra: str = "data") -> Any:
    """Import an optional module, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"this needs {module}: pip install 'hesitant[{extra}]'") from error


def templates(package: str) -> Any:
    """Return a package's page templates: everything escaped, and no name that is not given."""
    jinja2 = need("jinja2", "cli")
    strict = {"autoescape": True, "undefined": jinja2.StrictUndefined}
    tidy = {"trim_blocks": True, "lstrip_blocks": True}
    return jinja2.Environment(loader=jinja2.PackageLoader(package), **strict, **tidy)


def find_lazily(package: str, name: str, rooms: Mapping[str, str]) -> Any:
    """Return what a package's ``__getattr__`` is asked for, from the room that defines it."""
    if name not in rooms:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(f"hesitant.{rooms[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name not in ("pandas", "pyarrow"):
            raise
        raise ImportError(f"{name} needs {error.name}: pip install 'hesitant[data]'") from error
