"""What a report is about: a fitted model, its data, and the fits it is compared with."""

import dataclasses
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from hesitant._typing import AnyArray, BoolArray, FloatArray
from hesitant.attached import Attached, class_names, feature_names
from hesitant.diagnostics import Diagnosis
from hesitant.diagnostics._fits import MOST_PARAMETERS
from hesitant.inference import ObservedInformation
from hesitant.inference._information import information_of
from hesitant.labels import Labels

__all__ = ["Case", "top_two"]


@dataclasses.dataclass(frozen=True)
class Case:
    """A model with its data.

    Attributes
    ----------
    clf : fitted MixtureClassifier
    X : array or data frame
        Features as the model was fitted to them.
    y : array
        Labels, with blanks.
    data : Attached
        The same, checked and joined to the model.
    ids : sequence or None
        What to call the rows.
    rows : array
        Numbers of the rows, counted from 1, as in the user's table.
    diagnosis : Diagnosis
        With the fit that ignores the pattern and the one that uses it.
    """

    clf: Any
    X: Any
    y: Any
    data: Attached
    ids: Sequence[Any] | None
    rows: AnyArray
    diagnosis: Diagnosis

    @property
    def labels(self) -> Labels:
        """The labels as codes."""
        return self.data.labels

    @property
    def n(self) -> int:
        """How many rows there are."""
        return len(self.labels.codes)

    @property
    def blank(self) -> BoolArray:
        """Whether each row lacks a label."""
        return ~self.labels.labelled

    @cached_property
    def classes(self) -> list[str]:
        """The classes as they are printed."""
        return class_names(self.clf)

    @cached_property
    def features(self) -> list[str]:
        """The features as they are printed."""
        return feature_names(self.clf)

    @cached_property
    def posterior(self) -> FloatArray:
        """Class probabilities under the model."""
        out: FloatArray = self.clf.predict_proba(self.X)
        return out

    @cached_property
    def ignorant_posterior(self) -> FloatArray:
        """Class probabilities under the fit that ignores the pattern of blanks."""
        out: FloatArray = self.diagnosis.ignorance.predict_proba(self.X)
        return out

    @property
    def informed(self) -> Any:
        """The fit that uses the pattern: the model itself if it does, else the diagnosis's."""
        return self.clf if self.clf.mechanism_.informative else self.diagnosis.full

    @cached_property
    def informed_posterior(self) -> FloatArray:
        """Class probabilities under the fit that uses the pattern."""
        if self.informed is self.clf:
            return self.posterior
        out: FloatArray = self.informed.predict_proba(self.X)
        return out

    @cached_property
    def information(self) -> ObservedInformation | str:
        """Standard errors of the model's parameters, or why there are none."""
        if self.diagnosis.full is self.clf and self.diagnosis.information is not None:
            return self.diagnosis.information
        k = self.clf.n_parameters_
        if k > MOST_PARAMETERS:
            return (
                f"The model has {k:,} parameters, too many for a report to wait for their "
                "standard errors. Ask for them in Python with clf.summary()."
            )
        try:
            return information_of(self.clf, self.data.likelihood)
        except (ValueError, np.linalg.LinAlgError) as error:
            return f"There are no standard errors: {error}"

    def name_of(self, position: int) -> str:
        """Return what the user calls a row."""
        if self.ids is None or self.ids[position] is None:
            return str(int(self.rows[position]))
        return str(self.ids[position])


def top_two(tau: FloatArray) -> tuple[AnyArray, AnyArray]:
    """Return the most probable class of each row and the runner-up."""
    order = np.argsort(-tau, axis=1, kind="stable")
    return order[:, 0], order[:, 1]
