"""The extender protocol, `k8s.io/kube-scheduler/extender/v1`, as bytes.

Answers are read as Go reads them: field names in any case, null for what is left out, and anything
after the first JSON value ignored. An answer that cannot be read is an `Unreadable`, no exception.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from json.encoder import encode_basestring_ascii
from typing import Any, TypeVar

from kpolicy.engine import RemainingCandidate
from kpolicy.scheduler.limits import EXTENDER_REASON_CHARACTERS_MAX

Answer = TypeVar("Answer")

_DECODER = json.JSONDecoder()
_SCORE_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why an answer cannot be used."""

    message: str


@dataclass(frozen=True, slots=True)
class FilterAnswer:
    """`names`: the nodes that are kept, None if the answer has no such list. `nodes`: the same for
    whole nodes. `failed` and `unresolvable`: reasons by node."""

    names: tuple[str, ...] | None = None
    nodes: tuple[str, ...] | None = None
    failed: Mapping[str, str] = field(default_factory=dict)
    unresolvable: Mapping[str, str] = field(default_factory=dict)
    error: str = ""


def node_names(pod: bytes, names: Iterable[str]) -> bytes:
    """ExtenderArgs for an extender that knows the nodes."""
    listed = ",".join(map(encode_basestring_ascii, names)).encode()
    return b'{"Pod":%b,"Nodes":null,"NodeNames":[%b]}' % (pod, listed)


def whole_nodes(pod: bytes, nodes: Iterable[bytes]) -> bytes:
    """ExtenderArgs for an extender that does not know the nodes."""
    listed = b",".join(nodes)
    return b'{"Pod":%b,"Nodes":{"metadata":{},"items":[%b]},"NodeNames":null}' % (pod, listed)


def meta_victims(pod: bytes, nodes: Iterable[RemainingCandidate]) -> bytes:
    """ExtenderPreemptionArgs for an extender that knows the pods."""
    named = {
        node.node: {
            "Pods": [{"UID": uid} for uid in node.victims],
            "NumPDBViolations": node.violations,
        }
        for node in nodes
    }
    listed = json.dumps(named, separators=(",", ":"), sort_keys=True).encode()
    return b'{"Pod":%b,"NodeNameToVictims":null,"NodeNameToMetaVictims":%b}' % (pod, listed)


def whole_victims(
    pod: bytes, nodes: Iterable[RemainingCandidate], pods: Mapping[str, bytes]
) -> bytes:
    """ExtenderPreemptionArgs for an extender that does not know the pods; `pods` are by uid."""
    listed = b",".join(
        b'%b:{"Pods":[%b],"NumPDBViolations":%d}'
        % (
            encode_basestring_ascii(node.node).encode(),
            b",".join(pods[uid] for uid in node.victims),
            node.violations,
        )
        for node in sorted(nodes)
    )
    return b'{"Pod":%b,"NodeNameToVictims":{%b},"NodeNameToMetaVictims":null}' % (pod, listed)


def binding_args(namespace: str, name: str, uid: str, node: str) -> bytes:
    """ExtenderBindingArgs."""
    args = {"PodName": name, "PodNamespace": namespace, "PodUID": uid, "Node": node}
    return json.dumps(args, separators=(",", ":")).encode()


def _read(body: bytes, kind: str, take: Callable[[dict[str, Any]], Answer]) -> Answer | Unreadable:
    result = _object(body)
    if isinstance(result, Unreadable):
        return result
    try:
        return take(result)
    except (TypeError, ValueError) as error:
        return Unreadable(f"the answer is not {kind}: {error}")


def read_filter(body: bytes) -> FilterAnswer | Unreadable:
    """ExtenderFilterResult."""
    return _read(
        body,
        "an ExtenderFilterResult",
        lambda result: FilterAnswer(
            _names(result.get("nodenames")),
            _nodes(result.get("nodes")),
            _reasons(result.get("failednodes")),
            _reasons(result.get("failedandunresolvablenodes")),
            _text(result.get("error")),
        ),
    )


def read_priorities(body: bytes) -> dict[str, int] | Unreadable:
    """HostPriorityList, as scores by node. A node that occurs twice has the sum."""
    items = _value(body)
    if isinstance(items, Unreadable):
        return items
    scores: dict[str, int] = {}
    try:
        for item in _list(items):
            found = _fields(item)
            node, score = _text(found.get("host")), found.get("score")
            scores[node] = scores.get(node, 0) + _score(score)
    except (TypeError, ValueError) as error:
        return Unreadable(f"the answer is not a HostPriorityList: {error}")
    return scores


def read_preemption(body: bytes) -> list[RemainingCandidate] | Unreadable:
    """ExtenderPreemptionResult: the candidates that it leaves."""

    def take(result: dict[str, Any]) -> list[RemainingCandidate]:
        nodes = result.get("nodenametometavictims")
        if nodes is not None and not isinstance(nodes, dict):
            raise TypeError(f"{type(nodes).__name__} where a map is due")
        return [_left(node, _fields(victims)) for node, victims in (nodes or {}).items()]

    return _read(body, "an ExtenderPreemptionResult", take)


def _left(node: str, victims: dict[str, Any]) -> RemainingCandidate:
    uids = [_text(_fields(pod).get("uid")) for pod in _list(victims.get("pods"))]
    # A pod is evicted once, and a number of violations is never negative.
    return RemainingCandidate(
        node, list(dict.fromkeys(uids)), max(0, _score(victims.get("numpdbviolations")))
    )


def read_binding(body: bytes) -> str | Unreadable:
    """ExtenderBindingResult: its error, empty when the pod was bound."""
    return _read(body, "an ExtenderBindingResult", lambda result: _text(result.get("error")))


def _value(body: bytes) -> Any:
    try:
        return _DECODER.raw_decode(body.decode("utf-8", "replace").lstrip())[0]
    except (ValueError, RecursionError):
        return Unreadable("the answer is not JSON")


def _object(body: bytes) -> dict[str, Any] | Unreadable:
    value = _value(body)
    if isinstance(value, Unreadable):
        return value
    try:
        return _fields(value)
    except TypeError as error:
        return Unreadable(f"the answer is no object: {error}")


def _fields(value: Any) -> dict[str, Any]:
    """The fields by their names in lower case. If a name occurs twice, the last value counts."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise TypeError(f"{type(value).__name__} where an object is due")
    return {key.lower(): found for key, found in value.items()}


def _list(value: Any) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise TypeError(f"{type(value).__name__} where a list is due")
    return value


def _text(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} where a text is due")
    return value[:EXTENDER_REASON_CHARACTERS_MAX]


def _score(value: Any) -> int:
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{type(value).__name__} where a score is due")
    if abs(value) > _SCORE_MAX:
        raise ValueError("a score has more than 64 bits")
    return value


def _names(value: Any) -> tuple[str, ...] | None:
    return None if value is None else tuple(map(_text, _list(value)))


def _nodes(value: Any) -> tuple[str, ...] | None:
    """The names of the nodes of a NodeList. Its other fields are ignored."""
    if value is None:
        return None
    items = _list(_fields(value).get("items"))
    return tuple(_text(_fields(_fields(item).get("metadata")).get("name")) for item in items)


def _reasons(value: Any) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise TypeError(f"{type(value).__name__} where a map is due")
    return {node: _text(reason) for node, reason in value.items()}
