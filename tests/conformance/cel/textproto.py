"""Reads the part of protobuf's text format that the conformance data of CEL use.

A message becomes a list of (field, value) pairs, because fields can repeat. A value is a message, a
str, bytes (a quoted string), an int or a float.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

Value: TypeAlias = "Message | bytes | str"

_TOKEN = re.compile(
    r"""\s+|\#[^\n]*|(?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
    r"""|(?P<url>\[[^\]\n]*\])|(?P<mark>[{}:,;<>])|(?P<word>[^\s{}:,;<>"'\[\]]+)"""
)
_ESCAPE = re.compile(
    rb"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL
)
_SIMPLE_ESCAPES = {
    b"n": b"\n",
    b"t": b"\t",
    b"r": b"\r",
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"v": b"\v",
}


@dataclass(frozen=True, slots=True)
class Message:
    fields: tuple[tuple[str, Value], ...]

    def all(self, name: str) -> list[Value]:
        return [value for field, value in self.fields if field == name]

    def single(self, name: str) -> Value | None:
        found = self.all(name)
        return found[0] if found else None

    def message(self, name: str) -> Message | None:
        found = self.single(name)
        return found if isinstance(found, Message) else None

    def messages(self, name: str) -> list[Message]:
        return [value for value in self.all(name) if isinstance(value, Message)]

    def text(self, name: str) -> str:
        found = self.single(name)
        return found.decode() if isinstance(found, bytes) else ""

    def flag(self, name: str) -> bool:
        return self.single(name) == "true"

    def names(self) -> set[str]:
        return {name for name, _ in self.fields}


def read(text: str) -> Message:
    tokens = _tokens(text)
    fields, _ = _fields(tokens, None)
    return fields


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"not text format at {at}: {text[at : at + 20]!r}")
        at = match.end()
        if match.lastgroup is not None:
            yield match.lastgroup, match.group(match.lastgroup)


def _fields(tokens: Iterator[tuple[str, str]], close: str | None) -> tuple[Message, str]:
    fields: list[tuple[str, Value]] = []
    token = next(tokens, None)
    while token is not None and token[1] != close:
        kind, name = token
        if kind == "mark" and name in ",;":
            token = next(tokens, None)
            continue
        token = next(tokens)
        if token == ("mark", ":"):
            token = next(tokens)
        if token in (("mark", "{"), ("mark", "<")):
            inner, _ = _fields(tokens, "}" if token[1] == "{" else ">")
            fields.append((name, inner))
            token = next(tokens, None)
        elif token[0] == "string":
            parts = b""
            while token is not None and token[0] == "string":
                parts += _unquoted(token[1])
                token = next(tokens, None)
            fields.append((name, parts))
        else:
            fields.append((name, token[1]))
            token = next(tokens, None)
    return Message(tuple(fields)), close or ""


def _unquoted(token: str) -> bytes:
    def escaped(match: re.Match[bytes]) -> bytes:
        octal, byte, short, long, expression = match.groups()
        if octal:
            return bytes([int(octal, 8)])
        if byte:
            return bytes([int(byte, 16)])
        if short or long:
            return chr(int(short or long, 16)).encode()
        return _SIMPLE_ESCAPES.get(expression, expression)

    return _ESCAPE.sub(escaped, token[1:-1].encode())
