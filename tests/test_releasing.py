"""The files around the package agree: workflows, hooks, recipes, versions and dates."""

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml", reason="needs PyYAML")

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGET = re.compile(r"^([a-z-]+):.*##", flags=re.MULTILINE)


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def load(name):
    return yaml.safe_load(read(name))


def project():
    return tomllib.loads(read("pyproject.toml"))


def tool(name):
    """Return a module of the folder tools."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def steps(workflow):
    for job in load(workflow)["jobs"].values():
        yield from job.get("steps", [])


def called_targets(workflow):
    """Return the make targets that a workflow names, also in the lists of a matrix."""
    targets = set()
    for job in load(workflow)["jobs"].values():
        matrix = job.get("strategy", {}).get("matrix", {})
        targets |= set(matrix.get("target", []))
        targets |= {case["target"] for case in matrix.get("include", [])}
    for step in steps(workflow):
        for words in re.findall(r"\bmake ([a-z -]+)", step.get("run", "")):
            targets |= set(words.split())
    return targets


# --- workflows and hooks -------------------------------------------------------------


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_call_targets_of_the_makefile(workflow):
    called = called_targets(workflow)
    assert called, "a workflow that runs no target tests something else than we do"
    assert called <= set(TARGET.findall(read("Makefile")))


def test_hooks_call_targets_of_the_makefile_and_pin_no_versions():
    for repository in load(".pre-commit-config.yaml")["repos"]:
        assert repository["repo"] == "local"
        for hook in repository["hooks"]:
            program, target = hook["entry"].split()
            assert program == "make"
            assert target in TARGET.findall(read("Makefile"))


def test_the_tests_run_on_every_python_that_the_metadata_name():
    classifiers = project()["project"]["classifiers"]
    named = re.findall(r"Python :: (3\.\d+)", " ".join(classifiers))
    matrix = load(".github/workflows/tests.yml")["jobs"]["test"]["strategy"]["matrix"]
    assert matrix["python"] == named
    assert project()["project"]["requires-python"] == f">={named[0]}"
    systems = {name.split("-")[0] for name in matrix["os"]}
    assert systems == {"ubuntu", "macos", "windows"}


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_may_write_nothing_and_use_fixed_versions(workflow):
    assert load(workflow)["permissions"] == {"contents": "read"}
    for step in steps(workflow):
        if "uses" in step:
            assert re.search(r"@(v\d+|release/v\d+|[0-9a-f]{40})$", step["uses"])


def test_only_the_step_that_publishes_may_ask_for_an_identity():
    jobs = load(".github/workflows/release.yml")["jobs"]
    allowed = {
        name: job["permissions"] for name, job in jobs.items() if "permissions" in job
    }
    assert allowed == {"publish": {"id-token": "write"}}
    assert jobs["publish"]["needs"] == "files"
    assert jobs["files"]["needs"] == "tests"


def test_actionlint_has_nothing_to_say():
    actionlint = shutil.which("actionlint", path=Path(sys.executable).parent)
    if actionlint is None:
        pytest.skip("actionlint is not installed: make workflows")
    run = subprocess.run([actionlint, *WORKFLOWS], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout


def test_the_badges_of_the_readme_are_true():
    badges = re.findall(r"!\[[^]]*\]\(([^)\s]*badge[^)\s]*)\)", read("README.md"))
    classifiers = " ".join(project()["project"]["classifiers"])
    named = re.findall(r"Python :: (3\.\d+)", classifiers)
    expected = [
        "/actions/workflows/tests.yml/badge.svg",
        "/projects/spanforest/badge/?version=latest",
        f"/badge/python-{named[0]}_to_{named[-1]}-blue",
        f"/badge/licence-{project()['project']['license'].replace('-', '--')}-blue",
    ]
    assert len(badges) == len(expected)
    assert all(map(str.endswith, badges, expected))
    assert (ROOT / ".github" / "workflows" / "tests.yml").exists()


# --- versions ------------------------------------------------------------------------


def test_every_dependency_has_a_lower_bound_that_is_tested():
    """The constraints of `make test-oldest` are complete."""
    extras = project()["project"]["optional-dependencies"]
    oldest = tool("oldest_versions")
    wanted = [*project()["project"]["dependencies"]]
    for name in extras.keys() - oldest.NOT_TESTED:
        wanted += extras[name]
    names = {re.split(r"[>\[]", line)[0] for line in wanted} - {"spanforest"}
    assert set(oldest.oldest_versions()) == names


def test_the_extra_all_has_every_extra_but_the_programs_to_compare_with():
    extras = project()["project"]["optional-dependencies"]

    def names(extra):
        found = {extra}
        for line in extras[extra]:
            if line.startswith("spanforest["):
                inner = line.removeprefix("spanforest[").removesuffix("]").split(",")
                found = found.union(*map(names, inner))
        return found

    assert names("all") == extras.keys() - {"peers"}


def test_the_conda_recipe_has_the_versions_of_the_metadata():
    recipe = load("conda/recipe.yaml")
    run = recipe["requirements"]["run"][1:]  # without Python
    of_recipe = dict(line.replace("-base", "").split(" >=") for line in run)
    oldest = tool("oldest_versions").oldest_versions()
    assert of_recipe == {k: v for k, v in oldest.items() if k != "distributed"}
    assert (
        f">={recipe['context']['python_min']}"
        == project()["project"]["requires-python"]
    )
    entry = project()["project"]["scripts"]["spanforest"]
    assert recipe["build"]["python"]["entry_points"] == [f"spanforest = {entry}"]
    assert recipe["context"]["version"] in read("src/spanforest/__init__.py")


def test_changelog_citation_and_package_name_one_version_and_one_day():
    assert tool("check_release").problems() == []


def test_a_release_without_a_date_or_of_another_version_is_refused(tmp_path):
    for name in ("CHANGELOG.md", "CITATION.cff", "src/spanforest/__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(read(name), encoding="utf-8")
    changelog = re.sub(
        r"(?m)^(## \[.*\]) - .*", r"\1 - Unreleased", read("CHANGELOG.md")
    )
    (tmp_path / "CHANGELOG.md").write_text(changelog, encoding="utf-8")
    citation = re.sub(r"(?m)^version: .*", "version: 9.9", read("CITATION.cff"))
    (tmp_path / "CITATION.cff").write_text(citation, encoding="utf-8")
    problems = tool("check_release").problems(tmp_path)
    assert len(problems) == 3
    assert "9.9" in problems[0]
    assert "Unreleased" in problems[1]
