"""What importing the package costs, and what it offers."""

import subprocess
import sys

import pytest

import spanforest

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
