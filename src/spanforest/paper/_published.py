"""The numbers that Su and Rousu (2013) print, and the rules by which they mark them.

Scores are in percent, as printed. The blocks of Table 2 stand here as text, so that
they can be compared with the paper line by line.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

Mark = Literal["", "best", "second"]


class DatasetSize(NamedTuple):
    """The numbers in a line of Table 1, the paper's or ours."""

    n_samples: int
    n_labels: int
    n_features: int  # number of examples if there is only a kernel matrix
    cardinality: float
    density: float


class PublishedScore(NamedTuple):
    """A cell of the paper's Table 2, in percent; no numbers where it prints '-'."""

    mean: float | None
    deviation: float | None
    mark: Mark = ""  # boldface or italics


NOT_PUBLISHED = PublishedScore(None, None)

PAPER_METHODS = ("svm", "bagging", "adaboost", "mtl", "mmcrf", "mam")

TABLE_1: Mapping[str, DatasetSize] = {
    "emotions": DatasetSize(593, 6, 72, 1.87, 0.31),
    "yeast": DatasetSize(2417, 14, 103, 4.24, 0.30),
    "scene": DatasetSize(2407, 6, 294, 1.07, 0.18),
    "enron": DatasetSize(1702, 53, 1001, 3.36, 0.06),
    "cal500": DatasetSize(502, 174, 68, 26.04, 0.15),
    "fingerprint": DatasetSize(490, 286, 490, 49.10, 0.17),
    "nci60": DatasetSize(4547, 60, 4547, 11.05, 0.18),
    "medical": DatasetSize(978, 45, 1449, 1.14, 0.03),
    "circle10": DatasetSize(1000, 10, 3, 8.54, 0.85),
    "circle50": DatasetSize(1000, 50, 3, 35.63, 0.71),
}
DATASETS = tuple(TABLE_1)


def printed_ranks(values: Sequence[float | None]) -> list[int | None]:
    """Rank values as printed: one more than the number of greater ones.

    Ties share a rank, so two best values leave no second best. This rule reproduces
    every @Top2 count of the paper's Table 2. None has no rank.

    Examples
    --------
    >>> printed_ranks([86.31, 86.28, None, 86.2])
    [1, 1, None, 3]
    """
    printed = [None if value is None else float(f"{value:.1f}") for value in values]
    known = [value for value in printed if value is not None]
    return [
        None if value is None else 1 + sum(other > value for other in known)
        for value in printed
    ]


def marks(ranks: Sequence[int | None]) -> list[Mark]:
    """Mark best and second best; mark nothing if all are best.

    Examples
    --------
    >>> marks([2, 1, None, 3]), marks([1, 1])
    (['second', 'best', '', ''], ['', ''])
    """
    if {rank for rank in ranks if rank is not None} == {1}:
        return [""] * len(ranks)
    names: dict[int | None, Mark] = {1: "best", 2: "second"}
    return [names.get(rank, "") for rank in ranks]


# Columns: PAPER_METHODS. '*' marks boldface and '+' italics.
_MICROLABEL_ACCURACY = """
emotions    77.3±1.9  74.1±1.8  76.8±1.6  79.8±1.8+ 79.2±0.9  80.5±1.4*
yeast       80.0±0.6* 78.4±0.7  74.8±0.3  79.3±0.2  79.7±0.3  79.9±0.4+
scene       90.2±0.3* 87.8±0.8  84.3±0.4  88.4±0.6+ 83.4±0.2  83.0±0.2
enron       93.6±0.2  93.7±0.1  86.2±0.2  93.5±0.1  94.9±0.1+ 95.0±0.2*
cal500      86.3±0.3* 86.0±0.2  74.9±0.4  86.2±0.2  86.3±0.2* 86.3±0.3*
fingerprint 89.7±0.2* 85.0±0.7  84.1±0.5  82.7±0.3  89.5±0.3+ 89.5±0.8+
nci60       84.7±0.7  79.5±0.8  79.3±1.0  84.0±1.1  85.4±0.9+ 85.7±0.7*
medical     97.4±0.1  97.4±0.1  91.4±0.3  97.4±0.1  97.9±0.1* 97.9±0.1*
circle10    94.8±0.9  92.9±0.9  98.0±0.4* 93.7±1.4  96.7±0.7  97.5±0.3+
circle50    94.1±0.3  91.7±0.3  96.6±0.2+ 93.8±0.7  96.0±0.1  97.9±0.2*
"""

_MULTILABEL_ACCURACY = """
emotions    21.2±3.4  20.9±2.6  23.8±2.3  25.5±3.5  26.5±3.1+ 30.4±4.2*
yeast       14.0±1.8+ 13.1±1.2  7.5±1.3   11.3±2.8  13.8±1.5  14.0±0.6*
scene       52.8±1.0* 46.5±2.5+ 34.7±1.8  44.8±3.0  12.6±0.7  5.4±0.5
enron       0.4±0.1   0.1±0.2   0.0±0.0   0.4±0.3   11.7±1.2+ 12.1±1.0*
cal500      0.0±0.0   0.0±0.0   0.0±0.0   0.0±0.0   0.0±0.0   0.0±0.0
fingerprint 1.0±1.0*  0.0±0.0   0.0±0.0   0.0±0.0   0.4±0.9+  0.4±0.5+
nci60       43.1±1.3+ 21.1±1.3  2.5±0.6   47.0±1.4* 36.9±0.8  40.0±1.0
medical     8.2±2.3   8.2±1.6   5.1±1.0   8.2±1.2   35.9±2.1+ 36.9±4.6*
circle10    69.1±4.0  64.8±3.2  86.0±2.0* 66.8±3.4  75.2±5.6  82.3±2.2+
circle50    29.7±2.5  21.7±2.6  28.9±3.6  27.7±3.4  30.8±1.9+ 53.8±2.2*
"""

_MICROLABEL_F1 = """
emotions    57.1±4.4  61.5±3.1  66.2±2.9+ 64.6±3.0  64.6±1.2  66.3±2.3*
yeast       62.6±1.2  65.5±1.3* 63.5±0.6+ 60.2±0.5  62.4±0.7  62.4±0.6
scene       68.3±0.9+ 69.9±1.9* 64.8±0.8  61.5±2.4  23.7±1.2  11.6±0.9
enron       29.4±1.0  38.8±1.5  42.3±1.1  -         53.8±1.3* 53.7±0.7+
cal500      31.4±0.8  40.1±0.3+ 44.3±0.5* 28.6±0.6  32.7±0.9  32.3±0.9
fingerprint 66.3±0.8* 64.4±1.9  62.8±1.6  0.4±0.4   65.0±1.4+ 65.0±2.1+
nci60       45.9±1.9  53.9±1.3* 32.9±2.0  32.9±0.9  46.7±2.8  47.1±2.9+
medical     -         -         33.7±1.1  -         49.5±3.5+ 50.3±3.5*
circle10    97.0±0.5  96.0±0.5  98.8±0.2* 96.4±0.9  98.1±0.4  98.6±0.2+
circle50    96.0±0.3  94.5±0.2  97.6±0.1+ 95.7±0.5  97.2±0.1  98.6±0.1*
"""


def _parse(cell: str) -> PublishedScore:
    if cell == "-":
        return NOT_PUBLISHED
    signs: dict[str, Mark] = {"*": "best", "+": "second"}
    mean, deviation = cell.rstrip("*+").split("±")
    return PublishedScore(float(mean), float(deviation), signs.get(cell[-1], ""))


def _block(text: str) -> dict[tuple[str, str], PublishedScore]:
    scores = {}
    for line in text.strip().split("\n"):
        dataset, *cells = line.split()
        for method, cell in zip(PAPER_METHODS, cells, strict=True):
            scores[dataset, method] = _parse(cell)
    return scores


# By measure, then by data set and method.
TABLE_2: Mapping[str, Mapping[tuple[str, str], PublishedScore]] = {
    "microlabel_accuracy": _block(_MICROLABEL_ACCURACY),
    "multilabel_accuracy": _block(_MULTILABEL_ACCURACY),
    "microlabel_f1": _block(_MICROLABEL_F1),
}


def published_top2(measure: str, datasets: Iterable[str]) -> dict[str, int]:
    """Count @Top2 of the paper's methods from its cells, on some data sets.

    On all ten data sets these are the counts that the paper prints. Data sets that are
    not in the paper are ignored. A measure that is not in the paper has no counts.

    Examples
    --------
    >>> published_top2("microlabel_f1", ["emotions", "yeast"])
    {'svm': 0, 'bagging': 1, 'adaboost': 2, 'mtl': 0, 'mmcrf': 0, 'mam': 1}
    """
    if measure not in TABLE_2:
        return {}
    counts = dict.fromkeys(PAPER_METHODS, 0)
    for dataset in TABLE_1.keys() & set(datasets):
        line = [TABLE_2[measure][dataset, method].mean for method in PAPER_METHODS]
        for method, rank in zip(PAPER_METHODS, printed_ranks(line), strict=True):
            counts[method] += rank in (1, 2)
    return counts
