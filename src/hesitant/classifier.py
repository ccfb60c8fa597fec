"""The estimator people import."""

import dataclasses
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from hesitant._choices import choose, look_up
from hesitant._cores import threads_allowed
from hesitant._probe import probe_mechanism
from hesitant._typing import AnyArray, FloatArray
from hesitant.checks import check_blanks, check_jobs, check_number, check_supply
from hesitant.criteria import Criteria
from hesitant.evidence import Evidence
from hesitant.exceptions import FitWarning
from hesitant.experts import Panel, Readers, as_readers, readers_table
from hesitant.families import FAMILIES, Components, Family
from hesitant.fitting import Fit, fit_mixture
from hesitant.intake import check_features, is_dask, take
from hesitant.labels import names_of
from hesitant.likelihood import Likelihood, State, log_posterior
from hesitant.mechanisms import Mechanism, as_mechanism, row_term
from hesitant.remarks import NotConvergedWarning, fit_remarks, label_remarks
from hesitant.rows import BLOCK_SIZE, Block, ManyRows
from hesitant.solvers import SOLVERS
from hesitant.starts import SAMPLE, match_to_labels
from hesitant.uncertainty import Uncertainty

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MixtureClassifier"]


class MixtureClassifier(Evidence, Criteria, ClassifierMixin, BaseEstimator):
    """Mixture classifier for partly labelled data that learns from the blanks too.

    Parameters
    ----------
    family : str or Family, default="gaussian"
        The classes' distribution: a name in ``hesitant.families.FAMILIES`` or an object.
    covariance : {"full", "tied", "diag", "spherical", "shrunk"} or Shrunk, default="full"
        What the classes' scale matrices look like. With few rows for the features use "shrunk":
        classes are pulled together as far as the data ask for (``hesitant.families.Shrunk``).
    components : int, dict or "auto", default=1
        How many components a class is a mixture of: one number for all classes, a number for
        each by name (one for those not named), or "auto" to let held-out rows choose.
    mechanism : {"entropy", "class", "entropy+class", "mixed"}, Mechanism or None
        How the chance of a label depends on the difficulty of a case ("entropy", the default), on
        its class, or on both. With a mechanism the full likelihood is maximised; None is the
        ignorance likelihood, which learns nothing from where the blanks are.
    experts : {"right", "fallible"} or Readers, default="right"
        Whether a label is always right, or readers may be wrong, each in a way of their own
        (:class:`hesitant.experts.Readers`).
    alpha : float, default=0.5
        Fractionally supervised weight: labelled rows count ``2 alpha``, blank rows' features
        ``2 (1 − alpha)``, the pattern of blanks once. 0.5 gives a likelihood of the data, 1
        discriminant analysis, 0 cluster analysis with components named afterwards. Where the
        classes' shapes are wrong a larger alpha keeps the blanks from dragging them away.
    solver : {"auto", "em", "one_step_late", "quasi_newton", "profile"}, default="auto"
        How to maximise. All climb the same likelihood; "auto" is the quickest for the family, and
        the EM kind takes very many iterations for t and skew-t classes.
    classes : sequence, optional
        All class values, where some have no labelled row, in the order wanted. Sort them if
        scikit-learn's scorers are to be used.
    n_init : int, default=1
        Starts; the best is kept. The first is taken from the labelled rows.
    max_iter : int, default=1000
        Iterations at most, for each start.
    tol : float, default=1e-6
        Stop when no more than this is still to be gained, in units of log-likelihood.
    reg_covar : float, default=1e-6
        Weak prior on scale matrices, in robust variances of each feature: as if every class
        had this much extra scatter. It bounds the likelihood, and is far below the noise of any
        data otherwise.
    init : dict or fitted MixtureClassifier, optional
        Parameters to start from ("weights", "means", "covariances", …).
    missing_label : scalar, default=-1
        The value of y that marks a blank; None, NaN, NA and null always do.
    random_state : int, RandomState or None
        For restarts, and for classes without a labelled row.
    n_jobs : int, optional
        Threads; by default all cores, within ``OMP_NUM_THREADS`` and threadpoolctl's limits. The
        result does not depend on it.
    verbose : int, default=0
        1 prints a line for each stage of the fit, 2 one for each iteration.

    Attributes
    ----------
    classes_ : array of shape (g,)
    weights_ : array of shape (g,)
    means_ : array of shape (g, p)
    covariances_ : array of shape (g, p, p)
    mechanism_ : Mechanism
        Fitted, with ``intercept_`` and ``coef_``.
    log_likelihood_ : float
        The maximised objective, no constant dropped, priors not counted.
    n_parameters_, n_iter_ : int
    n_rows_ : float
        Rows of the fit; the sum of their weights, if they had some.
    converged_ : bool
    termination_ : str
        Why the fit stopped.
    history_ : array
        The objective (prior included) at each iteration. The few steps of EM that a fit with a
        mechanism begins with climb another objective; they count in ``n_iter_`` alone.
    n_features_in_ : int
    feature_names_in_ : array

    Examples
    --------
    >>> from hesitant import MixtureClassifier
    >>> from hesitant.datasets import simulate
    >>> data = simulate(n=500, random_state=0)
    >>> clf = MixtureClassifier().fit(data.features, data.labels)
    >>> bool(clf.mechanism_.coef_[0] < 0)  # harder cases are labelled less often
    True
    """

    # Fit metadata that scikit-learn may route to this estimator.
    __metadata_request__fit = {"sample_weight": None, "reviewed": None}  # noqa: RUF012

    def __init__(
        self,
        family: str | Family = "gaussian",
        *,
        covariance: Any = "full",
        components: Any = 1,
        mechanism: str | Mechanism | None = "entropy",
        experts: str | Readers = "right",
        alpha: float = 0.5,
        solver: str = "auto",
        classes: Sequence[Any] | None = None,
        n_init: int = 1,
        max_iter: int = 1000,
        tol: float = 1e-6,
        reg_covar: float = 1e-6,
        init: Any = None,
        missing_label: Any = -1,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.family = family
        self.covariance = covariance
        self.components = components
        self.mechanism = mechanism
        self.experts = experts
        self.alpha = alpha
        self.solver = solver
        self.classes = classes
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.reg_covar = reg_covar
        self.init = init
        self.missing_label = missing_label
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # -- fitting ------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, reviewed: Any = None) -> Self:
        """Fit classes and mechanism.

        Parameters
        ----------
        X : array-like or data frame of shape (n, p)
            Features. Of a row with empty cells (NaN, NA, null) the others count.
        y : array-like of shape (n,), or (n, J) of J readers, or Statements
            Labels, with blanks; or all that was said of the rows, by whom.
        sample_weight : array-like of shape (n,), optional
            Weights of whole rows, as numbers of them: a weight of 2 is a row given twice.
        reviewed : boolean array-like of shape (n,), optional
            False for a row that nobody was shown (its blank says nothing) or whose label came
            some other way (histology, say): such rows inform the classes, not the mechanism.

        Returns
        -------
        self
        """
        family, mechanism = self._resolve()
        self._forget()
        data = take(
            self,
            X,
            y,
            sample_weight,
            reviewed,
            classes=self.classes,
            threads=self._threads(X),
        )
        rows, classes = data.rows, data.classes
        rough = rows if data.rough is None else data.rough
        check_supply(self.alpha, classes, rough.tally)
        mechanism = mechanism.prepare(len(classes))
        probe_mechanism(mechanism, len(classes))
        if data.statements is None or data.votes is None:
            mechanism, remarks = check_blanks(mechanism, rows.tally)
        else:
            readers, remarks = as_readers(self.experts), []
            mechanism = readers.panel(data.statements, mechanism, data.votes)
        mechanism.class_names = names_of(classes)
        if self.classes is None and self.alpha > 0 and data.statements is None:
            remarks += label_remarks(classes, self.missing_label, rough.tally)
        family = family.suit(partial(rough.sample, SAMPLE), classes)
        likelihood = Likelihood(rows, family, mechanism, self.alpha, rough)
        with rows, rough:
            fit = fit_mixture(
                likelihood,
                look_up("solver", self.solver, SOLVERS),
                classes,
                init=self.init,
                n_init=self.n_init,
                tol=self.tol,
                max_iter=self.max_iter,
                verbose=self.verbose,
                rng=partial(_generator, self.random_state),
            )
            likelihood.mechanism = mechanism = fit.mechanism or mechanism
            if self.alpha == 0:  # clusters have no names of their own
                named = match_to_labels(fit.state, family, rows)
                fit = dataclasses.replace(fit, state=named)
            features = getattr(self, "feature_names_in_", None)
            remarks += fit_remarks(fit, likelihood, classes, features)
        self._rows = rows
        fitted = mechanism.fitted(fit.state.theta, rows.tally.rate)
        self._publish(family, fitted, classes, fit, rows.tally.weight)
        if not self.converged_:
            warnings.warn(
                f"The fit did not converge: {self.termination_}. Raise max_iter, or tol if the "
                "remaining gain does not matter.",
                NotConvergedWarning,
                stacklevel=2,
            )
        for remark in remarks:
            warnings.warn(remark, FitWarning, stacklevel=2)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        family = FAMILIES.get(self.family) if isinstance(self.family, str) else self.family
        tags.input_tags.allow_nan = bool(getattr(family, "takes_gaps", False))
        return tags

    def _forget(self) -> None:
        """Drop an earlier fit: one that fails on the way must not leave half of each."""
        for name in [k for k in vars(self) if k == "_rows" or k.endswith("_")]:
            delattr(self, name)

    def _resolve(self) -> tuple[Family, Mechanism]:
        """Turn the constructor's parameters into objects, or say which is wrong."""
        check_number("alpha", self.alpha, Real, 0, 1)
        check_number("n_init", self.n_init, Integral, 1)
        check_number("max_iter", self.max_iter, Integral, 1)
        check_number("tol", self.tol, Real, 0)
        check_number("reg_covar", self.reg_covar, Real, 0)
        if not isinstance(self.verbose, Integral):  # True is one
            raise TypeError(f"verbose={self.verbose!r}: give 0, 1 or 2.")
        _check_seed(self.random_state)
        look_up("solver", self.solver, SOLVERS)
        family = choose("family", self.family, FAMILIES, Family)
        mechanism = as_mechanism(self.mechanism)
        if as_readers(self.experts).fallible and self.alpha != 0.5:
            raise ValueError(
                f"alpha={self.alpha!r} with experts that may be wrong: no row counts as labelled "
                "then. Use alpha=0.5."
            )
        if mechanism.by_class and self.alpha == 0:
            raise ValueError(
                "alpha=0 names the classes after the fit, and this mechanism needs their names "
                "during it: use a larger alpha, or a mechanism that does not depend on the class."
            )
        if isinstance(self.components, bool) or self.components != 1:
            family = Components(family, self.components)
        return family.specialise(self.covariance, self.reg_covar), mechanism

    def _threads(self, X: Any) -> int:
        """Return how many threads to use on these rows."""
        jobs = self.n_jobs
        check_jobs("n_jobs", jobs)
        if not is_dask(X) and getattr(X, "shape", (BLOCK_SIZE + 1,))[:1] <= (BLOCK_SIZE,):
            return 1  # one block; counting the cores would take longer than it saves
        return threads_allowed(jobs)

    def _publish(
        self,
        family: Family,
        mechanism: Mechanism,
        classes: AnyArray,
        fit: Fit,
        n_rows: float,
    ) -> None:
        state = fit.state
        self.classes_ = classes
        self.mechanism_ = mechanism
        self.family_ = family
        self.state_ = state
        self.weights_ = state.weights
        shown = family.attributes(state.params)
        for name, value in shown.items():
            setattr(self, f"{name}_", value)
        self.parameters_ = {"weights": state.weights, **shown, "mechanism": state.theta}
        self.log_likelihood_ = float(fit.final.log_likelihood)
        self.n_parameters_ = (
            state.weights.size - 1 + family.n_parameters(state.params) + mechanism.n_parameters
        )
        self.n_rows_ = float(n_rows)
        self.n_iter_ = len(fit.progress.history)
        self.converged_ = fit.progress.converged
        self.termination_ = fit.progress.reason
        self.history_ = np.array(fit.progress.stage)

    # -- using a fit --------------------------------------------------------------------

    def _by_rows(
        self, X: Any, pick: Callable[..., AnyArray], width: int | None = None, dtype: Any = float
    ) -> Any:
        """Return what ``pick`` makes of (log posteriors, posteriors, log densities), by block.

        Only what is asked for is kept. A Dask collection gives a lazy Dask array.
        """
        check_is_fitted(self, "state_")
        if is_dask(X):
            from hesitant.dask_rows import map_lazily

            return map_lazily(self, X, pick, width, dtype)
        X = check_features(self, X, reset=False)
        out = np.empty(len(X) if width is None else (len(X), width), dtype=dtype)

        def work(start: int) -> None:
            part = slice(start, start + BLOCK_SIZE)
            rows = np.array(X[part], dtype=np.float64, order="C")
            out[part] = pick(*log_posterior(self.family_, self.state_, rows))

        starts = range(0, len(X), BLOCK_SIZE)
        if len(starts) == 1:
            work(0)
        else:
            with ThreadPoolExecutor(self._threads(X)) as pool:
                list(pool.map(work, starts))
        return out

    def predict(self, X: Any) -> AnyArray:
        """Return the most probable class of each row."""
        check_is_fitted(self, "state_")
        codes = self._by_rows(X, lambda log_tau, tau, log_f: log_tau.argmax(axis=1), dtype=int)
        return (
            self.classes_[codes]
            if isinstance(codes, np.ndarray)
            else codes.map_blocks(self.classes_.__getitem__, dtype=self.classes_.dtype)
        )

    def predict_proba(self, X: Any) -> FloatArray:
        """Return class posteriors (n, g)."""
        check_is_fitted(self, "state_")
        return self._by_rows(X, lambda log_tau, tau, log_f: tau, len(self.classes_))

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return log posteriors (n, g), accurate where posteriors round to 0 or 1."""
        check_is_fitted(self, "state_")
        return self._by_rows(X, lambda log_tau, tau, log_f: log_tau, len(self.classes_))

    def score_samples(self, X: Any) -> FloatArray:
        """Return the log density of each row."""
        return self._by_rows(X, lambda log_tau, tau, log_f: log_f)

    def entropy(self, X: Any, measure: Uncertainty | None = None) -> FloatArray:
        """Return the uncertainty of each row's class posterior.

        Parameters
        ----------
        X : array-like of shape (n, p)
        measure : Uncertainty, optional
            By default the mechanism's own measure (Shannon's entropy unless told otherwise).
        """
        check_is_fitted(self, "state_")
        measure = self.mechanism_.uncertainty if measure is None else measure
        if not isinstance(measure, Uncertainty):
            raise TypeError(
                f"measure={measure!r}: give an object of hesitant.uncertainty, such as Renyi(2)."
            )
        measure.check(len(self.classes_))
        return self._by_rows(X, lambda log_tau, tau, log_f: measure.evaluate(log_tau, tau)[0])

    def labelling_probability(self, X: Any) -> FloatArray:
        """Return the probability that each row would be given a label, if reviewed."""
        check_is_fitted(self, "state_")
        mechanism = self.mechanism_
        return self._by_rows(X, lambda log_tau, tau, log_f: mechanism.probability(log_tau, tau))

    def resolve(self, X: Any, y: Any, reviewed: Any = None) -> FloatArray:
        """Return class probabilities given the features and what was said of each row.

        A label settles the class, unless readers are fallible: then labels are weighed against
        the features and each other. A blank says something about it if the chance of a label
        depends on the class (``mechanism="class"`` or ``"entropy+class"``); of a row that nobody
        was shown only the features speak, as in :meth:`predict_proba`.

        Parameters
        ----------
        X : array-like of shape (n, p)
        y : array-like of shape (n,) or (n, J), or Statements
            As for :meth:`fit`.
        reviewed : boolean array-like of shape (n,), optional
            As for :meth:`fit`.

        Returns
        -------
        array of shape (n, g)

        Examples
        --------
        >>> from hesitant import MixtureClassifier
        >>> from hesitant.datasets import simulate
        >>> data = simulate(n=300, random_state=0)
        >>> clf = MixtureClassifier(mechanism="entropy+class").fit(data.features, data.labels)
        >>> clf.resolve(data.features, data.labels).shape
        (300, 2)
        """
        with self._attach(X, y, None, reviewed) as rows:
            work = partial(
                _resolve_block, family=self.family_, mechanism=self.mechanism_, state=self.state_
            )
            return np.concatenate(rows.collect(work))

    @property
    def readers(self) -> list[str] | None:
        """The readers of the fit, if it was one to statements."""
        return getattr(getattr(self, "mechanism_", None), "readers", None)

    @property
    def readers_(self) -> "pd.DataFrame":
        """What the fit found of each reader, a row a reader, with standard errors."""
        return readers_table(self)

    @property
    def confusion_(self) -> FloatArray:
        """Each reader's chances of labels k when the class is h (J, g, g)."""
        panel = self.mechanism_
        if not isinstance(panel, Panel):
            raise AttributeError("confusion_ belongs to a fit with experts='fallible'.")
        return panel.confusion()

    def _attach(self, X: Any, y: Any, sample_weight: Any, reviewed: Any) -> ManyRows:
        """Return data as rows, checked against the features and classes of the fit.

        Without X and y, the rows of the fit.
        """
        check_is_fitted(self, "state_")
        if X is None and y is None:
            if sample_weight is not None or reviewed is not None:
                raise ValueError("sample_weight and reviewed belong to X and y: give those too.")
            return self._remembered()
        return take(
            self,
            X,
            y,
            sample_weight,
            reviewed,
            classes=list(self.classes_),
            threads=self._threads(X),
            reset=False,
        ).rows

    def _remembered(self) -> ManyRows:
        try:
            return self._rows
        except AttributeError:
            raise ValueError(
                "X and y are needed: this model was loaded or copied, and does not carry the "
                "rows it was fitted to."
            ) from None

    def __getstate__(self) -> dict[str, Any]:
        # The rows of the fit serve questions asked at once (`summary()`); they do not travel.
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("_rows", None)
        return state

    def sample(
        self, n_samples: int = 1, random_state: Any = None
    ) -> tuple[FloatArray, AnyArray, Any]:
        """Draw from the fitted model.

        Returns
        -------
        X : array of shape (n_samples, p)
        truth : array of shape (n_samples,)
            The classes the rows were drawn from.
        y : array of shape (n_samples,)
            The labels an expert would leave: blanks drawn from the mechanism, marked with
            ``missing_label`` where the classes' type can hold it, else None. Of a panel the
            :class:`Statements` of its readers, shown every row.
        """
        check_is_fitted(self, "state_")
        check_number("n_samples", n_samples, Integral, 1)
        rng = _generator(random_state)
        codes = rng.choice(len(self.classes_), size=n_samples, p=self.weights_)
        X = np.empty((n_samples, self.n_features_in_))
        for h in range(len(self.classes_)):
            mine = np.flatnonzero(codes == h)
            X[mine] = self.family_.sample(self.state_.params, h, mine.size, rng)
        truth = self.classes_[codes]
        log_tau, tau, _ = log_posterior(self.family_, self.state_, X)
        if isinstance(self.mechanism_, Panel):
            said = self.mechanism_.draw(codes, log_tau, tau, self.classes_, rng)
            return X, truth, said
        chance = self.mechanism_.probability(log_tau, tau, np.eye(len(self.classes_))[codes])
        blank = rng.random(n_samples) >= chance
        return X, truth, _with_blanks(truth, blank, self.missing_label)

    def __sklearn_clone__(self) -> Self:
        new: Self = super().__sklearn_clone__()
        new.init = self.init  # scikit-learn would take the fit out of a fitted start
        return new


def _resolve_block(block: Block, family: Family, mechanism: Mechanism, state: State) -> FloatArray:
    log_tau, tau, _ = log_posterior(family, state, block.X)
    difficulty = mechanism.difficulty(log_tau, tau, slopes=False)
    evidence = mechanism.evidence(difficulty, block.said, state.theta)
    resolved = row_term(evidence, log_tau, tau, block.codes).resolved
    unheard = (block.review == 0) & ~block.labelled
    return np.where(unheard[:, None], tau, resolved)


def _check_seed(random_state: Any) -> None:
    """Raise unless this is a seed, whether or not a fit will need one."""
    kinds = (Integral, np.random.RandomState, np.random.Generator)
    if not (random_state in (None, np.random) or isinstance(random_state, kinds)):
        raise TypeError(
            f"random_state={random_state!r}: give a whole number, a NumPy generator, or None."
        )


def _generator(random_state: Any) -> np.random.Generator:
    """Return a generator from any of scikit-learn's ways to give a seed, or from itself."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))


def _with_blanks(truth: AnyArray, blank: AnyArray, missing_label: Any) -> AnyArray:
    marker = np.asarray(missing_label)
    same = marker.dtype.kind == truth.dtype.kind
    numbers = {marker.dtype.kind, truth.dtype.kind} <= set("iuf")
    if same or (numbers and marker == marker.astype(truth.dtype)):
        return np.where(blank, marker.astype(truth.dtype) if numbers else marker, truth)
    y = truth.astype(object)
    y[blank] = None
    return y
