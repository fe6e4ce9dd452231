"""Reading fitted models, and the labels that come with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from spanforest._classifier import GraphClassifier
from spanforest._labels import read_labels
from spanforest._wording import numbered_labels
from spanforest.ensemble import RandomGraphEnsembleClassifier
from spanforest.factors import FactorGraph
from spanforest.graphs import LabelGraph


def final_step(model: Any, X: Any = None) -> tuple[Any, Any]:
    """Return the classifier inside pipelines and searches, and X as it sees it.

    Parameters
    ----------
    model : estimator
        Fitted; a pipeline, a search over parameters, or anything else.
    X : array-like or sparse matrix of shape (n_samples, n_features), optional
        Examples as `model` takes them.

    Returns
    -------
    classifier : estimator
        The last step; `model` itself if it has no steps.
    X : array-like or sparse matrix
        What the steps before make of the examples.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from spanforest import MMCRFClassifier
    >>> model = make_pipeline(StandardScaler(), MMCRFClassifier(tol=0.1))
    >>> classifier, X = final_step(model.fit([[0.0], [4.0]], [0, 1]), [[2.0]])
    >>> classifier, X.tolist()
    (MMCRFClassifier(tol=0.1), [[0.0]])
    """
    while hasattr(model, "best_estimator_") or hasattr(model, "steps"):
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        else:
            if X is not None and len(model.steps) > 1:
                X = model[:-1].transform(X)
            model = model.steps[-1][1]
    return model, X


def relative_gaps(model: Any) -> NDArray[np.float64]:
    """Return the duality gap of every member, relative to its dual objective.

    Parameters
    ----------
    model : MMCRFClassifier or RandomGraphEnsembleClassifier
        Fitted; also as the last step of a pipeline, or inside a search.

    Returns
    -------
    ndarray of shape (n_members,)
        Zero where there was nothing to learn, and both are zero.

    Examples
    --------
    >>> from spanforest import MMCRFClassifier
    >>> from spanforest.diagnostics import relative_gaps
    >>> model = MMCRFClassifier(tol=0.1).fit([[0.0], [4.0]], [0, 1])
    >>> bool(relative_gaps(model).max() <= 0.1)
    True
    """
    model, _ = final_step(model)
    gaps = np.atleast_1d(model.duality_gap_)
    objectives = np.atleast_1d(model.dual_objective_)
    relative = np.where(gaps > 0.0, np.inf, 0.0)
    return np.divide(gaps, objectives, out=relative, where=objectives > 0.0)


def fitted_model(model: Any, X: Any) -> tuple[GraphClassifier, Any]:
    model, X = final_step(model, X)
    if not isinstance(model, GraphClassifier):
        raise TypeError(
            "an MMCRFClassifier or a RandomGraphEnsembleClassifier is needed; got "
            f"{type(model).__name__}."
        )
    check_is_fitted(model)
    return model, X


def fitted_ensemble(ensemble: Any, X: Any) -> tuple[RandomGraphEnsembleClassifier, Any]:
    model, X = fitted_model(ensemble, X)
    if not isinstance(model, RandomGraphEnsembleClassifier):
        raise TypeError(
            "Theorem 1 is about ensembles: a RandomGraphEnsembleClassifier is needed; "
            f"got {type(model).__name__}."
        )
    return model, X


def graph_of(model: Any) -> LabelGraph:
    """Return the graph that a model infers on.

    Parameters
    ----------
    model : MMCRFClassifier or RandomGraphEnsembleClassifier
        Fitted; also as the last step of a pipeline, or inside a search.

    Returns
    -------
    LabelGraph
        Of an ensemble the consensus graph, which has the edges of all members.

    Examples
    --------
    >>> from spanforest import RandomGraphEnsembleClassifier
    >>> from spanforest.diagnostics import graph_of
    >>> model = RandomGraphEnsembleClassifier(5, tol=0.1, random_state=0)
    >>> graph_of(model.fit([[0.0], [1.0]], [[0, 1, 0], [1, 0, 1]])).n_edges
    3
    """
    model, _ = final_step(model)
    is_ensemble = hasattr(model, "consensus_graph_")
    return model.consensus_graph_ if is_ensemble else model.graph_


def factors_of(model: Any) -> FactorGraph:
    if isinstance(model, RandomGraphEnsembleClassifier):
        return model._factors
    return model._factors


def codes_of(
    model: GraphClassifier, Y: Any, *, allow_missing: bool = False
) -> NDArray[np.int32]:
    """Return the codes that the values of Y had in training, -1 where not observed."""
    codes, coding = read_labels(
        in_training_order(model, Y),
        allow_missing=allow_missing,
        missing_label=model.missing_label,
    )
    known = model._coding.classes
    if len(known) != codes.shape[1]:
        raise ValueError(
            f"Y must have the {len(known)} labels of training; got {codes.shape[1]}."
        )
    for j, (values, seen) in enumerate(zip(coding.classes, known, strict=True)):
        code = {value: c for c, value in enumerate(seen.tolist())}
        strange = [value for value in values.tolist() if value not in code]
        if strange:
            raise ValueError(
                f"label {j} takes the value {strange[0]!r}, which did not occur in "
                "training and has no score. Leave these examples out."
            )
        translation = np.array([*(code[value] for value in values.tolist()), -1])
        codes[:, j] = translation[codes[:, j]]
    return codes


def in_training_order(model: Any, Y: Any) -> Any:
    """Return Y, with the columns of a DataFrame in the order the model knows."""
    model, _ = final_step(model)
    if getattr(model, "label_names_", None) is None:
        return Y
    return model._in_training_order(Y)


def positives(Y: Any, missing_label: Any = None) -> np.ma.MaskedArray:
    """Return which labels are on: 1, or any value but the lowest; masked if unknown."""
    codes, coding = read_labels(Y, allow_missing=True, missing_label=missing_label)
    columns = [
        is_on[column] for column, is_on in zip(codes.T, coding.is_on, strict=True)
    ]
    return np.ma.masked_array(np.column_stack(columns), codes < 0)


def names_of(model: Any, names: Sequence[str] | None) -> list[str]:
    n_labels = len(model._coding.classes)
    if names is None:
        names = model.label_names_
    if names is None:
        return list(numbered_labels(n_labels))
    if len(names) != n_labels:
        raise ValueError(
            f"label_names must name the {n_labels} labels; got {len(names)} names."
        )
    return [str(name) for name in names]


def one_row(x: Any) -> Any:
    """Return a matrix of one row; a column of a DataFrame would be a Series."""
    if hasattr(x, "to_frame"):
        return x.to_frame().T
    if not sparse.issparse(x) and np.ndim(x) == 1:
        return np.reshape(x, (1, -1))
    return x
