"""Where a result comes from: versions and commit."""

import shutil
import subprocess

import pytest

from spanforest.paper import _provenance


def test_versions_of_optional_packages_are_given_where_they_are_installed(monkeypatch):
    versions = {"numpy": "2.3", "mlrl-boomer": "0.12.3"}
    monkeypatch.setattr(_provenance, "_version", versions.get)
    found = _provenance._software_and_machine.__wrapped__()["versions"]
    assert (found["numpy"], found["mlrl-boomer"]) == ("2.3", "0.12.3")
    assert "scikit-multilearn-ng" not in found
    assert found["spanforest"] is None


def test_the_commit_is_that_of_the_sources_or_none(tmp_path, monkeypatch):
    if shutil.which("git") is None:
        pytest.skip("needs git")

    def git(*args):
        name = ("-c", "user.name=a", "-c", "user.email=a@b", "-C", str(tmp_path))
        subprocess.run(["git", *name, *args], check=True, capture_output=True)

    for variable in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(variable, raising=False)
    source = tmp_path / "environment" / "module.py"
    source.parent.mkdir()
    source.write_text("")
    monkeypatch.setattr(_provenance, "__file__", str(source))
    git("init")
    git("commit", "--allow-empty", "-m", "something else")
    assert _provenance._commit() is None  # in a checkout, but not of it

    git("add", ".")
    git("commit", "-m", "sources")
    commit = _provenance._commit()
    assert commit is not None
    assert not commit.endswith("-dirty")
    source.write_text("changed")
    assert _provenance._commit() == f"{commit}-dirty"


def test_without_git_there_is_no_commit(monkeypatch):
    def missing(*_, **__):
        raise FileNotFoundError("git")

    monkeypatch.setattr(subprocess, "run", missing)
    assert _provenance._commit() is None
