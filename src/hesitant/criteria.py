"""How well a fitted classifier explains rows: likelihood, AIC, BIC and accuracy."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import xlogy
from sklearn.utils.validation import check_is_fitted

from hesitant._typing import AnyArray
from hesitant.checks import check_weight
from hesitant.labels import encode
from hesitant.likelihood import State
from hesitant.model_data import likelihood_of


class Criteria:
    """The numbers that sum up a fit."""

    classes_: AnyArray
    state_: State
    log_likelihood_: float
    n_parameters_: int
    n_rows_: float
    missing_label: Any
    predict: Callable[[Any], Any]

    def log_likelihood(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, reviewed: Any = None
    ) -> float:
        """Return the objective at the fitted parameters, of the fit's rows or others."""
        return self._value_and_size(X, y, sample_weight, reviewed)[0]

    def _value_and_size(
        self, X: Any, y: Any, sample_weight: Any, reviewed: Any
    ) -> tuple[float, float]:
        """Return the objective of data and their number of rows; by default those of the fit."""
        check_is_fitted(self, "state_")
        if X is None and y is None and sample_weight is None and reviewed is None:
            return self.log_likelihood_, self.n_rows_ or math.nan  # the first files did not say
        likelihood = likelihood_of(self, X, y, sample_weight, reviewed)
        with likelihood.rows as rows:
            return float(likelihood.evaluate(self.state_).log_likelihood), rows.tally.weight

    def aic(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, reviewed: Any = None
    ) -> float:
        """Return Akaike's criterion, of the fit's rows or others; smaller is better.

        Models with and without a mechanism explain different things (the pattern of blanks, or
        not), so their criteria do not compare. :func:`hesitant.compare` puts them on one footing.
        """
        value, _ = self._value_and_size(X, y, sample_weight, reviewed)
        return 2 * self.n_parameters_ - 2 * value

    def bic(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, reviewed: Any = None
    ) -> float:
        """Return the Bayesian criterion, of the fit's rows or others; smaller is better.

        For models with and without a mechanism see :meth:`aic`.
        """
        value, n = self._value_and_size(X, y, sample_weight, reviewed)
        return self.n_parameters_ * math.log(n) - 2 * value

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of labelled rows that are put into their class.

        Blank rows have no class to compare with and do not count. (A scorer of scikit-learn's,
        such as ``"accuracy"``, takes blanks for a class: give it labelled rows only.)
        """
        check_is_fitted(self, "classes_")
        labels = encode(y, self.missing_label)
        seen = labels.labelled
        if not seen.any():
            raise ValueError("y has no label: a score needs rows whose class is known.")
        known = self.classes_.tolist()
        if not set(labels.classes.tolist()) & set(known):
            raise ValueError(
                f"y has the labels {labels.classes.tolist()[:5]}, and the model the classes "
                f"{known[:5]}: none is the same. (The text '1' is not the number 1.)"
            )
        predicted = np.asarray(self.predict(X))
        if len(predicted) != len(seen):
            raise ValueError(f"X has {len(predicted)} rows and y has {len(seen)}.")
        weight = check_weight(sample_weight, predicted)[seen]
        if not weight.any():
            raise ValueError("sample_weight is zero for every labelled row: give some a weight.")
        right = predicted[seen] == labels.classes[labels.codes[seen]]
        return float(np.average(right, weights=weight))


def chance_log_likelihood(labelled: float, blank: float) -> float:
    """Return the maximised log-likelihood of labels missing completely at random.

    Added to an ignorance likelihood it makes a likelihood of the same data as the full one: the
    features, the labels, and which reviewed rows have them. It has one parameter, the share
    labelled.
    """
    total = max(labelled + blank, 1e-300)
    return float(xlogy(labelled, labelled / total) + xlogy(blank, blank / total))
