"""What classifiers on output graphs share: data in, kernels, labels out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import normalize
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from spanforest._calibration_folds import predicted_margins
from spanforest._labels import read_labels, series_name
from spanforest._parameters import check_count, check_number, check_option
from spanforest._training import Settings, TrainingSet
from spanforest.branch_and_bound import Limits, TopLists, decode_exactly, k_best
from spanforest.decisions import expected_f1_decisions, hamming_decisions
from spanforest.inference import Decoding, max_product
from spanforest.kernels import (
    HAVE_GAMMA,
    KernelSpec,
    check_kernel_matrix,
    unit_diagonal,
)
from spanforest.losses import find_loss
from spanforest.metrics import multilabel_accuracy

CHUNK_CELLS = 2**22  # scores held at once in prediction: 32 MB
DECODERS = ("certified", "max_product")
# what a fit with other parameters may not have
_OF_ONE_FIT = (
    "coef_",
    "dual_coef_",
    "X_fit_",
    "gamma_",
    "calibration_",
    "_calibrated",
)


def _fits_probabilities(model: GraphClassifier) -> bool:
    if not model.probability:
        raise AttributeError(
            "there are no probabilities with probability=False. Set probability=True "
            "and call 'fit' again."
        )
    return True


def _limits(seconds: float | None) -> Limits:
    if seconds is None:
        return Limits()
    return Limits(sys.maxsize, check_number("seconds", seconds))


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

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        is_fitted = "coef_" in state or "dual_coef_" in state
        if is_fitted and "gamma_" not in state:
            # saved when fit did not keep it, and 1 / n_features was every default
            default = 1.0 / self.n_features_in_ if self.gamma is None else self.gamma
            self.gamma_ = default if self.kernel in HAVE_GAMMA else None

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
        check_is_fitted(self)
        y = self._in_training_order(y)
        if self.missing_label is not None:
            read_labels(y, missing_label=self.missing_label)  # refuses missing ones
        return multilabel_accuracy(y, self.predict(X), sample_weight=sample_weight)

    def _in_training_order(self, y: Any) -> Any:
        """Return y, with its columns in the order of fit if both have names.

        A Series with a name is a single column.
        """
        has_columns = hasattr(y, "columns")
        names = y.columns if has_columns else series_name(y)
        if self.label_names_ is None or names is None:
            return y
        if set(names) != set(self.label_names_):
            raise ValueError(
                "the columns of y must be the labels of fit, in any order: "
                f"{list(map(str, self.label_names_))}; got "
                f"{list(map(str, names))}."
            )
        return y[list(self.label_names_)] if has_columns else y

    @property
    def _is_linear(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "linear"

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def _kernel_spec(self) -> KernelSpec:
        gamma = getattr(self, "gamma_", self.gamma)  # found in fit
        return KernelSpec(
            self.kernel, gamma, self.degree, self.coef0, self.kernel_params
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
        for name in _OF_ONE_FIT:
            self.__dict__.pop(name, None)
        spec = self._kernel_spec
        X = self._read_examples(X, reset=True)
        Y, self._coding = read_labels(
            y, allow_missing=True, missing_label=self.missing_label
        )
        self.has_node_factors_ = bool((Y < 0).any())
        if X.shape[0] != len(Y):
            raise ValueError(
                f"X and y must have one row per example each; got {X.shape[0]} rows "
                f"in X and {len(Y)} in y. Pass the labels of exactly these examples."
            )
        self.classes_ = self._coding.sklearn_classes
        self.label_names_ = self._coding.names
        if not self._is_precomputed:
            self._check_size_of_features(X)
        self.gamma_ = spec.with_gamma(X).gamma
        if self._is_precomputed:
            K = check_kernel_matrix(spec.matrix(X))
            self._check_precomputed_norms(K)
            return TrainingSet(np.ascontiguousarray(K), Y, is_kernel=True)
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
        limits = _limits(seconds)
        factors = self._decoding_factors
        found = [
            decode_exactly(factors, self._scores(basis), limits)
            for basis in self._bases(X)
        ]
        labels, score, bound = (np.concatenate(p) for p in zip(*found, strict=True))
        return Decoding(self._coding.decode(labels), score, bound)

    def predict_topk(
        self, X: Any, k: int = 5, seconds: float | None = None
    ) -> TopLists:
        """Predict the k label sets of highest score, best first.

        On trees and forests every place is proven. On graphs with cycles, and so for an
        ensemble, whose label sets are those of MAM, a search goes on until it has a
        proof or comes to its limit.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Examples, or their kernel values with the training examples.
        k : int, default=5
            How many; all label sets if there are fewer.
        seconds : float, optional
            Longest search for one example. Without it the limit is a number of steps,
            so that the same examples give the same result every time.

        Returns
        -------
        TopLists
            `labels` of shape (n_samples, k, n_labels), values as from `predict`; their
            `scores`; a `bound` that no other label set exceeds; and `proven`, which
            tells the label sets that are certain to have their place.

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
        limits, factors = _limits(seconds), self._decoding_factors
        found = [
            k_best(factors, self._scores(basis), k, limits) for basis in self._bases(X)
        ]
        labels, scores, bound = (np.concatenate(p) for p in zip(*found, strict=True))
        n, k, n_labels = labels.shape
        values = self._coding.decode(labels.reshape(n * k, n_labels))
        return TopLists(values.reshape(n, k, *values.shape[1:]), scores, bound)

    @available_if(_fits_probabilities)
    def predict_proba(self, X: Any) -> NDArray[np.float64] | list[NDArray[np.float64]]:
        """Return the probability of each label, calibrated on held-out folds.

        It grows with the `decision_function` of the label (with MVE, with that of AMM),
        by a sigmoid fitted to examples that were left out of training. There is one
        probability for each label, none for the label set. Needs ``probability=True``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Examples, or their kernel values with the training examples.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            The probability that a label is on, that is, has the higher of its values.
            If some label has more than two values: a list with an array (n_samples,
            n_values) per label. For 1-D `y`: (n_samples, n_classes).

        Examples
        --------
        >>> from spanforest import RandomGraphEnsembleClassifier
        >>> from spanforest.datasets import make_circle
        >>> X, Y = make_circle(100, random_state=0)
        >>> clf = RandomGraphEnsembleClassifier(5, random_state=0, probability=True)
        >>> clf.fit(X, Y).predict_proba(X).shape == Y.shape
        True
        """
        P = self._probabilities(X)
        if self._coding.is_vector:
            return P[0]
        if self._coding.n_values.max() > 2:
            return P
        return self._share_on(P)

    @available_if(_fits_probabilities)
    def predict_for(self, X: Any, measure: str = "hamming") -> NDArray[Any]:
        """Predict what is best on average for a measure, by the labels' probabilities.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Examples, or their kernel values with the training examples.
        measure : {"hamming", "f1"}, default="hamming"
            ``"hamming"``: most labels right. ``"f1"``: highest F1 of the label set, if
            labels are independent given the example; it predicts more labels, and needs
            labels with two values.

        Returns
        -------
        ndarray of shape (n_samples, n_labels), or (n_samples,)
            Labels, of the form and type of `y`.

        Examples
        --------
        >>> from spanforest import RandomGraphEnsembleClassifier
        >>> from spanforest.datasets import make_circle
        >>> X, Y = make_circle(100, random_state=0)
        >>> clf = RandomGraphEnsembleClassifier(5, random_state=0, probability=True)
        >>> clf.fit(X, Y).predict_for(X, "f1").shape == Y.shape
        True
        """
        check_option("measure", measure, ("hamming", "f1"))
        P = self._probabilities(X)
        if measure == "hamming":
            return self._coding.decode(hamming_decisions(P))
        n_values = self._coding.n_values
        if n_values.max() > 2:
            j = int(n_values.argmax())
            raise ValueError(
                "F1 is defined for labels with two values; label "
                f"{j} has {n_values[j]}. Use measure='hamming'."
            )
        codes = expected_f1_decisions(self._share_on(P))
        return self._coding.decode(np.minimum(codes, n_values - 1))

    def _probabilities(self, X: Any) -> list[NDArray[np.float64]]:
        """Return the probability of each value of each label."""
        check_is_fitted(self)
        if not hasattr(self, "calibration_"):
            raise NotFittedError(
                f"this {type(self).__name__} was fitted with probability=False. Call "
                "'fit' again."
            )
        parts = [
            self.calibration_.probabilities(self._calibrated_margins(basis))
            for basis in self._bases(X)
        ]
        return [np.concatenate(part) for part in zip(*parts, strict=True)]

    def _calibrated_margins(self, basis: Any) -> list[NDArray[np.float64]]:
        """Return margins of the kind that the calibration was fitted to."""
        return self._margins(basis)

    def _share_on(self, P: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return the probability of the higher value of labels with two values.

        A label that had one value is on if that is 1, as in `decision_function`.
        """
        columns = [
            part[:, 1] if len(is_on) == 2 else np.full(len(part), is_on[0])
            for part, is_on in zip(P, self._coding.is_on, strict=True)
        ]
        return np.column_stack(columns).astype(np.float64)

    def _decisions(
        self, X: Any, margins: Callable[[Any], list[NDArray[np.float64]]]
    ) -> NDArray[np.float64]:
        """Return the decision function that follows from the margins of a basis."""
        parts = [margins(basis) for basis in self._bases(X)]
        return self._margins_to_decisions(
            [np.concatenate(part) for part in zip(*parts, strict=True)]
        )

    def _margins(self, basis: Any) -> list[NDArray[np.float64]]:
        """Return the margins around the label sets that `predict` gives."""
        return predicted_margins(self._decoding_factors, self._scores(basis))

    def _margins_to_decisions(
        self, margins: list[NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """Turn how well each value of each label does into a decision function."""
        if self._coding.is_vector and self._coding.n_values[0] > 2:
            return margins[0]
        columns = []
        for j, (is_on, margin) in enumerate(
            zip(self._coding.is_on, margins, strict=True)
        ):
            if len(is_on) > 2:
                raise ValueError(
                    f"decision_function is defined for labels with two values; label "
                    f"{j} has {len(is_on)}. Use predict."
                )
            if len(is_on) == 2:
                columns.append(margin[:, 1] - margin[:, 0])
            else:  # never or always seen: no score, only the sign that fits predict
                columns.append(np.full(len(margin), 1.0 if is_on[0] else -1.0))
        return columns[0] if self._coding.is_vector else np.column_stack(columns)


def find_decoder(name: str) -> Any:
    """Return the function that decodes scores on a factor graph."""
    check_option("inference", name, DECODERS)
    if name == "certified":
        return decode_exactly
    return lambda factors, scores: max_product(factors, scores)[0]
