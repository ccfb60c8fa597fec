"""One EM iteration and one full-likelihood evaluation, against scikit-learn and pomegranate.

Every time is that of one pass over the rows, the difference between a longer and a shorter run
where a library offers nothing finer. The data are the same, and no row is labelled for EM.

Ours depends on the classes: with many features a row that counts in one class only is summed in
that one only. So EM is timed where all classes are alike, as at a start without any label, and
where a tenth of the labels puts them, as at the start of a fit. The rest is timed there too.
"""

import argparse
import gc
import warnings
from typing import Any

import numpy as np
from joblib import cpu_count
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits

from benchmarks._common import best_of, blobs
from hesitant._cores import one_blas_thread
from hesitant.families import Gaussian
from hesitant.likelihood import Likelihood, State
from hesitant.mechanisms import EntropyMechanism, Ignorable, Mechanism
from hesitant.rows import Rows


def ours(
    X: np.ndarray, y: np.ndarray, g: int, mechanism: Mechanism, threads: int, known: Any = None
) -> float:
    """Return seconds for one evaluation and M-step, at classes of known rows, or all alike."""
    family = Gaussian().specialise("full", 1e-6)
    known = np.arange(len(X)) % g if known is None else known
    first = np.flatnonzero(known >= 0)[:20_000]
    mechanism = mechanism.prepare(g)
    theta = np.array([0.5, -2.0])[: mechanism.n_parameters]
    params = family.initial(X[first], np.eye(g)[known[first]])
    state = State(np.full(g, 1 / g), params, theta)
    rows = Rows(X, y, n_classes=g, threads=threads)
    likelihood = Likelihood(rows, family, mechanism)
    passes = extra_iterations(len(X))  # as many as scikit-learn is given

    @one_blas_thread()  # as every fit does
    def run() -> None:
        for _ in range(passes):
            likelihood.maximise(state, likelihood.evaluate(state))

    return best_of(run, 3) / passes


def peak() -> float:
    """Return how many operations a second one thread does in a product of large matrices."""
    A = np.random.default_rng(0).standard_normal((1000, 1000))
    with threadpool_limits(1):
        return 2e9 / best_of(lambda: A @ A, 5)


def extra_iterations(n: int) -> int:
    """Return how many iterations outlast the noise of a start."""
    return max(3, 400_000 // n)


def scikit_learn(X: np.ndarray, g: int) -> float:
    """Return seconds for one EM iteration of GaussianMixture."""
    means = X[:g]

    def run(iterations: int) -> float:
        model = GaussianMixture(
            g, max_iter=iterations, tol=0.0, means_init=means, init_params="random", random_state=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return best_of(lambda: model.fit(X), 2)

    more = extra_iterations(len(X))
    return (run(1 + more) - run(1)) / more


def pomegranate(X: np.ndarray, g: int) -> float | None:
    """Return seconds for one EM iteration of pomegranate, if it is installed."""
    try:
        import torch
        from pomegranate.distributions import Normal
        from pomegranate.gmm import GeneralMixtureModel
    except ImportError:
        return None
    data = torch.from_numpy(X)

    def run(iterations: int) -> float:
        def fit() -> None:
            parts = [Normal(X[h], np.eye(X.shape[1])) for h in range(g)]
            GeneralMixtureModel(parts, max_iter=iterations, tol=-1).fit(data)

        return best_of(fit, 2)

    more = extra_iterations(len(X))
    return (run(1 + more) - run(1)) / more


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="10000,100000,1000000")
    parser.add_argument("--features", default="2,10,50")
    parser.add_argument("--classes", default="2,4,10")
    parser.add_argument(
        "--largest", type=int, default=60_000_000, help="n p above this is left out"
    )
    args = parser.parse_args()
    cores = cpu_count()
    print(f"Seconds a pass; x = how many times faster than scikit-learn ({cores} cores)")
    print("peak: products and sums of one thread, as a share of those in large matrix products")
    print("1 thr, alike: EM in one thread, in all, classes alike; EM, full: where labels put them")
    ours_are = f"{'1 thr':>9} {'peak':>5} {'alike':>9} {'EM':>9} {'full':>9} {'full/EM':>7}"
    print(f"{'n':>9} {'p':>3} {'g':>3} | {ours_are} | {'sklearn':>9} {'x alike':>7} {'x':>6} | "
          f"{'pomegranate':>11} {'x':>6}")  # fmt: skip
    for n in map(int, args.sizes.split(",")):
        for p in map(int, args.features.split(",")):
            for g in map(int, args.classes.split(",")):
                if n * p > args.largest:
                    continue
                X, y = blobs(n, p, g)
                blank = np.full(n, -1)
                one = ours(X, blank, g, Ignorable(), 1)
                alike = ours(X, blank, g, Ignorable(), cores)
                em = ours(X, blank, g, Ignorable(), cores, y)
                full = ours(X, y, g, EntropyMechanism(), cores, y)
                theirs = scikit_learn(X, g)
                other = pomegranate(X, g)
                # Triangular products for distances, and as much again for moments
                share = 2 * n * g * p * (p + 1) / one / peak()
                tail = f"{other:11.4f} {other / em:6.1f}" if other else f"{'-':>11} {'-':>6}"
                print(
                    f"{n:9d} {p:3d} {g:3d} | {one:9.4f} {share:5.0%} {alike:9.4f} {em:9.4f} "
                    f"{full:9.4f} {full / em:7.2f}"
                    f" | {theirs:9.4f} {theirs / alike:7.1f} {theirs / em:6.1f} | {tail}",
                    flush=True,
                )
                del X, y
                gc.collect()


if __name__ == "__main__":
    main()
