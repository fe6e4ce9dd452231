"""Fitted models as the diagnostics see them.

This is the only module of `diagnostics` that reads private attributes of a classifier.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from spanforest._classifier import GraphClassifier
from spanforest._labels import LabelCoding, read_labels
from spanforest._wording import numbered_labels, quoted
from spanforest.ensemble import RandomGraphEnsembleClassifier
from spanforest.factors import FactorGraph
from spanforest.graphs import LabelGraph


@dataclass(frozen=True)
class FittedModel:
    """A fitted classifier of this library, outside of any pipeline or search."""

    classifier: Any
    names_before: Sequence[str] | None = None  # of features, from steps before it

    @classmethod
    def of(cls, model: Any, X: Any) -> tuple[FittedModel, Any]:
        """Return the classifier inside `model`, and X as the classifier takes it."""
        classifier, X = final_step(model, X)
        if not isinstance(classifier, GraphClassifier):
            raise TypeError(
                "an MMCRFClassifier or a RandomGraphEnsembleClassifier is needed; got "
                f"{type(classifier).__name__}. Pass one, or a fitted pipeline or "
                "search around one."
            )
        check_is_fitted(classifier)
        return cls(classifier, _names_before(model)), X

    @property
    def factors(self) -> FactorGraph:
        """The factor graph it decodes on; that of the consensus graph for ensembles."""
        return self.classifier._factors

    @property
    def coding(self) -> LabelCoding:
        """The values of every label in training, and their codes."""
        return self.classifier._coding

    @property
    def members(self) -> list[FittedModel]:
        """The members of an ensemble; other models are refused."""
        if not isinstance(self.classifier, RandomGraphEnsembleClassifier):
            raise TypeError(
                "Theorem 1 is about ensembles: a RandomGraphEnsembleClassifier is "
                f"needed; got {type(self.classifier).__name__}."
            )
        return [FittedModel(member) for member in self.classifier.estimators_]

    def row_chunks(self, X: Any) -> Iterator[Any]:
        """Yield features or kernel values of examples, one block of rows at a time."""
        return self.classifier._row_chunks(X)

    def scores(self, rows: Any) -> NDArray[np.float64]:
        """Return the score of every cell of the factors, a row per row of `rows`."""
        return self.classifier._scores(rows)

    def feature_contributions(self, X: Any, cells: Any) -> NDArray[np.float64] | None:
        """Return what features contribute to sums of cells' scores of one example.

        `cells` is a sparse array of shape (n_cells, n_sums). The result has shape
        (n_features, n_sums); it is None if the kernel compares whole examples.
        """
        model = self.classifier
        weights = (cells.T @ model._weights.T).T
        X = model._read_new_examples(X)
        contributions = model._input.feature_contributions(X, weights)
        columns = model._input.columns
        if contributions is None or columns is None:
            return contributions
        return columns.summed(contributions, model.n_features_in_)

    def feature_names(self, names: Sequence[str] | None) -> list[str]:
        """Return the given names, else those of training, else x0, x1, ..."""
        n_features = self.classifier.n_features_in_
        if names is None:
            names = getattr(self.classifier, "feature_names_in_", self.names_before)
        if names is None:
            names = [f"x{j}" for j in range(n_features)]
        if len(names) != n_features:
            raise ValueError(
                f"feature_names must name the {n_features} features; got {len(names)} "
                "names."
            )
        return [str(name) for name in names]

    def codes(self, Y: Any, *, allow_missing: bool = False) -> NDArray[np.int32]:
        """Return the codes that the values of Y had in training, -1 where missing."""
        codes, coding = read_labels(
            in_training_order(self.classifier, Y),
            allow_missing=allow_missing,
            missing_label=self.classifier.missing_label,
        )
        known = self.coding.classes
        if len(known) != codes.shape[1]:
            raise ValueError(
                f"Y must have the {len(known)} labels of training; got "
                f"{codes.shape[1]}."
            )
        for j, (values, seen) in enumerate(zip(coding.classes, known, strict=True)):
            code = {value: number for number, value in enumerate(seen.tolist())}
            unknown = [value for value in values.tolist() if value not in code]
            if unknown:
                raise ValueError(
                    f"label {j} takes the value {quoted(unknown[0])}, which did not "
                    "occur in training and has no score. Leave these examples out."
                )
            translation = np.array([*(code[value] for value in values.tolist()), -1])
            codes[:, j] = translation[codes[:, j]]
        return codes

    def label_names(self, names: Sequence[str] | None) -> list[str]:
        """Return the given names, else those of training, else label0, label1, ..."""
        n_labels = len(self.coding.classes)
        if names is None:
            names = self.classifier.label_names_
        if names is None:
            return list(numbered_labels(n_labels))
        if len(names) != n_labels:
            raise ValueError(
                f"label_names must name the {n_labels} labels; got {len(names)} names."
            )
        return [str(name) for name in names]


def final_step(model: Any, X: Any = None) -> tuple[Any, Any]:
    """Return the classifier inside pipelines and searches, and X as it sees it.

    Parameters
    ----------
    model : estimator
        Fitted. A pipeline is replaced by its last step, and a search by its
        `best_estimator_`, as often as needed; any other estimator is returned.
    X : array-like or sparse matrix of shape (n_samples, n_features), optional
        Examples as `model` takes them.

    Returns
    -------
    classifier : estimator
        The innermost estimator.
    X : array-like or sparse matrix
        The examples after the other steps of the pipelines.

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


def _names_before(model: Any) -> Sequence[str] | None:
    """Return the names of features that the steps of a pipeline make, if they tell."""
    while hasattr(model, "best_estimator_"):
        model = model.best_estimator_
    try:
        return list(model[:-1].get_feature_names_out())
    except (AttributeError, NotFittedError, TypeError, ValueError):
        return None  # no pipeline, or a step that names nothing


def relative_gaps(model: Any) -> NDArray[np.float64]:
    """Return the duality gap of every member, relative to its dual objective.

    Parameters
    ----------
    model : MMCRFClassifier or RandomGraphEnsembleClassifier
        Fitted; also as the last step of a pipeline, or inside a search.

    Returns
    -------
    ndarray of shape (n_members,)
        Zero where gap and objective are both zero: there was nothing to learn.

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


def graph_of(model: Any) -> LabelGraph:
    """Return the graph that a model decodes on.

    Parameters
    ----------
    model : MMCRFClassifier or RandomGraphEnsembleClassifier
        Fitted; also as the last step of a pipeline, or inside a search.

    Returns
    -------
    LabelGraph
        For an ensemble, the consensus graph, which has the edges of all members.

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


def in_training_order(model: Any, Y: Any) -> Any:
    """Return Y, with the columns of a DataFrame in the order of training."""
    model, _ = final_step(model)
    if getattr(model, "label_names_", None) is None:
        return Y
    return model._in_training_order(Y)
