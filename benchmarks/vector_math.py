"""The package's vector exponential and logarithm, against the C library's in a compiled loop."""

import math
from functools import partial

import numba
import numpy as np

from benchmarks._common import best_of
from hesitant._vector_math import STRIP, exp_strip, log1p_strip

REPEATS = 5000


@numba.njit(nogil=True, error_model="numpy")
def _exp(x: np.ndarray, out: np.ndarray) -> None:
    for _ in range(REPEATS):
        for b in range(STRIP):
            out[b] = math.exp(x[b])


@numba.njit(nogil=True, error_model="numpy")
def _log1p(y: np.ndarray, out: np.ndarray) -> None:
    for _ in range(REPEATS):
        for b in range(STRIP):
            out[b] = math.log1p(y[b])


def main() -> None:
    rng = np.random.default_rng(0)
    own_exp, own_log1p = exp_strip.compile_now(), log1p_strip.compile_now()

    @numba.njit(nogil=True, error_model="numpy")
    def exp_strips(x: np.ndarray, out: np.ndarray) -> None:
        for _ in range(REPEATS):
            out[:] = x
            own_exp(out, STRIP)

    @numba.njit(nogil=True, error_model="numpy")
    def log1p_strips(y: np.ndarray, out: np.ndarray) -> None:
        for _ in range(REPEATS):
            own_log1p(y, STRIP, out)

    x, out = -5 * rng.random(STRIP), np.empty(STRIP)
    print("Nanoseconds a number, C library and own")
    for name, theirs, ours, values in (
        ("exp", _exp, exp_strips, x),
        ("log1p", _log1p, log1p_strips, np.exp(x)),
        ("log1p, large", _log1p, log1p_strips, np.exp(-4 * x)),
    ):
        library = 1e9 * best_of(partial(theirs, values, out), 9) / REPEATS / STRIP
        own = 1e9 * best_of(partial(ours, values, out), 9) / REPEATS / STRIP
        print(f"  {name:14s} {library:6.2f} {own:6.2f}   x {library / own:.1f}")


if __name__ == "__main__":
    main()
