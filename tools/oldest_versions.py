"""Print the lower bounds of all dependencies as constraints for pip.

`numpy>=2.0.0` in pyproject.toml becomes `numpy==2.0.0`. Tools for development are left
out: they need not be old.
"""

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
NOT_TESTED = {"peers"}  # programs to compare with


def oldest_versions() -> dict[str, str]:
    """Return the lower bound of every dependency by its name."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"]]
    for name in extras.keys() - NOT_TESTED:
        wanted += extras[name]
    bounds = (re.fullmatch(r"([\w-]+)>=([\d.]+)", line) for line in wanted)
    return {bound[1]: bound[2] for bound in bounds if bound is not None}


if __name__ == "__main__":
    for name, version in sorted(oldest_versions().items()):
        print(f"{name}=={version}")  # noqa: T201
