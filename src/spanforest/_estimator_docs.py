"""The parameters and attributes that several estimators share, each described once.

`documented` completes the docstring of an estimator with them:

* Every parameter of the constructor gets its paragraph, in the order of the signature.
  The default is read off the signature.
* A paragraph of the class itself is for a parameter that no other estimator has. If the
  parameter is described here too, the sentences of the class follow those of this
  module; a type in the class takes the place of the type in this module.
* An attribute that the class names without describing it gets its paragraph.
"""

from __future__ import annotations

import inspect
import re
from typing import Any, NamedTuple, TypeVar

Class = TypeVar("Class", bound=type)

PARAMETERS = """
n_estimators : int
    Number of members, T. Member t depends on neither T nor `n_jobs`, so a larger
    ensemble contains the smaller ones.
aggregation : {"mve", "amm", "mam"}
    How members are combined unless `predict` is told otherwise.
training : {"separate", "joint"}
    ``"separate"`` trains a model for every graph. ``"joint"`` unites the graphs and
    trains one model on the union, which predicts by MAM. A few graphs then suffice:
    see the user guide.
graph : str, graph or callable
    ``"random_tree"`` (maximum spanning tree of random weights, as in the paper),
    ``"uniform_tree"``, ``"recursive_tree"``, ``"random_pairing"``,
    ``"informed_tree"`` (random, preferring labels of high mutual information),
    ``"chow_liu"`` (the tree of most mutual information between labels),
    ``"independent"`` (no edges); or a list of label pairs, an adjacency matrix, a
    networkx graph, a `spanforest.graphs.LabelGraph`; or a function of
    ``(n_labels, rng)`` that returns one. Graphs with cycles are allowed.
kernel : str, ForestKernel, SumKernel or callable
    ``"linear"``, ``"cosine"``, ``"poly"``, ``"rbf"``, ``"laplacian"`` (like "rbf",
    with sums of absolute differences), ``"tanimoto"``, ``"forest"``
    (learned from the labels too; accepts NaN and categories: see
    `spanforest.kernels.ForestKernel`), ``"precomputed"``, a function of two feature
    matrices, or a sum of kernels (`spanforest.kernels.SumKernel`). ``"auto"`` is "rbf"
    for tables, that is, if at most half of the entries of `X` are zero and there are at
    most 5,000 examples; otherwise it is "linear", which needs no matrix. "cosine", the
    linear one of examples of unit length, needs none either and suits texts.
gamma : float or "scale"
    Scale of "rbf", "laplacian" and "poly", for features after `scaling`. By default,
    for "rbf", one over the median of the squared distances between training examples
    (`spanforest.kernels.median_gamma`); for "laplacian", see
    `spanforest.kernels.absolute_gamma`; for "poly", 1 / n_features. ``"scale"`` is that
    of `sklearn.svm.SVC`: 1 / (n_features * variance of `X`).
degree : int
    Degree of "poly".
coef0 : float
    Constant of "poly".
kernel_params : dict
    Keyword arguments for a callable kernel.
normalize_kernel : bool
    Scale every example to unit length in feature space, after `scaling`.
scaling : {"auto", "standard", "max_abs"} or None
    Scaling of features, learned from the training examples. ``"standard"``: to mean
    0 and deviation 1 (sparse features keep their mean). ``"max_abs"``: each is
    divided by its largest absolute value. ``"auto"``: the first for features of
    which at least half the values are not zero, the second for all others; with a
    linear kernel, all are then divided by one number, so that examples have an
    average squared length of 1. "auto" leaves features of "tanimoto" and of a
    function as they are. None: no scaling. A precomputed kernel is never scaled.
C : float
    Weight of the training errors.
loss : {"edge", "hamming"}
    What counts as an error: edges whose label pair is wrong (the paper), or wrong
    labels. If labels are missing in `y`, "edge" also counts wrong single labels.
fit_intercept : bool
    Add a constant feature (a constant to the kernel). Without it the scores of a
    linear kernel are zero where features have their centre after `scaling`.
tol : float
    Stop when the duality gap is at most `tol` times the dual objective.
max_iter : int
    Most passes over the data.
offset : float or list of float
    Added to the score of "on", the higher of two values: one number for all labels, or
    one per label. A positive offset predicts more labels, a negative one fewer. Neither
    training nor the probabilities depend on it. It must be 0 for labels with more than
    two values.
missing_label : number or str
    A value in `y` that means "not observed", such as -1. NaN, None and the masked
    entries of a masked array always mean so.
class_weight : "balanced", dict or list of dict
    How much a label counts in training, by its true value. A dict maps values to
    weights, for all labels. A list has a dict for every label. Values that are not
    named have weight 1. "balanced" gives value v of label j the weight
    n / (n_values * n_v): n examples have the label, n_v of them with this value,
    both counted by `sample_weight`. An edge counts as often as the mean weight of
    its two labels.
random_state : int, RandomState or Generator
    Draws the graphs, the order of the examples, and the forest of a forest kernel.
verbose : int
    Show progress if positive: a bar on a terminal if rich is installed, else plain
    lines on stderr. A line names the labels that have one value in all of `y`.
n_jobs : int
    Members trained at the same time, in threads unless joblib is told otherwise. It
    changes no result.
probability : bool or ForestKernel
    Also fit what `predict_proba` and `predict_for` need, on held-out folds. Nothing
    else changes. A `ForestKernel`: such a forest is grown too, and probabilities are
    the mean of the calibrated ones and of the shares that the values of a label have in
    the leaves. That helps where labels are rare, or features say little about them.
"""

ATTRIBUTES = """
classes_ : ndarray or list of ndarray
    The values of a 1-D `y`; 0, ..., n_labels - 1 for an indicator matrix, as in
    scikit-learn; else a list with the values of every label.
label_names_ : ndarray or None
    The column names if `y` was a DataFrame, or the name of a Series.
has_node_factors_ : bool
    Whether every label has a factor of its own beside its edges: only if some
    labels were missing in `y`.
offset_ : ndarray
    The offset that the intercept holds: one number, or one per label.
kernel_ : str, ForestKernel, SumKernel or callable
    The kernel; what ``"auto"`` chose.
cell_coef_ : ndarray of shape (n_features, n_cells)
    Weights of all cells of all factors, with a linear or cosine kernel. They belong to
    features that are not scaled: the scores of examples are
    ``X @ cell_coef_ + cell_intercept_``. With the cosine kernel, or if
    `normalize_kernel` is set, they belong to scaled rows of unit length.
dual_coef_ : ndarray of shape (n_samples, n_cells)
    Dual variables A, with any other kernel.
cell_intercept_ : ndarray of shape (n_cells,)
    Scores of the constant feature, and the offset.
coef_ : ndarray of shape (n_labels, n_features)
    Weights of the features for each label, if there is `cell_coef_`, and labels have
    two values. ``X @ coef_.T + intercept_`` is the mean score of all label sets with
    the label on minus that of all label sets with the label off. 1-D `y`: shape
    (1, n_features) for two classes, else (n_classes, n_features).
intercept_ : ndarray of shape (n_labels,)
    The constants that belong to `coef_`.
X_fit_ : ndarray or sparse matrix
    The training examples, not scaled, with a kernel that is neither linear nor cosine
    nor precomputed nor a forest.
gamma_ : float or None
    The scale that the kernel has; None if it has none. For a sum, a list with an entry
    per kernel.
n_features_in_ : int
    Number of features, or of training examples with a precomputed kernel.
feature_names_in_ : ndarray
    Names of the features, if `X` was a DataFrame.
"""

HOME = "https://spanforest.readthedocs.io/en/latest"


def documented(cls: Class) -> Class:
    r'''Complete the docstring of an estimator with the paragraphs of this module.

    Examples
    --------
    >>> @documented
    ... class Machine:
    ...     """Learn.
    ...
    ...     Parameters
    ...     ----------
    ...     tol
    ...         A small value is exact.
    ...
    ...     Attributes
    ...     ----------
    ...     gamma_
    ...     """
    ...
    ...     def __init__(self, C=1.0, tol=None):
    ...         pass
    >>> print(*Machine.__doc__.splitlines()[4:9], sep="\n")
    C : float, default=1.0
        Weight of the training errors.
    tol : float, optional
        Stop when the duality gap is at most `tol` times the dual objective.
        A small value is exact.
    '''
    # scikit-learn's HTML representation links to the page
    link: Any = cls
    link._doc_link_module = "spanforest"
    link._doc_link_template = f"{HOME}/api/spanforest.{{estimator_name}}.html"
    if cls.__doc__ is None:  # python -OO
        return cls
    doc = inspect.cleandoc(cls.__doc__)
    own, shared = _paragraphs(_section(doc, "Parameters")), _paragraphs(PARAMETERS)
    parameters = [
        _joined(own.get(name), shared.get(name), _default(parameter.default))
        for name, parameter in inspect.signature(cls).parameters.items()
    ]
    shared = _paragraphs(ATTRIBUTES)
    attributes = [
        _joined(paragraph, shared.get(name))
        for name, paragraph in _paragraphs(_section(doc, "Attributes")).items()
    ]
    for title, complete in (("Parameters", parameters), ("Attributes", attributes)):
        doc = doc.replace(_section(doc, title), "\n".join(complete))
    cls.__doc__ = doc
    return cls


class _Paragraph(NamedTuple):
    head: str = ""  # name : type
    body: str = ""  # the lines below it


def _section(doc: str, title: str) -> str:
    """Return the text below a title of a docstring, up to the next empty line."""
    _, _, below = doc.partition(f"{title}\n{'-' * len(title)}\n")
    return below.partition("\n\n")[0]


def _paragraphs(text: str) -> dict[str, _Paragraph]:
    """Return the paragraphs of a section by the name that each begins with."""
    texts = re.split(r"^(?=\S)", text, flags=re.MULTILINE)
    lines = [one.rstrip().partition("\n") for one in texts if one.strip()]
    return {head.partition(" :")[0]: _Paragraph(head, body) for head, _, body in lines}


def _default(value: Any) -> str:
    if value is None:
        return ", optional"
    return ", default=" + repr(value).replace("'", '"')


def _joined(
    own: _Paragraph | None, shared: _Paragraph | None, default: str = ""
) -> str:
    """Return the shared sentences and then those of the class."""
    own, shared = own or _Paragraph(), shared or _Paragraph()
    has_type = " :" in own.head or not shared.head
    lines = [(own.head if has_type else shared.head) + default, shared.body, own.body]
    return "\n".join(filter(None, lines))
