"""Classifiers that people would use otherwise, as they come."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from hesitant import MixtureClassifier


def _calibrated(y: np.ndarray) -> Any:
    folds = int(min(5, np.bincount(y).min()))
    return make_pipeline(StandardScaler(), CalibratedClassifierCV(SVC(), cv=folds))


# Fitted to the labelled rows alone.
LABELLED: dict[str, Callable[[np.ndarray], Any]] = {
    "LDA": lambda y: LinearDiscriminantAnalysis(),
    "QDA": lambda y: QuadraticDiscriminantAnalysis(reg_param=1e-3),
    "logistic regression": lambda y: make_pipeline(
        StandardScaler(), LogisticRegression(max_iter=2000)
    ),
    "random forest": lambda y: RandomForestClassifier(random_state=0, n_jobs=1),
    "gradient boosting": lambda y: HistGradientBoostingClassifier(random_state=0),
    "SVC, calibrated": _calibrated,
}
# Fitted to all rows, blanks as −1.
PARTLY: dict[str, Callable[[], Any]] = {
    "self-training": lambda: make_pipeline(
        StandardScaler(), SelfTrainingClassifier(LogisticRegression(max_iter=2000))
    ),
    "label spreading": lambda: make_pipeline(
        StandardScaler(), LabelSpreading("knn", n_neighbors=7)
    ),
    "ignorance, full": lambda: MixtureClassifier(mechanism=None),
    "ignorance, tied": lambda: MixtureClassifier(mechanism=None, covariance="tied"),
    "full likelihood": lambda: MixtureClassifier(),
}


def fit_peer(name: str, X: np.ndarray, y: np.ndarray) -> Any:
    """Return a peer fitted to partly labelled rows."""
    if name in PARTLY:
        return PARTLY[name]().fit(X, y)
    seen = y >= 0
    try:
        return LABELLED[name](y[seen]).fit(X[seen], y[seen])
    except np.linalg.LinAlgError:  # QDA refuses classes of fewer rows than features
        return LABELLED["LDA"](y[seen]).fit(X[seen], y[seen])
