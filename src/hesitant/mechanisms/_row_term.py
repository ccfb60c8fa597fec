"""The one row term: what was said of a row, as evidence about its class.

Whatever an expert says of row i enters every likelihood of the package through
``a_ih = log p(said_i | class h, τ_i; θ)``. With τ the class posterior given the features, the row
adds

    log p(said_i | x_i) = a_iy where the class y is known,  log Σ_h τ_ih exp(a_ih) elsewhere,

to the log-likelihood. Its derivative in the log joint densities ``ℓ_ih = log π_h f_h(x_i)`` is

    ρ_ih − τ_ih + Σ_k ρ_ik ∂a_ik/∂ℓ_ih,    ρ_ih = the class given features and what was said,

a pull on the row's class weights that sums to zero. (Where the class is known, ρ and τ are both
that class.) Likelihood, curvature, expected information and ``resolve`` all use this function.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hesitant._typing import FloatArray, IntArray


class Evidence(NamedTuple):
    """What was said of a block of rows, were their classes known.

    Attributes
    ----------
    log_p : array of shape (n, g), or (n, 1) if it is the same for all classes
        a_ih.
    pull_back : callable
        From weights ρ (n, g) of rows summing to one to ``Σ_k ρ_ik ∂a_ik/∂ℓ_ih`` (n, g) and
        ``Σ_k ρ_ik ∂a_ik/∂θ`` (n, q).
    information : callable, optional
        From weights (n, g) to the information about θ (q, q) were the classes known.
    """

    log_p: FloatArray
    pull_back: Callable[[FloatArray], tuple[FloatArray, FloatArray]]
    information: Callable[[FloatArray], FloatArray] | None = None


class RowTerm(NamedTuple):
    """The row term of a block.

    Attributes
    ----------
    log_p : array of shape (n,)
        Log probability of what was said.
    resolved : array of shape (n, g)
        Class probabilities given features and what was said.
    pull : array of shape (n, g)
        Derivatives of ``log_p`` in the log joint densities.
    gradient : array of shape (n, q)
        Derivatives of ``log_p`` in the parameters.
    information : callable, optional
        As in :class:`Evidence`.
    """

    log_p: FloatArray
    resolved: FloatArray
    pull: FloatArray
    gradient: FloatArray
    information: Callable[[FloatArray], FloatArray] | None


def row_term(evidence: Evidence, log_tau: FloatArray, tau: FloatArray, codes: IntArray) -> RowTerm:
    """Return the row term of a block.

    Parameters
    ----------
    evidence : Evidence
    log_tau, tau : arrays of shape (n, g)
        Class posteriors given the features.
    codes : array of shape (n,)
        The class where it is known, else −1.
    """
    known = codes >= 0
    resolved = np.where(known[:, None], codes[:, None] == np.arange(tau.shape[1]), tau)
    if evidence.log_p.shape[1] == 1:
        return RowTerm(
            evidence.log_p[:, 0],
            resolved,
            *evidence.pull_back(resolved),
            evidence.information,
        )
    joint = log_tau + evidence.log_p
    top = joint.max(axis=1)
    share = np.exp(joint - top[:, None])
    total = share.sum(axis=1)
    given = np.take_along_axis(evidence.log_p, np.maximum(codes, 0)[:, None], axis=1)[:, 0]
    log_p = np.where(known, given, top + np.log(total))
    rho = np.where(known[:, None], resolved, share / total[:, None])
    pull, gradient = evidence.pull_back(rho)
    if len(pull):
        pull = pull + (rho - resolved)
    return RowTerm(log_p, rho, pull, gradient, evidence.information)
