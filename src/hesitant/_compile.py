"""numba's ``njit``, put off until a kernel is first called, and worth compiling.

Importing numba takes longer than hundreds of fits, and compiling takes seconds, once for every
machine: a kernel that has not been compiled yet leaves the work to its plain version (the same but
for rounding), if it has one, until the numbers that it was given add up.
``HESITANT_COMPILE=always`` in the environment compiles at once.
"""

import functools
import gc
import os
import threading
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

_LOCK = threading.RLock()
# Numbers that a plain version is given before its kernel is compiled. It takes three to five times
# as long; what it has lost by then is a good part of what compiling takes (see start_up among the
# benchmarks), so that neither short sessions nor long ones lose much.
PATIENCE = 40_000_000


def njit(
    plain: Any = None, room: Any = None, fastmath: bool | set[str] = False, inner: bool = False
) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator like numba's that compiles when it pays.

    ``plain`` does the same without being compiled (True: the function itself, whose numbers count
    as fifty each, as slow as Python's loops are). A function that fills arrays has ``room``: it
    makes them, and all that the function is called with, from the plain version's arguments. A
    number that it returns comes before them. An ``inner`` one is called by other kernels alone.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        compiled: Any = None
        instead, each = (function, 50) if plain is True else (plain, 1)
        patience: int | None = None  # not yet asked for

        def compile_now() -> Any:
            nonlocal compiled
            with _LOCK:
                if compiled is None:
                    # A kernel that Python never calls needs no wrapper for such calls.
                    door = {"no_cpython_wrapper": inner, "no_cfunc_wrapper": True}
                    compiled = _compile(function, fastmath=fastmath, **door)
            return compiled

        def bear(arguments: tuple[Any, ...]) -> bool:
            """Whether the plain version may do the work once more."""
            nonlocal patience
            if patience is None:
                patience = 0 if instead is None or _compiled_before(function) else PATIENCE
            patience -= each * sum(getattr(a, "size", 0) for a in arguments)
            return patience > 0

        @functools.wraps(function)
        def kernel(*arguments: Any) -> Any:
            if new := compiled is None:
                if bear(arguments):
                    return instead(*arguments)
                compile_now()
            results, given = (None, arguments) if room is None else room(*arguments)
            try:
                number = _without_collecting(compiled, given) if new else compiled(*given)
            except SystemError as error:
                raise _interrupted(error) from None
            if results is None:
                return number
            return results if number is None else (number, *results)

        kernel.compile_now = compile_now  # type: ignore[attr-defined]
        return kernel

    return decorate


def _without_collecting(kernel: Any, given: tuple[Any, ...]) -> Any:
    """Call a kernel that numba compiles now: without garbage collection it takes a tenth less."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return kernel(*given)
    finally:
        if collecting:
            gc.enable()


def _compile(function: Any, **options: Any) -> Any:
    """Compile a function and the kernels that it calls."""
    import numba

    names = {k: function.__globals__.get(k) for k in function.__code__.co_names}
    kernels = {k: v.compile_now() for k, v in names.items() if hasattr(v, "compile_now")}
    spaces = {**function.__globals__, **kernels}
    whole = types.FunctionType(function.__code__, spaces, function.__name__)
    functools.update_wrapper(whole, function)
    options |= {"nogil": True, "error_model": "numpy"}
    try:
        return numba.njit(cache=True, **options)(whole)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
    _warn_once()
    return numba.njit(**options)(whole)


@functools.cache
def _warn_once() -> None:
    what = "No kernels can be kept: every process will compile again, for some seconds."
    warnings.warn(f"{what} Set NUMBA_CACHE_DIR to a folder that can be written.", stacklevel=5)


def _compiled_before(function: Any) -> bool:
    """Whether numba has kept this kernel where it usually does, or is told to compile all."""
    if os.environ.get("HESITANT_COMPILE") == "always":
        return True
    file = Path(function.__code__.co_filename)
    name = f"{file.stem}.{function.__qualname__}-*.nbi"
    given = os.environ.get("NUMBA_CACHE_DIR")
    caches = [Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")), Path("~/Library/Caches")]
    try:
        folders = [Path(given)] if given else [c.expanduser() / "numba" for c in caches]
        kept = [folder.glob(f"{file.parent.name}_*/{name}") for folder in folders]
        beside = [] if given else [(file.parent / "__pycache__").glob(name)]
        return any(next(found, None) for found in (*beside, *kept))
    except (OSError, RuntimeError):  # no home
        return False


def _interrupted(error: SystemError) -> BaseException:
    """Return what numba makes a SystemError of, if Ctrl-C came while it boxed a result."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__cause__ or cause.__context__
    return error if cause is None else cause
