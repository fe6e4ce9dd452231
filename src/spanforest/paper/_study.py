"""A published comparison of 28 methods, and where ours would stand in it.

Bogatinovski, Todorovski, Dzeroski and Kocev, "Comprehensive comparative study of
multi-label classification methods", Expert Systems with Applications 203 (2022). Each
method was tuned for hours, and tested on one stratified split. The splits are not
published, but their sizes are: ours are five others of the same size.
"""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from spanforest.datasets import Dataset
from spanforest.metrics import MEASURES
from spanforest.model_selection import train_test_split_labels
from spanforest.paper._methods import TUNED_FOR
from spanforest.paper._names import display_name
from spanforest.paper._row_selection import select_folds
from spanforest.paper._rows import Row
from spanforest.paper._table_formats import Block, Entry, Layout, Line, Table

_TEST_ROWS = {
    "emotions": 270,
    "medical": 420,
    "enron": 710,
    "scene": 960,
    "yeast": 967,
    "cal500": 230,
    "tmc2007_500": 11462,
    "water_quality": 349,
    "foodtruck": 146,
    "genbase": 292,
}
STUDY_DATASETS = (*_TEST_ROWS, "bibtex", "slashdot")
_TEST_SHARE = 0.4  # where the size of the test set is not stated


def study_split(dataset: Dataset, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of a training and a test set of the study's sizes.

    Every label has about the same share of positives in both.
    """
    rows = np.arange(dataset.n_samples)
    test_size = _TEST_ROWS.get(dataset.name, _TEST_SHARE)
    train, test, _, _ = train_test_split_labels(
        rows, dataset.Y, test_size=test_size, random_state=seed
    )
    return train, test


@lru_cache(maxsize=1)
def published_scores() -> Mapping[tuple[str, str], Mapping[str, float]]:
    """Return the published scores in percent, by data set and measure.

    Examples
    --------
    >>> scores = published_scores()["scene", "multilabel_accuracy"]
    >>> len(scores), max(scores, key=scores.get), scores["CC"]
    (28, 'CC', 71.1)
    """
    text = files("spanforest.paper").joinpath("study.csv").read_text("utf-8")
    scores = {}
    for line in csv.DictReader(text.splitlines()):
        place = line.pop("dataset"), line.pop("measure")
        scores[place] = {name: float(value) for name, value in line.items()}
    return scores


class Standing(NamedTuple):
    """Our score on a data set by a measure, and its place among the published ones."""

    dataset: str
    measure: str
    mean: float  # in percent
    deviation: float
    rank: int  # 1 is best; of 29
    best_method: str
    best_score: float


@dataclass(frozen=True)
class StudyTable(Table):
    """Our scores beside the best published ones, with our rank among all methods."""

    standings: tuple[Standing, ...]
    n_splits: int

    def average_rank(self, measure: str) -> float:
        """Return the mean of our ranks over the data sets."""
        return float(np.mean([each.rank for each in self._of(measure)]))

    def layout(self) -> Layout:
        """Return captions, entries and notes as text, without any format."""
        return Layout(
            caption=(
                "Scores in percent, mean and deviation over "
                f"{self.n_splits} splits, of the ensemble that is tuned for the "
                "measure; its rank among 29 methods; the best of 28 published methods."
            ),
            blocks=tuple(map(self._block, MEASURES)),
            notes=(
                "The published scores are of one split each, which is not published; "
                "ours are splits of the same size.",
            ),
        )

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary per data set and measure."""
        return [each._asdict() for each in self.standings]

    def _of(self, measure: str) -> list[Standing]:
        return [each for each in self.standings if each.measure == measure]

    def _block(self, measure: str) -> Block:
        lines = [
            Line(
                display_name(each.dataset),
                (
                    Entry(
                        f"{each.mean:.1f}",
                        f"±{each.deviation:.1f}",
                        mark="best" if each.rank == 1 else "",
                    ),
                    Entry(str(each.rank)),
                    Entry(f"{each.best_score:.1f} ({each.best_method})"),
                ),
            )
            for each in self._of(measure)
        ]
        mean = Entry(f"{self.average_rank(measure):.1f}")
        return Block(
            title=display_name(measure),
            header=("Data set", "spanforest", "Rank", "Best published"),
            lines=tuple(lines),
            footer=(Line("Average rank", (Entry(), mean, Entry())),),
        )


def study_table(rows: Iterable[Row]) -> StudyTable:
    """Return our standing in the study, for the data sets that occur in the rows.

    Parameters
    ----------
    rows : iterable of dict
        Rows of the protocol "study"; others are ignored.

    Returns
    -------
    StudyTable
        For each measure, the scores of the ensemble that is tuned for it.

    Examples
    --------
    >>> from spanforest.paper import study_table
    >>> scores = {"microlabel_accuracy": 0.9, "multilabel_accuracy": 0.72,
    ...           "microlabel_f1": 0.8}
    >>> rows = [{"kind": "fold", "protocol": "study", "dataset": "scene", "seed": 0,
    ...          "method": f"tuned_for_{measure}", "fold": fold, "n_folds": 5,
    ...          "n_trees": 30, "quick": False, "error": None, "scores": scores}
    ...         for measure in scores for fold in range(5)]
    >>> study_table(rows).average_rank("multilabel_accuracy")
    1.0
    """
    settings, folds = select_folds(rows, "study")
    there = {fold["dataset"] for fold in folds}
    known = [name for name in STUDY_DATASETS if name in there]
    standings = [
        standing
        for measure in MEASURES
        for name in known
        if (standing := _standing(name, measure, folds)) is not None
    ]
    return StudyTable(tuple(standings), settings.n_folds)


def _standing(dataset: str, measure: str, folds: list[Row]) -> Standing | None:
    place = dataset, TUNED_FOR[measure]
    scores = [
        100 * fold["scores"][measure]
        for fold in folds
        if (fold["dataset"], fold["method"]) == place and fold["scores"]
    ]
    if not scores:
        return None
    published = published_scores()[dataset, measure]
    mean = float(np.mean(scores))
    # compared as printed: the published scores have one digit
    rank = 1 + sum(score > round(mean, 1) for score in published.values())
    best = max(published, key=lambda name: published[name])
    deviation = float(np.std(scores, ddof=1)) if len(scores) > 1 else 0.0
    return Standing(dataset, measure, mean, deviation, rank, best, published[best])
