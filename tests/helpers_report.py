"""Reports whose warnings do not matter."""

import warnings

from hesitant import MixtureClassifier
from hesitant.report import make_report


def fit(X, y, reviewed=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MixtureClassifier(missing_label=None, **options).fit(X, y, reviewed=reviewed)


def report_on(X, y, reviewed=None, **options):
    clf = fit(X, y, reviewed, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make_report(clf, X, y, reviewed=reviewed)
