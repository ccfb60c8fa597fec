"""What a report is about: a fitted model, its data, and the fits it is compared with."""

import dataclasses
import itertools
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from hesitant._replicates import refit
from hesitant._typing import AnyArray, BoolArray, FloatArray, IntArray
from hesitant.diagnostics import Diagnosis, diagnose
from hesitant.diagnostics._tests import MOST_PARAMETERS
from hesitant.diagnostics._triage import least_density
from hesitant.inference import ObservedInformation
from hesitant.inference._information import information_of
from hesitant.inference._sensitivity import Sensitivity, sensitivity
from hesitant.labels import Labels
from hesitant.model_data import ModelData, class_names, feature_names, model_data
from hesitant.report._held_out import HeldOut, hold_out
from hesitant.statements import Statements


@dataclasses.dataclass(frozen=True)
class Case:
    """A model with its data.

    Attributes
    ----------
    whole : fitted MixtureClassifier or MixtureClassifierCV
        What predicts.
    clf : fitted MixtureClassifier
        The same, or the part of a combination that counts most: it answers what takes one model.
    X : array or data frame
        Features as the model was fitted to them.
    y : array
        Labels, with blanks; of a panel, the class that most readers named.
    said : array or Statements
        What was said of the rows.
    data : ModelData
        The same, checked and joined to the model.
    ids : sequence or None
        What to call the rows.
    rows : array
        Numbers of the rows, counted from 1, as in the user's table.
    diagnosis : Diagnosis
        With the fit that ignores the pattern and the one that uses it.
    """

    whole: Any
    clf: Any
    X: Any
    y: Any
    said: Any
    data: ModelData
    ids: Sequence[Any] | None
    rows: AnyArray
    diagnosis: Diagnosis

    @classmethod
    def build(
        cls,
        clf: Any,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        reviewed: Any = None,
        ids: Sequence[Any] | None = None,
        rows: AnyArray | None = None,
        n_boot: int = 0,
        seed: Any = None,
    ) -> "Case":
        """Check the data against the model, and fit what the report compares it with."""
        whole, clf, said = clf, getattr(clf, "model_", clf), y
        if isinstance(y, Statements):
            # what needs labels of one reader is asked of a plain model of what most readers say
            said, y, reviewed = y, y.labels(_majority(y)), y.shown.any(axis=1)
            clf = refit(
                clf,
                X,
                y,
                reviewed=reviewed,
                experts="right",
                mechanism="entropy",
                missing_label=None,
            )
        else:
            said = np.asarray(y, dtype=object)
        data = model_data(clf, X, y, sample_weight, reviewed)
        n = len(data.labels.codes)
        if ids is not None and len(ids) != n:
            raise ValueError(
                f"ids has {len(ids)} entries and X has {n} rows: give one for each row."
            )
        diagnosis = diagnose(
            X,
            y,
            estimator=clf,
            sample_weight=sample_weight,
            reviewed=reviewed,
            n_boot=n_boot,
            random_state=seed,
            n_jobs=whole.n_jobs,
        )
        numbers = np.arange(1, n + 1) if rows is None else np.asarray(rows)
        return cls(whole, clf, X, y, said, data, ids, numbers, diagnosis)

    @property
    def panel(self) -> bool:
        """Whether several readers were asked."""
        return isinstance(self.said, Statements)

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
    def values(self) -> FloatArray:
        """The features as numbers."""
        return np.asarray(self.X, dtype=float)

    @cached_property
    def proba(self) -> FloatArray:
        """Class probabilities from the features alone."""
        out: FloatArray = self.whole.predict_proba(self.X)
        return out

    @cached_property
    def posterior(self) -> FloatArray:
        """Class probabilities of blank rows, from the features and from their being blank."""
        own = {} if self.panel else {"reviewed": self.data.reviewed}
        told = self.whole.resolve(self.X, self.said, **own)
        return np.where(self.blank[:, None], told, self.proba)

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
    def held_out(self) -> HeldOut:
        """What the model says of labelled rows that it did not see."""
        return hold_out(self)

    @cached_property
    def tilted(self) -> Sensitivity | None:
        """How predictions change if one class were labelled more or less readily than others."""
        if self.informed is not self.clf or self.n > 20_000 or self.diagnosis.finding == "crowded":
            return None
        try:
            return sensitivity(
                self.clf,
                self.X,
                self.y,
                tilts=(-1.1, -0.55, 0.55, 1.1),
                sample_weight=self.data.weight,
                reviewed=self.data.reviewed,
            )
        except (ValueError, TypeError, AttributeError, ArithmeticError, np.linalg.LinAlgError):
            return None  # a mechanism that cannot be tilted, or a fit that fails

    @cached_property
    def unusual(self) -> BoolArray:
        """Whether each row is less likely than nearly all labelled ones: it fits no class."""
        least = least_density(self.clf, self.data.likelihood.rows)
        return np.asarray(self.clf.score_samples(self.X) < least)

    @cached_property
    def separation(self) -> FloatArray:
        """Of each feature, the share of its variance that lies between the classes."""
        tau = np.where(
            self.blank[:, None], self.posterior, np.eye(len(self.classes))[self.labels.codes]
        )
        weight = np.maximum(tau.sum(axis=0), 1e-9)
        Z = self.values - np.nanmedian(self.values, axis=0)
        with np.errstate(all="ignore"):
            Z = np.nan_to_num(Z / np.nanstd(Z, axis=0))
            means = tau.T @ Z / weight[:, None]
            between = weight @ (means - weight @ means / len(Z)) ** 2
            within = sum(tau[:, h] @ (Z - means[h]) ** 2 for h in range(tau.shape[1]))
            return np.nan_to_num(between / (between + within), nan=0.0, posinf=0.0)

    @cached_property
    def leading(self) -> list[int]:
        """The features, those that tell the classes apart best first."""
        return [int(j) for j in np.argsort(-self.separation, kind="stable")]

    @cached_property
    def plane(self) -> tuple[int, int]:
        """The two features on which the two most alike classes lie furthest apart."""
        means, spread = self.clf.means_, self.clf.covariances_
        best, most = tuple(sorted(self.leading[:2])), -1.0
        for pair in itertools.combinations(sorted(self.leading[:8]), 2):
            within = np.einsum("h,hij->ij", self.clf.weights_, spread)[np.ix_(pair, pair)]
            step = means[:, None, pair] - means[None, :, pair]
            if not (np.isfinite(step).all() and np.isfinite(within).all()):
                continue
            away = np.einsum("abi,ij,abj->ab", step, np.linalg.pinv(within), step)
            least = float(away[~np.eye(len(means), dtype=bool)].min())
            if least > most:
                best, most = pair, least
        return best[0], best[1]

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


def _majority(said: Statements) -> IntArray:
    """Return the class that most readers named of each row, −1 where there is none or a tie."""
    votes = said.votes()
    first, second = np.sort(votes, axis=1)[:, :-3:-1].T
    return np.where(first > second, votes.argmax(axis=1), -1)
