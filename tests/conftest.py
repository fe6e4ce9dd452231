"""Fixtures that several test files share: commands, and files to run them on."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from hypothesis import settings
from songs import (
    FEW,
    RAW,
    frame_of,
    make_songs,
)
from strategies import PLAIN

from spanforest.cli import main

# Examples of a law differ in size, and the first one may compile: no time limits.
settings.register_profile(
    "spanforest", deadline=None, max_examples=10 if PLAIN else 100
)
settings.load_profile("spanforest")
os.environ.setdefault("MPLBACKEND", "Agg")  # figures need no screen


def pytest_collection_modifyitems(items):
    """Skip the tests that need compiled routines where Numba compiles none.

    Tests that open a page in a browser are about the page: they need them too.
    """
    reason = "about compiled code, or minutes without it: `make test` runs this test"
    skip = pytest.mark.skip(reason=reason)
    for item in items:
        names = {*item.keywords, *getattr(item, "fixturenames", ())}
        if PLAIN and names & {"needs_compiled", "browser"}:
            item.add_marker(skip)


@pytest.fixture(autouse=True)
def _close_figures():
    """Close the figures that a test has drawn."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with songs to train on, to test on, and without labels."""
    monkeypatch.chdir(tmp_path)
    frame_of(*make_songs(40, 0)).to_csv("songs.csv", index=False)
    frame_of(*make_songs(20, 1)).to_csv("test_songs.csv", index=False)
    new = frame_of(*make_songs(20, 1))[["length", "tempo", "loudness"]]
    new.insert(0, "title", "a, b")
    new.to_csv("new_songs.csv", index=False)
    return tmp_path


@pytest.fixture(scope="session")
def model_bytes(tmp_path_factory):
    """The bytes of a model file, trained once."""
    path = tmp_path_factory.mktemp("model")
    frame_of(*make_songs(40, 0)).to_csv(path / "songs.csv", index=False)
    args = ["train", str(path / "songs.csv"), "--labels", "last:3", *FEW, *RAW]
    assert main([*args, "-o", str(path / "songs.spanforest")]) == 0
    return (path / "songs.spanforest").read_bytes()


@pytest.fixture
def songs(folder, model_bytes):
    """The same folder, with a model that was trained on the songs."""
    (folder / "songs.spanforest").write_bytes(model_bytes)
    return folder


@pytest.fixture
def few_trees(monkeypatch):
    """Give the forests of a search five trees each, which is quick."""
    monkeypatch.setattr("spanforest.tuning._candidates.SEARCH_TREES", 5)


@pytest.fixture
def ok(capsys):
    """Run a command that must succeed, and return what it printed.

    On the standard error output it may only show progress, and say which file it wrote
    and which labels never vary.
    """

    def run(*args):
        code = main([str(arg) for arg in args])
        out, err = capsys.readouterr()
        lines = err.splitlines()
        assert code == 0, err
        usual = re.compile(
            r"spanforest: (wrote .*|chosen: .*|labels that never vary.*|"
            r".+: \d+ of \d+, \d+ s)"
        )
        assert all(map(usual.fullmatch, lines)), err
        return out

    return run


@pytest.fixture
def warns(capsys):
    """Run a command that must succeed with a warning, and return what it printed."""

    def run(message, *args):
        code = main([str(arg) for arg in args])
        out, err = capsys.readouterr()
        assert code == 0, err
        assert message in err
        assert all("spanforest: warning: " in line for line in err.splitlines())
        return out

    return run


@pytest.fixture
def fails(capsys):
    """Run a command that must fail, and return its one line on stderr."""

    def run(*args, code=1):
        assert main([str(arg) for arg in args]) == code
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("spanforest")
        assert err.count("\n") == 1, err
        return err

    return run


@pytest.fixture
def spanforest():
    """Run the command as a process of its own."""

    def run(*args, **env):
        return subprocess.run(
            [sys.executable, "-m", "spanforest", *args],
            capture_output=True,
            text=True,
            env={**os.environ, **env},
        )

    return run


@pytest.fixture(scope="session")
def browser():
    """A real browser; tests are skipped without one."""
    playwright = pytest.importorskip("playwright.sync_api")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("there is no Chromium to open the page in")
    with playwright.sync_playwright() as starter:
        browser = starter.chromium.launch(
            executable_path=program, args=["--no-sandbox"]
        )
        yield browser
        browser.close()


@pytest.fixture
def opened(browser):
    """Open a page; any message of the console or further request fails the test."""
    complaints, requests, contexts = [], [], []

    def open_page(url, width=1280, **options):
        viewport = {"width": width, "height": 800}
        contexts.append(browser.new_context(viewport=viewport, **options))
        page = contexts[-1].new_page()
        page.set_default_timeout(5000)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
    assert len(requests) == len(contexts)
