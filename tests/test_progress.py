"""Progress is shown on a terminal, and nowhere else."""

import io
import sys

import pytest

from spanforest import MMCRFClassifier, RandomGraphEnsembleClassifier
from spanforest._progress import track, watch_gap


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("verbose", [False, True])
def test_nothing_is_written_in_a_pipe(verbose, monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert list(track(range(3), 3, "counting", verbose=verbose)) == [0, 1, 2]
    assert sys.stderr.getvalue() == ""


def test_a_bar_is_shown_on_a_terminal(monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert list(track(range(3), 3, "counting", verbose=True)) == [0, 1, 2]
    assert "counting" in sys.stderr.getvalue()


def test_without_rich_items_come_and_nothing_is_shown(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setitem(sys.modules, "rich", None)
    assert list(track(range(3), 3, "counting", verbose=True)) == [0, 1, 2]
    with watch_gap(0.01, verbose=True) as watch:
        assert watch is None
    assert sys.stderr.getvalue() == ""


def test_a_gap_is_shown_on_a_terminal(monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr(sys, "stderr", Terminal())
    with watch_gap(0.01, verbose=True) as watch:
        watch(3, 0.5)
    assert "gap 50.00% of the dual objective" in sys.stderr.getvalue()


@pytest.mark.parametrize(
    "estimator", [MMCRFClassifier(), RandomGraphEnsembleClassifier(2)]
)
def test_verbose_estimators_show_progress_and_learn_the_same(estimator, monkeypatch):
    pytest.importorskip("rich")
    X, Y = [[0.0], [1.0], [2.0]], [[0, 1], [1, 1], [1, 0]]
    quiet = estimator.set_params(random_state=0, verbose=0).fit(X, Y)
    expected = quiet.decision_function(X)
    monkeypatch.setattr(sys, "stderr", Terminal())
    loud = estimator.set_params(verbose=1).fit(X, Y)
    assert sys.stderr.getvalue() != ""
    assert (loud.decision_function(X) == expected).all()
