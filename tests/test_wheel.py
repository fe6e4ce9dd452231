"""The built package installs without extras and does what the README promises."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
pytest.importorskip("build", reason="needs the package build")


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def five_lines():
    """The first Python block of the README, and the output it shows."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code, output = re.search(
        r"```python\n(.*?)```\s*```text\n(.*?)```", text, flags=re.DOTALL
    ).groups()
    return code, output


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    return folder


def oldest_versions():
    """Return the lower bounds of the core's dependencies, as requirements for pip."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return [line.replace(">=", "==") for line in project["project"]["dependencies"]]


@pytest.mark.slow
@pytest.mark.parametrize(
    "versions", ["newest", pytest.param("oldest", marks=pytest.mark.network)]
)
def test_the_wheel_works_in_a_clean_environment_without_extras(
    dist, tmp_path, versions
):
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=True)
    programs = environment / ("Scripts" if os.name == "nt" else "bin")
    python = programs / "python"
    (wheel,) = dist.glob("*.whl")
    exact = oldest_versions() if versions == "oldest" else []
    run(python, "-m", "pip", "install", "--quiet", wheel, *exact)

    code, output = five_lines()
    assert run(python, "-W", "error", "-c", code, cwd=tmp_path) == output

    done = subprocess.run([programs / "spanforest"], capture_output=True, text=True)
    assert done.returncode == 1
    assert 'pip install "spanforest[cli]"' in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.slow
def test_wheel_and_sdist_hold_the_package_and_its_licence(dist):
    (wheel,) = dist.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = (ROOT / "src").rglob("*.*")
    for path in sources:
        if path.suffix in {".py", ".jinja", ".css", ".js", ".typed"}:
            assert path.relative_to(ROOT / "src").as_posix() in names
    assert "spanforest/py.typed" in names  # without it, type checkers see no types
    assert any(name.endswith("LICENSE") for name in names)
    assert not any("test" in name.split("/")[0] for name in names)


@pytest.mark.slow
def test_the_sdist_holds_what_its_tests_read(dist):
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    for folder in ("src", "tests", "tools", "docs", "examples", "benchmarks"):
        for path in (ROOT / folder).rglob("*.py"):
            name = path.relative_to(ROOT).as_posix()
            assert name in names or re.search("_build|auto_examples", name)
    assert {"Makefile", "README.md", "CONTRIBUTING.md", "CHANGELOG.md"} <= names
    assert not any(name.startswith("results/") for name in names)
