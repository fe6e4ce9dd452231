"""Which features matter, for whole label sets and for every label."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.inspection import permutation_importance
from sklearn.metrics import accuracy_score

from spanforest.diagnostics._models import FittedModel, final_step


class FeatureImportance(NamedTuple):
    """How much scores fall if the values of a feature are shuffled."""

    label_sets: NDArray[np.float64]  # (n_features,), mean fall in whole label sets
    labels: NDArray[np.float64]  # (n_labels, n_features), mean fall of each label
    label_sets_deviation: NDArray[np.float64]  # (n_features,), over the repetitions
    labels_deviation: NDArray[
        np.float64
    ]  # (n_labels, n_features), over the repetitions
    feature_names: list[str]
    label_names: list[str]

    def strongest(self, number: int) -> NDArray[np.intp]:
        """Return the features that matter most to label sets, the first one most.

        Ties go to the feature that matters more to its label.
        """
        keys = self.labels.max(axis=0), self.label_sets
        return np.lexsort(keys)[::-1][:number]


def feature_importance(
    model: Any,
    X: Any,
    Y: Any,
    *,
    measure: Callable[..., float] = accuracy_score,
    n_repeats: int = 5,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> FeatureImportance:
    """Shuffle one feature after the other, and see how much the scores fall.

    This is the permutation importance of scikit-learn, for all labels from the same
    predictions. Use examples that the model was not trained on.

    Parameters
    ----------
    model : MMCRFClassifier or RandomGraphEnsembleClassifier
        Fitted; also as the last step of a pipeline, whose features are then shuffled.
    X : array-like or DataFrame of shape (n_samples, n_features)
        Examples, as `model` takes them. Not sparse, and no kernel matrix.
    Y : array-like, DataFrame or sparse matrix of shape (n_samples, n_labels)
        Their labels. Labels that were not observed do not count.
    measure : callable, default=sklearn.metrics.accuracy_score
        A function of the true and the predicted values of one label that is higher for
        better ones. `sklearn.metrics.balanced_accuracy_score` suits rare labels. Whole
        label sets are always judged by their share that is right.
    n_repeats : int, default=5
        How often each feature is shuffled.
    random_state : int, RandomState or None, default=None
        Draws the orders.
    n_jobs : int, optional
        Features shuffled at the same time.

    Returns
    -------
    FeatureImportance
        Features in the order of the columns of `X`.

    See Also
    --------
    sklearn.inspection.permutation_importance : The same for a single score.

    Examples
    --------
    >>> import numpy as np
    >>> from spanforest import MMCRFClassifier
    >>> from spanforest.diagnostics import feature_importance
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> model = MMCRFClassifier(tol=0.1, random_state=0).fit(X, X[:, :2] > 0)
    >>> importance = feature_importance(model, X, X[:, :2] > 0, random_state=0)
    >>> importance.labels.argmax(axis=1)  # each label has its own feature
    array([0, 1])
    """
    _check_features(model, X)
    classifier, _ = final_step(model)
    fitted = FittedModel(classifier)
    codes = fitted.codes(Y, allow_missing=True)
    observed = codes >= 0

    def scores(estimator: Any, X: Any, codes: NDArray[np.int32]) -> dict[str, float]:
        predicted = fitted.codes(estimator.predict(X))
        right = (predicted == codes) | ~observed
        columns = zip(codes.T, predicted.T, observed.T, strict=True)
        each = [measure(true[known], own[known]) for true, own, known in columns]
        named = {f"label {j}": float(score) for j, score in enumerate(each)}
        return {"label sets": float(right.all(axis=1).mean()), **named}

    options = {"n_repeats": n_repeats, "random_state": random_state, "n_jobs": n_jobs}
    falls = list(
        permutation_importance(model, X, codes, scoring=scores, **options).values()
    )
    names = getattr(X, "columns", None)
    if names is None:
        names = [f"x{j}" for j in range(np.shape(X)[1])]
    return FeatureImportance(
        falls[0].importances_mean,
        np.array([fall.importances_mean for fall in falls[1:]]),
        falls[0].importances_std,
        np.array([fall.importances_std for fall in falls[1:]]),
        [str(name) for name in names],
        fitted.label_names(None),
    )


def _check_features(model: Any, X: Any) -> None:
    if np.ndim(X) == 1:
        advice = (
            "Pass the last step and the features that it gets: "
            "feature_importance(model[-1], model[:-1].transform(X).toarray(), Y)"
            if hasattr(model, "steps")
            else "Pass a table with a row per example"
        )
        raise ValueError(
            f"feature_importance shuffles columns of X, and X has none: it is a list "
            f"of {len(X)} values. {advice}."
        )
    if sparse.issparse(X):
        raise ValueError(
            "feature_importance shuffles columns of a dense X; got a sparse matrix. "
            "Pass X.toarray(), or look at coef_ of a model with a linear kernel."
        )
    if model.__sklearn_tags__().input_tags.pairwise:
        raise ValueError(
            "feature_importance needs features, but X is a kernel matrix here. Compute "
            "the kernel inside the model: pass the function as kernel."
        )
