"""What users see of a candidate: its kernel, how it is trained, and how it decides."""

from __future__ import annotations

from typing import Any

import numpy as np

from spanforest._wording import count, kernel_in_words
from spanforest.kernels import ForestKernel
from spanforest.kernels._sum import is_kernel_list


def entrant_name(params: dict[str, Any]) -> str:
    """Return what users see of an entrant: its kernel, its scale, how it is trained.

    Examples
    --------
    >>> entrant_name({"kernel": "rbf", "gamma": 0.5})
    'rbf, gamma 0.5'
    >>> entrant_name({"kernel": "linear", "training": "joint", "n_estimators": 5})
    'linear, trained jointly on 5 graphs'
    """
    if params.get("training") != "joint":
        return kernel_name(params)
    n_graphs = params.get("n_estimators")
    graphs = f" on {count(n_graphs, 'graph')}" if n_graphs else ""
    return f"{kernel_name(params)}, trained jointly{graphs}"


def kernel_name(params: dict[str, Any]) -> str:
    """Return what users see of the kernel of an entrant, and of its scale.

    Examples
    --------
    >>> kernel_name({"kernel": ForestKernel(min_samples_leaf=5), "training": "joint"})
    'ForestKernel(min_samples_leaf=5)'
    >>> kernel_name({"kernel": ["linear", "rbf"], "gamma": 0.5})
    'linear and rbf averaged, gamma 0.5'
    """
    kernel = params["kernel"]
    kernels = kernel if is_kernel_list(kernel) else [kernel]
    *others, last = map(kernel_in_words, kernels)
    name = f"{', '.join(others)} and {last} averaged" if others else last
    return name + (f", gamma {params['gamma']:.3g}" if params.get("gamma") else "")


def decision_in_words(params: dict[str, Any]) -> str:
    """Return how labels are decided on.

    Examples
    --------
    >>> decision_in_words({"offset": 0.3}), decision_in_words({"threshold": 0.25})
    ('offset 0.3', 'threshold 0.25')
    >>> decision_in_words({"offset": [0.3, 0.0]})
    'offsets of labels'
    >>> decision_in_words({"threshold": [0.3, 0.1]})
    'thresholds of labels from 0.1 to 0.3'
    >>> decision_in_words({"threshold": 0.25, "probability": ForestKernel(50)})
    'threshold 0.25 with ForestKernel(n_estimators=50)'
    """
    name = "threshold" if "threshold" in params else "offset"
    number, forest = params[name], params.get("probability")
    if not np.ndim(number):
        words = f"{name} {number:g}"
    elif name == "offset":
        words = "offsets of labels"
    else:
        words = f"thresholds of labels from {min(number):.2g} to {max(number):.2g}"
    if isinstance(forest, ForestKernel):
        words += f" with {kernel_in_words(forest)}"
    return words


def score_name(scoring: Any) -> str:
    """Return what users call a score; the mean of our measures is "score".

    Examples
    --------
    >>> score_name("mean"), score_name("f1_macro"), score_name(np.mean)
    ('score', 'f1_macro', 'mean')
    >>> score_name(lambda truth, predicted: 1.0)
    'score'
    """
    if isinstance(scoring, str):
        return "score" if scoring == "mean" else scoring
    name = getattr(scoring, "__name__", "")
    return name if name.isidentifier() else "score"
