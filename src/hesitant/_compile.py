"""numba's ``njit``, put off until a kernel is first called.

Importing numba takes longer than hundreds of fits, and a program that only reads a model or prints
its help never needs it.
"""

import functools
import threading
import types
from collections.abc import Callable
from typing import Any

__all__ = ["njit"]

_LOCK = threading.RLock()


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator like ``numba.njit(**options)`` that compiles at the first call."""

    def decorate(function: Callable[..., Any]) -> Any:
        compiled = None

        def compile_now() -> Any:
            nonlocal compiled
            with _LOCK:
                if compiled is None:
                    import numba

                    compiled = numba.njit(**options)(_with_kernels(function))
            return compiled

        @functools.wraps(function)
        def kernel(*arguments: Any) -> Any:
            try:
                return (compiled or compile_now())(*arguments)
            except SystemError as error:
                raise _interrupted(error) from None

        kernel.compile_now = compile_now  # type: ignore[attr-defined]
        return kernel

    return decorate


def _interrupted(error: SystemError) -> BaseException:
    """Return what numba makes a SystemError of, if Ctrl-C came while it boxed a result."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__cause__ or cause.__context__
    return error if cause is None else cause


def _with_kernels(function: Any) -> types.FunctionType:
    """Return the function with the other kernels that it calls compiled."""
    names = {k: function.__globals__.get(k) for k in function.__code__.co_names}
    kernels = {k: v.compile_now() for k, v in names.items() if hasattr(v, "compile_now")}
    out = types.FunctionType(
        function.__code__, {**function.__globals__, **kernels}, function.__name__
    )
    functools.update_wrapper(out, function)
    return out
