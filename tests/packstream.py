"""PackStream, the encoding of Bolt's messages: values to bytes and back, as much of it as tests need."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

NODE, RELATIONSHIP = 0x4E, 0x52


@dataclass(frozen=True)
class Structure:
    """A message, a node or a relationship: what it is, and its fields."""

    tag: int
    fields: tuple[Any, ...]


def node(number: int, labels: Sequence[str], properties: Mapping[str, Any]) -> Structure:
    """Return a node as a server sends it; its element id is `node:number`."""
    return Structure(NODE, (number, list(labels), dict(properties), f"node:{number}"))


def relationship(number: int, start: int, end: int, kind: str) -> Structure:
    """Return a relationship between two nodes, without properties."""
    return Structure(RELATIONSHIP, (number, start, end, kind, {}, f"edge:{number}", f"node:{start}", f"node:{end}"))


def pack(value: Any) -> bytes:
    """Encode a value."""
    match value:
        case None:
            return b"\xc0"
        case bool():
            return b"\xc3" if value else b"\xc2"
        case int():
            return b"\xcb" + struct.pack(">q", value)
        case float():
            return b"\xc1" + struct.pack(">d", value)
        case str():
            text = value.encode()
            return b"\xd2" + struct.pack(">I", len(text)) + text
        case Structure():
            return bytes([0xB0 + len(value.fields), value.tag]) + b"".join(map(pack, value.fields))
        case Mapping():
            pairs = b"".join(pack(name) + pack(one) for name, one in value.items())
            return b"\xda" + struct.pack(">I", len(value)) + pairs
        case Sequence():
            return b"\xd6" + struct.pack(">I", len(value)) + b"".join(map(pack, value))
    raise TypeError(f"cannot be packed: {value!r}")


def unpack(content: bytes) -> Any:
    """Decode one value."""
    return _Reader(content).value()


class _Reader:
    """Reads values one after the other."""

    def __init__(self, content: bytes):
        self.content = content
        self.place = 0

    def take(self, count: int) -> bytes:
        self.place += count
        return self.content[self.place - count : self.place]

    def number(self, form: str) -> Any:
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def value(self) -> Any:
        marker = self.number(">B")
        if marker < 0x80:
            return marker
        if marker >= 0xF0:
            return marker - 0x100
        if marker < 0xC0:
            return self.sized(marker & 0xF0, marker & 0x0F)
        if marker in (0xC0, 0xC2, 0xC3):
            return {0xC0: None, 0xC2: False, 0xC3: True}[marker]
        if marker in FIXED:
            return self.number(FIXED[marker])
        kind, form = SIZED[marker]
        return self.sized(kind, self.number(form))

    def sized(self, kind: int, size: int) -> Any:
        if kind == 0x80:
            return self.take(size).decode()
        if kind == 0x90:
            return [self.value() for _ in range(size)]
        if kind == 0xA0:
            return {self.value(): self.value() for _ in range(size)}
        if kind == 0xC0:
            return self.take(size)
        return Structure(self.number(">B"), tuple(self.value() for _ in range(size)))


FIXED = {0xC1: ">d", 0xC8: ">b", 0xC9: ">h", 0xCA: ">i", 0xCB: ">q"}
SIZED = {
    **{0xCC + place: (0xC0, form) for place, form in enumerate((">B", ">H", ">I"))},
    **{0xD0 + place: (0x80, form) for place, form in enumerate((">B", ">H", ">I"))},
    **{0xD4 + place: (0x90, form) for place, form in enumerate((">B", ">H", ">I"))},
    **{0xD8 + place: (0xA0, form) for place, form in enumerate((">B", ">H", ">I"))},
}
