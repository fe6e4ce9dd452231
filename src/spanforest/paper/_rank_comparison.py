"""Average ranks of methods over data sets, with Friedman's and Nemenyi's tests."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from spanforest._wording import quoted
from spanforest.metrics import MEASURES
from spanforest.paper._names import display_name
from spanforest.paper._performance_table import PerformanceTable, performance_table
from spanforest.paper._row_selection import RunSettings
from spanforest.paper._rows import Row
from spanforest.paper._table_formats import Block, Entry, Layout, Line, Table
from spanforest.plots._style import optional

# why a method cannot be ranked, by the state of its cell
_REASONS = {
    "absent": "not run",
    "failed": "failed",
    "no positives": "no positive label predicted",
}


@dataclass(frozen=True, eq=False)
class RankComparison(Table):
    """Ranks of methods over data sets by one measure; rank 1 is best.

    Friedman's test asks whether all methods rank alike. If not, Nemenyi's test says
    which two methods differ: those whose average ranks are at least a critical
    difference apart. `spanforest.plots.CriticalDifferenceDisplay` draws both.
    """

    measure: str
    settings: RunSettings
    methods: tuple[str, ...]
    datasets: tuple[str, ...]
    means: NDArray[np.float64]  # (n_datasets, n_methods), percent
    average_ranks: NDArray[np.float64]  # (n_methods,)
    statistic: float  # Friedman's chi-squared, corrected for ties
    p_value: float
    nemenyi: NDArray[np.float64]  # (n_methods, n_methods), p-values
    left_out: Mapping[str, str]  # the reason, by method

    def critical_difference(self, alpha: float = 0.05) -> float:
        """Return the distance of average ranks from which Nemenyi's test rejects."""
        n_datasets, n_methods = self.means.shape
        quantile = stats.studentized_range.ppf(1 - alpha, n_methods, np.inf)
        scale = math.sqrt(n_methods * (n_methods + 1) / (12 * n_datasets))
        return float(quantile * scale)

    def layout(self) -> Layout:
        """Return captions, entries and notes as text, without any format."""
        best = int(np.argmin(self.average_ranks))
        lines = tuple(
            Line(
                display_name(self.methods[method]),
                (
                    Entry(f"{self.average_ranks[method]:.2f}"),
                    Entry(
                        "" if method == best else f"{self.nemenyi[best, method]:.3f}"
                    ),
                ),
            )
            for method in np.argsort(self.average_ranks, kind="stable")
        )
        top = display_name(self.methods[best])
        header = ("Method", "Average rank", f"p against {top}")
        datasets = ", ".join(map(display_name, self.datasets))
        return Layout(
            caption=(
                f"{display_name(self.measure)}: average ranks over "
                f"{len(self.datasets)} data sets ({self.settings})."
            ),
            blocks=(Block("", header, lines),),
            notes=(
                f"Friedman's test: chi-squared {self.statistic:.2f}, "
                f"p = {self.p_value:.3g}. The p-values above are Nemenyi's; the "
                f"critical difference at 0.05 is {self.critical_difference():.2f}.",
                f"Data sets: {datasets}.",
                *(
                    f"Left out: {display_name(method)} ({reason})."
                    for method, reason in self.left_out.items()
                ),
            ),
        )

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary per method, with Nemenyi's p-value against each."""
        return [
            {
                "protocol": self.settings.protocol,
                "measure": self.measure,
                "method": method,
                "average_rank": float(self.average_ranks[number]),
                "n_datasets": len(self.datasets),
                "friedman_statistic": self.statistic,
                "friedman_p_value": self.p_value,
                **{
                    f"nemenyi_{other}": float(p_value)
                    for other, p_value in zip(
                        self.methods, self.nemenyi[number], strict=True
                    )
                },
            }
            for number, method in enumerate(self.methods)
        ]


def compare_ranks(
    rows: Iterable[Row],
    measure: str = "microlabel_accuracy",
    protocol: str = "paper",
) -> RankComparison:
    """Compare the methods that have a score on every data set of the rows.

    Scores are means over folds and seeds, not rounded; ties share the average of
    their ranks.

    Parameters
    ----------
    rows : iterable of dict
        As for `performance_table`. To leave out a method or a data set, leave out its
        rows.
    measure : str, default="microlabel_accuracy"
        One of `spanforest.metrics.MEASURES`.
    protocol : str, default="paper"
        "paper" or "tuned".

    Returns
    -------
    comparison : RankComparison
        Its field `left_out` says which methods lack a score, where and why.

    Raises
    ------
    ValueError
        If fewer than three methods or two data sets are left, and as for
        `performance_table`.
    ImportError
        If scikit-posthocs is not installed.

    Examples
    --------
    >>> from spanforest.paper import compare_ranks
    >>> def row(dataset, method, score):
    ...     return {"kind": "fold", "protocol": "paper", "dataset": dataset,
    ...             "method": method, "fold": 0, "seed": 0, "n_folds": 1,
    ...             "n_trees": 60, "scores": {"microlabel_accuracy": score}}
    >>> scores = {"svm": 0.7, "mmcrf": 0.8, "mam": 0.9}
    >>> comparison = compare_ranks(
    ...     row(dataset, method, score)
    ...     for dataset in ("yeast", "scene") for method, score in scores.items())
    >>> comparison.methods, comparison.average_ranks
    (('svm', 'mmcrf', 'mam'), array([3., 2., 1.]))
    >>> round(comparison.p_value, 3)
    0.135
    """
    if measure not in MEASURES:
        raise ValueError(
            f"measure must be one of {', '.join(MEASURES)}; got {quoted(measure)}."
        )
    return _compare(performance_table(rows, protocol), measure)


def _compare(table: PerformanceTable, measure: str) -> RankComparison:
    left_out = _left_out(table, measure)
    methods = tuple(method for method in table.methods if method not in left_out)
    if len(methods) < 3 or len(table.datasets) < 2:
        reasons = "".join(
            f" Left out: {method} ({reason})." for method, reason in left_out.items()
        )
        raise ValueError(
            "a comparison of ranks needs at least 3 methods with a score on each of at "
            f"least 2 data sets; found methods {', '.join(methods) or 'none'} and data "
            f"sets {', '.join(table.datasets)}.{reasons} Run more of them, or leave "
            "out the rows of a data set."
        )
    means = np.array(
        [
            [table.cell(measure, dataset, method).mean for method in methods]
            for dataset in table.datasets
        ],
        dtype=np.float64,
    )
    # means of the same scores may differ in the last digit; they must tie
    ranked = means.round(9)
    statistic, p_value = _friedman(ranked)
    return RankComparison(
        measure=measure,
        settings=table.settings,
        methods=methods,
        datasets=table.datasets,
        means=_read_only(means),
        average_ranks=_read_only(stats.rankdata(-ranked, axis=1).mean(axis=0)),
        statistic=statistic,
        p_value=p_value,
        nemenyi=_read_only(_nemenyi(ranked)),
        left_out=MappingProxyType(left_out),
    )


def _left_out(table: PerformanceTable, measure: str) -> dict[str, str]:
    """Return the methods that lack folds on some data set, each with the reason."""
    reasons: dict[str, str] = {}
    for method in table.methods:
        for dataset in table.datasets:
            cell = table.cell(measure, dataset, method)
            some = "not all folds" if cell.is_partial else ""
            reason = _REASONS.get(cell.state, some)
            if reason:
                reasons.setdefault(method, f"{reason} on {display_name(dataset)}")
    return reasons


def _friedman(means: NDArray[np.float64]) -> tuple[float, float]:
    if (means == means[:, :1]).all():
        return 0.0, 1.0  # all ranks are equal: SciPy divides zero by zero
    result = stats.friedmanchisquare(*means.T)
    return float(result.statistic), float(result.pvalue)


def _nemenyi(means: NDArray[np.float64]) -> NDArray[np.float64]:
    posthocs = optional("scikit_posthocs", extra="paper")
    p_values = posthocs.posthoc_nemenyi_friedman(means)
    return p_values.to_numpy(dtype=np.float64, copy=True)


def _read_only(array: NDArray[np.float64]) -> NDArray[np.float64]:
    array.setflags(write=False)
    return array
