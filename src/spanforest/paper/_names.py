"""How tables and figures name and order data sets, methods and measures."""

from collections.abc import Iterable, Mapping

from spanforest.metrics import MEASURES
from spanforest.paper._published import DATASETS

_METHOD_TITLES = {
    "svm": "SVM",
    "bagging": "Bagging",
    "adaboost": "AdaBoost",
    "mtl": "MTL",
    "mmcrf": "MMCRF",
    "mve": "MVE",
    "amm": "AMM",
    "mam": "MAM",
    "selftuned": "MAM, self-tuned",
    "ecc": "Classifier chains",
    "forest": "Random forest",
    "extra_trees": "Extra trees",
    "boosting": "Gradient boosting",
    "logistic": "Logistic regression",
    "boomer": "BOOMER",
    "mlknn": "MLkNN",
    "tuned_for_microlabel_accuracy": "MAM, tuned for single labels",
    "tuned_for_multilabel_accuracy": "MAM, tuned for label sets",
    "tuned_for_microlabel_f1": "MAM, tuned for F1",
}
METHODS = tuple(_METHOD_TITLES)
_SPELLED_OUT = {
    "svm": "one support vector machine per label",
    "bagging": "support vector machines per label, on resampled examples",
    "adaboost": "AdaBoost.MH, boosted decision stumps",
    "mtl": "multi-task feature learning",
    "mmcrf": "max-margin conditional random field on one random tree",
    "mve": "ensemble of random trees, combined by majority vote",
    "amm": "ensemble of random trees, combined by the average of max-marginals",
    "mam": "ensemble of random trees, combined by the maximum of average marginals",
    "selftuned": "MAM that chooses its own parameters in training",
    "boomer": "gradient boosted multilabel rules",
    "mlknn": "multilabel k nearest neighbours",
}

TITLES: Mapping[str, str] = {
    **{name: measure.title for name, measure in MEASURES.items()},
    **_METHOD_TITLES,
    **{name: name.capitalize() for name in DATASETS},
    "nci60": "NCI60",
    "water_quality": "Water quality",
    "tmc2007_500": "TMC2007-500",
    **{name: name.capitalize() for name in ("bibtex", "genbase")},
    **{name: name.capitalize() for name in ("foodtruck", "slashdot")},
}


def display_name(key: str) -> str:
    """Return the name of a data set, method or measure as tables and figures show it.

    Examples
    --------
    >>> from spanforest.paper import display_name
    >>> display_name("mlknn"), display_name("cal500"), display_name("my_data")
    ('MLkNN', 'Cal500', 'my_data')
    """
    return TITLES.get(key, key)


def in_order(names: Iterable[str], order: Iterable[str]) -> tuple[str, ...]:
    """Return the different names: those of `order` first, then the others sorted.

    Examples
    --------
    >>> from spanforest.paper import METHODS, in_order
    >>> in_order(["other", "mam", "svm", "mam"], METHODS)
    ('svm', 'mam', 'other')
    """
    distinct = set(names)
    known = tuple(name for name in order if name in distinct)
    return (*known, *sorted(distinct.difference(known)))


def spelled_out(methods: Iterable[str]) -> dict[str, str]:
    """Return what the names of methods stand for; names that say it are left out.

    Examples
    --------
    >>> from spanforest.paper import spelled_out
    >>> spelled_out(["mtl", "forest"])
    {'MTL': 'multi-task feature learning'}
    """
    known = [name for name in methods if name in _SPELLED_OUT]
    return {display_name(name): _SPELLED_OUT[name] for name in known}
