"""The policy that was last good, kept beyond the life of the process.

Owns what is kept (the texts, not the program: another version of us may read it), that a damaged
copy is never taken for a whole one, and when it is used: at the start, if what is wanted cannot be
put in force. Must not know where it is kept.
"""

from __future__ import annotations

import json
import logging
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, Protocol

from kpolicy.cluster.writes.conventions import api_micro_time
from kpolicy.policy.yaml.source import Source
from kpolicy.scheduler import limits
from kpolicy.scheduler.policy_source import PolicySource
from kpolicy.scheduler.problem import LAST_GOOD_UNUSABLE, Problem
from kpolicy.scheduler.reload import InForce, Reloader

_log = logging.getLogger(__name__)

_FORMAT: Final = 1
_DIGEST_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class LastGood:
    """`hash` is of the program that the sources compiled to, by whoever kept them."""

    hash: str
    sources: tuple[Source, ...]
    since_ns: int


class LastGoodStore(Protocol):
    async def load(self) -> LastGood | Problem | None:
        """What was kept, None if nothing was; or why it cannot be read."""

    async def save(self, kept: LastGood) -> Problem | None:
        """Instead of what was kept before; or why it cannot be written."""


def of_policy(in_force: InForce) -> LastGood:
    return LastGood(in_force.hash, in_force.sources, in_force.since_ns)


async def start(
    reloader: Reloader, source: PolicySource, stores: tuple[LastGoodStore, ...]
) -> Problem | None:
    """The first policy: what the source says, or else what was last good, said loudly. Without
    either nothing is scheduled: a policy that nobody checked decides nothing."""
    wanted = await reloader.read(source)
    if wanted.problem is None:
        return None
    for store in stores:
        kept = await store.load()
        if isinstance(kept, Problem):
            _log.error("%s", kept.message, extra={"code": kept.code, "hint": kept.hint})
        elif kept is not None:
            problem = await reloader.restore(kept.sources)
            if problem is None:
                _told(wanted.problem, kept)
                return None
            _log.error("what was last good is not any more: %s", problem.message)
    return wanted.problem


def _told(problem: Problem, kept: LastGood) -> None:
    fields = {"code": problem.code, "hint": problem.hint, "policy_hash": kept.hash}
    since = api_micro_time(kept.since_ns)
    text = "%s; THE LAST GOOD POLICY IS IN FORCE INSTEAD, which was put in force at %s"
    _log.error(text, problem.message, since, extra=fields)


# --- bytes: a checksum, then compressed: a line of JSON, and the texts one after the other -------


def encoded(kept: LastGood) -> bytes | Problem:
    texts = [_bytes(source) for source in kept.sources]
    header = {
        "format": _FORMAT,
        "hash": kept.hash,
        "sinceNs": kept.since_ns,
        "sources": [
            [source.name, len(text), source.is_named, source.is_for_params]
            for source, text in zip(kept.sources, texts, strict=True)
        ],
    }
    whole = json.dumps(header, separators=(",", ":")).encode() + b"\n" + b"".join(texts)
    packed = sha256(whole).digest() + zlib.compress(whole, 9)
    if len(packed) > limits.LAST_GOOD_BYTES_MAX or len(whole) > limits.LAST_GOOD_TEXT_BYTES_MAX:
        message = f"the policy is too large to be kept as the last good one: {len(packed):,} bytes"
        return _unusable(message, f"at most {limits.LAST_GOOD_BYTES_MAX:,} once compressed")
    return packed


def decoded(packed: bytes, where: str) -> LastGood | Problem:
    opener = zlib.decompressobj()
    try:
        whole = opener.decompress(packed[_DIGEST_BYTES:], limits.LAST_GOOD_TEXT_BYTES_MAX)
        if not opener.eof or sha256(whole).digest() != packed[:_DIGEST_BYTES]:
            return _damaged(where)
        line, _, rest = whole.partition(b"\n")
        header: Mapping[str, Any] = json.loads(line)
        if header["format"] != _FORMAT:
            return _damaged(where)
        sources, start = [], 0
        for name, size, is_named, is_for_params in header["sources"]:
            sources.append(Source(name, rest[start : start + size], is_named, is_for_params))
            start += size
        return LastGood(str(header["hash"]), tuple(sources), int(header["sinceNs"]))
    except (zlib.error, ValueError, KeyError, TypeError, RecursionError):
        return _damaged(where)


def _bytes(source: Source) -> bytes:
    text = source.text
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text


def _damaged(where: str) -> Problem:
    message = f"what was kept as the last good policy in {where} is damaged, or of another version"
    return _unusable(message, "it is replaced when a policy comes into force")


def _unusable(message: str, hint: str) -> Problem:
    return Problem(LAST_GOOD_UNUSABLE, message, hint)
