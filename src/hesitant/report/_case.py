"""What a report is about: a fitted model, its data, and the fits it is compared with."""

import dataclasses
import itertools
from functools import cached_property
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from hesitant._drawing import share_between
from hesitant._replicates import refit
from hesitant._typing import FloatArray
from hesitant._words import noun
from hesitant.diagnostics import diagnose
from hesitant.diagnostics._diagnosis import of_classes, of_split_readers
from hesitant.diagnostics._tests import MOST_PARAMETERS
from hesitant.diagnostics._triage import least_density
from hesitant.inference import ObservedInformation, information
from hesitant.inference._sensitivity import Sensitivity, sensitivity
from hesitant.model_selection._labelled import deal_out
from hesitant.statements import NOUN

MOST_LABELLED, MOST_BLANK = 1500, 500  # rows that are drawn
FOLDS, FEWEST = 5, 10  # of fewer labelled rows a share says nothing
MANY = 100_000  # of more, one fold tells the accuracy to a tenth of a percent


class Case:
    """A model with its data, and what else a report computes once.

    ``whole`` is what predicts, and ``main`` the same, or that part of a combination that counts
    most; ``given`` is what they were fitted to. Of one reader ``clf`` is the main model and
    ``data`` the same; of a panel, who said what is in ``said``, the labels in ``data`` are the
    classes that most readers named, and ``clf`` is a plain model of those.
    """

    def __init__(self, clf: Any, given: Any, ids: Any, rows: Any, words: Any, **how: Any) -> None:
        self.whole, self.main, self.given = clf, getattr(clf, "model_", clf), given
        self.clf, self.data, self.said = self.main, given, given.said
        self.panel = self.said is not None
        self.label = "class that most readers named" if self.panel else "label"
        if self.panel:
            seen, voted = np.asarray(self.said.shown.any(axis=1)), self.said.vote()
            self.data = dataclasses.replace(given, codes=voted, reviewed=seen, said=None)
            plain = {"experts": "right", "mechanism": "entropy", "missing_label": None}
            self.clf = refit(self.main, self.data, None, warned=[], **plain)
        self.labels, self.blank = self.data.labels, ~self.data.labels.labelled
        self.n, self.ids, self.wording = len(self.blank), ids, words
        if ids is not None and len(ids) != self.n:
            raise ValueError(f"ids has {len(ids)} entries and X {self.n} rows: give one for each.")
        self.rows = np.arange(1, self.n + 1) if rows is None else np.asarray(rows)
        self.classes, self.features = self.clf.fitted_.class_names, self.clf.fitted_.feature_names
        self.values = np.asarray(given.X, dtype=float)
        self.diagnosis = diagnose(self.data, None, estimator=self.clf, n_jobs=clf.n_jobs, **how)
        if self.panel and self.diagnosis.finding == "none":
            rows = noun(int(self.said.given.any(axis=1).sum()), "row")
            self.diagnosis = of_split_readers(self.diagnosis, rows, NOUN[self.said.kind])
        # the fit that uses the pattern: the model itself if it does
        self.informed = self.clf if self.clf.mechanism_.informative else self.diagnosis.full
        # what each reader says of each class (J, g, g), if readers may be wrong
        self.confusion = getattr(self.main, "confusion_", None)
        # each class's chance of a label, if a combination allows for it
        self.label_rates = getattr(self.whole, "label_rates_", None)
        if self.label_rates is not None:
            self.diagnosis = of_classes(self.diagnosis)
        # class probabilities: by the features alone, of blank rows also by their being blank, and
        # under the fit that ignores the pattern of blanks; chances of a label
        self.proba, self.entropy = clf.predict_proba(given), self.clf.entropy(self.data)
        self.posterior = np.where(self.blank[:, None], clf.resolve(given), self.proba)
        self.chance = (self.clf if self.panel else clf).labelling_probability(self.data)
        self.ignorant_posterior = np.asarray(self.diagnosis.ignorance.predict_proba(self.data))
        # less likely than nearly all labelled rows: fits no class
        self.density = self.clf.score_samples(self.data)
        self.unusual = self.density < least_density(self.clf.fitted_, self.data, self.density)
        # of each feature the share of its variance between the classes, and the best ones first
        given_class = np.eye(len(self.classes))[self.labels.codes]
        known = np.where(self.blank[:, None], self.posterior, given_class)
        self.separation = share_between(self.values, known)
        self.leading: list[int] = np.argsort(-self.separation, kind="stable").tolist()
        # the rows that pictures show: of many a sample, the same one every time
        order = np.random.default_rng(0).permutation(self.n)
        groups = order[~self.blank[order]][:MOST_LABELLED], order[self.blank[order]][:MOST_BLANK]
        self.drawn = np.sort(np.concatenate(groups))

    def name(self, i: int) -> str:
        """Return what to call a row: its own name, or its number."""
        return str(self.rows[i] if self.ids is None or self.ids[i] is None else self.ids[i])

    def known(self) -> dict[str, FloatArray]:
        """Return what predictions of the rows are made of, as far as it has been found."""
        if self.panel:
            return {"tau": self.whole.resolve(self.given)}
        found = {"tau": self.posterior, "unusual": self.unusual}
        found["labelling_probability"] = self.chance
        return found | ({"entropy": self.entropy} if self.whole is self.clf else {})

    @cached_property
    def held_out(self) -> tuple[FloatArray, str]:
        """Class probabilities of rows by models without them (NaN: none), or why not."""
        proba = np.full((self.n, len(self.classes)), np.nan)
        own = getattr(self.whole, "held_out_proba_", None)
        if own is not None and np.shape(own) == proba.shape and np.isfinite(own).any():
            return np.where(self.blank[:, None], np.nan, own), ""
        folds = deal_out(self.labels.codes, FOLDS, 0, fewer=True)
        rows = sum(map(len, folds))
        if rows < FEWEST:
            return proba, f"few rows have a {self.label}, too few to hold some of them out"
        if self.clf.alpha == 0:
            return proba, "the classes were fitted without the labels"
        try:
            for fold in folds[: 1 if rows > MANY else None]:
                others = np.delete(np.arange(self.n), fold)
                clf = refit(self.whole, self.given[others], None, warned=[])
                proba[fold] = clf.predict_proba(self.given[fold])
        except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
            return np.full_like(proba, np.nan), f"a fit without some of the rows failed: {error}"
        return proba, ""

    @cached_property
    def tilted(self) -> Sensitivity | None:
        """How predictions change if one class were labelled more or less readily than others."""
        if self.informed is not self.clf or self.n > 20_000 or self.diagnosis.finding == "crowded":
            return None
        try:
            return sensitivity(self.clf, self.data, None, tilts=(-1.1, -0.55, 0.55, 1.1))
        except (ValueError, TypeError, AttributeError, ArithmeticError, np.linalg.LinAlgError):
            return None  # a mechanism that cannot be tilted, or a fit that fails

    @cached_property
    def information(self) -> ObservedInformation | str:
        """Standard errors of the model's parameters, or why there are none."""
        k = self.clf.n_parameters_
        if self.diagnosis.finding == "crowded":
            return "There are too few rows for each parameter: standard errors would mean little."
        if k > MOST_PARAMETERS:
            many = f"The model has {k:,} parameters: their standard errors would take too long."
            return f"{many} Ask for them in Python with clf.summary()."
        try:
            return information(self.clf, self.data)
        except (ValueError, np.linalg.LinAlgError) as error:
            return f"There are no standard errors: {error}"

    @cached_property
    def plane(self) -> tuple[int, int]:
        """The two features on which the two most alike classes lie furthest apart."""
        within = np.einsum("h,hij->ij", self.clf.weights_, self.clf.covariances_)

        def least_distance(pair: tuple[int, int]) -> float:
            at, inside = self.clf.means_[:, pair], within[np.ix_(pair, pair)]
            if not (np.isfinite(at).all() and np.isfinite(inside).all()):
                return -1.0
            return float(pdist(at, "mahalanobis", VI=np.linalg.pinv(inside)).min())

        i, j = max(itertools.combinations(self.leading[:8], 2), key=least_distance)
        return min(i, j), max(i, j)
