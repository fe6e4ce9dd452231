"""The compiled package: stamps that keep callers from going stale, and its notation."""

import ast
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[1] / "tools" / "stamp_compiled.py"


def load_tool():
    spec = importlib.util.spec_from_file_location("stamp_compiled", TOOL)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


def stamp(folder):
    subprocess.run([sys.executable, TOOL, folder], check=True)


def test_the_stamps_of_the_compiled_package_are_current():
    tool = load_tool()
    for path, source in tool.stamped_sources(tool.PACKAGE).items():
        message = f"The stamp of {path.name} is not current: run `make stamp`."
        assert path.read_text("utf-8") == source, message


def test_a_change_in_one_file_changes_the_stamp_of_every_file(tmp_path):
    one, other = tmp_path / "one.py", tmp_path / "other.py"
    one.write_text("x = 1\n")
    other.write_text("y = 1\n")
    stamp(tmp_path)
    before = other.read_text()
    assert re.fullmatch(r"y = 1\n\n\n# stamp: [0-9a-f]{16}\n", before)

    stamp(tmp_path)
    assert other.read_text() == before

    one.write_text(one.read_text().replace("x = 1", "x = 2"))
    stamp(tmp_path)
    assert other.read_text() != before
    assert one.read_text().count("# stamp: ") == 1


def routines():
    """The syntax tree of every function of the package, by its name."""
    for path in load_tool().PACKAGE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef):
                yield f"{path.stem}.{node.name}", node


def test_every_single_letter_has_a_meaning_in_the_notation():
    notation = (TOOL.parents[1] / "docs" / "notation.rst").read_text("utf-8")
    letters = set(re.findall(r"``(\w)``", notation)) | {"_"}
    for name, routine in routines():
        names = {node.arg for node in ast.walk(routine) if isinstance(node, ast.arg)}
        names |= {node.id for node in ast.walk(routine) if isinstance(node, ast.Name)}
        assert {one for one in names if len(one) == 1} <= letters, name


def test_no_routine_has_more_than_seven_parameters():
    for name, routine in routines():
        assert len(routine.args.args) <= 7, name


CALLEE = """
from numba import njit

@njit(cache=True)
def callee():
    return {answer}
"""
CALLER = """
from numba import njit
from tiny.callee import callee

@njit(cache=True)
def caller():
    return callee()
"""
CALL = """
from tiny.caller import caller

answer = caller()
print(answer, "compiled" if sum(caller.stats.cache_misses.values()) else "cached")
"""


@pytest.mark.slow
def test_a_caller_is_compiled_anew_when_a_stamped_callee_changes(tmp_path):
    package = tmp_path / "tiny"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "caller.py").write_text(CALLER)

    def change(answer):
        (package / "callee.py").write_text(CALLEE.format(answer=answer))

    def call():
        cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "NUMBA_DISABLE_JIT": "0"}
        paths = {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [sys.executable, "-c", CALL],
            env={**os.environ, **cache, **paths},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    change(answer=1)
    stamp(package)
    assert call() == "1 compiled"
    assert call() == "1 cached"

    change(answer=2)
    stale = "Numba now sees changes in other files: the stamps are no longer needed."
    assert call() == "1 cached", stale

    stamp(package)
    assert call() == "2 compiled"
