"""What can become of a good file: each is a function of its bytes and of a generator of random numbers."""

import json
from collections.abc import Callable
from random import Random
from typing import Any, cast

SECTOR, PAGE = 512, 4096
VALUES: tuple[Any, ...] = (None, True, -1, 0, 2**70, 1.5, "", "x", [], {}, [[]], {"sha256": []}, "\ud800")
NUMBERS = ("Infinity", "-Infinity", "NaN", "1e999", "9" * 5000)


def cut(data: bytes, random: Random) -> bytes:
    """The end is missing."""
    return data[: random.randrange(len(data) + 1)]


def begin_lost(data: bytes, random: Random) -> bytes:
    """The beginning is missing."""
    return data[random.randrange(len(data) + 1) :]


def bit(data: bytes, random: Random) -> bytes:
    """One bit is another."""
    place = random.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << random.randrange(8)]) + data[place + 1 :]


def byte(data: bytes, random: Random) -> bytes:
    """One byte is another."""
    place = random.randrange(len(data))
    return data[:place] + random.randbytes(1) + data[place + 1 :]


def nul_tail(data: bytes, random: Random) -> bytes:
    """From some page on there are only NUL bytes: the power went when the size was on the disk, before the content."""
    place = random.randrange(len(data) // SECTOR + 1) * SECTOR
    return data[:place] + bytes(len(data) - place)


def nul_block(data: bytes, random: Random) -> bytes:
    """One sector or page holds NUL bytes."""
    size = random.choice((SECTOR, PAGE))
    place = random.randrange(len(data) // size + 1) * size
    return data[:place] + bytes(len(data[place : place + size])) + data[place + size :]


def garbage(data: bytes, random: Random) -> bytes:
    """Some bytes are written over."""
    place = random.randrange(len(data))
    noise = random.randbytes(random.randrange(1, 200))
    return data[:place] + noise + data[place + len(noise) :]


def swapped(data: bytes, random: Random) -> bytes:
    """Two lines have changed places."""
    lines = data.splitlines(keepends=True)
    one, other = random.randrange(len(lines)), random.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return b"".join(lines)


def dropped(data: bytes, random: Random) -> bytes:
    """A line is missing."""
    lines = data.splitlines(keepends=True)
    del lines[random.randrange(len(lines))]
    return b"".join(lines)


def doubled(data: bytes, random: Random) -> bytes:
    """A line stands there twice."""
    lines = data.splitlines(keepends=True)
    lines.insert(random.randrange(len(lines)), random.choice(lines))
    return b"".join(lines)


def edited(data: bytes, random: Random) -> bytes:
    """An editor has written carriage returns and a byte order mark."""
    return b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n")


def other_value(data: bytes, random: Random) -> bytes:
    """A value somewhere in a line is of another kind: the line is still JSON."""
    lines = data.splitlines(keepends=True)
    place = random.randrange(len(lines))
    try:
        value = json.loads(lines[place])
    except ValueError:
        return data
    lines[place] = (json.dumps(_other(value, random)).replace('"NUMBER"', random.choice(NUMBERS)) + "\n").encode()
    return b"".join(lines)


def _other(value: Any, random: Random) -> Any:
    if isinstance(value, dict) and value and random.random() < 0.9:
        data = cast("dict[str, Any]", value)
        key = random.choice(list(data))
        if random.random() < 0.1:
            return {name: item for name, item in data.items() if name != key}
        return {**data, key: _other(data[key], random)}
    if isinstance(value, list) and value and random.random() < 0.7:
        items = cast("list[Any]", value)
        place = random.randrange(len(items))
        return [*items[:place], _other(items[place], random), *items[place + 1 :]]
    return random.choice((*VALUES, "NUMBER"))


DAMAGES: tuple[Callable[[bytes, Random], bytes], ...] = (
    cut, begin_lost, bit, byte, nul_tail, nul_block, garbage, swapped, dropped, doubled, edited, other_value,
    other_value, other_value,
)  # fmt: skip
