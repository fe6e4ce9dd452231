"""Changes of bytes: of files as they are, and with an eye on numbers and lines."""

import random
import re
from collections.abc import Iterator, Sequence

EXTREMES = (
    *(b"0", b"-1", b"1e999", b"-1e999", b"nan", b"inf", b"5e-324", b"1e308", b"-0"),
    *(b"2147483648", b"9223372036854775808", b"18446744073709551616", b"1" * 5000),
    *(b"4294967295", b"-2147483649", b"1e", b"0x10", b"1_0", b"1,5", b"\xd9\xa1"),
)
ODD_TEXTS = (
    *(b"", b" ", b"\0", b"\r", b"\n", b"\r\n", b"\t", b"\xff", b"\xef\xbb\xbf"),
    *(b"\xff\xfe", b"\xe2\x80\xa8", b"\xc2\x85", b"\x1c", b"\x1b[2J", b"'", b'"'),
    *(b"\\", b"\\u", b"\\ud800", b"\\u0000", b"?", b"%", b"#", b",", b";", b"|", b":"),
    *(b"{", b"}", b"{}", b"NA", b"true", b"\xf0\x9f\x98\x80", b"a" * 3000),
)
_NUMBER = re.compile(rb"-?\d+(\.\d+)?(e-?\d+)?")


def mutate(rng: random.Random, data: bytes, words: Sequence[bytes] = ()) -> bytes:
    """Return the bytes after a few random changes; `words` are those of the format."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 5, 9))):
        data = rng.choice(_CHANGES)(rng, data, words)
    return data


def _span(rng: random.Random, data: bytes) -> tuple[int, int]:
    start = rng.randint(0, len(data))
    return start, min(len(data), start + rng.choice((1, 1, 2, 5, 20, 100)))


def _flip(rng, data, words):
    if not data:
        return data
    i = rng.randrange(len(data))
    return data[:i] + bytes([data[i] ^ 1 << rng.randrange(8)]) + data[i + 1 :]


def _put(rng, data, words):
    start, stop = _span(rng, data)
    stop = rng.choice((start, stop))
    return data[:start] + rng.choice((*ODD_TEXTS, *words, *words)) + data[stop:]


def _cut(rng, data, words):
    start, stop = _span(rng, data)
    return data[:start] + data[stop:]


def _repeat(rng, data, words):
    start, stop = _span(rng, data)
    return data[:start] + data[start:stop] * rng.choice((2, 3, 50)) + data[stop:]


def _truncate(rng, data, words):
    return data[: rng.randint(0, len(data))]


def _change_number(rng, data, words):
    numbers = list(_NUMBER.finditer(data))
    if not numbers:
        return data
    start, stop = rng.choice(numbers).span()
    return data[:start] + rng.choice(EXTREMES) + data[stop:]


def _change_lines(rng, data, words):
    lines = data.splitlines(keepends=True)
    if not lines:
        return data
    line = lines.pop(rng.randrange(len(lines)))
    for _ in range(rng.choice((0, 1, 2))):
        lines.insert(rng.randint(0, len(lines)), line)
    return b"".join(lines)


_CHANGES = (
    *(_flip, _put, _put, _cut, _repeat, _truncate),
    *(_change_number, _change_number, _change_lines),
)


def shorter(data: bytes) -> Iterator[bytes]:
    """Yield the bytes without some of them, large pieces first."""
    size = len(data) // 2
    while size:
        for start in range(0, len(data), size):
            yield data[:start] + data[start + size :]
        size //= 2
