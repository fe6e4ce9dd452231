"""Preparing the features before training: the first steps of a pipeline."""

from typing import TYPE_CHECKING, Any

from spanforest.cli._options import bad_option
from spanforest.cli._train_options import Missing, Scaling

if TYPE_CHECKING:
    from spanforest.datasets import Dataset

# The scaling that suits a kernel, if not `standard`. Training with the linear kernel
# takes hundreds of passes on features of any size, and twenty on those of unit length.
_DEFAULT_SCALES = {
    "linear": Scaling.unit,
    "tanimoto": Scaling.none,
    "forest": Scaling.none,
    "precomputed": Scaling.none,
}


def choose_scale(dataset: "Dataset", scale: Scaling | None, kernel: str) -> Scaling:
    """Return `scale` or, if it is None, the scaling that suits data and kernel."""
    if scale is None:
        suits_text = dataset.is_text and kernel != "forest"
        suitable = _DEFAULT_SCALES.get(kernel, Scaling.standard)
        return Scaling.tfidf if suits_text else suitable
    if dataset.X is None and scale is not Scaling.none:
        raise bad_option(
            f"{dataset.name} has a kernel matrix and no features.", "--scale"
        )
    X: Any = dataset.X
    if scale is Scaling.tfidf and (X < 0).sum():
        raise bad_option(
            f"tfidf is for counts of words, none of them negative; some features of "
            f"{dataset.name} are negative. Choose standard or unit.",
            "--scale",
        )
    return scale


def preprocessing(
    dataset: "Dataset", scale: Scaling, missing: Missing
) -> list[tuple[str, Any]]:
    """Return the steps before the classifier, not fitted."""
    from scipy import sparse
    from sklearn.impute import SimpleImputer

    if dataset.X is None:
        return []
    is_sparse = sparse.issparse(dataset.X)
    steps: list[tuple[str, Any]] = []
    nominal = dataset.nominal_features
    if nominal is not None and nominal.any():
        steps.append(("nominal", _one_hot(nominal, is_sparse)))
    if missing is not Missing.refuse:
        imputer = SimpleImputer(strategy=missing.value, keep_empty_features=True)
        steps.append(("missing", imputer))
    return steps + _scalers(scale, is_sparse)


def _scalers(scale: Scaling, is_sparse: bool) -> list[tuple[str, Any]]:
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.preprocessing import (
        MaxAbsScaler,
        MinMaxScaler,
        Normalizer,
        PolynomialFeatures,
        StandardScaler,
    )

    standard = ("scale", StandardScaler(with_mean=not is_sparse))
    # without a constant, unit length would hide how far an example is from the mean
    even: list[tuple[str, Any]] = [standard, ("constant", PolynomialFeatures(1))]
    if is_sparse:
        # a rare feature has a small deviation; divided by it, it would dominate
        even = [("scale", MaxAbsScaler())]
    return {
        Scaling.unit: [*even, ("unit", Normalizer())],
        Scaling.standard: [standard],
        Scaling.minmax: [("scale", MaxAbsScaler() if is_sparse else MinMaxScaler())],
        Scaling.tfidf: [("scale", TfidfTransformer())],
        Scaling.none: [],
    }[scale]


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
