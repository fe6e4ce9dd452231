"""Sums of kernels, and what a list of kernels may hold."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from spanforest._parameters import check_number
from spanforest._wording import quoted


class SumKernel(BaseEstimator):
    """Sum of several kernels, each of the same average size.

    Let d_s be the mean of k_s(x, x) over the training examples, and w_s the weights,
    divided by their sum. Then

        k(x, y) = Σ_s w_s k_s(x, y) / d_s.

    So the mean of k(x, x) is 1, and good values of C do not depend on the kernels. A
    forest is grown anew wherever examples are held out, as if it were the only kernel.

    Parameters
    ----------
    kernels : list of str, ForestKernel or callable
        The kernels, as the classifiers take them. `"precomputed"`, lists and other sums
        cannot be a term of a sum.
    weights : list of float, optional
        A positive weight for every kernel; by default all are equal.

    Notes
    -----
    Features are scaled for each kernel as if it were the only one. Missing numbers are
    accepted if all kernels are forests. Columns of categories become indicators unless
    all kernels are forests; a missing category has all indicators 0. A matrix is made
    for any number of examples, also for "linear", "cosine" and forests, which need none
    alone.

    With ``normalize_kernel=True`` each of the kernels is normalised.

    See Also
    --------
    ForestKernel : A kernel that is often worth adding.

    Examples
    --------
    >>> from spanforest import RandomGraphEnsembleClassifier
    >>> from spanforest.datasets import make_circle
    >>> from spanforest.kernels import ForestKernel, SumKernel
    >>> X, Y = make_circle(100, random_state=0)
    >>> kernel = SumKernel(["rbf", ForestKernel(50)], weights=[2, 1])
    >>> clf = RandomGraphEnsembleClassifier(3, kernel=kernel, random_state=0)
    >>> clf.fit(X, Y).predict(X).shape == Y.shape
    True
    """

    def __init__(self, kernels, weights=None):
        self.kernels = kernels
        self.weights = weights

    __hash__ = None  # type: ignore[assignment]  # parameters may change

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return _comparable(self) == _comparable(other)

    @property
    def shares(self) -> list[float]:
        """The weights, divided by their sum.

        Examples
        --------
        >>> SumKernel(["linear", "rbf"], weights=[3, 1]).shares
        [0.75, 0.25]
        """
        weights = [1] * len(self.kernels) if self.weights is None else self.weights
        largest = max(weights)  # the sum of large weights could overflow
        total = sum(weight / largest for weight in weights)
        return [weight / largest / total for weight in weights]

    def check(self) -> None:
        """Refuse a sum without kernels, terms of the wrong kind, and wrong weights.

        Examples
        --------
        >>> SumKernel(["linear", "rbf"]).check()
        """
        check_kernels(self.kernels, "the kernels of a SumKernel")
        if any(isinstance(kernel, SumKernel) for kernel in self.kernels):
            raise ValueError(
                "a SumKernel cannot be part of a SumKernel. Write all kernels into one "
                f"list; got {quoted(self.kernels)}."
            )
        if self.weights is None:
            return
        is_list = isinstance(self.weights, list | tuple)
        if not is_list or len(self.weights) != len(self.kernels):
            raise ValueError(
                "weights of a SumKernel must be a list with one number per kernel, "
                f"here {len(self.kernels)}; got {quoted(self.weights)}."
            )
        for weight in self.weights:
            check_number("each of the weights of a SumKernel", weight)


def is_kernel_list(kernel: Any) -> bool:
    """Return whether a kernel is a list of several, which members take in turn.

    Examples
    --------
    >>> is_kernel_list(["rbf", "forest"]), is_kernel_list("rbf")
    (True, False)
    """
    return isinstance(kernel, list | tuple)


def check_kernels(kernels: Any, name: str) -> None:
    """Refuse what cannot be a list of several kernels; `name` is what to call it.

    Examples
    --------
    >>> check_kernels(["rbf", "precomputed"], "kernel")
    Traceback (most recent call last):
        ...
    ValueError: "precomputed" cannot be one of several kernels: X is either a kernel ...
    """
    if not is_kernel_list(kernels) or not kernels:
        raise ValueError(
            f"{name} must be a list of one or more kernels, such as "
            f"['rbf', 'forest']; got {quoted(kernels)}."
        )
    for kernel in kernels:
        if is_kernel_list(kernel):
            raise ValueError(
                f"{name} must be a flat list of kernels; it holds the list "
                f"{quoted(kernel)}. Pass its kernels one by one, or their sum as a "
                "spanforest.kernels.SumKernel."
            )
        if isinstance(kernel, str) and kernel == "auto":
            raise ValueError(
                f'"auto" cannot be one of several kernels. Name the kernels; {name}: '
                f"{quoted(kernels)}."
            )
        if isinstance(kernel, str) and kernel == "precomputed":
            raise ValueError(
                '"precomputed" cannot be one of several kernels: X is either a kernel '
                f'matrix or features. Pass "precomputed" alone; {name}: '
                f"{quoted(kernels)}."
            )


def _comparable(kernel: SumKernel) -> list[Any]:
    params = (kernel.kernels, kernel.weights)
    return [list(one) if isinstance(one, list | tuple) else one for one in params]
