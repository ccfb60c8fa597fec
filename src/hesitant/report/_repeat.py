"""Everything needed to do it again."""

import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from hesitant._result import plain

__all__ = ["summarise_repeat"]


def summarise_repeat(
    clf: Any,
    *,
    options: Mapping[str, Any] | None,
    seed: Any,
    data: Mapping[str, Any],
    command: str | None,
) -> dict[str, Any]:
    """Return versions, options, seed and data checksum."""
    from hesitant import __version__

    return {
        "version": __version__,
        "python": platform.python_version(),
        "libraries": {
            name: found
            for name in ("numpy", "scipy", "scikit-learn", "numba", "pandas")
            if (found := _version(name)) is not None
        },
        "seed": plain(seed),
        "options": plain(dict(options) if options is not None else clf.get_params(deep=False)),
        "data": plain(dict(data)),
        "command": command,
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
