"""The protocols: which methods they run, and how they choose parameters.

The paper's protocol chooses parameters once per data set, on a tenth of the data and
for the base learner. Bagging uses the parameters of the single SVM, and the ensembles
those of the single tree.

The tuned protocol chooses the parameters of every method anew in each fold, on the
training set, with the same inner folds and the same number of candidates. Methods that
can use a kernel, directly or through explicit features, try the same four: the data
set's own (linear for features) and Gaussians of three widths, each with three strengths
of regularisation. The strengths cover the range of the best ones in trials on training
sets of a few of the data sets. This range is about the same for all methods with a
hinge loss, higher for logistic regression, and MTL has another parameter. Trees and
rules are not made for kernels, and a Gaussian does not change who is nearest. So
forests, boosting, BOOMER and MLkNN try as many settings of their own. Methods that give
each label a score also choose the threshold above which a label is on, among three for
each setting: this needs no other fit. The ensembles keep the paper's edge loss: if the
Hamming loss were a choice too, they would try fewer kernels than the others, or more
candidates.

The ensemble that tunes itself is used as newcomers are told to use it: features as they
are, no arguments. It has candidates of its own, and chooses by the same mean of
measures.

The protocol of the study runs the ensemble that tunes itself once for each measure, on
splits of the sizes of a published comparison: see `_study`.
"""

from collections.abc import Mapping
from importlib.util import find_spec
from itertools import groupby, product
from typing import Any, NamedTuple

from spanforest.paper._methods import TUNED_FOR, Effort

PAPER_GRID = (0.01, 0.1, 0.5, 1.0, 5.0, 10.0)  # for C, and for gamma of MTL
CHOICE_FOLDS = 3
SAMPLE_SHARE = 0.1
FEWEST_IN_SAMPLE = 30  # a tenth of a small data set is too little to choose by

# Parameters are chosen with small ensembles: large ones cost much and change little.
CHOICE_EFFORT = Effort(n_trees=5, n_bags=5, n_rounds=30, n_chains=2, n_forest=30)
QUICK_EFFORT = Effort(n_trees=10, n_bags=10, n_rounds=20, n_chains=2, n_forest=30)
QUICK_FOLDS = 2

Candidates = tuple[dict[str, Any], ...]


class Family(NamedTuple):
    """Learners that share one choice; the one of the family's name makes it."""

    candidates: Candidates
    tunes_itself: bool = False  # the learner chooses in `fit`

    @property
    def fits(self) -> list[Candidates]:
        """The candidates in groups that one fit serves: only thresholds differ."""
        groups = groupby(
            self.candidates,
            key=lambda each: {**each, "threshold": None},
        )
        return [tuple(group) for _, group in groups]

    @property
    def grid(self) -> dict[str, list[Any]]:
        """The values of each parameter."""
        return {
            name: list(dict.fromkeys(each[name] for each in self.candidates))
            for name in self.candidates[0]
        }


class Protocol(NamedTuple):
    """Which learners are run, and how their parameters are chosen."""

    name: str
    learners: Mapping[str, str]  # learner -> family, in the order of the tables
    families: Mapping[str, Family]
    scaling: str  # of features, see `FoldInputs`
    chooses_per_fold: bool
    is_study: bool = False  # split as in the study


def _grid(**values: tuple[Any, ...]) -> Candidates:
    """Return all combinations; the first parameter varies slowest.

    Examples
    --------
    >>> _grid(C=(1, 2), width=(None,))
    ({'C': 1, 'width': None}, {'C': 2, 'width': None})
    """
    return tuple(
        dict(zip(values, point, strict=True)) for point in product(*values.values())
    )


_WIDTHS = (None, 0.5, 1.0, 2.0)  # None: the data set's own kernel, no Gaussian
_MARGIN_GRID = _grid(width=_WIDTHS, C=(0.5, 5.0, 50.0))
_BY_MARGIN = {"threshold": (0.0, -0.2, -0.4)}
_BY_CHANCE = {"threshold": (0.5, 0.4, 0.3)}
_BY_LOG_ODDS = {"threshold": (0.0, -0.4, -0.85)}  # the same chances
_SVM_GRID = _grid(width=_WIDTHS, C=(0.5, 5.0, 50.0), **_BY_MARGIN)
_OWN_CHOICE = Family(({},), tunes_itself=True)
_LOGISTIC = {"width": _WIDTHS, "C": (2.0, 20.0, 200.0)}
_FOREST_GRID = _grid(
    max_features=("sqrt", 0.1, 0.3), min_samples_leaf=(1, 2, 4, 8), **_BY_CHANCE
)

PAPER = Protocol(
    name="paper",
    learners={
        "svm": "svm",
        "bagging": "svm",
        "adaboost": "adaboost",
        "mtl": "mtl",
        "mmcrf": "mmcrf",
        "ensemble": "mmcrf",
    },
    families={
        "svm": Family(_grid(C=PAPER_GRID)),
        "adaboost": Family(({},)),
        "mtl": Family(_grid(gamma=PAPER_GRID)),
        "mmcrf": Family(_grid(C=PAPER_GRID)),
    },
    scaling="unit",
    chooses_per_fold=False,
)

_TUNED_FAMILIES = {
    "svm": Family(_SVM_GRID),
    "bagging": Family(_MARGIN_GRID),
    "adaboost": Family(
        _grid(max_leaf_nodes=(4, 10, 30, 100), max_features=(None, 0.3, 0.1))
    ),
    "mtl": Family(_grid(width=_WIDTHS, gamma=(0.001, 0.02, 0.3))),
    "mmcrf": Family(_MARGIN_GRID),
    "ensemble": Family(_MARGIN_GRID),
    "selftuned": _OWN_CHOICE,
    "ecc": Family(_grid(**_LOGISTIC, **_BY_CHANCE)),
    "forest": Family(_FOREST_GRID),
    "extra_trees": Family(_FOREST_GRID),
    "boosting": Family(
        _grid(
            learning_rate=(0.05, 0.1, 0.2),
            max_leaf_nodes=(7, 31),
            min_samples_leaf=(5, 20),
            **_BY_LOG_ODDS,
        )
    ),
    "logistic": Family(_grid(**_LOGISTIC, **_BY_LOG_ODDS)),
    "boomer": Family(
        _grid(
            max_rules=(300, 1000),
            shrinkage=(0.1, 0.3, 0.5),
            l2_regularization_weight=(1.0, 10.0),
        )
    ),
    "mlknn": Family(_grid(k=(3, 5, 7, 10, 15, 20), s=(0.5, 1.0))),
}

TUNED = Protocol(
    name="tuned",
    learners={name: name for name in _TUNED_FAMILIES},
    families=_TUNED_FAMILIES,
    scaling="standard",
    chooses_per_fold=True,
)

STUDY = Protocol(
    name="study",
    learners={name: name for name in TUNED_FOR.values()},
    families=dict.fromkeys(TUNED_FOR.values(), _OWN_CHOICE),
    scaling="none",
    chooses_per_fold=True,
    is_study=True,
)

PROTOCOLS = {"paper": PAPER, "tuned": TUNED, "study": STUDY}

_MODULES = {"boomer": "mlrl.boosting", "mlknn": "skmultilearn.adapt"}


def available_learners(protocol: Protocol) -> tuple[str, ...]:
    """Return the learners that are installed: BOOMER and MLkNN are optional."""
    return tuple(
        learner
        for learner in protocol.learners
        if learner not in _MODULES or _is_installed(_MODULES[learner])
    )


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # its package is not installed either
        return False
