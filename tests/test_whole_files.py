"""Output files are written whole or not at all."""

import errno
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from spanforest._whole_files import check_target, is_stream, whole_file

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX only")


not_root = pytest.mark.skipif(
    getattr(os, "geteuid", lambda: 0)() == 0, reason="root may write anywhere"
)


def write(path, text):
    with whole_file(path) as temporary:
        temporary.write_text(text)


def write_half(path, error):
    with whole_file(path) as temporary:
        temporary.write_text("half")
        raise error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError(), OSError("full")])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_file_is_written_whole_or_not_at_all(tmp_path, error, is_first):
    path = tmp_path / "out.csv"
    if not is_first:
        path.write_text("old")
    with pytest.raises(type(error)):
        write_half(path, error)
    assert [actual.name for actual in tmp_path.iterdir()] == ["out.csv"] * (
        not is_first
    )
    assert is_first or path.read_text() == "old"


@pytest.mark.parametrize("step", ["os.fsync", "os.replace"])
def test_a_failure_at_the_end_leaves_the_old_file(tmp_path, monkeypatch, step):
    path = tmp_path / "out.csv"
    path.write_text("old")

    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as context:
        context.setattr(step, fail)
        with pytest.raises(OSError, match="No space left") as caught:
            write(path, "new")
    assert caught.value.filename == str(path)
    assert path.read_text() == "old"
    assert [actual.name for actual in tmp_path.iterdir()] == ["out.csv"]


def test_the_new_file_takes_its_place_only_when_complete(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("old")
    with whole_file(path) as temporary:
        temporary.write_text("new")
        assert temporary.parent == path.parent
        assert temporary.name.endswith("out.csv")  # writers look at the suffix
        assert path.read_text() == "old"
    assert path.read_text() == "new"


def test_errors_name_the_path_of_the_user(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def fail():
        with whole_file(Path("out.csv")) as temporary:
            temporary.unlink()
            temporary.mkdir()
            try:
                temporary.write_text("new")
            finally:
                temporary.rmdir()

    with pytest.raises(OSError, match=r"'out\.csv'$") as caught:
        fail()
    assert caught.value.filename == "out.csv"


def test_other_errors_keep_the_name_of_their_file(tmp_path):
    with pytest.raises(FileNotFoundError) as caught, whole_file(tmp_path / "out.csv"):
        (tmp_path / "missing.csv").read_text()
    assert caught.value.filename == str(tmp_path / "missing.csv")


def test_a_name_may_be_as_long_as_names_can_be(tmp_path):
    path = tmp_path / ("é" * 125 + ".csv")
    write(path, "new")
    assert path.read_text() == "new"


@posix
def test_permissions_are_those_of_any_new_file_and_then_stay(tmp_path):
    path = tmp_path / "out.csv"
    old = os.umask(0o027)
    try:
        write(path, "new")
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o600)
    with whole_file(path) as temporary:  # nobody else can read it meanwhile either
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600
        temporary.write_text("newer")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@posix
def test_a_link_is_followed(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    for _ in range(2):  # the first time there is no target yet
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        write(link, "new")
        assert link.is_symlink()
        assert target.read_text() == "new"


def test_a_path_that_cannot_become_a_file_is_refused_early(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder"):
        check_target(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*missing"):
        check_target(tmp_path / "missing" / "out.csv")


@posix
@not_root
def test_a_path_without_permission_is_refused_early(tmp_path):
    path = tmp_path / "out.csv"
    path.touch(0o400)
    with pytest.raises(PermissionError, match=r"out\.csv may not be written"):
        check_target(path)
    path.chmod(0o600)
    tmp_path.chmod(0o500)
    for name in ("out.csv", "new.csv"):
        with pytest.raises(PermissionError, match=r"folder .* may not be written"):
            check_target(tmp_path / name)


def test_a_device_stays_a_device():
    assert is_stream(Path(os.devnull))
    write(Path(os.devnull), "gone")
    assert is_stream(Path(os.devnull))


@posix
def test_a_named_pipe_gets_all_or_nothing(tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    with pytest.raises(KeyboardInterrupt):  # would wait for a reader otherwise
        write_half(pipe, KeyboardInterrupt())
    reader.start()
    write(pipe, "all")
    reader.join(timeout=10)
    assert got == ["all"]
    assert [actual.name for actual in tmp_path.iterdir()] == ["pipe.csv"]


WRITER = """
import sys
from pathlib import Path
from spanforest._whole_files import whole_file
sys.stdout.write('before ')
sys.stdout.flush()
with whole_file(Path(sys.argv[1])) as temporary:
    temporary.write_text('new ')
print('after')
"""


@posix
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
@pytest.mark.parametrize("into", ["pipe", "file"])
def test_standard_output_is_written_to_and_not_replaced(tmp_path, name, into):
    if not os.path.exists(name):
        pytest.skip(f"there is no {name} here")
    script, out = tmp_path / "write.py", tmp_path / "out"
    script.write_text(WRITER)
    command = [sys.executable, str(script), name]
    if into == "pipe":
        actual = subprocess.run(command, capture_output=True, text=True, check=True)
        assert actual.stdout == "before new after\n"
        return
    out.write_text("old ")
    with open(out, "a") as file:
        subprocess.run(command, stdout=file, check=True)
    assert out.read_text() == "old before new after\n"


def test_an_input_file_is_not_replaced(tmp_path):
    source, link = tmp_path / "data.csv", tmp_path / "link.csv"
    source.write_text("a")
    link.symlink_to(source)
    for target in (source, link):
        with pytest.raises(FileExistsError, match="would be lost"):
            check_target(target, "no such file", source)
    check_target(tmp_path / "other.csv", source)
