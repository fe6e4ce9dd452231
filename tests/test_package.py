"""What importing the package costs, and what it offers."""

import ast
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

import spanforest

ROOT = Path(__file__).parents[1]
SOURCE, TESTS = ROOT / "src" / "spanforest", ROOT / "tests"
WITHOUT_BEHAVIOUR = {"_compiled/decorators.py", "_compiled/records.py"}
OF_THE_WHOLE = {  # tests that describe no single module
    *("distributed", "docs", "estimators", "missing_labels", "package", "real_data"),
    *("releasing", "scikit_learn", "wheel"),
}
# What the optional parts need, and the parts of the package that an estimator does not.
EXTRAS = {
    *("dask", "distributed", "jinja2", "matplotlib", "networkx", "pandas", "polars"),
    *("pyarrow", "rich", "scikit_posthocs", "skops", "statsmodels", "typer"),
}
WINGS = {
    f"spanforest.{name}"
    for name in ("cli", "datasets", "diagnostics", "paper", "persistence", "plots")
}
MODELS = {"sklearn.ensemble", "sklearn.linear_model", "sklearn.svm", "sklearn.tree"}
HEAVY = {  # what an import must not load
    "import spanforest": {*EXTRAS, "joblib", "numba", "numpy", "scipy", "sklearn"},
    "import spanforest.graphs": {*EXTRAS, *WINGS, "joblib", "numba", "sklearn"},
    "import spanforest.solver": {*EXTRAS, *WINGS, "joblib", "sklearn"},
    "from spanforest import RandomGraphEnsembleClassifier": {
        *(*EXTRAS, *WINGS, *MODELS, "spanforest.tuning", "sklearn.model_selection")
    },
}


@cache
def loaded_by(statement):
    """Return the names of the modules that a new process has loaded afterwards."""
    code = f"import sys; {statement}; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return set(run.stdout.split())


@pytest.mark.parametrize("statement", HEAVY)
def test_an_import_loads_nothing_heavy_that_it_does_not_use(statement):
    loaded = loaded_by(statement) & HEAVY[statement]
    if loaded:  # scikit-learn itself loads pandas, rich and others if they are there
        loaded -= loaded_by("import sklearn.metrics, sklearn.preprocessing")
    assert loaded == set()


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


def test_every_package_has_import_rules_with_a_place_for_each_module():
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = rules["tool"]["importlinter"]["contracts"]
    ruled = {
        package
        for contract in contracts
        if contract["type"] == "layers" and contract.get("exhaustive")
        for package in contract["containers"]
    }
    homes = {path.parent.relative_to(SOURCE.parent) for path in modules()}
    names = {".".join(home.parts) for home in homes}
    assert names == ruled


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


def functions():
    """Yield (place, definition) of each function but constructors and commands.

    Commands are tables of their options. They are named after their modules.
    """
    for module in modules():
        place = module.relative_to(SOURCE).as_posix()
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            name = getattr(node, "name", "")
            is_excepted = name == "__init__" or place == f"cli/_{name}.py"
            if isinstance(node, ast.FunctionDef) and not is_excepted:
                yield f"{place}: {name}", node


def n_lines(function):
    """Return the length of a function without its docstring."""
    first = function.body[0] if ast.get_docstring(function) else None
    of_docstring = first.end_lineno - first.lineno + 1 if first else 0
    return function.end_lineno - function.lineno + 1 - of_docstring


def n_parameters(function):
    given = function.args
    names = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    others = [one for one in (given.vararg, given.kwarg) if one is not None]
    return len(names) - (names[:1] in (["self"], ["cls"])) + len(others)


def test_no_module_is_longer_than_600_lines():
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in modules()}
    assert {path.name for path, length in lengths.items() if length > 600} == set()


def test_no_function_is_longer_than_60_lines():
    assert len(list(functions())) > 1000
    assert [place for place, one in functions() if n_lines(one) > 60] == []


def test_no_function_has_more_than_seven_parameters():
    """The eighth would be a missing record."""
    assert [place for place, one in functions() if n_parameters(one) > 7] == []
