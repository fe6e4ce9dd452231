"""The run: nothing is repeated, failures are rows, and choices see no test data."""

import json
from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from paper_helpers import make_dataset, no_waiting, outcomes, rows_at

from spanforest.datasets import Dataset
from spanforest.metrics import MEASURES
from spanforest.paper import (
    Experiment,
    _protocols,
    _run,
    identity,
    performance_table,
    run,
    study_table,
)
from spanforest.paper._experiment import ChoiceTask, FoldTask
from spanforest.paper._fold_inputs import FoldInputs
from spanforest.paper._methods import LEARNERS, run_learner
from spanforest.paper._protocols import CHOICE_EFFORT, PROTOCOLS, STUDY, TUNED


@pytest.fixture(autouse=True)
def quick():
    with no_waiting():
        yield


DATASETS = {
    "small": make_dataset("dense", n_samples=36, n_labels=4, seed=1),
    "words": make_dataset("text", n_samples=33, n_labels=3, seed=2),
}


@pytest.fixture
def small_run(monkeypatch):
    """Run with the data sets of this file, two candidates and two inner folds."""

    def load(name, data_home=None):
        if name not in DATASETS:
            raise FileNotFoundError(f"no {name}")
        return DATASETS[name]

    monkeypatch.setattr(_run, "load_dataset", load)
    monkeypatch.setattr(_run, "CHOICE_FOLDS", 2)
    for name, protocol in list(PROTOCOLS.items()):
        families = {
            key: family._replace(candidates=family.candidates[1:3] or ({},))
            for key, family in protocol.families.items()
        }
        monkeypatch.setitem(PROTOCOLS, name, protocol._replace(families=families))
    _run._load.cache_clear()
    _run._warm_up()
    yield
    _run._load.cache_clear()


@pytest.fixture
def fits(monkeypatch, small_run):
    """Log what is fitted from now on; its `fail` may be replaced."""
    log = Log()
    for name, make in list(LEARNERS.items()):
        monkeypatch.setitem(LEARNERS, name, log.wrap(name, make))
    return log


class Log(list):
    """Fits (learner, is it for a choice); `fail` may raise in one of them."""

    def fail(self, name, is_choice):
        pass

    def wrap(self, name, make):
        def logged(fold, params, effort, seed):
            is_choice = effort is CHOICE_EFFORT
            self.append((name, is_choice))
            self.fail(name, is_choice)
            return make(fold, params, effort, seed)

        return logged

    def take(self):
        """Return the number of fits since the last call, without those of choices."""
        counts = Counter(name for name, is_choice in self if not is_choice)
        self.clear()
        return dict(counts)


def experiment_of(*methods, **changes):
    options = {"datasets": ("small",), "n_trees": 3, "quick": True, **changes}
    return Experiment(methods=methods or None, **options)


@pytest.mark.needs_compiled
def test_every_piece_of_work_gives_a_row(tmp_path, small_run):
    experiment = experiment_of("svm", "mve", "mam", datasets=("small", "words"))

    results = run(experiment, rows_at(tmp_path))

    assert len(results) == experiment.n_rows == 12
    for row in results:
        assert row["error"] is None
        assert set(row["scores"]) == set(MEASURES)
        assert row["params"]["C"] in (0.1, 0.5)
        assert row["n_trees"] == (None if row["method"] == "svm" else 3)
        assert row["data"]["n_samples"] == DATASETS[row["dataset"]].n_samples
        assert row["seconds"]["fit"] > 0
        assert row["seconds"]["predict"] > 0
        assert (row["label_graph"] is not None) == (row["method"] == "mam")
        assert set(row["versions"]) >= {"spanforest", "numpy", "python"}
    in_file = rows_at(tmp_path).read()
    choices = [row for row in in_file if row["kind"] == "choice"]
    assert sorted((row["dataset"], row["family"]) for row in choices) == [
        (dataset, family) for dataset in DATASETS for family in ("mmcrf", "svm")
    ]
    for choice in choices:
        scores = [candidate["score"] for candidate in choice["candidates"]]
        chosen = next(
            candidate["params"]
            for candidate in choice["candidates"]
            if candidate["score"] == max(scores)
        )
        assert choice["params"] == chosen
        used = {
            json.dumps(row["params"])
            for row in results
            if row["dataset"] == choice["dataset"]
            and (row["method"] == "svm") == (choice["family"] == "svm")
        }
        assert used == {json.dumps(chosen)}


def test_scores_are_those_of_a_fit_by_hand(tmp_path, small_run):
    experiment = experiment_of("svm")
    results = run(experiment, rows_at(tmp_path))
    dataset = DATASETS["small"]
    splits = _run._split(dataset, experiment)

    for row, (train, test) in zip(results, splits, strict=True):
        fold = FoldInputs(dataset, train, test)
        result = run_learner("svm", fold, row["params"], experiment.effort, 0)["svm"]
        assert row["scores"] == result.scores
        assert row["n_positive"] == result.n_positive
    assert_array_equal(np.sort(np.concatenate([s[1] for s in splits])), np.arange(36))


def test_resuming_repeats_nothing(tmp_path, fits):
    experiment = experiment_of("svm", "mmcrf", "mam", "mve")
    first = run(experiment, rows_at(tmp_path))
    assert fits.take() == {"svm": 2, "mmcrf": 2, "ensemble": 2}
    before = rows_at(tmp_path).path.read_bytes()

    second = run(experiment, rows_at(tmp_path))

    assert fits == []
    assert second == first
    assert rows_at(tmp_path).path.read_bytes() == before


@pytest.mark.needs_compiled
@pytest.mark.parametrize(
    ("stop_at", "n_choices", "n_done"), [(1, 0, 0), (8, 1, 0), (15, 3, 2), (18, 3, 5)]
)
def test_a_stopped_run_goes_on_where_it_stopped(
    tmp_path, fits, stop_at, n_choices, n_done
):
    experiment = experiment_of("svm", "mtl", "mam")
    undisturbed = run(experiment, rows_at(tmp_path, "whole.jsonl"))
    n_fits, fits_each = len(fits), fits.take()
    assert n_fits == 3 * 2 * 2 + 3 * 2  # choices on two folds, then the fits

    def stop(name, is_choice):
        if len(fits) == stop_at:
            raise KeyboardInterrupt

    fits.fail = stop
    with pytest.raises(KeyboardInterrupt):
        run(experiment, rows_at(tmp_path))
    fits.fail = lambda *_: None
    done = rows_at(tmp_path).read()
    fits.take()

    results = run(experiment, rows_at(tmp_path))

    assert Counter(row["kind"] for row in done) == Counter(
        {"choice": n_choices, "fold": n_done}
    )
    assert sum(fits.take().values()) == sum(fits_each.values()) - n_done
    assert outcomes(results) == outcomes(undisturbed)
    assert outcomes(rows_at(tmp_path).read()) == outcomes(
        rows_at(tmp_path, "whole.jsonl").read()
    )
    lines = rows_at(tmp_path).path.read_text().splitlines()
    assert [json.loads(line) for line in lines[: len(done)]] == done


@pytest.mark.needs_compiled
def test_the_order_of_work_changes_no_result(tmp_path, small_run, monkeypatch):
    class Backwards:
        def __init__(self, **_):
            pass

        def __call__(self, calls):
            for function, args, options in reversed(list(calls)):
                yield function(*args, **options)

    experiment = experiment_of("svm", "mtl", "mve", datasets=("small", "words"))
    results = run(experiment, rows_at(tmp_path))
    monkeypatch.setattr(_run, "Parallel", Backwards)

    backwards = run(experiment, rows_at(tmp_path, "backwards.jsonl"))

    assert outcomes(backwards) == outcomes(results)
    assert [identity(row) for row in backwards] == [identity(row) for row in results]


def test_another_method_is_all_that_is_run_for_it(tmp_path, fits):
    run(experiment_of("svm"), rows_at(tmp_path))
    fits.take()

    results = run(experiment_of("svm", "bagging", "adaboost"), rows_at(tmp_path))

    assert not any(is_choice for _, is_choice in fits)  # bagging shares, boosting lacks
    assert fits.take() == {"bagging": 2, "adaboost": 2}
    assert [row["method"] for row in results[:3]] == ["svm", "bagging", "adaboost"]


@pytest.mark.needs_compiled
def test_another_aggregation_adds_its_rows_alone(tmp_path, small_run):
    both = run(experiment_of("mve", "mam"), rows_at(tmp_path, "both.jsonl"))
    run(experiment_of("mve"), rows_at(tmp_path))
    before = rows_at(tmp_path).path.read_bytes()

    results = run(experiment_of("mve", "mam"), rows_at(tmp_path))

    after = rows_at(tmp_path).path.read_bytes()
    assert after.startswith(before)
    added = [json.loads(line) for line in after[len(before) :].splitlines()]
    assert [(row["kind"], row["method"]) for row in added] == [("fold", "mam")] * 2
    assert outcomes(results) == outcomes(both)


@pytest.mark.needs_compiled
def test_another_number_of_trees_repeats_the_ensembles_alone(tmp_path, fits):
    methods = ("svm", "mmcrf", "amm", "mam")
    five = run(experiment_of(*methods, n_trees=5), rows_at(tmp_path))
    fits.take()

    ten = run(experiment_of(*methods, n_trees=10), rows_at(tmp_path))

    assert fits.take() == {"ensemble": 2}
    assert len(ten) == len(five) == 8
    again = run(experiment_of(*methods, n_trees=5), rows_at(tmp_path))
    assert (fits, again) == ([], five)
    for short, long in zip(five, ten, strict=True):
        assert short["method"] == long["method"]
        if short["method"] in ("svm", "mmcrf"):
            assert short == long
            assert short["curve"] is short["members"] is None
            continue
        for measure in MEASURES:
            for kind in ("curve", "members"):
                assert len(long[kind][measure]) == 10
                assert long[kind][measure][:5] == short[kind][measure]
            for row in (short, long):
                end = row["curve"][measure][-1]
                assert_allclose(end, row["scores"][measure], atol=1e-6)


@pytest.mark.parametrize(
    "change",
    [{"seed": 1}, {"n_folds": 3}, {"quick": False, "n_folds": 2}],
    ids=lambda change: next(iter(change)),
)
def test_other_settings_are_other_work(tmp_path, fits, change):
    first = run(experiment_of("mtl"), rows_at(tmp_path))
    fits.clear()

    other = run(experiment_of("mtl", **change), rows_at(tmp_path))

    assert fits.take() == {"mtl": len(other)}
    assert not {identity(row) for row in first} & {identity(row) for row in other}


def test_quick_and_full_runs_share_the_choice_of_parameters(tmp_path, fits):
    run(experiment_of("mtl"), rows_at(tmp_path))
    fits.clear()
    run(experiment_of("mtl", quick=False), rows_at(tmp_path))
    assert fits == [("mtl", False)] * 5


@pytest.mark.needs_compiled
def test_a_failure_is_a_row_and_the_others_go_on(tmp_path, fits):
    def fail(name, is_choice):
        if name == "ensemble" and not is_choice:
            raise ArithmeticError("lost\nits way")

    fits.fail = fail
    experiment = experiment_of("svm", "mve", "mam")
    results = run(experiment, rows_at(tmp_path))

    assert len(results) == 6
    for row in results:
        good = row["method"] == "svm"
        assert row["error"] == (None if good else "ArithmeticError: lost\nits way")
        for name in ("scores", "n_positive", "seconds"):
            assert (row[name] is not None) == good
        assert row["params"] is not None
        assert row["data"]["n_labels"] == 4
    fits.take()

    fits.fail = lambda *_: None
    assert run(experiment, rows_at(tmp_path)) == results
    assert fits == []

    repaired = run(experiment, rows_at(tmp_path), retry=True)
    assert fits.take() == {"ensemble": 2}
    assert outcomes(repaired) == outcomes(run(experiment, rows_at(tmp_path, "other")))
    assert outcomes(run(experiment, rows_at(tmp_path))) == outcomes(repaired)


def test_a_failed_choice_fails_what_depends_on_it(tmp_path, fits):
    def fail(name, is_choice):
        if name == "svm" and is_choice:
            raise ValueError("no such luck")

    fits.fail = fail
    experiment = experiment_of("svm", "bagging", "mtl")
    results = run(experiment, rows_at(tmp_path))

    for row in results:
        wanted = "parameter choice failed: ValueError: no such luck"
        assert row["error"] == (None if row["method"] == "mtl" else wanted)
    assert fits.take() == {"mtl": 2}

    fits.fail = lambda *_: None
    repaired = run(experiment, rows_at(tmp_path), retry=True)
    assert fits.take() == {"svm": 2, "bagging": 2}
    assert all(row["error"] is None for row in repaired)


def test_more_folds_than_examples_are_failures(tmp_path, small_run):
    for protocol in ("paper", "tuned"):  # the study draws splits, any number of them
        results = run(
            experiment_of("mtl", n_folds=40, protocol=protocol), rows_at(tmp_path)
        )
        assert len(results) == 40
        assert all("n_splits=40" in row["error"] for row in results)


def test_a_data_set_that_is_not_there_is_an_error_not_a_result(tmp_path, small_run):
    with pytest.raises(FileNotFoundError, match="no other"):
        run(experiment_of("adaboost", datasets=("other",)), rows_at(tmp_path))
    assert rows_at(tmp_path).read() == []


def test_rows_of_other_kinds_are_left_alone(tmp_path, small_run):
    note = {"kind": "note", "text": "by hand"}
    rows_at(tmp_path).append([note])
    for retry in (False, True):
        results = run(experiment_of("mtl"), rows_at(tmp_path), retry=retry)
        assert len(results) == 2
    assert note in rows_at(tmp_path).read()


def test_tuned_parameters_are_chosen_in_each_fold_on_its_training_set(
    tmp_path, monkeypatch, small_run
):
    experiment = experiment_of("mtl", protocol="tuned", n_folds=3)
    first = run(experiment, rows_at(tmp_path))
    choices = [row for row in rows_at(tmp_path).read() if row["kind"] == "choice"]
    assert sorted(row["fold"] for row in choices) == [0, 1, 2]
    for choice in choices:
        (row,) = (row for row in first if row["fold"] == choice["fold"])
        assert row["params"] == choice["params"]

    # other features in the test set of fold 0 must not change its choice
    whole = DATASETS["small"]
    test = _run._split(whole, experiment)[0][1]
    X = whole.X.copy()
    X[test] = np.random.default_rng(0).normal(size=X[test].shape)
    monkeypatch.setitem(DATASETS, "small", Dataset("small", whole.Y, X))
    _run._load.cache_clear()
    run(experiment, rows_at(tmp_path, "changed.jsonl"))
    changed = [
        row
        for row in rows_at(tmp_path, "changed.jsonl").read()
        if row["kind"] == "choice"
    ]
    candidates = {row["fold"]: row["candidates"] for row in choices}
    other = {row["fold"]: row["candidates"] for row in changed}
    assert candidates[0] == other[0]
    assert candidates[1] != other[1]


def change_candidates(monkeypatch, protocol, family, candidates):
    changed = dict(PROTOCOLS[protocol].families)
    changed[family] = changed[family]._replace(candidates=candidates)
    whole = PROTOCOLS[protocol]._replace(families=changed)
    monkeypatch.setitem(PROTOCOLS, protocol, whole)


@pytest.mark.parametrize("protocol", ["paper", "tuned"])
def test_a_choice_among_other_candidates_is_made_again(
    tmp_path, fits, monkeypatch, protocol
):
    experiment = experiment_of("svm", "mtl", protocol=protocol)
    old = run(experiment, rows_at(tmp_path))
    candidates = PROTOCOLS[protocol].families["svm"].candidates
    fits.clear()

    # a better one among them, and others that are worse: both are another grid
    change_candidates(monkeypatch, protocol, "svm", ({**candidates[0], "C": 1e-9},))
    assert [row["method"] for row in experiment.select(rows_at(tmp_path).read())] == [
        "mtl",
        "mtl",
    ]
    new = run(experiment, rows_at(tmp_path))
    assert fits.take() == {"svm": 2}
    assert [row["params"]["C"] for row in new if row["method"] == "svm"] == [1e-9] * 2
    assert outcomes(row for row in new if row["method"] == "mtl") == outcomes(
        row for row in old if row["method"] == "mtl"
    )
    assert run(experiment, rows_at(tmp_path)) == new
    assert fits == []
    assert performance_table(new, protocol) == performance_table(
        rows_at(tmp_path).read(), protocol
    )


def test_results_stay_current_if_a_new_choice_has_the_same_parameters(
    tmp_path, fits, monkeypatch
):
    old = run(experiment_of("svm"), rows_at(tmp_path))
    candidates = PROTOCOLS["paper"].families["svm"].candidates
    fits.clear()

    change_candidates(monkeypatch, "paper", "svm", (*candidates, {"C": 1e-9}))
    new = run(experiment_of("svm"), rows_at(tmp_path))

    assert (new, fits.take()) == (old, {})
    choices = [row for row in rows_at(tmp_path).read() if row["kind"] == "choice"]
    assert [len(row["candidates"]) for row in choices] == [3]


def test_a_failed_choice_is_made_again_only_for_other_candidates(
    tmp_path, fits, monkeypatch
):
    def fail(name, is_choice):
        if is_choice:
            raise ValueError("no such luck")

    fits.fail = fail
    run(experiment_of("svm"), rows_at(tmp_path))
    fits.fail = lambda *_: None
    assert fits.take() == {}
    assert run(experiment_of("svm"), rows_at(tmp_path))[0]["error"] is not None
    assert fits == []

    change_candidates(monkeypatch, "paper", "svm", ({"C": 1.0}, {"C": 2.0}))
    assert run(experiment_of("svm"), rows_at(tmp_path))[0]["error"] is None


def test_all_methods_choose_by_the_same_inner_folds(tmp_path, small_run, monkeypatch):
    splits = {}

    def look(name, fold, group, effort, seed):
        of_learner = splits.setdefault(name, {})
        of_learner.setdefault(json.dumps(group), []).append((fold._train, fold._test))
        return [0.5] * len(group)

    monkeypatch.setattr(_run, "fit_and_score", look)
    monkeypatch.setattr(_run, "_evaluate", lambda *_: [])
    monkeypatch.setattr(_protocols, "_is_installed", lambda _: True)
    run(experiment_of(protocol="tuned", n_folds=3), rows_at(tmp_path))

    assert set(splits) == set(TUNED.learners) - {"selftuned"}  # it chooses in fit
    wanted = next(iter(splits["svm"].values()))
    assert len(wanted) == 3 * 2  # outer folds, inner folds
    for by_candidate in splits.values():
        for folds in by_candidate.values():
            for one, two in zip(folds, wanted, strict=True):
                assert_array_equal(np.concatenate(one), np.concatenate(two))
                assert len(one[0]) == len(two[0])


@pytest.mark.needs_compiled
def test_a_method_that_tunes_itself_stores_its_choice_in_its_own_row(
    tmp_path, fits, monkeypatch
):
    experiment = experiment_of("selftuned", protocol="tuned")
    results = run(experiment, rows_at(tmp_path))

    assert rows_at(tmp_path).read() == results  # no row of a choice
    for row in results:
        assert row["n_trees"] == 3
        assert "choice" not in row
        assert {"kernel", "C", "loss"} < {*row["params"]}
        assert {"offset", "threshold"} & {*row["params"]}
        assert [each["params"] for each in row["candidates"]] == [{}]
    fits.clear()
    assert run(experiment, rows_at(tmp_path)) == results
    assert fits == []


@pytest.mark.needs_compiled
def test_the_study_splits_anew_for_every_fold_and_tunes_for_every_measure(
    tmp_path, fits
):
    results = run(experiment_of(protocol="study"), rows_at(tmp_path))
    assert {row["method"] for row in results} == {*STUDY.learners}
    assert all(row["error"] is None for row in results)
    table = study_table([{**row, "dataset": "scene"} for row in results])
    assert {each.measure for each in table.standings} == {*MEASURES}


def test_a_failure_of_a_method_that_tunes_itself_is_not_repeated(tmp_path, fits):
    def fail(name, is_choice):
        raise ValueError("no such luck")

    fits.fail = fail
    experiment = experiment_of("selftuned", protocol="tuned")
    results = run(experiment, rows_at(tmp_path))
    assert [row["error"] for row in results] == ["ValueError: no such luck"] * 2
    assert [row["params"] for row in results] == [None, None]
    fits.clear()
    assert run(experiment, rows_at(tmp_path)) == results
    assert fits == []


def test_the_sample_of_the_paper_is_a_tenth_but_not_too_small():
    for n_samples, size in ((1000, 100), (305, 30), (100, 30), (20, 20)):
        dataset = Dataset("any", np.zeros((n_samples, 2), dtype=int))
        rows = _run._sample(dataset, 0)
        assert len(rows) == len(set(rows)) == size
        assert rows.min() >= 0
        assert rows.max() < n_samples
    many = Dataset("any", np.zeros((1000, 2), dtype=int))
    assert (_run._sample(many, 0) == _run._sample(many, 0)).all()
    assert (_run._sample(many, 0) != _run._sample(many, 1)).any()


def test_what_was_left_out_of_a_data_set_is_noted(tmp_path, small_run, monkeypatch):
    whole = make_dataset("dense", n_samples=36, n_labels=4)
    X, Y = whole.X.copy(), whole.Y.copy()
    X[:2], Y[:, 3] = 0.0, 1
    monkeypatch.setitem(DATASETS, "small", Dataset("small", Y, X, note="Toy."))
    row = run(experiment_of("mtl"), rows_at(tmp_path))[0]
    assert row["data"]["note"] == (
        "Toy. Left out: 2 examples without features, 1 labels with one value."
    )
    assert (row["data"]["n_samples"], row["data"]["n_labels"]) == (36, 4)


def test_other_folds_have_other_seeds():
    experiment = Experiment()
    tasks = [FoldTask("yeast", "svm", fold, ()) for fold in range(5)]
    choice = ChoiceTask("yeast", "svm", None)
    seeds = [_run._seed(e, t) for e in (experiment, Experiment(seed=1)) for t in tasks]
    assert len({*seeds, _run._seed(experiment, choice)}) == 11


def test_select_gives_the_rows_of_the_experiment_alone(tmp_path, small_run):
    small = experiment_of("mtl")
    run(experiment_of("mtl", "svm", datasets=("small", "words")), rows_at(tmp_path))
    rows = rows_at(tmp_path).read()
    selected = small.select(rows[::-1])
    assert [(r["dataset"], r["method"], r["fold"]) for r in selected] == [
        ("small", "mtl", 0),
        ("small", "mtl", 1),
    ]
    assert small.select([]) == []


@pytest.mark.needs_compiled
def test_comparable_results_share_protocol_trees_folds_and_seed(tmp_path, small_run):
    file = rows_at(tmp_path)
    wanted = run(experiment_of("mtl", "mam", datasets=("small", "words")), file)
    wanted += run(experiment_of("svm"), file)
    for changes in ({"n_trees": 2}, {"seed": 1}, {"n_folds": 3}):
        run(experiment_of("mam", **changes), file)
    run(experiment_of("mtl", quick=False, n_folds=2), file)
    run(experiment_of("mtl", protocol="tuned"), file)

    comparable = experiment_of("mve", datasets=("other",)).select_comparable(
        file.read()
    )

    assert outcomes(comparable) == outcomes(wanted)
