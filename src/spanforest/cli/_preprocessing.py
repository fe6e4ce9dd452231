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
    get a column per value, unless the classifier takes them as they are: it does so if
    gaps are left. They must be dense.
    """
    from sklearn.impute import SimpleImputer

    if dataset.X is None:
        return []
    steps: list[tuple[str, Any]] = []
    nominal = dataset.nominal_features
    is_left = takes_categories and fill_with is None
    if nominal is not None and nominal.any() and not is_left:
        _warn_of_identifiers(dataset)
        steps.append(("nominal", _one_hot(nominal)))
    if fill_with is not None:
        imputer = SimpleImputer(strategy=fill_with, keep_empty_features=True)
        steps.append(("missing", imputer))
    return steps


def _warn_of_identifiers(dataset: "Dataset") -> None:
    """Warn as the classifier does, which does not see the categories here."""
    from spanforest._category_columns import CategoryColumns

    names = dataset.feature_names
    occurring = categories_that_occur(dataset)
    known = {j: occurring[name] for j, name in enumerate(names) if name in occurring}
    CategoryColumns(known).warn_of_identifiers(dataset.n_samples, names, stacklevel=3)


def categories_that_occur(dataset: "Dataset") -> dict[str, list[str]]:
    """Return the categories of features; files may declare more than examples have."""
    import numpy as np
    from scipy import sparse

    occurring = {}
    for j, name in enumerate(dataset.feature_names):
        if name in dataset.categories:
            column: Any = dataset.X
            column = column[:, [j]]
            codes = column.toarray() if sparse.issparse(column) else column
            known = np.unique(codes[~np.isnan(codes)]).astype(int)
            occurring[name] = [dataset.categories[name][code] for code in known]
    return occurring


def _one_hot(nominal: Any) -> Any:
    """Return the step that gives every value of a nominal feature a column."""
    import numpy as np
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import OneHotEncoder

    encoder = OneHotEncoder(handle_unknown="ignore")
    return ColumnTransformer(
        [("one_hot", encoder, np.flatnonzero(nominal).tolist())],
        remainder="passthrough",
        sparse_threshold=0.0,
    )
