"""What may be done to features before a fit: standardising, principal components."""

from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from hesitant._typing import AnyArray, FloatArray
from hesitant.checks import check_number


class Preparation(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Standardise features, and keep their leading principal components.

    Both are one affine map, ``(x − center) / scale @ rotation``.

    ``standardise`` divides every feature by its standard deviation; ``n_components`` is how many
    principal components to keep, None for the features themselves. After a fit ``center_``,
    ``scale_`` and ``rotation_`` are the map, the largest loading of each component positive, and
    ``explained_`` the share of the variance that each carries.

    >>> import numpy as np
    >>> from hesitant.persistence import Preparation
    >>> X = np.array([[0.0, 1.0], [2.0, 5.0], [4.0, 9.0]])
    >>> Preparation(n_components=1).fit_transform(X).round(3).ravel().tolist()
    [-1.732, 0.0, 1.732]
    """

    def __init__(self, standardise: bool = True, n_components: int | None = None) -> None:
        self.standardise, self.n_components = standardise, n_components

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find centre, scale and components of the features."""
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        units = StandardScaler().fit(X)  # which knows columns that are constant but for rounding
        self.center_: FloatArray = units.mean_
        self.scale_: FloatArray = units.scale_ if self.standardise else np.ones(X.shape[1])
        self.rotation_: FloatArray | None = None
        self.explained_: FloatArray | None = None
        if self.n_components is not None:
            from sklearn.decomposition import PCA  # slow to import, and seldom needed

            check_number("n_components", self.n_components, Integral, 1, min(X.shape))
            components = PCA(self.n_components, svd_solver="full")
            components.fit((X - self.center_) / self.scale_)
            self.rotation_ = np.ascontiguousarray(components.components_.T)
            self.explained_ = components.explained_variance_ratio_
        return self

    def transform(self, X: Any) -> AnyArray:
        """Return the features standardised, or the components' scores."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        Z: AnyArray = (X - self.center_) / self.scale_
        return Z if self.rotation_ is None else Z @ self.rotation_

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Return the features' own names, or PC1, PC2 and so on."""
        check_is_fitted(self)
        if self.rotation_ is not None:
            return np.array([f"PC{k + 1}" for k in range(self.rotation_.shape[1])], dtype=object)
        return np.asarray(super().get_feature_names_out(input_features))
