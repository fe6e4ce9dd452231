"""MMCRF: a max-margin structured classifier on one output graph."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted, validate_data

from spanforest._blas import single_blas_thread
from spanforest._progress import watch_gap
from spanforest._validation import (
    check_count,
    check_number,
    check_option,
    read_labels,
    seed_sequence,
)
from spanforest.factors import FactorGraph
from spanforest.graphs import LabelGraph, draw_graph
from spanforest.inference import Decoding, label_margins, max_product
from spanforest.kernels import KernelSpec, check_kernel_matrix, unit_diagonal
from spanforest.losses import find_loss
from spanforest.metrics import multilabel_accuracy
from spanforest.search import Limits, TopLists, decode_exactly, k_best
from spanforest.solvers import KernelForm, Problem, linear_form, solve

__all__ = ["MMCRFClassifier"]

CHUNK_CELLS = 2**22  # scores held at once in prediction: 32 MB
DECODERS = ("certified", "max_product")


class TrainingSet(NamedTuple):
    """What all members of an ensemble learn from."""

    basis: Any  # features (n_samples, n_features), or the kernel matrix
    Y: NDArray[np.int32]  # (n_samples, n_labels) codes: every value occurs
    is_kernel: bool  # what the basis is


class Settings(NamedTuple):
    """How a member learns."""

    C: float
    loss: str
    fit_intercept: bool
    tol: float
    max_iter: int


class Model(NamedTuple):
    """A trained member: F(x) = basis(x) @ weights + intercept, and how it was found."""

    graph: LabelGraph
    weights: NDArray[np.float64]  # W in the linear form, A in the kernel form
    intercept: NDArray[np.float64]
    dual_objective: float
    gaps: NDArray[np.float64]
    seconds: NDArray[np.float64]
    converged: bool


def train(
    data: TrainingSet,
    graph: LabelGraph,
    rng: np.random.Generator,
    settings: Settings,
    watch: Callable[[int, float], None] | None = None,
) -> Model:
    """Learn one model on a graph; `watch` is told of every pass (see `solve`)."""
    factors = FactorGraph(graph, data.Y.max(axis=0) + 1)
    ends = factors.arrays.factor
    loss = find_loss(settings.loss)(ends["first"], ends["second"])
    problem = Problem(factors, loss, data.Y, settings.C)
    make_form = KernelForm if data.is_kernel else linear_form
    form = make_form(data.basis, factors.n_cells, settings.fit_intercept)
    with single_blas_thread():
        found = solve(
            form,
            problem,
            rng,
            tol=settings.tol,
            max_iter=settings.max_iter,
            watch=watch,
        )
    return Model(
        graph=graph,
        weights=found.weights,
        intercept=found.intercept,
        dual_objective=found.dual_objective,
        gaps=found.gaps,
        seconds=found.seconds,
        converged=found.converged,
    )


class GraphClassifier(ClassifierMixin, BaseEstimator):
    """What classifiers on output graphs share: data in, kernels, labels out."""

    label_names_: Any

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the multilabel accuracy: the share of examples with all labels right.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Examples, as for `predict`.
        y : array-like, DataFrame or sparse matrix of shape (n_samples, n_labels)
            Their true labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the examples.

        Returns
        -------
        float
            Between 0 and 1.
        """
        if self.label_names_ is not None and hasattr(y, "columns"):
            y = self._in_training_order(y)
        return multilabel_accuracy(y, self.predict(X), sample_weight=sample_weight)

    def _in_training_order(self, y: Any) -> Any:
        if set(y.columns) != set(self.label_names_):
            raise ValueError(
                "the columns of y must be the labels of fit, in any order: "
                f"{list(map(str, self.label_names_))}; got "
                f"{list(map(str, y.columns))}."
            )
        return y[list(self.label_names_)]

    @property
    def _is_linear(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "linear"

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def _kernel_spec(self) -> KernelSpec:
        return KernelSpec(
            self.kernel, self.gamma, self.degree, self.coef0, self.kernel_params
        )

    @property
    def _weights(self) -> NDArray[np.float64]:
        return self.coef_ if self._is_linear else self.dual_coef_

    def _settings(self) -> Settings:
        find_loss(self.loss)
        return Settings(
            C=check_number("C", self.C),
            loss=self.loss,
            fit_intercept=bool(self.fit_intercept),
            tol=check_number("tol", self.tol),
            max_iter=check_count("max_iter", self.max_iter),
        )

    def _read_examples(self, X: Any, *, reset: bool) -> Any:
        """Check X; features come out dense, or as CSR without duplicate entries."""
        X = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse=False if self._is_precomputed else "csr",
            dtype=[np.float64, np.float32],
        )
        if sparse.issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return X

    def _read_training_set(self, X: Any, y: Any) -> TrainingSet:
        """Check X and y, set the attributes that describe them, build the kernel."""
        spec = self._kernel_spec
        for name in ("coef_", "dual_coef_", "X_fit_"):  # of a fit with another kernel
            self.__dict__.pop(name, None)
        X = self._read_examples(X, reset=True)
        Y, self._coding = read_labels(y)
        if X.shape[0] != len(Y):
            raise ValueError(
                f"X and y must have one row per example each; got {X.shape[0]} rows "
                f"in X and {len(Y)} in y. Pass the labels of exactly these examples."
            )
        self.classes_ = self._coding.sklearn_classes
        self.label_names_ = self._coding.names
        if self._is_precomputed:
            K = check_kernel_matrix(spec.matrix(X))
            self._check_precomputed_norms(K)
            return TrainingSet(np.ascontiguousarray(K), Y, is_kernel=True)
        self._check_size_of_features(X)
        if self._is_linear:
            return TrainingSet(self._to_basis(X), Y, is_kernel=False)
        self.X_fit_ = X.copy()  # or predictions would change with the caller's array
        K = self._to_basis(self.X_fit_)
        if callable(self.kernel):
            check_kernel_matrix(K)
        return TrainingSet(np.ascontiguousarray(K), Y, is_kernel=True)

    def _check_size_of_features(self, X: Any) -> None:
        values = X.data if sparse.issparse(X) else X
        largest = float(np.abs(values).max(initial=0.0))
        limit = np.sqrt(np.finfo(values.dtype).max / X.shape[1]) / 1e3
        if largest > limit:
            raise ValueError(
                f"X has values up to {largest:.2g}, whose squares overflow or lose all "
                "precision. Scale the features, for example with "
                "sklearn.preprocessing.StandardScaler."
            )

    def _check_precomputed_norms(self, K: NDArray[np.floating]) -> None:
        # at prediction the new examples' own kernel values would be missing
        if self.normalize_kernel and not np.allclose(K.diagonal(), 1.0, atol=1e-5):
            raise ValueError(
                "normalize_kernel=True cannot be used with this precomputed kernel: "
                "its diagonal is not 1, and predict never sees k(x, x) of new "
                "examples. Normalise both matrices with "
                "spanforest.kernels.unit_diagonal first."
            )

    def _to_basis(self, X: Any) -> Any:
        """Return what the weights are multiplied by: features, or kernel values."""
        if self._is_linear:
            return normalize(X) if self.normalize_kernel else X
        spec = self._kernel_spec
        if self._is_precomputed:
            return spec.matrix(X)
        K = spec.matrix(X, self.X_fit_)
        if self.normalize_kernel:
            columns = spec.diagonal(self.X_fit_)
            rows = columns if X is self.X_fit_ else spec.diagonal(X)
            own = None if callable(self.kernel) else K  # a callable may keep its result
            K = unit_diagonal(K, rows, columns, out=own)
        return K

    def _read_new_examples(self, X: Any) -> Any:
        if self._is_precomputed and np.ndim(X) == 2:
            width = np.shape(X)[1]
            if width != self.n_features_in_:
                raise ValueError(
                    f"predict needs kernel values with the {self.n_features_in_} "
                    f"training examples, shape (n_samples, {self.n_features_in_}); "
                    f"got {width} columns. Compute K(X_test, X_train)."
                )
        return self._read_examples(X, reset=False)

    def _bases(self, X: Any) -> Iterator[Any]:
        """Yield the basis of new examples, as many at a time as memory allows."""
        X = self._read_new_examples(X)
        widest = max(*self._weights.shape, 1)
        step = max(1, CHUNK_CELLS // widest)
        for start in range(0, X.shape[0], step):
            yield self._to_basis(X[start : start + step])

    def _scores(self, basis: Any) -> NDArray[np.float64]:
        """Return F = basis @ weights + intercept."""
        return np.asarray(basis @ self._weights) + self.intercept_

    def _decide(
        self, X: Any, choose: Callable[[Any], NDArray[np.intp]]
    ) -> NDArray[Any]:
        """Return the labels of the codes that `choose` gives for a basis."""
        codes = [choose(basis) for basis in self._bases(X)]
        return self._coding.decode(np.concatenate(codes))

    def predict_certified(self, X: Any, seconds: float | None = None) -> Decoding:
        """Predict label sets of highest score, with their scores and a proof.

        On trees and forests every label set is proven best. On graphs with cycles, and
        so for an ensemble, whose label sets are those of MAM, a search goes on where
        message passing proves nothing, until it has a proof or comes to its limit.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Examples, or their kernel values with the training examples.
        seconds : float, optional
            Longest search for one example. Without it the limit is a number of steps,
            so that the same examples give the same result every time.

        Returns
        -------
        Decoding
            `labels` as from `predict`, their `score`, a `bound` that no label set
            exceeds, and `proven`: whether the two agree to rounding.

        Examples
        --------
        >>> from spanforest import RandomGraphEnsembleClassifier
        >>> from spanforest.datasets import make_circle
        >>> X, Y = make_circle(100, random_state=0)
        >>> clf = RandomGraphEnsembleClassifier(5, random_state=0).fit(X, Y)
        >>> bool(clf.predict_certified(X).proven.all())
        True
        """
        check_is_fitted(self)
        limits = Limits()
        if seconds is not None:
            limits = Limits(seconds=check_number("seconds", seconds))
        factors = self._decoding_factors
        found = [
            decode_exactly(factors, self._scores(basis), limits)
            for basis in self._bases(X)
        ]
        labels, score, bound = (np.concatenate(p) for p in zip(*found, strict=True))
        return Decoding(self._coding.decode(labels), score, bound)

    def predict_topk(self, X: Any, k: int = 5) -> TopLists:
        """Predict the k label sets of highest score, best first.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Examples, or their kernel values with the training examples.
        k : int, default=5
            How many; all label sets if there are fewer.

        Returns
        -------
        TopLists
            `labels` of shape (n_samples, k, n_labels), values as from `predict`; their
            `scores`; a `bound` that no other label set exceeds; and `proven`, which
            tells the label sets that are certain to have their place. On trees and
            forests all are.

        Examples
        --------
        >>> from spanforest import MMCRFClassifier
        >>> clf = MMCRFClassifier(graph=[(0, 1)], C=10, random_state=0)
        >>> clf = clf.fit([[0], [1], [2]], [[0, 0], [0, 1], [1, 1]])
        >>> clf.predict_topk([[0]], k=2).labels.tolist()
        [[[0, 0], [0, 1]]]
        """
        check_is_fitted(self)
        k = check_count("k", k)
        found = [self._top_lists(basis, k) for basis in self._bases(X)]
        labels, scores, bound = (np.concatenate(p) for p in zip(*found, strict=True))
        n, k, n_labels = labels.shape
        values = self._coding.decode(labels.reshape(n * k, n_labels))
        return TopLists(values.reshape(n, k, *values.shape[1:]), scores, bound)

    def _decisions(
        self, X: Any, margins: Callable[[Any], list[NDArray[np.float64]]]
    ) -> NDArray[np.float64]:
        """Return the decision function that follows from the margins of a basis."""
        parts = [margins(basis) for basis in self._bases(X)]
        return self._margins_to_decisions(
            [np.concatenate(part) for part in zip(*parts, strict=True)]
        )

    def _margins_to_decisions(
        self, margins: list[NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """Turn how well each value of each label does into a decision function."""
        classes = self._coding.classes
        if self._coding.is_vector and len(classes[0]) > 2:
            return margins[0]
        columns = []
        for j, (values, margin) in enumerate(zip(classes, margins, strict=True)):
            if len(values) > 2:
                raise ValueError(
                    f"decision_function is defined for labels with two values; label "
                    f"{j} has {len(values)}. Use predict."
                )
            if len(values) == 2:
                columns.append(margin[:, 1] - margin[:, 0])
            else:  # never or always seen: no score, only the sign that fits predict
                sign = 1.0 if values[0] in (1, True) else -1.0
                columns.append(np.full(len(margin), sign))
        return columns[0] if self._coding.is_vector else np.column_stack(columns)


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
        ``"chow_liu"`` (the tree of most mutual information between labels),
        ``"independent"`` (no edges); or a list of label pairs, an adjacency matrix, a
        networkx graph, a `spanforest.graphs.LabelGraph`; or a function of
        ``(n_labels, rng)`` that returns one. Graphs with cycles are allowed.
    kernel : str or callable, default="linear"
        ``"linear"``, ``"poly"``, ``"rbf"``, ``"tanimoto"``, ``"cosine"``,
        ``"precomputed"``, or a function of two feature matrices.
    gamma : float, optional
        Scale of "rbf" and "poly"; 1 / n_features by default.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=1
        Constant of "poly".
    kernel_params : dict, optional
        Keyword arguments for a callable kernel.
    normalize_kernel : bool, default=False
        Scale every example to unit length in feature space.
    C : float, default=1.0
        Weight of the training errors.
    loss : {"edge", "hamming"}, default="edge"
        What counts as an error: edges whose label pair is wrong (the paper), or wrong
        labels.
    fit_intercept : bool, default=True
        Add a constant feature (a constant to the kernel).
    tol : float, default=1e-2
        Stop when the duality gap is at most `tol` times the dual objective.
    max_iter : int, default=100
        Most passes over the data.
    random_state : int, RandomState, Generator or None
        Draws the graph and the order of the examples.
    verbose : int, default=0
        Show progress on a terminal if positive (needs rich).

    Attributes
    ----------
    classes_ : ndarray or list of ndarray
        The values of a 1-D `y`; 0, ..., n_labels - 1 for an indicator matrix, as in
        scikit-learn; else a list with the values of every label.
    label_names_ : ndarray or None
        The column names if `y` was a DataFrame.
    graph_ : LabelGraph
        The output graph.
    coef_ : ndarray of shape (n_features, n_cells)
        Weights, with a linear kernel.
    dual_coef_ : ndarray of shape (n_samples, n_cells)
        Dual variables A, with any other kernel.
    intercept_ : ndarray of shape (n_cells,)
        Scores of the constant feature.
    X_fit_ : ndarray or sparse matrix
        The training examples, with a kernel that is neither linear nor precomputed.
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
        kernel="linear",
        gamma=None,
        degree=3,
        coef0=1,
        kernel_params=None,
        normalize_kernel=False,
        C=1.0,
        loss="edge",
        fit_intercept=True,
        tol=1e-2,
        max_iter=100,
        random_state=None,
        verbose=0,
    ):
        self.graph = graph
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.normalize_kernel = normalize_kernel
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from examples and their labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Examples, or their kernel matrix if ``kernel="precomputed"``.
        y : array-like, DataFrame or sparse matrix of shape (n_samples, n_labels)
            Labels: an indicator matrix, or any values; or 1-D for a single label.

        Returns
        -------
        self
            The fitted classifier.
        """
        settings = self._settings()
        data = self._read_training_set(X, y)
        rng = np.random.default_rng(seed_sequence(self.random_state))
        graph = draw_graph(self.graph, data.Y, rng, self.label_names_)
        with watch_gap(settings.tol, verbose=bool(self.verbose)) as watch:
            model = train(data, graph, rng, settings, watch)
        self._store(model)
        if not model.converged:
            warn_not_converged(
                f"the duality gap is {self.duality_gap_:.3g} after {self.n_iter_} "
                f"passes, {relative_gap(model):.2g} times the dual objective; tol is "
                f"{self.tol:g}"
            )
        return self

    def _store(self, model: Model) -> None:
        self.graph_ = model.graph
        if self._is_linear:
            self.coef_ = model.weights
        else:
            self.dual_coef_ = model.weights
        self.intercept_ = model.intercept
        self.dual_objective_ = model.dual_objective
        self.gap_history_ = model.gaps
        self.gap_seconds_ = model.seconds
        self.duality_gap_ = float(model.gaps[-1])
        self.n_iter_ = len(model.gaps)

    @property
    def _factors(self) -> FactorGraph:
        return FactorGraph(self.graph_, self._coding.n_values)

    @property
    def _decoding_factors(self) -> FactorGraph:
        return self._factors

    def _top_lists(self, basis: Any, k: int) -> TopLists:
        return k_best(self._factors, self._scores(basis), k)

    def predict(self, X: Any, inference: str = "certified") -> NDArray[Any]:
        """Predict the label sets of highest score.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Examples, or their kernel values with the training examples.
        inference : {"certified", "max_product"}, default="certified"
            Only for graphs with cycles: tree-reweighted message passing, or the
            paper's loopy max-product stopped at the graph's diameter.

        Returns
        -------
        ndarray of shape (n_samples, n_labels), or (n_samples,)
            Labels, of the form and type of `y`.
        """
        check_is_fitted(self)
        decoder, factors = find_decoder(inference), self._factors
        return self._decide(
            X, lambda basis: decoder(factors, self._scores(basis)).labels
        )

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
        factors = self._factors
        return self._decisions(
            X, lambda basis: label_margins(factors, self._scores(basis))
        )


def find_decoder(name: str) -> Any:
    """Return the function that decodes scores on a factor graph."""
    check_option("inference", name, DECODERS)
    if name == "certified":
        return decode_exactly
    return lambda factors, scores: max_product(factors, scores)[0]


def relative_gap(model: Model) -> float:
    """Return the gap relative to the dual objective, infinite if that is not > 0."""
    if model.dual_objective <= 0.0:
        return np.inf
    return float(model.gaps[-1] / model.dual_objective)


def warn_not_converged(what: str) -> None:
    """Warn the caller of fit that training stopped short of its tolerance."""
    warnings.warn(
        f"Training did not converge: {what}. Raise max_iter or tol, lower C, or scale "
        "the data: StandardScaler for features of different sizes, and then "
        "normalize_kernel=True, which alone does not make up for it.",
        ConvergenceWarning,
        stacklevel=3,
    )
