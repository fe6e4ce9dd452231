"""Calibration on folds: margins of examples that members were not trained on."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spanforest._blas import single_blas_thread
from spanforest._parallel import Workers
from spanforest._several_inputs import of_member
from spanforest._training import Settings, TrainingSet, scores_of, train_path
from spanforest.calibration import Calibration, fit_calibration
from spanforest.factors import FactorGraph

N_FOLDS = 5
MOST_MEMBERS = 10  # that are trained again on each fold


class RefittedMembers(NamedTuple):
    """The members that are trained again on each fold."""

    factors: list[FactorGraph]  # of each member, with every value of every label
    settings: Settings  # probabilities do not depend on the offset: it should be 0
    margins: Callable[..., list[NDArray[np.float64]]]  # of the factors and their scores

    @property
    def margin_units(self) -> NDArray[np.float64]:
        """The margin that training asks for: the average cost of one wrong label."""
        total = np.zeros(self.factors[0].n_labels)
        for factors in self.factors:
            ends, loss = factors.arrays.factor, factors.loss(self.settings.loss)
            np.add.at(total, ends["first"], loss.joint + loss.first)
            is_edge = ends["second"] >= 0
            at_second = (loss.joint + loss.second)[is_edge]
            np.add.at(total, ends["second"][is_edge], at_second)
        return total / len(self.factors)


def calibrate(
    data: TrainingSet,
    members: RefittedMembers,
    seed: np.random.SeedSequence,
    workers: Workers,
) -> Calibration:
    """Fit a calibration to margins of examples that members were not trained on.

    A few members suffice. Their margins are measured in units of what training asks
    of them, so that the calibration also holds for all members together. A single label
    gets no bias: its most probable value is the one predicted.

    Parameters
    ----------
    data : TrainingSet
        All training examples.
    members : RefittedMembers
        All members.
    seed : SeedSequence
        Draws the folds, and the order of the examples in training.
    workers : Workers
        Trains the folds.
    """
    n_values = members.factors[0].n_values
    if n_values.max() == 1:
        return fit_calibration([np.zeros((0, 1))] * len(n_values), data.Y[:0])
    few = members._replace(factors=members.factors[:MOST_MEMBERS])
    Y, sample_weight = data.as_given
    n_samples = len(Y)
    n_folds = min(N_FOLDS, n_samples)
    *seeds, last = seed.spawn(n_folds + 1)
    fold_of = np.random.default_rng(last).permutation(np.arange(n_samples) % n_folds)
    calls = [(data, fold_of == fold, few, own) for fold, own in enumerate(seeds)]
    margins = [np.empty((n_samples, size)) for size in n_values]
    folds = workers.run(margins_of_fold, calls, "calibration folds")
    for fold, fold_margins in enumerate(folds):
        for j, unit in enumerate(few.margin_units):
            margins[j][fold_of == fold] = fold_margins[j] / unit
    calibration = fit_calibration(
        margins, Y, biases=len(n_values) > 1, sample_weight=sample_weight
    )
    return calibration.for_margins_of(members.margin_units)


def margins_of_fold(
    data: TrainingSet,
    held_out: NDArray[np.bool_],
    members: RefittedMembers,
    seed: np.random.SeedSequence,
) -> list[NDArray[np.float64]]:
    """Return the members' margins of some examples, learned from the others."""
    inside, rows = data.fold(np.flatnonzero(~held_out), np.flatnonzero(held_out))
    seeds = seed.spawn(len(members.factors))
    scores = []
    for t, (factors, own) in enumerate(zip(members.factors, seeds, strict=True)):
        rng = np.random.default_rng(own)
        settings, data_t = members.settings, inside.of_member(t)
        solution = next(train_path(data_t, factors, rng, settings, [settings.C]))
        with single_blas_thread():
            member_rows = of_member(rows, t)
            scores.append(scores_of(member_rows, solution.weights, solution.intercept))
    return members.margins(members.factors, scores)
