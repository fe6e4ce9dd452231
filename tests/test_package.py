"""What importing the package costs, and what it offers."""

import subprocess
import sys
from pathlib import Path

import pytest

import spanforest

ROOT = Path(__file__).parents[1]
SOURCE, TESTS = ROOT / "src" / "spanforest", ROOT / "tests"
WITHOUT_BEHAVIOUR = {"_compiled/decorators.py", "_compiled/records.py"}
OF_THE_WHOLE = {  # tests that describe no single module
    *("distributed", "docs", "estimators", "missing_labels", "package", "real_data"),
    *("scikit_learn", "wheel"),
}
HEAVY = ["sklearn", "matplotlib", "pandas", "dask", "distributed", "networkx", "rich"]


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, spanforest; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert not set(HEAVY) & set(run.stdout.split())


def test_every_public_name_is_there():
    for name in spanforest.__all__:
        assert getattr(spanforest, name) is not None
    assert set(spanforest.__all__) <= set(dir(spanforest))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Forest'"):
        spanforest.Forest  # noqa: B018


def name_of_tests(module):
    """Return what stands between test_ and .py in the name of a module's test file."""
    parts = module.relative_to(SOURCE).with_suffix("").parts
    return "_".join(part.strip("_") for part in parts if part != "__init__")


def modules():
    return sorted(SOURCE.rglob("*.py"))


def test_every_module_has_a_test_file_of_its_name():
    excepted = {SOURCE / name for name in WITHOUT_BEHAVIOUR}
    assert excepted <= set(modules())
    missing = [
        f"test_{name_of_tests(module)}.py"
        for module in modules()
        if module not in excepted and module.name != "__init__.py"
        if not (TESTS / f"test_{name_of_tests(module)}.py").exists()
    ]
    assert missing == []


def test_every_test_file_is_named_after_a_module_or_listed():
    """A module whose tests are many may have several files: its name, then a topic."""
    names = {name_of_tests(module) for module in modules()} - {""}
    for path in TESTS.glob("test_*.py"):
        words = path.stem.split("_")[1:]
        starts = {"_".join(words[:n]) for n in range(1, len(words) + 1)}
        assert starts & (names | OF_THE_WHOLE), path.name


def test_no_test_file_is_longer_than_600_lines():
    lengths = {
        path.name: len(path.read_text().splitlines()) for path in TESTS.glob("*.py")
    }
    assert {name for name, length in lengths.items() if length > 600} == set()
