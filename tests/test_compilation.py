"""The note that users get when routines are compiled, and the clock without it."""

import gc
import logging
import os
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
from numba.core.event import Event, EventStatus

from spanforest import _compilation


def compilation(status, module="spanforest._compiled.cells"):
    routine = SimpleNamespace(py_func=SimpleNamespace(__module__=module))
    return Event("numba:compile", status, data={"dispatcher": routine})


def start(listener, **options):
    listener.on_start(compilation(EventStatus.START, **options))


def end(listener, **options):
    listener.on_end(compilation(EventStatus.END, **options))


@pytest.fixture
def now(monkeypatch):
    """A settable time."""
    moment = SimpleNamespace(seconds=0.0)
    monkeypatch.setattr(time, "perf_counter", lambda: moment.seconds)
    return moment


def test_the_clock_stands_still_while_a_routine_and_its_callees_are_compiled(now):
    listener = _compilation._Listener()
    now.seconds = 10.0
    start(listener)
    now.seconds = 11.0
    start(listener)
    now.seconds = 12.0
    assert listener.clock() == 10.0
    end(listener)
    now.seconds = 15.0
    assert listener.clock() == 10.0
    end(listener)
    now.seconds = 17.0
    assert listener.clock() == 12.0


def test_the_clock_runs_on_while_another_package_is_compiled(now, caplog):
    listener = _compilation._Listener()
    start(listener, module="elsewhere")
    now.seconds = 3.0
    assert listener.clock() == 3.0
    end(listener, module="elsewhere")
    assert listener.clock() == 3.0
    assert caplog.messages == []


def test_the_first_compilation_is_told_once_and_later_ones_are_not(caplog):
    listener = _compilation._Listener()
    for _ in range(2):
        start(listener)
        end(listener)
    (record,) = caplog.records
    assert record.name == "spanforest"
    assert record.levelno == logging.WARNING
    assert "spanforest.warm_up()" in record.message


def test_a_process_of_a_pool_tells_nothing(caplog, monkeypatch):
    worker = SimpleNamespace(name="LokyProcess-1")
    multiprocessing = SimpleNamespace(current_process=lambda: worker)
    monkeypatch.setattr(_compilation, "multiprocessing", multiprocessing)
    listener = _compilation._Listener()
    start(listener)
    end(listener)
    assert caplog.messages == []


def test_what_is_compiled_quietly_is_not_told(caplog, monkeypatch):
    listener = _compilation._Listener()
    monkeypatch.setattr(_compilation, "_listener", listener)
    with _compilation.quietly():
        start(listener)
        end(listener)
    assert caplog.messages == []
    start(listener)
    end(listener)
    assert len(caplog.messages) == 1


@pytest.mark.parametrize("collects", [True, False])
def test_python_searches_for_garbage_after_compiling_as_it_did_before(collects):
    listener, before = _compilation._Listener(), gc.isenabled()
    try:
        (gc.enable if collects else gc.disable)()
        start(listener)
        start(listener)
        end(listener)
        assert not gc.isenabled()
        end(listener)
        assert gc.isenabled() == collects
    finally:
        (gc.enable if before else gc.disable)()


FIT = """
import numpy as np
from spanforest.factors import Coordinates, FactorGraph
from spanforest.graphs import LabelGraph
factors = FactorGraph(LabelGraph(2, [(0, 1)]), [2, 2])
print(Coordinates.of(factors).expand(np.zeros((1, 3))).sum())
"""


@pytest.mark.slow
@pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled"
)
def test_the_note_comes_on_stderr_when_the_cache_is_empty_and_only_then(tmp_path):
    def run():
        return subprocess.run(
            [sys.executable, "-c", FIT],
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )

    cold, warm = run(), run()
    assert cold.stderr.strip() == _compilation.NOTE
    assert warm.stderr == ""
    assert cold.stdout == warm.stdout == "0.0\n"
