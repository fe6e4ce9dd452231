"""MMCRF: a max-margin structured classifier on one output graph."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from spanforest._calibration_folds import RefittedMembers, calibrate
from spanforest._classifier import GraphClassifier, find_decoder, whole_or_nothing
from spanforest._estimator_docs import documented
from spanforest._offsets import offset_cells, read_offset
from spanforest._parallel import Workers
from spanforest._parameters import seed_sequence
from spanforest._progress import say_constants, watch_gap
from spanforest._training import Draw, Model, train_member, warn_not_converged
from spanforest.aggregation import consensus_margins
from spanforest.factors import FactorGraph

__all__ = ["MMCRFClassifier"]


@documented
class MMCRFClassifier(GraphClassifier):
    """Max-margin conditional random field on one output graph.

    The classifier learns a score for every pair of values at every edge of a graph over
    the labels, and predicts the label set of highest total score. It minimises

        ½ ‖w‖² + C Σ_i max_y (loss(y_i, y) - score(x_i, y_i) + score(x_i, y))

    with kernels, to a duality gap that is reported.

    Parameters
    ----------
    probability
        It takes five more trainings.

    Attributes
    ----------
    classes_
    label_names_
    graph_ : LabelGraph
        The output graph.
    has_node_factors_
    kernel_
    cell_coef_
    dual_coef_
    cell_intercept_
    coef_
    intercept_
    offset_
    X_fit_
    gamma_
    dual_objective_ : float
        Dual objective at the solution.
    duality_gap_ : float
        Primal minus dual objective, computed exactly at the end (on a graph with
        cycles, an upper bound on it).
    gap_history_ : ndarray
        The gap after every pass: an estimate where it was far from `tol`; the last
        entry is `duality_gap_`.
    gap_seconds_ : ndarray
        Seconds since training began, at the same moments.
    n_iter_ : int
        Number of passes made.
    calibration_ : Calibration
        What turns margins into probabilities, with ``probability=True``.
    n_features_in_
    feature_names_in_

    See Also
    --------
    RandomGraphEnsembleClassifier : Many of these, on random graphs.

    References
    ----------
    Rousu, Saunders, Szedmak & Shawe-Taylor, "Efficient algorithms for max-margin
    structured classification", 2007. Su & Rousu, "Multilabel Classification through
    Random Graph Ensembles", ACML 2013.

    Examples
    --------
    >>> from spanforest import MMCRFClassifier
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> Y = [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 1]]  # the third is their OR
    >>> clf = MMCRFClassifier(graph=[(0, 2), (1, 2)], C=10, random_state=0).fit(X, Y)
    >>> clf.predict([[0, 1], [1, 1]])
    array([[0, 1, 1],
           [1, 1, 1]])
    >>> bool(clf.duality_gap_ <= 0.01 * clf.dual_objective_)
    True
    """

    def __init__(
        self,
        graph="random_tree",
        kernel="auto",
        gamma=None,
        degree=3,
        coef0=1,
        kernel_params=None,
        normalize_kernel=False,
        scaling="auto",
        C=1.0,
        loss="edge",
        fit_intercept=True,
        tol=1e-2,
        max_iter=100,
        offset=0.0,
        missing_label=None,
        class_weight=None,
        random_state=None,
        verbose=0,
        probability=False,
    ):
        self.graph = graph
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.normalize_kernel = normalize_kernel
        self.scaling = scaling
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.offset = offset
        self.missing_label = missing_label
        self.class_weight = class_weight
        self.random_state = random_state
        self.verbose = verbose
        self.probability = probability

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from examples and their labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Examples, or their kernel matrix if ``kernel="precomputed"``.
        y : array-like, DataFrame or sparse matrix of shape (n_samples, n_labels)
            Labels: an indicator matrix, or any values; or 1-D for a single label. NaN,
            None and masked entries are labels that were not observed.
        sample_weight : array-like of shape (n_samples,), optional
            How much each example counts: its C is multiplied by its weight. Weight 2 is
            the same as the example twice (but for the folds of probabilities, which
            copies may differ in), weight 0 as leaving it out.

        Returns
        -------
        self
            The fitted classifier.
        """
        # drawn first: a forest may draw from the same generator
        settings, root = self._settings(), seed_sequence(self.random_state)
        with whole_or_nothing(self):
            data = self._begin_fit(X, y, sample_weight)
            say_constants(self._coding.constants, verbose=bool(self.verbose))
            self._warn_of_identifiers(data, stacklevel=2)
            draw, prepared = Draw(self.graph, root), data.prepared(settings.tol)
            with watch_gap(settings.tol, verbose=bool(self.verbose)) as watch:
                model = train_member(prepared, draw, settings, watch)
            self._store(model)
            if self.probability:
                (seed,) = root.spawn(1)
                how = settings._replace(offset=0.0)
                members = RefittedMembers([self._factors], how, consensus_margins)
                self.calibration_ = calibrate(data, members, seed, Workers())
        if not model.solution.converged:
            warn_not_converged(
                f"the duality gap is {self.duality_gap_:.3g} after {self.n_iter_} "
                f"passes, {model.solution.relative_gap:.2g} times the dual objective; "
                f"tol is {self.tol:g}"
            )
        return self

    def _store(self, model: Model) -> None:
        self._factors, solution = model
        self.graph_ = self._factors.graph
        self.offset_ = read_offset(self.offset)
        self._weights, self.cell_intercept_ = self._input.weights_of_rows(
            solution.weights, solution.intercept
        )
        self.dual_objective_ = solution.dual_objective
        self.gap_history_ = solution.gaps
        self.gap_seconds_ = solution.seconds
        self.duality_gap_ = solution.gap
        self.n_iter_ = solution.n_iter

    def _build_factors(self) -> FactorGraph:
        return self._factors_on(self.graph_)

    @property
    def _offset_cells(self) -> NDArray[np.float64]:
        return offset_cells(self._factors, self.offset_)

    def predict(self, X: Any, inference: str = "certified") -> NDArray[Any]:
        """Predict the label sets of highest score.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Examples, or their kernel values with the training examples.
        inference : {"certified", "max_product"}, default="certified"
            Only for graphs with cycles: message passing, and search where that gives no
            proof; or the paper's loopy max-product stopped at the graph's diameter.

        Returns
        -------
        ndarray of shape (n_samples, n_labels), or (n_samples,)
            Labels, of the form and type of `y`; a CSR array if `y` was sparse.
        """
        check_is_fitted(self)
        return self._predict_by(X, find_decoder(inference))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return how strongly each label is predicted to be on.

        The difference in score between the best label sets with the label on and with
        it off. (On a graph with cycles the other labels stay as predicted.) A label
        that had one value in training gets 1 or -1.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Examples, or their kernel values with the training examples.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            For 1-D `y`: (n_samples,) with two classes, else (n_samples, n_classes).
        """
        check_is_fitted(self)
        return self._decisions(X, self._margins)
