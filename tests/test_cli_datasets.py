"""The command datasets."""

import json

import pytest

from spanforest.datasets import (
    make_circle,
)

pytest.importorskip("typer")
pytest.importorskip("skops")
pytest.importorskip("pyarrow")
pytest.importorskip("pandas")


def test_datasets_lists_what_is_known(ok, folder, monkeypatch):
    monkeypatch.delenv("SPANFOREST_DATA", raising=False)
    (folder / "medical.npz").touch()
    shown = ok("datasets", "--data-home", folder).splitlines()
    lines = {line.split()[0]: line.split() for line in shown}
    assert lines["circle10"] == ["circle10", "1000", "3", "10", "8.54", "generated"]
    assert lines["medical"][-1] == str(folder / "medical.npz")
    assert " ".join(lines["cal500"][5:]).startswith("not found; see https://github.com")
    listed = json.loads(ok("datasets", "--json"))
    assert {known["name"] for known in listed} == set(lines) - {"name"}
    facts = json.loads(ok("datasets", "circle10", "--json"))
    counts = [label["n_positive"] for label in facts["labels"]]
    assert counts == make_circle(random_state=0)[1].sum(axis=0).tolist()
