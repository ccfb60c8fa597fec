"""How cost grows, what a second core buys, what Dask costs, and what the machine could do.

Exponents are slopes of log time on log size. Peaks are measured here and now: arithmetic by a
large matrix product, memory by a sum over an array that no cache holds.
"""

import numpy as np
from joblib import cpu_count
from threadpoolctl import threadpool_limits

from benchmarks._common import best_of, blobs
from benchmarks.em_iteration import ours
from hesitant import MixtureClassifier
from hesitant.mechanisms import EntropyMechanism, Ignorable


def slope(sizes: list[int], seconds: list[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def growth() -> None:
    print("Growth of one pass (one thread; slope of log time on log size)")
    sweeps = {
        "n": [(n, 10, 4) for n in (20_000, 80_000, 320_000)],
        "p": [(40_000, p, 4) for p in (10, 20, 40)],
        "g": [(80_000, 10, g) for g in (2, 4, 8)],
    }
    for name, sizes in sweeps.items():
        for label, mechanism in (("EM", Ignorable()), ("full", EntropyMechanism())):
            seconds = []
            for n, p, g in sizes:
                X, y = blobs(n, p, g)
                seconds.append(ours(X, y, g, mechanism, 1))
            varied = [s["npg".index(name)] for s in sizes]
            print(f"  {label:4s} in {name}: exponent {slope(varied, seconds):.2f}")


def cores() -> None:
    X, y = blobs(1_000_000, 10, 4)
    one, full_one = (ours(X, y, 4, m, 1) for m in (Ignorable(), EntropyMechanism()))
    many, full_many = (ours(X, y, 4, m, cpu_count()) for m in (Ignorable(), EntropyMechanism()))
    print(f"One thread against {cpu_count()} (n = 1,000,000, p = 10, g = 4)")
    print(f"  EM   {one:.3f} s against {many:.3f} s: {one / many:.2f} times faster")
    print(f"  full {full_one:.3f} s against {full_many:.3f} s: {full_one / full_many:.2f}")
    print(f"  full against EM, one thread: {full_one / one:.2f}")
    n, p, g = 1_000_000, 10, 4
    flops = n * g * (2 * p * (p + 1) + 30)  # distances, scatters, and some 30 for a posterior
    with threadpool_limits(1):
        A = np.random.default_rng(0).random((1500, 1500))
        peak = 2 * 1500**3 / best_of(lambda: A @ A, 5)
    big = np.ones(40_000_000)
    bandwidth = big.nbytes / best_of(big.sum, 5)
    print("Share of what the machine can do (one thread)")
    print(
        f"  arithmetic {flops / one / 1e9:5.1f} of {peak / 1e9:5.1f} Gflop/s: "
        f"{flops / one / peak:.0%}"
    )
    print(f"  memory     {X.nbytes / one / 1e9:5.1f} of {bandwidth / 1e9:5.1f} GB/s: "
          f"{X.nbytes / one / bandwidth:.0%} (not the limit: each row is read once)")  # fmt: skip


def dask_overhead() -> None:
    try:
        import dask
        import dask.array as da
    except ImportError:
        print("Dask is not installed: its overhead was not measured")
        return
    X, y = blobs(1_000_000, 10, 4)
    lazy = da.from_array(X, chunks=(125_000, 10)).persist()
    clf = MixtureClassifier()
    memory = best_of(lambda: clf.fit(X, y), 2)
    with dask.config.set(scheduler="threads"):
        cluster = best_of(lambda: clf.fit(lazy, y), 2)
    print("A whole fit of 1,000,000 x 10, in memory against Dask chunks on threads")
    print(f"  {memory:.2f} s against {cluster:.2f} s: {cluster / memory:.2f} times as long")


def main() -> None:
    growth()
    cores()
    dask_overhead()


if __name__ == "__main__":
    main()
