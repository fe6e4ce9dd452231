"""Preparing the features before training: the first steps of a pipeline.

The classifier scales the features itself.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spanforest.datasets import Dataset


def preprocessing(
    dataset: "Dataset", fill_with: str | None, *, takes_categories: bool
) -> list[tuple[str, Any]]:
    """Return the steps before the classifier, not fitted.

    Gaps are filled with the "mean" or "median" of a feature, or left. Nominal features
    get a column per value, unless the classifier takes them as they are: it does so in
    dense examples whose gaps are left.
    """
    from scipy import sparse
    from sklearn.impute import SimpleImputer

    if dataset.X is None:
        return []
    is_sparse = sparse.issparse(dataset.X)
    steps: list[tuple[str, Any]] = []
    nominal = dataset.nominal_features
    is_left = takes_categories and not is_sparse and fill_with is None
    if nominal is not None and nominal.any() and not is_left:
        steps.append(("nominal", _one_hot(nominal, is_sparse)))
    if fill_with is not None:
        imputer = SimpleImputer(strategy=fill_with, keep_empty_features=True)
        steps.append(("missing", imputer))
    return steps


def _one_hot(nominal: Any, is_sparse: bool) -> Any:
    """Return the step that gives every value of a nominal feature a column."""
    import numpy as np
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import OneHotEncoder

    encoder = OneHotEncoder(handle_unknown="ignore")
    return ColumnTransformer(
        [("one_hot", encoder, np.flatnonzero(nominal).tolist())],
        remainder="passthrough",
        sparse_threshold=1.0 if is_sparse else 0.0,
    )
