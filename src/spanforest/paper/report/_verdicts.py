"""The result of a run in words: who won, by how much, on how many data sets."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from spanforest.metrics import MEASURES
from spanforest.paper import PerformanceTable, RankComparison, display_name

ALPHA = 0.05  # level of all tests


class Verdict(NamedTuple):
    """Sentences about the methods by one measure."""

    measure: str  # its title
    text: str


def verdict(
    table: PerformanceTable, measure: str, comparison: RankComparison | None = None
) -> Verdict:
    """Say which method is best by a measure.

    The winner has the best average rank among the methods that have a score of all
    folds on every data set.

    Parameters
    ----------
    table : PerformanceTable
        The scores.
    measure : str
        One of `spanforest.metrics.MEASURES`.
    comparison : RankComparison, optional
        Tests of the same methods, if there are any.
    """
    methods = ranked_methods(table, measure)
    title = MEASURES[measure].title
    if len(methods) < 2:
        number = "Only one method has" if methods else "No method has"
        text = f"{number} a score of all folds on every data set, so nobody won."
        return Verdict(title, text)
    means = np.array(
        [
            [table.cell(measure, dataset, method).mean for method in methods]
            for dataset in table.datasets
        ],
        dtype=np.float64,
    )
    ranks = stats.rankdata(-means.round(9), axis=1).mean(axis=0)
    sentences = [*_sentences(table, methods, means, ranks), _test(comparison)]
    return Verdict(title, " ".join(filter(None, sentences)))


def ranked_methods(table: PerformanceTable, measure: str) -> list[str]:
    """Return the methods that have a score of all folds on every data set."""
    return [
        method
        for method in table.methods
        if all(table.cell(measure, each, method).rank for each in table.datasets)
    ]


def _sentences(
    table: PerformanceTable,
    methods: Sequence[str],
    means: NDArray[np.float64],
    ranks: NDArray[np.float64],
) -> list[str]:
    """Return sentences about the winners and about the next method."""
    first, is_winner = int(ranks.argmin()), ranks == ranks.min()
    winners = [display_name(methods[s]) for s in np.flatnonzero(is_winner).tolist()]
    names = " and ".join(filter(None, (", ".join(winners[:-1]), winners[-1])))
    is_alone, n_datasets = len(winners) == 1, len(table.datasets)
    if n_datasets == 1:
        where = display_name(table.datasets[0])
        sentences = [
            f"{names} score{'s' * is_alone} best on {where}: {means[0, first]:.1f} %."
        ]
    else:
        sentences = [
            f"{names} {'has' if is_alone else 'have'} the best average rank, "
            f"{ranks[first]:.2f} among {len(methods)} methods on {n_datasets} data "
            "sets."
        ]
        if is_alone:
            n_best = _times_best(means, first)
            sentences.append(f"It is best on {n_best or 'none'} of them.")
    if is_winner.all():
        return [*sentences, "All methods tie."]
    second = int(np.where(is_winner, np.inf, ranks).argmin())
    rank = f" with {ranks[second]:.2f}" if n_datasets > 1 else ""
    behind = _behind(float((means[:, first] - means[:, second]).mean()))
    sentences.append(f"Next is {display_name(methods[second])}{rank}, {behind}.")
    return sentences


def _times_best(means: NDArray[np.float64], method: int) -> int:
    """Count the data sets where a method is best; where all tie, nobody is."""
    printed = means.round(1)
    is_best = printed == printed.max(axis=1, keepdims=True)
    return int((is_best[:, method] & ~is_best.all(axis=1)).sum())


def _behind(lead: float) -> str:
    """Return how far the mean score of the next method is from that of the winner.

    Examples
    --------
    >>> _behind(2.0)
    'whose mean score is 2.0 points lower'
    """
    if abs(lead) < 0.05:
        return "whose mean score is the same to 0.1 points"
    if lead > 0:
        return f"whose mean score is {count_points(lead)} lower"
    return f"although its mean score is {count_points(-lead)} higher"


def count_points(points: float) -> str:
    """Return percentage points with their noun.

    Examples
    --------
    >>> count_points(1.0), count_points(2.34)
    ('1.0 point', '2.3 points')
    """
    text = f"{points:.1f}"
    return f"{text} point{'' if text == '1.0' else 's'}"


def _test(comparison: RankComparison | None) -> str:
    """Return a sentence about which differences may be chance."""
    if comparison is None:
        return ""
    if comparison.p_value >= ALPHA:
        return (
            "All differences may be chance: Friedman's test does not tell the methods "
            f"apart (p = {comparison.p_value:.2g})."
        )
    best = int(np.argmin(comparison.average_ranks))
    n_beaten = int((comparison.nemenyi[best] < ALPHA).sum())
    return (
        f"Nemenyi's test tells {display_name(comparison.methods[best])} apart from "
        f"{n_beaten or 'none'} of the {len(comparison.methods) - 1} others."
    )
