"""Margins of examples that models were not trained on, and a calibration from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from joblib import delayed
from numpy.typing import NDArray

from spanforest._blas import single_blas_thread
from spanforest._training import Settings, TrainingSet, learn
from spanforest.branch_and_bound import decode_exactly
from spanforest.calibration import Calibration, fit_calibration
from spanforest.factors import FactorGraph, average_scores, consensus_factors
from spanforest.inference import label_margins
from spanforest.losses import find_loss

CALIBRATION_FOLDS = 5
CALIBRATION_MEMBERS = 10  # at most, that are trained anew on each fold


class HeldOut(NamedTuple):
    """What is trained on a part of the data to see the margins of the others."""

    parts: list[FactorGraph]  # of the members, with every value of every label
    settings: Settings
    margins: Callable[..., list[NDArray[np.float64]]]  # of the parts and their scores

    @property
    def units(self) -> NDArray[np.float64]:
        """What it costs to have one label wrong, on average: the margin asked for."""
        total = np.zeros(self.parts[0].n_labels)
        for factors in self.parts:
            ends = factors.arrays.factor
            loss = find_loss(self.settings.loss)(ends["first"], ends["second"])
            np.add.at(total, ends["first"], loss.joint + loss.first)
            is_edge = ends["second"] >= 0
            at_second = (loss.joint + loss.second)[is_edge]
            np.add.at(total, ends["second"][is_edge], at_second)
        return total / len(self.parts)


def average_margins(
    parts: list[FactorGraph], scores: Iterable[NDArray[np.float64]]
) -> list[NDArray[np.float64]]:
    """Return the average of the members' margins, one array per label: those of AMM."""
    total: Any = 0.0
    for factors, own in zip(parts, scores, strict=True):
        total = total + np.column_stack(label_margins(factors, own))
    return np.split(total / len(parts), parts[0].value_start[1:], axis=1)


def consensus_margins(
    parts: list[FactorGraph], scores: Iterable[NDArray[np.float64]]
) -> list[NDArray[np.float64]]:
    """Return the margins of the average scores, one array per label: those of MAM."""
    union = consensus_factors(parts)
    return predicted_margins(union, average_scores(union, parts, scores))


def predicted_margins(
    factors: FactorGraph, scores: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """Return the margins around the label sets that are predicted, one per label."""
    decoding = None if factors.graph.is_forest else decode_exactly(factors, scores)
    return label_margins(factors, scores, decoding)


def calibrate(
    data: TrainingSet,
    members: HeldOut,
    seed: np.random.SeedSequence,
    run: Callable[[list[Any]], list[Any]],
) -> Calibration:
    """Fit a calibration to margins of examples that members were not trained on.

    Some members suffice. Their margins are measured in units of what training asks of
    them, so that the calibration also holds for all members together. A single label
    gets no bias: its most probable value is the one predicted.

    Parameters
    ----------
    data : TrainingSet
        All of the training examples, which folds are made of.
    members : HeldOut
        All members.
    seed : SeedSequence
        Draws the folds, and the order of the examples in training.
    run : callable
        Runs a list of joblib tasks.
    """
    n_values = members.parts[0].n_values
    if n_values.max() == 1:
        return fit_calibration([np.zeros((0, 1))] * len(n_values), data.Y[:0])
    some = members._replace(parts=members.parts[:CALIBRATION_MEMBERS])
    n_samples = len(data.Y)
    n_folds = min(CALIBRATION_FOLDS, n_samples)
    *seeds, last = seed.spawn(n_folds + 1)
    fold = np.random.default_rng(last).permutation(np.arange(n_samples) % n_folds)
    tasks = [
        delayed(margins_of_fold)(
            data.basis, data.Y, data.is_kernel, fold == f, some, seeds[f]
        )
        for f in range(n_folds)
    ]
    margins = [np.empty((n_samples, size)) for size in n_values]
    for f, found in enumerate(run(tasks)):
        for j, unit in enumerate(some.units):
            margins[j][fold == f] = found[j] / unit
    found = fit_calibration(margins, data.Y, biases=len(n_values) > 1)
    return found.for_margins_of(members.units)


def margins_of_fold(
    basis: Any,
    Y: NDArray[np.int32],
    is_kernel: bool,
    held_out: NDArray[np.bool_],
    members: HeldOut,
    seed: np.random.SeedSequence,
) -> list[NDArray[np.float64]]:
    """Return the members' margins of some examples, learned from the others."""
    inside, outside = np.flatnonzero(~held_out), np.flatnonzero(held_out)
    known, new = basis[inside], basis[outside]
    if is_kernel:
        known, new = np.ascontiguousarray(known[:, inside]), new[:, inside]
    data = TrainingSet(known, Y[inside], is_kernel)
    seeds = seed.spawn(len(members.parts))
    scores = []
    for factors, own in zip(members.parts, seeds, strict=True):
        found = learn(data, factors, np.random.default_rng(own), members.settings)
        with single_blas_thread():
            scores.append(np.asarray(new @ found.weights) + found.intercept)
    return members.margins(members.parts, scores)
