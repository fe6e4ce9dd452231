"""Joint training: one model on the union of the graphs of all members."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from spanforest._training import Draw, TrainingSet
from spanforest._wording import quoted
from spanforest.factors import FactorGraph
from spanforest.graphs import LabelGraph, consensus_graph
from spanforest.kernels._sum import is_kernel_list

__all__ = ["TRAININGS", "UnitedDraw", "check_aggregation", "check_joint"]

TRAININGS = ("separate", "joint")


class UnitedDraw(NamedTuple):
    """The draws of all members: their graphs are united, and one model is trained."""

    draws: list[Draw]

    def graphs(self, data: TrainingSet) -> list[LabelGraph]:
        """Return the graphs that the members would have."""
        return [draw.make_factors(data)[0].graph for draw in self.draws]

    def make_factors(
        self, data: TrainingSet
    ) -> tuple[FactorGraph, np.random.Generator]:
        """Draw all graphs; return the factors of their union, and a generator."""
        drawn = [draw.make_factors(data) for draw in self.draws]
        union = consensus_graph([factors.graph for factors, _ in drawn])
        return data.factors(union), drawn[0][1]


def check_aggregation(aggregation: str) -> None:
    """Refuse to combine members where there is one model for all graphs.

    Examples
    --------
    >>> check_aggregation("mam")
    """
    if aggregation != "mam":
        raise ValueError(
            f"aggregation={quoted(aggregation)} needs members that were trained apart; "
            'with training="joint" there is one model for all graphs. Set '
            'aggregation="mam", or fit with training="separate".'
        )


def check_joint(ensemble: Any) -> None:
    """Refuse parameters that need members which are trained apart."""
    check_aggregation(ensemble.aggregation)
    if is_kernel_list(ensemble.kernel):
        raise ValueError(
            'a list of kernels has one per member, and with training="joint" there is '
            "one model for all graphs. Pass a spanforest.kernels.SumKernel, or set "
            'training="separate".'
        )
    if ensemble.warm_start:
        raise ValueError(
            'warm_start=True adds members, and with training="joint" there is one '
            'model for all graphs. Set warm_start=False, or training="separate".'
        )
