"""I11, across restarts: a process decides by the wanted policy, or by the policy that was kept as
last good.

At rest, the newest good policy must be in force and kept. The check needs to know when processes
started and where the last good policy is kept. It reads the kept policy by its format alone.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator
from typing import Final

from tests.invariants.history import CONFIG_MAP, DELETED, POLICY_HASH, History, Object, Violation
from tests.invariants.timeline import Timeline

NAME = "I11"
_KEY: Final = "last-good"
_DIGEST_BYTES: Final = 32


def last_good(history: History, timeline: Timeline) -> Iterator[Violation]:
    began = {start.instance: start.at_ns for start in history.starts}
    first: dict[str, tuple[int, str, str]] = {}
    for bind in history.binds():
        decided_ns = timeline.decision(bind).at_ns
        used = bind.in_request("metadata", "annotations", POLICY_HASH)
        policy_use = (decided_ns, used, f"{bind.namespace}/{bind.name}")
        if bind.instance in began:
            first[bind.instance] = min(first.get(bind.instance, policy_use), policy_use)
    for instance, (decided_ns, used, who) in first.items():
        since_ns = began[instance]
        if history.terms.stale_versions:
            oldest = timeline.version_at(since_ns) - history.terms.stale_versions
            since_ns = timeline.time_of(oldest)
        wanted = _wanted(history, since_ns, decided_ns)
        kept = _kept(history, began[instance], decided_ns)
        if used not in wanted | kept:
            text = (
                f"{instance} began with {used} for {who}, where {_names(wanted)} could be read"
                f" and {_names(kept)} was kept"
            )
            yield Violation(NAME, decided_ns, text)
    yield from _at_rest(history)


def _wanted(history: History, since_ns: int, until_ns: int) -> set[str]:
    """The policies that could be read at some time in between."""
    found = set()
    ends = [offer.at_ns for offer in history.policies[1:]] + [until_ns + 1]
    for offer, ended_ns in zip(history.policies, ends, strict=True):
        if offer.hash and offer.at_ns <= until_ns and ended_ns >= since_ns:
            found.add(offer.hash)
    return found


def _kept(history: History, since_ns: int, until_ns: int) -> set[str]:
    found: set[str] = set()
    for at_ns, kept in _keepings(history):
        if at_ns > until_ns:
            break
        if at_ns <= since_ns:
            found.clear()
        found.add(kept)
    return found - {""}


def _keepings(history: History) -> Iterator[tuple[int, str]]:
    for change in history.changes:
        metadata = change.object["metadata"]
        name = f"{metadata.get('namespace', '')}/{metadata['name']}"
        if change.resource == CONFIG_MAP and name == history.terms.kept_in:
            yield change.at_ns, "" if change.type == DELETED else kept_in(change.object)


def kept_in(config_map: Object) -> str:
    """The hash of the kept policy. The format is a checksum, then compressed a line of JSON and the
    texts."""
    packed = (config_map.get("binaryData") or {}).get(_KEY)
    if packed is None:
        return ""
    whole = zlib.decompress(base64.b64decode(packed)[_DIGEST_BYTES:])
    return str(json.loads(whole.partition(b"\n")[0])["hash"])


def _at_rest(history: History) -> Iterator[Violation]:
    rest = history.at_rest
    if rest is None or not rest.policy_hash or not history.policies:
        return
    kept = ""
    for _, kept in _keepings(history):  # noqa: B007  the last one
        pass
    wanted = history.policies[-1].hash or kept
    if rest.policy_hash != wanted:
        text = f"{rest.policy_hash} is in force, where {wanted} is due"
        yield Violation(NAME, rest.at_ns, text)
    if history.terms.kept_in and CONFIG_MAP not in history.terms.broken and kept != wanted:
        yield Violation(NAME, rest.at_ns, f"{wanted} is in force, and {kept or 'nothing'} is kept")


def _names(hashes: set[str]) -> str:
    return ", ".join(sorted(hashes)) or "nothing"
