"""How entrants of the contest are ranked, and which of them go on."""

from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from strategies import trials

from spanforest.kernels import ForestKernel
from spanforest.tuning._cross_validation import Grid, Members, ResultTable
from spanforest.tuning._entrants import (
    Entrant,
    best_first,
    entrants_of,
    kinds_in_turn,
    survivors,
)

GRID = Grid(["edge"], [1.0], 1, [0.0], [])


def entrant(kernel, score=0.0):
    """Return an entrant with a score on a single fold."""
    table = ResultTable(GRID, 1)
    table.scores[...] = score
    return Entrant({"kernel": kernel}, Members("separate", [0], 1), table, 1, [0])


KERNELS = st.sampled_from(["linear", "rbf", "cosine"])
FIELD = st.lists(st.tuples(KERNELS, st.integers(0, 3)), min_size=1, max_size=9)


@given(field=FIELD)
@trials(60)
def test_entrants_are_ranked_by_their_score_and_equal_ones_keep_their_order(field):
    entrants = [entrant(*one) for one in field]
    places = [entrants.index(one) for one in best_first(entrants, 1)]
    assert places == sorted(range(len(field)), key=lambda k: (-field[k][1], k))


@given(field=FIELD)
@trials(60)
def test_kinds_come_in_turn_and_each_in_its_order(field):
    entrants = [entrant(*one) for one in field]
    turned = kinds_in_turn(entrants)
    kinds = {one.kind for one in entrants}
    assert {one.kind for one in turned[: len(kinds)]} == kinds
    for kind in kinds:
        own = [one for one in entrants if one.kind == kind]
        assert [one for one in turned if one.kind == kind] == own


@given(field=FIELD)
@trials(60)
def test_the_best_of_each_kind_survives_and_of_one_kind_the_better_half(field):
    entrants = [entrant(*one) for one in field]
    left, kinds = survivors(entrants, 1), {one.kind for one in entrants}
    if len(kinds) == 1:
        assert left == best_first(entrants, 1)[: (len(entrants) + 1) // 2]
        return
    assert left == [one for one in entrants if one in left]
    assert sorted(str(one.kind) for one in left) == sorted(map(str, kinds))
    for one in left:
        rivals = [other for other in entrants if other.kind == one.kind]
        assert one is best_first(rivals, 1)[0]


def test_boosted_trees_are_a_kind_of_their_own_and_scales_are_not():
    boosted, forest, other = (
        entrant(ForestKernel(kind=kind, min_samples_leaf=leaf)).kind
        for kind, leaf in (("boosted", 5), ("extra", 5), ("random", 1))
    )
    assert boosted != forest == other


def test_every_kernel_takes_part_in_every_way_of_training():
    search = SimpleNamespace(folds=[0, 1], grid=GRID)
    ways = [Members(name, [0], 1) for name in ("separate", "joint")]
    both = entrants_of([{"kernel": "linear"}, {"kernel": "rbf"}], ways, search)
    assert [one.params for one in both] == [
        {"kernel": kernel, "training": training}
        for kernel in ("linear", "rbf")
        for training in ("separate", "joint")
    ]
    (alone,) = entrants_of([{"kernel": "rbf"}], ways[:1], search)
    assert alone.params == {"kernel": "rbf"}
    assert np.isnan(alone.table.scores).all()
