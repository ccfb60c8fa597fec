"""The estimator people import."""

import math
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hesitant._cores import one_blas_thread, threads_allowed
from hesitant._optional import need
from hesitant._probe import probe_mechanism
from hesitant._typing import AnyArray, FloatArray
from hesitant.base import PatternClassifier
from hesitant.checks import check_jobs, check_number, check_seed, check_supply, choose, look_up
from hesitant.exceptions import FitWarning
from hesitant.experts import Readers, as_readers, reader_records
from hesitant.families import FAMILIES, Components, Family
from hesitant.fitting import SAMPLE, fit_mixture, generator, match_to_labels
from hesitant.intake import check_features, is_dask, take
from hesitant.labels import names_of
from hesitant.likelihood import Likelihood
from hesitant.mechanisms import Mechanism, as_mechanism
from hesitant.model import FittedModel, with_blanks
from hesitant.remarks import NotConvergedWarning, fit_remarks, label_remarks
from hesitant.rows import BLOCK_SIZE, ManyRows
from hesitant.solvers import SOLVERS
from hesitant.uncertainty import Uncertainty, as_measure


class MixtureClassifier(PatternClassifier):
    """Mixture classifier for partly labelled data that learns from the blanks too.

    >>> from hesitant import MixtureClassifier
    >>> from hesitant.datasets import simulate
    >>> data = simulate(n=500, random_state=0)
    >>> clf = MixtureClassifier().fit(data.features, data.labels)
    >>> bool(clf.mechanism_.coef_[0] < 0)  # harder cases are labelled less often
    True

    Parameters
    ----------
    family : str or Family, default="gaussian"
        The classes' distribution: a name in ``hesitant.families.FAMILIES`` or an object.
    covariance : {"full", "tied", "diag", "spherical", "shrunk"} or Shrunk, default="full"
        What the classes' scale matrices look like; "shrunk", for few rows, pulls them together as
        far as the data ask for.
    components : int, dict or "auto", default=1
        How many a class is a mixture of: all classes, each by name, or as held-out rows say.
    mechanism : {"entropy", "class", "entropy+class", "mixed", "none"}, Mechanism or None
        Whether the chance of a label depends on the difficulty of a case ("entropy", the default),
        its class, or both: the full likelihood. With None blanks tell nothing (ignorance).
    experts : {"right", "fallible"} or Readers, default="right"
        Whether a label is always right, or readers err, each in a way of their own.
    alpha : float, default=0.5
        Labelled rows count ``2 alpha``, blank rows' features ``2 (1 − alpha)``, the pattern of
        blanks once. 0.5 gives a likelihood of the data, 1 discriminant analysis, 0 cluster
        analysis. Where shapes are wrong a larger alpha keeps blanks from dragging classes away.
    solver : {"auto", "em", "one_step_late", "quasi_newton", "profile"}, default="auto"
        All climb the same likelihood; "auto" is the quickest for the family.
    classes : sequence, optional
        All class values, where some have no labelled row; sorted, for scikit-learn's scorers.
    n_init, max_iter : int, default=1 and 1000
        Starts, the first from the labelled rows, of which the best is kept; iterations of each.
    tol : float, default=1e-6
        Stop when no more than this is still to be gained, in units of log-likelihood.
    reg_covar : float, default=1e-6
        Extra scatter of every class, in robust variances, that bounds the likelihood.
    init : dict or fitted MixtureClassifier, optional
        Parameters to start from ("weights", "means", "covariances", …).
    missing_label : scalar, default=-1
        The value of y that marks a blank; None, NaN, NA and null always do.
    random_state : int, RandomState or None
        For restarts, and for classes without a labelled row.
    n_jobs : int, optional
        Threads, on which no result depends; by default all, within ``OMP_NUM_THREADS``.
    verbose : int, default=0
        1 prints a line for each stage of the fit, 2 one for each iteration.

    Attributes
    ----------
    classes_, weights_, means_, covariances_ : arrays
        The g classes; their weights, means (g, p) and covariances (g, p, p).
    mechanism_ : Mechanism
        Fitted, with ``intercept_`` and ``coef_``.
    log_likelihood_, n_parameters_, n_rows_ : numbers
        The maximised objective, no constant dropped, priors not counted; rows by their weights.
    converged_, termination_, n_iter_, history_
        Whether the fit converged, why it stopped, when, and the objective, prior included, of each
        iteration but first steps of EM.
    fitted_ : FittedModel
        All of these in one object, without data.
    """

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
        self.family, self.covariance, self.components = family, covariance, components
        self.mechanism, self.experts, self.alpha = mechanism, experts, alpha
        self.solver, self.classes, self.n_init, self.init = solver, classes, n_init, init
        self.max_iter, self.tol, self.reg_covar = max_iter, tol, reg_covar
        self.missing_label, self.random_state = missing_label, random_state
        self.n_jobs, self.verbose = n_jobs, verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, reviewed: Any = None) -> Self:
        """Fit classes and mechanism.

        Parameters
        ----------
        X : array-like or data frame of shape (n, p)
            Features. Of a row with empty cells (NaN, NA, null) the others count.
        y : array-like of shape (n,), or (n, J) of J readers, or Statements
            Labels, with blanks; or all that was said of the rows, by whom.
        sample_weight : array-like of shape (n,), optional
            Numbers of rows: a weight of 2 is a row given twice.
        reviewed : boolean array-like of shape (n,), optional
            False for a row that nobody was shown, or whose label came some other way (histology,
            say): such rows inform the classes, not the mechanism.
        """
        family, mechanism = self._resolve()
        self._forget()
        rows = take(self, X, y, sample_weight, reviewed)
        rough, classes, said = rows, rows.classes, rows.said
        mechanism = mechanism.prepare(len(classes))
        probe_mechanism(mechanism, len(classes))
        if said is None:
            mechanism, remarks = mechanism.estimable(rows.tally)
        else:
            readers, remarks = as_readers(self.experts), []
            votes = readers.rough(said)
            rough = rows.relabelled(votes)
            mechanism = readers.panel(said, mechanism, votes)
        check_supply(self.alpha, classes, rough.tally)
        mechanism.class_names = names_of(classes)
        if self.classes is None and self.alpha > 0 and said is None:
            remarks += label_remarks(classes, self.missing_label, rough.tally)
        # Products are small, and threads of ours share the rows; what overflows is noticed.
        with one_blas_thread(), np.errstate(all="ignore"):
            family = family.prepare(partial(rough.sample, SAMPLE), classes)
            likelihood = Likelihood(rows, family, mechanism, self.alpha, rough)
            fit, likelihood = fit_mixture(likelihood, classes, self)
            if self.alpha == 0:  # clusters have no names of their own
                fit = fit._replace(state=match_to_labels(fit.state, family, rows))
            remarks += fit_remarks(fit, likelihood, classes, rows.named_features)
            self._data, progress = rows, fit.progress
            model = FittedModel(
                family=family,
                mechanism=likelihood.mechanism.fitted(fit.state.theta, rows.tally.rate),
                state=fit.state,
                classes=classes,
                n_features=rows.n_features,
                named_features=rows.named_features,
                alpha=self.alpha,
                log_likelihood=float(fit.final.log_likelihood),
                n_rows=float(rows.tally.weight),
                n_iter=len(progress.history),
                converged=progress.converged,
                termination=progress.reason,
                history=np.array(progress.stage),
            )
            self._publish(model)
        if not model.converged:
            remedy = "Raise max_iter, or tol if the remaining gain does not matter."
            words = f"The fit did not converge: {model.termination}. {remedy}"
            warnings.warn(words, NotConvergedWarning, stacklevel=2)
        for remark in remarks:
            warnings.warn(remark, FitWarning, stacklevel=2)
        return self

    def _publish(self, model: FittedModel) -> None:
        self.fitted_ = model
        for name, value in model.shown.items():
            setattr(self, f"{name}_", value)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        family = FAMILIES.get(self.family) if isinstance(self.family, str) else self.family
        tags.input_tags.allow_nan = bool(getattr(family, "takes_gaps", False))
        return tags

    def _resolve(self) -> tuple[Family, Mechanism]:
        check_number("alpha", self.alpha, Real, 0, 1)
        for name in ("n_init", "max_iter"):
            check_number(name, getattr(self, name), Integral, 1)
        for name in ("tol", "reg_covar"):
            check_number(name, getattr(self, name), Real, 0)
        check_jobs("n_jobs", self.n_jobs)
        if not isinstance(self.verbose, Integral):  # True is one
            raise TypeError(f"verbose={self.verbose!r}: give 0, 1 or 2.")
        check_seed("random_state", self.random_state)
        look_up("solver", self.solver, SOLVERS)
        family = choose("family", self.family, FAMILIES, Family)
        mechanism = as_mechanism(self.mechanism)
        if as_readers(self.experts).fallible and self.alpha != 0.5:
            raise ValueError(f"alpha={self.alpha!r} with experts who may be wrong: use alpha=0.5.")
        if mechanism.by_class and self.alpha == 0:
            what = "alpha=0 names the classes after the fit, too late for a mechanism by class"
            raise ValueError(f"{what}: use a larger alpha, or another mechanism.")
        if isinstance(self.components, bool) or self.components != 1:
            family = Components(family, self.components)
        return family.specialise(self.covariance, self.reg_covar), mechanism

    def _threads(self, X: Any) -> int:
        # Of one block, counting the cores would take longer than it saves.
        return 1 if len(X) <= BLOCK_SIZE else threads_allowed(self.n_jobs)

    def check(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, reviewed: Any = None
    ) -> ManyRows:
        """Return data (the fit's own by default) checked once for all methods that take X."""
        check_is_fitted(self, "fitted_")
        if X is not None or y is not None:
            return take(self, X, y, sample_weight, reviewed, reset=False)
        if sample_weight is not None or reviewed is not None:
            raise ValueError("sample_weight and reviewed belong to X and y: give those too.")
        if not hasattr(self, "_data"):
            raise ValueError("X and y are needed: a model loaded or copied carries no rows.")
        return self._data

    def __getstate__(self) -> dict[str, Any]:
        # The rows of the fit serve questions asked at once; they do not travel.
        return {k: v for k, v in super().__getstate__().items() if k != "_data"}

    @property
    def fit_rows(self) -> ManyRows | None:
        """The rows of the fit, unless the model was loaded or copied."""
        return getattr(self, "_data", None)

    def __sklearn_clone__(self) -> Self:
        new: Self = super().__sklearn_clone__()
        new.init = self.init  # scikit-learn would take the fit out of a fitted start
        return new

    def _by_rows(self, X: Any, pick: Callable[..., AnyArray]) -> Any:
        """Return what ``pick`` makes of posteriors; of a Dask collection, a lazy Dask array."""
        check_is_fitted(self, "fitted_")
        if is_dask(X):
            from hesitant.dask_rows import map_lazily

            return map_lazily(self, X, pick)
        X = check_features(self, X, reset=False)
        return self.fitted_.by_rows(X, pick, self._threads(X))

    def predict(self, X: Any) -> AnyArray:
        """Return the most probable class of each row."""
        return self._by_rows(X, lambda log_tau, tau, log_f: self.classes_[log_tau.argmax(axis=1)])

    def predict_proba(self, X: Any) -> FloatArray:
        """Return class posteriors (n, g)."""
        return self._by_rows(X, lambda log_tau, tau, log_f: tau)

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return log posteriors (n, g), accurate where posteriors round to 0 or 1."""
        return self._by_rows(X, lambda log_tau, tau, log_f: log_tau)

    def score_samples(self, X: Any) -> FloatArray:
        """Return the log density of each row."""
        return self._by_rows(X, lambda log_tau, tau, log_f: log_f)

    def entropy(self, X: Any, measure: Uncertainty | None = None) -> FloatArray:
        """Return each row's uncertainty, by the mechanism's measure or another of its kind."""
        check_is_fitted(self, "fitted_")
        measure = as_measure("measure", measure, self.mechanism_.uncertainty, len(self.classes_))
        return self._by_rows(X, lambda log_tau, tau, log_f: measure.evaluate(log_tau, tau)[0])

    def labelling_probability(self, X: Any) -> FloatArray:
        """Return the probability that each row would be given a label, if reviewed."""
        return self._by_rows(X, lambda log_tau, tau, _: self.mechanism_.probability(log_tau, tau))

    def resolve(self, X: Any, y: Any = None, reviewed: Any = None) -> FloatArray:
        """Return class probabilities given the features and what was said of each row.

        A label settles the class, unless readers are fallible; a blank says something about it if
        the mechanism depends on the class. Data as for :meth:`fit`; without y nothing was said.
        """
        if y is None and reviewed is None and not isinstance(X, ManyRows | None):
            return self.predict_proba(X)
        return self.fitted_.resolve(self.check(X, y, None, reviewed))

    @property
    def readers(self) -> list[str] | None:
        """The readers of the fit, if it was one to statements."""
        return self.fitted_.readers if hasattr(self, "fitted_") else None

    @property
    def readers_(self) -> Any:
        """What the fit found of each reader, as a data frame, with standard errors."""
        return need("pandas").DataFrame(reader_records(self))

    @property
    def confusion_(self) -> FloatArray:
        """Each reader's chances of labels k when the class is h (J, g, g)."""
        return self.mechanism_.confusion()

    def sample(
        self, n_samples: int = 1, random_state: Any = None
    ) -> tuple[FloatArray, AnyArray, Any]:
        """Draw features, classes, and the labels an expert would leave, from the fitted model.

        Blanks are marked with ``missing_label`` where the classes' type can hold it, else None. Of
        a panel the labels are the :class:`Statements` of its readers, shown every row.
        """
        check_is_fitted(self, "fitted_")
        check_number("n_samples", n_samples, Integral, 1)
        X, codes, said = self.fitted_.sample(n_samples, generator(random_state))
        truth = self.classes_[codes]
        return X, truth, said if self.readers else with_blanks(truth, ~said, self.missing_label)

    def _value_and_size(self, *given: Any) -> tuple[float, float]:
        check_is_fitted(self, "fitted_")
        if all(part is None for part in given):
            return self.log_likelihood_, self.n_rows_ or math.nan  # the first files did not say
        rows = self.check(*given)
        value = self.fitted_.likelihood(rows).evaluate(self.state_).log_likelihood
        return float(value), rows.tally.weight

    def log_likelihood(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, reviewed: Any = None
    ) -> float:
        """Return the objective at the fitted parameters, of the fit's rows or others."""
        return self._value_and_size(X, y, sample_weight, reviewed)[0]

    def aic(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, reviewed: Any = None
    ) -> float:
        """Return Akaike's criterion, of the fit's rows or others; smaller is better.

        Those of models with and without a mechanism, which explains the blanks too, do not
        compare; :func:`hesitant.compare` puts them on one footing.
        """
        value, _ = self._value_and_size(X, y, sample_weight, reviewed)
        return 2 * self.n_parameters_ - 2 * value

    def bic(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, reviewed: Any = None
    ) -> float:
        """Return the Bayesian criterion; see :meth:`aic`."""
        value, n = self._value_and_size(X, y, sample_weight, reviewed)
        return self.n_parameters_ * math.log(n) - 2 * value
