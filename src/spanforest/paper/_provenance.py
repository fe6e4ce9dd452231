"""Where a result comes from: versions, commit, machine and time."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_PACKAGES = ("spanforest", "numpy", "scipy", "scikit-learn", "numba", "joblib")
_OPTIONAL = ("mlrl-boomer", "scikit-multilearn-ng")  # listed only if installed


def provenance() -> dict[str, Any]:
    """Return the versions, commit, machine and present time.

    Examples
    --------
    >>> sorted(provenance())
    ['commit', 'finished', 'machine', 'versions']
    """
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return {**_software_and_machine(), "finished": now}


@lru_cache(maxsize=1)
def _software_and_machine() -> dict[str, Any]:
    optional = {name: _version(name) for name in _OPTIONAL}
    return {
        "versions": {
            "python": platform.python_version(),
            **{name: _version(name) for name in _PACKAGES},
            **{name: number for name, number in optional.items() if number is not None},
        },
        "commit": _commit(),
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "system": platform.system(),
        },
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    """Return the commit of a checkout, or None for an installed package.

    The environment may lie inside the checkout of another project. So the commit counts
    only if git tracks this file.
    """
    here = Path(__file__)
    try:
        if not _git(here.parent, "ls-files", here.name):
            return None
        return _git(here.parent, "describe", "--always", "--dirty") or None
    except (OSError, subprocess.TimeoutExpired):
        return None


def _git(folder: Path, *args: str) -> str:
    command = ["git", "-C", str(folder), *args]
    done = subprocess.run(command, capture_output=True, text=True, timeout=10)
    return done.stdout.strip()


def _processor() -> str:
    """Return the name of the processor, which `platform` does not know on Linux."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if "model name" in line]
    return names[0] if names else platform.machine()
