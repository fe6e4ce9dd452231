"""Who takes part in the contest of kernels, and how they are ranked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spanforest._training import TrainingSet
from spanforest.ensemble import RandomGraphEnsembleClassifier
from spanforest.kernels import ForestKernel
from spanforest.kernels._sum import is_kernel_list
from spanforest.tuning._candidate_names import entrant_name
from spanforest.tuning._cross_validation import (
    AllHeldOut,
    HeldOut,
    Members,
    ResultTable,
    Search,
)


@dataclass(eq=False)
class Entrant:
    """A kernel of the search and a way of training, with all results.

    Or several kernels that are averaged.
    """

    kernel_params: dict[str, Any]  # one object for all entrants of a kernel
    members: Members
    table: ResultTable
    n_costs: int  # that it is tried with
    at_losses: Sequence[int]  # places of the losses that it is tried with
    read: tuple[RandomGraphEnsembleClassifier, TrainingSet] | None = None
    seconds: float = 0.0  # that its last round took
    held_out: AllHeldOut = field(default_factory=dict)

    @property
    def params(self) -> dict[str, Any]:
        """The parameters that tell it from others."""
        return self.kernel_params | dict(self.members.params)

    @property
    def name(self) -> str:
        """What users see."""
        return entrant_name(self.params)

    @property
    def kernels(self) -> list[Any]:
        """The kernels that members take in turn; mostly one."""
        kernel = self.kernel_params["kernel"]
        return list(kernel) if is_kernel_list(kernel) else [kernel]

    @property
    def kind(self) -> Any:
        """What kernels of different scales or leaves have in common."""
        kernel = self.kernel_params["kernel"]
        kind = kernel
        if isinstance(kernel, ForestKernel):
            kind = "boosted" if kernel.kind == "boosted" else "forest"
        return kind, self.members.training

    @property
    def n_kept(self) -> int:
        """Number of folds whose held-out scores have been kept."""
        return len({place for place, _ in self.held_out})

    def is_ahead_of(self, other: Entrant, n_folds: int) -> bool:
        """Return whether it leads by over twice the standard error of the difference.

        Both are taken by their best candidates, fold by fold. Once the standard error
        is too little: on three folds it often prefers what is not better on new
        examples.
        """
        scores = [one.table.scores_of_best(n_folds) for one in (self, other)]
        ahead = scores[0] - scores[1]
        return bool(ahead.mean() > 2.0 * ahead.std(ddof=1) / np.sqrt(n_folds))

    def forget(self) -> None:
        """Make room: it takes no part any more."""
        self.read, self.held_out = None, {}


def entrants_of(
    kernels: list[dict[str, Any]], members: list[Members], search: Search
) -> list[Entrant]:
    """Return every kernel with every way of training; joint training is named."""
    if any(one.is_joint for one in members):
        members = [one._replace(params={"training": one.training}) for one in members]
    n_folds, n_costs = len(search.folds), search.grid.n_first
    at_losses = range(len(search.grid.losses))
    return [
        Entrant(kernel, each, ResultTable(search.grid, n_folds), n_costs, at_losses)
        for kernel in kernels
        for each in members
    ]


def best_first(entrants: list[Entrant], n_folds: int) -> list[Entrant]:
    """Return entrants by their best candidate; of equal ones the first stays first."""
    return sorted(entrants, key=lambda one: -one.table.best(n_folds))


def kinds_in_turn(entrants: list[Entrant]) -> list[Entrant]:
    """Return the first entrants of all kinds, then the second ones, and so on."""
    seen, place = Counter[Any](), dict[Entrant, int]()
    for one in entrants:
        place[one] = seen[one.kind]
        seen[one.kind] += 1
    return sorted(entrants, key=place.__getitem__)


def survivors(entrants: list[Entrant], n_folds: int) -> list[Entrant]:
    """Return the best of each kind, in the old order; of a single kind the best half.

    A kind is one of kernels, and one of training.

    Averages gain from kernels that differ, even if one of them is worse alone.
    """
    ranked = best_first(entrants, n_folds)
    best_of_kind = {one.kind: one for one in reversed(ranked)}
    if len(best_of_kind) == 1:
        return ranked[: (len(ranked) + 1) // 2]
    return [one for one in entrants if best_of_kind[one.kind] is one]


def average_of(group: Sequence[Entrant], table: ResultTable) -> Entrant:
    """Return an entrant with the members of all kernels in the group."""
    params = {key: value for one in group for key, value in one.kernel_params.items()}
    params["kernel"] = [one.kernel_params["kernel"] for one in group]
    held_out = {
        key: HeldOut(
            [member for one in group for member in one.held_out[key].members], values
        )
        for key, (_, values) in group[0].held_out.items()
    }
    first, n_costs = group[0], min(one.n_costs for one in group)
    shared = first.members, table, n_costs, first.at_losses
    return Entrant(params, *shared, held_out=held_out)
