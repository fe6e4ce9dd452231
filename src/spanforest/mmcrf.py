"""MMCRF: a max-margin structured classifier on one output graph."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from spanforest._calibration_folds import RefittedMembers, calibrate
from spanforest._classifier import GraphClassifier, find_decoder
from spanforest._parallel import Workers
from spanforest._parameters import seed_sequence
from spanforest._progress import watch_gap
from spanforest._training import Draw, Model, train_member, warn_not_converged
from spanforest.aggregation import consensus_margins
from spanforest.factors import FactorGraph

__all__ = ["MMCRFClassifier"]


class MMCRFClassifier(GraphClassifier):
    """Max-margin conditional random field on one output graph.

    The classifier learns a score for every pair of values at every edge of a graph over
    the labels, and predicts the label set of highest total score. It minimises

        ½ ‖w‖² + C Σ_i max_y (loss(y_i, y) - score(x_i, y_i) + score(x_i, y))

    with kernels, to a duality gap that is reported.

    Parameters
    ----------
    graph : str, graph or callable, default="random_tree"
        ``"random_tree"`` (maximum spanning tree of random weights, as in the paper),
        ``"uniform_tree"``, ``"recursive_tree"``, ``"random_pairing"``,
        ``"informed_tree"`` (random, preferring labels of high mutual information),
        ``"chow_liu"`` (the tree of most mutual information between labels),
        ``"independent"`` (no edges); or a list of label pairs, an adjacency matrix, a
        networkx graph, a `spanforest.graphs.LabelGraph`; or a function of
        ``(n_labels, rng)`` that returns one. Graphs with cycles are allowed.
    kernel : str, ForestKernel, SumKernel or callable, default="auto"
        ``"linear"``, ``"poly"``, ``"rbf"``, ``"tanimoto"``, ``"cosine"``, ``"forest"``
        (learned from the labels too; accepts NaN and categories: see
        `spanforest.kernels.ForestKernel`), ``"precomputed"``, a function of two feature
        matrices, or a sum of kernels (`spanforest.kernels.SumKernel`). ``"auto"`` is
        "rbf" for tables, that is, if at most half of the entries of `X` are zero and
        there are at most 5,000 examples; otherwise it is "linear", which needs no
        matrix.
    gamma : float, optional
        Scale of "rbf" and "poly", for features after `scaling`. By default, for "rbf",
        one over the median of the squared distances between training examples
        (`spanforest.kernels.median_gamma`); for "poly", 1 / n_features.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=1
        Constant of "poly".
    kernel_params : dict, optional
        Keyword arguments for a callable kernel.
    normalize_kernel : bool, default=False
        Scale every example to unit length in feature space, after `scaling`.
    scaling : {"auto", "standard", "max_abs"} or None, default="auto"
        Scaling of features, learned from the training examples. ``"standard"``: to mean
        0 and deviation 1 (sparse features keep their mean). ``"max_abs"``: each is
        divided by its largest absolute value. ``"auto"``: the first for features of
        which at least half the values are not zero, the second for all others; with a
        linear kernel, all are then divided by one number, so that examples have an
        average squared length of 1. "auto" leaves features of "tanimoto" and of a
        function as they are. None: no scaling. A precomputed kernel is never scaled.
    C : float, default=1.0
        Weight of the training errors.
    loss : {"edge", "hamming"}, default="edge"
        What counts as an error: edges whose label pair is wrong (the paper), or wrong
        labels. If labels are missing in `y`, "edge" also counts wrong single labels.
    fit_intercept : bool, default=True
        Add a constant feature (a constant to the kernel). Without it the scores of a
        linear kernel are zero where features have their centre after `scaling`.
    tol : float, default=1e-2
        Stop when the duality gap is at most `tol` times the dual objective.
    max_iter : int, default=100
        Most passes over the data.
    missing_label : number or str, optional
        A value in `y` that means "not observed", such as -1. NaN, None and the masked
        entries of a masked array always mean so.
    class_weight : None, "balanced", dict or list of dict, optional
        How much a label counts in training, by its true value. A dict maps values to
        weights, for all labels. A list has a dict for every label. Values that are not
        named have weight 1. "balanced" gives value v of label j the weight
        n / (n_values * n_v): n examples have the label, n_v of them with this value,
        both counted by `sample_weight`. An edge counts as often as the mean weight of
        its two labels.
    random_state : int, RandomState, Generator or None
        Draws the graph, the order of the examples, and the forest of a forest kernel.
    verbose : int, default=0
        Show progress if positive: a bar on a terminal if rich is installed, else plain
        lines on stderr.
    probability : bool, default=False
        Also fit what `predict_proba` and `predict_for` need, on held-out folds: five
        more trainings. Nothing else changes.

    Attributes
    ----------
    classes_ : ndarray or list of ndarray
        The values of a 1-D `y`; 0, ..., n_labels - 1 for an indicator matrix, as in
        scikit-learn; else a list with the values of every label.
    label_names_ : ndarray or None
        The column names if `y` was a DataFrame, or the name of a Series.
    graph_ : LabelGraph
        The output graph.
    has_node_factors_ : bool
        Whether every label has a factor of its own beside its edges: only if some
        labels were missing in `y`.
    kernel_ : str, ForestKernel, SumKernel or callable
        The kernel; what ``"auto"`` chose.
    coef_ : ndarray of shape (n_features, n_cells)
        Weights, with a linear kernel. They belong to features that are not scaled: the
        scores of examples are ``X @ coef_ + intercept_``. If `normalize_kernel` is
        set, they belong to scaled rows of unit length.
    dual_coef_ : ndarray of shape (n_samples, n_cells)
        Dual variables A, with any other kernel.
    intercept_ : ndarray of shape (n_cells,)
        Scores of the constant feature.
    X_fit_ : ndarray or sparse matrix
        The training examples, not scaled, with a kernel that is neither linear nor
        precomputed nor a forest.
    gamma_ : float or None
        The scale that the kernel has; None if it has none. For a sum, a list with an
        entry per kernel.
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
    n_features_in_ : int
        Number of features, or of training examples with a precomputed kernel.
    feature_names_in_ : ndarray
        Names of the features, if `X` was a DataFrame.

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
            the same as the example twice, weight 0 as leaving it out.

        Returns
        -------
        self
            The fitted classifier.
        """
        settings = self._settings()
        data = self._begin_fit(X, y, sample_weight)
        root = seed_sequence(self.random_state)
        draw, prepared = Draw(self.graph, root), data.prepared(settings.tol)
        with watch_gap(settings.tol, verbose=bool(self.verbose)) as watch:
            model = train_member(prepared, draw, settings, watch)
        self._store(model)
        if self.probability:
            (seed,) = root.spawn(1)
            members = RefittedMembers([self._factors], settings, consensus_margins)
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
        self._weights, self.intercept_ = self._input.weights_of_rows(
            solution.weights, solution.intercept
        )
        self.dual_objective_ = solution.dual_objective
        self.gap_history_ = solution.gaps
        self.gap_seconds_ = solution.seconds
        self.duality_gap_ = solution.gap
        self.n_iter_ = solution.n_iter

    def _build_factors(self) -> FactorGraph:
        return self._factors_on(self.graph_)

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
            Labels, of the form and type of `y`.
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
