"""The pages below /debug: why a pod is where it is, what the parts of a rule give for it, which
pods are pending longest, and whether our cache matches the API server.

Only one explanation is made at a time, and at most one each second, because the engine decides
nothing meanwhile.
"""

from __future__ import annotations

import asyncio
import heapq
import json
import re
from collections.abc import Iterable, Mapping
from itertools import islice
from json import JSONDecoder
from typing import Any, Final

from kpolicy.api_times import NANOSECONDS, api_time
from kpolicy.clock import Clock
from kpolicy.diagnostics import did_you_mean
from kpolicy.offline.answers.advice import Scope, advice_in, request_on, sums
from kpolicy.offline.answers.expression_values import steps
from kpolicy.offline.reports import explanation_text
from kpolicy.offline.reports.advice_text import advice_text, sums_text
from kpolicy.offline.reports.steps_text import steps_text
from kpolicy.scheduler import limits
from kpolicy.scheduler.long_tasks import Parts
from kpolicy.scheduler.loop.policy_order import PolicyOrder
from kpolicy.scheduler.loop.queued_pod import ASKING, Lane, QueuedPod, QueuePeriods
from kpolicy.scheduler.runtime import Runtime
from kpolicy.telemetry.health_server import Page, Serve

_JSON: Final = "application/json"
_USAGE: Final = (
    "name one pod: /debug/explain?pod=NAMESPACE/NAME (&advice=1, &output=json, &top=N), or a "
    "namespace: /debug/explain?namespace=NAME (&group=NAME, &output=json)\n"
)
_RULE_USAGE: Final = "name all three: /debug/rule?pod=NAMESPACE/NAME&node=NAME&rule=NAME\n"
_VARIABLES: Final = "variables."
_LANES: Final = {
    Lane.ACTIVE: "waits for its turn",
    Lane.BACKOFF: "backs off",
    Lane.PARKED: "is parked",
    Lane.GATED: "is held by its scheduling gates",
    Lane.ATTEMPT: "is being tried, or bound",
}


class _Turns:
    """Lets one request run at a time, with a pause before the next one."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._is_taken = False
        self._next_ns = 0

    def refuse(self) -> Page | None:
        if self._is_taken or self._clock.monotonic_ns() < self._next_ns:
            return Page(
                "busy: only one request at a time, and one each second\n", 429, retry_after_s=1
            )
        return None

    def __enter__(self) -> None:
        self._is_taken = True

    def __exit__(self, *_: object) -> None:
        self._is_taken = False
        self._next_ns = self._clock.monotonic_ns() + limits.PAGE_PERIOD_NS


class Pages:
    def __init__(self, parts: Parts, runtime: Runtime) -> None:
        self._parts = parts
        self._thread = runtime.engine
        self._clock = runtime.clock
        self._explaining = _Turns(runtime.clock)
        self._comparing = _Turns(runtime.clock)

    def served(self) -> dict[str, Serve]:
        return {
            "/debug/explain": self._explain,
            "/debug/compare": self._compare,
            "/debug/queue": self._longest,
            "/debug/rule": self._rule,
            "/debug/waiting": self._waiting,
        }

    async def _compare(self, _: Mapping[str, str]) -> Page:
        refused = self._refused(self._comparing)
        if refused is not None:
            return refused
        with self._comparing:
            compared = await self._parts.comparer.compare()
        status = 502 if compared.failure else 200
        return Page(json.dumps(compared.shown(), indent=1) + "\n", status, _JSON)

    async def _explain(self, query: Mapping[str, str]) -> Page:
        written, output, top = query.get("pod", ""), query.get("output", "text"), _top(query)
        scope = Scope(query.get("namespace", ""), query.get("group", ""))
        is_one = bool(written) != bool(scope.namespace)
        if not is_one or output not in ("text", "json") or top < 1:
            return Page(_USAGE, 400)
        refused = self._refused(self._explaining)
        if refused is not None:
            return refused
        if not written:
            with self._explaining:
                return await self._sums(scope, output)
        key = written if "/" in written else f"default/{written}"
        request = json.dumps({"pods": [key]}).encode()
        with self._explaining:
            thread = self._thread
            line = await thread.call(thread.engine.explain, request, self._clock.now_ns())
            if not line:
                return self._unknown(key)
            queue = self._queue(key)
            advice: dict[str, Any] = {}
            if query.get("advice") == "1":
                request, now_ns = request_on(key), self._clock.now_ns()
                advice = advice_in(await thread.call(thread.engine.advise, request, now_ns))
            # With thousands of nodes, the answer has megabytes.
            if output == "json":
                also = {"queue": queue} | ({"advice": advice} if advice else {})
                text = await asyncio.to_thread(_joined, line, also)
                return Page(text, content_type=_JSON)
            return Page(await asyncio.to_thread(_text, line, (queue, advice), top))

    async def _sums(self, scope: Scope, output: str) -> Page:
        thread, request = self._thread, scope.request(limits.PAGE_ADVISED_SHAPES_MAX)
        answer = await thread.call(thread.engine.advise, request, self._clock.now_ns())
        found = sums(scope, answer.splitlines())
        if output == "json":
            return Page(json.dumps(found.line()) + "\n", content_type=_JSON)
        return Page("\n".join(sums_text(found)) + "\n")

    async def _longest(self, query: Mapping[str, str]) -> Page:
        count = _count(query, "limit", limits.QUEUE_PAGE_PODS)
        if not 0 < count <= limits.QUEUE_PAGE_PODS_MAX:
            return Page(f"limit is a number from 1 to {limits.QUEUE_PAGE_PODS_MAX}\n", 400)
        # With 100,000 pods this takes a tenth of a second.
        pods, now_ns = list(self._parts.feed.queue.entries()), self._clock.monotonic_ns()
        shown = await asyncio.to_thread(longest_pending, pods, count, now_ns)
        document = {"pods": shown, "failedRules": failed_rules(self._parts.feed.queue.by_policy)}
        return Page(json.dumps(document) + "\n", content_type=_JSON)

    async def _waiting(self, _: Mapping[str, str]) -> Page:
        plugged, now_ns = self._parts.plugged, self._clock.monotonic_ns()
        waiting = plugged.host.waiting.all() if plugged is not None else ()
        oldest = sorted(waiting, key=lambda pod: pod.since_ns)[: limits.WAITING_SHOWN_MAX]
        shown = [pod.shown(now_ns) for pod in oldest]
        document = {"waiting": len(waiting), "pods": shown}
        return Page(json.dumps(document) + "\n", content_type=_JSON)

    async def _rule(self, query: Mapping[str, str]) -> Page:
        pod, node, rule = (query.get(name, "") for name in ("pod", "node", "rule"))
        in_force = self._parts.reloader.in_force
        if not (pod and node and rule):
            return Page(_RULE_USAGE, 400)
        refused = self._refused(self._explaining)
        if refused is not None:
            return refused
        if in_force is None:
            return Page("no policy is in force\n", 503, retry_after_s=1)
        part = expression_of(in_force.program.bytes, rule)
        if part is None:
            return Page(f"{rule} is no rule of the policy with an expression\n", 404)
        with self._explaining:
            key = pod if "/" in pod else f"default/{pod}"
            request = {"ir": part, "pod": key, "node": node, "trace": True, "variables": {}}
            thread = self._thread
            answer = await thread.call(
                thread.engine.evaluate, json.dumps(request).encode(), self._clock.now_ns()
            )
        evaluated = json.loads(answer)
        if "refused" in evaluated:
            return Page(f"{evaluated['refused']['message']}\n", 404)
        return Page("\n".join(parts_text(part, evaluated["trace"])) + "\n")

    def _refused(self, turns: _Turns) -> Page | None:
        if not self._parts.informers.synced:
            return Page("not ready: the first lists are not complete\n", 503, retry_after_s=1)
        return turns.refuse()

    def _unknown(self, key: str) -> Page:
        known = [
            pod.key for pod in islice(self._parts.feed.queue.entries(), limits.NAMES_COMPARED_MAX)
        ]
        hint = did_you_mean(key, known)
        text = f"there is no pod {key}, or it has ended, or it waits for another scheduler"
        return Page(f"{text}; {hint}\n" if hint else f"{text}\n", 404)

    def _queue(self, key: str) -> dict[str, Any]:
        for pod in self._parts.feed.queue.entries():
            if pod.key == key:
                return queue_state(pod, self._parts.feed.queue.periods, self._clock.monotonic_ns())
        return {"lane": "none"}


def longest_pending(pods: Iterable[QueuedPod], count: int, now_ns: int) -> list[dict[str, Any]]:
    """Since they could first be tried; pods with gates, since they came into the queue."""
    chosen = heapq.nsmallest(count, pods, key=lambda pod: (_since_ns(pod), pod.key))
    return [
        {
            "pod": pod.key,
            "scheduler": pod.profile,
            "priority": pod.priority,
            "queue": pod.lane.value,
            "pendingSeconds": round((now_ns - _since_ns(pod)) / NANOSECONDS, 1),
            "attempts": pod.attempts,
            "rejectedBy": list(pod.rejected_by),
        }
        for pod in chosen
    ]


def failed_rules(order: PolicyOrder | None) -> list[dict[str, Any]]:
    """What the order of the queue or a hold failed with since the policy is in force, the last
    first: a pod for each message."""
    return [
        {
            "rule": failed.fault.rule,
            "code": failed.fault.code,
            "message": failed.fault.message,
            "pod": failed.pod,
            "time": api_time(failed.at_ns),
        }
        for failed in reversed(order.failed.values() if order is not None else ())
    ]


def _since_ns(pod: QueuedPod) -> int:
    return pod.first_active_ns or pod.timestamp_ns


def expression_of(program: bytes, rule: str) -> dict[str, Any] | None:
    """Of the first profile that has the rule: profiles of one policy share its rules."""
    for profile in json.loads(program)["profiles"]:
        for entry in (*profile["filters"], *profile["scores"]):
            if entry["name"] == rule and "expression" in entry:
                found: dict[str, Any] = entry["expression"]
                return found
    return None


def parts_text(expression: Mapping[str, Any], trace: Mapping[str, Any]) -> list[str]:
    """A line for each part, below the part that it belongs to."""
    sources: Mapping[str, str] = expression["sources"]
    variables = {name.removeprefix(_VARIABLES): text for name, text in sources.items() if name}
    return steps_text(steps(sources[""], expression, trace, variables))


def queue_state(pod: QueuedPod, periods: QueuePeriods, now_ns: int) -> dict[str, Any]:
    """The pod's lane, how long it has waited there, and when it is tried next, if that is known."""
    state: dict[str, Any] = {
        "lane": pod.lane.value,
        "attempts": pod.attempts,
        "sinceSeconds": _seconds(now_ns - pod.timestamp_ns),
    }
    if pod.lane is Lane.BACKOFF:
        state["nextTrySecondsMax"] = _seconds(max(0, pod.backoff_ends_ns(periods) - now_ns))
    if pod.lane is Lane.PARKED and not pod.held:
        flush_ns = pod.timestamp_ns + periods.parked_ns_max - now_ns
        latest_ns = max(0, flush_ns) + periods.flush_period_ns
        state["nextTrySecondsMax"] = _seconds(latest_ns)
    if pod.held:
        state["waitsForEvictions"] = True
    if pod.held_by:
        state["heldBy"] = "" if pod.held_by == ASKING else pod.held_by
    return state


def _text(line: bytes, also: tuple[Mapping[str, Any], Mapping[str, Any]], top: int) -> str:
    queue, advice = also
    lines = explanation_text.text(loads_in_steps(line.decode()), top) + advice_text(advice)
    return "\n".join([*lines, "", *_queue_text(queue)]) + "\n"


def _queue_text(queue: Mapping[str, Any]) -> list[str]:
    if queue["lane"] == "none":
        return [
            "  not in the queue: it is on a node, or no profile serves it; explained as if pending"
        ]
    attempts = queue["attempts"]
    tried = "once" if attempts == 1 else f"{attempts:,} times"
    lane = _LANES[Lane(queue["lane"])]
    lines = [f"  {lane} since {queue['sinceSeconds']:g} s; tried {tried if attempts else 'never'}"]
    if "heldBy" in queue:
        plugin = queue["heldBy"]
        lines[0] = lines[0].replace(_LANES[Lane.GATED], "is held by plugins")
        lines.append(f"  the plugin {plugin} holds it" if plugin else "  plugins are being asked")
    if queue.get("waitsForEvictions"):
        lines.append("  its victims are being evicted")
    elif "nextTrySecondsMax" in queue:
        lines.append(
            f"  tried again within {queue['nextTrySecondsMax']:g} s, even if no event wakes it"
        )
    return lines


def _joined(line: bytes, also: Mapping[str, Any]) -> str:
    """The JSON of `kpolicy explain --output json` with more fields. The JSON is not parsed, because
    it may be large."""
    return f"{line.decode().rstrip().removesuffix('}')},{json.dumps(also)[1:]}\n"


def _top(query: Mapping[str, str]) -> int:
    return _count(query, "top", explanation_text.TOP)


def _count(query: Mapping[str, str], name: str, otherwise: int) -> int:
    """0 for what is no number."""
    text = query.get(name, str(otherwise))
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else 0


def _seconds(nanoseconds: int) -> float:
    return round(nanoseconds / NANOSECONDS, 1)


# Nodes are two containers deep, and candidates of preemption three.
_DEPTH_STEPPED: Final = 3

_decode: Final = JSONDecoder().raw_decode
_WHITESPACE: Final = re.compile(r"[ \t\n\r]*")


def loads_in_steps(text: str) -> Any:
    """Returns what `json.loads` returns, but other threads can run in between."""
    value, end = _value(text, _skip(text, 0), _DEPTH_STEPPED)
    if _skip(text, end) != len(text):
        raise ValueError(f"more than one value, at {end}")
    return value


def _value(text: str, at: int, depth: int) -> tuple[Any, int]:
    mark = text[at : at + 1]
    if not depth or mark not in ("{", "["):
        return _decode(text, at)
    end, found = "}" if mark == "{" else "]", []
    at = _skip(text, at + 1)
    while text[at : at + 1] != end:
        key = None
        if mark == "{":
            key, at = _decode(text, at)
            if not isinstance(key, str):
                raise ValueError(f"a key is no text, before {at}")
            at = _expect(text, at, ":")
        value, at = _value(text, at, depth - 1)
        found.append((key, value))
        at = _skip(text, at)
        if text[at : at + 1] != end:
            at = _expect(text, at, ",")
    return (dict(found) if mark == "{" else [value for _, value in found]), at + 1


def _expect(text: str, at: int, mark: str) -> int:
    at = _skip(text, at)
    if text[at : at + 1] != mark:
        raise ValueError(f"no {mark!r} at {at}")
    return _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    match = _WHITESPACE.match(text, at)
    return match.end() if match is not None else at
