"""numba's ``njit``, put off until a kernel is first called, and worth compiling.

Importing numba takes longer than hundreds of fits, and a program that only reads a model or prints
its help never needs it. Compiling takes seconds, once for every machine: where nothing has been
compiled yet, kernels that have a plain version (the same but for rounding) use it, until the
numbers it was given add up. ``HESITANT_COMPILE=always`` in the environment compiles at once.
"""

import functools
import os
import threading
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

_LOCK = threading.RLock()
# Numbers that plain versions are given before compiling pays: about a second's work.
PATIENCE = 20_000_000


class _Effort:
    """How much plain versions have been given, and whether kernels are to be compiled."""

    given = 0
    compiling: bool | None = None
    warned = False


def njit(
    plain: Any = None, room: Any = None, **options: Any
) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator like ``numba.njit(**options)`` that compiles when it pays.

    ``plain`` does the same without being compiled; True if the function itself is quick enough as
    it stands. A function that is to fill arrays, because to compile their allocation would take
    longer than all the rest, has ``room``: called with the same arguments as the plain version it
    returns those arrays, and all that the function is called with. A number that it returns comes
    before them.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        compiled: Any = None
        instead = function if plain is True else plain

        def compile_now() -> Any:
            nonlocal compiled
            with _LOCK:
                if compiled is None:
                    whole = _compile(function, options)
                    compiled = whole if room is None else functools.partial(_fill, whole, room)
            return compiled

        @functools.wraps(function)
        def kernel(*arguments: Any) -> Any:
            try:
                if compiled is not None:
                    return compiled(*arguments)
                if instead is not None and _plain_will_do(arguments):
                    return instead(*arguments)
                return compile_now()(*arguments)
            except SystemError as error:
                raise _interrupted(error) from None

        kernel.compile_now = compile_now  # type: ignore[attr-defined]
        return kernel

    return decorate


def _compile(function: Any, options: dict[str, Any]) -> Any:
    """Compile a function and the kernels that it calls."""
    import numba

    names = {k: function.__globals__.get(k) for k in function.__code__.co_names}
    kernels = {k: v.compile_now() for k, v in names.items() if hasattr(v, "compile_now")}
    spaces = {**function.__globals__, **kernels}
    whole = types.FunctionType(function.__code__, spaces, function.__name__)
    functools.update_wrapper(whole, function)
    try:
        return numba.njit(**options)(whole)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
    if not _Effort.warned:
        _Effort.warned = True
        warnings.warn(
            "No folder can be written in which compiled code could be kept: every process will "
            "compile anew, which takes some seconds. Set NUMBA_CACHE_DIR to a folder that can be "
            "written.",
            stacklevel=4,
        )
    return numba.njit(**{**options, "cache": False})(whole)


def _fill(compiled: Any, room: Callable[..., Any], *arguments: Any) -> Any:
    """Return the arrays that a function has filled."""
    results, given = room(*arguments)
    number = compiled(*given)
    return results if number is None else (number, *results)


def _plain_will_do(arguments: tuple[Any, ...]) -> bool:
    if _Effort.compiling is None:
        _Effort.compiling = os.environ.get("HESITANT_COMPILE") == "always" or _compiled_before()
    if not _Effort.compiling:
        _Effort.given += sum(a.size for a in arguments if isinstance(a, np.ndarray))
        _Effort.compiling = _Effort.given > PATIENCE
    return not _Effort.compiling


def _compiled_before() -> bool:
    """Whether numba has kept a kernel of this package where it usually does."""
    package, name = Path(__file__).parent, "_vector_math.normalise-*.nbi"
    given = os.environ.get("NUMBA_CACHE_DIR")
    caches = [Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")), Path("~/Library/Caches")]
    try:
        folders = [Path(given)] if given else [c.expanduser() / "numba" for c in caches]
        kept = [folder.glob(f"{package.name}_*/{name}") for folder in folders]
        beside = [] if given else [(package / "__pycache__").glob(name)]
        return any(next(found, None) for found in (*beside, *kept))
    except (OSError, RuntimeError):  # no home
        return False


def _interrupted(error: SystemError) -> BaseException:
    """Return what numba makes a SystemError of, if Ctrl-C came while it boxed a result."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__cause__ or cause.__context__
    return error if cause is None else cause
