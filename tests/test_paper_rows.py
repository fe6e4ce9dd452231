"""Files of rows: nothing is lost after a crash, and no run disturbs another."""

import errno
import json
import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from paper_helpers import no_waiting, rows_at
from strategies import trials

from spanforest.paper import Experiment, RowFile, _rows, identity
from spanforest.paper._experiment import FoldTask, row_label
from spanforest.paper._row_selection import select_folds


@pytest.fixture(autouse=True)
def quick():
    with no_waiting():
        yield


def numbered_rows(min_size=0):
    values = st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.text(max_size=5), inner, max_size=3)
        ),
        max_leaves=5,
    )
    contents = st.fixed_dictionaries({"scores": values, "é": values})
    return st.lists(contents, min_size=min_size, max_size=5).map(
        lambda rows: [{**row, "fold": number} for number, row in enumerate(rows)]
    )


@given(batches=st.lists(numbered_rows(), max_size=3))
@trials(30)
def test_rows_are_read_as_they_were_appended(tmp_path_factory, batches):
    file = RowFile(tmp_path_factory.mktemp("rows") / "new" / "folder" / "rows.jsonl")
    expected = []
    assert file.read() == []
    for seed, batch in enumerate(batches):
        rows = [{**row, "seed": seed} for row in batch]
        file.append(rows)
        expected += rows
        assert file.read() == list(file) == expected


def test_a_file_cut_at_any_byte_loses_only_the_cut_row(tmp_path):
    rows = [{"kind": "fold", "fold": k, "text": "é\n" * k} for k in range(3)]
    path = tmp_path / "rows.jsonl"
    RowFile(path).append(rows)
    whole = path.read_bytes()
    ends = [k for k, byte in enumerate(whole) if byte == ord("\n")]
    assert len(ends) == 3
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        left = [row for row, end in zip(rows, ends, strict=True) if end <= cut]
        assert RowFile(path).read() == left, cut

        new = {"kind": "fold", "fold": 10 + cut}
        RowFile(path).append([new])

        assert RowFile(path).read() == [*left, new], cut
        lines = path.read_bytes().split(b"\n")
        assert [json.loads(line) for line in lines[:-1]] == [*left, new], cut
        assert lines[-1] == b""


@given(
    rows=numbered_rows(min_size=1),
    new=numbered_rows(),
    share=st.floats(0, 1, exclude_max=True),
)
@trials(50)
def test_rows_appended_after_a_crash_are_complete(tmp_path_factory, rows, new, share):
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    RowFile(path).append(rows)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    left = RowFile(path).read()
    new = [{**row, "seed": 1} for row in new]

    RowFile(path).append(new)

    assert left == rows[: len(left)]
    assert RowFile(path).read() == left + new


def test_a_long_row_that_was_cut_off_is_removed(tmp_path):
    path = tmp_path / "rows.jsonl"
    sizes = (90_000, 200_000, 70_000)
    first, second, third = ({"fold": k, "text": "x" * n} for k, n in enumerate(sizes))
    RowFile(path).append([first, second])
    path.write_bytes(path.read_bytes()[:-10])

    RowFile(path).append([third])

    assert RowFile(path).read() == [first, third]
    path.write_bytes(b'{"text": "' + b"x" * 200_000)
    RowFile(path).append([third])
    assert RowFile(path).read() == [third]


@pytest.mark.parametrize("broken", ['{"fold": 1', "[1]", "1", "null", "\x00", "\xff"])
def test_a_broken_line_in_the_middle_is_named_with_file_and_number(tmp_path, broken):
    path = tmp_path / "rows.jsonl"
    text = f'{{"fold": 0}}\n\n{broken}\n{{"fold": 2}}\n'.encode("latin-1")
    path.write_bytes(text)

    with pytest.raises(ValueError, match=r"rows\.jsonl, line 3: .*JSON object"):
        RowFile(path).read()

    assert path.read_bytes() == text


def test_the_last_row_of_one_identity_counts(tmp_path):
    file = RowFile(tmp_path / "rows.jsonl")
    row = {"kind": "fold", "dataset": "yeast", "method": "svm", "fold": 0, "seed": 0}
    file.append([{**row, "error": "ValueError: no"}, {**row, "fold": 1}])

    file.append([{**row, "error": None}])

    assert file.read() == [{**row, "error": None}, {**row, "fold": 1}]
    assert len(file.path.read_text().splitlines()) == 3


def test_of_rows_with_one_identity_the_one_that_was_finished_last_counts(tmp_path):
    fold = {"kind": "fold", "protocol": "paper", "dataset": "yeast", "method": "svm"}
    fold |= {"fold": 0, "seed": 0, "n_folds": 5, "quick": False}
    early = {**fold, "finished": "2026-01-01", "error": None}
    late = {**fold, "finished": "2026-01-02", "error": "ValueError: no"}
    for number, rows in enumerate(([early, late], [late, early])):
        file = RowFile(tmp_path / f"{number}.jsonl")
        file.append(rows)
        assert file.read() == [late]
        assert select_folds(rows, "paper")[1] == [late]


def test_a_file_is_locked_against_other_runs_but_not_against_its_own(tmp_path):
    pytest.importorskip("fcntl", reason="only Unix has these locks")
    path = tmp_path / "new" / "rows.jsonl"
    mine, other = RowFile(path), RowFile(path)
    with mine.locked(), mine.locked():
        mine.append([{"fold": 0}])
        with pytest.raises(BlockingIOError, match=re.escape(str(path.parent))):
            other.locked().__enter__()
    with other.locked():
        assert other.read() == [{"fold": 0}]


def test_a_process_that_was_killed_leaves_no_lock(tmp_path):
    pytest.importorskip("fcntl", reason="only Unix has these locks")
    code = (
        "import sys\n"
        "from spanforest.paper import RowFile\n"
        "with RowFile(sys.argv[1]).locked():\n"
        "    print('locked', flush=True)\n"
        "    sys.stdin.read()\n"  # until it is killed
    )
    file = rows_at(tmp_path)
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(file.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout.readline() == "locked\n"
        with pytest.raises(BlockingIOError), file.locked():
            pass
        process.kill()
    with file.locked():
        file.append([{"fold": 0}])


def test_where_files_cannot_be_locked_a_run_goes_on(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "no locks available")

    fcntl = pytest.importorskip("fcntl", reason="only Unix has these locks")
    monkeypatch.setattr(fcntl, "flock", refuse)
    with rows_at(tmp_path).locked(), rows_at(tmp_path).locked():
        pass
    monkeypatch.setattr(_rows, "fcntl", None)
    with rows_at(tmp_path).locked(), rows_at(tmp_path).locked():
        pass


@pytest.mark.parametrize("value", [np.nan, np.inf, {1}, np.int64(1)])
def test_no_row_is_written_if_one_cannot_be(tmp_path, value):
    path = tmp_path / "folder" / "rows.jsonl"
    good = {"fold": 0}
    with pytest.raises((ValueError, TypeError)):
        RowFile(path).append([good, {"fold": 1, "scores": [value]}])
    assert not path.parent.exists()

    RowFile(path).append([good])
    before = path.read_bytes()
    with pytest.raises((ValueError, TypeError)):
        RowFile(path).append([{"fold": 1}, {"scores": {"a": value}}])
    assert path.read_bytes() == before


def test_identity_tells_pieces_of_work_apart_and_not_their_outcomes():
    row = row_label(Experiment(("yeast",)), FoldTask("yeast", "svm", 0, ()), "svm")
    for name in row:
        assert identity({**row, name: "other"}) != identity(row), name
    assert identity({**row, "scores": {}, "error": "no", "seconds": 1}) == identity(row)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("machine", "Abacus"),
        ("machine.cores", "two"),
        ("versions", ["2.0"]),
        ("versions.numpy", 2.0),
        ("scores", 0.5),
        ("finished", 2026),
        ("dataset", ["yeast"]),
        ("gap", "small"),
    ],
)
def test_a_row_with_a_damaged_field_is_named(tmp_path, field, value):
    path = tmp_path / "rows.jsonl"
    name, _, inner = field.partition(".")
    damaged = {"kind": "fold", name: {inner: value} if inner else value}
    RowFile(path).append([{"kind": "fold", "machine": None}, damaged])
    with pytest.raises(
        ValueError, match=rf"rows.jsonl, line 2: .* '{field}' .* damaged"
    ):
        RowFile(path).read()


@pytest.mark.parametrize("kind", ["fold", "other", None])
@pytest.mark.parametrize("field", ["fold", "quick", "seed", "dataset"])
@pytest.mark.parametrize("value", [{}, [1]])
def test_an_identity_that_is_no_single_value_is_named(tmp_path, kind, field, value):
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"kind": kind, field: value}) + "\n")
    with pytest.raises(ValueError, match=f"line 1: the field '{field}' of the row is"):
        RowFile(path).read()
