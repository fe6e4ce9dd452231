"""Damaged files, files of other kinds and newer formats are refused with a reason."""

import hashlib
import itertools
import os
import pickle

import pytest
import skops.io
from model_files import DAMAGED, NO_MODEL, archive, mmcrf, model_file

from spanforest import MMCRFClassifier
from spanforest.persistence import (
    FORMAT_VERSION,
    ModelFileError,
    describe,
    load,
    save,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.spanforest"


@pytest.mark.needs_compiled
def test_no_bit_can_change_unnoticed(path):
    save(mmcrf(), path)
    whole = path.read_bytes()
    with open(path, "r+b", buffering=0) as file:
        for i, bit in itertools.product(range(len(whole)), range(8)):
            file.seek(i)
            file.write(bytes([whole[i] ^ 1 << bit]))
            with pytest.raises(ModelFileError, match=f"{DAMAGED}|{NO_MODEL}"):
                load(path)
            file.seek(i)
            file.write(whole[i : i + 1])
    assert load(path).C == mmcrf().C


def test_no_file_cut_short_is_loaded(path):
    save(mmcrf(), path)
    for length in reversed(range(path.stat().st_size)):
        os.truncate(path, length)
        with pytest.raises(ModelFileError, match=f"{DAMAGED}|{NO_MODEL}"):
            load(path)


@pytest.mark.parametrize("read", [load, describe])
def test_a_wrong_size_is_noticed_from_the_header_alone(read, path):
    save(mmcrf(), path)
    whole = path.read_bytes()
    for altered in (whole[:-1], whole + b"\0"):
        path.write_bytes(altered)
        with pytest.raises(ModelFileError, match=r"should have \d+ bytes and has \d+"):
            read(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty"),
        (b"\n", r"it starts with b'\\n'"),
        (b"hello", "it starts with b'hello'"),
        (b"[]\n", "it starts with"),
        (b'{"format": "other"}\n', "it starts with"),
        (pickle.dumps(MMCRFClassifier()), "it is a pickle, which is never loaded"),
        (skops.io.dumps(MMCRFClassifier()), "zip archive, perhaps of skops itself"),
        (archive({"../../etc/passwd": b"x"}), "it is a zip archive"),
        (bytes(2**20), r"it starts with b'\\x00"),
    ],
)
def test_the_message_tells_what_another_file_is(content, message, path):
    path.write_bytes(content)
    for read in (load, describe):
        with pytest.raises(ModelFileError, match=f"not a spanforest model.*{message}"):
            read(path)


def test_the_message_tells_a_missing_file_from_a_folder(tmp_path):
    with pytest.raises(ModelFileError, match=r"does not exist\. Check the path"):
        load(tmp_path / "missing")
    with pytest.raises(ModelFileError, match="is not an ordinary file"):
        load(tmp_path)


@pytest.mark.parametrize("version", [FORMAT_VERSION + 1, 10**30])
def test_a_newer_format_is_refused_with_the_advice_to_upgrade(version, path):
    path.write_bytes(model_file(b"of a later version", version=version))
    message = (
        rf"format version {version}; spanforest .* up to {FORMAT_VERSION}\. Install"
    )
    for read in (load, describe):
        with pytest.raises(ModelFileError, match=message):
            read(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"version": ...},
        {"version": "1"},
        {"version": 0},
        {"version": None},
        {"model": ...},
        {"model": "a\x1b[31mb"},
        {"versions": ["0.1.0"]},
        {"versions": {"scikit-learn": 1}},
        {"versions": {"scikit-learn": "\x1b[2J"}},
        {"payload_bytes": None},
        {"payload_sha256": ...},
    ],
    ids=str,
)
def test_a_header_with_a_missing_or_wrong_field_is_refused(changes, path):
    path.write_bytes(model_file(skops.io.dumps(mmcrf()), **changes))
    with pytest.raises(
        ModelFileError, match="a field of its header is missing or wrong"
    ):
        load(path)


@pytest.mark.parametrize("rest", [b"}}", b', "a": \xff}', b', "a": ' + b"[" * 60000])
def test_a_header_that_is_not_json_is_refused(rest, path):
    line = b'{"format": "spanforest-model"' + rest + b"\n"
    path.write_bytes(line + hashlib.sha256(line).hexdigest().encode() + b"\n")
    with pytest.raises(ModelFileError, match="its header is not JSON"):
        load(path)


def test_a_header_without_an_end_is_refused(path):
    path.write_bytes(b'{"format": "spanforest-model", ' + b" " * 2**20)
    with pytest.raises(ModelFileError, match=DAMAGED):
        load(path)


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"no archive",
        archive({}),
        archive({"other.json": b"{}"}),
        archive({"schema.json": b""}),
        archive({"schema.json": b"[]"}),
        archive({"schema.json": b"{}"}),
        archive({"schema.json": b"[" * 100_000}),
        archive({"schema.json": b'{"__loader__": "NewNode", "protocol": 2}'}),
        archive({"schema.json": b'{"__loader__": "ListNode", "protocol": 99}'}),
    ],
    ids=range(10),
)
def test_a_payload_that_skops_did_not_write_is_refused(payload, path):
    path.write_bytes(model_file(payload))
    with pytest.raises(ModelFileError, match=f"{DAMAGED}|cannot be built"):
        load(path)
