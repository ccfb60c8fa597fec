"""One full-likelihood fit of the paper's simulation, against plain NumPy and SciPy.

The baseline is what a careful user would write: EM to the ignorance solution, then SciPy's BFGS on
the full likelihood with analytic gradients. Both reach the same maximum. They take turns, with one
thread of linear algebra each: with more, products of matrices so small may wait for threads, and
the ratio would tell how busy the machine is.
"""

from functools import partial

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logsumexp
from threadpoolctl import threadpool_limits

from benchmarks._common import best_of, paper_data
from hesitant import MixtureClassifier

# Seconds, measured with gmmsslm 1.1.5 in R on an idle two-core machine.
GMMSSLM = {500: 13.0, 10_000: 372.0}


class NumpyBaseline:
    """Two Gaussian classes, logit Pr(labelled) = β0 + β1·entropy."""

    def __init__(self, X: np.ndarray, y: np.ndarray) -> None:
        self.X, self.y, self.labelled = X, y, y >= 0
        self.n, self.p = X.shape

    def joint(self, pi, mu, chol_precision):
        out = np.empty((self.n, 2))
        for h in range(2):
            z = (self.X - mu[h]) @ chol_precision[h]
            log_det = np.log(np.diag(chol_precision[h])).sum()
            out[:, h] = np.log(pi[h]) + log_det - 0.5 * (z * z).sum(axis=1)
        return out - 0.5 * self.p * np.log(2 * np.pi)

    def ignorance(self, tol=1e-8):
        w = np.zeros((self.n, 2))
        w[self.labelled, self.y[self.labelled]] = 1
        last = -np.inf
        for _ in range(1000):
            counts = w.sum(axis=0)
            mu = (w.T @ self.X) / counts[:, None]
            precision = []
            for h in range(2):
                u = self.X - mu[h]
                covariance = (w[:, h, None] * u).T @ u / counts[h]
                precision.append(np.linalg.cholesky(np.linalg.inv(covariance)))
            joint = self.joint(counts / counts.sum(), mu, precision)
            total = logsumexp(joint, axis=1)
            value = joint[self.labelled, self.y[self.labelled]].sum()
            value += total[~self.labelled].sum()
            w = np.exp(joint - total[:, None])
            w[self.labelled] = np.eye(2)[self.y[self.labelled]]
            if value - last < tol:
                break
            last = value
        return counts / counts.sum(), mu, precision

    def objective(self, vector):
        logit, b = vector[0], vector[1:3]
        mu = vector[3:7].reshape(2, 2)
        chols = []
        for h in range(2):
            c = vector[7 + 3 * h : 10 + 3 * h]
            chols.append(np.array([[np.exp(c[0]), 0.0], [c[1], np.exp(c[2])]]))
        pi = np.array([expit(logit), expit(-logit)])
        joint = self.joint(pi, mu, chols)
        total = logsumexp(joint, axis=1)
        log_tau = joint - total[:, None]
        tau = np.exp(log_tau)
        entropy = -(tau * log_tau).sum(axis=1)
        eta = b[0] + b[1] * entropy
        value = joint[self.labelled, self.y[self.labelled]].sum() + total[~self.labelled].sum()
        value += log_expit(np.where(self.labelled, eta, -eta)).sum()
        residual = self.labelled - expit(eta)
        w = tau.copy()
        w[self.labelled] = np.eye(2)[self.y[self.labelled]]
        w -= (residual * b[1])[:, None] * tau * (log_tau + entropy[:, None])
        gradient = np.empty_like(vector)
        gradient[0] = w[:, 0].sum() - self.n * pi[0]
        gradient[1], gradient[2] = residual.sum(), residual @ entropy
        for h in range(2):
            u = self.X - mu[h]
            z = u @ chols[h]
            gradient[3 + 2 * h : 5 + 2 * h] = chols[h] @ (w[:, h] @ z)
            g = -(w[:, h, None] * u).T @ z
            g[np.diag_indices(2)] += w[:, h].sum() / np.diag(chols[h])
            gradient[7 + 3 * h : 10 + 3 * h] = (
                g[0, 0] * chols[h][0, 0],
                g[1, 0],
                g[1, 1] * chols[h][1, 1],
            )
        return -value, -gradient

    def fit(self):
        pi, mu, chols = self.ignorance()
        start = np.concatenate(
            (
                [np.log(pi[0] / pi[1]), 0.0, 0.0],
                mu.ravel(),
                *([np.log(c[0, 0]), c[1, 0], np.log(c[1, 1])] for c in chols),
            )
        )
        return minimize(self.objective, start, jac=True, method="BFGS", options={"gtol": 1e-4})


@threadpool_limits.wrap(limits=1, user_api="blas")
def main() -> None:
    print("One full-likelihood fit of the paper's simulation (p = 2, g = 2)")
    for n in (500, 10_000):
        ratios, ours_all, base_all = [], [], []
        for seed in range(5 if n == 500 else 2):
            X, y = paper_data(n, seed)
            clf = MixtureClassifier()
            baseline = NumpyBaseline(X, y)
            turns = 10 if n == 500 else 2
            pairs = [
                (best_of(partial(clf.fit, X, y), 3), best_of(baseline.fit, 1))
                for _ in range(turns)
            ]
            ours, base = (min(times) for times in zip(*pairs, strict=True))
            gap = clf.log_likelihood_ + baseline.fit().fun
            ratios.append(base / ours)
            ours_all.append(ours)
            base_all.append(base)
            assert gap > -1e-4, gap
        print(
            f"  n = {n:7,d}: hesitant {1e3 * np.median(ours_all):8.2f} ms, NumPy + SciPy BFGS "
            f"{1e3 * np.median(base_all):8.2f} ms, ratio {np.median(ratios):5.1f}; "
            f"gmmsslm {GMMSSLM[n]:g} s, about {GMMSSLM[n] / np.median(ours_all):,.0f} times"
        )
    X, y = paper_data(1_000_000)
    clf = MixtureClassifier()
    seconds = best_of(partial(clf.fit, X, y), 2)
    print(f"  n = 1,000,000: hesitant {seconds:.2f} s, {clf.n_iter_} iterations")


if __name__ == "__main__":
    main()
