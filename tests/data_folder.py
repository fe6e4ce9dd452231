"""The folder with the real data sets, for tests that need them."""

import os

import pytest

DATA = os.environ.get("SPANFOREST_DATA")
needs_data = pytest.mark.skipif(
    DATA is None, reason="SPANFOREST_DATA does not name a folder with the data sets"
)
