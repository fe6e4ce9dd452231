"""The command ``spanforest reproduce``, from its arguments to its files."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from waiting import process_states, wait_for

pytest.importorskip("typer")

import spanforest.datasets
from spanforest.cli import _reproduce, main
from spanforest.datasets import Dataset, load_dataset, make_circle
from spanforest.metrics import MEASURES
from spanforest.paper import RowFile, _run
from spanforest.paper._methods import LEARNERS
from spanforest.paper._protocols import PROTOCOLS
from spanforest.paper._published import TABLE_2

PROGRESS = re.compile(r"spanforest: [a-z ]+: \d+ of \d+, \d+ s")


@pytest.fixture
def small_circles(monkeypatch):
    """Circles of 60 examples instead of 1000, and few candidates to choose from."""

    def load(name, data_home=None):
        if not name.startswith("circle"):
            return load_dataset(name, data_home)
        n_labels = int(name.removeprefix("circle")) // 2
        X, Y = make_circle(60, n_labels, random_state=0)
        return Dataset(name, Y, X)

    monkeypatch.setattr(spanforest.datasets, "load_dataset", load)
    monkeypatch.setattr(_run, "load_dataset", load)
    monkeypatch.setattr(_run, "CHOICE_FOLDS", 2)
    for name, protocol in list(PROTOCOLS.items()):
        families = {
            key: family._replace(candidates=family.candidates[:2])
            for key, family in protocol.families.items()
        }
        monkeypatch.setitem(PROTOCOLS, name, protocol._replace(families=families))
    monkeypatch.delenv("SPANFOREST_DATA", raising=False)
    _run._load.cache_clear()
    yield
    _run._load.cache_clear()


@pytest.fixture
def no_figures(monkeypatch):
    """Draw nothing: that takes longer than all the rest."""
    monkeypatch.setattr(_reproduce, "_figures", lambda *_: iter(()))


@pytest.fixture
def fits(monkeypatch):
    """Log the names of the learners that are fitted from now on."""
    names = []

    def wrap(name, make):
        def logged(*args):
            names.append(name)
            return make(*args)

        return logged

    for name, make in list(LEARNERS.items()):
        monkeypatch.setitem(LEARNERS, name, wrap(name, make))
    return names


@pytest.fixture
def reproduce(tmp_path, capsys):
    """Run the command; return exit code, stdout and stderr without progress."""

    def call(*args, out=tmp_path / "results"):
        code = main(["reproduce", "--out", str(out), *args])
        said = capsys.readouterr()
        lines = said.err.splitlines()
        return code, said.out, [x for x in lines if not PROGRESS.fullmatch(x)]

    return call


SMALL = ("--datasets", "circle10", "--methods", "svm,mam", "--quick", "--trees", "3")


@pytest.mark.slow
def test_the_paper_s_tables_and_figure_are_made(reproduce, small_circles, tmp_path):
    code, said, errors = reproduce(*SMALL)

    assert (code, errors) == (0, [])
    out = tmp_path / "results"
    assert {path.name for path in out.iterdir()} == {
        "rows.jsonl",
        *(f"table{n}-quick.{kind}" for n in (1, 2) for kind in ("md", "tex", "csv")),
        *(f"figure1-quick.{kind}" for kind in ("png", "svg")),
    }
    assert all(path.stat().st_size > 100 for path in out.iterdir())
    assert (out / "figure1-quick.png").read_bytes().startswith(b"\x89PNG")
    for measure in MEASURES:
        for method in ("svm", "mam"):
            printed = f"{TABLE_2[measure]['circle10', method].mean:.1f}"
            assert printed in said
            for kind in ("md", "tex", "csv"):
                assert printed in (out / f"table2-quick.{kind}").read_text()
    assert "quick run, not comparable with the paper" in " ".join(said.split())
    assert str(out) in said


@pytest.mark.needs_compiled
def test_tables_hold_the_means_of_the_rows(
    reproduce, small_circles, no_figures, tmp_path
):
    reproduce(*SMALL)

    rows = RowFile(tmp_path / "results" / "rows.jsonl").read()
    folds = [row for row in rows if row["kind"] == "fold"]
    assert len(folds) == 4
    with open(tmp_path / "results" / "table2-quick.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    means = {(line["measure"], line["method"]): float(line["mean"]) for line in lines}
    for measure in MEASURES:
        for method in ("svm", "mam"):
            scores = [
                100 * row["scores"][measure] for row in folds if row["method"] == method
            ]
            assert means[measure, method] == pytest.approx(sum(scores) / 2)
    for row in folds:
        assert row["quick"]
        assert row["n_trees"] == (3 if row["method"] == "mam" else None)


@pytest.mark.needs_compiled
def test_a_second_run_repeats_nothing_and_prints_the_same(
    reproduce, small_circles, no_figures, fits, tmp_path
):
    first = reproduce(*SMALL)
    assert fits
    fits.clear()
    rows = (tmp_path / "results" / "rows.jsonl").read_bytes()

    assert reproduce(*SMALL) == first
    assert fits == []
    assert (tmp_path / "results" / "rows.jsonl").read_bytes() == rows


def cells_in(path):
    """Return the data sets and methods for which a table has numbers."""
    with open(path, newline="") as file:
        return {
            (line["dataset"], line["method"])
            for line in csv.DictReader(file)
            if line["state"] == "value"
        }


def test_a_smaller_run_adds_to_the_tables_and_takes_nothing_away(
    reproduce, small_circles, no_figures, tmp_path
):
    table = tmp_path / "results" / "table2.csv"
    reproduce("--datasets", "circle10,circle50", "--methods", "mtl", "--folds", "2")
    both = {("circle10", "mtl"), ("circle50", "mtl")}
    assert cells_in(table) == both

    _, said, _ = reproduce("--datasets", "circle10", "--methods", "svm", "--folds", "2")

    assert cells_in(table) == {*both, ("circle10", "svm")}
    assert "Circle50" in said


def test_a_quick_run_leaves_the_full_tables_alone(
    reproduce, small_circles, no_figures, tmp_path
):
    out = tmp_path / "results"
    common = ("--datasets", "circle10", "--folds", "2")
    reproduce(*common, "--methods", "mtl,svm")
    full = {path: path.read_bytes() for path in out.glob("table*")}
    assert len(full) == 6

    reproduce(*common, "--methods", "mtl", "--quick")

    assert {path: path.read_bytes() for path in full} == full
    assert {path.name for path in out.glob("table*")} == {
        *(path.name for path in full),
        *(f"{path.stem}-quick{path.suffix}" for path in full),
    }
    assert cells_in(out / "table2-quick.csv") == {("circle10", "mtl")}


@pytest.mark.needs_compiled
@pytest.mark.parametrize(
    ("change", "suffix"),
    [
        (("--trees", "2"), "-2-trees"),
        (("--folds", "3"), "-3-folds"),
        (("--seed", "1"), "-seed-1"),
        (("--seed", "1", "--trees", "2"), "-2-trees-seed-1"),
    ],
)
def test_other_settings_leave_the_tables_of_the_first_alone(
    reproduce, small_circles, no_figures, tmp_path, change, suffix
):
    out = tmp_path / "results"
    common = ("--datasets", "circle10", "--methods", "mtl,mam", "--folds", "2")
    reproduce(*common, "--trees", "3")
    first = {path: path.read_bytes() for path in out.glob("table*")}
    assert len(first) == 6

    for _ in range(2):  # the second time nothing is left to do
        _, said, _ = reproduce(*common, "--trees", "3", *change)
        assert {path: path.read_bytes() for path in first} == first
        assert str(out / f"table2{suffix}.md") in said
    names = {path.name for path in out.glob("table*")} - {path.name for path in first}
    assert names == {f"{path.stem}{suffix}{path.suffix}" for path in first}
    assert cells_in(out / f"table2{suffix}.csv") == {
        ("circle10", "mtl"),
        ("circle10", "mam"),
    }

    _, said, _ = reproduce(*common, "--trees", "3")
    assert str(out / "table2.md") in said


def test_results_without_trees_have_the_tables_of_any_number_of_trees(
    reproduce, small_circles, no_figures, tmp_path
):
    common = ("--datasets", "circle10", "--folds", "2", "--methods")
    reproduce(*common, "mtl", "--trees", "9")
    reproduce(*common, "mam", "--trees", "3")
    assert cells_in(tmp_path / "results" / "table2.csv") == {
        ("circle10", "mtl"),
        ("circle10", "mam"),
    }


def test_tables_hold_no_result_of_other_candidates(
    reproduce, small_circles, no_figures, tmp_path, monkeypatch
):
    common = ("--folds", "2", "--methods")
    reproduce("--datasets", "circle10,circle50", *common, "mtl")
    paper = PROTOCOLS["paper"]
    grid = {"mtl": paper.families["mtl"]._replace(candidates=({"gamma": 2.0},))}
    changed = paper._replace(families={**paper.families, **grid})
    monkeypatch.setitem(PROTOCOLS, "paper", changed)

    reproduce("--datasets", "circle10", *common, "mtl,svm")

    cells = cells_in(tmp_path / "results" / "table2.csv")
    assert cells == {("circle10", "mtl"), ("circle10", "svm")}


def test_a_second_run_in_the_same_folder_is_refused_in_one_line(
    reproduce, small_circles, no_figures, fits, tmp_path
):
    pytest.importorskip("fcntl", reason="only Unix has these locks")
    out = tmp_path / "results"
    rows = RowFile(out / "rows.jsonl")
    with rows.locked():
        rows.path.write_text('{"fold": 0}\n{"fold"')  # it is in the middle of a row
        code, said, errors = reproduce(*SMALL)
        assert rows.path.read_text() == '{"fold": 0}\n{"fold"'
    assert (code, said, fits, len(errors)) == (1, "", [], 1)
    assert f"another run is writing its results to {out}." in errors[0]
    assert [path.name for path in out.iterdir()] == ["rows.jsonl"]

    assert reproduce(*SMALL)[0] == 0


def test_ctrl_c_while_figures_are_written_leaves_whole_files(
    reproduce, small_circles, monkeypatch, tmp_path
):
    class Figure:
        def __init__(self, text, stop_at=""):
            self.text, self.stop_at = text, stop_at

        def savefig(self, path, **_):
            path.write_text(self.text)
            if path.suffix == self.stop_at:
                raise KeyboardInterrupt

    def draw(*figures):
        pairs = [(f"figure{k}", figure) for k, figure in enumerate(figures)]
        monkeypatch.setattr(_reproduce, "_figures", lambda *_: iter(pairs))

    out = tmp_path / "results"
    draw(Figure("old"))
    assert reproduce(*SMALL)[0] == 0
    before = {path.name for path in out.iterdir()}

    draw(Figure("new", stop_at=".svg"), Figure("other"))
    code, _, errors = reproduce(*SMALL)

    assert code == 130
    assert errors == [
        f"spanforest: stopped; 4 of 4 results are in {out / 'rows.jsonl'}. The same "
        "command goes on from there."
    ]
    assert {path.name for path in out.iterdir()} == before
    assert (out / "figure0-quick.png").read_text() == "new"
    assert (out / "figure0-quick.svg").read_text() == "old"


def test_names_may_have_spaces_capitals_and_duplicates(
    reproduce, small_circles, no_figures, fits, tmp_path
):
    code, _, errors = reproduce(
        *("--datasets", " Circle10 , circle10,", "--methods", "MTL,mtl", "--quick")
    )
    assert (code, errors) == (0, [])
    rows = RowFile(tmp_path / "results" / "rows.jsonl").read()
    assert {(row["dataset"], row.get("method")) for row in rows} == {
        ("circle10", None),
        ("circle10", "mtl"),
    }


def test_a_missing_data_set_is_named_and_the_others_are_run(
    reproduce, small_circles, no_figures, tmp_path
):
    empty = tmp_path / "empty"
    empty.mkdir()

    code, said, errors = reproduce(
        *("--datasets", "cal500,circle10", "--methods", "mtl", "--quick"),
        *("--data-home", str(empty)),
    )

    assert code == 1
    assert len(errors) == 1
    assert errors[0].startswith(f"spanforest: The data set cal500 is not in {empty}.")
    assert "Circle10" in said
    rows = RowFile(tmp_path / "results" / "rows.jsonl").read()
    assert {row["dataset"] for row in rows} == {"circle10"}


def test_a_damaged_data_set_does_not_stop_the_others(
    reproduce, small_circles, no_figures, tmp_path
):
    (tmp_path / "cal500.npz").write_bytes(b"not an archive")
    code, said, errors = reproduce(
        *("--datasets", "cal500,circle10", "--methods", "mtl", "--quick"),
        *("--data-home", str(tmp_path)),
    )
    assert (code, len(errors), "Circle10" in said) == (1, 1, True)
    assert "cal500.npz" in errors[0]


def test_without_any_data_set_nothing_is_written(reproduce, small_circles, tmp_path):
    code, said, errors = reproduce("--datasets", "cal500,fingerprint")
    assert (code, said) == (1, "")
    assert [line.split()[0] for line in errors] == ["spanforest:"] * 3
    assert errors[-1] == "spanforest: no data set was found."
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--datasets", "circle10,mnist"), "circle10, .*; got 'mnist'"),
        (("--methods", "svm,lstm"), r"svm, bagging, .*; got 'lstm'\. See"),
        (("--methods", "forest"), "protocol 'paper' .*; got 'forest'"),
        (("--protocol", "fast"), "'fast' is not one of"),
        (("--methods", " , "), "names, separated by commas; got ' , '"),
        (("--datasets", ""), "names, separated by commas; got ''"),
        (("--trees", "0"), "--trees"),
        (("--folds", "1"), "--folds"),
        (("--jobs", "0"), "--jobs"),
        (("--seed", "-1"), "--seed"),
        (("--compare", "svm,mtl,mam"), "--compare ranks .*protocol paper"),
        (
            ("--compare", "svm,mtl", "--protocol", "tuned"),
            "three or more methods .*; got svm, mtl with",
        ),
        (("--compare", "svm,mtl,lstm", "--protocol", "tuned"), "got 'lstm'"),
        (("--seed", str(2**32)), r"seed must be less than 2\*\*32"),
    ],
)
def test_bad_usage_is_one_line_and_nothing_is_written(
    reproduce, small_circles, fits, tmp_path, args, message
):
    code, said, errors = reproduce(*args)

    assert (code, said, fits) == (2, "", [])
    assert len(errors) == 1
    assert re.search(message, errors[0])
    assert "reproduce --help" in errors[0]
    assert list(tmp_path.iterdir()) == []


def test_data_of_ones_own_are_compared_too(reproduce, no_figures, tmp_path):
    X, Y = make_circle(60, n_labels=3, random_state=0)
    np.savez(tmp_path / "Birds.npz", X=X, Y=Y)
    args = ("--methods", "mtl", "--quick", "--data-home", str(tmp_path))
    _, said, _ = reproduce("--datasets", "birds", *args)
    assert "birds" in said


def test_usage_is_checked_before_any_data_set_is_read(reproduce, monkeypatch):
    def refuse(name, data_home):
        assert name == "mnist"
        return load_dataset(name, data_home)

    monkeypatch.setattr(spanforest.datasets, "load_dataset", refuse)
    assert reproduce("--methods", "lstm")[0] == 2
    assert reproduce("--datasets", "emotions,mnist")[0] == 2


def test_a_folder_that_cannot_be_written_is_refused_before_the_work(
    reproduce, small_circles, fits, tmp_path
):
    (tmp_path / "file").write_text("")
    code, said, errors = reproduce(*SMALL, out=tmp_path / "file")
    assert (code, said, len(errors), fits) == (1, "", 1, [])
    assert str(tmp_path / "file") in errors[0]


def test_a_broken_line_is_named_and_nothing_is_changed(
    reproduce, small_circles, fits, tmp_path
):
    path = tmp_path / "results" / "rows.jsonl"
    path.parent.mkdir()
    path.write_text('{"kind": "fold"}\nbroken\n{"kind": "choice"}\n')

    code, said, errors = reproduce(*SMALL)

    assert (code, said, len(errors), fits) == (1, "", 1, [])
    assert f"{path}, line 2" in errors[0]
    assert path.read_text() == '{"kind": "fold"}\nbroken\n{"kind": "choice"}\n'


def test_failures_are_printed_and_tried_again_on_request(
    reproduce, small_circles, no_figures, monkeypatch
):
    def fail(*_):
        raise ValueError("out of\n  luck")

    with monkeypatch.context() as patch:
        patch.setitem(LEARNERS, "bagging", fail)
        code, said, errors = reproduce(
            *("--datasets", "circle10", "--methods", "svm,bagging", "--quick")
        )
    assert code == 1
    assert errors == [
        f"spanforest: circle10, bagging, fold {fold}: ValueError: out of luck"
        for fold in (0, 1)
    ]
    assert "failed" in said

    again = ("--datasets", "circle10", "--methods", "svm,bagging", "--quick")
    assert reproduce(*again)[0] == 1
    code, said, errors = reproduce(*again, "--retry")
    assert (code, errors) == (0, [])
    assert "failed" not in said


def test_without_matplotlib_the_tables_are_still_made(
    reproduce, small_circles, monkeypatch, tmp_path
):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, said, errors = reproduce(*SMALL)
    assert code == 0
    assert errors == [
        "spanforest: no figures: matplotlib is needed here, but it is not installed. "
        'Install it with pip install "spanforest[paper]".'
    ]
    assert "MAM" in said
    assert (tmp_path / "results" / "table2-quick.md").exists()


def test_ranks_need_something_to_compare(reproduce, small_circles, no_figures):
    code, said, errors = reproduce(
        *("--datasets", "circle10", "--methods", "mtl", "--quick"),
        *("--protocol", "tuned"),
    )
    assert code == 0
    assert len(errors) == 1
    assert "no comparison of ranks" in errors[0]
    assert "protocol tuned" in said


@pytest.mark.slow
def test_tuned_methods_are_ranked(reproduce, small_circles, tmp_path):
    pytest.importorskip("scikit_posthocs")
    code, said, errors = reproduce(
        *("--datasets", "circle10,circle50", "--methods", "svm,mtl,mam"),
        *("--protocol", "tuned", "--quick", "--trees", "2"),
    )
    assert (code, errors) == (0, [])
    out = tmp_path / "results"
    stems = ["table1", "table2", *(f"ranks-{measure}" for measure in MEASURES)]
    figures = ["figure1", *(f"critical-difference-{measure}" for measure in MEASURES)]
    assert {path.name for path in out.iterdir()} == {
        "rows.jsonl",
        *(f"{s}-tuned-quick.{kind}" for s in stems for kind in ("md", "tex", "csv")),
        *(f"{s}-tuned-quick.{kind}" for s in figures for kind in ("png", "svg")),
    }
    assert said.count("Friedman's test") == 3
    choices = [row for row in RowFile(out / "rows.jsonl") if row["kind"] == "choice"]
    assert len(choices) == 2 * 2 * 3  # data sets, folds, methods


@pytest.mark.needs_compiled
def test_some_methods_are_ranked_among_themselves_without_another_run(
    reproduce, small_circles, no_figures, fits, tmp_path
):
    pytest.importorskip("scikit_posthocs")
    small = ("--datasets", "circle10,circle50", "--protocol", "tuned", "--quick")
    reproduce(*small, "--methods", "svm,mtl,forest,logistic")
    fits.clear()

    code, said, errors = reproduce(
        *small, "--methods", "svm", "--compare", "svm,mtl,logistic"
    )

    assert (code, errors, fits) == (0, [], [])
    out = tmp_path / "results"
    everyone = ["Logistic regression", "MTL", "Random forest", "SVM"]
    for prefix, wanted in (
        ("ranks", everyone),
        ("compared", [name for name in everyone if name != "Random forest"]),
    ):
        for measure in MEASURES:
            text = (out / f"{prefix}-{measure}-tuned-quick.md").read_text()
            assert sorted(name for name in everyone if f"| {name} " in text) == wanted
    assert said.count("Friedman's test") == 6


def ignores_interrupts(pid):
    (line,) = re.findall(r"SigIgn:\s*(\w+)", Path(f"/proc/{pid}/status").read_text())
    return bool(int(line, 16) >> (signal.SIGINT - 1) & 1)


def is_computing(session, n_workers):
    """Return whether the main process has handed out all work and waits for it."""
    states = process_states(session)
    main = states.pop(session, None)
    if n_workers == 1:  # the main process does the work
        return main == "R"
    return main == "S" and list(states.values()).count("R") == n_workers


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")
@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_leaves_whole_rows_and_no_process(tmp_path, jobs):
    out = tmp_path / "results"
    rows = out / "rows.jsonl"
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "spanforest", "reproduce"),
            *("--datasets", "circle10", "--methods", "adaboost,mam"),
            *("--trees", "3000", "--quick", "--jobs", str(jobs), "--out", str(out)),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a terminal sends Ctrl-C to the whole group
        # a shell starts jobs in the background with interrupts ignored
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        # so many folds of boosting are done that only ensembles are left, which take
        # long; loky cannot be stopped quietly while it hands out work
        assert wait_for(
            lambda: (
                rows.exists() and rows.read_bytes().count(b'"method": "ada') == jobs
            ),
            120,
        )
        assert wait_for(lambda: is_computing(process.pid, jobs), 60)
        for worker in set(process_states(process.pid)) - {process.pid}:
            assert ignores_interrupts(worker)
        os.killpg(process.pid, signal.SIGINT)
        said, errors = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)

    assert process.returncode == 130
    assert said == ""
    folds = [row for row in RowFile(rows) if row["kind"] == "fold"]
    *progress, last = errors.splitlines()
    assert last == (
        f"spanforest: stopped; {len(folds)} of 4 results are in {rows}. The same "
        "command goes on from there."
    )
    assert all(map(PROGRESS.fullmatch, progress)), errors
    assert folds
    text = rows.read_text()
    assert text.endswith("\n")
    assert all(isinstance(json.loads(line), dict) for line in text.splitlines())
    assert wait_for(lambda: not process_states(process.pid), 20)
