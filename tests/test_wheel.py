"""The built package installs without extras and does what the README promises."""

import re
import subprocess
import sys
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


@pytest.mark.slow
def test_the_wheel_works_in_a_clean_environment_without_extras(dist, tmp_path):
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    (wheel,) = dist.glob("*.whl")
    run(python, "-m", "pip", "install", "--quiet", wheel)

    code, output = five_lines()
    assert run(python, "-c", code, cwd=tmp_path) == output

    command = environment / "bin" / "spanforest"
    done = subprocess.run([command], capture_output=True, text=True)
    assert done.returncode == 1
    assert 'pip install "spanforest[cli]"' in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.slow
def test_wheel_and_sdist_hold_the_package_and_its_licence(dist):
    (wheel,) = dist.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = (ROOT / "src").rglob("*.*")
    for path in sources:
        if path.suffix in {".py", ".jinja", ".css", ".js"}:
            assert path.relative_to(ROOT / "src").as_posix() in names
    assert any(name.endswith("LICENSE") for name in names)
    assert not any("test" in name.split("/")[0] for name in names)
    assert len(list(dist.glob("*.tar.gz"))) == 1
