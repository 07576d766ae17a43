"""I14: plugins are heard. No pod is bound after a plugin has refused this placement, or while one
waits; and what a Reserve plugin has reserved is given back unless the pod is bound.

Needs `plugin_calls`. Reserve and Unreserve of a process that ended are not judged by its end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from itertools import pairwise
from typing import Final, TypeAlias

from tests.invariants.history import (
    ALLOWED,
    CANCELLED,
    RAISED,
    REFUSED,
    SECOND_NS,
    WAITS,
    History,
    PluginCall,
    Violation,
    Write,
)
from tests.invariants.pods_and_nodes import node_of
from tests.invariants.timeline import Timeline

NAME = "I14"
_BEFORE_BINDS: Final = frozenset({"Reserve", "Permit", "PreBind"})
_ENDS_IT: Final = frozenset({REFUSED, RAISED, CANCELLED})
# A process and a pod.
_Key: TypeAlias = tuple[str, str]


def plugged(history: History, timeline: Timeline) -> Iterator[Violation]:
    if not history.plugin_calls:
        return
    calls: dict[_Key, list[PluginCall]] = defaultdict(list)
    for call in history.plugin_calls:
        calls[call.instance, call.uid].append(call)
    decided: dict[_Key, list[int]] = defaultdict(list)
    for decision in history.decisions:
        decided[decision.instance, decision.uid].append(decision.at_ns)
    for bind in history.binds():
        began_ns = timeline.decision(bind).at_ns
        key = (bind.instance, bind.in_request("metadata", "uid"))
        later = [at_ns for at_ns in decided[key] if at_ns > began_ns]
        until_ns = min([bind.received_ns, *later])
        of_it = [call for call in calls[key] if began_ns <= call.began_ns < until_ns]
        yield from _against_a_word(bind, of_it)
    alive = history.at_rest.instance if history.at_rest is not None else ""
    call_ns_max = round(history.terms.plugin_call_s * SECOND_NS)
    for key, of_pod in calls.items():
        ended_ns = history.ended_ns if key[0] == alive else 0
        # Whoever has bound it: a pod that is where it was to be keeps what is reserved.
        places = {node_of(state) for state in timeline.states_of(key[1])}
        yield from _not_given_back(of_pod, places, ended_ns)
        yield from _given_back_too_often(of_pod, len(decided[key]), call_ns_max)


def _against_a_word(bind: Write, calls: Sequence[PluginCall]) -> Iterator[Violation]:
    waiting: dict[str, PluginCall] = {}
    for call in calls:
        if call.point in _BEFORE_BINDS and call.result in _ENDS_IT:
            text = f"{call.uid} is bound, though {call.point} of {call.plugin} has {call.result}"
            yield Violation(NAME, bind.received_ns, text)
        if call.point == "Unreserve":
            text = f"{call.uid} is bound, and {call.plugin} has given its place back"
            yield Violation(NAME, bind.received_ns, text)
        if call.result == WAITS:
            waiting[call.plugin] = call
        elif call.point == ALLOWED:
            waiting.pop(call.plugin, None)
    for plugin, call in waiting.items():
        text = f"{call.uid} is bound, and {plugin} still waits"
        yield Violation(NAME, bind.received_ns, text)


def _not_given_back(
    calls: Sequence[PluginCall], places: Set[str], ended_ns: int
) -> Iterator[Violation]:
    """`ended_ns`: nothing may be reserved by then; 0: what is reserved last may be."""
    reserved: dict[str, PluginCall] = {}
    for call in calls:
        if call.point == "Unreserve":
            reserved.pop(call.plugin, None)
        elif call.point == "Reserve":
            if call.plugin in reserved:
                text = f"{call.plugin} reserves for {call.uid} again, and has not given back"
                yield Violation(NAME, call.began_ns, text)
            reserved[call.plugin] = call
    for plugin, call in reserved.items():
        if ended_ns and call.node not in places:
            text = f"{plugin} has reserved for {call.uid} on {call.node}, and not given back"
            yield Violation(NAME, ended_ns, text)


def _given_back_too_often(
    calls: Sequence[PluginCall], placements: int, call_ns_max: int
) -> Iterator[Violation]:
    """A call is made again if its thread is given up before the answer is heard."""
    ends: dict[str, list[PluginCall]] = defaultdict(list)
    for call in calls:
        if call.point == "Unreserve":
            ends[call.plugin].append(call)
    for plugin, of_plugin in ends.items():
        lost = sum(
            later.began_ns - call.began_ns >= call_ns_max for call, later in pairwise(of_plugin)
        )
        count = len(of_plugin) - lost
        if count > placements:
            text = f"{plugin} gave {calls[0].uid} back {count} times, of {placements} placements"
            yield Violation(NAME, of_plugin[-1].began_ns, text)
