"""Which kernels are tried on which folds, and what a time limit leaves out."""

import re
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from searches import automatic
from small_data import NOISY_Y as Y
from small_data import X, X_new

from spanforest import RandomGraphEnsembleClassifier, _compilation
from spanforest.aggregation import combine
from spanforest.kernels import ForestKernel
from spanforest.tuning import _candidates, _contest
from spanforest.tuning._contest import (
    Contest,
    Deadline,
    Rules,
    compete,
)
from spanforest.tuning._cross_validation import Grid, Members, ResultTable, Search
from spanforest.tuning._entrants import Entrant
from spanforest.tuning._examples import search_rows


class FakeScores(NamedTuple):
    """What a search holds of a kernel."""

    kernel: int
    n_costs: int
    n_bytes: int = 0


class FakeSearch:
    """A search that takes the scores of kernels from a table, and counts what it does.

    The kernels of its entrants are their numbers.
    """

    grid = Grid(["edge"], [1.0], 1, [0.0], [])
    n_samples, calibrates = 3, False
    folds = ((range(2), range(1)),) * 3

    def __init__(self, scores, clock=None, seconds=1.0):
        self.scores = scores  # a row per kernel, a column per fold
        self.tried, self.names = [], []
        self.clock, self.seconds = clock, seconds
        self.fit_seconds = [0.0] * len(scores)
        self.workers, self.n_jobs = self, 1

    def train(self, data, members, name, places, n_costs, at_losses):
        kernel = int(name.split()[1].rstrip(","))
        if members.params:
            kernel += len(self.scores) // 2  # its scores if it is trained jointly
        self.names.append(name)
        self.tried += [(kernel, place) for place in places]
        if self.clock is not None:
            self.clock[0] += self.seconds * len(places)
        return {(place, 0): FakeScores(kernel, n_costs) for place in places}

    def score(self, held_out, table, members):
        for (place, _), (kernel, n_costs, _) in held_out.items():
            table.scores[:n_costs, 0, 0, place] = self.scores[kernel][place]
            table.fit_seconds[:n_costs, 0, 0, place] = self.fit_seconds[kernel]


ALONE = Members("separate", [0], 1)


def held(
    search, is_open=True, limit=None, kinds="aaaaa", n_folds=3, members=ALONE, **joint
):
    """Hold a contest of kernels whose names are a kind and their number."""
    of_each = members if isinstance(members, list) else [members] * len(kinds)
    entrants = [
        OfKind(
            {"kernel": f"{kind} {k}"},
            own,
            ResultTable(search.grid, 3),
            search.grid.n_first,
            range(1),
        )
        for k, (kind, own, _) in enumerate(
            zip(kinds, of_each, search.scores, strict=False)
        )
    ]
    start = _compilation.clock() if search.clock is not None else np.inf
    outcome = compete(
        search,
        entrants,
        Rules.of(n_folds, is_open=is_open, averages=False),
        lambda params: (params, None),
        Deadline(start, limit),
        **joint,
    )
    return outcome, entrants


class OfKind(Entrant):
    """An entrant whose kind is the first word of its kernel."""

    @property
    def kind(self):
        return self.params["kernel"].split()[0]


SCORES = [[5, 0, 0], [4, 4, 4], [3, 9, 9], [2, 5, 0], [1, 1, 1]]


def test_of_a_single_kind_the_better_half_goes_on_after_every_fold():
    search = FakeSearch(SCORES)
    outcome, entrants = held(search)
    first, second = [(k, 0) for k in range(5)], [(k, 1) for k in range(3)]
    assert search.tried == [*first, *second, (2, 2), (1, 2)]
    assert outcome.leader is entrants[2]
    assert outcome.n_folds == 3


def test_of_several_kinds_the_best_of_each_goes_on():
    search = FakeSearch(SCORES)
    outcome, entrants = held(search, kinds="babab")
    first = [(k, 0) for k in range(5)]
    assert search.tried == [*first, (0, 1), (1, 1), (0, 2), (1, 2)]
    assert outcome.leader is entrants[1]


def test_progress_names_the_kernel_and_the_fold():
    search = FakeSearch(SCORES)
    held(search)
    assert search.names[0] == "a 0, fold 1 of 3"
    assert search.names[-1] == "a 1, fold 3 of 3"


def test_named_kernels_are_tried_on_all_folds():
    search = FakeSearch(SCORES)
    outcome, entrants = held(search, is_open=False)
    assert search.names[0] == "a 0"
    assert search.tried == [(k, f) for k in range(5) for f in range(3)]
    assert outcome.leader is entrants[2]


def test_only_the_winner_keeps_what_it_has_read():
    for is_open in (False, True):
        outcome, entrants = held(FakeSearch(SCORES), is_open=is_open)
        kept = [one for one in entrants if one.read is not None]
        assert len(kept) == 1
        assert kept[0] is outcome.leader


def test_of_equal_kernels_the_first_one_wins():
    outcome, entrants = held(FakeSearch([[1, 1, 1]] * 4))
    assert outcome.leader is entrants[0]


class SearchAlongC(FakeSearch):
    """A search with two values of C to begin with, and two larger ones."""

    grid = Grid(["edge"], [1.0, 2.0, 4.0, 8.0], 2, [0.0], [])

    def score(self, held_out, table, members):
        super().score(held_out, table, members)
        for (place, _), (kernel, n_costs, _) in held_out.items():
            best = self.best_places[kernel]
            gain = np.arange(n_costs) == min(best, n_costs - 1)
            table.scores[:n_costs, 0, 0, place] += 0.1 * gain


def test_a_kernel_that_is_best_with_the_largest_c_is_tried_with_larger_ones():
    search = SearchAlongC([[1, 1, 1], [2, 2, 2], [3, 3, 3]])
    search.best_places = [3, 0, 2]
    outcome, entrants = held(search, kinds="abc")
    # after the first fold both kernels at the edge are trained again on that fold
    again = [(0, 0), (2, 0)]
    later = [(k, fold) for fold in (1, 2) for k in range(3)]
    assert search.tried == [(0, 0), (1, 0), (2, 0), *again, *later]
    assert [one.n_costs for one in entrants] == [4, 2, 4]
    assert outcome.leader is entrants[2]
    assert outcome.leader.table.place_of_best(3)[0] == 2


def test_larger_values_of_c_are_tried_in_time_only(clock):
    search = SearchAlongC([[1, 1, 1]], clock)
    search.best_places = [3]
    outcome, (entrant,) = held(search, limit=2.5)
    assert entrant.n_costs == 2
    assert clock[0] == 2
    assert outcome.n_folds == 2
    assert outcome.untried == ["larger values of C"]


@pytest.fixture
def clock(monkeypatch):
    """Return a clock in a list, which the contest reads."""
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    return now


def test_compiling_does_not_count_against_the_limit(clock):
    deadline = Deadline(_compilation.clock(), limit=5)
    with _compilation.clock_stopped():
        clock[0] += 100
    assert deadline.allows(5)
    clock[0] += 1
    assert not deadline.allows(5)


@pytest.mark.parametrize("limit", range(1, 15))
def test_a_time_limit_is_kept(clock, limit):
    outcome, entrants = held(FakeSearch(SCORES, clock), limit=limit)
    assert clock[0] <= limit
    names = [one.name for one in entrants]
    # the next kernel might take one and a half times as long as the others
    assert outcome.untried == names[max(limit - 1, 1) :]
    assert outcome.leader.table.best(outcome.n_folds) > -np.inf


def test_a_round_that_cannot_be_finished_is_not_begun(clock):
    search = FakeSearch(SCORES, clock)
    outcome, _ = held(search, limit=7)  # the second round would end after 8
    assert len(search.tried) == 5
    assert outcome.n_folds == 1


@pytest.mark.parametrize(("limit", "chosen"), [(30, 2), (18.5, 2), (14.5, 1)])
def test_a_kernel_that_takes_too_long_to_train_is_not_chosen(clock, limit, chosen):
    search = FakeSearch([[1], [2], [3]], clock, seconds=0.1)
    search.folds = search.folds[:1]
    search.fit_seconds = [3.0, 4.0, 10.0]  # times 1.5 ** 2 on all examples
    outcome, entrants = held(search, limit=limit, n_folds=1)
    assert outcome.leader is entrants[chosen]
    assert outcome.untried == []
    too_slow = ["better, but too slow to train in the time limit: a 2"]
    assert outcome.notes == ([] if chosen == 2 else too_slow)


def test_with_a_time_limit_every_kind_is_tried_before_more_of_one(clock):
    search = FakeSearch(SCORES, clock)
    outcome, entrants = held(search, kinds="aabba", limit=3)
    assert search.tried == [(0, 0), (2, 0)]
    assert outcome.untried == [entrants[k].name for k in (1, 3, 4)]
    search = FakeSearch(SCORES, clock)
    held(search, kinds="aabba")
    assert search.tried[:5] == [(k, 0) for k in range(5)]


def test_a_kernel_that_is_too_slow_keeps_no_other_from_being_tried(clock):
    search = FakeSearch([[1], [9], [5]], clock, seconds=0.1)
    search.folds = search.folds[:1]
    search.fit_seconds = [1.0, 100.0, 2.0]
    outcome, entrants = held(search, limit=9, n_folds=1)
    assert outcome.untried == []
    assert outcome.leader is entrants[2]


def test_training_with_larger_values_of_c_is_expected_to_take_longer(clock):
    for limit, n_costs in ((9, 2), (30, 4)):
        search = SearchAlongC([[1, 1, 1]], clock, seconds=0.1)
        search.best_places, search.fit_seconds = [3], [1.0]  # 2.25 s on all examples
        _, (entrant,) = held(search, limit=limit)
        assert entrant.n_costs == n_costs  # C is four times as large


def test_one_kernel_is_tried_whatever_the_limit(clock):
    for is_open in (False, True):
        search = FakeSearch(SCORES, clock, seconds=100.0)
        outcome, entrants = held(search, is_open=is_open, limit=1e-3)
        assert outcome.leader is entrants[0]
        assert len(outcome.untried) == 4
        clock[0] = 0.0


JOINT = Members("joint", [0], 1, 9.0, {"training": "joint", "n_estimators": 5})


@pytest.mark.parametrize(
    ("scores", "is_chosen"),
    [
        ([6, 7, 8], True),  # ahead on every fold
        ([7, 5, 8], False),  # ahead by 1.67, with a standard error of 0.88
        ([7, 6, 9], True),  # ahead by 2.33, with a standard error of 0.67
        ([1, 1, 1], False),
    ],
)
def test_joint_training_is_chosen_if_it_is_clearly_better(scores, is_chosen):
    # the best kernel is number 1; it has the last scores if it is trained jointly
    search = FakeSearch([[1, 1, 1], [4, 5, 6], [0, 0, 0], scores])
    outcome, entrants = held(search, kinds="ab", is_open=False, joint=JOINT)
    (joint,) = outcome.jointly
    assert search.names[-1] == "b 1, trained jointly on 5 graphs"
    assert outcome.leader is (joint if is_chosen else entrants[1])
    assert joint.read == ((entrants[1].kernel_params, None) if is_chosen else None)
    assert joint.params == {**entrants[1].kernel_params, **JOINT.params}


def test_joint_training_is_not_tried_on_two_folds_or_without_time(clock):
    scores = [[1, 1, 1], [4, 5, 6], [0, 0, 0], [9, 9, 9]]
    outcome, _ = held(FakeSearch(scores), kinds="ab", n_folds=2, joint=JOINT)
    assert outcome.jointly == []
    search = FakeSearch(scores, clock)
    outcome, _ = held(search, kinds="ab", limit=20, is_open=False, joint=JOINT)
    assert outcome.jointly == []
    assert outcome.untried == ["joint training"]


def test_joint_training_is_expected_to_take_longer(clock):
    search = FakeSearch([[1], [2]], clock, seconds=1.0)
    dense = Members("joint", [0], 1, slowness=9.0)
    outcome, entrants = held(search, limit=10, n_folds=1, members=[ALONE, dense])
    assert outcome.leader is entrants[0]
    assert len(outcome.untried) == 1
    outcome, entrants = held(search, limit=2000, n_folds=1, members=[ALONE, dense])
    assert outcome.leader is entrants[1]


def test_joint_training_whose_time_is_known_is_not_expected_to_take_longer(clock):
    search = FakeSearch([[1], [2], [3], [4]], clock, seconds=1.0)
    dense = Members("joint", [0], 1, slowness=9.0)
    train = search.train

    def slower(data, members, *others):
        clock[0] += 8.0 * (members is dense)
        return train(data, members, *others)

    search.train = slower
    members = [ALONE, dense, ALONE, dense]
    outcome, _ = held(search, limit=100, n_folds=1, members=members)
    assert outcome.untried == []


@pytest.mark.parametrize(
    ("members", "calibrates", "chosen"),
    [
        (ALONE, False, 2),
        (Members("separate", [0, 0], 8), False, 0),  # four times as many models
        (Members("joint", [0], 1), False, 2),  # one model, whatever its graphs
        (ALONE, True, 0),  # which takes four times as long
    ],
)
def test_the_final_ensemble_is_expected_to_have_all_its_models(
    clock, members, calibrates, chosen
):
    search = FakeSearch([[1], [2], [3]], clock, seconds=0.1)
    search.folds, search.calibrates = search.folds[:1], calibrates
    search.fit_seconds = [3.0, 4.0, 10.0]  # times 1.5 ** 2 on all examples
    outcome, entrants = held(search, limit=30, n_folds=1, members=members)
    assert outcome.leader is entrants[chosen]


def test_what_has_lost_is_forgotten_if_time_ends_the_contest(clock):
    outcome, entrants = held(FakeSearch(SCORES, clock), kinds="babab", limit=6)
    assert outcome.n_folds == 1
    assert [one for one in entrants if one.read is not None] == [outcome.leader]


# --- in the estimator ----------------------------------------------------------------


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    monkeypatch.setattr(_candidates, "SEARCH_TREES", 5)


@pytest.mark.needs_compiled
def test_kernels_that_did_not_go_on_are_listed_without_a_mean():
    fitted = automatic(offsets=0).fit(X, Y)
    results = pd.DataFrame(fitted.cv_results_)
    n_averages = 3  # two of the best three of four kinds: there are only two members
    assert len(results) == (11 + n_averages) * 2
    tried = [results[f"split{f}_test_score"].notna().sum() for f in range(3)]
    assert tried == [28, 14, 14]
    done = results["mean_test_score"].notna()
    assert done.sum() == 14
    assert results.loc[done, "rank_test_score"].max() <= 14
    assert (results.loc[~done, "rank_test_score"] == 15).all()
    assert done[fitted.best_index_]
    assert fitted.best_score_ == results["mean_test_score"].max()


@pytest.mark.needs_compiled
def test_an_average_has_the_members_of_all_its_kernels(monkeypatch):
    seen, score = {}, Search.score

    def watched(search, held_out, table, members):
        score(search, held_out, table, members)
        seen[id(table)] = search, dict(held_out), table

    monkeypatch.setattr(Search, "score", watched)
    fitted = automatic(n_estimators=3).fit(X, Y)
    search = next(iter(seen.values()))[0]
    of_size = {}
    for _, held_out, table in seen.values():
        size = len(next(iter(held_out.values())).members)
        of_size.setdefault(size, []).append((held_out, table))
    assert {size: len(group) for size, group in of_size.items()} == {2: 11, 4: 3, 6: 1}
    (everything, table), *_ = of_size[6]
    for (f, k), held in everything.items():
        for c in range(2):
            codes = combine(
                "mam",
                [member.factors for member in held.members],
                [member.scores[c] for member in held.members],
            )
            expected = search.judge.score(search.folds[f][1], codes)
            assert table.scores[c, k, 0, f] == expected
    kernels = [k for k in fitted.cv_results_["param_kernel"] if isinstance(k, list)]
    assert {len(kernel) for kernel in kernels} == {2, 3}


@pytest.mark.needs_compiled
def test_an_average_that_wins_is_an_ensemble_whose_members_take_turns(monkeypatch):
    score = Search.score

    def in_favour_of_averages(search, held_out, table, members):
        score(search, held_out, table, members)
        table.scores += max(len(held.members) for held in held_out.values())

    monkeypatch.setattr(Search, "score", in_favour_of_averages)
    fitted = automatic(n_estimators=3).fit(X, Y)
    assert len(fitted.kernel_) == 3
    again = RandomGraphEnsembleClassifier(3, max_iter=1000, random_state=0)
    again.set_params(tol=fitted.tol, graph="random_tree", **fitted.best_params_)
    again.fit(X, Y)
    assert_array_equal(again.predict(X_new), fitted.predict(X_new))


@pytest.mark.needs_compiled
def test_averages_that_a_time_limit_left_out_are_named(monkeypatch):
    allows = Deadline.allows
    average = Contest.average

    def too_late(contest, entrants, n_folds):
        monkeypatch.setattr(Deadline, "allows", lambda *arguments: False)
        try:
            return average(contest, entrants, n_folds)
        finally:
            monkeypatch.setattr(Deadline, "allows", allows)

    monkeypatch.setattr(Contest, "average", too_late)
    fitted = automatic(n_estimators=3).fit(X, Y)
    assert "the time limit left out averages of kernels" in fitted.chosen_


@pytest.mark.needs_compiled
def test_with_a_single_fold_too_only_the_best_kernel_of_each_kind_is_averaged():
    folds = [(np.arange(40), np.arange(40, 60))]
    fitted = automatic(n_estimators=12, cv=folds).fit(X, Y)
    assert "with 11 kernels and 4 averages of them" in fitted.chosen_
    kernels = fitted.cv_results_["param_kernel"]
    for average in (kernel for kernel in kernels if isinstance(kernel, list)):
        kinds = [getattr(kernel, "kind", kernel) for kernel in average]
        assert len(set(kinds)) == len(kinds)


def test_scores_that_take_too_much_memory_are_not_averaged(monkeypatch):
    monkeypatch.setattr(_contest, "MOST_HELD", 1)
    fitted = automatic(n_estimators=3).fit(X, Y)
    assert "averages of them" not in fitted.chosen_
    assert "no averages of kernels were tried: held-out scores" in fitted.chosen_


@pytest.mark.needs_compiled
def test_threads_change_nothing_about_the_choice():
    one, two = (automatic(offsets="auto", n_jobs=n).fit(X, Y) for n in (1, 2))
    assert one.chosen_ == two.chosen_
    for name, values in one.cv_results_.items():
        if "time" not in name:
            assert_array_equal(two.cv_results_[name], values)


@pytest.mark.needs_compiled
def test_a_line_says_what_was_chosen_among_what(capsys):
    fitted = automatic(verbose=1, offsets="auto").fit(X, Y)
    n_tried = np.isfinite(fitted.cv_results_["split0_test_score"]).sum()
    for part in (
        f"C {fitted.C_:g}, loss edge, offset {fitted.offset_:g}",
        f"score {fitted.best_score_:.3f} on 3 folds",
        f"best of {n_tried} candidates with 11 kernels and 3 averages of them",
    ):
        assert part in fitted.chosen_
    assert f"chosen: {fitted.chosen_}" in capsys.readouterr().err
    by_name = automatic(scoring="f1_macro").fit(X, Y)
    assert f"f1_macro {by_name.best_score_:.3f} on 3 folds" in by_name.chosen_


def test_examples_with_gaps_have_forests_to_choose_from():
    gaps = X.copy()
    gaps[::7, 1] = np.nan
    fitted = automatic(offsets=0).fit(gaps, Y)
    kernels = fitted.kernel_ if isinstance(fitted.kernel_, list) else [fitted.kernel_]
    assert all(isinstance(kernel, ForestKernel) for kernel in kernels)
    assert "only forests were tried" in fitted.chosen_
    assert fitted.predict(np.full((2, 4), np.nan)).shape == (2, 4)
    with pytest.raises(ValueError, match="needs a number for every feature"):
        automatic(kernels=["linear", "forest"]).fit(gaps, Y)


@pytest.mark.needs_compiled
def test_categories_are_read_by_every_kernel():
    kinds = pd.Categorical.from_codes((X[:, 0] > 0).astype(int), ["low", "high"])
    frame = pd.DataFrame({"kind": kinds, "size": X[:, 1]})
    fitted = automatic(offsets=0).fit(frame, Y)
    singles = [k for k in fitted.cv_results_["param_kernel"] if not isinstance(k, list)]
    assert len({str(k) for k in singles}) == 9
    assert fitted.predict(frame).shape == Y.shape
    plain = RandomGraphEnsembleClassifier(2, kernel="linear", random_state=0)
    spelled = np.column_stack([kinds.codes == 0, kinds.codes == 1, X[:, 1]])
    assert_array_equal(
        plain.fit(frame, Y).predict(frame), plain.fit(spelled, Y).predict(spelled)
    )


def test_the_winner_alone_grows_a_forest_on_all_examples(monkeypatch):
    grown, grow = [], ForestKernel.grow

    def counted(kernel, examples, *rest):
        grown.append((kernel.n_estimators, len(examples)))
        return grow(kernel, examples, *rest)

    monkeypatch.setattr(ForestKernel, "grow", counted)
    fitted = automatic(kernels=[ForestKernel(9, 1), ForestKernel(9, 5)]).fit(X, Y)
    assert grown == [(5, 40)] * 6 + [(9, 60)]
    assert fitted.kernel_.n_estimators == 9


def test_many_examples_are_searched_in_part(monkeypatch):
    monkeypatch.setattr("spanforest.tuning._examples.MOST_COMPARED", 30)
    options = {"kernels": "rbf", "offsets": 0, "random_state": 1}
    fitted = automatic(**options).fit(X, Y, sample_weight=np.ones(60))
    assert "the search saw 30 of 60 examples" in fitted.chosen_
    assert fitted.X_fit_.shape == (60, 4)
    rows = search_rows(Y, ["rbf"], 1)
    few = automatic(**options).fit(X[rows], Y[rows])
    assert few.best_score_ == fitted.best_score_
    plain = RandomGraphEnsembleClassifier(2, max_iter=1000, random_state=1)
    plain.set_params(tol=fitted.tol, **fitted.best_params_).fit(X, Y)
    assert_array_equal(plain.predict(X_new), fitted.predict(X_new))
    frame = pd.DataFrame(X), pd.DataFrame(Y)
    assert automatic(**options).fit(*frame).best_score_ == fitted.best_score_
    with pytest.raises(ValueError, match="one row per example each; got 60 rows in X"):
        automatic(**options).fit(X, Y[:50])


def test_a_tiny_time_limit_still_gives_a_model():
    fitted = automatic(time_limit=1e-9, losses=["edge", "hamming"]).fit(X, Y)
    assert fitted.kernel_ == "linear"
    assert re.search("left out rbf, gamma [0-9.]+ / Forest", fitted.chosen_)
    assert "on 1 fold, best of 4 candidates with 1 kernel" in fitted.chosen_
    assert fitted.chosen_.endswith("2 folds")
    assert np.isfinite(fitted.best_score_)
    with pytest.raises(ValueError, match="time_limit must be a number greater than 0"):
        automatic(time_limit=0).fit(X, Y)
