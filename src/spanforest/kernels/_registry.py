"""Kernels by name, and a kernel with its parameters fixed.

To add a kernel by name, add an entry to `KERNELS`. The command line lists the names
again, without importing this module; a test compares the two lists.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics.pairwise import (
    check_pairwise_arrays,
    linear_kernel,
    polynomial_kernel,
)

from spanforest._wording import quoted
from spanforest.kernels._arrays import (
    FloatArray,
    as_float,
    first_not_finite,
    is_zero,
    largest_entry,
    n_rows_of,
    squared_norms,
)
from spanforest.kernels._forest import ForestKernel
from spanforest.kernels._functions import (
    absolute_gamma,
    cosine_kernel,
    gaussian_kernel,
    laplacian_kernel,
    length_gamma,
    median_gamma,
    scale_gamma,
    tanimoto_kernel,
)
from spanforest.kernels._matrices import check_square
from spanforest.kernels._sum import SumKernel

_CALLABLE_BLOCK = 32  # rows per call when only a callable kernel's diagonal is wanted


@dataclass(frozen=True)
class KernelSpec:
    """A kernel function with its parameters fixed.

    =============  =======================================================
    name           k(x, y)
    =============  =======================================================
    "linear"       ⟨x, y⟩
    "poly"         (gamma ⟨x, y⟩ + coef0)^degree
    "rbf"          exp(-gamma ‖x - y‖²)
    "laplacian"    exp(-gamma ‖x - y‖₁)
    "cosine"       ⟨x, y⟩ / (‖x‖ ‖y‖), or 0 if either vector is zero
    "tanimoto"     see `tanimoto_kernel`
    "forest"       see `ForestKernel`; needs labels, so it has no `matrix` here
    "precomputed"  the kernel matrix itself is given in place of `X`
    a `SumKernel`  a sum of others; has no `matrix` here, as its terms may need labels
    a callable     `name(X, Y, **kernel_params)`, on two whole matrices
    =============  =======================================================

    Parameters
    ----------
    name : str, ForestKernel, SumKernel or callable, default="linear"
        A name of the table, a `ForestKernel` or `SumKernel`, or a function of two
        matrices that returns their (n_samples_X, n_samples_Y) kernel matrix. Its entry
        (i, j) may depend on the two examples i and j only.
    gamma : float or "scale", optional
        Scale of "poly", "rbf" and "laplacian", positive. By default it is derived from
        the training examples, which are those of the columns: `median_gamma` for "rbf",
        `absolute_gamma` for "laplacian", 1 / n_features for "poly". "scale" is derived
        by `scale_gamma`.
    degree : int, default=3
        Degree of "poly", positive.
    coef0 : float, default=1
        Constant of "poly"; not negative, or the kernel would be indefinite.
    kernel_params : mapping, optional
        Keyword arguments for a callable, or those in a sum. Other kernels take none.

    Raises
    ------
    ValueError
        If the name is unknown, or a parameter that the kernel uses is out of range.

    Examples
    --------
    >>> from spanforest.kernels import KernelSpec
    >>> spec = KernelSpec("poly", gamma=1, degree=2)
    >>> spec.matrix([[1.0, 0.0], [1.0, 1.0]])
    array([[4., 4.],
           [4., 9.]])
    >>> spec.diagonal([[1.0, 0.0], [1.0, 1.0]])
    array([4., 9.])
    """

    name: str | ForestKernel | SumKernel | Callable[..., Any] = "linear"
    gamma: Any = None  # float, "scale" or None
    degree: int = 3
    coef0: float = 1
    kernel_params: Mapping[str, Any] | None = field(default=None, hash=False)

    def __post_init__(self) -> None:
        if isinstance(self.name, type):
            name = self.name.__name__
            raise ValueError(
                f"kernel is the class {name}. Pass an object: {name}(...)."
            )
        if callable(self.name):
            # a copy: the caller's dict may change between fit and predict
            object.__setattr__(self, "kernel_params", dict(self.kernel_params or {}))
            return
        if isinstance(self.name, list | tuple):
            raise ValueError(
                f"a single model has a single kernel; got the list "
                f"{quoted(self.name)}. Pass the list to RandomGraphEnsembleClassifier, "
                "whose members then differ in kernel, or pass a "
                "spanforest.kernels.SumKernel."
            )
        if isinstance(self.name, SumKernel):
            self.name.check()
            _ = self.terms  # refuses unknown names and parameters out of range
            return
        names = sorted([*KERNELS, "forest", "precomputed"])
        if isinstance(self.name, ForestKernel):
            self.name.check()
        elif not isinstance(self.name, str) or self.name not in names:
            raise ValueError(
                f"Unknown kernel {quoted(self.name)}. Pass one of "
                f"{', '.join(map(repr, names))}, a ForestKernel, a SumKernel or a "
                "callable. Classifiers also take 'auto', and ensembles a list of these."
            )
        if self.kernel_params:
            raise ValueError(
                f"kernel_params are arguments of a callable kernel, but the kernel is "
                f"{quoted(self.name)}, which takes none; got "
                f"{quoted(dict(self.kernel_params))}. Set gamma, degree and coef0 "
                "as parameters of their own."
            )
        for check in self._named.checks if self._named else ():
            check(self)

    @property
    def is_callable(self) -> bool:
        """Whether the kernel is a function of the user.

        Examples
        --------
        >>> KernelSpec("rbf").is_callable, KernelSpec(linear_kernel).is_callable
        (False, True)
        """
        return callable(self.name)

    @property
    def has_gamma(self) -> bool:
        """Whether the kernel has a scale.

        Examples
        --------
        >>> KernelSpec("rbf").has_gamma, KernelSpec("cosine").has_gamma
        (True, False)
        """
        return self._scale is not None

    @property
    def is_forest(self) -> bool:
        """Whether the kernel is a forest, which must be grown on labels first.

        Examples
        --------
        >>> KernelSpec("forest").is_forest, KernelSpec("rbf").is_forest
        (True, False)
        """
        return self.name == "forest" or isinstance(self.name, ForestKernel)

    @property
    def terms(self) -> list[KernelSpec]:
        """The kernels of a sum, each with its parameters; else the kernel itself.

        Examples
        --------
        >>> spec = KernelSpec(SumKernel(["rbf", "poly"]), gamma=2.0)
        >>> [(term.name, term.gamma) for term in spec.terms]
        [('rbf', 2.0), ('poly', 2.0)]
        """
        if not isinstance(self.name, SumKernel):
            return [self]
        params = self.gamma, self.degree, self.coef0, self.kernel_params
        return kernel_specs(self.name.kernels, *params)

    @property
    def _named(self) -> Kernel | None:
        return KERNELS.get(self.name) if isinstance(self.name, str) else None

    @property
    def _scale(self) -> Scale | None:
        return self._named.scale if self._named else None

    def with_gamma(self, X: Any, sample_weight: Any = None) -> KernelSpec:
        """Return the kernel with the gamma that it has on training examples `X`.

        That is a number if the kernel has a scale, and None otherwise. `sample_weight`
        holds the weights of the examples, all 1 by default.
        """
        if self._scale is None:
            return replace(self, gamma=None)
        if isinstance(self.gamma, Real):
            return self
        derived = self._scale.default if self.gamma is None else scale_gamma
        return replace(self, gamma=derived(X, sample_weight))

    def unit_gamma(self, X: Any, sample_weight: Any = None) -> float:
        """Return the gamma at which a typical size of the examples `X` becomes 1.

        For "rbf" that is the median squared distance between two of them, for
        "laplacian" twice the median of ‖x - y‖₁, for "poly" their mean squared
        length. `sample_weight` holds the weights of the examples.

        Examples
        --------
        >>> KernelSpec("rbf").unit_gamma(np.array([[1.0, 5.0], [3.0, 9.0]]))
        0.05
        """
        if self._scale is None:
            raise ValueError(f"the kernel {quoted(self.name)} has no gamma.")
        return self._scale.unit(X, sample_weight)

    def matrix(self, X: Any, Y: Any = None) -> FloatArray:
        """Return the kernel values between all rows of `X` and all rows of `Y`.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples_X, n_features)
            The examples of the rows; if precomputed, the kernel matrix itself.
        Y : array-like or CSR matrix of shape (n_samples_Y, n_features), optional
            The examples of the columns; `X` if not given. Not used if precomputed.

        Returns
        -------
        ndarray of shape (n_samples_X, n_samples_Y)
            The kernel matrix, dense. A precomputed matrix is not copied if it holds
            float32 or float64 already.

        Raises
        ------
        ValueError
            If a value is not a finite number, or a callable returns another shape.
        """
        if callable(self.name):
            return self._call(self.name, X, X if Y is None else Y)
        if self.name == "precomputed":
            return as_float(X)
        with np.errstate(over="ignore", invalid="ignore"):  # the check below tells
            K = self._by_name.matrix(self, X, Y)
        if not np.isfinite(largest_entry(K)):
            raise ValueError(
                f"The kernel {quoted(self.name)} must have finite values; "
                f"{first_not_finite(K)}. Scale the features, for example with "
                f"sklearn.preprocessing.StandardScaler{self._other_remedies}."
            )
        return K

    def diagonal(self, X: Any) -> FloatArray:
        """Return the kernel value k(x, x) of every row of `X`, without the matrix.

        A callable is evaluated on small blocks of rows. A precomputed `X` must be
        square: the kernel values of new examples with themselves are not in it.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples; if precomputed, their (n_samples, n_samples) kernel matrix.

        Returns
        -------
        ndarray of shape (n_samples,)
            The diagonal of `matrix(X)`, up to rounding.

        Raises
        ------
        ValueError
            If the kernel is precomputed and `X` is not square.
        """
        if callable(self.name):
            return self._call_diagonal(self.name, X)
        if self.name == "precomputed":
            K = as_float(X)
            check_square(K, "a precomputed kernel matrix")
            return K.diagonal().copy()
        X, _ = check_pairwise_arrays(X, None, accept_sparse="csr")
        return self._by_name.diagonal(self, X)

    @property
    def _by_name(self) -> Kernel:
        if self._named is None:
            raise ValueError(
                "forests and sums of kernels depend on training examples and labels, "
                "and have no values before. Pass them to a classifier."
            )
        return self._named

    @property
    def _other_remedies(self) -> str:
        if self.name == "poly":
            return f", or lower the degree ({self.degree}) or gamma"
        return ", or lower gamma" if self.has_gamma else ""

    def _call(self, kernel: Callable[..., Any], X: Any, Y: Any) -> FloatArray:
        """Return a callable kernel's matrix, checked, in the precision of its input."""
        K = as_float(kernel(X, Y, **(self.kernel_params or {})))
        expected = (n_rows_of(X), n_rows_of(Y))
        if K.shape != expected:
            raise ValueError(
                "The callable kernel must return one value per pair of rows, an array "
                f"of shape {expected}; it returned shape {K.shape}. It is called with "
                "two whole matrices, not with two rows."
            )
        if not np.isfinite(largest_entry(K)):
            raise ValueError(
                f"The callable kernel must return finite numbers; "
                f"{first_not_finite(K)}. Check it on the two examples concerned."
            )
        single = all(getattr(one, "dtype", None) == np.float32 for one in (X, Y))
        return K.astype(np.float32 if single else np.float64, copy=False)

    def _call_diagonal(self, kernel: Callable[..., Any], X: Any) -> FloatArray:
        starts = range(0, n_rows_of(X), _CALLABLE_BLOCK)
        blocks = [X[start : start + _CALLABLE_BLOCK] for start in starts]
        return np.concatenate(
            [self._call(kernel, block, block).diagonal() for block in blocks]
        )


def kernel_specs(
    kernels: Sequence[Any],
    gamma: float | None = None,
    degree: int = 3,
    coef0: float = 1,
    kernel_params: Mapping[str, Any] | None = None,
) -> list[KernelSpec]:
    """Return several kernels with the same parameters.

    If there are callables among them, `kernel_params` are meant for these.

    Examples
    --------
    >>> [spec.kernel_params for spec in kernel_specs(["rbf", max], kernel_params={})]
    [None, {}]
    """
    takers = [takes_params(kernel) for kernel in kernels]
    return [
        KernelSpec(
            *(kernel, gamma, degree, coef0),
            kernel_params if takes or not any(takers) else None,
        )
        for kernel, takes in zip(kernels, takers, strict=True)
    ]


def takes_params(kernel: Any) -> bool:
    """Return whether `kernel_params` are for this kernel, or for one inside it.

    Examples
    --------
    >>> takes_params(SumKernel(["rbf", max])), takes_params("rbf")
    (True, False)
    """
    inside = kernel.kernels if isinstance(kernel, SumKernel) else kernel
    if isinstance(inside, list | tuple):
        return any(map(takes_params, inside))
    return callable(kernel)


class Scale(NamedTuple):
    """Two ways to derive a gamma from training examples and their weights."""

    default: Callable[[Any, Any], float]  # if the user gives none
    unit: Callable[[Any, Any], float]  # at which a typical size of examples becomes 1


class Kernel(NamedTuple):
    """A kernel that has a name. Its functions take a `KernelSpec` first."""

    matrix: Callable[[KernelSpec, Any, Any], FloatArray]
    diagonal: Callable[[KernelSpec, Any], FloatArray]
    scale: Scale | None = None  # None if gamma is not used
    checks: tuple[Callable[[KernelSpec], None], ...] = ()


def _check_gamma(spec: KernelSpec) -> None:
    gamma = spec.gamma
    if gamma is None or (isinstance(gamma, str) and gamma == "scale"):
        return
    if not isinstance(gamma, Real) or not 0 < float(gamma) < np.inf:
        raise ValueError(
            'gamma must be a positive number, or None or "scale" for one that is '
            f"derived from the training examples; got {quoted(gamma)}."
        )


def _check_polynomial(spec: KernelSpec) -> None:
    if not (isinstance(spec.degree, Integral) and spec.degree >= 1):
        raise ValueError(
            f"degree must be a positive integer; got {quoted(spec.degree)}."
        )
    if not (isinstance(spec.coef0, Real) and 0 <= spec.coef0 < np.inf):
        raise ValueError(
            "coef0 must be a number >= 0, or the polynomial kernel is not a kernel "
            f"(positive semidefinite); got {quoted(spec.coef0)}."
        )


def _one_over_n_features(X: Any, sample_weight: Any = None) -> float:
    return 1.0 / np.shape(X)[1]


def _ones(spec: KernelSpec, X: Any) -> FloatArray:
    return np.ones(X.shape[0], dtype=X.dtype)


def _polynomial_diagonal(spec: KernelSpec, X: Any) -> FloatArray:
    gamma = spec.with_gamma(X).gamma
    # float(): a NumPy scalar would turn float32 into float64
    base = float(gamma) * squared_norms(X) + float(spec.coef0)
    return base**spec.degree


KERNELS: dict[str, Kernel] = {
    "cosine": Kernel(
        matrix=lambda spec, X, Y: cosine_kernel(X, Y),
        diagonal=lambda spec, X: (~is_zero(X)).astype(X.dtype),
    ),
    "laplacian": Kernel(
        matrix=lambda spec, X, Y: laplacian_kernel(
            X, Y, spec.with_gamma(X if Y is None else Y).gamma or 1.0
        ),
        diagonal=_ones,
        scale=Scale(default=absolute_gamma, unit=absolute_gamma),
        checks=(_check_gamma,),
    ),
    "linear": Kernel(
        matrix=lambda spec, X, Y: linear_kernel(X, Y),
        diagonal=lambda spec, X: squared_norms(X),
    ),
    "poly": Kernel(
        matrix=lambda spec, X, Y: polynomial_kernel(
            X,
            Y,
            gamma=spec.with_gamma(X if Y is None else Y).gamma,
            degree=spec.degree,
            coef0=spec.coef0,
        ),
        diagonal=_polynomial_diagonal,
        scale=Scale(default=_one_over_n_features, unit=length_gamma),
        checks=(_check_gamma, _check_polynomial),
    ),
    "rbf": Kernel(
        matrix=lambda spec, X, Y: gaussian_kernel(
            X, Y, spec.with_gamma(X if Y is None else Y).gamma or 1.0
        ),
        diagonal=_ones,
        scale=Scale(default=median_gamma, unit=median_gamma),
        checks=(_check_gamma,),
    ),
    "tanimoto": Kernel(matrix=lambda spec, X, Y: tanimoto_kernel(X, Y), diagonal=_ones),
}

KERNEL_NAMES = tuple(sorted([*KERNELS, "forest", "precomputed"]))
